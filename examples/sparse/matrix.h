/* SPDX-License-Identifier: BSD-3-Clause */
/* Sparse matrices on the host: generating and reading, multiplying, comparing. */
#ifndef SHPOOL_EXAMPLES_SPARSE_MATRIX_H
#define SHPOOL_EXAMPLES_SPARSE_MATRIX_H

#include "../machine.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
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
    matrix                m;
    std::vector<uint32_t> row;

    m.rows = m.columns = rows;
    m.begin.push_back(0);
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

struct entry {
    uint32_t row, column;
    float    value;
};

/* Entries in any order; entries at the same place are added up. */
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

/* Read the first `count` numbers of a line; returns the text after them; NULL: there are fewer, or
 * one does not end at a blank.  A number that is too large for its type becomes the type's
 * maximum. */
static inline const char *read_numbers(const char *line, int count, unsigned long long *to)
{
    for (int i = 0; i < count; i++) {
        char *end;

        to[i] = std::strtoull(line, &end, 10);
        if (std::find(line, const_cast<const char *>(end), '-') != end) {
            return nullptr; /* strtoull would take it modulo 2^64 */
        }
        if ((end == line) || ((*end != '\0') && !std::isspace(static_cast<unsigned char>(*end)))) {
            return nullptr;
        }
        line = end;
    }
    return line;
}

/* The line "rows columns entries". */
static inline std::string read_size(const char *line, matrix *m, uint32_t *entries)
{
    unsigned long long size[3];
    const char        *rest = read_numbers(line, 3, size);

    if ((rest == nullptr) || (*rest != '\0') || (size[0] != size[1])) {
        return "is not the size of a square matrix, \"rows columns entries\"";
    }
    if (size[0] > (1u << 26)) {
        return "has too many rows: " + std::to_string(size[0]) + ", at most 2^26";
    }
    if (size[2] > (1u << 31)) { /* entries of a symmetric matrix count twice */
        return "has too many entries: " + std::to_string(size[2]) + ", at most 2^31";
    }
    m->rows = m->columns = static_cast<uint32_t>(size[0]);
    *entries             = static_cast<uint32_t>(size[2]);
    return "";
}

/* What the first line of a file says about its entries. */
struct matrix_kind {
    bool pattern   = false; /* entries have no value: 1 */
    bool symmetric = false; /* an entry also counts at the mirrored place */
    bool skew      = false; /* with the negative value */
};

/* The line "row column value", or "row column" of a pattern; row and column from 1 on. */
static inline std::string read_entry(const char *line, const matrix &m, const matrix_kind &kind,
                                     entry *e)
{
    unsigned long long place[2];
    const char        *rest = read_numbers(line, 2, place);
    char              *end;

    if (rest == nullptr) {
        return kind.pattern ? "is not \"row column\"" : "is not \"row column value\"";
    }
    if ((place[0] - 1u >= m.rows) || (place[1] - 1u >= m.columns)) {
        return "has a row or a column outside 1 to " + std::to_string(m.rows);
    }
    e->row    = static_cast<uint32_t>(place[0] - 1u);
    e->column = static_cast<uint32_t>(place[1] - 1u);
    e->value  = 1.0f;
    if (kind.pattern) {
        return (*rest == '\0') ? "" : "has a value, but the matrix is a pattern";
    }
    e->value = std::strtof(rest, &end);
    return ((end != rest) && (*end == '\0')) ? "" : "has no value that is a number";
}

/* A text file, line by line. */
struct matrix_file {
    std::ifstream in;
    std::string   line; /* without blanks at its end */
    uint64_t      number = 0;

    bool next()
    {
        if (!std::getline(in, line)) {
            return false;
        }
        line.erase(line.find_last_not_of(" \t\r\n") + 1u);
        number++;
        return true;
    }
    /* The next line that is neither a comment nor blank. */
    bool next_data()
    {
        while (next()) {
            if (!line.empty() && (line[0] != '%')) {
                return true;
            }
        }
        return false;
    }
    /* An error text about the line; "": nothing is wrong. */
    std::string fault(const std::string &wrong) const
    {
        return wrong.empty()
                   ? ""
                   : "line " + std::to_string(number) + ", \"" + excerpt() + "\", " + wrong;
    }
    /* What the line begins with: a binary file has long ones that cannot be printed. */
    std::string excerpt() const
    {
        const size_t most = 80;
        size_t       end  = 0;

        while ((end < line.size()) && (end < most) &&
               (std::isprint(static_cast<unsigned char>(line[end])) || (line[end] == '\t'))) {
            end++;
        }
        return line.substr(0, end) + ((end < line.size()) ? "..." : "");
    }
};

/* Parse the first line, in which case does not matter; returns an error text, or "". */
static inline std::string read_kind(const std::string &line, matrix_kind *kind)
{
    char        object[32], format[32], field[32], symmetry[32];
    std::string all;

    for (char c : line) {
        all += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    if (std::sscanf(all.c_str(), "%%%%matrixmarket %31s %31s %31s %31s", object, format, field,
                    symmetry) != 4) {
        return "is not %%MatrixMarket with four words";
    }
    const std::string value = field;
    const std::string place = symmetry;

    if ((std::string(object) != "matrix") || (std::string(format) != "coordinate")) {
        return std::string("has \"") + object + " " + format + "\", not \"matrix coordinate\"";
    }
    if ((value != "real") && (value != "integer") && (value != "pattern")) {
        return "has values \"" + value + "\", not real, integer or pattern";
    }
    if ((place != "general") && (place != "symmetric") && (place != "skew-symmetric")) {
        return "has the kind \"" + place + "\", not general, symmetric or skew-symmetric";
    }
    kind->pattern   = value == "pattern";
    kind->symmetric = place != "general";
    kind->skew      = place == "skew-symmetric";
    return "";
}

static inline std::string read_entries(matrix_file &file, uint32_t count, const matrix_kind &kind,
                                       matrix *m)
{
    std::vector<entry> entries;

    for (uint32_t i = 0; i < count; i++) {
        entry       e;
        std::string wrong;

        if (!file.next_data()) {
            return "ends after " + std::to_string(i) + " of " + std::to_string(count) + " entries";
        }
        wrong = read_entry(file.line.c_str(), *m, kind, &e);
        if (!wrong.empty()) {
            return file.fault(wrong);
        }
        entries.push_back(e);
        if (kind.symmetric && (e.row != e.column)) {
            entries.push_back({ e.column, e.row, kind.skew ? -e.value : e.value });
        }
    }
    if (file.next_data()) {
        return file.fault("follows the last of " + std::to_string(count) + " entries");
    }
    compress(entries, m);
    return "";
}

/* Read a Matrix Market file: coordinate; real, integer or pattern; general, symmetric or
 * skew-symmetric.  Returns an error text, or "". */
static inline std::string read_matrix(const char *path, matrix *m)
{
    matrix_file file;
    matrix_kind kind;
    std::string wrong;
    uint32_t    count = 0;

    errno = 0;
    file.in.open(path);
    if (!file.in) {
        return std::string("cannot be opened: ") + std::strerror(errno);
    }
    if (!file.next()) {
        return "is empty, or cannot be read";
    }
    wrong = file.fault(read_kind(file.line, &kind));
    if (wrong.empty()) {
        wrong = file.next_data() ? file.fault(read_size(file.line.c_str(), m, &count))
                                 : "has no line with its size";
    }
    return wrong.empty() ? read_entries(file, count, kind, m) : wrong;
}

/* A product, and for each of its entries the sum of the products' absolute values: rounding errors
 * are proportional to it. */
struct reference : matrix {
    std::vector<float> magnitude;
};

/* The reference: accumulates each row of C in a dense array. */
static inline reference multiply(const matrix &a, const matrix &b)
{
    reference             c;
    std::vector<double>   sum(b.columns, 0.0);
    std::vector<double>   magnitude(b.columns, 0.0);
    std::vector<uint32_t> seen(b.columns, ~0u);

    c.rows    = a.rows;
    c.columns = b.columns;
    c.begin.push_back(0);
    for (uint32_t r = 0; r < a.rows; r++) {
        uint64_t products = 0;

        for (uint32_t i = a.begin[r]; i < a.begin[r + 1u]; i++) {
            const uint32_t k = a.column[i];

            products += b.begin[k + 1u] - b.begin[k];
            for (uint32_t j = b.begin[k]; j < b.begin[k + 1u]; j++) {
                const uint32_t column  = b.column[j];
                const double   product = static_cast<double>(a.value[i]) * b.value[j];

                if (seen[column] != r) {
                    seen[column] = r;
                    sum[column] = magnitude[column] = 0.0;
                    c.column.push_back(column);
                }
                sum[column] += product;
                magnitude[column] += std::fabs(product);
            }
        }
        for (size_t i = c.begin[r]; i < c.column.size(); i++) {
            c.value.push_back(static_cast<float>(sum[c.column[i]]));
            c.magnitude.push_back(static_cast<float>(magnitude[c.column[i]]));
        }
        if ((c.column.size() >= UINT32_MAX) || (products >= 1u << 28)) {
            machine_fail("A * A", "is too large: it has 2^32 entries, or a row of 2^28 products");
        }
        c.begin.push_back(static_cast<uint32_t>(c.column.size()));
    }
    return c;
}

/* The kernels add floats in another order than the reference, which uses double. */
static inline bool is_near(float got, float want, float magnitude)
{
    return (got == want) || (std::isnan(got) && std::isnan(want)) ||
           (std::fabs(got - want) <= 1e-5f * magnitude);
}

/* The number of rows that differ in columns, or in values by more than rounding. */
static inline uint32_t count_wrong_rows(const reference &want, const matrix &got)
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
                   is_near(got.value[i], want.value[there], want.magnitude[there]);
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
