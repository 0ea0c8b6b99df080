/* SPDX-License-Identifier: BSD-3-Clause */
/* rbtree's tree of the free blocks: nodes and rings, insert and remove.  rbtree.h explains the
 * terms, and searches. */
#ifndef SHPOOL_ALLOCATORS_RBTREE_NODES_H
#define SHPOOL_ALLOCATORS_RBTREE_NODES_H

#include <shpool/impl/heap/boundary_tags.h>

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

/* ---- insert ---- */

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

/* ---- remove ---- */

/* `by` takes the place of node `block` in the tree, children and all. */
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

/* By one thread. */
SIMT_FN void shpool_rb_init(shpool_view view)
{
    if (view.word[0] == 0) {
        return;
    }
    shpool_tags_init(view);
    simt_store32(view.base, 0);
    shpool_rb_insert(view, view.word[1], view.word[0] - view.word[1]);
}

#endif /* SHPOOL_ALLOCATORS_RBTREE_NODES_H */
