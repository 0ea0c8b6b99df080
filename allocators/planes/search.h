/* SPDX-License-Identifier: BSD-3-Clause */
/* planes: searches, and the proof that nothing fits; part of planes.h.  `warp`, a constant: all
 * lanes of a warp call with the same arguments and search together, a word each; else one thread
 * does. */
#ifndef SHPOOL_ALLOCATORS_PLANES_SEARCH_H
#define SHPOOL_ALLOCATORS_PLANES_SEARCH_H

#include <shpool/allocators/planes/words.h>

#define SHPOOL_PLANES_PAUSE   32u /* nanoseconds, doubled after each search in vain ... */
#define SHPOOL_PLANES_LONGEST 8u  /* ... up to this many times */

typedef struct shpool_planes_wish {
    uint32_t need;  /* granules */
    uint32_t below; /* the first one has a number that is a multiple of below + 1 */
} shpool_planes_wish;

/* A request that nothing seems to fit. */
typedef struct shpool_planes_vain {
    uint32_t since;    /* the pool's proof when it began */
    uint32_t searches; /* in vain */
} shpool_planes_vain;

/* The first fit that ends in a word, or is inside it; NOWHERE if there is none.  `start`: where the
 * free run begins that reaches into the word from below. */
SIMT_FN uint32_t shpool_planes_fit(uint32_t used, uint32_t at, uint32_t start,
                                   shpool_planes_wish wish)
{
    uint32_t fit;

    start = (start + wish.below) & ~wish.below;
    if (start + wish.need <= at + simt_clz(simt_reverse(used))) {
        return start;
    }
    if ((wish.need >= 32u) || (used == 0xffffffffu)) {
        return SHPOOL_PLANES_NOWHERE;
    }
    /* pinned: what follows from need and below would take registers in every search */
    fit = shpool_run_starts(~used, simt_pin(wish.need), 32u);
    if (wish.below != 0) {
        wish.below = simt_pin(wish.below);
        fit &= ((at & wish.below & ~31u) != 0) ? 0u
               : (wish.below > 31u) ? 1u : 0xffffffffu / ((2u << wish.below) - 1u);
    }
    return (fit != 0) ? at + simt_ffs(fit) - 1u : SHPOOL_PLANES_NOWHERE;
}

/* The same for a warp whose lanes have words at, at + 32, ...: the fit of each.  *run_p: `start` of
 * the first lane; on return that of the word after the last lane's. */
SIMT_FN uint32_t shpool_planes_fit_warp(uint32_t used, uint32_t at, shpool_planes_wish wish,
                                        uint32_t *run_p)
{
    const uint32_t parts = simt_ballot(SIMT_ALL_LANES, used != 0); /* words that end a run */
    const uint32_t lower = parts & simt_mask(0, simt_lane());
    const uint32_t tail  = at + simt_fls(used); /* where the run at the word's end begins */
    const uint32_t from  = simt_shfl(SIMT_ALL_LANES, tail, simt_fls(lower) - 1u);
    const uint32_t start = (lower != 0) ? from : *run_p;

    *run_p = simt_shfl(SIMT_ALL_LANES, (used != 0) ? tail : start, SIMT_WARP - 1u);
    return shpool_planes_fit(used, at, start, wish);
}

/* The start bits and the end bits of a word, from the tags of its halves. */
SIMT_FN uint32_t shpool_planes_starts(uint32_t low, uint32_t high)
{
    return (low & 0xffffu) | (high << 16);
}

SIMT_FN uint32_t shpool_planes_ends(uint32_t low, uint32_t high)
{
    return (low >> 16) | (high & 0xffff0000u);
}

/* The granules of a word that its tags show as owned: a carry runs from a start bit to an end bit.
 * *carry_p: whether it comes from the word before, on return whether it goes on in the next. */
SIMT_FN uint32_t shpool_planes_shown(uint32_t starts, uint32_t ends, uint32_t *carry_p, int warp)
{
    const uint32_t sum = ~ends + starts;
    uint32_t       in  = *carry_p;

    if (warp) { /* the same sum, of lanes: some make a carry, some pass one on */
        const uint32_t made  = simt_ballot(SIMT_ALL_LANES, sum < starts);
        const uint32_t moved = simt_ballot(SIMT_ALL_LANES, sum == 0xffffffffu);
        const uint32_t into  = (2u * made + in + moved) ^ moved;

        *carry_p = (made | (moved & into)) >> (SIMT_WARP - 1u);
        in       = (into >> simt_lane()) & 1u;
    } else {
        *carry_p = (sum < starts) | (sum + in < sum);
    }
    return (sum + in) ^ ~ends;
}

/* The granules of word w that allocations own, for the proof that nothing fits: see planes.h for
 * the orders. */
SIMT_FN uint32_t shpool_planes_owned(simt_addr base, uint32_t granules, uint32_t w,
                                     uint32_t *carry_p, int warp)
{
    const simt_addr tags   = shpool_planes_tags(base, granules, 2u * w);
    uint32_t        low    = simt_atomic_or(tags, 0, SIMT_ACQ_REL);
    uint32_t        high   = simt_atomic_or(tags + 4u, 0, SIMT_ACQ_REL);
    const uint32_t  starts = shpool_planes_starts(low, high);

    if (warp) { /* end bits are read after all start bits */
        simt_warp_sync(SIMT_ALL_LANES);
        low  = simt_peek(tags);
        high = simt_peek(tags + 4u);
    }
    return shpool_planes_shown(starts, shpool_planes_ends(low, high), carry_p, warp) |
           ~shpool_planes_bits(32u * w, 0, granules);
}

/* First fit from word w on; NOWHERE if there is none.  exact, a constant: among what no allocation
 * owns, in which case w is 0; else among what seems to be free. */
SIMT_FN uint32_t shpool_planes_find(simt_addr base, uint32_t granules, uint32_t w,
                                    shpool_planes_wish wish, int exact, int warp)
{
    uint32_t       run   = 32u * w; /* everything from here to word w is free */
    uint32_t       carry = 0;
    uint32_t       spot  = SHPOOL_PLANES_NOWHERE;

    SIMT_ROLLED
    for (; (32u * w < granules) && (spot == SHPOOL_PLANES_NOWHERE); w += warp ? SIMT_WARP : 1u) {
        const uint32_t mine = warp ? w + simt_lane() : w;
        const uint32_t is   = !warp || (32u * mine < granules);
        const uint32_t in   = is ? mine : w;
        uint32_t       used = exact ? shpool_planes_owned(base, granules, in, &carry, warp)
                                    : simt_peek(shpool_planes_used(base, in));

        if (warp) {
            uint32_t hits;

            used = is ? used : 0xffffffffu;
            spot = shpool_planes_fit_warp(used, 32u * mine, wish, &run);
            hits = simt_ballot(SIMT_ALL_LANES, spot != SHPOOL_PLANES_NOWHERE);
            spot = simt_shfl(SIMT_ALL_LANES, spot, simt_ffs(hits) - 1u); /* NOWHERE of any */
        } else {
            spot = shpool_planes_fit(used, 32u * mine, run, wish);
            run  = (used != 0) ? 32u * mine + simt_fls(used) : run;
        }
    }
    return spot;
}

/* ---- nothing fits ---- */

SIMT_FN shpool_planes_vain shpool_planes_begin(simt_addr base)
{
    shpool_planes_vain vain;

    /* acquire: as in is_full */
    vain.since    = simt_atomic_load(base + SHPOOL_PLANES_PROOF, SIMT_ACQUIRE);
    vain.searches = 0;
    return vain;
}

/* Whether a proof of another thread, which is the second one since the request began and was
 * therefore begun later than it, holds for the request. */
SIMT_FN uint32_t shpool_planes_is_proved(simt_addr base, uint32_t need, uint32_t since)
{
    const uint32_t proof = simt_atomic_load(base + SHPOOL_PLANES_PROOF, SIMT_ACQUIRE);

    return ((proof - since) >> 16 >= 2u) && ((proof & 0xffffu) <= need);
}

#define SHPOOL_PLANES_PROVED  1u
#define SHPOOL_PLANES_CHANGED 2u

/* One proof that nothing fits: PROVED, CHANGED if memory became free meanwhile, or 0. */
SIMT_FN uint32_t shpool_planes_prove(simt_addr base, uint32_t granules, shpool_planes_wish wish,
                                     int warp)
{
    const uint32_t lead   = !warp || (simt_lane() == 0);
    uint32_t       before = 0;
    uint32_t       result = 0;
    uint32_t       none;

    if (lead) {
        (void)simt_atomic_add(base, 1u, SIMT_RELAXED); /* owned() releases it */
        before = shpool_planes_releases(base);
    }
    if (warp) {
        simt_warp_sync(SIMT_ALL_LANES);
    }
    none = shpool_planes_find(base, granules, 0, wish, 1, warp) == SHPOOL_PLANES_NOWHERE;
    if (warp) {
        simt_warp_sync(SIMT_ALL_LANES);
    }
    if (lead) {
        const uint32_t last = simt_atomic_load(base + SHPOOL_PLANES_PROOF, SIMT_ACQUIRE);

        result = (shpool_planes_releases(base) != before) ? SHPOOL_PLANES_CHANGED
                 : none ? SHPOOL_PLANES_PROVED : 0u;
        if ((result == SHPOOL_PLANES_PROVED) && (wish.below == 0)) {
            /* release: pairs with the acquires of the proof, here and in is_proved */
            (void)simt_atomic_cas(base + SHPOOL_PLANES_PROOF, last,
                                  (last & 0xffff0000u) + 0x10000u + wish.need,
                                  SIMT_RELEASE);
        }
        (void)simt_atomic_add(base, ~0u, SIMT_RELAXED);
    }
    return result;
}

/* There was room, or not for long: another thread is about to finish a claim or a free.  (Or a
 * stray write has changed bits: then nothing changes for longer than any claim takes.)  Returns 1
 * if it has waited so long that nothing will change. */
SIMT_FN uint32_t shpool_planes_pause(simt_addr base, shpool_planes_vain *vain, uint32_t changed)
{
    const simt_addr count = base + SHPOOL_PLANES_RELEASES;
    const uint32_t  n     = vain->searches;
    uint32_t        idle  = 0;

    simt_pause(SHPOOL_PLANES_PAUSE << ((n < SHPOOL_PLANES_LONGEST) ? n : SHPOOL_PLANES_LONGEST));
    if (n != 0) {
        idle = simt_wait_briefly(count, simt_peek(count)) != 0;
    }
    vain->searches = (n < SHPOOL_PLANES_LONGEST) ? n + 1u
                     : changed ? SHPOOL_PLANES_LONGEST : n + idle;
    return vain->searches > SHPOOL_PLANES_LONGEST + SIMT_PATIENCE;
}

/* A search was in vain: 1 if the request fits nowhere; else waits, and the caller tries again. */
SIMT_FN uint32_t shpool_planes_is_full(simt_addr base, uint32_t granules, shpool_planes_wish wish,
                                       shpool_planes_vain *vain, int warp)
{
    const uint32_t lead = !warp || (simt_lane() == 0);
    uint32_t       busy = simt_peek(base); /* with proofs: one serves all that wait for it */
    uint32_t       full = 0;

    if (warp) {
        busy = simt_shfl(SIMT_ALL_LANES, busy, 0);
    }
    if ((busy == 0) || ((vain->searches & 1u) != 0)) {
        full = shpool_planes_prove(base, granules, wish, warp);
        busy = 0;
    }
    if (lead && (full != SHPOOL_PLANES_PROVED)) {
        if (busy != 0) {
            vain->searches += simt_wait_briefly(base, busy) != 0; /* the next proof is its own */
            full = 0;
        } else {
            full = shpool_planes_pause(base, vain, full == SHPOOL_PLANES_CHANGED);
        }
        full |= shpool_planes_is_proved(base, wish.need, vain->since);
    }
    if (warp) {
        simt_warp_sync(SIMT_ALL_LANES);
        full           = simt_shfl(SIMT_ALL_LANES, full, 0);
        vain->searches = simt_shfl(SIMT_ALL_LANES, vain->searches, 0);
    }
    return full;
}

#endif /* SHPOOL_ALLOCATORS_PLANES_SEARCH_H */
