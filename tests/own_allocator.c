/* SPDX-License-Identifier: BSD-3-Clause */
/* The host half of a third party's allocator: what shpool_register() takes. */
#include "../examples/plugin/own.h"

/* SHPOOL_DEVICE_MODULE(own) in own_allocator.cu defines it. */
shpool_status shpool_own_device_table(int instrumented, shpool_pool *pool);

SHPOOL_HOST_MODULE(own, "a test's own: bump, and afresh when empty", SHPOOL_SCOPE_BLOCK,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_LOCK_FREE, shpool_own_device_table, NULL);
