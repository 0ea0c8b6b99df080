/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap: one pool for the whole block, no lock, metadata out of band.
 *
 * Terms
 *   granule   16 bytes of payload, numbered 0..G-1; an allocation is a run of granules
 *   word      32 bits for 16 granules: bit i says "used", bit 16+i says "an allocation starts here"
 *   run       consecutive granules; one that crosses words is "long"
 *   mark      a long run's words are claimed one after another; until the last one is, those marks
 *             are transient: they may be taken back, and then no allocation ever owned them
 *   state     pending (low 11 bits): long claims under way; above it the generation: how often
 *             memory has become free.  A failing malloc is believed only if the generation stood
 *             still and nothing was pending, otherwise it looks again.
 *
 * Pool:  state | G | offset of granule 0 | spare | W words | padding to the alignment | G granules
 * (The view has G and the offset too; the slow path reads them here instead of keeping them in
 * registers, of which a table function has 16.)
 *
 * Invariants (the numbers that walk reports)
 *   1  a used granule that does not start an allocation follows a used granule
 *   2  a start bit without its used bit: a free that never finished
 *   3  the bits behind granule G-1 are all set (they end every run)
 *   4  no claim is pending
 *
 * The idea of claiming by one atomic on a bitmap at a scattered start is that of ScatterAlloc
 * (Steinberger et al., InPar 2012) and Halloc (Adinetz and Pleiter, 2014). */
#ifndef SHPOOL_ALLOCATORS_BITMAP_H
#define SHPOOL_ALLOCATORS_BITMAP_H

#include <shpool/allocators/bitmap/bitmap_runs.h>
#include <shpool/module.h>

/* ---- malloc ---- */

/* Positions i of a word such that granules i..i+need-1 are free; need 1..16. */
SIMT_FN uint32_t shpool_bitmap_candidates(uint32_t word, uint32_t need)
{
    uint32_t run  = ~(word | (word >> 16)) & SHPOOL_BITMAP_USED;
    uint32_t have = 1; /* bit i of run: `have` granules from i on are free */

    while (have < need) {
        uint32_t step = (need - have < have) ? need - have : have;

        run &= run >> step;
        have += step;
    }
    return run;
}

/* First free run of `need` granules that starts at a multiple of below + 1; G if there is none. */
SIMT_FN uint32_t shpool_bitmap_find(shpool_view view, uint32_t need, uint32_t below)
{
    uint32_t start = 0; /* everything from here to `at` is free */
    uint32_t at;

    for (at = 0; at < view.word[0]; at += 16u) {
        /* acquire: pairs with the release of the claim that set a mark; its pending count shows */
        uint32_t used = simt_atomic_load(shpool_bitmap_word_at(view, at >> 4), SIMT_ACQUIRE);

        used = (used | (used >> 16)) & SHPOOL_BITMAP_USED;
        while (start < at + 16u) {
            uint32_t hit;

            used = (start > at) ? used & (SHPOOL_BITMAP_USED << (start - at)) : used;
            if (used == 0) {
                if (at + 16u >= start + need) {
                    return start;
                }
                break;
            }
            hit = at + simt_ffs(used) - 1u;
            if (hit >= start + need) {
                return start;
            }
            start = (hit | below) + 1u; /* first multiple above it */
        }
    }
    return view.word[0];
}

/* Any run, also a long one; decides that nothing fits. */
SIMT_FN simt_addr shpool_bitmap_malloc_slow(shpool_view view, uint32_t need, uint32_t below)
{
    if (need > view.word[0]) {
        return 0; /* the empty pool, too: it has no granules */
    }
    for (;;) {
        /* acquire: pairs with the releases that move the state on */
        uint32_t before = simt_atomic_load(view.base, SIMT_ACQUIRE);
        uint32_t first;
        uint32_t after;

        view.word[0] = simt_load32(view.base + 4u);
        first        = shpool_bitmap_find(view, need, below);
        if (first < view.word[0]) {
            if (shpool_bitmap_claim(view, first, first + need, 1u)) {
                view.word[1] = simt_load32(view.base + 8u);
                return shpool_bitmap_payload(view, first);
            }
            continue; /* another claim was quicker: that one made progress */
        }
        after = simt_atomic_load(view.base, SIMT_ACQUIRE);
        if (((before ^ after) & ~SHPOOL_BITMAP_PENDING) != 0) {
            continue; /* memory became free behind the search */
        }
        if ((after & SHPOOL_BITMAP_PENDING) == 0) {
            return 0;
        }
        simt_wait(view.base, after); /* marks of an unfinished claim do not count: see its end */
    }
}

/* Low half: bits 0, step, 2 * step, ... of a word (no division, a table call does not fold it
 * away); high half: step, for who needs it after all. */
SIMT_FN uint32_t shpool_bitmap_starts(uint32_t step)
{
    uint32_t starts = (step >= 2u) ? 0x5555u : SHPOOL_BITMAP_USED;

    starts = (step >= 4u) ? 0x1111u : starts;
    starts = (step >= 8u) ? 0x0101u : starts;
    return ((step >= 16u) ? 0x0001u : starts) | (step << 16);
}

/* Claim `need` granules inside one word; 0 if no word had so many when it was looked at. */
SIMT_FN simt_addr shpool_bitmap_take(shpool_view view, uint32_t need, uint32_t starts)
{
    uint32_t  words = shpool_bitmap_words(view);
    simt_addr first = shpool_bitmap_word_at(view, 0);
    simt_addr end   = first + 4u * words;
    /* A multiplicative hash spreads the threads over the words (Knuth, TAOCP 3, 6.4). */
    simt_addr a     = first + 4u * simt_mulhi(view.rank * 2654435769u, words);
    uint32_t  seen  = simt_atomic_load(a, SIMT_RELAXED);

    for (;;) {
        uint32_t fit = shpool_bitmap_candidates(seen, need) & starts;
        uint32_t old = seen;

        if (fit != 0) {
            /* acquire: pairs with the release in shpool_bitmap_clear and _free */
            seen = simt_atomic_cas(a, old, old | shpool_bitmap_run(fit & (0u - fit), need),
                                   SIMT_ACQUIRE);
            if (seen == old) {
                return shpool_bitmap_payload(view, ((a - first) << 2) + simt_ffs(fit) - 1u);
            }
        } else if (--words != 0) {
            a    = (a + 4u < end) ? a + 4u : first;
            seen = simt_atomic_load(a, SIMT_RELAXED);
        } else {
            return 0;
        }
    }
}

SIMT_FN simt_addr shpool_bitmap_malloc(shpool_view view, uint32_t bytes, uint32_t alignment,
                                       uint32_t site)
{
    uint32_t need   = simt_keep((bytes + 15u) >> 4);
    uint32_t starts = simt_keep(shpool_bitmap_starts(alignment >> 4));

    (void)site;
    if ((need <= 16u) && (need <= view.word[0]) && (alignment <= 256u)) {
        simt_addr addr = shpool_bitmap_take(view, need, starts);

        if (addr != 0) {
            return addr;
        }
    }
    return shpool_bitmap_malloc_slow(view, need, (starts >> 16) - 1u);
}

/* ---- free ---- */

/* Granule of addr; at least G if addr is not the start of a granule of this pool.  The rotation
 * puts bits that an aligned address has not, and what lies below the pool, far above G. */
SIMT_FN uint32_t shpool_bitmap_granule(shpool_view view, simt_addr addr)
{
    uint32_t offset = addr - view.base - view.word[1];

    return (offset >> 4) | (offset << 28);
}

/* Why such a granule is none. */
SIMT_FN uint32_t shpool_bitmap_stray(shpool_view view, uint32_t granule)
{
    return ((granule & 0x0fffffffu) < view.word[0]) ? SHPOOL_FREE_INTERIOR : SHPOOL_FREE_FOREIGN;
}

/* What a granule's word says of freeing it. */
SIMT_FN uint32_t shpool_bitmap_judge(uint32_t word, uint32_t bit)
{
    uint32_t both = (word >> bit) & 0x10001u;

    if (both == 0x10001u) {
        return SHPOOL_FREE_OK;
    }
    return (both == 1u) ? SHPOOL_FREE_INTERIOR : SHPOOL_FREE_DOUBLE;
}

/* The granules that the allocation with granule `bit` of a word has in this word from there on, as
 * ones from bit 0 on. */
SIMT_FN uint32_t shpool_bitmap_rest(uint32_t word, uint32_t bit)
{
    /* used, starting nothing */
    uint32_t more = ((word & ~(word >> 16)) & SHPOOL_BITMAP_USED) >> bit;

    more |= 1u; /* `bit` itself */
    return more & ~(more + 1u);
}

/* Whether the allocation that reaches the end of word w goes on in the next. */
SIMT_FN uint32_t shpool_bitmap_goes_on(shpool_view view, uint32_t w)
{
    /* relaxed: only the owner changes the bits of its own run, and its end cannot move */
    return (w + 1u < shpool_bitmap_words(view)) &&
           ((simt_atomic_load(shpool_bitmap_word_at(view, w + 1u), SIMT_RELAXED) & 0x10001u) == 1u);
}

/* Granules of the allocation that starts at `first`, given first's word. */
SIMT_FN uint32_t shpool_bitmap_length(shpool_view view, uint32_t first, uint32_t word)
{
    uint32_t end = first + simt_popc(shpool_bitmap_rest(word, first & 15u));

    while (((end & 15u) == 0) && shpool_bitmap_goes_on(view, (end >> 4) - 1u)) {
        end += simt_popc(shpool_bitmap_rest(
            simt_atomic_load(shpool_bitmap_word_at(view, end >> 4), SIMT_RELAXED), 0));
    }
    return end - first;
}

SIMT_FN uint32_t shpool_bitmap_free(shpool_view view, simt_addr addr, uint32_t site)
{
    uint32_t  first = shpool_bitmap_granule(view, addr);
    uint32_t  bit   = first & 15u;
    simt_addr a     = shpool_bitmap_word_at(view, first >> 4);
    uint32_t  seen;

    (void)site;
    if (first >= view.word[0]) {
        return shpool_bitmap_stray(view, first);
    }
    seen = simt_atomic_load(a, SIMT_RELAXED);
    for (;;) {
        uint32_t reason = shpool_bitmap_judge(seen, bit);
        uint32_t run;
        uint32_t is_long;
        uint32_t left;
        uint32_t now;

        if (reason != SHPOOL_FREE_OK) {
            return reason;
        }
        run     = shpool_bitmap_rest(seen, bit) << bit;
        is_long = ((run & 0x8000u) != 0) && shpool_bitmap_goes_on(view, first >> 4);
        /* A run inside one word goes at once.  A long one first loses the used bit of its first
         * granule only: that makes this thread the one that frees it, and the start bit that stays
         * keeps the granule taken and ends the allocation in front of it. */
        left = is_long ? seen & ~(1u << bit) : seen & ~(run | (0x10000u << bit));
        /* release: pairs with the acquire of the next claim, as in shpool_bitmap_clear */
        now = simt_atomic_cas(a, seen, left, SIMT_RELEASE);
        if (now == seen) {
            if (is_long) {
                shpool_bitmap_clear(view, first, shpool_bitmap_length(view, first, seen));
            }
            break;
        }
        seen = now;
    }
    /* release: pairs with the acquire in shpool_bitmap_malloc_slow; free first, then say so */
    (void)simt_atomic_add(view.base, SHPOOL_BITMAP_GENERATION, SIMT_RELEASE);
    return SHPOOL_FREE_OK;
}

SIMT_FN uint32_t shpool_bitmap_owns(shpool_view view, simt_addr addr)
{
    uint32_t first = shpool_bitmap_granule(view, addr);

    if (first >= view.word[0]) {
        return shpool_bitmap_stray(view, first);
    }
    return shpool_bitmap_judge(
        simt_atomic_load(shpool_bitmap_word_at(view, first >> 4), SIMT_RELAXED), first & 15u);
}

SHPOOL_DISCARD(bitmap) /* free judges and takes by one compare-and-swap */

/* ---- the rest ---- */

/* Granules of the allocation that starts at granule `first`; 0 if none does. */
SIMT_FN uint32_t shpool_bitmap_size(shpool_view view, uint32_t first)
{
    uint32_t word;

    if (first >= view.word[0]) {
        return 0;
    }
    word = simt_atomic_load(shpool_bitmap_word_at(view, first >> 4), SIMT_RELAXED);
    return (shpool_bitmap_judge(word, first & 15u) == SHPOOL_FREE_OK)
               ? shpool_bitmap_length(view, first, word) : 0u;
}

SIMT_FN uint32_t shpool_bitmap_usable(shpool_view view, simt_addr addr)
{
    return shpool_bitmap_size(view, shpool_bitmap_granule(view, addr)) << 4;
}

SIMT_FN uint32_t shpool_bitmap_resize(shpool_view view, simt_addr addr, uint32_t bytes)
{
    uint32_t first = shpool_bitmap_granule(view, addr);
    uint32_t need  = (bytes + 15u) >> 4;
    uint32_t have  = shpool_bitmap_size(view, first);

    if ((have == 0) || (need > view.word[0] - first)) {
        return 0;
    }
    if (need < have) {
        shpool_bitmap_clear(view, first + need, have - need);
        (void)simt_atomic_add(view.base, SHPOOL_BITMAP_GENERATION, SIMT_RELEASE); /* as in free */
        return 1;
    }
    return (need == have) ? 1u : shpool_bitmap_claim(view, first + have, first + need, 0u);
}

SIMT_FN uint32_t shpool_bitmap_largest(shpool_view view)
{
    uint32_t words = shpool_bitmap_words(view);
    uint32_t run   = 0;
    uint32_t best  = 0;
    uint32_t w;

    for (w = 0; w < words; w++) {
        uint32_t v    = simt_atomic_load(shpool_bitmap_word_at(view, w), SIMT_RELAXED);
        uint32_t used = (v | (v >> 16)) & SHPOOL_BITMAP_USED;
        uint32_t i;

        for (i = 0; i < 16u; i++) {
            run  = ((used >> i) & 1u) ? 0u : run + 1u;
            best = (run > best) ? run : best;
        }
    }
    return best << 4;
}

SIMT_FN shpool_walk shpool_bitmap_walk(shpool_view view)
{
    shpool_walk walk  = {0, 0, 0, 0};
    uint32_t    words = shpool_bitmap_words(view);
    uint32_t    before = 0; /* whether the granule in front is used */
    uint32_t    g;

    for (g = 0; g < 16u * words; g++) {
        uint32_t v    = simt_atomic_load(shpool_bitmap_word_at(view, g >> 4), SIMT_RELAXED);
        uint32_t both = (v >> (g & 15u)) & 0x10001u;
        uint32_t bad  = 0;

        if (g >= view.word[0]) {
            bad = (both != 0x10001u) ? 3u : 0u;
        } else if (both == 0x10000u) {
            bad = 2;
        } else if ((both == 1u) && (before == 0)) {
            bad = 1;
        } else if (both != 0) {
            walk.live += both >> 16;
            walk.used += 16u;
        }
        if (bad != 0) {
            walk.broken = bad;
            walk.where  = shpool_bitmap_payload(view, g);
            return walk;
        }
        before = both & 1u;
    }
    if ((words != 0) &&
        ((simt_atomic_load(view.base, SIMT_RELAXED) & SHPOOL_BITMAP_PENDING) != 0)) {
        walk.broken = 4;
        walk.where  = view.base;
    }
    return walk;
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_H */
