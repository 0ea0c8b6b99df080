/* SPDX-License-Identifier: BSD-3-Clause */
/* A cluster's pools on the executor with a model beside each: opening them, and heap calls that
 * tell the model of the block whose memory it is.  The program is one translation unit. */
#ifndef SHPOOL_TESTS_CLUSTER_TRIAL_H
#define SHPOOL_TESTS_CLUSTER_TRIAL_H

#include "heap_trial.h"

#define BLOCKS 8u /* most of a cluster here */
#define MOST   48u /* threads of a block */

typedef struct cluster_trial {
    shpool_pool pool;
    simt_launch launch;
    simt_result result;
    heap_model  model[BLOCKS]; /* of the pool in each block; what is wrong goes to the first */
    heap_slot   box[BLOCKS * MOST];
    uint32_t    seed, steps;
    uint32_t    borrowed, refused;
    shpool_report_data report; /* zero without stats and check */
} cluster_trial;

static cluster_trial t;

#define EXPECT(_fine) HEAP_EXPECT(&t.model[0], _fine)

static void open_cluster_of(const char *name, uint32_t blocks, uint32_t threads, uint32_t payload)
{
    shpool_config want = { .block_threads = threads, .payload_bytes = payload };

    memset(&t, 0, sizeof(t));
    for (uint32_t i = 0; i < BLOCKS; i++) {
        heap_model_reset(&t.model[i]);
    }
    if (shpool_simt_open(name, &want, &t.pool) != SHPOOL_OK) {
        fail_msg("%s", shpool_last_error());
    }
    t.launch.block[0]      = threads;
    t.launch.grid[0]       = 2 * blocks;
    t.launch.cluster[0]    = blocks;
    t.launch.dynamic_bytes = t.pool.shared_bytes;
}

static inline void open_cluster(uint32_t blocks, uint32_t threads, uint32_t payload)
{
    open_cluster_of("cluster_bitmap", blocks, threads, payload);
}

/* Run it, look what the models say, read the report and close the pool. */
static inline void expect_sound(shpool_status status)
{
    if (status != SHPOOL_OK) {
        fail_msg("%s %s", t.result.text, t.model[0].text);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        if (t.model[i].faults != 0) {
            fail_msg("cluster of %u, %u threads, seed %llu, period %u, pool %u: %s",
                     t.launch.cluster[0], t.launch.block[0], t.launch.seed,
                     t.launch.switch_period, i, t.model[i].text);
        }
        assert_int_equal(t.model[i].live, 0);
    }
}

static inline void run_cluster(simt_kernel kernel)
{
    expect_sound(simt_run(&t.launch, kernel, NULL, &t.result));
    if (t.pool.report != NULL) {
        assert_int_equal(shpool_simt_report(&t.pool, &t.report), SHPOOL_OK);
    }
    shpool_simt_close(&t.pool);
}

/* ---- in kernels ---- */

static inline shpool_heap init_cluster(void)
{
    return shpool_init(&t.pool, simt_from_shared(simt_dynamic_base()));
}

static inline uint32_t owner_of(const void *ptr)
{
    return simt_addr_rank(simt_to_shared(ptr));
}

static inline heap_place place_of(shpool_heap heap, const heap_slot *slot)
{
    uint32_t   rank  = owner_of(slot->at);
    heap_place place = { simt_map_cluster(simt_dynamic_base(), rank),
                         simt_map_cluster(heap.view.base, rank), heap.view.bytes };

    return place;
}

static inline heap_model *model_of(const heap_slot *slot)
{
    return &t.model[owner_of(slot->at) % BLOCKS];
}

/* Fill and register. */
static inline int got(shpool_heap heap, heap_slot *slot, void *ptr, size_t bytes, uint32_t tag)
{
    *slot = (heap_slot){ (unsigned char *)ptr, 0, tag };
    if (ptr == NULL) {
        simt_global_add32(&t.refused, 1);
        return 0;
    }
    EXPECT(simt_is_within(heap.window, ptr) && (owner_of(ptr) < simt_cluster_blocks()));
    slot->bytes = (uint32_t)shpool_usable_size(heap, ptr);
    simt_global_add32(&t.borrowed, owner_of(ptr) != simt_cluster_rank());
    heap_fill(slot);
    heap_model_claim(model_of(slot), place_of(heap, slot), slot, bytes, 16);
    return 1;
}

static inline int get(shpool_heap heap, heap_slot *slot, size_t bytes, uint32_t tag)
{
    return got(heap, slot, shpool_malloc(heap, bytes), bytes, tag);
}

static inline void put(shpool_heap heap, heap_slot *slot)
{
    heap_model_drop(model_of(slot), place_of(heap, slot), slot);
    heap_verify(&t.model[0], slot->at, slot->bytes, slot->tag);
    EXPECT(shpool_usable_size(heap, slot->at) == slot->bytes); /* no bit lost */
    EXPECT(shpool_free_at(heap, slot->at, 0) == SHPOOL_FREE_OK);
    slot->at = NULL;
}

#endif /* SHPOOL_TESTS_CLUSTER_TRIAL_H */
