/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's search by a group against its search by one thread and against a model.
 *
 * A pattern says which granules are taken; the first lane of the group writes it into the pool's
 * words, each taken granule an allocation of its own.  Then the group asks, and one thread: both
 * get memory exactly where the model knows of a run, the words differ by that run only, and a free,
 * by the other of the two, restores every bit. */
#define SHPOOL_INLINE bitmap
#include "heap_model.h"

#include <stdlib.h>
#include <string.h>

#include <shpool/executor.h>
#include <shpool/heap.h>
#include <shpool/shpool.h>

#define MOST_GRANULES 10934u

static shpool_pool   pool;
static heap_model    model;
static unsigned char taken[MOST_GRANULES]; /* the pattern */
static uint32_t      written[MOST_GRANULES / SHPOOL_BITMAP_SPAN + 1u]; /* the words of it */
static uint32_t      mask;                 /* the group's lanes */
static uint32_t      warp;                 /* and their warp */
static uint32_t      seed;
static uint32_t      asked;                /* requests of groups */
static uint32_t      begin = UINT32_MAX;   /* the word with hint and spread; UINT32_MAX: as it is */

#define EXPECT(_what) HEAP_EXPECT(&model, _what)

/* ---- the model ---- */

/* The start of the first run of `need` free granules at a multiple of `step`; UINT32_MAX: none. */
static uint32_t model_fit(uint32_t need, uint32_t step)
{
    for (uint32_t first = 0; first + need <= pool.word[0]; first += step) {
        uint32_t n = 0;

        while ((n < need) && !taken[first + n]) {
            n++;
        }
        if (n == need) {
            return first;
        }
    }
    return UINT32_MAX;
}

/* The word w of the pool with the pattern and, unless count is 0, an allocation. */
static uint32_t model_word(uint32_t w, uint32_t first, uint32_t count)
{
    uint32_t word = 0;

    for (uint32_t i = 0; i < SHPOOL_BITMAP_SPAN; i++) {
        uint32_t g = SHPOOL_BITMAP_SPAN * w + i;

        if ((g >= pool.word[0]) || taken[g] || ((count != 0) && (g == first))) {
            word |= 0x10001u << i;
        } else if ((g > first) && (g < first + count)) {
            word |= 1u << i;
        }
    }
    if ((count != 0) && (first < SHPOOL_BITMAP_SPAN * (w + 1u)) &&
        (first + count > SHPOOL_BITMAP_SPAN * (w + 1u)) &&
        (first + count > SHPOOL_BITMAP_SPAN * w)) {
        word |= SHPOOL_BITMAP_MORE;
    }
    return word;
}

static void write_pattern(shpool_heap heap)
{
    if (begin != UINT32_MAX) {
        simt_store32(heap.view.base + SHPOOL_BITMAP_BEGIN, begin);
    }
    for (uint32_t w = 0; w < shpool_bitmap_words(heap.view); w++) {
        written[w] = model_word(w, 0, 0);
        simt_store32(shpool_bitmap_word_at(heap.view, w), written[w]);
    }
}

static void begin_with(uint32_t word)
{
    if (simt_lane() == shpool_first_lane(mask)) {
        begin = word;
    }
}

/* The words are the pattern and the allocation; nothing is pending. */
static void expect_words(shpool_heap heap, uint32_t first, uint32_t count, const char *when)
{
    for (uint32_t w = 0; w < shpool_bitmap_words(heap.view); w++) {
        uint32_t is    = simt_load32(shpool_bitmap_word_at(heap.view, w));
        uint32_t at    = SHPOOL_BITMAP_SPAN * w;
        int      part  = (at < first + count) && (at + SHPOOL_BITMAP_SPAN > first);
        uint32_t right = part ? model_word(w, first, count) : written[w];

        if (is != right) {
            heap_model_fault(&model, "%s of %u granules at %u, lanes 0x%x: word %u is 0x%08x, "
                             "not 0x%08x", when, count, first, mask, w, is, right);
        }
    }
    EXPECT(simt_load32(heap.view.base) == 0);
}

/* What an answer must be. */
static uint32_t expect_fit(shpool_heap heap, const void *ptr, uint32_t need, uint32_t step,
                           const char *who)
{
    uint32_t fit   = model_fit(need, step);
    uint32_t first = UINT32_MAX;

    if (ptr != NULL) {
        first = (simt_to_shared(ptr) - heap.view.base - heap.view.word[1]) >> 4;
    }
    if ((ptr == NULL) != (fit == UINT32_MAX)) {
        heap_model_fault(&model, "%s, lanes 0x%x of warp %u: %u of %u granules, step %u: %s, the "
                         "model %s (%d)", who, mask, warp, need, pool.word[0], step,
                         (ptr != NULL) ? "found" : "NULL", (fit != UINT32_MAX) ? "found" : "NULL",
                         (int)fit);
    }
    if (ptr != NULL) {
        EXPECT((first % step == 0) && (first + need <= pool.word[0]));
        EXPECT(((uintptr_t)ptr & (16u * step - 1u)) == 0);
        expect_words(heap, first, need, who);
    }
    return first;
}

/* ---- one request ---- */

/* All lanes of the group: the group and a thread ask for `need` granules at a multiple of `step`
 * granules; who frees is the other one each time. */
static void ask(shpool_heap heap, uint32_t need, uint32_t step)
{
    const int leads = simt_lane() == shpool_first_lane(mask);
    /* every other time as one that waits */
    void     *ptr   = (need % 2u != 0)
                          ? shpool_aligned_malloc_lanes(heap, mask, 16u * step, 16u * need)
                          : shpool_aligned_malloc_wait_lanes(heap, mask, 16u * step, 16u * need, 1);
    void     *mine  = NULL;
    uint32_t  reason;

    simt_warp_sync(mask); /* the other lanes have yet to say that their claims have ended */
    if (leads) {
        asked++;
        (void)expect_fit(heap, ptr, need, step, "group");
        if (ptr != NULL) {
            EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
            expect_words(heap, 0, 0, "free by a thread");
        }
        mine = shpool_aligned_malloc(heap, 16u * step, 16u * need);
        (void)expect_fit(heap, mine, need, step, "thread");
    }
    simt_warp_sync(mask);
    mine   = (void *)(size_t)shpool_shfl64(mask, (unsigned long long)(size_t)mine,
                                           shpool_first_lane(mask));
    reason = shpool_free_lanes_at(heap, mask, mine, 0);
    EXPECT(reason == SHPOOL_FREE_OK);
    simt_warp_sync(mask); /* the other lanes have yet to leave the free */
    if (leads) {
        expect_words(heap, 0, 0, "free by a group");
    }
    simt_warp_sync(mask); /* no lane asks again before the words are read */
}

/* ---- kernels: only the group's lanes work ---- */

static shpool_heap start(int *is_member)
{
    shpool_heap heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));

    *is_member = (simt_warp() == warp) && (((mask >> simt_lane()) & 1u) != 0);
    return heap;
}

/* Granules are taken or free from now on; on return all lanes are together. */
static void set_pattern(shpool_heap heap, uint32_t from, uint32_t end, unsigned char to)
{
    simt_warp_sync(mask);
    if (simt_lane() == shpool_first_lane(mask)) {
        memset(taken + from, to, end - from);
        write_pattern(heap);
    }
    simt_warp_sync(mask);
}

/* All granules are taken, except one hole. */
static void set_hole(shpool_heap heap, uint32_t first, uint32_t count)
{
    if (simt_lane() == shpool_first_lane(mask)) {
        memset(taken, 1, pool.word[0]);
    }
    set_pattern(heap, first, first + count, 0);
}

/* Free runs of up to `most` granules with walls of up to `wall` between them. */
static void set_runs(shpool_heap heap, uint32_t *state, uint32_t most, uint32_t wall)
{
    const uint32_t G  = pool.word[0];
    uint32_t       at = 0;

    while (at < G) {
        uint32_t n = 1u + heap_random(state) % most;

        n = (n < G - at) ? n : G - at;
        if (simt_lane() == shpool_first_lane(mask)) {
            memset(taken + at, 0, n);
        }
        at += n;
        n = 1u + heap_random(state) % wall;
        n = (n < G - at) ? n : G - at;
        if (simt_lane() == shpool_first_lane(mask)) {
            memset(taken + at, 1, n);
        }
        at += n;
    }
    set_pattern(heap, 0, 0, 1);
}

/* One hole in a full pool, of every length at every place: it is found, and one granule more is
 * not. */
static void every_hole_kernel(void *arg)
{
    int         is_member;
    shpool_heap heap = start(&is_member);
    uint32_t    G    = pool.word[0];

    (void)arg;
    for (uint32_t first = 0; is_member && (first < G); first++) {
        for (uint32_t count = 1; first + count <= G; count++) {
            set_hole(heap, first, count);
            ask(heap, count, 1);
            ask(heap, count + 1u, 1);
        }
    }
}

/* The same in a large pool, where windows of a whole warp meet, at and beside each border of
 * pairs, words and windows. */
static void borders_kernel(void *arg)
{
    static const uint32_t counts[] = { 1, 11, 12, 20, 21, 22, 23, 33, 42, 43, 44, 45, 66, 300, 681,
                                       682, 683, 700, 1000 };
    const uint32_t step = SHPOOL_BITMAP_PAIR * (simt_popc(mask) - 1u); /* of windows */
    int            is_member;
    shpool_heap    heap = start(&is_member);
    uint32_t       G    = pool.word[0];

    (void)arg;
    for (uint32_t k = 0; is_member && (k < sizeof(counts) / sizeof(counts[0])); k++) {
        for (uint32_t first = 0; first + counts[k] <= G; first++) {
            uint32_t beside = (first + 2u) % step; /* below 5: of a border */

            if ((beside > 4u) && (first % 97u != 0) && (first + counts[k] + 2u < G)) {
                continue;
            }
            set_hole(heap, first, counts[k]);
            ask(heap, counts[k], 1);
            ask(heap, counts[k] + 1u, 1);
            if (first > 1u) { /* a search that begins far from the run */
                begin_with(0);
                set_pattern(heap, 0, 1, 0);
                ask(heap, counts[k], 1);
                begin_with(UINT32_MAX);
            }
        }
    }
}

/* One hole about the pair with which the warp begins, and far from it: a search goes around the
 * pool, and a run may begin before its start and end after it. */
static void starts_kernel(void *arg)
{
    static const uint32_t counts[] = { 3, 22, 40, 70, 300, 720 };
    static const uint32_t pairs[]  = { 1, 30, 33, 40 };
    int         is_member;
    shpool_heap heap = start(&is_member);
    uint32_t    G    = pool.word[0];

    (void)arg;
    for (uint32_t k = 0; is_member && (k < 24u); k++) {
        const uint32_t count = counts[k % 6u];
        const uint32_t pair  = pairs[k / 6u];

        for (uint32_t i = 0; i < 3u; i++) {
            begin_with((i == 0)   ? pair /* spread */
                       : (i == 1) ? pair << SHPOOL_BITMAP_HINT
                                  : SHPOOL_BITMAP_PAIR * pair / 4u << SHPOOL_BITMAP_NEXT);
            for (uint32_t first = 0; first + count <= G; first += 1u + (first * 7u) % 11u) {
                set_hole(heap, first, count);
                ask(heap, count, 1);
                ask(heap, count - count / 4u, 1); /* smaller than the hole */
            }
        }
    }
    simt_warp_sync(is_member ? mask : 1u << simt_lane());
    if (is_member) {
        begin_with(UINT32_MAX);
    }
}

/* Only the end of the pool is free.  A long run that begins there at a multiple of `step` would lie
 * after the last granule, in words that are the payload's: here they look free. */
static void end_kernel(void *arg)
{
    static const uint32_t walls[] = { 5, 690, 704, 1400, 1405, 2100, 2199 };
    int         is_member;
    shpool_heap heap = start(&is_member);
    uint32_t    G    = pool.word[0];
    simt_addr   a    = shpool_bitmap_word_at(heap.view, shpool_bitmap_words(heap.view));

    (void)arg;
    for (; is_member && (simt_lane() == 0) && (a < heap.view.base + heap.view.word[1] + 1024u);
         a += 4u) {
        simt_store32(a, 0);
    }
    for (uint32_t left = 1; is_member && (left < 90u); left++) {
        begin_with(left % 2u * ((G - left + 3u) / 4u << SHPOOL_BITMAP_NEXT));
        set_hole(heap, G - left, left);
        for (uint32_t need = SHPOOL_BITMAP_LOOK + 2u; need < SHPOOL_BITMAP_LOOK + 24u; need += 7u) {
            ask(heap, need & ~1u, 64);
        }
    }
    for (uint32_t i = 0; is_member && (i < 9u); i++) {
        const uint32_t left = SHPOOL_BITMAP_LOOK + i;

        begin_with((G - left + 3u) / 4u << SHPOOL_BITMAP_NEXT);
        set_hole(heap, 0, SHPOOL_BITMAP_PAIR); /* lanes without a pair would change this one */
        set_pattern(heap, G - left, G, 0);
        ask(heap, left + 9u, 1);
    }
    for (uint32_t i = 0; is_member && (i < sizeof(walls) / sizeof(walls[0])); i++) {
        begin_with(0); /* a claim of several rounds in vain */
        set_hole(heap, 0, walls[i]);
        set_pattern(heap, walls[i] + 1u, walls[i] + 2300u, 0);
        ask(heap, 2200, 1);
    }
    if (is_member) {
        begin_with(UINT32_MAX);
    }
}

/* ---- warps that have met ---- */

static int is_free(uint32_t first, uint32_t count)
{
    return (first + count <= pool.word[0]) && (memchr(taken + first, 1, count) == NULL);
}

/* The place of a request whose warp begins with pair p, in its first look; UINT32_MAX: the look
 * finds none. */
static uint32_t model_first_look(uint32_t p, uint32_t need, uint32_t step)
{
    const uint32_t pairs = (need + SHPOOL_BITMAP_PAIR - 1u) / SHPOOL_BITMAP_PAIR;

    if ((step >= 64u) || ((step > 1u) && (need <= SHPOOL_BITMAP_PAIR))) {
        return UINT32_MAX; /* as before warps have met: any first fit */
    }
    for (uint32_t q = p; q < p + 32u; q++) {
        uint32_t first = SHPOOL_BITMAP_PAIR * q;

        if (need > SHPOOL_BITMAP_PAIR) {
            if ((q + pairs <= p + 64u) && (first % step == 0) &&
                is_free(first, SHPOOL_BITMAP_PAIR * pairs)) {
                return first;
            }
            continue;
        }
        while ((first < SHPOOL_BITMAP_PAIR * (q + 1u)) && taken[first]) {
            first++;
        }
        if ((first + need <= SHPOOL_BITMAP_PAIR * (q + 1u)) && is_free(first, need)) {
            return first;
        }
    }
    return UINT32_MAX;
}

/* As ask(), of a whole warp whose place is known; UINT32_MAX: anywhere. */
static void ask_at(shpool_heap heap, uint32_t at, uint32_t need, uint32_t step)
{
    void *ptr = shpool_aligned_malloc_lanes(heap, mask, 16u * step, 16u * need);

    simt_warp_sync(mask);
    if (simt_lane() == 0) {
        asked++;
        EXPECT((expect_fit(heap, ptr, need, step, "group") == at) || (at == UINT32_MAX));
    }
    simt_warp_sync(mask);
    EXPECT(shpool_free_lanes_at(heap, mask, ptr, 0) == SHPOOL_FREE_OK);
    simt_warp_sync(mask);
    if (simt_lane() == 0) {
        expect_words(heap, 0, 0, "free by a group");
    }
    simt_warp_sync(mask);
}

/* As ask(), of a whole warp that begins with pair p. */
static void ask_from(shpool_heap heap, uint32_t p, uint32_t need, uint32_t step)
{
    ask_at(heap, (simt_lane() == 0) ? model_first_look(p, need, step) : 0u, need, step);
}

/* Rows begin with a pair, and few pairs are aligned to 64 granules.  For a warp that begins with
 * pair 0: in its first look, and in its search. */
static void ask_without_rows(shpool_heap heap)
{
    set_pattern(heap, 0, pool.word[0], 0);
    set_pattern(heap, 0, 1, 1);
    ask_at(heap, 64, 30, 64); /* a row: 704 */
    set_pattern(heap, 0, pool.word[0], 1);
    set_pattern(heap, 22u * 40u, 22u * 76u, 0);
    ask_at(heap, 1344, 30, 64); /* the upper end of what the search reads of it; a row: 1408 */
}

/* Warp 1's place is pair 31 with a spread of 50: its second 32 pairs are not all in the pool.  The
 * words after the pool's look free. */
static void met_kernel(void *arg)
{
    const uint32_t p = (warp != 0) ? 31u : 0u;
    int            is_member;
    shpool_heap    heap  = start(&is_member);
    uint32_t       state = seed;
    uint32_t       G     = pool.word[0];
    simt_addr      a     = shpool_bitmap_word_at(heap.view, shpool_bitmap_words(heap.view));

    (void)arg;
    if (!is_member) {
        return;
    }
    for (uint32_t i = 0; (simt_lane() == 0) && (i < 128u); i++) {
        simt_store32(a + 4u * i, 0);
    }
    begin_with(50);
    for (uint32_t left = 20; left < 70u; left += 3u) { /* only the end of the pool is free */
        set_pattern(heap, 0, G, 1);
        set_pattern(heap, G - left, G, 0);
        ask_from(heap, p, left + 3u, 1);
        ask_from(heap, p, left, 1);
    }
    for (uint32_t left = 22; left < 450u; left += 22u) { /* the pairs at both ends are no row */
        set_pattern(heap, 0, G, 1);
        set_pattern(heap, 0, 22, 0);
        set_pattern(heap, G - left, G, 0);
        ask_from(heap, p, left + 22u, 1);
    }
    if (p == 0) {
        ask_without_rows(heap);
    }
    for (uint32_t round = 0; round < 40u; round++) {
        set_pattern(heap, 0, G, 0);
        for (uint32_t at = 0; at < G; at += 1u + heap_random(&state) % (20u + 12u * round)) {
            set_pattern(heap, at, at + 1u, 1);
        }
        ask_from(heap, p, 1u + heap_random(&state) % 22u, 1);
        ask_from(heap, p, 1u + heap_random(&state) % 21u, 8);
        ask_from(heap, p, 23u + heap_random(&state) % 100u, 1);
        ask_from(heap, p, 23u + heap_random(&state) % 300u, 1u << heap_random(&state) % 7u);
    }
    begin_with(UINT32_MAX);
}

/* Runs of random lengths with random walls, requests of any size and alignment. */
static void random_kernel(void *arg)
{
    int         is_member;
    shpool_heap heap  = start(&is_member);
    uint32_t    state = seed;
    uint32_t    G     = pool.word[0];

    (void)arg;
    for (uint32_t round = 0; is_member && (round < heap_seeds(60)); round++) {
        uint32_t most = 1u + heap_random(&state) % ((round % 3u == 0) ? G : 60u);
        uint32_t wall = 1u + heap_random(&state) % ((round % 2u == 0) ? 2u : 40u);

        set_runs(heap, &state, most, wall);
        for (uint32_t i = 0; i < 6u; i++) {
            uint32_t need = 1u + heap_random(&state) % (most + 2u);

            ask(heap, need, (i % 2u == 0) ? 1u : 1u << heap_random(&state) % 7u);
        }
    }
}

/* A warp that has met no other finds the first fit after a look in vain; requests of more than 64
 * granules may be left to the exact search.  The hint is the first pair that is not full. */
static void first_fit_kernel(void *arg)
{
    int         is_member;
    shpool_heap heap  = start(&is_member);
    uint32_t    state = seed;
    uint32_t    G     = pool.word[0];

    (void)arg;
    begin_with(0);
    for (uint32_t round = 0; is_member && (round < 60u); round++) {
        uint32_t most = 1u + heap_random(&state) % 70u;
        uint32_t wall = 1u + heap_random(&state) % ((round % 2u == 0) ? 2u : 40u);

        set_runs(heap, &state, most, wall);
        if (round % 3u == 0) { /* nothing further down */
            set_pattern(heap, 0, heap_random(&state) % G, 1);
        }
        for (uint32_t i = 0; i < 8u; i++) {
            const uint32_t           bits  = heap_random(&state) % (i % 2u * 6u + 1u);
            const shpool_bitmap_wish wish  = { 1u + heap_random(&state) % 80u, (1u << bits) - 1u };
            const uint32_t           first = shpool_bitmap_find_alone(heap.view, wish);

            simt_warp_sync(mask);
            if (simt_lane() == 0) {
                const uint32_t fit   = model_fit(wish.need, wish.below + 1u);
                const uint32_t begun = simt_load32(heap.view.base + SHPOOL_BITMAP_BEGIN);
                const uint32_t last  = shpool_bitmap_last_start(heap.view);
                uint32_t       free  = model_fit(1, 1);

                asked++;
                if ((first != fit) && !((wish.need >= SHPOOL_BITMAP_TWO) &&
                                        (first == SHPOOL_BITMAP_NOWHERE))) {
                    heap_model_fault(&model, "%u granules, below %u: %d, the first fit is %d",
                                     wish.need, wish.below, (int)first, (int)fit);
                }
                free = (free == UINT32_MAX) ? 0u : free / SHPOOL_BITMAP_PAIR;
                EXPECT(begun == ((free < last) ? free : last) << SHPOOL_BITMAP_HINT);
            }
            simt_warp_sync(mask);
        }
    }
}

/* A pool that is a multiple of `tile` granules holds as many of them: none leaves a gap. */
static uint32_t tile;

static void tiles_kernel(void *arg)
{
    int         is_member;
    shpool_heap heap = start(&is_member);

    (void)arg;
    for (uint32_t n = pool.word[0] / tile; is_member && (n > 0); n--, asked++) {
        EXPECT(shpool_malloc_lanes(heap, mask, 16u * tile) != NULL);
    }
}

/* ---- tests ---- */

static void run(simt_kernel kernel, uint32_t granules, uint32_t alignment, uint32_t lanes,
                uint32_t of_warp)
{
    shpool_config want   = { .block_threads = 64, .payload_bytes = 16u * granules,
                             .alignment = alignment };
    simt_launch   launch = { .block = { 64 }, .max_switches = 60000000 };
    simt_result   result;

    heap_model_reset(&model);
    assert_int_equal(shpool_plan("bitmap", &want, &pool), SHPOOL_OK);
    assert_int_equal(pool.word[0], granules);
    memset(taken, 1, sizeof(taken));
    mask                 = lanes;
    warp                 = of_warp;
    asked                = 0;
    launch.dynamic_bytes = pool.shared_bytes;
    if (simt_run(&launch, kernel, NULL, &result) != SHPOOL_OK) {
        fail_msg("lanes 0x%x of warp %u, %u granules: %s", lanes, of_warp, granules, result.text);
    }
    assert_model(&model);
    assert_true(asked > 0);
}

static const uint32_t masks[] = { SIMT_ALL_LANES, 0x7fffffffu, 0x3u, 0xf0u, 0x80000001u,
                                  0x55555555u, 0x00ff00ffu, 0x12345678u, 0x4u };

UNIT_TEST(test_every_hole_is_found)
{
    static const uint32_t sizes[] = { 1, 11, 22, 44, 50, 66 };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t k = 0; k < sizeof(masks) / sizeof(masks[0]); k++) {
            if ((__builtin_popcount(masks[k]) <= 4) || (sizes[i] <= 22u) || heap_long()) {
                run(every_hole_kernel, sizes[i], 16, masks[k], (uint32_t)(i % 2u));
            }
        }
    }
}

UNIT_TEST(test_runs_across_windows_are_found)
{
    run(borders_kernel, 1430, 16, SIMT_ALL_LANES, 0); /* whole pairs */
    run(borders_kernel, 1500, 16, SIMT_ALL_LANES, 1);
    run(borders_kernel, 1423, 16, 0x55555555u, 0);
    run(borders_kernel, 3000, 16, SIMT_ALL_LANES, 1);
}

UNIT_TEST(test_tiles_fill_the_pool)
{
    static const uint32_t tiles[][2] = { { 704, 3 }, { 705, 3 }, { 711, 4 }, { 720, 4 } };

    for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
        tile = tiles[i][0];
        run(tiles_kernel, tile * tiles[i][1], 16, SIMT_ALL_LANES, 0);
    }
}

UNIT_TEST(test_a_search_goes_around_the_pool)
{
    run(starts_kernel, 1600, 16, SIMT_ALL_LANES, 0);
    run(starts_kernel, 1611, 16, SIMT_ALL_LANES, 1);
}

UNIT_TEST(test_a_long_run_ends_with_the_pool)
{
    run(end_kernel, MOST_GRANULES, 1024, SIMT_ALL_LANES, 0);
}

UNIT_TEST(test_warps_that_have_met)
{
    for (seed = 1; seed <= 4u; seed++) {
        run(met_kernel, 2000u - seed % 2u, 1024, SIMT_ALL_LANES, seed / 2u % 2u);
    }
    run(met_kernel, 22u * 96u, 1024, SIMT_ALL_LANES, 0); /* the last 32 pairs end with the pool */
    run(met_kernel, 22u * 80u, 1024, SIMT_ALL_LANES, 1); /* warp 1's second 32 pairs go beyond it */
}

UNIT_TEST(test_random_patterns)
{
    static const uint32_t sizes[] = { 22, 100, 352, 700, 1980 };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t k = 0; k < sizeof(masks) / sizeof(masks[0]); k++) {
            seed = 1u + (uint32_t)(i * 100u + k);
            run(random_kernel, sizes[i], 1024, masks[k], (uint32_t)((i + k) % 2u));
        }
    }
    for (seed = 1; seed <= 3u; seed++) {
        run(random_kernel, 6000, 1024, SIMT_ALL_LANES, 0);
    }
}

UNIT_TEST(test_a_lone_warp_uses_the_first_fit)
{
    static const uint32_t sizes[] = { 704, 725, 1980, 2816, 2817, 2838, 6000, MOST_GRANULES };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (seed = 1; seed <= 3u; seed++) {
            run(first_fit_kernel, sizes[i], 1024, SIMT_ALL_LANES, seed % 2u);
        }
    }
    begin = UINT32_MAX;
}

UNIT_NEEDS("bitmap")
