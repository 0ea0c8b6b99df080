/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of groups, with every allocator and every scope of a group: malloc, realloc and free,
 * also in turn with single threads and with other groups. */
#include "group_trial.h"

static const group_shape *shape;
static uint32_t           mallocs, frees, failures, grown; /* of the running test */
static void              *box[SHPOOL_MAX_THREADS];         /* a group's, by its id */

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
static void take(shpool_heap heap, group g, piece *a, uint32_t random)
{
    uint32_t alignment = 16u << (random >> 8) % 7u;
    uint32_t one       = (random >> 4) % group_sharers(g);

    if (!has_cap(&t, SHPOOL_CAP_ALIGNED) || (alignment > t.pool.alignment)) {
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
    group_claim(heap, g, &a->slot, a->at, a->bytes, alignment);
}

static void drop(shpool_heap heap, group g, piece *a, uint32_t random)
{
    uint32_t one = (random >> 4) % group_sharers(g);

    if (a->at == NULL) {
        return;
    }
    group_verify(g, a->at, a->bytes, a->tag);
    group_drop(heap, g, &a->slot);
    count(g, &frees);
    if ((random & 3u) != 0) {
        EXPECT(group_free(heap, g, a->at) == SHPOOL_FREE_OK);
    } else {
        group_sync(g);
        if (g.member == one) {
            EXPECT(shpool_free_at(heap, a->at, 0) == SHPOOL_FREE_OK);
        }
    }
    a->at = NULL;
}

static void change(shpool_heap heap, group g, piece *a, size_t bytes)
{
    size_t keep = (bytes < a->bytes) ? bytes : a->bytes;
    void  *moved;

    group_verify(g, a->at, a->bytes, a->tag);
    group_drop(heap, g, &a->slot);
    moved = group_realloc(heap, g, a->at, bytes);
    if (moved == NULL) {
        count(g, &mallocs);
        count(g, &failures);
        group_verify(g, a->at, a->bytes, a->tag);
        group_claim(heap, g, &a->slot, a->at, 0, 16);
        return;
    }
    group_verify(g, moved, keep, a->tag);
    if (moved != a->at) {
        count(g, &mallocs);
        count(g, &frees);
        count(g, &grown);
    }
    a->at    = moved;
    a->bytes = bytes;
    a->tag++;
    group_fill(g, moved, bytes, a->tag);
    group_claim(heap, g, &a->slot, moved, bytes, 16);
}

static void script_kernel(shpool_heap heap)
{
    group    g    = group_of(shape);
    uint32_t most = t.pool.largest / 2u;
    uint32_t seed = t.seed + 977u * g.id + 1u; /* the members decide alike */
    piece    pieces[SLOTS];

    memset(pieces, 0, sizeof(pieces));
    for (uint32_t step = 0; step < t.steps; step++) {
        piece   *a     = &pieces[heap_random(&seed) % SLOTS];
        uint32_t what  = heap_random(&seed);
        size_t   bytes = heap_random(&seed) % ((what & 64u) != 0 ? most : most / 8u + 1u);

        if (a->at == NULL) {
            a->bytes = bytes;
            a->tag   = 1000u * g.id + step;
            take(heap, g, a, what);
        } else if (what % 4u == 0) {
            change(heap, g, a, bytes);
        } else {
            drop(heap, g, a, what / 4u);
        }
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        drop(heap, g, &pieces[i], heap_random(&seed));
    }
}

static void begin(void)
{
    mallocs = frees = failures = grown = 0;
    memset(box, 0, sizeof(box));
}

static void expect_group_counts(void)
{
    assert_true((mallocs > failures) && (frees == mallocs - failures));
    if (t.pool.report != NULL) {
        assert_int_equal(t.report.mallocs, mallocs + t.pool.pools); /* trial_expect_fresh() */
        assert_int_equal(t.report.frees, frees + t.pool.pools);
        assert_int_equal(t.report.failures, failures);
    }
}

/* The scene, with blocks cut into groups of every shape. */
static void run_shapes(scene s)
{
    for (shape = group_shapes; shape < group_shapes + GROUP_SHAPES; shape++) {
        s.threads[0] = shape->threads;
        if ((shape->threads <= 41u) || (s.engine == SIMT_FIBERS) || heap_long()) {
            run_scene(&s); /* more OS threads take long to start */
        }
    }
}

#define SCRIPT .body = script_kernel, .each = 1200, .per_thread = 150, .each_alone = 1200,         \
               .steps = 12, .tune = begin, .expect = expect_group_counts

UNIT_TEST(test_scripts_of_every_scope)
{
    run_shapes((scene){ SCRIPT, .seeds = 3, .periods = 3 });
    run_shapes((scene){ SCRIPT, .caps = SHPOOL_CAP_ALIGNED, .alignments = { 1024 }, .seeds = 2 });
}

UNIT_TEST(test_a_groups_request_is_counted_once)
{
    run_shapes((scene){ SCRIPT, .options = { ":stats=1", ":check=1" }, .period = 2,
                        .report = "live_bytes 0, bad_frees 0" });
    run_shapes((scene){ SCRIPT, .options = { ":stats=1" }, .caps = SHPOOL_CAP_ALIGNED,
                        .alignments = { 64 }, .period = 2, .report = "live_bytes 0, bad_frees 0" });
}

static int is_quick(const shpool_allocator *allocator)
{
    return has_pool(allocator) && (heap_long() || (shape->threads <= 5u) ||
                                   ((allocator->caps & SHPOOL_CAP_GROUP) != 0));
}

UNIT_TEST(test_scripts_of_os_threads)
{
    run_shapes((scene){ SCRIPT, .takes = is_quick, .engine = SIMT_THREADS, .period = 1 });
}

/* ---- freed by others ---- */

/* Every group's memory goes to the next one, which frees it by all members or by one. */
static void others_kernel(shpool_heap heap)
{
    group    g     = group_of(shape);
    uint32_t bytes = 16u + 8u * g.id;

    for (uint32_t turn = 0; turn < 4u; turn++) {
        void    *mine = NULL;
        uint32_t from;

        if (turn < 2u) {
            mine = group_malloc(heap, g, bytes, 16);
        } else if (g.member == 0) {
            mine = shpool_malloc(heap, bytes);
        }
        if (g.member == 0) {
            EXPECT(mine != NULL);
            memset(mine, (int)g.id + 1, bytes);
            box[g.id] = mine;
            t.box[g.id].bytes = bytes;
        }
        simt_barrier();
        from = g.id; /* the next lower group's, around */
        do {
            from = (from + simt_block_threads() - 1u) % simt_block_threads();
        } while (box[from] == NULL);
        for (uint32_t i = 0; (i < t.box[from].bytes) && (g.member == 0); i++) {
            EXPECT(((unsigned char *)box[from])[i] == from + 1u);
        }
        if ((turn % 2u == 0) || (g.kind == OF_BLOCK)) {
            EXPECT(group_free(heap, g, box[from]) == SHPOOL_FREE_OK);
        } else {
            group_sync(g); /* the first member has looked */
            EXPECT((g.member != g.members - 1u) ||
                   (shpool_free_at(heap, box[from], 0) == SHPOOL_FREE_OK));
        }
        simt_barrier();
        if (g.member == 0) {
            box[g.id] = NULL;
        }
        simt_barrier();
    }
}

UNIT_TEST(test_other_groups_free)
{
    run_shapes((scene){ .body = others_kernel, .takes = shares, .share = ALL, .each = 30000,
                        .period = 3, .tune = begin });
}

/* ---- the whole pool, and not a byte more ---- */

static void whole_kernel(shpool_heap heap)
{
    group g = group_of(shape);
    void *all, *part;

    for (uint32_t turn = 0; turn < t.pool.pools; turn++) { /* one group of each pool at a time */
        simt_barrier();
        if ((g.kind != OF_BLOCK) && (turn != g.id / t.pool.threads_per_pool)) {
            continue;
        }
        if ((g.kind != OF_BLOCK) && (g.id % t.pool.threads_per_pool != 0)) {
            continue;
        }
        EXPECT(group_malloc(heap, g, (size_t)t.pool.largest + 1u, 16) == NULL);
        EXPECT(group_malloc(heap, g, SIZE_MAX, 16) == NULL);
        all = group_malloc(heap, g, t.pool.largest, 16);
        EXPECT(all != NULL);
        EXPECT(group_malloc(heap, g, 0, 16) == NULL);
        group_fill(g, all, t.pool.largest, turn);
        part = group_realloc(heap, g, all, t.pool.largest / 2u);
        EXPECT((part == all) || (part == NULL));
        group_verify(g, all, t.pool.largest / 2u, turn);
        if ((part != NULL) && has_cap(&t, SHPOOL_CAP_RESIZE) && has_cap(&t, SHPOOL_CAP_FREE)) {
            EXPECT(group_realloc(heap, g, all, t.pool.largest) == all);
            group_verify(g, all, t.pool.largest / 2u, turn);
        }
        EXPECT(group_realloc(heap, g, all, (size_t)t.pool.largest + 1u) == NULL);
        EXPECT(group_free(heap, g, all) == SHPOOL_FREE_OK);
        EXPECT(group_free(heap, g, NULL) == SHPOOL_FREE_OK);
        all = group_realloc(heap, g, NULL, 40);
        EXPECT(all != NULL);
        EXPECT(group_free(heap, g, all) == SHPOOL_FREE_OK);
    }
}

UNIT_TEST(test_a_group_gets_the_whole_pool)
{
    run_shapes((scene){ .body = whole_kernel, .each = 3000, .period = 2 });
}
