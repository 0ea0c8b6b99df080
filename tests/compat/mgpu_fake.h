/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake driver for tests in C++, which its own header is not for. */
#ifndef SHPOOL_TESTS_MGPU_FAKE_H
#define SHPOOL_TESTS_MGPU_FAKE_H

#ifdef __cplusplus
extern "C" {
#endif

/* For a whole group: MGPU's names keep devices and allocators until the process ends. */
int mgpu_fake_setup(void **state);    /* two devices of 1 GiB, and a clean environment */
int mgpu_fake_teardown(void **state); /* fails if work was out of order */

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_TESTS_MGPU_FAKE_H */
