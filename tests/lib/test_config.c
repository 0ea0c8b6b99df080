/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment: read once, each variable described, unknown ones named. */
#include "tests/unit.h"

#include <unistd.h>

typedef struct heard {
    unsigned warnings;
    unsigned infos;
    char text[1024];
} heard;

static void listen(shpool_level level, const char *text, void *user)
{
    heard *to = user;

    if (level == SHPOOL_LEVEL_WARN) {
        to->warnings++;
        snprintf(to->text, sizeof(to->text), "%s", text);
    }
    to->infos += (level == SHPOOL_LEVEL_INFO);
}

static void set_environment(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
    shpool_config_reload();
}

static shpool_status plan_default(shpool_pool *pool_p)
{
    const shpool_config want = { .block_threads = 64, .payload_bytes = 4096 };

    return shpool_plan(NULL, &want, pool_p);
}

UNIT_TEST(test_variables_are_described_in_alphabetical_order)
{
    char previous[64] = "";
    shpool_variable variable;
    size_t count = 0;

    while (shpool_variable_get(count, &variable) == SHPOOL_OK) {
        assert_true(strcmp(previous, variable.name) < 0);
        assert_int_equal(strncmp(variable.name, "SHPOOL_", 7), 0);
        assert_non_null(variable.type);
        assert_non_null(variable.default_value);
        assert_true(strlen(variable.text) > 0);
        assert_null(variable.value);
        snprintf(previous, sizeof(previous), "%s", variable.name);
        count++;
    }
    assert_true(count >= 2);
    assert_true(is_zeroed(&variable, sizeof(variable)));
    assert_int_equal(shpool_variable_get(SIZE_MAX, &variable), SHPOOL_ERR_NOT_FOUND);
    assert_int_equal(shpool_variable_get(0, NULL), SHPOOL_ERR_INVALID);
}

UNIT_TEST(test_variable_has_the_value_of_the_process)
{
    shpool_variable variable;

    set_environment("SHPOOL_ALLOCATOR", SHPOOL_DEFAULT_ALLOCATOR ":stats=1");
    assert_int_equal(shpool_variable_get(0, &variable), SHPOOL_OK);
    assert_string_equal(variable.name, "SHPOOL_ALLOCATOR");
    assert_string_equal(variable.value, SHPOOL_DEFAULT_ALLOCATOR ":stats=1");
    assert_string_equal(variable.default_value, SHPOOL_DEFAULT_ALLOCATOR);
}

UNIT_TEST(test_environment_is_read_once)
{
    shpool_pool pool;

    assert_int_equal(plan_default(&pool), SHPOOL_OK);
    assert_int_equal(setenv("SHPOOL_ALLOCATOR", "no_such_thing", 1), 0);
    assert_int_equal(plan_default(&pool), SHPOOL_OK);
    assert_string_equal(pool.name, SHPOOL_DEFAULT_ALLOCATOR);
}

UNIT_TEST(test_empty_value_is_no_value)
{
    shpool_pool pool;

    set_environment("SHPOOL_ALLOCATOR", "");
    set_environment("SHPOOL_LOG_LEVEL", "");
    assert_int_equal(plan_default(&pool), SHPOOL_OK);
    assert_string_equal(pool.name, SHPOOL_DEFAULT_ALLOCATOR);
}

UNIT_TEST(test_a_bad_value_names_its_variable)
{
    static char most[4 * SHPOOL_SPEC_BYTES];
    static const struct { const char *name, *value; shpool_status status; const char *detail; }
    rows[] = {
        { "SHPOOL_ALLOCATOR", "no_such_thing", SHPOOL_ERR_NOT_FOUND, SHPOOL_DEFAULT_ALLOCATOR },
        { "SHPOOL_ALLOCATOR", SHPOOL_DEFAULT_ALLOCATOR ":stat=1", SHPOOL_ERR_SPEC,
          "did you mean \"stats\"?" },
        { "SHPOOL_ALLOCATOR", SHPOOL_DEFAULT_ALLOCATOR ":", SHPOOL_ERR_SPEC, "" },
        { "SHPOOL_ALLOCATOR", most, SHPOOL_ERR_SPEC, "at most 511" },
        { "SHPOOL_LOG_LEVEL", "warning", SHPOOL_ERR_SPEC, "none, error, warn, info" },
        { "SHPOOL_LOG_LEVEL", "2", SHPOOL_ERR_SPEC, "" },
    };
    const shpool_config want = { .block_threads = 64, .payload_bytes = 4096 };
    shpool_pool pool;

    memset(most, 'a', sizeof(most) - 1);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        set_environment(rows[i].name, rows[i].value);
        assert_int_equal(plan_default(&pool), rows[i].status);
        assert_detail(rows[i].name);
        assert_detail(rows[i].detail);
        if (i == 0) {
            assert_int_equal(shpool_plan(SHPOOL_DEFAULT_ALLOCATOR, &want, &pool), SHPOOL_OK);
        }
        set_environment(rows[i].name, "");
    }
}

UNIT_TEST(test_levels)
{
    static const char *const names[] = { "none", "error", "warn", "info" };

    set_environment("SHPOOL_LOG_LEVEL", "");
    assert_int_equal(shpool_config_log_level(SHPOOL_LEVEL_WARN), SHPOOL_LEVEL_WARN);
    set_environment("SHPOOL_LOG_LEVEL", "warning");
    assert_int_equal(shpool_config_log_level(SHPOOL_LEVEL_NONE), SHPOOL_LEVEL_NONE);
    for (int i = 0; i < 4; i++) {
        set_environment("SHPOOL_LOG_LEVEL", names[i]);
        assert_int_equal(shpool_config_log_level((shpool_level)(3 - i)), i);
        assert_int_equal(shpool_config_check(), SHPOOL_OK);
    }
}

UNIT_TEST(test_unknown_variable_is_warned_of_once)
{
    heard got = { 0 };
    shpool_pool pool;

    shpool_set_message_handler(listen, &got);
    set_environment("SHPOOL_ALOCATOR", "x");
    assert_int_equal(plan_default(&pool), SHPOOL_OK);
    assert_int_equal(plan_default(&pool), SHPOOL_OK);
    unsetenv("SHPOOL_ALOCATOR");
    assert_int_equal(got.warnings, 1);
    assert_non_null(strstr(got.text, "SHPOOL_ALOCATOR"));
    assert_non_null(strstr(got.text, "SHPOOL_ALLOCATOR"));
}

/* By default a slip is shown, and a name that another program may own is not. */
UNIT_TEST(test_a_slip_is_shown_by_default)
{
    static const struct { const char *name, *level; int shown; } rows[] = {
        { "SHPOOL_ALOCATOR", NULL, 1 },
        { "SHPOOL_ALLOCATORS", "error", 0 },
        { "SHPOOL_ALOCATOR", "none", 0 },
        { "SHPOOL_SESSION_NAME", NULL, 0 },
        { "SHPOOL_SESSION_NAME", "warn", 1 },
    };
    shpool_pool pool;
    char text[CAPTURED];

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        capture c;

        clear_environment(NULL);
        if (rows[i].level != NULL) {
            set_environment("SHPOOL_LOG_LEVEL", rows[i].level);
        }
        set_environment(rows[i].name, "x");
        c = capture_stderr();
        assert_int_equal(plan_default(&pool), SHPOOL_OK);
        end_capture(&c, text);
        unsetenv(rows[i].name);
        assert_int_equal(strstr(text, rows[i].name) != NULL, rows[i].shown);
    }
}

UNIT_TEST(test_many_unknown_variables_are_counted)
{
    heard got = { 0 };
    shpool_pool pool;
    char name[128];

    shpool_set_message_handler(listen, &got);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "SHPOOL_X%d_%090d", i, 0);
        set_environment(name, "1");
    }
    assert_int_equal(plan_default(&pool), SHPOOL_OK);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "SHPOOL_X%d_%090d", i, 0);
        unsetenv(name);
    }
    assert_int_equal(got.warnings, 9);
    assert_non_null(strstr(got.text, "2 more"));
}

UNIT_TEST(test_messages_up_to_the_level_go_to_stderr)
{
    static const struct { const char *level; const char *text; } rows[] = {
        { "none", "" }, { "error", "" }, { "warn", "shpool: warn: odd thing 5\n" },
        { "info", "shpool: warn: odd thing 5\nshpool: info: opened\n" },
    };
    char text[CAPTURED];

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        capture c;

        set_environment("SHPOOL_LOG_LEVEL", rows[i].level);
        c = capture_stderr();
        shpool_message(SHPOOL_LEVEL_WARN, "odd thing %d", 5);
        shpool_message(SHPOOL_LEVEL_INFO, "opened");
        end_capture(&c, text);
        assert_string_equal(text, rows[i].text);
    }
}

static char first_words[CAPTURED];

/* Before main(), and before the environment was read: the first message has it read, and knows the
 * level. */
__attribute__((constructor)) static void say_the_first_words(void)
{
    const capture c = capture_stderr();

    (void)setenv("SHPOOL_LOG_LEVEL", "error", 1);
    (void)shpool_error(SHPOOL_ERR_INVALID, "nothing was configured");
    end_capture(&c, first_words);
}

UNIT_TEST(test_the_first_message_knows_the_level)
{
    assert_string_equal(first_words, "shpool: error: nothing was configured\n");
}
