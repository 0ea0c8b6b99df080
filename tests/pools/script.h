/* SPDX-License-Identifier: BSD-3-Clause */
/* A random script of each thread: malloc, calloc, realloc and free of all sizes, and what is handed
 * over to other threads where they may free it. */
#ifndef SHPOOL_TESTS_SCRIPT_H
#define SHPOOL_TESTS_SCRIPT_H

#include "scene.h"

#define SLOTS 6u

static uint32_t random_size(uint32_t *state)
{
    uint32_t roll = heap_random(state) % 16u;

    if (roll < 10) {
        return heap_random(state) % 80u;
    }
    if (roll < 15) {
        return heap_random(state) % 600u;
    }
    return heap_random(state) % (t.pool.largest + 64u);
}

static int script_calloc(shpool_heap heap, heap_slot *slot, uint32_t bytes, uint32_t tag)
{
    void *ptr = shpool_calloc(heap, (bytes + 3u) / 4u, 4);
    int   got;

    for (uint32_t i = 0; (ptr != NULL) && (i < bytes); i++) {
        EXPECT(((unsigned char *)ptr)[i] == 0);
    }
    got = trial_got(&t, heap, slot, ptr, bytes, 16, tag);
    heap_model_count_malloc(&t.model, slot->bytes);
    return got;
}

static void script_allocate(shpool_heap heap, heap_slot *slot, uint32_t *state)
{
    uint32_t bytes     = random_size(state);
    uint32_t tag       = heap_random(state);
    size_t   most      = shpool_largest(heap);
    uint32_t spills    = (t.pool.flags & SHPOOL_FLAG_SPILL) || !has_pool(t.allocator);
    uint32_t alignment = 8;
    int      got;

    switch (heap_random(state) % 4u) {
    case 0:
        got = script_calloc(heap, slot, bytes, tag);
        break;
    case 1:
        do {
            alignment *= 2u;
        } while ((alignment < t.pool.alignment) && (heap_random(state) % 2u != 0));
        (void)get_aligned(heap, slot, bytes, alignment, tag);
        return; /* largest does not speak of alignment */
    default:
        got = get(heap, slot, bytes, tag);
        break;
    }
    if (got) {
        EXPECT(simt_is_within(heap.window, slot->at) || spills);
    } else {
        EXPECT((t.pool.flags & SHPOOL_FLAG_SPILL_NATIVE) == 0); /* the host has memory */
    }
    if ((t.pool.scope == SHPOOL_SCOPE_THREAD) && !spills) { /* nobody else uses the pool: exact */
        EXPECT(got == (((bytes != 0) ? bytes : 1u) <= most));
    }
}

/* Each thread passes one allocation to its neighbour, in a cluster to one of the next block, which
 * owns it from then on. */
static void script_hand_over(heap_slot *slot)
{
    const uint32_t threads = simt_block_threads();
    const uint32_t blocks  = simt_cluster_blocks();
    const uint32_t self    = simt_cluster_rank() * threads + simt_thread_rank();

    t.box[(self + ((blocks > 1) ? threads : 1u)) % (threads * blocks)] = *slot;
    trial_barrier();
    *slot = t.box[self];
    trial_barrier();
}

static uint32_t borrowed; /* allocations in a neighbour's memory */

static void script(shpool_heap heap)
{
    uint32_t state = (t.seed * 1025u + simt_block_rank() * 7919u + simt_thread_rank()) *
                  2654435769u;
    heap_slot slot[SLOTS] = { { NULL, 0, 0 } };

    for (uint32_t step = 0; step < t.steps; step++) {
        heap_slot *s = &slot[heap_random(&state) % SLOTS];

        if (s->at == NULL) {
            script_allocate(heap, s, &state);
            if ((s->at != NULL) && (owner_of(s->at) != simt_cluster_rank())) {
                simt_global_add32(&borrowed, 1);
            }
        } else if (heap_random(&state) % 3u != 0) {
            put(heap, s);
        } else {
            (void)resize(heap, s, random_size(&state), heap_random(&state));
        }
        if ((t.pool.scope >= SHPOOL_SCOPE_BLOCK) && (step % 8u == 7u)) {
            script_hand_over(&slot[step / 8u % SLOTS]);
        }
    }
    put_all(heap, slot, SLOTS);
}

#endif /* SHPOOL_TESTS_SCRIPT_H */
