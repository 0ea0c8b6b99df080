/* SPDX-License-Identifier: BSD-3-Clause */
#include "allocators/builtin.h"
#include "native.h"

SHPOOL_BUILTIN_MODULE(native, "CUDA's own in-kernel malloc, in global memory", SHPOOL_SCOPE_BLOCK,
                      SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_SPILL);
