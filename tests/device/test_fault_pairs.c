/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two calls of the driver fail, or host memory and a call, each in turn and at each distance: an
 * allocator reports at its end what it could not return, no operation is half done, and everything
 * else continues.
 *
 * Each run derives its workload from its own seed, so that the failing calls coincide in many
 * places.
 */
#include "trial.h"

#include <stdlib.h>

#include "tests/wrapped.h"

#include "tests/device/fake/state.h"

#define MIB        ((size_t)1 << 20)
#define SLOTS      10u
#define OPERATIONS 60u
#define STREAMS    4u
#define FARTHEST   4u /* calls from the first failure to the second */
#define TRIES      3u /* two failures, and no more */

/* ---- host memory that fails ---- */

static unsigned long host_fail_in; /* 0: none does */
static unsigned long host_then;    /* the driver's call after it that fails, too; 0: none */
static int host_failed;

/* 1: this one is to fail.  The fake driver's own, made with its lock held, never do. */
static int fails(void)
{
    if ((host_fail_in == 0) || (pthread_mutex_trylock(&fake_lock) != 0)) {
        return 0;
    }
    pthread_mutex_unlock(&fake_lock);
    if (--host_fail_in > 0) {
        return 0;
    }
    host_failed = 1;
    fake_fail(host_then, CU_ERROR_INVALID_VALUE);
    return 1;
}

WRAPPED_MALLOC
WRAPPED_CALLOC
WRAPPED(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes))

/* ---- memory that allocators report as lost ---- */

static fake_held lost;

static void receive(shpool_level level, const char *text, void *user)
{
    unsigned count;
    unsigned long long bytes;
    char what[32];

    (void)level;
    (void)user;
    if (sscanf(text, "lost until the process ends, on device 0: %u ranges of addresses, %llu bytes",
               &count, &bytes) == 2) {
        lost.ranges += count; /* addresses, no memory */
        return;
    }
    if (sscanf(text, "lost until the process ends, on device 0: %u %31[a-z], %llu bytes", &count,
               what, &bytes) != 3) {
        return;
    }
    lost.bytes += bytes;
    lost.events += (strcmp(what, "events") == 0) ? count : 0;
    lost.pools += (strcmp(what, "pool") == 0) ? count : 0;
    lost.allocations += (strncmp(what, "allocation", 10) == 0) ? count : 0;
}

/* ---- a workload ---- */

typedef struct program {
    shpool_device_allocator *allocator;
    uint64_t random;
    int graphs; /* it keeps memory for them */
    shpool_stream stream[STREAMS];
    struct { void *ptr; size_t bytes; shpool_stream stream; int named; } slot[SLOTS];
} program;

static uint32_t draw(program *p, uint32_t below)
{
    p->random = p->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((p->random >> 33) % below);
}

/* The calls of a program before it uses memory on another stream; none of them fails. */
static void order(shpool_stream from, shpool_stream to)
{
    unsigned long fail_in = fake.fail_in;
    const shpool_driver *cu;
    shpool_event event;

    fake.fail_in = 0;
    assert_ok(shpool_driver_get(&cu));
    assert_int_equal(CU_SUCCESS, cu->event_create(&event, 0));
    assert_int_equal(CU_SUCCESS, cu->event_record(event, from));
    assert_int_equal(CU_SUCCESS, cu->stream_wait(to, event, 0));
    assert_int_equal(CU_SUCCESS, cu->event_destroy(event));
    fake.fail_in = fail_in;
}

static void do_malloc(program *p, unsigned i)
{
    static const size_t sizes[] = { 100, 3000, 70000, MIB, 2 * MIB };
    shpool_stream stream = p->stream[draw(p, STREAMS)];
    size_t bytes = sizes[draw(p, SHPOOL_ARRAY_COUNT(sizes))];
    void *ptr = &ptr;

    if (shpool_device_malloc(p->allocator, bytes, stream, &ptr) != SHPOOL_OK) {
        assert_null(ptr);
        return;
    }
    p->slot[i].ptr = ptr;
    p->slot[i].bytes = bytes;
    p->slot[i].stream = stream;
    p->slot[i].named = 0;
    fake_work(stream, ptr, bytes);
}

/* Memory whose free is refused still belongs to the program, which retries later. */
static int do_free(program *p, unsigned i)
{
    if (shpool_device_free(p->allocator, p->slot[i].ptr, p->slot[i].stream) != SHPOOL_OK) {
        return 0;
    }
    p->slot[i].ptr = NULL;
    return 1;
}

static void do_record(program *p, unsigned i)
{
    shpool_stream user = p->stream[draw(p, STREAMS)];

    if ((p->slot[i].ptr != NULL) && (p->slot[i].stream != user) && !p->slot[i].named) {
        order(p->slot[i].stream, user);
        if (shpool_device_record_stream(p->allocator, p->slot[i].ptr, user) == SHPOOL_OK) {
            fake_work(user, p->slot[i].ptr, p->slot[i].bytes);
            p->slot[i].named = 1; /* work of two users would need an order of its own */
        }
    }
}

/* A graph that uses memory of its own, and is launched on another stream. */
static void do_capture(program *p)
{
    shpool_stream stream = p->stream[2];
    void *ptr = NULL;
    unsigned graph;

    if (!p->graphs || (shpool_device_capture_begin(p->allocator, 1, 2) != SHPOOL_OK)) {
        return;
    }
    fake_capture_begin(stream);
    if (shpool_device_malloc(p->allocator, 5000, stream, &ptr) == SHPOOL_OK) {
        fake_work(stream, ptr, 5000);
        for (unsigned i = 0; shpool_device_free(p->allocator, ptr, stream) != SHPOOL_OK; i++) {
            assert_true(i < TRIES);
        }
    }
    graph = fake_capture_end(stream);
    for (unsigned i = 0; shpool_device_capture_end(p->allocator, 1, 2) != SHPOOL_OK; i++) {
        assert_true(i < TRIES);
    }
    order(stream, p->stream[3]);
    fake_launch(graph, p->stream[3]);
    order(p->stream[3], stream);
    for (unsigned i = 0; shpool_device_capture_release(p->allocator, 1, 2) != SHPOOL_OK; i++) {
        assert_true(i < TRIES);
    }
}

static void do_rare(program *p)
{
    shpool_device_stats stats;

    switch (draw(p, 6)) {
    case 0:
        (void)shpool_device_trim(p->allocator, draw(p, 2) * 4 * MIB);
        break;
    case 1:
        fake_finish_all();
        (void)shpool_device_stream_retire(p->allocator, p->stream[3]);
        break;
    case 2:
        (void)shpool_device_stream_stable(p->allocator, p->stream[2]);
        break;
    case 3:
        do_capture(p);
        break;
    default:
        assert_ok(shpool_device_get_stats(p->allocator, &stats));
        fake_finish(p->stream[draw(p, STREAMS)]);
        break;
    }
}

static void do_one(program *p)
{
    unsigned i = draw(p, SLOTS);
    uint32_t kind = draw(p, 12);

    if (kind == 0) {
        do_rare(p);
    } else if (kind == 1) {
        do_record(p, i);
    } else if (p->slot[i].ptr == NULL) {
        do_malloc(p, i);
    } else {
        (void)do_free(p, i);
    }
}

/* Everything that worked before the failures works after them. */
static void go_on(program *p)
{
    fake_fail(0, CU_SUCCESS);
    host_fail_in = 0;
    fake_finish_all();
    for (unsigned i = 0; i < STREAMS; i++) {
        put(p->allocator, get(p->allocator, 3 * MIB, p->stream[i]), p->stream[i]);
        put(p->allocator, get(p->allocator, 300, p->stream[i]), p->stream[i]);
    }
    assert_ok(shpool_device_check(p->allocator));
    assert_int_equal(0, live_bytes(p->allocator));
}

/* 1: a call failed */
static int live(const char *spec, uint64_t seed)
{
    program p = { .random = seed, .graphs = (strstr(spec, "bins") != NULL) };

    p.stream[0] = SHPOOL_STREAM_LEGACY;
    p.stream[1] = SHPOOL_STREAM_PER_THREAD;
    p.stream[2] = fake_stream(0, CU_STREAM_NON_BLOCKING);
    p.stream[3] = fake_stream(0, CU_STREAM_DEFAULT);
    if (shpool_device_allocator_open(spec, 0, &p.allocator) != SHPOOL_OK) {
        assert_null(p.allocator);
        return 1;
    }
    for (unsigned i = 0; i < OPERATIONS; i++) {
        do_one(&p);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        for (unsigned j = 0; (p.slot[i].ptr != NULL) && !do_free(&p, i); j++) {
            assert_true(j < TRIES);
        }
    }
    assert_ok(shpool_device_check(p.allocator));
    assert_int_equal(0, live_bytes(p.allocator));
    if (seed % 2 == 0) { /* else the end of the allocator has its share of the failures */
        go_on(&p);
    }
    shpool_device_allocator_unref(p.allocator);
    return fake_failed() || host_failed;
}

static void begin(void)
{
    memset(&lost, 0, sizeof(lost));
    host_fail_in = 0;
    host_failed = 0;
    fake_start(1, 48 * MIB);
    fake_set_current(0);
    fake_misalign(1);
}

static void end(const char *spec, unsigned long nth, unsigned long then)
{
    fake_held held = fake_stop();

    if ((held.bytes != lost.bytes) || (held.allocations != lost.allocations) ||
        (held.events != lost.events) || (held.pools != lost.pools) ||
        (held.ranges != lost.ranges) ||
        (fake_first_violation()[0] != '\0')) {
        fail_msg("%s, failures %lu and %lu: %llu bytes, %u allocations, %u events, %u pools, %u "
                 "ranges are held, %llu, %u, %u, %u, %u were said; %s", spec, nth, then,
                 (unsigned long long)held.bytes, held.allocations, held.events, held.pools,
                 held.ranges,
                 (unsigned long long)lost.bytes, lost.allocations, lost.events, lost.pools,
                 lost.ranges,
                 fake_first_violation());
    }
}

/* Each call and each pair of calls not farther apart than FARTHEST, `step` by `step`. */
static void run(const char *spec, unsigned step)
{
    int failed = 1;

    for (unsigned long n = 1; failed; n += step) {
        failed = 0;
        for (unsigned long then = 0; then <= FARTHEST; then++) {
            begin();
            fake_fail(n, (n % 3 == 0) ? CU_ERROR_OUT_OF_MEMORY : CU_ERROR_INVALID_VALUE);
            fake_fail_again(then);
            failed |= live(spec, n * 5 + then);
            end(spec, n, then);
        }
        assert_true(n < 5000);
    }
}

/* Each allocation of host memory fails, alone and with one of the driver's next calls. */
static void run_host(const char *spec, unsigned step)
{
    int failed = 1;

    for (unsigned long n = 1; failed; n += step) {
        failed = 0;
        for (host_then = 0; host_then <= 2; host_then++) {
            begin();
            host_fail_in = n;
            failed |= live(spec, n * 3 + host_then);
            host_fail_in = 0;
            end(spec, n, host_then);
        }
        assert_true(n < 5000);
    }
}

static const char *const specs[] = {
    "bins:memory=driver", "bins:memory=driver,soft=16M,capacity=8M", "bins:memory=vmm,wait=0",
    "bins:memory=vmm,soft=16M,capacity=8M,wait=0", "buckets",
    "buckets:mode=total,capacity=4M,max_object=1M",
    "simple", "async", "stats|limit:bytes=1G|lock|fault:nth=9|bins", "guard|simple",
    "guard:poison=0|stats|buckets", "limit:bytes=40M|async",
};

static void test_two_calls_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(specs); i++) {
        run(specs[i], (getenv("LIBSHPOOL_TEST_LONG") != NULL) ? 1 : 31);
    }
}

static void test_host_memory_and_a_call_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(specs); i++) {
        run_host(specs[i], (getenv("LIBSHPOOL_TEST_LONG") != NULL) ? 1 : 7);
    }
}

/* In a pool, blocks that no stream may have are marked with the pool's own record.  A stream whose
 * record finds no memory does not stand for it. */
static void test_a_stream_of_a_capture_has_no_record(void **state)
{
    shpool_device_allocator *allocator;
    shpool_stream stream;
    shpool_stream forked;
    void *ptr;
    void *next;

    (void)state;
    fake_start(1, 64 * MIB);
    fake_set_current(0);
    open_allocator("bins", 0, &allocator);
    stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    forked = fake_stream(0, CU_STREAM_NON_BLOCKING);
    assert_ok(shpool_device_capture_begin(allocator, 1, 1));
    fake_capture_begin(stream);
    fake_capture_join(forked, stream);
    ptr = get(allocator, 5000, stream);
    put(allocator, ptr, fake_stream(0, CU_STREAM_NON_BLOCKING)); /* outside */
    fake_finish_all();
    host_fail_in = 1;
    assert_int_equal(SHPOOL_ERR_NO_MEMORY, shpool_device_malloc(allocator, 5000, forked, &next));
    host_fail_in = 0;
    next = get(allocator, 5000, forked);
    assert_ptr_not_equal(ptr, next);
    (void)fake_capture_end(stream);
    assert_ok(shpool_device_capture_end(allocator, 1, 1));
    shpool_device_allocator_unref(allocator);
    (void)fake_stop();
}

static int set_up(void **state)
{
    (void)clear_environment(state);
    shpool_set_message_handler(receive, NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_two_calls_fail, set_up),
        cmocka_unit_test_setup(test_host_memory_and_a_call_fail, set_up),
        cmocka_unit_test_setup(test_a_stream_of_a_capture_has_no_record, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
