/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sparse matrix product C = A * A with a hash table for each row, in shared memory: rows.h.
 *
 *   nvcc -O3 -rdc=true sparse.cu -o sparse $(pkg-config --cflags --libs shpool)
 *   c++ -O2 -x c++ sparse.cu -x none -o sparse_cpu \
 *        $(pkg-config --cflags --libs shpool)                       on the CPU block executor
 *
 *   ./sparse [options]          --help lists them
 *
 * `pool` allocates the table of each row (pool.h); `binned` is the usual solution without an
 * allocator: rows are sorted by the size of their tables, and each size has a launch.  The CPU
 * checks both products.
 */
#include "matrix.h"
#include "pool.h"
#include "versions.h"

#include "../options.h"

#if defined(__CUDACC__)
#define CUB_DISABLE_CDP /* CUDA's device runtime would be linked again by SHPOOL_BINDING=linked */
#include <cub/device/device_scan.cuh>
#endif

struct work { /* a product while it is computed */
    uint32_t rows = MACHINE_PICK(1u << 18, 600), matrix = NETWORK, least = 256, most = 0;
    uint32_t threads = MACHINE_PICK(1024, 128), bytes = MACHINE_PICK(200, 24) << 10;
    uint32_t rounds  = MACHINE_PICK(5, 1); /* see main() */
    product     p = {};
    totals      seen; /* by list_rows */
    shpool_pool pool;
    uint32_t    entries;      /* of C */
    uint64_t    products = 0;
    machine_array<uint32_t> begin, column, tables; /* of C; of rows in global memory */
    machine_array<float>    value;
    machine_array<char>     scan;
};

/* Start the rows of a bin.  A table of up to TEAM_BYTES gets a warp, a longer one a block. */
template <pass Pass>
static void start_bin(work &w, uint32_t bin)
{
    typedef rows_by<Pass, whole_block, in_global> by_global;
    const uint32_t bytes = (bin == LARGE) ? 4u * w.seen.longest : 256u << bin;
    const uint32_t count = w.seen.in_bin[bin];
    const uint32_t turns = (count + TURN - 1u) / TURN;

    if (bin == LARGE) {
        const uint32_t most   = std::min(count, machine_blocks<by_global>(1024, TURN_BYTES));
        uint32_t      *tables = w.tables.get((size_t)most * w.seen.longest);

        machine_fill(most, 1024, TURN_BYTES, by_global{ w.p, { tables }, bin, bytes, count },
                     bin + 1u);
    } else if (bytes <= TEAM_BYTES) { /* four warps in a block */
        machine_fill((turns + 3u) / 4u, 4u * SIMT_WARP, TURN_BYTES + 4u * bytes,
                     rows_by<Pass, whole_warp, in_shared>{ w.p, {}, bin, bytes, count }, bin + 1u);
    } else {
        machine_fill(turns, std::min(bytes / TEAM_BYTES * SIMT_WARP, 1024u), TURN_BYTES + bytes,
                     rows_by<Pass, whole_block, in_shared>{ w.p, {}, bin, bytes, count }, bin + 1u);
    }
}

/* One pass over all rows.  All bins run at the same time, those of long rows first. */
template <pass Pass>
static void do_pass(work &w, bool by_pool)
{
    machine_zero(w.p.sum, sizeof(totals));
    machine_fill(~0u, 256, 0, list_rows<Pass>{ w.p, by_pool ? LARGE : 0 }, 0);
    machine_read(&w.seen, w.p.sum, sizeof(w.seen));
    for (uint32_t bin = BINS + 1u; bin-- > 0;) { start_bin<Pass>(w, bin); }
    if (by_pool) {
        machine_launch_pool(w.pool, (w.p.rows + TURN - 1u) / TURN, w.threads, BOARD_BYTES,
                            rows_by_pool<Pass>{ w.p }, 1);
    }
}

static void multiply(work &w, bool by_pool)
{
    uint32_t *const lengths = w.p.begin;

    machine_fill(~0u, 256, 0, count_products{ w.p }, 0);
    do_pass<COUNT>(w, by_pool);
#if defined(__CUDACC__)
    size_t bytes = 0;
    cub::DeviceScan::ExclusiveSum(nullptr, bytes, lengths, lengths, w.p.rows + 1u);
    cub::DeviceScan::ExclusiveSum(w.scan.get(bytes), bytes, lengths, lengths, w.p.rows + 1u);
    machine_cuda(cudaGetLastError(), "scan");
#else
    std::exclusive_scan(lengths, lengths + w.p.rows + 1u, lengths, 0u);
#endif
    machine_read(&w.entries, lengths + w.p.rows, sizeof(w.entries));
    w.p.column = w.column.get(w.entries);
    w.p.value  = w.value.get(w.entries);
    do_pass<FILL>(w, by_pool);
}

/* Run all rounds of one version; 1 if C is wrong. */
static int run(work &w, bool by_pool, const matrix &a)
{
    w.p.most  = (w.most != 0) ? w.most : MACHINE_PICK(by_pool ? 98304 : 131072, 8192);
    w.p.most  = by_pool ? std::min(w.p.most, w.pool.largest) : w.p.most;
    w.p.least = std::min(w.least, w.p.most);

    const auto     clear = [&] { /* nothing of another version's result stays */
        w.column.zero();
        w.value.zero();
    };
    const double   best  = machine_best(w.rounds, clear, [&] { multiply(w, by_pool); });
    const uint32_t wrong = count_wrong_rows(
        a, { a.rows, w.begin.read(), w.column.read(), w.value.read() });

    std::printf("%-7s %7u bytes, %u rows in global memory, %u wrong rows",
                by_pool ? "pool" : "binned", by_pool ? w.pool.shared_bytes : w.p.most,
                w.seen.in_bin[LARGE], wrong);
    if (MACHINE_PICK(true, false)) {
        std::printf("; all %.3f ms, %.2f Gflop/s", best * 1e3, 2e-9 * (double)w.products / best);
    }
    std::printf("\n");
    return wrong != 0;
}

int main(int argc, char **argv)
{
    work        w;
    const char *machine = machine_name("sparse");

    read_options(argc, argv, "sparse [options]",
        { { "--rows", &w.rows, 1, 1u << 20, 1, "of the matrix" },
          { "--matrix", &w.matrix, 0, KINDS - 1u, 1,
            "0: a network, 1: rows of equal length, 2: a network with empty rows" },
          { "--pool", &w.bytes, 64, 1u << 20, 1, "bytes of a block's pool" },
          { "--threads", &w.threads, 32, 1024, 32, "of a block with a pool" },
          { "--most", &w.most, 0, 1u << 17, 16, "bytes of the longest table; 0: as suits" },
          { "--least", &w.least, 256, 1u << 17, 256, "bytes of the shortest static array" },
          { "--rounds", &w.rounds, 1, 1000, 1, "of which the fastest counts" } });
    if (machine == nullptr) { return 77; }
    w.pool = open_block_pool(w.threads, w.bytes, 256);

    const matrix            a = generate(w.matrix, w.rows);
    machine_array<uint32_t> begin(a.begin), column(a.column), products(a.rows);
    machine_array<uint32_t> before(a.column.size()), bins((size_t)a.rows * (BINS + 1u));
    machine_array<float>    value(a.value);
    machine_array<totals>   sum(1);

    w.p = { a.rows, begin, column, value, 0, 0, products, before, w.begin.get(a.rows + 1u), nullptr,
            nullptr, bins, sum };
    for (uint32_t c : a.column) { w.products += a.begin[c + 1u] - a.begin[c]; }
    std::printf("%s, %s: %u rows, %zu entries; %zu products\n", machine, w.pool.name, a.rows,
                a.column.size(), (size_t)w.products);

    const int failed = run(w, true, a) | run(w, false, a);

    machine_close(&w.pool);
    return failed;
}
