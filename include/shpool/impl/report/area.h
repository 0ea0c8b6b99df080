/* SPDX-License-Identifier: BSD-3-Clause */
/* A block's statistics area: words in shared memory before its pools.  shpool_fini() adds them to
 * the report in global memory.  Not for direct inclusion.
 *
 * With check=1 the words are followed by a copy of the report's address, a checksum of the maps,
 * and the complement of each word, so that a stray write into the area is found (at fini: in
 * between, a thread may have changed a word and not yet its complement):
 *
 *   words | copy | checksum | complements | maps of spill=arena
 *
 * The maps are there with spill=arena only, and with it the complements have room, too. */
#ifndef SHPOOL_IMPL_AREA_H
#define SHPOOL_IMPL_AREA_H

#include <shpool/abi.h>
#include <shpool/impl/report/zones.h>
#include <shpool/simt.h>

/* An area is identified by the address this many bytes after its first byte: on sm_75 shared memory
 * begins at 0, and so may an area, but a shpool_view.area of 0 means that there is none. */
#define SHPOOL_AREA_FRONT 16u

/* check=1: bytes from a word to its complement, and what lies between the two halves. */
#define SHPOOL_AREA_SHADOW 112u
#define SHPOOL_AREA_COPY   (SHPOOL_AREA_BYTES - SHPOOL_AREA_FRONT) /* 64 bits: SHPOOL_AREA_REPORT */
#define SHPOOL_AREA_SEAL   (SHPOOL_AREA_COPY + 8u) /* the checksum and its complement */

/* Words of the area, as byte offsets from that address; the first three are before it. */
#define SHPOOL_AREA_REPORT    (0u - SHPOOL_AREA_FRONT) /* 64 bits: of the shpool_report_data */
#define SHPOOL_AREA_BYTES_NOW (8u - SHPOOL_AREA_FRONT)
#define SHPOOL_AREA_PEAK      (12u - SHPOOL_AREA_FRONT)
enum {
    SHPOOL_AREA_MALLOCS   = 0,
    SHPOOL_AREA_FREES     = 4,
    SHPOOL_AREA_FAILURES  = 8,
    SHPOOL_AREA_SPILLS    = 12, /* requests served from global memory */
    SHPOOL_AREA_LARGEST   = 16, /* largest free block of any pool, filled in by fini */
    SHPOOL_AREA_CORRUPT   = 20,
    SHPOOL_AREA_NATIVE    = 24, /* spills served from CUDA's heap */
    SHPOOL_AREA_WAITS     = 28,
    SHPOOL_AREA_CYCLES    = 32, /* in malloc and free, in units of 16 */
    SHPOOL_AREA_SLOWEST   = 36, /* cycles of one call */
    SHPOOL_AREA_FASTEST   = 40,
    SHPOOL_AREA_UNUSED    = 44, /* most bytes that were free when a request failed */
    SHPOOL_AREA_TIMED     = 48, /* calls that CYCLES covers */

    /* spill=arena: impl/report/slots.h */
    SHPOOL_AREA_SPILL_LOCK = 52, /* its complement stays that of a free lock */
    SHPOOL_AREA_SLOT       = 56, /* 64 bits: the block's slot; 0: none yet */
    SHPOOL_AREA_SLOTS      = 64, /* of all blocks */
    SHPOOL_AREA_SLOT_BYTES = 68,
    SHPOOL_AREA_SHIFT      = 72, /* log2 of the bytes of a granule */

    SHPOOL_AREA_CAPACITY   = 76, /* payload of all pools when fresh */
    SHPOOL_AREA_END        = SHPOOL_AREA_BYTES - SHPOOL_AREA_FRONT,  /* of the words */
    SHPOOL_AREA_MAPS       = SHPOOL_AREA_CHECKED - SHPOOL_AREA_FRONT /* two bit maps of a slot's
                                                                        granules */
};

/* If nothing is ever checked, a constant 0 removes the checks from the spill code. */
SIMT_FN uint32_t shpool_is_checked(shpool_view view)
{
#if defined(SHPOOL_INLINE) && !defined(SHPOOL_CHECK)
    (void)view;
    return 0;
#else
    return view.flags & (uint32_t)SHPOOL_FLAG_CHECK;
#endif
}

/* Initial report, before any block has ended: each block lowers the minima. */
SIMT_HD void shpool_report_clear(shpool_report_data *report)
{
    report->abi          = SHPOOL_ABI;
    report->bytes        = (uint32_t)sizeof(*report);
    report->largest_free = ~0u;
    report->fastest      = ~0u;
}

/* Prepare it for readers: a minimum without values is 0. */
SIMT_HD void shpool_report_close(shpool_report_data *report)
{
    if (report->largest_free == ~0u) {
        report->largest_free = 0;
    }
    if (report->fastest == ~0u) {
        report->fastest = 0;
    }
}

/* Add to a counter; returns what it was.  All counters are relaxed: fini reads them after a
 * barrier. */
SIMT_FN uint32_t shpool_count(shpool_view view, uint32_t word, uint32_t n)
{
    if (shpool_is_checked(view) != 0) {
        (void)simt_atomic_add(view.area + word + SHPOOL_AREA_SHADOW, 0u - n, SIMT_RELAXED);
    }
    return simt_atomic_add(view.area + word, n, SIMT_RELAXED);
}

/* Raise a maximum to `to`. */
SIMT_FN void shpool_count_most(shpool_view view, uint32_t word, uint32_t to)
{
    if (shpool_is_checked(view) != 0) {
        (void)simt_atomic_min(view.area + word + SHPOOL_AREA_SHADOW, ~to, SIMT_RELAXED);
    }
    (void)simt_atomic_max(view.area + word, to, SIMT_RELAXED);
}

/* The report.  Its address has two copies with check=1: two of the three agree after a stray
 * write. */
SIMT_FN shpool_report_data *shpool_area_report(shpool_view view)
{
    unsigned long long report = simt_load64(view.area + SHPOOL_AREA_REPORT);

    if ((shpool_is_checked(view) != 0) &&
        (simt_load64(view.area + SHPOOL_AREA_REPORT + SHPOOL_AREA_SHADOW) != ~report)) {
        report = simt_load64(view.area + SHPOOL_AREA_COPY);
    }
    return (shpool_report_data *)(size_t)report;
}

/* The first word from area + first up to area + end that is not what its complement says, or 0. */
SIMT_FN_NOINLINE simt_addr shpool_area_wrong(simt_addr area, uint32_t first, uint32_t end)
{
    simt_addr a;

    SIMT_ROLLED
    for (a = area + first; a != area + end; a += 4u) {
        if (simt_load32(a) != ~simt_load32(a + SHPOOL_AREA_SHADOW)) {
            return a;
        }
    }
    return 0;
}

/* Count one more live allocation of `bytes` usable bytes. */
SIMT_FN void shpool_count_live(shpool_view view, uint32_t bytes)
{
    uint32_t now = shpool_count(view, SHPOOL_AREA_BYTES_NOW, bytes) + bytes;

    if ((int32_t)now > 0) { /* a free that will be refused may have lowered it temporarily */
        shpool_count_most(view, SHPOOL_AREA_PEAK, now);
    }
}

/* Count a refused free, and describe it while there is room. */
SIMT_FN void shpool_note_bad_free(shpool_view view, const void *ptr, uint32_t reason, uint32_t site)
{
    shpool_report_data *report = shpool_area_report(view);
    uint32_t            slot   = simt_global_add32(&report->bad_frees, 1);

    if (slot < SHPOOL_BAD_FREE_SLOTS) {
        shpool_bad_free *entry = &report->bad_free[slot];
        simt_addr        user  = simt_to_shared(ptr);
        uint32_t         known = simt_is_within(simt_window(), ptr) && /* spilled ones have no
                                                                          zones */
                         ((reason == SHPOOL_FREE_DOUBLE) || (reason == SHPOOL_FREE_CORRUPT));

        entry->block   = simt_block_rank();
        entry->thread  = view.rank;
        entry->reason  = reason;
        entry->site    = site;
        entry->address = (unsigned long long)(size_t)ptr;
        if (known && shpool_zone_is_sealed(view, user)) { /* in the pool, after a front zone */
            entry->malloc_site   = shpool_zone_word(view, user, SHPOOL_ZONE_SITE);
            entry->malloc_thread = shpool_zone_word(view, user, SHPOOL_ZONE_RANK);
        }
    }
}

/* Count a request that no free could have made succeed; the report keeps the first one. */
SIMT_FN_NOINLINE void shpool_note_refused(uint32_t rank, shpool_report_data *report,
                                          uint32_t reason, unsigned long long bytes,
                                          uint32_t alignment, uint32_t site)
{
    if (simt_global_cas32(&report->refused.reason, 0, reason) == 0) {
        report->refused.block     = simt_block_rank();
        report->refused.thread    = rank;
        report->refused.site      = (site < SHPOOL_SITE_TRY) ? site : 0u;
        report->refused.bytes     = bytes;
        report->refused.alignment = alignment;
    }
    simt_global_add64(&report->refusals, 1);
}

/* Nonzero if a walk has found damage; the report keeps the first one. */
SIMT_FN uint32_t shpool_note_broken(shpool_view view, shpool_walk walk)
{
    shpool_report_data *report = shpool_area_report(view);

    if ((walk.broken != 0) && (simt_global_cas32(&report->broken, 0, walk.broken) == 0)) {
        simt_global_add64(&report->broken_at,
                          (unsigned long long)(size_t)simt_from_window(simt_window(), walk.where));
    }
    return walk.broken != 0;
}

/* Count an allocation that was never freed, and describe it while there is room. */
SIMT_FN void shpool_note_leak(shpool_view view, simt_addr user, uint32_t usable)
{
    shpool_report_data *report = shpool_area_report(view);
    uint32_t            slot   = simt_global_add32(&report->leaks, 1);

    if (slot < SHPOOL_LEAK_SLOTS) {
        shpool_leak *entry  = &report->leak[slot];
        uint32_t     sealed = shpool_zone_is_sealed(view, user);

        entry->block   = simt_block_rank();
        entry->thread  = (sealed != 0) ? simt_load32(user - SHPOOL_ZONE_RANK) : 0u;
        entry->site    = (sealed != 0) ? simt_load32(user - SHPOOL_ZONE_SITE) : 0u;
        entry->usable  = usable;
        entry->address = (unsigned long long)(size_t)simt_from_shared(user);
    }
}

/* Note the free bytes of the block's pools when a request fails. */
SIMT_FN void shpool_note_unused(shpool_view view)
{
    uint32_t all = simt_load32(view.area + SHPOOL_AREA_CAPACITY);
    uint32_t now = simt_atomic_load(view.area + SHPOOL_AREA_BYTES_NOW, SIMT_RELAXED);

    if (now < all) { /* spilled bytes count as well */
        shpool_count_most(view, SHPOOL_AREA_UNUSED, all - now);
    }
}

/* The cycles of one malloc or free that began at `start`.  The sum over a block's threads can
 * exceed the word; the carry goes to the report. */
SIMT_FN void shpool_note_cycles(shpool_view view, uint32_t start)
{
    uint32_t cycles = simt_clock() - start;
    uint32_t units  = (cycles >> 4) + (cycles >> 3 & 1u);
    uint32_t before = simt_atomic_add(view.area + SHPOOL_AREA_CYCLES, units, SIMT_RELAXED);

    if (before + units < units) {
        simt_global_add64(&shpool_area_report(view)->cycles, 16ull << 32);
    }
    (void)simt_atomic_add(view.area + SHPOOL_AREA_TIMED, 1, SIMT_RELAXED);
    (void)simt_atomic_max(view.area + SHPOOL_AREA_SLOWEST, cycles, SIMT_RELAXED);
    (void)simt_atomic_min(view.area + SHPOOL_AREA_FASTEST, cycles, SIMT_RELAXED);
    if (shpool_is_checked(view) != 0) { /* one branch for all four */
        simt_addr area = view.area + SHPOOL_AREA_SHADOW;

        (void)simt_atomic_add(area + SHPOOL_AREA_CYCLES, 0u - units, SIMT_RELAXED);
        (void)simt_atomic_add(area + SHPOOL_AREA_TIMED, 0u - 1u, SIMT_RELAXED);
        (void)simt_atomic_min(area + SHPOOL_AREA_SLOWEST, ~cycles, SIMT_RELAXED);
        (void)simt_atomic_max(area + SHPOOL_AREA_FASTEST, ~cycles, SIMT_RELAXED);
    }
}

SIMT_FN void shpool_note_malloc(shpool_view view, uint32_t usable)
{
    (void)shpool_count(view, SHPOOL_AREA_MALLOCS, 1);
    if (usable == 0) {
        (void)shpool_count(view, SHPOOL_AREA_FAILURES, 1);
        shpool_note_unused(view);
    } else {
        shpool_count_live(view, usable);
    }
}

/* Except for the bytes, which the caller has already subtracted. */
SIMT_FN void shpool_note_free(shpool_view view)
{
    (void)shpool_count(view, SHPOOL_AREA_FREES, 1);
}

/* ---- the end of a block's pools ---- */

/* Sign-extend a difference for a sum of 64 bits: a block of a cluster may have freed allocations of
 * other blocks. */
SIMT_FN unsigned long long shpool_signed(uint32_t difference)
{
    return (unsigned long long)(long long)(int32_t)difference;
}

/* Add the area's spill counters to the report.  Called by one thread of the block. */
SIMT_FN void shpool_flush_spills(shpool_view view)
{
    shpool_report_data *report = shpool_area_report(view);
    const simt_addr     area   = view.area;

    simt_global_add64(&report->failures, simt_load32(area + SHPOOL_AREA_FAILURES));
    simt_global_add64(&report->spills, simt_load32(area + SHPOOL_AREA_SPILLS));
    simt_global_add64(&report->native_spills, simt_load32(area + SHPOOL_AREA_NATIVE));
}

/* Add its other counters. */
SIMT_FN void shpool_flush_counts(shpool_view view)
{
    shpool_report_data *report = shpool_area_report(view);
    const simt_addr     area   = view.area;

    simt_global_add64(&report->mallocs, simt_load32(area + SHPOOL_AREA_MALLOCS));
    simt_global_add64(&report->frees, simt_load32(area + SHPOOL_AREA_FREES));
    simt_global_add64(&report->live, shpool_signed(simt_load32(area + SHPOOL_AREA_MALLOCS) -
                                                   simt_load32(area + SHPOOL_AREA_FAILURES) -
                                                   simt_load32(area + SHPOOL_AREA_FREES)));
    simt_global_add64(&report->live_bytes,
                      shpool_signed(simt_load32(area + SHPOOL_AREA_BYTES_NOW)));
    simt_global_add64(&report->waits, simt_load32(area + SHPOOL_AREA_WAITS));
    simt_global_add64(&report->timed, simt_load32(area + SHPOOL_AREA_TIMED));
    simt_global_add64(&report->cycles, 16ull * simt_load32(area + SHPOOL_AREA_CYCLES));
    simt_global_max32(&report->slowest, simt_load32(area + SHPOOL_AREA_SLOWEST));
    simt_global_min32(&report->fastest, simt_load32(area + SHPOOL_AREA_FASTEST));
    simt_global_max32(&report->unused_bytes, simt_load32(area + SHPOOL_AREA_UNUSED));
    simt_global_max32(&report->peak_bytes, simt_load32(area + SHPOOL_AREA_PEAK));
    simt_global_min32(&report->largest_free, simt_load32(area + SHPOOL_AREA_LARGEST));
    (void)simt_global_add32(&report->corrupt, simt_load32(area + SHPOOL_AREA_CORRUPT));
}

#endif /* SHPOOL_IMPL_AREA_H */
