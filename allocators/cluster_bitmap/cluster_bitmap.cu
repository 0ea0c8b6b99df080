/* SPDX-License-Identifier: BSD-3-Clause */
#pragma GCC visibility push(hidden) /* unpopped: the registration symbols too, see lib/image.cu */
#include <shpool/simt.h>

#ifndef SHPOOL_LINKED_MODULE
#define SHPOOL_BITMAP_AWAY SIMT_FN_NOINLINE
#endif
#include "cluster_bitmap.h"

SHPOOL_DEVICE_MODULE(cluster_bitmap);
