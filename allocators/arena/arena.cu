/* SPDX-License-Identifier: BSD-3-Clause */
#pragma GCC visibility push(hidden) /* unpopped: the registration symbols too, see lib/image.cu */
#include "arena.h"

SHPOOL_DEVICE_MODULE(arena);
