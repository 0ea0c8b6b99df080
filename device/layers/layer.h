/* SPDX-License-Identifier: BSD-3-Clause */
/* What layers share that keep a map of their live allocations. */
#ifndef SHPOOL_DEVICE_LAYER_H
#define SHPOOL_DEVICE_LAYER_H

#include "device/base/ptr_map.h"

#include <shpool/device/allocator.h>

#pragma GCC visibility push(hidden)

/* Note an allocation of the upstream; without memory for that, it is freed again. */
shpool_status shpool_layer_note(shpool_device_allocator *upstream, shpool_ptr_map *map, void *ptr,
                                size_t bytes, shpool_stream stream);

/* Free what was noted; *entry_p is what the map had of it.  After a failure it is still noted. */
shpool_status shpool_layer_free(shpool_device_allocator *upstream, shpool_ptr_map *map, void *ptr,
                                shpool_stream stream, shpool_ptr_entry *entry_p);

/* Give back what a layer cannot hand out.  The upstream is asked once more if it refuses: there is
 * nobody else who could.  What it refuses twice stays live there, and ends with the allocator. */
void shpool_layer_return(shpool_device_allocator *upstream, void *ptr, shpool_stream stream);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_LAYER_H */
