/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool of an arena: where its words lie, how an address is looked up, what must hold.  Not for
 * direct inclusion; arena.h tells what they are. */
#ifndef SHPOOL_ALLOCATORS_ARENA_ENTRIES_H
#define SHPOOL_ALLOCATORS_ARENA_ENTRIES_H

#include <shpool/impl/heap/group_lock.h>
#include <shpool/module.h>

#define SHPOOL_ARENA_MOST (256u << 10) /* bytes of the largest pool: a mark has 16 bits for both */
#define SHPOOL_ARENA_LIVE 1u
#define SHPOOL_ARENA_HOLE 2u
#define SHPOOL_ARENA_LOCK 8u /* offset of a shared pool's lock */

/* Both stack pointers; they are loaded and stored as one. */
typedef struct shpool_arena_state {
    simt_addr cursor; /* where the next allocation goes */
    simt_addr slot;   /* where the next entry goes */
} shpool_arena_state;

/* word[0]: bytes without the highest entry and what it can be moved by; word[1]: in front of the
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

/* Entry `n`; those behind the last one are nobody's. */
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

/* Of a shared pool the lock comes behind it; else it is moved by the pool's address, for the banks'
 * sake. */
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

/* ---- looking up ---- */

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

/* SHPOOL_FREE_OK, and which entry an allocation has; or why that address is none. */
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

/* First byte behind allocation `index`. */
SIMT_FN simt_addr shpool_arena_end(shpool_view view, shpool_arena_state s, uint32_t index)
{
    return (index + 1u == shpool_arena_count(view, s))
               ? s.cursor : shpool_arena_start(shpool_arena_entry(view, index + 1u));
}

/* ---- checking ---- */

/* What is wrong with entry `n`, above which the next one starts at `above`; 0: nothing. */
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

#endif /* SHPOOL_ALLOCATORS_ARENA_ENTRIES_H */
