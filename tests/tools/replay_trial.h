/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace and its script, and replays of it. */
#ifndef SHPOOL_TESTS_REPLAY_TRIAL_H
#define SHPOOL_TESTS_REPLAY_TRIAL_H

#include "trace_text.h"

#include "tools/bench/trace/replay.h"

typedef struct replayed {
    trace_file    trace;
    replay_script script;
} replayed;

/* text: the trace; NULL: it is in the file. */
static inline void begin_replay(const trace_trial *t, const char *text, replayed *r)
{
    char why[512];

    if (text != NULL) {
        put_text(t->path, text, strlen(text));
    }
    if (trace_file_read(t->path, &r->trace, why, sizeof(why)) != 0) {
        fail_msg("%s", why);
    }
    assert_int_equal(replay_script_make(&r->trace, &r->script), 0);
}

static inline void end_replay(replayed *r)
{
    replay_script_free(&r->script);
    trace_file_free(&r->trace);
}

/* Replay, and compare all but the cycles. */
static inline void assert_replay(const replayed *r, const replay_shape *shape, int stop,
                                 replay_tally expected)
{
    replay_tally tally;

    if (replay_cpu(&r->script, shape, stop, &tally, NULL) != SHPOOL_OK) {
        fail_msg("%s", shpool_last_error());
    }
    expected.cycles = tally.cycles;
    if (memcmp(&tally, &expected, sizeof(tally)) != 0) {
        fail_msg("%s: %llu calls: %llu mallocs, %llu frees, %llu resizes, of %llu bytes; %llu "
                 "failed, %llu were refused", shape->spec, tally.ops, tally.mallocs, tally.frees,
                 tally.resizes, tally.bytes, tally.failures, tally.refused);
    }
}

/* Record a kernel in pools of an allocator. */
static inline void record(trace_trial *t, const shpool_allocator *allocator,
                          const shpool_config *want, void (*kernel)(void *arg),
                          shpool_report_data *report)
{
    trace_open(t, allocator->name, ",trace_blocks=1", want);
    t->launch.static_bytes = 0; /* pools at the address that they have in a replay */
    t->number = 5;
    trace_run(t, kernel);
    assert_int_equal(shpool_simt_report(&t->pool, report), SHPOOL_OK);
    assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
}

/* A replay in the recorded geometry fails as often as the recording did; the failures. */
static inline unsigned long long fails_as_recorded(trace_trial *t,
                                                   const shpool_allocator *allocator,
                                                   const shpool_config *want,
                                                   void (*kernel)(void *arg))
{
    shpool_report_data report;
    replay_tally tally;
    replayed r;
    char spec[64];
    replay_shape shape = { spec, want->threads_per_pool, 0 };

    record(t, allocator, want, kernel, &report);
    begin_replay(t, NULL, &r);
    /* with counters before the pools, as recorded: the pool's address matters for some */
    (void)snprintf(spec, sizeof(spec), "%s:stats=1", allocator->name);
    shape.total_bytes = r.trace.pools * r.trace.pool_bytes + SHPOOL_AREA_BYTES;
    assert_int_equal(replay_cpu(&r.script, &shape, 0, &tally, NULL), SHPOOL_OK);
    if ((tally.mallocs != report.mallocs) || (tally.failures != report.failures) ||
        (tally.frees != report.frees) || (tally.refused != 0)) {
        fail_msg("%s: %llu of %llu mallocs fail, recorded were %llu of %llu", allocator->name,
                 tally.failures, tally.mallocs, report.failures, report.mallocs);
    }
    end_replay(&r);
    return report.failures;
}

#endif /* SHPOOL_TESTS_REPLAY_TRIAL_H */
