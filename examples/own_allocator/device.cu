/* SPDX-License-Identifier: BSD-3-Clause */
/* The device half: its function table, and shpool_own_device_table(). */
#include "../plugin/own.h"

SHPOOL_DEVICE_MODULE(own);
