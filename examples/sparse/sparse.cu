/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sparse matrix product C = A * A with a hash table for each row, in shared memory: rows.h.
 *
 *   nvcc -O3 -rdc=true sparse.cu -o sparse $(pkg-config --cflags --libs shpool)
 *   c++ -O2 -x c++ sparse.cu -x none -o sparse_cpu \
 *        $(pkg-config --cflags --libs shpool)                       on the CPU block executor
 *
 *   ./sparse [options] [FILE.mtx]          --help lists them
 *
 * The versions differ in where a row's table comes from: versions.h, doc/EXAMPLES.md.  `binned` is
 * the usual solution without an allocator.  Every C is compared with the CPU's.
 */
#include "matrix.h"
#include "versions.h"

#include "../options.h"

#if defined(__CUDACC__)
/* Otherwise -rdc=true adds CUB's launches from kernels, and so CUDA's device runtime, to the image,
 * which is linked again when its kernels are joined with an allocator at run time. */
#define CUB_DISABLE_CDP
#include <cub/device/device_scan.cuh>
#endif
#define BLOCK_THREADS  256u
#define GLOBAL_THREADS 1024u

enum version { POOL, STATIC, BLOCKS, BINNED, VERSIONS };

struct options {
    uint32_t rows, matrix, pool, threads, block, rounds, most;
};
/* In each version: bytes of the longest table in shared memory, unless --most is given. */
#if defined(__CUDACC__)
#define DEFAULTS { 1u << 18, NETWORK, 200 * 1024, 1024, 128, 5, 0 }
static const uint32_t version_most[VERSIONS] = { 98304, 8192, 32768, 131072 };
#else /* a fiber for each thread: small, but still with rows of each kind */
#define DEFAULTS { 300, NETWORK, 24 * 1024, 128, 64, 1, 0 }
static const uint32_t version_most[VERSIONS] = { 8192, 2048, 4096, 8192 };
#endif

/* A product while it is computed, and the times of a round. */
struct work {
    options     o = DEFAULTS;
    product     p = {};
    totals      seen; /* of the last step that was read */
    shpool_pool pool    = {};
    uint32_t    entries = 0; /* of C */
    double      seconds[PASSES + 1u] = {}; /* of the passes, and in all */

    machine_array<uint32_t> tables, column;
    machine_array<float>    value;
    machine_array<char>     scan;
};

/* A kernel that shares out rows by the size of the grid; then read the totals. */
template <class Kernel>
static void prepare(work &w, const Kernel &kernel)
{
    machine_fill(~0u, BLOCK_THREADS, 0, kernel, 0);
    machine_read(&w.seen, w.p.sum, sizeof(w.seen));
}

/* Replace each number by the sum of those before it. */
static void sum_up(work &w, uint32_t *numbers, uint32_t count)
{
#if defined(__CUDACC__)
    size_t bytes = 0;

    machine_cuda(cub::DeviceScan::ExclusiveSum(nullptr, bytes, numbers, numbers, count), "scan");
    machine_cuda(cub::DeviceScan::ExclusiveSum(w.scan.get(bytes), bytes, numbers, numbers, count),
                 "scan");
#else
    std::exclusive_scan(numbers, numbers + count, numbers, 0u);
    (void)w;
#endif
}

/* A warp for each row whose table is small enough for one warp, a block for each longer one.  All
 * bins run at the same time, those of long rows first. */
template <pass Pass>
static void rows_in_bins(work &w)
{
    const uint32_t warps = 4;

    prepare(w, sort_rows<Pass>{ w.p });
    for (uint32_t bin = BINS; bin-- > 0;) {
        const uint32_t   bytes = 256u << bin;
        const rows_taken rows  = { w.p.bins + static_cast<size_t>(bin) * w.p.a.rows,
                                   w.seen.in_bin[bin], bytes };
        const uint32_t   turns = (rows.count + TURN - 1u) / TURN;
        uint32_t *const  next  = &w.p.sum->next_in[bin];

        if (bytes <= TEAM_BYTES) {
            machine_fill((turns + warps - 1u) / warps, warps * SIMT_WARP, warps * bytes,
                         rows_by_warps<Pass>{ w.p, rows, next }, bin + 1u);
        } else {
            machine_fill(turns, std::min(bytes / TEAM_BYTES * SIMT_WARP, 1024u),
                         TURN_BYTES + bytes, rows_by_blocks<Pass>{ w.p, rows, next }, bin + 1u);
        }
    }
}

/* One pass over all rows.  w.seen has the results of count_products or list_large. */
template <pass Pass>
static void do_pass(work &w, version which)
{
    const uint32_t   large = w.seen.large;
    const rows_taken all   = { nullptr, w.p.a.rows, w.p.most };
    const uint32_t   turns = (w.p.a.rows + TURN - 1u) / TURN;
    const double     from  = machine_seconds();

    if (large != 0) {
        const uint32_t most   = machine_blocks<rows_by_global<Pass>>(GLOBAL_THREADS, 0);
        const uint32_t blocks = std::min(large, most);
        const size_t   words  = static_cast<size_t>(blocks) * w.seen.longest;

        machine_launch(blocks, GLOBAL_THREADS, 0,
                       rows_by_global<Pass>{ w.p, w.tables.get(words), w.seen.longest },
                       BINS + 1u);
    }
    if (which == POOL) {
        const uint32_t most =
            machine_pool_blocks<rows_by_pool<Pass>>(w.pool, w.o.threads, BOARD_BYTES);

        machine_launch_pool(w.pool, std::min(turns, most), w.o.threads, BOARD_BYTES,
                            rows_by_pool<Pass>{ w.p }, 1);
    } else if (which == STATIC) {
        machine_fill(turns, SIMT_WARP, w.p.most,
                     rows_by_warps<Pass>{ w.p, all, &w.p.sum->next }, 1);
    } else if (which == BLOCKS) {
        machine_fill(turns, w.o.block, TURN_BYTES + w.p.most,
                     rows_by_blocks<Pass>{ w.p, all, &w.p.sum->next }, 1);
    } else {
        rows_in_bins<Pass>(w);
    }
    machine_wait();
    w.seconds[Pass] = machine_seconds() - from;
}

static void multiply(work &w, version which)
{
    const double from = machine_seconds();

    machine_zero(w.p.sum, sizeof(*w.p.sum));
    prepare(w, count_products{ w.p });
    do_pass<COUNT>(w, which);

    machine_zero(w.p.sum, offsetof(totals, products));
    sum_up(w, w.p.begin, w.p.a.rows + 1u);
    prepare(w, list_large{ w.p });
    machine_read(&w.entries, w.p.begin + w.p.a.rows, sizeof(w.entries));
    w.p.column = w.column.get(w.entries);
    w.p.value  = w.value.get(w.entries);
    do_pass<FILL>(w, which);
    w.seconds[PASSES] = machine_seconds() - from;
}

/* Run all rounds of one version; 1 if C is wrong. */
static int run(work &w, version which, const matrix &a)
{
    static const char *const names[]       = { "pool", "static", "static, blocks", "binned" };
    double                   best[PASSES + 1u] = { 1e30, 1e30, 1e30 };

    w.p.most = (w.o.most != 0) ? w.o.most : version_most[which];
    if (which == POOL) {
        w.p.most = std::min(w.p.most, w.pool.largest);
    }
    for (uint32_t round = 0; round <= w.o.rounds; round++) { /* the first one allocates */
        multiply(w, which);
        if ((round > 0) && (w.seconds[PASSES] < best[PASSES])) {
            std::copy(w.seconds, w.seconds + PASSES + 1u, best);
        }
    }
    matrix c = { a.rows, std::vector<uint32_t>(a.rows + 1u), std::vector<uint32_t>(w.entries),
                 std::vector<float>(w.entries) };

    machine_read(c.begin.data(), w.p.begin, c.begin.size() * sizeof(uint32_t));
    machine_read(c.column.data(), w.p.column, c.column.size() * sizeof(uint32_t));
    machine_read(c.value.data(), w.p.value, c.value.size() * sizeof(float));

    const uint32_t wrong = count_wrong_rows(a, c);

    std::printf("%-14s %7u bytes, %4u threads a block  %u wrong rows", names[which],
                (which == POOL) ? w.pool.shared_bytes : w.p.most,
                (which == POOL) ? w.o.threads : (which == BLOCKS) ? w.o.block : SIMT_WARP, wrong);
#if defined(__CUDACC__)
    std::printf("; %u rows in global memory; count %.3f ms, fill %.3f ms, all %.3f ms, "
                "%.2f Gflop/s", w.seen.large, best[COUNT] * 1e3, best[FILL] * 1e3,
                best[PASSES] * 1e3, 2e-9 * static_cast<double>(w.seen.products) / best[PASSES]);
#endif
    std::printf("\n");
    return wrong != 0;
}

/* The kernels count in 32 bits. */
static void check_size(const matrix &a)
{
    uint64_t products = 0;

    for (uint32_t column : a.column) {
        products += a.begin[column + 1u] - a.begin[column];
    }
    if (products > 1u << 31) {
        machine_fail("A * A", "is too large: it has " + std::to_string(products) +
                                  " products, at most 2^31 are counted");
    }
}

int main(int argc, char **argv)
{
    work        w;
    options    &o    = w.o;
    const char *file = read_options(
        argc, argv, "sparse [options] [FILE.mtx]",
        { { "--rows", &o.rows, 1, 1u << 22, 1, "of a made-up matrix" },
          { "--matrix", &o.matrix, 0, KINDS - 1u, 1,
            "made up: 0 a network, 1 with more hubs, 2 banded, 3 uniform" },
          { "--pool", &o.pool, 64, 1u << 20, 1, "bytes of a block's pool" },
          { "--threads", &o.threads, 32, 1024, 32, "of a block with a pool" },
          { "--most", &o.most, 0, LONGEST, 16,
            "bytes of the longest table in shared memory; 0: as suits the version" },
          { "--block", &o.block, 32, 1024, 32, "threads of a block that shares a row" },
          { "--rounds", &o.rounds, 1, 1000, 1, "of which the fastest counts" } });
    const char *machine = machine_name("sparse");
    int         failed  = 0;

    if (machine == nullptr) {
        return 77;
    }
    w.pool = open_block_pool(o.threads, o.pool, 256);

    const matrix a = (file != nullptr) ? read_matrix(file)
                                       : generate(static_cast<kind>(o.matrix), o.rows);

    check_size(a);

    machine_array<uint32_t> begin(a.begin), column(a.column), products(a.rows);
    machine_array<uint32_t> before(a.column.size()), lengths(a.rows + 1u), large(a.rows);
    machine_array<uint32_t> bins(static_cast<size_t>(BINS) * a.rows);
    machine_array<float>    value(a.value);
    machine_array<totals>   sum(1);
    const csr               in = { a.rows, begin, column, value };

    w.p = { in, in, a.rows, 0, products, before, lengths, nullptr, nullptr, large, bins, sum };
    std::printf("%s, %s\nA: %u rows, %zu entries, whose sum is %g\n", machine, w.pool.name, a.rows,
                a.column.size(), std::accumulate(a.value.begin(), a.value.end(), 0.0));
    for (version which : { POOL, STATIC, BLOCKS, BINNED }) {
        failed |= run(w, which, a);
    }
    std::printf("%llu products; C has %u entries\n", w.seen.products, w.entries);
    machine_close(&w.pool);
    return failed;
}
