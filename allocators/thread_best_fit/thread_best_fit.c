/* SPDX-License-Identifier: BSD-3-Clause */
#include "allocators/builtin.h"
#include "thread_best_fit.h"

SHPOOL_BUILTIN_MODULE(thread_best_fit, "one pool per thread, best fit", SHPOOL_SCOPE_THREAD,
                      SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE |
                          SHPOOL_CAP_LOCK_FREE | SHPOOL_CAP_CHECK);
