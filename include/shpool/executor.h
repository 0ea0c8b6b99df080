/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/executor.h
 * The CPU block executor: runs a kernel that uses simt.h on the host.
 *
 * A kernel is `void kernel(void *arg)`; simt_run() calls it once for each thread of each block.
 * Blocks run one after another, each over a fresh arena; the blocks of a cluster run at the same
 * time.  Two engines run their threads:
 *
 *   SIMT_FIBERS   all threads on the calling OS thread, one at a time; the seed decides when to
 *                 switch, so a run is exactly repeatable.  Switches happen only in simt.h calls.
 *                 1..1,024 threads per block or, in total, per cluster.
 *   SIMT_THREADS  one OS thread per thread, truly parallel, not repeatable.  1..64 threads.
 *
 * Both are annotated for AddressSanitizer and ThreadSanitizer: build the kernel (not the library)
 * with -fsanitize=..., and a missing acquire or release, or a racing plain access, is reported even
 * though the fibers take turns.  Fibers share the OS thread's thread-local variables: a kernel that
 * writes one races, as it would on a GPU.
 *
 * C11 and C++17; a C++ exception or a longjmp must not leave a kernel.  Thread safety: any number
 * of OS threads may run kernels at the same time; a kernel must not start another one.
 */
#ifndef SHPOOL_EXECUTOR_H
#define SHPOOL_EXECUTOR_H

#include <shpool/abi.h>
#include <shpool/simt.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which engine runs the threads of a block. */
typedef enum simt_engine {
    SIMT_FIBERS  = 0,
    SIMT_THREADS = 1
} simt_engine;

/** A launch, as <<<grid, block, bytes>>>.  Zeroed fields take the defaults in brackets. */
typedef struct simt_launch {
    uint32_t grid[3];        /**< blocks along x, y, z [1]; at most 2^31-1 in all */
    uint32_t block[3];       /**< threads along x, y, z [1]; at most 1,024 in all */
    uint32_t dynamic_bytes;  /**< dynamic shared memory, at most 1 MiB [0] */
    uint32_t static_bytes;   /**< static shared memory before it, for kernels with arrays [0] */
    simt_engine engine;      /**< [SIMT_FIBERS] */
    unsigned long long seed; /**< of the schedule: the same seed repeats the run (fibers) [0] */
    uint32_t switch_period;  /**< mean number of accesses between switches; 1: each one; 0: only
                                  when a thread cannot continue [0] */
    unsigned long long max_switches; /**< per block; more: SHPOOL_ERR_BUDGET [100 million] */
    uint32_t timeout_ms;     /**< threads: a deadlock is reported if no thread ends, wakes or meets
                                  others for this time; one in simt.h calls is found at once
                                  [10,000] */
    uint32_t fill;           /**< initial byte of shared memory (low 8 bits) [0xA5 if 0] */
    uint32_t cluster[3];     /**< blocks of a cluster along x, y, z [1]; they divide the grid's; at
                                  most 16 in all.  Limits and seeds are then per cluster. */
    uint32_t from_zero;      /**< 1: shared memory begins at address 0, as on sm_75, which has no
                                  clusters and needs at least 16 bytes of it; [0: after 1 KiB
                                  reserved by the system, as on sm_80 and newer] */
    void    *arena;          /**< memory of a block instead of the engine's, without clusters: the
                                  1 KiB before its first byte is not touched [NULL: the engine's] */
    uint32_t stack_bytes;    /**< of a thread, at least 64 KiB [as simt_kernel says] */
    uint32_t leavers;        /**< 1: threads that have exited count as present at barriers and in
                                  masks, as on sm_70 and newer; a mask may also name lanes that the
                                  block does not have [0: they are reported] */
} simt_launch;

/** Result of a run, or the reason why it stopped. */
typedef struct simt_result {
    shpool_status status;          /**< as returned */
    unsigned long long switches;   /**< between threads, over all blocks */
    unsigned long long schedules;  /**< simt_explore: complete runs */
    uint32_t complete;             /**< simt_explore: 1 if all schedules within the bound ran */
    uint32_t block;                /**< rank of the block that failed; of a cluster, its first
                                        block */
    char text[2048];               /**< description of the failure: which threads wait, where, for
                                        whom */
} simt_result;

/**
 * One thread of a kernel.  It runs on a stack of 64 KiB (256 KiB under a sanitizer); a larger local
 * array ends the process by SIGSEGV, as any stack overflow does.
 */
typedef void (*simt_kernel)(void *arg);

/**
 * Run a kernel to its end.
 *
 * @param [in]  launch   shape and schedule
 * @param [in]  kernel   called once per thread
 * @param [in]  arg      passed to each call
 * @param [out] result   may be NULL; also written on failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID     a shape, size or engine outside the limits above; nothing ran
 *   - SHPOOL_ERR_DEADLOCK    no thread can continue: the text lists which thread waits where
 *   - SHPOOL_ERR_DIVERGENCE  threads meet at different barriers or votes, name a lane that exited
 *                            or a mask without the caller, or wait at a barrier that other threads
 *                            can never reach
 *   - SHPOOL_ERR_BUDGET      max_switches reached: a livelock, or a budget too small
 *   - SHPOOL_ERR_INVALID     with a text that says "fault": a shared access outside the arena or
 *                            not aligned, or in a neighbour block that has not started or has
 *                            exited; a misused mbarrier or copy (simt.h)
 *   - SHPOOL_ERR_TOO_LARGE   more than 16,384 copies in flight, or 4,096 mbarriers
 *   - SHPOOL_ERR_NO_MEMORY, SHPOOL_ERR_SYSTEM
 * After a failure the other threads of the block are abandoned: their stacks are released without
 * unwinding, and their host allocations leak.  With SIMT_THREADS each thread leaves its kernel at
 * its next simt.h calls; a thread that makes no further call delays the return.
 */
SIMT_API shpool_status simt_run(const simt_launch *launch, simt_kernel kernel, void *arg,
                                simt_result *result);

/** How much of the space of schedules simt_explore() covers. */
typedef struct simt_bounds {
    uint32_t preemptions;             /**< switches away from a thread that could have continued */
    unsigned long long max_schedules; /**< stop after this number [unbounded] */
    unsigned long long max_switches;  /**< stop after this number of switches over all runs
                                           [unbounded] */
} simt_bounds;

/** Called before and after each schedule; a nonzero return of `after` ends the exploration. */
typedef struct simt_hooks {
    void (*before)(void *arg);
    int  (*after)(void *arg);
} simt_hooks;

/**
 * Run a kernel once for every schedule of its threads that has at most `preemptions` preemptions:
 * depth-first, fibers, one block or cluster.  Every shared access and every result of
 * simt_converged() is a point of choice.  The kernel must be deterministic apart from the schedule.
 *
 * A copy in flight lands when nothing else can happen or, at the cost of one preemption, at any
 * earlier access.
 *
 * The idea is bounded context switching (Musuvathi and Qadeer, CHESS, PLDI 2007).
 *
 * @param [in]  launch  as for simt_run; engine, seed and switch_period are not used, grid is one
 *                      block or cluster
 * @param [in]  hooks   may be NULL
 * @param [out] result  schedules, switches, complete; on failure the text ends with the schedule
 * @return SHPOOL_OK: every schedule that ran succeeded (check `complete`)
 *   - SHPOOL_ERR_CORRUPT     `after` returned nonzero
 *   - else the status of simt_run() for the first schedule that failed
 */
SIMT_API shpool_status simt_explore(const simt_launch *launch, const simt_bounds *bounds,
                                    const simt_hooks *hooks, simt_kernel kernel, void *arg,
                                    simt_result *result);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_EXECUTOR_H */
