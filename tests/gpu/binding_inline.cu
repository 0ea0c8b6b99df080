/* SPDX-License-Identifier: BSD-3-Clause */
/* binding_kernel.cuh with the allocator SHPOOL_INLINE inlined; gpu.mk compiles it once for each. */
#define BINDING_STATICS
#define BINDING_KERNEL SHPOOL_PASTE(binding_inline_, SHPOOL_INLINE)
#include "binding_kernel.cuh"

extern "C" int SHPOOL_PASTE(binding_run_inline_, SHPOOL_INLINE)(const char *spec, uint32_t first,
                                                                uint32_t kernels, uint32_t *out)
{
    static const void *const kernel[] = {(const void *)BINDING_KERNEL,
                                         BINDING_EACH_STATIC(BINDING_POINTER)};

    return binding_run_kernels("inline", kernel, spec, first, kernels, out);
}

/* This kernel's pool must not open with another allocator. */
extern "C" shpool_status SHPOOL_PASTE(binding_open_other_, SHPOOL_INLINE)(const char *other)
{
    shpool_config want = {};
    shpool_pool   pool = {};

    want.block_threads = BINDING_THREADS;
    want.payload_bytes = BINDING_PAYLOAD;
    return shpool_open(other, &want, &pool);
}
