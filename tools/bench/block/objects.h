/* SPDX-License-Identifier: BSD-3-Clause */
/* The workload objects; part of bench/block/workload.h.
 *
 * A unit (the scope says which threads) requests an object, uses all of it and frees it.  A refused
 * request is made again after a pause, so that every unit gets all its objects, of the same sizes
 * with every allocator.  own is a constant: 1 is the baseline without an allocator, where each unit
 * has a slot of its own.  The rest of the kernel is the same. */
#ifndef SHPOOL_BENCH_OBJECTS_H
#define SHPOOL_BENCH_OBJECTS_H

/* X(name, threads of a unit in a block of _block threads, summary) */
#define BENCH_SCOPES(X) \
    X(thread, 1u, "each thread, shpool_malloc()") \
    X(tile, 8u, "8 lanes, shpool_malloc_lanes()") \
    X(warp, SIMT_WARP, "a warp, shpool_malloc_warp()") \
    X(leader, SIMT_WARP, "a warp, whose first lane calls shpool_malloc() and shuffles") \
    X(block, _block, "a block, shpool_malloc_block()")

enum {
#define BENCH_ENUM(_name, _threads, _summary) BENCH_SCOPE_##_name,
    BENCH_SCOPES(BENCH_ENUM)
#undef BENCH_ENUM
    BENCH_SCOPE_COUNT
};

/* Kernels: those of the plain workloads, then one for each scope. */
#define BENCH_KERNEL_COUNT (BENCH_objects + BENCH_SCOPE_COUNT)

SIMT_HD uint32_t bench_kernel_id(uint32_t workload, uint32_t scope)
{
    return (workload == BENCH_objects) ? BENCH_objects + scope : workload;
}

#define BENCH_SIZES         4096u /* in the table of sizes; a power of two */
#define BENCH_PAUSE         200u  /* ns after a refusal */
#define BENCH_MOST_REFUSALS 4000000u /* of one object, about a second: then no thread will free */

SIMT_HD uint32_t bench_unit_threads(uint32_t scope, uint32_t _block)
{
    switch (scope) {
#define BENCH_CASE(_name, _threads, _summary) \
    case BENCH_SCOPE_##_name: \
        return _threads;
        BENCH_SCOPES(BENCH_CASE)
#undef BENCH_CASE
    default:
        return 1u;
    }
}

/* Units of a block. */
SIMT_HD uint32_t bench_units(uint32_t scope, uint32_t block)
{
    uint32_t threads = bench_unit_threads(scope, block);

    return (block + threads - 1u) / threads;
}

/* The caller's unit. */
typedef struct bench_unit {
    uint32_t rank;    /* in the block */
    uint32_t index;   /* in the grid */
    uint32_t member;  /* the caller's rank in the unit */
    uint32_t members;
    uint32_t lanes;   /* of the caller's warp that are in it */
} bench_unit;

SIMT_FN bench_unit bench_unit_of(uint32_t scope)
{
    uint32_t   block   = simt_block_threads();
    uint32_t   threads = bench_unit_threads(scope, block);
    uint32_t   rank    = simt_thread_rank();
    uint32_t   rest;
    bench_unit unit;

    unit.rank    = rank / threads;
    unit.index   = simt_block_rank() * bench_units(scope, block) + unit.rank;
    unit.member  = rank - unit.rank * threads;
    rest         = block - (rank - unit.member);
    unit.members = (rest < threads) ? rest : threads;
    unit.lanes   = (scope == BENCH_SCOPE_block)
                       ? shpool_warp_lanes()
                       : simt_mask((rank - unit.member) % SIMT_WARP, unit.members);
    return unit;
}

SIMT_FN void bench_unit_sync(uint32_t scope, const bench_unit *unit)
{
    if (scope == BENCH_SCOPE_block) {
        simt_barrier();
    } else if (scope != BENCH_SCOPE_thread) {
        simt_warp_sync(unit->lanes);
    }
}

/* The same address in all threads of the unit. */
SIMT_FN unsigned char *bench_object_get(shpool_heap heap, const bench_args *args, uint32_t scope,
                                        int own, const bench_unit *unit, uint32_t bytes)
{
    void *p = NULL;

    if (own) {
        return (unsigned char *)simt_from_shared(simt_dynamic_base() + unit->rank * args->slot);
    }
    switch (scope) {
    case BENCH_SCOPE_thread:
        return (unsigned char *)shpool_malloc(heap, bytes);
    case BENCH_SCOPE_tile:
        return (unsigned char *)shpool_malloc_lanes(heap, unit->lanes, bytes);
    case BENCH_SCOPE_warp:
        return (unsigned char *)shpool_malloc_warp(heap, bytes);
    case BENCH_SCOPE_leader:
        if (unit->member == 0) {
            p = shpool_malloc(heap, bytes);
        }
        simt_warp_sync(unit->lanes); /* what lane 0 acquired */
        return (unsigned char *)(size_t)shpool_shfl64(unit->lanes, (unsigned long long)(size_t)p,
                                                      0);
    default:
        return (unsigned char *)shpool_malloc_block(heap, bytes);
    }
}

SIMT_FN void bench_object_put(shpool_heap heap, uint32_t scope, int own, const bench_unit *unit,
                              void *p)
{
    if (own) {
        bench_unit_sync(scope, unit); /* the members' last use is before the free */
    } else if (scope == BENCH_SCOPE_thread) {
        shpool_free(heap, p);
    } else if (scope == BENCH_SCOPE_tile) {
        shpool_free_lanes(heap, unit->lanes, p);
    } else if (scope == BENCH_SCOPE_warp) {
        shpool_free_warp(heap, p);
    } else if (scope == BENCH_SCOPE_leader) {
        simt_warp_sync(unit->lanes);
        if (unit->member == 0) {
            shpool_free(heap, p);
        }
    } else {
        shpool_free_block(heap, p);
    }
}

/* Write all words, and read those that the member at the other end wrote; how many were wrong.
 * Other units, and other objects of this one, have other tags. */
SIMT_FN uint32_t bench_object_touch(uint32_t scope, int verify, const bench_unit *unit,
                                    unsigned char *p, uint32_t bytes, uint32_t tag)
{
    volatile uint32_t *word  = (volatile uint32_t *)p;
    uint32_t           wrong = 0;
    uint32_t           i;

    BENCH_ROLLED
    for (i = unit->member; i < bytes / 4u; i += unit->members) {
        word[i] = tag + i;
    }
    bench_unit_sync(scope, unit);
    if (verify) {
        simt_pause(BENCH_PAUSE); /* gives other units time for wrong writes */
    }
    BENCH_ROLLED
    for (i = unit->members - 1u - unit->member; i < bytes / 4u; i += unit->members) {
        wrong += (word[i] != tag + i) ? 1u : 0u;
    }
    return wrong;
}

/* Sums of all units' leaders, in addition to the tally. */
SIMT_FN void bench_objects_sum(const bench_args *args, unsigned long long malloc_cycles,
                               unsigned long long free_cycles, uint32_t stuck)
{
    simt_global_add64(&args->tally->malloc_cycles, malloc_cycles);
    simt_global_add64(&args->tally->free_cycles, free_cycles);
    simt_global_add64(&args->tally->stuck, stuck);
}

/* One body for granted and refused requests, without a loop that waits: lanes that have an object
 * free it even if other lanes of their warp wait. */
SIMT_FN void bench_run_objects(shpool_heap heap, const bench_args *args, uint32_t scope, int own,
                               int verify, bench_tally *tally)
{
    bench_unit         unit          = bench_unit_of(scope);
    uint32_t           at            = unit.index * 2654435761u;
    uint32_t           bytes         = args->sizes[at % BENCH_SIZES];
    unsigned long long malloc_cycles = 0;
    unsigned long long free_cycles   = 0;
    uint32_t           refused       = 0; /* of this object */
    uint32_t           it            = 0;
    uint32_t           start         = simt_clock();

    BENCH_ROLLED
    while ((it < args->iterations) && (refused < BENCH_MOST_REFUSALS)) {
        unsigned char *p = bench_object_get(heap, args, scope, own, &unit, bytes);

        if (p != NULL) {
            uint32_t now = simt_clock();
            uint32_t use = (own && (bytes > args->slot)) ? args->slot : bytes;

            malloc_cycles += now - start;
            if (verify || args->touch) {
                tally->errors += bench_object_touch(scope, verify, &unit, p, use,
                                                    (unit.index + it * 65537u) * 2654435761u);
            }
            if (verify && (unit.member == 0)) {
                tally->errors += ((size_t)p & (SHPOOL_MIN_ALIGNMENT - 1u)) != 0;
                bench_did(tally, bytes);
                bench_did(tally, BENCH_OP_FREE);
            }
            it++;
            at += 7919u;
            bytes = args->sizes[at % BENCH_SIZES]; /* early: no malloc waits for the load */
            now   = simt_clock();
            bench_object_put(heap, scope, own, &unit, p);
            start = simt_clock();
            free_cycles += start - now;
            refused = 0;
        } else {
            refused++;
            tally->failures += (unit.member == 0) ? 1u : 0u;
            simt_pause(BENCH_PAUSE);
        }
    }
    if (unit.member == 0) {
        tally->ops = 2ull * it;
        bench_objects_sum(args, malloc_cycles, free_cycles, it < args->iterations);
    }
}

/* A function for each scope, and one for the baseline: what kernels are made of. */
#define BENCH_FUNCTION(_name, _threads, _summary) \
    SIMT_FN void bench_run_objects_##_name(shpool_heap heap, const bench_args *args, int verify, \
                                           bench_tally *tally) \
    { \
        bench_run_objects(heap, args, BENCH_SCOPE_##_name, 0, verify, tally); \
    } \
    SIMT_FN void bench_run_own_slot_##_name(shpool_heap heap, const bench_args *args, int verify, \
                                            bench_tally *tally) \
    { \
        bench_run_objects(heap, args, BENCH_SCOPE_##_name, 1, verify, tally); \
    }
BENCH_SCOPES(BENCH_FUNCTION)
#undef BENCH_FUNCTION

#endif /* SHPOOL_BENCH_OBJECTS_H */
