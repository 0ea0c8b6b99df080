/* SPDX-License-Identifier: BSD-3-Clause */
/* Run-time linking: the part of a kernel whose pool spills.  Beside it the allocator's module. */
#include <shpool/impl/report/spill.h>

extern "C" {
__device__ uint32_t shpool_linked_can_spill(void) { return 1; }
__device__ void *shpool_linked_spill(shpool_view view, unsigned long long bytes, uint32_t alignment)
{
    return shpool_spill(view, bytes, alignment);
}
__device__ uint32_t shpool_linked_unspill(shpool_view view, void *ptr, uint32_t site)
{
    return shpool_unspill(view, ptr, site);
}
__device__ unsigned long long shpool_linked_spilled(shpool_view view, const void *ptr)
{
    return shpool_spill_bytes(view, ptr);
}
__device__ void shpool_linked_fini(shpool_view view) { shpool_spill_fini(view); }
}
