/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that PyTorch and CuPy call, with the fake driver. */
#include "trial.h"

#include <pthread.h>

#define MiB ((ptrdiff_t)1 << 20)

static int setup(void **state)
{
    (void)clear_environment(state);
    fake_start(2, (uint64_t)512 * MiB);
    return 0;
}

static int teardown(void **state)
{
    unsigned violations = fake_violations();

    if (violations != 0) {
        print_error("%s\n", fake_first_violation());
    }
    shpool_torch_memory_fraction(1, 0); /* limits are the process's */
    (void)fake_stop();
    return violations != 0;
}

static shpool_device_stats shared_stats(int device)
{
    shpool_device_allocator *allocator = NULL;
    shpool_device_stats stats;

    assert_int_equal(shpool_device_allocator_default(device, &allocator), SHPOOL_OK);
    assert_int_equal(shpool_device_get_stats(allocator, &stats), SHPOOL_OK);
    return stats;
}

UNIT_TEST_WITH(test_malloc_and_free_use_the_shared_allocator, setup, teardown)
{
    shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    void *ptr = shpool_torch_malloc(1000, 0, stream);
    void *other = shpool_torch_malloc(5 * MiB, 1, NULL);

    assert_non_null(ptr);
    assert_non_null(other);
    fake_work(stream, ptr, 1000);
    assert_int_equal(shared_stats(0).live_count, 1);
    assert_int_equal(shared_stats(1).live_count, 1);
    shpool_torch_free(ptr, 77, 0, stream); /* the size may differ */
    shpool_torch_free(other, 5 * MiB, 1, NULL);
    assert_int_equal(shared_stats(0).live_count, 0);
    assert_int_equal(shared_stats(1).live_count, 0);
}

UNIT_TEST_WITH(test_what_cannot_be_is_null, setup, teardown)
{
    assert_null(shpool_torch_malloc(0, 0, NULL));
    assert_null(shpool_torch_malloc(-1, 0, NULL));
    assert_null(shpool_torch_malloc(100, -1, NULL));
    assert_detail("device -1");
    assert_null(shpool_torch_malloc(100, 64, NULL));
    assert_null(shpool_torch_malloc(100, 2, NULL)); /* there are two */
    assert_null(shpool_torch_malloc(1024 * MiB, 0, NULL)); /* no memory: PyTorch says so itself */
    assert_non_null(shpool_torch_malloc(100, 0, NULL));
    shpool_torch_free(NULL, 100, 0, NULL);
    assert_null(shpool_cupy_malloc(NULL, 0, 0));
}

/* A stream of PyTorch's is stable: a warm pair calls no driver. */
UNIT_TEST_WITH(test_warm_pairs_call_no_driver, setup, teardown)
{
    shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);

    for (int i = 0; i < 3; i++) {
        shpool_torch_free(shpool_torch_malloc(4096, 0, stream), 4096, 0, stream);
    }
    fake_forget_calls();
    for (int i = 0; i < 100; i++) {
        shpool_torch_free(shpool_torch_malloc(4096, 0, stream), 4096, 0, stream);
    }
    assert_int_equal(fake_all_calls(), 0);
}

/* Without the record, the second stream's work would not be waited for: the fake driver tells. */
static void check_record(int device)
{
    shpool_stream first = fake_stream(device, CU_STREAM_NON_BLOCKING);
    shpool_stream second = fake_stream(device, CU_STREAM_NON_BLOCKING);
    void *ptr = shpool_torch_malloc(4096, device, first);
    const shpool_driver *cu;
    void *again;

    fake_work(first, ptr, 4096);
    assert_int_equal(shpool_driver_get(&cu), SHPOOL_OK);
    assert_int_equal(cu->stream_sync(first), CU_SUCCESS); /* the second is ordered after it */
    fake_work(second, ptr, 4096);
    shpool_torch_record_stream(ptr, second);
    shpool_torch_free(ptr, 4096, device, first);
    again = shpool_torch_malloc(4096, device, first);
    fake_work(first, again, 4096);
    shpool_torch_free(again, 4096, device, first);
}

UNIT_TEST_WITH(test_record_stream_keeps_memory_until_the_other_stream_is_done, setup, teardown)
{
    check_record(0);
    check_record(1); /* no device is passed: it is found */
    shpool_torch_record_stream(NULL, NULL);
}

UNIT_TEST_WITH(test_base_alloc_is_what_the_driver_gave, setup, teardown)
{
    char *ptr = shpool_torch_malloc(100, 0, NULL);
    char *large = shpool_torch_malloc(100 * MiB, 1, NULL);
    size_t bytes = 0;
    char *base = shpool_torch_base_alloc(ptr, &bytes);

    assert_non_null(base);
    assert_true((base <= ptr) && (ptr + 100 <= base + bytes));
    base = shpool_torch_base_alloc(large, &bytes);
    assert_true((base <= large) && (large + 100 * MiB <= base + bytes));
    assert_null(shpool_torch_base_alloc(&bytes, &bytes));
    assert_int_equal(bytes, 0);
}

UNIT_TEST_WITH(test_reset_gives_idle_memory_back_on_all_devices, setup, teardown)
{
    shpool_torch_init(2);
    assert_int_equal(fake_holds().bytes, 0); /* opens nothing */
    for (int device = 0; device < 2; device++) {
        shpool_torch_free(shpool_torch_malloc(50 * MiB, device, NULL), 0, device, NULL);
    }
    assert_true(fake_holds().bytes >= (uint64_t)(100 * MiB));
    fake_finish_all();
    shpool_torch_reset();
    assert_int_equal(fake_holds().bytes, 0);
}

static void check_the_fraction(void)
{
    void *ptr[3];

    shpool_torch_memory_fraction(0.5, 0); /* 256 MiB */
    ptr[0] = shpool_torch_malloc(200 * MiB, 0, NULL);
    assert_non_null(ptr[0]);
    assert_null(shpool_torch_malloc(100 * MiB, 0, NULL));
    assert_detail("memory fraction");
    ptr[1] = shpool_torch_malloc(40 * MiB, 0, NULL);
    assert_non_null(ptr[1]);
    shpool_torch_free(ptr[0], 0, 0, NULL);
    fake_finish_all();
    ptr[2] = shpool_torch_malloc(210 * MiB, 0, NULL); /* the idle 200 MiB make room */
    assert_non_null(ptr[2]);
    assert_true(fake_holds().bytes <= (uint64_t)(256 * MiB));
    shpool_torch_memory_fraction(0, 0); /* PyTorch permits it */
    assert_null(shpool_torch_malloc(100 * MiB, 0, NULL));
    shpool_torch_memory_fraction(1, 0);
    assert_non_null(shpool_torch_malloc(100 * MiB, 0, NULL));
}

/* A layer that counts requests for statistics; its self is the next one. */
static unsigned asked_for_stats;

static shpool_status counting_stats(void *self, shpool_device_stats *stats)
{
    asked_for_stats++;
    return shpool_device_get_stats(self, stats);
}

static const shpool_device_provider counting = {
    .abi = SHPOOL_DEVICE_ABI, .bytes = sizeof(counting), .name = "counting",
    .flags = SHPOOL_DEVICE_LAYER | SHPOOL_DEVICE_THREAD_SAFE, .summary = "counts",
    .create = pass_create_layer, .destroy = pass_nothing, .malloc = pass_malloc,
    .free = pass_free, .stats = counting_stats,
};

/* bins enforces the limit itself: statistics walk over all blocks, so no malloc may request
 * them. */
UNIT_TEST_WITH(test_the_memory_fraction_is_a_limit, setup, teardown)
{
    assert_int_equal(SHPOOL_OK, shpool_device_register(&counting));
    setenv("SHPOOL_DEVICE_ALLOCATOR", "counting|bins", 1);
    shpool_config_reload();
    check_the_fraction();
    assert_int_equal(0, asked_for_stats);
}

UNIT_TEST_WITH(test_the_memory_fraction_is_a_limit_of_other_bases, setup, teardown)
{
    setenv("SHPOOL_DEVICE_ALLOCATOR", "buckets:capacity=1G,max_object=1G", 1);
    shpool_config_reload();
    check_the_fraction();
}

/* A graph's memory is its own until the pool is released. */
UNIT_TEST_WITH(test_pools_serve_captures, setup, teardown)
{
    const shpool_torch_pool_id id = { 0, 7 };
    shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    shpool_stream other = fake_stream(0, CU_STREAM_NON_BLOCKING);
    void *inside;
    void *outside;
    unsigned graph;

    shpool_torch_begin_pool(0, id, &state);
    fake_capture_begin(stream);
    inside = shpool_torch_malloc(MiB, 0, stream);
    assert_non_null(inside);
    fake_work(stream, inside, (size_t)MiB);
    shpool_torch_free(inside, MiB, 0, stream);
    graph = fake_capture_end(stream);
    shpool_torch_end_pool(0, id);

    fake_launch(graph, stream);
    outside = shpool_torch_malloc(MiB, 0, other);
    assert_ptr_not_equal(outside, inside);
    fake_work(other, outside, (size_t)MiB); /* a violation if the graph's memory were under it */
    shpool_torch_release_pool(0, id);
}

UNIT_TEST_WITH(test_cupy_s_functions_use_the_shared_allocator, setup, teardown)
{
    void *ptr = shpool_cupy_malloc(state, 1000, 1);

    assert_non_null(ptr);
    assert_int_equal(shared_stats(1).live_count, 1);
    shpool_cupy_free(state, ptr, 1);
    assert_int_equal(shared_stats(1).live_count, 0);
    shpool_cupy_free(state, NULL, 0);
    fake_fail(1, CU_ERROR_STREAM_CAPTURE_UNSUPPORTED); /* the wait, once there is a block */
    assert_null(shpool_cupy_malloc(state, 1000, 1));
    fake_fail(0, CU_SUCCESS);
    assert_int_equal(shared_stats(1).live_count, 0);
}

/* ---- two users, each by any hook and on any kind of stream ---- */

typedef struct hook {
    const char *name;
    void *(*take)(shpool_stream stream);
    void (*give)(void *ptr, shpool_stream stream);
    int keeps_streams; /* until the memory that was allocated on them is freed */
} hook;

#define BYTES ((size_t)4 << 20)

static void *torch_take(shpool_stream stream)
{
    return shpool_torch_malloc((ptrdiff_t)BYTES, 0, stream);
}

static void torch_give(void *ptr, shpool_stream stream)
{
    shpool_torch_free(ptr, (ptrdiff_t)BYTES, 0, stream);
}

static void *cupy_take(shpool_stream stream)
{
    (void)stream;
    return shpool_cupy_malloc(NULL, BYTES, 0);
}

static void cupy_give(void *ptr, shpool_stream stream)
{
    (void)stream;
    shpool_cupy_free(NULL, ptr, 0);
}

/* The calls of python/shpool/cupy.py; tests/python/test_package.py tests when it makes them. */
static void *package_take(shpool_stream stream)
{
    shpool_device_allocator *allocator;
    void *ptr = NULL;

    assert_int_equal(SHPOOL_OK, shpool_device_allocator_default(0, &allocator));
    assert_int_equal(SHPOOL_OK, shpool_device_malloc(allocator, BYTES, stream, &ptr));
    return ptr;
}

static void package_give(void *ptr, shpool_stream stream)
{
    shpool_device_allocator *allocator;

    assert_int_equal(SHPOOL_OK, shpool_device_allocator_default(0, &allocator));
    assert_int_equal(SHPOOL_OK, shpool_device_free(allocator, ptr, stream));
}

static const hook hooks[] = {
    { "torch", torch_take, torch_give, 1 },
    { "cupy's function", cupy_take, cupy_give, 0 },
    { "shpool.cupy", package_take, package_give, 1 },
};

/* The streams of two users, neither of which waits for the other. */
typedef enum kind { LEGACY, PER_THREAD, BLOCKING, NON_BLOCKING, GONE, SAME, OF_THREAD } kind;

static const struct pair {
    const char *name;
    kind first;
    kind second;
} pairs[] = {
    { "the same", NON_BLOCKING, SAME },
    { "two blocking", BLOCKING, BLOCKING },
    { "two non-blocking", NON_BLOCKING, NON_BLOCKING },
    { "legacy, then blocking", LEGACY, BLOCKING },
    { "legacy, then non-blocking", LEGACY, NON_BLOCKING },
    { "non-blocking, then legacy", NON_BLOCKING, LEGACY },
    { "per thread, then non-blocking", PER_THREAD, NON_BLOCKING },
    { "blocking, then per thread", BLOCKING, PER_THREAD },
    { "per thread of two threads", PER_THREAD, OF_THREAD },
    { "destroyed, then one with its handle", GONE, NON_BLOCKING },
    { "destroyed, then legacy", GONE, LEGACY },
};

typedef struct user {
    const hook *hook;
    shpool_stream stream;
} user;

static shpool_stream stream_of(kind of, shpool_stream same)
{
    return (of == LEGACY) ? NULL
         : (of == SAME) ? same
         : ((of == PER_THREAD) || (of == OF_THREAD)) ? SHPOOL_STREAM_PER_THREAD
         : fake_stream(0, (of == BLOCKING) ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
}

/* The kernel still runs when the memory is freed. */
static void *use_twice(void *one)
{
    const user *u = one;

    fake_set_current(0);
    for (int i = 0; i < 2; i++) {
        void *ptr = u->hook->take(u->stream);

        assert_non_null(ptr);
        fake_work(u->stream, ptr, BYTES);
        u->hook->give(ptr, u->stream);
    }
    return NULL;
}

static void destroy(shpool_stream stream)
{
    shpool_device_allocator *allocator;

    assert_int_equal(SHPOOL_OK, shpool_device_allocator_default(0, &allocator));
    assert_int_equal(SHPOOL_OK, shpool_device_stream_retire(allocator, stream));
    fake_stream_destroy(stream);
}

static void use_on_both(const hook *h, const hook *other, const struct pair *pair)
{
    user first = { h, stream_of(pair->first, NULL) };
    user second = { other, NULL };
    void *ptr = h->take(first.stream);
    pthread_t thread;

    assert_non_null(ptr);
    fake_work(first.stream, ptr, BYTES);
    if ((pair->first == GONE) && !h->keeps_streams) {
        fake_stream_destroy(first.stream);
    }
    h->give(ptr, first.stream);
    if ((pair->first == GONE) && h->keeps_streams) {
        destroy(first.stream);
    }
    second.stream = stream_of(pair->second, first.stream);
    if (pair->second == OF_THREAD) {
        assert_int_equal(0, pthread_create(&thread, NULL, use_twice, &second));
        assert_int_equal(0, pthread_join(thread, NULL));
    } else {
        (void)use_twice(&second);
    }
    if (pair->first != GONE) {
        (void)use_twice(&first);
    }
}

UNIT_TEST_WITH(test_no_hook_reuses_memory_without_an_order, setup, teardown)
{
    static const char *const specs[] = { "bins", "bins:memory=driver", "bins:reuse=done", "buckets",
                                         "async", "simple" };
    const size_t users = SHPOOL_ARRAY_COUNT(hooks);
    const size_t cases = users * users * SHPOOL_ARRAY_COUNT(pairs);

    for (size_t i = 0; i < 2 * SHPOOL_ARRAY_COUNT(specs) * cases; i++) {
        const hook *h = &hooks[i % users];
        const hook *other = &hooks[i / users % users];
        const struct pair *pair = &pairs[i / (users * users) % SHPOOL_ARRAY_COUNT(pairs)];
        const char *spec = specs[i / cases % SHPOOL_ARRAY_COUNT(specs)];
        int scarce = (i >= SHPOOL_ARRAY_COUNT(specs) * cases); /* memory must be reused */

        (void)fake_stop();
        setenv("SHPOOL_DEVICE_ALLOCATOR", spec, 1);
        shpool_config_reload();
        fake_start(1, (uint64_t)(scarce ? 8 : 512) * MiB);
        fake_set_current(0);
        use_on_both(h, other, pair);
        if (fake_violations() != 0) {
            fail_msg("%s, then %s, over %s, streams: %s%s: %s", h->name, other->name, spec,
                     pair->name, scarce ? ", little memory" : "", fake_first_violation());
        }
    }
}

