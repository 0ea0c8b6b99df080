/* SPDX-License-Identifier: BSD-3-Clause */
/* Every schedule, within bounds, of two blocks of a cluster over their pools: nothing is lost,
 * allocated twice or refused wrongly, no thread waits forever, no block exits too early. */
#include "cluster_trial.h"

typedef struct scene {
    const char *name;
    uint32_t    granules, threads, preemptions;
    void      (*setup)(shpool_heap heap, uint32_t block); /* thread 0 of each block */
    void      (*script)(shpool_heap heap, uint32_t block, uint32_t thread);
    simt_kernel kernel; /* NULL: scene_kernel */
} scene;

static const scene *now;
static heap_slot    gift[4];
static uint32_t     wins;

static void scene_kernel(void *arg)
{
    shpool_heap heap = init_cluster();

    (void)arg;
    if (simt_thread_rank() == 0) {
        now->setup(heap, simt_cluster_rank());
    }
    simt_cluster_barrier();
    now->script(heap, simt_cluster_rank(), simt_thread_rank());
    simt_cluster_barrier();
    if (simt_thread_rank() == 0) {
        shpool_walk walk = shpool_check(heap);
        heap_model *model = &t.model[simt_cluster_rank()];

        if ((walk.broken != 0) || (walk.live != model->live)) {
            heap_model_fault(&t.model[0], "pool %u: invariant %u broken, or %u live where %u are",
                             simt_cluster_rank(), walk.broken, walk.live, model->live);
        }
    }
    shpool_fini(heap);
}

static void before(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < 2; i++) {
        heap_model_reset(&t.model[i]);
    }
    memset(gift, 0, sizeof(gift));
    wins = 0;
}

static int after(void *arg)
{
    (void)arg;
    return t.model[0].faults != 0 || t.model[1].faults != 0;
}

static void explore(const scene *s)
{
    simt_bounds   bounds = { .preemptions = heap_preemptions(s->preemptions) };
    simt_hooks    hooks  = { before, after };
    shpool_status status;

    now = s;
    open_cluster(2, s->threads, 16u * s->granules);
    assert_int_equal(t.pool.largest, 16u * s->granules);
    status = simt_explore(&t.launch, &bounds, &hooks,
                          (s->kernel != NULL) ? s->kernel : scene_kernel, NULL, &t.result);
    print_message("             %s: %llu schedules, %u preemptions%s\n", s->name,
                  t.result.schedules, bounds.preemptions,
                  t.result.complete ? "" : ", NOT COMPLETE");
    if (status != SHPOOL_OK) {
        fail_msg("%s %s %s", t.model[0].text, t.model[1].text, t.result.text);
    }
    assert_true(t.result.complete);
    shpool_simt_close(&t.pool);
}

/* Granules of the own pool, until it has `room` left; the first is the gift of its block. */
static void fill_own(shpool_heap heap, uint32_t block, uint32_t room)
{
    heap_slot rest;

    EXPECT(get(heap, &gift[block], 16, 100u + block) && (owner_of(gift[block].at) == block));
    if (now->granules > room + 1u) {
        EXPECT(get(heap, &rest, 16u * (now->granules - room - 1u), 200));
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

    (void)thread;
    if (block == 1) {
        put(heap, &gift[0]);
    }
    if (!get(heap, &slot, 16, block)) {
        heap_model_fault(&t.model[0], "wrong refusal: there was room all the time (block %u)",
                         block);
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

    (void)thread;
    if (block == 1) {
        put(heap, &gift[0]);
    }
    if (!get(heap, &slot, 16u * 17u, block)) {
        heap_model_fault(&t.model[0], "wrong refusal: a long run fitted all the time (block %u)",
                         block);
    }
}

UNIT_TEST(test_room_that_moves_is_found)
{
    static const scene l = { "long room that moves", 17, 1, 2, long_setup, long_script, NULL };
    static const scene s = { "room that moves", 3, 1, 2, shift_setup,
                             shift_script, NULL };

    explore(&s);
    explore(&l);
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
    static const scene s = { "one word", 4, 1, 2, borrow_setup,
                             borrow_script, NULL };

    explore(&s);
}

/* A run of 13 granules crosses words; of two only one fits. */
static void cross_setup(shpool_heap heap, uint32_t block)
{
    fill_own(heap, block, 22u * block);
}

static void cross_script(shpool_heap heap, uint32_t block, uint32_t thread)
{
    heap_slot slot;

    (void)thread;
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

    (void)thread;
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
    static const scene s = { "across words", 23, 1, 2, cross_setup,
                             cross_script, NULL };
    static const scene u = { "across words, beside a free", 23, 1, 2, undo_setup,
                             undo_script, NULL };

    explore(&s);
    explore(&u);
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
        EXPECT(now->threads > 1);
    }
}

UNIT_TEST(test_remote_frees)
{
    static const scene one = { "remote frees", 3, 1, 2, swap_setup,
                             swap_script, NULL };
    static const scene two = { "remote frees of four", 3, 2, 0, swap_setup,
                             swap_script, NULL };

    explore(&one);
    explore(&two);
}

static void no_setup(shpool_heap heap, uint32_t block)
{
    (void)heap;
    (void)block;
}

/* Block 1 has nothing to do, and is the one that the other borrows from until it is done. */
static void leave_script(shpool_heap heap, uint32_t block, uint32_t thread)
{
    void     *own = NULL;
    heap_slot slot;

    (void)thread;
    if (block == 0) {
        own = shpool_malloc_shared(heap, t.pool.largest);
        EXPECT(get(heap, &slot, 16, 1) && (owner_of(slot.at) == 1));
        put(heap, &slot);
        shpool_free(heap, own);
    }
}

static void leave_kernel(void *arg)
{
    shpool_heap heap = init_cluster();

    (void)arg;
    now->script(heap, simt_cluster_rank(), simt_thread_rank());
    shpool_fini(heap);
}

UNIT_TEST(test_no_block_leaves_before_the_others)
{
    static const scene s = { "leaving", 3, 1, 1, no_setup,
                             leave_script, leave_kernel };

    explore(&s);
}
