/* SPDX-License-Identifier: BSD-3-Clause */
/* The device half of a third party's allocator: its table, and shpool_own_device_table(). */
#include "../examples/plugin/own.h"

SHPOOL_DEVICE_MODULE(own);
