/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/loadstore/gather.cuh
 * Gather and scatter: registers in strided order, elements where an index says.
 *
 * All NT threads call, with tid 0 .. NT-1; those of a warp need not come together.  Indexes may be
 * of any integer type: with 64 bits they reach beyond 2^31 elements.  An index whose register lies
 * beyond count is not looked at.  Of these functions the sync defaults are the original's code's
 * (true); its text says that functions without "Shared" in the name do not synchronize.
 */
#ifndef SHPOOL_LOADSTORE_GATHER_CUH
#define SHPOOL_LOADSTORE_GATHER_CUH

#include <shpool/loadstore/reg.cuh>

namespace shpool {

/**
 * Load the elements that indices name; registers beyond count keep their value.
 *
 * Scope:    all NT threads.
 * Shapes:   indices and reg have VT values each; count is of the tile, at most NT * VT.
 * Barrier:  with sync (default) behind the loads.
 *
 * @code gather
 * int indices[2] = {63 - tid, tid};                        // data: 0 10 20 ... 630
 * int reg[2]     = {-1, -1};
 * shpool::gather<32, 2>(63, data, indices, tid, reg);      // thread 1: 620 10; thread 31: 320 -1
 * @endcode
 */
template <int NT, int VT, typename It, typename Index, typename T>
SIMT_FN void gather(ptrdiff_t count, It data, const Index (&indices)[VT], int tid, T *reg,
                    bool sync = true)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    const int n = impl::clamp_count<NT * VT>(count);

    if (n == NT * VT) {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            reg[i] = data[static_cast<ptrdiff_t>(indices[i])];
        }
    } else {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            if (NT * i + tid < n) {
                reg[i] = data[static_cast<ptrdiff_t>(indices[i])];
            }
        }
    }
    impl::barrier_if(sync);
}

/**
 * As gather, but registers beyond count become identity.
 *
 * @code gather_default
 * int indices[2] = {63 - tid, tid};                                // data: 0 10 20 ... 630
 * int reg[2];
 * shpool::gather_default<32, 2>(63, data, indices, tid, reg, 0);   // thread 31: 320 0
 * @endcode
 */
template <int NT, int VT, typename It, typename Index, typename T>
SIMT_FN void gather_default(ptrdiff_t count, It data, const Index (&indices)[VT], int tid, T *reg,
                            T identity, bool sync = true)
{
    if (count < NT * VT) {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            reg[i] = identity;
        }
    }
    gather<NT, VT>(count, data, indices, tid, reg, sync);
}

/**
 * Store each register to the element that its index names.
 *
 * Scope:    all NT threads.
 * Shapes:   as gather.
 * Barrier:  with sync (default) behind the stores.
 * Not:      of equal indexes it does not say which register stays.
 *
 * @code scatter
 * int indices[2] = {63 - tid, tid};
 * int reg[2]     = {tid, 100 + tid};
 * shpool::scatter<32, 2>(64, reg, tid, indices, out);      // out: 100 101 ... 131 31 30 ... 0
 * @endcode
 */
template <int NT, int VT, typename T, typename Index, typename Out>
SIMT_FN void scatter(ptrdiff_t count, const T *reg, int tid, const Index (&indices)[VT], Out data,
                     bool sync = true)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    const int n = impl::clamp_count<NT * VT>(count);

    if (n == NT * VT) {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            data[static_cast<ptrdiff_t>(indices[i])] = reg[i];
        }
    } else {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            if (NT * i + tid < n) {
                data[static_cast<ptrdiff_t>(indices[i])] = reg[i];
            }
        }
    }
    impl::barrier_if(sync);
}

/**
 * Gather by indexes that lie in shared memory, and store to global memory in strided order.
 *
 * Scope:    all NT threads; the barrier that made the indexes visible is the caller's.
 * Shapes:   indices_shared has count indexes, of at most NT * VT.
 * Barrier:  with sync (default) between gather and store: indices_shared may be used again behind
 *           the call; other threads read dest only behind one more.
 *
 * @code gather_global_to_global
 * // shared: 63 62 61 ... 0; data: 0 10 20 ... 630
 * shpool::gather_global_to_global<32, 2>(60, data, shared, tid, out);    // out: 630 620 ... 40
 * @endcode
 */
template <int NT, int VT, typename It, typename Index, typename Out>
SIMT_FN void gather_global_to_global(ptrdiff_t count, It data, Index indices_shared, int tid,
                                     Out dest, bool sync = true)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    typename impl::value_of<It>::type reg[VT] SHPOOL_UNSET;
    const int n = impl::clamp_count<NT * VT>(count);

    if (n == NT * VT) {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            reg[i] = data[static_cast<ptrdiff_t>(indices_shared[NT * i + tid])];
        }
    } else {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            if (NT * i + tid < n) {
                reg[i] = data[static_cast<ptrdiff_t>(indices_shared[NT * i + tid])];
            }
        }
    }
    impl::barrier_if(sync);
    reg_to_global<NT, VT>(n, reg, tid, dest, false);
}

} // namespace shpool

#endif /* SHPOOL_LOADSTORE_GATHER_CUH */
