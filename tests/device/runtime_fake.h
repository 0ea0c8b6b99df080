/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake driver for tests in C++, which its own header is not for, and the few functions of the
 * CUDA runtime that shpool/memory_resource.hpp calls, over it. */
#ifndef SHPOOL_TESTS_RUNTIME_FAKE_H
#define SHPOOL_TESTS_RUNTIME_FAKE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

int fake_runtime_setup(void **state);    /* two devices of 1 GiB, the first of them current */
int fake_runtime_teardown(void **state); /* fails if work was out of order, or memory is held */
int fake_runtime_is_in_order(void **state); /* the same, but memory may be held until the end */

struct CUstream_st *fake_runtime_stream(int device);
struct CUstream_st *fake_runtime_capture(int device, int blocking); /* a stream that captures */
void fake_runtime_work(struct CUstream_st *stream, const void *ptr, size_t bytes);
void fake_runtime_fail_next_sync(void);
void fake_runtime_use(int device); /* makes it current */

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_TESTS_RUNTIME_FAKE_H */
