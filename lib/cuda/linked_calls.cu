/* SPDX-License-Identifier: BSD-3-Clause */
/* For a relinked image: its kernels call the one allocator by name, so that it is inlined.
 * Replaces image_calls.cu; LTO-IR, linked with the allocator's.  For pools that do not spill;
 * linked_calls_spill.cu is for those that do. */
#define SHPOOL_LINKED
#include <shpool/impl/calls.h>

#if !defined(SHPOOL_CAN_SPILL)
#define SHPOOL_CAN_SPILL 0
#endif

/* Counting, checking and recording use function tables.  The code for a flag that is known to be
 * clear is removed. */
extern "C" __device__ uint32_t shpool_named_flags(uint32_t flags)
{
    const uint32_t never = (uint32_t)SHPOOL_FLAG_STATS | (uint32_t)SHPOOL_FLAG_CHECK |
                           (uint32_t)SHPOOL_FLAG_TRACE | (uint32_t)SHPOOL_FLAG_REFUSED_MASK |
                           (SHPOOL_CAN_SPILL ? 0u : (uint32_t)SHPOOL_FLAG_SPILL);

    return (flags & ~never) | (uint32_t)SHPOOL_FLAG_NAMED;
}

#define BY_NAME(_type, _name, _parameters, _arguments) \
    extern "C" __device__ _type shpool_named_##_name _parameters \
    { \
        return shpool_linked_##_name _arguments; \
    }
SHPOOL_EACH_CALL(BY_NAME)

/* The archive's part that spills is in the image already (lib/cuda/image_spill.cu). */
extern "C" {
__device__ void *shpool_linked_spill(shpool_view view, unsigned long long bytes, uint32_t alignment)
{
    return shpool_image_spill(view, bytes, alignment);
}
__device__ uint32_t shpool_linked_unspill(shpool_view view, void *ptr, uint32_t site)
{
    return shpool_image_unspill(view, ptr, site);
}
__device__ unsigned long long shpool_linked_spilled(shpool_view view, const void *ptr)
{
    return shpool_image_spill_bytes(view, ptr);
}
__device__ void shpool_linked_fini(shpool_view view) { shpool_image_spill_fini(view); }
}
