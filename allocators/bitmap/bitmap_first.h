/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's first look for a request of a warp: one step of straight-line code, because ptxas would
 * insert a YIELD into a loop with an atomic.  It prepares a claim in one of three ways, and all of
 * them claim by the same code.  bitmap_group.h has what follows where that fails.
 *
 * here      Warps have not met: the first run that reaches into a pair from below, so that little
 *           is left between allocations.  If there is none for a small request, as below.
 * row       Warps have met, and the request has more than PAIR granules: a row of pairs that are
 *           wholly free.  It begins in the first 32 pairs and may end in the next 32.  Three
 *           ballots find it, without a shuffle, and others rarely want granules of its pairs.
 * small     The same with at most PAIR granules: the lowest free run of a pair.  One lane claims,
 *           by one swap, so its marks are never transient. */
#include <shpool/allocators/bitmap/bitmap.h> /* before the guard: it includes this file */
#ifndef SHPOOL_ALLOCATORS_BITMAP_FIRST_H
#define SHPOOL_ALLOCATORS_BITMAP_FIRST_H

/* A lane's part of a claim. */
typedef struct shpool_bitmap_bid {
    simt_addr a;     /* of its pair */
    simt_pair seen;  /* what the pair must be; not CLAIMED */
    simt_pair bits;  /* what the claim sets; 0: the lane has no part */
    uint32_t  first; /* the run's first granule */
    uint32_t  any;   /* whether there is a run; if not, no lane has bits */
} shpool_bitmap_bid;

/* ---- rows of pairs that are wholly free ---- */

/* Whether warps that have met look for a row: one begins with a pair, and of 32 pairs in a row only
 * one is aligned to 64 granules or more. */
SIMT_FN uint32_t shpool_bitmap_wants_row(shpool_bitmap_wish wish)
{
    const uint32_t more = wish.need - SHPOOL_BITMAP_PAIR - 1u; /* than one pair has */

    return (more < SHPOOL_BITMAP_LOOK - SHPOOL_BITMAP_PAIR) && (wish.below < 63u);
}

/* Called by all lanes: bit i: pair p + i is wholly free.  has: whether the caller's pair exists. */
SIMT_FN uint32_t shpool_bitmap_whole(shpool_view view, uint32_t p, uint32_t has)
{
    const uint32_t  mine  = has ? p + simt_lane() : 0u;
    /* relaxed: the claim looks again */
    const simt_pair words = simt_atomic_load_pair(shpool_bitmap_word_at(view, 2u * mine),
                                                  SIMT_RELAXED);

    return simt_ballot(SIMT_ALL_LANES, ((words.x | words.y) == 0) && has);
}

/* Whether the pool has the caller's pair of those from p on. */
SIMT_FN uint32_t shpool_bitmap_has_pair(shpool_view view, uint32_t p)
{
    return SHPOOL_BITMAP_PAIR * (p + simt_lane()) < view.word[0];
}

/* Called by all lanes: bit i: with pair p + i begins a row that has room for the wish.  whole and
 * next: what shpool_bitmap_whole returns for p and for the 32 pairs after these. */
SIMT_FN uint32_t shpool_bitmap_rows(uint32_t whole, uint32_t next, uint32_t p,
                                    shpool_bitmap_wish wish)
{
    const uint32_t lane = simt_lane();
    const uint32_t from = (uint32_t)((((unsigned long long)next << 32) | whole) >> lane);
    /* all ones: the product wraps, to more than any wish */
    const uint32_t room = SHPOOL_BITMAP_PAIR * (simt_ffs(~from) - 1u);

    return simt_ballot(SIMT_ALL_LANES, (room >= wish.need) &&
                                           (((SHPOOL_BITMAP_PAIR * (p + lane)) & wish.below) == 0));
}

/* The bits of the lane-th pair of a run of `need` granules that begins with a pair. */
SIMT_FN simt_pair shpool_bitmap_row_bits(uint32_t need)
{
    const int      left = (int)(need - SHPOOL_BITMAP_PAIR * simt_lane());
    const uint32_t run  = simt_keep(simt_mask(0, (left > 0) ? (uint32_t)left : 0u));
    const uint32_t head = (simt_lane() == 0) ? run & 1u : 0u;
    simt_pair      bits;

    /* MORE: the run has also the granule after the word */
    bits.x = (run & SHPOOL_BITMAP_USED) | ((run << 20) & SHPOOL_BITMAP_MORE) |
             ((run << 11) & SHPOOL_BITMAP_CLAIMED) | (head << SHPOOL_BITMAP_STARTS);
    bits.y = ((run >> SHPOOL_BITMAP_SPAN) & SHPOOL_BITMAP_USED) |
             ((run << 9) & SHPOOL_BITMAP_MORE);
    return bits;
}

/* Called by all lanes: the first pair of a row that has room for the wish, from pair p on around
 * the pool; NOWHERE if there seems to be none.  Of the rows that begin in 32 pairs it is the last
 * one, maybe in another hole than the first: another warp is likely to fill a hole from below. */
SIMT_FN uint32_t shpool_bitmap_find_row(shpool_view view, uint32_t p, shpool_bitmap_wish wish)
{
    uint32_t left  = simt_pin(view.word[0]) / SHPOOL_BITMAP_LOOK + 3u;
    uint32_t whole = shpool_bitmap_whole(view, p, shpool_bitmap_has_pair(view, p));

    SIMT_ROLLED
    for (; left != 0; left--) {
        const uint32_t wraps = SHPOOL_BITMAP_PAIR * (p + SIMT_WARP) >= view.word[0];
        const uint32_t to    = wraps ? 0u : p + SIMT_WARP;
        const uint32_t next  = shpool_bitmap_whole(view, to, shpool_bitmap_has_pair(view, to));
        const uint32_t rows  = shpool_bitmap_rows(whole, wraps ? 0u : next, p, wish);

        if (rows != 0) {
            return p + 31u - simt_clz(rows);
        }
        p     = to;
        whole = next;
    }
    return SHPOOL_BITMAP_NOWHERE;
}

/* ---- three ways to prepare the claim, from pair p on; the pool has all lanes' pairs ---- */

SIMT_FN shpool_bitmap_bid shpool_bitmap_bid_row(shpool_view view, uint32_t p,
                                                shpool_bitmap_wish wish)
{
    const uint32_t    to    = p + SIMT_WARP;
    const uint32_t    whole = shpool_bitmap_whole(view, p, 1u);
    const uint32_t    next  = shpool_bitmap_whole(view, to, shpool_bitmap_has_pair(view, to));
    const uint32_t    rows  = shpool_bitmap_rows(whole, next, p, wish);
    const uint32_t    q     = (rows != 0) ? p + simt_ffs(rows) - 1u : p;
    shpool_bitmap_bid bid;

    bid.seen.x = 0;
    bid.seen.y = 0;
    bid.bits   = shpool_bitmap_row_bits((rows != 0) ? wish.need : 0u);
    /* lanes without bits: the pool may not have a pair q + lane */
    bid.a      = shpool_bitmap_word_at(view, 2u * (((bid.bits.x != 0) ? q : p) + simt_lane()));
    bid.first  = SHPOOL_BITMAP_PAIR * q;
    bid.any    = rows != 0;
    return bid;
}

/* The caller's pair, with what it has read. */
SIMT_FN shpool_bitmap_bid shpool_bitmap_bid_seen(shpool_view view, uint32_t p)
{
    shpool_bitmap_bid bid;

    bid.a    = shpool_bitmap_word_at(view, 2u * (p + simt_lane()));
    bid.seen = simt_atomic_load_pair(bid.a, SIMT_RELAXED); /* relaxed: the claim looks again */
    bid.seen.x &= ~SHPOOL_BITMAP_CLAIMED; /* where it was set the claim fails */
    bid.bits.x = 0;
    bid.bits.y = 0;
    bid.first  = 0;
    bid.any    = 0;
    return bid;
}

SIMT_FN shpool_bitmap_bid shpool_bitmap_bid_small(shpool_view view, uint32_t p, uint32_t need)
{
    shpool_bitmap_bid bid    = shpool_bitmap_bid_seen(view, p);
    const uint32_t    unused = shpool_bitmap_unused_pair(bid.seen);
    const uint32_t    low    = simt_ffs(unused) - 1u;
    uint32_t          run    = simt_mask(low, need);
    const uint32_t    hits   = simt_ballot(SIMT_ALL_LANES, (unused != 0) && ((run & ~unused) == 0));
    const uint32_t    lane   = simt_ffs(hits) - 1u;
    uint32_t          head;

    run  = (simt_lane() == lane) ? run : 0u;
    head = run & (0u - run);
    bid.bits.x = (run & SHPOOL_BITMAP_USED) |
                 ((head & SHPOOL_BITMAP_USED) << SHPOOL_BITMAP_STARTS) |
                 (((run & (run >> 1)) << 21) & SHPOOL_BITMAP_MORE); /* bits 10 and 11 */
    bid.bits.y = (run >> SHPOOL_BITMAP_SPAN) |
                 ((head << (SHPOOL_BITMAP_STARTS - SHPOOL_BITMAP_SPAN)) &
                  (SHPOOL_BITMAP_USED << SHPOOL_BITMAP_STARTS));
    bid.any    = hits != 0;
    bid.first  = SHPOOL_BITMAP_PAIR * (p + lane) + simt_shfl(SIMT_ALL_LANES, low, lane);
    return bid;
}

SIMT_FN shpool_bitmap_bid shpool_bitmap_bid_here(shpool_view view, uint32_t p,
                                                 shpool_bitmap_wish wish)
{
    shpool_bitmap_bid  bid = shpool_bitmap_bid_seen(view, p);
    shpool_bitmap_look look;
    uint32_t           first;
    uint32_t           hits;
    int                rest;

    look.a      = bid.a;
    look.words  = bid.seen;
    look.at     = SHPOOL_BITMAP_PAIR * (p + simt_lane());
    look.unused = shpool_bitmap_unused_pair(look.words);
    first       = shpool_bitmap_reach(look, SHPOOL_BITMAP_PAIR * p);
    first       = (first + wish.below) & ~wish.below;
    rest        = (int)(first + wish.need - look.at); /* in this pair; only a longer search finds a
                                                         run inside it */
    hits = simt_ballot(SIMT_ALL_LANES,
                       (simt_mask(0, (rest > 0) ? (uint32_t)rest : 0u) & ~look.unused) == 0);
    /* no branch where nothing fits: no lane then has bits to set */
    first     = simt_shfl(SIMT_ALL_LANES, first, simt_ffs(hits) - 1u);
    bid.first = (hits != 0) ? first : SHPOOL_BITMAP_BEYOND;
    bid.bits  = shpool_bitmap_bits(look.at, bid.first, bid.first + wish.need);
    bid.any   = hits != 0;
    return bid;
}

/* Called by all lanes.  spread: whether warps have met. */
SIMT_FN shpool_bitmap_bid shpool_bitmap_bid_for(shpool_view view, uint32_t p,
                                                shpool_bitmap_wish wish, uint32_t spread)
{
    const uint32_t    is_small = (wish.need <= SHPOOL_BITMAP_PAIR) && (wish.below == 0);
    shpool_bitmap_bid bid;

    if (spread && shpool_bitmap_wants_row(wish)) {
        return shpool_bitmap_bid_row(view, p, wish);
    }
    bid.any = 0;
    if (!spread || !is_small) {
        bid = shpool_bitmap_bid_here(view, p, wish);
    }
    if (is_small && !bid.any) {
        bid = shpool_bitmap_bid_small(view, p, wish.need);
    }
    return bid;
}

/* ---- the claim ---- */

/* Called by all lanes.  Returns 1, or 0 if other threads were quicker or there is no run; then
 * bid_p->bits are the bits that the lane has set, which remain to be undone. */
SIMT_FN uint32_t shpool_bitmap_bid_wins(shpool_bitmap_bid *bid_p)
{
    const simt_pair bits   = bid_p->bits;
    const simt_pair marked = {bid_p->seen.x | bits.x, bid_p->seen.y | bits.y};
    /* acquire: as in shpool_bitmap_claim; a run of several pairs is CLAIMED, so no release */
    const uint32_t  got    = simt_atomic_cas_pair(bid_p->a, bid_p->seen, marked, SIMT_ACQUIRE);
    const uint32_t  ok     = got || ((bits.x | bits.y) == 0);

    simt_warp_sync(SIMT_ALL_LANES); /* no lane uses the memory before all have claimed */
    if (SIMT_LIKELY(simt_all(SIMT_ALL_LANES, ok && bid_p->any))) {
        /* relaxed: marks that stay are an allocation, whenever that is seen */
        (void)simt_atomic_and(bid_p->a, ~(bits.x & SHPOOL_BITMAP_CLAIMED), SIMT_RELAXED);
        return 1;
    }
    bid_p->bits.x = got ? bits.x : 0u;
    bid_p->bits.y = got ? bits.y : 0u;
    return 0;
}

/* Called by all lanes after a bid that did not win. */
SIMT_FN void shpool_bitmap_undo(simt_addr a, simt_pair bits)
{
    if ((bits.x | bits.y) != 0) { /* release: as in shpool_bitmap_clear */
        (void)simt_atomic_and(a + 4u, ~bits.y, SIMT_RELEASE);
        (void)simt_atomic_and(a, ~bits.x, SIMT_RELEASE);
    }
    simt_warp_sync(SIMT_ALL_LANES); /* every mark is gone again */
}

/* Called by all lanes: claim a row from pair q on, wholly free pairs, for `need` granules.  Returns
 * 1, or 0 with nothing marked. */
SIMT_FN uint32_t shpool_bitmap_claim_row(shpool_view view, uint32_t q, uint32_t need)
{
    const simt_pair   none = {0, 0};
    shpool_bitmap_bid bid  = {shpool_bitmap_pair_at(view, q + simt_lane()), none, none, 0, 1u};

    bid.bits = shpool_bitmap_row_bits(need);
    if (shpool_bitmap_bid_wins(&bid)) {
        return 1;
    }
    shpool_bitmap_undo(bid.a, bid.bits);
    return 0;
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_FIRST_H */
