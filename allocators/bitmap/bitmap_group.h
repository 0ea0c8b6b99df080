/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap for warps: 32 lanes serve one request together.  bitmap.h explains the terms.  For a
 * smaller group the first lane makes the request.
 *
 * Search    Each lane reads one pair of words, 22 granules; neighbouring lanes read neighbouring
 *           pairs.  Two votes and a shuffle give each lane the length of the free run that reaches
 *           into its pair from below.  This finds the exact first fit.
 * Claim     Each lane claims its part of the run by one compare-and-swap of the pair that it has
 *           read.  If one of them is too late, the others undo theirs, and the warp searches again.
 *           Until then the pairs are CLAIMED: marks in them may be undone.
 * Free      The first lane ends the allocation's ownership, as in bitmap.h; then each lane clears
 *           one word.
 *
 * Lanes without work in a step still perform it, without effect (a swap of a word for itself, an
 * addition of 0): a branch around an atomic would split the warp, and reconvergence costs more.
 * The usual path has no loop: ptxas inserts a YIELD, which is slow, into each loop with an atomic.
 *
 * Warps begin at different places, so that they rarely need the same words: close together at
 * first, and further apart after each conflict of two warps. */
#include <shpool/allocators/bitmap/bitmap.h> /* before the guard: it includes this file */
#ifndef SHPOOL_ALLOCATORS_BITMAP_GROUP_H
#define SHPOOL_ALLOCATORS_BITMAP_GROUP_H

#define SHPOOL_BITMAP_LOOK (SIMT_WARP * SHPOOL_BITMAP_PAIR) /* granules that a warp reads in one
                                                               step */

/* ---- search ---- */

/* A lane's reading of its pair. */
typedef struct shpool_bitmap_look {
    simt_addr a; /* of the pair */
    simt_pair words;
    uint32_t  at;     /* its first granule */
    uint32_t  unused; /* bit i: granule at + i; none where a group is claiming */
} shpool_bitmap_look;

/* Pair p.  From pair `end` on, which the pool has not, nothing is free. */
SIMT_FN shpool_bitmap_look shpool_bitmap_look_at(shpool_view view, uint32_t p, uint32_t end)
{
    shpool_bitmap_look look;

    look.a = simt_keep(shpool_bitmap_word_at(view, 2u * ((p < end) ? p : end - 1u)));
    /* acquire: as in shpool_bitmap_unused_at */
    look.words  = simt_atomic_load_pair(look.a, SIMT_ACQUIRE);
    look.at     = SHPOOL_BITMAP_PAIR * p;
    look.unused = ((p < end) && ((look.words.x & SHPOOL_BITMAP_CLAIMED) == 0))
                      ? shpool_bitmap_unused_pair(look.words) : 0u;
    return look;
}

/* Where the run begins that is free up to the end of a lane's pair, of which not all is. */
SIMT_FN uint32_t shpool_bitmap_back_of(shpool_bitmap_look look)
{
    return look.at + SHPOOL_BITMAP_PAIR - shpool_bitmap_back(look.unused);
}

/* Called by all lanes: where the free run begins that reaches into the caller's pair from below;
 * the first lane's begins at `run`. */
SIMT_FN uint32_t shpool_bitmap_reach(shpool_bitmap_look look, uint32_t run)
{
    const uint32_t full   = simt_ballot(SIMT_ALL_LANES, look.unused == SHPOOL_BITMAP_FULL);
    const uint32_t others = ~full & simt_mask(0, simt_lane());
    /* the last lower lane that ends a run, where this lane's run begins (no branch if there is
     * none: the first lane never has one, and would split the warp) */
    const uint32_t from   = 31u - simt_clz(others);
    const uint32_t start  = simt_shfl(SIMT_ALL_LANES, shpool_bitmap_back_of(look), from);

    return (others != 0) ? start : run;
}

/* The lowest of the lanes' granules; NOWHERE if none has one. */
SIMT_FN uint32_t shpool_bitmap_lowest(uint32_t granule)
{
    const uint32_t hits = simt_ballot(SIMT_ALL_LANES, granule != SHPOOL_BITMAP_NOWHERE);

    return (hits != 0) ? simt_shfl(SIMT_ALL_LANES, granule, simt_ffs(hits) - 1u)
                       : SHPOOL_BITMAP_NOWHERE;
}

/* Called by all lanes: the first fit in the pairs that they have read; NOWHERE if there is none.
 * *run_p: where the free run begins that reaches into the first lane's pair; on return, if there is
 * no fit, the same for the pair after the last lane's. */
SIMT_FN uint32_t shpool_bitmap_fit_warp(shpool_bitmap_look look, shpool_bitmap_wish wish,
                                        uint32_t *run_p)
{
    uint32_t start = shpool_bitmap_reach(look, *run_p);
    uint32_t fit   = shpool_bitmap_fit(start, look.at, look.unused, wish);

    fit = shpool_bitmap_lowest(fit);
    if (fit == SHPOOL_BITMAP_NOWHERE) {
        start  = (look.unused == SHPOOL_BITMAP_FULL) ? start : shpool_bitmap_back_of(look);
        *run_p = simt_shfl(SIMT_ALL_LANES, start, 31u - simt_clz(SIMT_ALL_LANES));
    }
    return fit;
}

/* ---- claim ---- */

/* A lane's bits for granules first..end-1, of which the first is a start; all 0: it has none. */
SIMT_FN simt_pair shpool_bitmap_bits(uint32_t at, uint32_t first, uint32_t end)
{
    uint32_t  from = ((first > at) ? first : at) - at;
    uint32_t  to   = ((end > at) ? end : at) - at;
    uint32_t  run  = simt_mask(0, to) & ~simt_mask(0, from) & SHPOOL_BITMAP_FULL;
    uint32_t  head = run & simt_mask(first - at, 1u);
    simt_pair bits;

    bits.x = (run & SHPOOL_BITMAP_USED) |
             ((head & SHPOOL_BITMAP_USED) << SHPOOL_BITMAP_STARTS) |
             ((run != 0) ? SHPOOL_BITMAP_CLAIMED : 0u) |
             /* both granules at the words' border */
             (((run & (run >> 1)) << (32u - SHPOOL_BITMAP_SPAN)) & SHPOOL_BITMAP_MORE);
    bits.y = (run >> SHPOOL_BITMAP_SPAN) |
             ((head >> SHPOOL_BITMAP_SPAN) << SHPOOL_BITMAP_STARTS) |
             (((run != 0) && (to > SHPOOL_BITMAP_PAIR)) ? SHPOOL_BITMAP_MORE : 0u);
    return bits;
}

/* Called by all lanes: mark granules first..end-1, all in pairs that they have read as free.
 * Returns 1, or 0 with nothing marked. */
SIMT_FN uint32_t shpool_bitmap_claim_seen(shpool_bitmap_look look, uint32_t first, uint32_t end)
{
    const simt_pair bits   = shpool_bitmap_bits(look.at, first, end);
    const simt_pair marked = {look.words.x | bits.x, look.words.y | bits.y};
    /* acquire: as in shpool_bitmap_claim; the marked word itself is CLAIMED, so no release */
    const uint32_t  got    = simt_atomic_cas_pair(look.a, look.words, marked, SIMT_ACQUIRE);

    if (SIMT_LIKELY(simt_all(SIMT_ALL_LANES, got || (bits.x == 0)))) {
        simt_warp_sync(SIMT_ALL_LANES); /* no lane uses the memory before all have claimed */
        /* relaxed: marks that stay are an allocation, whenever that is seen */
        (void)simt_atomic_and(look.a, ~(bits.x & SHPOOL_BITMAP_CLAIMED), SIMT_RELAXED);
        return 1;
    }
    if (got && (bits.x != 0)) { /* release: as in shpool_bitmap_clear */
        (void)simt_atomic_and(look.a + 4u, ~bits.y, SIMT_RELEASE);
        (void)simt_atomic_and(look.a, ~bits.x, SIMT_RELEASE);
    }
    simt_warp_sync(SIMT_ALL_LANES); /* every mark is gone again */
    return 0;
}

/* One lane's word: claims its part of granules first..end-1 by a compare-and-swap; returns the bits
 * that it has set. */
SIMT_FN uint32_t shpool_bitmap_claim_word(simt_addr a, uint32_t set, uint32_t run)
{
    uint32_t old = simt_atomic_load(a, SIMT_RELAXED);
    uint32_t seen;

    do {
        seen = old;
        if ((~shpool_bitmap_unused(seen) & run) != 0) {
            return 0;
        }
        /* as in shpool_bitmap_claim */
        old = simt_atomic_cas(a, seen, seen | set, SIMT_ACQ_REL);
    } while (old != seen);
    return set;
}

/* Each lane claims one word, w, of granules first..end-1.  1: all are claimed; else none is. */
SIMT_FN uint32_t shpool_bitmap_claim_round(shpool_view view, uint32_t first, uint32_t end,
                                           uint32_t w)
{
    uint32_t  base = SHPOOL_BITMAP_SPAN * w;
    uint32_t  from = (first > base) ? first - base : 0u;
    uint32_t  rest = (end > base) ? end - base : 0u;
    uint32_t  run  = simt_mask(from, ((rest < SHPOOL_BITMAP_SPAN) ? rest : SHPOOL_BITMAP_SPAN) -
                                         from);
    uint32_t  set  = run | ((rest > SHPOOL_BITMAP_SPAN) ? SHPOOL_BITMAP_MORE : 0u) |
                     ((first >= base) ? 1u << SHPOOL_BITMAP_STARTS << from : 0u);
    simt_addr a    = shpool_bitmap_word_at(view, w);
    uint32_t  mine = 0;

    if (rest != 0) {
        mine = shpool_bitmap_claim_word(a, set, run);
    }
    if (simt_all(SIMT_ALL_LANES, (rest == 0) || (mine != 0))) {
        return 1;
    }
    if (mine != 0) {
        (void)simt_atomic_and(a, ~mine, SIMT_RELEASE); /* as in shpool_bitmap_clear */
    }
    return 0;
}

/* Called by a whole warp, for runs longer than one pair per lane: mark granules first..end-1 as
 * used.  Returns 1, or 0 with nothing marked. */
SIMT_FN uint32_t shpool_bitmap_claim_words(shpool_view view, uint32_t first, uint32_t end)
{
    const uint32_t leads = simt_lane() == 0;
    const uint32_t w     = shpool_bitmap_word_of(first);
    const uint32_t last  = shpool_bitmap_word_of(end - 1u);
    uint32_t       at    = w;
    uint32_t       got;

    if (leads) {
        shpool_bitmap_claiming(view);
    }
    simt_warp_sync(SIMT_ALL_LANES); /* no mark before that */
    SIMT_ROLLED
    do {
        got = shpool_bitmap_claim_round(view, first, end, at + simt_lane());
        at += SIMT_WARP;
    } while (got && (at <= last));
    if (!got && leads && (at - SIMT_WARP != w)) { /* whole rounds before the failed one */
        shpool_bitmap_clear(view, first, SHPOOL_BITMAP_SPAN * (at - SIMT_WARP) - first);
    }
    simt_warp_sync(SIMT_ALL_LANES); /* every mark is set or undone; orders all lanes after it */
    if (leads) {
        shpool_bitmap_claimed(view, !got);
    }
    return got;
}

/* ---- skip: where a long run may begin ---- */

#define SHPOOL_BITMAP_LOOKS 4u /* in one step, by a warp that skips */

/* The number of whole pairs in a row in any run that is as wished; at most SIMT_WARP.  0: there may
 * be none, or, with less than SIMT_WARP, a look at the row might not show the run. */
SIMT_FN uint32_t shpool_bitmap_row_for(shpool_bitmap_wish wish)
{
    const uint32_t most = SHPOOL_BITMAP_LOOK - 2u * SHPOOL_BITMAP_PAIR;
    const uint32_t row  = shpool_bitmap_row_of(wish.need);

    if (row >= SIMT_WARP) {
        return SIMT_WARP;
    }
    return (wish.need + wish.below <= most) ? row : 0u;
}

/* Whether a pair is entirely free, and no group is claiming in it. */
SIMT_FN uint32_t shpool_bitmap_is_whole(simt_pair words)
{
    const uint32_t bits = SHPOOL_BITMAP_USED | (SHPOOL_BITMAP_USED << SHPOOL_BITMAP_STARTS);

    return ((words.x & (bits | SHPOOL_BITMAP_CLAIMED)) | (words.y & bits)) == 0;
}

/* Called by all lanes: bit i of full[k] says whether pair p + 32 k + i is whole, or, without
 * `whole`, whether anything of it is free; from `end` on nothing is. */
SIMT_FN void shpool_bitmap_see(shpool_view view, uint32_t p, uint32_t end, uint32_t whole,
                               uint32_t *full, uint32_t *busy_p)
{
    simt_addr at[SHPOOL_BITMAP_LOOKS];
    simt_pair words[SHPOOL_BITMAP_LOOKS];
    uint32_t  k;

    SIMT_UNROLLED
    for (k = 0; k < SHPOOL_BITMAP_LOOKS; k++) {
        const uint32_t q = p + k * SIMT_WARP + simt_lane();

        at[k] = shpool_bitmap_word_at(view, 2u * ((q < end) ? q : end - 1u));
    }
    /* acquire: as in shpool_bitmap_unused_at */
    simt_atomic_load_pairs(at, words, SHPOOL_BITMAP_LOOKS, SIMT_ACQUIRE);
    SIMT_UNROLLED
    for (k = 0; k < SHPOOL_BITMAP_LOOKS; k++) {
        *busy_p |= words[k].x & SHPOOL_BITMAP_CLAIMED;
        full[k] = simt_ballot(SIMT_ALL_LANES,
                              (p + k * SIMT_WARP + simt_lane() < end) &&
                                  (whole ? shpool_bitmap_is_whole(words[k])
                                         : shpool_bitmap_unused_pair(words[k]) != 0));
    }
}

/* Called by all lanes: the first of `row` (1..32) consecutive whole pairs, from pair p on; with row
 * 0 the first pair of which anything is free; `end` or more if there is none. */
SIMT_FN uint32_t shpool_bitmap_skip(shpool_view view, uint32_t p, uint32_t end, uint32_t row,
                                    uint32_t *busy_p)
{
    uint32_t full[SHPOOL_BITMAP_LOOKS + 1u];
    uint32_t k;

    full[SHPOOL_BITMAP_LOOKS] = 0;
    SIMT_ROLLED
    for (; p < end; p += SHPOOL_BITMAP_LOOKS * SIMT_WARP - ((row != 0) ? row - 1u : 0u)) {
        uint32_t from = SHPOOL_BITMAP_LOOKS; /* of the lane's pairs, the first that begins a row */

        shpool_bitmap_see(view, p, end, row != 0, full, busy_p);
        SIMT_UNROLLED
        for (k = SHPOOL_BITMAP_LOOKS; k-- != 0;) {
            const unsigned long long both = ((unsigned long long)full[k + 1u] << 32) | full[k];

            from = ((~(uint32_t)(both >> simt_lane()) & simt_mask(0, row | (row == 0))) == 0)
                       ? k : from;
        }
        if (simt_any(SIMT_ALL_LANES, from != SHPOOL_BITMAP_LOOKS)) {
            SIMT_ROLLED
            for (k = 0; !simt_any(SIMT_ALL_LANES, from == k); k++) {
            }
            return p + k * SIMT_WARP + simt_ffs(simt_ballot(SIMT_ALL_LANES, from == k)) - 1u;
        }
    }
    return end;
}

/* ---- malloc ---- */

/* Claim the first fit from pair p to pair stop.  Returns its granule, or NOWHERE if none was found.
 * row: search only where this number of whole pairs is consecutive. */
SIMT_FN uint32_t shpool_bitmap_sweep(shpool_view view, uint32_t p, uint32_t stop, uint32_t row,
                                     shpool_bitmap_wish wish, uint32_t *busy_p)
{
    const uint32_t end = shpool_bitmap_words(view) / 2u;
    uint32_t       run = SHPOOL_BITMAP_PAIR * p;

    SIMT_ROLLED
    while (p < stop) {
        shpool_bitmap_look look;
        uint32_t           first;

        if ((row != 0) && (run == SHPOOL_BITMAP_PAIR * p)) { /* no run reaches here from below */
            p = shpool_bitmap_skip(view, p, end, row, busy_p);
            if (p >= end) {
                return SHPOOL_BITMAP_NOWHERE;
            }
            p -= (p != 0); /* the run may begin in the previous pair */
            run = SHPOOL_BITMAP_PAIR * p;
        }
        look  = shpool_bitmap_look_at(view, p + simt_lane(), end);
        first = shpool_bitmap_fit_warp(look, wish, &run);
        *busy_p |= look.words.x & SHPOOL_BITMAP_CLAIMED;
        if (first == SHPOOL_BITMAP_NOWHERE) {
            if ((row != 0) && (row < SIMT_WARP)) { /* it has seen all of this row's run */
                p += 2u;
                run = SHPOOL_BITMAP_PAIR * p;
            } else {
                p += SIMT_WARP;
            }
            continue;
        }
        if (first >= SHPOOL_BITMAP_PAIR * p) {
            if (shpool_bitmap_claim_seen(look, first, first + wish.need)) {
                return first;
            }
        } else { /* it begins further down, outside the lanes' pairs */
            if ((wish.need > SHPOOL_BITMAP_PAIR * (SIMT_WARP - 1u)) &&
                shpool_bitmap_claim_words(view, first, first + wish.need)) {
                return first;
            }
            p = first / SHPOOL_BITMAP_PAIR;
        }
        run = SHPOOL_BITMAP_PAIR * p; /* look again */
    }
    return SHPOOL_BITMAP_NOWHERE;
}

/* A lane's share of the release counts; nothing was released if no lane's share changes. */
SIMT_FN uint32_t shpool_bitmap_releases_of(simt_addr base)
{
    simt_pair two = {0, 0};

    if (simt_lane() < SHPOOL_BITMAP_COUNTERS / 2u) {
        /* acquire: as in shpool_bitmap_releases */
        two = simt_atomic_load_pair(base + 16u + 8u * simt_lane(), SIMT_ACQUIRE);
    }
    simt_warp_sync(SIMT_ALL_LANES); /* orders all lanes after every count, and the counts before the
                                       following reads */
    return two.x + two.y;
}

/* Called by all lanes: the word with hint and spread.  It only says where to begin. */
SIMT_FN uint32_t shpool_bitmap_begin(simt_addr base)
{
    /* lane 0's: all begin at the same pair */
    return simt_shfl(SIMT_ALL_LANES, simt_atomic_load(base + SHPOOL_BITMAP_BEGIN, SIMT_RELAXED), 0);
}

/* Called by all lanes: the pair with which the caller's warp begins, below `most`.  Warps that have
 * not met begin with the hint.  The others spread, by places that lie far apart (Knuth, TAOCP 3,
 * 6.4), but only as far as conflicts so far have required: small requests all over the pool would
 * leave no room for a large one. */
SIMT_FN uint32_t shpool_bitmap_start_of(shpool_view view, uint32_t most)
{
    const uint32_t word   = shpool_bitmap_begin(view.base);
    const uint32_t spread = word & SHPOOL_BITMAP_SPREAD;
    const uint32_t p      = word >> SHPOOL_BITMAP_HINT;

    if (spread != 0) {
        return simt_mulhi((view.rank / SIMT_WARP) * 2654435769u,
                          (spread < most) ? spread + 1u : most);
    }
    return (p < most) ? p : most - 1u;
}

/* Called by all lanes: other threads were quicker, so warps spread by one request more. */
SIMT_FN void shpool_bitmap_spread(shpool_view view, uint32_t need)
{
    const uint32_t word = shpool_bitmap_begin(view.base);

    if ((simt_lane() == 0) &&
        ((word & SHPOOL_BITMAP_SPREAD) < shpool_bitmap_words(view) / 2u)) { /* relaxed: a hint */
        (void)simt_atomic_add(view.base + SHPOOL_BITMAP_BEGIN, need / SHPOOL_BITMAP_PAIR + 1u,
                              SIMT_RELAXED);
    }
    simt_warp_sync(SIMT_ALL_LANES);
}

/* Called by all lanes, as the beginning of a search: the pair with which to go on.  While warps do
 * not spread it is the first one from the hint on that is not full (the pool's end if all are), and
 * it is the next hint.  *from_p: the pairs below have not been looked at. */
SIMT_FN uint32_t shpool_bitmap_raise(shpool_view view, uint32_t *from_p, uint32_t *busy_p)
{
    const uint32_t word = shpool_bitmap_begin(view.base);
    const uint32_t end  = shpool_bitmap_words(view) / 2u;
    uint32_t       p;
    uint32_t       hint;

    *from_p = 0;
    if ((word & SHPOOL_BITMAP_SPREAD) != 0) {
        return 0;
    }
    *from_p = word >> SHPOOL_BITMAP_HINT;
    p       = shpool_bitmap_skip(view, *from_p, end, 0, busy_p);
    hint    = ((p < end) && (p <= 0xffffffffu >> SHPOOL_BITMAP_HINT)) ? p : 0u;
    if ((simt_lane() == 0) && (hint != *from_p)) { /* lost if another one is quicker */
        (void)simt_atomic_cas(view.base + SHPOOL_BITMAP_BEGIN, word, hint << SHPOOL_BITMAP_HINT,
                              SIMT_RELAXED);
    }
    simt_warp_sync(SIMT_ALL_LANES);
    return p;
}

/* Whether a search that found nothing, and before which the counts of releases were `before`, has
 * seen all; if not, after a pause. */
SIMT_FN uint32_t shpool_bitmap_has_seen_all(simt_addr base, uint32_t before, uint32_t busy,
                                            uint32_t *void_searches_p)
{
    uint32_t pending;

    if (simt_any(SIMT_ALL_LANES, busy != 0)) { /* marks that may be taken back */
        simt_pause(SHPOOL_BITMAP_PAUSE);
        simt_warp_sync(SIMT_ALL_LANES);
        return 0;
    }
    simt_warp_sync(SIMT_ALL_LANES); /* orders every lane's reads before: */
    /* acquire: as in shpool_bitmap_malloc_slow */
    pending = simt_shfl(SIMT_ALL_LANES, simt_atomic_load(base, SIMT_ACQUIRE), 0);
    simt_warp_sync(SIMT_ALL_LANES); /* orders the counts after it in all lanes */
    if (simt_any(SIMT_ALL_LANES, shpool_bitmap_releases_of(base) != before)) {
        /* memory became free behind the search */
        simt_pause(SHPOOL_BITMAP_PAUSE << *void_searches_p);
        *void_searches_p += (*void_searches_p < SHPOOL_BITMAP_DOUBLED);
        simt_warp_sync(SIMT_ALL_LANES);
        return 0;
    }
    if (pending == 0) {
        return 1;
    }
    simt_wait(base, pending); /* marks of an unfinished claim do not count */
    simt_warp_sync(SIMT_ALL_LANES);
    return 0;
}

/* One exact search for a request: from the hint on, and then below it. */
SIMT_FN uint32_t shpool_bitmap_search(shpool_view view, shpool_bitmap_wish wish, uint32_t *busy_p)
{
    const uint32_t row  = shpool_bitmap_row_for(wish);
    const uint32_t end  = shpool_bitmap_words(view) / 2u;
    uint32_t       from = 0;
    uint32_t       p;
    uint32_t       first;

    p     = shpool_bitmap_raise(view, &from, busy_p);
    first = shpool_bitmap_sweep(view, p, end, row, wish, busy_p);
    return ((first != SHPOOL_BITMAP_NOWHERE) || (from == 0))
               ? first : shpool_bitmap_sweep(view, 0, from, row, wish, busy_p);
}

/* Any request, exactly: as shpool_bitmap_malloc_slow.  A call.  p: the pair where other threads
 * were quicker, for one more look; NOWHERE: they were not. */
SIMT_FN_NOINLINE uint32_t shpool_bitmap_malloc_warp(simt_addr base, uint32_t granules,
                                                    uint32_t p, uint32_t need, uint32_t below)
{
    const shpool_view        view = {base, 0, 0, 0, {granules, 0}, 0};
    const shpool_bitmap_wish wish = {need, below};
    uint32_t                 void_searches = 0;

    if (need > granules) {
        return SHPOOL_BITMAP_NOWHERE; /* an empty pool has no granules */
    }
    if (p != SHPOOL_BITMAP_NOWHERE) {
        uint32_t busy = 0;
        uint32_t first;

        shpool_bitmap_spread(view, need);
        first = shpool_bitmap_sweep(view, p, p + 1u, 0, wish, &busy);
        if (first != SHPOOL_BITMAP_NOWHERE) {
            return first;
        }
    }
    for (;;) {
        const uint32_t before = shpool_bitmap_releases_of(base);
        uint32_t       busy   = 0;
        const uint32_t first  = shpool_bitmap_search(view, wish, &busy);

        if ((first != SHPOOL_BITMAP_NOWHERE) ||
            shpool_bitmap_has_seen_all(base, before, busy, &void_searches)) {
            return first;
        }
    }
}

/* Called by a whole warp, one step: 704 granules from pair p on.  NOWHERE: none fits there, or
 * other threads were quicker, and then *late_p is 1.  Straight-line code: ptxas would insert a
 * YIELD into a loop. */
SIMT_FN uint32_t shpool_bitmap_malloc_here(shpool_view view, uint32_t need, uint32_t below,
                                           uint32_t p, uint32_t *late_p)
{
    shpool_bitmap_look look;
    uint32_t           first;
    uint32_t           hits;

    look.a     = shpool_bitmap_word_at(view, 2u * (p + simt_lane()));
    look.words = simt_atomic_load_pair(look.a, SIMT_RELAXED); /* relaxed: the claim looks again */
    look.words.x &= ~SHPOOL_BITMAP_CLAIMED; /* where it was set the claim fails */
    look.at     = SHPOOL_BITMAP_PAIR * (p + simt_lane());
    look.unused = shpool_bitmap_unused_pair(look.words);
    first       = shpool_bitmap_reach(look, SHPOOL_BITMAP_PAIR * p);
    first       = (first + below) & ~below;
    /* only a longer search finds a run inside a pair */
    hits = simt_ballot(SIMT_ALL_LANES,
                       first + need <= look.at + simt_ffs(~look.unused) - 1u);
    if (!SIMT_LIKELY(hits != 0)) {
        return SHPOOL_BITMAP_NOWHERE;
    }
    *late_p = 1;
    first = simt_shfl(SIMT_ALL_LANES, first, simt_ffs(hits) - 1u);
    return SIMT_LIKELY(shpool_bitmap_claim_seen(look, first, first + need))
               ? first : SHPOOL_BITMAP_NOWHERE;
}

/* Of a smaller group the first lane asks. */
SIMT_FN simt_addr shpool_bitmap_malloc_led(shpool_view view, uint32_t need, uint32_t alignment,
                                           uint32_t lanes)
{
    const uint32_t first = simt_ffs(lanes) - 1u;
    simt_addr      addr  = 0;

    if (simt_lane() == first) {
        if ((need <= SHPOOL_BITMAP_SPAN) && (view.word[0] != 0) && (alignment <= 16u)) {
            shpool_bitmap_place at = shpool_bitmap_where(view);

            addr = shpool_bitmap_take(view, at.home, need, shpool_bitmap_high(at));
        }
        addr = (addr != 0) ? addr : shpool_bitmap_malloc_any(view.base, view.word[0], view.word[1],
                                                             view.rank, need, alignment);
    }
    simt_warp_sync(lanes); /* orders the others after what the first lane acquired */
    return simt_shfl(lanes, addr, first);
}

SIMT_FN simt_addr shpool_bitmap_malloc_group(shpool_view view, uint32_t bytes, uint32_t alignment,
                                             uint32_t site, uint32_t lanes)
{
    const uint32_t need   = (bytes + 15u) >> 4;
    const uint32_t below  = (alignment >> 4) - 1u;
    const uint32_t pairs  = shpool_bitmap_words(view) / 2u;
    uint32_t       first  = SHPOOL_BITMAP_NOWHERE;
    uint32_t       late   = 0;
    uint32_t       p      = 0;

    (void)site;
    if (!SIMT_LIKELY(lanes == SIMT_ALL_LANES)) {
        return shpool_bitmap_malloc_led(view, need, alignment, lanes);
    }
    if (SIMT_LIKELY(view.word[0] >= SHPOOL_BITMAP_LOOK)) {
        p     = shpool_bitmap_start_of(view, pairs - (SIMT_WARP - 1u));
        first = shpool_bitmap_malloc_here(view, need, below, p, &late);
    }
    if (!SIMT_LIKELY(first != SHPOOL_BITMAP_NOWHERE)) {
        first = shpool_bitmap_malloc_warp(view.base, view.word[0],
                                          late ? p : SHPOOL_BITMAP_NOWHERE, need, below);
    }
    return (first != SHPOOL_BITMAP_NOWHERE) ? shpool_bitmap_payload(view, first) : 0u;
}

/* ---- free ---- */

/* One lane's word of an allocation that is freed. */
typedef struct shpool_bitmap_part {
    uint32_t run;  /* its used bits of the allocation */
    uint32_t more; /* which continues in the next word */
} shpool_bitmap_part;

SIMT_FN shpool_bitmap_part shpool_bitmap_part_of(uint32_t word, uint32_t i)
{
    shpool_bitmap_part part;

    part.run  = shpool_bitmap_rest(word, i) << i;
    part.more = shpool_bitmap_goes_on(word, part.run);
    return part;
}

/* Each lane clears its word, at a, of an allocation that the group has taken.  1: it has more. */
SIMT_FN uint32_t shpool_bitmap_clear_word(simt_addr a, uint32_t i, uint32_t start)
{
    /* relaxed: as for the length */
    const shpool_bitmap_part part = shpool_bitmap_part_of(simt_atomic_load(a, SIMT_RELAXED), i);
    const uint32_t           ends = simt_ballot(SIMT_ALL_LANES, part.more == 0);
    uint32_t clear = start | part.run | (part.more ? SHPOOL_BITMAP_MORE : 0u);

    clear = ((ends & simt_mask(0, simt_lane())) == 0) ? clear : 0u;
    (void)simt_atomic_and(a, ~clear, SIMT_RELEASE); /* release: as in shpool_bitmap_clear */
    return ends == 0;
}

/* The address of word w, or of the last one. */
SIMT_FN simt_addr shpool_bitmap_word_near(shpool_view view, uint32_t w)
{
    const uint32_t last = shpool_bitmap_words(view) - 1u;

    return shpool_bitmap_word_at(view, (w < last) ? w : last);
}

/* Clear the rest of an allocation, from word w on, after the words that the warp has cleared in one
 * step. */
SIMT_FN_NOINLINE void shpool_bitmap_clear_on(simt_addr base, uint32_t granules, uint32_t w)
{
    const shpool_view view = {base, 0, 0, 0, {granules, 0}, 0};

    SIMT_ROLLED
    while (shpool_bitmap_clear_word(shpool_bitmap_word_near(view, w), 0, 0)) {
        w += SIMT_WARP;
    }
}

/* Called by one lane, with an addr that is not 0: for a smaller group, and if the word has changed
 * meanwhile or the free will be refused. */
SIMT_FN_NOINLINE uint32_t shpool_bitmap_free_call(simt_addr base, uint32_t granules,
                                                  uint32_t offset, uint32_t rank, simt_addr addr)
{
    const shpool_view view = {base, 0, rank, 0, {granules, offset}, 0};

    return (addr != 0) ? shpool_bitmap_free(view, addr, 0) : (uint32_t)SHPOOL_FREE_OK;
}

/* addr is in the pool, so that it is not 0. */
SIMT_FN uint32_t shpool_bitmap_free_led(shpool_view view, simt_addr addr, uint32_t lanes)
{
    const simt_addr leads  = (simt_lane() == simt_ffs(lanes) - 1u) ? addr : 0u;
    const uint32_t  reason = shpool_bitmap_free_call(view.base, view.word[0], view.word[1],
                                                     view.rank, leads);

    simt_warp_sync(lanes); /* it is free when any of them returns */
    return reason;
}

SIMT_FN uint32_t shpool_bitmap_free_warp(shpool_view view, simt_addr addr, uint32_t first)
{
    const uint32_t  w     = shpool_bitmap_word_of(first);
    const uint32_t  i     = first - SHPOOL_BITMAP_SPAN * w;
    const uint32_t  leads = simt_lane() == 0;
    const simt_addr a     = shpool_bitmap_word_near(view, w + simt_lane());
    const uint32_t  seen  = simt_atomic_load(a, SIMT_RELAXED);
    uint32_t        sole;

    /* As for a long run in shpool_bitmap_give: the thread that clears the used bit of the first
     * granule is the one that frees it.  relaxed: the start bit keeps the granule in use */
    sole = leads && (shpool_bitmap_judge(seen, i) == SHPOOL_FREE_OK);
    sole &= (simt_atomic_cas(a, seen, sole ? seen & ~(1u << i) : seen, SIMT_RELAXED) == seen);
    if (!SIMT_LIKELY(simt_any(SIMT_ALL_LANES, sole != 0))) {
        return shpool_bitmap_free_led(view, addr, SIMT_ALL_LANES);
    }
    simt_warp_sync(SIMT_ALL_LANES); /* the other words are this allocation's only from here on */
    if (shpool_bitmap_clear_word(a, leads ? i : 0u, leads ? 1u << SHPOOL_BITMAP_STARTS << i : 0u)) {
        shpool_bitmap_clear_on(view.base, view.word[0], w + simt_lane() + SIMT_WARP);
    }
    simt_warp_sync(SIMT_ALL_LANES); /* every word is clear */
    /* release: as in shpool_bitmap_released */
    (void)simt_atomic_add(leads ? view.base + 16u + 4u * (view.rank & (SHPOOL_BITMAP_COUNTERS - 1u))
                                : a, leads, SIMT_RELEASE);
    return SHPOOL_FREE_OK;
}

SIMT_FN uint32_t shpool_bitmap_free_group(shpool_view view, simt_addr addr, uint32_t site,
                                          uint32_t lanes)
{
    const uint32_t first = shpool_bitmap_granule(view, addr);

    (void)site;
    if (first >= view.word[0]) {
        return shpool_run_stray(first, view.word[0]);
    }
    return SIMT_LIKELY(lanes == SIMT_ALL_LANES) ? shpool_bitmap_free_warp(view, addr, first)
                                                : shpool_bitmap_free_led(view, addr, lanes);
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_GROUP_H */
