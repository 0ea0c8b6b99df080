/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "lib/lto.h"
#include "bitmap.h"

SHPOOL_LTO_DECLARE(bitmap);
SHPOOL_HOST_MODULE(bitmap, "lock-free, any thread frees, any size up to the pool",
                   SHPOOL_SCOPE_BLOCK,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE | SHPOOL_CAP_REFUSES |
                       SHPOOL_CAP_LOCK_FREE | SHPOOL_CAP_OUT_OF_BAND | SHPOOL_CAP_CHECK,
                   NULL, SHPOOL_LTO(bitmap));
