/* SPDX-License-Identifier: BSD-3-Clause */
/* Host: why blocks got an empty heap, or requests could never succeed, in words.  Not for direct
 * inclusion. */
#ifndef SHPOOL_IMPL_EMPTY_H
#define SHPOOL_IMPL_EMPTY_H

#include <shpool/impl/report/area.h>
#include <shpool/shpool.h>

#include <stdio.h>

/* A request of more bytes than the pool can serve; `first` begins the sentence. */
static inline void shpool_explain_size(const shpool_pool *pool, const shpool_refused *refused,
                                       const char *first)
{
    char slot[64] = "";
    char fewer[96] = "";

    if (pool->spill_bytes != 0) {
        (void)snprintf(slot, sizeof(slot), ", spill=arena at most %u", pool->spill_bytes);
    }
    if (pool->scope == SHPOOL_SCOPE_GROUP) {
        (void)snprintf(fewer, sizeof(fewer), ", or for more threads each: a plan with "
                       "request_bytes=%llu says for how many", refused->bytes);
    }
    if (pool->largest == 0) {
        (void)shpool_error(SHPOOL_ERR_TOO_LARGE, "%s: \"%s\" has no memory in the block, and calls "
                           "for shared memory or by a cluster do not spill", first, pool->name);
    } else if (refused->bytes > 227u * 1024u) {
        (void)shpool_error(SHPOOL_ERR_TOO_LARGE, "%s: a pool serves at most %u bytes%s; no block "
                           "has more than 227 KiB", first, pool->largest, slot);
    } else {
        (void)shpool_error(SHPOOL_ERR_TOO_LARGE, "%s: a pool serves at most %u bytes%s; plan the "
                           "%u pool%s with payload_bytes=%llu%s", first, pool->largest, slot,
                           pool->pools, (pool->pools == 1u) ? "" : "s",
                           refused->bytes * pool->pools, fewer);
    }
}

static inline void shpool_explain_alignment(const shpool_pool *pool, const shpool_refused *refused,
                                            const char *first)
{
    const uint32_t alignment = refused->alignment;

    if ((alignment == 0) || ((alignment & (alignment - 1u)) != 0)) {
        (void)shpool_error(SHPOOL_ERR_ALIGNMENT, "%s: an alignment is a power of two up to %u",
                           first, SHPOOL_MAX_ALIGNMENT);
    } else if (alignment > SHPOOL_MAX_ALIGNMENT) {
        (void)shpool_error(SHPOOL_ERR_ALIGNMENT, "%s: no pool is aligned to more than %u", first,
                           SHPOOL_MAX_ALIGNMENT);
    } else {
        (void)shpool_error(SHPOOL_ERR_ALIGNMENT, "%s: the pool is aligned to %u; open it with "
                           "alignment=%u", first, pool->alignment, alignment);
    }
}

/* Make the first request that could never succeed this thread's shpool_last_error(). */
static inline void shpool_refused_explain(const shpool_pool *pool, shpool_report_data *report)
{
    const shpool_refused *refused = &report->refused;
    char                  first[192];

    (void)snprintf(first, sizeof(first), "%llu request%s could never succeed; the first, of thread "
                   "%u in block %u, site %u, was for %llu bytes aligned to %u", report->refusals,
                   (report->refusals == 1u) ? "" : "s", refused->thread, refused->block,
                   refused->site, refused->bytes, refused->alignment);
    switch (refused->reason) {
    case SHPOOL_REFUSED_SIZE:
        if ((pool->largest != 0) || ((pool->flags & SHPOOL_FLAG_SPILL) != 0)) { /* not null */
            shpool_explain_size(pool, refused, first);
            report->status = SHPOOL_ERR_TOO_LARGE;
        }
        break;
    case SHPOOL_REFUSED_ALIGNMENT:
        shpool_explain_alignment(pool, refused, first);
        report->status = SHPOOL_ERR_ALIGNMENT;
        break;
    case SHPOOL_REFUSED_SCOPE:
        report->status = (int32_t)shpool_error(
            SHPOOL_ERR_UNSUPPORTED, "%s, by a cluster: only a pool of scope cluster serves it "
            "(cluster_bitmap)", first);
        break;
    default:
        report->status = (int32_t)shpool_error(
            SHPOOL_ERR_INVALID, "%s: the members of a group disagree about the request or about "
            "who they are", first);
        break;
    }
}

/* Make the cause of report->status this thread's shpool_last_error().  It may be from an earlier
 * call, which set it for refused requests. */
static inline void shpool_report_explain(const shpool_pool *pool, shpool_report_data *report)
{
    const shpool_status status = (shpool_status)report->status;
    const unsigned      empty  = report->empty;
    const char         *s      = (empty == 1u) ? "" : "s";

    if ((status == SHPOOL_OK) || (empty == 0)) {
        if (report->refused.reason != SHPOOL_REFUSED_NONE) {
            shpool_refused_explain(pool, report);
        }
    } else if ((status == SHPOOL_ERR_LAUNCH) && (report->empty_threads > pool->block_threads)) {
        (void)shpool_error(status, "empty heap in %u block%s: the launch has %u threads in a "
                           "block, the pool is planned for %u; plan it with block_threads=%u",
                           empty, s, report->empty_threads, pool->block_threads,
                           report->empty_threads);
    } else if (status == SHPOOL_ERR_LAUNCH) {
        (void)shpool_error(status, "empty heap in %u block%s: the block has %u bytes of shared "
                           "memory from the pool's base on, the pool needs %u; launch with more "
                           "dynamic shared memory", empty, s, report->empty_bytes,
                           pool->shared_bytes);
    } else if (status == SHPOOL_ERR_ALIGNMENT) {
        (void)shpool_error(status, "empty heap in %u block%s: the pool's base is at 0x%x in shared "
                           "memory, which is not a multiple of %u", empty, s, report->empty_base,
                           SHPOOL_MIN_ALIGNMENT);
    } else if (status == SHPOOL_ERR_INVALID) {
        (void)shpool_error(status, "empty heap in %u block%s: the pool's base is not in shared "
                           "memory; pass the block's dynamic shared memory or a shared array",
                           empty, s);
    } else if (status == SHPOOL_ERR_UNSUPPORTED) {
        (void)shpool_error(status, "empty heap in %u block%s: shpool_init_bytes() makes no pools "
                           "with stats, check, trace or spill; open the pool without them", empty,
                           s);
    } else {
        (void)shpool_error(status, "empty heap in %u block%s: %s", empty, s,
                           shpool_strerror(status));
    }
}

#endif /* SHPOOL_IMPL_EMPTY_H */
