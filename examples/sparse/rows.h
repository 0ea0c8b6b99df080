/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * C = A * B for sparse matrices, row by row (Gustavson's algorithm).  Each row is accumulated in a
 * hash table, which is as large as that row needs.
 *
 * There are two passes, as in most GPU libraries: COUNT finds the length of each row of C with
 * tables of columns only; after C has been allocated, FILL accumulates the values.  A row has three
 * steps in each pass: clear the table, insert the products, write the row.  Each step is divided
 * into chunks, and any warp can process any chunk, so one warp, a block or a team can make a row
 * (make_row(), team.h).  The tables use linear probing and have 1.5 times as many entries as keys.
 */
#ifndef SHPOOL_EXAMPLES_SPARSE_ROWS_H
#define SHPOOL_EXAMPLES_SPARSE_ROWS_H

#include "../group.h"

enum pass { COUNT, FILL, PASSES };
enum step { INIT, INSERT, WRITE, STEPS }; /* of a row in a pass */

#define BINS    10u /* of tables in shared memory: bin b has those of up to 256 << b bytes */
#define LONGEST (256u << (BINS - 1u))
#define TURN    4u  /* rows that a warp or block takes at a time */

#define VACANT ~0u /* an empty entry, in place of a column; greater than any column */

/* From this size on, a table is worth more than one warp: one for each TEAM_BYTES. */
#define TEAM_BYTES 4096u

/* Size of a chunk: words to clear, products to insert, entries of a table to write. */
#define CLEARED  2048u
#define INSERTED 512u
#define WRITTEN  512u

/* Compressed rows: row r is column and value [begin[r]] up to [begin[r + 1] - 1]. */
struct csr {
    uint32_t        rows;
    const uint32_t *begin;
    const uint32_t *column;
    const float    *value;
};

/* Counters of the kernels, which the host reads. */
struct totals {
    uint32_t next;         /* first turn of TURN rows that is not taken yet */
    uint32_t next_in[BINS];
    uint32_t large;        /* entries of product.large */
    uint32_t longest;      /* words of the longest table among these */
    uint32_t in_bin[BINS]; /* entries of product.bins */
    unsigned long long products;
};

struct product {
    csr       a, b;
    uint32_t  columns;  /* of B and C */
    uint32_t  most;     /* bytes of the longest table in shared memory */
    uint32_t *products; /* number of products of each row of A */
    uint32_t *before;   /* for each entry of A: products of its row before it */
    uint32_t *begin;    /* of C; lengths of rows between the passes; rows + 1 entries */
    uint32_t *column;   /* of C; unordered within a row */
    float    *value;
    uint32_t *large;    /* rows whose tables are longer than most */
    uint32_t *bins;     /* BINS lists of rows, each of a.rows entries */
    totals   *sum;
};

/* ---- tables: columns, then values, then a count; the first two in whole groups of four ---- */

SIMT_FN uint32_t table_entries(const product &p, pass which, uint32_t row, uint32_t length)
{
    uint32_t keys = (which == COUNT) ? p.products[row] : length;

    keys = (keys < p.columns) ? keys : p.columns;
    return (keys + keys / 2u + 4u) & ~3u;
}
SIMT_FN uint32_t table_count(pass which, uint32_t entries) /* where the count is */
{
    return (which == COUNT) ? entries : 2u * entries;
}
SIMT_FN uint32_t table_words(pass which, uint32_t entries)
{
    return table_count(which, entries) + 4u;
}

/* Called by all lanes: the sum of the lower lanes' numbers. */
SIMT_FN uint32_t sum_below(uint32_t mine)
{
    uint32_t sum = mine;

    SIMT_UNROLLED
    for (uint32_t step = 1; step < SIMT_WARP; step *= 2u) {
        const uint32_t below = simt_shfl_up(SIMT_ALL_LANES, sum, step);

        sum += (simt_lane() >= step) ? below : 0u;
    }
    return sum - mine;
}

/* Find or make the entry of a column; 1 if it is new.
 *
 * The search is a loop of loads that may be stale: the compare-and-swap after it decides.  A loop
 * around an atomic would keep the warp diverged for long (ptxas lets finished lanes run on). */
template <class Words>
SIMT_FN uint32_t insert(Words table, uint32_t entries, uint32_t column, uint32_t *at_p)
{
    uint32_t at   = simt_mulhi(column * 2654435761u, entries);
    uint32_t seen = table.glance(at);

    while ((seen != VACANT) && (seen != column)) {
        at   = (at + 1u < entries) ? at + 1u : 0u;
        seen = table.glance(at);
    }
    if (seen == VACANT) {
        seen = table.cas(at, VACANT, column);
        while ((seen != VACANT) && (seen != column)) { /* rare: another lane was faster */
            at   = (at + 1u < entries) ? at + 1u : 0u;
            seen = table.cas(at, VACANT, column);
        }
        *at_p = at;
        return seen == VACANT;
    }
    *at_p = at;
    return 0;
}

template <class Words>
SIMT_FN void add_value(Words table, uint32_t i, float value)
{
    uint32_t seen = table.cas(i, 0u, machine_bits(value)); /* most columns have one product */
    uint32_t now;

    if (seen != 0) {
        while ((now = table.cas(i, seen, machine_bits(machine_float(seen) + value))) != seen) {
            seen = now;
        }
    }
}

/* ---- a row that is being made ---- */

template <class Words>
struct row_job {
    Words    table;
    uint32_t row;
    uint32_t entries; /* of the table */
};

/* The step after a step of a row; STEPS: there is none.  (With `job` the compiler leaves the code
 * of the passes in the order in which it was measured.) */
template <class Words>
SIMT_FN uint32_t step_after(const row_job<Words> &, uint32_t which)
{
    return which + 1u;
}

/* The number of chunks in a step of a row. */
template <pass Pass, class Words>
SIMT_FN uint32_t chunks_of(const product &p, const row_job<Words> &job, uint32_t which)
{
    if (which == INIT) {
        return (table_words(Pass, job.entries) + CLEARED - 1u) / CLEARED;
    }
    if (which == INSERT) {
        return (p.products[job.row] + INSERTED - 1u) / INSERTED;
    }
    return (Pass != COUNT) ? (job.entries + WRITTEN - 1u) / WRITTEN : 0u;
}

template <pass Pass, class Words>
SIMT_FN void clear_chunk(const row_job<Words> &job, uint32_t chunk)
{
    const uint32_t words = table_words(Pass, job.entries);
    const uint32_t first = chunk * CLEARED;
    const uint32_t last  = (words - first < CLEARED) ? words : first + CLEARED;

    for (uint32_t i = first + 4u * simt_lane(); i < last; i += 4u * SIMT_WARP) {
        job.table.set4(i, (i < job.entries) ? VACANT : 0u);
    }
}

/* Up to 32 entries of A, one a lane, whose rows of B are processed next. */
struct window {
    uint32_t start;  /* products of A's row before it */
    uint32_t length; /* of the row of B */
    uint32_t from;   /* start of that row, minus `start` */
    float    factor;
};

/* Move lanes without products after those that have some. */
SIMT_FN void close_gaps(window *w, uint32_t some)
{
    const uint32_t count  = simt_popc(some);
    uint32_t       source = 0;

    for (uint32_t i = 0; i <= simt_lane(); i++) {
        source = (some != 0) ? simt_ffs(some) - 1u : SIMT_WARP - 1u;
        some &= some - 1u;
    }
    w->start  = simt_shfl(SIMT_ALL_LANES, w->start, source);
    w->from   = simt_shfl(SIMT_ALL_LANES, w->from, source);
    w->factor = machine_float(simt_shfl(SIMT_ALL_LANES, machine_bits(w->factor), source));
    w->length = simt_shfl(SIMT_ALL_LANES, w->length, source);
    w->length = (simt_lane() < count) ? w->length : 0u;
}

/* The window of A's entries from `first` on; `last` ends the row, which has `products` products.
 * *limit_p: products up to the window's end. */
template <pass Pass>
SIMT_FN window open_window(const product &p, uint32_t first, uint32_t last, uint32_t products,
                           uint32_t *limit_p)
{
    const uint32_t i   = first + simt_lane();
    const bool     has = i < last;
    window         w;
    uint32_t       some;

    w.start  = has ? p.before[i] : products;
    w.length = ((i + 1u < last) ? p.before[i + 1u] : products) - w.start;
    w.from   = has ? p.b.begin[p.a.column[i]] - w.start : 0u;
    w.factor = (has && (Pass != COUNT)) ? p.a.value[i] : 0.0f;
    some     = simt_ballot(SIMT_ALL_LANES, w.length != 0);
    *limit_p = simt_shfl(SIMT_ALL_LANES, w.start + w.length, SIMT_WARP - 1u);
    if ((some & (some + 1u)) != 0) {
        close_gaps(&w, some);
    }
    return w;
}

/* The last entry of a row with at most `products` products before it. */
SIMT_FN uint32_t find_entry(const product &p, uint32_t first, uint32_t last, uint32_t products)
{
    while (last - first > 1u) { /* 32 parts at a time */
        const uint32_t part = (last - first + SIMT_WARP - 1u) / SIMT_WARP;
        const uint32_t i    = first + simt_lane() * part;
        const uint32_t some = simt_ballot(SIMT_ALL_LANES, (i < last) && (p.before[i] <= products));

        first += (31u - simt_clz(some)) * part; /* the first entry is always among them */
        last = (last - first < part) ? last : first + part;
    }
    return first;
}

/* Insert products from..to-1 of a row into the table, 32 at a time.  Each lane gets one product,
 * regardless of the lengths of B's rows: each row that begins among the 32 sets a bit, and a lane
 * counts the bits up to its own. */
template <pass Pass, class Words>
SIMT_FN void insert_chunk(const product &p, const row_job<Words> &job, uint32_t from, uint32_t to)
{
    const uint32_t all   = p.products[job.row];
    const uint32_t last  = p.a.begin[job.row + 1u];
    uint32_t       first = p.a.begin[job.row];
    uint32_t       fresh = 0; /* columns */

    if (from != 0) {
        first = find_entry(p, first, last, from);
    }
    for (; from < to; first += SIMT_WARP) {
        uint32_t     limit;
        const window w     = open_window<Pass>(p, first, last, all, &limit);
        uint32_t     begun = simt_popc(
            simt_ballot(SIMT_ALL_LANES, (w.length != 0) && (w.start < from)));

        limit = (to < limit) ? to : limit;
        for (; from < limit; from += SIMT_WARP) {
            const uint32_t place = w.start - from; /* wraps for those that began before */
            const uint32_t mark  = ((w.length != 0) && (place < SIMT_WARP)) ? 1u << place : 0u;
            const uint32_t marks = machine_or(mark);
            const uint32_t nth   = begun + simt_popc(marks & simt_mask(0, simt_lane() + 1u)) - 1u;
            const uint32_t i     = from + simt_lane();
            const uint32_t j     = simt_shfl(SIMT_ALL_LANES, w.from, nth) + i;
            const uint32_t bits =
                (Pass != COUNT) ? simt_shfl(SIMT_ALL_LANES, machine_bits(w.factor), nth) : 0u;
            const float    factor = machine_float(bits);

            begun += simt_popc(marks);
            if (i < limit) {
                uint32_t at;

                fresh += insert(job.table, job.entries, p.b.column[j], &at);
                if (Pass != COUNT) {
                    add_value(job.table, job.entries + at, factor * p.b.value[j]);
                }
            }
        }
        from = limit;
    }
    if (Pass == COUNT) {
        fresh = machine_sum(fresh);
        if (simt_lane() == 0) {
            (void)job.table.add(table_count(COUNT, job.entries), fresh);
        }
    }
}

/* Write a chunk of the table to its row of C. */
template <class Words>
SIMT_FN void write_chunk(const product &p, const row_job<Words> &job, uint32_t chunk)
{
    const uint32_t first = chunk * WRITTEN + simt_lane();
    uint32_t       column[WRITTEN / SIMT_WARP];
    uint32_t       count = 0;
    uint32_t       at    = 0;

    SIMT_UNROLLED
    for (uint32_t k = 0; k < WRITTEN / SIMT_WARP; k++) {
        const uint32_t i = first + k * SIMT_WARP;

        column[k] = (i < job.entries) ? job.table.get(i) : VACANT;
        count += simt_popc(simt_ballot(SIMT_ALL_LANES, column[k] != VACANT));
    }
    if (simt_lane() == 0) {
        at = p.begin[job.row] + job.table.add(table_count(FILL, job.entries), count);
    }
    at = simt_shfl(SIMT_ALL_LANES, at, 0);
    SIMT_UNROLLED
    for (uint32_t k = 0; k < WRITTEN / SIMT_WARP; k++) {
        const uint32_t some = simt_ballot(SIMT_ALL_LANES, column[k] != VACANT);
        const uint32_t to   = at + simt_popc(some & simt_mask(0, simt_lane()));

        if (column[k] != VACANT) {
            p.column[to] = column[k];
            p.value[to]  = machine_float(job.table.get(job.entries + first + k * SIMT_WARP));
        }
        at += simt_popc(some);
    }
}

/* By a whole warp. */
template <pass Pass, class Words>
SIMT_FN void do_chunk(const product &p, const row_job<Words> &job, uint32_t which, uint32_t chunk)
{
    if (which == INIT) {
        clear_chunk<Pass>(job, chunk);
    } else if (which == INSERT) {
        const uint32_t from = chunk * INSERTED;
        const uint32_t rest = p.products[job.row] - from;

        insert_chunk<Pass>(p, job, from, from + ((rest < INSERTED) ? rest : INSERTED));
    } else if (Pass == FILL) {
        write_chunk(p, job, chunk);
    }
}

/* Store the length that COUNT has found. */
template <pass Pass, class Words>
SIMT_FN void finish_row(const product &p, const row_job<Words> &job)
{
    if (Pass == COUNT) {
        p.begin[job.row] = job.table.get(table_count(COUNT, job.entries));
    }
}

/* Make one row with a converged warp or block that does nothing else in the meantime. */
template <pass Pass, class Words, class Group>
SIMT_FN void make_row(const product &p, const row_job<Words> &job, Group group)
{
    for (uint32_t which = INIT; which != STEPS; which = step_after(job, which)) {
        const uint32_t chunks = chunks_of<Pass>(p, job, which);

        for (uint32_t chunk = group.warp(); chunk < chunks; chunk += group.warps()) {
            do_chunk<Pass>(p, job, which, chunk);
        }
        group.sync();
    }
    if (group.rank() == 0) {
        finish_row<Pass>(p, job);
    }
    group.sync(); /* the table may be freed */
}

/* Length of a row of C after COUNT; begin[] has prefix sums by then. */
SIMT_FN uint32_t row_length(const product &p, pass which, uint32_t row)
{
    return (which != COUNT) ? p.begin[row + 1u] - p.begin[row] : 0u;
}

SIMT_FN uint32_t row_entries(const product &p, pass which, uint32_t row)
{
    return (p.products[row] != 0) ? table_entries(p, which, row, row_length(p, which, row)) : 0u;
}

#endif /* SHPOOL_EXAMPLES_SPARSE_ROWS_H */
