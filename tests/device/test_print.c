/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool/device/array.h: arrays as rows of text. */
#include "tests/unit.h"

#include <shpool/device/array.h>

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

UNIT_GROUP(clear_environment, NULL)
