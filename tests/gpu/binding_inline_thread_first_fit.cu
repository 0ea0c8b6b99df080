/* SPDX-License-Identifier: BSD-3-Clause */
/* binding_kernel.cuh with thread_first_fit inlined. */
#define SHPOOL_INLINE  thread_first_fit
#define BINDING_KERNEL binding_inline_thread_first_fit
#include "binding_kernel.cuh"

#include "check.h"

#include "binding_run.h"

extern "C" int binding_run_inline_thread_first_fit(const char *allocator, uint32_t *out)
{
    shpool_pool pool   = {};
    int         failed = binding_open(allocator, &pool);

    if (failed == 0) {
        failed = binding_launch("inline thread_first_fit",
                                (const void *)binding_inline_thread_first_fit, &pool, out);
    }
    (void)shpool_close(&pool);
    return failed;
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
