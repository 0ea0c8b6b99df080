/* SPDX-License-Identifier: BSD-3-Clause */
/* Two whole warps and a single thread against each other, under many random schedules.
 *
 * A warp serves a request by all lanes, and has far too many schedules to enumerate them; instead
 * each seed lets the three begin at different times, and pools are so small, or requests so large,
 * that they meet.  The journal of explore_pool.h says afterwards whether each refusal was right;
 * memory that is kept to the end is freed then, and the pool must be empty. */
#ifndef SHPOOL_TESTS_EXPLORE_WARP_H
#define SHPOOL_TESTS_EXPLORE_WARP_H

#define SHPOOL_INLINE bitmap
#define GRANULES 968u
#define AGENT    (simt_thread_rank() / SIMT_WARP) /* two warps, and thread 64 */
#include "explore_pool.h"

#include <shpool/wait.h>

#define ALL   SIMT_ALL_LANES
#define LARGE 730u /* granules: a warp's first look is 704 of them */

static uint32_t the_seed;
static held     kept[3u * SIMT_WARP]; /* what each thread's agent has at the end */

/* ---- calls of a warp that keep the journal of its first lane ---- */

static inline int leads(void)
{
    return simt_lane() == 0;
}

/* Before a call: no lane begins it earlier. */
static inline uint32_t tick_of_warp(void)
{
    uint32_t at = leads() ? tick() : 0u;

    simt_warp_sync(ALL);
    return at;
}

/* The word of the memory that the lane writes and reads; NULL if it has none. */
static inline volatile uint32_t *word_of_lane(const held *h)
{
    uint32_t words = h->slot.bytes / 4u;
    uint32_t i     = simt_lane() * (words / SIMT_WARP + 1u);

    return (i < words) ? (volatile uint32_t *)(void *)h->slot.at + i : NULL;
}

static inline int has_its_word(const held *h)
{
    return (word_of_lane(h) == NULL) || (*word_of_lane(h) == simt_thread_rank());
}

/* waits: attempts of a request that waits, which may be refused although there is room; or 0. */
static inline held request(shpool_heap heap, uint32_t granules, uint32_t waits)
{
    journal *own  = &journals[AGENT];
    uint32_t from = tick_of_warp();
    held     h    = { { NULL, 0, 0 }, NULL };

    h.slot.at    = (unsigned char *)((waits != 0)
                                        ? shpool_malloc_wait_warp(heap, 16u * granules, waits)
                                        : shpool_malloc_warp(heap, 16u * granules));
    h.slot.bytes = 16u * granules;
    if (h.slot.at == NULL) {
        if (leads() && (waits == 0)) {
            own->refusal[own->refusals++] = (refusal){ granules, from, tick() };
        }
        return h;
    }
    if (word_of_lane(&h) != NULL) {
        *word_of_lane(&h) = simt_thread_rank();
    }
    if (leads()) {
        HEAP_EXPECT(&model, shpool_usable_size(heap, h.slot.at) == h.slot.bytes);
        heap_model_claim(&model, place_of(heap), &h.slot, 16u * granules, 16);
        h.life  = &own->taken[own->takes++];
        *h.life = (taken){ granule_of(heap, h.slot.at), granules, from, UINT32_MAX };
    }
    return h;
}

static inline held get_warp(shpool_heap heap, uint32_t granules)
{
    return request(heap, granules, 0);
}

static inline void put_warp(shpool_heap heap, held *h)
{
    uint32_t reason;

    if (h->slot.at == NULL) {
        return;
    }
    HEAP_EXPECT(&model, has_its_word(h));
    if (leads()) {
        heap_model_drop(&model, place_of(heap), &h->slot);
        HEAP_EXPECT(&model, shpool_usable_size(heap, h->slot.at) == h->slot.bytes);
    }
    reason = shpool_free_lanes_as(heap, ALL, h->slot.at, 0);
    if (leads()) {
        HEAP_EXPECT(&model, reason == SHPOOL_FREE_OK);
        h->life->to = tick();
    }
}

static inline void warp_gets(shpool_heap heap, uint32_t granules)
{
    held a = get_warp(heap, granules);

    put_warp(heap, &a);
}

static inline void thread_gets(shpool_heap heap, uint32_t granules)
{
    held a = get(heap, granules);

    put(heap, &a);
}

/* ---- kernel ---- */

/* Agents begin at different times. */
static inline void stagger(shpool_heap heap)
{
    uint32_t state = 8u * the_seed + AGENT + 1u;
    uint32_t some  = (1u << (heap_random(&state) % 10u)) - 1u;

    for (uint32_t i = heap_random(&state) & some; i != 0; i--) {
        (void)simt_atomic_load(heap.view.base, SIMT_RELAXED);
    }
}

static inline void warp_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));

    (void)arg;
    if ((simt_thread_rank() == 0) && (now->setup != NULL)) {
        now->setup(heap);
    }
    simt_barrier();
    stagger(heap);
    if (now->script[AGENT] != NULL) {
        now->script[AGENT](heap);
    }
    simt_barrier();
    if (AGENT < 2u) {
        put_warp(heap, &kept[simt_thread_rank()]);
    } else {
        put(heap, &kept[simt_thread_rank()]);
    }
    simt_barrier();
    if (simt_thread_rank() == 0) {
        end = shpool_check(heap);
    }
}

static inline uint32_t rounds(const scenario *s)
{
#if defined(__SANITIZE_THREAD__)
    const int orders = strncmp(s->name, "test_reuse", 10) == 0; /* what it looks for */

    return heap_long() ? 5000u : orders ? 200u : 40u;
#else
    (void)s;
    return heap_long() ? 100000u : 1500u / UNIT_STEP;
#endif
}

static inline void seeds(const scenario *s)
{
    simt_launch launch = { .block = { s->threads }, .max_switches = 1000000 };

    start_scenario(s, &launch);
    for (the_seed = 1; the_seed <= rounds(s); the_seed++) {
        simt_result result;

        launch.seed          = the_seed;
        launch.switch_period = 1u + the_seed % 3u;
        before(NULL);
        memset(kept, 0, sizeof(kept));
        if (simt_run(&launch, warp_kernel, NULL, &result) != SHPOOL_OK) {
            fail_msg("%s, seed %u: %s", s->name, the_seed, result.text);
        }
        if (after(NULL)) {
            fail_msg("%s, seed %u: %s", s->name, the_seed, model.text);
        }
    }
}

static inline int nobody_refused(void)
{
    return journals[0].refusals + journals[1].refusals + journals[2].refusals == 0;
}

/* Granules, set-up, the scripts of both warps and of the thread, condition. */
#define WARPS(_test, _granules, _setup, _first, _second, _thread, _condition)                      \
    UNIT_TEST(_test)                                                                               \
    {                                                                                              \
        static const scenario s = { #_test, _granules, 65, 0, _setup, { _first, _second, _thread },\
                                    _condition };                                                  \
        seeds(&s);                                                                                 \
    }

#endif /* SHPOOL_TESTS_EXPLORE_WARP_H */
