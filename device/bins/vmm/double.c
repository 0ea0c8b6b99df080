/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: granules of twice the size.
 *
 * The driver takes the same time for a granule whatever its size, but a free block can only give
 * whole ones.  So the size doubles when there are many granules, half of the memory is in blocks
 * that are larger than one, and few pieces are free: two neighbours become one, which is mapped,
 * moved and returned as one from then on.  It keeps both handles; later ones have one handle of the
 * new size.  No data and no block moves.
 *
 * Before that, granules are unmapped where they are not used, and where a free block or a live one
 * covers half of a new granule, the other half gets memory, too.
 */
#include "vmm.h"

#include <string.h>

/* Which part more granules there must be before it is tried again. */
#define AGAIN 8u

/* Halves that get new memory do not count if they are at most this part of all granules. */
#define FEW_HALVES 64u

/* Granules are this part of the limit at most, because each free piece of memory keeps up to two;
 * or of twice the first size, if no rest of the limit is lost. */
#define LIMIT_GRANULES 1024u

static int is_elsewhere(const bins_place *place)
{
    return (place->granule != NULL) && (place->granule->home != place);
}

/* ---- conditions ---- */

static int may_double_range(const bins_self *bins, bins_slab *slab)
{
    if ((slab->bytes % (2 * bins->granules.bytes) != 0) ||
        (slab->heap->windows && (slab->driver_bytes > 0))) {
        return 0; /* a half without memory becomes a free block; windows have none */
    }
    for (size_t i = 0; i < slab->places; i++) {
        if (is_elsewhere(&slab->place[i]) && !bins_place_is_done(&slab->place[i])) {
            return 0;
        }
    }
    return 1;
}

/* Bytes of the blocks that are small, and the number of those that are free. */
typedef struct survey {
    uint64_t small;
    size_t pieces;
} survey;

static void look(const bins_self *bins, const bins_heap *heap, survey *s)
{
    const size_t granule = bins->granules.bytes;

    for (const bins_slab *slab = heap->slabs; slab != NULL; slab = slab->next) {
        for (const bins_block *block = slab->first; block != NULL; block = block->above) {
            if (!bins_is_hole(block)) {
                s->small += (block->bytes < granule + granule / 2) ? block->bytes : 0;
                s->pieces += (bins_state(block) == BINS_FREE);
            }
        }
    }
}

/* 1: larger granules would leave too much memory idle.  Each free piece leaves about one of them
 * idle, so one for each piece, and one more, must not exceed bins_over().  Blocks in the caches of
 * lanes do not count as free pieces.  Or more than half of the memory is in blocks that are too
 * small for larger granules.  The small heap counts from the third time on: programs whose blocks
 * grow begin with small ones. */
static int would_be_idle(const bins_self *bins, uint64_t bytes)
{
    const bins_granules *g = &bins->granules;
    survey s = { .pieces = 0 };

    look(bins, &bins->heap[BINS_LARGE], &s);
    if (g->bytes > 2 * g->least) {
        look(bins, &bins->heap[BINS_SMALL], &s);
    }
    return ((s.pieces + 1) * 2 * (uint64_t)g->bytes >
            bins_over(bins, (bytes > bins->live_most) ? bytes : bins->live_most)) ||
           (s.small > bytes / 2);
}

/* 1: no stream uses what must be unmapped or changes its addresses. */
static int may_double(bins_self *bins, uint64_t bytes)
{
    const bins_granules *g = &bins->granules;

    if ((bins->granule_count == UINT64_MAX) && would_be_idle(bins, bytes)) {
        return 0;
    }
    for (bins_slab *s = bins_next_slab(bins, NULL); s != NULL; s = bins_next_slab(bins, s)) {
        if (!may_double_range(bins, s)) {
            return 0;
        }
    }
    return bins_spares_usable(bins, NULL) == g->spares;
}

/* ---- halves ---- */

/* The next place without memory in a pair of which the other place has memory; SIZE_MAX: none. */
static size_t next_half(const bins_slab *slab, size_t from)
{
    for (size_t i = from / 2 * 2; i < slab->places; i += 2) {
        int low = bins_is_home(&slab->place[i]);

        if (low != bins_is_home(&slab->place[i + 1])) {
            return i + (size_t)low;
        }
    }
    return SIZE_MAX;
}

static size_t count_halves(bins_self *bins)
{
    size_t count = 0;

    for (bins_slab *s = bins_next_slab(bins, NULL); s != NULL; s = bins_next_slab(bins, s)) {
        for (size_t at = 0; (at = next_half(s, at)) != SIZE_MAX; at = at / 2 * 2 + 2) {
            count++;
        }
    }
    return count;
}

static int drop_elsewhere(bins_self *bins, bins_slab *slab)
{
    for (size_t i = 0, end; i < slab->places; i = end + 1) {
        for (end = i; (end < slab->places) && is_elsewhere(&slab->place[end]);) {
            end++;
        }
        if (end > i) {
            bins_places_drop(bins, slab, i, end - i);
        }
    }
    for (size_t i = 0; i < slab->places; i++) {
        if (is_elsewhere(&slab->place[i])) {
            return 0;
        }
    }
    return 1;
}

/* A spare granule becomes a free block at a place of a hole. */
static int fill_half(bins_self *bins, bins_slab *slab, size_t at)
{
    size_t granule = bins->granules.bytes;
    char *address = (char *)slab->base + at * granule;
    bins_block *hole = bins_hole_of(slab->heap, address);
    bins_block *record[2];
    int filled;
    int busy;

    filled = bins_records_get(bins, record) && (hole != NULL) &&
             (bins_places_fill(bins, slab, at, 1, NULL, &busy) == CU_SUCCESS);
    if (filled) {
        bins_block *piece = bins_carve(&slab->heap->holes, hole,
                                       (size_t)(address - hole->address), granule, record);

        piece->last = NULL;
        bins_heap_put(bins, piece);
    }
    bins_records_put(bins, record);
    return filled;
}

/* 1: each pair of places has two granules, which are mapped nowhere else, or none. */
static int pair_places(bins_self *bins)
{
    int paired = 1;

    for (bins_slab *s = bins_next_slab(bins, NULL); s != NULL; s = bins_next_slab(bins, s)) {
        paired = paired && drop_elsewhere(bins, s);
    }
    for (bins_slab *s = bins_next_slab(bins, NULL); s != NULL; s = bins_next_slab(bins, s)) {
        for (size_t at = 0; paired && ((at = next_half(s, at)) != SIZE_MAX);) {
            paired = fill_half(bins, s, at);
        }
    }
    return paired;
}

/* ---- the new granules: neither calls of the driver nor host memory ---- */

static void join(bins_granule *low, bins_granule *high)
{
    bins_granule *last = low;

    while (last->part != NULL) {
        last = last->part;
    }
    last->part = high;
    high->is_part = 1;
    low->origin = NULL;
    low->origin_slab = NULL;
}

static void join_places(bins_slab *slab)
{
    size_t count = (slab->places + 1) / 2;

    slab->maps = 0;
    for (size_t i = 0; i < count; i++) {
        bins_place low = slab->place[2 * i];
        bins_place high = slab->place[2 * i + 1];

        slab->place[i] = (bins_place){ .granule = low.granule, .open = low.open && high.open };
        if (low.granule != NULL) {
            join(low.granule, high.granule);
            low.granule->home = &slab->place[i];
            slab->maps++;
        }
    }
    memset(&slab->place[count], 0, count * sizeof(slab->place[0]));
    slab->places = count;
}

static void join_spares(bins_granules *g)
{
    g->spares /= 2;
    for (size_t i = 0; i < g->spares; i++) {
        bins_granule *low = g->spare[2 * i];

        join(low, g->spare[2 * i + 1]);
        g->spare[i] = low;
        low->spare_at = i;
    }
}

static void join_all(bins_self *bins)
{
    bins_granules *g = &bins->granules;

    for (bins_slab *s = bins_next_slab(bins, NULL); s != NULL; s = bins_next_slab(bins, s)) {
        join_places(s);
    }
    join_spares(g);
    for (bins_granule **at = &g->all; *at != NULL;) {
        if ((*at)->is_part) {
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
    g->count /= 2;
    g->bytes *= 2;
    memset(bins->memo, 0, sizeof(bins->memo));
}

/* ---- all of it ---- */

/* Those that have a home: after a request that failed many do not. */
static size_t used(const bins_granules *g)
{
    return g->count - g->spares;
}

/* How many are used when the request is served, if it is the larger part: such ones are rare. */
static size_t expected(const bins_granules *g, size_t need)
{
    size_t more = need / g->bytes;

    return used(g) + ((more >= used(g)) ? more : 0);
}

/* The most that is reserved before the driver or `hard` refuses more. */
static uint64_t limit_of(bins_self *bins)
{
    const shpool_device *device = bins->lanes.device;
    uint64_t limit = atomic_load_explicit(&bins->hard, memory_order_relaxed);
    size_t left_bytes = 0;
    size_t total = 0;
    int left;

    if (!shpool_device_enter_quietly(device, &left)) {
        return 0;
    }
    if (device->cu->memory_info(&left_bytes, &total) != CU_SUCCESS) {
        left_bytes = 0;
    }
    shpool_device_leave(device, left);
    left_bytes += bins->count.driver_bytes;
    return (limit < left_bytes) ? limit : left_bytes;
}

/* 1: the halves get memory, of which little is new, and the request does in granules of twice the
 * size.  One that will fail does not make granules large; and later ones can use the limit up, if
 * it is near. */
static int is_there(bins_self *bins, size_t halves, size_t need)
{
    const bins_granules *g = &bins->granules;
    uint64_t limit = limit_of(bins);
    uint64_t more = (halves > g->spares) ? halves - g->spares : 0;
    uint64_t held = bins->count.driver_bytes + more * g->bytes;
    uint64_t pair = 2 * (uint64_t)g->bytes;

    if ((more > g->count / FEW_HALVES) && (held > bins_most(bins))) {
        return 0;
    }
    return (held <= limit) && ((need + pair - 1) / pair <= (limit - held) / pair) &&
           ((pair <= limit / LIMIT_GRANULES) ||
            ((g->bytes == g->least) && ((limit - held) % pair < g->bytes)));
}

static int double_now(bins_self *bins, bins_lane *lane, size_t need)
{
    bins_granules *g = &bins->granules;
    size_t halves;

    bins_poll(bins, lane);
    if (!may_double(bins, expected(g, need) * (uint64_t)g->bytes)) {
        return 0;
    }
    halves = count_halves(bins);
    if (!is_there(bins, halves, need)) {
        return 0;
    }
    if ((halves > g->spares) &&
        (bins_granules_make(bins, halves - g->spares, &lane->timeline) != SHPOOL_OK)) {
        return 0;
    }
    if (!pair_places(bins) || ((g->spares % 2 != 0) && (bins_granules_release(bins, 1) == 0))) {
        return 0;
    }
    join_all(bins);
    return 1;
}

int bins_granules_double(bins_self *bins, bins_lane *lane, size_t need)
{
    bins_granules *g = &bins->granules;
    int doubled = 0;

    while (expected(g, need) >= g->next) {
        if (!double_now(bins, lane, need)) {
            size_t later = used(g) + used(g) / AGAIN + 1;

            g->next = (later > bins_next_double(bins)) ? later : bins_next_double(bins);
            break;
        }
        g->next = bins_next_double(bins);
        doubled = 1;
    }
    return doubled;
}
