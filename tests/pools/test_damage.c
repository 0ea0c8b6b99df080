/* SPDX-License-Identifier: BSD-3-Clause */
/* check=1 when allocator data was written over: nothing of it is followed or waited for. */
#include "heap_trial.h"

static trial t;

#define EXPECT(_p, _what) HEAP_EXPECT(&(_p)->model, _what)

/* The links of a free block are written over; what comes next must not follow them. */
static void wild_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t   *a    = (uint32_t *)shpool_malloc(heap, 44);
    uint32_t   *b    = (uint32_t *)shpool_malloc(heap, 44);
    uint32_t   *c    = (uint32_t *)shpool_malloc(heap, 44);
    uint32_t    wild = (p->number == 1) ? 0xfffcfffcu
                     : (p->number == 2) ? 0x00010001u : 0xddddddddu;

    EXPECT(p, (a != NULL) && (b != NULL) && (c != NULL));
    EXPECT(p, shpool_free_at(heap, b, 0) == SHPOOL_FREE_OK);
    for (uint32_t i = 4; i > 0; i--) {
        b[-(int)i] = wild; /* at alignment 16 the links are here */
    }
    EXPECT(p, shpool_check(heap).broken != 0);
    EXPECT(p, shpool_malloc(heap, 44) == NULL);
    EXPECT(p, shpool_realloc(heap, a, 100) == NULL);
    EXPECT(p, shpool_free_at(heap, c, 0) == SHPOOL_FREE_CORRUPT);
    shpool_fini(heap);
}

UNIT_TEST(test_wild_links_are_not_followed)
{
    FOR_EACH_POOL(allocator) {
        for (size_t i = 0; (i < 3) && ((allocator->caps & SHPOOL_CAP_OUT_OF_BAND) == 0); i++) {
            trial_open(&t, allocator, ":check=1", 1, 600, 16);
            t.number = i;
            trial_run(&t, wild_kernel);
            assert_int_equal(t.report.corrupt, 1);
            trial_close(&t);
        }
    }
}

/* A neighbour overran the first words of a group's pool: no thread waits for that lock, or trusts
 * that geometry. */
static void lock_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *a    = shpool_malloc(heap, 44);

    EXPECT(p, a != NULL);
    simt_barrier();
    if (simt_thread_rank() == 0) {
        simt_store32(heap.view.base + (uint32_t)p->number, p->steps);
    }
    simt_barrier();
    EXPECT(p, shpool_malloc(heap, 44) == NULL);
    EXPECT(p, shpool_free_at(heap, a, 0) == SHPOOL_FREE_CORRUPT);
    simt_barrier();
    if (simt_thread_rank() == 0) {
        EXPECT(p, shpool_check(heap).broken == SHPOOL_BROKEN_LOCK);
    }
    shpool_fini(heap);
}

UNIT_TEST(test_a_lock_that_was_run_over)
{
    FOR_EACH_POOL(allocator) {
        for (size_t i = 0; (i < 3) && (allocator->scope == SHPOOL_SCOPE_GROUP); i++) {
            size_t lock = (strcmp(allocator->name, "arena") == 0) ? 8u : 4u;

            trial_open(&t, allocator, ":check=1,threads_per_pool=2", 2, 600, 16);
            t.number = (i == 0) ? lock : 4u * i;
            t.steps  = (i == 0) ? 1u : 0xfdfdfdfdu; /* 1: a thread seems to hold it forever */
            trial_run(&t, lock_kernel);
            assert_int_equal(t.report.corrupt, 1);
            assert_int_equal(t.report.bad_frees, 2);
            assert_int_equal(t.report.broken, SHPOOL_BROKEN_LOCK);
            assert_true(t.report.broken_at != 0);
            trial_close(&t);
        }
    }
}

/* A word of freed memory is written; the writer would damage the next owner's data. */
static void freed_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t   *a    = (uint32_t *)shpool_malloc(heap, 100);

    EXPECT(p, (a != NULL) && (shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK));
    a[p->number] = 1;
    EXPECT(p, shpool_malloc_at(heap, 100, 7) == NULL);
    shpool_fini(heap);
}

UNIT_TEST(test_memory_that_was_written_when_free)
{
    static const char *const clean[] = { "bitmap", "cluster_bitmap", "thread_bitmap" };
    const shpool_allocator  *allocator;

    for (size_t i = 0; i < sizeof(clean) / sizeof(clean[0]); i++) {
        if (shpool_allocator_find(clean[i], &allocator) != SHPOOL_OK) {
            continue;
        }
        for (size_t word = 0; word < 25; word++) {
            trial_open(&t, allocator, ":check=1", 1, 200, 16); /* no room elsewhere */
            t.number = word;
            trial_run(&t, freed_kernel);
            assert_int_equal(t.report.broken, SHPOOL_BROKEN_FREED);
            assert_int_equal(t.report.bad_free[0].reason, SHPOOL_FREE_CORRUPT);
            assert_int_equal(t.report.bad_free[0].site, 7);
            trial_close(&t);
        }
    }
}

/* Bit 31 of bitmap's last word, and of one after the last granule: a free would continue there. */
static void last_word_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    last = (heap.view.word[0] - 1u) / 11u;

    EXPECT(p, shpool_check(heap).broken == 0);
    for (uint32_t w = last; w <= (last | 1u); w++) { /* words come in pairs */
        simt_addr word = heap.view.base + 48u + 4u * w;
        uint32_t  held = simt_load32(word);

        simt_store32(word, held ^ 0x80000000u);
        EXPECT(p, shpool_check(heap).broken == 5);
        simt_store32(word, held);
    }
    EXPECT(p, shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

UNIT_TEST(test_the_bit_behind_the_last_granule)
{
    const shpool_allocator *bitmap;

    if (shpool_allocator_find("bitmap", &bitmap) != SHPOOL_OK) {
        skip();
    }
    /* whole words and pairs of words, and not */
    for (uint32_t granules = 8; granules <= 34; granules++) {
        if ((granules % 11 == 0) || (granules == 8) || (granules == 21)) {
            trial_open(&t, bitmap, "", 1, 16 * granules, 16);
            trial_run(&t, last_word_kernel);
            trial_close(&t);
        }
    }
}

/* The word that says where bitmap's warps begin: a warp would begin outside of the pool. */
static void begin_kernel(void *arg)
{
    static const uint32_t wild[] = { 0xffff0000u, 0x0000ffffu, 0x00200020u };
    trial                *p      = (trial *)arg;
    shpool_heap           heap   = trial_init(p);

    if (simt_thread_rank() == 0) {
        simt_store32(heap.view.base + 12u, wild[p->number]);
    }
    simt_barrier();
    EXPECT(p, shpool_malloc_warp(heap, 44) == NULL);
    simt_barrier();
    if (simt_thread_rank() == 0) {
        EXPECT(p, shpool_check(heap).broken == 6);
    }
    shpool_fini(heap);
}

UNIT_TEST(test_where_warps_begin)
{
    const shpool_allocator *bitmap;

    if (shpool_allocator_find("bitmap", &bitmap) != SHPOOL_OK) {
        skip();
    }
    for (size_t i = 0; i < 3; i++) {
        trial_open(&t, bitmap, ":check=1", 32, 20000, 16); /* 57 pairs, 32 of them in a look */
        t.number = i;
        trial_run(&t, begin_kernel);
        assert_int_equal(t.report.corrupt, 1);
        assert_int_equal(t.report.broken, 6);
        trial_close(&t);
    }
}

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
static void area_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *a    = shpool_malloc(heap, 44);
    void       *far  = shpool_malloc(heap, 1000);
    simt_addr   from = simt_dynamic_base();
    simt_addr   word = from + (uint32_t)p->number;

    EXPECT(p, (a != NULL) && ((far != NULL) == (p->pool.spill_bytes != 0)));
    EXPECT(p, shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK);
    simt_barrier();
    if (simt_thread_rank() == 0) {
        simt_store32(word, simt_load32(word) ^ 0x10u);
        p->seed = (uint32_t)(size_t)simt_from_shared(from + named((uint32_t)p->number));
    }
    simt_barrier();
    if ((far != NULL) && spill_needs((uint32_t)p->number)) {
        EXPECT(p, shpool_malloc(heap, 1000) == NULL);
        EXPECT(p, shpool_realloc(heap, far, 2000) == NULL);
        EXPECT(p, shpool_free_at(heap, far, 0) == SHPOOL_FREE_CORRUPT);
    }
    shpool_fini(heap);
}

UNIT_TEST(test_each_word_of_the_area)
{
    static const char *const options[] = {
        ":check=1", ":check=1,spill=arena,spill_bytes=4K,spill_blocks=1",
    };
    const uint32_t end[] = { SHPOOL_AREA_CHECKED, SHPOOL_AREA_CHECKED + 4096 / 64 / 4 };
    const shpool_allocator *allocator = shpool_allocator_get(0);

    for (size_t i = 0; i < 2; i++) {
        for (uint32_t word = 0; word < end[i]; word += 4) {
            if (word % SHPOOL_AREA_SHADOW == LARGEST) {
                continue;
            }
            trial_open(&t, allocator, options[i], 2, 300, 16);
            t.number = word;
            trial_run(&t, area_kernel);
            if ((t.report.corrupt != 1) || (t.report.broken != SHPOOL_BROKEN_AREA) ||
                ((uint32_t)t.report.broken_at != t.seed) || (t.report.blocks != 1)) {
                fail_msg("word +%u: corrupt %u, broken %u at 0x%llx, not 0x%x", word,
                         t.report.corrupt, t.report.broken, t.report.broken_at, t.seed);
            }
            trial_close(&t);
        }
    }
}

/* Of two places that are damaged the report has one, and its number. */
static void two_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t   *a    = (uint32_t *)shpool_malloc(heap, 44);

    a[11] = 0;
    simt_store32(simt_dynamic_base(), ~simt_load32(simt_dynamic_base()));
    shpool_fini(heap);
}

UNIT_TEST(test_two_places)
{
    trial_open(&t, shpool_allocator_get(0), ":check=1", 1, 300, 16);
    trial_run(&t, two_kernel);
    assert_int_equal(t.report.corrupt, 2);
    assert_int_equal(t.report.broken, SHPOOL_BROKEN_ZONE);
    trial_close(&t);
}
