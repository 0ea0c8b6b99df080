/* SPDX-License-Identifier: BSD-3-Clause */
#include "allocators/builtin.h"
#include "planes.h"

SHPOOL_BUILTIN_MODULE(planes, "lock-free, any thread frees, any size up to the pool",
                      SHPOOL_SCOPE_BLOCK,
                      SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE |
                          SHPOOL_CAP_REFUSES | SHPOOL_CAP_LOCK_FREE | SHPOOL_CAP_OUT_OF_BAND |
                          SHPOOL_CAP_CHECK | SHPOOL_CAP_GROUP);
