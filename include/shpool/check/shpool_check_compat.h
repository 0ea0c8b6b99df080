/* SPDX-License-Identifier: BSD-3-Clause */
/* A header of cuda_memory's names, SHPOOL_CHECK_COMPAT, with the executor's half of its code. */
#include "cuda_runtime.h"

#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)
#include SHPOOL_CHECK_COMPAT
#pragma clang attribute pop
#pragma pop_macro("__CUDACC__")
#undef SHPOOL_CHECK_COMPAT
