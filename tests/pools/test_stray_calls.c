/* SPDX-License-Identifier: BSD-3-Clause */
/* test_stray.c with the other calls: requests that wait, requests of groups, marks, and spills.
 *
 *     test_stray_calls [RUNS [ALLOCATOR [FIRST [CALLS]]]]   CALLS: waits, groups, marks, spill,
 *                                                          area (a word of the statistics area
 *                                                          changes)
 *     test_stray_calls TEST                                 only tests of this pattern
 *
 * RUNS is 24 (under a sanitizer 8) unless it is given; with LIBSHPOOL_TEST_LONG it is 20,000. */
#include "stray_trial.h"

#if defined(__SANITIZE_ADDRESS__)
#define RUNS 8u
#else
#define RUNS 24u
#endif
#define RUNS_LONG 20000u  /* of each allocator and kind of calls */
#define MARKS     3u
#define SPILL     ",spill=arena,spill_bytes=4K,spill_blocks=2"

/* ---- waits ---- */

static void act_waiting(shpool_heap heap, uint32_t *random, uint32_t step)
{
    uint32_t what  = heap_random(random);
    object  *o     = mine((what >> 8) % SLOTS);
    uint32_t bytes = 1u + (what >> 16) % (((what & 7u) == 0) ? 900u : 200u);

    if (o->at == NULL) {
        got(o, shpool_malloc_wait(heap, bytes, 2u + (what >> 3) % 8u), bytes, what >> 24);
    } else if ((what & 0x38u) == 0) {
        resize_object(heap, o, bytes, what >> 24);
    } else {
        drop(heap, o);
    }
}

/* ---- groups: the first member keeps the object, and tells the others where it is ---- */

static group team_of(uint32_t what)
{
    static const group_shape teams[] = { { "every other two lanes", 0, OF_LANES, 0x33333333u, 0 },
                                         { "block", 0, OF_BLOCK, 0, 0 },
                                         { "warp", 0, OF_WARPS, 0, 0 } };

    return group_of(&teams[(what % 4u < 2u) ? what % 4u : 2u]);
}

static void *team_malloc(shpool_heap heap, group g, uint32_t what, uint32_t bytes)
{
    const uint32_t attempts = 2u + (what >> 12) % 4u;
    const uint32_t how      = (what >> 5) & 3u;

    if (how != 0) {
        return group_malloc(heap, g, bytes, (how == 1) ? aligned() : 16u);
    }
    return (g.kind == OF_LANES) ? shpool_malloc_wait_lanes(heap, g.lanes, bytes, attempts)
           : (g.kind == OF_WARPS) ? shpool_malloc_wait_warp(heap, bytes, attempts)
                                  : shpool_malloc_wait_block(heap, bytes, attempts);
}

/* Whether it is free; every member knows.  A block is not told: its memory counts as free. */
static uint32_t team_free(shpool_heap heap, group g, void *ptr)
{
    return ((g.kind == OF_BLOCK) ? group_free(heap, g, ptr)
                                 : shpool_free_lanes_at(heap, g.lanes, ptr, 0)) == SHPOOL_FREE_OK;
}

/* What the leader has, in all members. */
static object team_object(group g, const object *o)
{
    unsigned long long at  = (unsigned long long)(size_t)o->at;
    object             all = *o;

    all.at = (unsigned char *)(size_t)((g.kind == OF_BLOCK) ? simt_broadcast(at)
                                                            : shpool_shfl64(g.lanes, at, g.id));
    return all;
}

static void act_in_groups(shpool_heap heap, uint32_t *random, uint32_t step)
{
    uint32_t shared = s.seed * 69069u + step * 362437u + 12345u; /* equal in all threads */
    uint32_t what   = (heap_random(&shared), heap_random(&shared));
    uint32_t bytes  = 1u + (what >> 16) % (((what & 7u) == 0) ? 900u : 200u);
    group    g      = team_of(what);
    object  *o      = object_of((g.kind == OF_BLOCK) ? 0u : g.id, (what >> 8) % SLOTS);
    object   was;
    uint32_t leads;
    void    *ptr;

    if (((what >> 2) & 3u) == 0) {
        act_alone(heap, random, step);
        return;
    }
    leads = g.member == 0;
    was   = team_object(g, o);
    if (was.at == NULL) {
        ptr = team_malloc(heap, g, what, bytes);
        if (leads) {
            got(o, ptr, bytes, what >> 24);
        }
        return;
    }
    if (leads) {
        s.spoilt += !is_whole(o);
        o->at = NULL; /* as in drop() */
    }
    if (((what >> 4) & 3u) == 0) {
        ptr = group_realloc(heap, g, was.at, bytes);
        if (leads) {
            resized(o, was, ptr, bytes, what >> 24);
        }
    } else if (!team_free(heap, g, was.at) && leads) {
        *o = was;
    }
}

/* ---- marks, of a thread that has its pool for itself ---- */

static struct {
    uint32_t taken;
    uint32_t mark[MARKS];
} marks[THREADS];

static void release(shpool_heap heap, uint32_t depth)
{
    uint32_t rank = simt_thread_rank();
    object   was[SLOTS];

    for (uint32_t i = 0; i < SLOTS; i++) {
        was[i] = *mine(i);
        if ((was[i].at != NULL) && (was[i].depth > depth)) {
            s.spoilt += !is_whole(&was[i]);
            mine(i)->at = NULL;
        }
    }
    marks[rank].taken = depth;
    if (!shpool_release(heap, marks[rank].mark[depth])) {
        memcpy(mine(0), was, sizeof(was));
        for (uint32_t i = 0; i < SLOTS; i++) { /* they are there as before, but no mark is */
            mine(i)->depth = (mine(i)->depth < depth) ? mine(i)->depth : depth;
        }
    }
}

static void act_with_marks(shpool_heap heap, uint32_t *random, uint32_t step)
{
    uint32_t what  = heap_random(random);
    uint32_t rank  = simt_thread_rank();
    uint32_t depth = (step == 0) ? 0u : marks[rank].taken;
    object  *o     = mine((what >> 8) % SLOTS);

    marks[rank].taken = depth;
    if (((what & 7u) == 1) && (depth < MARKS)) {
        marks[rank].mark[depth] = shpool_mark(heap);
        marks[rank].taken       = depth + (marks[rank].mark[depth] != SHPOOL_NO_MARK);
    } else if (((what & 7u) == 2) && (depth > 0)) {
        release(heap, (what >> 4) % depth);
    } else if ((o->at == NULL) || (o->depth == depth)) { /* older ones stay until the release */
        act_on(heap, o, what);
        o->depth = depth;
    }
}

/* ---- the tests ---- */

typedef struct calls {
    const char *name;
    stray_act  *act;
    uint32_t    threads;
    const char *options;
    uint32_t    caps; /* that an allocator needs */
    uint32_t    place;
} calls;

/* Seeds whose runs go wrong if the call in question does not look before it follows a word. */
static const struct {
    const char *calls, *name;
    uint32_t    seed;
} known[] = {
    { "waits", "bitmap", 175 }, { "waits", "bitmap", 246 }, { "waits", "rbtree", 136 },
    { "waits", "warp_best_fit", 211 }, { "groups", "bitmap", 2808 }, { "groups", "bitmap", 5040 },
    { "groups", "bitmap", 5440 }, { "marks", "arena", 112 },
    { "marks", "arena", 39 }, { "marks", "arena", 51 },
};

/* The run of a seed, whatever its number among the others. */
static void run_seed(const calls *made, const shpool_allocator *allocator, uint32_t seed,
                     uint32_t shapes, tally *sum)
{
    uint32_t shape = (seed - 1u) % shapes;

    /* a thread's marks are of a pool of its own */
    stray_open(allocator, (made->caps != 0) ? shape & ~4u : shape, made->threads, made->options);
    run_once(seed, sum);
    shpool_simt_close(&s.pool);
}

static int takes_part_in(const calls *made, const shpool_allocator *allocator)
{
    return takes_part_here(allocator) &&
           ((wanted.calls == NULL) || (strcmp(wanted.calls, made->name) == 0)) &&
           ((allocator->caps & made->caps) == made->caps) &&
           /* a slot belongs to one block */
           ((made->options[0] == '\0') || (allocator->scope != SHPOOL_SCOPE_CLUSTER));
}

static void run_calls(const calls *made)
{
    uint32_t bad = 0;

    s.act   = made->act;
    s.place = made->place;
    FOR_EACH_POOL(allocator) {
        tally sum = { 0 };

        if (!takes_part_in(made, allocator)) {
            continue;
        }
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if ((strcmp(known[i].calls, made->name) == 0) &&
                (strcmp(known[i].name, allocator->name) == 0)) {
                run_seed(made, allocator, known[i].seed, SHAPES / 2u, &sum);
            }
        }
        for (uint32_t i = 0; i < wanted.runs; i++) {
            run_seed(made, allocator, wanted.first + i, SHAPES, &sum);
        }
        bad += bad_runs(made->name, allocator, &sum);
    }
    assert_int_equal(bad, 0);
}

#define CALLS(_test, ...)                                                                          \
    static void _test(void **state)                                                                \
    {                                                                                              \
        static const calls made[] = { __VA_ARGS__ };                                               \
                                                                                                   \
        for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {                              \
            run_calls(&made[i]);                                                                   \
        }                                                                                          \
    }

CALLS(test_while_threads_wait, { "waits", act_waiting, THREADS, "", 0, IN_POOL_END })
CALLS(test_while_groups_request, { "groups", act_in_groups, THREADS, "", 0, IN_POOL_END },
      { "groups", act_in_groups, SIMT_WARP, "", 0, IN_POOL_END })
CALLS(test_between_marks, { "marks", act_with_marks, THREADS, "", SHPOOL_CAP_MARK, IN_POOL })
CALLS(test_while_requests_spill, { "spill", act_waiting, THREADS, SPILL, 0, IN_POOL })
/* Each change of it is found. */
CALLS(test_a_word_of_the_area_changes, { "area", act_alone, THREADS, "", 0, IN_AREA },
      { "area", act_waiting, THREADS, SPILL, 0, IN_AREA })

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_word_of_the_area_changes),
        cmocka_unit_test(test_while_threads_wait),
        cmocka_unit_test(test_while_groups_request),
        cmocka_unit_test(test_between_marks),
        cmocka_unit_test(test_while_requests_spill),
    };

    wanted.runs = RUNS;
    return stray_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]), RUNS_LONG);
}
