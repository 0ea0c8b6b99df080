/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_bitmap: a pool for each thread, metadata out of band and in distinct banks.
 *
 * Terms
 *   granule  16 bytes of payload, numbered 0..G-1; an allocation is a run of granules
 *   unit     two words for 32 granules: bit i of the first says "used", of the second "an
 *            allocation starts here"
 *
 * Pool:  units (8 bytes each, an even number) | padding to the alignment | G granules
 *
 * Only one thread reads and writes its pool, so neither atomics nor orders are needed.  The 32
 * lanes of a warp, each at the same unit of its own pool, must not conflict in a bank.  Pools are
 * an odd multiple of 16 bytes apart, so unit 0 of eight neighbours uses all eight groups of four
 * banks.  In the next eight the two units of a pair are swapped, and a warp reads its 8 bytes per
 * lane in two halves: no bank is used twice.
 *
 * Invariants (the numbers that walk reports)
 *   1  a used granule that does not start an allocation follows a used granule
 *   2  a start bit without its used bit
 *   3  the bits after granule G-1 are all set (they end every run) */
#ifndef SHPOOL_ALLOCATORS_THREAD_BITMAP_H
#define SHPOOL_ALLOCATORS_THREAD_BITMAP_H

#include <shpool/impl/heap/run_word.h>
#include <shpool/module.h>

#define SHPOOL_PACKS_thread_bitmap ~, SHPOOL_PACKING(SHPOOL_PACK_UP, 0u, 0u, 32u)
#define SHPOOL_CLEAN_thread_bitmap ~, 1 /* free memory holds nothing: module.h */

typedef struct shpool_tb_unit {
    uint32_t used;
    uint32_t start;
} shpool_tb_unit;

/* ---- geometry: word[0] = G, word[1] = offset of granule 0 ---- */

SIMT_HD uint32_t shpool_tb_units(uint32_t granules)
{
    return 2u * ((granules + 63u) >> 6);
}

SIMT_HD shpool_layout shpool_thread_bitmap_layout(uint32_t bytes, uint32_t alignment)
{
    const shpool_run_bits bits = {0, 16u, 64u}; /* pairs of units */

    return shpool_run_layout(bits, bytes, alignment);
}

SIMT_FN simt_addr shpool_tb_at(shpool_view view, uint32_t unit)
{
    return view.base + 8u * (unit ^ ((view.rank >> 3) & 1u));
}

SIMT_FN shpool_tb_unit shpool_tb_get(shpool_view view, uint32_t unit)
{
    unsigned long long both = simt_load64(shpool_tb_at(view, unit));
    shpool_tb_unit     u;

    u.used  = (uint32_t)both;
    u.start = (uint32_t)(both >> 32);
    return u;
}

SIMT_FN void shpool_tb_put(shpool_view view, uint32_t unit, shpool_tb_unit u)
{
    simt_store64(shpool_tb_at(view, unit), ((unsigned long long)u.start << 32) | u.used);
}

SIMT_FN simt_addr shpool_tb_payload(shpool_view view, uint32_t granule)
{
    return view.base + view.word[1] + (granule << 4);
}

/* Granule of addr; at least G if addr is not the start of a granule of this pool. */
SIMT_FN uint32_t shpool_tb_granule(shpool_view view, simt_addr addr)
{
    return shpool_run_granule(addr - view.base - view.word[1]);
}

SIMT_FN void shpool_thread_bitmap_init(shpool_view view, uint32_t member, uint32_t members)
{
    uint32_t units = shpool_tb_units(view.word[0]);
    uint32_t unit;

    (void)members;
    if (member != 0) {
        return;
    }
    for (unit = 0; unit < units; unit++) {
        uint32_t       here = (view.word[0] > 32u * unit) ? view.word[0] - 32u * unit : 0u;
        shpool_tb_unit u;

        u.used  = ~simt_mask(0, here);
        u.start = u.used;
        shpool_tb_put(view, unit, u);
    }
}

/* ---- malloc ---- */

/* Mark granules first..first+count-1 used, or not; they start nothing. */
SIMT_FN void shpool_tb_mark(shpool_view view, uint32_t first, uint32_t count, uint32_t used)
{
    while (count != 0) {
        uint32_t       i    = first & 31u;
        uint32_t       n    = (count < 32u - i) ? count : 32u - i;
        uint32_t       mask = simt_mask(i, n);
        shpool_tb_unit u    = shpool_tb_get(view, first >> 5);

        u.used = used ? u.used | mask : u.used & ~mask;
        u.start &= ~mask;
        shpool_tb_put(view, first >> 5, u);
        first += n;
        count -= n;
    }
}

/* First free run of `need` granules at a multiple of below + 1; G if there is none. */
SIMT_FN uint32_t shpool_tb_find(shpool_view view, uint32_t need, uint32_t below)
{
    uint32_t start = 0; /* everything from here to `at` is free */
    uint32_t at;

    for (at = 0; at < view.word[0]; at += 32u) {
        uint32_t used = shpool_tb_get(view, at >> 5).used;

        if (shpool_run_search(&start, at, 32u, used, need, below)) {
            return start;
        }
    }
    return view.word[0];
}

/* First fit for any size and alignment, across units. */
SIMT_FN simt_addr shpool_tb_malloc_any(shpool_view view, uint32_t need, uint32_t below)
{
    uint32_t       first;
    shpool_tb_unit u;

    if (need > view.word[0]) {
        return 0; /* also for the empty pool, which has no granules */
    }
    first = shpool_tb_find(view, need, below);
    if (first >= view.word[0]) {
        return 0;
    }
    shpool_tb_mark(view, first, need, 1u);
    u = shpool_tb_get(view, first >> 5);
    u.start |= 1u << (first & 31u);
    shpool_tb_put(view, first >> 5, u);
    return shpool_tb_payload(view, first);
}

/* First fit in one unit, need 1..32; 0 if it has no room. */
SIMT_FN simt_addr shpool_tb_malloc_in(shpool_view view, uint32_t unit, uint32_t need)
{
    shpool_tb_unit u   = shpool_tb_get(view, unit);
    uint32_t       fit = shpool_run_starts(~u.used, need, 32u);
    uint32_t       bit = fit & (0u - fit);

    if (fit == 0) {
        return 0;
    }
    u.used |= simt_mask(0, need) * bit;
    u.start |= bit;
    shpool_tb_put(view, unit, u);
    return shpool_tb_payload(view, 32u * unit + 31u - simt_clz(bit));
}

/* The first two units without a loop: nvcc lets lanes that leave a loop early go on alone. */
SIMT_FN simt_addr shpool_thread_bitmap_malloc(shpool_view view, uint32_t bytes, uint32_t alignment,
                                              uint32_t site)
{
    uint32_t  need = (bytes + 15u) >> 4;
    simt_addr addr;

    (void)site;
    if ((need <= 32u) && (view.word[0] != 0) && (alignment <= 16u)) {
        addr = shpool_tb_malloc_in(view, 0, need);
        if (addr != 0) {
            return addr;
        }
        addr = shpool_tb_malloc_in(view, 1u, need);
        if ((addr != 0) || (view.word[0] <= 32u)) {
            return addr;
        }
    }
    return shpool_tb_malloc_any(view, need, (alignment >> 4) - 1u);
}

/* ---- free ---- */

/* The result, according to unit u, of freeing its granule i. */
SIMT_FN uint32_t shpool_tb_judge(shpool_tb_unit u, uint32_t i)
{
    if (((u.used & u.start) >> i) & 1u) {
        return SHPOOL_FREE_OK;
    }
    return ((u.used >> i) & 1u) ? SHPOOL_FREE_INTERIOR : SHPOOL_FREE_DOUBLE;
}

/* The granules in unit `unit` of an allocation that reaches the end of the previous unit, as ones
 * from bit 0 on. */
SIMT_FN uint32_t shpool_tb_next(shpool_view view, uint32_t unit)
{
    shpool_tb_unit u;
    uint32_t       more;

    if (unit >= shpool_tb_units(view.word[0])) {
        return 0;
    }
    u    = shpool_tb_get(view, unit);
    more = u.used & ~u.start;
    return ((more & 1u) != 0) ? shpool_run_extent(more) : 0u;
}

/* Their number from there on. */
SIMT_FN uint32_t shpool_tb_behind(shpool_view view, uint32_t unit)
{
    uint32_t count = 0;
    uint32_t more;

    do {
        more = shpool_tb_next(view, unit++);
        count += simt_popc(more);
    } while (more == 0xffffffffu);
    return count;
}

SIMT_FN uint32_t shpool_thread_bitmap_free(shpool_view view, simt_addr addr, uint32_t site)
{
    uint32_t       first = shpool_tb_granule(view, addr);
    uint32_t       i     = first & 31u;
    uint32_t       run;
    shpool_tb_unit u;

    (void)site;
    if (first >= view.word[0]) {
        return shpool_run_stray(first, view.word[0]);
    }
    u   = shpool_tb_get(view, first >> 5);
    run = shpool_run_extent((u.used & ~u.start) >> i) << i;
    if (((u.used & u.start) & (1u << i)) == 0) {
        return shpool_tb_judge(u, i);
    }
    if (((run >> 31) != 0) && (shpool_tb_next(view, (first >> 5) + 1u) != 0)) {
        shpool_tb_mark(view, (first | 31u) + 1u, shpool_tb_behind(view, (first >> 5) + 1u), 0);
    }
    u.used &= ~run;
    u.start &= ~(1u << i);
    shpool_tb_put(view, first >> 5, u);
    return SHPOOL_FREE_OK;
}

SIMT_FN uint32_t shpool_thread_bitmap_owns(shpool_view view, simt_addr addr)
{
    uint32_t first = shpool_tb_granule(view, addr);

    if (first >= view.word[0]) {
        return shpool_run_stray(first, view.word[0]);
    }
    return shpool_tb_judge(shpool_tb_get(view, first >> 5), first & 31u);
}

SHPOOL_DISCARD(thread_bitmap) /* one thread: nothing can happen in between */

/* ---- the rest ---- */

/* Granules of the allocation that starts at granule `first`; 0 if none does. */
SIMT_FN uint32_t shpool_tb_size(shpool_view view, uint32_t first)
{
    uint32_t       i = first & 31u;
    uint32_t       run;
    shpool_tb_unit u;

    if (first >= view.word[0]) {
        return 0;
    }
    u = shpool_tb_get(view, first >> 5);
    if (shpool_tb_judge(u, i) != SHPOOL_FREE_OK) {
        return 0;
    }
    run = shpool_run_extent((u.used & ~u.start) >> i);
    return simt_popc(run) +
           ((((run << i) >> 31) != 0) ? shpool_tb_behind(view, (first >> 5) + 1u) : 0u);
}

SIMT_FN uint32_t shpool_thread_bitmap_usable(shpool_view view, simt_addr addr)
{
    return shpool_tb_size(view, shpool_tb_granule(view, addr)) << 4;
}

SIMT_FN uint32_t shpool_thread_bitmap_resize(shpool_view view, simt_addr addr, uint32_t bytes)
{
    uint32_t first = shpool_tb_granule(view, addr);
    uint32_t need  = (bytes + 15u) >> 4;
    uint32_t have  = shpool_tb_size(view, first);
    uint32_t g;

    if ((have == 0) || (need > view.word[0] - first)) {
        return 0;
    }
    if (need <= have) {
        shpool_tb_mark(view, first + need, have - need, 0);
        return 1;
    }
    for (g = first + have; g < first + need; g++) {
        if ((shpool_tb_get(view, g >> 5).used >> (g & 31u)) & 1u) {
            return 0;
        }
    }
    shpool_tb_mark(view, first + have, need - have, 1u);
    return 1;
}

SIMT_FN uint32_t shpool_thread_bitmap_largest(shpool_view view)
{
    uint32_t run  = 0;
    uint32_t best = 0;
    uint32_t g;

    for (g = 0; g < view.word[0]; g++) {
        run  = ((shpool_tb_get(view, g >> 5).used >> (g & 31u)) & 1u) ? 0u : run + 1u;
        best = (run > best) ? run : best;
    }
    return best << 4;
}

SIMT_FN shpool_walk shpool_thread_bitmap_walk(shpool_view view)
{
    shpool_walk walk   = {0, 0, 0, 0};
    uint32_t    before = 0; /* whether the previous granule is used */
    uint32_t    g;

    for (g = 0; g < 32u * shpool_tb_units(view.word[0]); g++) {
        shpool_tb_unit u     = shpool_tb_get(view, g >> 5);
        uint32_t       used  = (u.used >> (g & 31u)) & 1u;
        uint32_t       start = (u.start >> (g & 31u)) & 1u;
        uint32_t       bad   = 0;

        if (g >= view.word[0]) {
            bad = (used & start) ? 0u : 3u;
        } else if (start && !used) {
            bad = 2;
        } else if (used && !start && !before) {
            bad = 1;
        } else if (used) {
            walk.live += start;
            walk.used += 16u;
        }
        if (bad != 0) {
            walk.broken = bad;
            walk.where  = shpool_tb_payload(view, g);
            return walk;
        }
        before = used;
    }
    return walk;
}

#endif /* SHPOOL_ALLOCATORS_THREAD_BITMAP_H */
