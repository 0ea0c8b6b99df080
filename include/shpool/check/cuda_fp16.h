/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHPOOL_CHECK_CUDA_FP16_H
#define SHPOOL_CHECK_CUDA_FP16_H

#include "shpool_check_half.h"

#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)
typedef shpool_checker::half<5, 10>   __half;
typedef shpool_checker::half2<__half> __half2;
typedef __half  half;
typedef __half2 half2;
SHPOOL_CHECK_HALF(__half, __half2, half, half2)
#pragma clang attribute pop

#endif /* SHPOOL_CHECK_CUDA_FP16_H */
