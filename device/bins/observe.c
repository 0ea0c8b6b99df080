/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: counters, the walk over all blocks, and the consistency check. */
#include "bins.h"

#include <stdio.h>
#include <string.h>

#include "device/bins/vmm/vmm.h"

/* Every heap: those that serve all, then those of graphs. */
typedef struct heaps {
    bins_self *bins;
    bins_graph *graph;
    unsigned index;
} heaps;

static bins_heap *first_heap(heaps *at, bins_self *bins)
{
    *at = (heaps){ .bins = bins };
    return &bins->heap[0];
}

static bins_heap *next_heap(heaps *at)
{
    size_t count = (at->graph == NULL) ? SHPOOL_ARRAY_COUNT(at->bins->heap)
                                       : SHPOOL_ARRAY_COUNT(at->graph->heap);

    if (++at->index == count) {
        at->index = 0;
        at->graph = (at->graph == NULL) ? at->bins->graphs : at->graph->next;
        if (at->graph == NULL) {
            return NULL;
        }
    }
    return (at->graph == NULL) ? &at->bins->heap[at->index] : &at->graph->heap[at->index];
}

/* ---- lanes are locked while their blocks are inspected ---- */

static void lock_all(bins_self *bins)
{
    shpool_mutex_lock(&bins->lanes.lock); /* no new ones */
    for (bins_lane *l = bins_first_lane(bins); l != NULL; l = (bins_lane *)l->timeline.next) {
        shpool_spin_lock(&l->timeline.lock);
    }
}

static void unlock_all(bins_self *bins)
{
    for (bins_lane *l = bins_first_lane(bins); l != NULL; l = (bins_lane *)l->timeline.next) {
        shpool_spin_unlock(&l->timeline.lock);
    }
    shpool_mutex_unlock(&bins->lanes.lock);
}

/* ---- stats ---- */

static int is_live(unsigned state)
{
    return (state == BINS_LIVE) || (state == BINS_LIVE_USED) || (state == BINS_LIVE_GRAPH) ||
           (state == BINS_MOVING);
}

static int is_pending(const bins_block *block)
{
    return (bins_state(block) == BINS_PENDING) ||
           ((block->last != NULL) && !shpool_timeline_is_done(block->last, block->seq));
}

static void add_idle(const bins_block *block, shpool_device_stats *stats)
{
    if (is_pending(block)) {
        stats->pending_bytes += block->bytes;
    }
    if (block->bytes > stats->largest_idle) {
        stats->largest_idle = block->bytes;
    }
}

static void add_lane(const bins_lane *lane, shpool_device_stats *stats)
{
    stats->mallocs += lane->mallocs;
    stats->hits_done += lane->given;
    stats->frees += lane->frees;
    stats->live_bytes += lane->malloc_bytes - lane->free_bytes;
    stats->live_count += lane->mallocs - lane->frees;
}

static void collect(bins_self *bins, shpool_device_stats *stats)
{
    heaps at;
    uint64_t slow;

    *stats = bins->count;
    stats->mallocs += bins->mallocs;
    stats->live_bytes += bins->malloc_bytes;
    stats->live_count += bins->mallocs;
    for (const bins_lane *l = bins_first_lane(bins); l != NULL; l = (bins_lane *)l->timeline.next) {
        add_lane(l, stats);
    }
    slow = stats->hits + stats->hits_done + stats->hits_wait + stats->misses;
    stats->hits += (stats->mallocs > slow) ? stats->mallocs - slow : 0;
    stats->idle_bytes = stats->driver_bytes - stats->live_bytes;
    stats->events_recorded = atomic_load_explicit(&bins->lanes.events_recorded,
                                                  memory_order_relaxed);
    for (bins_heap *heap = first_heap(&at, bins); heap != NULL; heap = next_heap(&at)) {
        for (const bins_slab *slab = heap->slabs; slab != NULL; slab = slab->next) {
            for (const bins_block *b = slab->first; b != NULL; b = b->above) {
                if (!is_live(bins_state(b)) && (bins_state(b) != BINS_HOLE)) {
                    add_idle(b, stats);
                }
            }
        }
    }
}

shpool_status bins_stats(void *self, shpool_device_stats *stats)
{
    bins_self *bins = self;

    shpool_mutex_lock(&bins->lock);
    lock_all(bins);
    collect(bins, stats);
    unlock_all(bins);
    shpool_mutex_unlock(&bins->lock);
    return SHPOOL_OK;
}

shpool_status bins_reset_peak(void *self)
{
    bins_self *bins = self;

    shpool_mutex_lock(&bins->lock);
    bins->count.driver_bytes_peak = bins->count.driver_bytes;
    shpool_mutex_unlock(&bins->lock);
    return SHPOOL_OK;
}

/* ---- walk ---- */

static int show_slab(const bins_slab *slab, shpool_device_walk_fn function, void *user)
{
    for (const bins_block *block = slab->first; block != NULL; block = block->above) {
        unsigned state = bins_state(block);
        shpool_device_block shown = {
            .ptr = block->address, .bytes = block->bytes,
            .base = (void *)(uintptr_t)slab->driver_ptr,
            .stream = (block->last != NULL) ? block->last->stream : NULL,
            .state = is_live(state) ? SHPOOL_DEVICE_LIVE
                   : is_pending(block) ? SHPOOL_DEVICE_PENDING : SHPOOL_DEVICE_IDLE,
        };

        if ((state != BINS_HOLE) && (function(&shown, user) != 0)) {
            return 1;
        }
    }
    return 0;
}

shpool_status bins_walk(void *self, shpool_device_walk_fn function, void *user)
{
    bins_self *bins = self;
    heaps at;
    int stop = 0;

    shpool_mutex_lock(&bins->lock);
    lock_all(bins);
    for (bins_heap *heap = first_heap(&at, bins); !stop && (heap != NULL); heap = next_heap(&at)) {
        for (const bins_slab *slab = heap->slabs; !stop && (slab != NULL); slab = slab->next) {
            stop = show_slab(slab, function, user);
        }
    }
    unlock_all(bins);
    shpool_mutex_unlock(&bins->lock);
    return SHPOOL_OK;
}

/* The driver's allocation; of a range, the granules of the block: they stay as long as it lives,
 * those beside them may not. */
static void find_extent(const bins_self *bins, const bins_block *block, void **base_p,
                        size_t *bytes_p)
{
    const bins_slab *slab = block->slab;
    size_t granule = bins->granules.bytes;
    size_t from = bins_offset_of(block);

    *base_p = (void *)(uintptr_t)slab->driver_ptr;
    *bytes_p = slab->driver_bytes;
    if (slab->place != NULL) {
        *base_p = block->address - from % granule;
        *bytes_p = bins_round_up(bins, from % granule + block->bytes);
    }
}

shpool_status bins_base(void *self, const void *ptr, void **base_p, size_t *bytes_p)
{
    bins_self *bins = self;
    uintptr_t address = (uintptr_t)ptr;
    const bins_block *block = NULL;
    const bins_slab *slab;

    shpool_mutex_lock(&bins->lock);
    slab = shpool_page_get(&bins->map, address);
    for (block = (slab != NULL) ? slab->first : NULL; block != NULL; block = block->above) {
        if ((address >= (uintptr_t)block->address) &&
            (address < (uintptr_t)block->address + block->bytes)) {
            break;
        }
    }
    if ((block != NULL) && is_live(bins_state(block))) {
        find_extent(bins, block, base_p, bytes_p);
    } else {
        slab = NULL;
    }
    shpool_mutex_unlock(&bins->lock);
    return (slab != NULL) ? SHPOOL_OK
                          : shpool_error(SHPOOL_ERR_INVALID, "%p is in no live allocation of this "
                                         "allocator", ptr);
}

/* ---- check ---- */

typedef struct tally {
    uint64_t bytes;   /* of all blocks */
    uint64_t live;
    size_t free;      /* blocks */
    size_t cached;
    size_t pending;
    size_t holes;
    uint64_t mapped;  /* of ranges */
    uint32_t guests[BINS_GUEST_CLASSES];
} tally;

/* Every place of a block is the home of a granule.  No place of a hole is: granules that are still
 * mapped there have their home elsewhere, or are spare. */
static const char *check_granules(const bins_self *bins, const bins_block *block)
{
    size_t granule = bins->granules.bytes;
    size_t from = bins_offset_of(block);
    size_t last = (from + block->bytes - 1) / granule;
    int hole = (bins_state(block) == BINS_HOLE);

    if (hole && ((from % granule != 0) || (block->bytes % granule != 0) ||
                 ((block->above != NULL) &&
                  (bins_state(block->above) == BINS_HOLE)))) {
        return "a hole is not whole granules, or beside another one";
    }
    for (size_t i = from / granule; i <= last; i++) {
        if (bins_is_home(&block->slab->place[i]) == hole) {
            return hole ? "a place in a hole is the home of a granule"
                        : "a place in a block is not the home of a granule";
        }
    }
    return NULL;
}

/* Check a range's own counts; its granules are counted by place. */
static const char *check_range(const bins_self *bins, const bins_slab *slab, tally *sum)
{
    uint64_t mapped = 0;
    size_t maps = 0;
    const char *what = NULL;

    for (const bins_place *p = slab->place; p < slab->place + slab->places; p++) {
        mapped += bins_is_home(p) ? bins->granules.bytes : 0;
        maps += (p->granule != NULL);
    }
    sum->mapped += mapped;
    for (const bins_block *block = slab->first; (what == NULL) && (block != NULL);
         block = block->above) {
        what = check_granules(bins, block);
    }
    if (what != NULL) {
        return what;
    }
    return ((mapped == slab->driver_bytes) && (maps == slab->maps))
               ? NULL : "a range's granules do not add up";
}

/* Guests by class, as bins_self has them. */
static const char *count_guest(const bins_block *block, tally *sum)
{
    unsigned state = bins_state(block);

    if ((state == BINS_HOLE) || (state == BINS_FREE) || !bins_is_guest(block)) {
        return NULL;
    }
    if (block->bytes < BINS_GUEST_LEAST) {
        return "a guest of the large heap is too small";
    }
    sum->guests[bins_guest_class(block->class)]++;
    return NULL;
}

static const char *check_block(bins_self *bins, const bins_slab *slab, const bins_block *block,
                               tally *sum)
{
    unsigned state = bins_state(block);

    if (block->slab != slab) {
        return "a block belongs to another slab";
    }
    if ((state != BINS_FREE) && (state != BINS_HOLE) &&
        (bins_find(bins, block->address) != block)) {
        return "a block is not found by its address";
    }
    if (block->class != bins_class(block->bytes)) {
        return "a block's class does not fit its size";
    }
    if ((block->above != NULL) && ((block->above->below != block) ||
                                   (block->above->address != block->address + block->bytes))) {
        return "two neighbours disagree";
    }
    sum->bytes += block->bytes;
    sum->live += is_live(state) ? block->bytes : 0;
    sum->free += (state == BINS_FREE);
    sum->cached += (state == BINS_CACHED);
    sum->pending += (state == BINS_PENDING);
    sum->holes += (state == BINS_HOLE);
    return count_guest(block, sum);
}

static const char *check_slab(bins_self *bins, const bins_slab *slab, tally *sum)
{
    uint64_t before = sum->bytes;

    if ((slab->first == NULL) || (slab->first->address != (char *)slab->base)) {
        return "a slab does not begin with its first block";
    }
    for (const bins_block *block = slab->first; block != NULL; block = block->above) {
        const char *what = check_block(bins, slab, block, sum);

        if (what != NULL) {
            return what;
        }
    }
    if (sum->bytes - before != slab->bytes) {
        return "a slab's blocks do not fill it";
    }
    if (slab->own_range && ((slab->first->above != NULL) || !slab->mapped || (slab->own == 0))) {
        return "shared memory is not one block, or is not mapped";
    }
    if (slab->exported && !is_live(bins_state(slab->first)) &&
        (bins_state(slab->first) != BINS_PENDING)) {
        return "exported memory is about to be used again";
    }
    return (slab->place != NULL) ? check_range(bins, slab, sum) : NULL;
}

/* Counts a set of lists, whose blocks must all have this state. */
static const char *check_lists(const bins_lists *lists, unsigned state, size_t *count_p)
{
    for (unsigned class = 0; class < BINS_CLASSES; class++) {
        const bins_list *list = &lists->list[class];
        int marked = (int)((lists->nonempty[class / 64] >> (class % 64)) & 1);

        if (marked != (list->head != NULL)) {
            return "a list and its bit disagree";
        }
        for (const bins_block *block = list->head; block != NULL; block = block->next) {
            if ((block->class != class) || (bins_state(block) != state) ||
                ((block->next == NULL) ? (list->tail != block) : (block->next->prev != block))) {
                return "a block is in a list that is not its own";
            }
            ++*count_p;
        }
    }
    return NULL;
}

static const char *check_all(bins_self *bins)
{
    tally sum = { .bytes = 0 };
    size_t free = 0;
    size_t cached = 0;
    size_t pending = 0;
    size_t holes = 0;
    shpool_device_stats stats;
    const char *what = NULL;
    heaps at;

    for (bins_heap *heap = first_heap(&at, bins); heap != NULL; heap = next_heap(&at)) {
        for (const bins_slab *slab = heap->slabs; (what == NULL) && (slab != NULL);
             slab = slab->next) {
            what = check_slab(bins, slab, &sum);
        }
        if (what == NULL) {
            what = check_lists(&heap->bins, BINS_FREE, &free);
        }
        if (what == NULL) {
            what = check_lists(&heap->holes, BINS_HOLE, &holes);
        }
    }
    for (const bins_lane *l = bins_first_lane(bins); (what == NULL) && (l != NULL);
         l = (bins_lane *)l->timeline.next) {
        what = check_lists(&l->cache, BINS_CACHED, &cached);
    }
    for (const bins_block *b = bins->pending.head; b != NULL; b = b->next) {
        pending++;
    }
    if (what != NULL) {
        return what;
    }
    if ((free != sum.free) || (cached != sum.cached) || (pending != sum.pending) ||
        (holes != sum.holes)) {
        return "blocks are in no list, or in two";
    }
    if (sum.mapped + bins->granules.spares * bins->granules.bytes !=
        bins->granules.count * bins->granules.bytes) {
        return "granules are in no place, or in two";
    }
    if (memcmp(sum.guests, bins->guests, sizeof(sum.guests)) != 0) {
        return "guests of the large heap are not counted";
    }
    collect(bins, &stats);
    return (stats.live_bytes == sum.live) ? NULL : "the live bytes do not add up";
}

shpool_status bins_check(void *self)
{
    bins_self *bins = self;
    const char *what;

    shpool_mutex_lock(&bins->lock);
    lock_all(bins);
    what = check_all(bins);
    unlock_all(bins);
    shpool_mutex_unlock(&bins->lock);
    return (what == NULL) ? SHPOOL_OK : shpool_error(SHPOOL_ERR_CORRUPT, "bins: %s", what);
}

/* ---- out of memory ---- */

#define MIB(_bytes) ((unsigned long long)((_bytes) >> 20))

shpool_status bins_out_of_memory(bins_self *bins, size_t bytes)
{
    const shpool_device *device = bins->lanes.device;
    uint64_t hard = atomic_load_explicit(&bins->hard, memory_order_relaxed);
    char most[100] = "";
    shpool_device_stats stats;
    size_t left_bytes = 0;
    size_t total = 0;
    int left;

    if (shpool_device_enter(device, &left) == SHPOOL_OK) {
        (void)device->cu->memory_info(&left_bytes, &total);
        shpool_device_leave(device, left);
    }
    (void)bins_stats(bins, &stats);
    if (hard != BINS_UNLIMITED) {
        (void)snprintf(most, sizeof(most), "; it may hold %llu MiB (key hard, PyTorch's memory "
                       "fraction)", MIB(hard));
    }
    return shpool_error(SHPOOL_ERR_NO_MEMORY, "%zu bytes were requested on device %d, which has "
                        "%llu MiB free of %llu; this allocator holds %llu MiB: %llu live in %llu "
                        "allocations, %llu idle (largest piece %llu bytes, %llu MiB not "
                        "finished); others hold %llu MiB%s",
                        bytes, device->ordinal, MIB(left_bytes),
                        MIB(total), MIB(stats.driver_bytes), MIB(stats.live_bytes),
                        (unsigned long long)stats.live_count, MIB(stats.idle_bytes),
                        (unsigned long long)stats.largest_idle, MIB(stats.pending_bytes),
                        MIB((total > left_bytes + stats.driver_bytes)
                                ? total - left_bytes - stats.driver_bytes : 0), most);
}
