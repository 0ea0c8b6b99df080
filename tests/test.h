/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that list themselves: tests/main.c runs those of the program, in the order of the file.
 *
 *     UNIT_TEST(test_a_thing)
 *     {
 *         assert_int_equal(...);
 *     }
 */
#ifndef SHPOOL_TESTS_TEST_H
#define SHPOOL_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>

/* CMocka gives each test a `state`, which few of them use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#ifndef UNIT_STATE
#define UNIT_STATE state /* the name of what a setup hands to its test */
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNIT_SANITIZER /* clang's */
#endif
#endif

/* Sanitizers make programs slow.  With them those that have many rounds make each seventh one; all
 * of them are made without (shpool_kept in tests.mk). */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(UNIT_SANITIZER)
#define UNIT_STEP 7u
#else
#define UNIT_STEP 1u
#endif

/* Called before main(). */
void unit_add(const char *name, CMUnitTestFunction test, CMFixtureFunction set_up,
              CMFixtureFunction tear_down);
void unit_add_row(const char *name, CMUnitTestFunction test, CMFixtureFunction set_up,
                  const void *row); /* *state of the test */
void unit_group(CMFixtureFunction set_up, CMFixtureFunction tear_down);
void unit_needs(const char *allocator);
#ifdef __cplusplus
}
#endif

#define UNIT_ADD(_test, _id, _name, _set_up, _tear_down)                                           \
    __attribute__((constructor)) static void unit_add_##_test##_id(void)                           \
    {                                                                                              \
        unit_add(_name, _test, _set_up, _tear_down);                                               \
    }

/* A test between a setup and a teardown; each may be NULL. */
#define UNIT_TEST_WITH(_test, _set_up, _tear_down)                                                 \
    static void _test(void **UNIT_STATE);                                                          \
    UNIT_ADD(_test, , #_test, _set_up, _tear_down)                                                 \
    static void _test(void **UNIT_STATE)

/* A test that begins without the library's variables in its environment (tests/unit.h). */
#define UNIT_TEST(_test) UNIT_TEST_WITH(_test, NULL, NULL)

/* Before and after all tests of the program. */
#define UNIT_GROUP(_set_up, _tear_down)                                                            \
    __attribute__((constructor)) static void unit_add_group(void)                                  \
    {                                                                                              \
        unit_group(_set_up, _tear_down);                                                           \
    }

/* The program is skipped in a build without this allocator. */
#define UNIT_NEEDS(_allocator)                                                                     \
    __attribute__((constructor)) static void unit_add_need(void)                                   \
    {                                                                                              \
        unit_needs(_allocator);                                                                    \
    }

#endif /* SHPOOL_TESTS_TEST_H */
