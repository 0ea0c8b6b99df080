/* SPDX-License-Identifier: BSD-3-Clause */
/* The host half of your own allocators: their descriptors for shpool_register().  The algorithm of
 * own is that of the plugin example; bump is the shortest one. */
#include "../plugin/own.h"
#include "bump.h"

SHPOOL_HOST_MODULE(own, "one's own: bump, and afresh when empty", SHPOOL_SCOPE_BLOCK,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_LOCK_FREE, NULL);
#ifdef OWN_WITHOUT_CUDA /* only on the executor: device.cu does not have it */
SHPOOL_HOST_MODULE(bump, "a stack for each thread, afresh when empty", SHPOOL_SCOPE_THREAD,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_LOCK_FREE, NULL);
#endif
