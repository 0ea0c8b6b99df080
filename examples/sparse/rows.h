/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * C = A * A for a sparse matrix, row by row (Gustavson's algorithm).  Each row is accumulated in a
 * hash table, which is as large as that row needs.
 *
 * COUNT finds the length of each row of C with tables of columns only; after C has been allocated,
 * FILL accumulates the values.  A row has up to three steps: clear the table, insert the products,
 * write the row.  A step is divided into chunks, and any warp can process any chunk, so
 * one warp, a block or a team can make a row (make_row(), pool.h).  The tables use linear probing
 * and have 1.5 times as many entries as keys.
 */
#ifndef SHPOOL_EXAMPLES_SPARSE_ROWS_H
#define SHPOOL_EXAMPLES_SPARSE_ROWS_H

#include "../group.h"

enum pass { COUNT, FILL };
enum step { INIT, INSERT, WRITE, NO_STEP }; /* of a row in a pass */
#define STEPS(pass) ((pass) == COUNT ? WRITE : NO_STEP)

#define BINS   10u  /* of tables in shared memory: bin b has those of up to 256 << b bytes */
#define LARGE  BINS /* the bin of longer ones, which are in global memory */
#define TURN   4u   /* rows that a warp or block takes at a time */
#define VACANT ~0u  /* an empty entry, in place of a column; greater than any column */

#define CHUNK  512u /* products to insert, entries to write, or groups of four words to clear */
#define TEAM_BYTES 4096u /* a longer table is worth more than one warp: one for each of these */

/* Counters of the kernels, which the host reads. */
struct totals {
    uint32_t next[BINS + 1u];   /* of each list: turns that are taken */
    uint32_t in_bin[BINS + 1u]; /* entries of product.bins */
    uint32_t longest;           /* words of the longest table in global memory */
};

struct product { /* row r of A is column and value [begin[r]] up to [begin[r + 1] - 1] */
    uint32_t        rows;
    const uint32_t *a_begin, *a_column;
    const float    *a_value;
    uint32_t        least, most; /* bytes of the shortest and longest array in shared memory */
    uint32_t       *products;    /* number of products of each row of A */
    uint32_t       *before;      /* for each entry of A: products of its row before it */
    uint32_t       *begin;       /* of C; lengths of rows between the passes; rows + 1 entries */
    uint32_t       *column;      /* of C; unordered within a row */
    float          *value;
    uint32_t       *bins;        /* BINS + 1 lists of rows, each of `rows` entries */
    totals         *sum;
};

/* A row that is being made.  Its table has columns, then values, then a count; the first two in
 * whole groups of four. */
template <class Words>
struct row_job {
    Words    table;
    uint32_t row, entries /* of the table */, step;

    MACHINE_METHOD uint32_t length() const { return table.get(entries); } /* COUNT has found it */
};

/* Entries of a row's table; 0: the row has no products.  In the pass FILL, begin[] has prefix
 * sums. */
SIMT_FN uint32_t row_entries(const product &p, pass which, uint32_t row)
{
    const uint32_t products = p.products[row];
    uint32_t       keys = (which == COUNT) ? products : p.begin[row + 1u] - p.begin[row];

    keys = (keys < p.rows) ? keys : p.rows;
    return (products != 0) ? (keys + keys / 2u + 4u) & ~3u : 0u;
}
SIMT_FN uint32_t table_count(pass which, uint32_t entries) { return entries << which; }
SIMT_FN uint32_t table_words(pass which, uint32_t entries) { return (entries << which) + 4u; }

/* Find or make the entry of a column; 1 if it is new.
 *
 * The search is a loop of loads that may be stale: the compare-and-swap after it decides.  A loop
 * around an atomic would keep the warp diverged for long (ptxas lets finished lanes run on). */
template <class Words>
SIMT_FN uint32_t insert(Words table, uint32_t entries, uint32_t column, uint32_t *at_p)
{
    uint32_t at   = simt_mulhi(column * 2654435761u, entries);
    uint32_t seen = table.glance(at);

    for (; (seen != VACANT) && (seen != column); seen = table.glance(at)) {
        at = (at + 1u < entries) ? at + 1u : 0u;
    }
    if (seen == VACANT) {
        seen = table.cas(at, VACANT, column);
        for (; (seen != VACANT) && (seen != column); seen = table.cas(at, VACANT, column)) {
            at = (at + 1u < entries) ? at + 1u : 0u; /* rare: another lane was faster */
        }
    }
    *at_p = at;
    return seen == VACANT;
}

template <class Words>
SIMT_FN void add_value(Words table, uint32_t i, float value)
{
    uint32_t seen = table.cas(i, 0u, machine_bits(value)); /* most columns have one product */

    for (uint32_t old = 0; seen != old;) {
        old  = seen;
        seen = table.cas(i, old, machine_bits(machine_float(old) + value));
    }
}

/* The last entry of a row with at most `products` products before it, among 32 parts at a time. */
SIMT_FN uint32_t find_entry(const product &p, uint32_t first, uint32_t last, uint32_t products)
{
    while (last - first > 1u) {
        const uint32_t part = (last - first + SIMT_WARP - 1u) / SIMT_WARP;
        const uint32_t i    = first + simt_lane() * part;
        const uint32_t some = simt_ballot(SIMT_ALL_LANES, (i < last) && (p.before[i] <= products));

        first += (31u - simt_clz(some)) * part; /* the first entry is always among them */
        last = (last - first < part) ? last : first + part;
    }
    return first;
}

/* Insert products from..to-1 of a row into the table, 32 at a time.  Each lane has an entry of A's
 * row, and gets one product, regardless of the lengths of the rows that are multiplied: each row
 * that begins among the 32 products sets a bit, and a lane counts the bits up to its own. */
template <pass Pass, class Words>
SIMT_FN void insert_chunk(const product &p, const row_job<Words> &job, uint32_t from, uint32_t to)
{
    const uint32_t last  = p.a_begin[job.row + 1u];
    uint32_t       first = p.a_begin[job.row];
    uint32_t       fresh = 0, at; /* columns */
    const uint32_t all   = p.products[job.row];
    const auto     before = [&](uint32_t i) { return (i < last) ? p.before[i] : all; };

    first = (from != 0) ? find_entry(p, first, last, from) : first;
    for (; from < to; first += SIMT_WARP) {
        uint32_t       entry = first + simt_lane();
        uint32_t       start = before(entry), next = before(entry + 1u);
        uint32_t       some  = simt_ballot(SIMT_ALL_LANES, next != start);
        uint32_t       limit = before(first + SIMT_WARP);

        if ((some & (some + 1u)) != 0) { /* lanes without products come after those with some */
            for (uint32_t lane = simt_lane(); lane != 0; lane--) { some &= some - 1u; }
            entry = (some != 0) ? first + simt_ffs(some) - 1u : last;
            start = before(entry);
            next  = before(entry + 1u);
        }
        const bool     has   = next != start;
        const uint32_t moved = has ? p.a_begin[p.a_column[entry]] - start : 0u;
        const float    value = (has && (Pass == FILL)) ? p.a_value[entry] : 0.0f;
        uint32_t       begun = simt_popc(simt_ballot(SIMT_ALL_LANES, has && (start < from)));

        limit = (to < limit) ? to : limit;
        for (; from < limit; from += SIMT_WARP) {
            const uint32_t place = start - from; /* wraps for those that began before */
            const uint32_t marks = machine_or((has && (place < SIMT_WARP)) ? 1u << place : 0u);
            const uint32_t nth   = begun + simt_popc(marks & simt_mask(0, simt_lane() + 1u)) - 1u;
            const uint32_t i     = from + simt_lane();
            const uint32_t j     = simt_shfl(SIMT_ALL_LANES, moved, nth) + i;
            const float    factor = machine_float(
                (Pass == FILL) ? simt_shfl(SIMT_ALL_LANES, machine_bits(value), nth) : 0u);

            begun += simt_popc(marks);
            if (i < limit) {
                fresh += insert(job.table, job.entries, p.a_column[j], &at);
                if (Pass == FILL) { add_value(job.table, job.entries + at, factor * p.a_value[j]); }
            }
        }
        from = limit;
    }
    if (Pass == COUNT) {
        fresh = machine_sum(fresh);
        if (simt_lane() == 0) { (void)job.table.add(table_count(COUNT, job.entries), fresh); }
    }
}

/* Write a chunk of the table to its row of C; the lane's entries begin at `first`. */
template <class Words>
SIMT_FN void write_chunk(const product &p, const row_job<Words> &job, uint32_t first)
{
    uint32_t column[CHUNK / SIMT_WARP];
    uint32_t count = 0, at = 0;

    SIMT_UNROLLED
    for (uint32_t k = 0; k < CHUNK / SIMT_WARP; k++) {
        column[k] = (first + k * SIMT_WARP < job.entries) ? job.table.get(first + k * SIMT_WARP)
                                                          : VACANT;
        count += simt_popc(simt_ballot(SIMT_ALL_LANES, column[k] != VACANT));
    }
    if (simt_lane() == 0) {
        at = p.begin[job.row] + job.table.add(table_count(FILL, job.entries), count);
    }
    at = simt_shfl(SIMT_ALL_LANES, at, 0);
    SIMT_UNROLLED
    for (uint32_t k = 0; k < CHUNK / SIMT_WARP; k++) {
        const uint32_t some = simt_ballot(SIMT_ALL_LANES, column[k] != VACANT);
        const uint32_t to   = at + simt_popc(some & simt_mask(0, simt_lane()));

        if (column[k] != VACANT) {
            p.column[to] = column[k];
            p.value[to]  = machine_float(job.table.get(job.entries + first + k * SIMT_WARP));
        }
        at += simt_popc(some);
    }
}

/* The number of chunks in the row's step. */
template <pass Pass, class Words>
SIMT_FN uint32_t chunks_of(const product &p, const row_job<Words> &job)
{
    const uint32_t units = (job.step == INIT)     ? table_words(Pass, job.entries) / 4u
                           : (job.step == INSERT) ? p.products[job.row]
                                                  : job.entries;

    return (units + CHUNK - 1u) / CHUNK;
}

/* By a whole warp. */
template <pass Pass, class Words>
SIMT_FN void do_chunk(const product &p, const row_job<Words> &job, uint32_t chunk)
{
    const uint32_t first = chunk * CHUNK;

    if (job.step == INIT) {
        const uint32_t words = table_words(Pass, job.entries), last = 4u * (first + CHUNK);
        const uint32_t end   = (words < last) ? words : last;

        for (uint32_t i = 4u * (first + simt_lane()); i < end; i += 4u * SIMT_WARP) {
            job.table.set4(i, (i < job.entries) ? VACANT : 0u);
        }
    } else if (job.step == INSERT) {
        const uint32_t rest = p.products[job.row] - first;

        insert_chunk<Pass>(p, job, first, first + ((rest < CHUNK) ? rest : CHUNK));
    } else if (Pass == FILL) {
        write_chunk(p, job, first + simt_lane());
    }
}

/* Make one row with a converged warp or block that does nothing else in the meantime. */
template <pass Pass, class Words, class Group>
SIMT_FN void make_row(const product &p, Words table, uint32_t row, Group group)
{
    row_job<Words> job = { table, row, row_entries(p, Pass, row), INIT };

    for (; job.step != STEPS(Pass); job.step++) {
        const uint32_t chunks = chunks_of<Pass>(p, job);

        for (uint32_t chunk = group.warp(); chunk < chunks; chunk += group.warps()) {
            do_chunk<Pass>(p, job, chunk);
        }
        group.sync();
    }
    if ((Pass == COUNT) && (group.rank() == 0)) { p.begin[row] = job.length(); }
    group.sync(); /* the table may be freed */
}

#endif /* SHPOOL_EXAMPLES_SPARSE_ROWS_H */
