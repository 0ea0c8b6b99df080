/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.h on the executor: alignment and realloc of every allocator, and native. */
#include "heap_trial.h"

static trial t;

/* ---- alignment ---- */

static void alignment_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   slot[8];
    uint32_t    count = 0;

    if (trial_leads(heap)) {
        heap_slot odd;

        HEAP_EXPECT(&p->model, trial_malloc(p, heap, &odd, 1, 16, 9)); /* so that others are odd */
        for (uint32_t alignment = 16; alignment <= p->pool.alignment; alignment *= 2) {
            HEAP_EXPECT(&p->model, trial_malloc(p, heap, &slot[count], 24, alignment, count));
            count++;
        }
        for (size_t alignment = 1; alignment < 16; alignment *= 2) { /* below 16: 16 */
            void *ptr = shpool_aligned_malloc(heap, alignment, 8);

            HEAP_EXPECT(&p->model, (ptr != NULL) && ((uintptr_t)ptr % 16u == 0));
            HEAP_EXPECT(&p->model, shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
        }
        HEAP_EXPECT(&p->model, shpool_aligned_malloc(heap, 2u * p->pool.alignment, 16) == NULL);
        HEAP_EXPECT(&p->model, shpool_aligned_malloc(heap, (size_t)1 << 32, 16) == NULL);
        HEAP_EXPECT(&p->model, shpool_aligned_malloc(heap, ((size_t)1 << 32) + 16, 16) == NULL);
        HEAP_EXPECT(&p->model, shpool_aligned_malloc(heap, 0, 16) == NULL);
        HEAP_EXPECT(&p->model, shpool_aligned_malloc(heap, 3, 16) == NULL);
        HEAP_EXPECT(&p->model, shpool_aligned_malloc(heap, 24, 16) == NULL);
        HEAP_EXPECT(&p->model, shpool_aligned_malloc(heap, SIZE_MAX, 16) == NULL);
        while (count > 0) {
            trial_free(p, heap, &slot[--count]);
        }
        trial_free(p, heap, &odd);
    }
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_every_alignment_up_to_the_configured_one_and_no_other)
{
    FOR_EACH_POOL(allocator) {
        if ((allocator->caps & SHPOOL_CAP_ALIGNED) == 0) {
            continue;
        }
        for (uint32_t alignment = 16; alignment <= 1024; alignment *= 4) {
            trial_open(&t, allocator, "", 3, 8000, alignment);
            trial_run(&t, alignment_kernel);
            assert_int_equal(t.model.live, 0);
            trial_close(&t);
        }
    }
}

static void aligned_largest_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   slot;

    if (trial_leads(heap)) {
        HEAP_EXPECT(&p->model, trial_malloc(p, heap, &slot, p->pool.largest, p->pool.alignment, 1));
        trial_free(p, heap, &slot);
    }
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_largest_is_there_at_the_configured_alignment)
{
    FOR_EACH_POOL(allocator) {
        for (uint32_t alignment = 16; alignment <= 1024; alignment *= 2) {
            for (uint32_t each = 1; each < 5000; each += 1u + each / 3u) {
                trial_open(&t, allocator, "", 2, each, alignment);
                assert_true(t.pool.largest >= each);
                trial_run(&t, aligned_largest_kernel);
                trial_close(&t);
            }
        }
    }
}

/* ---- realloc ---- */

static void realloc_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   a;
    heap_slot   b;

    if (trial_leads(heap)) {
        unsigned char *at;
        size_t         most = p->pool.largest;
        void          *ptr  = shpool_realloc(heap, NULL, 100);

        heap_model_count_malloc(&p->model, (ptr != NULL) ? 1u : 0u);
        HEAP_EXPECT(&p->model, trial_got(p, heap, &a, ptr, 100, 16, 1));
        HEAP_EXPECT(&p->model, trial_realloc(p, heap, &a, 0, 2) && (a.bytes >= 1)); /* as 1 */
        for (uint32_t bytes = 1; bytes < most / 3u; bytes += bytes / 2u + 7u) { /* both fit */
            HEAP_EXPECT(&p->model, trial_realloc(p, heap, &a, bytes, bytes));
        }
        HEAP_EXPECT(&p->model, trial_realloc(p, heap, &a, most / 3u, 3));
        at = a.at;
        HEAP_EXPECT(&p->model, trial_realloc(p, heap, &a, 20, 4)); /* the next block is free now */
        HEAP_EXPECT(&p->model, trial_realloc(p, heap, &a, most / 3u, 5));
        HEAP_EXPECT(&p->model, trial_realloc(p, heap, &a, 20, 6));
        HEAP_EXPECT(&p->model, !has_cap(p, SHPOOL_CAP_RESIZE) || (a.at == at));
        HEAP_EXPECT(&p->model, !trial_realloc(p, heap, &a, most + 1u, 6)); /* old one unharmed */
        trial_free(p, heap, &a);

        /* Shrinking makes room for others; growing into them is impossible, so it moves. */
        HEAP_EXPECT(&p->model, trial_malloc(p, heap, &a, 60, 16, 7));
        HEAP_EXPECT(&p->model, trial_malloc(p, heap, &b, 60, 16, 8));
        HEAP_EXPECT(&p->model, trial_realloc(p, heap, &a, 130, 9));
        HEAP_EXPECT(&p->model, trial_realloc(p, heap, &b, 130, 10));
        HEAP_EXPECT(&p->model, trial_realloc(p, heap, &a, 10, 11));
        HEAP_EXPECT(&p->model, !trial_realloc(p, heap, &b, most, 12));
        trial_free(p, heap, &a);
        trial_free(p, heap, &b);
    }
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_realloc_keeps_contents_moved_or_not_or_refused)
{
    FOR_EACH_POOL(allocator) {
        trial_once(&t, allocator, "", 2, 1500, realloc_kernel);
        assert_int_equal(t.model.live, 0);
        trial_once(&t, allocator, ":stats=1", 1, 1500, realloc_kernel);
        assert_int_equal(t.model.live, 0);
    }
}

/* ---- native, null ---- */

static void native_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   slot;

    for (uint32_t bytes = 1; bytes < 40; bytes++) { /* odd sizes: no byte of the end may be lost */
        HEAP_EXPECT(&p->model, trial_malloc(p, heap, &slot, bytes, 16, bytes));
        HEAP_EXPECT(&p->model, !shpool_is_shared(slot.at));
        HEAP_EXPECT(&p->model, trial_realloc(p, heap, &slot, bytes + 50u, bytes + 1u));
        HEAP_EXPECT(&p->model, trial_realloc(p, heap, &slot, bytes + 49u, bytes + 2u));
        HEAP_EXPECT(&p->model, trial_realloc(p, heap, &slot, bytes, bytes + 3u));
        trial_free(p, heap, &slot);
    }
    HEAP_EXPECT(&p->model, trial_malloc(p, heap, &slot, 70, p->pool.alignment, 5));
    trial_free(p, heap, &slot);
    HEAP_EXPECT(&p->model, shpool_malloc_shared(heap, 1) == NULL);
    heap_model_count_malloc(&p->model, 0);
    HEAP_EXPECT(&p->model, shpool_largest(heap) == 0);
    shpool_fini(heap);
}

UNIT_TEST(test_native_spills_every_request)
{
    const shpool_allocator *native;

    if (shpool_allocator_find("native", &native) != SHPOOL_OK) {
        skip(); /* --enable-allocators left it out */
    }
    for (uint32_t alignment = 16; alignment <= 1024; alignment *= 8) {
        trial_open(&t, native, ":stats=1", 3, 64, alignment);
        t.launch.dynamic_bytes = t.pool.shared_bytes;
        trial_run(&t, native_kernel);
        assert_int_equal(t.report.mallocs, t.model.mallocs);
        assert_int_equal(t.report.failures, 3);
        assert_int_equal(t.report.spills, t.model.mallocs - 3u);
        assert_int_equal(t.report.frees, t.model.frees);
        assert_int_equal(t.report.live, 0);
        assert_int_equal(t.report.live_bytes, 0);
        assert_int_equal(t.report.peak_bytes, t.model.peak_bytes);
        trial_close(&t);
    }
    trial_open(&t, native, "", 3, 64, 16);
    assert_int_equal(t.pool.shared_bytes, 0);
    trial_run(&t, native_kernel);
    trial_close(&t);
}
