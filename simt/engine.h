/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file simt/engine.h
 * Private parts of the CPU block executor.
 *
 * A file calls only files above it in this list:
 *
 *   random.c       random numbers
 *   join.c         the happens-before edges that ThreadSanitizer is told about
 *   collective.c   results of collectives
 *   thread.c       the running thread, and its block's lock
 *   fiber.c        stacks, context switch, sanitizer annotations
 *   report.c       descriptions of failures
 *   async.c        memory of the asynchronous copies, and the copy engine's view of the arena
 *   mbar.c         mbarriers
 *   copy.c         copies in flight, and when they land
 *   sync.c         barrier, warp collectives, exit: the state machine, the same for all engines
 *   calls.c        simt_engine_*: what the inline accesses and macros of impl/simt/cpu.h call
 *   run_fibers.c   engine: fibers, a seed decides
 *   run_threads.c  engine: one OS thread per GPU thread
 *   run.c          launch checks, arena, simt_run()
 *   explore.c      engine: fibers, a depth-first search decides; simt_explore()
 *
 * A thread that cannot continue calls its engine through the table simt_engine_ops, because three
 * engines share the files above run_fibers.c.
 *
 * Terms
 *   runnable   state RUNNING, or WAIT on a word that has changed
 *   place      file and line of a call, for reports
 *   settled    a thread that has recorded what it waits for settles: the call returns when it may
 *              continue
 *   abandoned  a thread that will never be resumed, because its block has failed
 *   block      if a cluster runs, all its blocks together (simt_block), except for each block's
 *              threads and barrier (simt_meeting)
 */
#ifndef SHPOOL_SIMT_ENGINE_H
#define SHPOOL_SIMT_ENGINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <shpool/executor.h>
#include <shpool/shpool.h>

#include "fiber.h"
#include "join.h"
#include "random.h"

/** Blocks of a cluster. */
#define SIMT_MAX_CLUSTER 16u

typedef struct simt_block  simt_block;
typedef struct simt_search simt_search;
typedef struct simt_worker simt_worker;
typedef struct simt_async  simt_async;

/* ---- threads and blocks ---- */

typedef enum simt_state {
    SIMT_STATE_RUNNING    = 0, /**< runs, or could */
    SIMT_STATE_BARRIER    = 1,
    SIMT_STATE_COLLECTIVE = 2,
    SIMT_STATE_CONVERGED  = 3, /**< parked in simt_converged() */
    SIMT_STATE_WAIT       = 4,
    SIMT_STATE_EXITED     = 5,
    SIMT_STATE_CLUSTER    = 6  /**< at the cluster's barrier */
} simt_state;

typedef struct simt_place {
    const char *file;
    int         line;
} simt_place;

/** What the lanes of a warp do: kept by its first thread, so that a lane that enters a collective
 *  need not look at all others. */
typedef struct simt_lanes {
    uint32_t waiting; /**< in a collective */
    uint32_t exited;
    uint32_t newest;  /**< number of the lane that was the last to enter a collective */
} simt_lanes;

typedef struct simt_thread {
    simt_self_state self;   /**< first, because simt_self points to it */
    simt_block *block;
    uint32_t    index;      /**< in simt_block.thread: the rank, after the threads of earlier
                                 blocks */
    uint32_t    state;      /**< simt_state */
    simt_place  place;      /**< of the call that it waits in */
    uint32_t    op;         /**< simt_collective */
    uint32_t    mask;
    uint32_t    value;
    uint32_t    arg;
    uint32_t    result;
    uint32_t    together;   /**< lanes that wait in its collective since it entered, itself too */
    simt_lanes  lanes;      /**< of a warp's first thread only */
    simt_addr   wait_addr;
    uint32_t    wait_seen;
    uint32_t    paused;     /**< in simt_pause(): waits for its turn only */
    uint32_t    brief;      /**< in simt_wait_briefly(): continues when no other thread can */
    simt_join  *join;       /**< the meeting that it waits for */
    simt_fiber  fiber;      /**< not with SIMT_THREADS */
    simt_worker *worker;    /**< with SIMT_THREADS only */
} simt_thread;

/** How an engine differs from another. */
typedef struct simt_engine_ops {
    /** Called at an access whose countdown has expired: may let others run. */
    void (*access)(simt_block *block, simt_thread *thread);
    /** simt_wait() found its word changed already. */
    void (*passed)(simt_block *block, simt_thread *thread);
    /** Return when the thread is RUNNING; never, if the block has failed.  Unlocks. */
    void (*settle)(simt_block *block, simt_thread *thread);
    /** The thread was made RUNNING by another one. */
    void (*wake)(simt_block *block, simt_thread *thread);
    /** Fibers: the thread that runs next, removed from all lists; NULL: none is runnable. */
    simt_thread *(*pick)(simt_block *block);
    /** simt_converged(): nonzero to close the group now. */
    int (*close)(simt_block *block, simt_thread *thread);
    /** Any of `count` equally good ways, 0..count-1. */
    uint32_t (*choose)(simt_block *block, uint32_t count);
    /** simt_pause() releases a parked group now and then; an engine that tries every schedule
     *  does without. */
    int unparks;
} simt_engine_ops;

/** A text that is cut, with "...", where it would leave its buffer. */
typedef struct simt_text {
    char  *start;
    size_t room; /**< bytes with the NUL */
    size_t used;
} simt_text;

/** Threads that a barrier releases together: those of a block, or of a cluster. */
typedef struct simt_meeting {
    uint32_t    threads;
    uint32_t    arrived;      /**< threads at the barrier */
    simt_place  first;        /**< place of the first of them */
    uint32_t    mixed;        /**< they are not all at the same place */
    uint32_t    begun;        /**< a thread runs, or has run */
    uint32_t    exited;
    simt_join  *join;         /**< of the threads that have arrived */
    unsigned long long broadcast; /**< a block's: its thread 0's value, between two barriers */
} simt_meeting;

/** A launch in progress: one block, or cluster of blocks, after the other in the same memory. */
struct simt_block {
    const simt_engine_ops *ops;
    simt_launch  launch;      /**< with the defaults filled in */
    simt_kernel  kernel;
    void        *arg;
    uint32_t     threads;     /**< that run at the same time: of the cluster */
    uint32_t     each;        /**< of a block */
    uint32_t     blocks;
    uint32_t     cluster;     /**< blocks of a cluster */
    uint32_t     rank;        /**< of the block that runs, of a cluster's the first */
    unsigned long long number; /**< of the launch */
    unsigned char *arena;     /**< of the cluster's block 0; the others' are 16 MiB apart */
    uint32_t     arena_begin;
    uint32_t     arena_end;
    uint32_t     dynamic_base;
    simt_thread *thread;      /**< [threads] */
    simt_random  random;
    uint32_t     park_chance; /**< of simt_converged(), in 1/8 */
    uint32_t     pauses;      /**< simt_pause() since the block began */

    uint32_t     exited;
    simt_meeting meeting[SIMT_MAX_CLUSTER]; /**< of each block */
    simt_meeting all;                       /**< of the cluster */

    shpool_status status;     /**< SHPOOL_OK until something stops the block */
    simt_text     text;
    unsigned long long switches; /**< of all blocks */
    unsigned long long spent;    /**< of this block's budget */

    /* fibers */
    simt_fiber   main;
    simt_stacks  stacks;
    uint32_t    *ready;       /**< runnable threads except the running one, unordered */
    uint32_t     ready_count;
    uint32_t    *waiting;     /**< threads in state WAIT, in no order */
    uint32_t     waiting_count;
    simt_search *search;      /**< simt_explore() only */

    simt_async  *async;       /**< mbarriers and copies in flight; NULL until there is one */
    uint32_t     flying;      /**< number of those copies */

    /* threads */
    uint32_t     parallel;    /**< the lock is needed */
    uint32_t     lock;
    uint32_t     running;     /**< threads in state RUNNING */
    uint32_t     failed;      /**< status is set: read without the lock */
    uint32_t     go;
    uint32_t     progress;    /**< counts events; while it does not change the clock runs */
};

static inline int simt_same_place(simt_place a, simt_place b)
{
    return (a.line == b.line) && ((a.file == b.file) || (strcmp(a.file, b.file) == 0));
}

static inline simt_thread *simt_current(void)
{
    return (simt_thread *)simt_self;
}

static inline int simt_word_changed(const simt_block *block, const simt_thread *thread)
{
    const uint32_t *word = (const uint32_t *)(const void *)(block->arena + thread->wait_addr);

    return (__atomic_load_n(&thread->paused, __ATOMIC_RELAXED) != 0) ||
           (__atomic_load_n(word, __ATOMIC_RELAXED) != thread->wait_seen);
}

/* Written with the lock, read without it. */
static inline void simt_progress(simt_block *block)
{
    __atomic_store_n(&block->progress, block->progress + 1u, __ATOMIC_RELAXED);
}

/* ---- collective.c ---- */

/** The lane's result; `lanes` is the warp's first thread, `mask` names the participants. */
uint32_t simt_collective_answer(const simt_thread *lanes, uint32_t lane);
/** Nonzero if all lanes have the same result. */
int simt_collective_is_common(uint32_t op);
const char *simt_collective_name(uint32_t op);

/* ---- thread.c, which also defines simt_self ---- */

void simt_lock(simt_block *block);
void simt_unlock(simt_block *block);

/* ---- report.c ---- */

void simt_text_add(simt_text *text, const char *format, ...) SHPOOL_PRINTF(2, 3);
/** Stop the block, unless it has been stopped before: the first reason counts. */
void simt_fail(simt_block *block, shpool_status status, const char *format, ...)
    SHPOOL_PRINTF(3, 4);
/** Stop the block and list the state of each of its threads. */
void simt_fail_listed(simt_block *block, shpool_status status, const char *format, ...)
    SHPOOL_PRINTF(3, 4);
/** Stop the block because of an access that is not aligned. */
void simt_fail_misaligned(const simt_thread *thread, const char *what, simt_addr addr,
                          uint32_t bytes);
/** Stop the block because of an access outside the thread's arena, or not aligned. */
void simt_fail_access(const simt_thread *thread, const char *what, simt_addr addr, uint32_t bytes);

/* ---- async.c, copy.c: with the block's lock held ---- */

void simt_async_reset(simt_block *block);
void simt_async_destroy(simt_block *block);
/** Where threads switch: perhaps land a copy, as the seed says. */
void simt_async_turn(simt_block *block);
/** Where a thread pauses: it may wait for what only a copy that lands when it must brings. */
void simt_async_pause(simt_block *block);
/** Land the n-th of the `block->flying` copies, or the first half of it. */
void simt_async_land(simt_block *block, uint32_t n);
/** Copies in flight that may wake a thread, and landing the n-th of them. */
uint32_t simt_async_waking(const simt_block *block);
void simt_async_land_waking(simt_block *block, uint32_t n);
/** Fails the block if the thread exits without waiting for a copy. */
void simt_async_exit(simt_block *block, const simt_thread *thread);

/* ---- sync.c: with the block's lock held ---- */

void simt_sync_begin(simt_thread *thread);
void simt_sync_barrier(simt_block *block, simt_thread *thread, simt_place place);
void simt_sync_cluster(simt_block *block, simt_thread *thread, simt_place place);
void simt_sync_collective(simt_block *block, simt_thread *thread, simt_place place);
void simt_sync_exit(simt_block *block, simt_thread *thread);
/** Releases a group of simt_converged() or lands a copy; 0: there is none. */
int simt_sync_release(simt_block *block);
/** No thread is runnable.  Nonzero: a group of simt_converged() or a simt_wait_briefly() was
 *  released; 0: it has failed. */
int simt_sync_stuck(simt_block *block);

/* ---- run_fibers.c, run_threads.c ---- */

shpool_status simt_fibers_create(simt_block *block);
void simt_fibers_destroy(simt_block *block);
void simt_fibers_run(simt_block *block);
/** Suspend `thread` and run `next`; returns when it is resumed. */
void simt_fibers_switch(simt_block *block, simt_thread *thread, simt_thread *next);
/** simt_engine_ops.settle of both engines that have fibers. */
void simt_fibers_settle(simt_block *block, simt_thread *thread);
/** Count one decision; nonzero, and the block has failed, if that exceeds the budget. */
int simt_fibers_spend(simt_block *block, unsigned long long decisions);
void simt_threads_run(simt_block *block);
extern const simt_engine_ops simt_fibers_ops;
extern const simt_engine_ops simt_threads_ops;

/* ---- run.c ---- */

/** Check a launch and prepare the parts that do not depend on the engine. */
shpool_status simt_block_create(simt_block *block, const simt_launch *launch, simt_kernel kernel,
                                void *arg, simt_result *result);
void simt_block_destroy(simt_block *block);
/** Fresh memory and threads for the cluster of that number; for blocks without one, the rank. */
void simt_block_reset(simt_block *block, uint32_t number);
/** Reset the parts of it that each schedule of an exploration needs afresh. */
void simt_block_renew(simt_block *block);
/** Write the result, record the error; returns the status. */
shpool_status simt_block_close(simt_block *block, simt_result *result);

#endif /* SHPOOL_SIMT_ENGINE_H */
