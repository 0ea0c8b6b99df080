/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/loadstore/gather.cuh
 * Gather and scatter: registers in strided order, elements at given indexes.
 *
 * All NT threads call, with tid 0 ..  NT-1; the lanes of a warp need not be converged.  Indexes may
 * have any integer type; 64-bit indexes reach beyond 2^31 elements.  An index whose register is
 * beyond count is not read.  The sync defaults are those of the original's code (true); its text
 * says that functions without "Shared" in the name do not synchronize.
 */
#ifndef SHPOOL_LOADSTORE_GATHER_CUH
#define SHPOOL_LOADSTORE_GATHER_CUH

#include <shpool/loadstore/reg.cuh>

namespace shpool {

/**
 * Load the elements at the given indices; registers beyond count keep their value.
 *
 * Scope:    all NT threads.
 * Shapes:   indices and reg have VT values each; count is of the tile, at most NT * VT.
 * Barrier:  with sync (default) after the loads.
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
 * Store each register to the element at its index.
 *
 * Scope:    all NT threads.
 * Shapes:   as gather.
 * Barrier:  with sync (default) after the stores.
 * Not:      with equal indexes, it is undefined which register is stored last.
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
 * Gather by indexes in shared memory, and store to global memory in strided order.
 *
 * Scope:    all NT threads; a barrier of the caller has made the indexes visible.
 * Shapes:   indices_shared has count indexes, of at most NT * VT.
 * Barrier:  with sync (default) between gather and store: indices_shared may be reused after the
 *           call; other threads may read dest only after one more.
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
