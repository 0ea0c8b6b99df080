/* SPDX-License-Identifier: BSD-3-Clause */
/* rbtree: best fit by a digital tree of the free blocks.
 *
 * Blocks, headers and sentinel are those of impl/heap/boundary_tags.h; a tree replaces its list.
 *
 * Terms
 *   node      one free block of each existing size; its first payload bytes are five half-words:
 *             two children, parent, next and previous (by granule, 0: none)
 *   ring      free blocks of one size, doubly linked; one of them is the node, the others have the
 *             parent NONE
 *   tree      a digital search tree: at depth d, bit 14 - d of the requested size selects the
 *             child; so no path is longer than the 15 bits of a size, whatever the order of
 *             insertions, and no rotations are needed
 *
 * Pool:  root | lock | geometry | header | payload ... | sentinel
 *
 * Policy: best fit (the smallest free block that is large enough), taken from its high end;
 * immediate coalescing with both neighbours.  4 bytes per allocation, rounded up to 16; 20 bytes
 * per pool.  malloc and free each take at most 15 steps in the tree.  A request with an alignment
 * above 16 for which no block has room to spare visits every block.
 *
 * Invariants (the numbers that walk reports): 1 to 3 as boundary_tags.h
 *   4  the tree has exactly the free blocks, each in the place for its size
 *
 * It replaces cuda_memory's red-black tree.  A digital tree has the same bound without colours and
 * rotations: Lea, A Memory Allocator (dlmalloc 2.8), "treebins". */
#ifndef SHPOOL_ALLOCATORS_RBTREE_H
#define SHPOOL_ALLOCATORS_RBTREE_H

#include <shpool/impl/heap/boundary_tags.h>
#include <shpool/impl/heap/group_lock.h>
#include <shpool/module.h>

/* ---- nodes ---- */

#define SHPOOL_RB_NONE 0xffffu     /* parent of a block that is in a ring only */
#define SHPOOL_RB_TOP  (1u << 14)  /* the bit that the root decides by */

/* Half-words of a node, as offsets in its payload. */
enum { SHPOOL_RB_CHILD = 0, SHPOOL_RB_PARENT = 4, SHPOOL_RB_NEXT = 6, SHPOOL_RB_PREVIOUS = 8 };

SIMT_FN uint32_t shpool_rb_get(shpool_view view, uint32_t block, uint32_t what)
{
    return simt_load16(shpool_tags_payload(view, block) + what);
}
SIMT_FN void shpool_rb_set(shpool_view view, uint32_t block, uint32_t what, uint32_t value)
{
    simt_store16(shpool_tags_payload(view, block) + what, (uint16_t)value);
}
SIMT_FN uint32_t shpool_rb_size(shpool_view view, uint32_t block)
{
    return shpool_tags_size(shpool_tags_header(view, block));
}
SIMT_FN uint32_t shpool_rb_root(shpool_view view) { return simt_load32(view.base); }

/* Where a node with that parent has its number: the child on the side that `which` is on now. */
SIMT_FN void shpool_rb_replace(shpool_view view, uint32_t parent, uint32_t which, uint32_t by)
{
    if (parent == 0) {
        simt_store32(view.base, by);
    } else {
        uint32_t right = (shpool_rb_get(view, parent, SHPOOL_RB_CHILD) != which) ? 2u : 0u;

        shpool_rb_set(view, parent, SHPOOL_RB_CHILD + right, by);
    }
}

/* ---- the tree: insert ---- */

/* The free block becomes a node without children under parent. */
SIMT_FN void shpool_rb_plant(shpool_view view, uint32_t block, uint32_t parent)
{
    simt_store32(shpool_tags_payload(view, block), 0);
    simt_store32(shpool_tags_payload(view, block) + 4u, parent | (block << 16));
    shpool_rb_set(view, block, SHPOOL_RB_PREVIOUS, block);
}

/* The free block joins the ring of node `at`. */
SIMT_FN void shpool_rb_join(shpool_view view, uint32_t block, uint32_t at)
{
    uint32_t next = shpool_rb_get(view, at, SHPOOL_RB_NEXT);

    simt_store32(shpool_tags_payload(view, block) + 4u, SHPOOL_RB_NONE | (next << 16));
    shpool_rb_set(view, block, SHPOOL_RB_PREVIOUS, at);
    shpool_rb_set(view, next, SHPOOL_RB_PREVIOUS, block);
    shpool_rb_set(view, at, SHPOOL_RB_NEXT, block);
}

SIMT_FN void shpool_rb_insert(shpool_view view, uint32_t block, uint32_t size)
{
    uint32_t at  = shpool_rb_root(view);
    uint32_t bit = SHPOOL_RB_TOP;

    if (at == 0) {
        simt_store32(view.base, block);
        shpool_rb_plant(view, block, 0);
        return;
    }
    for (;;) {
        uint32_t side = ((size & bit) != 0) ? 2u : 0u;
        uint32_t child;

        if (shpool_rb_size(view, at) == size) {
            shpool_rb_join(view, block, at);
            return;
        }
        child = shpool_rb_get(view, at, SHPOOL_RB_CHILD + side);
        if (child == 0) {
            shpool_rb_set(view, at, SHPOOL_RB_CHILD + side, block);
            shpool_rb_plant(view, block, at);
            return;
        }
        at  = child;
        bit = bit >> 1;
    }
}

/* ---- the tree: remove ---- */

/* `by` replaces node `block` in the tree, with its children. */
SIMT_FN void shpool_rb_inherit(shpool_view view, uint32_t block, uint32_t by)
{
    uint32_t word = shpool_rb_get(view, block, SHPOOL_RB_PARENT);

    shpool_rb_replace(view, word, block, by);
    shpool_rb_set(view, by, SHPOOL_RB_PARENT, word);
    word = simt_load32(shpool_tags_payload(view, block)); /* both children */
    simt_store32(shpool_tags_payload(view, by), word);
    if ((word & 0xffffu) != 0) {
        shpool_rb_set(view, word & 0xffffu, SHPOOL_RB_PARENT, by);
    }
    if ((word >> 16) != 0) {
        shpool_rb_set(view, word >> 16, SHPOOL_RB_PARENT, by);
    }
}

/* Some leaf below `block`, or 0. */
SIMT_FN uint32_t shpool_rb_leaf(shpool_view view, uint32_t block)
{
    uint32_t leaf = 0;

    for (;;) {
        uint32_t children = simt_load32(shpool_tags_payload(view, block));

        if (children == 0) {
            return leaf;
        }
        block = ((children >> 16) != 0) ? children >> 16 : children;
        leaf  = block;
    }
}

SIMT_FN void shpool_rb_remove(shpool_view view, uint32_t block)
{
    uint32_t next = shpool_rb_get(view, block, SHPOOL_RB_NEXT);

    if (next != block) { /* others are as large */
        uint32_t previous = shpool_rb_get(view, block, SHPOOL_RB_PREVIOUS);

        shpool_rb_set(view, previous, SHPOOL_RB_NEXT, next);
        shpool_rb_set(view, next, SHPOOL_RB_PREVIOUS, previous);
    } else {
        next = shpool_rb_leaf(view, block); /* fits at any place on the path to it */
        if (next == 0) {
            shpool_rb_replace(view, shpool_rb_get(view, block, SHPOOL_RB_PARENT), block, 0);
            return;
        }
        shpool_rb_replace(view, shpool_rb_get(view, next, SHPOOL_RB_PARENT), next, 0);
    }
    if (shpool_rb_get(view, block, SHPOOL_RB_PARENT) != SHPOOL_RB_NONE) {
        shpool_rb_inherit(view, block, next);
    }
}

/* Called by one thread. */
SIMT_FN void shpool_rb_init(shpool_view view)
{
    if (view.word[0] == 0) {
        return;
    }
    shpool_tags_init(view);
    simt_store32(view.base, 0);
    shpool_rb_insert(view, view.word[1], view.word[0] - view.word[1]);
}

/* ---- malloc ---- */

/* The better of two blocks for `need` granules: `at`, or the best so far (0: none). */
SIMT_FN uint32_t shpool_rb_better(shpool_view view, uint32_t at, uint32_t best, uint32_t need)
{
    uint32_t size = shpool_rb_size(view, at);

    return ((size >= need) && ((best == 0) || (size < shpool_rb_size(view, best)))) ? at : best;
}

/* The smallest free block of at least `need` granules, or 0. */
SIMT_FN uint32_t shpool_rb_find(shpool_view view, uint32_t need)
{
    uint32_t at    = shpool_rb_root(view);
    uint32_t bit   = SHPOOL_RB_TOP;
    uint32_t best  = 0;
    uint32_t later = 0; /* deepest subtree passed by whose sizes are all larger */

    while (at != 0) { /* along need's bits */
        uint32_t right = shpool_rb_get(view, at, SHPOOL_RB_CHILD + 2u);

        best = shpool_rb_better(view, at, best, need);
        if ((need & bit) != 0) {
            at = right;
        } else {
            later = (right != 0) ? right : later;
            at    = shpool_rb_get(view, at, SHPOOL_RB_CHILD);
        }
        bit = bit >> 1;
    }
    while (later != 0) { /* every size suffices: towards the small ones */
        best  = shpool_rb_better(view, later, best, need);
        at    = shpool_rb_get(view, later, SHPOOL_RB_CHILD);
        later = (at != 0) ? at : shpool_rb_get(view, later, SHPOOL_RB_CHILD + 2u);
    }
    return best;
}

/* A block that holds an aligned request although it has nothing to spare; looks at every block. */
SIMT_FN uint32_t shpool_rb_find_aligned(shpool_view view, uint32_t want)
{
    uint32_t need  = want & 0xffffu;
    uint32_t block = view.word[1];

    while (block < view.word[0]) { /* no iteration for the empty pool */
        uint32_t header = shpool_tags_header(view, block);
        uint32_t size   = shpool_tags_size(header);

        if (((header & SHPOOL_TAGS_USED) == 0) && (size >= need) &&
            (shpool_tags_place(view, block, size, want) - block <= size - need)) {
            return block;
        }
        block += size;
    }
    return 0;
}

/* Set the headers for an allocation of granules at..at+need-1 in the free block, and for the rest
 * of the block. */
SIMT_FN void shpool_rb_split(shpool_view view, uint32_t block, uint32_t at, uint32_t need)
{
    uint32_t end    = block + shpool_rb_size(view, block);
    uint32_t behind = end - at - need;
    uint32_t before;

    shpool_tags_set_before(view, end, (behind != 0) ? behind : need);
    if (behind != 0) { /* an aligned request only: plain ones take the end */
        shpool_tags_set_header(view, simt_keep(at + need), 0, behind, need);
    }
    before = shpool_tags_before(shpool_tags_header(view, simt_keep(block)));
    if (at != block) {
        shpool_tags_set_header(view, block, 0, at - block, before);
        before = at - block;
    }
    shpool_tags_set_header(view, at, SHPOOL_TAGS_USED, need, before);
}

/* Remove the free block from the tree, and insert what remains of it after an allocation at
 * `at`. */
SIMT_FN simt_addr shpool_rb_carve(shpool_view view, uint32_t block, uint32_t at, uint32_t want)
{
    shpool_rb_remove(view, block);
    shpool_rb_split(view, simt_keep(block), simt_keep(at), simt_keep(want) & 0xffffu);
    if (at != block) {
        shpool_rb_insert(view, block, at - block);
    }
    if ((want >> 16) != 1u) { /* a free block after it can only be ours */
        block = simt_keep(at) + (want & 0xffffu);
        if ((shpool_tags_header(view, block) & SHPOOL_TAGS_USED) == 0) {
            shpool_rb_insert(view, block, shpool_rb_size(view, block));
        }
    }
    return shpool_tags_payload(view, at);
}

SIMT_FN simt_addr shpool_rb_serve(shpool_view view, uint32_t want)
{
    uint32_t block = 0;
    uint32_t at;

    if ((want & 0xffffu) <= view.word[0]) { /* not the empty pool */
        block = shpool_rb_find(view, simt_keep((want & 0xffffu) + (want >> 16) - 1u));
    }
    /* recomputed, like the geometry, to save registers meanwhile */
    want = simt_keep(want);
    if ((block == 0) && ((want >> 16) != 1u)) {
        block = shpool_rb_find_aligned(shpool_lock_view(view.base), want);
    }
    if (block == 0) {
        return 0;
    }
    block = simt_keep(block);
    at    = simt_keep(shpool_tags_place(view, block, shpool_rb_size(view, block), want));
    return shpool_rb_carve(view, block, at, want);
}

/* ---- free ---- */

/* Free the used granules `block`..+size; `before` is the size of the previous block. */
SIMT_FN void shpool_rb_give(shpool_view view, uint32_t block, uint32_t size, uint32_t before)
{
    uint32_t other  = block + size;
    uint32_t header = shpool_tags_header(view, other);

    if ((header & SHPOOL_TAGS_USED) == 0) {
        size += shpool_tags_size(header);
        shpool_rb_remove(view, simt_keep(other));
    }
    other  = block - before;
    header = (before != 0) ? shpool_tags_header(view, other) : SHPOOL_TAGS_USED;
    if ((header & SHPOOL_TAGS_USED) == 0) {
        shpool_tags_set_header(view, block, 0, 0, 0); /* or a second free would find it used */
        size  += before;
        before = shpool_tags_before(header);
        block  = other;
        shpool_rb_remove(view, simt_keep(other));
    }
    shpool_tags_set_header(view, block, 0, size, before);
    shpool_tags_set_before(view, block + size, size);
    shpool_rb_insert(view, simt_keep(block), size);
}

SHPOOL_TAGS_FREE(shpool_rb_free, shpool_rb_give)

/* ---- the rest ---- */

SIMT_HD shpool_layout shpool_rb_layout(uint32_t bytes, uint32_t alignment)
{
    return shpool_tags_layout(bytes, alignment);
}
SIMT_FN uint32_t shpool_rb_owns(shpool_view view, simt_addr addr)
{
    return shpool_tags_owns(view, addr);
}
SIMT_FN uint32_t shpool_rb_usable(shpool_view view, simt_addr addr)
{
    return shpool_tags_usable(view, addr);
}

SIMT_FN uint32_t shpool_rb_resize(shpool_view view, simt_addr addr, uint32_t bytes)
{
    uint32_t block = shpool_tags_block(view, addr);
    uint32_t need  = simt_keep((bytes + 4u + 15u) >> 4);
    uint32_t header;
    uint32_t size;

    if (block == 0) {
        return 0;
    }
    header = shpool_tags_header(view, block);
    if ((header & SHPOOL_TAGS_USED) == 0) {
        return 0;
    }
    size = shpool_tags_size(header);
    if (need > size) { /* take the whole next block, if it is free and large enough */
        uint32_t more = shpool_tags_header(view, block + size);

        if (((more & SHPOOL_TAGS_USED) != 0) || (need - size > shpool_tags_size(more))) {
            return 0;
        }
        shpool_rb_remove(view, block + size);
        size += shpool_tags_size(more);
        shpool_tags_set_before(view, block + size, size);
        shpool_tags_set_header(view, block, SHPOOL_TAGS_USED, size, shpool_tags_before(header));
    }
    if (need < size) { /* free the end */
        shpool_tags_set_header(view, block, SHPOOL_TAGS_USED, need, shpool_tags_before(header));
        shpool_rb_give(view, block + need, size - need, need);
    }
    return 1;
}

SIMT_FN uint32_t shpool_rb_largest(shpool_view view)
{
    uint32_t at   = (view.word[0] != 0) ? shpool_rb_root(view) : 0u;
    uint32_t best = 0;

    while (at != 0) { /* everything on the right is larger than everything on the left */
        uint32_t children = simt_load32(shpool_tags_payload(view, at));
        uint32_t size     = shpool_rb_size(view, at);

        best = (size > best) ? size : best;
        at   = ((children >> 16) != 0) ? children >> 16 : children & 0xffffu;
    }
    return (best != 0) ? (best << 4) - 4u : 0u;
}

/* Whether the tree has the free block in the place for its size, linked with its ring and children.
 * Reads only granules of the pool, whatever the links contain. */
SIMT_FN uint32_t shpool_rb_planted(shpool_view view, uint32_t block, uint32_t size)
{
    uint32_t at   = shpool_rb_root(view);
    uint32_t bit  = SHPOOL_RB_TOP;
    uint32_t next = shpool_rb_get(view, block, SHPOOL_RB_NEXT);
    uint32_t from = 0; /* the node above `at` */
    uint32_t side;

    while ((at != 0) && (at < view.word[0]) && (shpool_rb_size(view, at) != size) && (bit != 0)) {
        from = at;
        at   = shpool_rb_get(view, at, SHPOOL_RB_CHILD + (((size & bit) != 0) ? 2u : 0u));
        bit  = bit >> 1;
    }
    if ((at == 0) || (at >= view.word[0]) || (shpool_rb_size(view, at) != size) ||
        (next >= view.word[0]) || (shpool_rb_get(view, next, SHPOOL_RB_PREVIOUS) != block) ||
        (shpool_rb_size(view, next) != size) ||
        (shpool_rb_get(view, block, SHPOOL_RB_PARENT) != ((at == block) ? from : SHPOOL_RB_NONE))) {
        return 0;
    }
    for (side = 0; (at == block) && (side < 4u); side += 2u) {
        uint32_t child = shpool_rb_get(view, block, SHPOOL_RB_CHILD + side);

        if ((child != 0) && ((child >= view.word[0]) ||
                             (side != (((shpool_rb_size(view, child) & bit) != 0) ? 2u : 0u)) ||
                             (shpool_rb_get(view, child, SHPOOL_RB_PARENT) != block) ||
                             ((shpool_tags_header(view, child) & SHPOOL_TAGS_USED) != 0))) {
            return 0;
        }
    }
    return 1;
}

SIMT_FN shpool_walk shpool_rb_walk(shpool_view view)
{
    shpool_walk walk     = {0, 0, 0, 0};
    uint32_t    block    = view.word[1];
    uint32_t    before   = 0;
    uint32_t    was_free = 0;
    uint32_t    frees    = 0;

    while ((view.word[0] != 0) && (walk.broken == 0)) {
        uint32_t header = shpool_tags_header(view, block);
        uint32_t size   = shpool_tags_size(header);

        walk.where = shpool_tags_payload(view, block);
        if (shpool_tags_before(header) != before) {
            walk.broken = 2;
        } else if (block == view.word[0]) {
            walk.broken = !((header & SHPOOL_TAGS_USED) && (size == 0)) ? 1u :
                          ((frees == 0) && (shpool_rb_root(view) != 0)) ? 4u : 0u;
            break;
        } else if ((size == 0) || (size > view.word[0] - block)) {
            walk.broken = 1;
        } else if ((header & SHPOOL_TAGS_USED) != 0) {
            walk.live++;
            walk.used += (size << 4) - 4u;
        } else {
            frees++;
            walk.broken = was_free ? 3u : shpool_rb_planted(view, block, size) ? 0u : 4u;
        }
        was_free = (header & SHPOOL_TAGS_USED) == 0;
        before   = size;
        block += size;
    }
    walk.where = (walk.broken != 0) ? walk.where : 0u;
    return walk;
}

#define SHPOOL_PACKS_rbtree  ~, SHPOOL_PACKING(SHPOOL_PACK_DOWN, 4u, 0u, 0u)
#define SHPOOL_GUARDS_rbtree ~, 1 /* module.h */
SHPOOL_LOCKED_MODULE(rbtree, shpool_rb, shpool_rb_serve, shpool_tags_want(bytes, alignment))

#endif /* SHPOOL_ALLOCATORS_RBTREE_H */
