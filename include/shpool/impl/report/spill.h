/* SPDX-License-Identifier: BSD-3-Clause */
/* Spills: requests that the pool cannot serve are served from global memory.  Not for direct
 * inclusion.
 *
 * There are two destinations, chosen by the pool's flags, in this order:
 *
 *   ARENA   A slot of memory that the host has allocated (impl/slots.h).  A block acquires one at
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
    first = shpool_slots_first(shpool_area_report(view.area), slots);
    return (size_t)ptr - first <
           (size_t)slots * simt_load32(view.area + SHPOOL_AREA_SLOT_BYTES);
}

/* ---- what the bindings call ---- */

/* Usable bytes of an allocation by shpool_spill(); 0: not in the block's slot, or not spilled. */
SIMT_FN unsigned long long shpool_spill_bytes(shpool_view view, const void *ptr)
{
    unsigned long long bytes = 0;

    if (((view.flags & SHPOOL_FLAG_SPILL_ARENA) != 0) && (view.area != 0)) {
        SHPOOL_SPILL_LOCKED(view.area, bytes, shpool_granule_bytes(view.area, ptr))
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

/* Serve a request that the pool has refused without spilling; without a pool, no module has counted
 * it. */
SIMT_FN void *shpool_no_spill(shpool_view view, unsigned long long bytes, uint32_t alignment)
{
    if ((view.area != 0) && (view.bytes == 0)) {
        shpool_note_malloc(view, 0);
        shpool_trace_spill(view, bytes, alignment, NULL, 0);
    }
    return NULL;
}

/* Count such a request again, because a module with a pool has counted a failure: a request for
 * `bytes`, rounded up to units of `granule`, that is_served or not. */
SIMT_FN void shpool_spill_note(shpool_view view, unsigned long long bytes, uint32_t granule,
                               uint32_t is_served, uint32_t is_native)
{
    if ((view.flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0) {
        if (view.bytes != 0) {
            shpool_count(view, SHPOOL_AREA_MALLOCS, 0u - 1u);
            shpool_count(view, SHPOOL_AREA_FAILURES, 0u - 1u);
        }
        bytes = (bytes + granule - 1u) & ~(unsigned long long)(granule - 1u);
        shpool_note_malloc(view, (is_served != 0) ? shpool_spill_count(bytes) : 0u);
    } else if (is_served == 0) {
        shpool_count(view, SHPOOL_AREA_FAILURES, 1);
    }
    shpool_count(view, SHPOOL_AREA_SPILLS, is_served);
    shpool_count(view, SHPOOL_AREA_NATIVE, is_native);
}

/* Serve a request from the block's slot or the native heap; NULL if those are full as well. */
SIMT_FN void *shpool_spill(shpool_view view, unsigned long long bytes, uint32_t alignment)
{
    void    *ptr       = NULL;
    uint32_t is_native = 0;

    if ((view.flags & SHPOOL_FLAG_SPILL) == 0) {
        return shpool_no_spill(view, bytes, alignment);
    }
    if (((view.flags & SHPOOL_FLAG_SPILL_ARENA) != 0) && (view.area != 0)) {
        SHPOOL_SPILL_LOCKED(view.area, ptr, shpool_granule_take(view.area, bytes, alignment))
    }
    if ((ptr == NULL) && ((view.flags & SHPOOL_FLAG_SPILL_NATIVE) != 0)) {
        ptr       = shpool_native_take(bytes, alignment);
        is_native = (ptr != NULL);
    }
    if (view.area != 0) {
        shpool_spill_note(view, bytes,
                          (is_native != 0) ? 4u : 1u << simt_load32(view.area + SHPOOL_AREA_SHIFT),
                          ptr != NULL, is_native);
        if (shpool_is_traced(view) != 0) {
            shpool_trace_spill(view, bytes, alignment, ptr,
                               (ptr != NULL) ? shpool_spill_count(shpool_spill_bytes(view, ptr))
                                             : 0u);
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
        shpool_count(view, SHPOOL_AREA_BYTES_NOW, 0u - bytes);
    }
    record = shpool_trace_free(view, (unsigned long long)(size_t)ptr,
                               (uint32_t)SHPOOL_TRACE_GLOBAL, site);
    if (((view.flags & SHPOOL_FLAG_SPILL_ARENA) != 0) && (view.area != 0)) {
        SHPOOL_SPILL_LOCKED(view.area, reason, shpool_granule_give(view.area, ptr))
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
        shpool_count(view, SHPOOL_AREA_BYTES_NOW, bytes);
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
        shpool_slot_return(view.area);
        shpool_flush_spills(view.area);
        (void)simt_global_add32(&shpool_area_report(view.area)->blocks, 1);
    }
}

#endif /* SHPOOL_IMPL_SPILL_H */
