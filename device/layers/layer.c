/* SPDX-License-Identifier: BSD-3-Clause */
/* Live allocations of layers: noted after the upstream's malloc, taken out before its free. */
#include "layer.h"

void shpool_layer_return(shpool_device_allocator *upstream, void *ptr, shpool_stream stream)
{
    if (shpool_device_free(upstream, ptr, stream) != SHPOOL_OK) {
        (void)shpool_device_free(upstream, ptr, stream);
    }
}

shpool_status shpool_layer_note(shpool_device_allocator *upstream, shpool_ptr_map *map, void *ptr,
                                size_t bytes, shpool_stream stream)
{
    shpool_status status = shpool_ptr_put(map, ptr, bytes, NULL);

    if (status != SHPOOL_OK) {
        shpool_layer_return(upstream, ptr, stream);
    }
    return status;
}

/* Removed before it is freed: another thread may get the same address immediately. */
shpool_status shpool_layer_free(shpool_device_allocator *upstream, shpool_ptr_map *map, void *ptr,
                                shpool_stream stream, shpool_ptr_entry *entry_p)
{
    shpool_status status = shpool_ptr_take(map, ptr, entry_p);

    if (status != SHPOOL_OK) {
        return status;
    }
    status = shpool_device_free(upstream, ptr, stream);
    if (status != SHPOOL_OK) {
        shpool_ptr_put_back(map, entry_p);
    }
    return status;
}
