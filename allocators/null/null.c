/* SPDX-License-Identifier: BSD-3-Clause */
#include "allocators/builtin.h"
#include "null.h"

SHPOOL_BUILTIN_MODULE(null, "never allocates anything: measures the cost around an allocator",
                      SHPOOL_SCOPE_BLOCK,
                      SHPOOL_CAP_NONE | SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED);
