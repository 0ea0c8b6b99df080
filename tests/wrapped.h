/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the C library that fail on request, in a test that is linked with --wrap for them.
 * The test defines static int fails(void) first: 1 if this call is to return NULL. */
#ifndef SHPOOL_TESTS_WRAPPED_H
#define SHPOOL_TESTS_WRAPPED_H

#include <stddef.h>

#define WRAPPED(_type, _name, _parameters, _arguments)                                             \
    _type __real_##_name _parameters;                                                              \
    _type __wrap_##_name _parameters;                                                              \
    _type __wrap_##_name _parameters                                                               \
    {                                                                                              \
        return fails() ? NULL : __real_##_name _arguments;                                         \
    }

#define WRAPPED_MALLOC WRAPPED(void *, malloc, (size_t bytes), (bytes))
#define WRAPPED_CALLOC WRAPPED(void *, calloc, (size_t count, size_t bytes), (count, bytes))
#define WRAPPED_REALLOC WRAPPED(void *, realloc, (void *ptr, size_t bytes), (ptr, bytes))

#endif /* SHPOOL_TESTS_WRAPPED_H */
