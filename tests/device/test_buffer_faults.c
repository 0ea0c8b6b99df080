/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts and buffers: each call of the driver fails in turn, and each allocation of host memory.
 * A call then succeeds or reports it, leaves nothing half done, and keeps nothing that the library
 * does not report as lost. */
#include "buffer_trial.h"

#include <stdlib.h>

#include "host_memory.h"

#define COUNT 5000u

/* ---- a program ---- */

static unsigned refused; /* calls that failed */

/* Whether a call succeeded. */
static int fine(shpool_status status)
{
    refused += status != SHPOOL_OK;
    return status == SHPOOL_OK;
}

static void generate(size_t index, void *element, void *user)
{
    const int32_t value = (int32_t)index;

    (void)user;
    memcpy(element, &value, sizeof(value));
}

/* What is read is what was written, or the call says that it is not. */
static void read_back(const shpool_buffer *buffer, int32_t first)
{
    static int32_t back[COUNT];

    if (fine(shpool_buffer_to_host(buffer, 0, COUNT, back))) {
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_int_equal(back[i], first + (int32_t)i);
        }
    }
}

static void use(shpool_context *context, shpool_buffer *buffer, FILE *file)
{
    const int32_t low = 3, high = 1000, step = 1, zero = 0;
    shpool_random random;
    shpool_buffer *other = NULL;

    shpool_random_init(&random, 1);
    if (fine(shpool_buffer_fill_ascending(buffer, &low, &step))) {
        read_back(buffer, low);
    }
    if (fine(shpool_buffer_create(context, SHPOOL_TYPE_I32, COUNT, &other))) {
        if (fine(shpool_buffer_fill_ascending(other, &low, &step)) &&
            fine(shpool_buffer_copy(buffer, 0, other, 0, COUNT))) {
            read_back(buffer, low);
        }
        (void)fine(shpool_buffer_record_stream(other, SHPOOL_STREAM_LEGACY));
    } else {
        assert_null(other);
    }
    shpool_buffer_unref(other);
    (void)fine(shpool_buffer_fill(buffer, &zero));
    (void)fine(shpool_buffer_fill_random(buffer, &low, &high, &random));
    (void)fine(shpool_buffer_fill_sorted(buffer, &low, &high, &random));
    (void)fine(shpool_buffer_print(file, buffer, 20, "%d", 10));
    if (fine(shpool_buffer_generate(buffer, generate, NULL))) {
        read_back(buffer, 0);
    }
}

static void live(FILE *file)
{
    static int32_t         host[COUNT];
    shpool_context_options options = { .bytes = sizeof(options),
                                       .flags = SHPOOL_CONTEXT_NEW_STREAM };
    shpool_context        *context = NULL;
    shpool_buffer         *buffer  = NULL;

    for (uint32_t i = 0; i < COUNT; i++) {
        host[i] = 7 + (int32_t)i;
    }
    if (!fine(shpool_context_create(&options, &context))) {
        assert_null(context);
        return;
    }
    if (fine(shpool_buffer_create_from(context, SHPOOL_TYPE_I32, COUNT, host, &buffer))) {
        read_back(buffer, 7);
        use(context, buffer, file);
        if (fine(shpool_buffer_from_host_async(buffer, 0, COUNT, host)) &&
            fine(shpool_context_sync(context))) {
            read_back(buffer, 7);
        }
    } else {
        assert_null(buffer);
    }
    shpool_buffer_unref(buffer);
    shpool_context_unref(context);
}

/* ---- the sweeps ---- */

/* Whether a call of the driver failed. */
static int run(FILE *file, const char *what, unsigned long n)
{
    int failed;

    lost    = 0;
    refused = 0;
    live(file);
    failed = fake_failed();
    stop_and_compare(what, n);
    return failed;
}

static void test_every_call_fails_in_turn(void **state)
{
    FILE *file = fopen("/dev/null", "w");
    unsigned long n = 0;
    int failed;

    (void)state;
    assert_non_null(file);
    do {
        n++;
        fake_start(1, MEMORY);
        fake_set_current(0);
        fake_fail(n, (n % 2 == 0) ? CU_ERROR_INVALID_VALUE : CU_ERROR_OUT_OF_MEMORY);
        failed = run(file, "call", n);
        assert_true(n < 2000);
    } while (failed);
    assert_int_equal(refused, 0);
    assert_true(n > 40);
    (void)fclose(file);
}

static void test_every_allocation_fails_in_turn(void **state)
{
    FILE *file = fopen("/dev/null", "w");
    unsigned long n = 0;

    (void)state;
    assert_non_null(file);
    do {
        n++;
        fake_start(1, MEMORY);
        fake_set_current(0);
        host_count   = 0;
        host_fail_at = n;
        (void)run(file, "allocation", n);
        assert_true(n < 2000);
    } while (host_count >= n);
    assert_int_equal(refused, 0);
    assert_true(n > 5);
    (void)fclose(file);
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
        cmocka_unit_test_setup(test_every_call_fails_in_turn, set_up),
        cmocka_unit_test_setup(test_every_allocation_fails_in_turn, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
