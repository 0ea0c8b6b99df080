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

/** Kinds of memory. */
typedef enum shpool_check_kind {
    SHPOOL_CHECK_DEVICE  = 0, /**< cudaMalloc(): only kernels may access it */
    SHPOOL_CHECK_MANAGED = 1, /**< cudaMallocManaged(), cudaMallocHost(): both sides may */
    SHPOOL_CHECK_HEAP    = 2  /**< malloc() in a kernel */
} shpool_check_kind;

/** Kinds of access, as bits. */
enum {
    SHPOOL_CHECK_WRITE    = 1,
    SHPOOL_CHECK_ATOMIC   = 2,  /**< an atomic operation */
    SHPOOL_CHECK_VOLATILE = 4,
    SHPOOL_CHECK_LOOSE    = 8,  /**< of a structure: padding may be uninitialised */
    SHPOOL_CHECK_ACQUIRE  = 16, /**< it also reads, and orders what comes after */
    SHPOOL_CHECK_RELEASE  = 32,
    SHPOOL_CHECK_PACKED   = 64  /**< the compiler knows that it may not be aligned */
};

/** A launch. */
typedef struct shpool_check_call {
    const char *kernel;
    const char *file; /**< of the launch */
    int         line;
    uint32_t    grid[3];
    uint32_t    block[3];
    size_t      dynamic_bytes;
    const void *closure; /**< memory of the host that holds the kernel's pointer */
    size_t      closure_bytes;
} shpool_check_call;

/** Runs to the end; 0, or the cudaError_t of a launch that failed. */
int shpool_check_launch(const shpool_check_call *call, void (*run)(void *arg), void *arg);

void *shpool_check_malloc(size_t bytes, shpool_check_kind kind, const void *pc);
/** Nonzero: it is not the start of a live allocation, and that was reported. */
int shpool_check_free(void *ptr, const void *pc);
/** A copy or a fill (from == NULL) by the host; nonzero: out of bounds, and that was reported. */
int shpool_check_copy(void *to, const void *from, int value, size_t bytes, const void *pc);
/** The size of the allocation that contains it, and its start; 0: none does. */
size_t shpool_check_range(const void *ptr, void **start_p);
size_t shpool_check_live_bytes(void);
/** Bytes of all static shared arrays. */
size_t shpool_check_static_bytes(void);

void shpool_check_access(const void *ptr, size_t bytes, unsigned how, const void *pc);
void shpool_check_fence(void);
void shpool_check_barrier(const char *file, int line);
uint32_t shpool_check_collective(unsigned op, uint32_t mask, uint32_t value, uint32_t arg,
                                 const char *file, int line);
/** A shuffle by all lanes of the mask: the word of lane `source`. */
uint32_t shpool_check_shuffle(uint32_t mask, uint32_t value, uint32_t source, const char *file,
                              int line);
/** Ends the block. */
void shpool_check_trap(const char *what, const char *file, int line);
void shpool_check_pause(const char *file, int line);
/** Something that a report names with its place: an error, or a note. */
void shpool_check_misuse(const char *rule, const char *text, const char *file, int line);

/** Pools in shared memory: the whole of one, then an allocation, and its end. */
void shpool_check_pool(void *start, size_t bytes);
void shpool_check_pool_malloc(void *ptr, size_t bytes, const void *pc);
void shpool_check_pool_free(void *ptr, const void *pc);
void shpool_check_pool_resize(void *ptr, size_t bytes);
/** The pool requests memory elsewhere: which, is not known here. */
void shpool_check_pool_spills(void);
/** From now on all bytes of it may be accessed. */
void shpool_check_pool_forget(void *start, size_t bytes);

/** Dynamic shared memory: all `extern __shared__` arrays are this one. */
extern unsigned char shpool_check_dynamic[];

#if defined(__cplusplus)
}
#endif
#endif /* SHPOOL_CHECK_H */
