/* SPDX-License-Identifier: BSD-3-Clause */
/* What shpool-bench advise makes of a trace: steps of warps, and the cycles that pools cost. */
#include "replay_trial.h"

#include "tools/bench/trace/model.h"

#define HEAD_3                                                                                     \
    "shpool-trace 3\nallocator bitmap\nblock_threads 64\nthreads_per_pool 64\npools 1\n"           \
    "pool_bytes 4096\nlargest 3900\nalignment 16\ncheck 0\nspill 0\nregisters 0\n"

/* Two warps; the first one computes for 10,000 cycles with each of two allocations, the second one
 * with one.  From a free to the next malloc are 2,000. */
static const char *const warps_text = HEAD_3
    "block 0 launch 1 records 6 dropped 0 grid 1 own 0\n"
    "w 0+31 0x0 1000 1008 16 0 @0\n"
    "w 32+31 0x400 1000 1008 16 0 @100\n"
    "f 0+31 0x0 0 0 @10000\n"
    "f 32+31 0x400 0 0 @10100\n"
    "w 0+31 0x0 1000 1008 16 0 @12000\n"
    "f 0+31 0x0 0 0 @22000\n"
    "end 1\n";

/* Lanes of one warp, and one of another; the pause between two lanes is not work. */
#define LANES(_bytes) HEAD_3                                                                       \
    "block 0 launch 1 records 8 dropped 0 grid 1 own 0\n"                                          \
    "m 0 0x0 " _bytes " 112 16 0 @0\n"                                                             \
    "m 1 0x80 " _bytes " 112 16 0 @5000\n"                                                         \
    "m 40 0x100 " _bytes " 112 16 0 @5100\n"                                                       \
    "m 2 0x180 " _bytes " 112 16 0 @9000\n"                                                        \
    "f 2 0x180 0 0 @9500\n"                                                                        \
    "f 0 0x0 0 0 @9500\n"                                                                          \
    "f 40 0x100 0 0 @9600\n"                                                                       \
    "f 1 0x80 0 0 @9900\n"                                                                         \
    "end 1\n"
static const char *const lanes_text = LANES("100");

typedef struct modelled {
    replayed r;
    model    m;
} modelled;

static void begin_model(const trace_trial *t, const char *text, modelled *s)
{
    begin_replay(t, text, &s->r);
    s->r.script.spent = calloc(s->r.script.count, sizeof(*s->r.script.spent));
    assert_non_null(s->r.script.spent);
    assert_int_equal(model_make(&s->r.trace, &s->r.script, &s->m), 0);
}

static void end_model(modelled *s)
{
    model_free(&s->m);
    free(s->r.script.spent);
    end_replay(&s->r);
}

/* With the accesses of a replay in these pools. */
static model_time estimate(modelled *s, const char *spec, int waits)
{
    const shpool_config want = { .block_threads = 64 };
    replay_shape shape = { spec, 0, 0 };
    replay_tally tally;
    shpool_pool pool;
    model_time time;
    char name[64];

    assert_int_equal(shpool_plan(spec, &want, &pool), SHPOOL_OK);
    (void)snprintf(name, sizeof(name), "%s:threads_per_pool=%u", pool.name, pool.threads_per_pool);
    shape.spec = (pool.scope == SHPOOL_SCOPE_GROUP) ? name : pool.name;
    shape.total_bytes = SHPOOL_MAX_SHARED;
    assert_int_equal(replay_cpu(&s->r.script, &shape, 0, &tally, NULL), SHPOOL_OK);
    assert_int_equal(model_estimate(&s->m, &pool, waits, &time), 0);
    return time;
}

UNIT_TEST_WITH(test_steps_are_calls_that_come_together, make_path, remove_path)
{
    static const struct {
        const char *text;
        double traced;
        model_step steps[6];
    } cases[] = {
        { warps_text, 1000, { { 0, 0, 1, 0 }, { 0, 1, 1, 10000 }, { 0, 2, 1, 0 },
                              { 0, 3, 1, 10000 }, { 1, 4, 1, 0 }, { 1, 5, 1, 10000 } } },
        { lanes_text, 0, { { 0, 0, 3, 0 }, { 0, 3, 3, 500 }, { 1, 6, 1, 5100 },
                           { 1, 7, 1, 4500 } } },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        modelled s;

        begin_model(*state, cases[i].text, &s);
        assert_true(s.m.traced == cases[i].traced);
        assert_int_equal(s.m.timed, 1);
        assert_int_equal(s.m.waits, i == 0);
        for (uint32_t k = 0; k < s.m.begin[2]; k++) {
            const model_step *got = &s.m.steps[k];
            const model_step *want = &cases[i].steps[k];

            if ((got->warp != want->warp) || (got->first != want->first) ||
                (got->count != want->count) || !(got->gap == want->gap)) {
                fail_msg("case %zu, step %u: warp %u, %u calls from %u, after %.0f cycles", i, k,
                         got->warp, got->count, got->first, got->gap);
            }
        }
        assert_int_equal(s.m.begin[2], (i == 0) ? 6 : 4);
        end_model(&s);
    }
}

UNIT_TEST_WITH(test_pools_cost_what_they_hold_up, make_path, remove_path)
{
    model_time free_pool, full, locks, alone;
    modelled s;

    begin_model(*state, warps_text, &s);
    free_pool = estimate(&s, "bitmap:payload_bytes=3000", 1);
    full = estimate(&s, "bitmap:payload_bytes=1100", 1);
    assert_true((free_pool.busy > 15000) && (free_pool.busy < 25000)); /* 3 calls of a warp */
    assert_true(free_pool.whole == free_pool.busy);
    assert_true(full.busy == free_pool.busy);
    assert_true((full.whole > free_pool.whole + 5000) && (full.whole < 2 * free_pool.whole));
    assert_true((full.starved == 0) && (free_pool.starved == 0));
    end_model(&s);

    begin_model(*state, lanes_text, &s);
    alone = estimate(&s, "thread_first_fit:total_bytes=30000", 0);
    locks = estimate(&s, "warp_first_fit:total_bytes=30000,threads_per_pool=64", 0);
    assert_true(locks.calls > 2 * alone.calls);
    assert_true(locks.whole > locks.busy);
    assert_true(alone.whole == alone.busy);
    end_model(&s);
}

/* Lanes that call together collide in a crowded pool: more often, and for longer, the longer their
 * requests are. */
UNIT_TEST_WITH(test_a_crowd_costs_the_square_of_a_length, make_path, remove_path)
{
    static const struct {
        const char *text;
        const char *crowded, *free;
        double pairs; /* of granules */
    } cases[] = {
        { LANES("16"), "planes:payload_bytes=80", "planes:payload_bytes=1K", 1 },
        { LANES("160"), "planes:payload_bytes=800", "planes:payload_bytes=10K", 100 },
        { LANES("100"), "bitmap:payload_bytes=512", "bitmap:payload_bytes=8K", 49 },
    };
    double first = 0;

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        modelled s;
        double more;

        begin_model(*state, cases[i].text, &s);
        more = estimate(&s, cases[i].crowded, 0).calls - estimate(&s, cases[i].free, 0).calls;
        first = (i == 0) ? more : first;
        assert_true(more > 0);
        if (i < 2) {
            assert_true((more > 0.9 * cases[i].pairs * first) &&
                        (more < 1.1 * cases[i].pairs * first));
        }
        end_model(&s);
    }
}

/* Each warp has memory and waits for more, which nobody frees: this does not hang. */
UNIT_TEST_WITH(test_what_waits_for_ever_is_counted, make_path, remove_path)
{
    static const char *const text = HEAD_3
        "block 0 launch 1 records 4 dropped 0 grid 1 own 0\n"
        "w 0+31 0x0 1000 1008 16 0 @0\n"
        "w 32+31 0x400 1000 1008 16 0 @0\n"
        "w 0+31 0x800 1000 1008 16 0 @9000\n"
        "w 32+31 0xc00 800 800 16 0 @9000\n"
        "end 1\n";
    modelled s;

    begin_model(*state, text, &s);
    assert_true(estimate(&s, "bitmap:payload_bytes=2500", 1).starved > 0);
    assert_true(estimate(&s, "bitmap:payload_bytes=9000", 1).starved == 0);
    end_model(&s);
}
