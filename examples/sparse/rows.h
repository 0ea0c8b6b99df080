/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * C = A * B for sparse matrices, row by row (Gustavson's algorithm): the products of a row are
 * added up in a hash table, which is as large as that row needs.
 *
 * Two passes, as most GPU libraries make them: COUNT finds the length of each row of C with tables
 * of columns only; when C has been allocated, FILL adds the values up.  Rows are taken one after
 * another; where its table comes from is what the versions differ in:
 *
 *   rows_by_pool           from a pool that all warps of the block share: each as much as the row
 *                          needs
 *   rows_by_array          a static array for each warp, as long as the longest table
 *   rows_by_shared_array   a static array for each block, whose warps do a row together
 *   rows_by_block          global memory, for rows whose tables would be longer than that; by the
 *                          whole block, in each version
 *
 * Linear probing in tables with half as many entries again as there are keys.
 */
#ifndef SHPOOL_EXAMPLES_SPARSE_ROWS_H
#define SHPOOL_EXAMPLES_SPARSE_ROWS_H

#include "../group.h"

enum pass { COUNT, FILL };

#define BINS    8u  /* of tables in shared memory: bin b has those of up to 256 << b bytes */
#define LONGEST (256u << (BINS - 1u))
#define VACANT  ~0u /* in place of a column */

/* Rows compressed: row r is column and value [begin[r]] up to [begin[r + 1] - 1]. */
struct csr {
    uint32_t        rows;
    const uint32_t *begin;
    const uint32_t *column;
    const float    *value;
};

/* What kernels add up and the host reads. */
struct totals {
    uint32_t next;         /* row that nobody has taken yet */
    uint32_t large;        /* entries of product.large */
    uint32_t longest;      /* words of the longest table among these */
    uint32_t unserved;     /* rows that got no memory: none, or C is wrong */
    uint32_t in_bin[BINS]; /* entries of product.bins */
    unsigned long long products;
};

struct product {
    csr       a, b;
    uint32_t  columns;  /* of B and C */
    uint32_t  most;     /* bytes of the longest table in shared memory */
    uint32_t *products; /* for each row of A: how many */
    uint32_t *begin;    /* of C; lengths of rows between the passes; rows + 1 entries */
    uint32_t *column;   /* of C, in each row in no order */
    float    *value;
    uint32_t *large;    /* rows whose tables are longer than most */
    uint32_t *bins;     /* BINS lists of rows, each of a.rows entries */
    totals   *sum;
};

/* ---- tables: word 0 counts, then come the columns, then the values ---- */

SIMT_FN uint32_t table_entries(const product &p, pass which, uint32_t row, uint32_t length)
{
    uint32_t keys = (which == COUNT) ? p.products[row] : length;

    keys = (keys < p.columns) ? keys : p.columns;
    return keys + keys / 2u + 1u;
}
SIMT_FN uint32_t table_words(pass which, uint32_t entries)
{
    return (which == COUNT) ? 1u + entries : 1u + 2u * entries;
}

SIMT_FN uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}
SIMT_FN float value_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Find or make the entry of a column; 1 if it is new. */
template <class Words>
SIMT_FN uint32_t insert(Words table, uint32_t entries, uint32_t column, uint32_t *at_p)
{
    uint32_t at   = simt_mulhi(column * 2654435761u, entries);
    uint32_t seen = table.peek(1u + at);

    while (seen != column) {
        if (seen == VACANT) {
            seen = table.cas(1u + at, VACANT, column);
            if (seen == VACANT) {
                *at_p = at;
                return 1;
            }
        } else {
            at   = (at + 1u < entries) ? at + 1u : 0u;
            seen = table.peek(1u + at);
        }
    }
    *at_p = at;
    return 0;
}

template <class Words>
SIMT_FN void add_value(Words table, uint32_t i, float value)
{
    uint32_t seen = table.peek(i);
    uint32_t now;

    while ((now = table.cas(i, seen, bits_of(value_of(seen) + value))) != seen) {
        seen = now;
    }
}

/* All products of a row into its table.  Rows of B are short or long: 1 to 32 lanes share one. */
template <pass Pass, class Words, class Group>
SIMT_FN void add_products(const product &p, uint32_t row, Words table, uint32_t entries,
                          Group group)
{
    const uint32_t first   = p.a.begin[row];
    const uint32_t last    = p.a.begin[row + 1u];
    const uint32_t average = p.products[row] / (last - first);
    uint32_t       width   = 1;
    uint32_t       mine    = 0;

    while ((width < average) && (width < SIMT_WARP)) {
        width *= 2u;
    }
    for (uint32_t i = first + group.rank() / width; i < last; i += group.size() / width) {
        const uint32_t from   = p.a.column[i];
        const float    factor = (Pass == FILL) ? p.a.value[i] : 0.0f;
        const uint32_t end    = p.b.begin[from + 1u];

        for (uint32_t j = p.b.begin[from] + group.rank() % width; j < end; j += width) {
            uint32_t at;

            mine += insert(table, entries, p.b.column[j], &at);
            if (Pass == FILL) {
                add_value(table, 1u + entries + at, factor * p.b.value[j]);
            }
        }
    }
    if ((Pass == COUNT) && (mine != 0)) {
        (void)table.add(0, mine);
    }
}

/* Move a table's entries to their row of C; each warp of the group takes 32 at a time. */
template <class Words, class Group>
SIMT_FN void write_row(const product &p, uint32_t row, Words table, uint32_t entries, Group group)
{
    const uint32_t begin = p.begin[row];

    for (uint32_t i = group.rank(); i - simt_lane() < entries; i += group.size()) {
        const uint32_t column = (i < entries) ? table.get(1u + i) : VACANT;
        const uint32_t some   = simt_ballot(SIMT_ALL_LANES, column != VACANT);
        uint32_t       at     = 0;

        if (simt_lane() == 0) {
            at = table.add(0, simt_popc(some));
        }
        at = simt_shfl(SIMT_ALL_LANES, at, 0) + simt_popc(some & simt_mask(0, simt_lane()));
        if (column != VACANT) {
            p.column[begin + at] = column;
            p.value[begin + at]  = value_of(table.get(1u + entries + i));
        }
    }
}

/* One row, with a table of table_words(); the group is converged. */
template <pass Pass, class Words, class Group>
SIMT_FN void make_row(const product &p, uint32_t row, Words table, uint32_t entries, Group group)
{
    const uint32_t words = table_words(Pass, entries);

    for (uint32_t i = group.rank(); i < words; i += group.size()) {
        table.set(i, ((i == 0) || (i > entries)) ? 0u : VACANT);
    }
    group.sync();
    add_products<Pass>(p, row, table, entries, group);
    group.sync();
    if (Pass == FILL) {
        write_row(p, row, table, entries, group);
    } else if (group.rank() == 0) {
        p.begin[row] = table.get(0);
    }
    group.sync(); /* the table may go */
}

/* Length of a row of C in FILL; begin[] has been summed up by then. */
SIMT_FN uint32_t row_length(const product &p, pass which, uint32_t row)
{
    return (which == FILL) ? p.begin[row + 1u] - p.begin[row] : 0u;
}

SIMT_FN uint32_t row_entries(const product &p, pass which, uint32_t row)
{
    return (p.products[row] != 0) ? table_entries(p, which, row, row_length(p, which, row)) : 0u;
}

/* ---- the versions ---- */

template <pass Pass>
struct rows_by_pool {
    product     p;
    shpool_pool pool;

    MACHINE_METHOD void operator()() const
    {
        const whole_warp warp;
        shpool_heap      heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));

        for (uint32_t row = warp.take(&p.sum->next); row < p.a.rows;
             row          = warp.take(&p.sum->next)) {
            const uint32_t entries = row_entries(p, Pass, row);
            const uint32_t bytes   = 4u * table_words(Pass, entries);

            if ((entries != 0) && (bytes <= p.most) &&
                !with_pool_memory(heap, bytes, [&](shared_words table) {
                    make_row<Pass>(p, row, table, entries, warp);
                }) && (simt_lane() == 0)) {
                (void)simt_global_add32(&p.sum->unserved, 1);
            }
        }
        shpool_fini(heap);
    }
};

template <pass Pass>
struct rows_by_array {
    product         p;
    const uint32_t *list;  /* NULL: all rows */
    uint32_t        count;
    uint32_t        bytes; /* for each warp */

    MACHINE_METHOD void operator()() const
    {
        const whole_warp   warp;
        const shared_words table = { simt_dynamic_base() + simt_warp() * bytes };

        for (uint32_t turn = warp.take(&p.sum->next); turn < count;
             turn          = warp.take(&p.sum->next)) {
            const uint32_t row     = (list != nullptr) ? list[turn] : turn;
            const uint32_t entries = row_entries(p, Pass, row);

            if ((entries != 0) && (4u * table_words(Pass, entries) <= bytes)) {
                make_row<Pass>(p, row, table, entries, warp);
            }
        }
    }
};

template <pass Pass>
struct rows_by_shared_array { /* behind the turn */
    product p;

    MACHINE_METHOD void operator()() const
    {
        const whole_block  block;
        const simt_addr    turn  = simt_dynamic_base();
        const shared_words table = { turn + TURN_BYTES };

        for (uint32_t row = block.take(&p.sum->next, turn); row < p.a.rows;
             row          = block.take(&p.sum->next, turn)) {
            const uint32_t entries = row_entries(p, Pass, row);

            if ((entries != 0) && (4u * table_words(Pass, entries) <= p.most)) {
                make_row<Pass>(p, row, table, entries, block);
            }
        }
    }
};

template <pass Pass>
struct rows_by_block {
    product   p;
    uint32_t *tables; /* sum->longest words for each block */

    MACHINE_METHOD void operator()() const
    {
        const size_t       longest = p.sum->longest;
        const global_words table   = { tables + simt_block_rank() * longest };

        for (uint32_t i = simt_block_rank(); i < p.sum->large; i += simt_grid_blocks()) {
            const uint32_t row = p.large[i];

            make_row<Pass>(p, row, table, row_entries(p, Pass, row), whole_block{});
        }
    }
};

#endif /* SHPOOL_EXAMPLES_SPARSE_ROWS_H */
