/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by layers that keep a map of their live allocations. */
#ifndef SHPOOL_DEVICE_LAYER_H
#define SHPOOL_DEVICE_LAYER_H

#include "device/base/ptr_map.h"

#include <shpool/device/allocator.h>

#pragma GCC visibility push(hidden)

/* Note an allocation of the upstream; without memory for that, it is freed again. */
shpool_status shpool_layer_note(shpool_device_allocator *upstream, shpool_ptr_map *map, void *ptr,
                                size_t bytes, shpool_stream stream);

/* Free a recorded allocation; *entry_p is its entry in the map.  After a failure it is still
 * recorded. */
shpool_status shpool_layer_free(shpool_device_allocator *upstream, shpool_ptr_map *map, void *ptr,
                                shpool_stream stream, shpool_ptr_entry *entry_p);

/* Free memory that a layer cannot return to its caller.  If the upstream refuses, try once more,
 * because no other caller could.  Memory refused twice stays live there until the allocator
 * ends. */
void shpool_layer_return(shpool_device_allocator *upstream, void *ptr, shpool_stream stream);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_LAYER_H */
