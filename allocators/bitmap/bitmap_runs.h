/* SPDX-License-Identifier: BSD-3-Clause */
/* bitmap's words: their addresses, and how runs of granules are claimed and freed in them.
 * bitmap.h explains the terms, and chooses the runs. */
#ifndef SHPOOL_ALLOCATORS_BITMAP_RUNS_H
#define SHPOOL_ALLOCATORS_BITMAP_RUNS_H

#include <shpool/abi.h>
#include <shpool/impl/heap/run_word.h>
#include <shpool/simt.h>

#define SHPOOL_BITMAP_SPAN     11u         /* granules of a word */
#define SHPOOL_BITMAP_USED     0x000007ffu /* used bits of a word */
#define SHPOOL_BITMAP_STARTS   16u         /* where its start bits begin */
#define SHPOOL_BITMAP_LAST     0x00000400u /* used bit of its last granule */
#define SHPOOL_BITMAP_CLAIMED  0x00000800u /* of a pair's first word: a group is claiming in it */
#define SHPOOL_BITMAP_MORE     0x80000000u /* the run with that one continues in the next word */
#define SHPOOL_BITMAP_COUNTERS 8u          /* of releases; a power of two */
#define SHPOOL_BITMAP_PAIR     22u         /* granules of a pair of words */
#define SHPOOL_BITMAP_PART     0x98000000u /* 19 / 32 of 2^32: puts lanes into different parts */
#define SHPOOL_BITMAP_FULL     0x003fffffu /* a pair of which all are free */
#define SHPOOL_BITMAP_THROUGH  0x800007ffu /* a word amid a run: used, and continued */
#define SHPOOL_BITMAP_NOWHERE  0xffffffffu /* no granule */
#define SHPOOL_BITMAP_PAUSE    32u         /* nanoseconds: about as long as a group's claim takes */
#define SHPOOL_BITMAP_DOUBLED  5u          /* times, where searches are in vain */
#define SHPOOL_BITMAP_LONGEST  8u          /* the same for threads: up to 8 us */
#define SHPOOL_BITMAP_BEGIN    12u         /* offset of the word with spread, next and hint */
#define SHPOOL_BITMAP_SPREAD   0x000003ffu /* the spread's bits */
#define SHPOOL_BITMAP_NEXT     10u         /* where next begins, a quarter of a granule's number */
#define SHPOOL_BITMAP_NEXTS    0x003ffc00u /* its bits */
#define SHPOOL_BITMAP_HINT     22u         /* where the hint begins */
#define SHPOOL_BITMAP_CONTROL  (16u + 4u * SHPOOL_BITMAP_COUNTERS) /* bytes before the words */

/* ---- geometry: word[0] = G, word[1] = offset of granule 0 ---- */

/* The word that has granule g: g / 11 for g below 2^28. */
SIMT_HD uint32_t shpool_bitmap_word_of(uint32_t g)
{
    return (uint32_t)(((unsigned long long)g * 390451573u) >> 32);
}

/* Number of words for `granules` granules: they come in pairs. */
SIMT_HD uint32_t shpool_bitmap_words_of(uint32_t granules)
{
    return 2u * ((granules + 2u * SHPOOL_BITMAP_SPAN - 1u) / (2u * SHPOOL_BITMAP_SPAN));
}

SIMT_HD uint32_t shpool_bitmap_offset(uint32_t words, uint32_t alignment)
{
    return (SHPOOL_BITMAP_CONTROL + 4u * words + alignment - 1u) & ~(alignment - 1u);
}

/* Number of granules that fit after the words. */
SIMT_HD uint32_t shpool_bitmap_granules(uint32_t bytes, uint32_t alignment, uint32_t words)
{
    uint32_t offset = shpool_bitmap_offset(words, alignment);
    uint32_t room   = (bytes > offset) ? (bytes - offset) >> 4 : 0u;

    return (room < SHPOOL_BITMAP_SPAN * words) ? room : SHPOOL_BITMAP_SPAN * words;
}

SIMT_HD shpool_layout shpool_bitmap_layout(uint32_t bytes, uint32_t alignment)
{
    shpool_layout layout = {0, 0, {0, 0}};
    uint32_t      pair   = 2u * (16u * SHPOOL_BITMAP_SPAN + 4u); /* two words, and theirs */
    uint32_t      words  = 2u * ((bytes + pair - 1u) / pair);
    uint32_t      granules;

    if (words == 0) {
        return layout;
    }
    granules = shpool_bitmap_granules(bytes, alignment, words);
    /* Where padding rounds the words up, fewer words can leave more payload. */
    while ((words > 2u) && (shpool_bitmap_granules(bytes, alignment, words - 2u) >= granules)) {
        words -= 2u;
        granules = shpool_bitmap_granules(bytes, alignment, words);
    }
    if (granules == 0) {
        return layout;
    }
    layout.word[0] = granules;
    layout.word[1] = shpool_bitmap_offset(shpool_bitmap_words_of(granules), alignment);
    layout.largest = granules << 4;
    layout.bytes   = layout.word[1] + layout.largest;
    return layout;
}

SIMT_FN uint32_t shpool_bitmap_words(shpool_view view)
{
    return shpool_bitmap_words_of(view.word[0]);
}

SIMT_FN simt_addr shpool_bitmap_word_at(shpool_view view, uint32_t w)
{
    return view.base + SHPOOL_BITMAP_CONTROL + 4u * w;
}

SIMT_FN simt_addr shpool_bitmap_payload(shpool_view view, uint32_t granule)
{
    return view.base + view.word[1] + (granule << 4);
}

/* ---- bits of a word ---- */

/* The free granules of a word. */
SIMT_FN uint32_t shpool_bitmap_unused(uint32_t word)
{
    return ~(word | (word >> SHPOOL_BITMAP_STARTS)) & SHPOOL_BITMAP_USED;
}

/* Used and start bit of granule i: both in bits 0 and 16. */
SIMT_FN uint32_t shpool_bitmap_both(uint32_t word, uint32_t i)
{
    return (word >> i) & ((1u << SHPOOL_BITMAP_STARTS) | 1u);
}

/* Whether the run with the bits `run` of a word continues in the next one. */
SIMT_FN uint32_t shpool_bitmap_goes_on(uint32_t word, uint32_t run)
{
    return ((run & SHPOOL_BITMAP_LAST) != 0) && ((word & SHPOOL_BITMAP_MORE) != 0);
}

/* The granules that the allocation with granule i has in this word from there on, as ones from
 * bit 0 on. */
SIMT_FN uint32_t shpool_bitmap_rest(uint32_t word, uint32_t i)
{
    /* used, beginning nothing */
    return shpool_run_extent(((word & ~(word >> SHPOOL_BITMAP_STARTS)) & SHPOOL_BITMAP_USED) >> i);
}

/* ---- pairs of words ---- */

/* The free granules of a pair. */
SIMT_FN uint32_t shpool_bitmap_unused_pair(simt_pair words)
{
    return shpool_bitmap_unused(words.x) |
           (shpool_bitmap_unused(words.y) << SHPOOL_BITMAP_SPAN);
}

/* How many granules are free at a pair's end, from the last one down. */
SIMT_FN uint32_t shpool_bitmap_back(uint32_t unused)
{
    return simt_clz(~(unused << (32u - SHPOOL_BITMAP_PAIR)));
}

/* Object of a search: `need` granules, the first of which has a number that is a multiple of below
 * + 1. */
typedef struct shpool_bitmap_wish {
    uint32_t need;
    uint32_t below;
} shpool_bitmap_wish;

/* The lowest bit i set in `starts` such that at + i is a multiple of below + 1; 32 or more if there
 * is none. */
SIMT_FN uint32_t shpool_bitmap_aligned(uint32_t starts, uint32_t at, uint32_t below)
{
    uint32_t i = (0u - at) & below;

    if (below == 0) {
        return simt_ffs(starts) - 1u;
    }
    SIMT_ROLLED
    while ((i < SHPOOL_BITMAP_PAIR) && (((starts >> i) & 1u) == 0)) {
        i += below + 1u;
    }
    return (i < SHPOOL_BITMAP_PAIR) ? i : 32u;
}

/* The lowest sufficiently long run that ends in a pair or is inside it; NOWHERE if there is none.
 * `start`: where the free run begins that reaches into the pair from below; `at`: the pair's first
 * granule. */
SIMT_FN uint32_t shpool_bitmap_fit(uint32_t start, uint32_t at, uint32_t unused,
                                   shpool_bitmap_wish wish)
{
    uint32_t end = at + simt_ffs(~unused) - 1u; /* its end */
    uint32_t fit;

    start = (start + wish.below) & ~wish.below;
    if (start + wish.need <= end) {
        return start;
    }
    if (wish.need >= SHPOOL_BITMAP_PAIR) { /* else it may lie within the pair */
        return SHPOOL_BITMAP_NOWHERE;
    }
    /* pinned: its shifts would take registers in every search */
    fit = shpool_run_starts(unused, simt_pin(wish.need), 32u);
    fit = shpool_bitmap_aligned(fit, at, wish.below);
    return (fit < 32u) ? at + fit : SHPOOL_BITMAP_NOWHERE;
}

/* ---- pairs that are entirely free ---- */

/* The number of whole pairs in a row that any run of `need` granules contains. */
SIMT_FN uint32_t shpool_bitmap_row_of(uint32_t need)
{
    const uint32_t part = SHPOOL_BITMAP_PAIR - 1u; /* of the pair in which it begins */

    return (need > part) ? (need - part) / SHPOOL_BITMAP_PAIR : 0u;
}

/* The free granules of pair p; *busy_p becomes CLAIMED if a group is claiming there. */
SIMT_FN uint32_t shpool_bitmap_unused_at(shpool_view view, uint32_t p, uint32_t *busy_p)
{
    simt_addr a     = shpool_bitmap_word_at(view, 2u * p);
    /* acquire: pairs with the release of the claim that set a mark; its pending count shows */
    simt_pair words = simt_atomic_load_pair(a, SIMT_ACQUIRE);

    *busy_p |= words.x & SHPOOL_BITMAP_CLAIMED;
    return shpool_bitmap_unused_pair(words);
}

/* The last pair with which a warp, which reads a pair in each lane, may begin its first look. */
SIMT_FN uint32_t shpool_bitmap_last_start(shpool_view view)
{
    /* pinned: seldom used, it would keep a register in every search */
    const uint32_t pairs = simt_pin(shpool_bitmap_words_of(simt_pin(view.word[0])) / 2u);
    const int      last  = (int)pairs - (int)SIMT_WARP;

    return (last > 0) ? (uint32_t)last : 0u;
}

/* ---- a fresh pool ---- */

/* The bits of word w for granules after G-1: always set. */
SIMT_FN uint32_t shpool_bitmap_behind(shpool_view view, uint32_t w)
{
    uint32_t from   = SHPOOL_BITMAP_SPAN * w;
    uint32_t here   = (view.word[0] > from) ? view.word[0] - from : 0u;
    uint32_t behind = SHPOOL_BITMAP_USED & ~simt_mask(0, here);

    return behind | (behind << SHPOOL_BITMAP_STARTS);
}

SIMT_FN void shpool_bitmap_init(shpool_view view, uint32_t member, uint32_t members)
{
    uint32_t words = shpool_bitmap_words(view);
    uint32_t w;

    if (words == 0) {
        return;
    }
    if (member == 0) {
        simt_store32(view.base, 0);
        simt_store32(view.base + 4u, view.word[0]);
        simt_store32(view.base + 8u, view.word[1]);
        simt_store32(view.base + SHPOOL_BITMAP_BEGIN, 0);
    }
    for (w = member; w < SHPOOL_BITMAP_COUNTERS; w += members) {
        simt_store32(view.base + 16u + 4u * w, 0);
    }
    for (w = member; w < words; w += members) {
        simt_store32(shpool_bitmap_word_at(view, w), shpool_bitmap_behind(view, w));
    }
}

/* ---- the count of releases ---- */

/* Say that memory became free; after it did. */
SIMT_FN void shpool_bitmap_released(shpool_view view)
{
    /* release: pairs with the acquire in shpool_bitmap_releases */
    (void)simt_atomic_add(view.base + 16u + 4u * (view.rank & (SHPOOL_BITMAP_COUNTERS - 1u)), 1u,
                          SIMT_RELEASE);
}

/* How often memory has become free. */
SIMT_FN uint32_t shpool_bitmap_releases(simt_addr base)
{
    uint32_t sum = 0;
    uint32_t i;

    SIMT_ROLLED
    for (i = 0; i < SHPOOL_BITMAP_COUNTERS; i++) {
        /* acquire: pairs with the release in shpool_bitmap_released; what was free then is seen */
        sum += simt_atomic_load(base + 16u + 4u * i, SIMT_ACQUIRE);
    }
    return sum;
}

/* ---- claiming and freeing runs ---- */

/* Undo marks of granules first..first+count-1, word by word.  A thread that gets the first of them
 * while the others are still marked does not count those as its own: a run continues in the next
 * word only if bit 31 is set. */
SIMT_FN void shpool_bitmap_clear(shpool_view view, uint32_t first, uint32_t count)
{
    while (count != 0) {
        uint32_t w    = shpool_bitmap_word_of(first + count - 1u);
        uint32_t base = SHPOOL_BITMAP_SPAN * w;
        uint32_t from = (first > base) ? first : base;
        uint32_t n    = first + count - from;
        uint32_t mask = simt_mask(from - base, n);
        uint32_t more = ((mask & SHPOOL_BITMAP_LAST) != 0) ? SHPOOL_BITMAP_MORE : 0u;

        /* release: the owner's accesses to the payload; pairs with the acquire of the claim that
         * takes the granules next (shpool_bitmap_claim, _claim_run, _take, _take_at and _cross) */
        (void)simt_atomic_and(shpool_bitmap_word_at(view, w),
                              ~(mask | (mask << SHPOOL_BITMAP_STARTS) | more), SIMT_RELEASE);
        count -= n;
    }
}

/* Begin a claim of more than one word. */
SIMT_FN void shpool_bitmap_claiming(shpool_view view)
{
    /* relaxed: the marks' release orders it for a thread that sees a mark */
    (void)simt_atomic_add(view.base, 1u, SIMT_RELAXED);
}

/* End it; undone: its marks are gone again. */
SIMT_FN void shpool_bitmap_claimed(shpool_view view, uint32_t undone)
{
    if (undone) {
        shpool_bitmap_released(view); /* first: a thread that sees nothing pending also sees this */
        /* release: pairs with the acquire of the pending count in shpool_bitmap_malloc_slow */
        (void)simt_atomic_add(view.base, 0u - 1u, SIMT_RELEASE);
    } else {
        /* relaxed: marks that stay are an allocation, whenever they are seen */
        (void)simt_atomic_add(view.base, 0u - 1u, SIMT_RELAXED);
    }
}

/* Mark granules first..end-1 as used; head: with a start bit.  Returns 1, or 0 with nothing marked.
 * Words in ascending order: among conflicting claims, the one furthest up always progresses. */
SIMT_FN uint32_t shpool_bitmap_claim(shpool_view view, uint32_t first, uint32_t end, uint32_t head)
{
    uint32_t w       = shpool_bitmap_word_of(first);
    uint32_t is_long = w != shpool_bitmap_word_of(end - 1u);
    uint32_t at;

    if (is_long) {
        shpool_bitmap_claiming(view);
    }
    for (at = first; at < end; w++) {
        simt_addr a = shpool_bitmap_word_at(view, w);
        uint32_t  base;
        uint32_t  room;
        uint32_t  mask;
        uint32_t  set;
        uint32_t  seen;
        uint32_t  old;

        if (at != first) { /* words that are wholly the run's, but the last; orders as below */
            uint32_t n = simt_atomic_cas_run(a, 0, SHPOOL_BITMAP_THROUGH,
                                             (end - at - 1u) / SHPOOL_BITMAP_SPAN, SIMT_ACQ_REL);

            a += 4u * n;
            w += n;
            at += SHPOOL_BITMAP_SPAN * n;
        }
        base = SHPOOL_BITMAP_SPAN * w;
        room = base + SHPOOL_BITMAP_SPAN - at;
        mask = simt_mask(at - base, (end - at < room) ? end - at : room);
        set  = mask | ((at == first) ? head << (SHPOOL_BITMAP_STARTS + at - base) : 0u) |
              ((end - at > room) ? SHPOOL_BITMAP_MORE : 0u);
        old  = simt_atomic_load(a, SIMT_RELAXED);
        do {
            seen = old;
            if ((~shpool_bitmap_unused(seen) & mask) != 0) {
                shpool_bitmap_clear(view, first, at - first);
                if (is_long) {
                    shpool_bitmap_claimed(view, 1u);
                }
                return 0;
            }
            /* acquire: pairs with the release in shpool_bitmap_clear, _clear_rest, _give and
             * _free_long, the payload's last owner is done with it.  release: pairs with the
             * acquire in shpool_bitmap_unused_at, a thread that sees the mark also sees it
             * pending */
            old = simt_atomic_cas(a, seen, seen | set, SIMT_ACQ_REL);
        } while (old != seen);
        at = base + SHPOOL_BITMAP_SPAN;
    }
    if (is_long) {
        shpool_bitmap_claimed(view, 0);
    }
    return 1;
}

#endif /* SHPOOL_ALLOCATORS_BITMAP_RUNS_H */
