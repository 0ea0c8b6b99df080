/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading traces, and replaying them. */
#include "tests/growth.h"
#include "colliding.h"
#include "replay_trial.h"

/* ---- reading ---- */

UNIT_TEST_WITH(test_operations_know_their_allocation, make_path, remove_path)
{
    trace_trial *t = *state;
    trace_sums sums;
    trace_file trace;
    const trace_op *ops;

    read_text(t->path, handed_text, &trace);
    assert_string_equal(trace.allocator, "bitmap");
    assert_int_equal(trace.count, 1);
    ops = trace.lives[0].ops;
    assert_int_equal(trace.lives[0].count, 7);
    assert_int_equal(trace.lives[0].refused, 1);
    assert_int_equal(ops[0].end, 4); /* thread 1 frees it */
    assert_int_equal(ops[1].end, 6);
    assert_int_equal(ops[2].end, TRACE_NONE);
    assert_int_equal(ops[3].kind, TRACE_RESIZE);
    assert_int_equal(ops[3].object, 0);
    assert_int_equal(ops[4].object, 0);
    assert_int_equal(ops[4].thread, 1);
    assert_int_equal(ops[5].end, 7); /* never freed */
    assert_int_equal(ops[5].alignment, 64);
    trace_file_sums(&trace, &sums);
    assert_int_equal(sums.mallocs, 4);
    assert_int_equal(sums.frees, 2);
    assert_int_equal(sums.failures, 1);
    assert_int_equal(sums.peak_bytes, 300);
    assert_int_equal(sums.largest, 800);
    trace_file_free(&trace);
}

UNIT_TEST_WITH(test_waits_and_releases, make_path, remove_path)
{
    static const char *const text = HEAD("4", "2", "2", "1024")
        "block 3 launch 9 records 12 dropped 5\n"
        "m 0 0x0 16 16 16 0\n"
        "k 1 32\n"
        "m 1 0x20 16 16 16 0\n"
        "m 0 0x40 16 16 16 0\n"
        "m 2 0x400 16 16 16 0\n"
        "w 3 - 900 0 16 0\n"
        "w 3 - 900 0 16 0\n"
        "m 3 0x420 900 912 16 0\n"
        "w 2 - 800 0 16 0\n"
        "l 0 32\n"
        "m 1 0x20 16 16 16 0\n"
        "l 0 0\n"
        "end 1\n";
    trace_trial *t = *state;
    trace_sums sums;
    trace_file trace;
    const trace_life *life;

    read_text(t->path, text, &trace);
    life = &trace.lives[0];
    assert_int_equal(life->block, 3);
    assert_int_equal(life->waits, 2);
    trace_file_sums(&trace, &sums);
    assert_int_equal(sums.mallocs, 7);
    assert_int_equal(sums.failures, 1); /* the wait that nothing followed */
    assert_int_equal(sums.dropped, 5);
    assert_int_equal(sums.frees, 4);
    assert_int_equal(life->count, 13);
    /* the latest first, and of the own pool only */
    assert_int_equal(life->ops[8].object, 2);
    assert_int_equal(life->ops[9].object, 1);
    assert_int_equal(life->ops[11].object, 10);
    assert_int_equal(life->ops[12].object, 0);
    trace_file_free(&trace);
}

/* Version 3: registers, the grid, other shared memory, times; global memory has no time. */
static const char *const timed_text =
    "shpool-trace 3\nallocator bitmap\nblock_threads 64\nthreads_per_pool 64\npools 1\n"
    "pool_bytes 1024\nlargest 900\nalignment 16\ncheck 0\nspill 1\nregisters 40\n"
    "block 0 launch 1 records 5 dropped 0 grid 7 own 512\n"
    "w 0+31 - 300 0 16 0 @0\n"
    "w 0+31 0x0 300 304 16 0 @250\n"
    "m 1 g0x700000 900 912 16 0\n"
    "k 2 32 @260\n"
    "f 0+31 0x0 0 0 @3000000000\n"
    "end 1\n";

UNIT_TEST_WITH(test_times_are_those_of_the_records, make_path, remove_path)
{
    static const unsigned long long cycles[] = { 0, 250, 250, 3000000000 };
    trace_trial *t = *state;
    trace_file trace;
    const trace_life *life;

    read_text(t->path, timed_text, &trace);
    life = &trace.lives[0];
    assert_int_equal(trace.registers, 40);
    assert_int_equal(life->grid, 7);
    assert_int_equal(life->own, 512);
    assert_int_equal(life->waits, 1);
    assert_int_equal(life->waiting, 2);
    assert_int_equal(life->timed, 1);
    assert_int_equal(life->count, 4);
    for (uint32_t i = 0; i < life->count; i++) {
        assert_int_equal(life->ops[i].cycles, cycles[i]);
    }
    trace_file_free(&trace);
}

UNIT_TEST_WITH(test_damaged_files_are_refused, make_path, remove_path)
{
    static const struct {
        const char *from;
        const char *to; /* NULL: the file ends there */
        const char *why;
    } cases[] = {
        { "registers 40", "registers 4000", "up to 1024" },
        { "registers 40\n", "", "\"registers NUMBER\"" },
        { " grid 7", " size 7", "\"block B launch" },
        { " own 512", "", "\"block ...\"" },
        { "@250", "250", "a record" },
        { "@250", "@-1", "\"-1\"" },
        { "@250", "@999999999999999", "999999999999999" },
        { "shpool-trace 1", "shpool-trace 4", "version 4" },
        { "shpool-trace 1", "shpool-trace 0", "version 0" },
        { "shpool-trace 1", "#!/bin/sh", "is not a trace of shpool" },
        { "shpool-trace 1", NULL, "is empty" },
        { "shpool", "\x7f" "ELF", "is not a trace of shpool" },
        { "block_threads 2\n", "block_threads 5000\n", "up to 1024" },
        { "block_threads 2\n", "", "\"block_threads NUMBER\"" },
        { "threads_per_pool 2", "threads_per_pool 0", "cannot be" },
        { "allocator bitmap", "allocator", "\"allocator NAME\"" },
        { "pool_bytes 1024", "pool_bytes 1e3", "\"1e3\"" },
        { "records 8", "records 9", "a record" },
        { "records 8", "records 7", "\"block ...\" or \"end N\"" },
        { "records 8", "records 60000000", "too short" },
        { "m 1 0x100", NULL, "cut off" },
        { "f 1 0x0 3", NULL, "cut off" },
        { "end 1", NULL, "\"end N\" is missing" },
        { "end 1", "end 2", "2 blocks were written" },
        { "m 1 0x100", "m 2 0x100", "line 14: \"2\"" },
        { "m 1 0x100", "m 1 0x10000", "\"0x10000\"" },
        { "m 1 0x100", "m 0+1 0x100", "\"0+1\"" }, /* version 1 has no groups */
        { "m 1 0x100", "m 1 -5", "\"-5\"" },
        { "m 1 0x100", "q 1 0x100", "a record" },
        { "m 1 0x100", "m 1", "a record" },
        { "64 64 64 0", "64 64 63 0", "is not a power of two" },
        { "r 0 0x0", "r 0 0x10", "resizes" },
        { "end 1\n", "end 1", "missing" },
    };
    trace_trial *t = *state;

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        const char *whole = (strstr(timed_text, cases[i].from) != NULL) ? timed_text : handed_text;
        const char *at = strstr(whole, cases[i].from);
        char text[2048];
        char why[512];
        trace_file trace;

        assert_non_null(at);
        (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - whole), whole,
                       (cases[i].to != NULL) ? cases[i].to : "",
                       (cases[i].to != NULL) ? at + strlen(cases[i].from) : "");
        put_text(t->path, text, strlen(text));
        assert_int_equal(trace_file_read(t->path, &trace, why, sizeof(why)), -1);
        if ((strstr(why, cases[i].why) == NULL) || (strstr(why, t->path) == NULL)) {
            fail_msg("\"%s\" for \"%s\" is not in: %s", cases[i].why, cases[i].from, why);
        }
        assert_true(is_zeroed(&trace, sizeof(trace)));
    }
}

/* ---- replaying ---- */

UNIT_TEST_WITH(test_a_replay_does_what_was_recorded, make_path, remove_path)
{
    const replay_shape shape = { "bitmap", 0, 4096 };
    const replay_shape tight = { "bitmap", 0, 512 };
    replay_tally all = { .ops = 7, .mallocs = 4, .frees = 2, .resizes = 1,
                         .bytes = 200 + 100 + 800 + 64 }; /* 800 bytes are there */
    replayed r;

    begin_replay(*state, handed_text, &r);
    assert_int_equal(r.script.alignment, 64);
    assert_replay(&r, &shape, 0, all);
    all.failures = 1;
    assert_replay(&r, &tight, 0, all);
    assert_replay(&r, &tight, 1, (replay_tally){ .ops = 3, .mallocs = 3, .failures = 1,
                                                 .bytes = 200 + 100 + 800 }); /* ends there */
    end_replay(&r);
}

UNIT_TEST_WITH(test_who_needs_a_pool_in_common, make_path, remove_path)
{
    replayed r;
    char why[256] = "";

    begin_replay(*state, handed_text, &r);
    assert_true(replay_fits(&r.script, SHPOOL_SCOPE_BLOCK, 2, why, sizeof(why)));
    assert_true(replay_fits(&r.script, SHPOOL_SCOPE_GROUP, 2, why, sizeof(why)));
    assert_false(replay_fits(&r.script, SHPOOL_SCOPE_THREAD, 1, why, sizeof(why)));
    assert_non_null(strstr(why, "thread 1 frees or resizes what thread 0 has"));
    end_replay(&r);
}

/* One thread at a time, so that the records' order is that of all that happened. */
static void turns(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);
    uint32_t r = simt_thread_rank() * 2654435761u + t->number;
    void *held[3] = { NULL, NULL, NULL };

    for (uint32_t i = 0; i < 30 * simt_block_threads(); i++) {
        uint32_t slot = (r >> 28) % 3;

        simt_barrier();
        if (i % simt_block_threads() != simt_thread_rank()) {
            continue;
        }
        r = r * 1664525u + 1013904223u;
        if (held[slot] != NULL) {
            shpool_free(heap, held[slot]);
            held[slot] = NULL;
        } else {
            held[slot] = shpool_malloc(heap, 1 + (r >> 16 & 127));
        }
    }
    shpool_fini(heap);
}

static int is_recorded(const shpool_allocator *allocator)
{
    return ((allocator->caps & (SHPOOL_CAP_SPILL | SHPOOL_CAP_NONE)) == 0) &&
           (allocator->scope != SHPOOL_SCOPE_CLUSTER);
}

/* The same calls again, and the least bytes are the least. */
UNIT_TEST_WITH(test_least_bytes, make_path, remove_path)
{
    static const shpool_config want = { .block_threads = 32, .payload_bytes = 100000 };
    shpool_report_data report;
    replayed r;
    int found = 0;

    record(*state, shpool_allocator_get(1), &want, turns, &report);
    assert_int_equal(report.failures, 0);
    begin_replay(*state, NULL, &r);
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);
        replay_shape shape = { allocator->name, 0, 0 };
        replay_need need;
        replay_tally tally;
        shpool_status status;

        assert_int_equal(replay_bisect(&r.script, &shape, &need), SHPOOL_OK);
        if (!is_recorded(allocator)) {
            assert_int_equal(need.possible, (allocator->caps & SHPOOL_CAP_NONE) == 0);
            continue;
        }
        assert_int_equal(need.possible, 1);
        assert_true(need.bytes >= r.script.peak_bytes);
        shape.total_bytes = need.bytes;
        assert_int_equal(replay_cpu(&r.script, &shape, 0, &tally, NULL), SHPOOL_OK);
        assert_int_equal(tally.failures + tally.refused, 0);
        assert_int_equal(tally.mallocs, report.mallocs);
        assert_int_equal(tally.frees, report.frees);
        shape.total_bytes = need.below;
        assert_true(need.below < need.bytes);
        assert_true(need.bytes - need.below <= 32 * 32);
        status = replay_cpu(&r.script, &shape, 0, &tally, NULL);
        if ((status == SHPOOL_OK) ? (tally.failures == 0) : (status != SHPOOL_ERR_TOO_SMALL)) {
            fail_msg("%s: nothing fails in %u bytes, which were said to be too few",
                     allocator->name, need.below);
        }
        found++;
    }
    assert_true(found >= 8);
    end_replay(&r);
}

UNIT_TEST_WITH(test_failures_are_those_recorded, make_path, remove_path)
{
    static const shpool_config want = { .block_threads = 32, .payload_bytes = 3000 };
    unsigned long long failures = 0;

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        if (is_recorded(shpool_allocator_get(i))) {
            failures += fails_as_recorded(*state, shpool_allocator_get(i), &want, turns);
        }
    }
    assert_true(failures > 50);
}

/* ---- traces that are made to be slow ---- */

#define MANY 100000u

static FILE *begin_long(const trace_trial *t, unsigned records)
{
    FILE *file = fopen(t->path, "w");

    assert_non_null(file);
    fputs(HEAD("2", "2", "1", "1024"), file);
    fprintf(file, "block 0 launch 1 records %u dropped 0\n", records);
    return file;
}

static void read_long(const trace_trial *t, FILE *file, trace_file *trace)
{
    char why[256] = "";

    fputs("end 1\n", file);
    assert_int_equal(fclose(file), 0);
    if (trace_file_read(t->path, trace, why, sizeof(why)) != 0) {
        fail_msg("%s", why);
    }
}

static void read_resets(void *of, unsigned records)
{
    FILE *file = begin_long(of, records);
    trace_file trace;

    for (uint32_t i = 0; i < records / 2; i++) {
        fprintf(file, "m 0 0x0 8 16 16 0\nl 1 0\n");
    }
    read_long(of, file, &trace);
    assert_int_equal(trace.lives[0].count, records);
    for (uint32_t i = 0; i < records; i += 2) {
        assert_int_equal(trace.lives[0].ops[i].end, i + 1);
    }
    trace_file_free(&trace);
}

UNIT_TEST_WITH(test_resets_look_only_at_what_is_live, make_path, remove_path)
{
    assert_linear(read_resets, *state, MANY);
}

static void read_marks(void *of, unsigned records)
{
    FILE *file = begin_long(of, records);
    trace_file trace;

    for (uint32_t i = 0; i < records / 2; i++) {
        fprintf(file, "k 0 %u\n", i);
    }
    for (uint32_t i = 0; i < records / 2; i++) {
        fprintf(file, "l 0 %u\n", i);
    }
    read_long(of, file, &trace);
    trace_file_free(&trace);
}

UNIT_TEST_WITH(test_marks_are_found_at_once, make_path, remove_path)
{
    assert_linear(read_marks, *state, MANY);
}

/* Their kind in the table is GLOBAL, 1. */
static void read_places(void *of, unsigned records)
{
    FILE *file = begin_long(of, records);
    trace_file trace;

    for (uint32_t i = 1; i <= records / 2; i++) {
        fprintf(file, "m 0 g0x%llx 8 16 16 0\n", colliding_place(i, 1));
    }
    for (uint32_t i = 1; i <= records / 2; i++) {
        fprintf(file, "f 0 g0x%llx 0 0\n", colliding_place(i, 1));
    }
    read_long(of, file, &trace);
    assert_int_equal(trace.lives[0].refused, 0);
    trace_file_free(&trace);
}

UNIT_TEST_WITH(test_places_cannot_collide, make_path, remove_path)
{
    assert_linear(read_places, *state, MANY);
}
