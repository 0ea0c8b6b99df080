/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces with requests of groups: read, and replayed by as many lanes. */
#include "replay_trial.h"

/* ---- reading ---- */

UNIT_TEST_WITH(test_operations_know_their_members, make_path, remove_path)
{
    static const uint32_t threads[] = { 5, 0, 8, 64, 32, 0, 32, 0, 64, 69, 0, 5 };
    static const uint32_t members[] = { 1, 32, 8, 8, 32, 72, 32, 72, 8, 8, 72, 1 };
    trace_trial *t = *state;
    trace_sums sums;
    trace_file trace;

    read_text(t->path, groups_text, &trace);
    assert_int_equal(trace.lives[0].count, SHPOOL_ARRAY_COUNT(threads));
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(threads); i++) {
        assert_int_equal(trace.lives[0].ops[i].thread, threads[i]);
        assert_int_equal(trace.lives[0].ops[i].members, members[i]);
    }
    assert_int_equal(trace.lives[0].ops[4].kind, TRACE_SKIP);
    trace_file_sums(&trace, &sums);
    assert_int_equal(sums.groups, 9);
    assert_int_equal(sums.waits, 1);
    trace_file_free(&trace);
}

/* The attempts of a thread and of a group that it leads are two requests. */
UNIT_TEST_WITH(test_waits_of_groups, make_path, remove_path)
{
    static const char *const text = HEAD_OF("2", "64", "64", "1", "1024")
        "block 0 launch 1 records 4 dropped 0\n"
        "w 8 - 900 0 16 0\nw 8+7 - 900 0 16 0\nw 8+7 - 900 0 16 0\nm 8+7 0x0 900 912 16 0\nend 1\n";
    trace_trial *t = *state;
    trace_sums sums;
    trace_file trace;

    read_text(t->path, text, &trace);
    trace_file_sums(&trace, &sums);
    assert_int_equal(sums.waits, 2);
    assert_int_equal(sums.failures, 1);
    assert_int_equal(sums.groups, 1);
    trace_file_free(&trace);
}

UNIT_TEST_WITH(test_groups_that_cannot_be, make_path, remove_path)
{
    static const struct {
        const char *thread;
        const char *why;
    } cases[] = {
        { "0+72", "\"72\"" },   { "72+1", "\"72\"" },  { "0+", "\"\"" },    { "+7", "\"\"" },
        { "8+7+7", "\"7+7\"" }, { "8+-1", "\"-1\"" },  { "8-15", "\"8-15\"" },
        { "64+8", "thread 64 and 8 more: the block has 8 threads in this warp" },
    };
    trace_trial *t = *state;

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        const char *at = strstr(groups_text, "8+7");
        char text[2048];
        char why[512];
        trace_file trace;

        (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - groups_text), groups_text,
                       cases[i].thread, at + 3);
        put_text(t->path, text, strlen(text));
        assert_int_equal(trace_file_read(t->path, &trace, why, sizeof(why)), -1);
        if ((strstr(why, cases[i].why) == NULL) || (strstr(why, "line 15: ") == NULL)) {
            fail_msg("%s for \"%s\"", why, cases[i].thread);
        }
    }
}

/* ---- replaying ---- */

/* Which lanes make the calls, and which calls each thread takes part in. */
UNIT_TEST_WITH(test_scripts_of_groups, make_path, remove_path)
{
    static const uint32_t lanes[] = { 0x20u, ~0u, 0xff00u, 0xffu, ~0u, ~0u, ~0u, 0xffu, 0xffu, ~0u,
                                      0x20u };
    static const uint32_t firsts[] = { 5, 0, 8, 64, 0, 32, 0, 64, 64, 0, 5 };
    static const uint32_t steps_of_5[] = { 0, 1, 4, 6, 9, 10 };
    static const uint32_t steps_of_8[] = { 1, 2, 4, 6, 9 };
    replayed r;
    const replay_script *script = &r.script;

    begin_replay(*state, groups_text, &r);
    assert_int_equal(script->count, 11);
    for (uint32_t i = 0; i < script->count; i++) {
        assert_int_equal(script->ops[i].lanes, lanes[i]);
        assert_int_equal(script->ops[i].what >> 16, firsts[i]);
    }
    assert_int_equal(script->begin[6] - script->begin[5], 6);
    assert_memory_equal(&script->steps[script->begin[5]], steps_of_5, sizeof(steps_of_5));
    assert_int_equal(script->begin[9] - script->begin[8], 5);
    assert_memory_equal(&script->steps[script->begin[8]], steps_of_8, sizeof(steps_of_8));
    assert_int_equal(script->begin[41] - script->begin[40], 1); /* warp 1 */
    assert_int_equal(script->begin[72], 5 * 32 + 4 * 8 + 2);
    end_replay(&r);
}

static int is_tried(const shpool_allocator *allocator)
{
    return ((allocator->caps & (SHPOOL_CAP_SPILL | SHPOOL_CAP_NONE)) == 0) &&
           ((allocator->caps & SHPOOL_CAP_FREE) != 0) && (allocator->scope >= SHPOOL_SCOPE_GROUP);
}

/* Threads and groups share a warp: each call is made once, by all its lanes, in its turn. */
UNIT_TEST_WITH(test_a_replay_of_groups, make_path, remove_path)
{
    const unsigned long long before = 64 + 256 + 128 + 64 + 4000; /* bytes up to the block's */
    replayed r;
    size_t tried = 0;

    begin_replay(*state, groups_text, &r);
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const char *name = shpool_allocator_get(i)->name;
        const replay_shape shape = { name, 72, 16384 };
        const replay_shape tight = { name, 72, 3500 };
        replay_tally all = { .ops = 11, .mallocs = 7, .frees = 3, .resizes = 1,
                             .bytes = before + 512 + 1024 };

        if (is_tried(shpool_allocator_get(i))) {
            assert_replay(&r, &shape, 0, all);
            all.failures = 1; /* the block's 4000 bytes */
            assert_replay(&r, &tight, 0, all);
            assert_replay(&r, &tight, 1, (replay_tally){ .ops = 5, .mallocs = 5, .failures = 1,
                                                         .bytes = before }); /* ends there */
            tried++;
        }
    }
    assert_true(tried >= 4);
    end_replay(&r);
}

/* A recorded replay has the same calls by the same lanes.  The block's calls are made by its first
 * warp, and memory that it gets in place of a failure is freed immediately; the free of threads
 * from 69 on is that of the warp of 8. */
UNIT_TEST_WITH(test_a_replay_has_the_same_records, make_path, remove_path)
{
    static const char *const expected[] = {
        "m 5 ", "m 0+31 ", "m 8+7 ", "m 64+7 ", "m 0+31 ", "f 0+31 ", "m 32+31 ", "m 0+31 ",
        "r 64+7 ", "f 64+7 ", "f 0+31 ", "f 5 ", "end 1" };
    trace_trial *t = *state;
    char spec[128];
    char path[80];
    const replay_shape shape = { spec, 0, 16384 };
    replay_tally tally;
    replayed r;
    const char *at;
    char *text;

    begin_replay(t, groups_text, &r);
    (void)snprintf(path, sizeof(path), "%s.2", t->path);
    (void)snprintf(spec, sizeof(spec), "bitmap:trace=%s", path);
    assert_int_equal(replay_cpu(&r.script, &shape, 0, &tally, NULL), SHPOOL_OK);
    text = trace_text(path);
    (void)unlink(path);
    at = trace_records(text);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(expected); i++) {
        at = strchr(at, '\n') + 1;
        if (strncmp(at, expected[i], strlen(expected[i])) != 0) {
            fail_msg("\"%s\" is not record %zu of %s", expected[i], i, text);
        }
    }
    free(text);
    end_replay(&r);
}

/* Groups that overlap, and threads in between: no call waits for ever. */
UNIT_TEST_WITH(test_groups_that_overlap, make_path, remove_path)
{
    enum { RECORDS = 600 };
    static const char *const who[] = { "0+31", "3+7",  "4+1",  "7",    "0+39", "32+7", "31", "9+22",
                                       "0+1",  "38+1", "16+15", "1+30", "39",  "33+3", "0" };
    trace_trial *t = *state;
    const replay_shape shape = { "bitmap", 0, 100000 };
    FILE *file = fopen(t->path, "w");
    replayed made;
    uint32_t r = 1;

    assert_non_null(file);
    fprintf(file, HEAD_OF("2", "40", "40", "1", "60000") "block 0 launch 1 records %u dropped 0\n",
            2 * RECORDS);
    for (uint32_t i = 0; i < 2 * RECORDS; i++) {
        const char *name = who[r % SHPOOL_ARRAY_COUNT(who)];

        r = (r * 1664525u + 1013904223u) >> 1;
        if (i < RECORDS) {
            fprintf(file, "m %s 0x%x 50 64 16 0\n", name, 64 * i);
        } else {
            fprintf(file, "f %s 0x%x 0 0\n", name, 64 * (i - RECORDS));
        }
    }
    fputs("end 1\n", file);
    assert_int_equal(fclose(file), 0);
    begin_replay(t, NULL, &made);
    assert_replay(&made, &shape, 0, (replay_tally){ .ops = 2 * RECORDS, .mallocs = RECORDS,
                                                    .frees = RECORDS, .bytes = 50 * RECORDS });
    end_replay(&made);
}

UNIT_TEST_WITH(test_pools_of_groups, make_path, remove_path)
{
    static const struct {
        const char *records;
        uint32_t share;
        const char *why; /* NULL: it can be */
    } rows[] = {
        { "m 8+7 0x0 16 16 16 0\nf 8+7 0x0 0 0\n", 1, NULL },
        { "m 8+7 0x0 16 16 16 0\nf 0+31 0x0 0 0\n", 1, NULL }, /* thread 8 is one of them */
        { "m 8+7 0x0 16 16 16 0\nf 9+7 0x0 0 0\n", 8, NULL },
        { "m 8+7 0x0 16 16 16 0\nf 9+7 0x0 0 0\n", 1,
          "lanes 9-16 of warp 0 frees or resizes what lanes 8-15 of warp 0 has" },
        { "m 8+7 0x0 16 16 16 0\nf 32+31 0x0 0 0\n", 32,
          "warp 1 frees or resizes what lanes 8-15 of warp 0 has" },
        { "m 8+7 0x0 16 16 16 0\nr 0+31 0x0 8 16\n", 1,
          "warp 0 frees or resizes what lanes 8-15 of warp 0 has" }, /* moves to thread 0's pool */
        { "m 8+7 0x0 16 16 16 0\nf 9 0x0 0 0\n", 1, "thread 9 frees or resizes what lanes" },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        char text[512];
        char why[256] = "";
        replayed r;
        int fits;

        (void)snprintf(text, sizeof(text), HEAD_OF("2", "64", "64", "1", "1024")
                       "block 0 launch 1 records 2 dropped 0\n%send 1\n", rows[i].records);
        begin_replay(*state, text, &r);
        fits = replay_fits(&r.script, SHPOOL_SCOPE_GROUP, rows[i].share, why, sizeof(why));
        if ((fits != (rows[i].why == NULL)) || (!fits && (strstr(why, rows[i].why) == NULL))) {
            fail_msg("row %zu: %d, \"%s\"", i, fits, why);
        }
        assert_true(replay_fits(&r.script, SHPOOL_SCOPE_BLOCK, 64, why, sizeof(why)));
        end_replay(&r);
    }
}

/* ---- from a recording to its replay ---- */

/* As a replay calls it: a group of one is a thread, and asks where a thread asks. */
static void *get(shpool_heap heap, uint32_t lanes, size_t bytes)
{
    return (lanes & (lanes - 1u)) ? shpool_malloc_lanes(heap, lanes, bytes)
                                  : shpool_malloc(heap, bytes);
}

/* Warps, tiles and threads by turns, so that the records' order is that of all that happened. */
static void churn(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);
    const uint32_t rank = simt_thread_rank();
    const uint32_t tile = simt_mask(simt_lane() / 8 * 8, 8);
    uint32_t r = t->number;
    void *held[16] = { NULL }; /* the same in all threads that have any of it */

    for (uint32_t i = 0; i < 200; i++) {
        const uint32_t slot = (r >> 24) % 16;
        const uint32_t turn = slot % 8; /* warp 0 or 1, tiles 0..3, threads 8 and 9 */
        const uint32_t mine = (turn < 2) ? (simt_warp() == turn) : (turn < 6)
                                  ? (rank / 8 == turn - 2) : (rank == turn + 2);
        const uint32_t lanes = (turn < 2) ? ~0u : (turn < 6) ? tile : 1u << simt_lane();

        r = r * 1664525u + 1013904223u;
        simt_barrier();
        if (mine && (held[slot] != NULL)) {
            shpool_free_lanes(heap, lanes, held[slot]);
            held[slot] = NULL;
        } else if (mine) {
            held[slot] = get(heap, lanes, 1 + (r >> 16 & 511));
        }
    }
    shpool_fini(heap);
}

UNIT_TEST_WITH(test_failures_are_those_recorded, make_path, remove_path)
{
    static const shpool_config want = { .block_threads = 64, .payload_bytes = 2048,
                                        .threads_per_pool = 64 };
    unsigned long long failures = 0;

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if (is_tried(allocator) && (allocator->scope != SHPOOL_SCOPE_CLUSTER)) {
            failures += fails_as_recorded(*state, allocator, &want, churn);
        }
    }
    assert_true(failures > 10);
}

/* Requesters, in messages and pictures. */
UNIT_TEST(test_names)
{
    static const struct {
        uint32_t thread;
        uint32_t members;
        uint32_t threads;
        const char *name;
    } rows[] = {
        { 0, 1, 1, "thread 0" },           { 1023, 1, 1024, "thread 1023" },
        { 32, 32, 64, "warp 1" },          { 32, 8, 40, "warp 1" },
        { 32, 7, 40, "lanes 0-6 of warp 1" }, { 8, 8, 64, "lanes 8-15 of warp 0" },
        { 30, 2, 64, "lanes 30-31 of warp 0" }, { 0, 20, 20, "warp 0" },
        { 5, 32, 64, "warp 0" },           { 62, 8, 64, "lanes 24-31 of warp 1" },
        { 39, 4, 40, "lanes 4-7 of warp 1" }, { 0, 33, 33, "the block" },
        { 3, 1024, 1024, "the block" },    { 32, 31, 1024, "lanes 0-30 of warp 1" },
    };
    char name[TRACE_WHO_BYTES];

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        const trace_threads who = trace_threads_of(rows[i].thread, rows[i].members,
                                                   rows[i].threads);

        assert_string_equal(trace_who(rows[i].thread, rows[i].members, rows[i].threads, name),
                            rows[i].name);
        assert_true(who.first + who.count <= rows[i].threads);
        assert_int_equal(who.count, rows[i].members);
    }
}
