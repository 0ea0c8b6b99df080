/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse matrices on the host: where they come from, their product, and whether two are equal. */
#ifndef SHPOOL_EXAMPLES_SPARSE_MATRIX_H
#define SHPOOL_EXAMPLES_SPARSE_MATRIX_H

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

struct matrix {
    uint32_t              rows    = 0;
    uint32_t              columns = 0;
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

/*
 * A square matrix as networks have it: most rows are short, a few are 500 times as long (a Pareto
 * distribution with exponent 1.5).  Half of the entries lie near the diagonal, half
 * anywhere, most of these in the first columns.  Values are small integers, so that floats add them
 * up without rounding, in any order.
 */
static inline matrix generate(uint32_t rows)
{
    matrix                m;
    std::vector<uint32_t> row;

    m.rows = m.columns = rows;
    m.begin.push_back(0);
    for (uint32_t r = 0; r < rows; r++) {
        const double   u         = (mix(r) + 1.0) / 4294967297.0;
        const double   long_tail = 4.0 * std::pow(u, -1.0 / 1.5);
        const uint32_t want      = static_cast<uint32_t>(std::min(long_tail, 2000.0));

        row.clear();
        for (uint32_t i = 0; i < want; i++) {
            const uint32_t x = mix(r * 2654435761u + i);

            if (i % 2 == 0) {
                row.push_back((r + rows + x % (2u * want + 1u) - want) % rows);
            } else {
                const double v = x / 4294967296.0;

                row.push_back(static_cast<uint32_t>(v * v * v * rows));
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

struct entry {
    uint32_t row, column;
    float    value;
};

/* Entries in any order; those at the same place are added up. */
static inline void compress(std::vector<entry> &entries, matrix *m)
{
    std::stable_sort(entries.begin(), entries.end(), [](const entry &x, const entry &y) {
        return (x.row != y.row) ? x.row < y.row : x.column < y.column;
    });
    m->begin.assign(m->rows + 1u, 0);
    for (size_t i = 0; i < entries.size(); i++) {
        if ((i > 0) && (entries[i].row == entries[i - 1].row) &&
            (entries[i].column == entries[i - 1].column)) {
            m->value.back() += entries[i].value;
        } else {
            m->begin[entries[i].row + 1u]++;
            m->column.push_back(entries[i].column);
            m->value.push_back(entries[i].value);
        }
    }
    for (uint32_t r = 0; r < m->rows; r++) {
        m->begin[r + 1u] += m->begin[r];
    }
}

/* A Matrix Market file: coordinate, real, integer or pattern, general or symmetric.  Returns what
 * is wrong with it, or "". */
static inline std::string read_matrix(const char *path, matrix *m)
{
    std::FILE         *file = std::fopen(path, "r");
    char               line[1024];
    char               object[32], format[32], field[32], symmetry[32];
    unsigned long      count  = 0;
    unsigned           rows   = 0;
    unsigned           columns = 0;
    std::vector<entry> entries;
    std::string        wrong;

    if (file == nullptr) {
        return "cannot be opened";
    }
    if ((std::fgets(line, sizeof(line), file) == nullptr) ||
        (std::sscanf(line, "%%%%MatrixMarket %31s %31s %31s %31s", object, format, field,
                     symmetry) != 4)) {
        wrong = "has no line %%MatrixMarket";
    } else if ((std::string(format) != "coordinate") || (std::string(field) == "complex")) {
        wrong = "is not \"coordinate\" with real, integer or pattern values";
    }
    while (wrong.empty() && (std::fgets(line, sizeof(line), file) != nullptr) && (*line == '%')) {
    }
    if (wrong.empty() && ((std::sscanf(line, "%u %u %lu", &rows, &columns, &count) != 3) ||
                          (rows != columns))) {
        wrong = "is not a square matrix";
    }
    for (unsigned long i = 0; wrong.empty() && (i < count); i++) {
        unsigned row    = 0;
        unsigned column = 0;
        float    value  = 1.0f;
        int      got    = 0;

        if (std::fgets(line, sizeof(line), file) != nullptr) {
            got = std::sscanf(line, "%u %u %f", &row, &column, &value);
        }
        if ((got < 2) || (row - 1u >= rows) || (column - 1u >= columns)) {
            wrong = "has a bad entry " + std::to_string(i + 1);
            break;
        }
        entries.push_back({ row - 1u, column - 1u, value });
        if ((std::string(symmetry) != "general") && (row != column)) {
            entries.push_back({ column - 1u, row - 1u,
                                (std::string(symmetry) == "skew-symmetric") ? -value : value });
        }
    }
    std::fclose(file);
    m->rows    = rows;
    m->columns = columns;
    if (wrong.empty()) {
        compress(entries, m);
    }
    return wrong;
}

/* The reference: each row of C in a dense array of sums. */
static inline matrix multiply(const matrix &a, const matrix &b)
{
    matrix                c;
    std::vector<double>   sum(b.columns, 0.0);
    std::vector<uint32_t> seen(b.columns, ~0u);

    c.rows    = a.rows;
    c.columns = b.columns;
    c.begin.push_back(0);
    for (uint32_t r = 0; r < a.rows; r++) {
        for (uint32_t i = a.begin[r]; i < a.begin[r + 1u]; i++) {
            const uint32_t k = a.column[i];

            for (uint32_t j = b.begin[k]; j < b.begin[k + 1u]; j++) {
                const uint32_t column = b.column[j];

                if (seen[column] != r) {
                    seen[column] = r;
                    sum[column]  = 0.0;
                    c.column.push_back(column);
                }
                sum[column] += static_cast<double>(a.value[i]) * b.value[j];
            }
        }
        for (size_t i = c.begin[r]; i < c.column.size(); i++) {
            c.value.push_back(static_cast<float>(sum[c.column[i]]));
        }
        c.begin.push_back(static_cast<uint32_t>(c.column.size()));
    }
    return c;
}

/* Rows of got that differ from those of want, in columns or by more than rounding. */
static inline uint32_t count_wrong_rows(const matrix &want, const matrix &got)
{
    std::vector<uint32_t> at(want.columns);
    uint32_t              wrong = 0;

    if (want.begin != got.begin) {
        return want.rows;
    }
    for (uint32_t r = 0; r < want.rows; r++) {
        const uint32_t begin = want.begin[r];
        const uint32_t end   = want.begin[r + 1u];
        bool           same  = true;

        std::vector<bool> met(end - begin, false);
        for (uint32_t i = begin; i < end; i++) {
            at[want.column[i]] = i;
        }
        for (uint32_t i = begin; same && (i < end); i++) {
            const uint32_t column = got.column[i];
            const uint32_t there  = (column < want.columns) ? at[column] : ~0u;

            same = (there >= begin) && (there < end) && (want.column[there] == column) &&
                   !met[there - begin] &&
                   (std::fabs(got.value[i] - want.value[there]) <=
                    1e-4f * std::fabs(want.value[there]) + 1e-5f);
            if (same) {
                met[there - begin] = true;
            }
        }
        wrong += !same;
    }
    return wrong;
}

static inline bool is_sorted(const matrix &m)
{
    bool sorted = true;

    for (uint32_t r = 0; sorted && (r < m.rows); r++) {
        sorted = std::is_sorted(m.column.begin() + m.begin[r], m.column.begin() + m.begin[r + 1u]);
    }
    return sorted;
}

#endif /* SHPOOL_EXAMPLES_SPARSE_MATRIX_H */
