/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file check/shpool_check.h
 * What CUDA's names on the executor call: the functions of libshpool_check.a.  Included by
 * cuda_runtime.h of this folder; not for programs.
 *
 * A program that shpool-check builds runs its kernels on the CPU block executor
 * (shpool/executor.h).  The compiler calls the functions __tsan_readN() and __tsan_writeN() at each
 * load and store; the functions here are for what no load or store is.  `pc` is the code address
 * that a report names.
 */
#ifndef SHPOOL_CHECK_H
#define SHPOOL_CHECK_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Calls that meet in the executor have places.  Two of one line differ in the column, which is in
 *  the upper bits of the line. */
#define SHPOOL_CHECK_LINE 0xfffffu

/** Kinds of memory. */
typedef enum shpool_check_kind {
    SHPOOL_CHECK_DEVICE  = 0, /**< cudaMalloc(): only kernels may access it */
    SHPOOL_CHECK_MANAGED = 1, /**< cudaMallocManaged(): both sides may */
    SHPOOL_CHECK_HEAP    = 2, /**< malloc() and new in a kernel */
    SHPOOL_CHECK_PINNED  = 3  /**< cudaMallocHost(): both sides may */
} shpool_check_kind;

/** Kinds of access, as bits. */
enum {
    SHPOOL_CHECK_WRITE    = 1,
    SHPOOL_CHECK_ATOMIC   = 2,  /**< an atomic operation */
    SHPOOL_CHECK_VOLATILE = 4,
    SHPOOL_CHECK_LOOSE    = 8,  /**< of a structure: padding may be uninitialised */
    SHPOOL_CHECK_ACQUIRE  = 16, /**< it also reads, and orders what comes after */
    SHPOOL_CHECK_RELEASE  = 32,
    SHPOOL_CHECK_PACKED   = 64, /**< the compiler knows that it may not be aligned */
    SHPOOL_CHECK_COMPARE  = 128 /**< an atomic that changes nothing if what was read is old */
};

/** A launch. */
typedef struct shpool_check_call {
    const char *kernel;
    const void *function; /**< NULL: not known */
    const char *file;     /**< of the launch */
    int         line;
    uint32_t    grid[3];
    uint32_t    block[3];
    size_t      dynamic_bytes;
    const void *closure; /**< memory of the host that holds the arguments */
    size_t      closure_bytes;
} shpool_check_call;

/** Runs to the end; 0, or the cudaError_t of a launch that failed. */
int shpool_check_launch(const shpool_check_call *call, void (*run)(void *arg), void *arg);
/** Dynamic shared memory that a kernel may have; nonzero: no kernel may have so much. */
int shpool_check_allow(const void *function, size_t bytes);
/** The program has read the error of a launch that was not possible. */
void shpool_check_read_error(void);

void *shpool_check_malloc(size_t bytes, shpool_check_kind kind, const void *pc);
/** Nonzero: it is not the start of a live allocation of one of these kinds (bits), and that was
 *  reported. */
int shpool_check_free(void *ptr, unsigned kinds, const void *pc);
/** From now on kernels may access memory of the host; 0 bytes: no more.  The cudaError_t. */
int shpool_check_register(const void *ptr, size_t bytes);
/** A copy or a fill by the host: the cudaError_t; what is wrong was reported. */
int shpool_check_copy(void *to, const void *from, size_t bytes, unsigned kind, const void *pc);
int shpool_check_fill(void *to, int value, size_t bytes, const void *pc);
/** The size of the allocation that contains it, and its start; 0: none does. */
size_t shpool_check_range(const void *ptr, void **start_p);
size_t shpool_check_live_bytes(void);

void shpool_check_access(const void *ptr, size_t bytes, unsigned how, const void *pc);
void shpool_check_fence(void);
void shpool_check_barrier(const char *file, int line);
uint32_t shpool_check_collective(unsigned op, uint32_t mask, uint32_t value, uint32_t arg,
                                 const char *file, int line);
/** A shuffle by all lanes of the mask: the word of lane `source`.
 *  @param [in] shift  the distance, where lanes at the end of the warp have no source; else 32 */
uint32_t shpool_check_shuffle(uint32_t mask, uint32_t value, uint32_t source, uint32_t shift,
                              const char *file, int line);
/** Ends the block. */
void shpool_check_trap(const char *what, const char *file, int line);
void shpool_check_pause(const char *file, int line);
/** Something that a report names with its place: an error, or a note. */
void shpool_check_misuse(const char *rule, const char *text, const char *file, int line);

/** A cuda::barrier. */
typedef struct shpool_check_bar {
    uint64_t word[2];
    uint32_t expected, pending, phase;
} shpool_check_bar;
void shpool_check_bar_init(shpool_check_bar *bar, uint32_t count);
/** The phase that the arrival belongs to; drops: threads that later phases do not wait for. */
uint32_t shpool_check_bar_arrive(shpool_check_bar *bar, uint32_t count, uint32_t drops);
uint32_t shpool_check_bar_test(shpool_check_bar *bar, uint32_t phase);
void shpool_check_bar_wait(shpool_check_bar *bar, uint32_t phase, const char *file, int line);

/** An asynchronous copy, or zeros (from == NULL), of a barrier's phase or, if NULL, of the running
 *  thread's open batch. */
void shpool_check_async(const shpool_check_bar *bar, void *to, const void *from, size_t bytes);
/** Close the batch; the number of those that the thread has closed. */
uint32_t shpool_check_async_commit(void);
/** Wait for the thread's closed batches but the newest ones. */
void shpool_check_async_wait(uint32_t newest);

/** Pools in shared memory: the whole of one, then an allocation, and its end. */
void shpool_check_pool(void *start, size_t bytes);
void shpool_check_pool_malloc(void *ptr, size_t bytes, const void *pc);
void shpool_check_pool_free(void *ptr, const void *pc);
void shpool_check_pool_resize(void *ptr, size_t bytes);
/** The pool requests memory elsewhere: which, is not known here. */
void shpool_check_pool_spills(void);
/** From now on all bytes of it may be accessed. */
void shpool_check_pool_forget(void *start, size_t bytes);
/** The library has stored words to an allocation, which no instrumentation has seen. */
void shpool_check_wrote(void *to, size_t bytes);

/** Dynamic shared memory: all `extern __shared__` arrays are this one. */
extern unsigned char shpool_check_dynamic[];

#if defined(__cplusplus)
}
#endif
#endif /* SHPOOL_CHECK_H */
