/* SPDX-License-Identifier: BSD-3-Clause */
/* What memcpy_async() of cooperative_groups and of cuda:: share. */
#ifndef SHPOOL_CHECK_COPY_H
#define SHPOOL_CHECK_COPY_H

#include "../cuda_runtime.h"

namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block,
                    thread_scope_thread };
template <size_t Alignment> struct aligned_size_t {
    static constexpr size_t align = Alignment;
    size_t value;

    explicit constexpr aligned_size_t(size_t bytes) : value(bytes) {}
    constexpr operator size_t() const { return value; }
};
}

/* Each thread of a group copies its part, in units of 16 bytes. */
template <typename Group>
__forceinline__ void shpool_check_copy_part(const Group &group, const shpool_check_bar *bar,
                                            void *to, const void *from, size_t bytes)
{
    const size_t part = (bytes / group.size() + 16) / 16 * 16;
    const size_t at   = part * group.thread_rank();

    if (at < bytes) {
        shpool_check_async(bar, (char *)to + at, (const char *)from + at,
                           (bytes - at < part) ? bytes - at : part);
    }
}

#endif /* SHPOOL_CHECK_COPY_H */
