/* SPDX-License-Identifier: BSD-3-Clause */
/* One scenario of an exploration: scripts over a small pool, a journal of who owned what when, and
 * what must hold after each schedule.
 *
 * For a program that binds to its allocator inline and is one translation unit: static state. */
#ifndef SHPOOL_TESTS_EXPLORE_POOL_H
#define SHPOOL_TESTS_EXPLORE_POOL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap_model.h"

#include <shpool/executor.h>
#include <shpool/heap.h>
#include <shpool/shpool.h>

#ifndef GRANULES
#define GRANULES 64u /* most of any scenario */
#endif
#ifndef AGENT
#define AGENT simt_thread_rank() /* whose script the caller follows: that of a thread, or a warp */
#endif
#define AGENTS   4u
#define EVENTS   12u
#define GIFTS    4u

typedef struct taken { /* granules first..first+count-1 are owned from..to */
    uint32_t first, count;
    uint32_t from, to;
} taken;

typedef struct refusal { /* no room for need granules, from..to */
    uint32_t need;
    uint32_t from, to;
} refusal;

typedef struct journal { /* of one agent: no sharing, no edges for ThreadSanitizer */
    taken    taken[EVENTS];
    refusal  refusal[EVENTS];
    uint32_t takes, refusals;
} journal;

typedef struct scenario {
    const char *name;
    uint32_t    granules;
    uint32_t    threads;
    uint32_t    preemptions; /* by default, and with LIBSHPOOL_TEST_LONG one more */
    void      (*setup)(shpool_heap heap);             /* thread 0, before the others start */
    void      (*script[AGENTS])(shpool_heap heap);
    int       (*condition)(void);                     /* NULL: none */
} scenario;

static const scenario *now;
static shpool_pool     pool;
static heap_model      model;
static journal         journals[AGENTS];
static uint32_t        clock_now;
static void           *gift[GIFTS]; /* what setup leaves for the scripts */
static taken           gift_taken[GIFTS];
static uint32_t        wins;
static shpool_walk     end;

/* Relaxed: the clock must not order the threads' accesses for ThreadSanitizer. */
static uint32_t tick(void)
{
    return simt_global_add32(&clock_now, 1) + 1u;
}

/* ---- calls that keep the journal ---- */

static heap_place place_of(shpool_heap heap)
{
    heap_place place = { heap.view.base, heap.view.base, heap.view.bytes };

    return place;
}

static uint32_t granule_of(shpool_heap heap, const void *ptr)
{
    return (simt_to_shared(ptr) - heap.view.base - heap.view.word[1]) >> 4;
}

/* An allocation that a script holds. */
typedef struct held {
    heap_slot slot;
    taken    *life;
} held;

static inline held get(shpool_heap heap, uint32_t granules)
{
    journal *own  = &journals[AGENT];
    uint32_t from = tick();
    held     h    = { { NULL, 0, 0 }, NULL };

    h.slot.at = (unsigned char *)shpool_malloc(heap, 16u * granules);
    if (h.slot.at == NULL) {
        own->refusal[own->refusals++] = (refusal){ granules, from, tick() };
        return h;
    }
    h.slot.bytes = (uint32_t)shpool_usable_size(heap, h.slot.at);
    HEAP_EXPECT(&model, h.slot.bytes == 16u * granules);
    h.slot.bytes = 16u * granules;
    h.slot.tag   = from;
    heap_fill(&h.slot);
    heap_model_claim(&model, place_of(heap), &h.slot, 16u * granules, 16);
    h.life  = &own->taken[own->takes++];
    *h.life = (taken){ granule_of(heap, h.slot.at), granules, from, UINT32_MAX };
    return h;
}

static inline void put(shpool_heap heap, held *h)
{
    if (h->slot.at == NULL) {
        return;
    }
    heap_model_drop(&model, place_of(heap), &h->slot);
    heap_verify(&model, h->slot.at, h->slot.bytes, h->slot.tag);
    HEAP_EXPECT(&model, shpool_usable_size(heap, h->slot.at) == h->slot.bytes); /* no bit lost */
    HEAP_EXPECT(&model, shpool_free_at(heap, h->slot.at, 0) == SHPOOL_FREE_OK);
    h->life->to = tick();
}

/* Setup's allocation `i`, for a script to free; its life is in the journal of nobody. */
static inline void keep(shpool_heap heap, uint32_t i, uint32_t granules)
{
    held h = get(heap, granules);

    gift[i]       = h.slot.at;
    gift_taken[i] = *h.life;
    journals[0].takes--;
}

static inline uint32_t put_gift(shpool_heap heap, uint32_t i)
{
    heap_slot slot = { (unsigned char *)gift[i], 16u * gift_taken[i].count, gift_taken[i].from };
    uint32_t  reason;

    heap_model_drop(&model, place_of(heap), &slot);
    heap_verify(&model, slot.at, slot.bytes, slot.tag);
    reason           = shpool_free_at(heap, gift[i], 0);
    gift_taken[i].to = tick();
    return reason;
}

/* ---- justification ---- */

static unsigned char owned[GRANULES];

static void mark_owned(const taken *life)
{
    for (uint32_t g = life->first; (g < life->first + life->count) && (g < GRANULES); g++) {
        owned[g] = 1;
    }
}

/* How many granules are owned; `owned` says which. */
static uint32_t owned_at(uint32_t instant)
{
    uint32_t count = 0;

    memset(owned, 0, sizeof(owned));
    for (uint32_t t = 0; t < AGENTS; t++) {
        for (uint32_t i = 0; i < journals[t].takes; i++) {
            const taken *life = &journals[t].taken[i];

            if ((life->from <= instant) && (instant <= life->to)) {
                mark_owned(life);
            }
        }
    }
    for (uint32_t i = 0; i < GIFTS; i++) {
        if ((gift[i] != NULL) && (instant <= gift_taken[i].to)) {
            mark_owned(&gift_taken[i]);
        }
    }
    for (uint32_t g = 0; g < GRANULES; g++) {
        count += owned[g];
    }
    return count;
}

static int fits(uint32_t need, uint32_t instant)
{
    uint32_t run = 0;

    owned_at(instant);
    for (uint32_t g = 0; (g < now->granules) && (run < need); g++) {
        run = owned[g] ? 0u : run + 1u;
    }
    return run >= need;
}

/* Ownership changes at ticks only, so the ticks of the call are all its instants. */
static int justified(const refusal *no)
{
    for (uint32_t instant = no->from; instant <= no->to; instant++) {
        if (!fits(no->need, instant)) {
            return 1;
        }
    }
    return 0;
}

static void before(void *arg)
{
    (void)arg;
    heap_model_reset(&model);
    memset(journals, 0, sizeof(journals));
    memset(gift, 0, sizeof(gift));
    memset(&end, 0, sizeof(end));
    clock_now = 0;
    wins      = 0;
}

static int after(void *arg)
{
    uint32_t left = owned_at(UINT32_MAX);

    (void)arg;
    for (uint32_t t = 0; t < AGENTS; t++) {
        for (uint32_t i = 0; i < journals[t].refusals; i++) {
            const refusal *no = &journals[t].refusal[i];

            if (!justified(no)) {
                heap_model_fault(&model, "wrong refusal: %u granules for agent %u, instants "
                                 "%u..%u, fitted all the time", no->need, t, no->from, no->to);
            }
        }
    }
    if (end.broken != 0) {
        heap_model_fault(&model, "invariant %u broken at 0x%x", end.broken, end.where);
    } else if (end.used != 16u * left) {
        heap_model_fault(&model, "%u bytes used at the end, %u owned", end.used, 16u * left);
    }
    if ((now->condition != NULL) && !now->condition()) {
        heap_model_fault(&model, "the scenario's condition does not hold");
    }
    return model.faults != 0;
}

static inline void kernel(void *arg)
{
    simt_addr   base = simt_dynamic_base();
    uint32_t    rank = simt_thread_rank();
    shpool_heap heap;

    (void)arg;
    heap = shpool_init(&pool, simt_from_shared(base));
    if (rank == 0 && (now->setup != NULL)) {
        now->setup(heap);
    }
    simt_barrier();
    now->script[rank](heap);
    simt_barrier();
    if (rank == 0) {
        end = shpool_check(heap);
    }
}

/* Plan its pool. */
static void start_scenario(const scenario *s, simt_launch *launch)
{
    shpool_config want = { .block_threads = s->threads, .payload_bytes = 16u * s->granules };

    now = s;
    assert_int_equal(shpool_plan(SHPOOL_BOUND_NAME, &want, &pool), SHPOOL_OK);
    assert_int_equal(pool.word[0], s->granules);
    launch->block[0]      = s->threads;
    launch->dynamic_bytes = pool.shared_bytes;
}

static void explore_kernel(const scenario *s, simt_kernel run)
{
    simt_launch   launch = { .block = { 1 } };
    const uint32_t most   = ((UNIT_STEP > 1u) && (s->preemptions > 2u)) ? 2u : s->preemptions;
    simt_bounds   bounds = { .preemptions = heap_preemptions(most) };
    simt_hooks    hooks  = { before, after };
    simt_result   result;
    shpool_status status;

    start_scenario(s, &launch);
    status = simt_explore(&launch, &bounds, &hooks, run, NULL, &result);
    print_message("             %s: %llu schedules, %u preemptions%s\n", s->name, result.schedules,
                  bounds.preemptions, result.complete ? "" : ", NOT COMPLETE");
    if (status != SHPOOL_OK) {
        fail_msg("%s; %s", (model.faults != 0) ? model.text : "", result.text);
    }
    assert_true(result.complete);
}

static inline void explore(const scenario *s)
{
    explore_kernel(s, kernel);
}

#endif /* SHPOOL_TESTS_EXPLORE_POOL_H */
