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

static void test_variables_are_described_in_alphabetical_order(void **state)
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

static void test_variable_has_the_value_of_the_process(void **state)
{
    shpool_variable variable;

    set_environment("SHPOOL_ALLOCATOR", SHPOOL_DEFAULT_ALLOCATOR ":stats=1");
    assert_int_equal(shpool_variable_get(0, &variable), SHPOOL_OK);
    assert_string_equal(variable.name, "SHPOOL_ALLOCATOR");
    assert_string_equal(variable.value, SHPOOL_DEFAULT_ALLOCATOR ":stats=1");
    assert_string_equal(variable.default_value, SHPOOL_DEFAULT_ALLOCATOR);
}

static void test_environment_is_read_once(void **state)
{
    shpool_pool pool;

    assert_int_equal(plan_default(&pool), SHPOOL_OK);
    assert_int_equal(setenv("SHPOOL_ALLOCATOR", "no_such_thing", 1), 0);
    assert_int_equal(plan_default(&pool), SHPOOL_OK);
    assert_string_equal(pool.name, SHPOOL_DEFAULT_ALLOCATOR);
}

static void test_empty_value_is_no_value(void **state)
{
    shpool_pool pool;

    set_environment("SHPOOL_ALLOCATOR", "");
    set_environment("SHPOOL_LOG_LEVEL", "");
    assert_int_equal(plan_default(&pool), SHPOOL_OK);
    assert_string_equal(pool.name, SHPOOL_DEFAULT_ALLOCATOR);
}

static void test_bad_allocator_names_the_variable(void **state)
{
    const shpool_config want = { .block_threads = 64, .payload_bytes = 4096 };
    static char value[4 * SHPOOL_SPEC_BYTES];
    shpool_pool pool;

    set_environment("SHPOOL_ALLOCATOR", "no_such_thing");
    assert_int_equal(plan_default(&pool), SHPOOL_ERR_NOT_FOUND);
    assert_detail("SHPOOL_ALLOCATOR");
    assert_detail(SHPOOL_DEFAULT_ALLOCATOR);
    assert_int_equal(shpool_plan(SHPOOL_DEFAULT_ALLOCATOR, &want, &pool), SHPOOL_OK);

    set_environment("SHPOOL_ALLOCATOR", SHPOOL_DEFAULT_ALLOCATOR ":stat=1");
    assert_int_equal(plan_default(&pool), SHPOOL_ERR_SPEC);
    assert_detail("SHPOOL_ALLOCATOR");
    assert_detail("did you mean \"stats\"?");

    set_environment("SHPOOL_ALLOCATOR", SHPOOL_DEFAULT_ALLOCATOR ":");
    assert_int_equal(plan_default(&pool), SHPOOL_ERR_SPEC);
    assert_detail("SHPOOL_ALLOCATOR");

    memset(value, 'a', sizeof(value) - 1);
    set_environment("SHPOOL_ALLOCATOR", value);
    assert_int_equal(plan_default(&pool), SHPOOL_ERR_SPEC);
    assert_detail("at most 511");
}

static void test_bad_level_names_the_variable(void **state)
{
    shpool_pool pool;

    set_environment("SHPOOL_LOG_LEVEL", "warning");
    assert_int_equal(shpool_config_log_level(SHPOOL_LEVEL_NONE), SHPOOL_LEVEL_NONE);
    assert_int_equal(plan_default(&pool), SHPOOL_ERR_SPEC);
    assert_detail("SHPOOL_LOG_LEVEL");
    assert_detail("none, error, warn, info");
    set_environment("SHPOOL_LOG_LEVEL", "2");
    assert_int_equal(plan_default(&pool), SHPOOL_ERR_SPEC);
}

static void test_levels(void **state)
{
    static const char *const names[] = { "none", "error", "warn", "info" };

    set_environment("SHPOOL_LOG_LEVEL", "");
    assert_int_equal(shpool_config_log_level(SHPOOL_LEVEL_WARN), SHPOOL_LEVEL_WARN);
    for (int i = 0; i < 4; i++) {
        set_environment("SHPOOL_LOG_LEVEL", names[i]);
        assert_int_equal(shpool_config_log_level((shpool_level)(3 - i)), i);
        assert_int_equal(shpool_config_check(), SHPOOL_OK);
    }
}

static void test_unknown_variable_is_warned_of_once(void **state)
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

static void test_many_unknown_variables_are_counted(void **state)
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

/* Send the message to stderr and return the text that arrived there. */
static void capture_stderr(const char *level, char *text, size_t bytes)
{
    FILE *file = tmpfile();
    int saved;
    size_t count;

    assert_non_null(file);
    set_environment("SHPOOL_LOG_LEVEL", level);
    fflush(stderr);
    saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    shpool_message(SHPOOL_LEVEL_WARN, "odd thing %d", 5);
    shpool_message(SHPOOL_LEVEL_INFO, "opened");
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    count = fread(text, 1, bytes - 1, file);
    text[count] = '\0';
    fclose(file);
}

static void test_messages_up_to_the_level_go_to_stderr(void **state)
{
    char text[256];

    capture_stderr("none", text, sizeof(text));
    assert_string_equal(text, "");
    capture_stderr("error", text, sizeof(text));
    assert_string_equal(text, "");
    capture_stderr("warn", text, sizeof(text));
    assert_string_equal(text, "shpool: warn: odd thing 5\n");
    capture_stderr("info", text, sizeof(text));
    assert_string_equal(text, "shpool: warn: odd thing 5\nshpool: info: opened\n");
}

static char first_words[256];

/* Before the environment was read: the first message has it read, and knows the level. */
static void say_the_first_words(void)
{
    FILE *file = tmpfile();
    int saved = dup(STDERR_FILENO);
    size_t count;

    if ((file == NULL) || (saved < 0) || (setenv("SHPOOL_LOG_LEVEL", "error", 1) != 0)) {
        return;
    }
    dup2(fileno(file), STDERR_FILENO);
    (void)shpool_error(SHPOOL_ERR_INVALID, "nothing was configured");
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    count = fread(first_words, 1, sizeof(first_words) - 1, file);
    first_words[count] = '\0';
    fclose(file);
}

static void test_the_first_message_knows_the_level(void **state)
{
    assert_string_equal(first_words, "shpool: error: nothing was configured\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_message_knows_the_level),
        cmocka_unit_test_setup(test_variables_are_described_in_alphabetical_order,
                               clear_environment),
        cmocka_unit_test_setup(test_variable_has_the_value_of_the_process, clear_environment),
        cmocka_unit_test_setup(test_environment_is_read_once, clear_environment),
        cmocka_unit_test_setup(test_empty_value_is_no_value, clear_environment),
        cmocka_unit_test_setup(test_bad_allocator_names_the_variable, clear_environment),
        cmocka_unit_test_setup(test_bad_level_names_the_variable, clear_environment),
        cmocka_unit_test_setup(test_levels, clear_environment),
        cmocka_unit_test_setup(test_unknown_variable_is_warned_of_once, clear_environment),
        cmocka_unit_test_setup(test_many_unknown_variables_are_counted, clear_environment),
        cmocka_unit_test_setup(test_messages_up_to_the_level_go_to_stderr, clear_environment),
    };

    say_the_first_words();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
