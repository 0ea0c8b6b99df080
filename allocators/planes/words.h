/* SPDX-License-Identifier: BSD-3-Clause */
/* planes: its constants, and computations on words, which use no memory; planes.h has the terms. */
#ifndef SHPOOL_ALLOCATORS_PLANES_WORDS_H
#define SHPOOL_ALLOCATORS_PLANES_WORDS_H

#include <shpool/impl/heap/run_word.h>
#include <shpool/module.h>

/* ---- what was tuned ---- */

/* Looks at home.  For two, a function of the table would save 6 registers more. */
#if defined(SHPOOL_TABLE_MODULE)
#define SHPOOL_PLANES_LOOKS  1u
#else
#define SHPOOL_PLANES_LOOKS  2u
#endif
#define SHPOOL_PLANES_TRIES  8u  /* after home, before the exact search */
#define SHPOOL_PLANES_SMALL  32u /* granules of a request that such a try serves; a word */
#define SHPOOL_PLANES_BIDS   16u /* of a warp, before its first lane claims in order */
#define SHPOOL_PLANES_GATHER  4u  /* the part of the spread that a search in vain takes */
#define SHPOOL_PLANES_PAUSE   64u /* nanoseconds, doubled after each search in vain ... */
#define SHPOOL_PLANES_LONGEST 8u  /* ... up to this many times */
#define SHPOOL_PLANES_VOIDS   32u /* proofs that frees void after that, before a refusal */

/* ---- the pool: word[0] = G, word[1] = offset of granule 0 ---- */

#define SHPOOL_PLANES_SPREAD   12u /* offsets in the pool; `searching` is the first word */
#define SHPOOL_PLANES_PROOF    16u
#define SHPOOL_PLANES_RELEASES 20u
#define SHPOOL_PLANES_WORDS    32u
#define SHPOOL_PLANES_HALF     16u /* granules that one word of tags describes */
#define SHPOOL_PLANES_NOWHERE  0xffffffffu /* no granule */
#define SHPOOL_PLANES_LATE   0xfffffffeu /* no granule: other threads were quicker */

typedef struct shpool_planes_wish {
    uint32_t need;  /* granules */
    uint32_t below; /* the first one has a number that is a multiple of below + 1 */
} shpool_planes_wish;

/* A request that nothing seems to fit. */
typedef struct shpool_planes_vain {
    uint32_t since;    /* the pool's proof when it began */
    uint32_t searches; /* in vain */
    uint32_t spot;     /* where it fits after all, by what allocations own; else NOWHERE */
} shpool_planes_vain;

/* Words of used bits: whole quads.  There are twice as many of tags. */
SIMT_HD uint32_t shpool_planes_words_of(uint32_t granules)
{
    return (granules + 127u) >> 7 << 2;
}

SIMT_HD shpool_layout shpool_planes_layout(uint32_t bytes, uint32_t alignment)
{
    const shpool_run_bits bits = {SHPOOL_PLANES_WORDS, 48u, 128u}; /* quads of words */

    return shpool_run_layout(bits, bytes, alignment);
}

SIMT_FN simt_addr shpool_planes_payload(shpool_view view, uint32_t granule)
{
    return view.base + view.word[1] + (granule << 4);
}

/* Granule of addr; at least G if addr is not the start of a granule of this pool. */
SIMT_FN uint32_t shpool_planes_granule(shpool_view view, simt_addr addr)
{
    return shpool_run_granule(addr - view.base - view.word[1]);
}

/* The used bits of word w. */
SIMT_FN simt_addr shpool_planes_used(simt_addr base, uint32_t w)
{
    return base + SHPOOL_PLANES_WORDS + 4u * w;
}

/* The tags of half h; halves are numbered like words, two for each. */
SIMT_FN simt_addr shpool_planes_tags(simt_addr base, uint32_t granules, uint32_t h)
{
    return base + SHPOOL_PLANES_WORDS + 4u * shpool_planes_words_of(granules) + 4u * h;
}

/* The granules first..end-1 that are among the 32 from `at` on. */
SIMT_FN uint32_t shpool_planes_bits(uint32_t at, uint32_t first, uint32_t end)
{
    const int from = (int)(first - at);
    const int to   = (int)(end - at);
    const int low  = (from > 0) ? from : 0;
    const int n    = ((to < 32) ? to : 32) - low;

    return simt_mask((uint32_t)low, (n > 0) ? (uint32_t)n : 0u);
}

/* The same among the 16 from `at` on. */
SIMT_FN uint32_t shpool_planes_half(uint32_t at, uint32_t first, uint32_t end)
{
    return shpool_planes_bits(at, first, end) & 0xffffu;
}

/* What to add to tags, which were `was`, to give the granules `own` of the caller, which start
 * nothing, the end bits `last` and the start bits `start`.  An addition changes no others' bits. */
SIMT_FN uint32_t shpool_planes_change(uint32_t was, uint32_t own, uint32_t last, uint32_t start)
{
    return (last << 16) + start - (was & (own << 16));
}

/* The half where a thread begins, and whether (1 or 0) at its upper end.  Each lane of a warp has
 * other words, those whose number is the lane's modulo 32, in a bank of their own, and so are their
 * tags, because the upper 16 lanes use the other halves.  There the warps' places are as far from
 * each other as possible: the reversed bits of their numbers divide the words in halves, quarters
 * ...  A pool of fewer words is divided between all threads.  Kept: loops then compute it once. */
SIMT_FN uint32_t shpool_planes_home(shpool_view view, uint32_t *high_p)
{
    const uint32_t words = (view.word[0] + 31u) >> 5; /* with granules */
    const uint32_t lane  = view.rank & (SIMT_WARP - 1u);
    const uint32_t few   = words < SIMT_WARP;
    const uint32_t who   = simt_reverse(few ? view.rank : view.rank / SIMT_WARP);
    const uint32_t mine  = few ? words : (words + SIMT_WARP - 1u - lane) / SIMT_WARP;
    const uint32_t g     = simt_mulhi(who, 32u * mine) ^ (few ? 0u : lane & 16u);
    const uint32_t w     = few ? g >> 5 : (g & ~31u) + lane;

    *high_p = simt_keep((g >> 3) & 1u);
    return simt_keep(2u * w + ((g >> 4) & 1u));
}

/* What a search in vain may prove. */
#define SHPOOL_PLANES_PROVED  1u
#define SHPOOL_PLANES_CHANGED 2u

/* Whether a word may serve a request. */
SIMT_FN uint32_t shpool_planes_is_small(uint32_t granules, uint32_t need, uint32_t alignment)
{
    return (need <= SHPOOL_PLANES_SMALL) && (granules != 0) && (alignment <= 16u);
}

/* ---- fits ---- */

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

/* The same for a warp whose lanes have words at, at + 32, ...: the fit of each.  `start` is that of
 * the first lane. */
SIMT_FN uint32_t shpool_planes_fit_warp(uint32_t used, uint32_t at, uint32_t start,
                                        shpool_planes_wish wish)
{
    const uint32_t parts = simt_ballot(SIMT_ALL_LANES, used != 0); /* words that end a run */
    const uint32_t lower = parts & simt_mask(0, simt_lane());
    const uint32_t tail  = at + simt_fls(used); /* where the run at the word's end begins */
    const uint32_t from  = simt_shfl(SIMT_ALL_LANES, tail, simt_fls(lower) - 1u);

    return shpool_planes_fit(used, at, (lower != 0) ? from : start, wish);
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

SIMT_FN void shpool_planes_nap(uint32_t n)
{
    simt_pause(SHPOOL_PLANES_PAUSE << ((n < SHPOOL_PLANES_LONGEST) ? n : SHPOOL_PLANES_LONGEST));
}

#endif /* SHPOOL_ALLOCATORS_PLANES_WORDS_H */
