/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "lib/lto.h"
#include "thread_best_fit.h"

SHPOOL_LTO_DECLARE(thread_best_fit);
SHPOOL_HOST_MODULE(thread_best_fit, "one pool per thread, best fit",
                   SHPOOL_SCOPE_THREAD,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_RESIZE |
                       SHPOOL_CAP_LOCK_FREE | SHPOOL_CAP_CHECK,
                   NULL, SHPOOL_LTO(thread_best_fit));
