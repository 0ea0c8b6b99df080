/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording where it is easily wrong: bad frees, requests that wait for copies, the order of
 * releases, buffers that are long full, disks that are, children of fork(). */
#include "trace_trial.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <shpool/after.h>
#include <shpool/impl/report/trace.h>

static const shpool_config one = { .block_threads = 1, .payload_bytes = 1024 };

/* ---- requests and frees ---- */

static void bad_frees(void *arg)
{
    trace_trial *t = arg;
    char *base = simt_from_shared(simt_dynamic_base());
    shpool_heap heap = shpool_init(&t->pool, base + 1024);

    shpool_free_at(heap, base, 1);                              /* below */
    shpool_free_at(heap, base + 1024 + 16, 2);                  /* in the counters */
    shpool_free_at(heap, base + 1024 + t->pool.shared_bytes, 3); /* behind */
    shpool_fini(heap);
}

UNIT_TEST_WITH(test_bad_frees_lie_nowhere, make_path, remove_path)
{
    static const recording r = { bad_frees, "", 1, 1, { 1 },
                                 { { "\nf 0 - 1 1\nf 0 - 1 2\nf 0 - 1 3\nend 1\n", 1 } } };

    trace_record(*state, &r);
}

static void wait_for_copies(void *arg)
{
    shpool_heap heap = trace_init(arg);
    shpool_after queue = shpool_after_init(heap, 4);

    for (unsigned i = 0; i < 4; i++) {
        shpool_free_after_group(&queue, shpool_after_malloc(&queue, 700));
    }
    shpool_after_fini(&queue);
    shpool_fini(heap);
}

UNIT_TEST_WITH(test_what_waits_for_copies_has_not_failed, make_path, remove_path)
{
    static const recording r = { wait_for_copies, "", 1, 1, { 1 },
                                 { { "\nw 0 - 700 ", 3 }, { "\nm 0 - ", 0 },
                                   { "\nw 0 0x", 4 },
                                   { "\nm 0 0x", 1 } } }; /* the queue's own memory */

    trace_record(*state, &r);
}

/* ---- marks ---- */

static trace_trial *now; /* simt_explore()'s hooks */
static unsigned impossible;

static void release_and_take(void *arg)
{
    shpool_heap heap = trace_init(arg);

    if (simt_thread_rank() == 0) {
        uint32_t mark = shpool_mark(heap);

        (void)shpool_malloc(heap, 900);
        (void)shpool_release(heap, mark);
    } else {
        (void)shpool_malloc(heap, 800);
    }
    simt_barrier();
    shpool_fini(heap);
}

/* Thread 1 was given what the records say thread 0 still has. */
static int look_at_records(void *arg)
{
    char *buffer = (char *)(size_t)((const shpool_report_data *)now->pool.report)->trace;
    uint32_t *cursor = (uint32_t *)(void *)shpool_trace_cursor(buffer, 0);
    const shpool_trace_head *head = (const shpool_trace_head *)(void *)buffer;
    const shpool_trace_record *records = (const shpool_trace_record *)(const void *)
                                         (buffer + shpool_trace_offset(head->blocks));
    int has = 0;

    for (uint32_t i = 0; i < *cursor; i++) {
        const uint32_t what = records[i].what & 0xffu;

        has |= (what == SHPOOL_TRACE_MALLOC) && (records[i].bytes == 900) && records[i].address;
        has &= what != SHPOOL_TRACE_RELEASE;
        impossible += has && (records[i].bytes == 800) && (records[i].address != 0);
    }
    *cursor = 0;
    return impossible != 0;
}

UNIT_TEST_WITH(test_a_release_is_noted_before_it, make_path, remove_path)
{
    const shpool_config want = { .block_threads = 2, .payload_bytes = 1024,
                                 .threads_per_pool = 2 };
    const simt_bounds bounds = { .preemptions = 2 };
    const simt_hooks hooks = { NULL, look_at_records };

    now = *state;
    impossible = 0;
    trace_open(now, "arena", "", &want);
    assert_int_equal(simt_explore(&now->launch, &bounds, &hooks, release_and_take, now,
                                  &now->result), SHPOOL_OK);
    assert_int_equal(impossible, 0);
    assert_true(now->result.complete && (now->result.schedules > 100));
    assert_int_equal(shpool_simt_close(&now->pool), SHPOOL_OK);
}

/* ---- what has no room ---- */

UNIT_TEST_WITH(test_a_full_buffer_stays_full, make_path, remove_path)
{
    trace_trial *t = *state;
    char *buffer;
    uint32_t *cursor;
    char *text;

    trace_open(t, "bitmap", ",trace_bytes=4K,trace_blocks=1", &one); /* 128 records */
    t->number = 70;
    trace_run(t, trace_pairs);
    buffer = (char *)(size_t)((const shpool_report_data *)t->pool.report)->trace;
    cursor = (uint32_t *)(void *)shpool_trace_cursor(buffer, 0);
    assert_int_equal(*cursor, 140);
    *cursor = 0xfffffffdu; /* as after very long */
    trace_run(t, trace_pairs);
    assert_int_equal(*cursor, 0xfffffffdu);
    text = trace_closed(t);
    assert_int_equal(count_of(text, "\nblock 0 "), 1);
    assert_non_null(strstr(text, " records 128 dropped 4294967165\n"));
    free(text);
}

/* ---- a disk that is full after so many bytes ---- */

/* How the pool closes if no file may have more than `limit` bytes; the file's bytes then. */
static shpool_status close_limited(trace_trial *t, rlim_t limit, off_t *bytes_p)
{
    struct rlimit all;
    struct rlimit less;
    struct stat   about;
    shpool_status status;

    trace_open(t, "bitmap", "", &one);
    t->number = 30;
    trace_run(t, trace_pairs);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    less = all;
    less.rlim_cur = (limit < all.rlim_cur) ? limit : all.rlim_cur;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    status = shpool_simt_close(&t->pool);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_int_equal(stat(t->path, &about), 0);
    *bytes_p = about.st_size;
    return status;
}

UNIT_TEST_WITH(test_a_trace_is_whole_or_empty, make_path, remove_path)
{
    trace_trial *t = *state;
    off_t whole;
    off_t bytes;

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(close_limited(t, RLIM_INFINITY, &whole), SHPOOL_OK);
    assert_true(whole > 500);
    for (off_t limit = 0; limit < whole; limit += 61) {
        assert_int_equal(close_limited(t, (rlim_t)limit, &bytes), SHPOOL_ERR_SYSTEM);
        assert_non_null(strstr(shpool_last_error(), strerror(EFBIG)));
        assert_int_equal(bytes, 0);
    }
    /* the number of the launch has become longer */
    assert_int_equal(close_limited(t, (rlim_t)whole + 4, &bytes), SHPOOL_OK);
    assert_in_range(bytes, whole, whole + 4);
}

/* ---- children ---- */

UNIT_TEST_WITH(test_a_child_neither_writes_nor_locks, make_path, remove_path)
{
    trace_trial *t = *state;
    char *text;
    pid_t idle;
    pid_t closes;

    trace_open(t, "bitmap", "", &one);
    t->number = 2;
    trace_run(t, trace_pairs);
    idle = fork();
    if (idle == 0) {
        pause();
        _exit(0);
    }
    closes = fork();
    if (closes == 0) {
        _exit(shpool_simt_close(&t->pool) != SHPOOL_OK);
    }
    assert_int_equal(waitpid(closes, NULL, 0), closes);
    text = trace_closed(t);
    assert_int_equal(count_of(text, "shpool-trace 3\n"), 1);
    assert_int_equal(count_of(text, "\nend 1\n"), 1);
    free(text);
    trace_open(t, "bitmap", "", &one); /* the child that goes on has no lock */
    assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
    (void)kill(idle, SIGKILL);
    assert_int_equal(waitpid(idle, NULL, 0), idle);
}
