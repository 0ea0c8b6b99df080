/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "freelist.h"
#include "lib/lto.h"

SHPOOL_LTO_DECLARE(freelist);
SHPOOL_HOST_MODULE_GROUP(freelist, "a list of free blocks, two bits for 16 bytes and no headers",
                         SHPOOL_SCOPE_GROUP, 1,
                         SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE |
                             SHPOOL_CAP_REFUSES | SHPOOL_CAP_CHECK,
                         NULL, SHPOOL_LTO(freelist));
