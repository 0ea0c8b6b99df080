/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of users: realloc of an invalid pointer, a pool of another allocator, memory that the
 * launch does not have, threads that return too early.  They must not damage anything, or touch
 * memory outside. */
#define SHPOOL_INLINE bitmap /* for wrong_pool_kernel; the others call through the table below */
#include "scene.h"

/* ---- a pool of another allocator ---- */

static void wrong_pool_kernel(shpool_heap heap)
{
    if (strcmp(TRIAL_NAME(&t), "bitmap") == 0) {
        EXPECT(heap.view.bytes != 0);
        return;
    }
    EXPECT(heap.view.bytes == 0);
    EXPECT(shpool_malloc(heap, 1) == NULL);
}

SCENE(test_an_inline_kernel_refuses_a_pool_of_another_allocator, wrong_pool_kernel, .takes = every,
      .threads = { 4 }, .each = 4000)

/* ---- realloc of an invalid pointer; through the module, as in every binding ---- */

static void *realloc_of(shpool_heap heap, void *ptr, size_t bytes)
{
    const shpool_table *table = heap.table;
    simt_addr           addr  = simt_to_shared(ptr);

    if (table->resize(heap.view, addr, (uint32_t)bytes) != 0) {
        return ptr;
    }
    EXPECT(table->usable(heap.view, addr) == 0); /* or realloc would copy */
    return NULL;
}

static void realloc_kernel(void *arg)
{
    static const size_t sizes[] = { 1, 16, 60, 200, 1000 };
    const uint32_t      refuses = ((t.pool.flags & SHPOOL_FLAG_CHECK) != 0) ||
                                  has_cap(&t, SHPOOL_CAP_REFUSES);
    const shpool_table *table = t.pool.table;
    shpool_heap         heap  = shpool_empty_heap();
    simt_addr           mine, freed, wall;

    heap.table        = table;
    heap.view.base    = simt_dynamic_base() + t.pool.area_bytes;
    heap.view.bytes   = t.pool.pool_bytes;
    heap.view.word[0] = t.pool.word[0];
    heap.view.word[1] = t.pool.word[1];
    heap.view.flags   = t.pool.flags | SHPOOL_FLAG_LEADER;
    if (t.pool.area_bytes != 0) {
        heap.view.area = simt_dynamic_base() + SHPOOL_AREA_FRONT;
        shpool_area_init(&t.pool, heap.view.area);
    }
    table->init(heap.view, 0, 1);
    wall  = table->allocate(heap.view, 40, 16, 0);
    mine  = table->allocate(heap.view, 200, 16, 0);
    freed = table->allocate(heap.view, 40, 16, 0);
    EXPECT((mine != 0) && (freed != 0) && (wall != 0));
    memset(simt_from_shared(mine), 0xff, 200);
    EXPECT(table->release(heap.view, freed, 0) == SHPOOL_FREE_OK);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (refuses) {
            EXPECT(realloc_of(heap, simt_from_shared(freed), sizes[i]) == NULL);
            EXPECT(realloc_of(heap, simt_from_shared(mine + 16), sizes[i]) == NULL);
            EXPECT(realloc_of(heap, simt_from_shared(mine + 5), sizes[i]) == NULL);
        }
        EXPECT(table->walk(heap.view).broken == 0);
    }
    EXPECT(table->usable(heap.view, mine) >= 200);
    EXPECT(table->release(heap.view, mine, 0) == SHPOOL_FREE_OK);
    EXPECT(table->release(heap.view, wall, 0) == SHPOOL_FREE_OK);
    EXPECT(table->largest(heap.view) == t.pool.largest);
    if (heap.view.area != 0) {
        table->fini(heap.view);
    }
}

SCENE(test_realloc_of_no_allocation_changes_nothing, NULL, .kernel = realloc_kernel,
      .options = { "", ":check=1" }, .each = 4000, .report = "bad_frees 15, live_bytes 0")

/* ---- the statistics never see more live than there is room for ---- */

static void peak_kernel(void *arg)
{
    const shpool_table *table = t.pool.table;
    shpool_view         view  = { simt_dynamic_base() + t.pool.area_bytes, t.pool.pool_bytes,
                                  simt_thread_rank(), t.pool.flags,
                                  { t.pool.word[0], t.pool.word[1] },
                                  simt_dynamic_base() + SHPOOL_AREA_FRONT };

    if (simt_thread_rank() == 0) {
        shpool_area_init(&t.pool, view.area);
        view.flags |= SHPOOL_FLAG_LEADER;
    }
    table->init(view, simt_thread_rank(), simt_block_threads());
    simt_barrier();
    for (unsigned round = 0; round < 40; round++) {
        simt_addr addr = table->allocate(view, 1, 16, 0);

        if (addr != 0) {
            EXPECT(table->release(view, addr, 0) == SHPOOL_FREE_OK);
        }
    }
    table->fini(view);
}

static void expect_peak(void)
{
    assert_in_range(t.report.peak_bytes, 1, t.pool.largest);
}

SCENE(test_peak_is_what_was_live_at_once, NULL, .kernel = peak_kernel, .takes = shares,
      .options = { ":stats=1" }, .share = 3, .threads = { 3 }, .each = 12, .seeds = 50,
      .period = 3, .expect = expect_peak)

/* ---- more memory than the launch has ---- */

static void too_much_kernel(void *arg)
{
    const uint32_t all     = t.pool.shared_bytes;
    const uint32_t bytes[] = { all + 1u, 2u * all, 0xfffffff0u };
    shpool_heap    heap    = shpool_init_bytes(&t.pool, simt_from_shared(simt_dynamic_base()),
                                               bytes[t.number]);

    EXPECT(heap.view.bytes == 0);
    EXPECT(shpool_malloc(heap, 1) == NULL);
}

SCENE(test_sub_pools_beyond_the_launch_are_empty, NULL, .kernel = too_much_kernel,
      .only = "bitmap", .threads = { 2 }, .each = 4000, .numbers = 3)

/* ---- a thread that returns before shpool_init makes the others wait ---- */

static void leaver_kernel(void *arg)
{
    if (simt_thread_rank() == 3) {
        return;
    }
    shpool_fini(trial_init((trial *)arg));
}

SCENE(test_a_thread_that_leaves_before_init_is_named, NULL, .kernel = leaver_kernel,
      .only = "bitmap", .threads = { 32 }, .each = 4000, .status = SHPOOL_ERR_DIVERGENCE,
      .texts = { "thread 3: exited" })

/* ---- a warp's malloc in a branch that half of the warp takes ---- */

static void half_kernel(shpool_heap heap)
{
    void *ptr = NULL;

    if (simt_lane() < 16u) {
        ptr = (t.number == 0) ? shpool_malloc_warp(heap, 100)
                               : shpool_malloc_lanes(heap, 0xffffu, 100);
        EXPECT(ptr != NULL);
    }
    simt_barrier();
}

UNIT_TEST(test_a_warp_that_is_not_whole_waits_for_the_rest)
{
    scene s = { .body = half_kernel, .only = "bitmap", .threads = { 32 }, .each = 4000,
                .leaves = 1, .status = SHPOOL_ERR_DIVERGENCE,
                .texts = { "threads 0-15: simt_warp_sync(0xffffffff)", "threads 16-31: barrier" } };

    run_scene(&s);
    s.number = 1; /* the cure: the mask of those that are there */
    s.status = SHPOOL_OK;
    run_scene(&s);
}
