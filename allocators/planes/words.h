/* SPDX-License-Identifier: BSD-3-Clause */
/* planes: its words, and how granules are claimed and given back; part of planes.h, which has the
 * terms and says why this suffices. */
#ifndef SHPOOL_ALLOCATORS_PLANES_WORDS_H
#define SHPOOL_ALLOCATORS_PLANES_WORDS_H

#include <shpool/impl/heap/run_word.h>
#include <shpool/module.h>

/* ---- the pool: word[0] = G, word[1] = offset of granule 0 ---- */

#define SHPOOL_PLANES_SPREAD   12u /* offsets in the pool; `searching` is the first word */
#define SHPOOL_PLANES_PROOF    16u
#define SHPOOL_PLANES_RELEASES 20u
#define SHPOOL_PLANES_WORDS    32u
#define SHPOOL_PLANES_HALF     16u /* granules that one word of tags describes */
#define SHPOOL_PLANES_NOWHERE  0xffffffffu /* no granule */

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

/* Give granules first..end-1 of the caller their end bit, and remove others' former ones. */
SIMT_FN void shpool_planes_end(simt_addr base, uint32_t granules, uint32_t first, uint32_t end)
{
    uint32_t h;

    SIMT_ROLLED
    for (h = (end - 1u) >> 4; h + 1u > first >> 4; h--) { /* the highest first: see planes.h */
        const simt_addr tags = shpool_planes_tags(base, granules, h);
        const uint32_t  own  = shpool_planes_half(16u * h, first, end);
        const uint32_t  last = shpool_planes_half(16u * h, end - 1u, end);

        (void)simt_atomic_add(tags, shpool_planes_change(simt_peek(tags), own, last, 0),
                              SIMT_RELAXED);
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

    if ((own >> 16) != 0) {
        (void)simt_atomic_add(tags + 4u, shpool_planes_change(simt_peek(tags + 4u),
                                                              own >> 16, last >> 16,
                                                              start >> 16), SIMT_RELAXED);
    }
    if ((own & 0xffffu) != 0) { /* release: as in tag */
        (void)simt_atomic_add(tags, shpool_planes_change(simt_peek(tags),
                                                         own & 0xffffu, last & 0xffffu,
                                                         start & 0xffffu), SIMT_RELEASE);
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

/* Claim granules i..i+need-1 of a half, at `shift` in the word at a, and make them an allocation;
 * 1, or 0 if other threads were quicker. */
SIMT_FN uint32_t shpool_planes_take_half(simt_addr a, uint32_t shift, simt_addr tags, uint32_t i,
                                         uint32_t need)
{
    const uint32_t bit = 1u << i;
    const uint32_t run = simt_mask(i + shift, need);
    const uint32_t old = simt_atomic_or(a, run, SIMT_ACQUIRE); /* as in claim_word */
    const uint32_t was = simt_peek(tags); /* early: the GPU loads it meanwhile */

    if ((old & run) != 0) {
        (void)simt_atomic_and(a, ~run | old, SIMT_RELAXED);
        return 0;
    } /* relaxed: both bits at once; what goes are ends of the granules' former allocations */
    (void)simt_atomic_add(tags, bit + (bit << (need + 15u)) -
                                          (was & simt_mask(i + 16u, need)), SIMT_RELAXED);
    return 1;
}

/* Clear granules first..end-1 of the caller. */
SIMT_FN void shpool_planes_clear(simt_addr base, uint32_t first, uint32_t end)
{
    uint32_t w;

    SIMT_ROLLED
    for (w = first >> 5; 32u * w < end; w++) {
        /* release: the owner's accesses to the payload; pairs with the acquire of the claims */
        (void)simt_atomic_and(shpool_planes_used(base, w),
                              ~shpool_planes_bits(32u * w, first, end), SIMT_RELEASE);
    }
}

/* Give granules first..end-1 of the caller back, after an atomic with acquire has changed their
 * tags. */
SIMT_FN void shpool_planes_give(simt_addr base, uint32_t first, uint32_t end)
{
    shpool_planes_clear(base, first, end);
    if (simt_peek(base) != 0) {
        shpool_planes_release(base);
    }
}

/* Claim granules first..end-1, word by word: among conflicting claims, the one furthest up always
 * progresses.  1, or 0 with nothing changed.  The loop counts, so that ptxas inserts no YIELD. */
SIMT_FN uint32_t shpool_planes_claim(simt_addr base, uint32_t first, uint32_t end)
{
    uint32_t lost = 0; /* whether, and in which word less 1, it came too late */
    uint32_t mine = 0; /* the bits that it set there */
    uint32_t w;

    SIMT_ROLLED
    for (w = first >> 5; 32u * w < end; w++) {
        const uint32_t bits = (lost == 0) ? shpool_planes_bits(32u * w, first, end) : 0u;
        const uint32_t old  = simt_atomic_or(shpool_planes_used(base, w), bits, SIMT_ACQUIRE);

        if ((old & bits) != 0) {
            lost = w + 1u;
            mine = bits & ~old;
        }
    }
    if (lost == 0) {
        return 1;
    }
    (void)simt_atomic_and(shpool_planes_used(base, lost - 1u), ~mine, SIMT_RELAXED);
    if (lost - 1u > first >> 5) {
        shpool_planes_clear(base, first, 32u * (lost - 1u));
    }
    return 0;
}

#endif /* SHPOOL_ALLOCATORS_PLANES_WORDS_H */
