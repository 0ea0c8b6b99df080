/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHPOOL_CHECK_CUDA_PIPELINE_H
#define SHPOOL_CHECK_CUDA_PIPELINE_H

#include "cuda_runtime.h"

/* 4, 8 or 16 bytes, the last `zeros` of them zeros. */
__forceinline__ void __pipeline_memcpy_async(void *to, const void *from, size_t bytes,
                                             size_t zeros = 0)
{
    shpool_check_async(nullptr, to, from, bytes - zeros);
    shpool_check_async(nullptr, (char *)to + bytes - zeros, nullptr, zeros);
}
__forceinline__ void __pipeline_commit() { (void)shpool_check_async_commit(); }
__forceinline__ void __pipeline_wait_prior(size_t newest)
{
    shpool_check_async_wait((unsigned)newest);
}

#endif /* SHPOOL_CHECK_CUDA_PIPELINE_H */
