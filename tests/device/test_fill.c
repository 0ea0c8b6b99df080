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

/* ---- the kernels alone: bit for bit the same as the host ---- */

#define GUARD 64u /* bytes after the array that must not be written */

static void run_fill(simt_kernel kernel, void *task, unsigned blocks, unsigned shared_bytes,
                unsigned long long seed)
{
    const simt_launch launch = {
        .grid = { blocks }, .block = { SHPOOL_FILL_THREADS }, .dynamic_bytes = shared_bytes,
        .seed = seed, .switch_period = (seed != 0) ? 50 : 0,
    };
    simt_result result;

    if (simt_run(&launch, kernel, task, &result) != SHPOOL_OK) {
        fail_msg("%s", result.text);
    }
}

static void assert_guarded(const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(data[bytes + i], 0xA7);
    }
}

static unsigned char *array(size_t bytes)
{
    unsigned char *data = malloc(bytes + GUARD);

    assert_non_null(data);
    memset(data, 0xA7, bytes + GUARD);
    return data;
}

/* ---- ascending ---- */

static void check_ascending(shpool_type type, const void *first, const void *step, size_t count,
                            unsigned blocks)
{
    const size_t bytes = count * SHPOOL_TYPE_BYTES(type);
    const shpool_ascent ascent = shpool_ascent_make(type, first, step);
    unsigned char *data = array(bytes);
    unsigned char *want = array(bytes);
    shpool_ascending_task task = {
        .data = data, .count = count, .first = ascent.first, .step = ascent.step,
        .first_float = ascent.first_float, .step_float = ascent.step_float, .type = type,
        .bytes = (uint32_t)SHPOOL_TYPE_BYTES(type),
    };

    run_fill(ascending_kernel, &task, blocks, 0, 0);
    shpool_ascent_write(&ascent, 0, count, want);
    assert_memory_equal(data, want, bytes);
    assert_guarded(data, bytes);
    free(want);
    free(data);
}

UNIT_TEST(test_ascending_is_what_the_host_makes)
{
    check_ascending(SHPOOL_TYPE_I8, &(int8_t){ -5 }, &(int8_t){ 3 }, 1000, 1);
    check_ascending(SHPOOL_TYPE_U16, &(uint16_t){ 65000 }, &(uint16_t){ 7 }, 257, 2);
    check_ascending(SHPOOL_TYPE_I32, &(int32_t){ 0 }, &(int32_t){ 5 }, 50, 1);
    check_ascending(SHPOOL_TYPE_U32, &(uint32_t){ 1 }, &(uint32_t){ 1u << 31 }, 700, 2);
    check_ascending(SHPOOL_TYPE_I64, &(int64_t){ INT64_MAX }, &(int64_t){ -3 }, 300, 3);
    check_ascending(SHPOOL_TYPE_F32, &(float){ 0.1f }, &(float){ 0.7f }, 1500, 2);
    check_ascending(SHPOOL_TYPE_F64, &(double){ 1e300 }, &(double){ -1.0 / 3 }, 513, 2);
}

/* ---- random ---- */

/* Draws `before` words first, so that the state is anywhere; compares arrays and generators. */
static void check_random(shpool_type type, const void *min, const void *max, size_t count,
                         unsigned before, unsigned long long seed)
{
    const size_t bytes = count * SHPOOL_TYPE_BYTES(type);
    unsigned char *data = array(bytes);
    unsigned char *want = array(bytes);
    shpool_random random;
    shpool_random twin;
    shpool_uniform uniform;
    shpool_random_task task;

    shpool_random_init(&random, SHPOOL_RANDOM_SEED + (uint32_t)before);
    for (unsigned i = 0; i < before; i++) {
        (void)shpool_random_draw(&random);
    }
    twin = random;
    assert_int_equal(shpool_uniform_set(&uniform, type, min, max), SHPOOL_OK);
    task = (shpool_random_task){
        .data = data, .count = count, .base = uniform.base, .values = uniform.last + 1,
        .min = uniform.min, .width = uniform.width, .state = random.state, .type = type,
        .reject = shpool_type_is_float(type)
            ? 0 : (uint32_t)((UINT64_C(1) << 32) % (uniform.last + 1)),
        .bytes = (uint32_t)SHPOOL_TYPE_BYTES(type),
    };
    /* the kernel takes state and position as 625 words */
    assert_ptr_equal(&random.next, random.state + SHPOOL_FILL_WORDS);
    run_fill(random_kernel, &task, 1, SHPOOL_FILL_SHARED, seed);

    shpool_uniform_draw(&uniform, &twin, count, want);
    assert_memory_equal(data, want, bytes);
    assert_guarded(data, bytes);
    for (int i = 0; i < 700; i++) {
        assert_int_equal(shpool_random_draw(&random), shpool_random_draw(&twin));
    }
    free(want);
    free(data);
}

UNIT_TEST(test_random_floats_are_what_the_host_draws)
{
    static const size_t counts[] = { 1, 50, 623, 624, 625, 1248, 3000 };
    static const unsigned befores[] = { 0, 1, 300, 624, 1000 };

    for (size_t c = 0; c < SHPOOL_ARRAY_COUNT(counts); c++) {
        for (size_t b = 0; b < SHPOOL_ARRAY_COUNT(befores); b++) {
            check_random(SHPOOL_TYPE_F32, &(float){ 0.0f }, &(float){ 10.0f }, counts[c],
                         befores[b], 0);
        }
    }
    check_random(SHPOOL_TYPE_F64, &(double){ -1e-3 }, &(double){ 1e9 }, 2000, 17, 0);
}

/* For 2^31 + 1 values nearly every second draw is rejected, for 3 hardly any, for 256 none. */
UNIT_TEST(test_rejected_draws_are_left_out)
{
    for (unsigned before = 0; before < 900; before += 150) {
        check_random(SHPOOL_TYPE_U32, &(uint32_t){ 7 }, &(uint32_t){ 7 + (1u << 31) }, 2000,
                     before, 0);
        check_random(SHPOOL_TYPE_I32, &(int32_t){ -1 }, &(int32_t){ 1 }, 1500, before, 0);
    }
    check_random(SHPOOL_TYPE_U32, &(uint32_t){ 7 }, &(uint32_t){ 7 + (1u << 31) }, 1, 623, 0);
    check_random(SHPOOL_TYPE_U8, &(uint8_t){ 0 }, &(uint8_t){ 255 }, 3000, 5, 0);
    check_random(SHPOOL_TYPE_I16, &(int16_t){ -32768 }, &(int16_t){ 32766 }, 3000, 5, 0);
    check_random(SHPOOL_TYPE_I64, &(int64_t){ -9 }, &(int64_t){ 1000000 }, 1000, 0, 0);
    check_random(SHPOOL_TYPE_U32, &(uint32_t){ 0 }, &(uint32_t){ UINT32_MAX }, 1000, 0, 0);
}

/* The barriers are where they must be: under other schedules the result is the same. */
UNIT_TEST(test_any_schedule_gives_the_same)
{
    for (unsigned long long seed = 1; seed <= 10; seed++) {
        check_random(SHPOOL_TYPE_F32, &(float){ 0.0f }, &(float){ 1.0f }, 2000, 100, seed);
        check_random(SHPOOL_TYPE_U32, &(uint32_t){ 0 }, &(uint32_t){ 3u << 30 }, 1500, 100, seed);
    }
}
