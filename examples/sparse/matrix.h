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

/* Generated square matrices. */
enum kind {
    NETWORK, /* most rows are short, a few are 500 times as long (Pareto, exponent 1.5) */
    HUBS,    /* the same with more and longer ones (exponent 1.25, 750 times) */
    BANDED,  /* 24 entries within 32 of the diagonal in each row */
    UNIFORM, /* 16 entries anywhere in each row */
    KINDS
};

/* The number of entries that a row should have; entries at the same place reduce it. */
static inline uint32_t row_wish(kind which, uint32_t row)
{
    const double u = (mix(row) + 1.0) / 4294967297.0;

    switch (which) {
    case NETWORK: return static_cast<uint32_t>(std::min(4.0 * std::pow(u, -1.0 / 1.5), 2000.0));
    case HUBS: return static_cast<uint32_t>(std::min(4.0 * std::pow(u, -1.0 / 1.25), 3000.0));
    case BANDED: return 24;
    default: return 16;
    }
}

/* In a network, half of the entries are near the diagonal and half anywhere, most of the latter in
 * the first columns. */
static inline uint32_t column_of(kind which, uint32_t rows, uint32_t row, uint32_t wish, uint32_t i)
{
    const uint32_t x    = mix(row * 2654435761u + i);
    const uint32_t near = (which == BANDED) ? 32u : wish;
    const double   v    = x / 4294967296.0;

    if ((which == BANDED) || ((which != UNIFORM) && (i % 2 == 0))) {
        return (row + 2u * rows + x % (2u * near + 1u) - near) % rows;
    }
    return static_cast<uint32_t>(((which == UNIFORM) ? v : v * v * v) * rows);
}

/* Values are small integers, so that float sums are exact in any order. */
static inline matrix generate(kind which, uint32_t rows)
{
    matrix                m = { rows, { 0 }, {}, {} };
    std::vector<uint32_t> row;

    for (uint32_t r = 0; r < rows; r++) {
        const uint32_t wish = row_wish(which, r);

        row.clear();
        for (uint32_t i = 0; i < wish; i++) {
            row.push_back(column_of(which, rows, r, wish, i));
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
    const bool  pattern   = line.find(" pattern ") != std::string::npos;
    const bool  symmetric = line.find("symmetric") != std::string::npos;
    const float mirrored  = (line.find("skew") != std::string::npos) ? -1.0f : 1.0f;

    if ((line.rfind("%%matrixmarket matrix coordinate ", 0) != 0) ||
        (line.find(" complex ") != std::string::npos) ||
        (line.find("hermitian") != std::string::npos)) {
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
        if (symmetric && (row != column)) {
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
    for (uint32_t r = 0; r < m.rows; r++) {
        m.begin[r + 1u] += m.begin[r];
    }
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
        uint32_t columns = 0;
        bool     same    = true;

        for (uint32_t i = a.begin[r]; i < a.begin[r + 1u]; i++) {
            for (uint32_t j = a.begin[a.column[i]]; j < a.begin[a.column[i] + 1u]; j++) {
                const uint32_t column  = a.column[j];
                const double   product = static_cast<double>(a.value[i]) * a.value[j];

                if (seen[column] != r) {
                    columns++;
                    seen[column] = r;
                    sum[column] = magnitude[column] = 0.0;
                }
                sum[column] += product;
                magnitude[column] += std::fabs(product);
            }
        }
        for (uint32_t i = c.begin[r]; same && (i < c.begin[r + 1u]); i++) {
            const uint32_t column = c.column[i];

            same = (column < a.rows) && (seen[column] == r) &&
                   (std::fabs(c.value[i] - sum[column]) <= 1e-5 * magnitude[column]);
            if (same) {
                seen[column] = ~0u; /* a second time is wrong */
            }
        }
        wrong += !same || (c.begin[r + 1u] - c.begin[r] != columns);
    }
    return wrong;
}

#endif /* SHPOOL_EXAMPLES_SPARSE_MATRIX_H */
