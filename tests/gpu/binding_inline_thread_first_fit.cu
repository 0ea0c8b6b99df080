/* SPDX-License-Identifier: BSD-3-Clause */
/* binding_kernel.cuh with thread_first_fit inlined. */
#define SHPOOL_INLINE  thread_first_fit
#define BINDING_STATICS
#define BINDING_KERNEL binding_inline_thread_first_fit
#include "binding_kernel.cuh"

extern "C" int binding_run_inline_thread_first_fit(const char *spec, uint32_t first,
                                                   uint32_t kernels, uint32_t *out)
{
    static const void *const kernel[] = {(const void *)BINDING_KERNEL,
                                         BINDING_EACH_STATIC(BINDING_POINTER)};

    return binding_run_kernels("inline thread_first_fit", kernel, spec, first, kernels, out);
}

/* This kernel's pool must not open with another allocator. */
extern "C" shpool_status binding_open_other_thread_first_fit(const char *other)
{
    shpool_config want = {};
    shpool_pool   pool = {};

    want.block_threads = BINDING_THREADS;
    want.payload_bytes = BINDING_PAYLOAD;
    return shpool_open(other, &want, &pool);
}
