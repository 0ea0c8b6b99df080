/* SPDX-License-Identifier: BSD-3-Clause */
#include "allocators/builtin.h"
#include "rbtree.h"

SHPOOL_BUILTIN_MODULE_GROUP(rbtree, "best fit by a digital tree of free blocks",
                            SHPOOL_SCOPE_GROUP, 1,
                            SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE |
                                SHPOOL_CAP_CHECK);
