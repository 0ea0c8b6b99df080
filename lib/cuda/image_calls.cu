/* SPDX-License-Identifier: BSD-3-Clause */
/* Stubs for kernels with LTO-IR until their image is relinked: no allocator has a name to call.
 * They are alone in their object, because shpool_relink() replaces it by linked_calls.cu; it
 * recognises the object by the name of its fat binary (m4/nvcc.mk). */
#pragma GCC visibility push(hidden) /* unpopped: the registration symbols too, see image.cu */
#include <shpool/impl/calls.h>

extern "C" __device__ uint32_t shpool_named_flags(uint32_t flags)
{
    return flags;
}

template <typename Type> __device__ Type never(void)
{
    __trap();
    return Type();
}

#define NEVER_CALLED(_type, _name, _parameters, _arguments) \
    extern "C" __device__ _type shpool_named_##_name _parameters { return never<_type>(); }
SHPOOL_EACH_CALL(NEVER_CALLED)
