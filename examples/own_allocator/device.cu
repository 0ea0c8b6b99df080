/* SPDX-License-Identifier: BSD-3-Clause */
/* The device half: its function tables. */
#include "../plugin/own.h"

SHPOOL_DEVICE_MODULE(own);
