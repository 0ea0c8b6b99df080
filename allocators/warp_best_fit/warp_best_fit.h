/* SPDX-License-Identifier: BSD-3-Clause */
/* warp_best_fit
 *
 * One pool for each group of threads_per_pool threads, with a lock: the smallest free block that is
 * large enough.  The structure is that of impl/heap/boundary_tags.h; impl/heap/tags_batch.h
 * explains how lanes are served together. */
#ifndef SHPOOL_ALLOCATORS_WARP_BEST_FIT_H
#define SHPOOL_ALLOCATORS_WARP_BEST_FIT_H

#include <shpool/impl/heap/tags_batch.h>
#include <shpool/module.h>

#define SHPOOL_PACKS_warp_best_fit  ~, SHPOOL_PACKING(SHPOOL_PACK_DOWN, 4u, 0u, 0u)
#define SHPOOL_GUARDS_warp_best_fit ~, 1 /* module.h */
SHPOOL_BATCH_MODULE(warp_best_fit, 1)

#endif /* SHPOOL_ALLOCATORS_WARP_BEST_FIT_H */
