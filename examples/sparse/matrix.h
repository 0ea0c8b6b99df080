/* SPDX-License-Identifier: BSD-3-Clause */
/* Square sparse matrices on the host: generating, and checking a product. */
#ifndef SHPOOL_EXAMPLES_SPARSE_MATRIX_H
#define SHPOOL_EXAMPLES_SPARSE_MATRIX_H

#include "../machine.h"

#include <cmath>
#include <utility>

struct matrix {
    uint32_t              rows;
    std::vector<uint32_t> begin /* rows + 1 */, column;
    std::vector<float>    value;
};

static inline uint32_t mix(uint32_t x) /* a permutation of the 32-bit numbers */
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* In a network most rows are short, and a few are hundreds of times as long (Pareto's
 * distribution); half of the entries are near the diagonal and half anywhere, most of these in the
 * first columns.  GAPS is a network with empty rows. */
enum kind { NETWORK, UNIFORM, GAPS, KINDS };

/* Values are small integers, so that float sums are exact in any order. */
static inline matrix generate(uint32_t which, uint32_t rows)
{
    matrix                m = { rows, { 0 }, {}, {} };
    std::vector<uint32_t> row;

    for (uint32_t r = 0; r < rows; r++) {
        const double   size = 4.0 * std::pow((mix(r) + 1.0) / 4294967297.0, -1 / 1.5);
        const uint32_t wish = (which == UNIFORM) ? 16u : (uint32_t)std::min(size, 2000.0);

        row.clear();
        for (uint32_t i = (which == GAPS) ? 4u : 0u; i < wish; i++) {
            const uint32_t x = mix(r * 2654435761u + i);
            const double   v = x / 4294967296.0;

            row.push_back((which == UNIFORM) ? (uint32_t)(v * rows)
                          : (i % 2 == 0) ? (r + 2u * rows + x % (2u * wish + 1u) - wish) % rows
                                         : (uint32_t)(v * v * v * rows));
        }
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        m.column.insert(m.column.end(), row.begin(), row.end());
        for (uint32_t column : row) { m.value.push_back((float)(1u + mix(r ^ mix(column)) % 4u)); }
        m.begin.push_back((uint32_t)m.column.size());
    }
    return m;
}

/* The number of rows of C that are not those of A * A (Freivalds' check: C x = A (A x) for a random
 * vector), or have a column twice or one that does not exist. */
static inline uint32_t count_wrong_rows(const matrix &a, const matrix &c)
{
    std::vector<double>   x(a.rows), y(a.rows);
    std::vector<uint32_t> seen(a.rows, ~0u); /* the row in which a column was last */
    uint32_t              wrong = 0;

    for (uint32_t r = 0; r < a.rows; r++) { x[r] = 1u + mix(~r) % 1000u; }
    for (uint32_t r = 0; r < a.rows; r++) {
        for (uint32_t i = a.begin[r]; i < a.begin[r + 1u]; i++) {
            y[r] += a.value[i] * x[a.column[i]];
        }
    }
    for (uint32_t r = 0; r < a.rows; r++) {
        double difference = 0;
        bool   bad        = false;

        for (uint32_t i = a.begin[r]; i < a.begin[r + 1u]; i++) {
            difference -= a.value[i] * y[a.column[i]];
        }
        for (uint32_t i = c.begin[r]; !bad && (i < c.begin[r + 1u]); i++) {
            const uint32_t column = c.column[i];

            bad = (column >= a.rows) || (std::exchange(seen[column], r) == r);
            difference += bad ? 0.0 : c.value[i] * x[column];
        }
        wrong += bad || (difference != 0);
    }
    return wrong;
}

#endif /* SHPOOL_EXAMPLES_SPARSE_MATRIX_H */
