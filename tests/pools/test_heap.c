/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.h on the executor: alignment and realloc of every allocator, and native. */
#include "scene.h"

/* ---- alignment ---- */

static void alignment_kernel(shpool_heap heap)
{
    heap_slot slot[8];
    uint32_t  count = 0;

    if (trial_leads(heap)) {
        heap_slot odd;

        EXPECT(get(heap, &odd, 1, 9)); /* so that others are odd */
        for (uint32_t alignment = 16; alignment <= t.pool.alignment; alignment *= 2) {
            EXPECT(get_aligned(heap, &slot[count], 24, alignment, count));
            count++;
        }
        for (size_t alignment = 1; alignment < 16; alignment *= 2) { /* below 16: 16 */
            void *ptr = shpool_aligned_malloc(heap, alignment, 8);

            EXPECT((ptr != NULL) && ((uintptr_t)ptr % 16u == 0));
            EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
        }
        EXPECT(shpool_aligned_malloc(heap, 2u * t.pool.alignment, 16) == NULL);
        EXPECT(shpool_aligned_malloc(heap, (size_t)1 << 32, 16) == NULL);
        EXPECT(shpool_aligned_malloc(heap, ((size_t)1 << 32) + 16, 16) == NULL);
        EXPECT(shpool_aligned_malloc(heap, 0, 16) == NULL);
        EXPECT(shpool_aligned_malloc(heap, 3, 16) == NULL);
        EXPECT(shpool_aligned_malloc(heap, 24, 16) == NULL);
        EXPECT(shpool_aligned_malloc(heap, SIZE_MAX, 16) == NULL);
        while (count > 0) {
            put(heap, &slot[--count]);
        }
        put(heap, &odd);
    }
}

SCENE(test_every_alignment_up_to_the_configured_one_and_no_other, alignment_kernel,
      .caps = SHPOOL_CAP_ALIGNED, .threads = { 3 }, .each = 8000,
      .alignments = { 16, 64, 256, 1024 })

static void aligned_largest_kernel(shpool_heap heap)
{
    heap_slot slot;

    if (trial_leads(heap)) {
        EXPECT(get_aligned(heap, &slot, t.pool.largest, t.pool.alignment, 1));
        put(heap, &slot);
    }
}

UNIT_TEST(test_largest_is_there_at_the_configured_alignment)
{
    for (uint32_t each = 1; each < 5000; each += 1u + each / 3u) {
        const scene s = { .body = aligned_largest_kernel, .threads = { 2 }, .each = each,
                          .alignments = { 16, 32, 64, 128, 256, 512, 1024 } };

        run_scene(&s);
    }
}

/* ---- realloc ---- */

static void realloc_kernel(shpool_heap heap)
{
    heap_slot a;
    heap_slot b;

    if (trial_leads(heap)) {
        unsigned char *at;
        size_t         most = t.pool.largest;
        void          *ptr  = shpool_realloc(heap, NULL, 100);

        heap_model_count_malloc(&t.model, (ptr != NULL) ? 1u : 0u);
        EXPECT(trial_got(&t, heap, &a, ptr, 100, 16, 1));
        EXPECT(resize(heap, &a, 0, 2) && (a.bytes >= 1)); /* as 1 */
        for (uint32_t bytes = 1; bytes < most / 3u; bytes += bytes / 2u + 7u) { /* both fit */
            EXPECT(resize(heap, &a, bytes, bytes));
        }
        EXPECT(resize(heap, &a, most / 3u, 3));
        at = a.at;
        EXPECT(resize(heap, &a, 20, 4)); /* the next block is free now */
        EXPECT(resize(heap, &a, most / 3u, 5));
        EXPECT(resize(heap, &a, 20, 6));
        EXPECT(!has_cap(&t, SHPOOL_CAP_RESIZE) || (a.at == at));
        EXPECT(!resize(heap, &a, most + 1u, 6)); /* old one unharmed */
        put(heap, &a);

        /* Shrinking makes room for others; growing into them is impossible, so it moves. */
        EXPECT(get(heap, &a, 60, 7));
        EXPECT(get(heap, &b, 60, 8));
        EXPECT(resize(heap, &a, 130, 9));
        EXPECT(resize(heap, &b, 130, 10));
        EXPECT(resize(heap, &a, 10, 11));
        EXPECT(!resize(heap, &b, most, 12));
        put(heap, &a);
        put(heap, &b);
    }
}

SCENE(test_realloc_keeps_contents_moved_or_not_or_refused, realloc_kernel,
      .options = { "", ":stats=1" }, .threads = { 1, 2 }, .each = 1500, .counts = 1)

/* ---- native, null ---- */

static void native_kernel(shpool_heap heap)
{
    heap_slot slot;

    for (uint32_t bytes = 1; bytes < 40; bytes++) { /* odd sizes: no byte of the end may be lost */
        EXPECT(get(heap, &slot, bytes, bytes));
        EXPECT(!shpool_is_shared(slot.at));
        EXPECT(resize(heap, &slot, bytes + 50u, bytes + 1u));
        EXPECT(resize(heap, &slot, bytes + 49u, bytes + 2u));
        EXPECT(resize(heap, &slot, bytes, bytes + 3u));
        put(heap, &slot);
    }
    EXPECT(get_aligned(heap, &slot, 70, t.pool.alignment, 5));
    put(heap, &slot);
    EXPECT(shpool_malloc_shared(heap, 1) == NULL);
    heap_model_count_malloc(&t.model, 0);
    EXPECT(shpool_largest(heap) == 0);
}

static void expect_spills(void)
{
    assert_int_equal((t.pool.shared_bytes == 0), (t.pool.report == NULL));
    if (t.pool.report != NULL) {
        assert_int_equal(t.report.spills, t.model.mallocs - 3u);
        assert_int_equal(t.report.peak_bytes, t.model.peak_bytes);
    }
}

SCENE(test_native_spills_every_request, native_kernel, .only = "native",
      .options = { ":stats=1", "" }, .threads = { 3 }, .alignments = { 16, 128, 1024 },
      .each = 64, .leaves = 1, .counts = 1, .report = "failures 3, live_bytes 0",
      .expect = expect_spills)
