/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/loadstore/copy.cuh
 * Copies from memory to memory: shared to global, global to global, and any to any.
 *
 * All NT threads call, with tid 0 ..  NT-1; the lanes of a warp need not be converged.  The
 * function decides which thread moves which element, unless copy_path::elements is requested (then
 * thread tid moves NT * i + tid).  After a call without sync, a thread must not even rely on its
 * own elements, and a barrier is needed between writes to the source and the call.  Source and
 * destination do not overlap, or are identical.
 */
#ifndef SHPOOL_LOADSTORE_COPY_CUH
#define SHPOOL_LOADSTORE_COPY_CUH

#include <shpool/loadstore/copy_engine.cuh>

namespace shpool {

/**
 * Copy count of at most NT * VT elements through registers, element by element, in strided order.
 *
 * Scope:    all NT threads.
 * Barrier:  none unless sync.
 * Not:      no wide accesses; the functions below have them.
 *
 * (The original function moves at most 4 values a thread, whatever VT is.)
 *
 * @code mem_to_mem4
 * shpool::mem_to_mem4<32, 6>(190, data, tid, out);    // out[0 .. 189]: data[0 .. 189]
 * @endcode
 */
template <int NT, int VT, typename It, typename Out>
SIMT_FN void mem_to_mem4(ptrdiff_t count, It src, int tid, Out dest, bool sync = true)
{
    impl::copy_tile<NT, VT, copy_path::elements>(count, src, tid, dest);
    impl::barrier_if(sync);
}

/**
 * Copy any number of elements, even more than 2^31, from memory to memory.
 *
 * Scope:    all NT threads.
 * Barrier:  with sync (default) after the last store.
 * Paths:    automatic (vector), elements, vector.
 *
 * @code mem_to_mem_loop
 * shpool::mem_to_mem_loop<32>(1000, data, tid, out);    // out[0 .. 999]: data[0 .. 999]
 * @endcode
 */
template <int NT, copy_path Path = copy_path::automatic, typename It, typename Out>
SIMT_FN void mem_to_mem_loop(ptrdiff_t count, It src, int tid, Out dest, bool sync = true)
{
    static_assert(impl::is_tile<NT, 4>(), "");
    constexpr bool BYTES  = impl::can_copy_bytes<It, Out>();
    bool           copied = false;

    static_assert((Path == copy_path::automatic) || (Path == copy_path::elements) ||
                      (Path == copy_path::vector),
                  "shpool: mem_to_mem_loop has copy_path::automatic, elements and vector");
    static_assert(BYTES || (Path != copy_path::vector),
                  "shpool: copy_path::vector needs pointers to the same trivially copyable type on "
                  "both sides: use copy_path::automatic or elements");
    if constexpr (BYTES && (Path != copy_path::elements)) {
        typedef typename impl::value_of<It>::type type;
        constexpr int        PIECE = impl::aligned_unit<type>::value;
        const unsigned char *from  = impl::bytes_of(src);
        unsigned char       *to    = impl::bytes_to(dest);

        if (impl::aligned_alike<PIECE>(from, to)) {
            if (count > 0) {
                impl::copy_part<NT, PIECE, impl::memory<It>::promised, false, 4>(
                    to, from, count * static_cast<ptrdiff_t>(sizeof(type)), tid);
            }
            copied = true;
        }
    }
    if (!copied) {
        impl::copy_by_loop<NT>(count, src, tid, dest);
    }
    impl::barrier_if(sync);
}

/**
 * Store count of at most NT * VT elements from shared to global memory.
 *
 * Scope:    all NT threads; a barrier of the caller has made src visible.
 * Barrier:  with sync (default) after the last access: src may be reused.
 * Paths:    automatic (vector), elements, vector, bulk (the copy engine; the function returns when
 *           the elements are written).
 *
 * @code shared_to_global
 * shpool::shared_to_global<32, 4>(100, shared, tid, out);    // out[0 .. 99]: shared[0 .. 99]
 * @endcode
 */
template <int NT, int VT, copy_path Path = copy_path::automatic, typename It, typename Out>
SIMT_FN void shared_to_global(ptrdiff_t count, It src, int tid, Out dest, bool sync = true)
{
    static_assert(Path != copy_path::async,
                  "shpool: cp.async copies from global to shared memory only: use "
                  "copy_path::automatic, vector or bulk");
    bool copied = false;

    if constexpr ((Path == copy_path::bulk) && (SHPOOL_HAS_BULK != 0) &&
                  impl::can_copy_bytes<It, Out>()) {
        copied = impl::store_bulk<NT, VT>(count, src, tid, dest);
    }
    if (!copied) {
        impl::copy_tile<NT, VT, Path>(count, src, tid, dest);
    }
    impl::barrier_if(sync);
}

/**
 * Copy count of at most NT * VT elements from global to global memory.
 *
 * Scope:    all NT threads.
 * Barrier:  none unless sync; other threads may read the elements only after one.
 * Paths:    automatic (vector), elements, vector.
 *
 * @code global_to_global
 * shpool::global_to_global<32, 4>(100, data, tid, out);    // out[0 .. 99]: data[0 .. 99]
 * @endcode
 */
template <int NT, int VT, copy_path Path = copy_path::automatic, typename It, typename Out>
SIMT_FN void global_to_global(ptrdiff_t count, It src, int tid, Out dest, bool sync = false)
{
    static_assert((Path != copy_path::async) && (Path != copy_path::bulk),
                  "shpool: asynchronous copies go through shared memory: use copy_path::automatic, "
                  "elements or vector");
    impl::copy_tile<NT, VT, Path>(count, src, tid, dest);
    impl::barrier_if(sync);
}

} // namespace shpool

#endif /* SHPOOL_LOADSTORE_COPY_CUH */
