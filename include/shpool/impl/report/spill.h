/* SPDX-License-Identifier: BSD-3-Clause */
/* Spills: requests that the pool cannot serve are served from global memory.  Not for direct
 * inclusion.
 *
 * There are two destinations, chosen by the pool's flags, in this order:
 *
 *   ARENA   A slot of memory that the host has allocated (slots.h).  A block acquires one at
 *           its first spill and returns it in fini.
 *   NATIVE  CUDA's in-kernel heap, after a header of 16 bytes.
 *
 * A kernel that is bound to a pool without spill contains none of this: the table's entry refuses,
 * run-time linking uses another module (lib/cuda/linked_plain.cu), and at compile time only
 * SHPOOL_SPILL enables it. */
#ifndef SHPOOL_IMPL_SPILL_H
#define SHPOOL_IMPL_SPILL_H

#include <shpool/impl/report/slots.h>
#include <shpool/impl/report/trace.h>

/* Header before an allocation of the native heap. */
typedef struct shpool_spilled {
    void              *raw;   /* what the native allocator returned */
    unsigned long long bytes; /* payload bytes, whole words */
} shpool_spilled;

/* ---- the native heap ---- */

SIMT_FN void *shpool_native_take(unsigned long long bytes, uint32_t alignment)
{
    const uint32_t extra = (uint32_t)sizeof(shpool_spilled) + alignment - SHPOOL_MIN_ALIGNMENT;
    char          *raw   = NULL;
    char          *ptr   = NULL;

    if (bytes < ~0ull - 4u - extra) {
        bytes = (bytes + 3u) & ~3ull;
        raw   = (char *)simt_native_malloc((size_t)(bytes + extra));
    }
    if (raw != NULL) {
        ptr = raw + sizeof(shpool_spilled);
        ptr += (0u - (uint32_t)(size_t)ptr) & (alignment - 1u);
        ((shpool_spilled *)(void *)ptr)[-1].raw   = raw;
        ((shpool_spilled *)(void *)ptr)[-1].bytes = bytes;
    }
    return ptr;
}

/* Whether ptr is in the slots, the block's own or another's, and thus not in the native heap. */
SIMT_FN uint32_t shpool_is_slot(shpool_view view, const void *ptr)
{
    size_t   first;
    uint32_t slots;

    if (((view.flags & SHPOOL_FLAG_SPILL_ARENA) == 0) || (view.area == 0)) {
        return 0;
    }
    slots = simt_load32(view.area + SHPOOL_AREA_SLOTS);
    first = shpool_slots_first(shpool_area_report(view), slots);
    return (size_t)ptr - first <
           (size_t)slots * simt_load32(view.area + SHPOOL_AREA_SLOT_BYTES);
}

/* ---- what the bindings call ---- */

/* Usable bytes of an allocation by shpool_spill(); 0: not in the block's slot, or not spilled. */
SIMT_FN unsigned long long shpool_spill_bytes(shpool_view view, const void *ptr)
{
    unsigned long long bytes = 0;

    if (((view.flags & SHPOOL_FLAG_SPILL_ARENA) != 0) && (view.area != 0)) {
        bytes = shpool_slot_usable(view, ptr);
        if (bytes == SHPOOL_SPILL_DAMAGED) { /* then it is not known where the slots are, either */
            return 0;
        }
    }
    if ((bytes == 0) && ((view.flags & SHPOOL_FLAG_SPILL_NATIVE) != 0) &&
        !shpool_is_slot(view, ptr)) {
        bytes = ((const shpool_spilled *)ptr)[-1].bytes;
    }
    return bytes;
}

/* Clamp to 32 bits, for counters. */
SIMT_FN uint32_t shpool_spill_count(unsigned long long bytes)
{
    return (bytes > SHPOOL_MAX_REQUEST) ? SHPOOL_MAX_REQUEST : (uint32_t)bytes;
}

/* The shpool_refusal of the request that this view makes. */
SIMT_FN uint32_t shpool_refusal_of(shpool_view view)
{
    return (view.flags & (uint32_t)SHPOOL_FLAG_REFUSED_MASK) >> SHPOOL_FLAG_REFUSED_SHIFT;
}

/* Count a request in an empty heap, which has no area. */
SIMT_FN void shpool_note_empty_malloc(shpool_view view, unsigned long long bytes,
                                      uint32_t alignment)
{
    shpool_report_data *report = (shpool_report_data *)(size_t)(
        ((unsigned long long)view.word[1] << 32) | view.word[0]);

    simt_global_add64(&report->mallocs, 1);
    simt_global_add64(&report->failures, 1);
    shpool_note_refused(simt_thread_rank(), report, SHPOOL_REFUSED_EMPTY, bytes, alignment,
                        view.base);
}

/* A request fails: the pool has refused it, and it does not spill.  No module has counted it if
 * there is no pool, or if no pool was asked.  view.base: the request's site, here and below. */
SIMT_FN void *shpool_no_spill(shpool_view view, unsigned long long bytes, uint32_t alignment)
{
    const uint32_t reason = shpool_refusal_of(view);

    if (reason == SHPOOL_REFUSED_EMPTY) {
        shpool_note_empty_malloc(view, bytes, alignment);
        return NULL;
    }
    if (view.area == 0) {
        return NULL;
    }
    if ((view.bytes == 0) || (reason > SHPOOL_REFUSED_SIZE)) {
        if ((view.flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0) {
            shpool_note_malloc(view, 0);
        } else {
            (void)shpool_count(view, SHPOOL_AREA_FAILURES, 1);
        }
        shpool_trace_spill(view, bytes, alignment, NULL, 0, view.base);
    }
    if (reason != SHPOOL_REFUSED_NONE) {
        shpool_note_refused(view.rank, shpool_area_report(view), reason, bytes, alignment,
                            view.base);
    }
    return NULL;
}

/* Count such a request again, because a module with a pool has counted a failure; it got `bytes`,
 * 0: none. */
SIMT_FN void shpool_spill_note(shpool_view view, uint32_t bytes, uint32_t is_native)
{
    if ((view.flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0) {
        if (view.bytes != 0) {
            (void)shpool_count(view, SHPOOL_AREA_MALLOCS, 0u - 1u);
            (void)shpool_count(view, SHPOOL_AREA_FAILURES, 0u - 1u);
        }
        shpool_note_malloc(view, bytes);
    } else if (bytes == 0) {
        (void)shpool_count(view, SHPOOL_AREA_FAILURES, 1);
    }
    if (bytes != 0) {
        (void)shpool_count(view, SHPOOL_AREA_SPILLS, 1);
        (void)shpool_count(view, SHPOOL_AREA_NATIVE, is_native);
    }
}

/* The most bytes that can be spilled. */
SIMT_FN unsigned long long shpool_spill_most(shpool_view view)
{
    if ((view.flags & SHPOOL_FLAG_SPILL_NATIVE) != 0) {
        return ~0ull >> 16;
    }
    return (((view.flags & SHPOOL_FLAG_SPILL_ARENA) != 0) && (view.area != 0))
               ? simt_load32(view.area + SHPOOL_AREA_SLOT_BYTES) : 0u;
}

/* Serve a request from the block's slot or the native heap; NULL if those are full as well. */
SIMT_FN void *shpool_spill(shpool_view view, unsigned long long bytes, uint32_t alignment)
{
    void    *ptr       = NULL;
    uint32_t is_native = 0;

    if (((view.flags & SHPOOL_FLAG_SPILL) == 0) ||
        (shpool_refusal_of(view) > SHPOOL_REFUSED_SIZE)) {
        return shpool_no_spill(view, bytes, alignment);
    }
    if (((view.flags & SHPOOL_FLAG_SPILL_ARENA) != 0) && (view.area != 0)) {
        ptr = shpool_slot_malloc(view, bytes, alignment);
    }
    if ((ptr == NULL) && ((view.flags & SHPOOL_FLAG_SPILL_NATIVE) != 0)) {
        ptr       = shpool_native_take(bytes, alignment);
        is_native = (ptr != NULL);
    }
    if (view.area != 0) {
        uint32_t granule = (is_native != 0)
                               ? 4u : 1u << (simt_load32(view.area + SHPOOL_AREA_SHIFT) & 31u);
        uint32_t usable  = (ptr != NULL) ? shpool_spill_count(
                                               (bytes + granule - 1u) &
                                               ~(unsigned long long)(granule - 1u)) : 0u;

        shpool_spill_note(view, usable, is_native);
        shpool_trace_spill(view, bytes, alignment, ptr, usable, view.base);
        if ((ptr == NULL) && (shpool_refusal_of(view) != SHPOOL_REFUSED_NONE) &&
            (bytes > shpool_spill_most(view))) {
            shpool_note_refused(view.rank, shpool_area_report(view), SHPOOL_REFUSED_SIZE, bytes,
                                alignment, view.base);
        }
    }
    return ptr;
}

/* A free that no pool of this heap can serve. */
SIMT_FN uint32_t shpool_refuse(shpool_view view, void *ptr, uint32_t site)
{
    if (view.area != 0) {
        shpool_note_bad_free(view, ptr, SHPOOL_FREE_FOREIGN, site);
    }
    return SHPOOL_FREE_FOREIGN;
}

SIMT_FN uint32_t shpool_unspill(shpool_view view, void *ptr, uint32_t site)
{
    const uint32_t counted = view.flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK);
    uint32_t       bytes;
    uint32_t       reason = SHPOOL_FREE_FOREIGN;
    shpool_trace_record *record;

    if (((view.flags & SHPOOL_FLAG_SPILL) == 0) || simt_is_within(simt_window(), ptr)) {
        return shpool_refuse(view, ptr, site);
    }
    bytes = (counted != 0) ? shpool_spill_count(shpool_spill_bytes(view, ptr)) : 0u;
    if (counted != 0) { /* first: another thread may reuse them immediately */
        (void)shpool_count(view, SHPOOL_AREA_BYTES_NOW, 0u - bytes);
    }
    record = shpool_trace_free(view, (unsigned long long)(size_t)ptr,
                               (uint32_t)SHPOOL_TRACE_GLOBAL, site);
    if (((view.flags & SHPOOL_FLAG_SPILL_ARENA) != 0) && (view.area != 0)) {
        reason = shpool_slot_free(view, ptr);
    }
    if ((reason == SHPOOL_FREE_FOREIGN) && ((view.flags & SHPOOL_FLAG_SPILL_NATIVE) != 0) &&
        !shpool_is_slot(view, ptr)) {
        simt_native_free(((shpool_spilled *)ptr)[-1].raw);
        reason = SHPOOL_FREE_OK;
    }
    if (view.area == 0) {
        return reason;
    }
    shpool_trace_refused(record, reason);
    if (reason != SHPOOL_FREE_OK) {
        (void)shpool_count(view, SHPOOL_AREA_BYTES_NOW, bytes);
        shpool_note_bad_free(view, ptr, reason, site);
    } else if (counted != 0) {
        shpool_note_free(view);
    }
    return reason;
}

/* End a pool that spills and is not counted.  Called by all threads of the block. */
SIMT_FN void shpool_spill_fini(shpool_view view)
{
    simt_barrier();
    if (view.rank == 0) {
        shpool_slot_return(view);
        shpool_flush_spills(view);
        (void)simt_global_add32(&shpool_area_report(view)->blocks, 1);
    }
}

/* The first damaged word of a whole area, or 0.  Called by one thread, after a barrier. */
SIMT_FN simt_addr shpool_area_damaged(shpool_view view)
{
    simt_addr where = shpool_area_wrong(view.area, SHPOOL_AREA_REPORT, (uint32_t)SHPOOL_AREA_END);

    if ((where == 0) && (simt_load64(view.area + SHPOOL_AREA_COPY) !=
                         simt_load64(view.area + SHPOOL_AREA_REPORT))) {
        where = view.area + SHPOOL_AREA_COPY;
    }
    return (where != 0) ? where : shpool_slot_wrong(view.area);
}

/* End a counted area.  The other counters of a damaged one are not added, and its slot, which may
 * be another block's, stays in use.  Called by one thread, after a barrier. */
SIMT_FN void shpool_area_fini(shpool_view view)
{
    const uint32_t      count  = (uint32_t)SHPOOL_AREA_CORRUPT;
    shpool_report_data *report = shpool_area_report(view);

    shpool_trace_fini(view);
    if ((shpool_is_checked(view) != 0) && shpool_area_note(view.area, shpool_area_damaged(view))) {
        uint32_t pools = (shpool_area_wrong(view.area, count, count + 4u) == 0)
                             ? simt_load32(view.area + count) : 0u;

        (void)simt_global_add32(&report->corrupt, pools + 1u);
    } else {
        if ((view.flags & SHPOOL_FLAG_SPILL_ARENA) != 0) { /* or the word is nobody's */
            shpool_slot_return(view);
        }
        shpool_flush_spills(view);
        shpool_flush_counts(view);
    }
    (void)simt_global_add32(&report->blocks, 1);
}

#endif /* SHPOOL_IMPL_SPILL_H */
