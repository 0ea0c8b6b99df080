/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sparse matrix product C = A * A with a hash table for each row, in shared memory: rows.h.
 *
 *   nvcc -O3 -rdc=true sparse.cu -o sparse $(pkg-config --cflags --libs shpool)
 *   nvcc -O3 -rdc=true -DSPARSE_CUSPARSE sparse.cu -o sparse \
 *        $(pkg-config --cflags --libs shpool) -lcusparse            with cuSPARSE beside it
 *   c++ -O2 -x c++ sparse.cu -x none -o sparse_cpu \
 *        $(pkg-config --cflags --libs shpool)                       on the CPU block executor
 *
 *   ./sparse [options] [FILE.mtx]          --help lists them
 *
 * The versions differ in where a row's table comes from:
 *
 *   pool             what the row needs, from a pool that all warps of a block share
 *   static           an array for each warp, as long as the longest table (--most)
 *   static, blocks   an array for each block (--block), whose warps do a row together
 *   binned           static arrays too, but rows are first sorted by the size of their tables, and
 *                    each power of two has a launch of its own: what one writes who has no
 *                    allocator
 *
 * Rows whose tables are longer than --most are done in global memory, in each version alike.  Every
 * C is compared with the CPU's.
 */
#include "prepare.h"

#include "../options.h"
#include "matrix.h"

#if defined(SPARSE_CUSPARSE) && defined(__CUDACC__)
#include "cusparse.h"
#endif

#if defined(__CUDACC__)
#define ROWS         (1u << 18)
#define ROUNDS       5
#define SCAN         SCAN_THREADS
#define POOL_THREADS 512u
#define POOL_BYTES   (96u * 1024u)
#define MOST         (32u * 1024u)
#define BLOCK        128u
#else /* a fiber for each thread: small, and still rows of each kind */
#define ROWS         300u
#define ROUNDS       1
#define SCAN         64u
#define POOL_THREADS 128u
#define POOL_BYTES   (4u * 1024u)
#define MOST         (2u * 1024u)
#define BLOCK        64u
#endif
#define BLOCK_THREADS 256u

struct options {
    uint32_t rows    = ROWS;
    uint32_t pool    = POOL_BYTES;
    uint32_t threads = POOL_THREADS;
    uint32_t most    = MOST;
    uint32_t block   = BLOCK;
    uint32_t rounds  = ROUNDS;
};

enum version { POOL, STATIC, BLOCKS, BINNED };
static const char *const version_names[] = { "pool", "static", "static, blocks", "binned" };

/* A product in the making, and what a round of it took. */
struct work {
    product         p = {};
    totals          seen;     /* of the last step that was read */
    shpool_pool     pool = {};
    uint32_t        threads = 0; /* of a block with a pool */
    uint32_t        block   = 0; /* threads of one that shares a row */
    machine_array<uint32_t> tables, column;
    machine_array<float>    value;
    uint32_t        entries = 0; /* of C */
    uint32_t        unserved = 0;
    unsigned long long products = 0;
    double          seconds[2] = {}; /* of the passes */
    double          total      = 0;
};

static void read_totals(work &w) { machine_read(&w.seen, w.p.sum, sizeof(w.seen)); }

template <pass Pass>
static void rows_in_bins(work &w)
{
    rows_by_array<Pass> kernel = { w.p, nullptr, 0, 0 };

    machine_launch(machine_blocks<sort_rows<Pass>>(BLOCK_THREADS, 0), BLOCK_THREADS, 0,
                   sort_rows<Pass>{ w.p });
    read_totals(w);
    for (uint32_t bin = BINS; bin-- > 0;) { /* the long ones first */
        uint32_t warps = 4;

        kernel.list  = w.p.bins + static_cast<size_t>(bin) * w.p.a.rows;
        kernel.count = w.seen.in_bin[bin];
        kernel.bytes = 256u << bin;
        while ((warps > 1u) && (warps * kernel.bytes > 32u * 1024u)) {
            warps /= 2u;
        }
        if (kernel.count != 0) {
            const uint32_t blocks = machine_blocks<rows_by_array<Pass>>(warps * SIMT_WARP,
                                                                        warps * kernel.bytes);

            machine_zero(&w.p.sum->next, sizeof(w.p.sum->next));
            machine_launch(blocks, warps * SIMT_WARP, warps * kernel.bytes, kernel);
        }
    }
}

/* One pass over all rows.  w.seen is what count_products or sum_lengths left. */
template <pass Pass>
static void do_pass(work &w, version which)
{
    const uint32_t     large = w.seen.large;
    const size_t       words = w.seen.longest;
    rows_by_pool<Pass> by_pool = { w.p, w.pool };
    const double       from  = machine_seconds();

    if (which == POOL) {
        machine_launch(machine_blocks<rows_by_pool<Pass>>(w.threads, w.pool.shared_bytes),
                       w.threads, w.pool.shared_bytes, by_pool);
    } else if (which == STATIC) {
        machine_launch(machine_blocks<rows_by_array<Pass>>(SIMT_WARP, w.p.most), SIMT_WARP,
                       w.p.most, rows_by_array<Pass>{ w.p, nullptr, w.p.a.rows, w.p.most });
    } else if (which == BLOCKS) {
        const uint32_t bytes = TURN_BYTES + w.p.most;

        machine_launch(machine_blocks<rows_by_shared_array<Pass>>(w.block, bytes), w.block, bytes,
                       rows_by_shared_array<Pass>{ w.p });
    } else {
        rows_in_bins<Pass>(w);
    }
    if (large != 0) {
        const uint32_t most   = machine_blocks<rows_by_block<Pass>>(BLOCK_THREADS, 0);
        const uint32_t blocks = (large < most) ? large : most;

        machine_launch(blocks, BLOCK_THREADS, 0,
                       rows_by_block<Pass>{ w.p, w.tables.get(blocks * words) });
    }
    machine_wait();
    w.seconds[Pass] = machine_seconds() - from;
}

static void multiply(work &w, version which)
{
    const double from = machine_seconds();

    machine_zero(w.p.sum, sizeof(*w.p.sum));
    machine_launch(machine_blocks<count_products>(BLOCK_THREADS, 0), BLOCK_THREADS, 0,
                   count_products{ w.p });
    read_totals(w);
    w.products = w.seen.products;
    do_pass<COUNT>(w, which);

    read_totals(w);
    w.unserved = w.seen.unserved;
    machine_zero(w.p.sum, sizeof(*w.p.sum));
    machine_launch(1, SCAN, SCAN * 4u, sum_lengths{ w.p });
    machine_read(&w.entries, w.p.begin + w.p.a.rows, sizeof(w.entries));
    w.p.column = w.column.get(w.entries);
    w.p.value  = w.value.get(w.entries);
    read_totals(w);
    do_pass<FILL>(w, which);
    w.total = machine_seconds() - from;
    read_totals(w);
    w.unserved += w.seen.unserved;
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
                     const matrix &got, uint32_t unserved)
{
    const uint32_t wrong = count_wrong_rows(want, got);

    std::printf("%-14s", name);
    if (bytes != 0) {
        std::printf(" %7u bytes, %4u threads a block", bytes, threads);
    }
    std::printf("  %u wrong rows, %u without memory", wrong, unserved);
    return (wrong != 0) || (unserved != 0);
}

/* All rounds of one version; 1 if C is wrong. */
static int run(work &w, version which, const options &o, const reference &want)
{
    double best[3] = { 1e30, 1e30, 1e30 };
    int    failed;

    for (uint32_t round = 0; round <= o.rounds; round++) { /* the first one allocates */
        multiply(w, which);
        if ((round > 0) && (w.total < best[2])) {
            best[0] = w.seconds[COUNT];
            best[1] = w.seconds[FILL];
            best[2] = w.total;
        }
    }
    failed = print_row(version_names[which],
                       (which == POOL) ? w.pool.shared_bytes : (which != BINNED) ? o.most : 0u,
                       (which == POOL) ? w.threads : (which == BLOCKS) ? w.block : SIMT_WARP, want,
                       result_of(w), w.unserved);
#if defined(__CUDACC__)
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
        return generate(o.rows);
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
          { "--pool", &o.pool, 64, 1u << 20, 1, "bytes of a block's pool" },
          { "--threads", &o.threads, 32, 1024, 32, "of a block with a pool" },
          { "--most", &o.most, 64, LONGEST, 16, "bytes of the longest table in shared memory" },
          { "--block", &o.block, 32, 1024, 32, "threads of a block that shares a row" },
          { "--rounds", &o.rounds, 1, 1000, 1, "of which the fastest counts" } });
    const char *machine = machine_name("sparse");
    int         failed  = 0;

    if (machine == nullptr) {
        return 77;
    }

    const shpool_pool pool = open_block_pool(o.threads, o.pool, o.most);
    const matrix      a    = input(o, file);
    const reference want = multiply(a, a);
    const csr    in   = { a.rows, machine_copy(a.begin), machine_copy(a.column),
                          machine_copy(a.value) };
    work         w;

    w.pool        = pool;
    w.threads     = o.threads;
    w.block       = o.block;
    w.p.a = w.p.b = in;
    w.p.columns   = a.columns;
    w.p.most      = o.most;
    w.p.products  = machine_new<uint32_t>(a.rows);
    w.p.begin     = machine_new<uint32_t>(a.rows + 1u);
    w.p.large     = machine_new<uint32_t>(a.rows);
    w.p.bins      = machine_new<uint32_t>(static_cast<size_t>(BINS) * a.rows);
    w.p.sum       = machine_new<totals>(1);

    std::printf("%s, %s\nA: %u rows, %zu entries; C: %zu entries\n", machine, w.pool.name, a.rows,
                a.column.size(), want.column.size());
    for (version which : { POOL, STATIC, BLOCKS, BINNED }) {
        failed |= run(w, which, o, want);
    }
    std::printf("%llu products; tables longer than %u bytes: %u rows\n", w.products, w.p.most,
                w.seen.large);
#if defined(SPARSE_CUSPARSE) && defined(__CUDACC__)
    matrix       got;
    const double best = by_cusparse(in, static_cast<uint32_t>(a.column.size()),
                                     o.rounds + 1u, &got);

    failed |= print_row("cuSPARSE", 0, 0, want, got, 0);
    std::printf("; all %.3f ms, %.2f Gflop/s; its rows of C are%s sorted\n", best * 1e3,
                2e-9 * static_cast<double>(w.products) / best, is_sorted(got) ? "" : " not");
#endif
    machine_close(&w.pool);
    for (const void *p : std::initializer_list<const void *>{
             in.begin, in.column, in.value, w.p.products, w.p.begin, w.p.large, w.p.bins,
             w.p.sum }) {
        machine_delete(p);
    }
    return failed;
}
