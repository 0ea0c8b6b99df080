/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap with more threads than its words suffice for: where they begin, what a claim that comes
 * too late costs, and what a search costs.
 *
 * Claims of another thread are made in the middle of a call, by functions that stand before those
 * of simt.h. */
#define SHPOOL_INLINE bitmap
#include "heap_model.h"

#include <string.h>

#include <shpool/executor.h>
#include <shpool/shpool.h>
#include <shpool/simt.h>

static uint32_t late;      /* claims that still come too late */
static uint32_t reads;     /* pairs that an exact search has read */
static uint32_t peeks;     /* words that a malloc has peeked at */
static uint32_t looks;     /* words and pairs in which it has looked for a run */
static uint32_t last_read; /* the pair at whose reading another thread takes its first granule */
static uint32_t claims;    /* changes of the number of claims in progress */
static uint32_t pool_base; /* the pool's first word, which counts them */
static uint32_t frees;     /* still to come: of others, each behind a search */
static uint32_t last_pair; /* where such a search ends */
static uint32_t longest;   /* pause, in nanoseconds */
static uint32_t frees_look; /* the look behind which another thread frees a whole word; 0: none */
static simt_addr frees_word; /* that word */

static uint32_t late_cas(simt_addr a, uint32_t expected, uint32_t desired, simt_order o);
static uint32_t late_cas_pair(simt_addr a, simt_pair expected, simt_pair desired, simt_order o);
static simt_pair counted_load_pair(simt_addr a, simt_order o);
static uint32_t counted_add(simt_addr a, uint32_t v, simt_order o);
static uint32_t counted_peek(simt_addr a);
static uint32_t counted_starts(uint32_t unused, uint32_t need, uint32_t most);

static void noted_pause(uint32_t ns)
{
    longest = (ns > longest) ? ns : longest;
    simt_pause(ns);
}

#include <shpool/impl/heap/run_word.h> /* before its functions are replaced */
#undef simt_pause
#define simt_pause            noted_pause
#define simt_peek             counted_peek
#define shpool_run_starts     counted_starts
#define simt_atomic_cas       late_cas
#define simt_atomic_cas_pair  late_cas_pair
#define simt_atomic_load_pair counted_load_pair
#define simt_atomic_add       counted_add
#include <shpool/heap.h>
#undef simt_atomic_cas
#undef simt_atomic_cas_pair
#undef simt_atomic_load_pair
#undef simt_atomic_add
#undef simt_peek
#undef shpool_run_starts

#define THREADS  640u
#define GRANULES 2944u /* 46 KiB */
#define HOME_TRIES (1u + SHPOOL_BITMAP_RETRIES) /* in the home word */
#define NOWHERE  0xffffffffu

static shpool_pool pool;
static heap_model  model;
static uint32_t    home[1024]; /* words */
static uint32_t    word_count;

#define EXPECT(_what) HEAP_EXPECT(&model, _what)

/* ---- another thread ---- */

/* It allocates the lowest granule that the claim wants. */
static void take_lowest(simt_addr a, uint32_t wanted)
{
    uint32_t lowest = wanted & (0u - wanted) & SHPOOL_BITMAP_USED;

    if ((late != 0) && (lowest != 0)) {
        late--;
        (void)simt_atomic_or(a, lowest | (lowest << SHPOOL_BITMAP_STARTS), SIMT_RELAXED);
    }
}

static uint32_t late_cas(simt_addr a, uint32_t expected, uint32_t desired, simt_order o)
{
    take_lowest(a, desired & ~expected);
    return simt_atomic_cas(a, expected, desired, o);
}

static uint32_t late_cas_pair(simt_addr a, simt_pair expected, simt_pair desired, simt_order o)
{
    take_lowest(a, desired.x & ~expected.x);
    return simt_atomic_cas_pair(a, expected, desired, o);
}

static simt_pair counted_load_pair(simt_addr a, simt_order o)
{
    simt_pair words = simt_atomic_load_pair(a, o);

    reads++;
    if ((frees != 0) && (a == last_pair)) {
        frees--;
        (void)simt_atomic_add(pool_base + 16u, 1u, SIMT_RELAXED);
    }
    if ((last_read != NOWHERE) && (a == last_read)) { /* after the search has seen it free */
        last_read = NOWHERE;
        reads     = 0;
        (void)simt_atomic_or(a, 0x10001u, SIMT_RELAXED);
    }
    return words;
}

static uint32_t counted_add(simt_addr a, uint32_t v, simt_order o)
{
    claims += (a == pool_base);
    return simt_atomic_add(a, v, o);
}

static uint32_t counted_peek(simt_addr a)
{
    peeks++;
    return simt_peek(a);
}

static uint32_t counted_starts(uint32_t unused, uint32_t need, uint32_t most)
{
    looks++;
    if (looks == frees_look) {
        simt_atomic_store(frees_word, 0, SIMT_RELAXED);
    }
    return shpool_run_starts(unused, need, most);
}

/* ---- kernels ---- */

static uint32_t granule_of(shpool_heap heap, const void *ptr)
{
    return (ptr != NULL) ? shpool_bitmap_granule(heap.view, simt_to_shared(ptr)) : NOWHERE;
}

static void homes_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));

    (void)arg;
    home[simt_thread_rank()] = shpool_bitmap_where(heap.view).home;
    shpool_fini(heap);
}

static void count_anew(void)
{
    reads = 0;
    peeks = 0;
    looks = 0;
}

/* Others are quicker `count` times in home's pair, which is empty before and after.  The tries in
 * home's word and the one in its pair take the granule next to home's end of the pair; then
 * searches, which begin with that pair, may take one next to its other end.  No exact search is
 * needed. */
static void lose_claims(shpool_heap heap, uint32_t count)
{
    uint32_t  where = shpool_bitmap_where(heap.view).home;
    uint32_t  from  = where / 2u * SHPOOL_BITMAP_PAIR;
    uint32_t  end   = (from + SHPOOL_BITMAP_PAIR < GRANULES) ? from + SHPOOL_BITMAP_PAIR : GRANULES;
    simt_addr a     = shpool_bitmap_word_at(heap.view, where & ~1u);
    simt_pair empty = { simt_load32(a), simt_load32(a + 4u) };
    uint32_t  first;

    count_anew();
    late  = count;
    first = granule_of(heap, shpool_malloc(heap, 16));
    EXPECT(late == 0);
    EXPECT(first / SHPOOL_BITMAP_PAIR == where / 2u);
    EXPECT(reads == 0);
    if (count <= HOME_TRIES) {
        EXPECT(((where & 1u) ? end - 1u - first : first - from) == count);
        EXPECT(peeks == ((count == HOME_TRIES) ? 2u : 0u));
    }
    simt_store32(a, empty.x);
    simt_store32(a + 4u, empty.y);
}

static void late_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));
    uint32_t    rank;

    (void)arg;
    for (rank = 0; rank < THREADS; rank += 37u) { /* each in turn */
        simt_barrier();
        if (simt_thread_rank() == rank) {
            lose_claims(heap, 1);
            lose_claims(heap, HOME_TRIES - 1u);
            lose_claims(heap, HOME_TRIES);
            lose_claims(heap, HOME_TRIES + SHPOOL_BITMAP_SEARCHES);
        }
    }
    simt_barrier();
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* Every granule of the pool an allocation, except `count` ones from `first` on. */
static void fill_except(shpool_heap heap, uint32_t first, uint32_t count)
{
    for (uint32_t g = 0; g < pool.word[0]; g++) {
        uint32_t  w = g / SHPOOL_BITMAP_SPAN;
        simt_addr a = shpool_bitmap_word_at(heap.view, w);

        if ((g < first) || (g >= first + count)) {
            simt_store32(a, simt_load32(a) | (0x10001u << (g - SHPOOL_BITMAP_SPAN * w)));
        }
    }
}

/* Granules of a pair, one a bit; what is behind the pool stays used. */
static void free_granules(shpool_heap heap, uint32_t pair, uint32_t mask)
{
    mask &= simt_mask(0, pool.word[0] - SHPOOL_BITMAP_PAIR * pair);
    for (uint32_t i = 0; i < 2u; i++) {
        uint32_t  bits = (mask >> (SHPOOL_BITMAP_SPAN * i)) & SHPOOL_BITMAP_USED;
        simt_addr a    = shpool_bitmap_word_at(heap.view, 2u * pair + i);

        simt_store32(a, simt_load32(a) & ~(bits * 0x10001u));
    }
}

/* Each pair has one free granule, too few; but `first`, `on` pairs after home's, has two, of which
 * others take one before the claim, and `next`, `further` pairs after that, is empty.  After the
 * pool's last pair comes its first.  Each search covers a fifth of the pool, and takes the other
 * end of a pair than the search before it: the end tells how many there were. */
static void search_on(shpool_heap heap, uint32_t on, uint32_t further)
{
    uint32_t pairs = word_count / 2u;
    uint32_t fifth = pairs / SHPOOL_BITMAP_SEARCHES + 1u;
    uint32_t turn  = on / fifth + 1u + further / fifth;
    uint32_t high  = (simt_thread_rank() ^ turn) & 1u;
    uint32_t start = shpool_bitmap_where(heap.view).home / 2u;
    uint32_t first = (start + on) % pairs;
    uint32_t next  = (first + further) % pairs;
    uint32_t from  = next * SHPOOL_BITMAP_PAIR;
    uint32_t end   = (from + SHPOOL_BITMAP_PAIR < GRANULES) ? from + SHPOOL_BITMAP_PAIR : GRANULES;
    void    *ptr;

    fill_except(heap, 0, 0);
    for (uint32_t p = 0; p < pairs; p++) {
        free_granules(heap, p, (p == next) ? SHPOOL_BITMAP_FULL : (p == first) ? 3u : 1u);
    }
    count_anew();
    late = 1;
    ptr  = shpool_malloc(heap, 32);
    EXPECT(late == 0);
    EXPECT(granule_of(heap, ptr) == (high ? end - 2u : from));
    EXPECT(reads == 0);
    EXPECT(peeks <= 2u * (1u + (on + 1u) + (further + 1u))); /* home's pair first */
    EXPECT(looks <= HOME_TRIES + 3u); /* in home's word and pair, and where there was room */
}

/* Home's word is full, its pair is not.  Behind look `look` in it, another thread frees it. */
static void wait_at_home(shpool_heap heap, uint32_t look)
{
    uint32_t where = shpool_bitmap_where(heap.view).home;
    void    *ptr;

    fill_except(heap, where / 2u * SHPOOL_BITMAP_PAIR, SHPOOL_BITMAP_PAIR);
    frees_word = shpool_bitmap_word_at(heap.view, where);
    simt_store32(frees_word, SHPOOL_BITMAP_USED * 0x10001u);
    count_anew();
    frees_look = look;
    ptr        = shpool_malloc(heap, 64);
    frees_look = 0;
    EXPECT(reads == 0);
    if ((look != 0) && (look < HOME_TRIES)) {
        EXPECT(granule_of(heap, ptr) / SHPOOL_BITMAP_SPAN == where);
        EXPECT((looks == look + 1u) && (peeks == 0));
    } else {
        EXPECT(granule_of(heap, ptr) / SHPOOL_BITMAP_SPAN == (where ^ 1u));
        EXPECT(looks == ((simt_block_threads() > 2u * word_count) ? HOME_TRIES : 2u) + 1u);
    }
}

/* More than two threads for each word wait at home, others do not. */
static void full_home_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));

    (void)arg;
    if (simt_thread_rank() == 70u) {
        wait_at_home(heap, 0);
        if (simt_block_threads() > 2u * word_count) {
            wait_at_home(heap, 1);
            wait_at_home(heap, HOME_TRIES - 1u);
        }
    }
    simt_barrier();
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* A request of more granules than a word has does not wait for them in home's word. */
static void beyond_a_word_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));
    uint32_t    granule;

    (void)arg;
    if (simt_thread_rank() == 70u) {
        count_anew();
        granule = granule_of(heap, shpool_malloc(heap, 192));
        EXPECT(granule / SHPOOL_BITMAP_PAIR == shpool_bitmap_where(heap.view).home / 2u);
        EXPECT(looks == 2u); /* in home's word, and in its pair */
        EXPECT(reads == 0);
    }
    simt_barrier();
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

static void search_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));
    uint32_t    rank;

    (void)arg;
    for (rank = 0; rank < THREADS; rank += 79u) {
        simt_barrier();
        if (simt_thread_rank() == rank) {
            search_on(heap, 40, 50); /* beyond the first part, and beyond the next one */
            search_on(heap, 100, 20);
            search_on(heap, 27, 26); /* where the first part ends: a pool of 134 pairs */
        }
    }
    simt_barrier();
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* One thread in a full pool: behind twelve searches memory becomes free, and is taken again. */
static void void_searches_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));

    (void)arg;
    pool_base = heap.view.base;
    last_pair = shpool_bitmap_word_at(heap.view, word_count - 2u);
    fill_except(heap, 0, 0);
    count_anew();
    frees   = 12;
    longest = 0;
    EXPECT(shpool_malloc(heap, 16) == NULL);
    EXPECT(frees == 0);
    EXPECT(reads == 13u * (word_count / 2u));
    EXPECT(longest == SHPOOL_BITMAP_PAUSE << SHPOOL_BITMAP_LONGEST);
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* The exact search of one thread: where it has seen a run from pair 28 on, another one takes the
 * first granule. */
static void goes_on_kernel(void *arg)
{
    shpool_heap heap  = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));
    uint32_t    first = 28u * SHPOOL_BITMAP_PAIR;
    void       *ptr;

    (void)arg;
    fill_except(heap, first, 2u * SHPOOL_BITMAP_PAIR);
    last_read = shpool_bitmap_word_at(heap.view, 56);
    ptr       = simt_from_shared(shpool_bitmap_malloc_far(heap.view.base, heap.view.word[0],
                                                          heap.view.word[1], 0, 17, 16));
    EXPECT(last_read == NOWHERE);
    EXPECT(granule_of(heap, ptr) == first + 1u);
    EXPECT(reads <= 2u); /* not all pairs again */
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* One thread, and room only across the words of a pair. */
static void across_kernel(void *arg)
{
    shpool_heap heap  = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));
    uint32_t    first = 4u * SHPOOL_BITMAP_PAIR + 8u;
    void       *ptr;

    (void)arg;
    pool_base = heap.view.base;
    fill_except(heap, first, 6);
    claims = 0;
    ptr    = shpool_malloc(heap, 96);
    EXPECT(granule_of(heap, ptr) == first);
    EXPECT(claims == 0); /* nobody has to wait for it */
    EXPECT(shpool_check(heap).broken == 0);
    EXPECT(shpool_usable_size(heap, ptr) == 96u);
    EXPECT(shpool_malloc(heap, 16) == NULL);
    shpool_free(heap, ptr);
    EXPECT(shpool_largest(heap) == 96u);
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* A group that is smaller than a warp: its first lane allocates as it would for itself, in the home
 * word, around it, and by a claim of pairs.  None of these searches exactly. */
static void group_kernel(void *arg)
{
    static const uint32_t need[] = { 11, 11, 14, 20, 50, 100 };
    shpool_heap           heap   = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));
    void                 *ptr;

    (void)arg;
    for (size_t i = 0; i < sizeof(need) / sizeof(need[0]); i++) {
        if (simt_lane() == 0) {
            count_anew();
        }
        ptr = shpool_malloc_lanes(heap, simt_mask(0, simt_block_threads()), 16u * need[i]);
        EXPECT(ptr != NULL);
        EXPECT((simt_lane() != 0) || (reads == 0)); /* the others would read it too early */
    }
    EXPECT(shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

/* ---- tests ---- */

static void run(simt_kernel kernel, uint32_t threads, uint32_t granules)
{
    shpool_config want   = { .block_threads = threads, .payload_bytes = 16u * granules };
    simt_launch   launch = { .block = { threads } };
    simt_result   result;

    heap_model_reset(&model);
    late      = 0;
    frees     = 0;
    last_read = NOWHERE;
    last_pair = NOWHERE;
    pool_base = NOWHERE;
    assert_int_equal(shpool_plan("bitmap", &want, &pool), SHPOOL_OK);
    assert_int_equal(pool.word[0], granules);
    word_count           = shpool_bitmap_words_of(granules);
    launch.dynamic_bytes = pool.shared_bytes;
    if (simt_run(&launch, kernel, NULL, &result) != SHPOOL_OK) {
        fail_msg("%u threads, %u granules: %s", threads, granules, result.text);
    }
    assert_model(&model);
}

/* A pair has room for five allocations of 64 bytes. */
UNIT_TEST(test_homes_are_spread_evenly)
{
    uint32_t of_pair[(GRANULES + 21u) / 22u] = { 0 };
    uint32_t crowded = 0;

    run(homes_kernel, THREADS, GRANULES);
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_true(home[i] < word_count);
        of_pair[home[i] / 2u]++;
        for (uint32_t lane = i / 32u * 32u; lane < i; lane++) {
            assert_int_not_equal(home[lane], home[i]); /* or its lanes would conflict */
        }
    }
    for (uint32_t p = 0; p < word_count / 2u; p++) {
        assert_in_range(of_pair[p], 4, 6);
        crowded += (of_pair[p] > 5u);
    }
    assert_in_range(crowded, 0, 4);
}

/* One lane of each warp requests. */
UNIT_TEST(test_homes_of_first_lanes_are_apart)
{
    static const struct { uint32_t threads, kib; } of[] = {
        { 1024, 96 }, { 1024, 48 }, { 640, 46 }, { 256, 24 },
    };

    for (size_t g = 0; g < sizeof(of) / sizeof(of[0]); g++) {
        run(homes_kernel, of[g].threads, 64u * of[g].kib);
        for (uint32_t i = 0; i < of[g].threads; i += 32u) {
            for (uint32_t other = 0; other < i; other += 32u) {
                assert_int_not_equal(home[i] / 2u, home[other] / 2u);
            }
        }
    }
}

UNIT_TEST(test_a_late_claim_is_tried_at_home_again)
{
    run(late_kernel, THREADS, GRANULES);
}

UNIT_TEST(test_a_full_home_word_is_awaited_in_a_crowd)
{
    run(full_home_kernel, THREADS, GRANULES);
    run(full_home_kernel, 256, 1536); /* fewer */
    run(full_home_kernel, 512, 128u * SHPOOL_BITMAP_PAIR); /* just two */
}

UNIT_TEST(test_requests_beyond_a_word_do_not_wait_at_home)
{
    run(beyond_a_word_kernel, THREADS, GRANULES);
}

UNIT_TEST(test_a_crowd_searches_on_where_it_came_too_late)
{
    run(search_kernel, THREADS, GRANULES);
}

UNIT_TEST(test_void_searches_are_repeated_ever_more_slowly)
{
    run(void_searches_kernel, 1, 30u * SHPOOL_BITMAP_PAIR);
}

UNIT_TEST(test_a_search_goes_on_where_it_came_too_late)
{
    run(goes_on_kernel, 1, 30u * SHPOOL_BITMAP_PAIR);
}

UNIT_TEST(test_a_run_across_words_is_claimed_at_once)
{
    run(across_kernel, 1, 30u * SHPOOL_BITMAP_PAIR);
}

UNIT_TEST(test_a_group_allocates_as_its_first_lane_would)
{
    run(group_kernel, 8, 30u * SHPOOL_BITMAP_PAIR);
}

UNIT_NEEDS("bitmap")
