/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of an arena beyond malloc and free: the order in which memory comes back, marks. */
#include "scene.h"

/* ---- order ---- */

static void order_kernel(shpool_heap heap)
{
    size_t all = shpool_largest(heap);
    char  *a   = (char *)shpool_malloc(heap, 16);
    char  *b   = (char *)shpool_malloc(heap, 20);
    char  *c   = (char *)shpool_malloc(heap, 1);
    char  *d;

    EXPECT((b == a + 16) && (c == b + 32)); /* side by side, nothing in between */
    EXPECT(shpool_usable_size(heap, b) == 32);
    EXPECT(shpool_free_at(heap, b, 0) == SHPOOL_FREE_OK);
    EXPECT(shpool_free_at(heap, b, 0) == SHPOOL_FREE_DOUBLE);
    for (uint32_t i = 1; i < 16; i++) { /* the topmost entry has a bit for the dead one below */
        EXPECT(shpool_free_at(heap, c + i, 0) == SHPOOL_FREE_INTERIOR);
    }
    d = (char *)shpool_malloc(heap, 1);
    EXPECT(d == c + 16); /* below is no room yet */
    EXPECT(shpool_free_at(heap, d, 0) == SHPOOL_FREE_OK);
    EXPECT(shpool_free_at(heap, c + 4, 0) == SHPOOL_FREE_INTERIOR);
    EXPECT(shpool_free_at(heap, c, 0) == SHPOOL_FREE_OK); /* and b with it */
    EXPECT(shpool_free_at(heap, c, 0) == SHPOOL_FREE_DOUBLE);
    EXPECT(shpool_malloc(heap, 8) == b);
    EXPECT(shpool_check(heap).broken == 0);
    EXPECT(shpool_check(heap).live == 2);
    EXPECT(shpool_realloc(heap, b, 100) == b); /* the topmost grows where it is */
    EXPECT(shpool_usable_size(heap, b) == 112);
    EXPECT(shpool_realloc(heap, b, 10) == b);
    EXPECT(shpool_usable_size(heap, b) == 16);
    EXPECT(shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK);
    EXPECT(shpool_free_at(heap, b, 0) == SHPOOL_FREE_OK);
    EXPECT(shpool_largest(heap) == all);
    a = (char *)shpool_malloc(heap, 8);
    b = (char *)shpool_aligned_malloc(heap, 64, 8);
    EXPECT(((size_t)b % 64 == 0) && (shpool_free_at(heap, b, 0) == SHPOOL_FREE_OK));
    EXPECT(shpool_malloc(heap, 8) == a + 16); /* what was skipped came back, too */
    EXPECT(shpool_reset(heap) == 1);
    EXPECT((shpool_largest(heap) == all) && (shpool_check(heap).live == 0));
}

SCENE(test_memory_comes_back_in_stack_order, order_kernel, .only = "arena", .each = 600,
      .alignments = { 64 })

/* ---- marks ---- */

#define DEPTH 12u

/* Random allocations, frees and scopes of one thread, each scope's contents known. */
static void marks_kernel(shpool_heap heap)
{
    uint32_t  state = t.seed * 2654435769u + simt_thread_rank() + 1u;
    heap_slot slot[64];
    uint32_t  base[DEPTH], mark[DEPTH];
    uint32_t  depth = 0, count = 0;

    for (uint32_t step = 0; step < t.steps; step++) {
        uint32_t what = heap_random(&state) % 8u;

        if ((what == 0) && (depth < DEPTH)) {
            mark[depth]   = shpool_mark(heap);
            base[depth++] = count;
            EXPECT(mark[depth - 1u] != SHPOOL_NO_MARK);
        } else if ((what == 1) && (depth > 0)) {
            depth -= 1u + heap_random(&state) % depth; /* one scope, or several in one step */
            for (uint32_t i = base[depth]; i < count; i++) {
                if (slot[i].at != NULL) {
                    heap_model_drop(&t.model, trial_place(heap, slot[i].at), &slot[i]);
                    heap_verify(&t.model, slot[i].at, slot[i].bytes, slot[i].tag);
                    heap_model_count_free(&t.model, slot[i].bytes);
                }
            }
            count = base[depth];
            EXPECT(shpool_release(heap, mark[depth]) == 1);
        } else if ((what < 6) && (count < 64)) {
            uint32_t alignment = 16u << heap_random(&state) % 3u;

            if (get_aligned(heap, &slot[count], heap_random(&state) % 90u, alignment, step)) {
                count++;
            }
        } else if ((count > 0) && ((depth == 0) || (base[depth - 1u] < count))) {
            uint32_t   first = (depth == 0) ? 0u : base[depth - 1u]; /* of this scope */
            heap_slot *s     = &slot[first + heap_random(&state) % (count - first)];

            if (s->at != NULL) {
                put(heap, s);
            }
        }
        EXPECT(shpool_check(heap).broken == 0);
    }
    put_all(heap, slot, count);
}

SCENE(test_release_frees_what_came_since_the_mark, marks_kernel, .only = "arena",
      .options = { "", ":stats=1", ":check=1" }, .threads = { 3 }, .each = 1500,
      .alignments = { 64 }, .steps = 300, .seeds = 20, .periods = 5, .counts = 1,
      .report = "live 0, live_bytes 0, corrupt 0, bad_frees 0")

static void void_kernel(shpool_heap heap)
{
    void    *a    = shpool_malloc(heap, 40);
    uint32_t low  = shpool_mark(heap);
    void    *b    = shpool_malloc(heap, 40);
    uint32_t high = shpool_mark(heap);

    EXPECT(shpool_release(heap, SHPOOL_NO_MARK) == 0);
    EXPECT(shpool_release(heap, high) == 1); /* nothing came since */
    EXPECT(shpool_release(heap, low) == 1);
    EXPECT(shpool_release(heap, high) == 0); /* b is gone */
    EXPECT(shpool_free_at(heap, b, 0) == SHPOOL_FREE_DOUBLE);
    EXPECT(shpool_usable_size(heap, a) == 48);
    b = shpool_malloc(heap, 40);
    EXPECT((b != NULL) && (shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK));
    EXPECT(shpool_release(heap, low) == 1); /* what is freed below the mark comes back as well */
    EXPECT(shpool_largest(heap) == t.pool.largest);
    a = shpool_malloc(heap, 100); /* the same number of allocations, other ones */
    b = shpool_malloc(heap, 100);
    EXPECT((a != NULL) && (b != NULL) && (shpool_release(heap, low) == 0));
    EXPECT(shpool_check(heap).live == 2);
    EXPECT(shpool_reset(heap) == 1);
}

SCENE(test_void_marks_release_nothing, void_kernel, .only = "arena", .each = 600,
      .alignments = { 64 })

static void no_marks_kernel(shpool_heap heap)
{
    uint32_t mark = shpool_mark(heap);
    void    *a    = shpool_malloc(heap, 8);

    EXPECT(mark == SHPOOL_NO_MARK);
    EXPECT(shpool_release(heap, mark) == 0);
    EXPECT(shpool_reset(heap) == 0);
    EXPECT((a == NULL) || (shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK)); /* still there */
}

static int has_no_marks(const shpool_allocator *allocator)
{
    return (allocator->caps & SHPOOL_CAP_MARK) == 0;
}

SCENE(test_other_allocators_have_no_marks, no_marks_kernel, .takes = has_no_marks,
      .options = { "", ":stats=1" }, .threads = { 4 }, .each = 400)

/* ---- a damaged pool ---- */

/* Flips the bits of `what` in the word at `at`, one at a time: the walk sees each. */
static void flip(shpool_heap heap, simt_addr at, uint32_t what, uint32_t broken)
{
    uint32_t held = simt_load32(at);

    for (uint32_t i = 0; i < 32; i++) {
        if ((what >> i & 1u) != 0) {
            simt_store32(at, held ^ (1u << i));
            EXPECT(shpool_check(heap).broken == broken);
            EXPECT(shpool_check(heap).where != 0); /* it, or the entry above */
        }
    }
    simt_store32(at, held);
    EXPECT(shpool_check(heap).broken == 0);
}

static void damage_kernel(shpool_heap heap)
{
    simt_addr state = heap.view.base + (heap.view.base >> 4 & 8u);
    simt_addr first = heap.view.base + heap.view.word[0] + (heap.view.base >> 5 & 12u);
    void     *a     = shpool_malloc(heap, 40);
    void     *b     = shpool_malloc(heap, 40);

    EXPECT((a != NULL) && (b != NULL));
    flip(heap, state, 0xffff000fu, 1);      /* a cursor outside the pool, or of no allocation */
    flip(heap, state + 4u, 0xffff0003u, 1); /* entries outside, or between two words */
    flip(heap, first - 4u, 0xffff000cu, 2); /* a start outside; bits that no entry has */
    flip(heap, first - 4u, 0x00000003u, 3); /* live, and live below */
    flip(heap, first, 0xfffffffcu, 2);      /* the first starts where the payload does */
    flip(heap, first, 0x00000003u, 3);
    EXPECT(shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK);
    EXPECT(shpool_free_at(heap, b, 0) == SHPOOL_FREE_OK);
}

SCENE(test_walk_sees_damage, damage_kernel, .only = "arena", .each = 128, .alignments = { 64 })
