/* SPDX-License-Identifier: BSD-3-Clause */
/* Run-time linking: the part of a kernel whose pool does not spill.  Nothing of it remains. */
#include <shpool/impl/report/spill.h>

extern "C" {
__device__ uint32_t shpool_linked_can_spill(void) { return 0; }
__device__ void *shpool_linked_spill(shpool_view, unsigned long long, uint32_t)
{
    return NULL;
}
__device__ uint32_t shpool_linked_unspill(shpool_view, void *, uint32_t)
{
    return SHPOOL_FREE_FOREIGN;
}
__device__ unsigned long long shpool_linked_spilled(shpool_view, const void *) { return 0; }
__device__ void shpool_linked_fini(shpool_view) {}

/* for the tables of a plugin (SHPOOL_PLUGIN_MODULE), which are never called here */
__device__ void *shpool_image_spill(shpool_view, unsigned long long, uint32_t)
{
    return NULL;
}
__device__ uint32_t shpool_image_unspill(shpool_view, void *, uint32_t)
{
    return SHPOOL_FREE_FOREIGN;
}
__device__ unsigned long long shpool_image_spill_bytes(shpool_view, const void *) { return 0; }
__device__ void shpool_image_spill_fini(shpool_view) {}
}
