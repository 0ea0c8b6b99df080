/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/loadstore/merge.cuh
 * Two sources as one: load a and then b, or fetch the values for a merge of their keys.
 *
 * All NT threads call, with tid 0 ..  NT-1.  Two pointers to the same type cost one load: the
 * address is selected, not the value.  The distance of the two is never computed, so they may be
 * anywhere.  Counts and b_start may exceed 2^31; the tile's own part does not.
 */
#ifndef SHPOOL_LOADSTORE_MERGE_CUH
#define SHPOOL_LOADSTORE_MERGE_CUH

#include <shpool/loadstore/reg.cuh>

namespace shpool {
namespace impl {

/* Element `index` of a followed by b. */
template <typename T> SIMT_FN T pick(const T *a, ptrdiff_t a_count, const T *b, ptrdiff_t index)
{
    const T *from = (index < a_count) ? a + index : b + (index - a_count);

    return *from;
}

/* False for two pointers to one type, which have a function of their own. */
template <typename A, typename B> struct is_pair { static constexpr bool value = true; };
template <typename T, typename U> struct is_pair<T *, U *> {
    static constexpr bool value = !same<typename plain<T>::type, typename plain<U>::type>::value;
};

} // namespace impl

/**
 * Load the concatenation of a (a_count elements) and b (b_count) in strided order; registers beyond
 * both keep their value.  Two pointers to the same type need one load per register.
 *
 * Scope:    all NT threads.
 * Shapes:   at most NT * VT1 elements; the first VT0 rows are usually full, as in global_to_reg2.
 * Barrier:  none unless sync.  (The original ignores sync.)
 *
 * @code load2_to_reg
 * int reg[2] = {-1, -1};                                             // a: 0 10 20 ... 390
 * shpool::load2_to_reg<32, 2, 2>(a, 40, b, 20, tid, reg);            // b: 1 2 3 ... 20
 *                                                                    // thread 7: 70 390
 *                                                                    // thread 8: 80 1
 * @endcode
 */
template <int NT, int VT0, int VT1, typename Value, typename T>
SIMT_FN void load2_to_reg(const Value *a, ptrdiff_t a_count, const Value *b, ptrdiff_t b_count,
                          int tid, T *reg, bool sync = false)
{
    static_assert(impl::is_tile<NT, VT1>(), "");
    const int n = impl::clamp_count<NT * VT1>(a_count + b_count);

    if (n >= NT * VT0) {
        SIMT_UNROLLED
        for (int i = 0; i < VT0; i++) {
            reg[i] = impl::pick(a, a_count, b, NT * i + tid);
        }
        SIMT_UNROLLED
        for (int i = VT0; i < VT1; i++) {
            if (NT * i + tid < n) {
                reg[i] = impl::pick(a, a_count, b, NT * i + tid);
            }
        }
    } else {
        SIMT_UNROLLED
        for (int i = 0; i < VT0; i++) {
            if (NT * i + tid < n) {
                reg[i] = impl::pick(a, a_count, b, NT * i + tid);
            }
        }
    }
    impl::barrier_if(sync);
}

/** The same for any two sources whose elements convert to T: two loads, each with its test. */
template <int NT, int VT0, int VT1, typename A, typename B, typename T>
SIMT_FN typename impl::only_if<impl::is_pair<A, B>::value, void>::type
load2_to_reg(A a, ptrdiff_t a_count, B b, ptrdiff_t b_count, int tid, T *reg, bool sync = false)
{
    static_assert(impl::is_tile<NT, VT1>(), "");
    static_assert((VT0 >= 0) && (VT0 <= VT1),
                  "shpool: VT0 (rows that are likely full) must be 0 to VT1 (rows in all)");
    const ptrdiff_t both = a_count + b_count;

    SIMT_UNROLLED
    for (int i = 0; i < VT1; i++) {
        const ptrdiff_t index = NT * i + tid;

        if (index < a_count) {
            reg[i] = a[index];
        } else if (index < both) {
            reg[i] = b[index - a_count];
        }
    }
    impl::barrier_if(sync);
}

/**
 * Load the concatenation of a and b into shared memory; slots beyond both keep what they hold.
 *
 * Scope:    all NT threads; no thread may still be reading shared.
 * Barrier:  with sync (default) after the stores: all threads may then read.
 *
 * @code load2_to_shared
 * // a: 0 10 20 ... 390; b: 1 2 3 ... 20; shared: 0 10 ... 390 1 2 ... 20
 * shpool::load2_to_shared<32, 2, 2>(a, 40, b, 20, tid, shared);
 * @endcode
 */
template <int NT, int VT0, int VT1, typename A, typename B, typename T>
SIMT_FN void load2_to_shared(A a, ptrdiff_t a_count, B b, ptrdiff_t b_count, int tid, T *shared,
                             bool sync = true)
{
    T reg[VT1] SHPOOL_UNSET;

    load2_to_reg<NT, VT0, VT1>(a, a_count, b, b_count, tid, reg, false);
    reg_to_global<NT, VT1>(a_count + b_count, reg, tid, shared, false);
    impl::barrier_if(sync);
}

/**
 * Load, for each register, the value that a merge selected: index g is a[g] if it is below b_start,
 * else b[g - b_start].  Registers beyond count keep their value, and their indexes are not read.
 * Two pointers to the same type need one load per register.
 *
 * Scope:    all NT threads.
 * Shapes:   indices and reg have VT values each; count is of the tile, at most NT * VT.
 * Barrier:  none unless sync.
 *
 * @code transfer_merge_reg
 * int indices[2] = {tid, 40 + tid};                                     // a: 0 10 20 ... 390
 * int reg[2]     = {-1, -1};                                            // b: 1 2 3 ... 32
 * shpool::transfer_merge_reg<32, 2>(64, a, b, 40, indices, tid, reg);   // thread 3: 30 4
 * @endcode
 */
template <int NT, int VT, typename Value, typename Index, typename T>
SIMT_FN void transfer_merge_reg(ptrdiff_t count, const Value *a, const Value *b, ptrdiff_t b_start,
                                const Index *indices, int tid, T *reg, bool sync = false)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    const int n = impl::clamp_count<NT * VT>(count);

    if (n == NT * VT) {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            reg[i] = impl::pick(a, b_start, b, static_cast<ptrdiff_t>(indices[i]));
        }
    } else {
        SIMT_UNROLLED
        for (int i = 0; i < VT; i++) {
            if (NT * i + tid < n) {
                reg[i] = impl::pick(a, b_start, b, static_cast<ptrdiff_t>(indices[i]));
            }
        }
    }
    impl::barrier_if(sync);
}

/** The same for any two sources whose elements convert to T: two loads, each with its test. */
template <int NT, int VT, typename A, typename B, typename Index, typename T>
SIMT_FN typename impl::only_if<impl::is_pair<A, B>::value, void>::type
transfer_merge_reg(ptrdiff_t count, A a, B b, ptrdiff_t b_start, const Index *indices, int tid,
                   T *reg, bool sync = false)
{
    static_assert(impl::is_tile<NT, VT>(), "");
    const int n = impl::clamp_count<NT * VT>(count);

    SIMT_UNROLLED
    for (int i = 0; i < VT; i++) {
        if (NT * i + tid < n) {
            const ptrdiff_t index = static_cast<ptrdiff_t>(indices[i]);

            if (index < b_start) {
                reg[i] = a[index];
            } else {
                reg[i] = b[index - b_start];
            }
        }
    }
    impl::barrier_if(sync);
}

/**
 * The same with indexes in shared memory, stored to dest in strided order.
 *
 * Scope:    all NT threads; a barrier of the caller has made the indexes visible.
 * Shapes:   indices_shared has count indexes, of at most NT * VT: those beyond are not read.
 * Barrier:  with sync (default) one, at the end: indices_shared may be reused.  (The original
 *           always has one after reading the indexes, and reads all NT * VT of them.)
 *
 * @code transfer_merge_shared
 * // shared: 0 40 1 41 2 42 ... 31 71; a: 0 10 20 ... 390; b: 1 2 3 ... 32
 * shpool::transfer_merge_shared<32, 2>(64, a, b, 40, shared, tid, out); // out: 0 1 10 2 20 3 ...
 * @endcode
 */
template <int NT, int VT, typename A, typename B, typename Index, typename Out>
SIMT_FN void transfer_merge_shared(ptrdiff_t count, A a, B b, ptrdiff_t b_start,
                                   const Index *indices_shared, int tid, Out dest,
                                   bool sync = true)
{
    typename impl::value_of<A>::type reg[VT] SHPOOL_UNSET;
    Index     indices[VT] SHPOOL_UNSET;
    const int n = impl::clamp_count<NT * VT>(count);

    impl::load_tile<NT, VT, VT>(n, indices_shared, tid, indices);
    transfer_merge_reg<NT, VT>(n, a, b, b_start, indices, tid, reg, false);
    reg_to_global<NT, VT>(n, reg, tid, dest, false);
    impl::barrier_if(sync);
}

} // namespace shpool

#endif /* SHPOOL_LOADSTORE_MERGE_CUH */
