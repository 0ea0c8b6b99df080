/* SPDX-License-Identifier: BSD-3-Clause */
#include "allocators/builtin.h"
#include "freelist.h"

SHPOOL_BUILTIN_MODULE_GROUP(freelist, "a list of free blocks, two bits for 16 bytes and no headers",
                            SHPOOL_SCOPE_GROUP, 1,
                            SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE |
                                SHPOOL_CAP_REFUSES | SHPOOL_CAP_CHECK);
