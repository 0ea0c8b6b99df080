/* SPDX-License-Identifier: BSD-3-Clause */
/* The device half of the plugin, which is joined with a program's kernels: see own.c. */
#include "own.h"

SHPOOL_PLUGIN_MODULE(own);
