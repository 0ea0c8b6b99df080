/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse matrices on the host: generating, reading, and checking a product. */
#ifndef SHPOOL_EXAMPLES_SPARSE_MATRIX_H
#define SHPOOL_EXAMPLES_SPARSE_MATRIX_H

#include "../machine.h"

#include <cctype>
#include <cmath>
#include <fstream>
#include <sstream>

struct matrix { /* square */
    uint32_t              rows;
    std::vector<uint32_t> begin; /* rows + 1 */
    std::vector<uint32_t> column;
    std::vector<float>    value;
};

static inline uint32_t mix(uint32_t x) /* a permutation of the 32-bit numbers */
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* Generated square matrices.  In a network most rows are short, and a few are hundreds of times as
 * long (Pareto's distribution); half of the entries are near the diagonal and half anywhere, most
 * of these in the first columns. */
enum kind { NETWORK, HUBS /* more and longer ones */, BANDED, UNIFORM, KINDS };
static const struct {
    double   power; /* 1 / exponent of the lengths; 0: all rows have `most` entries */
    uint32_t most;
} row_lengths[KINDS] = { { 1.0 / 1.5, 2000 }, { 1.0 / 1.25, 3000 }, { 0, 24 }, { 0, 16 } };

/* Values are small integers, so that float sums are exact in any order. */
static inline matrix generate(kind which, uint32_t rows)
{
    matrix                m = { rows, { 0 }, {}, {} };
    std::vector<uint32_t> row;

    for (uint32_t r = 0; r < rows; r++) {
        const double   u    = (mix(r) + 1.0) / 4294967297.0;
        const double   size = 4.0 * std::pow(u, -row_lengths[which].power);
        const uint32_t most = row_lengths[which].most;
        const uint32_t wish = (which < BANDED) ? static_cast<uint32_t>(std::min(size, 1.0 * most))
                                               : most; /* equal places reduce it */
        const uint32_t near = (which == BANDED) ? 32u : wish;

        row.clear();
        for (uint32_t i = 0; i < wish; i++) {
            const uint32_t x = mix(r * 2654435761u + i);
            const double   v = x / 4294967296.0;

            if ((which == BANDED) || ((which != UNIFORM) && (i % 2 == 0))) {
                row.push_back((r + 2u * rows + x % (2u * near + 1u) - near) % rows);
            } else {
                row.push_back(static_cast<uint32_t>(((which == UNIFORM) ? v : v * v * v) * rows));
            }
        }
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
        for (uint32_t column : row) {
            m.column.push_back(column);
            m.value.push_back(static_cast<float>(1u + mix(r ^ mix(column)) % 4u));
        }
        m.begin.push_back(static_cast<uint32_t>(m.column.size()));
    }
    return m;
}

/* Read a Matrix Market file: coordinate; real, integer or pattern; general, symmetric or
 * skew-symmetric.  Entries at the same place are added up. */
static inline matrix read_matrix(const char *path)
{
    std::ifstream in(path);
    std::string   line;
    uint64_t      rows = 0, columns = 0, entries = 0, row = 0, column = 0;
    std::map<std::pair<uint32_t, uint32_t>, float> at;

    std::getline(in, line);
    std::transform(line.begin(), line.end(), line.begin(), [](int c) { return std::tolower(c); });
    const auto  has      = [&](const char *word) { return line.find(word) != std::string::npos; };
    const bool  pattern  = has(" pattern ");
    const float mirrored = has("skew") ? -1.0f : has("symmetric") ? 1.0f : 0.0f;

    if ((line.rfind("%%matrixmarket matrix coordinate ", 0) != 0) || has(" complex ") ||
        has("hermitian")) {
        machine_fail(path, "cannot be read, or is not a Matrix Market file with coordinates of "
                           "real or integer numbers or of a pattern");
    }
    while (std::getline(in, line) && (line.empty() || (line[0] == '%') || (line[0] == '\r'))) {
    }
    std::istringstream(line) >> rows >> columns >> entries;
    if ((rows == 0) || (rows != columns) || (rows > 1u << 26)) {
        machine_fail(path, "is not square, or has too many rows: \"" + line +
                               "\" must be rows, columns, entries; at most 2^26 rows");
    }
    for (uint64_t i = 0; i < entries; i++) {
        float value = 1.0f;

        in >> row >> column;
        if (!(pattern ? in : in >> value) || (row - 1u >= rows) || (column - 1u >= rows)) {
            machine_fail(path, "entry " + std::to_string(i + 1u) + " of " +
                                   std::to_string(entries) + " is missing, or is not a row and a "
                                   "column of 1 to " + std::to_string(rows) +
                                   (pattern ? "" : ", and a number"));
        }
        at[{ row - 1u, column - 1u }] += value;
        if ((mirrored != 0.0f) && (row != column)) {
            at[{ column - 1u, row - 1u }] += mirrored * value;
        }
    }
    if (in >> line) {
        machine_fail(path, "has more than " + std::to_string(entries) + " entries: " + line);
    }

    matrix m = { static_cast<uint32_t>(rows), std::vector<uint32_t>(rows + 1u), {}, {} };

    for (const auto &entry : at) {
        m.begin[entry.first.first + 1u]++;
        m.column.push_back(entry.first.second);
        m.value.push_back(entry.second);
    }
    std::partial_sum(m.begin.begin(), m.begin.end(), m.begin.begin());
    return m;
}

/* The number of rows of C that are not those of A * A: columns that are missing, too many or twice,
 * or values that differ by more than rounding.  A dense row in double is the reference.  The
 * kernels add floats in another order; rounding errors are proportional to `magnitude`. */
static inline uint32_t count_wrong_rows(const matrix &a, const matrix &c)
{
    std::vector<double>   sum(a.rows), magnitude(a.rows);
    std::vector<uint32_t> seen(a.rows, ~0u); /* row in which a column was computed last */
    uint32_t              wrong = 0;

    for (uint32_t r = 0; r < a.rows; r++) {
        uint32_t missing = 0; /* columns */
        bool     same    = true;

        for (uint32_t i = a.begin[r]; i < a.begin[r + 1u]; i++) {
            for (uint32_t j = a.begin[a.column[i]]; j < a.begin[a.column[i] + 1u]; j++) {
                const uint32_t column  = a.column[j];
                const double   product = static_cast<double>(a.value[i]) * a.value[j];

                if (seen[column] != r) {
                    missing++;
                    seen[column] = r;
                    sum[column] = magnitude[column] = 0.0;
                }
                sum[column] += product;
                magnitude[column] += std::fabs(product);
            }
        }
        for (uint32_t i = c.begin[r]; same && (i < c.begin[r + 1u]); i++, missing--) {
            const uint32_t column = c.column[i];

            same = (column < a.rows) && (seen[column] == r) &&
                   (std::fabs(c.value[i] - sum[column]) <= 1e-5 * magnitude[column]);
            if (same) {
                seen[column] = ~0u; /* a second time is wrong */
            }
        }
        wrong += !same || (missing != 0);
    }
    return wrong;
}

#endif /* SHPOOL_EXAMPLES_SPARSE_MATRIX_H */
