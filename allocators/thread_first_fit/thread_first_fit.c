/* SPDX-License-Identifier: BSD-3-Clause */
#include "allocators/builtin.h"
#include "thread_first_fit.h"

SHPOOL_BUILTIN_MODULE(thread_first_fit, "one pool per thread, first fit", SHPOOL_SCOPE_THREAD,
                      SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE |
                          SHPOOL_CAP_LOCK_FREE | SHPOOL_CAP_CHECK);
