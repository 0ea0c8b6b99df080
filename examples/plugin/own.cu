/* SPDX-License-Identifier: BSD-3-Clause */
/* The device half of the plugin: LTO-IR that shpool_link() joins with kernels; see own.c. */
#include "own.h"

SHPOOL_DEVICE_MODULE(own);
