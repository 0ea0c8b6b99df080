/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHPOOL_CHECK_CUDA_BF16_H
#define SHPOOL_CHECK_CUDA_BF16_H

#include "shpool_check_half.h"

#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)
typedef shpool_checker::half<8, 7>           __nv_bfloat16;
typedef shpool_checker::half2<__nv_bfloat16> __nv_bfloat162;
typedef __nv_bfloat16  nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
SHPOOL_CHECK_HALF(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
#pragma clang attribute pop

#endif /* SHPOOL_CHECK_CUDA_BF16_H */
