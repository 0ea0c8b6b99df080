/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/loadstore/common.cuh
 * Common parts of loadstore.cuh: the path of a copy, the promise of read-only memory, and
 * compile-time properties of iterators.
 */
#ifndef SHPOOL_LOADSTORE_COMMON_CUH
#define SHPOOL_LOADSTORE_COMMON_CUH

#include <shpool/impl/wide.h>

namespace shpool {

/**
 * How a function moves its elements: its last constant template argument; the default is automatic.
 *
 * Each path is correct for every count and alignment: if it cannot be used at run time (the tile is
 * not full, the pointers are not equally aligned), the elements move one by one.  A path that the
 * operands can never use (no pointers, different types, types that are not trivially copyable) is a
 * compile-time error.  A path that the GPU lacks is replaced by the next one in the list.
 */
enum class copy_path {
    automatic, /**< the fastest that the operands permit: see the table in loadstore.cuh */
    elements,  /**< each thread moves its own elements, one access each, in the order of the name */
    vector,    /**< accesses of 16 bytes (thread order: of 4 to 16) */
    async,     /**< global_to_shared: cp.async, sm_80 and up, else vector */
    bulk,      /**< shared_to_global, and global_to_shared with a bulk_gate: the copy engine, sm_90
                    and up, else vector */
    transpose  /**< thread order: coalesced accesses, and warp shuffles between the lanes */
};

/**
 * A pointer to global memory that, as the caller promises, no thread writes while the kernel runs.
 * Loads may then use the read-only path (ld.global.nc), which is not coherent with stores.  Every
 * function here that takes an iterator accepts it as a source, on all paths.
 */
template <typename T> struct read_only_pointer {
    const T *ptr;

    SHPOOL_METHOD T operator[](ptrdiff_t index) const;
    SHPOOL_METHOD read_only_pointer operator+(ptrdiff_t offset) const
    {
        return read_only_pointer{ptr + offset};
    }
};

/** Promises that no thread writes the memory at ptr while the kernel runs. */
template <typename T> SIMT_FN read_only_pointer<T> read_only(const T *ptr)
{
    return read_only_pointer<T>{ptr};
}

namespace impl {

/* <type_traits> without the header, which NVRTC lacks. */
template <typename T> struct plain { typedef T type; };
template <typename T> struct plain<const T> { typedef T type; };
template <typename T> struct plain<T &> { typedef typename plain<T>::type type; };
template <typename T> struct plain<T &&> { typedef typename plain<T>::type type; };
template <typename A, typename B> struct same { static constexpr bool value = false; };
template <typename A> struct same<A, A> { static constexpr bool value = true; };
template <bool Condition, typename T> struct only_if { };
template <typename T> struct only_if<true, T> { typedef T type; };

/* The type of it[i], without const and reference. */
template <typename T> SHPOOL_METHOD T &any_of(); /* for decltype, which does not call it */
template <typename It> struct value_of {
    typedef typename plain<decltype(any_of<It>()[0])>::type type;
};

/* Memory that is addressable by bytes: pointers (not to volatile), with or without a promise. */
template <typename It> struct memory {
    static constexpr bool addressable = false;
    static constexpr bool writable    = false;
    static constexpr bool promised    = false;
};
template <typename T> struct memory<T *> {
    static constexpr bool addressable = true;
    static constexpr bool writable    = true;
    static constexpr bool promised    = false;
};
template <typename T> struct memory<const T *> {
    static constexpr bool addressable = true;
    static constexpr bool writable    = false;
    static constexpr bool promised    = false;
};
template <typename T> struct memory<volatile T *> : memory<void> { };
template <typename T> struct memory<const volatile T *> : memory<void> { };
template <typename T> struct memory<read_only_pointer<T>> {
    static constexpr bool addressable = true;
    static constexpr bool writable    = false;
    static constexpr bool promised    = true;
};

template <typename T> SIMT_FN const unsigned char *bytes_of(const T *ptr)
{
    return reinterpret_cast<const unsigned char *>(ptr);
}
template <typename T> SIMT_FN const unsigned char *bytes_of(read_only_pointer<T> source)
{
    return reinterpret_cast<const unsigned char *>(source.ptr);
}
template <typename T> SIMT_FN unsigned char *bytes_to(T *ptr)
{
    return reinterpret_cast<unsigned char *>(ptr);
}

/* Source and destination have the same representation, so copying the bytes suffices. */
template <typename It, typename Out> SHPOOL_CONSTANT bool can_copy_bytes()
{
    if constexpr (memory<It>::addressable && memory<Out>::writable) {
        typedef typename value_of<It>::type type;

        return same<type, typename value_of<Out>::type>::value && __is_trivially_copyable(type);
    } else {
        return false;
    }
}

/* Registers can be loaded with the bytes of their type. */
template <typename It> SHPOOL_CONSTANT bool can_load_bytes()
{
    if constexpr (memory<It>::addressable) {
        return __is_trivially_copyable(typename value_of<It>::type);
    } else {
        return false;
    }
}

SHPOOL_CONSTANT int gcd(int a, int b) { return (b == 0) ? a : gcd(b, a % b); }
/* Number of bits that can represent 0 to most. */
SHPOOL_CONSTANT int bits_of(int most) { return (most == 0) ? 0 : 1 + bits_of(most / 2); }
/* x with a * x % m == 1 % m, for a and m without a common divisor. */
SHPOOL_CONSTANT int inverse(int a, int m)
{
    for (int x = 0; x < m; x++) {
        if (a * x % m == 1 % m) {
            return x;
        }
    }
    return 0;
}

/* The largest access that divides `bytes`. */
template <int Bytes> struct largest_unit { static constexpr int value = gcd(Bytes, 16); };
/* The largest access that the alignment of a pointer to T permits. */
template <typename T> struct aligned_unit {
    static constexpr int value = gcd(static_cast<int>(alignof(T)), 16);
};

SIMT_FN bool is_aligned(const void *p, uint32_t bytes)
{
    return (static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p)) & (bytes - 1u)) == 0;
}

template <int NT, int VT> SHPOOL_CONSTANT bool is_tile()
{
    static_assert((NT > 0) && (NT <= 1024) && (NT % 32 == 0),
                  "shpool: NT (threads) must be whole warps: 32, 64, 96, ..., 1024");
    static_assert((VT >= 1) && (VT <= 32), "shpool: VT (values per thread) must be 1 to 32");
    return true;
}

/* A tile's own count, for which 32 bits suffice, whatever the caller's type. */
template <int Most> SIMT_FN int clamp_count(ptrdiff_t count)
{
    return (count >= Most) ? Most : (count < 0) ? 0 : static_cast<int>(count);
}

SIMT_FN void barrier_if(bool sync)
{
    if (sync) {
        simt_barrier();
    }
}

} // namespace impl

template <typename T>
SHPOOL_METHOD T read_only_pointer<T>::operator[](ptrdiff_t index) const
{
    constexpr int width = impl::aligned_unit<T>::value;

    if constexpr (__is_trivially_copyable(T) && (sizeof(T) % width == 0)) {
        const unsigned char *from = reinterpret_cast<const unsigned char *>(ptr + index);
        T                    value;

        SIMT_UNROLLED
        for (int i = 0; i < static_cast<int>(sizeof(T)) / width; i++) {
            const impl::unit<width> u = impl::wide_load<width, true>(from + i * width);

            memcpy(reinterpret_cast<unsigned char *>(&value) + i * width, &u, width);
        }
        return value;
    } else {
        return ptr[index];
    }
}

} // namespace shpool

#endif /* SHPOOL_LOADSTORE_COMMON_CUH */
