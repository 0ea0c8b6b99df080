/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool/device/array.h: element types, random numbers, arrays as rows of text.  test_fill has the
 * listings of MGPU's page, which are made of the same. */
#include "tests/unit.h"

#include <math.h>

#include <shpool/device/array.h>

#include "device/arrays/elements.h"

/* The text that `print` makes; to be freed. */
static char *printed(shpool_type type, const void *data, size_t count, const char *format,
                     size_t columns)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);

    assert_non_null(file);
    assert_int_equal(shpool_array_print(file, type, data, count, format, columns), SHPOOL_OK);
    fclose(file);
    return text;
}

/* The C++ standard requires these of std::mt19937. */
UNIT_TEST(test_the_generator_is_mt19937)
{
    shpool_random random;
    uint32_t word = 0;

    shpool_random_init(&random, SHPOOL_RANDOM_SEED);
    assert_int_equal(shpool_random_draw(&random), 3499211612u);
    for (int i = 1; i < 10000; i++) {
        word = shpool_random_draw(&random);
    }
    assert_int_equal(word, 4123659995u);
    assert_int_equal(shpool_random_draw(NULL), 0);
}

UNIT_TEST(test_no_generator_is_a_new_one_for_each_call)
{
    const uint32_t min = 0;
    const uint32_t max = UINT32_MAX;
    uint32_t first[2];
    uint32_t second[2];

    shpool_random_fill(SHPOOL_TYPE_U32, &min, &max, NULL, 2, first);
    shpool_random_fill(SHPOOL_TYPE_U32, &min, &max, NULL, 2, second);
    assert_int_equal(first[0], 3499211612u);
    assert_memory_equal(first, second, sizeof(first));
}

/* Each integer type: its bounds appear, nothing outside, each of few values equally often. */
static void check_integers(shpool_type type, int64_t min, int64_t max)
{
    enum { COUNT = 100000 };
    const size_t values = (size_t)(max - min) + 1;
    uint64_t *data = malloc(COUNT * sizeof(*data));
    unsigned *seen = calloc(values, sizeof(*seen));
    uint64_t min_element = 0;
    uint64_t max_element = 0;

    assert_non_null(data);
    assert_non_null(seen);
    shpool_put_bits(&min_element, SHPOOL_TYPE_BYTES(type), 0, (uint64_t)min);
    shpool_put_bits(&max_element, SHPOOL_TYPE_BYTES(type), 0, (uint64_t)max);
    assert_int_equal(shpool_random_fill(type, &min_element, &max_element, NULL, COUNT, data),
                     SHPOOL_OK);
    for (size_t i = 0; i < COUNT; i++) {
        int64_t value = (int64_t)shpool_type_load(
            type, (const char *)data + i * SHPOOL_TYPE_BYTES(type));

        assert_true((value >= min) && (value <= max));
        seen[value - min]++;
    }
    for (size_t i = 0; i < values; i++) {
        double expected = (double)COUNT / (double)values;

        /* five standard deviations of a binomial distribution */
        assert_true(fabs(seen[i] - expected) < 5 * sqrt(expected));
    }
    free(seen);
    free(data);
}

UNIT_TEST(test_integers_lie_between_min_and_max_both_included)
{
    check_integers(SHPOOL_TYPE_I8, -128, 127);
    check_integers(SHPOOL_TYPE_U8, 0, 255);
    check_integers(SHPOOL_TYPE_I16, -3, 3);
    check_integers(SHPOOL_TYPE_U16, 65530, 65535);
    check_integers(SHPOOL_TYPE_I32, INT32_MIN, INT32_MIN + 9);
    check_integers(SHPOOL_TYPE_U32, 7, 7);
    check_integers(SHPOOL_TYPE_I64, -1, 1);
    check_integers(SHPOOL_TYPE_U64, 0, 99);
}

/* Draws over a type's whole range are used unchanged; 64 bits take two, the higher half first. */
UNIT_TEST(test_whole_ranges_are_the_draws)
{
    const int32_t min32 = INT32_MIN;
    const int32_t max32 = INT32_MAX;
    const uint64_t min64 = 0;
    const uint64_t max64 = UINT64_MAX;
    shpool_random random;
    int32_t narrow = 0;
    uint64_t wide = 0;

    shpool_random_init(&random, SHPOOL_RANDOM_SEED);
    shpool_random_fill(SHPOOL_TYPE_I32, &min32, &max32, &random, 1, &narrow);
    assert_int_equal((uint32_t)narrow, 3499211612u + 0x80000000u);
    shpool_random_fill(SHPOOL_TYPE_U64, &min64, &max64, &random, 1, &wide);
    assert_true(wide == ((uint64_t)581869302u << 32 | 3890346734u));
}

/* 2^31 + 1 values: of 32 bits nearly half are drawn again. */
UNIT_TEST(test_draws_that_would_favour_some_values_are_drawn_again)
{
    const uint32_t min = 7;
    const uint32_t max = 7 + (1u << 31);
    const uint64_t values = (UINT64_C(1) << 31) + 1;
    shpool_random random;
    shpool_random twin;
    uint32_t value = 0;
    int redrawn = 0;

    shpool_random_init(&random, 1);
    twin = random;
    for (int i = 0; i < 1000; i++) {
        uint64_t product;

        shpool_random_fill(SHPOOL_TYPE_U32, &min, &max, &random, 1, &value);
        for (;;) {
            product = shpool_random_draw(&twin) * values;
            if ((uint32_t)product >= (UINT64_C(1) << 32) % values) {
                break;
            }
            redrawn++;
        }
        assert_int_equal(value, 7 + (product >> 32));
    }
    assert_in_range(redrawn, 850, 1150);
}

UNIT_TEST(test_floats_are_the_draw_over_2_to_the_32)
{
    const double min = 0;
    const double max = 4294967296.0;
    const float low = -1;
    const float high = 1;
    double value = 0;
    float small = 0;

    assert_int_equal(shpool_random_fill(SHPOOL_TYPE_F64, &min, &max, NULL, 1, &value), SHPOOL_OK);
    assert_true(value == 3499211612.0);
    assert_int_equal(shpool_random_fill(SHPOOL_TYPE_F32, &low, &high, NULL, 1, &small), SHPOOL_OK);
    assert_true(small == (float)(-1 + 2 * (3499211612.0 / 4294967296.0)));
}

/* 3 * 2^62 values: of 64 bits a quarter is drawn again. */
UNIT_TEST(test_draws_above_the_largest_multiple_are_drawn_again)
{
    const uint64_t min = 5;
    const uint64_t max = (UINT64_C(3) << 62) + 4;
    shpool_random random;
    shpool_random twin;
    uint64_t value = 0;
    int redrawn = 0;

    shpool_random_init(&random, 1);
    twin = random;
    for (int i = 0; i < 1000; i++) {
        uint64_t word;

        shpool_random_fill(SHPOOL_TYPE_U64, &min, &max, &random, 1, &value);
        do {
            word = (uint64_t)shpool_random_draw(&twin) << 32;
            word |= shpool_random_draw(&twin);
            redrawn += (word >= UINT64_C(3) << 62);
        } while (word >= UINT64_C(3) << 62);
        assert_true(value == word + 5);
    }
    assert_in_range(redrawn, 250, 420); /* 1000 / 3 */
}

UNIT_TEST(test_bad_ranges_are_refused_by_name)
{
    const int32_t seven = 7;
    const int32_t six = 6;
    const double nan = NAN;
    const double big = 1.7e308;
    const double less = -1.7e308;
    int32_t data[2] = { 1, 2 };

    assert_int_equal(shpool_random_fill(SHPOOL_TYPE_I32, &seven, &six, NULL, 2, data),
                     SHPOOL_ERR_INVALID);
    assert_detail("int32: min 7 is above max 6");
    assert_int_equal(data[0], 1);
    assert_int_equal(shpool_random_fill(SHPOOL_TYPE_F64, &nan, &big, NULL, 1, data),
                     SHPOOL_ERR_INVALID);
    assert_detail("finite");
    assert_int_equal(shpool_random_fill(SHPOOL_TYPE_F64, &less, &big, NULL, 1, data),
                     SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_random_fill(SHPOOL_TYPE_OPAQUE(4), &six, &seven, NULL, 1, data),
                     SHPOOL_ERR_INVALID);
    assert_detail("opaque");
    assert_int_equal(shpool_random_fill(SHPOOL_TYPE_I32, NULL, &seven, NULL, 1, data),
                     SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_random_fill(SHPOOL_TYPE_I32, &six, &seven, NULL, 1, NULL),
                     SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_random_fill(SHPOOL_TYPE_I32, &six, &seven, NULL, 0, NULL), SHPOOL_OK);
}

/* `sorted` has the elements of `unsorted`, in order: signed and unsigned types, and floats. */
static void check_sorted(shpool_type type, const void *min, const void *max)
{
    enum { COUNT = 3000 };
    const size_t bytes = SHPOOL_TYPE_BYTES(type);
    unsigned char *sorted = malloc(COUNT * bytes);
    unsigned char *plain = malloc(COUNT * bytes);
    uint64_t sum[2] = { 0, 0 };

    assert_non_null(sorted);
    assert_non_null(plain);
    assert_int_equal(shpool_random_fill_sorted(type, min, max, NULL, COUNT, sorted), SHPOOL_OK);
    assert_int_equal(shpool_random_fill(type, min, max, NULL, COUNT, plain), SHPOOL_OK);
    for (size_t i = 0; i < COUNT; i++) {
        const void *here = sorted + i * bytes;

        sum[0] += shpool_get_bits(sorted, bytes, i) * 0x9e3779b97f4a7c15u;
        sum[1] += shpool_get_bits(plain, bytes, i) * 0x9e3779b97f4a7c15u;
        if (i == 0) {
            continue;
        }
        if (shpool_type_is_float(type)) {
            assert_true(shpool_type_load_float(type, sorted + (i - 1) * bytes) <=
                        shpool_type_load_float(type, here));
        } else if (shpool_type_is_signed(type)) {
            assert_true((int64_t)shpool_type_load(type, sorted + (i - 1) * bytes) <=
                        (int64_t)shpool_type_load(type, here));
        } else {
            assert_true(shpool_type_load(type, sorted + (i - 1) * bytes) <=
                        shpool_type_load(type, here));
        }
    }
    assert_true(sum[0] == sum[1]);
    free(plain);
    free(sorted);
}

UNIT_TEST(test_sorted_is_the_same_numbers_in_order)
{
    check_sorted(SHPOOL_TYPE_I8, &(int8_t){ -100 }, &(int8_t){ 100 });
    check_sorted(SHPOOL_TYPE_U8, &(uint8_t){ 0 }, &(uint8_t){ 255 });
    check_sorted(SHPOOL_TYPE_I16, &(int16_t){ -300 }, &(int16_t){ 30000 });
    check_sorted(SHPOOL_TYPE_U16, &(uint16_t){ 9 }, &(uint16_t){ 65535 });
    check_sorted(SHPOOL_TYPE_I32, &(int32_t){ INT32_MIN }, &(int32_t){ INT32_MAX });
    check_sorted(SHPOOL_TYPE_U32, &(uint32_t){ 0 }, &(uint32_t){ 1000 });
    check_sorted(SHPOOL_TYPE_I64, &(int64_t){ INT64_MIN }, &(int64_t){ 5 });
    check_sorted(SHPOOL_TYPE_U64, &(uint64_t){ 0 }, &(uint64_t){ UINT64_MAX });
    check_sorted(SHPOOL_TYPE_F32, &(float){ -1.5f }, &(float){ 1e10f });
    check_sorted(SHPOOL_TYPE_F64, &(double){ -1e-300 }, &(double){ 1.0 });
    check_sorted(SHPOOL_TYPE_F64, &(double){ -9.0 }, &(double){ -3.0 });
}

UNIT_TEST(test_ascending_integers_wrap_and_floats_are_rounded_once)
{
    const uint8_t first8 = 250;
    const uint8_t step8 = 3;
    const float first = 0.1f;
    const float step = 0.1f;
    uint8_t bytes[4];
    float floats[3];
    shpool_ascent ascent = shpool_ascent_make(SHPOOL_TYPE_U8, &first8, &step8);

    shpool_ascent_write(&ascent, 0, 4, bytes);
    assert_memory_equal(bytes, ((uint8_t[]){ 250, 253, 0, 3 }), 4);
    ascent = shpool_ascent_make(SHPOOL_TYPE_F32, &first, &step);
    shpool_ascent_write(&ascent, 1000000, 3, floats); /* begins anywhere */
    assert_true(floats[1] == (float)(0.1f + 1000001 * (double)0.1f));
}

UNIT_TEST(test_names_of_types)
{
    assert_string_equal(shpool_type_name(SHPOOL_TYPE_U16), "uint16");
    assert_string_equal(shpool_type_name(SHPOOL_TYPE_F64), "float64");
    assert_string_equal(shpool_type_name(SHPOOL_TYPE_OPAQUE(12)), "opaque");
    assert_string_equal(shpool_type_name(0), "unknown");
    assert_string_equal(shpool_type_name(0x01000003u), "unknown");
    assert_int_equal(SHPOOL_TYPE_BYTES(SHPOOL_TYPE_I64), 8);
    assert_int_equal(SHPOOL_TYPE_BYTES(SHPOOL_TYPE_OPAQUE(12)), 12);
}

/* ---- text ---- */

static void assert_printed(shpool_type type, const void *data, size_t count, const char *format,
                           const char *want)
{
    char *text = printed(type, data, count, format, 100);

    assert_string_equal(text, want);
    free(text);
}

/* The row's number in five columns and two blanks, a blank after each element. */
UNIT_TEST(test_rows_look_as_mgpu_prints_them)
{
    const int32_t data[] = { 1, -2, 3 };
    char *text = printed(SHPOOL_TYPE_I32, data, 3, "%4d", 2);

    assert_string_equal(text, "    0:     1   -2 \n    2:     3 \n");
    free(text);
    assert_printed(SHPOOL_TYPE_I32, NULL, 0, "%4d", "");
}

UNIT_TEST(test_the_type_decides_how_wide_a_conversion_is)
{
    const int8_t small[] = { -1, 65 };
    const uint64_t large[] = { UINT64_MAX, 7 };
    const uint32_t word[] = { 4000000000u };
    const double number[] = { 0.5 };

    assert_printed(SHPOOL_TYPE_I8, small, 2, "%d", "    0:  -1 65 \n");
    assert_printed(SHPOOL_TYPE_I8, small, 2, "%llx", "    0:  ff 41 \n");
    assert_printed(SHPOOL_TYPE_I8, small + 1, 1, "%c", "    0:  A \n");
    assert_printed(SHPOOL_TYPE_U64, large, 2, "%d", "    0:  18446744073709551615 7 \n");
    assert_printed(SHPOOL_TYPE_U64, large, 2, "j%ij", "    0:  j18446744073709551615j j7j \n");
    assert_printed(SHPOOL_TYPE_U32, word, 1, "%5hd", "    0:  4000000000 \n");
    assert_printed(SHPOOL_TYPE_F64, number, 1, "<%%%+.3Lf%%>", "    0:  <%+0.500%> \n");
}

static void refuse(shpool_type type, const char *format, const char *detail)
{
    const int64_t data[2] = { 0, 0 };
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);

    assert_int_equal(shpool_array_print(file, type, data, 2, format, 10), SHPOOL_ERR_INVALID);
    assert_detail(detail);
    fclose(file);
    assert_int_equal(bytes, 0);
    free(text);
}

/* vsnprintf's behaviour with these formats is undefined, or it prints rubbish. */
UNIT_TEST(test_formats_that_do_not_suit_are_refused)
{
    char wide[400];

    memset(wide, 'x', sizeof(wide));
    memcpy(wide + sizeof(wide) - 3, "%d", 3);
    refuse(SHPOOL_TYPE_I32, "%s", "give one conversion of diuoxXc");
    refuse(SHPOOL_TYPE_I32, "%n", "another");
    refuse(SHPOOL_TYPE_I32, "%f", "another");
    refuse(SHPOOL_TYPE_F32, "%d", "give one conversion of fFeEgGaA");
    refuse(SHPOOL_TYPE_I32, "%d %d", "several");
    refuse(SHPOOL_TYPE_I32, "%", "another");
    refuse(SHPOOL_TYPE_I32, "%*d", "another");
    refuse(SHPOOL_TYPE_I32, "%1$d", "another");
    refuse(SHPOOL_TYPE_I32, "%99999d", "too wide");
    refuse(SHPOOL_TYPE_I32, "%.99999d", "too wide");
    refuse(SHPOOL_TYPE_I32, "plain", "no conversion");
    refuse(SHPOOL_TYPE_I32, "100%%", "no conversion");
    refuse(SHPOOL_TYPE_I32, wide, "too long");
    refuse(SHPOOL_TYPE_OPAQUE(8), "%d", "opaque");
    refuse(0x05000004u, "%d", "unknown");
}

UNIT_TEST(test_rows_need_a_column_and_a_file)
{
    const int32_t one = 1;

    assert_int_equal(shpool_array_print(stdout, SHPOOL_TYPE_I32, &one, 1, "%d", 0),
                     SHPOOL_ERR_INVALID);
    assert_detail("columns");
    assert_int_equal(shpool_array_print(NULL, SHPOOL_TYPE_I32, &one, 1, "%d", 1),
                     SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_array_print(stdout, SHPOOL_TYPE_I32, NULL, 1, "%d", 1),
                     SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_array_print(stdout, SHPOOL_TYPE_I32, &one, 1, NULL, 1),
                     SHPOOL_ERR_INVALID);
}

UNIT_TEST(test_a_file_that_takes_nothing_is_an_error)
{
    const int32_t one = 1;
    FILE *full = fopen("/dev/full", "w");

    if (full == NULL) {
        skip();
    }
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(shpool_array_print(full, SHPOOL_TYPE_I32, &one, 1, "%d", 1),
                     SHPOOL_ERR_SYSTEM);
    fclose(full);
}

typedef struct point { int16_t x, y, z; } point;

static int format_point(char *text, size_t bytes, size_t index, const void *element, void *user)
{
    const point *p = element;

    if (index == *(const size_t *)user) {
        return -1;
    }
    return snprintf(text, bytes, "%zu(%d,%d,%*d)", index, p->x, p->y, p->z, 0);
}

UNIT_TEST(test_a_function_of_the_callers_formats_any_type)
{
    const point points[] = { { 1, 2, 0 }, { 3, 4, 300 } }; /* 300 columns: more than one try */
    size_t stop = 9;
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);

    assert_int_equal(shpool_array_print_with(file, SHPOOL_TYPE_OPAQUE(sizeof(point)), points, 2,
                                             format_point, &stop, 1), SHPOOL_OK);
    fflush(file);
    assert_memory_equal(text, "    0:  0(1,2,0) \n    1:  1(3,4,   ", 34);
    assert_string_equal(text + bytes - 4, "0) \n");
    assert_int_equal(bytes, 18 + 8 + 6 + 300 + 3);
    stop = 0;
    assert_int_equal(shpool_array_print_with(file, SHPOOL_TYPE_OPAQUE(sizeof(point)), points, 2,
                                             format_point, &stop, 1), SHPOOL_ERR_INVALID);
    assert_detail("failed at element 0");
    fclose(file);
    free(text);
}

/* A file with room for n bytes, for each n below what the array needs. */
UNIT_TEST(test_a_write_that_fails_anywhere_is_an_error)
{
    const int32_t data[] = { 1, -2, 3, 400000, 5 };
    char *text = printed(SHPOOL_TYPE_I32, data, 5, "%4d", 2);
    const size_t bytes = strlen(text);
    char room[256];

    assert_in_range(bytes, 40, sizeof(room) - 2);
    for (size_t n = 1; n <= bytes + 1; n++) {
        FILE *file = fmemopen(room, n, "w");
        shpool_status status;

        assert_non_null(file);
        assert_int_equal(setvbuf(file, NULL, _IONBF, 0), 0);
        status = shpool_array_print(file, SHPOOL_TYPE_I32, data, 5, "%4d", 2);
        assert_int_equal(status, (n < bytes) ? SHPOOL_ERR_SYSTEM : SHPOOL_OK);
        (void)fclose(file);
    }
    free(text);
}

UNIT_TEST(test_one_element_as_text)
{
    const int16_t value = -300;
    char text[4];
    size_t need = 0;

    assert_int_equal(shpool_element_format(SHPOOL_TYPE_I16, &value, "%d", NULL, 0, &need),
                     SHPOOL_OK);
    assert_int_equal(need, 4);
    assert_int_equal(shpool_element_format(SHPOOL_TYPE_I16, &value, "%d", text, 4, NULL),
                     SHPOOL_OK);
    assert_string_equal(text, "-30");
    assert_int_equal(shpool_element_format(SHPOOL_TYPE_I16, &value, "%s", text, 4, &need),
                     SHPOOL_ERR_INVALID);
    assert_string_equal(text, "");
    assert_int_equal(need, 0);
}
