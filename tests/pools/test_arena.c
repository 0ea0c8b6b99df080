/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of an arena beyond malloc and free: the order in which memory is released, marks, and
 * allocations of a whole block or warp. */
#include "heap_trial.h"

#include <shpool/scratch.h>

static trial t;

#define EXPECT(_p, _what) HEAP_EXPECT(&(_p)->model, _what)

/* threads threads share a pool. */
static void open_arena(uint32_t threads, uint32_t shared, uint32_t each, const char *more)
{
    const shpool_allocator *arena;
    char options[64];

    if (shpool_allocator_find("arena", &arena) != SHPOOL_OK) {
        skip(); /* --enable-allocators left it out */
    }
    (void)snprintf(options, sizeof(options), ":threads_per_pool=%u%s", shared, more);
    /* trial_open counts a pool for each thread */
    trial_open(&t, arena, options, threads, each / shared, 64);
}

/* ---- order ---- */

static void order_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    size_t      all  = shpool_largest(heap);
    char       *a    = (char *)shpool_malloc(heap, 16);
    char       *b    = (char *)shpool_malloc(heap, 20);
    char       *c    = (char *)shpool_malloc(heap, 1);
    char       *d;

    EXPECT(p, (b == a + 16) && (c == b + 32)); /* side by side, nothing in between */
    EXPECT(p, shpool_usable_size(heap, b) == 32);
    EXPECT(p, shpool_free_at(heap, b, 0) == SHPOOL_FREE_OK);
    EXPECT(p, shpool_free_at(heap, b, 0) == SHPOOL_FREE_DOUBLE);
    for (uint32_t i = 1; i < 16; i++) { /* the topmost entry has a bit for the dead one below */
        EXPECT(p, shpool_free_at(heap, c + i, 0) == SHPOOL_FREE_INTERIOR);
    }
    d = (char *)shpool_malloc(heap, 1);
    EXPECT(p, d == c + 16); /* below is no room yet */
    EXPECT(p, shpool_free_at(heap, d, 0) == SHPOOL_FREE_OK);
    EXPECT(p, shpool_free_at(heap, c + 4, 0) == SHPOOL_FREE_INTERIOR);
    EXPECT(p, shpool_free_at(heap, c, 0) == SHPOOL_FREE_OK); /* and b with it */
    EXPECT(p, shpool_free_at(heap, c, 0) == SHPOOL_FREE_DOUBLE);
    EXPECT(p, shpool_malloc(heap, 8) == b);
    EXPECT(p, shpool_check(heap).broken == 0);
    EXPECT(p, shpool_check(heap).live == 2);
    EXPECT(p, shpool_realloc(heap, b, 100) == b); /* the topmost grows where it is */
    EXPECT(p, shpool_usable_size(heap, b) == 112);
    EXPECT(p, shpool_realloc(heap, b, 10) == b);
    EXPECT(p, shpool_usable_size(heap, b) == 16);
    EXPECT(p, shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK);
    EXPECT(p, shpool_free_at(heap, b, 0) == SHPOOL_FREE_OK);
    EXPECT(p, shpool_largest(heap) == all);
    a = (char *)shpool_malloc(heap, 8);
    b = (char *)shpool_aligned_malloc(heap, 64, 8);
    EXPECT(p, ((size_t)b % 64 == 0) && (shpool_free_at(heap, b, 0) == SHPOOL_FREE_OK));
    EXPECT(p, shpool_malloc(heap, 8) == a + 16); /* what was skipped came back, too */
    EXPECT(p, shpool_reset(heap) == 1);
    EXPECT(p, (shpool_largest(heap) == all) && (shpool_check(heap).live == 0));
}

UNIT_TEST(test_memory_comes_back_in_stack_order)
{
    open_arena(1, 1, 600, "");
    trial_run(&t, order_kernel);
    trial_close(&t);
}

/* ---- marks ---- */

#define DEPTH 12u

/* Random allocations, frees and scopes of one thread, each scope's contents known. */
static void marks_kernel(void *arg)
{
    trial      *p     = (trial *)arg;
    shpool_heap heap  = trial_init(p);
    uint32_t    state = p->seed * 2654435769u + simt_thread_rank() + 1u;
    heap_slot   slot[64];
    uint32_t    base[DEPTH], mark[DEPTH];
    uint32_t    depth = 0, count = 0;

    for (uint32_t step = 0; step < p->steps; step++) {
        uint32_t what = heap_random(&state) % 8u;

        if ((what == 0) && (depth < DEPTH)) {
            mark[depth]   = shpool_mark(heap);
            base[depth++] = count;
            EXPECT(p, mark[depth - 1u] != SHPOOL_NO_MARK);
        } else if ((what == 1) && (depth > 0)) {
            depth -= 1u + heap_random(&state) % depth; /* one scope, or several in one step */
            for (uint32_t i = base[depth]; i < count; i++) {
                if (slot[i].at != NULL) {
                    heap_model_drop(&p->model, trial_place(heap), &slot[i]);
                    heap_verify(&p->model, slot[i].at, slot[i].bytes, slot[i].tag);
                    heap_model_count_free(&p->model, slot[i].bytes);
                }
            }
            count = base[depth];
            EXPECT(p, shpool_release(heap, mark[depth]) == 1);
        } else if ((what < 6) && (count < 64)) {
            uint32_t alignment = 16u << heap_random(&state) % 3u;

            if (trial_malloc(p, heap, &slot[count], heap_random(&state) % 90u, alignment, step)) {
                count++;
            }
        } else if ((count > 0) && ((depth == 0) || (base[depth - 1u] < count))) {
            uint32_t first = (depth == 0) ? 0u : base[depth - 1u]; /* of this scope */
            heap_slot *s   = &slot[first + heap_random(&state) % (count - first)];

            if (s->at != NULL) {
                trial_free(p, heap, s);
            }
        }
        EXPECT(p, shpool_check(heap).broken == 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (slot[i].at != NULL) {
            trial_free(p, heap, &slot[i]);
        }
    }
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

static void run_marks(const char *more, uint32_t seeds)
{
    for (uint32_t seed = 1; seed <= seeds; seed++) {
        open_arena(3, 1, 1500, more);
        t.seed                 = seed;
        t.steps                = 300;
        t.launch.seed          = seed;
        t.launch.switch_period = seed % 5u;
        trial_run(&t, marks_kernel);
        if (t.pool.report != NULL) {
            assert_int_equal(t.report.live, 0);
            assert_int_equal(t.report.live_bytes, 0);
            assert_int_equal(t.report.corrupt, 0);
            assert_int_equal(t.report.bad_frees, 0);
            assert_int_equal(t.report.frees, t.model.frees + 3u); /* and expect_fresh's */
        }
        trial_close(&t);
    }
}

UNIT_TEST(test_release_frees_what_came_since_the_mark)
{
    run_marks("", heap_long() ? 400 : 40);
    run_marks(",stats=1", 10);
    run_marks(",check=1", 10);
}

static void void_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *a    = shpool_malloc(heap, 40);
    uint32_t    low  = shpool_mark(heap);
    void       *b    = shpool_malloc(heap, 40);
    uint32_t    high = shpool_mark(heap);

    EXPECT(p, shpool_release(heap, SHPOOL_NO_MARK) == 0);
    EXPECT(p, shpool_release(heap, high) == 1); /* nothing came since */
    EXPECT(p, shpool_release(heap, low) == 1);
    EXPECT(p, shpool_release(heap, high) == 0); /* b is gone */
    EXPECT(p, shpool_free_at(heap, b, 0) == SHPOOL_FREE_DOUBLE);
    EXPECT(p, shpool_usable_size(heap, a) == 48);
    b = shpool_malloc(heap, 40);
    EXPECT(p, (b != NULL) && (shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK));
    EXPECT(p, shpool_release(heap, low) == 1); /* what is freed below the mark comes back as well */
    EXPECT(p, shpool_largest(heap) == p->pool.largest);
    a = shpool_malloc(heap, 100); /* the same number of allocations, other ones */
    b = shpool_malloc(heap, 100);
    EXPECT(p, (a != NULL) && (b != NULL) && (shpool_release(heap, low) == 0));
    EXPECT(p, shpool_check(heap).live == 2);
    EXPECT(p, shpool_reset(heap) == 1);
}

UNIT_TEST(test_void_marks_release_nothing)
{
    open_arena(1, 1, 600, "");
    trial_run(&t, void_kernel);
    trial_close(&t);
}

static void no_marks_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    mark = shpool_mark(heap);
    void       *a    = shpool_malloc(heap, 8);

    EXPECT(p, mark == SHPOOL_NO_MARK);
    EXPECT(p, shpool_release(heap, mark) == 0);
    EXPECT(p, shpool_reset(heap) == 0);
    EXPECT(p, (a == NULL) || (shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK)); /* still there */
    shpool_fini(heap);
}

UNIT_TEST(test_other_allocators_have_no_marks)
{
    static const char *const options[] = { "", ":stats=1" };

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        for (size_t o = 0; (o < 2) && ((allocator->caps & SHPOOL_CAP_MARK) == 0); o++) {
            trial_once(&t, allocator, options[o], 4, 400, no_marks_kernel);
        }
    }
}

/* ---- a damaged pool ---- */

/* Flips the bits of `what` in the word at `at`, one at a time: the walk sees each. */
static void flip(trial *p, shpool_heap heap, simt_addr at, uint32_t what, uint32_t broken)
{
    uint32_t held = simt_load32(at);

    for (uint32_t i = 0; i < 32; i++) {
        if ((what >> i & 1u) != 0) {
            simt_store32(at, held ^ (1u << i));
            EXPECT(p, shpool_check(heap).broken == broken);
            EXPECT(p, shpool_check(heap).where != 0); /* it, or the entry above */
        }
    }
    simt_store32(at, held);
    EXPECT(p, shpool_check(heap).broken == 0);
}

static void damage_kernel(void *arg)
{
    trial      *p     = (trial *)arg;
    shpool_heap heap  = trial_init(p);
    simt_addr   state = heap.view.base + (heap.view.base >> 4 & 8u);
    simt_addr   first = heap.view.base + heap.view.word[0] + (heap.view.base >> 5 & 12u);
    void       *a     = shpool_malloc(heap, 40);
    void       *b     = shpool_malloc(heap, 40);

    EXPECT(p, (a != NULL) && (b != NULL));
    flip(p, heap, state, 0xffff000fu, 1);      /* a cursor outside the pool, or of no allocation */
    flip(p, heap, state + 4u, 0xffff0003u, 1); /* entries outside, or between two words */
    flip(p, heap, first - 4u, 0xffff000cu, 2); /* a start outside; bits that no entry has */
    flip(p, heap, first - 4u, 0x00000003u, 3); /* live, and live below */
    flip(p, heap, first, 0xfffffffcu, 2);      /* the first starts where the payload does */
    flip(p, heap, first, 0x00000003u, 3);
    EXPECT(p, shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK);
    EXPECT(p, shpool_free_at(heap, b, 0) == SHPOOL_FREE_OK);
}

UNIT_TEST(test_walk_sees_damage)
{
    open_arena(1, 1, 128, "");
    trial_run(&t, damage_kernel);
    trial_close(&t);
}

/* ---- a block, a warp ---- */

static void together_kernel(void *arg)
{
    trial      *p      = (trial *)arg;
    shpool_heap heap   = trial_init(p);
    uint32_t    rank   = simt_thread_rank();
    uint32_t    lanes  = shpool_warp_lanes();
    uint32_t    n      = simt_block_threads();

    for (uint32_t round = 1; round <= 3; round++) {
        uint32_t *block = (uint32_t *)shpool_malloc_block(heap, n * 4u * round);
        uint32_t *warp;

        EXPECT(p, block != NULL);
        block[rank] = rank * round;
        simt_barrier();
        EXPECT(p, block[n - 1u - rank] == (n - 1u - rank) * round);
        warp = (uint32_t *)shpool_malloc_warp(heap, 4u * 32u);
        EXPECT(p, warp != NULL);
        warp[simt_lane()] = rank;
        simt_warp_sync(lanes);
        EXPECT(p, warp[simt_popc(lanes) - 1u - simt_lane()] ==
                      (rank & ~31u) + simt_popc(lanes) - 1u - simt_lane());
        shpool_free_warp(heap, warp);
        shpool_free_block(heap, block);
    }
    EXPECT(p, shpool_malloc_block(heap, 1u << 20) == NULL);
    EXPECT(p, shpool_malloc_warp(heap, 1u << 20) == NULL);
    shpool_free_block(heap, NULL);
    shpool_free_warp(heap, NULL);
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

/* Every allocator: the first thread of the block, or the first lane, is the owner. */
UNIT_TEST(test_one_request_and_every_thread_gets_the_pointer)
{
    static const uint32_t blocks[] = { 1, 31, 33, 70 };

    FOR_EACH_POOL(allocator) {
        for (size_t b = 0; b < 4; b++) {
            for (uint32_t seed = 1; seed <= 4; seed++) {
                trial_open(&t, allocator, (seed == 2) ? ":check=1" : "", blocks[b],
                           (allocator->scope == SHPOOL_SCOPE_BLOCK) ? 4096u : 1400u, 16);
                t.launch.seed          = seed;
                t.launch.switch_period = seed - 1u;
                trial_run(&t, together_kernel);
                trial_close(&t);
            }
        }
    }
}
