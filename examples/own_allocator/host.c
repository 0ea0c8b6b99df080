/* SPDX-License-Identifier: BSD-3-Clause */
/* The host half of your own allocator: the descriptor for shpool_register().  The algorithm is that
 * of the plugin example. */
#include "../plugin/own.h"

SHPOOL_HOST_MODULE(own, "one's own: bump, and afresh when empty", SHPOOL_SCOPE_BLOCK,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_LOCK_FREE, NULL);
