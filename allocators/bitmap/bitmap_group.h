/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap for warps: 32 lanes serve one request together.  bitmap.h explains the terms.  For a
 * smaller group the first lane makes the request.
 *
 * Look      One step that serves most requests (bitmap_first.h).
 * Alone     After a look in vain, if warps have not met, pairs without room are passed quickly.
 *           Instead of a look, a run of more than 32 pairs is claimed where the last one ended
 *           (bitmap_alone.h).
 * Search    Each lane reads one pair of words, 22 granules; neighbouring lanes read neighbouring
 *           pairs.  Two votes and a shuffle give each lane the length of the free run that reaches
 *           into its pair from below.  This finds the exact first fit.  If warps have not met, a
 *           search for a long run takes larger steps.
 * Claim     Each lane claims its part of the run by one compare-and-swap of its pair; a run of
 *           more than 32 pairs takes several rounds.  If one of them is too late, the others undo
 *           theirs, and the warp searches again.  Until then the pairs are CLAIMED: marks in them
 *           may be undone.
 * Free      bitmap_group_free.h
 *
 * Lanes without work in a step still perform it, without effect (a swap of a word for itself, an
 * addition of 0): a branch around an atomic would split the warp, and reconvergence costs more.
 * The usual path has no loop: ptxas inserts a YIELD, which is slow, into each loop with an atomic.
 *
 * Warps begin at different places, so that they rarely need the same words: close together at
 * first, and further apart after each conflict of two warps.  After a search in vain they move
 * together again: what they hold all over the pool leaves no long runs. */
#include <shpool/allocators/bitmap/bitmap.h> /* before the guard: it includes this file */
#ifndef SHPOOL_ALLOCATORS_BITMAP_GROUP_H
#define SHPOOL_ALLOCATORS_BITMAP_GROUP_H

#define SHPOOL_BITMAP_LOOK     (SIMT_WARP * SHPOOL_BITMAP_PAIR) /* granules that a warp reads in one
                                                                   step */
#define SHPOOL_BITMAP_BEYOND   0x40000000u /* a granule that no pool has */
#define SHPOOL_BITMAP_TWO      65u         /* granules from which on a run contains two pairs */
#define SHPOOL_BITMAP_GATHER   8u          /* the part of the spread that a search in vain takes */
#define SHPOOL_BITMAP_PATIENCE 4u          /* claims in vain before a pause: others would overtake a
                                              request whose turn it is */

/* ---- search ---- */

/* A lane's reading of its pair. */
typedef struct shpool_bitmap_look {
    simt_addr a; /* of the pair */
    simt_pair words;
    uint32_t  at;     /* its first granule */
    uint32_t  unused; /* bit i: granule at + i; none where a group is claiming */
} shpool_bitmap_look;

/* Pair p.  From pair `end` on, which the pool does not have, nothing is free; `any`: one that it
 * has. */
SIMT_FN shpool_bitmap_look shpool_bitmap_look_at(shpool_view view, uint32_t p, uint32_t end,
                                                 uint32_t any)
{
    shpool_bitmap_look look;

    look.a = simt_keep(shpool_bitmap_word_at(view, 2u * ((p < end) ? p : any)));
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
    const uint32_t beyond = 32u - SHPOOL_BITMAP_PAIR; /* bits that the pair leaves unused */

    return look.at + simt_fls(~(look.unused << beyond)) - beyond;
}

/* Called by all lanes: where the free run begins that reaches into the caller's pair from below;
 * the first lane's begins at `run`. */
SIMT_FN uint32_t shpool_bitmap_reach(shpool_bitmap_look look, uint32_t run)
{
    const uint32_t full   = simt_ballot(SIMT_ALL_LANES, look.unused == SHPOOL_BITMAP_FULL);
    const uint32_t others = ~full & simt_mask(0, simt_lane());
    /* the last lower lane that ends a run, where this lane's run begins (no branch if there is
     * none: the first lane never has one, and would split the warp) */
    const uint32_t from   = simt_fls(others) - 1u;
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
    const int from = (int)(first - at);
    const int to   = (int)(end - at);
    const int mid  = (int)SHPOOL_BITMAP_SPAN; /* the words' border */
    const int low  = (from > 0) ? from : 0;
    uint32_t  run  = simt_keep(simt_mask((uint32_t)low, (uint32_t)(((to > 0) ? to : 0) - low)) &
                               SHPOOL_BITMAP_FULL);
    uint32_t  head = simt_mask((uint32_t)from, 1u); /* none if it begins further down */
    simt_pair bits;

    bits.x = (run & SHPOOL_BITMAP_USED) | ((head & SHPOOL_BITMAP_USED) << SHPOOL_BITMAP_STARTS) |
             ((run != 0) ? SHPOOL_BITMAP_CLAIMED : 0u) |
             (((low < mid) && (to > mid)) ? SHPOOL_BITMAP_MORE : 0u);
    bits.y = (run >> SHPOOL_BITMAP_SPAN) |
             ((head << (SHPOOL_BITMAP_STARTS - SHPOOL_BITMAP_SPAN)) &
              (SHPOOL_BITMAP_USED << SHPOOL_BITMAP_STARTS)) |
             (((run != 0) && (to > (int)SHPOOL_BITMAP_PAIR)) ? SHPOOL_BITMAP_MORE : 0u);
    return bits;
}

/* Whether the granules that `bits` marks are free in a pair, and no group is claiming in it. */
SIMT_FN uint32_t shpool_bitmap_is_free(simt_pair words, simt_pair bits)
{
    const uint32_t x = (words.x | (words.x >> SHPOOL_BITMAP_STARTS)) & bits.x;
    const uint32_t y = (words.y | (words.y >> SHPOOL_BITMAP_STARTS)) & bits.y;

    return ((x | y) & (SHPOOL_BITMAP_USED | SHPOOL_BITMAP_CLAIMED)) == 0;
}

/* A lane's pair p; lanes without a pair share one. */
SIMT_FN simt_addr shpool_bitmap_pair_at(shpool_view view, uint32_t p)
{
    const uint32_t pairs = shpool_bitmap_words_of(simt_pin(view.word[0])) / 2u;

    return shpool_bitmap_word_at(view, 2u * ((p < pairs) ? p : 0u));
}

/* Rounds in which the lanes' pairs contain a run of `need` granules, wherever it begins. */
SIMT_FN uint32_t shpool_bitmap_rounds(uint32_t need)
{
    return (need + 2u * (SHPOOL_BITMAP_PAIR - 1u)) / SHPOOL_BITMAP_LOOK + 1u;
}

/* Called by all lanes, which have marked granules first..end-1: if `keep`, these are an allocation
 * now, else nothing changes. */
SIMT_FN void shpool_bitmap_settle(shpool_view view, uint32_t first, uint32_t end, uint32_t keep)
{
    uint32_t p    = simt_pin(first) / SHPOOL_BITMAP_PAIR + simt_lane();
    uint32_t left = shpool_bitmap_rounds(simt_pin(end - first));

    SIMT_ROLLED
    do {
        const uint32_t bit = (keep && (SHPOOL_BITMAP_PAIR * p < end)) ? SHPOOL_BITMAP_CLAIMED : 0u;

        /* relaxed: marks that stay are an allocation, whenever that is seen */
        (void)simt_atomic_and(shpool_bitmap_pair_at(view, p), ~bit, SIMT_RELAXED);
        p += SIMT_WARP;
    } while (--left != 0);
    simt_warp_sync(SIMT_ALL_LANES);
}

/* Called by all lanes, which have marked these granules in every 32nd pair below `mine`: the marks
 * are undone. */
SIMT_FN void shpool_bitmap_withdraw(shpool_view view, uint32_t first, uint32_t end, uint32_t mine)
{
    uint32_t p = simt_pin(first) / SHPOOL_BITMAP_PAIR + simt_lane();

    SIMT_ROLLED
    do {
        const simt_addr a    = shpool_bitmap_pair_at(view, p);
        simt_pair       bits = shpool_bitmap_bits(SHPOOL_BITMAP_PAIR * p, first, end);

        bits.x = (p < mine) ? bits.x : 0u;
        bits.y = (p < mine) ? bits.y : 0u;
        /* release: as in shpool_bitmap_clear */
        (void)simt_atomic_and(a + 4u, ~bits.y, SIMT_RELEASE);
        (void)simt_atomic_and(a, ~bits.x, SIMT_RELEASE);
        p += SIMT_WARP;
    } while (SHPOOL_BITMAP_PAIR * (p - simt_lane()) < end);
    simt_warp_sync(SIMT_ALL_LANES);
}

/* Called by all lanes: mark granules first..end-1, a pair in each lane at a time, from the first
 * pair up.  Returns 1, or 0 with nothing marked.  No branch: lanes that part come together late.
 * All do the same number of rounds, and a lane that is late tries its pair again: ptxas would
 * insert a YIELD into a loop that ends because of an atomic. */
SIMT_FN uint32_t shpool_bitmap_claim_pairs(shpool_view view, uint32_t first, uint32_t need)
{
    const uint32_t end  = simt_pin(first) + need;
    uint32_t       p    = first / SHPOOL_BITMAP_PAIR + simt_lane();
    uint32_t       left = shpool_bitmap_rounds(simt_pin(need));
    uint32_t       got;

    SIMT_ROLLED
    do {
        const simt_addr a    = shpool_bitmap_pair_at(view, p);
        const simt_pair bits = shpool_bitmap_bits(SHPOOL_BITMAP_PAIR * p, first, end);
        const simt_pair seen = simt_atomic_load_pair(a, SIMT_RELAXED);
        const uint32_t  free = shpool_bitmap_is_free(seen, bits);
        const simt_pair set  = {seen.x | (free ? bits.x : 0u), seen.y | (free ? bits.y : 0u)};

        /* acquire: as in shpool_bitmap_claim; the marked word itself is CLAIMED, so no release */
        got = simt_atomic_cas_pair(a, seen, set, SIMT_ACQUIRE);
        got = (got && free) || (bits.x == 0);
        p  += got ? SIMT_WARP : 0u; /* the lane's pairs below p are marked */
    } while (--left != 0);
    simt_warp_sync(SIMT_ALL_LANES); /* no lane uses the memory before all have claimed */
    got = simt_all(SIMT_ALL_LANES, SHPOOL_BITMAP_PAIR * p >= end) != 0;
    shpool_bitmap_settle(view, first, end, got);
    if (!got) {
        shpool_bitmap_withdraw(view, first, end, p);
    }
    return got;
}

/* ---- malloc ---- */

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

/* Called by all lanes: the pair with which the caller's warp begins.  Warps that have not met begin
 * with the hint.  The others spread, by places that lie far apart (Knuth, TAOCP 3, 6.4), but only
 * as far as conflicts so far have required: small requests all over the pool would leave no room
 * for a large one.  Who writes the word keeps hint + spread up to last_start. */
SIMT_FN uint32_t shpool_bitmap_start_of(shpool_view view, uint32_t word)
{
    return (word >> SHPOOL_BITMAP_HINT) +
           simt_mulhi((view.rank / SIMT_WARP) * 2654435769u, (word & SHPOOL_BITMAP_SPREAD) + 1u);
}

/* Called by all lanes: other threads were quicker, so warps spread by one request more. */
SIMT_FN void shpool_bitmap_spread(shpool_view view, uint32_t need)
{
    const uint32_t word = shpool_bitmap_begin(view.base);
    const uint32_t most = shpool_bitmap_last_start(view);
    const uint32_t wide = (word & SHPOOL_BITMAP_SPREAD) + simt_pin(need) / SHPOOL_BITMAP_PAIR + 1u;
    const uint32_t next = (wide < most) ? wide : most;

    if ((simt_lane() == 0) && (next != word) && (next <= SHPOOL_BITMAP_SPREAD)) {
        /* relaxed: a hint; lost if another one is quicker */
        (void)simt_atomic_cas(view.base + SHPOOL_BITMAP_BEGIN, word, next, SIMT_RELAXED);
    }
    simt_warp_sync(SIMT_ALL_LANES);
}

/* Called by all lanes after a search in vain: what warps hold may leave no run that is long enough
 * because they spread so far; so they move closer together. */
SIMT_FN void shpool_bitmap_gather(simt_addr base)
{
    const uint32_t word = shpool_bitmap_begin(base);
    const uint32_t less = (word & SHPOOL_BITMAP_SPREAD) / SHPOOL_BITMAP_GATHER;

    if ((simt_lane() == 0) && (less != 0)) { /* relaxed: as above */
        (void)simt_atomic_cas(base + SHPOOL_BITMAP_BEGIN, word, word - less, SIMT_RELAXED);
    }
    simt_warp_sync(SIMT_ALL_LANES);
}

/* Called by all lanes: warps that have not met begin with pair `to`. */
SIMT_FN void shpool_bitmap_set_hint(shpool_view view, uint32_t to)
{
    const uint32_t last = shpool_bitmap_last_start(view);
    const uint32_t word = simt_peek(view.base + SHPOOL_BITMAP_BEGIN);

    if ((simt_lane() == 0) && ((word & SHPOOL_BITMAP_SPREAD) == 0) &&
        (last <= SHPOOL_BITMAP_SPREAD)) { /* relaxed: as above */
        (void)simt_atomic_cas(view.base + SHPOOL_BITMAP_BEGIN, word,
                              (((to < last) ? to : last) << SHPOOL_BITMAP_HINT) |
                                  (word & SHPOOL_BITMAP_NEXTS), SIMT_RELAXED);
    }
}

/* Called by one lane, which has read `word`: the next long run is tried at granule `to`, if warps
 * have not met.  No quarter says where one ends whose size is odd: the next one is searched, so
 * that no gap is left. */
SIMT_FN void shpool_bitmap_set_next(simt_addr base, uint32_t word, uint32_t to)
{
    const uint32_t at   = ((to & 3u) == 0) ? to >> 2 : ~0u;
    const uint32_t next = (at << SHPOOL_BITMAP_NEXT) & SHPOOL_BITMAP_NEXTS;

    if ((word & SHPOOL_BITMAP_SPREAD) == 0) { /* relaxed: as above */
        (void)simt_atomic_cas(base + SHPOOL_BITMAP_BEGIN, word,
                              (word & ~SHPOOL_BITMAP_NEXTS) | next, SIMT_RELAXED);
    }
}

/* Where the next long run is tried, from a word that shpool_bitmap_begin returns. */
SIMT_FN uint32_t shpool_bitmap_next_of(uint32_t word)
{
    return (word & SHPOOL_BITMAP_NEXTS) >> (SHPOOL_BITMAP_NEXT - 2u);
}

#define SHPOOL_BITMAP_TRIES   3u /* searches and claims in vain, where others follow */

/* The state of a request that searches, in one word, because registers are scarce; also CLAIMED: a
 * group was claiming in a pair that the caller's lane has seen. */
#define SHPOOL_BITMAP_TRY     0x40000000u /* it may wait, and gives up soon; also with a pair */
#define SHPOOL_BITMAP_WRAPPED 0x20000000u /* the search has gone on at the pool's beginning */
#define SHPOOL_BITMAP_ALONE   0x10000000u /* of a long run, and warps have not met: large steps.
                                             Where they have, a search that ends sooner is only
                                             repeated sooner, and disturbs others */
#define SHPOOL_BITMAP_VAIN    0x0000000fu /* number of searches and claims in vain; no more than
                                             DOUBLED */

/* Called by all lanes after a search or a claim in vain, which *state_p counts: if they are
 * `patience` or more, a pause, longer after each one, and never the same: warps in step could undo
 * each other's claims for ever. */
SIMT_FN void shpool_bitmap_back_off(uint32_t *state_p, uint32_t patience)
{
    const uint32_t vain = *state_p & SHPOOL_BITMAP_VAIN;

    if (vain >= patience) {
        simt_pause(SHPOOL_BITMAP_PAUSE + ((simt_clock() * 2654435769u) >> (27u - vain)));
    }
    *state_p += (vain < SHPOOL_BITMAP_DOUBLED);
    simt_warp_sync(SIMT_ALL_LANES);
}

/* Whether a search that found nothing, and before which the counts of releases were `before`, has
 * seen all; if not, after a pause.  Warps move closer together in both cases, and each time: once a
 * request is slower (doc/EXPERIMENTS.md). */
SIMT_FN uint32_t shpool_bitmap_has_seen_all(simt_addr base, uint32_t before, uint32_t *state_p)
{
    uint32_t pending;

    shpool_bitmap_gather(base);
    /* marks that may be undone */
    if (simt_any(SIMT_ALL_LANES, (*state_p & SHPOOL_BITMAP_CLAIMED) != 0)) {
        simt_pause(SHPOOL_BITMAP_PAUSE);
        simt_warp_sync(SIMT_ALL_LANES);
        return 0;
    }
    simt_warp_sync(SIMT_ALL_LANES); /* orders every lane's reads before: */
    /* acquire: as in shpool_bitmap_malloc_slow */
    pending = simt_shfl(SIMT_ALL_LANES, simt_atomic_load(base, SIMT_ACQUIRE), 0);
    simt_warp_sync(SIMT_ALL_LANES); /* orders the counts after it in all lanes */
    if (simt_any(SIMT_ALL_LANES, shpool_bitmap_releases_of(base) != before)) {
        shpool_bitmap_back_off(state_p, 0); /* memory became free meanwhile */
        return 0;
    }
    if (pending == 0) {
        return 1;
    }
    simt_wait(base, pending); /* marks of an unfinished claim do not count */
    simt_warp_sync(SIMT_ALL_LANES);
    return 0;
}

/* Called by all lanes, for a request of PAIR granules or more that fits at `first`: the highest
 * place for it in that free run, as far as the lanes have read it.  A hole that a search finds
 * between the places of other warps is often the one that such a warp fills next, from below. */
SIMT_FN uint32_t shpool_bitmap_high_end(shpool_bitmap_look look, uint32_t first,
                                        shpool_bitmap_wish wish)
{
    const uint32_t here = look.at + simt_ffs(~look.unused) - 1u; /* where a run from below ends */
    const uint32_t ends = simt_ballot(SIMT_ALL_LANES, (look.unused != SHPOOL_BITMAP_FULL) &&
                                                          (here >= first + wish.need));
    /* the last lane if it ends nowhere: its pair is full */
    const uint32_t end  = simt_shfl(SIMT_ALL_LANES, here,
                                    (ends != 0) ? simt_ffs(ends) - 1u : SIMT_WARP - 1u);

    return (end - wish.need) & ~wish.below;
}

/* Asked after a search in vain: whether a request that may wait has searched often enough.  It has
 * no ticket yet, and newcomers would overtake it while it goes on. */
SIMT_FN uint32_t shpool_bitmap_gives_up(uint32_t state)
{
    return ((state & SHPOOL_BITMAP_TRY) != 0) &&
           ((state & SHPOOL_BITMAP_VAIN) >= SHPOOL_BITMAP_TRIES);
}

/* Called by all lanes, which search for a run with `row` whole pairs, 2 or more, and found none up
 * to pair p: the pair with which the search goes on, p or a later one.  *run_p: where the free run
 * begins that reaches into it.  Of each `row` pairs a lane reads one: if it is not wholly free,
 * the run does not contain these pairs (as in shpool_bitmap_seek_whole). */
SIMT_FN uint32_t shpool_bitmap_skip(shpool_view view, uint32_t p, uint32_t row, uint32_t *run_p,
                                    uint32_t *state_p)
{
    const uint32_t end  = shpool_bitmap_words_of(simt_pin(view.word[0])) / 2u;
    uint32_t       from = (*run_p + SHPOOL_BITMAP_PAIR - 1u) / SHPOOL_BITMAP_PAIR;
    const uint32_t q    = from + row * (simt_lane() + 1u) - 1u;
    /* acquire: as in shpool_bitmap_unused_at */
    const simt_pair words = simt_atomic_load_pair(
        shpool_bitmap_word_at(view, 2u * ((q < end) ? q : 0u)), SIMT_ACQUIRE);
    const uint32_t hits = simt_ballot(SIMT_ALL_LANES, ((words.x | words.y) == 0) && (q < end));

    *state_p |= words.x & SHPOOL_BITMAP_CLAIMED;
    from += row * ((hits != 0) ? simt_ffs(hits) - 1u : SIMT_WARP);
    if (from <= p + 1u) {
        return p;
    }
    p      = (from - 1u < end) ? from - 1u : end; /* its end may be free, before the row */
    *run_p = SHPOOL_BITMAP_PAIR * p;
    return p;
}

/* One exact search for a request, around the pool: from pair `start` on, and then from the pool's
 * beginning.  Returns the granule, or NOWHERE. */
SIMT_FN uint32_t shpool_bitmap_search(shpool_view view, uint32_t start, shpool_bitmap_wish wish,
                                      uint32_t *state_p)
{
    uint32_t p     = start;
    uint32_t run   = SHPOOL_BITMAP_PAIR * simt_pin(p); /* where the free run up to p begins */

    *state_p &= ~(SHPOOL_BITMAP_WRAPPED | SHPOOL_BITMAP_CLAIMED | SHPOOL_BITMAP_ALONE);
    if ((wish.need >= SHPOOL_BITMAP_TWO) &&
        ((shpool_bitmap_begin(view.base) & SHPOOL_BITMAP_SPREAD) == 0)) {
        *state_p |= SHPOOL_BITMAP_ALONE;
    }
    SIMT_ROLLED
    for (;;) {
        /* pinned: registers are scarcer than the time of a search */
        const uint32_t           end   = shpool_bitmap_words_of(simt_pin(view.word[0])) / 2u;
        const shpool_bitmap_look look  = shpool_bitmap_look_at(view, p + simt_lane(), end, start);
        const uint32_t           first = shpool_bitmap_fit_warp(look, wish, &run);

        *state_p |= look.words.x & SHPOOL_BITMAP_CLAIMED;
        if (first != SHPOOL_BITMAP_NOWHERE) {
            uint32_t place = first;

            if ((wish.need >= SHPOOL_BITMAP_PAIR) &&
                ((shpool_bitmap_begin(view.base) & SHPOOL_BITMAP_SPREAD) != 0)) {
                place = shpool_bitmap_high_end(look, first, wish);
            }
            if (shpool_bitmap_claim_pairs(view, place, wish.need)) {
                return place;
            }
            shpool_bitmap_back_off(state_p, SHPOOL_BITMAP_PATIENCE); /* others were quicker */
            p   = first / SHPOOL_BITMAP_PAIR;
            run = SHPOOL_BITMAP_PAIR * p;
            continue;
        }
        p += SIMT_WARP;
        if ((*state_p & SHPOOL_BITMAP_ALONE) != 0) {
            p = shpool_bitmap_skip(view, p, shpool_bitmap_row_of(simt_pin(wish.need)), &run,
                                   state_p);
        }
        if (((*state_p & SHPOOL_BITMAP_WRAPPED) != 0)
                ? (p >= end) || ((p >= start) && (run >= SHPOOL_BITMAP_PAIR * simt_pin(start)))
                : (p >= end) && (start == 0)) {
            return SHPOOL_BITMAP_NOWHERE;
        }
        if (p >= end) {
            *state_p |= SHPOOL_BITMAP_WRAPPED;
            p   = 0;
            run = 0;
        }
    }
}

#include <shpool/allocators/bitmap/bitmap_first.h>

#define SHPOOL_BITMAP_LATE 0x80000000u /* with a pair: other threads were quicker there */

#include <shpool/allocators/bitmap/bitmap_alone.h>

/* Before an exact search.  After a first look in vain: undo what it has claimed, let warps spread
 * if others were quicker, and look for a row if warps have met and the request has more than PAIR
 * granules; if they have not, see bitmap_alone.h.  A call of its own: its registers do not add to
 * those of malloc_warp.  p: the pair with which the look began, and LATE and TRY.  a and bits: what
 * is to be undone.  Returns the granule, or NOWHERE. */
SIMT_FN_NOINLINE uint32_t shpool_bitmap_malloc_row(simt_addr base, uint32_t granules, uint32_t rank,
                                                   uint32_t p, uint32_t need, uint32_t below,
                                                   simt_addr a, simt_pair bits)
{
    const shpool_view        view = {base, 0, rank, 0, {granules, 0}, 0};
    const shpool_bitmap_wish wish = {need, below};
    uint32_t                 tries;
    uint32_t                 word;

    if ((p & SHPOOL_BITMAP_LATE) != 0) {
        shpool_bitmap_undo(a, bits);
        shpool_bitmap_spread(view, need);
    }
    word = shpool_bitmap_begin(base);
    if ((word & SHPOOL_BITMAP_SPREAD) == 0) {
        return shpool_bitmap_malloc_alone(view, word, wish);
    }
    if (((p & SHPOOL_BITMAP_TRY) != 0) || /* others wait for what gives up soon */
        !shpool_bitmap_wants_row(wish)) {
        return SHPOOL_BITMAP_NOWHERE;
    }
    p = shpool_bitmap_start_of(view, word);
    SIMT_ROLLED
    for (tries = 0; tries < SHPOOL_BITMAP_TRIES; tries++) {
        const uint32_t q = shpool_bitmap_find_row(view, p, wish);

        if (q == SHPOOL_BITMAP_NOWHERE) {
            return SHPOOL_BITMAP_NOWHERE;
        }
        if (shpool_bitmap_claim_row(view, q, need)) {
            return SHPOOL_BITMAP_PAIR * q;
        }
        p = q;
    }
    return SHPOOL_BITMAP_NOWHERE;
}

/* Any request, exactly: as shpool_bitmap_malloc_slow.  A call.  p: the pair with which it begins,
 * and LATE and TRY, with which it is not exact. */
SIMT_FN_NOINLINE uint32_t shpool_bitmap_malloc_warp(simt_addr base, uint32_t granules,
                                                    uint32_t rank, uint32_t p, uint32_t need,
                                                    uint32_t below)
{
    const shpool_view        view = {base, 0, rank, 0, {granules, 0}, 0};
    const shpool_bitmap_wish wish = {need, below};
    uint32_t                 state = p & SHPOOL_BITMAP_TRY;

    if (need > granules) {
        return SHPOOL_BITMAP_NOWHERE; /* an empty pool has no granules */
    }
    if ((p & SHPOOL_BITMAP_LATE) != 0) {
        p = shpool_bitmap_start_of(view, shpool_bitmap_begin(base));
    }
    p &= ~SHPOOL_BITMAP_TRY;
    for (;;) {
        const uint32_t before = shpool_bitmap_releases_of(base);
        const uint32_t first  = shpool_bitmap_search(view, p, wish, &state);

        if (first != SHPOOL_BITMAP_NOWHERE) {
            if (need > SHPOOL_BITMAP_LOOK) { /* the next long one follows */
                if (simt_lane() == 0) {
                    shpool_bitmap_set_next(base, simt_peek(base + SHPOOL_BITMAP_BEGIN),
                                           first + need);
                }
                simt_warp_sync(SIMT_ALL_LANES);
            }
            return first;
        }
        if (shpool_bitmap_gives_up(state) || shpool_bitmap_has_seen_all(base, before, &state)) {
            return first;
        }
    }
}

/* The first lane of a smaller group.  As shpool_bitmap_malloc, but with one try around the home
 * word: more of them would need more code, or a call, in which ptxas would part the warp.  (A
 * function of the table calls this: whole warps would else save more registers.) */
SHPOOL_BITMAP_AWAY simt_addr shpool_bitmap_malloc_lead(simt_addr base, uint32_t granules,
                                                       uint32_t offset, uint32_t rank,
                                                       uint32_t need, uint32_t alignment)
{
    const shpool_view view = {base, 0, rank, 0, {granules, offset}, 0};
    simt_addr         addr = shpool_bitmap_malloc_home(view, need, alignment);

    if (addr != 0) {
        return addr;
    }
    if (shpool_bitmap_is_run(view, need, alignment)) {
        return shpool_bitmap_malloc_run(base, granules, offset, rank, need, alignment);
    }
    if (need <= granules) {
        const uint32_t spot = shpool_bitmap_seek(base, granules, rank, need, 0);

        addr = (spot != SHPOOL_BITMAP_NOWHERE) ? shpool_bitmap_take_at(view, spot, need) : 0u;
    }
    return (addr != 0) ? addr
                       : shpool_bitmap_malloc_far(base, granules, offset, rank, need, alignment);
}

SIMT_FN simt_addr shpool_bitmap_malloc_led(shpool_view view, uint32_t need, uint32_t alignment,
                                           uint32_t lanes)
{
    const uint32_t first = simt_ffs(lanes) - 1u;
    simt_addr      addr  = 0;

    if (simt_lane() == first) {
        /* pinned: else every kernel would keep the home for this */
        addr = shpool_bitmap_malloc_lead(view.base, view.word[0], view.word[1],
                                         simt_pin(view.rank), need, alignment);
    }
    simt_warp_sync(lanes); /* orders the others after what the first lane acquired */
    return simt_shfl(lanes, addr, first);
}

SIMT_FN simt_addr shpool_bitmap_malloc_group(shpool_view view, uint32_t bytes, uint32_t alignment,
                                             uint32_t site, uint32_t lanes)
{
    const uint32_t           need  = simt_keep((bytes + 15u) >> 4);
    const shpool_bitmap_wish wish  = {need, (alignment >> 4) - 1u};
    uint32_t                 p     = (site == SHPOOL_SITE_TRY) ? SHPOOL_BITMAP_TRY : 0u;
    uint32_t                 first;

    if (!SIMT_LIKELY(lanes == SIMT_ALL_LANES)) {
        return shpool_bitmap_malloc_led(view, need, alignment, lanes);
    }
    if (SIMT_LIKELY(view.word[0] >= SHPOOL_BITMAP_LOOK)) {
        shpool_bitmap_bid bid = {0, {0, 0}, {0, 0}, 0, 0};

        if (SIMT_LIKELY(need <= SHPOOL_BITMAP_LOOK)) {
            const uint32_t word  = shpool_bitmap_begin(view.base);
            const uint32_t start = shpool_bitmap_start_of(view, word);

            bid = shpool_bitmap_bid_for(view, start, wish, (word & SHPOOL_BITMAP_SPREAD) != 0);
            if (SIMT_LIKELY(shpool_bitmap_bid_wins(&bid))) {
                return shpool_bitmap_payload(view, bid.first);
            }
            p |= start | (bid.any ? SHPOOL_BITMAP_LATE : 0u);
        }
        first = shpool_bitmap_malloc_row(view.base, view.word[0], view.rank, p, need, wish.below,
                                         bid.a, bid.bits);
        if (first != SHPOOL_BITMAP_NOWHERE) {
            return shpool_bitmap_payload(view, first);
        }
        p |= (need > SHPOOL_BITMAP_LOOK) ? SHPOOL_BITMAP_LATE : 0u; /* there was no start */
    }
    first = shpool_bitmap_malloc_warp(view.base, view.word[0], view.rank, p, need, wish.below);
    return (first != SHPOOL_BITMAP_NOWHERE) ? shpool_bitmap_payload(view, first) : 0u;
}

#include <shpool/allocators/bitmap/bitmap_group_free.h>

#endif /* SHPOOL_ALLOCATORS_BITMAP_GROUP_H */
