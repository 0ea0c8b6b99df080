/* SPDX-License-Identifier: BSD-3-Clause */
/* The public calls that test_faults.c, test_buffer_faults.c and test_share_faults.c leave out: each
 * call of the driver fails in turn, and each allocation of host memory.  A call then succeeds, or
 * reports it and returns zeroed outputs; nothing is kept that is not reported as lost. */
#include "buffer_trial.h"

#include <shpool/device/hooks.h>

#include "host_memory.h"

#define COUNT 700u
#define MIB   ((ptrdiff_t)1 << 20)

typedef void program(FILE *file);

static unsigned refused; /* calls that failed */

/* Whether a call succeeded. */
static int fine(shpool_status status)
{
    refused += status != SHPOOL_OK;
    return status == SHPOOL_OK;
}

/* ---- questions, and the device's shared allocator ---- */

static int see_block(const shpool_device_block *block, void *user)
{
    (void)block;
    ++*(unsigned *)user;
    return 0;
}

static int out_of_memory(shpool_device_allocator *allocator, size_t bytes, unsigned attempt,
                         void *user)
{
    (void)allocator;
    (void)bytes;
    (void)attempt;
    (void)user;
    return 0;
}

static void use_shared(shpool_device_allocator *allocator)
{
    const shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    shpool_device_stats stats;
    unsigned blocks = 0;
    char text[2048];
    size_t bytes;
    void *base;
    void *ptr;

    (void)fine(shpool_device_on_oom(allocator, out_of_memory, NULL));
    (void)fine(shpool_device_set(allocator, "soft", "64M"));
    if (!fine(shpool_device_malloc(allocator, 5000, stream, &ptr))) {
        assert_null(ptr);
    } else {
        if (!fine(shpool_device_base(allocator, (char *)ptr + 100, &base, &bytes))) {
            assert_null(base);
            assert_int_equal(bytes, 0);
        }
        if (fine(shpool_device_walk(allocator, see_block, &blocks))) {
            assert_true(blocks > 0);
        }
        if (!fine(shpool_device_report(allocator, text, sizeof(text), &bytes))) {
            assert_true(bytes < sizeof(text));
        }
        if (!fine(shpool_device_free(allocator, ptr, stream))) {
            assert_int_equal(shpool_device_free(allocator, ptr, stream), SHPOOL_OK);
        }
    }
    (void)fine(shpool_device_reset_peak(allocator));
    (void)fine(shpool_device_get_stats(allocator, &stats));
    (void)fine(shpool_device_on_oom(allocator, NULL, NULL));
    (void)fine(shpool_device_stream_retire(allocator, stream));
    assert_int_equal(shpool_device_check(allocator), SHPOOL_OK);
}

static void ask(FILE *file)
{
    shpool_device_properties properties;
    shpool_device_allocator *allocator;
    uint64_t free_bytes = 1;
    uint64_t total_bytes = 1;
    int count = 7;

    (void)file;
    if (!fine(shpool_device_count(&count))) {
        assert_int_equal(count, 0);
    }
    if (!fine(shpool_device_get_properties(0, &properties))) {
        assert_true(is_zeroed(&properties, sizeof(properties)));
    }
    if (!fine(shpool_device_memory(0, &free_bytes, &total_bytes))) {
        assert_int_equal(free_bytes | total_bytes, 0);
    }
    if (fine(shpool_device_allocator_default(0, &allocator))) {
        use_shared(allocator);
    } else {
        assert_null(allocator);
    }
}

/* ---- contexts and what buffers have besides ---- */

static unsigned released;

static void release(void *ptr, void *user)
{
    (void)ptr;
    (void)user;
    released++;
}

static int format(char *text, size_t bytes, size_t index, const void *element, void *user)
{
    int32_t value;

    (void)index;
    (void)user;
    memcpy(&value, element, sizeof(value));
    return snprintf(text, bytes, "%d", value);
}

static void copy(shpool_context *context, shpool_buffer *buffer, FILE *file)
{
    static int32_t there[COUNT], back[COUNT];
    shpool_buffer *view;

    for (uint32_t i = 0; i < COUNT; i++) {
        there[i] = 3 * (int32_t)i;
        back[i] = -1;
    }
    if (fine(shpool_buffer_from_host(buffer, 0, COUNT, there)) &&
        fine(shpool_buffer_to_host_async(buffer, 0, COUNT, back)) &&
        fine(shpool_context_sync(context))) {
        assert_memory_equal(there, back, sizeof(there));
    }
    (void)fine(shpool_buffer_print_with(file, buffer, 20, format, NULL, 10));
    released = 0;
    if (fine(shpool_buffer_wrap(context, shpool_buffer_ptr(buffer), SHPOOL_TYPE_I32, COUNT, release,
                                NULL, &view))) {
        shpool_buffer_unref(view);
        assert_int_equal(released, 1);
    } else { /* the memory stays the caller's */
        assert_null(view);
        assert_int_equal(released, 0);
    }
}

static void use_context(shpool_context *context, FILE *file)
{
    shpool_device_allocator *allocator;
    shpool_buffer *buffer;
    char text[512];
    double value = 1;

    (void)fine(shpool_context_describe(context, text, sizeof(text), NULL));
    (void)fine(shpool_context_activate(context));
    if (fine(shpool_device_allocator_open("buckets", 0, &allocator))) {
        (void)fine(shpool_context_set_allocator(context, allocator));
        shpool_device_allocator_unref(allocator);
    }
    if (fine(shpool_buffer_create(context, SHPOOL_TYPE_I32, COUNT, &buffer))) {
        copy(context, buffer, file);
    } else {
        assert_null(buffer);
    }
    shpool_buffer_unref(buffer);
    if (fine(shpool_timer_start(context)) &&
        !fine(shpool_timer_throughput(context, 1000, 1, &value))) {
        assert_true(value <= 0);
    }
}

static void work(FILE *file)
{
    char program_name[] = "program", device[] = "0";
    char *const argv[] = { program_name, device, NULL };
    shpool_context *context;

    if (fine(shpool_context_create_args(2, argv, SHPOOL_CONTEXT_NEW_STREAM, &context))) {
        use_context(context, file);
    } else {
        assert_null(context);
    }
    shpool_context_unref(context);
    if (!fine(shpool_context_standard(0, &context))) {
        assert_null(context);
    }
}

/* ---- what PyTorch and CuPy call: failures are NULL ---- */

static void *got(void *ptr)
{
    refused += ptr == NULL;
    return ptr;
}

static void serve(FILE *file)
{
    const shpool_torch_pool_id id = { 1, 2 };
    const shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    void *ptr;
    size_t bytes;

    (void)file;
    shpool_torch_init(1);
    for (unsigned i = 0; i < 2; i++) {
        ptr = got(shpool_torch_malloc(5 * MIB, 0, stream));
        if (ptr != NULL) {
            (void)got(shpool_torch_base_alloc((char *)ptr + 10, &bytes));
            shpool_torch_record_stream(ptr, SHPOOL_STREAM_LEGACY);
            shpool_torch_free(ptr, 5 * MIB, 0, stream);
        }
        shpool_torch_memory_fraction(0.5, 0);
        shpool_torch_begin_pool(0, id, NULL);
        shpool_torch_end_pool(0, id);
        shpool_torch_release_pool(0, id);
        ptr = got(shpool_cupy_malloc(NULL, 3000, 0));
        shpool_cupy_free(NULL, ptr, 0);
        shpool_torch_reset();
    }
    shpool_torch_memory_fraction(1, 0);
}

/* ---- the sweeps ---- */

static void start(void)
{
    lost    = 0;
    refused = 0;
    fake_start(1, MEMORY);
    fake_set_current(0);
}

/* Returns the number of the driver's calls. */
static unsigned long sweep_calls(program *played, FILE *file)
{
    unsigned long n = 0;
    int failed;

    do {
        n++;
        start();
        fake_fail(n, (n % 2 == 0) ? CU_ERROR_INVALID_VALUE : CU_ERROR_OUT_OF_MEMORY);
        played(file);
        failed = fake_failed();
        stop_and_compare("call", n);
        assert_true(n < 2000);
    } while (failed);
    assert_int_equal(refused, 0);
    return n - 1;
}

static unsigned long sweep_memory(program *played, FILE *file)
{
    unsigned long n = 0;

    do {
        n++;
        start();
        host_count   = 0;
        host_fail_at = n;
        played(file);
        stop_and_compare("allocation", n);
        assert_true(n < 2000);
    } while (host_count >= n);
    assert_int_equal(refused, 0);
    return n - 1;
}

static void sweep(program *played, unsigned long calls, unsigned long allocations)
{
    FILE *file = fopen("/dev/null", "w");
    unsigned long n;

    assert_non_null(file);
    n = sweep_calls(played, file);
    if (n < calls) {
        fail_msg("%lu calls of the driver", n);
    }
    n = sweep_memory(played, file);
    if (n < allocations) {
        fail_msg("%lu allocations", n);
    }
    (void)fclose(file);
}

static void test_questions(void **state)
{
    (void)state;
    sweep(ask, 10, 3);
}

static void test_contexts(void **state)
{
    (void)state;
    sweep(work, 20, 5);
}

static void test_hooks(void **state)
{
    (void)state;
    sweep(serve, 10, 3);
}

static int set_up(void **state)
{
    (void)clear_environment(state);
    shpool_set_message_handler(receive_lost, NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_questions, set_up),
        cmocka_unit_test_setup(test_contexts, set_up),
        cmocka_unit_test_setup(test_hooks, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
