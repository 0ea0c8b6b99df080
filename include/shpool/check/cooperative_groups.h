/* SPDX-License-Identifier: BSD-3-Clause */
/* cooperative_groups for programs that shpool-check builds: a group is a mask of the warp's lanes,
 * or the block if the mask is 0, and the caller's rank in it. */
#ifndef SHPOOL_CHECK_COOPERATIVE_GROUPS_H
#define SHPOOL_CHECK_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

#pragma clang attribute push(__attribute__((no_sanitize("thread"))), apply_to = function)
#define SHPOOL_CHECK_MISSING(_what) \
    static_assert(sizeof(T) == 0, \
                  "shpool-check: " _what " is not there: blocks run one after another")

namespace cooperative_groups {

class thread_group {
public:
    void sync(SHPOOL_CHECK_HERE) const
    {
        if (lanes == 0) {
            shpool_check_barrier(file, line);
        } else {
            __syncwarp(lanes, file, line);
        }
    }
    unsigned long long size() const { return count; }
    unsigned long long num_threads() const { return count; }
    unsigned long long thread_rank() const { return rank; }
    unsigned meta_group_rank() const { return part; }
    unsigned meta_group_size() const { return parts; }
    bool is_valid() const { return true; }

    unsigned lanes, rank, count, part, parts; /* the last two: in what it is a part of */
};

struct thread_block : thread_group {
    static uint3 thread_index() { return threadIdx; }
    static uint3 group_index() { return blockIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block()
{
    return {{0, simt_thread_rank(), simt_block_threads(), 0, 1}};
}

/* Calls of lanes: ranks in the group stand for lanes of the warp. */
struct coalesced_group : thread_group {
    template <typename T> T shfl(T v, int from, SHPOOL_CHECK_HERE) const
    {
        return shpool_check_shuffle_words(lanes, v, lane_of((unsigned)from % count), file, line);
    }
    template <typename T> T shfl_up(T v, unsigned n, SHPOOL_CHECK_HERE) const
    {
        return shfl(v, (int)((n > rank) ? rank : rank - n), file, line);
    }
    template <typename T> T shfl_down(T v, unsigned n, SHPOOL_CHECK_HERE) const
    {
        return shfl(v, (int)((rank + n >= count) ? rank : rank + n), file, line);
    }
    template <typename T> T shfl_xor(T v, unsigned n, SHPOOL_CHECK_HERE) const
    {
        return shfl(v, (int)(((rank ^ n) >= count) ? rank : rank ^ n), file, line);
    }
    int any(int yes, SHPOOL_CHECK_HERE) const { return __any_sync(lanes, yes, file, line) != 0; }
    int all(int yes, SHPOOL_CHECK_HERE) const { return __all_sync(lanes, yes, file, line) != 0; }
    unsigned ballot(int yes, SHPOOL_CHECK_HERE) const
    {
        return ranks_of(__ballot_sync(lanes, yes, file, line));
    }
    template <typename T> unsigned match_any(T v, SHPOOL_CHECK_HERE) const
    {
        return ranks_of(__match_any_sync(lanes, v, file, line));
    }
    template <typename T> unsigned match_all(T v, int &all_of, SHPOOL_CHECK_HERE) const
    {
        return ranks_of(__match_all_sync(lanes, v, &all_of, file, line));
    }
    unsigned lane_of(unsigned r) const
    {
        unsigned rest = lanes;

        for (; r > 0; r--) {
            rest &= rest - 1;
        }
        return (unsigned)__builtin_ctz(rest);
    }
    unsigned ranks_of(unsigned some) const
    {
        unsigned ranks = 0;

        for (unsigned r = 0, rest = lanes; rest != 0; r++, rest &= rest - 1) {
            ranks |= ((some & rest & -rest) != 0) << r;
        }
        return ranks;
    }
};

/* The group of those of `parent` that are in `lanes`. */
inline coalesced_group shpool_check_lanes(unsigned lanes, unsigned part, unsigned parts)
{
    return {{lanes, (unsigned)__popc(lanes & ((1u << simt_lane()) - 1)), (unsigned)__popc(lanes),
             part, parts}};
}
inline coalesced_group coalesced_threads(SHPOOL_CHECK_HERE)
{
    return shpool_check_lanes(__activemask(file, line), 0, 1);
}
/* Each n of a group by their ranks; a block's ranks begin with lane 0 of a warp. */
inline coalesced_group tiled_partition(const thread_group &parent, unsigned n)
{
    const unsigned first = parent.rank / n * n;
    unsigned       lanes = 0;

    if (parent.lanes == 0) {
        lanes = ((n < 32) ? (1u << n) - 1 : ~0u) << first % 32;
        lanes &= (parent.count - first < n) ? ~(~0u << (first % 32 + parent.count - first)) : ~0u;
    } else {
        for (unsigned r = first; (r < first + n) && (r < parent.count); r++) {
            lanes |= 1u << static_cast<const coalesced_group &>(parent).lane_of(r);
        }
    }
    return shpool_check_lanes(lanes, parent.rank / n, (parent.count + n - 1) / n);
}
template <unsigned N, typename Parent = void> struct thread_block_tile : coalesced_group {
    static_assert((N > 0) && ((N & (N - 1)) == 0) && (N <= 32),
                  "shpool-check: tiles of more than 32 threads are not there");
    explicit thread_block_tile(const coalesced_group &group) : coalesced_group(group) {}
    template <typename Other>
    thread_block_tile(const thread_block_tile<N, Other> &other) : coalesced_group(other) {}
    static constexpr unsigned long long size() { return N; }
    static constexpr unsigned long long num_threads() { return N; }
};
template <unsigned N, typename Parent>
inline thread_block_tile<N, Parent> tiled_partition(const Parent &parent)
{
    return thread_block_tile<N, Parent>(tiled_partition((const thread_group &)parent, N));
}
template <typename T>
inline coalesced_group labeled_partition(const coalesced_group &parent, T label, SHPOOL_CHECK_HERE)
{
    return shpool_check_lanes(__match_any_sync(parent.lanes, label, file, line), 0, 1);
}
inline coalesced_group binary_partition(const coalesced_group &parent, bool yes, SHPOOL_CHECK_HERE)
{
    return labeled_partition(parent, (int)yes, file, line);
}

struct grid_group {
    unsigned long long size() const { return num_blocks() * simt_block_threads(); }
    unsigned long long num_threads() const { return size(); }
    unsigned long long num_blocks() const { return simt_grid_blocks(); }
    unsigned long long block_rank() const { return simt_block_rank(); }
    unsigned long long thread_rank() const
    {
        return block_rank() * simt_block_threads() + simt_thread_rank();
    }
    dim3 group_dim() const { return gridDim; }
    dim3 dim_blocks() const { return gridDim; }
    uint3 block_index() const { return blockIdx; }
    bool is_valid() const { return true; }
    template <typename T = void *> void sync() const { SHPOOL_CHECK_MISSING("grid.sync()"); }
};
inline grid_group this_grid() { return {}; }
template <typename T = void *> void this_cluster() { SHPOOL_CHECK_MISSING("this_cluster()"); }

template <typename Group> inline void sync(const Group &group, SHPOOL_CHECK_HERE)
{
    group.sync(file, line);
}
template <typename Group> inline unsigned long long thread_rank(const Group &group)
{
    return group.thread_rank();
}
template <typename Group> inline unsigned long long group_size(const Group &group)
{
    return group.size();
}
}

#pragma clang attribute pop

#endif /* SHPOOL_CHECK_COOPERATIVE_GROUPS_H */
