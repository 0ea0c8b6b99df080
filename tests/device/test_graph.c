/* SPDX-License-Identifier: BSD-3-Clause */
/* Captured graphs: their memory serves no other requests during their lifetime. */
#include "scene.h"
#include "graph_ways.h"

#include <pthread.h>

/* A capture in pool 7 that uses 3 MiB as a, and frees them again. */
#define GRAPH "pool:7 capture:6 a=3M@6 use:a@6 free:a@6 captured:6 unpool:7 "

static const scene memory_of_captures[] = {
    /* Others work while it is launched.  A violation, if trim returned the memory. */
    { "a graph's memory serves nobody else", "bins",
      GRAPH "b=3M@6 b!=a 10*{ c=3M@0 use:c@0 launch:6 free:c@0 } trim:0 launch:6 done free:b@6 "
      "trim:0 driver_bytes>=1 release:7 driver_bytes=0 release:7!NOT_FOUND" },
    { "memory that a graph leaves live stays until it is freed", "bins",
      "pool:1 capture:6 a=5000@6 captured:6 unpool:1 release:1 use:a@0 check free:a@0 "
      "pending_bytes=5120 done trim:0 driver_bytes=0 free:a@0!INVALID" },
    { "graphs of one pool share memory", "bins", /* the other one holds it */
      GRAPH "pool:7 capture:6 b=3M@6 b==a free:b@6 captured:6 unpool:7 release:7 "
      "driver_bytes>=1 release:7 driver_bytes=0" },
    /* asked in captures only; at last new memory during a capture */
    { "streams that do not capture are not affected", "bins",
      "w=3M@1 free:w@1 forget pair:3M@1 stream_capturing=0 pool:1 capture:6 a=3M@6 b=3M@1 b==w "
      "free:b@1 free:a@6 c=30M@1 captured:6 unpool:1" },
    /* A stream has got memory of another one, whose next block is in use, with an event, which
     * the third one's request makes: during a capture the driver is not asked about that event
     * in a mode that would end the capture. */
    { "a stream that gave memory is not asked during a capture", "bins",
      "a=20M@1 x=100@2 free:a@1 done b=20M@2 b==a a=20M@1 use:a@1 free:a@1 c=40M@3 "
      "event_record>=1 pool:7 capture:6 d=20M@2 use:d@2 captured:6 unpool:7" },
    /* The legacy stream is ordered with blocking ones: an event that is recorded there, a
     * question or a wait ends their captures.  d may not wait for the other stream; from e on
     * it is asked again. */
    { "the legacy stream is left alone while a blocking one captures", "bins:soft=8M",
      "a=3M@0 x=100@1 use:a@0 free:a@0 pool:1 capture:8 y=1000@8 b=3M@1 b!=a use:b@1 free:b@1 "
      "c=3M@1 name:c@0 free:c@1 d=6M@0 free:d@0 captured:8 unpool:1 e=3M@1 use:e@1" },
    { "a stream that captured may be destroyed before the end", "bins",
      "pool:1 capture:6 pair:1000@6 captured:6 retire:6 destroy:6 a=1024M@0!NO_MEMORY "
      "unpool:1" },
    { "a capture gets what is idle", "bins",
      "a0-3=250M@0 free:a0-3@0 pool:1 capture:6 b=600M@6 use:b@6 free:b@6 captured:6 unpool:1 "
      "v?driver_bytes=1000M d?driver_bytes=850M release:1" },
    /* Queries about a stream that was retired before it had finished also wait. */
    { "a retired stream is not asked about during a capture", "bins",
      "b=5000@6 use:b@6 free:b@6 retire:6 pool:1 capture:7 pair:3M@7 captured:7 unpool:1 "
      "release:1" },
    { "wrong pools are refused", "bins",
      "unpool:4!NOT_FOUND pool:4 pool:4!INVALID unpool:4 unpool:4!NOT_FOUND" },
    { "a base without pools", "simple", "pool:4!UNSUPPORTED" },
    /* New memory for a capture without a pool. */
    { "bins", "bins", "capture:6 a=3M@6!CAPTURE 'shpool_device_capture_begin()' pair:3M@0 "
      "captured:6 pair:3M@6" },
    { "stable", "bins:stable=1", "capture:6 a=3M@6!CAPTURE 'shpool_device_capture_begin()' "
      "pair:3M@0 captured:6 pair:3M@6" },
    { "buckets", "buckets",
      "capture:6 a=3M@6!CAPTURE 'use bins or async' pair:3M@0 captured:6 pair:3M@6" },
    { "simple", "simple",
      "capture:6 a=3M@6!CAPTURE 'use bins or async' pair:3M@0 captured:6 pair:3M@6" },
};
SCENES_ON_BOTH(memory_of_captures)

TEST_ON_BOTH(test_a_pool_without_a_name_is_refused)
{
    begin("bins");
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_capture_begin(allocator, 0, 0));
    end();
}

static void *play_here(void *words)
{
    fake_set_current(0);
    play("%s", (const char *)words);
    return NULL;
}

/* Another thread's pools are its own. */
static void play_elsewhere(const char *words)
{
    pthread_t thread;

    assert_int_equal(0, pthread_create(&thread, NULL, play_here, (void *)(uintptr_t)words));
    pthread_join(thread, NULL);
}

/* Another capture, which has no pool, gets memory of the same one; then one more pool is open. */
TEST_ON_BOTH(test_a_capture_stays_with_its_pool)
{
    begin("bins");
    play_elsewhere("pool:1");
    play("capture:6 capture:7 a=3M@6 free:a@6 pair:3M@7");
    play_elsewhere("pool:2");
    play("b=3M@6 b==a captured:7 captured:6");
    end();
}

/* Two threads capture at once.  The thread that opened the first pool allocates for the second
 * capture, whose memory is still there when the first pool is gone. */
TEST_ON_BOTH(test_a_capture_keeps_to_its_pool_whichever_thread_allocates)
{
    begin("bins");
    play("pool:1 capture:6 pair:3M@6");
    play_elsewhere("pool:2 capture:7 pair:3M@7");
    play("a=3M@7 use:a@7 free:a@7 captured:6 captured:7 unpool:1 release:1 launch:7 done unpool:2 "
         "release:2");
    end();
}

/* If the driver fails to tell whether a stream captures, malloc and free fail, and can be
 * repeated. */
TEST_ON_BOTH(test_a_question_that_fails_ends_no_capture)
{
    shpool_stream stream;
    int failed = 1;

    begin("bins");
    stream = stream_of('6');
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
static void finish_capture(trial *t)
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
    case ')': finish_capture(t); break;
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
        finish_capture(&t);
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

/* The driver gives the memory of a graph to its later nodes. */
UNIT_TEST(test_async_orders_streams_within_the_graph)
{
    begin("async");
    play("capture:6 a=3M@6 join:7@6 use:a@7 name:a@7 free:a@1!CAPTURE 'a stream of that capture' "
         "free:a@6 captured:6 launch:6");
    shpool_device_allocator_unref(allocator);
    (void)fake_stop();
    assert_string_equal("", fake_first_violation());
}
