/* SPDX-License-Identifier: BSD-3-Clause */
/* groups_kernel.cuh with bitmap inlined. */
#define SHPOOL_INLINE bitmap
#define GROUPS_KERNEL groups_kernel_inline
#include "groups_kernel.cuh"

extern "C" bool groups_run_inline(const groups_shape *shape, counts *counts_p)
{
    shpool_pool pool  = {};
    bool        right = open_within("bitmap", shape->threads, 40u * 1024u, 0, &pool) &&
                        groups_launch("inline", (const void *)groups_kernel_inline, pool, *shape,
                                      counts_p);

    (void)shpool_close(&pool);
    return right;
}
