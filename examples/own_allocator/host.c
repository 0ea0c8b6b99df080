/* SPDX-License-Identifier: BSD-3-Clause */
/* The host half of an allocator of one's own: what shpool_register() takes.  The algorithm is that
 * of the plugin example. */
#include "../plugin/own.h"

#ifdef OWN_WITHOUT_CUDA
#define OWN_TABLE NULL /* for the CPU block executor only */
#else
/* SHPOOL_DEVICE_MODULE(own) in device.cu defines it. */
shpool_status shpool_own_device_table(int instrumented, shpool_pool *pool);
#define OWN_TABLE shpool_own_device_table
#endif

SHPOOL_HOST_MODULE(own, "one's own: bump, and afresh when empty", SHPOOL_SCOPE_BLOCK,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_LOCK_FREE, OWN_TABLE, NULL);
