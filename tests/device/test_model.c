/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random operations on an allocator over the fake driver, against a model: live allocations never
 * overlap, and work on an allocation is ordered after all work of those that had the memory before.
 */
#include "trial.h"

#include "device/base/page_map.h"

#define SLOTS      300u
#define STREAMS    12u
#define OPERATIONS (1000000u / UNIT_STEP)
#define NEW_STREAMS 150u

typedef struct slot {
    char *ptr;
    size_t bytes;
    shpool_stream stream; /* whose work on it came last, ordered after all before it */
    char *base;           /* from shpool_device_base() when it was allocated, or NULL */
    size_t reach;
} slot;

typedef struct model {
    shpool_device_allocator *allocator;
    const shpool_driver *cu;
    uint64_t random;
    slot live[SLOTS];
    shpool_stream stream[STREAMS];
    int stable[STREAMS];
    unsigned created;
    int large;            /* most requests are */
    shpool_event event;
    unsigned long mallocs;
    unsigned long failures;
} model;

static uint32_t draw(model *m, uint32_t below)
{
    m->random = m->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((m->random >> 33) % below);
}

static size_t draw_bytes(model *m)
{
    uint32_t kind = draw(m, 1000);

    if (m->large) {
        return 1 + draw(m, (kind < 500) ? 1000000u : (kind < 900) ? 8000000u : 40000000u);
    }
    if (kind < 700) {
        return 1 + draw(m, 1u << (6 + draw(m, 8)));
    }
    if (kind < 980) {
        return 1 + draw(m, 200000);
    }
    return 1 + draw(m, (kind < 998) ? 4000000u : 24000000u);
}

/* The calls of a program before it uses memory on another stream. */
static void order(model *m, shpool_stream from, shpool_stream to)
{
    if (from != to) {
        assert_int_equal(CU_SUCCESS, m->cu->event_record(m->event, from));
        assert_int_equal(CU_SUCCESS, m->cu->stream_wait(to, m->event, 0));
    }
}

static void check_overlap(const model *m, const slot *fresh)
{
    assert_int_equal(0, (uintptr_t)fresh->ptr % SHPOOL_DEVICE_ALIGNMENT);
    for (unsigned i = 0; i < SLOTS; i++) {
        const slot *s = &m->live[i];

        if ((s != fresh) && (s->ptr != NULL) && (s->ptr < fresh->ptr + fresh->bytes) &&
            (fresh->ptr < s->ptr + s->bytes)) {
            fail_msg("%p of %zu bytes lies over %p of %zu", (void *)fresh->ptr, fresh->bytes,
                     (void *)s->ptr, s->bytes);
        }
    }
}

static void check_mapped(const slot *s, const char *at)
{
    if (fake_access(at) == 0) {
        fail_msg("%p, of %zu bytes from %p around %p, is not mapped", (void *)at, s->reach,
                 (void *)s->base, (void *)s->ptr);
    }
}

/* A registration needs all of what shpool_device_base() told for a slot, as long as it is live. */
static void check_base(const slot *s)
{
    for (size_t at = 0; at < s->reach; at += SHPOOL_PAGE_BYTES) {
        check_mapped(s, s->base + at);
    }
    check_mapped(s, s->base + s->reach - 1);
}

static void ask_base(const model *m, slot *s)
{
    void *base;

    assert_ok(shpool_device_base(m->allocator, s->ptr + s->bytes - 1, &base, &s->reach));
    s->base = base;
    assert_true((s->base <= s->ptr) && (s->ptr + s->bytes <= s->base + s->reach));
    check_base(s);
}

static void do_malloc(model *m, slot *s)
{
    void *ptr = NULL;
    /* few streams, so that there is memory that moves */
    shpool_stream stream = m->stream[draw(m, m->large ? 3 : STREAMS)];
    size_t bytes = draw_bytes(m);
    shpool_status status = shpool_device_malloc(m->allocator, bytes, stream, &ptr);

    if (status != SHPOOL_OK) {
        /* the injected failure may have hit a call that is unrelated to memory */
        assert_true((status == SHPOOL_ERR_NO_MEMORY) ||
                    (fake_failed() && (status == SHPOOL_ERR_CUDA)));
        assert_null(ptr);
        m->failures++;
        return;
    }
    m->mallocs++;
    *s = (slot){ .ptr = ptr, .bytes = bytes, .stream = stream };
    check_overlap(m, s);
    fake_work(stream, ptr, bytes);
    if (m->large || (draw(m, 64) == 0)) {
        ask_base(m, s);
    }
}

/* On its stream, on another one that was ordered, or with a user that was only named. */
static void do_free(model *m, slot *s)
{
    shpool_stream other = m->stream[draw(m, m->large ? 3 : STREAMS)];
    uint32_t kind = draw(m, 10);

    if (kind >= 7) {
        order(m, s->stream, other);
        fake_work(other, s->ptr, s->bytes);
        if (kind == 9) {
            assert_int_equal(SHPOOL_OK,
                             shpool_device_record_stream(m->allocator, s->ptr, other));
        } else {
            s->stream = other;
        }
    }
    if (s->base != NULL) {
        check_base(s);
    }
    assert_int_equal(SHPOOL_OK, shpool_device_free(m->allocator, s->ptr, s->stream));
    s->ptr = NULL;
}

static void do_new_stream(model *m)
{
    unsigned at = 2 + draw(m, STREAMS - 2);
    shpool_stream old = m->stream[at];

    if (m->created == NEW_STREAMS) {
        return;
    }
    m->created++;
    for (unsigned i = 0; i < SLOTS; i++) { /* no allocation may still use it */
        if ((m->live[i].ptr != NULL) && (m->live[i].stream == old)) {
            order(m, old, m->stream[0]);
            m->live[i].stream = m->stream[0];
        }
    }
    /* a stream that was not said to be stable may go without notice */
    if (m->stable[at] || (draw(m, 2) == 0)) {
        assert_int_equal(SHPOOL_OK, shpool_device_stream_retire(m->allocator, old));
    }
    fake_stream_destroy(old);
    m->stream[at] = fake_stream(0, draw(m, 2) ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
    m->stable[at] = (int)draw(m, 2);
    if (m->stable[at]) {
        assert_int_equal(SHPOOL_OK, shpool_device_stream_stable(m->allocator, m->stream[at]));
    }
}

static void do_rare(model *m)
{
    switch (draw(m, 8)) {
    case 0:
        fake_fail(0, CU_SUCCESS); /* not in the test's own order() */
        do_new_stream(m);
        break;
    case 1:
        assert_int_equal(SHPOOL_OK, shpool_device_trim(m->allocator, draw(m, 64) << 20));
        break;
    case 2:
        fake_fail(1 + draw(m, 50), CU_ERROR_OUT_OF_MEMORY);
        break;
    case 3:
        fake_fail(0, CU_SUCCESS);
        break;
    case 4:
        fake_finish_all();
        break;
    case 5:
        fake_limit(0, (uint64_t)(64 + draw(m, 192)) << 20);
        break;
    default:
        fake_finish(m->stream[draw(m, STREAMS)]);
        break;
    }
}

static void start(model *m, const char *spec, int large)
{
    memset(m, 0, sizeof(*m));
    m->random = 1;
    m->large = large;
    fake_start(1, 256u << 20);
    fake_set_current(0);
    open_allocator(spec, 0, &m->allocator);
    assert_int_equal(SHPOOL_OK, shpool_driver_get(&m->cu));
    assert_int_equal(CU_SUCCESS, m->cu->event_create(&m->event, 0));
    m->stream[0] = SHPOOL_STREAM_LEGACY;
    m->stream[1] = SHPOOL_STREAM_PER_THREAD;
    for (unsigned i = 2; i < STREAMS; i++) {
        m->stream[i] = fake_stream(0, (i % 2) ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
        m->stable[i] = (i % 3 == 0);
        if (m->stable[i]) {
            assert_int_equal(SHPOOL_OK,
                             shpool_device_stream_stable(m->allocator, m->stream[i]));
        }
    }
}

static void stop(model *m)
{
    fake_held held;

    fake_fail(0, CU_SUCCESS);
    for (unsigned i = 0; i < SLOTS; i++) {
        if (m->live[i].ptr != NULL) {
            do_free(m, &m->live[i]);
        }
    }
    assert_int_equal(SHPOOL_OK, shpool_device_check(m->allocator));
    assert_int_equal(0, live_bytes(m->allocator));
    assert_int_equal(CU_SUCCESS, m->cu->event_destroy(m->event));
    shpool_device_allocator_unref(m->allocator);
    held = fake_stop();
    assert_int_equal(0, held.bytes);
    assert_int_equal(0, held.events);
    assert_int_equal(0, held.pools);
    assert_int_equal(0, held.ranges);
}

static void run_sizes(const char *spec, unsigned operations, unsigned long least, int large)
{
    model m;

    start(&m, spec, large);
    for (unsigned i = 0; i < operations; i++) {
        slot *s = &m.live[draw(&m, SLOTS)];

        if (draw(&m, 200) == 0) {
            do_rare(&m);
        } else if (s->ptr == NULL) {
            do_malloc(&m, s);
        } else {
            fake_fail(0, CU_SUCCESS); /* not in the test's own order() */
            do_free(&m, s);
        }
        if (fake_violations() > 0) {
            fail_msg("operation %u of %s: %s", i, spec, fake_first_violation());
        }
        if (i % (large ? 100 : 5000) == 0) {
            assert_int_equal(SHPOOL_OK, shpool_device_check(m.allocator));
        }
    }
    assert_true(m.mallocs >= least / UNIT_STEP);
    stop(&m);
}

static void run(const char *spec, unsigned operations, unsigned long least)
{
    run_sizes(spec, operations, least, 0);
}

/* Memory moves for most requests, and many of them are windows. */
UNIT_TEST(test_bins_moves_memory_in_order)
{
    run_sizes("bins:memory=vmm,wait=0", OPERATIONS / 100, 1000, 1);
    run_sizes("bins:memory=vmm,wait=0,granules=8", OPERATIONS / 100, 1000, 1);
    run_sizes("bins:memory=vmm,wait=0,reuse=done", OPERATIONS / 100, 1000, 1);
    run_sizes("bins:share=1", OPERATIONS / 200, 500, 1);
}

UNIT_TEST(test_bins_keeps_the_order_of_streams)
{
    run("bins:memory=driver", OPERATIONS / 2, 125000);
    run("bins:memory=vmm", OPERATIONS / 2, 125000);
    run("bins:memory=vmm,granules=8", OPERATIONS / 4, 62500);
}

UNIT_TEST(test_bins_with_every_option)
{
    run("bins:reuse=same", OPERATIONS / 10, 1000);
    run("bins:memory=driver,reuse=done,slab=16M", OPERATIONS / 20, 1000);
    run("bins:memory=driver,soft=32M,capacity=16M", OPERATIONS / 20, 1000);
    run("bins:nvtx=1,capacity=16M", OPERATIONS / 50, 1000);
    run("bins:memory=vmm,reuse=done", OPERATIONS / 20, 1000);
    run("bins:memory=vmm,soft=32M,capacity=16M", OPERATIONS / 20, 1000);
}

UNIT_TEST(test_simple_keeps_the_order_of_streams)
{
    run("simple", OPERATIONS / 100, 1000);
}

UNIT_TEST(test_buckets_keeps_the_order_of_streams)
{
    run("buckets", OPERATIONS / 10, 1000);
    run("buckets:mode=total,capacity=32M", OPERATIONS / 10, 1000);
}

UNIT_TEST(test_async_keeps_the_order_of_streams)
{
    run("async", OPERATIONS / 100, 1000);
}

UNIT_TEST(test_layers_keep_the_order_of_streams)
{
    run("stats|limit:bytes=4G|lock|fault:every=100|bins", OPERATIONS / 10, 1000);
    run("guard", OPERATIONS / 50, 1000);
}
