/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/loadstore/reg.cuh
 * Moves between memory and registers in strided order: register i of thread tid is element NT * i +
 * tid.
 *
 * Neighbouring lanes access neighbouring elements, so every access is coalesced for every type and
 * alignment; there is one path, and no copy_path.  All NT threads call, with tid 0 ..  NT-1; the
 * lanes of a warp need not be converged.  With sync the call ends with a barrier, which all threads
 * of the block must reach.
 */
#ifndef SHPOOL_LOADSTORE_REG_CUH
#define SHPOOL_LOADSTORE_REG_CUH

#include <shpool/loadstore/common.cuh>

namespace shpool {
namespace impl {

/* Load rows First ..  Last - 1 of a tile, with a test for each. */
template <int NT, int First, int Last, typename It, typename T>
SIMT_FN void load_rows(int count, It data, int tid, T *reg)
{
    SIMT_UNROLLED
    for (int i = First; i < Last; i++) {
        if (NT * i + tid < count) {
            reg[i] = data[static_cast<ptrdiff_t>(NT * i + tid)];
        }
    }
}
/* The same without tests: all elements exist. */
template <int NT, int First, int Last, typename It, typename T>
SIMT_FN void load_full_rows(It data, int tid, T *reg)
{
    SIMT_UNROLLED
    for (int i = First; i < Last; i++) {
        reg[i] = data[static_cast<ptrdiff_t>(NT * i + tid)];
    }
}

/* Load VT0 rows without tests if they are full, the others with tests. */
template <int NT, int VT0, int VT1, typename It, typename T>
SIMT_FN void load_tile(ptrdiff_t count, It data, int tid, T *reg)
{
    static_assert(is_tile<NT, VT1>(), "");
    static_assert((VT0 >= 0) && (VT0 <= VT1),
                  "shpool: VT0 (rows that are likely full) must be 0 to VT1 (rows in all)");
    const int n = clamp_count<NT * VT1>(count);

    if (n >= NT * VT0) {
        load_full_rows<NT, 0, VT0>(data, tid, reg);
        load_rows<NT, VT0, VT1>(n, data, tid, reg);
    } else {
        load_rows<NT, 0, VT0>(n, data, tid, reg);
    }
}

} // namespace impl

/**
 * Load a tile from shared memory into registers.
 *
 * Scope:    all NT threads; a barrier of the caller has made the elements visible.
 * Shapes:   data holds NT * VT elements; reg has VT.
 * Barrier:  with sync (default) after the loads, so that the memory may be reused.
 * Not:      no count; the form below has one.
 *
 * @code shared_to_reg
 * int reg[3];                                        // shared: 0 1 2 ... 95
 * shpool::shared_to_reg<32, 3>(shared, tid, reg);    // thread 5: 5 37 69
 * @endcode
 */
template <int NT, int VT, typename It, typename T>
SIMT_FN void shared_to_reg(It data, int tid, T *reg, bool sync = true)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    impl::load_full_rows<NT, 0, VT>(data, tid, reg);
    impl::barrier_if(sync);
}

/**
 * Load the first count elements of a tile from shared memory; registers beyond keep their value.
 * Otherwise as the form without a count.
 *
 * @code shared_to_reg_counted
 * int reg[3] = {-1, -1, -1};                             // shared: 0 1 2 ... 95
 * shpool::shared_to_reg<32, 3>(70, shared, tid, reg);    // thread 5: 5 37 69; thread 6: 6 38 -1
 * @endcode
 */
template <int NT, int VT, typename It, typename T>
SIMT_FN void shared_to_reg(ptrdiff_t count, It data, int tid, T *reg, bool sync = true)
{
    impl::load_tile<NT, VT, VT>(count, data, tid, reg);
    impl::barrier_if(sync);
}

/**
 * Load the first count elements of a tile from global memory; registers beyond keep their value.
 *
 * Scope:    all NT threads.
 * Shapes:   count may be less than the tile, or more (NT * VT are loaded then); reg has VT.
 * Barrier:  none unless sync.
 * Fast:     a full tile is loaded without a test for each element.
 *
 * @code global_to_reg
 * int reg[2] = {-1, -1};                                // data: 0 10 20 ... 620
 * shpool::global_to_reg<32, 2>(63, data, tid, reg);     // thread 1: 10 330; thread 31: 310 -1
 * @endcode
 */
template <int NT, int VT, typename It, typename T>
SIMT_FN void global_to_reg(ptrdiff_t count, It data, int tid, T *reg, bool sync = false)
{
    impl::load_tile<NT, VT, VT>(count, data, tid, reg);
    impl::barrier_if(sync);
}

/**
 * The same with a test for each element even if the tile is full: less code, for tiles that are
 * rarely full.
 *
 * @code global_to_reg_pred
 * int reg[2] = {-1, -1};                                     // data: 0 10 20 ... 620
 * shpool::global_to_reg_pred<32, 2>(63, data, tid, reg);     // thread 31: 310 -1
 * @endcode
 */
template <int NT, int VT, typename It, typename T>
SIMT_FN void global_to_reg_pred(ptrdiff_t count, It data, int tid, T *reg, bool sync = false)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    impl::load_rows<NT, 0, VT>(impl::clamp_count<NT * VT>(count), data, tid, reg);
    impl::barrier_if(sync);
}

/**
 * A tile of VT1 rows of which the first VT0 are usually full: if they are, they are loaded without
 * tests, and the others with tests.  If they are not full, no row beyond them has an element.
 *
 * @code global_to_reg2
 * int reg[3] = {-1, -1, -1};                                 // data: 0 10 20 ... 690
 * shpool::global_to_reg2<32, 2, 3>(70, data, tid, reg);      // thread 5: 50 370 690
 * @endcode
 */
template <int NT, int VT0, int VT1, typename It, typename T>
SIMT_FN void global_to_reg2(ptrdiff_t count, It data, int tid, T *reg, bool sync = false)
{
    impl::load_tile<NT, VT0, VT1>(count, data, tid, reg);
    impl::barrier_if(sync);
}

/**
 * As global_to_reg, but registers beyond count become init.
 *
 * @code global_to_reg_default
 * int reg[2];                                                   // data: 0 10 20 ... 620
 * shpool::global_to_reg_default<32, 2>(63, data, tid, reg, 7);  // thread 31: 310 7
 * @endcode
 */
template <int NT, int VT, typename It, typename T>
SIMT_FN void global_to_reg_default(ptrdiff_t count, It data, int tid, T *reg, T init,
                                   bool sync = false)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    if (count >= NT * VT) {
        impl::load_full_rows<NT, 0, VT>(data, tid, reg);
    } else {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            reg[i] = init;
        }
        impl::load_rows<NT, 0, VT>(impl::clamp_count<NT * VT>(count), data, tid, reg);
    }
    impl::barrier_if(sync);
}

/**
 * As global_to_reg2, but registers beyond count become init.
 *
 * @code global_to_reg_default2
 * int reg[3];                                                       // data: 0 10 20 ... 690
 * shpool::global_to_reg_default2<32, 2, 3>(70, data, tid, reg, 7);  // thread 6: 60 380 7
 * @endcode
 */
template <int NT, int VT0, int VT1, typename It, typename T>
SIMT_FN void global_to_reg_default2(ptrdiff_t count, It data, int tid, T *reg, T init,
                                    bool sync = false)
{
    SIMT_UNROLLED
    for (int i = 0; i < VT1; i++) {
        reg[i] = init;
    }
    impl::load_tile<NT, VT0, VT1>(count, data, tid, reg);
    impl::barrier_if(sync);
}

/**
 * As global_to_reg, for counts that are often far below the tile: the rows beyond the third are
 * tested only if count reaches them.  (The original declares this function and has no body.)
 *
 * @code global_to_reg_loop
 * int reg[8] = {};                                          // data: 0 10 20 ... 390
 * shpool::global_to_reg_loop<32, 8>(40, data, tid, reg);    // thread 7: 70 390 0 0 0 0 0 0
 * @endcode
 */
template <int NT, int VT, typename It, typename T>
SIMT_FN void global_to_reg_loop(ptrdiff_t count, It data, int tid, T *reg, bool sync = false)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    constexpr int ROWS = (VT < 3) ? VT : 3;
    const int     n    = impl::clamp_count<NT * VT>(count);

    impl::load_rows<NT, 0, ROWS>(n, data, tid, reg);
    if (n > NT * ROWS) {
        impl::load_rows<NT, ROWS, VT>(n, data, tid, reg);
    }
    impl::barrier_if(sync);
}

/**
 * Store a tile from registers to shared memory.
 *
 * Scope:    all NT threads; no thread may still be reading dest (the caller's barrier before).
 * Shapes:   dest has room for NT * VT elements.
 * Barrier:  with sync (default) after the stores: all threads may then read.
 *
 * @code reg_to_shared
 * int reg[2] = {tid, 100 + tid};
 * shpool::reg_to_shared<32, 2>(reg, tid, shared);    // shared: 0 1 ... 31 100 101 ... 131
 * @endcode
 */
template <int NT, int VT, typename T, typename Out>
SIMT_FN void reg_to_shared(const T *reg, int tid, Out dest, bool sync = true)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    SIMT_UNROLLED
    for (int i = 0; i < VT; i++) {
        dest[static_cast<ptrdiff_t>(NT * i + tid)] = reg[i];
    }
    impl::barrier_if(sync);
}

/**
 * Store the first count elements of a tile from registers to global memory.
 *
 * Scope:    all NT threads.
 * Barrier:  none unless sync; other threads may read the elements only after one.
 * Fast:     a full tile is stored without a test for each element.
 *
 * @code reg_to_global
 * int reg[2] = {tid, 100 + tid};
 * shpool::reg_to_global<32, 2>(40, reg, tid, out);   // out: 0 1 ... 31 100 101 ... 107
 * @endcode
 */
template <int NT, int VT, typename T, typename Out>
SIMT_FN void reg_to_global(ptrdiff_t count, const T *reg, int tid, Out dest, bool sync = false)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    const int n = impl::clamp_count<NT * VT>(count);

    if (n == NT * VT) {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            dest[static_cast<ptrdiff_t>(NT * i + tid)] = reg[i];
        }
    } else {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            if (NT * i + tid < n) {
                dest[static_cast<ptrdiff_t>(NT * i + tid)] = reg[i];
            }
        }
    }
    impl::barrier_if(sync);
}

} // namespace shpool

#endif /* SHPOOL_LOADSTORE_REG_CUH */
