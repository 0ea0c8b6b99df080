/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "lib/lto.h"
#include "null.h"

SHPOOL_LTO_DECLARE(null);
SHPOOL_HOST_MODULE(null, "never hands out anything: measures what surrounds an allocator",
                   SHPOOL_SCOPE_BLOCK, SHPOOL_CAP_NONE | SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED, NULL,
                   SHPOOL_LTO(null));
