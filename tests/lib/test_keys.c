/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that leaves no thread key for the library.  It is a separate process, because the
 * library creates its key only once. */
#include "tests/unit.h"

#include <limits.h>
#include <pthread.h>

UNIT_TEST(test_without_a_key_the_detail_is_lost)
{
    static pthread_key_t keys[PTHREAD_KEYS_MAX];
    shpool_pool pool;
    size_t count = 0;

    while ((count < PTHREAD_KEYS_MAX) && (pthread_key_create(&keys[count], NULL) == 0)) {
        assert_int_equal(pthread_setspecific(keys[count], &keys[count]), 0);
        count++;
    }
    assert_true(count > 0);
    assert_string_equal(shpool_last_error(), "");
    assert_int_equal(shpool_plan("no_such_allocator", NULL, &pool), SHPOOL_ERR_INVALID);
    assert_string_equal(shpool_last_error(), "");
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(pthread_getspecific(keys[i]), &keys[i]);
        assert_int_equal(pthread_key_delete(keys[i]), 0);
    }
}
