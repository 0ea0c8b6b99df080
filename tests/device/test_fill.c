/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool/device/buffer.h: fills and printing, with the fake driver; array.h is the oracle. */
#include "tests/unit.h"

#include <shpool/executor.h>

#include "device/arrays/elements.h"
#include "tests/device/fake/driver.h"
#include "device/arrays/fill_kernels.h"
#include "page_arrays.h"

#define MANY 700000u /* elements: several pieces of the host's size */

static shpool_context *context;

static int setup(void **state)
{
    (void)clear_environment(state);
    fake_start(1, (uint64_t)256 << 20);
    return shpool_context_create(NULL, &context) != SHPOOL_OK;
}

static int teardown(void **state)
{
    unsigned violations = fake_violations();

    shpool_context_unref(context);
    return (violations != 0) || (fake_stop().bytes != 0);
}

static shpool_buffer *buffer_of(shpool_type type, size_t count)
{
    shpool_buffer *buffer = NULL;

    assert_int_equal(shpool_buffer_create(context, type, count, &buffer), SHPOOL_OK);
    return buffer;
}

static void assert_holds(const shpool_buffer *buffer, const void *want)
{
    size_t bytes = shpool_buffer_count(buffer) * SHPOOL_TYPE_BYTES(shpool_buffer_type(buffer));
    void *got = malloc(bytes);

    assert_non_null(got);
    assert_int_equal(shpool_buffer_to_host(buffer, 0, shpool_buffer_count(buffer), got),
                     SHPOOL_OK);
    assert_memory_equal(got, want, bytes);
    free(got);
}

/* ---- one value ---- */

static void check_fill(size_t element_bytes, size_t count, size_t skew)
{
    shpool_buffer *whole = buffer_of(SHPOOL_TYPE_U8, count * element_bytes + 64);
    unsigned char *want = malloc(count * element_bytes + 64);
    unsigned char element[64];
    shpool_buffer *buffer = NULL;

    assert_non_null(want);
    assert_int_equal(shpool_buffer_fill(whole, &(uint8_t){ 0xA7 }), SHPOOL_OK);
    memset(want, 0xA7, count * element_bytes + 64);
    for (size_t i = 0; i < element_bytes; i++) {
        element[i] = (unsigned char)(17 * i + 1);
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(want + skew + i * element_bytes, element, element_bytes);
    }
    assert_int_equal(shpool_buffer_wrap(context, (char *)shpool_buffer_ptr(whole) + skew,
                                        SHPOOL_TYPE_OPAQUE(element_bytes), count, NULL, NULL,
                                        &buffer), SHPOOL_OK);
    fake_forget_calls();
    assert_int_equal(shpool_buffer_fill(buffer, element), SHPOOL_OK);
    if (skew % 2 != 0) { /* the driver would refuse them */
        assert_int_equal(fake_calls(FAKE_CALL_set_16) + fake_calls(FAKE_CALL_set_32), 0);
    }
    assert_holds(whole, want);
    shpool_buffer_unref(buffer);
    shpool_buffer_unref(whole);
    free(want);
}

UNIT_TEST_WITH(test_fill_with_elements_of_any_size, setup, teardown)
{
    for (size_t bytes = 1; bytes <= 40; bytes++) {
        check_fill(bytes, 1, 0);
        check_fill(bytes, 1000, 0);
        check_fill(bytes, 20001, 0); /* doubled, with a rest */
        check_fill(bytes, 3000, 1);  /* not aligned */
    }
}

/* Zeros and other repeating bytes never cross the bus, whatever the element's size. */
UNIT_TEST_WITH(test_repeating_bytes_are_set_on_the_device, setup, teardown)
{
    shpool_buffer *buffer = buffer_of(SHPOOL_TYPE_F64, 1000);
    const double zero = 0;
    double want[1000] = { 0 };

    fake_forget_calls();
    assert_int_equal(shpool_buffer_fill(buffer, &zero), SHPOOL_OK);
    assert_int_equal(fake_calls(FAKE_CALL_set_8), 1);
    assert_int_equal(fake_calls(FAKE_CALL_copy_from_host), 0);
    assert_int_equal(fake_calls(FAKE_CALL_stream_sync), 0);
    assert_holds(buffer, want);
    shpool_buffer_unref(buffer);
    buffer = buffer_of(SHPOOL_TYPE_F32, 1000);
    fake_forget_calls();
    assert_int_equal(shpool_buffer_fill(buffer, &(float){ 1.5f }), SHPOOL_OK);
    assert_int_equal(fake_calls(FAKE_CALL_set_32), 1);
    assert_int_equal(fake_calls(FAKE_CALL_copy_from_host), 0);
    assert_int_equal(shpool_buffer_fill(buffer, NULL), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_fill(NULL, &zero), SHPOOL_ERR_INVALID);
    shpool_buffer_unref(buffer);
}

/* ---- sequences ---- */

UNIT_TEST_WITH(test_ascending, setup, teardown)
{
    const float first = 0.5f;
    const float step = 0.25f;
    shpool_buffer *buffer = buffer_of(SHPOOL_TYPE_F32, MANY);
    shpool_ascent ascent = shpool_ascent_make(SHPOOL_TYPE_F32, &first, &step);
    float *want = malloc(MANY * sizeof(*want));

    assert_non_null(want);
    shpool_ascent_write(&ascent, 0, MANY, want);
    assert_int_equal(shpool_buffer_fill_ascending(buffer, &first, &step), SHPOOL_OK);
    assert_holds(buffer, want);
    free(want);
    shpool_buffer_unref(buffer);
}

/* The buffer's numbers are the array's, and the generator stands where it would stand. */
UNIT_TEST_WITH(test_random_and_where_the_generator_is_afterwards, setup, teardown)
{
    const int16_t min = -9;
    const int16_t max = 1000;
    shpool_buffer *buffer = buffer_of(SHPOOL_TYPE_I16, MANY);
    int16_t *want = malloc(MANY * sizeof(*want));
    shpool_random random;
    shpool_random twin;

    assert_non_null(want);
    shpool_random_init(&random, 12);
    twin = random;
    assert_int_equal(shpool_buffer_fill_random(buffer, &min, &max, &random), SHPOOL_OK);
    assert_int_equal(shpool_random_fill(SHPOOL_TYPE_I16, &min, &max, &twin, MANY, want),
                     SHPOOL_OK);
    assert_holds(buffer, want);
    assert_int_equal(shpool_random_draw(&random), shpool_random_draw(&twin));
    assert_int_equal(shpool_buffer_fill_sorted(buffer, &min, &max, &random), SHPOOL_OK);
    assert_int_equal(shpool_random_fill_sorted(SHPOOL_TYPE_I16, &min, &max, &twin, MANY, want),
                     SHPOOL_OK);
    assert_holds(buffer, want);
    assert_int_equal(shpool_random_draw(&random), shpool_random_draw(&twin));
    free(want);
    shpool_buffer_unref(buffer);
}

/* ---- kernels: a driver that runs them on the executor ---- */

static unsigned launches;
static void test_the_pages_program_in_c(void **state);

static void ascending_kernel(void *arg)
{
    shpool_fill_ascending(arg);
}

static void random_kernel(void *arg)
{
    shpool_fill_random(arg);
}

static cu_result load_module(cu_module *module, const void *image)
{
    *module = (cu_module)(uintptr_t)image;
    return (image != NULL) ? CU_SUCCESS : CU_ERROR_INVALID_VALUE;
}

static cu_result find_function(cu_function *function, cu_module module, const char *name)
{
    (void)module;
    *function = (cu_function)(uintptr_t)((strcmp(name, "shpool_kernel_random") == 0) ? 2 : 1);
    return CU_SUCCESS;
}

static cu_result launch(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z,
                        unsigned shared_bytes, shpool_stream stream, void **parameters,
                        void **extra)
{
    const simt_launch shape = { .grid = { grid_x, grid_y, grid_z },
                                .block = { block_x, block_y, block_z },
                                .dynamic_bytes = shared_bytes };

    (void)extra;
    launches++;
    assert_ptr_equal(stream, shpool_context_stream(context));
    return (simt_run(&shape, ((uintptr_t)function == 2) ? random_kernel : ascending_kernel,
                     parameters[0], NULL) == SHPOOL_OK) ? CU_SUCCESS : CU_ERROR_INVALID_VALUE;
}

/* With code for the device in the library the same numbers come from kernels. */
UNIT_TEST_WITH(test_large_fills_launch_kernels_where_there_are_some, setup, teardown)
{
    static shpool_driver able;
    const shpool_driver *cu;

    if (!HAVE_CUDA_DEVICE) {
        skip();
    }
    assert_int_equal(shpool_driver_get(&cu), SHPOOL_OK);
    able = *cu;
    able.module_load = load_module;
    able.module_function = find_function;
    able.launch = launch;
    shpool_context_unref(context);
    fake_install(&able);
    assert_int_equal(shpool_context_create(NULL, &context), SHPOOL_OK);
    launches = 0;
    test_ascending(state);
    assert_int_equal(launches, 1);
    test_random_and_where_the_generator_is_afterwards(state);
    assert_int_equal(launches, 2);
    test_the_pages_program_in_c(state); /* too little for a launch */
    assert_int_equal(launches, 2);
}

static void write_square(size_t index, void *element, void *user)
{
    *(uint64_t *)element += (uint64_t)index * index; /* it was 0 */
    ++*(size_t *)user;
}

UNIT_TEST_WITH(test_generated_by_a_function, setup, teardown)
{
    shpool_buffer *buffer = buffer_of(SHPOOL_TYPE_U64, MANY);
    uint64_t value = 0;
    size_t calls = 0;

    assert_int_equal(shpool_buffer_generate(buffer, write_square, &calls), SHPOOL_OK);
    assert_int_equal(calls, MANY);
    assert_int_equal(shpool_buffer_to_host(buffer, MANY - 1, 1, &value), SHPOOL_OK);
    assert_int_equal(value, (uint64_t)(MANY - 1) * (MANY - 1));
    assert_int_equal(shpool_buffer_to_host(buffer, 300000, 1, &value), SHPOOL_OK);
    assert_int_equal(value, UINT64_C(90000000000));
    assert_int_equal(shpool_buffer_generate(buffer, NULL, NULL), SHPOOL_ERR_INVALID);
    shpool_buffer_unref(buffer);
}

UNIT_TEST_WITH(test_opaque_elements_have_no_arithmetic, setup, teardown)
{
    shpool_buffer *buffer = buffer_of(SHPOOL_TYPE_OPAQUE(4), 10);
    const int32_t zero = 0;
    const int32_t one = 1;

    assert_int_equal(shpool_buffer_fill_ascending(buffer, &zero, &one), SHPOOL_ERR_INVALID);
    assert_detail("opaque");
    assert_int_equal(shpool_buffer_fill_random(buffer, &zero, &one, NULL), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_fill_sorted(buffer, &zero, &one, NULL), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_print(stdout, buffer, 1, "%d", 1), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_fill(buffer, &one), SHPOOL_OK);
    shpool_buffer_unref(buffer);
}

UNIT_TEST_WITH(test_bad_ranges_leave_buffer_and_generator_alone, setup, teardown)
{
    shpool_buffer *buffer = buffer_of(SHPOOL_TYPE_I32, 2);
    const int32_t want[2] = { 6, 6 };
    shpool_random random;

    shpool_random_init(&random, SHPOOL_RANDOM_SEED);
    assert_int_equal(shpool_buffer_fill(buffer, &want[0]), SHPOOL_OK);
    assert_int_equal(shpool_buffer_fill_random(buffer, &(int32_t){ 7 }, &(int32_t){ 6 }, &random),
                     SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_buffer_fill_sorted(buffer, &(int32_t){ 7 }, &(int32_t){ 6 }, &random),
                     SHPOOL_ERR_INVALID);
    assert_holds(buffer, want);
    assert_int_equal(shpool_random_draw(&random), 3499211612u);
    shpool_buffer_unref(buffer);
}

/* ---- printing ---- */

static void assert_page(FILE *file, char **text, const shpool_buffer *buffer, const char *format,
                        const char *page)
{
    rewind(file);
    assert_int_equal(shpool_buffer_print(file, buffer, SIZE_MAX, format, 10), SHPOOL_OK);
    fputc('\0', file);
    fflush(file);
    page_squeeze(*text);
    assert_string_equal(*text, page);
}

UNIT_TEST_WITH(test_the_pages_program_in_c, setup, teardown)
{
    shpool_buffer *a = buffer_of(SHPOOL_TYPE_I32, 50);
    shpool_buffer *b = buffer_of(SHPOOL_TYPE_F32, 50);
    shpool_buffer *c = buffer_of(SHPOOL_TYPE_F64, 50);
    shpool_random random;
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);

    shpool_random_init(&random, SHPOOL_RANDOM_SEED);
    shpool_buffer_fill_ascending(a, &(int32_t){ 0 }, &(int32_t){ 5 });
    shpool_buffer_fill_random(b, &(float){ 0 }, &(float){ 10 }, &random);
    shpool_buffer_fill_sorted(c, &(double){ 0 }, &(double){ 20 }, &random);
    assert_page(file, &text, a, "%6d", page_a);
    assert_page(file, &text, b, "%6.2lf", page_b);
    assert_page(file, &text, c, "%6.2lf", page_c);
    assert_int_equal(shpool_buffer_print(file, a, 51, "%d", 10), SHPOOL_ERR_INVALID);
    assert_detail("51");
    fclose(file);
    free(text);
    shpool_buffer_unref(a);
    shpool_buffer_unref(b);
    shpool_buffer_unref(c);
}

static int mark_odd(char *text, size_t bytes, size_t index, const void *element, void *user)
{
    const int32_t value = *(const int32_t *)element;

    (void)user;
    return snprintf(text, bytes, "%zu%c%d", index, (value & 1) ? '*' : ' ', value);
}

UNIT_TEST_WITH(test_print_by_a_function, setup, teardown)
{
    shpool_buffer *buffer = buffer_of(SHPOOL_TYPE_I32, 4);
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);

    shpool_buffer_fill_ascending(buffer, &(int32_t){ 6 }, &(int32_t){ 1 });
    assert_int_equal(shpool_buffer_print_with(file, buffer, 3, mark_odd, NULL, 2), SHPOOL_OK);
    fclose(file);
    assert_string_equal(text, "    0:  0 6 1*7 \n    2:  2 8 \n");
    free(text);
    shpool_buffer_unref(buffer);
}

