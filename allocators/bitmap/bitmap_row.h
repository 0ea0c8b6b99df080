/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap for one thread whose run has more than 16 granules, or is aligned to more than 16 bytes.
 * It works on pairs of words.  bitmap.h explains the terms.
 *
 * Search    Peeks: loops that do so have no YIELD, and the claim confirms what they saw.
 * Claim     Each pair of the run by one compare-and-swap.  If one of them is too late, the others
 *           are undone.  After some claims in vain, the request goes on with the exact search and
 *           the ascending claim of bitmap.h, so that one of several requests always progresses.
 * Free      The pairs amid the run are stored to: only their owner changes them.
 *
 * Kernels that never make such requests contain this code, too.  They should need no more registers
 * for it: hence the calls, across which little lives, and what the pins below are for. */
#include <shpool/allocators/bitmap/bitmap.h> /* before the guard: it includes this file */
#ifndef SHPOOL_ALLOCATORS_BITMAP_ROW_H
#define SHPOOL_ALLOCATORS_BITMAP_ROW_H

/* ---- free ---- */

SIMT_FN simt_pair shpool_bitmap_not(simt_pair bits)
{
    bits.x = ~bits.x;
    bits.y = ~bits.y;
    return bits;
}

/* The bits that a run has in the pair in which it ends, if it began before. */
SIMT_FN simt_pair shpool_bitmap_tail(simt_pair words)
{
    simt_pair bits;

    bits.x = shpool_bitmap_rest(words.x, 0);
    bits.y = 0;
    if (shpool_bitmap_goes_on(words.x, bits.x)) {
        bits.x |= SHPOOL_BITMAP_MORE;
        bits.y = shpool_bitmap_rest(words.y, 0);
    }
    return bits;
}

/* Free the rest of a run that the thread has taken: from granule i of word w on, which was `seen`.
 * Only the owner changes the bits of a run, so they stand until this clears them; another warp's
 * CLAIMED, for free granules, can only be in the run's first and last pair.  A call: in the
 * caller's code it would slow down frees that do not need it.  It also says that memory has become
 * free, so that little lives across it.  In a function of the table a call would cost each free a
 * stack frame. */
#undef SHPOOL_BITMAP_REST
#if defined(SHPOOL_TABLE_MODULE)
#define SHPOOL_BITMAP_REST SIMT_FN
#else
#define SHPOOL_BITMAP_REST SIMT_FN_NOINLINE
#endif
SHPOOL_BITMAP_REST void shpool_bitmap_clear_rest(simt_addr base, uint32_t granules, uint32_t rank,
                                               uint32_t w, uint32_t i, uint32_t seen)
{
    const shpool_view view = {base, 0, rank, 0, {granules, 0}, 0};
    const simt_pair   amid = {SHPOOL_BITMAP_THROUGH, SHPOOL_BITMAP_THROUGH};
    const simt_addr   last = shpool_bitmap_word_at(view, shpool_bitmap_words(view) - 2u);
    simt_addr         a[2] = {shpool_bitmap_word_at(view, w & ~1u), 0};
    simt_pair         keep[2];

    /* release: as in shpool_bitmap_clear */
    a[1] = simt_atomic_clear_run(a[0] + 8u, last, amid, &keep[1], SIMT_RELEASE);
    SIMT_ROLLED
    while (((keep[1].x & ~SHPOOL_BITMAP_CLAIMED) == amid.x) && (keep[1].y == amid.y)) {
        /* a warp has allocated the run, and one of its lanes has not yet ended its claim */
        const simt_pair mark = {SHPOOL_BITMAP_CLAIMED, 0};

        simt_atomic_and_pairs(&a[1], &mark, 1u, SIMT_RELEASE);
        a[1] = simt_atomic_clear_run(a[1] + 8u, last, amid, &keep[1], SIMT_RELEASE);
    }
    keep[1] = shpool_bitmap_not(shpool_bitmap_tail(keep[1]));
    seen    = ~(((shpool_bitmap_rest(seen, i) | (1u << SHPOOL_BITMAP_STARTS)) << i) |
             SHPOOL_BITMAP_MORE);
    keep[0].x = ((w & 1u) != 0) ? ~0u : seen;
    keep[0].y = ((w & 1u) != 0) ? seen : 0u; /* the word is wholly the run's */
    simt_atomic_and_pairs(a, keep, 2u, SIMT_RELEASE);
    shpool_bitmap_released(view);
}

/* ---- search: only a hint ---- */

SIMT_FN simt_pair shpool_bitmap_peek(shpool_view view, uint32_t p)
{
    return simt_peek_pair(shpool_bitmap_word_at(view, 2u * p));
}

/* How many granules are free in a row from pair p on; in `pairs` pairs at most. */
SIMT_FN uint32_t shpool_bitmap_ahead(shpool_view view, uint32_t p, uint32_t end, uint32_t pairs)
{
    uint32_t free = 0;
    uint32_t i;

    for (i = 0; i < pairs; i++) { /* no branch: no load waits for another */
        const uint32_t  in    = p + i < end;
        const simt_pair words = shpool_bitmap_peek(view, in ? p + i : end - 1u);
        const uint32_t  front = simt_ffs(~shpool_bitmap_unused_pair(words)) - 1u;

        free += ((free == SHPOOL_BITMAP_PAIR * i) & in) ? front : 0u;
    }
    return free;
}

/* Where a run begins that contains the whole pairs from..from+row-1; NOWHERE if there is no room.
 * *free_p: how many granules are free after them. */
SIMT_FN uint32_t shpool_bitmap_around(shpool_view view, int from, int row, uint32_t end,
                                      shpool_bitmap_wish wish, uint32_t *free_p)
{
    const uint32_t  e     = (uint32_t)(from + row);
    const simt_pair words = shpool_bitmap_peek(view, (from != 0) ? (uint32_t)from - 1u : 0u);
    uint32_t        start = SHPOOL_BITMAP_PAIR * (uint32_t)from;
    uint32_t        free  = shpool_bitmap_ahead(view, e, end, 2u);

    start -= (from != 0) ? shpool_bitmap_back(shpool_bitmap_unused_pair(words)) : 0u;
    start = (start + wish.below) & ~wish.below;
    SIMT_ROLLED /* aligned, it may need more pairs */
    while ((start + wish.need > SHPOOL_BITMAP_PAIR * e + free) &&
           (free >= 2u * SHPOOL_BITMAP_PAIR) && (free % SHPOOL_BITMAP_PAIR == 0)) {
        const uint32_t more = shpool_bitmap_ahead(view, e + free / SHPOOL_BITMAP_PAIR, end, 1u);

        if (more == 0) {
            break;
        }
        free += more;
    }
    *free_p = free;
    return (start + wish.need <= SHPOOL_BITMAP_PAIR * e + free) ? start : SHPOOL_BITMAP_NOWHERE;
}

#define SHPOOL_BITMAP_WHOLE 43u /* granules from which on a run contains a whole pair */

/* First fit for WHOLE granules or more, in pairs p..end-1 and in the free granules before pair p;
 * NOWHERE if there is none.  Any run contains a row of whole pairs, and a row begins after each
 * pair that is not whole.  So the last pairs of each possible row are read first, and of a full
 * pool four pairs in a row's length (the idea is that of Boyer and Moore's search for a string,
 * 1977). */
SIMT_FN uint32_t shpool_bitmap_seek_whole(shpool_view view, uint32_t p, uint32_t end,
                                        shpool_bitmap_wish wish)
{
    const int row  = (int)shpool_bitmap_row_of(wish.need);
    int       from = (int)p;     /* the row's first pair */
    int       q    = from + row; /* its pairs from this one up are whole */

    SIMT_ROLLED
    while (from + row <= (int)end) {
        SIMT_ROLLED
        do {
            /* before pair 0 are other words of the pool, which do not matter */
            const simt_addr a  = shpool_bitmap_word_at(view, 2u * (uint32_t)q);
            const simt_pair v1 = simt_peek_pair(a - 8u);
            const simt_pair v2 = simt_peek_pair(a - 16u);
            const simt_pair v3 = simt_peek_pair(a - 24u);
            const simt_pair v4 = simt_peek_pair(a - 32u);
            int             r; /* after the last one that is not whole: there the next row begins */

            r    = ((v4.x | v4.y) != 0) ? q - 3 : 0;
            r    = ((v3.x | v3.y) != 0) ? q - 2 : r;
            r    = ((v2.x | v2.y) != 0) ? q - 1 : r;
            r    = ((v1.x | v1.y) != 0) ? q : r;
            q    = (r > from) ? r + row : q - 4;
            from = (r > from) ? r : from;
        } while ((q > from) & (from + row <= (int)end));
        if (q <= from) {
            uint32_t       free;
            const uint32_t start = shpool_bitmap_around(view, from, row, end, wish, &free);

            if (start != SHPOOL_BITMAP_NOWHERE) {
                return start;
            }
            from += row + (int)(free / SHPOOL_BITMAP_PAIR) + 1;
            q = from + row;
        }
    }
    return SHPOOL_BITMAP_NOWHERE;
}

#if defined(SHPOOL_BITMAP_AS) /* in a cluster the exact search claims */

/* FROM and the pair with which a run of WHOLE granules or more seems to begin: the first from the
 * thread's home on, else from the pool's beginning.  A call, because it is long; it only peeks (see
 * the top of bitmap.h). */
SIMT_FN_NOINLINE uint32_t shpool_bitmap_seek_from(simt_addr base, uint32_t granules, uint32_t rank,
                                                  uint32_t need, uint32_t alignment)
{
    const shpool_view        view  = {base, 0, rank, 0, {granules, 0}, 0};
    const shpool_bitmap_wish wish  = {need, (alignment >> 4) - 1u};
    const uint32_t           end   = shpool_bitmap_words(view) / 2u;
    uint32_t                 p     = shpool_bitmap_where(view).home / 2u;
    uint32_t                 turns = 2;
    uint32_t                 first = SHPOOL_BITMAP_NOWHERE;

    SIMT_ROLLED
    for (; (turns != 0) && (first == SHPOOL_BITMAP_NOWHERE); turns--) {
        first = shpool_bitmap_seek_whole(view, p, end, wish);
        p     = 0;
    }
    return SHPOOL_BITMAP_FROM |
           ((first != SHPOOL_BITMAP_NOWHERE) ? first / SHPOOL_BITMAP_PAIR : 0u);
}

/* As shpool_bitmap_malloc_far, which begins a long run where there seems to be room for it. */
SIMT_FN simt_addr shpool_bitmap_malloc_any(simt_addr base, uint32_t granules, uint32_t offset,
                                           uint32_t rank, uint32_t need, uint32_t alignment)
{
    if ((need >= SHPOOL_BITMAP_WHOLE) && (need <= granules)) {
        rank = shpool_bitmap_seek_from(base, granules, rank, need, alignment);
    }
    return shpool_bitmap_malloc_far(base, granules, offset, rank, need, alignment);
}

#else

/* First fit for fewer than WHOLE granules from pair p on. */
SIMT_FN uint32_t shpool_bitmap_seek_near(shpool_view view, uint32_t p, uint32_t end,
                                         shpool_bitmap_wish wish)
{
    uint32_t start = SHPOOL_BITMAP_PAIR * p; /* everything from here to pair p is free */

    SIMT_ROLLED
    for (; p < end; p++) {
        const simt_addr a      = shpool_bitmap_word_at(view, 2u * p);
        const uint32_t  unused = shpool_bitmap_unused_pair(simt_peek_pair(a));

        if ((unused != 0) && ((unused != SHPOOL_BITMAP_FULL) ||
                              (SHPOOL_BITMAP_PAIR * (p + 1u) - start >= wish.need))) {
            const uint32_t spot = shpool_bitmap_fit(start, SHPOOL_BITMAP_PAIR * p, unused, wish);

            if (spot != SHPOOL_BITMAP_NOWHERE) {
                return spot;
            }
        }
        if (unused != SHPOOL_BITMAP_FULL) {
            start = SHPOOL_BITMAP_PAIR * (p + 1u) - shpool_bitmap_back(unused);
        }
    }
    return SHPOOL_BITMAP_NOWHERE;
}

/* Where a thread searches: twice the number of a pair, plus 1; and in the upper bits the number of
 * its claims in vain, which the granule that is found there has, too.  So it needs no register of
 * its own in the caller's code. */
#define SHPOOL_BITMAP_TURN  0x10000000u               /* one claim in vain */
#define SHPOOL_BITMAP_TURNS (4u * SHPOOL_BITMAP_TURN) /* that many before the exact search */

SIMT_FN uint32_t shpool_bitmap_turn(uint32_t place)
{
    return place & (0u - SHPOOL_BITMAP_TURN);
}

/* Where a run seems to be free: the first from a place on, else from the pool's beginning; NOWHERE
 * if there is none.  A call, because it is long; its loops only peek (see the top of bitmap.h). */
SIMT_FN_NOINLINE uint32_t shpool_bitmap_seek_far(simt_addr base, uint32_t granules, uint32_t place,
                                                 uint32_t need, uint32_t below)
{
    const shpool_view        view = {base, 0, 0, 0, {granules, 0}, 0};
    const shpool_bitmap_wish wish = {need, below};
    const uint32_t           end  = shpool_bitmap_words(view) / 2u;
    uint32_t                 p    = (place - shpool_bitmap_turn(place)) / 2u;

    (void)simt_atomic_load(base, SIMT_RELAXED); /* parts the warp: the other lanes go on */
    SIMT_ROLLED
    for (;;) {
        const uint32_t first = (need < SHPOOL_BITMAP_WHOLE)
                                   ? shpool_bitmap_seek_near(view, p, end, wish)
                                   : shpool_bitmap_seek_whole(view, p, end, wish);

        if ((first != SHPOOL_BITMAP_NOWHERE) || (p == 0)) {
            return first | shpool_bitmap_turn(place);
        }
        p = 0;
    }
}

/* ---- claim ---- */

/* A pair's bits for a run that has the granules `run` there; head: the one with which it begins, or
 * 0; more: MORE if it continues in the next pair. */
SIMT_FN simt_pair shpool_bitmap_marks(uint32_t run, uint32_t head, uint32_t more)
{
    simt_pair bits;

    bits.x = (run & SHPOOL_BITMAP_USED) | ((head & SHPOOL_BITMAP_USED) << SHPOOL_BITMAP_STARTS) |
             ((((run >> (SHPOOL_BITMAP_SPAN - 1u)) & 3u) == 3u) ? SHPOOL_BITMAP_MORE : 0u);
    bits.y = (run >> SHPOOL_BITMAP_SPAN) |
             ((head >> SHPOOL_BITMAP_SPAN) << SHPOOL_BITMAP_STARTS) | more;
    return bits;
}

/* The bits of the pair in which the run first..end-1 begins, and of the one in which it ends. */
SIMT_FN simt_pair shpool_bitmap_front(uint32_t first, uint32_t end)
{
    const uint32_t low  = first % SHPOOL_BITMAP_PAIR;
    const uint32_t to   = first - low + SHPOOL_BITMAP_PAIR;
    const uint32_t room = (end > to) ? 0u : to - end;

    return shpool_bitmap_marks((SHPOOL_BITMAP_FULL >> room) & (SHPOOL_BITMAP_FULL << low),
                               1u << low, (end > to) ? SHPOOL_BITMAP_MORE : 0u);
}

SIMT_FN simt_pair shpool_bitmap_rear(uint32_t end)
{
    return shpool_bitmap_marks(
        SHPOOL_BITMAP_FULL >> (SHPOOL_BITMAP_PAIR - 1u - (end - 1u) % SHPOOL_BITMAP_PAIR), 0, 0);
}

SIMT_FN simt_pair shpool_bitmap_with(simt_pair words, simt_pair bits)
{
    words.x |= bits.x;
    words.y |= bits.y;
    return words;
}

/* Whether the granules that these bits mark are free in a pair. */
SIMT_FN uint32_t shpool_bitmap_has_room(simt_pair words, simt_pair bits)
{
    const uint32_t x = (words.x | (words.x >> SHPOOL_BITMAP_STARTS)) & bits.x;
    const uint32_t y = (words.y | (words.y >> SHPOOL_BITMAP_STARTS)) & bits.y;

    return ((x | y) & SHPOOL_BITMAP_USED) == 0;
}

/* Mark `bits` in the pair at a: 1, or 0 if their granules are not free any more, or if others have
 * changed the rest of the pair.  One try: more of them would be code amid what usually runs. */
SIMT_FN uint32_t shpool_bitmap_claim_at(simt_addr a, simt_pair bits, simt_order o)
{
    const simt_pair was = simt_peek_pair(a);

    return shpool_bitmap_has_room(was, bits) &&
           simt_atomic_cas_pair(a, was, shpool_bitmap_with(was, bits), o);
}

/* Where to search after a claim in vain of a run that was found at granule `first`. */
SIMT_FN uint32_t shpool_bitmap_next_turn(uint32_t first)
{
    const uint32_t turn = shpool_bitmap_turn(first);

    return turn + SHPOOL_BITMAP_TURN + 2u * ((first - turn) / SHPOOL_BITMAP_PAIR) + 1u;
}

/* End a claim in vain: undo the marks of the pairs after the one with granule `first` up to pair p,
 * which is not marked; and if `front`, also those of the former.  release: as in
 * shpool_bitmap_clear */
SIMT_FN void shpool_bitmap_retreat(shpool_view view, uint32_t first, uint32_t p, uint32_t front)
{
    const uint32_t  from  = first / SHPOOL_BITMAP_PAIR;
    const simt_addr a     = shpool_bitmap_word_at(view, 2u * from);
    const simt_pair none  = {0, 0};
    const simt_pair other = shpool_bitmap_not(shpool_bitmap_front(first, ~0u));

    SIMT_ROLLED
    while (--p != from) {
        const simt_addr amid = shpool_bitmap_word_at(view, 2u * p);

        simt_atomic_and_pairs(&amid, &none, 1u, SIMT_RELEASE);
    }
    if (front) {
        simt_atomic_and_pairs(&a, &other, 1u, SIMT_RELEASE);
    }
    shpool_bitmap_claimed(view, 1u);
}

/* Mark the run of `need` granules that was found at granule `found`: first the pairs amid it, so
 * that no loop depends on the result of an atomic (see the top of bitmap.h).  Returns its address;
 * or, with nothing marked, the place to search next, which is odd: the run was not free any more,
 * perhaps because of another claim that is undone, too, or others changed the rest of a pair. */
SIMT_FN_NOINLINE simt_addr shpool_bitmap_claim_run(simt_addr base, uint32_t offset, uint32_t found,
                                                   uint32_t need)
{
    const simt_pair   none  = {0, 0};
    const simt_pair   amid  = {SHPOOL_BITMAP_THROUGH, SHPOOL_BITMAP_THROUGH};
    const uint32_t    first = found - shpool_bitmap_turn(found);
    const shpool_view view  = {base, 0, first, 0, {0, offset}, 0};
    const uint32_t    from  = first / SHPOOL_BITMAP_PAIR;
    const uint32_t    last  = (first + need - 1u) / SHPOOL_BITMAP_PAIR;
    uint32_t          p     = from + 1u;
    uint32_t          front;

    if (from == last) { /* its marks are never transient; acquire: as in shpool_bitmap_take */
        return shpool_bitmap_claim_at(shpool_bitmap_word_at(view, 2u * from),
                                      shpool_bitmap_front(first, first + need), SIMT_ACQUIRE)
                   ? shpool_bitmap_payload(view, first) : shpool_bitmap_next_turn(found);
    }
    shpool_bitmap_claiming(view);
    p += simt_atomic_cas_pairs(shpool_bitmap_word_at(view, 2u * p), last - p, none, amid,
                               SIMT_ACQ_REL); /* as in shpool_bitmap_claim */
    front = (p == last) && shpool_bitmap_claim_at(shpool_bitmap_word_at(view, 2u * from),
                                                  shpool_bitmap_front(first, first + need),
                                                  SIMT_ACQ_REL);
    /* acquire alone: with this mark the run is the thread's, for good */
    if (front && shpool_bitmap_claim_at(shpool_bitmap_word_at(view, 2u * last),
                                        shpool_bitmap_rear(first + need), SIMT_ACQUIRE)) {
        shpool_bitmap_claimed(view, 0);
        return shpool_bitmap_payload(view, first);
    }
    found = simt_pin(found); /* what only this needs is computed here */
    shpool_bitmap_retreat(view, found - shpool_bitmap_turn(found), p, front);
    return shpool_bitmap_next_turn(simt_pin(found));
}

/* Whether a request is for a run of more than 16 granules, or one that is aligned to more than 16
 * bytes, and the pool has that many. */
SIMT_FN uint32_t shpool_bitmap_is_run(shpool_view view, uint32_t need, uint32_t alignment)
{
    return ((need > 16u) || (alignment > 16u)) && (need <= view.word[0]);
}

/* Such a request.  Nothing lives across the calls but the arguments. */
SHPOOL_BITMAP_AWAY simt_addr shpool_bitmap_malloc_run(simt_addr base, uint32_t granules,
                                                      uint32_t offset, uint32_t rank,
                                                      uint32_t need, uint32_t alignment)
{
    /* pinned: else every kernel would keep the home for this */
    const shpool_view view  = {base, 0, simt_pin(rank), 0, {granules, 0}, 0};
    uint32_t          place = shpool_bitmap_where(view).home | 1u;

    SIMT_ROLLED
    while (place < SHPOOL_BITMAP_TURNS) {
        const uint32_t first = shpool_bitmap_seek_far(base, granules, place, need,
                                                      (alignment >> 4) - 1u);

        if (first == SHPOOL_BITMAP_NOWHERE) {
            break;
        }
        place = shpool_bitmap_claim_run(base, offset, first, need);
        if ((place & 1u) == 0) {
            return place;
        }
    }
    return shpool_bitmap_malloc_far(base, granules, offset, rank, need, alignment);
}

#endif /* SHPOOL_BITMAP_AS */
#endif /* SHPOOL_ALLOCATORS_BITMAP_ROW_H */
