/* SPDX-License-Identifier: BSD-3-Clause */
#define SHPOOL_CHECK_COMPAT <shpool/compat/poolAlloc.cuh>
#include "shpool_check_compat.h"
