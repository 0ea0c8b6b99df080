/* SPDX-License-Identifier: BSD-3-Clause */
/* How a block copies contiguous elements from memory to memory: in chunks of 16 bytes if source and
 * destination are equally aligned, else element by element.  Not for direct inclusion.
 *
 * If a range begins between two multiples of 16, its head and tail move in pieces of the elements'
 * alignment, one per thread.  This also serves elements (12 bytes, 3 bytes) whose boundaries never
 * fall on a multiple of 16. */
#ifndef SHPOOL_LOADSTORE_COPY_ENGINE_CUH
#define SHPOOL_LOADSTORE_COPY_ENGINE_CUH

#include <shpool/loadstore/common.cuh>

namespace shpool {
namespace impl {

/* Bytes of loads in flight: 128 bytes a thread saturate the memory system at full occupancy and
 * leave registers to the caller. */
constexpr int MAX_BYTES_IN_FLIGHT = 128;

/* Copy chunks first .. first + Batch * NT, every NT-th, if they are below `end`.  Size: int for a
 * tile's own offsets, because it needs fewer registers, else ptrdiff_t. */
template <int NT, int Batch, bool Promised, typename Size>
SIMT_FN void copy_chunks(unsigned char *dest, const unsigned char *src, Size first, Size end)
{
    unit<16> chunk[Batch] SHPOOL_UNSET;

    SIMT_UNROLLED
    for (int i = 0; i < Batch; i++) {
        if (first + i * NT < end) {
            chunk[i] = wide_load<16, Promised>(src + (first + i * NT) * 16);
        }
    }
    SIMT_UNROLLED
    for (int i = 0; i < Batch; i++) {
        if (first + i * NT < end) {
            wide_store<16>(dest + (first + i * NT) * 16, chunk[i]);
        }
    }
}

/* Copy a full tile of Bytes bytes that begins at multiples of 16: no loop, and no test except that
 * of the last round. */
template <int NT, int Bytes, bool Promised, bool Async>
SIMT_FN void copy_full(unsigned char *dest, const unsigned char *src, int tid)
{
    constexpr int CHUNKS = Bytes / 16;
    constexpr int ROUNDS = (CHUNKS + NT - 1) / NT;
    constexpr int BATCH  = (ROUNDS < MAX_BYTES_IN_FLIGHT / 16) ? ROUNDS : MAX_BYTES_IN_FLIGHT / 16;

    if constexpr (Async) {
        async_copies<ROUNDS> copies;

        SIMT_UNROLLED
        for (int i = 0; i < ROUNDS; i++) {
            if (((i + 1) * NT <= CHUNKS) || (i * NT + tid < CHUNKS)) {
                copies.copy(dest + (i * NT + tid) * 16, src + (i * NT + tid) * 16);
            }
        }
        copies.wait();
    } else {
        SIMT_UNROLLED
        for (int i = 0; i < ROUNDS; i += BATCH) {
            unit<16> chunk[BATCH] SHPOOL_UNSET;

            SIMT_UNROLLED
            for (int j = i; (j < i + BATCH) && (j < ROUNDS); j++) {
                if (((j + 1) * NT <= CHUNKS) || (j * NT + tid < CHUNKS)) {
                    chunk[j - i] = wide_load<16, Promised>(src + (j * NT + tid) * 16);
                }
            }
            SIMT_UNROLLED
            for (int j = i; (j < i + BATCH) && (j < ROUNDS); j++) {
                if (((j + 1) * NT <= CHUNKS) || (j * NT + tid < CHUNKS)) {
                    wide_store<16>(dest + (j * NT + tid) * 16, chunk[j - i]);
                }
            }
        }
    }
}

/* Copy the bytes before the first multiple of 16, and those after the last: Piece bytes a thread.
 * Both ends have fewer than 16 / Piece pieces, and a block has at least 32 threads. */
template <int Piece, bool Promised, typename Size>
SIMT_FN void copy_ends(unsigned char *dest, const unsigned char *src, Size bytes, Size head,
                       Size tail, int tid)
{
    if (tid * Piece < head) {
        wide_store<Piece>(dest + tid * Piece, wide_load<Piece, Promised>(src + tid * Piece));
    }
    if ((tid >= 16) && ((tid - 16) * Piece < tail)) {
        const Size at = bytes - tail + (tid - 16) * Piece;

        wide_store<Piece>(dest + at, wide_load<Piece, Promised>(src + at));
    }
}

/* Division of a range at its first and last multiples of 16. */
template <typename Size> struct copy_range {
    Size head;  /* bytes before the first */
    Size body;  /* bytes in whole chunks */
    Size tail;  /* bytes after the last */
};
template <typename Size> SIMT_FN copy_range<Size> range_of(const unsigned char *p, Size bytes)
{
    Size             head  = static_cast<Size>(-reinterpret_cast<uintptr_t>(p) & 15u);
    copy_range<Size> range = {(head < bytes) ? head : bytes, 0, 0};

    range.tail = (bytes - range.head) & 15;
    range.body = bytes - range.head - range.tail;
    return range;
}

/* Copy any number of bytes between equally aligned addresses.  Batch: chunks of a thread in flight;
 * with Async, which is for tiles, the maximum. */
template <int NT, int Piece, bool Promised, bool Async, int Batch, typename Size>
SIMT_FN void copy_part(unsigned char *dest, const unsigned char *src, Size bytes, int tid)
{
    const copy_range<Size> range = range_of(src, bytes);

    if constexpr (Async) {
        async_copies<Batch> copies;

        SIMT_ROLLED
        for (Size i = tid; i < range.body / 16; i += NT) {
            copies.copy(dest + range.head + i * 16, src + range.head + i * 16);
        }
        copy_ends<Piece, Promised>(dest, src, bytes, range.head, range.tail, tid);
        copies.wait();
    } else {
        SIMT_ROLLED
        for (Size i = tid; i < range.body / 16; i += Batch * NT) {
            copy_chunks<NT, Batch, Promised>(dest + range.head, src + range.head, i,
                                             range.body / 16);
        }
        copy_ends<Piece, Promised>(dest, src, bytes, range.head, range.tail, tid);
    }
}

/* Whether source and destination have the same address modulo 16. */
template <int Known> SIMT_FN bool aligned_alike(const void *a, const void *b)
{
    if constexpr (Known == 16) {
        return true;
    } else {
        return ((reinterpret_cast<uintptr_t>(a) ^ reinterpret_cast<uintptr_t>(b)) & 15u) == 0;
    }
}

/* Copy at most Rows rows of NT elements, each thread its own: all of a batch are loaded before the
 * first is stored. */
template <int NT, int Rows, typename It, typename Out>
SIMT_FN void copy_elements(int count, It src, int tid, Out dest)
{
    typedef typename value_of<It>::type type;
    constexpr int FIT   = (sizeof(type) * 8 > MAX_BYTES_IN_FLIGHT)
                              ? 4 : static_cast<int>(MAX_BYTES_IN_FLIGHT / sizeof(type));
    constexpr int WISH  = (FIT > 16) ? 16 : FIT;
    constexpr int BATCH = (Rows < WISH) ? Rows : WISH;

    SIMT_UNROLLED
    for (int row = 0; row < Rows; row += BATCH) {
        const bool whole = count >= (row + BATCH) * NT;
        type       value[BATCH] SHPOOL_UNSET;

        SIMT_UNROLLED
        for (int i = 0; i < BATCH; i++) {
            if ((row + i < Rows) && (whole || ((row + i) * NT + tid < count))) {
                value[i] = src[static_cast<ptrdiff_t>((row + i) * NT + tid)];
            }
        }
        SIMT_UNROLLED
        for (int i = 0; i < BATCH; i++) {
            if ((row + i < Rows) && (whole || ((row + i) * NT + tid < count))) {
                dest[static_cast<ptrdiff_t>((row + i) * NT + tid)] = value[i];
            }
        }
    }
}

/* The same for any count, in few registers: for the unexpected case. */
template <int NT, typename Size, typename It, typename Out>
SIMT_FN void copy_by_loop(Size count, It src, int tid, Out dest)
{
    SIMT_ROLLED
    for (Size first = 0; first < count; first += 4 * NT) {
        copy_elements<NT, 4>(clamp_count<4 * NT>(count - first), src + first, tid, dest + first);
    }
}

/* If a tile has fewer chunks than threads, some threads are idle, and words are equally fast. */
template <int VT, typename T> SHPOOL_CONSTANT bool fills_chunks()
{
    return (VT * sizeof(T) >= 16) || (sizeof(T) < 4);
}

/* Copy a tile: count of at most NT * VT elements. */
template <int NT, int VT, copy_path Path, typename It, typename Out>
SIMT_FN void copy_tile(ptrdiff_t count, It src, int tid, Out dest)
{
    static_assert(is_tile<NT, VT>(), "");
    constexpr bool BYTES = can_copy_bytes<It, Out>();
    const int      n     = clamp_count<NT * VT>(count);

    static_assert((Path != copy_path::transpose),
                  "shpool: copy_path::transpose is for thread order (global_to_thread): use "
                  "automatic, elements or vector here");
    static_assert(BYTES || (Path == copy_path::automatic) || (Path == copy_path::elements),
                  "shpool: copy_path::vector, async and bulk need pointers to the same trivially "
                  "copyable type on both sides: use copy_path::automatic or elements");
    typedef typename value_of<It>::type type;

    if constexpr (BYTES && (Path != copy_path::elements) &&
                  ((Path != copy_path::automatic) || fills_chunks<VT, type>())) {
        constexpr int  PIECE    = aligned_unit<type>::value;
        constexpr bool PROMISED = memory<It>::promised;
        constexpr bool ASYNC    = (Path == copy_path::async) && (SHPOOL_HAS_ASYNC != 0);
        constexpr int  TILE     = NT * VT * static_cast<int>(sizeof(type));
        const unsigned char *from = bytes_of(src);
        unsigned char       *to   = bytes_to(dest);

        if (aligned_alike<PIECE>(from, to)) {
            if ((n == NT * VT) && ((PIECE == 16) || is_aligned(from, 16))) {
                copy_full<NT, TILE, PROMISED, ASYNC>(to, from, tid);
            } else {
                copy_part<NT, PIECE, PROMISED, ASYNC, ASYNC ? TILE / 16 / NT + 1 : 2>(
                    to, from, n * static_cast<int>(sizeof(type)), tid);
            }
        } else {
            copy_by_loop<NT>(n, src, tid, dest);
        }
    } else {
        copy_elements<NT, VT>(n, src, tid, dest);
    }
}

/* Copy the body of a range by one bulk copy of one thread, its ends by others; false: not
 * aligned. */
template <int NT, int VT, typename It, typename Out>
SIMT_FN bool store_bulk(ptrdiff_t count, It src, int tid, Out dest)
{
    static_assert(is_tile<NT, VT>(), "");
    typedef typename value_of<It>::type type;
    constexpr int        PIECE = aligned_unit<type>::value;
    const unsigned char *from  = bytes_of(src);
    unsigned char       *to    = bytes_to(dest);
    const int            bytes = clamp_count<NT * VT>(count) * static_cast<int>(sizeof(type));

    if (!aligned_alike<PIECE>(from, to)) {
        return false;
    }
    const copy_range<int> range = range_of(from, bytes);

    if ((tid == 0) && (range.body != 0)) {
        bulk_store(to + range.head, from + range.head, static_cast<uint32_t>(range.body));
    }
    copy_ends<PIECE, false>(to, from, bytes, range.head, range.tail, tid);
    return true;
}

} // namespace impl
} // namespace shpool

#endif /* SHPOOL_LOADSTORE_COPY_ENGINE_CUH */
