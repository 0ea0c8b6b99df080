/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_first_fit
 *
 * One pool per thread, no synchronisation: the first free block, by address, that is large enough.
 * The structure is impl/heap/boundary_tags.h's. */
#ifndef SHPOOL_ALLOCATORS_THREAD_FIRST_FIT_H
#define SHPOOL_ALLOCATORS_THREAD_FIRST_FIT_H

#include <shpool/impl/heap/tags_thread.h>
#include <shpool/module.h>

#define SHPOOL_PACKS_thread_first_fit ~, SHPOOL_PACKING(SHPOOL_PACK_DOWN, 4u, 0u, 0u)
SHPOOL_TAGS_THREAD_MODULE(thread_first_fit, 0)

#endif /* SHPOOL_ALLOCATORS_THREAD_FIRST_FIT_H */
