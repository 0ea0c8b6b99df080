/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: queries over all streams: their progress, their idle memory. */
#include "bins.h"

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
    uint64_t out = bins->malloc_bytes;
    uint64_t back = 0;

    for (bins_slab *s = bins_next_slab(bins, NULL); s != NULL; s = bins_next_slab(bins, s)) {
        held += s->driver_bytes;
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
