/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the tests of a program (tests/test.h).
 *
 *     PROGRAM [PATTERN]   only tests whose names match: tests/pools/planted.sh wants single ones
 */
#include "unit.h"

#define MOST_TESTS 128u

static struct CMUnitTest tests[MOST_TESTS];
static size_t            count;
static CMFixtureFunction group_set_up, group_tear_down;
static const char       *needed;

void unit_add(const char *name, CMUnitTestFunction test, CMFixtureFunction set_up,
              CMFixtureFunction tear_down)
{
    unit_add_row(name, test, set_up, NULL);
    tests[count - 1].teardown_func = tear_down;
}

void unit_add_row(const char *name, CMUnitTestFunction test, CMFixtureFunction set_up,
                  const void *row)
{
    if (count == MOST_TESTS) {
        abort();
    }
    tests[count++] = (struct CMUnitTest){ name, test, (set_up != NULL) ? set_up : clear_environment,
                                          NULL, (void *)(uintptr_t)row };
}

void unit_group(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    group_set_up    = set_up;
    group_tear_down = tear_down;
}

void unit_needs(const char *allocator)
{
    needed = allocator;
}

int main(int argc, char **argv)
{
    const shpool_allocator *found;

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    (void)clear_environment(NULL);
    if ((needed != NULL) && (shpool_allocator_find(needed, &found) != SHPOOL_OK)) {
        printf("skipped: --enable-allocators left %s out\n", needed);
        return 77; /* for automake */
    }
    return _cmocka_run_group_tests(argv[0], tests, count, group_set_up, group_tear_down);
}
