/* SPDX-License-Identifier: BSD-3-Clause */
/* Every schedule, within bounds, of two blocks of a cluster over their pools: nothing is lost,
 * allocated twice or refused wrongly, no thread waits forever, no block exits too early. */
#include "scene.h"

/* Two blocks and what their threads do. */
typedef struct pair {
    uint32_t granules, threads, preemptions;
    void   (*setup)(shpool_heap heap, uint32_t block); /* thread 0 of each block */
    void   (*script)(shpool_heap heap, uint32_t block, uint32_t thread);
} pair;

static const pair *of;
static heap_slot   gift[4];
static uint32_t    wins;

static void pair_kernel(shpool_heap heap)
{
    const uint32_t block = simt_cluster_rank();

    if (simt_thread_rank() == 0) {
        of->setup(heap, block);
    }
    simt_cluster_barrier();
    of->script(heap, block, simt_thread_rank());
    simt_cluster_barrier();
    if (simt_thread_rank() == 0) {
        const shpool_walk walk = shpool_check(heap);
        const uint32_t    live = (block == 0) ? t.model.live : t.other[block - 1u].live;

        if ((walk.broken != 0) || (walk.live != live)) {
            heap_model_fault(&t.model, "pool %u: invariant %u broken, or %u live where %u are",
                             block, walk.broken, walk.live, live);
        }
    }
}

static void script_only(void *arg)
{
    shpool_heap heap = trial_init((trial *)arg);

    of->script(heap, simt_cluster_rank(), simt_thread_rank());
    shpool_fini(heap);
}

static void before(void)
{
    memset(gift, 0, sizeof(gift));
    wins = 0;
}

static void expect_granules(void)
{
    assert_int_equal(t.pool.largest, 16u * of->granules);
}

static void explore(uint32_t granules, uint32_t threads, uint32_t preemptions,
                    void setup(shpool_heap, uint32_t), void script(shpool_heap, uint32_t, uint32_t))
{
    const pair  p = { granules, threads, preemptions, setup, script };
    const scene s = { .body = pair_kernel, .kernel = (setup == NULL) ? script_only : NULL,
                      .only = "cluster_bitmap", .cluster = 2, .blocks = 2,
                      .threads = { threads }, .each = 16u * granules, .leaves = 1,
                      .before = before, .expect = expect_granules };

    of = &p;
    explore_scene(&s, heap_preemptions(preemptions));
}

/* Granules of the own pool, until it has `room` left; the first is the gift of its block. */
static void fill_own(shpool_heap heap, uint32_t block, uint32_t room)
{
    heap_slot rest;

    EXPECT(get(heap, &gift[block], 16, 100u + block) && (owner_of(gift[block].at) == block));
    if (of->granules > room + 1u) {
        EXPECT(get(heap, &rest, 16u * (of->granules - room - 1u), 200));
    }
}

/* There always is room somewhere: block 1 frees a granule of pool 0 before it takes the last of its
 * own.  Block 0, which looks at one after the other, must not miss both. */
static void shift_setup(shpool_heap heap, uint32_t block)
{
    fill_own(heap, block, block);
}

static void shift_script(shpool_heap heap, uint32_t block, uint32_t thread)
{
    heap_slot slot;

    if (block == 1) {
        put(heap, &gift[0]);
    }
    if (!get(heap, &slot, 16, block)) {
        heap_model_fault(&t.model, "wrong refusal: there was room all the time (block %u)", block);
    }
}

/* The same for runs of 17 granules, which no quick search finds: one fits into each pool. */
static void long_setup(shpool_heap heap, uint32_t block)
{
    if (block == 0) {
        EXPECT(get(heap, &gift[0], 16u * 17u, 100) && (owner_of(gift[0].at) == 0));
    }
}

static void long_script(shpool_heap heap, uint32_t block, uint32_t thread)
{
    heap_slot slot;

    if (block == 1) {
        put(heap, &gift[0]);
    }
    if (!get(heap, &slot, 16u * 17u, block)) {
        heap_model_fault(&t.model, "wrong refusal: a long run fitted all the time (block %u)",
                         block);
    }
}

UNIT_TEST(test_room_that_moves_is_found)
{
    explore(3, 1, 2, shift_setup, shift_script);
    explore(17, 1, 2, long_setup, long_script);
}

/* Block 0 borrows and frees memory that block 1 allocates and frees at the same time. */
static void borrow_setup(shpool_heap heap, uint32_t block)
{
    fill_own(heap, block, 2u * block);
}

static void borrow_script(shpool_heap heap, uint32_t block, uint32_t thread)
{
    heap_slot slot;

    for (uint32_t i = 0; i < 2; i++) {
        EXPECT(get(heap, &slot, 16, block * 4u + thread * 2u + i) && (owner_of(slot.at) == 1));
        put(heap, &slot);
    }
}

UNIT_TEST(test_two_blocks_in_one_word)
{
    explore(4, 1, 2, borrow_setup, borrow_script);
}

/* A run of 13 granules crosses words; of two only one fits. */
static void cross_setup(shpool_heap heap, uint32_t block)
{
    fill_own(heap, block, 22u * block);
}

static void cross_script(shpool_heap heap, uint32_t block, uint32_t thread)
{
    heap_slot slot;

    simt_global_add32(&wins, get(heap, &slot, 16u * 13u, block) != 0);
    simt_cluster_barrier();
    EXPECT(wins == 1);
    if (slot.at != NULL) {
        put(heap, &slot);
    }
}

/* Block 0 claims a run that crosses words, while block 1 frees what lies beside it in the second
 * one: the claim is undone, and begins again. */
static void undo_setup(shpool_heap heap, uint32_t block)
{
    static const uint32_t granules[] = { 1, 8, 4, 9, 1 };
    heap_slot             slot[5];

    if (block == 0) {
        fill_own(heap, block, 0);
        return;
    }
    for (uint32_t i = 0; i < 5; i++) {
        EXPECT(get(heap, &slot[i], 16u * granules[i], 100u + i));
    }
    put(heap, &slot[2]);
    gift[1] = slot[3];
}

static void undo_script(shpool_heap heap, uint32_t block, uint32_t thread)
{
    heap_slot slot;

    if (block == 1) {
        put(heap, &gift[1]);
    } else {
        EXPECT(get(heap, &slot, 64, 0) && (owner_of(slot.at) == 1));
    }
    simt_cluster_barrier();
    EXPECT(shpool_check(heap).broken == 0);
    simt_cluster_barrier();
    if (block == 0) {
        put(heap, &slot);
    }
}

UNIT_TEST(test_two_blocks_across_words)
{
    explore(23, 1, 2, cross_setup, cross_script);
    explore(23, 1, 2, undo_setup, undo_script); /* beside a free */
}

/* Each block frees what lies in the other's pool, and takes a granule. */
static void swap_setup(shpool_heap heap, uint32_t block)
{
    fill_own(heap, block, 0);
}

static void swap_script(shpool_heap heap, uint32_t block, uint32_t thread)
{
    heap_slot slot;

    if (thread == 0) {
        put(heap, &gift[1u - block]);
    }
    if (get(heap, &slot, 16, block)) {
        put(heap, &slot);
    } else if (thread == 0) { /* its own free made room, and of all others only one thread stays */
        EXPECT(of->threads > 1);
    }
}

UNIT_TEST(test_remote_frees)
{
    explore(3, 1, 2, swap_setup, swap_script);
    explore(3, 2, 0, swap_setup, swap_script);
}

/* Block 1 has nothing to do, and is the one that the other borrows from until it is done. */
static void leave_script(shpool_heap heap, uint32_t block, uint32_t thread)
{
    void     *own = NULL;
    heap_slot slot;

    if (block == 0) {
        own = shpool_malloc_shared(heap, t.pool.largest);
        EXPECT(get(heap, &slot, 16, 1) && (owner_of(slot.at) == 1));
        put(heap, &slot);
        shpool_free(heap, own);
    }
}

UNIT_TEST(test_no_block_leaves_before_the_others)
{
    explore(3, 1, 1, NULL, leave_script);
}
