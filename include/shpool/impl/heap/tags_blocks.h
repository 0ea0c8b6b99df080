/* SPDX-License-Identifier: BSD-3-Clause */
/* Boundary tags: the headers, and the list of free blocks.  Not for direct inclusion.
 * boundary_tags.h explains the terms, and turns the blocks into allocations. */
#ifndef SHPOOL_IMPL_TAGS_BLOCKS_H
#define SHPOOL_IMPL_TAGS_BLOCKS_H

#include <shpool/abi.h>
#include <shpool/simt.h>

#define SHPOOL_TAGS_USED     0x80000000u
#define SHPOOL_TAGS_GRANULES 0x7fffu /* most granules of a pool: what a size field holds */

/* word[0] = granules of the pool, word[1] = the first block. */
SIMT_HD shpool_layout shpool_tags_layout(uint32_t bytes, uint32_t alignment)
{
    shpool_layout layout   = {0, 0, {0, 0}};
    uint32_t      granules = bytes >> 4;
    uint32_t      first    = alignment >> 4;

    if (granules > SHPOOL_TAGS_GRANULES) {
        granules = SHPOOL_TAGS_GRANULES;
    }
    if (granules <= first) {
        return layout;
    }
    layout.bytes   = granules << 4;
    layout.largest = ((granules - first) << 4) - 4u;
    layout.word[0] = granules;
    layout.word[1] = first;
    return layout;
}

/* ---- words ---- */

SIMT_FN simt_addr shpool_tags_payload(shpool_view view, uint32_t block)
{
    return view.base + (block << 4);
}
SIMT_FN uint32_t shpool_tags_header(shpool_view view, uint32_t block)
{
    return simt_load32(shpool_tags_payload(view, block) - 4u);
}
SIMT_FN void shpool_tags_set_header(shpool_view view, uint32_t block, uint32_t used, uint32_t size,
                                   uint32_t before)
{
    simt_store32(shpool_tags_payload(view, block) - 4u, used | (size << 15) | before);
}
SIMT_FN uint32_t shpool_tags_size(uint32_t header) { return (header >> 15) & 0x7fffu; }
SIMT_FN uint32_t shpool_tags_before(uint32_t header) { return header & 0x7fffu; }

/* Tell the next block the size of the one before it. */
SIMT_FN void shpool_tags_set_before(shpool_view view, uint32_t block, uint32_t before)
{
    uint32_t header = shpool_tags_header(view, block);

    simt_store32(shpool_tags_payload(view, block) - 4u, (header & ~0x7fffu) | before);
}

SIMT_FN uint32_t shpool_tags_link(shpool_view view, uint32_t block)
{
    return simt_load32(shpool_tags_payload(view, block));
}
SIMT_FN void shpool_tags_set_link(shpool_view view, uint32_t block, uint32_t next,
                                  uint32_t previous)
{
    simt_store32(shpool_tags_payload(view, block), (next << 16) | previous);
}
/* Half-words of a link (little endian).  Block 0 represents the head of the list, whose "next" is
 * in the upper half of the pool's first word. */
SIMT_FN void shpool_tags_set_next(shpool_view view, uint32_t block, uint32_t next)
{
    simt_store16(shpool_tags_payload(view, block) + 2u, (uint16_t)next);
}
SIMT_FN void shpool_tags_set_previous(shpool_view view, uint32_t block, uint32_t previous)
{
    if (block != 0) {
        simt_store16(shpool_tags_payload(view, block), (uint16_t)previous);
    }
}
SIMT_FN uint32_t shpool_tags_next(shpool_view view, uint32_t block)
{
    return shpool_tags_link(view, block) >> 16; /* not simt_load16: that costs a conversion */
}

/* Remove `block`, whose link is `link`, from the list. */
SIMT_FN void shpool_tags_unlink(shpool_view view, uint32_t link)
{
    shpool_tags_set_next(view, link & 0xffffu, link >> 16);
    shpool_tags_set_previous(view, link >> 16, link & 0xffffu);
}

/* Insert `block` between the neighbours in `link`, or replace the block there. */
SIMT_FN void shpool_tags_relink(shpool_view view, uint32_t block, uint32_t link)
{
    shpool_tags_set_link(view, block, link >> 16, link & 0xffffu);
    shpool_tags_set_next(view, link & 0xffffu, block);
    shpool_tags_set_previous(view, link >> 16, block);
}

/* Called by one thread. */
SIMT_FN void shpool_tags_init(shpool_view view)
{
    uint32_t granules = view.word[0];
    uint32_t first    = view.word[1];

    if (granules == 0) {
        return;
    }
    simt_store32(view.base, first << 16);
    shpool_tags_set_header(view, first, 0, granules - first, 0);
    shpool_tags_set_link(view, first, 0, 0);
    shpool_tags_set_header(view, granules, SHPOOL_TAGS_USED, 0, granules - first);
}

#endif /* SHPOOL_IMPL_TAGS_BLOCKS_H */
