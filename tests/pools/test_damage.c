/* SPDX-License-Identifier: BSD-3-Clause */
/* check=1 when allocator data was written over: nothing of it is followed or waited for. */
#include "scene.h"

/* The links of a free block are written over; what comes next must not follow them. */
static void wild_kernel(shpool_heap heap)
{
    uint32_t *a    = (uint32_t *)shpool_malloc(heap, 44);
    uint32_t *b    = (uint32_t *)shpool_malloc(heap, 44);
    uint32_t *c    = (uint32_t *)shpool_malloc(heap, 44);
    uint32_t  wild = (t.number == 1) ? 0xfffcfffcu
                   : (t.number == 2) ? 0x00010001u : 0xddddddddu;

    EXPECT((a != NULL) && (b != NULL) && (c != NULL));
    EXPECT(shpool_free_at(heap, b, 0) == SHPOOL_FREE_OK);
    for (uint32_t i = 4; i > 0; i--) {
        b[-(int)i] = wild; /* at alignment 16 the links are here */
    }
    EXPECT(shpool_check(heap).broken != 0);
    EXPECT(shpool_malloc(heap, 44) == NULL);
    EXPECT(shpool_realloc(heap, a, 100) == NULL);
    EXPECT(shpool_free_at(heap, c, 0) == SHPOOL_FREE_CORRUPT);
}

static int is_in_band(const shpool_allocator *allocator)
{
    return has_pool(allocator) && ((allocator->caps & SHPOOL_CAP_OUT_OF_BAND) == 0);
}

SCENE(test_wild_links_are_not_followed, wild_kernel, .takes = is_in_band,
      .options = { ":check=1" }, .each = 600, .numbers = 3, .leaves = 1, .report = "corrupt 1")

/* A neighbour overran the first words of a group's pool: no thread waits for that lock, or trusts
 * that geometry. */
static void lock_kernel(shpool_heap heap)
{
    void *a = shpool_malloc(heap, 44);

    EXPECT(a != NULL);
    simt_barrier();
    if (simt_thread_rank() == 0) {
        simt_store32(heap.view.base + (uint32_t)t.number, t.steps);
    }
    simt_barrier();
    EXPECT(shpool_malloc(heap, 44) == NULL);
    EXPECT(shpool_free_at(heap, a, 0) == SHPOOL_FREE_CORRUPT);
    simt_barrier();
    if (simt_thread_rank() == 0) {
        EXPECT(shpool_check(heap).broken == SHPOOL_BROKEN_LOCK);
    }
}

static void choose_lock(void)
{
    const uint32_t lock = (strcmp(TRIAL_NAME(&t), "arena") == 0) ? 8u : 4u;

    t.steps  = (t.number == 0) ? 1u : 0xfdfdfdfdu; /* 1: a thread seems to hold it forever */
    t.number = (t.number == 0) ? lock : 4u * t.number;
}

static void expect_broken_lock(void)
{
    assert_int_equal(t.report.broken, SHPOOL_BROKEN_LOCK);
    assert_true(t.report.broken_at != 0);
}

SCENE(test_a_lock_that_was_run_over, lock_kernel, .takes = of_groups,
      .options = { ":check=1,threads_per_pool=2" }, .threads = { 2 }, .each = 600, .numbers = 3,
      .tune = choose_lock, .leaves = 1, .report = "corrupt 1, bad_frees 2",
      .expect = expect_broken_lock)

/* A word of freed memory is written; the writer would damage the next owner's data. */
static void freed_kernel(shpool_heap heap)
{
    uint32_t *a = (uint32_t *)shpool_malloc(heap, 100);

    EXPECT((a != NULL) && (shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK));
    a[t.number] = 1;
    EXPECT(shpool_malloc_at(heap, 100, 7) == NULL);
}

static int is_clean(const shpool_allocator *allocator)
{
    return strstr(allocator->name, "bitmap") != NULL;
}

static void expect_freed(void)
{
    assert_int_equal(t.report.broken, SHPOOL_BROKEN_FREED);
    assert_int_equal(t.report.bad_free[0].reason, SHPOOL_FREE_CORRUPT);
    assert_int_equal(t.report.bad_free[0].site, 7);
}

SCENE(test_memory_that_was_written_when_free, freed_kernel, .takes = is_clean,
      .options = { ":check=1" }, .each = 200 /* no room elsewhere */, .numbers = 25, .leaves = 1,
      .expect = expect_freed)

/* Bit 31 of bitmap's last word, and of one after the last granule: a free would continue there. */
static void last_word_kernel(shpool_heap heap)
{
    uint32_t last = (heap.view.word[0] - 1u) / 11u;

    EXPECT(shpool_check(heap).broken == 0);
    for (uint32_t w = last; w <= (last | 1u); w++) { /* words come in pairs */
        simt_addr word = heap.view.base + 48u + 4u * w;
        uint32_t  held = simt_load32(word);

        simt_store32(word, held ^ 0x80000000u);
        EXPECT(shpool_check(heap).broken == 5);
        simt_store32(word, held);
    }
    EXPECT(shpool_check(heap).broken == 0);
}

UNIT_TEST(test_the_bit_behind_the_last_granule)
{
    static const uint32_t granules[] = { 8, 11, 21, 22, 33 }; /* whole words and pairs, and not */

    for (size_t i = 0; i < sizeof(granules) / sizeof(granules[0]); i++) {
        const scene s = { .body = last_word_kernel, .only = "bitmap", .each = 16u * granules[i] };

        run_scene(&s);
    }
}

/* The word that says where bitmap's warps begin: a warp would begin outside of the pool. */
static void begin_kernel(shpool_heap heap)
{
    static const uint32_t wild[] = { 0xffff0000u, 0x0000ffffu, 0x00200020u };

    if (simt_thread_rank() == 0) {
        simt_store32(heap.view.base + 12u, wild[t.number]);
    }
    simt_barrier();
    EXPECT(shpool_malloc_warp(heap, 44) == NULL);
    simt_barrier();
    if (simt_thread_rank() == 0) {
        EXPECT(shpool_check(heap).broken == 6);
    }
}

/* 57 pairs, 32 of them in a look */
SCENE(test_where_warps_begin, begin_kernel, .only = "bitmap", .options = { ":check=1" },
      .threads = { 32 }, .each = 20000, .numbers = 3, .leaves = 1, .report = "corrupt 1, broken 6")

/* ---- the statistics area ---- */

/* The word that shpool_fini() itself raises, which may put it right. */
#define LARGEST (SHPOOL_AREA_FRONT + (uint32_t)SHPOOL_AREA_LARGEST)

/* The word that the report is to name when the one at `word` has changed. */
static uint32_t named(uint32_t word)
{
    if (word >= SHPOOL_AREA_CHECKED) {
        return SHPOOL_AREA_CHECKED; /* the maps have one checksum */
    }
    if (word >= SHPOOL_AREA_SHADOW) {
        return word - SHPOOL_AREA_SHADOW;
    }
    return (word < SHPOOL_AREA_BYTES) ? word : word - word % 8u; /* the copy, the checksum */
}

/* Whether a spill looks at it; the other words wait for fini. */
static int spill_needs(uint32_t word)
{
    const uint32_t at = named(word); /* from the area's start */

    return (at == SHPOOL_AREA_FRONT + SHPOOL_AREA_SEAL) || (at == SHPOOL_AREA_CHECKED) ||
           (word == SHPOOL_AREA_FRONT + (uint32_t)SHPOOL_AREA_SPILL_LOCK) ||
           ((at >= SHPOOL_AREA_FRONT + (uint32_t)SHPOOL_AREA_SLOT) && (at < SHPOOL_AREA_BYTES));
}

/* One word of the area changes; each thread has spilled before, and spills afterwards. */
static void area_kernel(shpool_heap heap)
{
    void     *a    = shpool_malloc(heap, 44);
    void     *far  = shpool_malloc(heap, 1000);
    simt_addr from = simt_dynamic_base();
    simt_addr word = from + (uint32_t)t.number;

    EXPECT((a != NULL) && ((far != NULL) == (t.pool.spill_bytes != 0)));
    EXPECT(shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK);
    simt_barrier();
    if (simt_thread_rank() == 0) {
        simt_store32(word, simt_load32(word) ^ 0x10u);
        t.seed = (uint32_t)(size_t)simt_from_shared(from + named((uint32_t)t.number));
    }
    simt_barrier();
    if ((far != NULL) && spill_needs((uint32_t)t.number)) {
        EXPECT(shpool_malloc(heap, 1000) == NULL);
        EXPECT(shpool_realloc(heap, far, 2000) == NULL);
        EXPECT(shpool_free_at(heap, far, 0) == SHPOOL_FREE_CORRUPT);
    }
}

/* Word t.number; but not that of LARGEST. */
static void choose_word(void)
{
    t.number = (4u * t.number % SHPOOL_AREA_SHADOW == LARGEST) ? 0u : 4u * t.number;
}

static void expect_broken_area(void)
{
    if ((t.report.corrupt != 1) || (t.report.broken != SHPOOL_BROKEN_AREA) ||
        ((uint32_t)t.report.broken_at != t.seed) || (t.report.blocks != 1)) {
        fail_msg("word +%zu: corrupt %u, broken %u at 0x%llx, not 0x%x", t.number,
                 t.report.corrupt, t.report.broken, t.report.broken_at, t.seed);
    }
}

UNIT_TEST(test_each_word_of_the_area)
{
    scene s = { .body = area_kernel, .only = shpool_allocator_get(0)->name,
                .options = { ":check=1" }, .threads = { 2 }, .each = 300,
                .numbers = SHPOOL_AREA_CHECKED / 4u, .tune = choose_word, .leaves = 1,
                .expect = expect_broken_area };

    run_scene(&s);
    s.options[0] = ":check=1,spill=arena,spill_bytes=4K,spill_blocks=1";
    s.numbers   += 4096 / 64 / 4 / 4;
    run_scene(&s);
}

/* Of two places that are damaged the report has one, and its number. */
static void two_kernel(shpool_heap heap)
{
    uint32_t *a = (uint32_t *)shpool_malloc(heap, 44);

    a[11] = 0;
    simt_store32(simt_dynamic_base(), ~simt_load32(simt_dynamic_base()));
}

UNIT_TEST(test_two_places)
{
    const scene s = { .body = two_kernel, .only = shpool_allocator_get(0)->name,
                      .options = { ":check=1" }, .each = 300, .leaves = 1, .report = "corrupt 2" };

    run_scene(&s);
    assert_int_equal(t.report.broken, SHPOOL_BROKEN_ZONE);
}
