/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sparse matrix product C = A * A with a hash table for each row, in shared memory: rows.h.
 *
 *   nvcc -O3 -rdc=true sparse.cu -o sparse $(pkg-config --cflags --libs shpool)
 *   nvcc -O3 -rdc=true -DSPARSE_CUSPARSE sparse.cu -o sparse \
 *        $(pkg-config --cflags --libs shpool) -lcusparse            and cuSPARSE
 *   c++ -O2 -x c++ sparse.cu -x none -o sparse_cpu \
 *        $(pkg-config --cflags --libs shpool)                       on the CPU block executor
 *
 *   ./sparse [options] [FILE.mtx]          --help lists them
 *
 * The versions differ in where a row's table comes from:
 *
 *   pool             a pool that all warps of a block share; each row gets the size it needs
 *   static           an array for each warp
 *   static, blocks   an array for each block (--block), whose warps make a row together
 *   binned           also static arrays, but rows are first sorted by the size of their tables, and
 *                    each power of two has a launch of its own, concurrent with the others; this is
 *                    the usual solution without an allocator
 *
 * In all versions, rows with longer tables are made in global memory, concurrently with the others,
 * and --sort 1 sorts each row's table before it is written.
 * Every C is compared with the CPU's.
 */
#include "prepare.h"
#include "versions.h"

#include "../options.h"
#include "matrix.h"

#if defined(SPARSE_CUSPARSE) && defined(__CUDACC__)
#include "cusparse.h"
#endif

#if defined(__CUDACC__)
#define ROWS         (1u << 18)
#define ROUNDS       5
#define POOL_THREADS 1024u
#define POOL_BYTES   (200u * 1024u)
#define BLOCK        128u
#else /* a fiber for each thread: small, but still with rows of each kind */
#define ROWS         300u
#define ROUNDS       1
#define POOL_THREADS 128u
#define POOL_BYTES   (24u * 1024u)
#define BLOCK        64u
#endif
#define BLOCK_THREADS  256u
#define GLOBAL_THREADS 1024u

enum version { POOL, STATIC, BLOCKS, BINNED, VERSIONS };
static const char *const version_names[] = { "pool", "static", "static, blocks", "binned" };

struct options {
    uint32_t rows    = ROWS;
    uint32_t matrix  = NETWORK;
    uint32_t pool    = POOL_BYTES;
    uint32_t threads = POOL_THREADS;
    uint32_t block   = BLOCK;
    uint32_t rounds  = ROUNDS;
    uint32_t most    = 0;
    uint32_t sort    = 0;
};

/* Bytes of the longest table in shared memory, unless --most is given. */
#if defined(__CUDACC__)
static const uint32_t version_most[VERSIONS] = { 98304, 8192, 32768, 131072 };
#else
static const uint32_t version_most[VERSIONS] = { 8192, 2048, 4096, 8192 };
#endif

/* A product while it is computed, and the times of a round. */
struct work {
    product         p = {};
    totals          seen;     /* of the last step that was read */
    shpool_pool     pool = {};
    uint32_t        threads = 0; /* of a block with a pool */
    uint32_t        pool_blocks[PASSES] = {};
    uint32_t        block   = 0; /* threads of a block that shares a row */
    machine_array<uint32_t> tables, column;
    machine_array<float>    value;
    machine_array<char>     scan;
    uint32_t        sort = 0; /* 1: rows of C are sorted */
    uint32_t        entries = 0; /* of C */
    unsigned long long products = 0;
    double          seconds[PASSES] = {};
    double          total      = 0;
};

static void read_totals(work &w) { machine_read(&w.seen, w.p.sum, sizeof(w.seen)); }

/* The number of blocks that run at the same time.  The queries for it take the host longer than the
 * launch, so only the first round asks, which is not timed. */
template <class Kernel>
static uint32_t most_blocks(uint32_t threads, uint32_t bytes)
{
    struct grid {
        uint32_t threads, bytes, blocks;
    };
    static std::vector<grid> known;

    for (const grid &one : known) {
        if ((one.threads == threads) && (one.bytes == bytes)) {
            return one.blocks;
        }
    }
    known.push_back({ threads, bytes, machine_blocks<Kernel>(threads, bytes) });
    return known.back().blocks;
}

/* Launch a block for each turn, but no more blocks than run at the same time. */
template <class Kernel>
static void launch_rows(const Kernel &kernel, uint32_t turns, uint32_t threads, uint32_t bytes,
                        uint32_t queue)
{
    const uint32_t most = most_blocks<Kernel>(threads, bytes);

    machine_start((turns < most) ? turns : most, threads, bytes, kernel, queue);
}

/* The same for kernels that share out rows by the size of the grid. */
template <class Kernel>
static void launch_all(const Kernel &kernel)
{
    machine_start(most_blocks<Kernel>(BLOCK_THREADS, 0), BLOCK_THREADS, 0, kernel, 0);
}

/* A warp for each row whose table is small enough for one warp, a block for each longer one.  All
 * bins run at the same time, those of long rows first. */
template <pass Pass>
static void rows_in_bins(work &w)
{
    launch_all(sort_rows<Pass>{ w.p });
    read_totals(w);
    for (uint32_t bin = BINS; bin-- > 0;) {
        const uint32_t   bytes = 256u << bin;
        const rows_taken rows  = { w.p.bins + static_cast<size_t>(bin) * w.p.a.rows,
                                   w.seen.in_bin[bin], bytes };
        const uint32_t   turns = (rows.count + TURN - 1u) / TURN;
        uint32_t *const  next  = &w.p.sum->next_in[bin];

        if ((rows.count != 0) && (bytes <= TEAM_BYTES)) {
            const uint32_t warps = 4;

            launch_rows(rows_by_warps<Pass>{ w.p, rows, next }, (turns + warps - 1u) / warps,
                        warps * SIMT_WARP, warps * bytes, bin + 1u);
        } else if (rows.count != 0) {
            const uint32_t threads = bytes / TEAM_BYTES * SIMT_WARP;

            launch_rows(rows_by_blocks<Pass>{ w.p, rows, next }, turns,
                        (threads < 1024u) ? threads : 1024u, TURN_BYTES + bytes, bin + 1u);
        }
    }
}

/* One pass over all rows.  w.seen has the results of count_products or list_large. */
template <pass Pass>
static void do_pass(work &w, version which)
{
    const uint32_t   large = w.seen.large;
    const uint32_t   rank  = (Pass == FILL_SORTED) ? RANK_WORDS(w.p.columns) : 0u;
    const uint32_t   words = w.seen.longest + rank;
    const rows_taken all   = { nullptr, w.p.a.rows, w.p.most };
    const uint32_t   turns = (w.p.a.rows + TURN - 1u) / TURN;
    const double     from  = machine_seconds();

    if (large != 0) {
        const uint32_t most   = most_blocks<rows_by_global<Pass>>(GLOBAL_THREADS, 0);
        const uint32_t blocks = (large < most) ? large : most;

        machine_start(blocks, GLOBAL_THREADS, 0,
                      rows_by_global<Pass>{ w.p, w.tables.get(static_cast<size_t>(blocks) * words),
                                            w.seen.longest, words },
                      BINS + 1u);
    }
    if (which == POOL) {
        const uint32_t most = w.pool_blocks[Pass];

        machine_launch_pool(w.pool, (turns < most) ? turns : most, w.threads, BOARD_BYTES,
                            rows_by_pool<Pass>{ w.p }, 1);
    } else if (which == STATIC) {
        launch_rows(rows_by_warps<Pass>{ w.p, all, &w.p.sum->next }, turns, SIMT_WARP, w.p.most,
                    1);
    } else if (which == BLOCKS) {
        launch_rows(rows_by_blocks<Pass>{ w.p, all, &w.p.sum->next }, turns, w.block,
                    TURN_BYTES + w.p.most, 1);
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
    launch_all(count_products{ w.p });
    read_totals(w);
    w.products = w.seen.products;
    do_pass<COUNT>(w, which);

    machine_zero(w.p.sum, sizeof(*w.p.sum));
    machine_scan(w.p.begin, w.p.a.rows + 1u, &w.scan);
    launch_all(list_large{ w.p });
    machine_read(&w.entries, w.p.begin + w.p.a.rows, sizeof(w.entries));
    w.p.column = w.column.get(w.entries);
    w.p.value  = w.value.get(w.entries);
    read_totals(w);
    if (w.sort != 0) {
        do_pass<FILL_SORTED>(w, which);
    } else {
        do_pass<FILL>(w, which);
    }
    w.total = machine_seconds() - from;
}

static matrix result_of(const work &w)
{
    matrix c;

    c.rows = c.columns = w.p.a.rows;
    c.begin.resize(c.rows + 1u);
    c.column.resize(w.entries);
    c.value.resize(w.entries);
    machine_read(c.begin.data(), w.p.begin, c.begin.size() * sizeof(uint32_t));
    machine_read(c.column.data(), w.p.column, c.column.size() * sizeof(uint32_t));
    machine_read(c.value.data(), w.p.value, c.value.size() * sizeof(float));
    return c;
}

static int print_row(const char *name, uint32_t bytes, uint32_t threads, const reference &want,
                     const matrix &got)
{
    const uint32_t wrong = count_wrong_rows(want, got);

    std::printf("%-14s", name);
    if (bytes != 0) {
        std::printf(" %7u bytes, %4u threads a block", bytes, threads);
    }
    std::printf("  %u wrong rows", wrong);
    return wrong != 0;
}

/* Run all rounds of one version; 1 if C is wrong. */
static int run(work &w, version which, const options &o, const reference &want)
{
    double best[3] = { 1e30, 1e30, 1e30 };
    int    failed;

    w.p.most = (o.most != 0) ? o.most : version_most[which];
    if ((which == POOL) && (w.p.most > w.pool.largest)) {
        w.p.most = w.pool.largest;
    }
    for (uint32_t round = 0; round <= o.rounds; round++) { /* the first one allocates */
        multiply(w, which);
        if ((round > 0) && (w.total < best[2])) {
            best[0] = w.seconds[COUNT];
            best[1] = w.seconds[(w.sort != 0) ? FILL_SORTED : FILL];
            best[2] = w.total;
        }
    }
    const matrix got = result_of(w);

    failed = print_row(version_names[which],
                       (which == POOL) ? w.pool.shared_bytes : w.p.most,
                       (which == POOL) ? w.threads : (which == BLOCKS) ? w.block : SIMT_WARP, want,
                       got);
    if (w.sort != 0) {
        std::printf(", %s", is_sorted(got) ? "sorted" : "NOT SORTED");
        failed |= !is_sorted(got);
    }
#if defined(__CUDACC__)
    std::printf("; %u rows in global memory", w.seen.large);
    std::printf("; count %.3f ms, fill %.3f ms, all %.3f ms, %.2f Gflop/s", best[0] * 1e3,
                best[1] * 1e3, best[2] * 1e3, 2e-9 * static_cast<double>(w.products) / best[2]);
#endif
    std::printf("\n");
    return failed;
}

static matrix input(const options &o, const char *file)
{
    matrix      a;
    std::string wrong;

    if (file == nullptr) {
        return generate(static_cast<kind>(o.matrix), o.rows);
    }
    wrong = read_matrix(file, &a);
    if (!wrong.empty()) {
        machine_fail(file, wrong.c_str());
    }
    return a;
}

int main(int argc, char **argv)
{
    options     o;
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
          { "--sort", &o.sort, 0, 1, 1, "sort the rows of C, too" },
          { "--rounds", &o.rounds, 1, 1000, 1, "of which the fastest counts" } });
    const char *machine = machine_name("sparse");
    int         failed  = 0;

    if (machine == nullptr) {
        return 77;
    }

    const shpool_pool pool = open_block_pool(o.threads, o.pool, 256);
    const matrix      a    = input(o, file);
    const reference want = multiply(a, a);
    const csr    in   = { a.rows, machine_copy(a.begin), machine_copy(a.column),
                          machine_copy(a.value) };
    work         w;

    w.pool        = pool;
    w.threads     = o.threads;
    w.pool_blocks[COUNT] =
        machine_pool_blocks<rows_by_pool<COUNT>>(pool, o.threads, BOARD_BYTES);
    w.pool_blocks[FILL] = machine_pool_blocks<rows_by_pool<FILL>>(pool, o.threads, BOARD_BYTES);
    w.pool_blocks[FILL_SORTED] =
        machine_pool_blocks<rows_by_pool<FILL_SORTED>>(pool, o.threads, BOARD_BYTES);
    w.block       = o.block;
    w.sort        = o.sort;
    w.p.a = w.p.b = in;
    w.p.columns   = a.columns;
    w.p.products  = machine_new<uint32_t>(a.rows);
    w.p.before    = machine_new<uint32_t>(a.column.size());
    w.p.begin     = machine_new<uint32_t>(a.rows + 1u);
    w.p.large     = machine_new<uint32_t>(a.rows);
    w.p.bins      = machine_new<uint32_t>(static_cast<size_t>(BINS) * a.rows);
    w.p.sum       = machine_new<totals>(1);

    std::printf("%s, %s\nA: %u rows, %zu entries; C: %zu entries\n", machine, w.pool.name, a.rows,
                a.column.size(), want.column.size());
    for (version which : { POOL, STATIC, BLOCKS, BINNED }) {
        failed |= run(w, which, o, want);
    }
    std::printf("%llu products\n", w.products);
#if defined(SPARSE_CUSPARSE) && defined(__CUDACC__)
    matrix       got;
    const double best = by_cusparse(in, static_cast<uint32_t>(a.column.size()),
                                     o.rounds + 1u, &got);

    failed |= print_row("cuSPARSE", 0, 0, want, got);
    std::printf("; all %.3f ms, %.2f Gflop/s; its rows of C are%s sorted\n", best * 1e3,
                2e-9 * static_cast<double>(w.products) / best, is_sorted(got) ? "" : " not");
#endif
    machine_close(&w.pool);
    for (const void *p : std::initializer_list<const void *>{
             in.begin, in.column, in.value, w.p.products, w.p.before, w.p.begin, w.p.large,
             w.p.bins, w.p.sum }) {
        machine_delete(p);
    }
    return failed;
}
