/* SPDX-License-Identifier: BSD-3-Clause */
#include "allocators/builtin.h"
#include "thread_bitmap.h"

SHPOOL_BUILTIN_MODULE(thread_bitmap, "a pool for each thread, no metadata between the allocations",
                      SHPOOL_SCOPE_THREAD,
                      SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE |
                          SHPOOL_CAP_REFUSES | SHPOOL_CAP_LOCK_FREE | SHPOOL_CAP_OUT_OF_BAND |
                          SHPOOL_CAP_CHECK);
