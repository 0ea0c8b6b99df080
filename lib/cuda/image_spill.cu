/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by all function tables of this archive: requests that go to global memory. */
#pragma GCC visibility push(hidden) /* unpopped: the registration symbols too, see image.cu */
#include <shpool/module.h>

extern "C" {
__device__ void *shpool_image_spill(shpool_view view, unsigned long long bytes, uint32_t alignment)
{
    return shpool_spill(view, bytes, alignment);
}
__device__ uint32_t shpool_image_unspill(shpool_view view, void *ptr, uint32_t site)
{
    return shpool_unspill(view, ptr, site);
}
__device__ unsigned long long shpool_image_spill_bytes(shpool_view view, const void *ptr)
{
    return shpool_spill_bytes(view, ptr);
}
__device__ void shpool_image_spill_fini(shpool_view view) { shpool_spill_fini(view); }
}
