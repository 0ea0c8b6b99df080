/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: granules without a home, and who may use them. */
#include "vmm.h"

void bins_spare_put(bins_granules *g, bins_granule *granule)
{
    granule->home = NULL;
    granule->spare_at = g->spares;
    g->spare[g->spares++] = granule;
}

void bins_spare_remove(bins_granules *g, bins_granule *granule)
{
    bins_granule *latest = g->spare[--g->spares];

    g->spare[granule->spare_at] = latest;
    latest->spare_at = granule->spare_at;
}

int bins_spare_is_usable(bins_granule *granule, const shpool_timeline *timeline)
{
    if ((granule->last != NULL) && shpool_timeline_is_done(granule->last, granule->seq)) {
        granule->last = NULL;
    }
    return !granule->broken &&
           ((granule->last == NULL) ||
            ((timeline != NULL) && shpool_timeline_same(granule->last, timeline)));
}

size_t bins_spares_usable(bins_self *bins, const shpool_timeline *timeline)
{
    bins_granules *g = &bins->granules;
    size_t count = 0;

    for (size_t i = 0; i < g->spares; i++) {
        count += (size_t)bins_spare_is_usable(g->spare[i], timeline);
    }
    return count;
}
