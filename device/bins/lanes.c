/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: queries over all streams: whether one captures, its progress, their idle memory. */
#include "bins.h"

/* ---- captures ---- */

shpool_status bins_capture_relax(bins_self *bins, int *mode_p)
{
    const shpool_driver *cu = bins->lanes.device->cu;
    cu_result result = CU_SUCCESS;

    *mode_p = CU_CAPTURE_MODE_RELAXED;
    if ((atomic_load_explicit(&bins->lanes.captures, memory_order_relaxed) > 0) &&
        (cu->capture_mode != NULL)) {
        result = cu->capture_mode(mode_p);
    }
    return (result == CU_SUCCESS)
               ? SHPOOL_OK
               : shpool_driver_failed(cu, "cuThreadExchangeStreamCaptureMode", result);
}

void bins_capture_restore(bins_self *bins, int mode)
{
    if (mode != CU_CAPTURE_MODE_RELAXED) {
        (void)bins->lanes.device->cu->capture_mode(&mode);
    }
}

int bins_graph_captures(bins_self *bins)
{
    for (const bins_graph *graph = bins->graphs; graph != NULL; graph = graph->next) {
        for (const shpool_timeline *t = graph->open ? graph->streams : NULL; t != NULL;
             t = t->next) {
            int captures = 0;

            if ((t->thread == 0) || (t->thread == shpool_thread_number())) {
                (void)shpool_timeline_captures(&bins->lanes, t->stream, &captures);
            }
            if (captures) {
                return 1;
            }
        }
    }
    return 0;
}

/* ---- lanes ---- */

void bins_poll(bins_self *bins, bins_lane *lane)
{
    shpool_timeline *t = &lane->timeline;

    shpool_spin_lock(&t->lock);
    if (!shpool_timeline_is_done(t, t->seq)) {
        (void)shpool_timeline_chase(&bins->lanes, t);
    }
    shpool_spin_unlock(&t->lock);
}

uint64_t bins_idle_bytes(bins_self *bins)
{
    uint64_t held = (uint64_t)bins->granules.spares * bins->granules.bytes;
    uint64_t out = 0;
    uint64_t back = 0;

    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(bins->heap); i++) {
        for (const bins_slab *slab = bins->heap[i].slabs; slab != NULL; slab = slab->next) {
            held += slab->driver_bytes;
        }
    }
    for (bins_lane *lane = bins_first_lane(bins); lane != NULL; lane = bins_next_lane(lane)) {
        shpool_spin_lock(&lane->timeline.lock);
        out += lane->malloc_bytes;
        back += lane->free_bytes;
        shpool_spin_unlock(&lane->timeline.lock);
    }
    /* read one after the other while others work: not a moment's truth */
    return (held + back > out) ? held + back - out : 0;
}
