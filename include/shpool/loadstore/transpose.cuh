/* SPDX-License-Identifier: BSD-3-Clause */
/* A warp transposes 32 rows of M units in its registers.  Not for direct inclusion.
 *
 * Strided: lane l holds units l, 32 + l, 64 + l, ...  Thread order: lane d holds units M*d ..
 * M*d + M-1.  To convert, each lane rotates its registers, M shuffles each exchange one register of
 * every lane, and each lane rotates again.  The registers' numbers are always constants, so that
 * nothing goes through local memory.  The decomposition into rotations and shuffles is that of
 * Catanzaro, Keller and Garland, "A Decomposition for In-place Matrix Transposition", PPoPP 2014.
 *
 * The numbers.  Let c = gcd(M, 32), b = 32 / c, m = M / c (m and b have no common divisor).  In
 * round k lane d receives its j-th unit, j = (k + d / b) mod M: unit u = M*d + j, from lane u mod
 * 32.  Without d / b, lanes d and d + b would need units of the same lane; d / b adds 0 .. c-1 to
 * multiples of c, so in each round each lane sends to exactly one.
 * The register that lane s sends in round k depends only on x = (k - s) mod M; it is m * ((-x) mod
 * c) + (b^-1 * ceil(x / c)) mod m.  So a rotation by s mod M moves it to place k. */
#ifndef SHPOOL_LOADSTORE_TRANSPOSE_CUH
#define SHPOOL_LOADSTORE_TRANSPOSE_CUH

#include <shpool/loadstore/common.cuh>

namespace shpool {
namespace impl {

/* x[j] becomes x[j - by], or x[j + by] if Left; indexes modulo M.  by is 0 .. Most, less than M. */
template <int M, int Most, bool Left, int Bytes>
SIMT_FN void rotate(unit<Bytes> (&x)[M], uint32_t by)
{
    constexpr int WORDS = (Bytes + 3) / 4;

    SIMT_UNROLLED
    for (int bit = 0; bit < bits_of(Most); bit++) {
        const int  step = 1 << bit;
        const bool on   = ((by >> bit) & 1u) != 0;
        uint32_t   old[M][WORDS];

        SIMT_UNROLLED
        for (int j = 0; j < M; j++) {
            SIMT_UNROLLED
            for (int w = 0; w < WORDS; w++) {
                old[j][w] = x[j].w[w];
            }
        }
        SIMT_UNROLLED
        for (int j = 0; j < M; j++) {
            const int from = Left ? (j + step) % M : (j + M - step % M) % M;

            SIMT_UNROLLED
            for (int w = 0; w < WORDS; w++) {
                x[j].w[w] = on ? old[from][w] : old[j][w];
            }
        }
    }
}

template <int M> struct warp_order {
    static_assert((M >= 2) && (M <= 32), "shpool: a warp transposes 2 to 32 units a lane");
    static constexpr int c    = gcd(M, 32);
    static constexpr int b    = 32 / c;
    static constexpr int m    = M / c;
    static constexpr int b_m  = inverse(b % m, m); /* b^-1 modulo m */
    static constexpr int m_b  = inverse(m % b, b); /* m^-1 modulo b */
    static constexpr int most = (M < 32) ? M - 1 : 31;

    /* The register for x = (k - s) mod M. */
    static SHPOOL_METHOD int place(int x)
    {
        return m * ((c - x % c) % c) + (b_m * ((x + c - 1) / c)) % m;
    }
};

/* The lane, pinned: otherwise a caller's loop keeps everything that a transpose computes from it,
 * and needs twice the registers. */
SIMT_FN uint32_t fresh_lane(int tid) { return simt_pin(static_cast<uint32_t>(tid) % 32u); }

/* Lane l of a full warp; all lanes call. */
template <int M, int Bytes> SIMT_FN void strided_to_thread(unit<Bytes> (&x)[M], uint32_t lane)
{
    typedef warp_order<M> order;
    constexpr int  WORDS = (Bytes + 3) / 4;
    const uint32_t turn  = lane / order::b;
    unit<Bytes>    y[M];

    SIMT_UNROLLED
    for (int k = 0; k < M; k++) {
        y[k] = x[order::place(k)];
    }
    rotate<M, order::most, false>(y, lane % M);
    SIMT_UNROLLED
    for (int k = 0; k < M; k++) {
        const uint32_t j    = (k + turn >= M) ? k + turn - M : k + turn;
        const uint32_t from = (M * lane + j) % 32u;

        SIMT_UNROLLED
        for (int w = 0; w < WORDS; w++) {
            x[k].w[w] = simt_shfl(SIMT_ALL_LANES, y[k].w[w], from);
        }
    }
    rotate<M, order::c - 1, false>(x, turn);
}

/* The inverse. */
template <int M, int Bytes> SIMT_FN void thread_to_strided(unit<Bytes> (&x)[M], uint32_t lane)
{
    typedef warp_order<M> order;
    constexpr int  WORDS = (Bytes + 3) / 4;
    unit<Bytes>    y[M];

    rotate<M, order::c - 1, true>(x, lane / order::b);
    SIMT_UNROLLED
    for (int k = 0; k < M; k++) {
        const uint32_t turn = (lane - k) % order::c;
        const uint32_t j    = (k + turn >= M) ? k + turn - M : k + turn;
        /* M * d + j equals this lane modulo 32 for one of the d of this round; 1024 keeps the
         * difference positive and does not change the result */
        const uint32_t d    = (order::m_b * ((lane + 1024u - j) / order::c)) % order::b;

        SIMT_UNROLLED
        for (int w = 0; w < WORDS; w++) {
            y[k].w[w] = simt_shfl(SIMT_ALL_LANES, x[k].w[w], turn * order::b + d);
        }
    }
    rotate<M, order::most, true>(y, lane % M);
    SIMT_UNROLLED
    for (int k = 0; k < M; k++) {
        x[order::place(k)] = y[k];
    }
}

/* ---- between registers of a type and their units ---- */

/* The value at `at` of an image in registers; the units hold Bytes bytes each. */
template <typename T, int Bytes, int M>
SIMT_FN void units_to_values(const unit<Bytes> (&x)[M], T *values)
{
    unsigned char image[M * Bytes];

    SIMT_UNROLLED
    for (int k = 0; k < M; k++) {
        memcpy(image + k * Bytes, &x[k], Bytes);
    }
    memcpy(static_cast<void *>(values), image, sizeof(image));
}
template <typename T, int Bytes, int M>
SIMT_FN void values_to_units(const T *values, unit<Bytes> (&x)[M])
{
    unsigned char image[M * Bytes];

    memcpy(image, static_cast<const void *>(values), sizeof(image));
    SIMT_UNROLLED
    for (int k = 0; k < M; k++) {
        if constexpr (Bytes < 4) {
            x[k].w[0] = 0;
        }
        memcpy(&x[k], image + k * Bytes, Bytes);
    }
}

} // namespace impl
} // namespace shpool

#endif /* SHPOOL_LOADSTORE_TRANSPOSE_CUH */
