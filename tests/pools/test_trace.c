/* SPDX-License-Identifier: BSD-3-Clause */
/* trace=FILE on the executor: the file has what the kernel did, and no more. */
#include "trace_trial.h"

static const shpool_config small = { .block_threads = 2, .payload_bytes = 2048 };

/* ---- a script, and its lines ---- */

static void script(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);
    static void *handed;

    if (simt_thread_rank() == 0) {
        void *a = log_malloc(t, heap, 100, 16, 7);
        void *b = log_malloc(t, heap, 1, 16, 0);

        handed = log_malloc(t, heap, 40, 64, 0);
        log_free(t, heap, a, 9);
        a = log_malloc(t, heap, 5000, 16, 0);
        if (a != NULL) {
            LOG(t, "5000 of 2048 bytes\n");
        }
        log_free(t, heap, b, 0);
        log_free(t, heap, (char *)handed + 16, 3); /* refused */
    }
    simt_barrier();
    if (simt_thread_rank() == 1) {
        log_free(t, heap, handed, 0);
    }
    shpool_fini(heap);
}

static void test_the_file_has_what_was_done(void **state)
{
    trace_trial *t = *state;
    shpool_config want = small;
    char expected[(1 << 16) + 64];
    char *text;

    want.alignment = 64;
    trace_open(t, "bitmap", "", &want);
    trace_run(t, script);
    assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
    text = trace_text(t->path);
    assert_memory_equal(text, "shpool-trace 2\n", 15);
    assert_non_null(strstr(text, "\nallocator bitmap\nblock_threads 2\nthreads_per_pool 2\npools 1"
                                 "\npool_bytes "));
    assert_non_null(strstr(text, "\nalignment 64\ncheck 0\nspill 0\nblock 0 launch "));
    (void)snprintf(expected, sizeof(expected), "records 8 dropped 0\n%send 1\n", t->log);
    assert_string_equal(strstr(text, "records "), expected);
    free(text);
}

/* With check=1 the places are those that callers have. */
static void test_checked_pools_record_what_callers_have(void **state)
{
    trace_trial *t = *state;
    shpool_config want = small;
    char *text;

    want.alignment = 64;
    trace_open(t, "warp_first_fit", ",check=1", &want);
    trace_run(t, script);
    assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
    text = trace_text(t->path);
    assert_non_null(strstr(text, "\ncheck 1\n"));
    /* the refused free never reached the pool, and is in the report */
    *strstr(t->log + 1, "f 0 ") = '\0';
    assert_memory_equal(strchr(trace_records(text), '\n') + 1, t->log, strlen(t->log));
    free(text);
}

/* ---- resizing, waiting, marks, spilling ---- */

static void resize(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);
    char *ptr = log_malloc(t, heap, 64, 16, 0);
    char *same;

    same = shpool_realloc(heap, ptr, 300); /* no block follows it */
    LOG(t, "r 0 0x%x 300 %zu\n", place_of(t, ptr), shpool_usable_size(heap, same));
    same = shpool_realloc(heap, same, 16);
    LOG(t, "r 0 0x%x 16 %zu\n", place_of(t, ptr), shpool_usable_size(heap, same));
    if (same != ptr) {
        LOG(t, "moved\n");
    }
    if (shpool_malloc_wait(heap, 2048, 3) != NULL) {
        LOG(t, "2048 of 2032 bytes\n");
    }
    LOG(t, "w 0 - 2048 0 16 0\n"); /* nobody else could free */
    log_free(t, heap, same, 0);
    shpool_fini(heap);
}

static void test_resizes_and_waits(void **state)
{
    trace_trial *t = *state;
    shpool_config want = { .block_threads = 1, .payload_bytes = 2048 };
    char *text;

    trace_open(t, "bitmap", "", &want);
    trace_run(t, resize);
    assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
    text = trace_text(t->path);
    strcat(t->log, "end 1\n");
    assert_string_equal(strchr(trace_records(text), '\n') + 1, t->log);
    free(text);
}

static void marks(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);
    uint32_t mark;

    (void)log_malloc(t, heap, 32, 16, 0);
    mark = shpool_mark(heap);
    LOG(t, "k 0 %u\n", mark);
    (void)log_malloc(t, heap, 48, 16, 0);
    (void)shpool_release(heap, mark);
    LOG(t, "l 0 %u\n", mark);
    shpool_fini(heap);
}

static void test_marks(void **state)
{
    trace_trial *t = *state;
    shpool_config want = { .block_threads = 1, .payload_bytes = 2048 };
    char *text;

    trace_open(t, "arena", "", &want);
    trace_run(t, marks);
    assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
    text = trace_text(t->path);
    strcat(t->log, "end 1\n");
    assert_string_equal(strchr(trace_records(text), '\n') + 1, t->log);
    free(text);
}

static void spill(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);
    void *ptr = shpool_malloc(heap, 5000);

    LOG(t, "m 0 g0x%llx 5000 %zu 16 0\n", (unsigned long long)(size_t)ptr,
        shpool_usable_size(heap, ptr));
    if ((t->pool.spill_bytes == 5120) && (shpool_malloc_wait(heap, 100, 2) == NULL)) {
        LOG(t, "w 0 - 100 0 16 0\nw 0 - 100 0 16 0\n");
    }
    shpool_free(heap, ptr);
    LOG(t, "f 0 g0x%llx 0 0\n", (unsigned long long)(size_t)ptr);
    shpool_fini(heap);
}

static void test_what_is_spilled_has_one_record(void **state)
{
    static const char *const specs[][2] = { { "bitmap", ",spill=native" },
                                            { "rbtree", ",spill=arena" }, { "native", "" },
                                            { "native", ",spill=arena,spill_bytes=5K" } };
    trace_trial *t = *state;
    shpool_config want = { .block_threads = 1, .payload_bytes = 2048 };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(specs); i++) {
        char *text;

        trace_open(t, specs[i][0], specs[i][1], &want);
        trace_run(t, spill);
        assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
        text = trace_text(t->path);
        strcat(t->log, "end 1\n");
        assert_string_equal(strchr(trace_records(text), '\n') + 1, t->log);
        free(text);
    }
}

/* ---- which blocks, how many records ---- */

static void pairs(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);

    for (uint32_t i = 0; i < t->number; i++) {
        shpool_free(heap, shpool_malloc(heap, 16));
    }
    shpool_fini(heap);
}

static void test_what_has_no_room_is_counted(void **state)
{
    trace_trial *t = *state;
    char *text;

    trace_open(t, "bitmap", ",trace_bytes=4K,trace_blocks=2", &small); /* 64 records each */
    t->number = 20; /* 2 threads: 80 operations */
    t->launch.grid[0] = 3;
    trace_run(t, pairs);
    assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
    text = trace_text(t->path);
    assert_non_null(strstr(text, "\nblock 0 launch "));
    assert_non_null(strstr(text, "\nblock 1 launch "));
    assert_null(strstr(text, "\nblock 2 launch "));
    assert_non_null(strstr(strstr(text, "\nblock 0"), " records 64 dropped 16\n"));
    assert_non_null(strstr(strstr(text, "\nblock 1"), " records 64 dropped 16\n"));
    assert_non_null(strstr(text, "\nend 2\n"));
    free(text);
}

static void test_each_launch_and_init_is_apart(void **state)
{
    trace_trial *t = *state;
    const char *at;
    char *text;
    int lives = 0;

    trace_open(t, "bitmap", "", &small);
    for (t->number = 1; t->number <= 3; t->number++) {
        trace_run(t, pairs);
    }
    assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
    text = trace_text(t->path);
    for (at = strstr(text, "\nblock 0"); at != NULL; at = strstr(at + 1, "\nblock 0")) {
        char words[40];

        (void)snprintf(words, sizeof(words), " records %d dropped 0\n", 4 * ++lives);
        assert_memory_equal(strstr(at, " records"), words, strlen(words));
    }
    assert_int_equal(lives, 3);
    assert_non_null(strstr(text, "\nend 3\n"));
    free(text);
}

/* ---- any allocator, any schedule: the order is one that can have been ---- */

static void churn(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);
    uint32_t r = simt_thread_rank() * 2654435761u + t->number;
    void *held[3] = { NULL, NULL, NULL };

    for (uint32_t i = 0; i < 40; i++) {
        uint32_t slot = (r >> 28) % 3;

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

typedef struct live {
    unsigned begin;
    unsigned end;
} live;

/* No allocation overlaps a live one; there are as many lines as counted. */
static void expect_an_order(const char *text, const shpool_report_data *report)
{
    static live held[1024];
    size_t count = 0;
    unsigned long long mallocs = 0;
    unsigned long long frees = 0;
    unsigned long long failures = 0;

    for (const char *at = strchr(trace_records(text), '\n') + 1; *at != 'e';
         at = strchr(at, '\n') + 1) {
        unsigned thread, place, bytes, usable;

        if (sscanf(at, "m %u 0x%x %u %u", &thread, &place, &bytes, &usable) == 4) {
            for (size_t i = 0; i < count; i++) {
                if ((place < held[i].end) && (held[i].begin < place + usable)) {
                    fail_msg("overlap at %.30s", at);
                }
            }
            assert_true(count < SHPOOL_ARRAY_COUNT(held));
            held[count++] = (live){ place, place + usable };
            mallocs++;
        } else if (sscanf(at, "f %u 0x%x", &thread, &place) == 2) {
            size_t i = 0;

            while ((i < count) && (held[i].begin != place)) {
                i++;
            }
            if (i == count) {
                fail_msg("nothing is live there: %.30s", at);
            }
            held[i] = held[--count];
            frees++;
        } else {
            assert_int_equal(sscanf(at, "m %u - %u 0 16 0", &thread, &bytes), 2);
            mallocs++;
            failures++;
        }
    }
    assert_int_equal(mallocs, report->mallocs);
    assert_int_equal(frees, report->frees);
    assert_int_equal(failures, report->failures);
}

static void test_the_order_is_one_that_can_have_been(void **state)
{
    trace_trial *t = *state;
    shpool_config want = { .block_threads = 40, .payload_bytes = 3000 };

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if (((allocator->caps & (SHPOOL_CAP_SPILL | SHPOOL_CAP_NONE)) != 0) ||
            (allocator->scope == SHPOOL_SCOPE_CLUSTER)) {
            continue;
        }
        for (t->number = 1; t->number <= 6; t->number++) {
            shpool_report_data report;
            char *text;

            trace_open(t, allocator->name, ",trace_blocks=1", &want);
            t->launch.seed = t->number;
            t->launch.switch_period = t->number;
            trace_run(t, churn);
            assert_int_equal(shpool_simt_report(&t->pool, &report), SHPOOL_OK);
            assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
            text = trace_text(t->path);
            expect_an_order(text, &report);
            free(text);
        }
    }
}

/* ---- what cannot be ---- */

static void test_a_file_that_cannot_be_is_an_error_of_open(void **state)
{
    shpool_pool pool;

    (void)state;
    assert_int_equal(shpool_simt_open("bitmap:trace=/nowhere/at/all", &small, &pool),
                     SHPOOL_ERR_SYSTEM);
    assert_detail("trace=/nowhere/at/all");
    assert_detail("No such file");
    assert_true(is_zeroed(&pool, sizeof(pool)));
    assert_int_equal(shpool_simt_open("bitmap:trace=.", &small, &pool), SHPOOL_ERR_SYSTEM);
    assert_detail("directory");
}

static void test_two_pools_do_not_share_a_file(void **state)
{
    trace_trial *t = *state;
    char spec[256];
    shpool_pool other;

    trace_open(t, "bitmap", "", &small);
    (void)snprintf(spec, sizeof(spec), "rbtree:trace=%s", t->path);
    assert_int_equal(shpool_simt_open(spec, &small, &other), SHPOOL_ERR_SYSTEM);
    assert_detail("another open pool");
    assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
    assert_int_equal(shpool_simt_open(spec, &small, &other), SHPOOL_OK);
    assert_int_equal(shpool_simt_close(&other), SHPOOL_OK);
}

static void test_a_full_disk_is_an_error_of_close(void **state)
{
    shpool_pool pool;

    (void)state;
    if (access("/dev/full", W_OK) != 0) {
        skip();
    }
    assert_int_equal(shpool_simt_open("bitmap:trace=/dev/full", &small, &pool), SHPOOL_OK);
    assert_int_equal(shpool_simt_close(&pool), SHPOOL_ERR_SYSTEM);
    assert_detail("No space");
    assert_true(is_zeroed(&pool, sizeof(pool)));
}

static void test_bad_options(void **state)
{
    static const char *const cases[][2] = {
        { "bitmap:trace=x,trace_bytes=1", "4K to 1G" },
        { "bitmap:trace=x,trace_bytes=many", "4K to 1G" },
        { "bitmap:trace=x,trace_blocks=0", "1 to 1024" },
        { "bitmap:trace=x,trace_blocks=1025", "1 to 1024" },
        { "bitmap:trace=x,trace_bytes=4K,trace_blocks=1000", "is too small for a record of each" },
        { "cluster_bitmap:trace=x", "scope cluster" },
        { "bitmap:trace=", "a value" },
        { "bitmap:tracer=x", "did you mean \"trace\"" },
    };
    shpool_pool pool;

    (void)state;
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        assert_int_not_equal(shpool_simt_open(cases[i][0], &small, &pool), SHPOOL_OK);
        assert_detail(cases[i][1]);
    }
    assert_int_not_equal(access("x", F_OK), 0);
}

/* Planning makes no file, and other pools know nothing of one. */
static void test_planning_makes_no_file(void **state)
{
    trace_trial *t = *state;
    char spec[256];
    shpool_pool pool;

    (void)unlink(t->path);
    (void)snprintf(spec, sizeof(spec), "bitmap:trace=%s", t->path);
    assert_int_equal(shpool_plan(spec, &small, &pool), SHPOOL_OK);
    assert_int_not_equal(access(t->path, F_OK), 0);
    assert_true((pool.flags & SHPOOL_FLAG_TRACE) != 0);
    assert_true((pool.flags & SHPOOL_FLAG_STATS) != 0);
    assert_null(pool.trace);
    assert_int_equal(shpool_plan("bitmap:stats=1", &small, &pool), SHPOOL_OK);
    assert_true((pool.flags & SHPOOL_FLAG_TRACE) == 0);
}

#define TRIAL(_test) cmocka_unit_test_setup_teardown(_test, make_path, remove_path)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TRIAL(test_the_file_has_what_was_done),
        TRIAL(test_checked_pools_record_what_callers_have),
        TRIAL(test_resizes_and_waits),
        TRIAL(test_marks),
        TRIAL(test_what_is_spilled_has_one_record),
        TRIAL(test_what_has_no_room_is_counted),
        TRIAL(test_each_launch_and_init_is_apart),
        TRIAL(test_the_order_is_one_that_can_have_been),
        TRIAL(test_a_file_that_cannot_be_is_an_error_of_open),
        TRIAL(test_two_pools_do_not_share_a_file),
        TRIAL(test_a_full_disk_is_an_error_of_close),
        TRIAL(test_bad_options),
        TRIAL(test_planning_makes_no_file),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
