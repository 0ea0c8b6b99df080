/* SPDX-License-Identifier: BSD-3-Clause */
/* arena
 *
 * A stack: malloc moves a cursor up, a free of the topmost allocation moves it down again, and a
 * mark moves it back over everything allocated since.  For scratch memory of functions that call
 * each other.
 *
 * Terms
 *   cursor   address after the topmost allocation, a multiple of 16
 *   entry    one word for each allocation, in the order of their addresses.  The first is one of
 *            the pool's last words; entries grow down while allocations grow up.
 *            start of the allocation | HOLE: the one below is freed | LIVE: this one is not
 *   slot     address of the next entry: the lowest one and 4 less
 *
 * Pool:  head of 16 bytes: cursor and slot | up to the alignment | payload ... | ... entries
 *
 * An allocation that is freed below others stays as a dead entry until those are also freed; bytes
 * skipped for an alignment are a dead entry as well.  The topmost entry is always live, so its free
 * is one comparison and one store, unless HOLE requires more.  There are no words between
 * allocations, so an overrun hits its neighbour's payload.  Every bad free is refused, because
 * entries are searched by address.
 *
 * Banks: lanes of a warp have pools an odd multiple of 16 bytes apart, so that four of them share
 * each 16-byte column.  Depending on the pool's address, entries are shifted by 0 to 3 words, and
 * cursor and slot by 0 or 2: lanes at the same height then have no conflict.
 *
 * A shared pool has a lock in its head (impl/heap/group_lock.h explains how it is acquired).
 *
 * Invariants (the numbers that walk reports)
 *   1  cursor and slot are addresses of the pool and leave room for each other; of a shared pool
 *      that is SHPOOL_BROKEN_LOCK
 *   2  starts go up, from the first payload byte, and stay below the cursor
 *   3  HOLE says whether the entry below is dead; the topmost is live
 *
 * Marks are those of obstacks in the GNU C library; releasing a whole scope is Hanson's idea (Fast
 * allocation and deallocation of memory based on object lifetimes, 1990). */
#ifndef SHPOOL_ALLOCATORS_ARENA_H
#define SHPOOL_ALLOCATORS_ARENA_H

#include <shpool/impl/heap/group_lock.h>
#include <shpool/module.h>

#define SHPOOL_MARKS_arena  ~, 1 /* it has marks: module.h */
#define SHPOOL_PACKS_arena  ~, SHPOOL_PACKING(SHPOOL_PACK_UP, 0u, 4u, 0u)
#define SHPOOL_GUARDS_arena ~, 1

#define SHPOOL_ARENA_MOST (256u << 10) /* bytes of the largest pool: a mark has 16 bits for both */
#define SHPOOL_ARENA_LIVE 1u
#define SHPOOL_ARENA_HOLE 2u
#define SHPOOL_ARENA_LOCK 8u /* offset of a shared pool's lock */

/* Both stack pointers; they are loaded and stored as one. */
typedef struct shpool_arena_state {
    simt_addr cursor; /* address of the next allocation */
    simt_addr slot;   /* address of the next entry */
} shpool_arena_state;

/* word[0]: bytes without the highest entry and its largest shift; word[1]: bytes before the
 * payload. */
SIMT_HD shpool_layout shpool_arena_layout(uint32_t bytes, uint32_t alignment)
{
    shpool_layout layout = {0, 0, {0, 0}};

    bytes = (bytes < SHPOOL_ARENA_MOST) ? bytes & ~15u : SHPOOL_ARENA_MOST;
    if (bytes >= alignment + 32u) { /* head, one granule, one entry */
        layout.bytes   = bytes;
        layout.word[0] = bytes - 16u;
        layout.word[1] = alignment;
        layout.largest = layout.word[0] - alignment;
    }
    return layout;
}

/* ---- places ---- */

SIMT_FN simt_addr shpool_arena_begin(shpool_view view) { return view.base + view.word[1]; }

/* The first entry; the others follow below. */
SIMT_FN simt_addr shpool_arena_top(shpool_view view)
{
    return view.base + view.word[0] + ((view.base >> 5) & 12u);
}

/* Entry `n`; the words after the last one are unused. */
SIMT_FN uint32_t shpool_arena_entry(shpool_view view, uint32_t n)
{
    return simt_load32(shpool_arena_top(view) - (n << 2));
}

SIMT_FN void shpool_arena_set(shpool_view view, uint32_t n, uint32_t entry)
{
    simt_store32(shpool_arena_top(view) - (n << 2), entry);
}

SIMT_FN uint32_t shpool_arena_count(shpool_view view, shpool_arena_state s)
{
    return (shpool_arena_top(view) - s.slot) >> 2;
}

/* Where the allocation of an entry starts. */
SIMT_FN simt_addr shpool_arena_start(uint32_t entry) { return entry & ~15u; }

/* In a shared pool the lock follows it; otherwise it is shifted according to the pool's address, to
 * avoid bank conflicts. */
SIMT_FN simt_addr shpool_arena_place(shpool_view view)
{
    uint32_t shared = view.flags & SHPOOL_FLAG_SHARED;

    return view.base + ((shared != 0) ? 0u : (view.base >> 4) & 8u);
}

SIMT_FN shpool_arena_state shpool_arena_load(shpool_view view)
{
    unsigned long long both = simt_load64(shpool_arena_place(view));
    shpool_arena_state s    = {(simt_addr)both, (simt_addr)(both >> 32)};

    return s;
}

SIMT_FN void shpool_arena_store(shpool_view view, simt_addr cursor, simt_addr slot)
{
    simt_store64(shpool_arena_place(view), ((unsigned long long)slot << 32) | cursor);
}

/* ---- looking up an address ---- */

/* Index of the last of `count` entries that starts at addr or below; count if there is none. */
SIMT_FN uint32_t shpool_arena_find(shpool_view view, uint32_t count, simt_addr addr)
{
    uint32_t low  = 0;
    uint32_t high = count;

    while (low < high) {
        uint32_t middle = (low + high) >> 1;

        if (shpool_arena_start(shpool_arena_entry(view, middle)) <= addr) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return (low != 0) ? low - 1u : count;
}

/* SHPOOL_FREE_OK and the allocation's entry; or why the address is not an allocation. */
SIMT_FN uint32_t shpool_arena_look(shpool_view view, shpool_arena_state s, simt_addr addr,
                                   uint32_t *index_p)
{
    uint32_t count = shpool_arena_count(view, s);
    uint32_t entry;

    *index_p = count;
    if (addr - shpool_arena_begin(view) >= view.word[0] - view.word[1]) {
        return SHPOOL_FREE_FOREIGN;
    }
    if (addr < s.cursor) {
        *index_p = shpool_arena_find(view, count, addr);
    }
    if (*index_p == count) {
        return SHPOOL_FREE_DOUBLE; /* nothing is allocated there */
    }
    entry = shpool_arena_entry(view, *index_p);
    if ((entry & SHPOOL_ARENA_LIVE) == 0) {
        return SHPOOL_FREE_DOUBLE;
    }
    return (shpool_arena_start(entry) == addr) ? SHPOOL_FREE_OK : SHPOOL_FREE_INTERIOR;
}

/* First byte after allocation `index`. */
SIMT_FN simt_addr shpool_arena_end(shpool_view view, shpool_arena_state s, uint32_t index)
{
    return (index + 1u == shpool_arena_count(view, s))
               ? s.cursor : shpool_arena_start(shpool_arena_entry(view, index + 1u));
}

/* ---- checking ---- */

/* The invariant that entry `n` breaks, if the next one above starts at `above`; 0: none. */
SIMT_FN uint32_t shpool_arena_wrong(shpool_view view, uint32_t n, simt_addr above)
{
    uint32_t entry = shpool_arena_entry(view, n);
    uint32_t below = SHPOOL_ARENA_LIVE;
    uint32_t fits  = shpool_arena_start(entry) == shpool_arena_begin(view);

    if (n != 0) {
        below = shpool_arena_entry(view, n - 1u);
        fits  = (shpool_arena_start(entry) > shpool_arena_start(below));
    }
    if (((entry & 12u) != 0) || !fits || (shpool_arena_start(entry) >= above)) {
        return 2;
    }
    return (((entry & SHPOOL_ARENA_HOLE) != 0) == ((below & SHPOOL_ARENA_LIVE) == 0)) ? 0u : 3u;
}

SIMT_FN shpool_walk shpool_arena_survey(shpool_view view)
{
    const simt_addr    begin = shpool_arena_begin(view);
    const simt_addr    top   = shpool_arena_top(view);
    shpool_walk        walk  = {0, 0, 0, 0};
    shpool_arena_state s     = shpool_arena_load(view);
    simt_addr          above = s.cursor;
    uint32_t           n;

    walk.where = shpool_arena_place(view);
    if ((s.slot > top) || (s.cursor < begin) || (s.cursor > s.slot + 4u) ||
        (((s.cursor & 15u) | (s.slot & 3u)) != 0)) {
        walk.broken = ((view.flags & SHPOOL_FLAG_SHARED) != 0) ? SHPOOL_BROKEN_LOCK : 1u;
        return walk;
    }
    n = shpool_arena_count(view, s);
    if ((n == 0) && (s.cursor != begin)) {
        walk.broken = 2;
    } else if ((n != 0) && ((shpool_arena_entry(view, n - 1u) & SHPOOL_ARENA_LIVE) == 0)) {
        walk.broken = 3;
    }
    while ((walk.broken == 0) && (n != 0)) {
        uint32_t entry = shpool_arena_entry(view, --n);

        walk.broken = shpool_arena_wrong(view, n, above);
        walk.where  = top - (n << 2);
        if ((entry & SHPOOL_ARENA_LIVE) != 0) {
            walk.live++;
            walk.used += above - shpool_arena_start(entry);
        }
        above = shpool_arena_start(entry);
    }
    walk.where = (walk.broken != 0) ? walk.where : 0u;
    return walk;
}

/* ---- malloc ---- */

SIMT_FN simt_addr shpool_arena_push(shpool_view view, uint32_t bytes, uint32_t alignment)
{
    shpool_arena_state s    = shpool_arena_load(view);
    uint32_t           skip = (0u - s.cursor) & (alignment - 16u); /* of 16 at least */
    uint32_t           dead = (skip != 0) ? 4u : 0u; /* bytes of an entry for what is skipped */
    simt_addr          addr = s.cursor + skip;
    simt_addr          end  = addr + ((bytes + 15u) & ~15u);

    if (end + dead > s.slot) {
        return 0;
    }
    if (skip != 0) { /* what is below it is live: it is the topmost entry */
        simt_store32(s.slot, s.cursor);
    }
    simt_store32(s.slot - dead, (skip != 0) ? addr | SHPOOL_ARENA_HOLE | SHPOOL_ARENA_LIVE
                                            : addr + SHPOOL_ARENA_LIVE);
    shpool_arena_store(view, end, s.slot - dead - 4u);
    return addr;
}

/* ---- free ---- */

/* Take the topmost of `count` entries off, and the dead ones below it. */
SIMT_FN void shpool_arena_pop(shpool_view view, uint32_t count)
{
    uint32_t entry;

    do {
        entry = shpool_arena_entry(view, --count);
    } while ((entry & SHPOOL_ARENA_HOLE) != 0);
    shpool_arena_store(view, shpool_arena_start(entry), shpool_arena_top(view) - (count << 2));
}

/* Any free, valid or not. */
SIMT_FN uint32_t shpool_arena_drop(shpool_view view, shpool_arena_state s, simt_addr addr)
{
    uint32_t count = shpool_arena_count(view, s);
    uint32_t index;
    uint32_t reason = shpool_arena_look(view, s, addr, &index);

    if (reason != SHPOOL_FREE_OK) {
        return reason;
    }
    if (index + 1u == count) {
        shpool_arena_pop(view, count);
    } else {
        shpool_arena_set(view, index, shpool_arena_entry(view, index) & ~SHPOOL_ARENA_LIVE);
        shpool_arena_set(view, index + 1u,
                         shpool_arena_entry(view, index + 1u) | SHPOOL_ARENA_HOLE);
    }
    return SHPOOL_FREE_OK;
}

SIMT_FN uint32_t shpool_arena_give(shpool_view view, simt_addr addr)
{
    shpool_arena_state s = shpool_arena_load(view);

    /* The plain case: topmost, and nothing dead below.  Between the first payload byte and the
     * cursor there is an entry. */
    if (((addr & 15u) == 0) &&
        (addr - shpool_arena_begin(view) < s.cursor - shpool_arena_begin(view)) &&
        (simt_load32(s.slot + 4u) == addr + SHPOOL_ARENA_LIVE)) {
        shpool_arena_store(view, addr, s.slot + 4u);
        return SHPOOL_FREE_OK;
    }
    return shpool_arena_drop(view, s, addr);
}

/* ---- marks: the cursor in granules, and in the upper half the number of entries ---- */

/* SHPOOL_NO_MARK: returns a mark.  Else goes back to that mark and returns 1, or returns 0 if the
 * pool has gone below it. */
SIMT_FN uint32_t shpool_arena_back(shpool_view view, uint32_t to)
{
    shpool_arena_state s     = shpool_arena_load(view);
    const simt_addr    begin = shpool_arena_begin(view);
    uint32_t           count = shpool_arena_count(view, s);
    uint32_t           now   = (count << 16) | ((s.cursor - begin) >> 4);
    uint32_t           keep  = to >> 16;
    uint32_t           entry;

    if (to == SHPOOL_NO_MARK) {
        return now;
    }
    if (keep >= count) { /* nothing has come since, or more has gone */
        return to == now;
    }
    entry = shpool_arena_entry(view, keep); /* the first one allocated since */
    if (shpool_arena_start(entry) != begin + ((to & 0xffffu) << 4)) {
        return 0;
    }
    if ((entry & SHPOOL_ARENA_HOLE) != 0) { /* the old top has been freed since */
        shpool_arena_pop(view, keep);
    } else {
        shpool_arena_store(view, shpool_arena_start(entry), shpool_arena_top(view) - (keep << 2));
    }
    return 1;
}

/* ---- the rest ---- */

SIMT_FN uint32_t shpool_arena_owner(shpool_view view, simt_addr addr)
{
    uint32_t index;

    return shpool_arena_look(view, shpool_arena_load(view), addr, &index);
}

SIMT_FN uint32_t shpool_arena_size(shpool_view view, simt_addr addr)
{
    shpool_arena_state s = shpool_arena_load(view);
    uint32_t           index;

    return (shpool_arena_look(view, s, addr, &index) == SHPOOL_FREE_OK)
               ? shpool_arena_end(view, s, index) - addr : 0u;
}

/* The topmost allocation can grow and shrink; others keep their size, which may suffice. */
SIMT_FN uint32_t shpool_arena_fit(shpool_view view, simt_addr addr, uint32_t bytes)
{
    shpool_arena_state s    = shpool_arena_load(view);
    uint32_t           need = (bytes + 15u) & ~15u;
    uint32_t           index;

    if (shpool_arena_look(view, s, addr, &index) != SHPOOL_FREE_OK) {
        return 0;
    }
    if (index + 1u != shpool_arena_count(view, s)) {
        return need <= shpool_arena_end(view, s, index) - addr;
    }
    if (addr + need > s.slot + 4u) { /* its own entry is there */
        return 0;
    }
    shpool_arena_store(view, addr + need, s.slot);
    return 1;
}

SIMT_FN uint32_t shpool_arena_room(shpool_view view)
{
    shpool_arena_state s = shpool_arena_load(view);

    return (s.slot > s.cursor) ? (s.slot - s.cursor) & ~15u : 0u;
}

/* ---- the module ---- */

/* _result = _call, under the lock if there is one; _forget sets the variables that only _call
 * needed, or the compiler keeps them for another round that never comes. */
#define SHPOOL_ARENA_DO(_result, _call, _forget) \
    if ((view.flags & SHPOOL_FLAG_SHARED) == 0) { \
        if (view.word[0] != 0) { \
            _result = _call; \
        } \
    } else if (view.word[0] != 0) { \
        uint32_t waiting = 1; \
        do { \
            if (shpool_lock_try(view.base + SHPOOL_ARENA_LOCK, 1) == 0) { \
                _result = _call; \
                _forget; \
                /* release: pairs with the acquire in shpool_lock_try; what this thread changed */ \
                simt_atomic_store(view.base + SHPOOL_ARENA_LOCK, 0, SIMT_RELEASE); \
                waiting = simt_pin(0); /* a known 0 would lead straight out of the loop */ \
            } \
        } while (waiting != 0); \
    }

SIMT_FN void shpool_arena_init(shpool_view view, uint32_t member, uint32_t members)
{
    (void)members;
    if (member == 0) {
        simt_store64(view.base + 8u, 0);
        shpool_arena_store(view, shpool_arena_begin(view), shpool_arena_top(view));
    }
}

SIMT_FN simt_addr shpool_arena_malloc(shpool_view view, uint32_t bytes, uint32_t alignment,
                                      uint32_t site)
{
    simt_addr addr = 0;

    (void)site;
    SHPOOL_ARENA_DO(addr, shpool_arena_push(view, bytes, alignment), bytes = alignment = 0)
    return addr;
}

SIMT_FN uint32_t shpool_arena_free(shpool_view view, simt_addr addr, uint32_t site)
{
    uint32_t reason = SHPOOL_FREE_FOREIGN;

    (void)site;
    SHPOOL_ARENA_DO(reason, shpool_arena_give(view, addr), addr = 0)
    return reason;
}

/* free refuses everything that owns does, in one step */
SIMT_FN uint32_t shpool_arena_discard(shpool_view view, simt_addr addr, uint32_t site)
{
    return shpool_arena_free(view, addr, site);
}

SIMT_FN uint32_t shpool_arena_owns(shpool_view view, simt_addr addr)
{
    uint32_t reason = SHPOOL_FREE_FOREIGN;

    SHPOOL_ARENA_DO(reason, shpool_arena_owner(view, addr), addr = 0)
    return reason;
}

SIMT_FN uint32_t shpool_arena_rewind(shpool_view view, uint32_t to)
{
    uint32_t done = (to == SHPOOL_NO_MARK) ? SHPOOL_NO_MARK : 0u;

    SHPOOL_ARENA_DO(done, shpool_arena_back(view, to), to = 0)
    return done;
}

SIMT_FN uint32_t shpool_arena_resize(shpool_view view, simt_addr addr, uint32_t bytes)
{
    uint32_t done = 0;

    SHPOOL_ARENA_DO(done, shpool_arena_fit(view, addr, bytes), addr = bytes = 0)
    return done;
}

SIMT_FN uint32_t shpool_arena_usable(shpool_view view, simt_addr addr)
{
    uint32_t bytes = 0;

    SHPOOL_ARENA_DO(bytes, shpool_arena_size(view, addr), addr = 0)
    return bytes;
}

SIMT_FN uint32_t shpool_arena_largest(shpool_view view)
{
    uint32_t bytes = 0;

    SHPOOL_ARENA_DO(bytes, shpool_arena_room(view), (void)0)
    return bytes;
}

SIMT_FN shpool_walk shpool_arena_guard(shpool_view view)
{
    return shpool_lock_guard(view, SHPOOL_ARENA_LOCK);
}

SIMT_FN shpool_walk shpool_arena_walk(shpool_view view)
{
    shpool_walk walk = {0, 0, 0, 0};

    /* relaxed: the value changes between 0 and 1; a thread would wait for any other value
     * forever */
    if (((view.flags & SHPOOL_FLAG_SHARED) != 0) && (view.word[0] != 0) &&
        (simt_atomic_load(view.base + SHPOOL_ARENA_LOCK, SIMT_RELAXED) > 1u)) {
        walk.broken = SHPOOL_BROKEN_LOCK;
        walk.where  = view.base + SHPOOL_ARENA_LOCK;
    } else {
        SHPOOL_ARENA_DO(walk, shpool_arena_survey(view), (void)0)
    }
    return walk;
}

#endif /* SHPOOL_ALLOCATORS_ARENA_H */
