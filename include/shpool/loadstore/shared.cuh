/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/loadstore/shared.cuh
 * Loads from global to shared memory.
 *
 * All NT threads call, with tid 0 ..  NT-1; no thread may still be reading dest (the caller's
 * barrier before the call), and dest need not be larger than count.  The rules of copy.cuh about
 * threads and their elements also apply here.
 *
 * Paths: automatic is async on sm_80 and up (the elements do not pass through registers) and vector
 * below.  Each call waits for its own copies, even without sync, and for any other cp.async of the
 * caller.  The form with a bulk_gate is in bulk.cuh.  For a destination that is not in shared
 * memory (from shpool_malloc() in a pool that spills) use automatic, which tests for this, or
 * vector or elements.
 */
#ifndef SHPOOL_LOADSTORE_SHARED_CUH
#define SHPOOL_LOADSTORE_SHARED_CUH

#include <shpool/loadstore/copy_engine.cuh>

namespace shpool {
namespace impl {

/* cp.async serves types that can be copied by bytes, without conversion. */
template <int VT, copy_path Path, typename It, typename Out>
SHPOOL_CONSTANT copy_path shared_path()
{
    return ((Path == copy_path::automatic) && can_copy_bytes<It, Out>() &&
            fills_chunks<VT, typename value_of<It>::type>()) ? copy_path::async : Path;
}

/* Slots first .. NT * VT - 1 become init, each by one thread. */
template <int NT, int VT, typename T> SIMT_FN void fill_rest(int first, int tid, T *dest, T init)
{
    SIMT_UNROLLED
    for (int i = 0; i < VT; i++) {
        if (NT * i + tid >= first) {
            dest[NT * i + tid] = init;
        }
    }
}

} // namespace impl

/**
 * Load count of at most NT * VT elements from global into shared memory; slots beyond keep their
 * values.  (The original writes all NT * VT slots, those beyond with the contents of its
 * registers.)
 *
 * Scope:    all NT threads.
 * Barrier:  with sync (default) after the last store: all threads may then read.
 * Paths:    automatic (async), elements, vector, async.
 *
 * @code global_to_shared
 * shpool::global_to_shared<32, 4>(100, data, tid, shared);    // shared[0 .. 99]: data[0 .. 99]
 * @endcode
 */
template <int NT, int VT, copy_path Path = copy_path::automatic, typename It, typename T>
SIMT_FN void global_to_shared(ptrdiff_t count, It src, int tid, T *dest, bool sync = true)
{
    static_assert(Path != copy_path::bulk,
                  "shpool: a bulk copy needs an mbarrier in shared memory: pass a bulk_gate as the "
                  "fifth argument, or use copy_path::async");
    constexpr copy_path CHOSEN = impl::shared_path<VT, Path, It, T *>();

    if ((CHOSEN != Path) && !simt_is_shared(dest)) {
        impl::copy_tile<NT, VT, Path>(count, src, tid, dest);
    } else {
        impl::copy_tile<NT, VT, CHOSEN>(count, src, tid, dest);
    }
    impl::barrier_if(sync);
}

/**
 * A tile of VT1 rows of which the first VT0 are usually full; otherwise as global_to_shared.
 *
 * @code global_to_shared2
 * shpool::global_to_shared2<32, 2, 3>(70, data, tid, shared);    // shared[0 .. 69]: data[0 .. 69]
 * @endcode
 */
template <int NT, int VT0, int VT1, copy_path Path = copy_path::automatic, typename It, typename T>
SIMT_FN void global_to_shared2(ptrdiff_t count, It src, int tid, T *dest, bool sync = true)
{
    static_assert((VT0 >= 0) && (VT0 <= VT1),
                  "shpool: VT0 (rows that are likely full) must be 0 to VT1 (rows in all)");
    global_to_shared<NT, VT1, Path>(count, src, tid, dest, sync);
}

/**
 * As global_to_shared, for counts that are often far below the tile.  Any VT from 1 on.
 *
 * @code global_to_shared_loop
 * shpool::global_to_shared_loop<32, 8>(40, data, tid, shared);  // shared[0 .. 39]: data[0 .. 39]
 * @endcode
 */
template <int NT, int VT, copy_path Path = copy_path::automatic, typename It, typename T>
SIMT_FN void global_to_shared_loop(ptrdiff_t count, It src, int tid, T *dest, bool sync = true)
{
    constexpr int       ROWS  = (VT < 3) ? VT : 3;
    constexpr copy_path CHOSEN = impl::shared_path<VT, Path, It, T *>();

    static_assert(Path != copy_path::bulk,
                  "shpool: a bulk copy needs an mbarrier in shared memory: use global_to_shared "
                  "with a bulk_gate, or copy_path::async");
    if constexpr ((CHOSEN == copy_path::elements) || (CHOSEN == copy_path::automatic)) {
        impl::copy_tile<NT, ROWS, CHOSEN>(count, src, tid, dest);
        if constexpr (VT > ROWS) {
            if (count > NT * ROWS) {
                impl::copy_tile<NT, VT - ROWS, CHOSEN>(count - NT * ROWS, src + NT * ROWS, tid,
                                                       dest + NT * ROWS);
            }
        }
        impl::barrier_if(sync);
    } else {
        global_to_shared<NT, VT, Path>(count, src, tid, dest, sync); /* has its own loop */
    }
}

/**
 * As global_to_shared, but slots beyond count become init: all NT * VT slots are written.
 *
 * @code global_to_shared_default
 * shpool::global_to_shared_default<32, 4>(100, data, tid, shared, 7);    // shared[100 .. 127]: 7
 * @endcode
 */
template <int NT, int VT, copy_path Path = copy_path::automatic, typename It, typename T>
SIMT_FN void global_to_shared_default(ptrdiff_t count, It src, int tid, T *dest, T init,
                                      bool sync = true)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    if (count < NT * VT) {
        impl::fill_rest<NT, VT>(impl::clamp_count<NT * VT>(count), tid, dest, init);
    }
    global_to_shared<NT, VT, Path>(count, src, tid, dest, sync);
}

/**
 * As global_to_shared2, but slots beyond count become init: all NT * VT1 slots are written.
 *
 * @code global_to_shared_default2
 * shpool::global_to_shared_default2<32, 2, 3>(70, data, tid, shared, 7);    // shared[70 .. 95]: 7
 * @endcode
 */
template <int NT, int VT0, int VT1, copy_path Path = copy_path::automatic, typename It, typename T>
SIMT_FN void global_to_shared_default2(ptrdiff_t count, It src, int tid, T *dest, T init,
                                       bool sync = true)
{
    static_assert((VT0 >= 0) && (VT0 <= VT1),
                  "shpool: VT0 (rows that are likely full) must be 0 to VT1 (rows in all)");
    global_to_shared_default<NT, VT1, Path>(count, src, tid, dest, init, sync);
}

} // namespace shpool

#endif /* SHPOOL_LOADSTORE_SHARED_CUH */
