/* SPDX-License-Identifier: BSD-3-Clause */
/* Version, status texts, details of failures, messages. */
#include "tests/unit.h"

#include <pthread.h>

typedef struct heard {
    unsigned count;
    shpool_level level;
    char text[SHPOOL_ERROR_BYTES];
} heard;

static void listen(shpool_level level, const char *text, void *user)
{
    heard *to = user;

    to->count++;
    to->level = level;
    snprintf(to->text, sizeof(to->text), "%s", text);
}

UNIT_TEST(test_version_is_major_minor_patch)
{
    unsigned part[3];
    char rest;

    assert_int_equal(sscanf(shpool_version(), "%u.%u.%u%c", &part[0], &part[1], &part[2], &rest),
                     3);
}

UNIT_TEST(test_strerror_names_every_status_differently)
{
    for (int a = SHPOOL_ERR_CAPTURE; a <= SHPOOL_OK; a++) {
        assert_non_null(shpool_strerror((shpool_status)a));
        assert_string_not_equal(shpool_strerror((shpool_status)a), "unknown status");
        for (int b = SHPOOL_ERR_CAPTURE; b < a; b++) {
            assert_string_not_equal(shpool_strerror((shpool_status)a),
                                    shpool_strerror((shpool_status)b));
        }
    }
    assert_string_equal(shpool_strerror((shpool_status)1), "unknown status");
    assert_string_equal(shpool_strerror((shpool_status)-1000), "unknown status");
}

static void *read_fresh_detail(void *arg)
{
    (void)arg;
    return (shpool_last_error()[0] == '\0') ? NULL : (void *)"not empty";
}

UNIT_TEST(test_last_error_is_empty_before_the_first_failure_of_a_thread)
{
    pthread_t thread;
    void *result = (void *)"no result";

    shpool_error(SHPOOL_ERR_INVALID, "of this thread");
    assert_int_equal(pthread_create(&thread, NULL, read_fresh_detail, NULL), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    assert_string_equal(shpool_last_error(), "of this thread");
}

UNIT_TEST(test_error_returns_the_status_and_formats)
{
    assert_int_equal(shpool_error(SHPOOL_ERR_LINK, "%s %d", "number", 7), SHPOOL_ERR_LINK);
    assert_string_equal(shpool_last_error(), "number 7");
    shpool_error(SHPOOL_ERR_LINK, "again: %s", shpool_last_error());
    assert_string_equal(shpool_last_error(), "again: number 7");
}

UNIT_TEST(test_error_cuts_what_is_too_long)
{
    static char text[2 * SHPOOL_ERROR_BYTES];

    memset(text, 'x', sizeof(text) - 1);
    shpool_error(SHPOOL_ERR_LINK, "%s", text);
    assert_int_equal(strlen(shpool_last_error()), SHPOOL_ERROR_BYTES - 1);
}

UNIT_TEST(test_success_leaves_the_detail_alone)
{
    shpool_error(SHPOOL_ERR_LINK, "earlier");
    assert_int_equal(shpool_fits(SHPOOL_ABI, SHPOOL_ABI), SHPOOL_OK);
    assert_string_equal(shpool_last_error(), "earlier");
}

UNIT_TEST(test_fits_gives_all_three_numbers_and_what_to_rebuild)
{
    assert_int_equal(shpool_fits(SHPOOL_ABI, SHPOOL_ABI + 41), SHPOOL_ERR_ABI);
    assert_detail("headers have ABI 2");
    assert_detail("libshpool_device.a ABI 43");
    assert_detail("ABI 2: rebuild");
    assert_int_equal(shpool_fits(SHPOOL_ABI + 1, SHPOOL_ABI + 1), SHPOOL_ERR_ABI);
    assert_detail("install the libshpool.so");
    assert_int_equal(shpool_fits(SHPOOL_ABI - 1, SHPOOL_ABI - 1), SHPOOL_ERR_ABI);
    assert_detail("rebuild the application");
}

/* Names and paths come from others: what a terminal would obey is shown in each message. */
UNIT_TEST(test_texts_do_not_control_the_terminal)
{
    static const struct { const char *text; const char *shown; } table[] = {
        { "a\033[31mb", "a\\x1b[31mb" },  { "\r\b\a", "\\x0d\\x08\\x07" },
        { "\302\233m", "\\xc2\\x9bm" },    { "\377\303", "\\xff\\xc3" },
        { "a\342\200\256b", "a\\xe2\\x80\\xaeb" }, { "two\n\tlines", "two\n\tlines" },
        { "caf\303\251", "caf\303\251" },  { "", "" },
    };
    static char most[SHPOOL_ERROR_BYTES];
    const shpool_allocator *found;
    heard last = { .count = 0 };

    shpool_set_message_handler(listen, &last);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(table); i++) {
        (void)shpool_error(SHPOOL_ERR_INVALID, "%s", table[i].text);
        assert_string_equal(shpool_last_error(), table[i].shown);
        assert_string_equal(last.text, table[i].shown);
        shpool_message(SHPOOL_LEVEL_WARN, "%s", table[i].text);
        assert_string_equal(last.text, table[i].shown);
        (void)shpool_error(SHPOOL_ERR_INVALID, "x");
        (void)shpool_error_prefix(SHPOOL_ERR_INVALID, "y", table[i].text);
        assert_non_null(strstr(shpool_last_error(), table[i].shown));
    }
    for (size_t bytes = sizeof(most) - 10; bytes < sizeof(most); bytes++) { /* until it is full */
        memset(most, '\033', bytes);
        (void)shpool_error(SHPOOL_ERR_INVALID, "%s", most);
        assert_in_range(strlen(shpool_last_error()), sizeof(most) - 5, sizeof(most) - 1);
        assert_null(strchr(shpool_last_error(), '\033'));
    }
    shpool_set_message_handler(NULL, NULL);
    assert_int_equal(shpool_allocator_find("\033[2J", &found), SHPOOL_ERR_NOT_FOUND);
    assert_null(strchr(shpool_last_error(), '\033'));
}

UNIT_TEST(test_failures_reach_the_receiver)
{
    heard got = { 0 };

    shpool_set_message_handler(listen, &got);
    shpool_error(SHPOOL_ERR_LINK, "broken");
    assert_int_equal(got.count, 1);
    assert_int_equal(got.level, SHPOOL_LEVEL_ERROR);
    assert_string_equal(got.text, "broken");

    shpool_set_message_handler(NULL, NULL);
    shpool_error(SHPOOL_ERR_LINK, "unheard");
    assert_int_equal(got.count, 1);
}

static void fail_in_receiver(shpool_level level, const char *text, void *user)
{
    unsigned *calls = user;

    (void)level;
    (void)text;
    (*calls)++;
    shpool_error(SHPOOL_ERR_INVALID, "from the receiver");
}

UNIT_TEST(test_receiver_that_fails_ends_and_keeps_the_detail)
{
    unsigned calls = 0;

    shpool_set_message_handler(fail_in_receiver, &calls);
    shpool_error(SHPOOL_ERR_LINK, "the cause");
    assert_int_equal(calls, 1);
    assert_string_equal(shpool_last_error(), "the cause");
}
