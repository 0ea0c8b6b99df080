/* SPDX-License-Identifier: BSD-3-Clause */
/* The grammar of specs, and numbers. */
#include "tests/unit.h"

static void expect_bad(const char *text, const char *detail)
{
    shpool_spec spec;

    memset(&spec, 0xff, sizeof(spec));
    if (shpool_spec_parse("spec", text, &spec) != SHPOOL_ERR_SPEC) {
        fail_msg("\"%s\" was accepted", text);
    }
    assert_true(is_zeroed(&spec, sizeof(spec)));
    assert_detail(detail);
}

UNIT_TEST(test_name_alone)
{
    shpool_spec spec;

    assert_int_equal(shpool_spec_parse("spec", "bitmap", &spec), SHPOOL_OK);
    assert_int_equal(spec.layers, 1);
    assert_string_equal(spec.layer[0].name, "bitmap");
    assert_int_equal(spec.layer[0].pairs, 0);
}

UNIT_TEST(test_layers_keys_and_values)
{
    shpool_spec spec;

    assert_int_equal(shpool_spec_parse("spec", "cache:bytes=4K,x_1=/a.b-c|stats|base:size=7",
                                       &spec), SHPOOL_OK);
    assert_int_equal(spec.layers, 3);
    assert_string_equal(spec.layer[0].name, "cache");
    assert_int_equal(spec.layer[0].pairs, 2);
    assert_string_equal(spec.layer[0].pair[0].key, "bytes");
    assert_string_equal(spec.layer[0].pair[0].value, "4K");
    assert_string_equal(spec.layer[0].pair[1].key, "x_1");
    assert_string_equal(spec.layer[0].pair[1].value, "/a.b-c");
    assert_string_equal(spec.layer[1].name, "stats");
    assert_int_equal(spec.layer[1].pairs, 0);
    assert_string_equal(spec.layer[2].name, "base");
    assert_string_equal(spec.layer[2].pair[0].value, "7");
}

UNIT_TEST(test_bad_specs_give_column_and_reason)
{
    expect_bad("", "it ends at column 1, but a name");
    expect_bad("Bitmap", "'B' at column 1");
    expect_bad("9bitmap", "'9' at column 1");
    expect_bad("bit-map", "'-' at column 4");
    expect_bad(" bitmap", "' ' at column 1");
    expect_bad("bitmap ", "' ' at column 7");
    expect_bad("bitmap\t", "byte 0x09 at column 7");
    expect_bad("bitm\xc3\xa4p", "byte 0xc3 at column 5");
    expect_bad("bitmap:", "it ends at column 8, but a key");
    expect_bad("bitmap:check", "it ends at column 13, but '='");
    expect_bad("bitmap:check=", "it ends at column 14, but a value");
    expect_bad("bitmap:check=1,", "it ends at column 16, but a key");
    expect_bad("bitmap:check=,stats=1", "',' at column 14, but a value");
    expect_bad("bitmap:,check=1", "',' at column 8");
    expect_bad("bitmap:check=1=2", "'=' at column 15");
    expect_bad("bitmap:check=1:2", "':' at column 15");
    expect_bad("bitmap:check=1 ", "' ' at column 15");
    expect_bad("bitmap:=1", "'=' at column 8");
    expect_bad("bitmap,check=1", "',' at column 7");
    expect_bad("bitmap=1", "'=' at column 7");
    expect_bad("bitmap|", "it ends at column 8");
    expect_bad("|bitmap", "'|' at column 1");
    expect_bad("a||b", "'|' at column 3");
    expect_bad("bitmap:check=1,check=0", "key check twice");
}

UNIT_TEST(test_limits)
{
    char text[2 * SHPOOL_SPEC_BYTES];
    shpool_spec spec;

    memset(text, 0, sizeof(text));
    memset(text, 'a', SHPOOL_NAME_BYTES - 1);
    assert_int_equal(shpool_spec_parse("spec", text, &spec), SHPOOL_OK);
    text[SHPOOL_NAME_BYTES - 1] = 'a';
    expect_bad(text, "at most 31");

    strcpy(text, "a:k=");
    memset(text + 4, '1', SHPOOL_SPEC_VALUE_BYTES - 1);
    text[4 + SHPOOL_SPEC_VALUE_BYTES - 1] = '\0';
    assert_int_equal(shpool_spec_parse("spec", text, &spec), SHPOOL_OK);
    strcat(text, "1");
    expect_bad(text, "at most 255");

    expect_bad("a|b|c|d|e|f|g|h|i", "more than 8 layers");
    assert_int_equal(shpool_spec_parse("spec", "a|b|c|d|e|f|g|h", &spec), SHPOOL_OK);
    expect_bad("a:a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1",
               "more than 16 keys");

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    expect_bad(text, "at most 511");
}

UNIT_TEST(test_origin_is_in_the_detail)
{
    shpool_spec spec;

    assert_int_equal(shpool_spec_parse("SHPOOL_ALLOCATOR", "?", &spec), SHPOOL_ERR_SPEC);
    assert_detail("SHPOOL_ALLOCATOR \"?\"");
}

/* Any bytes: the parser terminates, and accepted specs have valid names. */
UNIT_TEST(test_random_texts)
{
    static const char alphabet[] = "abz_09:|,=K \xff";
    uint32_t seed = 1;

    for (unsigned round = 0; round < 200000; round++) {
        char text[24];
        shpool_spec spec;
        size_t count;

        seed = seed * 1664525u + 1013904223u;
        count = (seed >> 16) % sizeof(text);
        for (size_t i = 0; i < count; i++) {
            seed = seed * 1664525u + 1013904223u;
            text[i] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
        }
        text[count] = '\0';
        if (shpool_spec_parse("spec", text, &spec) != SHPOOL_OK) {
            continue;
        }
        for (uint32_t i = 0; i < spec.layers; i++) {
            const char *name = spec.layer[i].name;

            assert_true(shpool_name_is_valid(name) || /* or an alias */
                        (name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0'));
        }
    }
}

static void expect_number(const char *text, int suffix, uint64_t expected)
{
    uint64_t value = 1;

    assert_int_equal(shpool_spec_number(text, suffix, &value), 1);
    assert_true(value == expected);
}

UNIT_TEST(test_numbers)
{
    static const char *const bad[] = {
        "", "K", "-1", "+1", " 1", "1 ", "0x10", "1KK", "1KB", "1kk", "1.5K", "1T", "one",
        "18446744073709551616", "99999999999999999999999", "18014398509481984K", "17179869184G",
    };
    uint64_t value;

    expect_number("0", 0, 0);
    expect_number("0007", 0, 7);
    expect_number("64K", 1, 65536);
    expect_number("3M", 1, 3145728);
    expect_number("2G", 1, 2147483648u);
    expect_number("64k", 1, 65536);
    expect_number("3m", 1, 3145728);
    expect_number("2g", 1, 2147483648u);
    expect_number("18446744073709551615", 1, UINT64_MAX);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(bad); i++) {
        value = 1;
        if (shpool_spec_number(bad[i], 1, &value) || (value != 0)) {
            fail_msg("\"%s\" was accepted", bad[i]);
        }
    }
    assert_int_equal(shpool_spec_number("1K", 0, &value), 0);
}
