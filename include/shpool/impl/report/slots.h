/* SPDX-License-Identifier: BSD-3-Clause */
/* The slots of spill=arena: memory after the report, one slot for each block that spills.  Not for
 * direct inclusion.
 *
 * A bit map before the slots shows which are in use.  A slot is divided into granules (a power of
 * two, at least 64 bytes, at most 1,024 of them).  Two bit maps in the block's shared memory, after
 * the counters, show which granules are in use and which is the last one of an allocation.  The
 * policy is first fit, under a lock; the slot itself has no metadata.
 *
 * The word of the slot's address also has the least number of granules that a search has not found
 * since the last free (0: none is known), in the bits that are 0 in every slot's address.  Requests
 * of as many granules are refused without the lock: nothing was freed since. */
#ifndef SHPOOL_IMPL_SLOTS_H
#define SHPOOL_IMPL_SLOTS_H

#include <shpool/impl/heap/patience.h>

#define SHPOOL_SPILL_NONE    1u    /* SHPOOL_AREA_SLOT: all slots are in use; no granule is free */
#define SHPOOL_SPILL_REFUSED 1023u /* SHPOOL_AREA_SLOT: bits of the granules that were not found */
#define SHPOOL_SPILL_DAMAGED ~0ull /* in place of bytes: check=1 has found damage */

/* ---- the slots in global memory ---- */

/* Bytes of a report and of the bit map of used slots, which follows it. */
SIMT_HD size_t shpool_slots_head(uint32_t slots)
{
    return SHPOOL_REPORT_ROOM + (size_t)((slots + 31u) / 32u) * 4u;
}

/* Offset of the slots after a report: the next multiple of the largest alignment; cudaMalloc()
 * guarantees only a quarter of it. */
SIMT_HD size_t shpool_slots_first(const void *report, uint32_t slots)
{
    return ((size_t)report + shpool_slots_head(slots) + SHPOOL_MAX_ALIGNMENT - 1u) &
           ~(size_t)(SHPOOL_MAX_ALIGNMENT - 1u);
}

/* Total bytes, for any address of the report. */
SIMT_HD size_t shpool_slots_bytes(uint32_t slots, uint32_t slot_bytes)
{
    return shpool_slots_head(slots) + SHPOOL_MAX_ALIGNMENT - 1u + (size_t)slots * slot_bytes;
}

/* Offset from the report at which the slots end and the records of a trace begin. */
SIMT_HD size_t shpool_slots_end(const shpool_pool *pool)
{
    return (shpool_slots_bytes(pool->spill_slots, pool->spill_bytes) + 15u) & ~(size_t)15;
}

/* Acquire a slot: returns its number, or the number of slots if all are in use.  Called by one
 * thread of the block. */
SIMT_FN uint32_t shpool_slot_claim(shpool_view view)
{
    uint32_t *map   = (uint32_t *)(void *)((char *)shpool_area_report(view) + SHPOOL_REPORT_ROOM);
    uint32_t  slots = simt_load32(view.area + SHPOOL_AREA_SLOTS);
    uint32_t  words = (slots + 31u) / 32u;
    uint32_t  w     = simt_block_rank() % words;
    uint32_t  left;

    for (left = words; left != 0; left--) {
        uint32_t mine = simt_mask(0, (slots - w * 32u < 32u) ? slots - w * 32u : 32u);
        uint32_t seen = simt_global_or32(map + w, 0);

        while ((mine & ~seen) != 0) {
            uint32_t i = simt_ffs(mine & ~seen) - 1u;

            seen = simt_global_or32(map + w, 1u << i); /* acquire: pairs with slot_return */
            if ((seen >> i & 1u) == 0) {
                return w * 32u + i;
            }
        }
        w = (w + 1u < words) ? w + 1u : 0u;
    }
    return slots;
}

/* Acquire a slot: returns its address, or SHPOOL_SPILL_NONE.  Called by one thread of the block. */
SIMT_FN unsigned long long shpool_slot_take(shpool_view view)
{
    uint32_t number = shpool_slot_claim(view);
    uint32_t slots  = simt_load32(view.area + SHPOOL_AREA_SLOTS);

    return (number < slots) ? shpool_slots_first(shpool_area_report(view), slots) +
                                  (size_t)number * simt_load32(view.area + SHPOOL_AREA_SLOT_BYTES)
                            : SHPOOL_SPILL_NONE;
}

/* The slot and what it has refused.  Called under the lock, or if no other thread is at work. */
SIMT_FN void shpool_slot_set(shpool_view view, unsigned long long slot)
{
    simt_store32(view.area + SHPOOL_AREA_SLOT + 4u, (uint32_t)(slot >> 32));
    /* relaxed: pairs with the load in shpool_slot_refuses; a thread that is ordered after a free
     * sees that nothing is refused any more */
    simt_atomic_store(view.area + SHPOOL_AREA_SLOT, (uint32_t)slot, SIMT_RELAXED);
    if (shpool_is_checked(view) != 0) {
        simt_store64(view.area + SHPOOL_AREA_SLOT + SHPOOL_AREA_SHADOW, ~slot);
    }
}

/* Whether a slot of the block cannot serve a request; also called without the lock. */
SIMT_FN uint32_t shpool_slot_refuses(shpool_view view, unsigned long long bytes)
{
    /* relaxed: pairs with the store in shpool_slot_set */
    uint32_t slot  = simt_atomic_load(view.area + SHPOOL_AREA_SLOT, SIMT_RELAXED);
    uint32_t shift = simt_load32(view.area + SHPOOL_AREA_SHIFT);

    /* 0 granules, of which nothing is known, are more than any slot has */
    return (bytes > simt_load32(view.area + SHPOOL_AREA_SLOT_BYTES)) ||
           ((uint32_t)(bytes - 1u) >> shift >= (slot & SHPOOL_SPILL_REFUSED) - 1u);
}

/* Return the block's slot, if it has one.  Called by one thread, after a barrier. */
SIMT_FN void shpool_slot_return(shpool_view view)
{
    char              *report = (char *)shpool_area_report(view);
    uint32_t           slots  = simt_load32(view.area + SHPOOL_AREA_SLOTS);
    unsigned long long slot   = simt_load64(view.area + SHPOOL_AREA_SLOT);
    uint32_t           number;

    if (slot > SHPOOL_SPILL_NONE) {
        /* in KiB, as both are multiples of 1 KiB: a 32-bit division needs no function call */
        number = (uint32_t)(((size_t)slot - shpool_slots_first(report, slots)) >> 10) /
                 (simt_load32(view.area + SHPOOL_AREA_SLOT_BYTES) >> 10);
        shpool_slot_set(view, 0);
        /* release: this block's writes there happen before those of the next one */
        (void)simt_global_and32((uint32_t *)(void *)(report + SHPOOL_REPORT_ROOM) + number / 32u,
                                ~(1u << number % 32u));
    }
}

/* ---- the granules of the block's slot; under the lock ---- */

/* The map of used granules; the map of last ones follows it. */
SIMT_FN simt_addr shpool_granule_map(simt_addr area) { return area + SHPOOL_AREA_MAPS; }

/* Number of granules. */
SIMT_FN uint32_t shpool_granule_all(simt_addr area)
{
    return simt_load32(area + SHPOOL_AREA_SLOT_BYTES) >> simt_load32(area + SHPOOL_AREA_SHIFT);
}

SIMT_FN uint32_t shpool_granule_words(simt_addr area)
{
    return (shpool_granule_all(area) + 31u) / 32u;
}

/* Whether granule `at` has its bit in `map`. */
SIMT_FN uint32_t shpool_granule_is(simt_addr map, uint32_t at)
{
    return (simt_load32(map + (at >> 5) * 4u) >> (at & 31u)) & 1u;
}

/* The first granule from `at` on whose bit in `map` XOR `flip` is set; `end` or more if there is
 * none below `end`. */
SIMT_FN uint32_t shpool_granule_next(simt_addr map, uint32_t at, uint32_t end, uint32_t flip)
{
    while (at < end) {
        uint32_t bits = (simt_load32(map + (at >> 5) * 4u) ^ flip) >> (at & 31u);

        if (bits != 0) {
            return at + simt_ffs(bits) - 1u;
        }
        at = (at | 31u) + 1u;
    }
    return end;
}

/* Toggle the used bits of granules at..end-1. */
SIMT_FN void shpool_granule_flip(simt_addr map, uint32_t at, uint32_t end)
{
    while (at < end) {
        uint32_t rest = end - at;
        simt_addr a   = map + (at >> 5) * 4u;

        simt_store32(a, simt_load32(a) ^ simt_mask(at & 31u, (rest < 32u) ? rest : 32u));
        at = (at | 31u) + 1u;
    }
}

/* The first run of `need` granules that starts at a multiple of `align`, a power of two or 0; `all`
 * if there is none. */
SIMT_FN uint32_t shpool_granule_find(simt_addr map, uint32_t all, uint32_t need, uint32_t align)
{
    uint32_t at = 0;

    while ((at < all) && (need <= all - at)) {
        uint32_t taken = shpool_granule_next(map, at, at + need, 0);

        if (taken >= at + need) {
            return at;
        }
        at = shpool_granule_next(map, taken + 1u, all, ~0u);
        at = (align != 0) ? (at + align - 1u) & ~(align - 1u) : at;
    }
    return all;
}

/* The allocation at ptr: its first granule and, in *end_p, the one after its last; or, from
 * SHPOOL_GRANULE_NONE on, why it is not one (a shpool_free_result). */
#define SHPOOL_GRANULE_NONE 0x80000000u
SIMT_FN uint32_t shpool_granule_of(simt_addr area, const void *ptr, uint32_t *end_p)
{
    unsigned long long slot  = simt_load64(area + SHPOOL_AREA_SLOT) &
                               ~(unsigned long long)SHPOOL_SPILL_REFUSED;
    unsigned long long off   = (unsigned long long)(size_t)ptr - slot;
    simt_addr          map   = shpool_granule_map(area);
    uint32_t           all   = shpool_granule_all(area);
    uint32_t           shift = simt_load32(area + SHPOOL_AREA_SHIFT);
    uint32_t           words = shpool_granule_words(area);
    uint32_t           at;

    *end_p = 0;
    if ((slot == 0) || ((off >> shift) >= all)) {
        return SHPOOL_GRANULE_NONE + SHPOOL_FREE_FOREIGN;
    }
    at = (uint32_t)(off >> shift);
    if (!shpool_granule_is(map, at)) {
        return SHPOOL_GRANULE_NONE + SHPOOL_FREE_DOUBLE;
    }
    *end_p = shpool_granule_next(map + words * 4u, at, all, 0) + 1u;
    if (((off & ((1ull << shift) - 1u)) != 0) ||
        ((at != 0) && shpool_granule_is(map, at - 1u) &&
         !shpool_granule_is(map + words * 4u, at - 1u))) { /* continues from the previous granule */
        return SHPOOL_GRANULE_NONE + SHPOOL_FREE_INTERIOR;
    }
    return at;
}

/* Allocate `bytes`; returns NULL if they do not fit. */
SIMT_FN void *shpool_granule_take(shpool_view view, unsigned long long bytes, uint32_t alignment)
{
    const simt_addr    area = view.area;
    const simt_addr    map  = shpool_granule_map(area);
    unsigned long long slot = simt_load64(area + SHPOOL_AREA_SLOT);
    uint32_t           all;
    uint32_t           shift;
    uint32_t           need;
    uint32_t           at;
    simt_addr          last;

    if (slot == 0) { /* the block's first spill; done first, when few registers are in use */
        slot = shpool_slot_take(view);
        shpool_slot_set(view, slot);
    }
    if (shpool_slot_refuses(view, bytes)) {
        return NULL;
    }
    slot &= ~(unsigned long long)SHPOOL_SPILL_REFUSED;
    all   = shpool_granule_all(area);
    shift = simt_load32(area + SHPOOL_AREA_SHIFT);
    need  = (uint32_t)((bytes + (1ull << shift) - 1u) >> shift);
    at    = shpool_granule_find(map, all, need, alignment >> shift);
    if (at == all) {
        if ((alignment >> shift <= 1u) && (need <= SHPOOL_SPILL_REFUSED)) {
            shpool_slot_set(view, slot | need);
        }
        return NULL;
    }
    shpool_granule_flip(map, at, at + need);
    last = map + (shpool_granule_words(area) + ((at + need - 1u) >> 5)) * 4u;
    simt_store32(last, simt_load32(last) | (1u << ((at + need - 1u) & 31u)));
    return (char *)(size_t)slot + ((size_t)at << shift);
}

/* SHPOOL_FREE_OK, or why ptr cannot be freed. */
SIMT_FN uint32_t shpool_granule_give(shpool_view view, const void *ptr)
{
    const simt_addr area = view.area;
    const simt_addr map  = shpool_granule_map(area);
    uint32_t  end;
    uint32_t  at = shpool_granule_of(area, ptr, &end);
    simt_addr last;

    if (at >= SHPOOL_GRANULE_NONE) {
        return at - SHPOOL_GRANULE_NONE;
    }
    shpool_granule_flip(map, at, end);
    last = map + (shpool_granule_words(area) + ((end - 1u) >> 5)) * 4u;
    simt_store32(last, simt_load32(last) & ~(1u << ((end - 1u) & 31u)));
    shpool_slot_set(view, simt_load64(area + SHPOOL_AREA_SLOT) &
                              ~(unsigned long long)SHPOOL_SPILL_REFUSED);
    return SHPOOL_FREE_OK;
}

/* Bytes of an allocation; 0 if ptr is not one. */
SIMT_FN unsigned long long shpool_granule_bytes(simt_addr area, const void *ptr)
{
    uint32_t end;
    uint32_t at = shpool_granule_of(area, ptr, &end);

    return (at < SHPOOL_GRANULE_NONE)
               ? (unsigned long long)(end - at) << simt_load32(area + SHPOOL_AREA_SHIFT) : 0u;
}

/* ---- check=1: damage ---- */

/* Checksum of the maps; sound words of the area only. */
SIMT_FN uint32_t shpool_slot_sum(simt_addr area)
{
    const uint32_t words = 2u * shpool_granule_words(area);
    uint32_t       sum   = 0;
    uint32_t       i;

    SIMT_ROLLED
    for (i = 0; i < words; i++) { /* odd factors: any change of one word changes the sum */
        sum += (2u * i + 1u) * simt_load32(shpool_granule_map(area) + 4u * i);
    }
    return sum;
}

/* The maps as they are now are right. */
SIMT_FN void shpool_slot_seal(simt_addr area)
{
    uint32_t sum = shpool_slot_sum(area);

    simt_store32(area + SHPOOL_AREA_SEAL, sum);
    simt_store32(area + SHPOOL_AREA_SEAL + 4u, ~sum);
}

/* A word that others have changed since the maps were sealed, or the slot's; 0: none.  Under the
 * lock, or if no other thread is at work. */
SIMT_FN simt_addr shpool_slot_wrong(simt_addr area)
{
    simt_addr where = shpool_area_wrong(area, (uint32_t)SHPOOL_AREA_SLOT,
                                        (uint32_t)SHPOOL_AREA_END);
    uint32_t  seal;

    if (where != 0) {
        return where;
    }
    seal = simt_load32(area + SHPOOL_AREA_SEAL);
    if (simt_load32(area + SHPOOL_AREA_SEAL + 4u) != ~seal) {
        return area + SHPOOL_AREA_SEAL;
    }
    return (shpool_slot_sum(area) != seal) ? shpool_granule_map(area) : 0u;
}

/* All of a checked view that the slots need. */
SIMT_FN shpool_view shpool_checked_view(simt_addr area)
{
    shpool_view view = {0, 0, 0, (uint32_t)SHPOOL_FLAG_CHECK, {0, 0}, area};

    return view;
}

/* Note a damaged word of the area; nonzero if there is one. */
SIMT_FN uint32_t shpool_area_note(simt_addr area, simt_addr where)
{
    shpool_walk walk = {0, where, 0, 0};

    walk.broken = (where != 0) ? SHPOOL_BROKEN_AREA : 0u;
    return shpool_note_broken(shpool_checked_view(area), walk);
}

/* Nonzero if nothing of the slot may be followed. */
SIMT_FN uint32_t shpool_slot_is_damaged(simt_addr area)
{
    return shpool_area_note(area, shpool_slot_wrong(area));
}

/* Nonzero if its lock is never released. */
SIMT_FN uint32_t shpool_slot_is_stuck(simt_addr area)
{
    const simt_addr lock = area + SHPOOL_AREA_SPILL_LOCK;

    return shpool_patience_ends(area, lock, ~0u, lock) && shpool_area_note(area, lock);
}

/* A statement under the lock of the slot; inside the loop, for the reason in group_lock.h.  A
 * thread for which _refused holds does not wait for the lock. */
#define SHPOOL_SPILL_LOCKED(_area, _refused, _statement) \
    { \
        uint32_t waiting = 1; \
        do { \
            uint32_t seen = simt_atomic_load((_area) + SHPOOL_AREA_SPILL_LOCK, SIMT_RELAXED); \
            if (_refused) { \
                break; \
            } \
            if (seen != 0) { \
                simt_wait((_area) + SHPOOL_AREA_SPILL_LOCK, seen); \
            } \
            /* acquire: pairs with the release below */ \
            if (simt_atomic_cas((_area) + SHPOOL_AREA_SPILL_LOCK, 0, 1, SIMT_ACQUIRE) == 0) { \
                _statement; \
                /* release: pairs with the acquire above; the maps as they are now */ \
                simt_atomic_store((_area) + SHPOOL_AREA_SPILL_LOCK, 0, SIMT_RELEASE); \
                waiting = simt_pin(0); /* the compiler must not know that this leaves the loop */ \
            } \
        } while (waiting != 0); \
    }

/* The same with check=1: _result = _call, unless the slot's data is damaged. */
#define SHPOOL_SPILL_CHECKED(_area, _result, _call) \
    if (!shpool_slot_is_stuck(_area)) { \
        SHPOOL_SPILL_LOCKED(_area, 0, if (!shpool_slot_is_damaged(_area)) { \
            _result = _call; \
            shpool_slot_seal(_area); \
        }) \
    }

/* Calls of their own: spilling without check=1 needs no more registers because of them. */
SIMT_FN_NOINLINE void *shpool_spill_take(simt_addr area, unsigned long long bytes,
                                         uint32_t alignment)
{
    void *ptr = NULL;

    SHPOOL_SPILL_CHECKED(area, ptr, shpool_granule_take(shpool_checked_view(area), bytes,
                                                        alignment))
    return ptr;
}

SIMT_FN_NOINLINE uint32_t shpool_spill_give(simt_addr area, const void *ptr)
{
    uint32_t reason = SHPOOL_FREE_CORRUPT;

    SHPOOL_SPILL_CHECKED(area, reason, shpool_granule_give(shpool_checked_view(area), ptr))
    return reason;
}

SIMT_FN_NOINLINE unsigned long long shpool_spill_usable(simt_addr area, const void *ptr)
{
    unsigned long long bytes = SHPOOL_SPILL_DAMAGED;

    SHPOOL_SPILL_CHECKED(area, bytes, shpool_granule_bytes(area, ptr))
    return bytes;
}

/* ---- what spilling calls ---- */

SIMT_FN void *shpool_slot_malloc(shpool_view view, unsigned long long bytes, uint32_t alignment)
{
    void *ptr = NULL;

    if (shpool_is_checked(view) != 0) {
        return shpool_spill_take(view.area, bytes, alignment);
    }
    SHPOOL_SPILL_LOCKED(view.area, shpool_slot_refuses(view, bytes),
                        ptr = shpool_granule_take(view, bytes, alignment))
    return ptr;
}

/* SHPOOL_FREE_OK, or why ptr cannot be freed. */
SIMT_FN uint32_t shpool_slot_free(shpool_view view, const void *ptr)
{
    uint32_t reason = SHPOOL_FREE_OK;

    if (shpool_is_checked(view) != 0) {
        return shpool_spill_give(view.area, ptr);
    }
    SHPOOL_SPILL_LOCKED(view.area, 0, reason = shpool_granule_give(view, ptr))
    return reason;
}

/* Bytes of an allocation; 0 if ptr is not one, or SHPOOL_SPILL_DAMAGED. */
SIMT_FN unsigned long long shpool_slot_usable(shpool_view view, const void *ptr)
{
    unsigned long long bytes = 0;

    if (shpool_is_checked(view) != 0) {
        return shpool_spill_usable(view.area, ptr);
    }
    SHPOOL_SPILL_LOCKED(view.area, 0, bytes = shpool_granule_bytes(view.area, ptr))
    return bytes;
}

#endif /* SHPOOL_IMPL_SLOTS_H */
