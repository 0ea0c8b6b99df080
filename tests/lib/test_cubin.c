/* SPDX-License-Identifier: BSD-3-Clause */
/* Which variables a cubin has, also of one that is cut or damaged. */
#include "tests/unit.h"

#include "lib/cubin.h"
#include "made_cubin.h"

static size_t count_of(const void *data, size_t bytes, char *names, size_t room)
{
    shpool_text text = shpool_text_make(names, room);
    size_t count = 99;

    if (shpool_cubin_variables(data, bytes, &count, &text) != SHPOOL_OK) {
        assert_int_equal(count, 0);
        return 99;
    }
    return count;
}

static void finds(const char *name, uint16_t section, uint16_t at, size_t expected)
{
    const made_variable one = { name, section, at };
    const made_cubin cubin = make_cubin(&one, 1);
    char names[256];

    if (count_of(cubin.data, cubin.bytes, names, sizeof(names)) != expected) {
        fail_msg("%s in section %u at %u", name, section, at);
    }
    assert_string_equal(names, (expected != 0) ? name : "");
}

static void test_what_counts(void **state)
{
    (void)state;
    finds("counter", MADE_GLOBAL, 0, 1);
    finds("seeded", MADE_INIT, 0, 1);
    finds("weights", MADE_CONSTANT, 4, 1); /* no value: the host gives it one */
    finds("table", MADE_CONSTANT, 8, 0);
    finds("beyond", MADE_CONSTANT, 999, 1);
    finds("code", MADE_STRINGS, 0, 0);
    finds("nowhere", 77, 0, 0);
    finds("$str$1", MADE_INIT, 0, 0);
    finds("__unnamed_1", MADE_INIT, 0, 0);
    finds("_ZTV6square", MADE_INIT, 0, 0);
    finds("shpool_own_tables", MADE_INIT, 0, 0);
    finds("_ZN34_INTERNAL_4cuda3std3__45__cpo5beginE", MADE_GLOBAL, 0, 0);
}

static void test_names_are_few(void **state)
{
    made_variable many[15];
    made_cubin cubin;
    char names[256];
    size_t i;

    (void)state;
    for (i = 0; i < 15; i++) {
        many[i] = (made_variable){ (i % 2 != 0) ? "odd" : "even", MADE_GLOBAL, 0 };
    }
    cubin = make_cubin(many, 15);
    assert_int_equal(count_of(cubin.data, cubin.bytes, names, sizeof(names)), 15);
    assert_string_equal(names, "even, odd, even, odd, even, odd");
    assert_int_equal(count_of(cubin.data, cubin.bytes, names, 8), 15); /* cut */
}

/* Each in memory of its own, so that a sanitizer sees a byte too far. */
static void test_cut_and_damaged(void **state)
{
    static const made_variable some[] = {
        { "a", MADE_GLOBAL, 0 }, { "b", MADE_INIT, 4 }, { "c", MADE_CONSTANT, 8 }
    };
    const made_cubin whole = make_cubin(some, 3);
    char names[256];

    (void)state;
    for (size_t bytes = 0; bytes < whole.bytes; bytes++) {
        unsigned char *cut = malloc(bytes + 1);

        assert_non_null(cut);
        memcpy(cut, whole.data, bytes);
        cut = realloc(cut, (bytes != 0) ? bytes : 1);
        assert_non_null(cut);
        (void)count_of(cut, bytes, names, sizeof(names));
        free(cut);
    }
    for (size_t i = 0; i < whole.bytes; i++) {
        for (unsigned value = 0; value < 256; value += 51) {
            unsigned char *bad = malloc(whole.bytes);

            assert_non_null(bad);
            memcpy(bad, whole.data, whole.bytes);
            bad[i] = (unsigned char)value;
            (void)count_of(bad, whole.bytes, names, sizeof(names));
            free(bad);
        }
    }
    assert_int_equal(count_of("text, and no cubin at all; it has more than the 64 bytes of a head",
                              66, names, sizeof(names)), 99);
    assert_detail("is no cubin");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_what_counts, clear_environment),
        cmocka_unit_test_setup(test_names_are_few, clear_environment),
        cmocka_unit_test_setup(test_cut_and_damaged, clear_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
