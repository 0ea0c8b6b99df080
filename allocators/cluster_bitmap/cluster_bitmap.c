/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "lib/lto.h"
#include "cluster_bitmap.h"

SHPOOL_LTO_DECLARE(cluster_bitmap);
SHPOOL_HOST_MODULE(cluster_bitmap, "bitmap pools that the blocks of a cluster share, sm_90",
                   SHPOOL_SCOPE_CLUSTER,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE | SHPOOL_CAP_REFUSES |
                       SHPOOL_CAP_LOCK_FREE | SHPOOL_CAP_OUT_OF_BAND | SHPOOL_CAP_CHECK,
                   NULL, SHPOOL_LTO(cluster_bitmap));
