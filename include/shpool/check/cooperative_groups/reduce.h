/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHPOOL_CHECK_GROUPS_REDUCE_H
#define SHPOOL_CHECK_GROUPS_REDUCE_H

#include "../cooperative_groups.h"

namespace cooperative_groups {
#define SHPOOL_CHECK_FUNCTOR(_name, _combined) \
    template <typename = void> struct _name { \
        template <typename T> T operator()(T a, T b) const { return (T)(_combined); } \
    };
SHPOOL_CHECK_FUNCTOR(plus, a + b)
SHPOOL_CHECK_FUNCTOR(less, (b < a) ? b : a)
SHPOOL_CHECK_FUNCTOR(greater, (a < b) ? b : a)
SHPOOL_CHECK_FUNCTOR(bit_and, a & b)
SHPOOL_CHECK_FUNCTOR(bit_or, a | b)
SHPOOL_CHECK_FUNCTOR(bit_xor, a ^ b)
#undef SHPOOL_CHECK_FUNCTOR

template <typename T, typename F>
inline T reduce(const coalesced_group &group, T v, F combine, SHPOOL_CHECK_HERE)
{
    return shpool_check_reduce(group.lanes, v, combine, file, line);
}
}

#endif /* SHPOOL_CHECK_GROUPS_REDUCE_H */
