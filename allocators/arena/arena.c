/* SPDX-License-Identifier: BSD-3-Clause */
#include "allocators/builtin.h"
#include "arena.h"

SHPOOL_BUILTIN_MODULE_GROUP(arena, "a stack for each thread or group, with marks",
                            SHPOOL_SCOPE_GROUP, 1,
                            SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE | SHPOOL_CAP_REFUSES |
                                SHPOOL_CAP_OUT_OF_BAND | SHPOOL_CAP_CHECK | SHPOOL_CAP_MARK);
