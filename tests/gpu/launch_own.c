/* SPDX-License-Identifier: BSD-3-Clause */
/* The example's plugin, inside the program: registered, with device code of its own, which the
 * program's image has not. */
#include "examples/plugin/own.h"

extern const shpool_blob shpool_own_code;

SHPOOL_HOST_MODULE(own, "the example's plugin", SHPOOL_SCOPE_BLOCK,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_LOCK_FREE, &shpool_own_code);
