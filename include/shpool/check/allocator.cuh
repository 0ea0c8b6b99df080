/* SPDX-License-Identifier: BSD-3-Clause */
#define SHPOOL_CHECK_COMPAT <shpool/compat/allocator.cuh>
#include "shpool_check_compat.h"
