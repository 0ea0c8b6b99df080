/* SPDX-License-Identifier: BSD-3-Clause */
/* First fit takes the first block that is large enough, best fit the smallest; what a warp's small
 * objects leave for large ones; and what a search costs where many blocks are free. */
#include "heap_trial.h"

static trial t;

static int ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);

    return (length >= strlen(end)) && (strcmp(name + length - strlen(end), end) == 0);
}

/* Blocks are taken from the high end, so the last allocation lies first.  From low to high
 * addresses: a hole of 140 usable bytes, a wall, one of 44, a wall, one of 60, a wall. */
static void policy_kernel(void *arg)
{
    static const uint32_t sizes[] = { 12, 60, 12, 44, 12, 140 };
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   slot[6], first, exact, next;

    for (uint32_t i = 0; i < 6; i++) {
        HEAP_EXPECT(&p->model, trial_malloc(p, heap, &slot[i], sizes[i], 16, i));
        HEAP_EXPECT(&p->model, slot[i].bytes == sizes[i]);
    }
    size_t rest = shpool_largest(heap); /* below all of them; taken, so that only holes are left */

    HEAP_EXPECT(&p->model, (rest > 0) && trial_malloc(p, heap, &first, rest, 16, 9));
    for (uint32_t i = 1; i < 6; i += 2) {
        trial_free(p, heap, &slot[i]);
    }

    HEAP_EXPECT(&p->model, trial_malloc(p, heap, &exact, 30, 16, 10));
    HEAP_EXPECT(&p->model, trial_malloc(p, heap, &next, 50, 16, 11));
    if (p->number != 0) { /* best fit: 44 for 30, then 60 for 50 */
        HEAP_EXPECT(&p->model, (exact.at > slot[4].at) && (exact.at < slot[2].at));
        HEAP_EXPECT(&p->model, (next.at > slot[2].at) && (next.at < slot[0].at));
    } else { /* first fit: both from the hole of 140 */
        HEAP_EXPECT(&p->model, exact.at < slot[4].at);
        HEAP_EXPECT(&p->model, next.at < exact.at);
    }
    trial_free(p, heap, &exact);
    trial_free(p, heap, &next);
    for (uint32_t i = 0; i < 6; i += 2) {
        trial_free(p, heap, &slot[i]);
    }
    trial_free(p, heap, &first);
    trial_expect_fresh(p, heap);
}

/* A warp holds 600 objects of 64 bytes, about a sixth of the pool, and exchanges them in no order.
 * They stay together: the rest is free in one piece, except for 8 KiB. */
static void exchange_kernel(void *arg)
{
    static void *objects[32][600];
    trial       *p    = (trial *)arg;
    shpool_heap  heap = trial_init(p);
    void       **mine = objects[simt_lane()];
    uint32_t     next = 12345;

    for (uint32_t i = 0; i < 600u; i++) {
        mine[i] = shpool_malloc_warp(heap, 64);
    }
    for (uint32_t i = 0; i < 5000u; i++) {
        void **object = &mine[(next = next * 1664525u + 1013904223u) / 65536u % 600u];

        shpool_free_warp(heap, *object);
        *object = shpool_malloc_warp(heap, 64);
        HEAP_EXPECT(&p->model, *object != NULL);
        if (i % 500u == 499u) {
            HEAP_EXPECT(&p->model, shpool_largest(heap) >= p->pool.largest - 600u * 64u - 8192u);
        }
    }
    for (uint32_t i = 0; i < 600u; i++) {
        shpool_free_warp(heap, mine[i]);
    }
    shpool_fini(heap);
}

UNIT_TEST(test_small_objects_of_a_warp_stay_together)
{
    const shpool_allocator *bitmap;

    if (shpool_allocator_find("bitmap", &bitmap) != SHPOOL_OK) {
        skip(); /* --enable-allocators left it out */
    }
    trial_open(&t, bitmap, "", 32, 225280, 32);
    trial_run(&t, exchange_kernel);
    trial_close(&t);
}

UNIT_TEST(test_which_block_serves)
{
    unsigned tried = 0;

    FOR_EACH_POOL(allocator) {
        int best = ends_with(allocator->name, "_best_fit") || ends_with(allocator->name, "rbtree");

        if (best || ends_with(allocator->name, "_fit")) {
            trial_open(&t, allocator, "", 1, 1000, 16);
            t.number = (size_t)best;
            trial_run(&t, policy_kernel);
            trial_close(&t);
            tried++;
        }
    }
    if (tried == 0) {
        skip(); /* --enable-allocators left them out */
    }
}

/* ---- the cost of malloc and free with many free blocks, in accesses to shared memory: independent
 * of clocks, and the same on all machines.  rbtree's search is bounded by the bits of a size, best
 * fit looks at all ---- */

#define MOST_HOLES 1000u
#define SIZES      25u /* different ones; as many as 1,000 holes of 227 KiB can have */

static uint32_t hole_bytes(uint32_t i)
{
    return 16u * (1u + i * 37u % SIZES) - 4u;
}

/* One thread: p->number holes, then a malloc and a free of each size, and of one that no hole has;
 * p->steps: the most accesses that one of these pairs took. */
static void holes_kernel(void *arg)
{
    static void *hole[MOST_HOLES], *wall[MOST_HOLES];
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);

    for (size_t i = 0; i < p->number; i++) {
        hole[i] = shpool_malloc(heap, hole_bytes((uint32_t)i));
        wall[i] = shpool_malloc(heap, 12);
        HEAP_EXPECT(&p->model, (hole[i] != NULL) && (wall[i] != NULL));
    }
    for (size_t i = 0; i < p->number; i++) {
        shpool_free(heap, hole[i]);
    }
    for (uint32_t i = 0; i <= SIZES; i++) {
        uint32_t from = simt_self->countdown; /* falls with each access; no other thread runs */
        void    *ptr  = shpool_malloc(heap, (i < SIZES) ? hole_bytes(i) - 3u : 16u * SIZES);

        HEAP_EXPECT(&p->model, ptr != NULL);
        shpool_free(heap, ptr);
        if (from - simt_self->countdown > p->steps) {
            p->steps = from - simt_self->countdown;
        }
    }
    HEAP_EXPECT(&p->model, shpool_check(heap).broken == 0);
}

/* Most accesses of a malloc and a free with this number of holes in the pool. */
static uint32_t cost_of(const shpool_allocator *allocator, uint32_t holes)
{
    trial_open(&t, allocator, ":threads_per_pool=1", 1, 226u * 1024u, 16);
    t.number = holes;
    trial_run(&t, holes_kernel);
    trial_close(&t);
    return t.steps;
}

UNIT_TEST(test_rbtree_does_not_look_at_every_hole)
{
    const shpool_allocator *tree = NULL;
    const shpool_allocator *list = NULL;
    uint32_t few, many;

    if (shpool_allocator_find("rbtree", &tree) != SHPOOL_OK) {
        skip(); /* --enable-allocators left it out */
    }
    few  = cost_of(tree, 10);
    many = cost_of(tree, MOST_HOLES);
    print_message("rbtree: %u accesses with 10 holes, %u with %u\n", few, many, MOST_HOLES);
    assert_true(few > 1);
    assert_true(many <= 4 * few);
    if (shpool_allocator_find("warp_best_fit", &list) == SHPOOL_OK) {
        /* the measure sees a search that does */
        few  = cost_of(list, 10);
        many = cost_of(list, MOST_HOLES);
        print_message("warp_best_fit: %u and %u\n", few, many);
        assert_true(many > 10 * few);
    }
}

/* ---- the same for a warp that is alone and requests large tiles: all cost the same, wherever they
 * lie ---- */

#define MOST_TILES 20u
#define IN_VAIN    13u /* accesses of the first lane in a search in vain */

/* Called by the warp: a tile.  p->steps: the most accesses of the first lane so far. */
static void *get_tile(trial *p, shpool_heap heap, size_t bytes)
{
    const uint32_t from = simt_self->countdown; /* a lane's own */
    void          *ptr  = shpool_aligned_malloc_warp(heap, 128, bytes);

    if ((simt_lane() == 0) && (from - simt_self->countdown > p->steps)) {
        p->steps = from - simt_self->countdown;
    }
    return ptr;
}

/* Tiles of p->number bytes until the pool is full, and then a ring of them.  p->seed: 1: other
 * objects lie below them. */
static void tiles_kernel(void *arg)
{
    void       *tile[MOST_TILES]; /* the same in all lanes */
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    most = (uint32_t)(p->pool.largest / p->number);

    for (uint32_t i = 0; i < 9u * p->seed; i++) {
        HEAP_EXPECT(&p->model, shpool_malloc_warp(heap, 300) != NULL);
    }
    most -= p->seed;
    for (uint32_t i = 0; i < 4u * most; i++) {
        void **next = &tile[i % most];

        if (i >= most) {
            shpool_free_warp(heap, *next);
        }
        *next = get_tile(p, heap, p->number);
        HEAP_EXPECT(&p->model, *next != NULL);
        if ((i == 0) && (simt_lane() == 0)) {
            p->steps = 0; /* the first one was searched */
        }
    }
    HEAP_EXPECT(&p->model, shpool_check(heap).broken == 0);
    shpool_fini(heap);
}

UNIT_TEST(test_a_tile_of_a_warp_costs_the_same_anywhere)
{
    static const uint32_t   tiles[] = { 12, 16, 24, 32, 40 };
    static const uint32_t   pools[] = { 99, 131, 164, 227 };
    const shpool_allocator *bitmap;

    if (shpool_allocator_find("bitmap", &bitmap) != SHPOOL_OK) {
        skip(); /* --enable-allocators left it out */
    }
    for (uint32_t i = 0; i < 40u; i++) {
        const uint32_t tile   = tiles[i % 5u];
        const uint32_t pool   = pools[i / 5u % 4u];
        const uint32_t pairs  = tile * 1024u / 352u + 2u;
        const uint32_t rounds = (pairs + SIMT_WARP - 1u) / SIMT_WARP;

        trial_open(&t, bitmap, "", SIMT_WARP, (pool - 8u) * 1024u, 128);
        t.number = tile * 1024u;
        t.seed   = i / 20u;
        trial_run(&t, tiles_kernel);
        if (t.steps > 5u + 3u * rounds) {
            fail_msg("tiles of %u KiB in %u: %u accesses", tile, pool, t.steps);
        }
        trial_close(&t);
    }
}

/* Tiles of p->number bytes until the pool is full.  p->steps: the accesses of one more in vain. */
static void in_vain_kernel(void *arg)
{
    void       *tile[MOST_TILES];
    trial      *p     = (trial *)arg;
    shpool_heap heap  = trial_init(p);
    uint32_t    count = 0;

    while ((tile[count] = shpool_aligned_malloc_warp(heap, 128, p->number)) != NULL) {
        count++;
    }
    if (simt_lane() == 0) {
        p->steps = 0; /* the first one has tried to follow the last tile */
    }
    HEAP_EXPECT(&p->model, get_tile(p, heap, p->number) == NULL);
    while (count != 0) {
        shpool_free_warp(heap, tile[--count]);
    }
    shpool_fini(heap);
}

UNIT_TEST(test_a_tile_in_vain_costs_the_same_in_any_pool)
{
    static const uint32_t   pools[] = { 91, 123, 156, 219 };
    const shpool_allocator *bitmap;

    if (shpool_allocator_find("bitmap", &bitmap) != SHPOOL_OK) {
        skip(); /* --enable-allocators left it out */
    }
    for (uint32_t i = 0; i < 4u; i++) {
        trial_open(&t, bitmap, "", SIMT_WARP, pools[i] * 1024u, 128);
        t.number = 16384;
        trial_run(&t, in_vain_kernel);
        if (t.steps > IN_VAIN) {
            fail_msg("in vain in %u KiB: %u accesses", pools[i], t.steps);
        }
        trial_close(&t);
    }
}

/* ---- the cost of a small request of a warp that is alone, in switches between its lanes, which
 * meet at each vote and shuffle: the same however much of the pool is taken ---- */

#define EXCHANGES 32u

/* p->seed percent of the pool are taken from its beginning on, or 100: all but 64 bytes inside a
 * pair of words; p->number times a malloc and a free of 64 bytes. */
static void filled_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    left = p->pool.largest / 1000u * p->seed / 100u;

    for (; (left != 0) && (p->seed < 100u); left--) {
        HEAP_EXPECT(&p->model, shpool_malloc_warp(heap, 1000) != NULL);
    }
    if (left != 0) {
        void    *hole  = NULL;
        uint32_t count = 0;

        for (void *ptr; (ptr = shpool_malloc_warp(heap, 64)) != NULL; count++) {
            hole = (count % 11u == 2u) ? ptr : hole; /* granules 8 to 11 of a pair */
        }
        shpool_free_warp(heap, hole);
    }
    for (size_t i = 0; i < p->number; i++) {
        void *ptr = shpool_malloc_warp(heap, 64);

        HEAP_EXPECT(&p->model, ptr != NULL);
        shpool_free_warp(heap, ptr);
    }
    shpool_fini(heap);
}

static unsigned long long switches_of(const shpool_allocator *bitmap, uint32_t percent,
                                      size_t times)
{
    unsigned long long switches;

    trial_open(&t, bitmap, "", SIMT_WARP, 220u * 1024u, 16);
    t.seed   = percent;
    t.number = times;
    trial_run(&t, filled_kernel);
    switches = t.result.switches;
    trial_close(&t);
    return switches;
}

UNIT_TEST(test_a_small_request_of_a_warp_costs_the_same_in_a_full_pool)
{
    const shpool_allocator *bitmap;
    unsigned long long      empty;

    if (shpool_allocator_find("bitmap", &bitmap) != SHPOOL_OK) {
        skip(); /* --enable-allocators left it out */
    }
    empty = switches_of(bitmap, 0, EXCHANGES) - switches_of(bitmap, 0, 0);
    for (uint32_t i = 0; i < 3u; i++) {
        const uint32_t     percent = (i == 0) ? 50u : (i == 1) ? 90u : 100u;
        unsigned long long cost = switches_of(bitmap, percent, EXCHANGES) -
                                  switches_of(bitmap, percent, 0);

        if (cost > empty + empty / 4u) { /* the first one searches */
            fail_msg("%u %% full: %llu switches, %llu in an empty pool", percent, cost, empty);
        }
    }
}
