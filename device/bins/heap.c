/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: which free block serves, and the way from lanes to heaps. */
#include "bins.h"

unsigned bins_next_class(const bins_lists *lists, unsigned class)
{
    unsigned word = class / 64;
    uint64_t bits;

    if (class >= BINS_CLASSES) {
        return BINS_CLASSES;
    }
    bits = lists->nonempty[word] & (~0ull << (class % 64));
    while (bits == 0) {
        if (++word == BINS_WORDS) {
            return BINS_CLASSES;
        }
        bits = lists->nonempty[word];
    }
    return word * 64 + (unsigned)__builtin_ctzll(bits);
}

static int serves(const bins_block *block, const shpool_timeline *timeline,
                  bins_which which)
{
    return bins_usable(block, timeline) ||
           ((which == BINS_WAITABLE) &&
            shpool_timeline_can_order(block->last, block->seq));
}

/* The smallest that serves of the first blocks of a bin; as a rule the very first. */
static bins_block *best_of(const bins_list *list, size_t need, const shpool_timeline *timeline,
                           bins_which which, unsigned depth)
{
    bins_block *best = NULL;

    for (bins_block *block = list->head; (block != NULL) && (depth > 0); block = block->next) {
        depth--;
        if ((block->bytes < need) || ((best != NULL) && (block->bytes >= best->bytes))) {
            continue;
        }
        if (serves(block, timeline, which)) {
            best = block;
            if (best->bytes == need) {
                break;
            }
        }
    }
    return best;
}

bins_block *bins_heap_take(bins_self *bins, bins_heap *heap, size_t need,
                           const shpool_timeline *timeline, bins_which which, unsigned depth)
{
    unsigned class = bins_class(need);
    bins_block *found = NULL;

    while ((found == NULL) &&
           ((class = bins_next_class(&heap->bins, class)) < BINS_CLASSES)) {
        found = best_of(&heap->bins.list[class], need, timeline, which, depth);
        class++;
    }
    return (found != NULL) ? bins_cut(bins, found, need) : NULL;
}

static void move(bins_self *bins, bins_lane *lane, bins_block *block)
{
    bins_remove(&lane->cache, block);
    bins_heap_put(bins, block);
}

size_t bins_flush(bins_self *bins, bins_lane *lane, size_t least, int done_only)
{
    unsigned class = (least >= 256) ? bins_class(least) : 0;
    size_t moved = 0;

    shpool_spin_lock(&lane->timeline.lock);
    for (; (class = bins_next_class(&lane->cache, class)) < BINS_CLASSES; class++) {
        /* the oldest first, they are done first */
        bins_block *block = lane->cache.list[class].tail;

        while (block != NULL) {
            bins_block *younger = block->prev;

            if (done_only && !shpool_timeline_is_done(block->last, block->seq)) {
                break;
            }
            move(bins, lane, block);
            moved++;
            block = younger;
        }
    }
    shpool_spin_unlock(&lane->timeline.lock);
    return moved;
}
