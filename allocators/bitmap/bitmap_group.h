/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap for groups: lanes of a warp that serve one request together.  bitmap.h explains the terms.
 *
 * Search    Each lane looks at one pair of words, 22 granules; neighbouring lanes at neighbouring
 *           pairs.  Two votes and a shuffle tell each lane how long the free run is that reaches
 *           into its pair from below.  The last pair of a window is the first one of the next.
 * Claim     Each lane takes one word of the run by a compare-and-swap.  If one of them comes too
 *           late, the others give theirs back, and the group looks again.
 * Free      The first lane takes the allocation from its owner, as in bitmap.h; then each lane
 *           clears one word.
 *
 * Groups begin at different places, so that they seldom want the same words. */
#ifndef SHPOOL_ALLOCATORS_BITMAP_GROUP_H
#define SHPOOL_ALLOCATORS_BITMAP_GROUP_H

#include <shpool/allocators/bitmap/bitmap_runs.h>

/* ---- members ---- */

/* Lane `lane` is the so many-th of the group. */
SIMT_FN uint32_t shpool_bitmap_index(uint32_t lanes, uint32_t lane)
{
    return (lanes == SIMT_ALL_LANES) ? lane : simt_popc(lanes & simt_mask(0, lane));
}

SIMT_FN uint32_t shpool_bitmap_members(uint32_t lanes)
{
    return (lanes == SIMT_ALL_LANES) ? SIMT_WARP : simt_popc(lanes);
}

/* ---- search ---- */

/* Where one window of pairs has a run that fits: its first granule; NOWHERE: it has none, and
 * *carry_p free granules lead up to its last pair.  p: the lane's pair; on entry *carry_p granules
 * in front of the first lane's are free. */
SIMT_FN uint32_t shpool_bitmap_window(shpool_view view, uint32_t p, uint32_t end,
                                      shpool_bitmap_wish wish, uint32_t lanes, uint32_t *carry_p)
{
    const uint32_t lane  = simt_lane();
    const uint32_t index = shpool_bitmap_index(lanes, lane);
    simt_pair      words = {SHPOOL_BITMAP_USED, SHPOOL_BITMAP_USED};
    uint32_t       unused;
    uint32_t       full;
    uint32_t       others;
    uint32_t       from;  /* the lane in which the run begins that reaches into this pair */
    uint32_t       start; /* where it begins */
    uint32_t       back;
    uint32_t       hits;

    if (p < end) {
        /* acquire: as in shpool_bitmap_find */
        words = simt_atomic_load_pair(shpool_bitmap_word_at(view, 2u * p), SIMT_ACQUIRE);
    }
    unused = shpool_bitmap_unused_pair(words);
    full   = simt_ballot(lanes, unused == SHPOOL_BITMAP_FULL);
    if ((full == 0) && (wish.need > 2u * SHPOOL_BITMAP_PAIR - 2u) &&
        (*carry_p + SHPOOL_BITMAP_PAIR <= wish.need)) {
        *carry_p = 0; /* a run that long has a pair for itself */
        return SHPOOL_BITMAP_NOWHERE;
    }
    others = ~full & lanes & simt_mask(0, lane);
    from   = 31u - simt_clz(others);
    back   = simt_shfl(lanes, shpool_bitmap_back(unused), (others != 0) ? from : lane);
    start  = (others != 0) ? SHPOOL_BITMAP_PAIR * (index - shpool_bitmap_index(lanes, from) - 1u) +
                             back
                           : SHPOOL_BITMAP_PAIR * index + *carry_p;
    *carry_p = start;
    start    = SHPOOL_BITMAP_PAIR * p - start;
    start    = shpool_bitmap_fit(start, p, unused, wish);
    hits     = simt_ballot(lanes, start != SHPOOL_BITMAP_NOWHERE);
    if (hits != 0) {
        return simt_shfl(lanes, start, simt_ffs(hits) - 1u);
    }
    *carry_p = simt_shfl(lanes, *carry_p, 31u - simt_clz(lanes));
    return SHPOOL_BITMAP_NOWHERE;
}

/* The first fit in pairs from `p` on; NOWHERE if there is none. */
SIMT_FN uint32_t shpool_bitmap_hunt(shpool_view view, uint32_t p, uint32_t end,
                                    shpool_bitmap_wish wish, uint32_t lanes)
{
    uint32_t step  = shpool_bitmap_members(lanes) - 1u;
    uint32_t index = shpool_bitmap_index(lanes, simt_lane());
    uint32_t carry = 0;
    uint32_t spot;

    SIMT_ROLLED
    do {
        spot = shpool_bitmap_window(view, p + index, end, wish, lanes, &carry);
        p += step;
    } while ((spot == SHPOOL_BITMAP_NOWHERE) && (p < end));
    return spot;
}

/* ---- claim ---- */

/* One lane's word: its part of granules first..end-1 by a compare-and-swap; what it has set. */
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

/* Words w..w+members-1 of granules first..end-1.  1: all are taken, else none of them is. */
SIMT_FN uint32_t shpool_bitmap_claim_words(shpool_view view, uint32_t first, uint32_t end,
                                           uint32_t w, uint32_t lanes)
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
    if (simt_all(lanes, (rest == 0) || (mine != 0))) {
        return 1;
    }
    if (mine != 0) {
        (void)simt_atomic_and(a, ~mine, SIMT_RELEASE); /* as in shpool_bitmap_clear */
    }
    return 0;
}

/* By all lanes: mark granules first..end-1 used.  1, or 0 with nothing marked. */
SIMT_FN uint32_t shpool_bitmap_claim_group(shpool_view view, uint32_t first, uint32_t end,
                                           uint32_t lanes)
{
    const uint32_t members = shpool_bitmap_members(lanes);
    const uint32_t index   = shpool_bitmap_index(lanes, simt_lane());
    const uint32_t w       = shpool_bitmap_word_of(first);
    const uint32_t last    = shpool_bitmap_word_of(end - 1u);
    uint32_t       at      = w;
    uint32_t       got;

    if ((index == 0) && (last != w)) {
        shpool_bitmap_claiming(view);
    }
    simt_warp_sync(lanes); /* no mark before that */
    SIMT_ROLLED
    do {
        got = shpool_bitmap_claim_words(view, first, end, at + index, lanes);
        at += members;
    } while (got && (at <= last));
    if (!got && (at - members != w) && (index == 0)) { /* whole rounds in front of the failed one */
        shpool_bitmap_clear(view, first, SHPOOL_BITMAP_SPAN * (at - members) - first);
    }
    simt_warp_sync(lanes); /* every mark is set, or gone again; all lanes come behind it */
    if ((index == 0) && (last != w)) {
        shpool_bitmap_claimed(view, !got);
    }
    return got;
}

/* ---- malloc ---- */

/* A lane's share of the counts of releases; they stand still if no lane's share changes. */
SIMT_FN uint32_t shpool_bitmap_releases_of(simt_addr base, uint32_t lanes)
{
    const uint32_t members = shpool_bitmap_members(lanes);
    uint32_t       i       = shpool_bitmap_index(lanes, simt_lane());
    uint32_t       sum     = 0;

    SIMT_ROLLED
    for (; i < SHPOOL_BITMAP_COUNTERS / 2u; i += members) {
        /* acquire: as in shpool_bitmap_releases */
        simt_pair two = simt_atomic_load_pair(base + 16u + 8u * i, SIMT_ACQUIRE);

        sum += two.x + two.y;
    }
    simt_warp_sync(lanes); /* all lanes come behind every count, and no count behind what follows */
    return sum;
}

/* As shpool_bitmap_malloc_slow, by all lanes. */
SIMT_FN_NOINLINE simt_addr shpool_bitmap_malloc_group_far(simt_addr base, uint32_t granules,
                                                          uint32_t offset, uint32_t need,
                                                          uint32_t below, uint32_t lanes)
{
    const shpool_view  view = {base, 0, simt_thread_rank(), 0, {granules, offset}, 0};
    shpool_bitmap_wish wish = shpool_bitmap_wish_for(need, below);

    for (;;) {
        uint32_t before = shpool_bitmap_releases_of(base, lanes);
        uint32_t first  = shpool_bitmap_hunt(view, 0, shpool_bitmap_words(view) / 2u, wish, lanes);
        uint32_t pending;

        if (first != SHPOOL_BITMAP_NOWHERE) {
            if (shpool_bitmap_claim_group(view, first, first + need, lanes)) {
                return shpool_bitmap_payload(view, first);
            }
            continue;
        }
        simt_warp_sync(lanes); /* what any lane has seen comes before: */
        /* acquire: as in shpool_bitmap_malloc_slow */
        pending = simt_atomic_load(base, SIMT_ACQUIRE);
        pending = simt_shfl(lanes, pending, simt_ffs(lanes) - 1u);
        if (simt_any(lanes, shpool_bitmap_releases_of(base, lanes) != before)) {
            continue; /* memory became free behind the search */
        }
        if (pending == 0) {
            return 0;
        }
        simt_wait(base, pending); /* marks of an unfinished claim do not count */
    }
}

/* The pair with which the caller's warp begins; they lie far apart (Knuth, TAOCP 3, 6.4). */
SIMT_FN uint32_t shpool_bitmap_first_pair(shpool_view view)
{
    return simt_mulhi((view.rank / SIMT_WARP) * 2654435769u, shpool_bitmap_words(view) / 2u);
}

/* A request of more than a word, or one that found no room at home. */
SIMT_FN simt_addr shpool_bitmap_malloc_lanes(shpool_view view, uint32_t need, uint32_t below,
                                             uint32_t lanes)
{
    shpool_bitmap_wish wish = shpool_bitmap_wish_for(need, below);
    uint32_t           first;

    if (need > view.word[0]) {
        return 0; /* the empty pool, too: it has no granules */
    }
    first = shpool_bitmap_hunt(view, simt_shfl(lanes, shpool_bitmap_first_pair(view),
                                               simt_ffs(lanes) - 1u),
                               shpool_bitmap_words(view) / 2u, wish, lanes);
    if ((first != SHPOOL_BITMAP_NOWHERE) &&
        shpool_bitmap_claim_group(view, first, first + need, lanes)) {
        return shpool_bitmap_payload(view, first);
    }
    return shpool_bitmap_malloc_group_far(view.base, view.word[0], view.word[1], need, below,
                                          lanes);
}

/* The same for groups that are no whole warp: a call. */
SIMT_FN_NOINLINE simt_addr shpool_bitmap_malloc_some(simt_addr base, uint32_t granules,
                                                     uint32_t offset, uint32_t rank, uint32_t need,
                                                     uint32_t below, uint32_t lanes)
{
    shpool_view view = {base, 0, rank, 0, {granules, offset}, 0};

    return shpool_bitmap_malloc_lanes(view, need, below, lanes);
}

SIMT_FN simt_addr shpool_bitmap_malloc_group(shpool_view view, uint32_t bytes, uint32_t alignment,
                                             uint32_t site, uint32_t lanes)
{
    const uint32_t need  = (bytes + 15u) >> 4;
    const uint32_t first = simt_ffs(lanes) - 1u;
    simt_addr      addr  = 0;

    if (shpool_bitmap_members(lanes) == 1u) {
        return shpool_bitmap_malloc(view, bytes, alignment, site);
    }
    if ((need <= SHPOOL_BITMAP_SPAN) && (view.word[0] != 0) && (alignment <= 16u)) {
        if (simt_lane() == first) {
            shpool_bitmap_place at = shpool_bitmap_where(view);

            addr = shpool_bitmap_take(view, at.home, need, shpool_bitmap_high(at));
        }
        simt_warp_sync(lanes); /* the others come behind what the first lane acquired */
        addr = simt_shfl(lanes, addr, first);
        if (addr != 0) {
            return addr;
        }
    }
    if (lanes == SIMT_ALL_LANES) {
        return shpool_bitmap_malloc_lanes(view, need, (alignment >> 4) - 1u, SIMT_ALL_LANES);
    }
    return shpool_bitmap_malloc_some(view.base, view.word[0], view.word[1], view.rank, need,
                                     (alignment >> 4) - 1u, lanes);
}

/* ---- free ---- */

/* Clear what a long allocation has from word w on; the first lane's word was `seen` and its first
 * granule i, and that one's used bit is gone. */
SIMT_FN void shpool_bitmap_free_words(shpool_view view, const shpool_bitmap_release *r,
                                      uint32_t lanes)
{
    const uint32_t index = shpool_bitmap_index(lanes, simt_lane());
    const uint32_t words = shpool_bitmap_words(view);
    uint32_t       w     = r->w + index;
    uint32_t       i     = (index == 0) ? r->i : 0u;
    uint32_t       ends;

    SIMT_ROLLED
    do {
        simt_addr a    = shpool_bitmap_word_at(view, w);
        uint32_t  word = r->seen;
        uint32_t  run;
        uint32_t  more;

        if (w != r->w) { /* relaxed: as for the length */
            word = (w < words) ? simt_atomic_load(a, SIMT_RELAXED) : 0u;
        }
        run  = shpool_bitmap_rest(word, i) << i;
        more = shpool_bitmap_goes_on(word, run);
        ends = simt_ballot(lanes, more == 0);
        if ((ends & simt_mask(0, simt_lane())) == 0) {
            uint32_t clear = run | ((more != 0) ? SHPOOL_BITMAP_MORE : 0u) |
                             ((w == r->w) ? 1u << SHPOOL_BITMAP_STARTS << i : 0u);

            (void)simt_atomic_and(a, ~clear, SIMT_RELEASE); /* as in shpool_bitmap_clear */
        }
        w += shpool_bitmap_members(lanes);
        i = 0;
    } while (ends == 0);
}

SIMT_FN uint32_t shpool_bitmap_free_group(shpool_view view, simt_addr addr, uint32_t site,
                                          uint32_t lanes)
{
    const uint32_t        first  = shpool_bitmap_granule(view, addr);
    const uint32_t        leader = simt_ffs(lanes) - 1u;
    const uint32_t        leads  = simt_lane() == leader;
    shpool_bitmap_release r      = {0, 0, 0, 0, SHPOOL_FREE_OK};

    (void)site;
    if (first >= view.word[0]) {
        return shpool_run_stray(first, view.word[0]);
    }
    r.w = shpool_bitmap_word_of(first);
    r.i = first - SHPOOL_BITMAP_SPAN * r.w;
    if (leads) {
        r.seen = simt_atomic_load(shpool_bitmap_word_at(view, r.w), SIMT_RELAXED);
        while (!shpool_bitmap_give(view, &r)) {
        }
    }
    simt_warp_sync(lanes); /* the other words are this allocation's only from here on */
    r.is_long = (r.reason == SHPOOL_FREE_OK) ? r.is_long : 0u;
    if (simt_shfl(lanes, r.is_long, leader) != 0) {
        shpool_bitmap_free_words(view, &r, lanes);
        simt_warp_sync(lanes); /* every word is clear */
    }
    if (leads && (r.reason == SHPOOL_FREE_OK)) {
        shpool_bitmap_released(view);
    }
    return r.reason;
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_GROUP_H */
