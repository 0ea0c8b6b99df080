/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: where granules are mapped.
 *
 * A granule that moves stays mapped at its old place, so that it can come back without a call of
 * the driver: a program that repeats its requests soon makes none.  Work that was submitted before
 * the move may still use the old addresses; a stream that comes after it in stream order may use
 * the new ones immediately.  CUDA calls this virtual aliasing, and permits it if one kernel or copy
 * ends before the next one uses the other addresses, which the order of a stream ensures.
 *
 * The driver does not wait for the device when it unmaps, so a place is only unmapped if no stream
 * uses its addresses.
 */
#include "vmm.h"

/* ---- what is in use ---- */

int bins_place_is_done(bins_place *place)
{
    if ((place->last != NULL) && shpool_timeline_is_done(place->last, place->seq)) {
        place->last = NULL;
    }
    return place->last == NULL;
}

/* ---- homes ---- */

static void settle(bins_self *bins, bins_slab *slab, bins_place *place)
{
    bins_spare_remove(&bins->granules, place->granule);
    place->granule->home = place;
    slab->driver_bytes += bins->granules.bytes;
}

static void leave(bins_self *bins, bins_slab *slab, const bins_place *place)
{
    bins_spare_put(&bins->granules, place->granule);
    slab->driver_bytes -= bins->granules.bytes;
}

void bins_places_leave(bins_self *bins, bins_slab *slab, size_t first, size_t count,
                       shpool_timeline *last, uint64_t seq)
{
    for (bins_place *p = slab->place + first; p < slab->place + first + count; p++) {
        leave(bins, slab, p);
        p->granule->last = last;
        p->granule->seq = seq;
        p->last = last;
        p->seq = seq;
        if (!slab->heap->windows) {
            p->granule->origin = p;
            p->granule->origin_slab = slab;
        }
    }
}

void bins_places_return(bins_self *bins, bins_slab *slab, size_t first, size_t count)
{
    for (bins_place *p = slab->place + first; p < slab->place + first + count; p++) {
        settle(bins, slab, p);
        p->granule->last = NULL;
    }
}

/* ---- map and unmap; the context is current ---- */

static cu_ptr address_of(const bins_self *bins, const bins_slab *slab, size_t at)
{
    return (cu_ptr)slab->base + (cu_ptr)at * bins->granules.bytes;
}

/* Places that all have a granule: one call, because it is the call that takes the time. */
static cu_result unmap(bins_self *bins, bins_slab *slab, size_t first, size_t count)
{
    cu_result result = bins->lanes.device->cu->granule_unmap(address_of(bins, slab, first),
                                                             count * bins->granules.bytes);

    for (size_t i = first; (i < first + count) && (result == CU_SUCCESS); i++) {
        bins_place *p = &slab->place[i];

        if (bins_is_home(p)) {
            leave(bins, slab, p);
            p->granule->last = NULL;
        }
        p->granule->maps--;
        slab->maps--;
        p->granule = NULL;
        p->open = 0;
    }
    return result;
}

/* One after the other, if not all at once; the driver's latest refusal. */
static cu_result unmap_each(bins_self *bins, bins_slab *slab, size_t first, size_t count)
{
    cu_result result = unmap(bins, slab, first, count);
    cu_result each = CU_SUCCESS;

    for (size_t i = first; (i < first + count) && (result != CU_SUCCESS) && (count > 1); i++) {
        cu_result one = unmap(bins, slab, i, 1);

        each = (one != CU_SUCCESS) ? one : each;
    }
    return (count > 1) ? each : result;
}

/* All handles of a granule, or none. */
static cu_result map_at(const bins_self *bins, cu_ptr address, const bins_granule *granule)
{
    const shpool_driver *cu = bins->lanes.device->cu;
    cu_result result = CU_SUCCESS;
    size_t done = 0;

    for (; (granule != NULL) && (result == CU_SUCCESS); granule = granule->part) {
        result = cu->granule_map(address + done, granule->bytes, 0, granule->handle, 0);
        done += (result == CU_SUCCESS) ? granule->bytes : 0;
    }
    if ((result != CU_SUCCESS) && (done > 0)) {
        (void)cu->granule_unmap(address, done);
    }
    return result;
}

static cu_result map(bins_self *bins, bins_slab *slab, size_t at, bins_granule *granule)
{
    bins_place *p = &slab->place[at];
    cu_result result = map_at(bins, address_of(bins, slab, at), granule);

    if (result == CU_SUCCESS) {
        *p = (bins_place){ .granule = granule };
        granule->maps++;
        slab->maps++;
        slab->places = (at + 1 > slab->places) ? at + 1 : slab->places;
    }
    return result;
}

/* ---- fill ---- */

/* Prefers a granule that the site does not have a place for yet. */
static bins_granule *usable_spare(bins_self *bins, const shpool_timeline *timeline)
{
    bins_granules *g = &bins->granules;
    bins_granule *found = NULL;

    for (size_t i = g->spares; i-- > 0;) {
        if (bins_spare_is_usable(g->spare[i], timeline)) {
            found = g->spare[i];
            if (found->counted != g->counts) {
                break;
            }
        }
    }
    return found;
}

/* Another granule's addresses, or those of none, get a spare one. */
static cu_result map_spare(bins_self *bins, bins_slab *slab, size_t at,
                           const shpool_timeline *timeline)
{
    bins_place *p = &slab->place[at];
    bins_granule *granule = usable_spare(bins, timeline);
    cu_result result = CU_SUCCESS;

    if ((granule == NULL) || ((p->granule != NULL) && !bins_place_is_done(p))) {
        return CU_ERROR_OUT_OF_MEMORY; /* the search for a site excludes it */
    }
    if (p->granule != NULL) {
        result = unmap(bins, slab, at, 1);
    }
    if (result == CU_SUCCESS) {
        result = map(bins, slab, at, granule);
    }
    if (result == CU_SUCCESS) {
        settle(bins, slab, p);
    }
    return result;
}

/* Access for those that lack it, a call for neighbours. */
static cu_result open_all(bins_self *bins, bins_slab *slab, size_t first, size_t count)
{
    const bins_granules *g = &bins->granules;
    cu_result result = CU_SUCCESS;

    for (size_t i = first, end; (i < first + count) && (result == CU_SUCCESS); i = end + 1) {
        for (end = i; (end < first + count) && !slab->place[end].open;) {
            end++;
        }
        if (end > i) {
            result = bins->lanes.device->cu->granule_access(address_of(bins, slab, i),
                                                            (end - i) * g->bytes, g->access,
                                                            g->accesses);
        }
        for (; (i < end) && (result == CU_SUCCESS); i++) {
            slab->place[i].open = 1;
        }
    }
    return result;
}

static cu_result fill_rest(bins_self *bins, bins_slab *slab, size_t first, size_t count,
                           const shpool_timeline *timeline)
{
    const shpool_device *device = bins->lanes.device;
    int left;
    cu_result result = shpool_device_enter_result(device, &left);

    for (size_t i = first; (i < first + count) && (result == CU_SUCCESS); i++) {
        if (!bins_is_home(&slab->place[i])) {
            result = map_spare(bins, slab, i, timeline);
        }
    }
    if (result == CU_SUCCESS) {
        result = open_all(bins, slab, first, count);
    }
    shpool_device_leave(device, left);
    return result;
}

cu_result bins_places_fill(bins_self *bins, bins_slab *slab, size_t first, size_t count,
                           const shpool_timeline *timeline, int *busy_p)
{
    bins_place *end = slab->place + first + count;
    cu_result result = CU_SUCCESS;
    size_t ready = 0;

    for (bins_place *p = slab->place + first; p < end; p++) {
        if ((p->granule != NULL) && (p->granule->home == NULL) &&
            bins_spare_is_usable(p->granule, timeline)) {
            settle(bins, slab, p);
            ready += (size_t)p->open;
        }
    }
    if (ready < count) {
        result = fill_rest(bins, slab, first, count, timeline);
    }
    *busy_p = 0;
    for (bins_place *p = slab->place + first; p < end; p++) {
        if (result == CU_SUCCESS) {
            *busy_p |= (p->granule->last != NULL);
            p->granule->last = NULL;
        } else if (bins_is_home(p)) {
            leave(bins, slab, p);
        }
    }
    return result;
}

/* ---- unmapping for good ---- */

void bins_places_drop(bins_self *bins, bins_slab *slab, size_t first, size_t count)
{
    const shpool_device *device = bins->lanes.device;
    int left;

    if (shpool_device_enter_quietly(device, &left)) {
        (void)unmap_each(bins, slab, first, count);
        shpool_device_leave(device, left);
    }
}

static int is_leaving(const bins_place *place)
{
    return (place->granule != NULL) && place->granule->leaving;
}

/* A granule stays if its addresses are in use somewhere. */
static void keep_busy(bins_slab *slab)
{
    for (size_t i = 0; i < slab->places; i++) {
        if (is_leaving(&slab->place[i]) && !bins_place_is_done(&slab->place[i])) {
            slab->place[i].granule->leaving = 0;
        }
    }
}

static void unmap_leaving(bins_self *bins, bins_slab *slab)
{
    for (size_t i = 0, end; i < slab->places; i = end + 1) {
        for (end = i; (end < slab->places) && is_leaving(&slab->place[end]);) {
            end++;
        }
        if ((end > i) && (unmap_each(bins, slab, i, end - i) != CU_SUCCESS)) {
            for (; i < end; i++) {
                if (slab->place[i].granule != NULL) {
                    slab->place[i].granule->leaving = 0;
                }
            }
        }
    }
}

void bins_places_unmap_leaving(bins_self *bins)
{
    for (bins_slab *s = bins_next_slab(bins, NULL); s != NULL; s = bins_next_slab(bins, s)) {
        keep_busy(s);
    }
    for (bins_slab *s = bins_next_slab(bins, NULL); s != NULL; s = bins_next_slab(bins, s)) {
        unmap_leaving(bins, s);
    }
}

cu_result bins_places_clear(bins_self *bins, bins_slab *slab)
{
    cu_result result = CU_SUCCESS;

    for (size_t i = 0, end; i < slab->places; i = end + 1) {
        for (end = i; (end < slab->places) && (slab->place[end].granule != NULL);) {
            end++;
        }
        if (end > i) {
            cu_result one = unmap_each(bins, slab, i, end - i);

            result = (one != CU_SUCCESS) ? one : result;
        }
    }
    return result;
}
