/* SPDX-License-Identifier: BSD-3-Clause */
/* What a block's heap must look like, kept beside it on the host.
 *
 * The model holds every live allocation of the running block and finds overlaps, allocations out of
 * their pool, and frees of what is not live.  Payloads are their owners' affair.
 *
 * Nothing here is a switch point, so with fibers each call is atomic; with OS threads a mutex makes
 * it so.  The mutex must not hide a missing release or acquire of the allocator from
 * ThreadSanitizer, hence this order:
 *
 *   p = malloc; heap_fill(p); heap_model_claim(p)     the first access comes before the lock
 *   heap_model_drop(p); heap_verify(p); free(p)       the last access comes after it
 *
 * Kernels never assert (cmocka leaves by longjmp, a kernel has another stack): what is wrong is
 * counted, with its text, and the test calls assert_model(). */
#ifndef SHPOOL_TESTS_HEAP_MODEL_H
#define SHPOOL_TESTS_HEAP_MODEL_H

#include <pthread.h>
#include <stdio.h>

#include <shpool/executor.h>
#include <shpool/shpool.h>

#include "tests/test.h"

#define HEAP_GRANULES 16384u /* 256 KiB of region: more than a block can have */

typedef struct heap_model {
    pthread_mutex_t lock;
    uint32_t live;                 /* allocations in shared memory */
    uint32_t faults;
    char     text[320];            /* the first fault */

    /* What the report of a pool with stats must say; of all blocks. */
    uint32_t mallocs, frees, failures, held, held_bytes, peak_bytes;

    uint32_t used;                 /* granules from here on have had no owner since the reset */
    uint32_t owner[HEAP_GRANULES]; /* granule -> 1 + its allocation's first */
    uint32_t bytes[HEAP_GRANULES]; /* of the allocation that starts there */
} heap_model;

/** One allocation, as its owner remembers it. */
typedef struct heap_slot {
    unsigned char *at;
    uint32_t       bytes; /* usable ones, all of them filled */
    uint32_t       tag;   /* of the pattern */
} heap_slot;

/** The pool that an allocation must lie in, and the region that the granules are counted from. */
typedef struct heap_place {
    simt_addr region;
    simt_addr base;
    uint32_t  bytes;
} heap_place;

/** Before the first reset the model is zero.  Only what was used is cleared: an exploration resets
 *  its model before each schedule. */
void heap_model_reset(heap_model *model);

/** Record a fault; printf-like. */
void heap_model_fault(heap_model *model, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** A new allocation of `asked` bytes at `alignment`; in global memory only that counts. */
void heap_model_claim(heap_model *model, heap_place place, const heap_slot *slot, size_t asked,
                      uint32_t alignment);

/** The allocation is about to be freed, or resized: it must be live, and start there. */
void heap_model_drop(heap_model *model, heap_place place, const heap_slot *slot);

/** What a report counts: a request and its usable bytes (0: it failed), and a free. */
void heap_model_count_malloc(heap_model *model, uint32_t usable);
void heap_model_count_free(heap_model *model, uint32_t usable);
/** The same allocation holds `after` bytes where it had `before`. */
void heap_model_count_resize(heap_model *model, uint32_t before, uint32_t after);

/** Write the pattern of the slot's tag over all its bytes, whole words. */
void heap_fill(const heap_slot *slot);

/** Look for that pattern in the first `bytes` bytes of `at`, of whole words; a difference is a
 *  fault. */
void heap_verify(heap_model *model, const unsigned char *at, uint32_t bytes, uint32_t tag);

/** xorshift, never 0 (Marsaglia, 2003). */
uint32_t heap_random(uint32_t *state);

/** Nonzero if LIBSHPOOL_TEST_LONG asks for more seeds and schedules. */
int heap_long(void);

/** How many preemptions to explore in place of `usual`, and how many seeds: more with
 *  LIBSHPOOL_TEST_LONG, fewer preemptions under sanitizers, and seeds under ThreadSanitizer, which
 *  sees a missing order in any schedule, at ten times the price of each. */
uint32_t heap_preemptions(uint32_t usual);
uint32_t heap_seeds(uint32_t usual);

#define HEAP_EXPECT(_model, _fine)                                                                 \
    do {                                                                                           \
        if (!(_fine)) {                                                                            \
            heap_model_fault((_model), "%s:%d: not so: %s (block %u, thread %u)", __FILE__,        \
                             __LINE__, #_fine, simt_block_rank(), simt_thread_rank());             \
        }                                                                                          \
    } while (0)

#define assert_model(_model)                                                                       \
    do {                                                                                           \
        if ((_model)->faults != 0) {                                                               \
            fail_msg("%u faults, the first: %s", (_model)->faults, (_model)->text);                \
        }                                                                                          \
    } while (0)

#endif /* SHPOOL_TESTS_HEAP_MODEL_H */
