/* SPDX-License-Identifier: BSD-3-Clause */
/* planes: how runs of granules are claimed, tagged, given back and searched; planes.h has the terms
 * and says why this suffices.  `warp`, a constant: all lanes of a warp call with the same arguments
 * and search together, a word each; else one thread does. */
#ifndef SHPOOL_ALLOCATORS_PLANES_RUNS_H
#define SHPOOL_ALLOCATORS_PLANES_RUNS_H

#include <shpool/allocators/planes/words.h>

SIMT_FN void shpool_planes_init(shpool_view view, uint32_t member, uint32_t members)
{
    const uint32_t words = shpool_planes_words_of(view.word[0]);
    uint32_t       w;

    for (w = member; (w < SHPOOL_PLANES_WORDS / 4u) && (words != 0); w += members) {
        simt_store32(view.base + 4u * w,
                     (w == 1u) ? view.word[0] : (w == 2u) ? view.word[1] : 0u);
    }
    for (w = member; w < words; w += members) {
        simt_store32(shpool_planes_used(view.base, w),
                     ~shpool_planes_bits(32u * w, 0, view.word[0]));
        simt_store32(shpool_planes_tags(view.base, view.word[0], 2u * w), 0);
        simt_store32(shpool_planes_tags(view.base, view.word[0], 2u * w + 1u), 0);
    }
}

/* Say that memory became free, after it did. */
SIMT_FN void shpool_planes_release(simt_addr base)
{
    /* release: pairs with the acquire in releases() */
    (void)simt_atomic_add(base + SHPOOL_PLANES_RELEASES, 1u, SIMT_RELEASE);
}

SIMT_FN uint32_t shpool_planes_releases(simt_addr base)
{
    return simt_atomic_load(base + SHPOOL_PLANES_RELEASES, SIMT_ACQUIRE);
}

/* ---- tags ---- */

/* The first granule from g on with its bit, moved by `shift`, in the tags; `end` if there is none
 * before.  Start and end bits of one allocation are read in this order.  It only peeks. */
SIMT_FN uint32_t shpool_planes_next(simt_addr base, uint32_t granules, uint32_t shift, uint32_t g,
                                    uint32_t end)
{
    uint32_t mask = 0xffffu & (0xffffu << (g & 15u));

    SIMT_ROLLED
    for (; g < end; g = (g | 15u) + 1u) {
        const simt_addr tags = shpool_planes_tags(base, granules, g >> 4);
        uint32_t        bits;

        if ((g & 63u) == 0) { /* four halves at once */
            const simt_u128 quad = simt_peek_quad(tags);

            if ((((quad.x | quad.y | quad.z | quad.w) >> shift) & 0xffffu) == 0) {
                g |= 48u;
                continue;
            }
        }
        bits = (simt_peek(tags) >> shift) & mask;
        if (bits != 0) {
            return (g & ~15u) + simt_ffs(bits) - 1u;
        }
        mask = 0xffffu;
    }
    return end;
}

/* Give granules first..end-1 of the caller their end bit, then remove others' former ones: see
 * planes.h for the order. */
SIMT_FN void shpool_planes_end(simt_addr base, uint32_t granules, uint32_t first, uint32_t end)
{
    const uint32_t top = (end - 1u) & ~15u;
    simt_addr      a   = shpool_planes_tags(base, granules, top >> 4);
    uint32_t       g   = first;

    (void)simt_atomic_add(a, shpool_planes_change(simt_peek(a),
                                                  shpool_planes_half(top, first, end),
                                                  shpool_planes_half(top, end - 1u, end), 0),
                          SIMT_RELAXED);
    while ((g = shpool_planes_next(base, granules, 16u, g, top)) < top) {
        a = shpool_planes_tags(base, granules, g >> 4);
        g &= ~15u;
        (void)simt_atomic_and(a, ~(shpool_planes_half(g, first, end) << 16), SIMT_RELAXED);
        g += 16u;
    }
}

/* Make granules first..end-1 of the caller an allocation. */
SIMT_FN void shpool_planes_tag(simt_addr base, uint32_t granules, uint32_t first, uint32_t end)
{
    shpool_planes_end(base, granules, first, end);
    /* release: who sees the start bit also sees the end bit */
    (void)simt_atomic_or(shpool_planes_tags(base, granules, first >> 4),
                         1u << (first & 15u), SIMT_RELEASE);
}

/* The same within the word whose tags these are, without a loop. */
SIMT_FN void shpool_planes_tag_word(simt_addr tags, uint32_t own)
{
    const uint32_t last  = own & ~(own >> 1);
    const uint32_t start = own & (0u - own);
    const uint32_t low   = shpool_planes_change(simt_peek(tags), own & 0xffffu,
                                                last & 0xffffu, start & 0xffffu);
    const uint32_t high  = shpool_planes_change(simt_peek(tags + 4u), own >> 16,
                                                last >> 16, start >> 16);

    if ((own >> 16) != 0) {
        (void)simt_atomic_add(tags + 4u, high, SIMT_RELAXED);
    }
    if ((own & 0xffffu) != 0) { /* release: as in tag */
        (void)simt_atomic_add(tags, low, SIMT_RELEASE);
    }
}

/* ---- claims ---- */

/* Claim granules of one word, `run` of the one at a; 1, or 0 if other threads were quicker. */
SIMT_FN uint32_t shpool_planes_claim_word(simt_addr a, uint32_t run)
{
    /* acquire: pairs with the releases of the frees (clear, free, free_warp) */
    const uint32_t old = simt_atomic_or(a, run, SIMT_ACQUIRE);

    if ((old & run) != 0) { /* relaxed, here and in claim: it goes on with the frees' releases */
        (void)simt_atomic_and(a, ~run | old, SIMT_RELAXED);
        return 0;
    }
    return 1;
}

/* Claim granules i..i+need-1 of a half, at `shift` in the word at a, and make them an allocation.
 * Returns the word before; the granules are the caller's if it had none of them. */
SIMT_FN uint32_t shpool_planes_take_half(simt_addr a, uint32_t shift, simt_addr tags, uint32_t i,
                                         uint32_t need)
{
    const uint32_t bit = 1u << i;
    const uint32_t run = simt_mask(i + shift, need);
    const uint32_t old = simt_atomic_or(a, run, SIMT_ACQUIRE); /* as in claim_word */
    const uint32_t was = simt_peek(tags); /* early: the GPU loads it meanwhile */

    if ((old & run) != 0) {
        (void)simt_atomic_and(a, ~run | old, SIMT_RELAXED);
        return old;
    } /* relaxed: both bits at once; what goes are ends of the granules' former allocations */
    (void)simt_atomic_add(
        tags, bit + (bit << (need + 15u)) - (was & simt_mask(i + 16u, need)), SIMT_RELAXED);
    return old;
}

/* Clear granules first..end-1 of the caller.  A whole word of its own becomes 0 by a store: nobody
 * else has a bit there. */
SIMT_FN void shpool_planes_clear(simt_addr base, uint32_t first, uint32_t end)
{
    const simt_addr last = shpool_planes_used(base, (end - 1u) >> 5);
    simt_addr       a    = shpool_planes_used(base, first >> 5);
    uint32_t        bits = shpool_planes_bits(first & ~31u, first, end);

    simt_fence();
    /* release, all: the owner's accesses to the payload; pairs with the acquire of the claims */
    (void)simt_atomic_and(a, ~bits, SIMT_FENCED);
    SIMT_ROLLED
    for (a += 4u; a < last; a += 4u) {
        simt_atomic_store(a, 0, SIMT_FENCED);
    }
    if (a == last) {
        bits = shpool_planes_bits((end - 1u) & ~31u, first, end);
        (void)simt_atomic_and(a, ~bits, SIMT_FENCED);
    }
}

/* Give granules first..end-1 of the caller back, whose tags say it already. */
SIMT_FN void shpool_planes_give(simt_addr base, uint32_t first, uint32_t end)
{
    shpool_planes_clear(base, first, end); /* its fence pairs with that of prove */
    if (simt_peek(base) != 0) {
        shpool_planes_release(base);
    }
}

/* Claim granules first..end-1, word by word, until one is another's: among conflicting claims, the
 * one furthest up always progresses.  1, or 0 with nothing changed.  `turn`, 1, 2 or 4, a constant:
 * words a turn, for which the caller has registers. */
SIMT_FN uint32_t shpool_planes_claim(simt_addr base, uint32_t first, uint32_t end, uint32_t turn)
{
    uint32_t g;

    SIMT_ROLLED
    for (g = first & ~(32u * turn - 1u); g < end; g += 32u * turn) {
        const simt_addr a = shpool_planes_used(base, g >> 5);
        uint32_t        mine[4];
        uint32_t        lost = 0;
        uint32_t        i;

        SIMT_UNROLLED
        for (i = 0; i < turn; i++) {
            const uint32_t bits = (lost == 0) ? shpool_planes_bits(g + 32u * i, first, end) : 0u;
            const uint32_t old  = simt_atomic_or(a + 4u * i, bits, SIMT_ACQUIRE);

            mine[i] = bits & ~old;
            lost |= bits & old;
        }
        if (lost != 0) {
            SIMT_UNROLLED
            for (i = 0; i < turn; i++) { /* relaxed: as in claim_word */
                (void)simt_atomic_and(a + 4u * i, ~mine[i], SIMT_RELAXED);
            }
            if (g > first) {
                shpool_planes_clear(base, first, g);
            }
            return 0;
        }
    }
    return 1;
}

/* ---- searches ---- */

/* The granules of word w that allocations own, for the proof that nothing fits: see planes.h for
 * the orders. */
SIMT_FN uint32_t shpool_planes_owned(simt_addr base, uint32_t granules, uint32_t w,
                                     uint32_t *carry_p, int warp)
{
    const simt_addr tags   = shpool_planes_tags(base, granules, 2u * w);
    /* acquire: pairs with the release of the start bit (tag, tag_word, claim_warp) */
    uint32_t        low    = simt_atomic_load(tags, SIMT_ACQUIRE);
    uint32_t        high   = simt_atomic_load(tags + 4u, SIMT_ACQUIRE);
    const uint32_t  starts = shpool_planes_starts(low, high);

    if (warp) { /* end bits are read after all start bits */
        simt_warp_sync(SIMT_ALL_LANES);
        low  = simt_peek(tags);
        high = simt_peek(tags + 4u);
    }
    return shpool_planes_shown(starts, shpool_planes_ends(low, high), carry_p, warp) |
           ~shpool_planes_bits(32u * w, 0, granules);
}

/* Whether words w..w+3 are full; w is a multiple of 4. */
SIMT_FN uint32_t shpool_planes_is_quad_full(simt_addr base, uint32_t w)
{
    const simt_u128 quad = simt_peek_quad(shpool_planes_used(base, w));

    return (quad.x & quad.y & quad.z & quad.w) == 0xffffffffu;
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
        uint32_t       used;

        if (!warp && !exact && ((w & 3u) == 0) && shpool_planes_is_quad_full(base, w)) {
            w += 3u;
            run = 32u * w + 32u;
            continue;
        }
        used = exact ? shpool_planes_owned(base, granules, in, &carry, warp)
                     : simt_peek(shpool_planes_used(base, in));
        if (warp) {
            uint32_t ends;
            uint32_t last;
            uint32_t hits;

            used = is ? used : 0xffffffffu;
            spot = shpool_planes_fit_warp(used, 32u * mine, run, wish);
            ends = simt_ballot(SIMT_ALL_LANES, used != 0);
            last = simt_shfl(SIMT_ALL_LANES, 32u * mine + simt_fls(used), simt_fls(ends) - 1u);
            run  = (ends != 0) ? last : run;
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
    vain.spot     = SHPOOL_PLANES_NOWHERE;
    return vain;
}

/* Whether a proof of another thread, which is the second one since the request began and was
 * therefore begun later than it, holds for the request. */
SIMT_FN uint32_t shpool_planes_is_proved(simt_addr base, uint32_t need, uint32_t since)
{
    const uint32_t proof = simt_atomic_load(base + SHPOOL_PLANES_PROOF, SIMT_ACQUIRE);

    return ((proof - since) >> 16 >= 2u) && ((proof & 0xffffu) <= need);
}

/* One proof that nothing fits: PROVED, CHANGED if memory became free meanwhile, or 0. */
SIMT_FN uint32_t shpool_planes_prove(simt_addr base, uint32_t granules, shpool_planes_wish wish,
                                     shpool_planes_vain *vain, int warp)
{
    const uint32_t lead   = !warp || (simt_lane() == 0);
    uint32_t       before = 0;
    uint32_t       result = 0;

    if (lead) {
        (void)simt_atomic_add(base, 1u, SIMT_RELAXED);
        /* pairs with those of the frees: the search sees no start bit, or the free sees it */
        simt_fence();
        before = shpool_planes_releases(base);
    }
    if (warp) {
        simt_warp_sync(SIMT_ALL_LANES);
    }
    vain->spot = shpool_planes_find(base, granules, 0, wish, 1, warp);
    if (warp) {
        simt_warp_sync(SIMT_ALL_LANES);
    }
    if (lead) {
        const uint32_t last = simt_atomic_load(base + SHPOOL_PLANES_PROOF,
                                               SIMT_ACQUIRE);

        result = (shpool_planes_releases(base) != before) ? SHPOOL_PLANES_CHANGED
                 : (vain->spot == SHPOOL_PLANES_NOWHERE) ? SHPOOL_PLANES_PROVED : 0u;
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
 * if it has waited so long that nothing will change, or so often that the request is refused
 * without a proof.  `changed`: memory became free during the proof. */
SIMT_FN uint32_t shpool_planes_pause(simt_addr base, shpool_planes_vain *vain, uint32_t changed)
{
    const simt_addr count = base + SHPOOL_PLANES_RELEASES;
    const uint32_t  n     = vain->searches;
    uint32_t        idle  = 0;

    shpool_planes_nap(n);
    if (n != 0) {
        idle = simt_wait_briefly(count, simt_peek(count)) != 0;
    }
    vain->searches = (n < SHPOOL_PLANES_LONGEST) ? n + 1u
                     : !changed ? n + idle
                     : (vain->spot != SHPOOL_PLANES_NOWHERE) ? SHPOOL_PLANES_LONGEST
                     : n + SIMT_PATIENCE / SHPOOL_PLANES_VOIDS + 1u;
    return vain->searches > SHPOOL_PLANES_LONGEST + SIMT_PATIENCE;
}

/* A search was in vain: 1 if the request fits nowhere; else waits, and the caller tries again. */
SIMT_FN uint32_t shpool_planes_is_full(simt_addr base, uint32_t granules, shpool_planes_wish wish,
                                       shpool_planes_vain *vain, int warp)
{
    const uint32_t lead = !warp || (simt_lane() == 0);
    /* with proofs: one serves all that wait for it */
    uint32_t       busy = simt_peek(base);
    uint32_t       full = 0;

    if (warp) {
        busy = simt_shfl(SIMT_ALL_LANES, busy, 0);
    }
    vain->spot = SHPOOL_PLANES_NOWHERE;
    if ((busy == 0) || ((vain->searches & 1u) != 0)) {
        full = shpool_planes_prove(base, granules, wish, vain, warp);
        busy = 0;
    }
    if (lead && (full != SHPOOL_PLANES_PROVED)) {
        if (busy != 0) {
            shpool_planes_nap(vain->searches);
            vain->searches += simt_wait_briefly(base, busy) != 0;
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

/* ---- where requests of more than a word begin ---- */

/* The word at which the caller's warp begins.  The reversed bits of the warps' numbers divide the
 * spread in halves, quarters ...  (No pool has 1,024 words, also if the spread is damaged.) */
SIMT_FN uint32_t shpool_planes_place(simt_addr base, uint32_t rank)
{
    return simt_mulhi(simt_reverse(rank / SIMT_WARP),
                      (simt_peek(base + SHPOOL_PLANES_SPREAD) & 1023u) + 1u);
}

/* Requests that want the same words spread further; after a search in vain they come closer
 * together, lest what they hold all over the pool leaves no long runs. */
SIMT_FN void shpool_planes_spread(simt_addr base, uint32_t granules, uint32_t more)
{
    const simt_addr a      = base + SHPOOL_PLANES_SPREAD;
    const uint32_t  spread = simt_peek(a);
    const uint32_t  most   = (granules - 1u) >> 5;
    const uint32_t  wide   = (more != 0) ? spread + more : spread - spread / SHPOOL_PLANES_GATHER;

    simt_atomic_store(a, (wide < most) ? wide : most, SIMT_RELAXED); /* a hint */
}

#endif /* SHPOOL_ALLOCATORS_PLANES_RUNS_H */
