/* SPDX-License-Identifier: BSD-3-Clause */
/* Captured graphs: their memory serves no other requests during their lifetime. */
#include "base_trial.h"
#include "graph_ways.h"

#include <pthread.h>

static shpool_stream stream; /* that captures */

static void begin_with(const char *spec, unsigned flags)
{
    begin(spec);
    stream = fake_stream(0, flags);
}

TEST_ON_BOTH(test_a_graph_s_memory_serves_nobody_else)
{
    void *ptr;
    void *other;
    unsigned graph;

    begin_with("bins", CU_STREAM_NON_BLOCKING);
    graph = capture(stream, 7, &ptr);
    other = get(allocator, 3 * MIB, stream);
    assert_ptr_not_equal(ptr, other);
    for (int i = 0; i < 10; i++) { /* others work while it is launched */
        void *more = get(allocator, 3 * MIB, SHPOOL_STREAM_LEGACY);

        fake_work(SHPOOL_STREAM_LEGACY, more, 3 * MIB);
        fake_launch(graph, stream);
        put(allocator, more, SHPOOL_STREAM_LEGACY);
    }
    assert_ok(shpool_device_trim(allocator, 0));
    fake_launch(graph, stream); /* a violation if trim returned the memory */
    fake_finish_all();
    put(allocator, other, stream);
    assert_ok(shpool_device_trim(allocator, 0));
    assert_true(stats_of(allocator).driver_bytes > 0);
    assert_ok(shpool_device_capture_release(allocator, 7, 1));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_capture_release(allocator, 7, 1));
    end();
}

TEST_ON_BOTH(test_memory_that_a_graph_leaves_live_stays_until_it_is_freed)
{
    void *ptr;

    begin_with("bins", CU_STREAM_NON_BLOCKING);
    assert_ok(shpool_device_capture_begin(allocator, 1, 0));
    fake_capture_begin(stream);
    ptr = get(allocator, 5000, stream);
    (void)fake_capture_end(stream);
    assert_ok(shpool_device_capture_end(allocator, 1, 0));
    assert_ok(shpool_device_capture_release(allocator, 1, 0));
    fake_work(SHPOOL_STREAM_LEGACY, ptr, 5000);
    assert_ok(shpool_device_check(allocator));
    put(allocator, ptr, SHPOOL_STREAM_LEGACY);
    assert_int_equal(5120, stats_of(allocator).pending_bytes);
    fake_finish_all();
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_free(allocator, ptr, NULL));
    end();
}

TEST_ON_BOTH(test_graphs_of_one_pool_share_memory)
{
    void *first;
    void *second;

    begin_with("bins", CU_STREAM_NON_BLOCKING);
    (void)capture(stream, 3, &first);
    (void)capture(stream, 3, &second);
    assert_ptr_equal(first, second);
    assert_ok(shpool_device_capture_release(allocator, 3, 1));
    assert_true(stats_of(allocator).driver_bytes > 0); /* the other one holds it */
    assert_ok(shpool_device_capture_release(allocator, 3, 1));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
    end();
}

static void *open_pool(void *id)
{
    assert_ok(shpool_device_capture_begin(allocator, *(uint64_t *)id, 1));
    return NULL;
}

static void open_pool_elsewhere(uint64_t id)
{
    pthread_t thread;

    assert_int_equal(0, pthread_create(&thread, NULL, open_pool, &id));
    pthread_join(thread, NULL);
}

/* Another capture, which has no pool, gets memory of the same one; then one more pool is open. */
TEST_ON_BOTH(test_a_capture_stays_with_its_pool)
{
    shpool_stream other;
    void *ptr;

    begin_with("bins", CU_STREAM_NON_BLOCKING);
    other = fake_stream(0, CU_STREAM_NON_BLOCKING);
    open_pool_elsewhere(1);
    fake_capture_begin(stream);
    fake_capture_begin(other);
    ptr = get(allocator, 3 * MIB, stream);
    put(allocator, ptr, stream);
    put(allocator, get(allocator, 3 * MIB, other), other);
    open_pool_elsewhere(2);
    assert_ptr_equal(ptr, get(allocator, 3 * MIB, stream));
    (void)fake_capture_end(other);
    (void)fake_capture_end(stream);
    end();
}

TEST_ON_BOTH(test_streams_that_do_not_capture_are_not_affected)
{
    shpool_stream plain;
    void *warm;
    void *ptr;

    begin_with("bins", CU_STREAM_NON_BLOCKING);
    plain = fake_stream(0, CU_STREAM_NON_BLOCKING);
    assert_ok(shpool_device_stream_stable(allocator, plain));
    warm = get(allocator, 3 * MIB, plain);
    put(allocator, warm, plain);
    fake_forget_calls();
    put(allocator, get(allocator, 3 * MIB, plain), plain);
    assert_int_equal(0, fake_calls(FAKE_CALL_stream_capturing)); /* asked in captures only */
    assert_ok(shpool_device_capture_begin(allocator, 1, 2));
    fake_capture_begin(stream);
    ptr = get(allocator, 3 * MIB, stream);
    assert_ptr_equal(warm, get(allocator, 3 * MIB, plain));
    put(allocator, warm, plain);
    put(allocator, ptr, stream);
    assert_non_null(get(allocator, 30 * MIB, plain)); /* new memory during a capture */
    (void)fake_capture_end(stream);
    assert_ok(shpool_device_capture_end(allocator, 1, 2));
    end();
}

/* A stream has got memory of another one, whose next block is in use, with an event: during a
 * capture the driver is not asked about that event in a mode that would end the capture. */
TEST_ON_BOTH(test_a_stream_that_gave_memory_is_not_asked_during_a_capture)
{
    shpool_stream from;
    shpool_stream to;
    void *ptr;

    begin_with("bins", CU_STREAM_NON_BLOCKING);
    from = stable_stream();
    to = stable_stream();
    ptr = get(allocator, 20 * MIB, from);
    put(allocator, ptr, from);
    fake_finish_all();
    assert_ptr_equal(ptr, get(allocator, 20 * MIB, to));
    ptr = get(allocator, 20 * MIB, from);
    fake_work(from, ptr, 4096);
    put(allocator, ptr, from);
    assert_non_null(get(allocator, 40 * MIB, stable_stream())); /* wants it, so it has an event */
    assert_true(fake_calls(FAKE_CALL_event_record) > 0);
    assert_ok(shpool_device_capture_begin(allocator, 7, 1));
    fake_capture_begin(stream);
    ptr = get(allocator, 20 * MIB, to);
    fake_work(to, ptr, 4096);
    assert_int_not_equal(0, fake_capture_end(stream));
    assert_ok(shpool_device_capture_end(allocator, 7, 1));
    end();
}

/* The legacy stream is ordered with blocking ones: an event that is recorded there, a question or a
 * wait ends their captures. */
TEST_ON_BOTH(test_the_legacy_stream_is_left_alone_while_a_blocking_stream_captures)
{
    shpool_stream plain;
    void *old;
    void *ptr;

    begin_with("bins:soft=8M", CU_STREAM_DEFAULT);
    plain = stable_stream();
    old = get(allocator, 3 * MIB, SHPOOL_STREAM_LEGACY);
    fake_work(SHPOOL_STREAM_LEGACY, old, 3 * MIB);
    put(allocator, old, SHPOOL_STREAM_LEGACY);
    assert_ok(shpool_device_capture_begin(allocator, 1, 2));
    fake_capture_begin(stream);
    (void)get(allocator, 1000, stream);
    ptr = get(allocator, 3 * MIB, plain); /* must not reuse memory that the legacy stream freed */
    assert_ptr_not_equal(old, ptr);
    fake_work(plain, ptr, 3 * MIB);
    put(allocator, ptr, plain);
    ptr = get(allocator, 3 * MIB, plain);
    assert_ok(shpool_device_record_stream(allocator, ptr, SHPOOL_STREAM_LEGACY));
    put(allocator, ptr, plain);
    ptr = get(allocator, 6 * MIB, SHPOOL_STREAM_LEGACY); /* may not wait for the other stream */
    put(allocator, ptr, SHPOOL_STREAM_LEGACY);
    (void)fake_capture_end(stream);
    assert_ok(shpool_device_capture_end(allocator, 1, 2));
    ptr = get(allocator, 3 * MIB, plain); /* from now on it is asked again */
    fake_work(plain, ptr, 3 * MIB);
    end();
}

TEST_ON_BOTH(test_a_stream_that_captured_may_be_destroyed_before_the_end)
{
    void *ptr;

    begin_with("bins", CU_STREAM_NON_BLOCKING);
    assert_ok(shpool_device_capture_begin(allocator, 1, 2));
    fake_capture_begin(stream);
    put(allocator, get(allocator, 1000, stream), stream);
    (void)fake_capture_end(stream);
    assert_ok(shpool_device_stream_retire(allocator, stream));
    fake_stream_destroy(stream);
    assert_int_equal(SHPOOL_ERR_NO_MEMORY,
                     shpool_device_malloc(allocator, 1024 * MIB, NULL, &ptr));
    assert_ok(shpool_device_capture_end(allocator, 1, 2));
    end();
}

/* Idle memory outside makes room for a graph's memory. */
TEST_ON_BOTH(test_a_capture_gets_what_is_idle)
{
    void *ptr[4];

    begin_with("bins", CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 4; i++) {
        ptr[i] = get(allocator, 250 * MIB, NULL);
    }
    for (int i = 0; i < 4; i++) {
        put(allocator, ptr[i], NULL);
    }
    assert_ok(shpool_device_capture_begin(allocator, 1, 2));
    fake_capture_begin(stream);
    ptr[0] = get(allocator, 600 * MIB, stream);
    fake_work(stream, ptr[0], 1000);
    put(allocator, ptr[0], stream);
    (void)fake_capture_end(stream);
    assert_ok(shpool_device_capture_end(allocator, 1, 2));
    assert_int_equal((is_virtual() ? 1000 : 600 + 250) * MIB, stats_of(allocator).driver_bytes);
    assert_ok(shpool_device_capture_release(allocator, 1, 2));
    end();
}

/* Queries about a stream that was retired before it had finished also wait. */
TEST_ON_BOTH(test_a_retired_stream_is_not_asked_about_during_a_capture)
{
    shpool_stream retired;
    void *ptr;

    begin_with("bins", CU_STREAM_NON_BLOCKING);
    retired = fake_stream(0, CU_STREAM_NON_BLOCKING);
    ptr = get(allocator, 5000, retired);
    fake_work(retired, ptr, 5000);
    put(allocator, ptr, retired);
    assert_ok(shpool_device_stream_retire(allocator, retired));
    (void)capture(stream, 1, &ptr);
    assert_ok(shpool_device_capture_release(allocator, 1, 1));
    end();
}

/* If the driver fails to tell whether a stream captures, malloc and free fail, and can be
 * repeated. */
TEST_ON_BOTH(test_a_question_that_fails_ends_no_capture)
{
    int failed = 1;

    begin_with("bins", CU_STREAM_NON_BLOCKING);
    for (unsigned long n = 1; failed; n++) {
        void *ptr = NULL;
        unsigned graph;

        assert_ok(shpool_device_capture_begin(allocator, 1, 1));
        fake_capture_begin(stream);
        fake_fail(n, CU_ERROR_INVALID_VALUE);
        if (shpool_device_malloc(allocator, 3 * MIB, stream, &ptr) != SHPOOL_OK) {
            ptr = get(allocator, 3 * MIB, stream);
        }
        fake_work(stream, ptr, 3 * MIB);
        if (shpool_device_free(allocator, ptr, stream) != SHPOOL_OK) {
            put(allocator, ptr, stream);
        }
        failed = fake_failed();
        fake_fail(0, CU_SUCCESS);
        graph = fake_capture_end(stream);
        assert_ok(shpool_device_capture_end(allocator, 1, 1));
        fake_launch(graph, stream);
        assert_ok(shpool_device_capture_release(allocator, 1, 1));
        assert_int_equal(0, live_bytes(allocator));
        assert_string_equal("", fake_first_violation());
        assert_true(n < 100);
    }
    end();
}

/* ---- every way of a block, and who may have its memory next ---- */

typedef struct trial {
    shpool_stream stream[GRAPH_STREAMS];
    size_t bytes;
    void *ptr;          /* the block */
    uint64_t pool;
    unsigned captures;
    int open;
} trial;

static void begin_capture(trial *t, uint64_t pool)
{
    t->pool = pool;
    t->open = 1;
    assert_ok(shpool_device_capture_begin(allocator, pool, 1));
    fake_capture_begin(t->stream[GRAPH_HOME]);
}

/* And the graph is launched, twice, and waited for. */
static void end_capture(trial *t)
{
    unsigned graph = fake_capture_end(t->stream[GRAPH_HOME]);
    const shpool_driver *cu;

    assert_ok(shpool_device_capture_end(allocator, t->pool, 1));
    fake_launch(graph, t->stream[GRAPH_HOME]);
    fake_launch(graph, t->stream[GRAPH_HOME]);
    assert_ok(shpool_driver_get(&cu));
    assert_int_equal(CU_SUCCESS, cu->stream_sync(t->stream[GRAPH_HOME]));
    t->captures++;
    t->open = 0;
}

static const char *step(trial *t, const char *at)
{
    shpool_stream s = strchr("murf", at[0]) ? t->stream[at[1] - '0'] : NULL;
    void *none;

    switch (at[0]) {
    case 'm': t->ptr = get(allocator, t->bytes, s); break;
    case 'u': fake_work(s, t->ptr, t->bytes); break;
    case 'r': assert_ok(shpool_device_record_stream(allocator, t->ptr, s)); break;
    case 'f': put(allocator, t->ptr, s); break;
    case '(': begin_capture(t, 1); break;
    case '[': begin_capture(t, 2); break;
    case ')': end_capture(t); break;
    case '+': fake_capture_join(t->stream[GRAPH_FORKED], t->stream[GRAPH_HOME]); break;
    case '-': fake_capture_join(t->stream[GRAPH_HOME], t->stream[GRAPH_FORKED]); break;
    case 'o':
        assert_int_equal(SHPOOL_ERR_NO_MEMORY,
                         shpool_device_malloc(allocator, (size_t)1 << 40,
                                              t->stream[GRAPH_OUTSIDE], &none));
        break;
    default: fake_finish_all(); break;
    }
    return at + (s != NULL) + 1;
}

/* Every other call, for live memory and for the block, which is free. */
static void try_calls(void *live, void *gone, shpool_stream s)
{
    shpool_device_handle handle;
    void *base;
    size_t bytes;

    assert_ok(shpool_device_base(allocator, live, &base, &bytes));
    assert_ok(shpool_device_record_stream(allocator, live, s)); /* its own */
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED, shpool_device_export(allocator, live, &handle));
    if (gone != live) {
        shpool_status status = shpool_device_free(allocator, gone, s);

        assert_true((status == SHPOOL_ERR_DOUBLE_FREE) || (status == SHPOOL_ERR_INVALID));
        assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_record_stream(allocator, gone, s));
        assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_base(allocator, gone, &base, &bytes));
    }
    assert_ok(shpool_device_trim(allocator, 0));
    assert_ok(shpool_device_check(allocator));
    assert_true(live_bytes(allocator) > 0);
    assert_int_equal(0, stats_of(allocator).driver_bytes < live_bytes(allocator));
}

static void try_way(const graph_way *w, size_t bytes, unsigned ask)
{
    trial t = { .bytes = bytes };
    shpool_stream s;
    void *ptr;

    for (unsigned i = 0; i < GRAPH_STREAMS; i++) {
        t.stream[i] = fake_stream(0, CU_STREAM_NON_BLOCKING);
    }
    for (const char *at = w->steps; *at != '\0';) {
        at = step(&t, at);
    }
    s = t.stream[w->asks[ask] - '0'];
    ptr = get(allocator, bytes, s);
    if ((ptr == t.ptr) != (w->get[ask] == 'y')) {
        fail_msg("%s, %zu bytes: stream %c %s the same memory", w->steps, bytes, w->asks[ask],
                 (ptr == t.ptr) ? "has" : "has not");
    }
    fake_work(s, ptr, bytes);
    try_calls(ptr, t.ptr, s);
    put(allocator, ptr, s);
    if (t.open) {
        end_capture(&t);
    }
    if (fake_violations() > 0) {
        fail_msg("%s, %zu bytes, stream %c: %s", w->steps, bytes, w->asks[ask],
                 fake_first_violation());
    }
    for (unsigned i = 0; i < GRAPH_STREAMS; i++) {
        assert_ok(shpool_device_stream_retire(allocator, t.stream[i]));
    }
    fake_finish_all();
    for (unsigned i = 0; i < t.captures; i++) {
        t.pool = ((i > 0) && (strchr(w->steps, '[') != NULL)) ? 2 : 1;
        assert_ok(shpool_device_capture_release(allocator, t.pool, 1));
    }
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(0, stats_of(allocator).driver_bytes);
}

TEST_ON_BOTH(test_memory_of_a_graph_goes_to_streams_in_order_only)
{
    static const char *const specs[] = { "bins", "bins:stable=1",
                                         "stats|limit:bytes=2000G|lock|bins" };
    static const size_t sizes[] = { 4096, 3 * MIB, 40 * MIB };

    for (size_t s = 0; s < SHPOOL_ARRAY_COUNT(specs) * SHPOOL_ARRAY_COUNT(sizes); s++) {
        for (size_t i = 0; i < GRAPH_WAYS; i++) {
            for (unsigned ask = 0; graph_ways[i].asks[ask] != '\0'; ask++) {
                begin(specs[s % SHPOOL_ARRAY_COUNT(specs)]);
                try_way(&graph_ways[i], sizes[s / SHPOOL_ARRAY_COUNT(specs)], ask);
                end();
            }
        }
    }
}

TEST_ON_BOTH(test_new_memory_for_a_capture_without_a_pool_is_refused)
{
    static const char *const specs[] = { "bins", "bins:stable=1", "buckets", "simple" };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(specs); i++) {
        void *ptr;

        begin_with(specs[i], CU_STREAM_NON_BLOCKING);
        fake_capture_begin(stream);
        assert_int_equal(SHPOOL_ERR_CAPTURE,
                         shpool_device_malloc(allocator, 3 * MIB, stream, &ptr));
        assert_detail((i < 2) ? "shpool_device_capture_begin()" : "use bins or async");
        put(allocator, get(allocator, 3 * MIB, NULL), NULL);
        (void)fake_capture_end(stream);
        put(allocator, get(allocator, 3 * MIB, stream), stream);
        end();
    }
}

/* The driver gives the memory of a graph to its later nodes. */
UNIT_TEST(test_async_orders_streams_within_the_graph)
{
    shpool_stream other;
    shpool_stream outside;
    void *ptr;

    begin_with("async", CU_STREAM_NON_BLOCKING);
    other = fake_stream(0, CU_STREAM_NON_BLOCKING);
    outside = fake_stream(0, CU_STREAM_NON_BLOCKING);
    fake_capture_begin(stream);
    ptr = get(allocator, 3 * MIB, stream);
    fake_capture_join(other, stream);
    fake_work(other, ptr, 3 * MIB);
    assert_ok(shpool_device_record_stream(allocator, ptr, other));
    assert_int_equal(SHPOOL_ERR_CAPTURE, shpool_device_free(allocator, ptr, outside));
    assert_detail("a stream of that capture");
    put(allocator, ptr, stream);
    fake_launch(fake_capture_end(stream), stream);
    shpool_device_allocator_unref(allocator);
    (void)fake_stop();
    assert_string_equal("", fake_first_violation());
}

/* Two threads capture at once; a third one allocates for the second capture. */
static void *capture_too(void *other)
{
    fake_set_current(0);
    assert_ok(shpool_device_capture_begin(allocator, 2, 2));
    fake_capture_begin(other);
    put(allocator, get(allocator, 3 * MIB, other), other);
    return NULL;
}

TEST_ON_BOTH(test_a_capture_keeps_to_its_pool_whichever_thread_allocates)
{
    shpool_stream other;
    pthread_t thread;
    unsigned graph;
    void *ptr;

    begin_with("bins", CU_STREAM_NON_BLOCKING);
    other = fake_stream(0, CU_STREAM_NON_BLOCKING);
    assert_ok(shpool_device_capture_begin(allocator, 1, 1));
    fake_capture_begin(stream);
    put(allocator, get(allocator, 3 * MIB, stream), stream);
    assert_int_equal(0, pthread_create(&thread, NULL, capture_too, other));
    pthread_join(thread, NULL);
    ptr = get(allocator, 3 * MIB, other); /* by the thread that opened the first pool */
    fake_work(other, ptr, 3 * MIB);
    put(allocator, ptr, other);
    (void)fake_capture_end(stream);
    graph = fake_capture_end(other);
    assert_ok(shpool_device_capture_end(allocator, 1, 1));
    assert_ok(shpool_device_capture_release(allocator, 1, 1));
    fake_launch(graph, other); /* its memory is still there */
    fake_finish_all();
    assert_ok(shpool_device_capture_end(allocator, 2, 2));
    assert_ok(shpool_device_capture_release(allocator, 2, 2));
    end();
}

TEST_ON_BOTH(test_wrong_pools_are_refused)
{
    shpool_device_allocator *simple;

    begin_with("bins", CU_STREAM_NON_BLOCKING);
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_capture_begin(allocator, 0, 0));
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_capture_end(allocator, 4, 4));
    assert_ok(shpool_device_capture_begin(allocator, 4, 4));
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_capture_begin(allocator, 4, 4));
    assert_ok(shpool_device_capture_end(allocator, 4, 4));
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_capture_end(allocator, 4, 4));
    open_allocator("simple", 0, &simple);
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED, shpool_device_capture_begin(simple, 4, 4));
    shpool_device_allocator_unref(simple);
    end();
}
