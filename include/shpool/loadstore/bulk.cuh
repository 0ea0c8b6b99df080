/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/loadstore/bulk.cuh
 * Loads from global to shared memory by the copy engine (cp.async.bulk): prefetched tiles.
 *
 * One thread starts a whole tile, no register holds any of it, and the block waits at a gate (an
 * mbarrier) when it needs the elements:
 *
 *     __shared__ shpool::bulk_barrier word[2];
 *     shpool::bulk_gate gate[2] = {shpool::bulk_gate(&word[0], tid),
 *                                  shpool::bulk_gate(&word[1], tid)};
 *     shpool::global_to_shared<NT, VT>(count, tile(0), tid, buffer[0], gate[0], false);
 *     for (int i = 0; i < tiles; i++) {
 *         if (i + 1 < tiles)
 *             shpool::global_to_shared<NT, VT>(count, tile(i + 1), tid, buffer[(i + 1) % 2],
 *                                              gate[(i + 1) % 2], false);
 *         gate[i % 2].wait();
 *         ...                                    // use buffer[i % 2]
 *         simt_barrier();                        // nobody reads it any more: the next may come
 *     }
 *
 * (`gate[i % 2]` keeps its two words in registers only if the loop is unrolled by two.)
 * sm_90 and up; on older architectures the same calls copy by cp.async or vectors, and wait() is a
 * barrier.
 */
#ifndef SHPOOL_LOADSTORE_BULK_CUH
#define SHPOOL_LOADSTORE_BULK_CUH

#include <shpool/loadstore/shared.cuh>

namespace shpool {

/** The word of a gate; one per gate, in shared memory. */
struct alignas(8) bulk_barrier {
    unsigned long long word;
};

/**
 * A thread's view of a gate: its word, and its next phase.  All threads of the block create one
 * together; the constructor has a barrier.  Wait for each tile before the next one is started at
 * the same gate.  Call close() before its memory is used for anything else.
 */
class bulk_gate {
public:
    SHPOOL_METHOD bulk_gate(bulk_barrier *word, int tid)
        : gate(simt_to_shared(word)), parity(0)
    {
#if SHPOOL_HAS_BULK
        if (tid == 0) {
            simt_mbar_init(gate, simt_block_threads());
        }
#endif
        simt_barrier();
    }

    /** Wait until everything started at the gate has arrived, including other threads' parts. */
    SHPOOL_METHOD void wait()
    {
#if SHPOOL_HAS_BULK
        simt_mbar_wait(gate, parity);
        parity ^= 1u;
#else
        simt_barrier();
#endif
    }

    /** Called by all threads, after the last wait(); begins and ends with a barrier. */
    SHPOOL_METHOD void close(int tid)
    {
        simt_barrier();
#if SHPOOL_HAS_BULK
        if (tid == 0) {
            simt_mbar_inval(gate);
        }
#endif
        simt_barrier();
    }

    SHPOOL_METHOD simt_addr address() const { return gate; }

private:
    simt_addr gate;
    uint32_t  parity; /* parity of the phase that wait() waits for */
};

/**
 * Load count of at most NT * VT elements from global into shared memory, through a gate.
 *
 * Scope:    all threads of the block, which has NT; no thread may still be reading dest (the
 *           caller's barrier before).
 * Shapes:   as global_to_shared.
 * Barrier:  with sync (default) the call ends with gate.wait(): all elements are visible to all
 *           threads.  Without, the tile is in flight when the call returns, and every thread must
 *           call gate.wait() once before it reads dest.
 * Paths:    automatic and bulk: if both pointers are equally aligned, the part between multiples of
 *           16 bytes is one bulk copy, and the ends are single elements; else element by element.
 *
 * @code global_to_shared_bulk
 * shpool::bulk_gate gate(&word, tid);
 * shpool::global_to_shared<32, 4>(100, data, tid, shared, gate); // shared[0 .. 99]: data[0 .. 99]
 * gate.close(tid);
 * @endcode
 */
template <int NT, int VT, copy_path Path = copy_path::automatic, typename It, typename T>
SIMT_FN void global_to_shared(ptrdiff_t count, It src, int tid, T *dest, bulk_gate &gate,
                              bool sync = true)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    static_assert((Path == copy_path::automatic) || (Path == copy_path::bulk),
                  "shpool: with a bulk_gate the path is automatic or bulk: leave the gate out for "
                  "the others");
#if SHPOOL_HAS_BULK
    bool started = false;

    static_assert((Path == copy_path::automatic) || impl::can_copy_bytes<It, T *>(),
                  "shpool: copy_path::bulk needs pointers to the same trivially copyable type on "
                  "both sides: use copy_path::automatic");
    if constexpr (impl::can_copy_bytes<It, T *>()) {
        constexpr int        PIECE = impl::aligned_unit<T>::value;
        const unsigned char *from  = impl::bytes_of(src);
        unsigned char       *to    = impl::bytes_to(dest);

        if (impl::aligned_alike<PIECE>(from, to)) {
            const int bytes = impl::clamp_count<NT * VT>(count) * static_cast<int>(sizeof(T));
            const impl::copy_range<int> range = impl::range_of(from, bytes);

            impl::copy_ends<PIECE, impl::memory<It>::promised>(to, from, bytes, range.head,
                                                               range.tail, tid);
            if ((tid == 0) && (range.body != 0)) {
                impl::bulk_load(gate.address(), to + range.head, from + range.head,
                                static_cast<uint32_t>(range.body));
            } else {
                simt_mbar_arrive(gate.address());
            }
            started = true;
        }
    }
    if (!started) {
        impl::copy_tile<NT, VT, copy_path::elements>(count, src, tid, dest);
        simt_mbar_arrive(gate.address());
    }
#else
    global_to_shared<NT, VT>(count, src, tid, dest, false);
#endif
    if (sync) {
        gate.wait();
    }
}

} // namespace shpool

#endif /* SHPOOL_LOADSTORE_BULK_CUH */
