/* SPDX-License-Identifier: BSD-3-Clause */
/* One pool on the executor with the model beside it: opening, running, and heap calls that tell
 * the model.  For programs that reach the allocator through the function table. */
#ifndef SHPOOL_TESTS_HEAP_TRIAL_H
#define SHPOOL_TESTS_HEAP_TRIAL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap_model.h"

#include <shpool/executor.h>
#include <shpool/heap.h>
#include <shpool/shpool.h>

#define TRIAL_BLOCKS 8u /* most of a cluster */

typedef struct trial {
    const shpool_allocator *allocator;
    shpool_pool  pool;
    simt_launch  launch; /* tests change it between trial_open and trial_run */
    simt_result  result;
    uint32_t     seed;
    uint32_t     steps;
    heap_slot    box[SHPOOL_MAX_THREADS]; /* what a thread hands to another */
    size_t       number;                  /* for the kernel, whatever it needs */
    shpool_report_data report;
    heap_model   model;    /* of the block, or of block 0 of a cluster; and all faults of kernels */
    heap_model   other[TRIAL_BLOCKS - 1];
} trial;

#define TRIAL_NAME(_t) ((_t)->allocator->name)

static inline int has_cap(const trial *t, uint32_t cap)
{
    return (t->allocator->caps & cap) != 0;
}

/* Whether allocations come out of a pool in shared memory. */
static inline int has_pool(const shpool_allocator *allocator)
{
    return (allocator->caps & (SHPOOL_CAP_NONE | SHPOOL_CAP_SPILL)) == 0;
}

/* Number of pools of a block with this number of threads, with the defaults. */
static inline uint32_t trial_pools(const shpool_allocator *allocator, uint32_t threads)
{
    uint32_t share = (allocator->scope == SHPOOL_SCOPE_THREAD) ? 1u :
                     (allocator->scope >= SHPOOL_SCOPE_BLOCK) ? threads :
                     (allocator->threads_per_pool != 0) ? allocator->threads_per_pool : 32u;

    return (threads + share - 1u) / share;
}

static inline void trial_reset(trial *t)
{
    heap_model_reset(&t->model);
    for (uint32_t i = 0; i < TRIAL_BLOCKS - 1u; i++) {
        heap_model_reset(&t->other[i]);
    }
}

/* The first of the models' faults, or NULL. */
static inline const char *trial_fault(const trial *t)
{
    for (uint32_t i = 0; i < TRIAL_BLOCKS - 1u; i++) {
        if (t->other[i].faults != 0) {
            return t->other[i].text;
        }
    }
    return (t->model.faults != 0) ? t->model.text : NULL;
}

static inline void trial_open_as(trial *t, const shpool_allocator *allocator, const char *options,
                                 const shpool_config *want)
{
    char spec[128];

    memset(t, 0, offsetof(trial, model));
    trial_reset(t);
    t->allocator = allocator;
    (void)snprintf(spec, sizeof(spec), "%s%s", allocator->name, options);
    if (shpool_simt_open(spec, want, &t->pool) != SHPOOL_OK) {
        fail_msg("%s, %u threads: %s", spec, want->block_threads, shpool_last_error());
    }
    t->launch.block[0]      = want->block_threads;
    t->launch.dynamic_bytes = t->pool.shared_bytes;
}

/* `each` bytes for every pool. */
static inline void trial_open(trial *t, const shpool_allocator *allocator, const char *options,
                              uint32_t threads, uint32_t each, uint32_t alignment)
{
    shpool_config want = { .block_threads = threads, .alignment = alignment };

    want.payload_bytes = each * trial_pools(allocator, threads);
    trial_open_as(t, allocator, options, &want);
}

static inline void trial_run(trial *t, simt_kernel kernel)
{
    shpool_status status = simt_run(&t->launch, kernel, t, &t->result);

    if (status != SHPOOL_OK) {
        fail_msg("%s: %s: %s", TRIAL_NAME(t), shpool_strerror(status), t->result.text);
    }
    if (trial_fault(t) != NULL) {
        fail_msg("%s, block %u x %u x %u, cluster of %u, seed %llu, period %u: faults: %s",
                 TRIAL_NAME(t), t->launch.block[0], t->launch.block[1], t->launch.block[2],
                 t->launch.cluster[0], t->launch.seed, t->launch.switch_period, trial_fault(t));
    }
    if (t->pool.report != NULL) {
        assert_int_equal(shpool_simt_report(&t->pool, &t->report), SHPOOL_OK);
    }
}

static inline void trial_close(trial *t)
{
    shpool_simt_close(&t->pool);
}

/* Every allocator that hands out memory of a pool. */
#define FOR_EACH_POOL(_allocator)                                                                  \
    for (size_t i_ = 0; i_ < shpool_allocator_count(); i_++)                                       \
        for (const shpool_allocator *_allocator = shpool_allocator_get(i_);                        \
             (_allocator != NULL) && has_pool(_allocator); _allocator = NULL)

/* ---- in kernels ---- */

static inline shpool_heap trial_init(trial *t)
{
    return shpool_init(&t->pool, simt_from_shared(simt_dynamic_base()));
}

/* The block whose shared memory it is. */
static inline uint32_t owner_of(const void *ptr)
{
    return simt_is_within(simt_window(), ptr) ? simt_addr_rank(simt_to_shared(ptr)) : 0u;
}

static inline heap_model *trial_model(trial *t, const void *ptr)
{
    const uint32_t rank = owner_of(ptr);

    return (rank == 0) ? &t->model : &t->other[(rank - 1u) % (TRIAL_BLOCKS - 1u)];
}

static inline heap_place trial_place(shpool_heap heap, const void *ptr)
{
    const uint32_t rank  = owner_of(ptr);
    heap_place     place = { simt_map_cluster(simt_dynamic_base(), rank),
                             simt_map_cluster(heap.view.base, rank), heap.view.bytes };

    return place;
}

/* Fill and register what an allocating call returned; 0 if that was NULL. */
static inline int trial_got(trial *t, shpool_heap heap, heap_slot *slot, void *ptr, size_t asked,
                            uint32_t alignment, uint32_t tag)
{
    slot->at    = (unsigned char *)ptr;
    slot->bytes = (ptr != NULL) ? (uint32_t)shpool_usable_size(heap, ptr) : 0u;
    slot->tag   = tag;
    if (ptr == NULL) {
        return 0;
    }
    heap_fill(slot);
    heap_model_claim(trial_model(t, ptr), trial_place(heap, ptr), slot, asked, alignment);
    return 1;
}

static inline int trial_malloc(trial *t, shpool_heap heap, heap_slot *slot, size_t bytes,
                               uint32_t alignment, uint32_t tag)
{
    void *ptr = (alignment == 16) ? shpool_malloc(heap, bytes)
                                  : shpool_aligned_malloc(heap, alignment, bytes);
    int   got = trial_got(t, heap, slot, ptr, bytes, alignment, tag);

    heap_model_count_malloc(&t->model, slot->bytes);
    return got;
}

static inline void trial_free(trial *t, shpool_heap heap, heap_slot *slot)
{
    heap_model_drop(trial_model(t, slot->at), trial_place(heap, slot->at), slot);
    heap_model_count_free(&t->model, slot->bytes);
    heap_verify(&t->model, slot->at, slot->bytes, slot->tag);
    HEAP_EXPECT(&t->model, shpool_usable_size(heap, slot->at) == slot->bytes); /* no bit lost */
    HEAP_EXPECT(&t->model, shpool_free_at(heap, slot->at, 0) == SHPOOL_FREE_OK);
    slot->at = NULL;
}

/* 1: the slot holds the resized allocation; 0: it was refused and the old one is unharmed. */
static inline int trial_realloc(trial *t, shpool_heap heap, heap_slot *slot, size_t bytes,
                                uint32_t tag)
{
    heap_slot  old   = *slot;
    uint32_t   keep  = (bytes < old.bytes) ? (uint32_t)bytes : old.bytes;
    heap_place place = trial_place(heap, old.at);
    void      *ptr;

    heap_verify(&t->model, old.at, old.bytes, old.tag);
    heap_model_drop(trial_model(t, old.at), place, &old);
    ptr = shpool_realloc(heap, old.at, bytes);
    if (ptr == NULL) {
        heap_verify(&t->model, old.at, old.bytes, old.tag);
        heap_model_claim(trial_model(t, old.at), place, &old, 0, 16);
        heap_model_count_malloc(&t->model, 0);
        return 0;
    }
    heap_verify(&t->model, (unsigned char *)ptr, keep, old.tag);
    (void)trial_got(t, heap, slot, ptr, bytes, 16, tag);
    if (ptr == old.at) {
        heap_model_count_resize(&t->model, old.bytes, slot->bytes);
    } else {
        heap_model_count_malloc(&t->model, slot->bytes);
        heap_model_count_free(&t->model, old.bytes);
    }
    return 1;
}

/* Whether the calling thread is the one that looks after its pool at the end. */
static inline int trial_leads(shpool_heap heap)
{
    return ((heap.view.flags & SHPOOL_FLAG_LEADER) != 0) && (heap.view.bytes != 0);
}

static inline void trial_barrier(void)
{
    if (simt_cluster_blocks() > 1) {
        simt_cluster_barrier();
    } else {
        simt_barrier();
    }
}

static inline shpool_walk trial_expect_unbroken(trial *t, shpool_heap heap)
{
    shpool_walk walk = shpool_check(heap);

    if (walk.broken != 0) {
        heap_model_fault(&t->model, "invariant %u broken at 0x%x", walk.broken, walk.where);
    }
    return walk;
}

static inline void trial_expect_sound(trial *t, shpool_heap heap)
{
    const shpool_walk walk = trial_expect_unbroken(t, heap);

    HEAP_EXPECT(&t->model, (walk.live == 0) && (walk.used == 0));
    HEAP_EXPECT(&t->model, shpool_largest(heap) == t->pool.largest);
}

/* All is freed: sound, and not a byte lost.  All threads of the block, or of the cluster, where a
 * request may take memory of a neighbour if its own is full. */
static inline void trial_expect_fresh(trial *t, shpool_heap heap)
{
    const uint32_t is_cluster = simt_cluster_blocks() > 1u;
    void          *all        = NULL;

    trial_barrier();
    if (trial_leads(heap)) {
        trial_expect_sound(t, heap);
    }
    if (is_cluster) {
        simt_cluster_barrier();
    }
    if (trial_leads(heap)) {
        all = shpool_malloc_shared(heap, t->pool.largest);
        HEAP_EXPECT(&t->model, all != NULL);
    }
    if (is_cluster) {
        simt_cluster_barrier();
        HEAP_EXPECT(&t->model, !trial_leads(heap) || (shpool_largest(heap) == 0));
        simt_cluster_barrier();
    }
    if (trial_leads(heap)) {
        HEAP_EXPECT(&t->model, shpool_free_at(heap, all, 0) == SHPOOL_FREE_OK);
    }
    trial_barrier();
}

#endif /* SHPOOL_TESTS_HEAP_TRIAL_H */
