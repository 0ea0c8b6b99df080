/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "lib/lto.h"
#include "warp_first_fit.h"

SHPOOL_LTO_DECLARE(warp_first_fit);
SHPOOL_HOST_MODULE(warp_first_fit, "a pool for each group of threads behind a lock, first fit",
                   SHPOOL_SCOPE_GROUP,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE |
                       SHPOOL_CAP_CHECK,
                   NULL, SHPOOL_LTO(warp_first_fit));
