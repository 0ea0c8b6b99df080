/* SPDX-License-Identifier: BSD-3-Clause */
/* planes, likewise. */
#define SHPOOL_INLINE planes
#include "test_explore.c"
