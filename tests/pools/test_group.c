/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of groups, with every allocator and every scope of a group: malloc, realloc and free,
 * also in turn with single threads and with other groups. */
#include "group_trial.h"

static trial              t;
static const group_shape *shape;
static uint32_t           mallocs, frees, failures, grown; /* of the running test */
static void              *box[SHPOOL_MAX_THREADS];         /* a group's, by its id */

#define EXPECT(_p, _what) HEAP_EXPECT(&(_p)->model, _what)
#define SLOTS             3u

/* ---- scripts ---- */

/* An allocation as each member knows it. */
typedef struct piece {
    void     *at;
    size_t    bytes; /* asked for */
    uint32_t  tag;
    heap_slot slot; /* the first member's */
} piece;

static void count(group g, uint32_t *counter)
{
    if (g.member == 0) {
        (void)simt_global_add32(counter, 1);
    }
}

/* Called by the group, or by one of its threads that owns the pool. */
static void get(trial *p, shpool_heap heap, group g, piece *a, uint32_t random)
{
    uint32_t alignment = 16u << (random >> 8) % 7u;
    uint32_t one       = (random >> 4) % group_sharers(p, g);

    if (!has_cap(p, SHPOOL_CAP_ALIGNED) || (alignment > p->pool.alignment)) {
        alignment = 16;
    }
    if ((random & 3u) != 0) {
        a->at = group_malloc(heap, g, a->bytes, alignment);
    } else { /* handed over by the barriers around it */
        alignment = 16;
        group_sync(g);
        if (g.member == one) {
            box[g.id] = shpool_malloc(heap, a->bytes);
        }
        group_sync(g);
        a->at = box[g.id];
    }
    count(g, &mallocs);
    if (a->at == NULL) {
        count(g, &failures);
        return;
    }
    group_fill(g, a->at, a->bytes, a->tag);
    group_claim(p, heap, g, &a->slot, a->at, a->bytes, alignment);
}

static void put(trial *p, shpool_heap heap, group g, piece *a, uint32_t random)
{
    uint32_t one = (random >> 4) % group_sharers(p, g);

    if (a->at == NULL) {
        return;
    }
    group_verify(p, g, a->at, a->bytes, a->tag);
    group_drop(p, heap, g, &a->slot);
    count(g, &frees);
    if ((random & 3u) != 0) {
        EXPECT(p, group_free(heap, g, a->at) == SHPOOL_FREE_OK);
    } else {
        group_sync(g);
        if (g.member == one) {
            EXPECT(p, shpool_free_at(heap, a->at, 0) == SHPOOL_FREE_OK);
        }
    }
    a->at = NULL;
}

static void change(trial *p, shpool_heap heap, group g, piece *a, size_t bytes)
{
    size_t keep = (bytes < a->bytes) ? bytes : a->bytes;
    void  *now;

    group_verify(p, g, a->at, a->bytes, a->tag);
    group_drop(p, heap, g, &a->slot);
    now = group_realloc(heap, g, a->at, bytes);
    if (now == NULL) {
        count(g, &mallocs);
        count(g, &failures);
        group_verify(p, g, a->at, a->bytes, a->tag);
        group_claim(p, heap, g, &a->slot, a->at, 0, 16);
        return;
    }
    group_verify(p, g, now, keep, a->tag);
    if (now != a->at) {
        count(g, &mallocs);
        count(g, &frees);
        count(g, &grown);
    }
    a->at    = now;
    a->bytes = bytes;
    a->tag++;
    group_fill(g, now, bytes, a->tag);
    group_claim(p, heap, g, &a->slot, now, bytes, 16);
}

static void script_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    group       g    = group_of(shape);
    uint32_t    most = p->pool.largest / 2u;
    uint32_t    seed = p->seed + 977u * g.id + 1u; /* the members decide alike */
    piece       pieces[SLOTS];

    memset(pieces, 0, sizeof(pieces));
    for (uint32_t step = 0; step < p->steps; step++) {
        piece   *a     = &pieces[heap_random(&seed) % SLOTS];
        uint32_t what  = heap_random(&seed);
        size_t   bytes = heap_random(&seed) % ((what & 64u) != 0 ? most : most / 8u + 1u);

        if (a->at == NULL) {
            a->bytes = bytes;
            a->tag   = 1000u * g.id + step;
            get(p, heap, g, a, what);
        } else if (what % 4u == 0) {
            change(p, heap, g, a, bytes);
        } else {
            put(p, heap, g, a, what / 4u);
        }
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        put(p, heap, g, &pieces[i], heap_random(&seed));
    }
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

static void expect_counts(void)
{
    assert_true((mallocs > failures) && (frees == mallocs - failures));
    if (t.pool.report == NULL) {
        return;
    }
    assert_int_equal(t.report.mallocs, mallocs + t.pool.pools); /* trial_expect_fresh() */
    assert_int_equal(t.report.frees, frees + t.pool.pools);
    assert_int_equal(t.report.failures, failures);
    assert_int_equal(t.report.live_bytes, 0);
    assert_int_equal(t.report.bad_frees, 0);
}

static void run_scripts(const shpool_allocator *allocator, const char *options, uint32_t alignment,
                        simt_engine engine, uint32_t period)
{
    uint32_t each = (allocator->scope >= SHPOOL_SCOPE_BLOCK) ? 9000u : 1200u;

    if (((allocator->caps & SHPOOL_CAP_ALIGNED) == 0) && (alignment > 16u)) {
        return;
    }
    trial_open(&t, allocator, options, shape->threads, each, alignment);
    mallocs = frees = failures = grown = 0;
    t.steps                = 12;
    t.seed                 = 100u * period + shape->threads;
    t.launch.engine        = engine;
    t.launch.seed          = period;
    t.launch.switch_period = period;
    trial_run(&t, script_kernel);
    expect_counts();
    trial_close(&t);
}

#define FOR_EACH_SHAPE                                                                             \
    for (size_t shape_ = 0; (shape_ < GROUP_SHAPES) && (shape = &group_shapes[shape_], 1); shape_++)

UNIT_TEST(test_scripts_of_every_scope)
{
    FOR_EACH_SHAPE {
        FOR_EACH_POOL(allocator) {
            for (uint32_t period = 0; period < (heap_long() ? 40u : 3u); period++) {
                run_scripts(allocator, "", (period % 2u == 0) ? 1024 : 16, SIMT_FIBERS, period);
            }
        }
    }
}

UNIT_TEST(test_a_groups_request_is_counted_once)
{
    FOR_EACH_SHAPE {
        FOR_EACH_POOL(allocator) {
            run_scripts(allocator, ":stats=1", 64, SIMT_FIBERS, 2);
            run_scripts(allocator, ":check=1", 16, SIMT_FIBERS, 3);
        }
    }
}

static int has_groups(const shpool_allocator *allocator)
{
    return (allocator->caps & SHPOOL_CAP_GROUP) != 0;
}

UNIT_TEST(test_scripts_of_os_threads)
{
    FOR_EACH_SHAPE {
        if ((shape->threads > 41u) && !heap_long()) {
            continue; /* as many OS threads take long to start */
        }
        FOR_EACH_POOL(allocator) {
            if ((shape->threads <= 5u) || heap_long() || has_groups(allocator)) {
                run_scripts(allocator, "", 16, SIMT_THREADS, 1);
            }
        }
    }
}

/* ---- freed by others ---- */

/* Every group's memory goes to the next one, which frees it by all members or by one. */
static void others_kernel(void *arg)
{
    trial      *p     = (trial *)arg;
    shpool_heap heap  = trial_init(p);
    group       g     = group_of(shape);
    uint32_t    bytes = 16u + 8u * g.id;

    for (uint32_t turn = 0; turn < 4u; turn++) {
        void    *mine = NULL;
        uint32_t from;

        if (turn < 2u) {
            mine = group_malloc(heap, g, bytes, 16);
        } else if (g.member == 0) {
            mine = shpool_malloc(heap, bytes);
        }
        if (g.member == 0) {
            EXPECT(p, mine != NULL);
            memset(mine, (int)g.id + 1, bytes);
            box[g.id] = mine;
            p->box[g.id].bytes = bytes;
        }
        simt_barrier();
        from = g.id; /* the next lower group's, around */
        do {
            from = (from + simt_block_threads() - 1u) % simt_block_threads();
        } while (box[from] == NULL);
        for (uint32_t i = 0; (i < p->box[from].bytes) && (g.member == 0); i++) {
            EXPECT(p, ((unsigned char *)box[from])[i] == from + 1u);
        }
        if ((turn % 2u == 0) || (g.kind == OF_BLOCK)) {
            EXPECT(p, group_free(heap, g, box[from]) == SHPOOL_FREE_OK);
        } else {
            group_sync(g); /* the first member has looked */
            EXPECT(p, (g.member != g.members - 1u) ||
                          (shpool_free_at(heap, box[from], 0) == SHPOOL_FREE_OK));
        }
        simt_barrier();
        if (g.member == 0) {
            box[g.id] = NULL;
        }
        simt_barrier();
    }
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_other_groups_free)
{
    FOR_EACH_SHAPE {
        FOR_EACH_POOL(allocator) {
            char option[32] = "";

            if (allocator->scope == SHPOOL_SCOPE_THREAD) {
                continue;
            }
            if (allocator->scope == SHPOOL_SCOPE_GROUP) {
                (void)snprintf(option, sizeof(option), ":threads_per_pool=%u", shape->threads);
            }
            memset(box, 0, sizeof(box));
            trial_open(&t, allocator, option, shape->threads, 30000u / trial_pools(allocator,
                       shape->threads), 16);
            t.launch.switch_period = 3;
            trial_run(&t, others_kernel);
            trial_close(&t);
        }
    }
}

/* ---- the whole pool, and not a byte more ---- */

static void whole_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    group       g    = group_of(shape);
    void       *all, *part;

    for (uint32_t turn = 0; turn < p->pool.pools; turn++) { /* one group of each pool at a time */
        simt_barrier();
        if ((g.kind != OF_BLOCK) && (turn != g.id / p->pool.threads_per_pool)) {
            continue;
        }
        if ((g.kind != OF_BLOCK) && (g.id % p->pool.threads_per_pool != 0)) {
            continue;
        }
        EXPECT(p, group_malloc(heap, g, (size_t)p->pool.largest + 1u, 16) == NULL);
        EXPECT(p, group_malloc(heap, g, SIZE_MAX, 16) == NULL);
        all = group_malloc(heap, g, p->pool.largest, 16);
        EXPECT(p, all != NULL);
        EXPECT(p, group_malloc(heap, g, 0, 16) == NULL);
        group_fill(g, all, p->pool.largest, turn);
        part = group_realloc(heap, g, all, p->pool.largest / 2u);
        EXPECT(p, (part == all) || (part == NULL));
        group_verify(p, g, all, p->pool.largest / 2u, turn);
        if ((part != NULL) && has_cap(p, SHPOOL_CAP_RESIZE) && has_cap(p, SHPOOL_CAP_FREE)) {
            EXPECT(p, group_realloc(heap, g, all, p->pool.largest) == all);
            group_verify(p, g, all, p->pool.largest / 2u, turn);
        }
        EXPECT(p, group_realloc(heap, g, all, (size_t)p->pool.largest + 1u) == NULL);
        EXPECT(p, group_free(heap, g, all) == SHPOOL_FREE_OK);
        EXPECT(p, group_free(heap, g, NULL) == SHPOOL_FREE_OK);
        all = group_realloc(heap, g, NULL, 40);
        EXPECT(p, all != NULL);
        EXPECT(p, group_free(heap, g, all) == SHPOOL_FREE_OK);
    }
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_a_group_gets_the_whole_pool)
{
    FOR_EACH_SHAPE {
        FOR_EACH_POOL(allocator) {
            trial_open(&t, allocator, "", shape->threads, 3000, 16);
            t.launch.switch_period = 2;
            trial_run(&t, whole_kernel);
            trial_close(&t);
        }
    }
}
