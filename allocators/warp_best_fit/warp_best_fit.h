/* SPDX-License-Identifier: BSD-3-Clause */
/* warp_best_fit
 *
 * One pool for each group of threads_per_pool threads, behind a lock: the smallest free block that
 * is large enough.
 * The structure is impl/boundary_tags.h's. */
#ifndef SHPOOL_ALLOCATORS_WARP_BEST_FIT_H
#define SHPOOL_ALLOCATORS_WARP_BEST_FIT_H

#include <shpool/impl/boundary_tags.h>
#include <shpool/impl/group_lock.h>
#include <shpool/module.h>

SIMT_FN simt_addr shpool_warp_best_fit_search(shpool_view view, uint32_t want)
{
    return shpool_tags_malloc(view, want, 1);
}

SHPOOL_LOCKED_MODULE(warp_best_fit, shpool_tags, shpool_warp_best_fit_search,
                     shpool_tags_want(bytes, alignment))

#endif /* SHPOOL_ALLOCATORS_WARP_BEST_FIT_H */
