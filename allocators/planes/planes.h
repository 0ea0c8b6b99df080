/* SPDX-License-Identifier: BSD-3-Clause */
/* planes: one pool for the whole block, no lock, metadata out of band, three bits a granule.
 *
 * Terms
 *   granule    16 bytes of payload, numbered 0..G-1; an allocation is a run of granules
 *   used       a bit a granule, 32 in a word: it is claimed.  A claim sets the bits of its run by
 *              an atomic OR, and owns it if none of them was set; else it clears those it has set
 *   tags       16 start bits, and above them 16 end bits: half a word's
 *   end        an owned run's last granule has a bit, its others have none.  Only a granule's owner
 *              changes its bit, so a free leaves them alone: elsewhere they mean nothing
 *   start      an allocation begins here.  Set last by malloc; a free begins by clearing it, and
 *              who clears it is the one that frees.  Where it is set, the run up to the next end
 *              bit is owned.  With the end bit in the same half, one addition sets both
 *   searching  number of threads that try to prove that a request fits nowhere
 *   releases   how often memory became free while somebody did
 *   proof      the last one: its number, modulo 65,536, and below it how many granules did not fit
 *   spread     number of words over which the warps' searches begin, less 1
 *
 * Pool:  searching | G | offset of granule 0 | spread | proof | releases | 2 unused |
 *        used, a word for 32 granules, whole quads | tags, 2 words for each | padding | G granules
 * (The view has G and the offset, too; slow searches read them here, to save registers.)  Words of
 * one kind side by side: 32 neighbours are in 32 banks, and one load reads four.
 *
 * When a malloc may fail: if its request did not fit at some instant.  Used bits do not prove that,
 * because a claim may undo them.  Tags do: a run that they show was owned at an instant of the
 * search, and if `releases` has not changed, it still is when the search ends.  For when a start
 * bit was read, the run from there to its end bit e was owned.  If the end bit that is read later
 * lies further up, e's bit was cleared meanwhile, by a later owner of e who had set one further up
 * before.  (Hence end bits are read after start bits, and written downwards.)
 *   A free counts only if somebody searches.  It may miss no search that saw its start bit: the
 * search raises `searching` before it reads tags, by atomics with release that change nothing; the
 * free clears its start bit by one with acquire, and then reads `searching`.  Either its atomic
 * comes first, and the search sees no start bit, or it reads from the search's, through atomics
 * only, and so sees `searching` raised.
 *
 * Convergence: ptxas inserts a YIELD, which splits a warp, into loops that atomics decide, and at
 * the entry of called functions with atomics.  So the usual path is straight-line code, and quick
 * searches only peek.
 *
 * The idea of claiming by one atomic on a bitmap at a scattered start is that of ScatterAlloc
 * (Steinberger et al., InPar 2012) and Halloc (Adinetz and Pleiter, 2014).
 *
 * Invariants (the numbers that walk reports)
 *   1  a used granule belongs to an allocation
 *   2  a start bit has its used bit, and is not inside another allocation
 *   3  the used bits after granule G-1 are set, their tags are not
 *   4  an allocation ends before granule G
 *   5  G and the offset equal the view's */
#ifndef SHPOOL_ALLOCATORS_PLANES_H
#define SHPOOL_ALLOCATORS_PLANES_H

#include <shpool/allocators/planes/search.h>

#define SHPOOL_GROUPS_planes ~, 1
#define SHPOOL_GUARDS_planes ~, 1
#define SHPOOL_CLEAN_planes  ~, 1 /* free memory holds nothing: module.h */
#define SHPOOL_PACKS_planes  ~, SHPOOL_PACKING(SHPOOL_PACK_ANY, 0u, 0u, 0u)

#define SHPOOL_PLANES_TRIES  2u  /* after home, before the exact search */
#define SHPOOL_PLANES_SMALL  16u /* granules of a request that such a try serves; a half */
#define SHPOOL_PLANES_GATHER 8u  /* the part of the spread that a warp's search in vain takes */
#define SHPOOL_PLANES_LATE   0xfffffffeu /* no granule: other threads were quicker */

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

/* ---- malloc ---- */

/* Claim `need` granules in the thread's home; 0 if that fails, or they never fit there. */
SIMT_FN simt_addr shpool_planes_malloc_home(shpool_view view, uint32_t need, uint32_t alignment)
{
    uint32_t        high;
    const uint32_t  half  = shpool_planes_home(view, &high);
    const uint32_t  shift = (half << 4) & 16u;
    const simt_addr a     = shpool_planes_used(view.base, half >> 1);
    uint32_t        fit;
    uint32_t        i;

    if ((need <= SHPOOL_PLANES_SMALL) && (view.word[0] != 0) && (alignment <= 16u)) {
        fit = shpool_run_starts(~(simt_peek(a) >> shift) & 0xffffu, need,
                                SHPOOL_PLANES_SMALL);
        i   = shpool_run_pick(fit, 0u - high);
        if ((fit != 0) &&
            shpool_planes_take_half(a, shift, shpool_planes_tags(view.base, view.word[0], half), i,
                                    need)) {
            return shpool_planes_payload(view, 16u * half + i);
        }
    }
    return 0;
}

/* Where `need` granules (1..SMALL) seem to be free within a word, from quad `quad` on around the
 * pool, and in *next_p the quad after it; NOWHERE if there is no such word.  Lanes prefer different
 * ends.  Within one half if possible.  It only peeks.  (As a call, ptxas finds no registers for it
 * in a kernel with setmaxnreg.) */
SIMT_FN uint32_t shpool_planes_seek(simt_addr base, uint32_t granules, uint32_t quad,
                                    uint32_t need, uint32_t rank)
{
    const uint32_t quads = shpool_planes_words_of(granules) / 4u;
    const uint32_t half  = simt_mask(0, SHPOOL_PLANES_HALF + 1u - need) * 0x10001u;
    uint32_t       left  = quads;
    uint32_t       fit   = 0;
    uint32_t       w     = 0;
    simt_u128      used;

    quad = (quad < quads) ? quad : 0u;
    SIMT_ROLLED
    do {
        used = simt_peek_quad(shpool_planes_used(base, 4u * quad));
        w    = 4u * quad;
        quad = (quad + 1u < quads) ? quad + 1u : 0u;
        left--;
        if ((used.x & used.y & used.z & used.w) != 0xffffffffu) {
            used.x = shpool_run_starts(~used.x, need, SHPOOL_PLANES_SMALL);
            used.y = shpool_run_starts(~used.y, need, SHPOOL_PLANES_SMALL);
            used.z = shpool_run_starts(~used.z, need, SHPOOL_PLANES_SMALL);
            used.w = shpool_run_starts(~used.w, need, SHPOOL_PLANES_SMALL);
            fit    = used.x | used.y | used.z | used.w;
        }
    } while ((fit == 0) && (left != 0));
    if (fit == 0) {
        return SHPOOL_PLANES_NOWHERE;
    }
    /* the lane's own word of the quad, or the first one after it */
    fit = ((used.x != 0) ? 1u : 0u) | ((used.y != 0) ? 2u : 0u) | ((used.z != 0) ? 4u : 0u) |
          ((used.w != 0) ? 8u : 0u);
    fit |= fit << 4;
    left = (simt_ffs(fit & (0xffffffffu << (rank & 3u))) - 1u) & 3u;
    fit  = (left == 0) ? used.x : (left == 1u) ? used.y : (left == 2u) ? used.z : used.w;
    fit  = ((fit & half) != 0) ? fit & half : fit;
    return 32u * (w + left) + shpool_run_pick(fit, 0u - ((rank >> 2) & 1u));
}

/* Any request, exactly: from word w on, then everything.  A call; its arguments are passed in
 * registers. */
SIMT_FN_NOINLINE simt_addr shpool_planes_malloc_far(simt_addr base, uint32_t granules, uint32_t w,
                                                    uint32_t need, uint32_t below)
{
    const shpool_planes_wish wish = {need, below};
    shpool_planes_vain       vain;

    if (need > granules) {
        return 0; /* also for the empty pool, which has no granules */
    }
    vain = shpool_planes_begin(base);
    for (;;) {
        uint32_t first;

        granules = simt_load32(base + 4u);
        first    = shpool_planes_find(base, granules, w, wish, 0, 0);
        if (first != SHPOOL_PLANES_NOWHERE) {
            if (shpool_planes_claim(base, first, first + need)) {
                shpool_planes_tag(base, granules, first, first + need);
                return base + simt_load32(base + 8u) + (first << 4);
            }
            w = first >> 5; /* another thread was quicker, and made progress */
        } else if (w != 0) {
            w = 0;
        } else if (shpool_planes_is_full(base, granules, wish, &vain, 0)) {
            return 0;
        }
    }
}

/* What follows home is in the caller's code, so that the warp stays together; a function of the
 * table has parted it at its own entry. */
#if defined(SHPOOL_TABLE_MODULE)
#define SHPOOL_PLANES_AWAY SIMT_FN_NOINLINE
#else
#define SHPOOL_PLANES_AWAY SIMT_FN
#endif

/* Where home had no room, or another thread was quicker: from the quad of home on. */
SHPOOL_PLANES_AWAY simt_addr shpool_planes_malloc_away(simt_addr base, uint32_t granules,
                                                       uint32_t rank, uint32_t need,
                                                       uint32_t alignment)
{
    const shpool_view view = {base, 0, simt_pin(rank), 0, {granules, 0}, 0};
    uint32_t          spot = 0;
    uint32_t          won  = 0;
    uint32_t          turn;

    if ((need <= SHPOOL_PLANES_SMALL) && (granules != 0) && (alignment <= 16u)) {
        spot = 16u * shpool_planes_home(view, &turn);
        SIMT_UNROLLED
        for (turn = 0; turn < SHPOOL_PLANES_TRIES; turn++) {
            spot = shpool_planes_seek(base, granules, spot >> 7, need, rank + turn);
            if (spot == SHPOOL_PLANES_NOWHERE) {
                break;
            }
            won = shpool_planes_claim_word(shpool_planes_used(base, spot >> 5),
                                           simt_mask(spot & 31u, need));
            if (won != 0) {
                break;
            }
        }
        if (won != 0) {
            shpool_planes_tag_word(shpool_planes_tags(base, granules, spot >> 5 << 1),
                                   simt_mask(spot & 31u, need));
            return base + simt_load32(base + 8u) + (spot << 4);
        }
    }
    /* from NOWHERE on there is no word: the search begins with the first one */
    return shpool_planes_malloc_far(base, granules, spot >> 5, need, (alignment >> 4) - 1u);
}

SIMT_FN simt_addr shpool_planes_malloc(shpool_view view, uint32_t bytes, uint32_t alignment,
                                       uint32_t site)
{
    uint32_t        need = (bytes + 15u) >> 4;
    const simt_addr addr = shpool_planes_malloc_home(view, need, alignment);

    (void)site;
    if (addr != 0) {
        return addr;
    }
    need = simt_pin(need); /* what home does not need is computed after it */
    return shpool_planes_malloc_away(view.base, view.word[0], view.rank, need, alignment);
}

/* ---- free ---- */

/* The first granule from g on with its bit, moved by `shift`, in the tags; `end` if there is none
 * before. */
SIMT_FN uint32_t shpool_planes_next(simt_addr base, uint32_t granules, uint32_t shift, uint32_t g,
                                    uint32_t end)
{
    uint32_t mask = 0xffffu & (0xffffu << (g & 15u));

    SIMT_ROLLED
    for (; g < end; g = (g | 15u) + 1u) {
        const uint32_t bits = (simt_atomic_load(shpool_planes_tags(base, granules, g >> 4),
                                                SIMT_ACQUIRE) >> shift) & mask;

        if (bits != 0) {
            return (g & ~15u) + simt_ffs(bits) - 1u;
        }
        mask = 0xffffu;
    }
    return end;
}

/* Why a free of granule `first`, which has no start bit, is refused.  Its used bit does not say
 * it: another thread may be freeing it. */
SIMT_FN_NOINLINE uint32_t shpool_planes_refuse(simt_addr base, uint32_t granules, uint32_t first)
{
    uint32_t g = 0;

    SIMT_ROLLED
    while (g < first) {
        g = shpool_planes_next(base, granules, 0, g, first);
        if (g < first) {
            g = shpool_planes_next(base, granules, 16u, g, granules);
            if (g >= first) {
                return SHPOOL_FREE_INTERIOR;
            }
            g++;
        }
    }
    return SHPOOL_FREE_DOUBLE;
}

/* The rest of a free, of a run that ends in another half. */
SIMT_FN_NOINLINE void shpool_planes_free_long(simt_addr base, uint32_t granules, uint32_t first)
{
    shpool_planes_give(base, first,
                       shpool_planes_next(base, granules, 16u, first, granules - 1u) + 1u);
}

SIMT_FN uint32_t shpool_planes_free(shpool_view view, simt_addr addr, uint32_t site)
{
    const uint32_t first = shpool_planes_granule(view, addr);
    const uint32_t bit   = 1u << (first & 15u);
    uint32_t       tags;
    uint32_t       last;
    uint32_t       searching;

    (void)site;
    if (first >= view.word[0]) {
        return shpool_run_stray(first, view.word[0]);
    }
    /* Whoever clears the bit frees the run, and its used bits say when it is free.  acquire: pairs
     * with the release of an exact search that saw the bit; then the search is seen, too */
    tags = simt_atomic_and(shpool_planes_tags(view.base, view.word[0], first >> 4), ~bit,
                           SIMT_ACQUIRE);
    searching = simt_peek(view.base);
    if ((tags & bit) == 0) {
        return shpool_planes_refuse(view.base, view.word[0], first);
    }
    last = (tags >> 16) & (0u - bit); /* the owner's: stable */
    if (last == 0) {
        shpool_planes_free_long(view.base, view.word[0], first);
        return SHPOOL_FREE_OK;
    }
    /* from bit up to the lowest of `last`; release: as in clear */
    last = ((last ^ (last - 1u)) & (0u - bit)) << (first & 16u);
    (void)simt_atomic_and(shpool_planes_used(view.base, first >> 5), ~last, SIMT_RELEASE);
    if (!SIMT_LIKELY(searching == 0)) {
        shpool_planes_release(view.base);
    }
    return SHPOOL_FREE_OK;
}

SIMT_FN uint32_t shpool_planes_owns(shpool_view view, simt_addr addr)
{
    const uint32_t first = shpool_planes_granule(view, addr);

    if (first >= view.word[0]) {
        return shpool_run_stray(first, view.word[0]);
    }
    return ((simt_atomic_load(shpool_planes_tags(view.base, view.word[0], first >> 4),
                              SIMT_RELAXED) >> (first & 15u)) & 1u)
               ? (uint32_t)SHPOOL_FREE_OK
               : shpool_planes_refuse(view.base, view.word[0], first);
}

/* ---- the rest ---- */

/* Granules of the allocation that starts at addr; 0 if none does. */
SIMT_FN uint32_t shpool_planes_size(shpool_view view, simt_addr addr)
{
    const uint32_t first = shpool_planes_granule(view, addr);

    return (shpool_planes_owns(view, addr) == SHPOOL_FREE_OK)
               ? shpool_planes_next(view.base, view.word[0], 16u, first, view.word[0] - 1u) + 1u -
                     first
               : 0u;
}

SIMT_FN uint32_t shpool_planes_usable(shpool_view view, simt_addr addr)
{
    return shpool_planes_size(view, addr) << 4;
}

SIMT_FN uint32_t shpool_planes_resize(shpool_view view, simt_addr addr, uint32_t bytes)
{
    const uint32_t first = shpool_planes_granule(view, addr);
    const uint32_t need  = (bytes + 15u) >> 4;
    const uint32_t have  = shpool_planes_size(view, addr);
    const uint32_t last  = first + ((need < have) ? need : have) - 1u;
    simt_addr      tags;

    if ((have == 0) || (need > view.word[0] - first)) {
        return 0;
    }
    tags = shpool_planes_tags(view.base, view.word[0], last >> 4);
    if (need > have) {
        if (!shpool_planes_claim(view.base, first + have, first + need)) {
            return 0;
        }
        shpool_planes_end(view.base, view.word[0], first + have, first + need);
        /* release: who does not see the former end sees the new one */
        (void)simt_atomic_and(tags, ~(0x10000u << (last & 15u)), SIMT_RELEASE);
    } else if (need < have) { /* acquire: as in free */
        (void)simt_atomic_or(tags, 0x10000u << (last & 15u), SIMT_ACQUIRE);
        shpool_planes_give(view.base, last + 1u, first + have);
    }
    return 1;
}

SIMT_FN uint32_t shpool_planes_largest(shpool_view view)
{
    uint32_t largest = 0;
    uint32_t g       = 0;

    while (g < view.word[0]) {
        const uint32_t start = shpool_planes_next(view.base, view.word[0], 0, g, view.word[0]);

        largest = (start - g > largest) ? start - g : largest;
        g = shpool_planes_next(view.base, view.word[0], 16u, start, view.word[0]) + 1u;
    }
    return largest << 4;
}

/* Checks only data that never changes: G, the offset, and the used bits from granule G on. */
SIMT_FN shpool_walk shpool_planes_guard(shpool_view view)
{
    const uint32_t words = shpool_planes_words_of(view.word[0]);
    shpool_walk    walk  = {0, 0, 0, 0};
    uint32_t       w;

    for (w = 0; (w < 2u) && (words != 0) && (walk.broken == 0); w++) {
        walk.where  = view.base + 4u + 4u * w;
        walk.broken = (simt_load32(walk.where) != view.word[w]) ? 5u : 0u;
    }
    for (w = view.word[0] >> 5; (w < words) && (walk.broken == 0); w++) {
        walk.where  = shpool_planes_used(view.base, w);
        walk.broken = ((simt_atomic_load(walk.where, SIMT_RELAXED) |
                        shpool_planes_bits(32u * w, 0, view.word[0])) != 0xffffffffu) ? 3u : 0u;
    }
    walk.where = (walk.broken != 0) ? walk.where : 0u;
    return walk;
}

SIMT_FN shpool_walk shpool_planes_walk(shpool_view view)
{
    const uint32_t halves = 2u * shpool_planes_words_of(view.word[0]);
    shpool_walk    walk   = shpool_planes_guard(view);
    uint32_t       in     = 0; /* whether a granule belongs to the allocation of the one before */
    uint32_t       g      = 0;

    while ((g < SHPOOL_PLANES_HALF * halves) && (walk.broken == 0)) {
        uint32_t used = simt_atomic_load(shpool_planes_used(view.base, g >> 5),
                                         SIMT_RELAXED) >> (g & 16u);
        uint32_t tags = simt_atomic_load(shpool_planes_tags(view.base, view.word[0], g >> 4),
                                         SIMT_RELAXED);

        do {
            const uint32_t is    = used & 1u;
            const uint32_t start = tags & 1u;
            const uint32_t end   = (tags >> 16) & 1u;

            if (g >= view.word[0]) {
                walk.broken = in ? 4u : (!is || start || end) ? 3u : 0u;
            } else if (start && (in || !is)) {
                walk.broken = 2;
            } else if (is != (in || start)) {
                walk.broken = 1;
            } else {
                walk.live += start;
                walk.used += is ? 16u : 0u;
            }
            walk.where = (walk.broken != 0) ? shpool_planes_payload(view, g) : 0u;
            in = is && !end && (g < view.word[0]);
            used >>= 1;
            tags >>= 1;
            g++;
        } while (((g & (SHPOOL_PLANES_HALF - 1u)) != 0) && (walk.broken == 0));
    }
    if (in && (walk.broken == 0)) {
        walk.broken = 4;
        walk.where  = shpool_planes_payload(view, g - 1u);
    }
    return walk;
}

#include <shpool/allocators/planes/warp.h>

#endif /* SHPOOL_ALLOCATORS_PLANES_H */
