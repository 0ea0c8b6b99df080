/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHPOOL_CHECK_GROUPS_MEMCPY_ASYNC_H
#define SHPOOL_CHECK_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"
#include "../cuda/shpool_check_copy.h"

namespace cooperative_groups {
/* A batch for each call: CUDA's stages. */
template <typename Group, typename T, typename Bytes>
__forceinline__ void memcpy_async(const Group &group, T *to, const T *from, const Bytes &bytes)
{
    shpool_check_copy_part(group, (const shpool_check_bar *)nullptr, to, from, bytes);
    (void)shpool_check_async_commit();
}
template <unsigned N, typename Group> inline void wait_prior(const Group &group, SHPOOL_CHECK_HERE)
{
    shpool_check_async_wait(N);
    group.sync(file, line);
}
template <typename Group> inline void wait(const Group &group, SHPOOL_CHECK_HERE)
{
    wait_prior<0>(group, file, line);
}
}

#endif /* SHPOOL_CHECK_GROUPS_MEMCPY_ASYNC_H */
