/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves one tile between records and the blocked layout, through shared memory.  Not for direct
 * inclusion: use shpool/layout.cuh, which explains how the stage avoids bank conflicts.
 *
 * Both arrays are treated as a sequence of `places` in address order; place e of either is
 * offset(e) elements into the array, and at(e) elements into the stage.  layout_divide() relies on
 * every number below being less than 65,536, because a stage has at most 64 KiB. */
#ifndef SHPOOL_IMPL_LAYOUT_TILE_H
#define SHPOOL_IMPL_LAYOUT_TILE_H

namespace shpool
{
namespace impl
{

/* The type that the hardware moves: only the size of T matters.  may_alias, because it accesses
 * objects of type T. */
template <uint32_t BYTES> struct layout_word;
template <> struct layout_word<1> {
    typedef uint8_t __attribute__((may_alias)) type;
};
template <> struct layout_word<2> {
    typedef uint16_t __attribute__((may_alias)) type;
};
template <> struct layout_word<4> {
    typedef uint32_t __attribute__((may_alias)) type;
};
template <> struct layout_word<8> {
    typedef unsigned long long __attribute__((may_alias)) type;
};
template <> struct layout_word<16> {
    struct __attribute__((may_alias, aligned(16))) type {
        uint32_t x, y, z, w;
    };
};

enum : uint32_t {
    LAYOUT_MOST_BYTES = 65536 /* of a stage */
};

/* Number of loads in flight per thread: enough to hide the latency, and few enough to leave
 * registers for six blocks. */
template <typename T> struct layout_batch {
    enum : uint32_t { value = (sizeof(T) == 16) ? 4 : 8 };
};

/* Elements that a lane moves at a time, if the array's alignment permits. */
template <typename T> SHPOOL_LAYOUT_FN uint32_t layout_unit_elements(void)
{
    static_assert((sizeof(T) == 1) || (sizeof(T) == 2) || (sizeof(T) == 4) || (sizeof(T) == 8) ||
                      (sizeof(T) == 16),
                  "an element has 1, 2, 4, 8 or 16 bytes");
    static_assert(__is_trivially_copyable(T), "elements are moved as bytes");
    return (sizeof(T) < 4) ? 4u / (uint32_t)sizeof(T) : 1u;
}

/* Log2 of the number of records after which the stage has one unit of padding: L/gcd(words, L)
 * units of records, where L is the number of lanes whose shared accesses are served together. */
template <typename T> SHPOOL_LAYOUT_FN uint32_t layout_run_log2(uint32_t words)
{
    uint32_t lanes = (sizeof(T) <= 4) ? 32u : 128u / (uint32_t)sizeof(T);
    uint32_t log2  = 0;

    for (uint32_t records = layout_unit_elements<T>(); records > 1; records /= 2) {
        log2++;
    }
    for (; (lanes > 1) && (words % 2 == 0); words /= 2) { /* a common factor */
        lanes /= 2;
    }
    for (; lanes > 1; lanes /= 2) {
        log2++;
    }
    return log2;
}

/* Index in the stage of word c of the tile's record r. */
template <typename T>
SHPOOL_LAYOUT_FN uint32_t layout_stage_at(uint32_t r, uint32_t c, uint32_t words, uint32_t run_log2)
{
    return r * words + c + (r >> run_log2) * layout_unit_elements<T>();
}

template <typename T>
SHPOOL_LAYOUT_FN uint32_t layout_stage_bytes(uint32_t records, uint32_t words)
{
    return (layout_stage_at<T>(records - 1, words - 1, words, layout_run_log2<T>(words)) + 1) *
           (uint32_t)sizeof(T);
}

template <typename T>
SHPOOL_LAYOUT_FN bool layout_fits(uint32_t records, unsigned long long words, uint32_t stage_bytes)
{
    return (records * words * sizeof(T) <= stage_bytes) &&
           (layout_stage_bytes<T>(records, (uint32_t)words) <= stage_bytes);
}

/* The largest tile for a stage: whole groups, else part of a group, else also only part of its
 * records. */
template <typename T>
SHPOOL_LAYOUT_FN bool layout_shape(unsigned long long groups, uint32_t m, uint32_t bd,
                                   uint32_t stage_bytes, uint32_t *records_p, uint32_t *words_p)
{
    const uint32_t warps = bd / SHPOOL_LAYOUT_GRAIN;
    const uint32_t bytes = (stage_bytes < LAYOUT_MOST_BYTES) ? stage_bytes : LAYOUT_MOST_BYTES;
    uint32_t       part  = warps; /* part of the group in the tile, in units of 32 records */

    *words_p = m;
    if (layout_fits<T>(bd, m, bytes)) {
        uint32_t many = bytes / (uint32_t)(bd * m * sizeof(T));

        if (many > groups) {
            many = (groups > 1) ? (uint32_t)groups : 1u;
        }
        while (!layout_fits<T>(many * bd, m, bytes)) { /* because of the padding */
            many--;
        }
        *records_p = many * bd;
        return true;
    }
    while ((part > 1) && ((warps % part != 0) || !layout_fits<T>(32u * part, m, bytes))) {
        part--;
    }
    if (!layout_fits<T>(32u * part, m, bytes)) {
        /* rows of 128 to 256 bytes on the blocked side, the rest of the stage for the records' */
        part = (sizeof(T) < 4) ? 8u / (uint32_t)sizeof(T) : 2u;
        while ((part > 1) && ((warps % part != 0) || !layout_fits<T>(32u * part, 1, bytes))) {
            part--;
        }
        *words_p = bytes / (uint32_t)(32u * part * sizeof(T));
        while ((*words_p != 0) && !layout_fits<T>(32u * part, *words_p, bytes)) {
            (*words_p)--;
        }
    }
    *records_p = 32u * part;
    return *words_p != 0;
}

/* The inverse of `by`, for x / by.  (For by = 1 it would have 33 bits.) */
SHPOOL_LAYOUT_FN uint32_t layout_inverse(uint32_t by)
{
    return 0xffffffffu / by + 1u;
}
SIMT_FN uint32_t layout_divide(uint32_t x, uint32_t by, uint32_t inverse)
{
    return (by == 1) ? x : simt_mulhi(x, inverse);
}

/* A tile of a plan. */
struct layout_part {
    unsigned long long first;      /* its first record */
    uint32_t           first_word;
    uint32_t           places;     /* number of elements; 0: no such tile */
    uint32_t           valid;      /* number of its records that exist; the others are padding */
    uint32_t           words;      /* words of each record */
};

template <typename PLAN>
SIMT_FN layout_part layout_part_of(const PLAN &plan, unsigned long long tile)
{
    const uint32_t           across = (plan.m - 1) / plan.tile_words + 1; /* tiles of a record */
    const unsigned long long down   = (across == 1) ? tile : tile / across;
    const unsigned long long all    = shpool_layout_groups(plan.n, plan.bd) * plan.bd;
    layout_part              part   = {0, 0, 0, 0, 1};

    if (tile < plan.tiles) {
        part.first      = down * plan.tile_records;
        part.first_word = (uint32_t)(tile - down * across) * plan.tile_words;
        part.words      = plan.m - part.first_word;
        if (part.words > plan.tile_words) {
            part.words = plan.tile_words;
        }
        part.places = plan.tile_records;
        if (part.places > all - part.first) {
            part.places = (uint32_t)(all - part.first);
        }
        part.valid = part.places;
        if (part.first + part.valid > plan.n) {
            part.valid = (part.first < plan.n) ? (uint32_t)(plan.n - part.first) : 0;
        }
        part.places *= part.words;
    }
    return part;
}

/* The tile in the array of records. */
template <typename T> struct layout_records_side {
    uint32_t           places; /* of the tile */
    uint32_t           have;   /* number of places that exist in the array */
    uint32_t           words, inverse, run_log2;
    unsigned long long skip;   /* words of a record outside the tile */
};

template <typename T, typename PLAN>
SIMT_FN layout_records_side<T> layout_records_of(const PLAN &plan, const layout_part &part)
{
    return {part.places, part.valid * part.words, part.words, layout_inverse(part.words),
            layout_run_log2<T>(part.words), plan.m - part.words};
}

template <typename T>
SIMT_FN unsigned long long layout_offset(const layout_records_side<T> &side, uint32_t e)
{
    return e + layout_divide(e, side.words, side.inverse) * side.skip;
}

template <typename T> SIMT_FN uint32_t layout_at(const layout_records_side<T> &side, uint32_t e)
{
    const uint32_t r = layout_divide(e, side.words, side.inverse);

    return layout_stage_at<T>(r, e - r * side.words, side.words, side.run_log2);
}

/* The tile in the blocked array: rows of one element of a group's records. */
template <typename T> struct layout_blocked_side {
    uint32_t places, have;
    uint32_t words, inverse, run_log2;
    uint32_t row, row_inverse; /* records in a row */
    uint32_t bd;
};

template <typename T, typename PLAN>
SIMT_FN layout_blocked_side<T> layout_blocked_of(const PLAN &plan, const layout_part &part)
{
    const uint32_t row = (plan.tile_records < plan.bd) ? plan.tile_records : plan.bd;

    return {part.places, part.places, part.words, layout_inverse(part.words),
            layout_run_log2<T>(part.words), row, layout_inverse(row), plan.bd};
}

template <typename T>
SIMT_FN unsigned long long layout_offset(const layout_blocked_side<T> &side, uint32_t e)
{
    const uint32_t row = layout_divide(e, side.row, side.row_inverse);

    /* a tile of several groups has whole groups, whose rows are consecutive */
    return row * side.bd + (e - row * side.row);
}

template <typename T> SIMT_FN uint32_t layout_at(const layout_blocked_side<T> &side, uint32_t e)
{
    const uint32_t row   = layout_divide(e, side.row, side.row_inverse);
    const uint32_t group = layout_divide(row, side.words, side.inverse); /* 0 unless whole groups */
    const uint32_t r     = group * side.bd + (e - row * side.row);

    return layout_stage_at<T>(r, row - group * side.words, side.words, side.run_log2);
}

/* K elements as one unit of 4 bytes or more, little-endian like every GPU. */
template <typename T, uint32_t K> struct layout_unit {
    typedef typename layout_word<sizeof(T)>::type     word;
    typedef typename layout_word<sizeof(T) * K>::type unit;
};

template <typename T, uint32_t K>
SIMT_FN typename layout_unit<T, K>::word layout_get(typename layout_unit<T, K>::unit v, uint32_t k)
{
    if constexpr (K == 1) {
        (void)k;
        return v;
    } else {
        return (typename layout_unit<T, K>::word)(v >> (k * 8u * (uint32_t)sizeof(T)));
    }
}

template <typename T, uint32_t K>
SIMT_FN void layout_put(typename layout_unit<T, K>::unit *v, typename layout_unit<T, K>::word word,
                        uint32_t k)
{
    if constexpr (K == 1) {
        (void)k;
        *v = word;
    } else {
        *v |= (typename layout_unit<T, K>::unit)word << (k * 8u * (uint32_t)sizeof(T));
    }
}

/* Copy the array's part of the tile to the stage; zero where the array has no element. */
template <typename T, uint32_t K, typename SIDE>
SIMT_FN void layout_to_stage(const SIDE &side, const T *array, void *stage)
{
    typedef typename layout_unit<T, K>::word word;
    typedef typename layout_unit<T, K>::unit unit;
    const word    *from = reinterpret_cast<const word *>(array);
    word          *to   = static_cast<word *>(stage);
    const uint32_t step = simt_block_threads() * K;
    enum : uint32_t { BATCH = layout_batch<T>::value };

    for (uint32_t e = simt_thread_rank() * K; e < side.places; e += BATCH * step) {
        unit v[BATCH];

        SIMT_UNROLLED
        for (uint32_t b = 0; b < BATCH; b++) {
            const uint32_t place = e + b * step;

            v[b] = unit{};
            if (place + K <= side.have) {
                v[b] = *reinterpret_cast<const unit *>(from + layout_offset(side, place));
            } else {
                for (uint32_t k = 0; (K > 1) && (place + k < side.have); k++) {
                    layout_put<T, K>(&v[b], from[layout_offset(side, place + k)], k);
                }
            }
        }
        SIMT_UNROLLED
        for (uint32_t b = 0; b < BATCH; b++) {
            const uint32_t place = e + b * step;

            SIMT_UNROLLED
            for (uint32_t k = 0; k < K; k++) {
                if (place < side.places) { /* a multiple of 32, so of K */
                    to[layout_at(side, place + k)] = layout_get<T, K>(v[b], k);
                }
            }
        }
    }
}

/* Copy the stage to the array's part of the tile. */
template <typename T, uint32_t K, typename SIDE>
SIMT_FN void layout_from_stage(const SIDE &side, T *array, const void *stage)
{
    typedef typename layout_unit<T, K>::word word;
    typedef typename layout_unit<T, K>::unit unit;
    const word    *from = static_cast<const word *>(stage);
    word          *to   = reinterpret_cast<word *>(array);
    const uint32_t step = simt_block_threads() * K;
    enum : uint32_t { BATCH = layout_batch<T>::value };

    for (uint32_t e = simt_thread_rank() * K; e < side.have; e += BATCH * step) {
        unit v[BATCH];

        SIMT_UNROLLED
        for (uint32_t b = 0; b < BATCH; b++) {
            v[b] = unit{};
            SIMT_UNROLLED
            for (uint32_t k = 0; k < K; k++) {
                const uint32_t place = e + b * step + k;

                if (place < side.have) {
                    layout_put<T, K>(&v[b], from[layout_at(side, place)], k);
                }
            }
        }
        SIMT_UNROLLED
        for (uint32_t b = 0; b < BATCH; b++) {
            const uint32_t place = e + b * step;

            if (place + K <= side.have) {
                *reinterpret_cast<unit *>(to + layout_offset(side, place)) = v[b];
            } else {
                for (uint32_t k = 0; (K > 1) && (place + k < side.have); k++) {
                    to[layout_offset(side, place + k)] = layout_get<T, K>(v[b], k);
                }
            }
        }
    }
}

/* Whether units can be moved: the array's first element is aligned, and so is each row. */
template <typename T> SIMT_FN bool layout_has_units(const T *array, unsigned long long skip)
{
    return (layout_unit_elements<T>() > 1) && ((size_t)array % 4u == 0) && (skip == 0);
}

#define SHPOOL_LAYOUT_BY_UNIT(_move, _side, _array, _skip, _stage)                                 \
    do {                                                                                           \
        constexpr uint32_t shpool_k = (sizeof(T) < 4) ? 4u / (uint32_t)sizeof(T) : 1u;             \
        if (layout_has_units<T>(_array, _skip)) {                                                  \
            _move<T, shpool_k>(_side, _array, _stage);                                             \
        } else {                                                                                   \
            _move<T, 1>(_side, _array, _stage);                                                    \
        }                                                                                          \
    } while (0)

template <typename T, typename PLAN>
SIMT_FN void layout_read_records(const PLAN &plan, const layout_part &part, const T *records,
                                 void *stage)
{
    const layout_records_side<T> side = layout_records_of<T>(plan, part);
    const T                     *from = records + part.first * plan.m + part.first_word;

    SHPOOL_LAYOUT_BY_UNIT(layout_to_stage, side, from, side.skip, stage);
}

template <typename T, typename PLAN>
SIMT_FN void layout_write_records(const PLAN &plan, const layout_part &part, T *records,
                                  const void *stage)
{
    const layout_records_side<T> side = layout_records_of<T>(plan, part);
    T                           *to   = records + part.first * plan.m + part.first_word;

    SHPOOL_LAYOUT_BY_UNIT(layout_from_stage, side, to, side.skip, stage);
}

template <typename T, typename PLAN>
SIMT_FN void layout_read_blocked(const PLAN &plan, const layout_part &part, const T *blocked,
                                 void *stage)
{
    const layout_blocked_side<T> side = layout_blocked_of<T>(plan, part);
    const T *from = blocked + shpool_layout_index(part.first, part.first_word, plan.m, plan.bd);

    SHPOOL_LAYOUT_BY_UNIT(layout_to_stage, side, from, 0, stage);
}

template <typename T, typename PLAN>
SIMT_FN void layout_write_blocked(const PLAN &plan, const layout_part &part, T *blocked,
                                  const void *stage)
{
    const layout_blocked_side<T> side = layout_blocked_of<T>(plan, part);
    T *to = blocked + shpool_layout_index(part.first, part.first_word, plan.m, plan.bd);

    SHPOOL_LAYOUT_BY_UNIT(layout_from_stage, side, to, 0, stage);
}

} // namespace impl
} // namespace shpool

#endif /* SHPOOL_IMPL_LAYOUT_TILE_H */
