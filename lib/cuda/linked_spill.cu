/* SPDX-License-Identifier: BSD-3-Clause */
/* Run-time linking: the part of a kernel whose pool spills.  Beside it the allocator's module. */
#include <shpool/impl/report/spill.h>

/* Under the names of linked kernels, and those of a plugin's tables (SHPOOL_PLUGIN_MODULE). */
#define SPILL_FUNCTIONS(_spill, _unspill, _bytes, _fini) \
    extern "C" { \
    __device__ void *_spill(shpool_view view, unsigned long long bytes, uint32_t alignment) \
    { \
        return shpool_spill(view, bytes, alignment); \
    } \
    __device__ uint32_t _unspill(shpool_view view, void *ptr, uint32_t site) \
    { \
        return shpool_unspill(view, ptr, site); \
    } \
    __device__ unsigned long long _bytes(shpool_view view, const void *ptr) \
    { \
        return shpool_spill_bytes(view, ptr); \
    } \
    __device__ void _fini(shpool_view view) { shpool_spill_fini(view); } \
    }
SPILL_FUNCTIONS(shpool_linked_spill, shpool_linked_unspill, shpool_linked_spilled,
                shpool_linked_fini)
SPILL_FUNCTIONS(shpool_image_spill, shpool_image_unspill, shpool_image_spill_bytes,
                shpool_image_spill_fini)

extern "C" __device__ uint32_t shpool_linked_can_spill(void) { return 1; }
