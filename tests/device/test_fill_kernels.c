/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels that fill buffers, on the CPU block executor: bit for bit the same as the host. */
#include "tests/unit.h"

#include <math.h>

#include <shpool/executor.h>

#include "device/arrays/elements.h"
#include "device/arrays/fill_kernels.h"

#define GUARD 64u /* bytes after the array that must not be written */

static void ascending_kernel(void *arg)
{
    shpool_fill_ascending(arg);
}

static void random_kernel(void *arg)
{
    shpool_fill_random(arg);
}

static void run(simt_kernel kernel, void *task, unsigned blocks, unsigned shared_bytes,
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

    run(ascending_kernel, &task, blocks, 0, 0);
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
    run(random_kernel, &task, 1, SHPOOL_FILL_SHARED, seed);

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

UNIT_GROUP(clear_environment, NULL)
