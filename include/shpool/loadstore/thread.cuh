/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/loadstore/thread.cuh
 * Thread order: register i of thread tid is element VT * tid + i, so each thread has consecutive
 * elements.
 *
 * Global memory.  Loaded directly, a warp's access would touch VT times the lines that it uses.
 * Instead each warp loads its run of 32 * VT elements in memory order, in the widest units that
 * divide a thread's share and that the pointer's alignment permits, and transposes it in registers
 * (transpose.cuh).  A thread with at most 16 bytes, or 32 in two units, loads them directly: the
 * lines are in the first cache for the next unit.
 * Only the warp in which count ends, and those after it, move element by element.
 *
 * Shared memory.  An odd number of words per thread causes no bank conflicts word by word.  An even
 * one is moved in units of 8 or 16 bytes; if 16-byte units would conflict (an even number of them),
 * lanes begin at different units and rotate their registers.  So no VT has conflicts if the
 * elements have 4, 8 or 16 bytes and shared memory is aligned to 16.
 */
#ifndef SHPOOL_LOADSTORE_THREAD_CUH
#define SHPOOL_LOADSTORE_THREAD_CUH

#include <shpool/loadstore/transpose.cuh>

namespace shpool {
namespace impl {

/* Elements of this thread, one by one, if they are below count; else `init` if Fill. */
template <int VT, bool Fill, typename It, typename T>
SIMT_FN void load_run(int count, It data, int tid, T *reg, const T *init)
{
    if ((tid + 1) * VT <= count) {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            reg[i] = data[static_cast<ptrdiff_t>(VT * tid + i)];
        }
        return;
    }
    SIMT_UNROLLED
    for (int i = 0; i < VT; i++) {
        if (VT * tid + i < count) {
            reg[i] = data[static_cast<ptrdiff_t>(VT * tid + i)];
        } else if constexpr (Fill) {
            reg[i] = *init;
        }
    }
}

/* Convert units to the caller's registers. */
template <int VT, typename Value, typename T, int Bytes, int M>
SIMT_FN void units_to_reg(const unit<Bytes> (&x)[M], T *reg)
{
    if constexpr (same<Value, T>::value) {
        units_to_values(x, reg);
    } else {
        Value value[VT];

        units_to_values(x, value);
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            reg[i] = value[i];
        }
    }
}

/* Load the warp's whole run, and transpose it in its registers. */
template <int VT, int Bytes, bool Promised, typename Value, typename T>
SIMT_FN void load_transposed(const unsigned char *run, uint32_t lane, T *reg)
{
    constexpr int M = VT * static_cast<int>(sizeof(Value)) / Bytes;
    unit<Bytes>   x[M];

    SIMT_UNROLLED
    for (int r = 0; r < M; r++) {
        x[r] = wide_load<Bytes, Promised>(run + (32u * r + lane) * Bytes);
    }
    strided_to_thread(x, lane);
    units_to_reg<VT, Value>(x, reg);
}

/* Load this thread's share directly. */
template <int VT, int Bytes, bool Promised, typename Value, typename T>
SIMT_FN void load_direct(const unsigned char *share, T *reg)
{
    constexpr int M = VT * static_cast<int>(sizeof(Value)) / Bytes;
    unit<Bytes>   x[M];

    SIMT_UNROLLED
    for (int r = 0; r < M; r++) {
        x[r] = wide_load<Bytes, Promised>(share + r * Bytes);
    }
    units_to_reg<VT, Value>(x, reg);
}

/* Units of a thread's share of VT values. */
template <int VT, typename Value> struct share_of {
    static constexpr int bytes = VT * static_cast<int>(sizeof(Value));
    static constexpr int sure  = aligned_unit<Value>::value;   /* unit that every pointer permits */
    static constexpr int wide  = largest_unit<bytes>::value;   /* unit that some pointers permit */

    /* Whether the thread moves its share directly.  Unlike loads, which the first cache combines,
     * stores of many small pieces are not combined. */
    static SHPOOL_CONSTANT bool direct(int unit_bytes, bool store)
    {
        return ((bytes <= 32) && (bytes / unit_bytes <= 2)) ||
               ((bytes <= 16) && (!store || (bytes / unit_bytes <= 5)));
    }
    static SHPOOL_CONSTANT bool can_transpose(int unit_bytes)
    {
        return (bytes / unit_bytes >= 2) && (bytes / unit_bytes <= 32);
    }
};

/* True if the fast path has served this warp; `whole` and all other arguments are the same in its
 * lanes. */
template <int VT, copy_path Path, int Unit, bool Promised, typename Value, typename T>
SIMT_FN bool load_by(const unsigned char *data, int tid, T *reg)
{
    typedef share_of<VT, Value> share;
    constexpr bool DIRECT = (Path == copy_path::vector) ||
                            ((Path == copy_path::automatic) && share::direct(Unit, false));

    if constexpr (DIRECT) {
        load_direct<VT, Unit, Promised, Value>(data + tid * share::bytes, reg);
        return true;
    } else if constexpr (share::can_transpose(Unit)) {
        const uint32_t lane = fresh_lane(tid);

        load_transposed<VT, Unit, Promised, Value>(
            data + (tid - static_cast<int>(lane)) * share::bytes, lane, reg);
        return true;
    } else {
        return false;
    }
}

template <int NT, int VT, copy_path Path, bool Fill, typename It, typename T>
SIMT_FN void load_thread(ptrdiff_t count, It data, int tid, T *reg, const T *init)
{
    static_assert(is_tile<NT, VT>(), "");
    static_assert((Path != copy_path::async) && (Path != copy_path::bulk),
                  "shpool: asynchronous copies go to shared memory: use copy_path::automatic, "
                  "elements, vector or transpose");
    static_assert(can_load_bytes<It>() || (Path == copy_path::automatic) ||
                      (Path == copy_path::elements),
                  "shpool: copy_path::vector and transpose need a pointer to a trivially copyable "
                  "type: use copy_path::automatic or elements");
    const int n = clamp_count<NT * VT>(count);

    if constexpr (can_load_bytes<It>() && (Path != copy_path::elements)) {
        typedef typename value_of<It>::type value;
        typedef share_of<VT, value>         share;
        constexpr bool       PROMISED = memory<It>::promised;
        const unsigned char *from     = bytes_of(data);

        if ((tid / 32 + 1) * 32 * VT <= n) {
            if ((share::wide <= share::sure) || is_aligned(from, share::wide)) {
                if (load_by<VT, Path, share::wide, PROMISED, value>(from, tid, reg)) {
                    return;
                }
            } else if constexpr ((share::wide > share::sure) && (share::sure >= 4)) {
                if (load_by<VT, Path, share::sure, PROMISED, value>(from, tid, reg)) {
                    return;
                }
            }
        }
    }
    load_run<VT, Fill>(n, data, tid, reg, init);
}

/* ---- the way back ---- */
template <int VT, copy_path Path, int Unit, typename T>
SIMT_FN bool store_by(const T *reg, int tid, unsigned char *dest)
{
    typedef share_of<VT, T> share;
    constexpr int  M      = share::bytes / Unit;
    constexpr bool DIRECT = (Path == copy_path::vector) ||
                            ((Path == copy_path::automatic) && share::direct(Unit, true));

    if constexpr (DIRECT || share::can_transpose(Unit)) {
        const uint32_t lane = fresh_lane(tid);
        unit<Unit>     x[M];

        values_to_units(reg, x);
        if constexpr (!DIRECT) {
            thread_to_strided(x, lane);
            dest += (tid - static_cast<int>(lane)) * share::bytes;
        }
        SIMT_UNROLLED
        for (int r = 0; r < M; r++) {
            wide_store<Unit>(DIRECT ? dest + tid * share::bytes + r * Unit
                                    : dest + (32u * r + lane) * Unit, x[r]);
        }
        return true;
    } else {
        return false;
    }
}

template <int NT, int VT, copy_path Path, typename T, typename Out>
SIMT_FN void store_thread(ptrdiff_t count, const T *reg, int tid, Out dest)
{
    static_assert(is_tile<NT, VT>(), "");
    constexpr bool BYTES = can_copy_bytes<T *, Out>();
    const int      n     = clamp_count<NT * VT>(count);

    static_assert((Path != copy_path::async) && (Path != copy_path::bulk),
                  "shpool: asynchronous copies need shared memory: use copy_path::automatic, "
                  "elements, vector or transpose");
    static_assert(BYTES || (Path == copy_path::automatic) || (Path == copy_path::elements),
                  "shpool: copy_path::vector and transpose need a pointer to the registers' own, "
                  "trivially copyable type: use copy_path::automatic or elements");
    if constexpr (BYTES && (Path != copy_path::elements)) {
        typedef share_of<VT, T> share;
        unsigned char *to = bytes_to(dest);

        if ((tid / 32 + 1) * 32 * VT <= n) {
            if ((share::wide <= share::sure) || is_aligned(to, share::wide)) {
                if (store_by<VT, Path, share::wide>(reg, tid, to)) {
                    return;
                }
            } else if constexpr ((share::wide > share::sure) && (share::sure >= 4)) {
                if (store_by<VT, Path, share::sure>(reg, tid, to)) {
                    return;
                }
            }
        }
    }
    SIMT_UNROLLED
    for (int i = 0; i < VT; i++) {
        if (VT * tid + i < n) {
            dest[static_cast<ptrdiff_t>(VT * tid + i)] = reg[i];
        }
    }
}

/* ---- shared memory ---- */

/* Lane l's unit of round i is i + turn modulo M: the lanes that one pass of the banks serves (8 of
 * 16 bytes) then touch all of them once. */
template <int M, int Unit> SIMT_FN uint32_t first_turn(int tid)
{
    constexpr int LANES = 128 / Unit;
    constexpr int c     = gcd(M, LANES);

    return (c == 1) ? 0u : (static_cast<uint32_t>(tid) % LANES) / (LANES / c);
}
template <int M> SIMT_FN uint32_t turned(int i, uint32_t turn)
{
    return (i + turn >= M) ? i + turn - M : i + turn;
}

/* Whether words can be used: the share is whole words, and pointers are aligned to the unit. */
template <int VT, typename T> SHPOOL_CONSTANT bool has_word_units()
{
    return __is_trivially_copyable(T) && (share_of<VT, T>::wide >= 4) &&
           (share_of<VT, T>::bytes / share_of<VT, T>::wide <= 64);
}

} // namespace impl

/**
 * Load count of at most NT * VT elements from global memory in thread order; registers beyond keep
 * their value.
 *
 * Scope:    all NT threads, and all lanes of a warp together; tid % 32 is the lane.
 * Barrier:  none, and no sync argument.
 * Paths:    automatic (vector up to 16 bytes a thread, else transpose), elements, vector,
 *           transpose.
 * Not:      no read-only loads unless data is read_only(ptr).
 *
 * @code global_to_thread
 * int reg[3] = {-1, -1, -1};                                // data: 0 10 20 ... 940
 * shpool::global_to_thread<32, 3>(95, data, tid, reg);      // thread 1: 30 40 50; 31: 930 940 -1
 * @endcode
 */
template <int NT, int VT, copy_path Path = copy_path::automatic, typename It, typename T>
SIMT_FN void global_to_thread(ptrdiff_t count, It data, int tid, T *reg)
{
    impl::load_thread<NT, VT, Path, false>(count, data, tid, reg, static_cast<const T *>(nullptr));
}

/**
 * As global_to_thread, but registers beyond count become init.
 *
 * @code global_to_thread_default
 * int reg[3];                                                      // data: 0 10 20 ... 940
 * shpool::global_to_thread_default<32, 3>(95, data, tid, reg, 7);  // thread 31: 930 940 7
 * @endcode
 */
template <int NT, int VT, copy_path Path = copy_path::automatic, typename It, typename T>
SIMT_FN void global_to_thread_default(ptrdiff_t count, It data, int tid, T *reg, T init)
{
    impl::load_thread<NT, VT, Path, true>(count, data, tid, reg, &init);
}

/**
 * Store count of at most NT * VT elements from registers in thread order to global memory.  (The
 * original has no such function.)
 *
 * Scope:    all NT threads, and all lanes of a warp together; tid % 32 is the lane.
 * Barrier:  none unless sync; other threads may read the elements only after one.
 * Paths:    as global_to_thread.
 *
 * @code thread_to_global
 * int reg[3] = {3 * tid, 3 * tid + 1, 3 * tid + 2};
 * shpool::thread_to_global<32, 3>(95, reg, tid, out);    // out: 0 1 2 ... 94
 * @endcode
 */
template <int NT, int VT, copy_path Path = copy_path::automatic, typename T, typename Out>
SIMT_FN void thread_to_global(ptrdiff_t count, const T *reg, int tid, Out dest, bool sync = false)
{
    impl::store_thread<NT, VT, Path>(count, reg, tid, dest);
    impl::barrier_if(sync);
}

/**
 * Store registers in thread order to shared memory.
 *
 * Scope:    all threads; no thread may still be reading shared (the caller's barrier before).
 * Shapes:   shared has VT elements for each thread.
 * Barrier:  with sync (default) after the stores: all threads may then read.
 *
 * @code thread_to_shared
 * int reg[2] = {10 * tid, 10 * tid + 1};
 * shpool::thread_to_shared<2>(reg, tid, shared);    // shared: 0 1 10 11 20 21 ... 310 311
 * @endcode
 */
template <int VT, typename T>
SIMT_FN void thread_to_shared(const T *reg, int tid, T *shared, bool sync = true)
{
    static_assert(impl::is_tile<32, VT>(), "");
    bool stored = false;

    if constexpr (impl::has_word_units<VT, T>()) {
        typedef impl::share_of<VT, T> share;
        constexpr int UNIT = share::wide;
        constexpr int M    = share::bytes / UNIT;

        if ((UNIT <= share::sure) || impl::is_aligned(shared, UNIT)) {
            const uint32_t   turn = impl::first_turn<M, UNIT>(tid);
            unsigned char   *to   = impl::bytes_to(shared) + tid * share::bytes;
            impl::unit<UNIT> x[M];

            impl::values_to_units(reg, x);
            impl::rotate<M, impl::gcd(M, 128 / UNIT) - 1, true>(x, turn);
            SIMT_UNROLLED
            for (int i = 0; i < M; i++) {
                impl::wide_store<UNIT>(to + impl::turned<M>(i, turn) * UNIT, x[i]);
            }
            stored = true;
        }
    }
    if (!stored) {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            shared[VT * tid + i] = reg[i];
        }
    }
    impl::barrier_if(sync);
}

/**
 * Load registers in thread order from shared memory.
 *
 * Scope:    all threads; a barrier of the caller has made the elements visible.
 * Shapes:   shared has VT elements for each thread.
 * Barrier:  with sync (default) after the loads: the memory may be reused.
 *
 * @code shared_to_thread
 * int reg[2];                                       // shared: 0 1 2 ... 63
 * shpool::shared_to_thread<2>(shared, tid, reg);    // thread 5: 10 11
 * @endcode
 */
template <int VT, typename T>
SIMT_FN void shared_to_thread(const T *shared, int tid, T *reg, bool sync = true)
{
    static_assert(impl::is_tile<32, VT>(), "");
    bool loaded = false;

    if constexpr (impl::has_word_units<VT, T>()) {
        typedef impl::share_of<VT, T> share;
        constexpr int UNIT = share::wide;
        constexpr int M    = share::bytes / UNIT;

        if ((UNIT <= share::sure) || impl::is_aligned(shared, UNIT)) {
            const uint32_t       turn = impl::first_turn<M, UNIT>(tid);
            const unsigned char *from = impl::bytes_of(shared) + tid * share::bytes;
            impl::unit<UNIT>     x[M];

            SIMT_UNROLLED
            for (int i = 0; i < M; i++) {
                x[i] = impl::wide_load<UNIT, false>(from + impl::turned<M>(i, turn) * UNIT);
            }
            impl::rotate<M, impl::gcd(M, 128 / UNIT) - 1, false>(x, turn);
            impl::units_to_values(x, reg);
            loaded = true;
        }
    }
    if (!loaded) {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            reg[i] = shared[VT * tid + i];
        }
    }
    impl::barrier_if(sync);
}

/**
 * Convert strided to thread order through half the shared memory of a tile.
 *
 * Scope:    all NT threads; no thread may still be reading shared (the caller's barrier).
 * Shapes:   x and y have VT values each and do not overlap; shared has NT * VT / 2 elements.
 * Barrier:  always four; the memory may be reused after the call.
 *
 * The halves are divided by element, not by row: element NT * i + tid belongs to the first one if
 * it is below NT * VT / 2.  So both odd and even VT work.
 *
 * @code half_smem_transpose
 * int x[2] = {tid, 32 + tid};
 * int y[2];
 * shpool::half_smem_transpose<32, 2>(x, tid, shared, y);    // thread 5: 10 11
 * @endcode
 */
template <int NT, int VT, typename T>
SIMT_FN void half_smem_transpose(const T *x, int tid, T *shared, T *y)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    constexpr int HALF = NT * VT / 2;

    SIMT_UNROLLED
    for (int half = 0; half < 2; half++) {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            if ((NT * i + tid < HALF) == (half == 0)) {
                shared[NT * i + tid - half * HALF] = x[i];
            }
        }
        simt_barrier();
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            if ((VT * tid + i < HALF) == (half == 0)) {
                y[i] = shared[VT * tid + i - half * HALF];
            }
        }
        simt_barrier();
    }
}

} // namespace shpool

#endif /* SHPOOL_LOADSTORE_THREAD_CUH */
