/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sorts a hash table in shared memory by column, for --sort 1.  (rank.h is for global memory.)  The
 * table is sorted in rounds.  Each round is divided into chunks, which any warps can process; all
 * chunks of a round must be done before the next round begins.
 *
 * Round 0 sorts each chunk.  Then level 1, 2, ... merges pairs of sorted parts of 1, 2, ... chunks.
 * Level n has n + 1 rounds: in the first n, entries of different chunks are compared, and in the
 * last one entries of the same chunk.  This is Batcher's bitonic sort ("Sorting networks and their
 * applications", 1968) in the form in which all comparisons have the same direction: entries after
 * the table's end then need not exist.
 */
#ifndef SHPOOL_EXAMPLES_SPARSE_SORT_H
#define SHPOOL_EXAMPLES_SPARSE_SORT_H

#include "../group.h"

#define VACANT  ~0u  /* an empty entry, in place of a column; greater than any column */
#define SORTED  256u /* entries of a chunk */
#define ABREAST 4u   /* pairs of entries that a lane compares at a time */

struct sort_round {
    uint32_t level, pass;
    uint32_t stride; /* distance of the entries that are compared, in the last pass at first */
};

SIMT_FN sort_round round_of(uint32_t nth)
{
    sort_round round = { 0, nth, 0 };

    while (round.pass > round.level) {
        round.pass -= ++round.level;
    }
    round.stride = (SORTED << round.level) >> (round.pass + 1u);
    return round;
}

SIMT_FN uint32_t sort_chunks(uint32_t entries, uint32_t nth)
{
    const uint32_t block = 2u * round_of(nth).stride;

    return (entries + block - 1u) / block * (block / SORTED);
}

SIMT_FN bool is_last_round(uint32_t entries, uint32_t nth)
{
    const sort_round round = round_of(nth);

    return (round.pass == round.level) && ((SORTED << round.level) >= entries);
}

/* ---- entries of one chunk: in registers ---- */

/* Entries Each * lane to Each * lane + Each - 1 of the warp's. */
template <uint32_t Each>
struct sort_part {
    uint32_t column[Each], value[Each];

    MACHINE_METHOD void replace(uint32_t i, bool by_other, uint32_t other, uint32_t its_value)
    {
        column[i] = by_other ? other : column[i];
        value[i]  = by_other ? its_value : value[i];
    }

    /* Compare entries i and i ^ mask of each lane. */
    MACHINE_METHOD void compare_own(uint32_t mask)
    {
        SIMT_UNROLLED
        for (uint32_t i = 0; i < Each; i++) {
            const uint32_t j = i ^ mask;

            if (i < j) {
                const bool     swap = column[i] > column[j];
                const uint32_t low = column[i], its_value = value[i];

                replace(i, swap, column[j], value[j]);
                replace(j, swap, low, its_value);
            }
        }
    }

    /* Compare entries of lane n and lane n ^ lanes: entry i and the same one, or, mirrored, the
     * i-th one from the end. */
    template <bool Mirrored>
    MACHINE_METHOD void compare_lanes(uint32_t lanes)
    {
        const bool low = simt_lane() < (simt_lane() ^ lanes);

        SIMT_UNROLLED
        for (uint32_t i = 0; i < (Each + 1u) / 2u; i++) { /* and their mirror images */
            const uint32_t j  = Each - 1u - i;
            const uint32_t ci = simt_shfl_xor(SIMT_ALL_LANES, column[Mirrored ? j : i], lanes);
            const uint32_t vi = simt_shfl_xor(SIMT_ALL_LANES, value[Mirrored ? j : i], lanes);

            if (i < j) {
                const uint32_t cj = simt_shfl_xor(SIMT_ALL_LANES, column[Mirrored ? i : j], lanes);
                const uint32_t vj = simt_shfl_xor(SIMT_ALL_LANES, value[Mirrored ? i : j], lanes);

                replace(j, (cj < column[j]) == low, cj, vj);
            }
            replace(i, (ci < column[i]) == low, ci, vi);
        }
    }

    /* Merge two sorted halves after their first, mirrored comparison. */
    MACHINE_METHOD void merge(uint32_t lanes)
    {
        SIMT_ROLLED
        for (; lanes != 0; lanes /= 2u) {
            compare_lanes<false>(lanes);
        }
        SIMT_UNROLLED
        for (uint32_t stride = Each / 2u; stride != 0; stride /= 2u) {
            compare_own(stride);
        }
    }

    MACHINE_METHOD void sort()
    {
        SIMT_UNROLLED
        for (uint32_t size = 2; size <= Each; size *= 2u) {
            compare_own(size - 1u);
            SIMT_UNROLLED
            for (uint32_t stride = size / 4u; stride != 0; stride /= 2u) {
                compare_own(stride);
            }
        }
        SIMT_ROLLED
        for (uint32_t lanes = 2; lanes <= SIMT_WARP; lanes *= 2u) {
            compare_lanes<true>(lanes - 1u);
            merge(lanes / 4u);
        }
    }
};

/* Load entries from `first` on, in any order. */
template <uint32_t Each>
SIMT_FN sort_part<Each> load_part(shared_words table, uint32_t entries, uint32_t first)
{
    sort_part<Each> part;

    SIMT_UNROLLED
    for (uint32_t k = 0; k < Each; k++) {
        const uint32_t i = first + k * SIMT_WARP + simt_lane();

        part.column[k] = (i < entries) ? table.get(i) : VACANT;
        part.value[k]  = (i < entries) ? table.get(entries + i) : 0u;
    }
    simt_warp_sync(SIMT_ALL_LANES); /* before others store there */
    return part;
}

/* Load them in their order; the table, which has whole groups of four, may end among them. */
template <uint32_t Each>
SIMT_FN sort_part<Each> load_in_order(shared_words table, uint32_t entries, uint32_t first)
{
    const simt_u128 none = { VACANT, VACANT, VACANT, VACANT };
    sort_part<Each> part;

    SIMT_UNROLLED
    for (uint32_t k = 0; k < Each; k += 4u) {
        const uint32_t  i = first + Each * simt_lane() + k;
        const simt_u128 c = (i < entries) ? table.get4(i) : none;
        const simt_u128 v = (i < entries) ? table.get4(entries + i) : none;

        memcpy(part.column + k, &c, sizeof(c));
        memcpy(part.value + k, &v, sizeof(v));
    }
    simt_warp_sync(SIMT_ALL_LANES);
    return part;
}

template <uint32_t Each>
SIMT_FN void store_part(shared_words table, uint32_t entries, uint32_t first,
                        const sort_part<Each> &part)
{
    SIMT_UNROLLED
    for (uint32_t k = 0; k < Each; k += 4u) {
        const uint32_t i = first + Each * simt_lane() + k;
        simt_u128      c, v;

        memcpy(&c, part.column + k, sizeof(c));
        memcpy(&v, part.value + k, sizeof(v));
        if (i < entries) {
            table.put4(i, c);
            table.put4(entries + i, v);
        }
    }
    simt_warp_sync(SIMT_ALL_LANES);
}

template <uint32_t Each>
SIMT_FN void sort_entries(shared_words table, uint32_t entries, uint32_t first)
{
    sort_part<Each> part = load_part<Each>(table, entries, first);

    part.sort();
    store_part(table, entries, first, part);
}

/* ---- entries of different chunks: in the table ---- */

/* Compare a chunk's share of the pairs of entries that are `stride` apart, and exchange those that
 * are out of order.  The partner of entry i is i ^ mask. */
SIMT_FN void compare_chunks(shared_words table, uint32_t entries, uint32_t first, uint32_t stride,
                            uint32_t mask)
{
    for (uint32_t k = 0; k < SORTED / 2u; k += ABREAST * SIMT_WARP) {
        uint32_t low[ABREAST], high[ABREAST];

        SIMT_UNROLLED
        for (uint32_t n = 0; n < ABREAST; n++) {
            const uint32_t pair = first / 2u + k + n * SIMT_WARP + simt_lane();
            const uint32_t i    = pair + (pair & (0u - stride));
            const bool     has  = (i ^ mask) < entries;

            low[n]  = has ? table.get(i) : VACANT;
            high[n] = has ? table.get(i ^ mask) : VACANT;
        }
        SIMT_UNROLLED
        for (uint32_t n = 0; n < ABREAST; n++) {
            const uint32_t pair = first / 2u + k + n * SIMT_WARP + simt_lane();
            const uint32_t i    = pair + (pair & (0u - stride));
            const uint32_t j    = i ^ mask;

            if (low[n] > high[n]) {
                const uint32_t value = table.get(entries + i);
                const uint32_t other = table.get(entries + j);

                table.set(i, high[n]);
                table.set(j, low[n]);
                table.set(entries + i, other);
                table.set(entries + j, value);
            }
        }
    }
}

/* Process a chunk of a round. */
SIMT_FN void sort_chunk(shared_words table, uint32_t entries, uint32_t nth, uint32_t chunk)
{
    const sort_round round = round_of(nth);
    const uint32_t   first = chunk * SORTED;
    const uint32_t   each  = SORTED / SIMT_WARP;

    if (round.pass < round.level) {
        compare_chunks(table, entries, first, round.stride,
                       (round.pass == 0) ? 2u * round.stride - 1u : round.stride);
    } else if (round.level != 0) {
        sort_part<each> part = load_in_order<each>(table, entries, first);

        part.merge(SIMT_WARP / 2u);
        store_part(table, entries, first, part);
    } else if (entries <= 4u * SIMT_WARP) {
        sort_entries<4>(table, entries, first);
    } else {
        sort_entries<each>(table, entries, first);
    }
}

#endif /* SHPOOL_EXAMPLES_SPARSE_SORT_H */
