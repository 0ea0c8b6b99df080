/* SPDX-License-Identifier: BSD-3-Clause */
/* The work of each thread of a benchmark kernel, from the same source for the GPU and the CPU block
 * executor.
 *
 * Sizes are run-time values and slots are scalars chosen by selects: an array would live in local
 * memory and hide the allocator.  Kernels differ only in the allocator.
 *
 * verify, a constant: 1 stamps every allocation and checks the stamps before the free; that is a
 * separate kernel, for a launch that is not timed. */
#ifndef SHPOOL_BENCH_WORKLOAD_H
#define SHPOOL_BENCH_WORKLOAD_H

#include <shpool/heap.h>

/* nvcc would unroll a loop four times.  With calls in its body that only fills the instruction
 * cache and makes no allocator faster. */
#define BENCH_ROLLED SIMT_ROLLED

/** Results of one thread and, summed, of a launch. */
typedef struct bench_tally {
    unsigned long long ops;      /* mallocs and frees */
    unsigned long long failures; /* mallocs that got NULL */
    unsigned long long errors;   /* payloads whose contents were wrong */
    unsigned long long payload;  /* ramp, aging: requested and live bytes */
    unsigned long long cycles;   /* of thread 0 of block 0 around its loop (GPU) */
    unsigned long long digest;   /* of the requested operations; 0 unless verifying */
    unsigned long long malloc_cycles; /* objects: from requests to grants, of all units (GPU) */
    unsigned long long free_cycles;
    unsigned long long stuck;    /* objects: units that gave up */
} bench_tally;

/** Arguments of a benchmark kernel. */
typedef struct bench_args {
    uint32_t iterations;
    uint32_t seed;
    uint32_t bytes; /* request of `pairs` and `handoff`, 4 times the first one of `batch` (64) */
    uint32_t box;   /* where letter boxes are, in the dynamic shared memory */
    uint32_t alignments; /* number of alignments in `fuzz`: 16, 32, ... */
    uint32_t touch; /* `objects`: whether all of an object is written and read */
    uint32_t slot;  /* `objects` without an allocator: bytes of a unit's slot */
    const uint32_t *sizes; /* `objects`, `aging`: BENCH_SIZES requests, global memory */
    bench_tally *tally; /* global memory */
} bench_args;

/* What a workload is, beside its kernel. */
enum {
    BENCH_FILLS    = 1u << 0, /* its figure is how full the pool gets */
    BENCH_SIZED    = 1u << 1, /* its sizes are a table (bench_args.sizes) */
    BENCH_BOXES    = 1u << 2, /* each thread has two letter boxes beside the pool: 8 bytes */
    BENCH_TURNS    = 1u << 3, /* the warps fill one pool in turn, by a box of the block: 8 bytes */
    BENCH_TWO_WARPS = 1u << 4 /* a block of one warp cannot do it */
};

#define BENCH_LEAST_OBJECT 16u /* bytes */

/* X(name, bytes of the smallest request, what it is, what shpool-bench --help and its manual say).
 * A pool that cannot hold the smallest request has no row.  Each of the plain ones is one kernel,
 * bench_run_NAME(); objects is one for each scope. */
#define BENCH_PLAIN(X) \
    X(pairs, 64, 0, "malloc(64), free") \
    X(batch, 16, 0, "4 mallocs of 16 to 40 bytes, then their frees") \
    X(churn, 8, 0, "4 slots at random: free, or malloc of 8 to 71 bytes") \
    X(mixed, 1, 0, "2 slots at random: free, or malloc of 1 to 64 bytes; one in 8 of 65 to 192") \
    X(handoff, 64, BENCH_BOXES, "malloc(64); the next warp frees it") \
    X(waiting, 64, BENCH_BOXES | BENCH_TWO_WARPS, \
      "one warp malloc_wait(64)s, the next one frees; no barrier, --bytes may be few") \
    X(ramp, 16, BENCH_FILLS, "sizes of 16 to 256 bytes until the first failure: utilisation") \
    X(aging, BENCH_LEAST_OBJECT, BENCH_FILLS | BENCH_SIZED | BENCH_TURNS, \
      "warps malloc 16 bytes to 16 KB, free less, until the first failure: utilisation") \
    X(fuzz, 1, 0, "random malloc, free, realloc, aligned malloc; whole payloads checked")
#define BENCH_WORKLOADS(X) \
    BENCH_PLAIN(X) \
    X(objects, BENCH_LEAST_OBJECT, BENCH_SIZED, \
      "one object of random size after another, for a thread, tile, warp or block")

enum {
#define BENCH_ENUM(_name, ...) BENCH_##_name,
    BENCH_WORKLOADS(BENCH_ENUM)
#undef BENCH_ENUM
    BENCH_COUNT
};

SIMT_FN uint32_t bench_next(uint32_t r)
{
    return r * 1664525u + 1013904223u; /* Numerical Recipes, "quick and dirty" */
}

SIMT_FN uint32_t bench_first(const bench_args *args)
{
    uint32_t thread = simt_block_rank() * simt_block_threads() + simt_thread_rank();

    return thread * 2654435761u + 12345u + args->seed * 2246822519u;
}

/* Two runs did the same operations if their digests are equal.  Requested sizes, and numbers above
 * them for operations other than malloc. */
#define BENCH_OP_FREE    (1u << 20)
#define BENCH_OP_REALLOC (1u << 21)
#define BENCH_OP_ALIGNED (1u << 22)

SIMT_FN void bench_did(bench_tally *tally, uint32_t operation)
{
    tally->digest = (tally->digest + operation + 1u) * 6364136223846793005ull; /* Knuth's MMIX */
}

/* Unique contents of the first and the last word of a live allocation of thread `rank`. */
SIMT_FN uint32_t bench_stamp(const void *p, uint32_t rank)
{
    return (uint32_t)(size_t)p ^ ((rank + 1u) * 2654435761u);
}

/* Words 0 and `last` of p: written, or how many of them are wrong. */
SIMT_FN uint32_t bench_stamps(shpool_heap heap, void *p, uint32_t rank, int write)
{
    volatile uint32_t *word  = (volatile uint32_t *)p;
    size_t             last  = shpool_usable_size(heap, p) / 4u - 1u;
    uint32_t           stamp = bench_stamp(p, rank);

    if (write) {
        word[0]    = stamp;
        word[last] = stamp;
        return 0;
    }
    return (word[0] != stamp) + (word[last] != stamp);
}

/* One malloc; writes a byte to the allocation. */
SIMT_FN void *bench_get(shpool_heap heap, uint32_t bytes, int verify, bench_tally *tally)
{
    char *p = (char *)shpool_malloc(heap, bytes);

    if (verify) {
        bench_did(tally, bytes);
    }
    if (p == NULL) {
        tally->failures++;
        return NULL;
    }
    *(volatile char *)p = 1;
    if (verify) {
        (void)bench_stamps(heap, p, simt_thread_rank(), 1);
    }
    return p;
}

/* Free an allocation of thread `rank`. */
SIMT_FN void bench_put_of(shpool_heap heap, void *p, uint32_t rank, int verify, bench_tally *tally)
{
    if (verify) {
        bench_did(tally, BENCH_OP_FREE);
        tally->errors += (p != NULL) ? bench_stamps(heap, p, rank, 0) : 0u;
    }
    shpool_free(heap, p);
}

SIMT_FN void bench_put(shpool_heap heap, void *p, int verify, bench_tally *tally)
{
    bench_put_of(heap, p, simt_thread_rank(), verify, tally);
}

SIMT_FN void bench_run_pairs(shpool_heap heap, const bench_args *args, int verify,
                             bench_tally *tally)
{
    uint32_t it;

    BENCH_ROLLED
    for (it = 0; it < args->iterations; it++) {
        bench_put(heap, bench_get(heap, args->bytes, verify, tally), verify, tally);
    }
    tally->ops = 2ull * args->iterations;
}

SIMT_FN void bench_run_batch(shpool_heap heap, const bench_args *args, int verify,
                             bench_tally *tally)
{
    uint32_t bytes = args->bytes >> 2; /* 16 */
    uint32_t it;

    BENCH_ROLLED
    for (it = 0; it < args->iterations; it++) {
        void *a = bench_get(heap, bytes, verify, tally);
        void *b = bench_get(heap, bytes + 8u, verify, tally);
        void *c = bench_get(heap, bytes + 16u, verify, tally);
        void *d = bench_get(heap, bytes + 24u, verify, tally);

        bench_put(heap, a, verify, tally);
        bench_put(heap, b, verify, tally);
        bench_put(heap, c, verify, tally);
        bench_put(heap, d, verify, tally);
    }
    tally->ops = 8ull * args->iterations;
}

SIMT_FN void bench_run_churn(shpool_heap heap, const bench_args *args, int verify,
                             bench_tally *tally)
{
    void    *s0 = NULL, *s1 = NULL, *s2 = NULL, *s3 = NULL;
    uint32_t r = bench_first(args);
    uint32_t it;

    BENCH_ROLLED
    for (it = 0; it < args->iterations; it++) {
        uint32_t slot;
        void    *p;

        r    = bench_next(r);
        slot = (r >> 28) & 3u;
        p    = (slot == 0) ? s0 : (slot == 1u) ? s1 : (slot == 2u) ? s2 : s3;
        if (p != NULL) {
            bench_put(heap, p, verify, tally);
            p = NULL;
        } else {
            p = bench_get(heap, 8u + ((r >> 16) & 63u), verify, tally);
        }
        s0 = (slot == 0) ? p : s0;
        s1 = (slot == 1u) ? p : s1;
        s2 = (slot == 2u) ? p : s2;
        s3 = (slot == 3u) ? p : s3;
    }
    tally->ops = args->iterations;
    bench_put(heap, s0, verify, tally);
    bench_put(heap, s1, verify, tally);
    bench_put(heap, s2, verify, tally);
    bench_put(heap, s3, verify, tally);
}

SIMT_FN void bench_run_mixed(shpool_heap heap, const bench_args *args, int verify,
                             bench_tally *tally)
{
    void    *s0 = NULL, *s1 = NULL;
    uint32_t r = bench_first(args);
    uint32_t it;

    BENCH_ROLLED
    for (it = 0; it < args->iterations; it++) {
        uint32_t slot;
        uint32_t bytes;
        void    *p;

        r     = bench_next(r);
        slot  = (r >> 28) & 1u;
        bytes = (((r >> 25) & 7u) == 0) ? 65u + ((r >> 12) & 127u) : 1u + ((r >> 12) & 63u);
        p     = (slot == 0) ? s0 : s1;
        if (p != NULL) {
            bench_put(heap, p, verify, tally);
            p = NULL;
        } else {
            p = bench_get(heap, bytes, verify, tally);
        }
        s0 = (slot == 0) ? p : s0;
        s1 = (slot == 1u) ? p : s1;
    }
    tally->ops = args->iterations;
    bench_put(heap, s0, verify, tally);
    bench_put(heap, s1, verify, tally);
}

/* With one warp the next lane frees.  The boxes alternate, so that one barrier is enough. */
SIMT_FN void bench_run_handoff(shpool_heap heap, const bench_args *args, int verify,
                               bench_tally *tally)
{
    uint32_t  threads = simt_block_threads();
    uint32_t  rank    = simt_thread_rank();
    uint32_t  step    = (threads > SIMT_WARP) ? SIMT_WARP : 1u;
    uint32_t  from    = (rank >= step) ? rank - step : rank + threads - step;
    simt_addr box     = simt_dynamic_base() + args->box;
    uint32_t  it;

    BENCH_ROLLED
    for (it = 0; it < args->iterations; it++) {
        simt_addr set = box + 4u * threads * (it & 1u);
        void     *p   = bench_get(heap, args->bytes, verify, tally);
        simt_addr got;

        simt_store32(set + 4u * rank, (p != NULL) ? simt_to_shared(p) : 0u);
        simt_barrier();
        got = simt_load32(set + 4u * from);
        if (got != 0) {
            bench_put_of(heap, simt_from_shared(got), from, verify, tally);
        }
    }
    tally->ops = 2ull * args->iterations;
}

#define BENCH_ATTEMPTS 1000000u /* about a second */
#define BENCH_NOTHING  1u       /* in a box: the malloc failed */

/* The giving end of a box. */
SIMT_FN void bench_give(shpool_heap heap, simt_addr box, const bench_args *args, int verify,
                        bench_tally *tally)
{
    char *p = (char *)shpool_malloc_wait(heap, args->bytes, BENCH_ATTEMPTS);

    if (verify) {
        bench_did(tally, args->bytes);
    }
    if (p == NULL) {
        tally->failures++;
    } else if (verify) {
        (void)bench_stamps(heap, p, simt_thread_rank(), 1);
    } else {
        *(volatile char *)p = 1;
    }
    while (simt_atomic_load(box, SIMT_RELAXED) != 0) {
        simt_pause(20);
    }
    /* release: pairs with the acquire in bench_take; what was written to p */
    simt_atomic_store(box, (p != NULL) ? simt_to_shared(p) : BENCH_NOTHING, SIMT_RELEASE);
}

/* The other end; thread `from` gives. */
SIMT_FN void bench_take(shpool_heap heap, simt_addr box, uint32_t from, int verify,
                        bench_tally *tally)
{
    uint32_t held;

    /* acquire: pairs with the release in bench_give */
    while ((held = simt_atomic_load(box, SIMT_ACQUIRE)) == 0) {
        simt_pause(20);
    }
    simt_atomic_store(box, 0, SIMT_RELAXED); /* an empty box carries no other information */
    if (held != BENCH_NOTHING) {
        bench_put_of(heap, simt_from_shared(held), from, verify, tally);
    }
}

/* A pipeline: lanes of even warps give, those of the next one take.  With an odd number of warps
 * the last one is idle. */
SIMT_FN void bench_run_waiting(shpool_heap heap, const bench_args *args, int verify,
                               bench_tally *tally)
{
    uint32_t  rank    = simt_thread_rank();
    uint32_t  gives   = ((rank & SIMT_WARP) == 0);
    uint32_t  partner = rank ^ SIMT_WARP;
    simt_addr box     = simt_dynamic_base() + args->box + 4u * (gives ? partner : rank);
    uint32_t  n       = ((rank | SIMT_WARP) < simt_block_threads()) ? args->iterations : 0u;
    uint32_t  it;

    if (!gives) {
        simt_atomic_store(box, 0, SIMT_RELAXED);
    }
    simt_barrier();
    BENCH_ROLLED
    for (it = 0; it < n; it++) {
        if (gives) {
            bench_give(heap, box, args, verify, tally);
        } else {
            bench_take(heap, box, partner, verify, tally);
        }
    }
    tally->ops = n;
}

/* There is one ramp; `iterations` has no effect.  The pool ends with the kernel. */
SIMT_FN void bench_run_ramp(shpool_heap heap, const bench_args *args, int verify,
                            bench_tally *tally)
{
    uint32_t r = bench_first(args);

    while (tally->failures == 0) {
        uint32_t bytes;

        r     = bench_next(r);
        bytes = 16u + simt_mulhi(r, 241u);
        if (bench_get(heap, bytes, verify, tally) != NULL) {
            tally->payload += bytes;
        }
        tally->ops++;
    }
}

#include "fuzz.h"
#include "objects.h"
#include "aging.h"

/* Add a thread's tally to the launch's. */
SIMT_FN void bench_sum(const bench_args *args, const bench_tally *tally)
{
    simt_global_add64(&args->tally->ops, tally->ops);
    simt_global_add64(&args->tally->failures, tally->failures);
    simt_global_add64(&args->tally->errors, tally->errors);
    simt_global_add64(&args->tally->payload, tally->payload);
    if (tally->digest != 0) {
        unsigned long long thread =
            (unsigned long long)simt_block_rank() * simt_block_threads() + simt_thread_rank();

        simt_global_add64(&args->tally->digest, tally->digest * (2u * thread + 1u));
    }
}

#endif /* SHPOOL_BENCH_WORKLOAD_H */
