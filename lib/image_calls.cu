/* SPDX-License-Identifier: BSD-3-Clause */
/* What kernels with LTO-IR find as long as nobody joined their image anew: no allocator has a name
 * to call.  Alone in its object, because shpool_relink() leaves that one out and puts
 * linked_calls.cu in its place; it knows it by the name of its fat binary (m4/nvcc.mk). */
#pragma GCC visibility push(hidden) /* unpopped: the registration symbols too, see lib/image.cu */
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
