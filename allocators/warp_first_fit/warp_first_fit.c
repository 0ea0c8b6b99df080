/* SPDX-License-Identifier: BSD-3-Clause */
#include "allocators/builtin.h"
#include "warp_first_fit.h"

SHPOOL_BUILTIN_MODULE(warp_first_fit, "a pool for each group of threads behind a lock, first fit",
                      SHPOOL_SCOPE_GROUP,
                      SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE | SHPOOL_CAP_CHECK);
