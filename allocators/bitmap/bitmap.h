/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap: one pool for the whole block, no lock, metadata out of band.
 *
 * Terms
 *   granule   16 bytes of payload, numbered 0..G-1; an allocation is a run of granules
 *   word      32 bits for 11 granules: bit i says "used", bit 16+i "an allocation starts here", bit
 *             31 "the allocation with the last granule continues in the next word"
 *   home      the word in which a thread tries first; not shared if the block has 1, 2, 4, 8, 16 or
 *             32 warps and its pool 32 words (5,632 bytes of payload) for each of them
 *   run       consecutive granules; one that crosses words is "long"
 *   mark      a long run is claimed word by word, or pair by pair (bitmap_row.h), but at once if it
 *             is inside one pair, except by the exact search.  Until the last part is claimed,
 *             these marks are transient: they may be undone, and then no allocation ever owned them
 *   pending   number of long claims in progress
 *   releases  how often memory has become free.  A malloc may only fail if that count has not
 *             changed and nothing was pending; otherwise it searches again.
 *   hint      the pair from which on a warp begins to search: all below were full when it was set
 *   spread    the number of pairs over which the warps' searches begin (bitmap_group.h)
 *   next      a quarter of the granule at which a warp's next run of more than 704 is tried
 *   claimed   bit 11 of a pair's first word: a warp is claiming granules of that pair; its marks
 *             are transient, as above (bitmap_group.h)
 *
 * Pool:  pending | G | offset of granule 0 | spread, next, hint | 8 counts of releases |
 *        words (they come in pairs) | padding to the alignment | G granules
 * (The view has G and the offset too; the slow path reads them here instead of keeping them in
 * registers, of which a table function has 16.  The releases have several counts so that the lanes
 * of a warp need not queue for one.)
 *
 * Invariants (the numbers that walk reports)
 *   1  a used granule that does not start an allocation follows a used granule
 *   2  a start bit without its used bit: a free that never finished
 *   3  the bits after granule G-1 are all set (they end every run)
 *   4  no claim is pending, and no pair is claimed
 *   5  bit 31 of a word contradicts the granules on both sides of its end
 *   6  G and the offset equal the view's, and unused bits are 0
 *
 * Loops and convergence: diverged lanes normally wait for each other.  There are two exceptions:
 * ptxas inserts a YIELD at the entry of a called function that uses atomics (or loads ordered like
 * them), and into a loop that uses them and runs because of the result of one, lest a lane spin on
 * something that a waiting lane has.  The waiting lanes then continue, and the warp stays split for
 * a long time.  So the usual path here is straight-line code, searches in a loop only peek
 * (simt.h), and where the words suffice no two warps share a home: warps that use the same word
 * fall into step, and then conflict each time.
 *
 * The idea of claiming by one atomic on a bitmap at a scattered start is that of ScatterAlloc
 * (Steinberger et al., InPar 2012) and Halloc (Adinetz and Pleiter, 2014). */
#ifndef SHPOOL_ALLOCATORS_BITMAP_H
#define SHPOOL_ALLOCATORS_BITMAP_H

#include <shpool/allocators/bitmap/bitmap_runs.h>
#include <shpool/impl/heap/patience.h>
#include <shpool/module.h>

/* ---- malloc near home: up to 16 granules, by a fixed number of tries ---- */

/* Where a thread tries first.  Each warp has its own words, with its lanes' homes in different
 * banks.  If they do not suffice, all threads share all words: each lane of a warp has another part
 * of the pool, so that they do not conflict, and the first lanes of all warps do not meet either.
 * In a part a multiplicative hash spreads the warps (Knuth, TAOCP 3, 6.4). */
typedef struct shpool_bitmap_place {
    uint32_t home;      /* word */
    uint32_t from, end; /* its neighbourhood: the warp's words, or all; even */
    uint32_t shared;    /* whether it is all */
} shpool_bitmap_place;

SIMT_FN shpool_bitmap_place shpool_bitmap_where(shpool_view view)
{
    uint32_t            words = shpool_bitmap_words(view);
    uint32_t            warps = (simt_block_threads() - 1u) / SIMT_WARP; /* less 1 */
    uint32_t            own   = (words >> (32u - simt_clz(warps))) & ~1u;
    uint32_t            lane  = view.rank % SIMT_WARP;
    uint32_t            warp  = view.rank / SIMT_WARP;
    uint32_t            from  = warp * own;
    uint32_t            odd   = (own >= 3u * SIMT_WARP) ? (own / SIMT_WARP - 1u) | 1u : 1u;
    /* of 2^32, the whole pool: view.rank stands for lane, which would take a register; they differ
     * by a multiple of 32, and 32 PART is 0 */
    uint32_t            part  = SHPOOL_BITMAP_PART * (view.rank + warp);
    uint32_t            in    = warp * 2654435769u / SIMT_WARP;
    shpool_bitmap_place at;

    /* no branch: a caller's loop then keeps the result */
    at.shared = own < SIMT_WARP;
    at.from   = at.shared ? 0u : from;
    at.end    = at.shared ? words : from + own;
    at.home   = at.shared ? simt_mulhi(part + in, words) : from + lane * odd;
    return at;
}

/* Even words fill from below and odd ones from above, so that the free granules of a pair are
 * adjacent: `high` of shpool_run_pick(). */
SIMT_FN uint32_t shpool_bitmap_high(shpool_bitmap_place at)
{
    return 0u - (at.home & 1u);
}

/* Claim `need` granules (1..16) in word w.  Returns no_room if they do not fit there (more than 11
 * never do), and 0 if other threads were faster. */
SIMT_FN simt_addr shpool_bitmap_take_or(shpool_view view, uint32_t w, uint32_t need, uint32_t high,
                                        simt_addr no_room)
{
    simt_addr a    = shpool_bitmap_word_at(view, w);
    uint32_t  seen = simt_atomic_load(a, SIMT_RELAXED);
    uint32_t  fit  = shpool_run_starts(shpool_bitmap_unused(seen), need, 16u);
    uint32_t  i;
    uint32_t  run;

    if (fit == 0) {
        return no_room;
    }
    i   = shpool_run_pick(fit, high);
    run = (simt_mask(0, need) | (1u << SHPOOL_BITMAP_STARTS)) << i;
    /* acquire: pairs with the release in shpool_bitmap_clear, _clear_rest, _give and
     * _free_long */
    return (simt_atomic_cas(a, seen, seen + run, SIMT_ACQUIRE) == seen)
               ? shpool_bitmap_payload(view, SHPOOL_BITMAP_SPAN * w + i) : 0u;
}

/* The same; 0 in both cases. */
SIMT_FN simt_addr shpool_bitmap_take(shpool_view view, uint32_t w, uint32_t need, uint32_t high)
{
    return shpool_bitmap_take_or(view, w, need, high, 0);
}

/* As shpool_bitmap_claim, for a run that crosses from a pair's first word, at a, which was `low`,
 * to its second one, which was `next`. */
SIMT_FN uint32_t shpool_bitmap_cross(shpool_view view, simt_addr a, uint32_t low, uint32_t set_low,
                                     uint32_t next, uint32_t set_next)
{
    set_low |= SHPOOL_BITMAP_MORE;
#if !defined(SHPOOL_BITMAP_AS)
    const simt_pair seen = {low, next};
    const simt_pair set  = {low | set_low, next | set_next};

    (void)view;
    return simt_atomic_cas_pair(a, seen, set, SIMT_ACQUIRE); /* as in shpool_bitmap_take */
#else /* the other accesses cannot swap a pair; the same orders as shpool_bitmap_claim */
    uint32_t got;

    shpool_bitmap_claiming(view);
    got = (simt_atomic_cas(a, low, low | set_low, SIMT_ACQ_REL) == low);
    if (!got) {
        shpool_bitmap_claimed(view, 0);
        return 0;
    }
    got = (simt_atomic_cas(a + 4u, next, next | set_next, SIMT_ACQ_REL) == next);
    if (!got) {
        (void)simt_atomic_and(a, ~set_low, SIMT_RELEASE);
    }
    shpool_bitmap_claimed(view, !got);
    return got;
#endif
}

/* Starts of runs of `need` granules (1..16) in a pair of words, also across. */
SIMT_FN uint32_t shpool_bitmap_pair(uint32_t low, uint32_t next, uint32_t need)
{
    return shpool_run_starts(shpool_bitmap_unused(low) |
                             (shpool_bitmap_unused(next) << SHPOOL_BITMAP_SPAN), need, 16u);
}

/* Where words w and w + 1, with these values, have `need` free granules (1..16), also across:
 * granule i of word w as 32 w + i, or NOWHERE. */
SIMT_FN uint32_t shpool_bitmap_spot_in(uint32_t w, uint32_t low, uint32_t next, uint32_t need,
                                       uint32_t high)
{
    uint32_t fit = shpool_bitmap_pair(low, next, need);
    uint32_t i   = shpool_run_pick(fit, high);

    i += (i >= SHPOOL_BITMAP_SPAN) ? 32u - SHPOOL_BITMAP_SPAN : 0u;
    return (fit != 0) ? 32u * w + i : SHPOOL_BITMAP_NOWHERE;
}

/* The same for what these words seem to be. */
SIMT_FN uint32_t shpool_bitmap_spot(simt_addr base, uint32_t w, uint32_t need, uint32_t high)
{
    simt_addr a = base + SHPOOL_BITMAP_CONTROL + 4u * w;

    return shpool_bitmap_spot_in(w, simt_peek(a), simt_peek(a + 4u), need, high);
}

#include <shpool/allocators/bitmap/bitmap_scan.h>

/* Claim `need` granules (1..16) at a spot; 0 if they are not free any more. */
SIMT_FN simt_addr shpool_bitmap_take_at(shpool_view view, uint32_t spot, uint32_t need)
{
    uint32_t  w        = spot / 32u;
    uint32_t  i        = spot % 32u;
    /* kept: else a caller's loop would keep the address of word 0 as well as the pool's */
    simt_addr a        = simt_keep(view.base + 4u * w) + SHPOOL_BITMAP_CONTROL;
    uint32_t  run      = simt_mask(i, need);
    uint32_t  set      = run & SHPOOL_BITMAP_USED;
    uint32_t  set_next = run >> SHPOOL_BITMAP_SPAN;
    uint32_t  seen     = simt_atomic_load(a, SIMT_RELAXED);
    uint32_t  next;
    uint32_t  got;

    if ((shpool_bitmap_unused(seen) & set) != set) {
        return 0;
    }
    set |= 1u << SHPOOL_BITMAP_STARTS << i;
    if (set_next == 0) {
        /* acquire: as in shpool_bitmap_take */
        got = (simt_atomic_cas(a, seen, seen | set, SIMT_ACQUIRE) == seen);
    } else {
        next = simt_atomic_load(a + 4u, SIMT_RELAXED);
        if ((shpool_bitmap_unused(next) & set_next) != set_next) {
            return 0;
        }
        got = shpool_bitmap_cross(view, a, seen, set, next, set_next);
    }
    return got ? shpool_bitmap_payload(view, SHPOOL_BITMAP_SPAN * w + i) : 0u;
}

/* Try home and the word beside it, then where there seems to be room; 0 if there was none, or
 * others were always quicker.  A fixed number of tries (the top says why): of 67 million mallocs
 * in the benchmark's `mixed` at most four got past six. */
SIMT_FN simt_addr shpool_bitmap_take_around(shpool_view view, shpool_bitmap_place at,
                                            uint32_t need)
{
    uint32_t  spot = shpool_bitmap_spot(view.base, at.home & ~1u, need, shpool_bitmap_high(at));
    simt_addr addr = (spot != SHPOOL_BITMAP_NOWHERE) ? shpool_bitmap_take_at(view, spot, need) : 0u;
    uint32_t  turn;

    if (addr != 0) {
        return addr;
    }
    SIMT_UNROLLED
    for (turn = 0; turn < 6u; turn++) {
        spot = shpool_bitmap_seek(view.base, view.word[0], view.rank, need, turn);
        if (spot == SHPOOL_BITMAP_NOWHERE) {
            return 0;
        }
        addr = shpool_bitmap_take_at(view, spot, need);
        if (addr != 0) {
            return addr;
        }
    }
    return 0;
}

#include <shpool/allocators/bitmap/bitmap_crowd.h>

/* ---- malloc anywhere: any request, exactly ---- */

/* First free run that matches the wish, from pair p on; NOWHERE if there is none.  *busy_p becomes
 * CLAIMED if a group was claiming in one of the pairs: its marks may be undone. */
SIMT_FN uint32_t shpool_bitmap_find(shpool_view view, uint32_t p, shpool_bitmap_wish wish,
                                    uint32_t *busy_p)
{
    uint32_t end   = shpool_bitmap_words_of(view.word[0]) / 2u;
    uint32_t start = SHPOOL_BITMAP_PAIR * p; /* everything from here to pair p is free */
    uint32_t spot  = SHPOOL_BITMAP_NOWHERE;

    SIMT_ROLLED
    for (; (p < end) && (spot == SHPOOL_BITMAP_NOWHERE); p++) {
        uint32_t unused = shpool_bitmap_unused_at(view, p, busy_p);

        if ((unused != 0) && ((unused != SHPOOL_BITMAP_FULL) ||
                              (SHPOOL_BITMAP_PAIR * (p + 1u) - start >= wish.need))) {
            spot = shpool_bitmap_fit(start, SHPOOL_BITMAP_PAIR * p, unused, wish);
        }
        if (unused != SHPOOL_BITMAP_FULL) {
            start = SHPOOL_BITMAP_PAIR * (p + 1u) - shpool_bitmap_back(unused);
        }
    }
    return spot;
}

/* Whether to search again when others' frees have made the _count-th search void.  Always, so that
 * NULL is exact; cluster_bitmap, whose searches take long, has less patience. */
#ifndef SHPOOL_BITMAP_AGAIN
#define SHPOOL_BITMAP_AGAIN(_count) ((void)(_count), 1)
#endif

/* Any run, also a long one, first from pair p on; decides that nothing fits. */
SIMT_FN simt_addr shpool_bitmap_malloc_slow(shpool_view view, uint32_t p, uint32_t need,
                                            uint32_t below)
{
    shpool_bitmap_wish wish          = {need, below};
    uint32_t           void_searches = 0;

    if (need > view.word[0]) {
        return 0; /* also for the empty pool, which has no granules */
    }
    for (;;) {
        uint32_t before = shpool_bitmap_releases(view.base);
        uint32_t busy   = 0;
        uint32_t first;
        uint32_t pending;

        view.word[0] = simt_load32(view.base + 4u);
        first        = shpool_bitmap_find(view, p, wish, &busy);
        if (first != SHPOOL_BITMAP_NOWHERE) {
            if (shpool_bitmap_claim(view, first, first + need, 1u)) {
                view.word[1] = simt_load32(view.base + 8u);
                return shpool_bitmap_payload(view, first);
            }
            /* Another claim was quicker: that one made progress.  On from here: searches that all
             * begin at the pool's beginning would meet again. */
            p = first / SHPOOL_BITMAP_PAIR;
            continue;
        }
        if (p != 0) {
            p = 0;
            continue;
        }
        if (busy != 0) {
            simt_pause(SHPOOL_BITMAP_PAUSE);
            continue;
        }
        /* acquire: pairs with the release in shpool_bitmap_claimed; first this, then the releases:
         * a claim that ended by undoing its marks counts among them */
        pending = simt_atomic_load(view.base, SIMT_ACQUIRE);
        if ((shpool_bitmap_releases(view.base) != before) &&
            SHPOOL_BITMAP_AGAIN(++void_searches)) {
            /* Memory became free behind the search.  In a full pool this can repeat for a long
             * time, and the searching threads slow the others down. */
            simt_pause(SHPOOL_BITMAP_PAUSE << ((void_searches < SHPOOL_BITMAP_LONGEST)
                                                   ? void_searches : SHPOOL_BITMAP_LONGEST));
            continue;
        }
        if (pending == 0) {
            return 0;
        }
        simt_wait(view.base, pending); /* marks of an unfinished claim do not count */
    }
}

#define SHPOOL_BITMAP_FROM 0x80000000u /* a pair, in place of a rank */

/* Any request, exactly: what bitmap_row.h could not serve; runs across a pair of words; requests
 * that will fail; and, rarely, unlucky ones.  place: rank of the thread, with whose home it begins,
 * or FROM and a pair.  A call; its arguments are passed in registers, which a view would not be. */
SIMT_FN_NOINLINE simt_addr shpool_bitmap_malloc_far(simt_addr base, uint32_t granules,
                                                    uint32_t offset, uint32_t place, uint32_t need,
                                                    uint32_t alignment)
{
    shpool_view view = {base, 0, place, 0, {granules, offset}, 0};
    uint32_t    p    = place & ~SHPOOL_BITMAP_FROM;

    if ((place & SHPOOL_BITMAP_FROM) == 0) {
        p = shpool_bitmap_where(view).home / 2u;
    }
    return shpool_bitmap_malloc_slow(view, p, need, (alignment >> 4) - 1u);
}

/* What follows malloc at home is in the caller's code, so that the warp stays together; but a
 * function of the table has parted it at its own entry, and no registers for this, so there it is
 * calls. */
#undef SHPOOL_BITMAP_AWAY
#if defined(SHPOOL_TABLE_MODULE)
#define SHPOOL_BITMAP_AWAY SIMT_FN_NOINLINE
#else
#define SHPOOL_BITMAP_AWAY SIMT_FN
#endif

#include <shpool/allocators/bitmap/bitmap_row.h>

/* Where home had no room: one malloc in ten, but one lane of most warps. */
SHPOOL_BITMAP_AWAY simt_addr shpool_bitmap_malloc_away(simt_addr base, uint32_t granules,
                                                       uint32_t offset, uint32_t rank,
                                                       uint32_t need, uint32_t alignment)
{
    shpool_view view = {base, 0, rank, 0, {granules, offset}, 0};
    simt_addr   addr = 0;

    if ((need <= 16u) && (need <= granules) && (alignment <= 16u)) {
        shpool_bitmap_place at = shpool_bitmap_where(view);

        addr = at.shared ? shpool_bitmap_take_shared(view, at.home, need)
                         : shpool_bitmap_take_around(view, at, need);
    }
    return (addr != 0) ? addr : shpool_bitmap_malloc_far(base, granules, offset, rank, need,
                                                         alignment);
}

/* Claim `need` granules in the thread's home word; 0 if that fails, or if they cannot fit there. */
SIMT_FN simt_addr shpool_bitmap_malloc_home(shpool_view view, uint32_t need, uint32_t alignment)
{
    const shpool_bitmap_place at = shpool_bitmap_where(view);

    return ((need <= SHPOOL_BITMAP_SPAN) && (view.word[0] != 0) && (alignment <= 16u))
               ? shpool_bitmap_take(view, at.home, need, shpool_bitmap_high(at)) : 0u;
}

SIMT_FN simt_addr shpool_bitmap_malloc(shpool_view view, uint32_t bytes, uint32_t alignment,
                                       uint32_t site)
{
    uint32_t  need = (bytes + 15u) >> 4;
    simt_addr addr = shpool_bitmap_malloc_home(view, need, alignment);

    (void)site;
    if (addr != 0) {
        return addr;
    }
    need = simt_pin(need); /* values that home does not need are computed after it */
#if !defined(SHPOOL_BITMAP_AS) /* in a cluster the exact search claims */
    if (shpool_bitmap_is_run(view, need, alignment)) {
        return shpool_bitmap_malloc_run(view.base, view.word[0], view.word[1], view.rank, need,
                                        alignment);
    }
#endif
    return shpool_bitmap_malloc_away(view.base, view.word[0], view.word[1], view.rank, need,
                                     alignment);
}

/* ---- free ---- */

/* Granule of addr; at least G if addr is not the start of a granule of this pool. */
SIMT_FN uint32_t shpool_bitmap_granule(shpool_view view, simt_addr addr)
{
    return shpool_run_granule(addr - view.base - view.word[1]);
}

/* The result, according to a word, of freeing its granule i. */
SIMT_FN uint32_t shpool_bitmap_judge(uint32_t word, uint32_t i)
{
    uint32_t both = shpool_bitmap_both(word, i);

    if (both == ((1u << SHPOOL_BITMAP_STARTS) | 1u)) {
        return SHPOOL_FREE_OK;
    }
    return (both == 1u) ? SHPOOL_FREE_INTERIOR : SHPOOL_FREE_DOUBLE;
}

/* Granules of the allocation that starts at `first`, given first's word. */
SIMT_FN uint32_t shpool_bitmap_length(shpool_view view, uint32_t first, uint32_t word)
{
    uint32_t w     = shpool_bitmap_word_of(first);
    uint32_t i     = first - SHPOOL_BITMAP_SPAN * w;
    uint32_t run   = shpool_bitmap_rest(word, i) << i;
    uint32_t count = simt_popc(run);

    while (shpool_bitmap_goes_on(word, run)) {
        /* relaxed: only the owner changes the bits of its own run, and its end cannot move */
        word = simt_atomic_load(shpool_bitmap_word_at(view, ++w), SIMT_RELAXED);
        run  = shpool_bitmap_rest(word, 0);
        count += simt_popc(run);
    }
    return count;
}

/* State of a thread that frees. */
typedef struct shpool_bitmap_release {
    uint32_t w, i;    /* word and granule in it */
    uint32_t seen;    /* the word's value */
    uint32_t is_long; /* the allocation has more words */
    uint32_t reason;  /* why it is refused, or SHPOOL_FREE_OK */
} shpool_bitmap_release;

/* Try to take the allocation from its owner; 1: decided, 0: the word has changed meanwhile. */
SIMT_FN uint32_t shpool_bitmap_give(shpool_view view, shpool_bitmap_release *r)
{
    uint32_t seen = r->seen;
    uint32_t run  = shpool_bitmap_rest(seen, r->i) << r->i;
    uint32_t take = run | (1u << SHPOOL_BITMAP_STARTS << r->i);

    if ((seen & take) != take) { /* rest() does not test its first granule */
        r->reason = shpool_bitmap_judge(seen, r->i);
        return 1;
    }
    /* A run inside one word is freed in one step.  A long one first loses only the used bit of its
     * first granule: this makes this thread the one that frees it.  The start bit stays, which
     * keeps the granule in use and ends the previous allocation. */
    r->is_long = shpool_bitmap_goes_on(seen, run);
    take       = r->is_long ? 1u << r->i : take;
    /* release: pairs with the acquire of the next claim, as in shpool_bitmap_clear */
    r->seen = simt_atomic_cas(shpool_bitmap_word_at(view, r->w), seen, seen & ~take, SIMT_RELEASE);
    return r->seen == seen;
}

/* Free the rest of a long run; r->seen: the first word before the free. */
SIMT_FN void shpool_bitmap_free_long(shpool_view view, const shpool_bitmap_release *r)
{
    simt_addr a    = shpool_bitmap_word_at(view, r->w);
    uint32_t  next = simt_atomic_load(a + 4u, SIMT_RELAXED); /* relaxed: as for the length */
    uint32_t  run  = shpool_bitmap_rest(next, 0);

    if (shpool_bitmap_goes_on(next, run)) {
        shpool_bitmap_clear_rest(view.base, view.word[0], view.rank, r->w, r->i, r->seen);
        return;
    }
    /* the same without a loop; release: as there */
    (void)simt_atomic_and(a + 4u, ~run, SIMT_RELEASE);
    run = shpool_bitmap_rest(r->seen, r->i) | (1u << SHPOOL_BITMAP_STARTS);
    (void)simt_atomic_and(a, ~((run << r->i) | SHPOOL_BITMAP_MORE), SIMT_RELEASE);
    shpool_bitmap_released(view);
}

/* For granule `first`, which the pool has. */
SIMT_FN shpool_bitmap_release shpool_bitmap_release_of(shpool_view view, uint32_t first)
{
    shpool_bitmap_release r;

    r.w       = shpool_bitmap_word_of(first);
    r.i       = first - SHPOOL_BITMAP_SPAN * r.w;
    r.seen    = simt_atomic_load(shpool_bitmap_word_at(view, r.w), SIMT_RELAXED);
    r.is_long = 0;
    r.reason  = SHPOOL_FREE_OK;
    return r;
}

/* What follows shpool_bitmap_give. */
SIMT_FN uint32_t shpool_bitmap_given(shpool_view view, const shpool_bitmap_release *r)
{
    if (r->reason != SHPOOL_FREE_OK) {
        return r->reason;
    }
    if (r->is_long) {
        shpool_bitmap_free_long(view, r);
    } else {
        shpool_bitmap_released(view);
    }
    return SHPOOL_FREE_OK;
}

SIMT_FN uint32_t shpool_bitmap_free(shpool_view view, simt_addr addr, uint32_t site)
{
    uint32_t              first = shpool_bitmap_granule(view, addr);
    shpool_bitmap_release r;

    (void)site;
    if (first >= view.word[0]) {
        return shpool_run_stray(first, view.word[0]);
    }
    r = shpool_bitmap_release_of(view, first);
    if (!shpool_bitmap_give(view, &r) && !shpool_bitmap_give(view, &r) && /* see the top */
        !shpool_bitmap_give(view, &r) && !shpool_bitmap_give(view, &r) &&
        !shpool_bitmap_give(view, &r) && !shpool_bitmap_give(view, &r) &&
        !shpool_bitmap_give(view, &r) && !shpool_bitmap_give(view, &r)) {
        while (!shpool_bitmap_give(view, &r)) {
        }
    }
    return shpool_bitmap_given(view, &r);
}

SIMT_FN uint32_t shpool_bitmap_owns(shpool_view view, simt_addr addr)
{
    uint32_t first = shpool_bitmap_granule(view, addr);
    uint32_t w     = shpool_bitmap_word_of(first);

    if (first >= view.word[0]) {
        return shpool_run_stray(first, view.word[0]);
    }
    return shpool_bitmap_judge(simt_atomic_load(shpool_bitmap_word_at(view, w), SIMT_RELAXED),
                               first - SHPOOL_BITMAP_SPAN * w);
}

SHPOOL_DISCARD(bitmap) /* free tests and claims by one compare-and-swap */

/* ---- the rest ---- */

/* Granules of the allocation that starts at granule `first`; 0 if none does. */
SIMT_FN uint32_t shpool_bitmap_size(shpool_view view, uint32_t first)
{
    uint32_t w = shpool_bitmap_word_of(first);
    uint32_t word;

    if (first >= view.word[0]) {
        return 0;
    }
    word = simt_atomic_load(shpool_bitmap_word_at(view, w), SIMT_RELAXED);
    return (shpool_bitmap_judge(word, first - SHPOOL_BITMAP_SPAN * w) == SHPOOL_FREE_OK)
               ? shpool_bitmap_length(view, first, word) : 0u;
}

SIMT_FN uint32_t shpool_bitmap_usable(shpool_view view, simt_addr addr)
{
    return shpool_bitmap_size(view, shpool_bitmap_granule(view, addr)) << 4;
}

/* The caller's run ends with a word, before granule `end`; now it continues there (more), or ends
 * here again. */
SIMT_FN void shpool_bitmap_end(shpool_view view, uint32_t end, uint32_t more)
{
    uint32_t  w = shpool_bitmap_word_of(end - 1u);
    simt_addr a = shpool_bitmap_word_at(view, w);

    if (end != SHPOOL_BITMAP_SPAN * (w + 1u)) {
        return;
    }
    if (more) {
        (void)simt_atomic_or(a, SHPOOL_BITMAP_MORE, SIMT_RELAXED); /* relaxed: for the owner only */
    } else {
        (void)simt_atomic_and(a, ~SHPOOL_BITMAP_MORE, SIMT_RELAXED);
    }
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
        shpool_bitmap_end(view, first + need, 0);
        shpool_bitmap_released(view);
        return 1;
    }
    if (need == have) {
        return 1;
    }
    if (!shpool_bitmap_claim(view, first + have, first + need, 0u)) {
        return 0;
    }
    shpool_bitmap_end(view, first + have, 1u);
    return 1;
}

#include <shpool/allocators/bitmap/bitmap_walk.h>

#if !defined(SHPOOL_BITMAP_AS) /* in a cluster one lane requests for its group */
#include <shpool/allocators/bitmap/bitmap_group.h>
#define SHPOOL_PACKS_bitmap  ~, SHPOOL_PACKING(SHPOOL_PACK_ANY, 0u, 0u, 0u)
#define SHPOOL_GROUPS_bitmap ~, 1
#define SHPOOL_GUARDS_bitmap ~, 1
#define SHPOOL_CLEAN_bitmap  ~, 1
#endif

#endif /* SHPOOL_ALLOCATORS_BITMAP_H */
