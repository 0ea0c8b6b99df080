/* SPDX-License-Identifier: BSD-3-Clause */
/* Host: why blocks got an empty heap, in words.  Not for direct inclusion. */
#ifndef SHPOOL_IMPL_EMPTY_H
#define SHPOOL_IMPL_EMPTY_H

#include <shpool/impl/report/area.h>
#include <shpool/shpool.h>

/* Make it this thread's shpool_last_error(); report->status says that some heap is empty. */
static inline void shpool_report_explain(const shpool_pool *pool, const shpool_report_data *report,
                                         const shpool_refusal *found)
{
    const shpool_status status = (shpool_status)report->status;
    const unsigned      empty  = report->empty;
    const char         *s      = (empty == 1u) ? "" : "s";

    if ((status == SHPOOL_ERR_LAUNCH) && (found->threads > pool->block_threads)) {
        (void)shpool_error(status, "empty heap in %u block%s: the launch has %u threads in a "
                           "block, the pool is planned for %u; plan it with block_threads=%u",
                           empty, s, found->threads, pool->block_threads, found->threads);
    } else if ((status == SHPOOL_ERR_LAUNCH) && (found->threads != 0)) {
        (void)shpool_error(status, "empty heap in %u block%s: the block has %u bytes of shared "
                           "memory from the pool's base on, the pool needs %u; launch with more "
                           "dynamic shared memory", empty, s, found->bytes, pool->shared_bytes);
    } else if ((status == SHPOOL_ERR_ALIGNMENT) && (found->threads != 0)) {
        (void)shpool_error(status, "empty heap in %u block%s: the pool's base is at 0x%x in shared "
                           "memory, which is not a multiple of the pool's alignment %u", empty, s,
                           found->base, pool->alignment);
    } else if (status == SHPOOL_ERR_INVALID) {
        (void)shpool_error(status, "empty heap in %u block%s: the pool's base is not in shared "
                           "memory; pass the block's dynamic shared memory or a shared array",
                           empty, s);
    } else { /* or the kernel was compiled before refusals were noted */
        (void)shpool_error(status, "empty heap in %u block%s: %s", empty, s,
                           shpool_strerror(status));
    }
}

#endif /* SHPOOL_IMPL_EMPTY_H */
