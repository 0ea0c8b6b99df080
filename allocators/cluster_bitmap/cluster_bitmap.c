/* SPDX-License-Identifier: BSD-3-Clause */
#include "allocators/builtin.h"
#include "cluster_bitmap.h"

SHPOOL_BUILTIN_MODULE(cluster_bitmap, "bitmap pools that the blocks of a cluster share, sm_90",
                      SHPOOL_SCOPE_CLUSTER,
                      SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE |
                          SHPOOL_CAP_REFUSES | SHPOOL_CAP_LOCK_FREE | SHPOOL_CAP_OUT_OF_BAND |
                          SHPOOL_CAP_CHECK);
