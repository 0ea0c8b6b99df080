/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "lib/lto.h"
#include "native.h"

SHPOOL_LTO_DECLARE(native);
SHPOOL_HOST_MODULE(native, "CUDA's own in-kernel malloc, in global memory", SHPOOL_SCOPE_BLOCK,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_SPILL, NULL,
                   SHPOOL_LTO(native));
