/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors of users: realloc of an invalid pointer, a pool of another allocator, memory that the
 * launch does not have, threads that return too early.  They must not damage anything, or touch
 * memory outside. */
#define SHPOOL_INLINE bitmap /* for wrong_pool_kernel; the others call through the table below */
#include "heap_trial.h"

static trial t;

/* ---- a pool of another allocator ---- */

static void wrong_pool_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = shpool_init(&p->pool, simt_from_shared(simt_dynamic_base()));

    if (strcmp(TRIAL_NAME(p), "bitmap") == 0) {
        HEAP_EXPECT(&p->model, heap.view.bytes != 0);
        return;
    }
    HEAP_EXPECT(&p->model, heap.view.bytes == 0);
    HEAP_EXPECT(&p->model, shpool_malloc(heap, 1) == NULL);
}

UNIT_TEST(test_an_inline_kernel_refuses_a_pool_of_another_allocator)
{
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        trial_once(&t, shpool_allocator_get(i), "", 4, 4000, wrong_pool_kernel);
    }
}

/* ---- realloc of an invalid pointer; through the module, as in every binding ---- */

static void *realloc_of(shpool_heap heap, void *ptr, size_t bytes)
{
    const shpool_table *table = heap.table;
    simt_addr           addr  = simt_to_shared(ptr);

    if (table->resize(heap.view, addr, (uint32_t)bytes) != 0) {
        return ptr;
    }
    HEAP_EXPECT(&t.model, table->usable(heap.view, addr) == 0); /* or realloc would copy */
    return NULL;
}

static void realloc_kernel(void *arg)
{
    static const size_t sizes[] = { 1, 16, 60, 200, 1000 };
    trial              *p     = (trial *)arg;
    const shpool_table *table = p->pool.table;
    shpool_heap         heap  = shpool_empty_heap();
    simt_addr           mine, freed, wall;

    heap.table        = table;
    heap.view.base    = simt_dynamic_base() + p->pool.area_bytes;
    heap.view.bytes   = p->pool.pool_bytes;
    heap.view.word[0] = p->pool.word[0];
    heap.view.word[1] = p->pool.word[1];
    heap.view.flags   = p->pool.flags | SHPOOL_FLAG_LEADER;
    if (p->pool.area_bytes != 0) {
        heap.view.area = simt_dynamic_base() + SHPOOL_AREA_FRONT;
        shpool_area_init(&p->pool, heap.view.area);
    }
    table->init(heap.view, 0, 1);
    wall  = table->allocate(heap.view, 40, 16, 0);
    mine  = table->allocate(heap.view, 200, 16, 0);
    freed = table->allocate(heap.view, 40, 16, 0);
    HEAP_EXPECT(&p->model, (mine != 0) && (freed != 0) && (wall != 0));
    memset(simt_from_shared(mine), 0xff, 200);
    HEAP_EXPECT(&p->model, table->release(heap.view, freed, 0) == SHPOOL_FREE_OK);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (p->number != 0) { /* bad pointers are refused in every mode, or this is checked mode */
            HEAP_EXPECT(&p->model, realloc_of(heap, simt_from_shared(freed), sizes[i]) == NULL);
            HEAP_EXPECT(&p->model, realloc_of(heap, simt_from_shared(mine + 16), sizes[i]) == NULL);
            HEAP_EXPECT(&p->model, realloc_of(heap, simt_from_shared(mine + 5), sizes[i]) == NULL);
        }
        HEAP_EXPECT(&p->model, table->walk(heap.view).broken == 0);
    }
    HEAP_EXPECT(&p->model, table->usable(heap.view, mine) >= 200);
    HEAP_EXPECT(&p->model, table->release(heap.view, mine, 0) == SHPOOL_FREE_OK);
    HEAP_EXPECT(&p->model, table->release(heap.view, wall, 0) == SHPOOL_FREE_OK);
    HEAP_EXPECT(&p->model, table->largest(heap.view) == p->pool.largest);
    if (heap.view.area != 0) {
        table->fini(heap.view);
    }
}

UNIT_TEST(test_realloc_of_no_allocation_changes_nothing)
{
    static const char *const options[] = { "", ":check=1" };

    FOR_EACH_POOL(allocator) {
        for (unsigned i = 0; i < 2; i++) {
            trial_open(&t, allocator, options[i], 1, 4000, 16);
            t.number = (i == 1) || ((allocator->caps & SHPOOL_CAP_REFUSES) != 0);
            trial_run(&t, realloc_kernel);
            if (i == 1) {
                assert_int_equal(t.report.bad_frees, 15);
                assert_int_equal(t.report.live_bytes, 0);
            }
            trial_close(&t);
        }
    }
}

/* ---- the statistics never see more live than there is room for ---- */

static void peak_kernel(void *arg)
{
    trial              *p     = (trial *)arg;
    const shpool_table *table = p->pool.table;
    shpool_view         view  = { simt_dynamic_base() + p->pool.area_bytes, p->pool.pool_bytes,
                                  simt_thread_rank(), p->pool.flags,
                                  { p->pool.word[0], p->pool.word[1] },
                                  simt_dynamic_base() + SHPOOL_AREA_FRONT };

    if (simt_thread_rank() == 0) {
        shpool_area_init(&p->pool, view.area);
        view.flags |= SHPOOL_FLAG_LEADER;
    }
    table->init(view, simt_thread_rank(), simt_block_threads());
    simt_barrier();
    for (unsigned round = 0; round < 40; round++) {
        simt_addr addr = table->allocate(view, 1, 16, 0);

        if (addr != 0) {
            HEAP_EXPECT(&p->model, table->release(view, addr, 0) == SHPOOL_FREE_OK);
        }
    }
    table->fini(view);
}

UNIT_TEST(test_peak_is_what_was_live_at_once)
{
    FOR_EACH_POOL(allocator) {
        if (allocator->scope == SHPOOL_SCOPE_THREAD) {
            continue;
        }
        for (unsigned seed = 0; seed < 50; seed++) {
            trial_open(&t, allocator, (allocator->scope == SHPOOL_SCOPE_GROUP)
                                          ? ":stats=1,threads_per_pool=3" : ":stats=1", 3, 12, 16);
            t.launch.seed          = seed;
            t.launch.switch_period = 3;
            trial_run(&t, peak_kernel);
            assert_in_range(t.report.peak_bytes, 1, t.pool.largest);
            trial_close(&t);
        }
    }
}

/* ---- more memory than the launch has ---- */

static void too_much_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = shpool_init_bytes(&p->pool, simt_from_shared(simt_dynamic_base()),
                                         (uint32_t)p->number);

    HEAP_EXPECT(&p->model, heap.view.bytes == 0);
    HEAP_EXPECT(&p->model, shpool_malloc(heap, 1) == NULL);
}

UNIT_TEST(test_sub_pools_beyond_the_launch_are_empty)
{
    const shpool_allocator *bitmap;

    if (shpool_allocator_find("bitmap", &bitmap) != SHPOOL_OK) {
        skip();
    }
    for (unsigned i = 0; i < 3; i++) {
        trial_open(&t, bitmap, "", 2, 4000, 16);
        t.number = (i == 0) ? t.pool.shared_bytes + 1u : (i == 1) ? 2u * t.pool.shared_bytes
                                                                  : 0xfffffff0u;
        trial_run(&t, too_much_kernel);
        trial_close(&t);
    }
}

/* ---- a thread that returns before shpool_init makes the others wait ---- */

static void leaver_kernel(void *arg)
{
    trial *p = (trial *)arg;

    if (simt_thread_rank() == 3) {
        return;
    }
    shpool_fini(shpool_init(&p->pool, simt_from_shared(simt_dynamic_base())));
}

UNIT_TEST(test_a_thread_that_leaves_before_init_is_named)
{
    const shpool_allocator *bitmap;

    if (shpool_allocator_find("bitmap", &bitmap) != SHPOOL_OK) {
        skip();
    }
    trial_open(&t, bitmap, "", 32, 4000, 16);
    assert_int_equal(simt_run(&t.launch, leaver_kernel, &t, &t.result), SHPOOL_ERR_DIVERGENCE);
    if (strstr(t.result.text, "thread 3: exited") == NULL) {
        fail_msg("%s", t.result.text);
    }
    trial_close(&t);
}

/* ---- a warp's malloc in a branch that half of the warp takes ---- */

static void half_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *ptr  = NULL;

    if (simt_lane() < 16u) {
        ptr = (p->number == 0) ? shpool_malloc_warp(heap, 100)
                               : shpool_malloc_lanes(heap, 0xffffu, 100);
        HEAP_EXPECT(&p->model, ptr != NULL);
    }
    simt_barrier();
    shpool_fini(heap);
}

UNIT_TEST(test_a_warp_that_is_not_whole_waits_for_the_rest)
{
    const shpool_allocator *bitmap;

    if (shpool_allocator_find("bitmap", &bitmap) != SHPOOL_OK) {
        skip();
    }
    trial_open(&t, bitmap, "", 32, 4000, 16);
    t.number = 0;
    assert_int_equal(simt_run(&t.launch, half_kernel, &t, &t.result), SHPOOL_ERR_DIVERGENCE);
    if ((strstr(t.result.text, "threads 0-15: simt_warp_sync(0xffffffff)") == NULL) ||
        (strstr(t.result.text, "threads 16-31: barrier") == NULL)) {
        fail_msg("%s", t.result.text);
    }
    t.number = 1; /* the cure: the mask of those that are there */
    trial_run(&t, half_kernel);
    trial_close(&t);
}
