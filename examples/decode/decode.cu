/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decode steps of a Llama-shaped model at batch 1: decode.h explains the kernel.
 *
 *   nvcc -O3 -arch=sm_90 -rdc=true -maxrregcount=96 decode.cu -o decode \
 *        $(pkg-config --cflags --libs shpool)
 *   c++ -O2 -x c++ decode.cu -x none -o decode_cpu \
 *        $(pkg-config --cflags --libs shpool)                    on the CPU block executor
 *
 *   ./decode [options]          --help lists them
 *
 * The model's weights are synthetic; its cache begins with --context synthetic tokens.  Versions:
 *
 *   pool    one launch a step; each block's shared memory is a pool of --pool bytes
 *   pages   the same with pages of --pages bytes, used round-robin
 *
 * 0 for one of these omits the version.  Both must choose the same tokens.  --show N prints the
 * residual stream after each layer of the first N steps, which tests compare. */
#if defined(__CUDACC__) && !defined(SHPOOL_INLINE) && !defined(DECODE_TABLE)
/* -DSHPOOL_INLINE=NAME: another allocator; -DDECODE_TABLE: $SHPOOL_ALLOCATOR */
#define SHPOOL_INLINE warp_first_fit
#endif
#include "decode.h"
#include "setup.h"

#include "../options.h"

struct options {
    shape    s;
    uint32_t context, steps, split, tile;
    uint32_t pool; /* 1: all of the shared memory */
    uint32_t page;
    uint32_t pace; /* 1: what the machine's memory allows */
    uint32_t rounds, show;
};
#if defined(__CUDACC__)
#define DEFAULTS { { 16, 2048, 32, 8, 64, 8192, 128256, 0 }, 512, 64, 3, 32768, 1, 32768, 1, 5, 0 }
#else
#define DEFAULTS { { 3, 64, 4, 2, 16, 576, 200, 0 }, 21, 2, 2, 1536, 5000, 1536, 1, 0, 0 }
#endif

struct job {
    options               o = DEFAULTS;
    model                 m = {};
    program               p = {};
    uint32_t              blocks = 0;
    std::vector<uint32_t> tokens; /* of the first version */

    machine_array<uint16_t>           weights, cache;
    machine_array<float>              turns, stream, others, logits;
    machine_array<unsigned long long> best;
    machine_array<simt_u128>          instructions;
    machine_array<uint32_t>           begin, done;
};

/* End the program: `what` with this value, and why that is wrong. */
[[noreturn]] static void refuse(const char *what, uint32_t value, const std::string &why)
{
    machine_fail(what, std::to_string(value) + " " + why);
}

static void check_shape(const shape &s)
{
    const uint32_t columns = std::max({ s.hidden, s.ff, s.query() });

    if (s.heads % s.kv_heads != 0) {
        refuse("--heads", s.heads, "is not a multiple of --kv-heads " + std::to_string(s.kv_heads));
    }
    if ((s.head_dim & (s.head_dim - 1u)) != 0) {
        refuse("--head-dim", s.head_dim, "is not a power of two");
    }
    if (columns > MOST_SEGMENTS * SEGMENT) {
        refuse("the largest of --hidden, --ff and --heads times --head-dim", columns,
               "is more than the readers' registers hold: " +
                   std::to_string(MOST_SEGMENTS * SEGMENT));
    }
}

static void make_model(job &j)
{
    model &m = j.m;

    m.s           = j.o.s;
    m.s.tokens    = j.o.context + j.o.steps;
    m.split       = j.o.split;
    m.first_token = 1;
    m.dim_bits    = static_cast<uint32_t>(std::log2(m.s.head_dim));
    m.by_group    = divisor_by(m.s.group());
    m.by_share    = divisor_by(m.s.group() + 2u);
    m.weights     = j.weights.get(m.s.weights());
    m.cache       = j.cache.get(m.s.cache());
    m.turns       = j.turns.write(rotary_table(m.s));
    m.stream      = j.stream.get(size_t{ 2 } * m.s.layers * m.s.hidden);
    m.others      = j.others.get(size_t{ m.s.layers } * m.results());
    m.logits      = j.logits.get(m.s.vocab);
    m.best        = j.best.get(j.o.steps);
    j.p.done      = j.done.get(size_t{ m.s.layers } * OPS_OF_LAYER + 1u);
    j.p.pace      = (j.o.pace == 1u) ? seam_pace(j.blocks) : j.o.pace;
    make_up_model(m, j.weights, 4u * j.blocks);
}

/* A step's layers and logits, at most 4,096 numbers of each. */
static void show(const job &j, uint32_t step)
{
    machine_wait();
    for (uint32_t l = 0; l <= j.m.s.layers; l++) {
        const bool         last = l == j.m.s.layers;
        std::vector<float> x(std::min(last ? j.m.s.vocab : j.m.s.hidden, 4096u));

        machine_read(x.data(), last ? j.m.logits : j.m.after_layer(l), x.size() * sizeof(x[0]));
        std::printf(last ? "logits %u" : "layer %u %u", last ? step : l, step);
        for (float number : x) {
            std::printf(" %.6g", number);
        }
        std::printf("\n");
    }
}

/* Bytes of shared memory before the pool, or the pages. */
static uint32_t before_pool(const shape &s)
{
    return CONTROL_BYTES + exchange_bytes(s.head_dim) + TILE_ALIGNED;
}

/* All rounds of a version: launch, time, compare the tokens.  1: they differ. */
template <class Memory>
static int run(job &j, const char *name, const Memory &memory, uint32_t tile)
{
    const uint32_t        most    = std::max(tile / (4u * j.m.s.head_dim), 1u); /* tokens of one */
    const scheduler       all(j.m, j.blocks, tile);
    std::vector<uint32_t> tokens;
    double                seconds = 1e30;

    j.p.stream = j.instructions.write(all.stream);
    j.p.begin  = j.begin.write(all.begin);
    for (uint32_t round = 0; round <= j.o.rounds; round++) {
        j.done.zero();
        j.stream.zero();
        j.others.zero();
        j.best.zero();
        machine_wait();

        const double from = machine_seconds();

        for (uint32_t step = 0; step < j.o.steps; step++) {
            const uint32_t position = j.o.context + step;
            const uint32_t share    = std::max(pieces(position, j.m.split), 1u);

            seam_launch_together(j.blocks, before_pool(j.m.s) + memory.own_bytes(),
                                 memory.of_pool(),
                                 decode_step<Memory>{ j.m, j.p, memory, step, position, share,
                                                      pieces(share, pieces(share, most)) });
            if ((round == 0) && (step < j.o.show)) {
                show(j, step);
            }
        }
        machine_wait();
        seconds = std::min(seconds, machine_seconds() - from);
    }
    for (unsigned long long best : j.best.read()) {
        tokens.push_back(static_cast<uint32_t>(~best));
    }
    if (j.tokens.empty()) {
        j.tokens = tokens;
    }
    std::printf("tokens");
    for (uint32_t token : tokens) {
        std::printf(" %u", token);
    }
#if defined(__CUDACC__)
    const double read  = j.o.context + 0.5 * j.o.steps; /* tokens of the cache */
    const double gb    = 2e-9 * (j.m.s.weights() + 2.0 * read * j.m.s.layers * j.m.s.kv_heads *
                                                       j.m.s.head_dim);
    const double every = seconds / j.o.steps;

    std::printf("\n%-6s %.4f ms a step, %.0f GB/s", name, 1e3 * every, gb / every);
#else
    std::printf("\n%-6s %u steps", name, j.o.steps);
#endif
    std::printf("%s\n", (tokens == j.tokens) ? "" : ": OTHER TOKENS");
    return tokens != j.tokens;
}

/* The largest tile, which is the least that a pool must hold at one time. */
static uint32_t largest_tile(const shape &s, uint32_t tile)
{
    return std::max({ tile, 4u * s.head_dim, 2u * std::max({ s.hidden, s.ff, s.query() }) });
}

static int run_pool(job &j, uint32_t bytes)
{
    const uint32_t largest = largest_tile(j.m.s, j.o.tile);
    uint32_t       tiles;
    const char    *spec    = nullptr; /* $SHPOOL_ALLOCATOR */
    shpool_config  want    = {};
    shpool_pool    pool    = {};

#if !defined(SHPOOL_INLINE)
    spec = (std::getenv("SHPOOL_ALLOCATOR") != nullptr) ? nullptr : "bitmap";
#endif
    want.block_threads    = decode_step<pool_memory>::THREADS;
    want.threads_per_pool = want.block_threads;
    want.total_bytes      = bytes;
    want.alignment        = TILE_ALIGNED;
    machine_need(machine_open(spec, &want, &pool), "pool");
    if (pool.largest < 2u * largest) {
        const std::string tile = ", or less than --tile " + std::to_string(j.o.tile);

        refuse("the pool", bytes, "bytes have room for " + std::to_string(pool.largest) +
               ", and two of the largest tiles need " + std::to_string(2u * largest) +
               ": more --pool" + ((largest_tile(j.m.s, 0) < largest) ? tile : ""));
    }
    std::printf("%s, %u bytes, tiles of %u\n", pool.name, pool.shared_bytes, j.o.tile);

    tiles = std::min(pool.largest / j.o.tile, SLOTS);
    const int failed = run(j, "pool", pool_memory{ pool, j.o.tile, tiles }, j.o.tile);

    machine_close(&pool);
    return failed;
}

static int run_pages(job &j, uint32_t bytes)
{
    const uint32_t pages = std::min(bytes / j.o.page, SLOTS);
    const uint32_t row   = largest_tile(j.m.s, 0);

    if (row > j.o.page) {
        refuse("--pages", j.o.page, "is less than the longest row: " + std::to_string(row));
    }
    if (pages < 2u) {
        refuse("--pages", j.o.page, "is more than half of the " + std::to_string(bytes) +
                                        " bytes that there are: two pages are needed");
    }
    std::printf("%u pages of %u bytes\n", pages, j.o.page);
    return run(j, "pages", page_memory{ pages, j.o.page }, j.o.page);
}

int main(int argc, char **argv)
{
    job      j;
    options &o = j.o;

    const char *file = read_options(
            argc, argv, "decode [options]",
            { { "--layers", &o.s.layers, 1, 1000, 1, "of the model" },
              { "--hidden", &o.s.hidden, 64, 16384, 64, "numbers of the residual stream" },
              { "--heads", &o.s.heads, 1, 256, 1, "of queries" },
              { "--kv-heads", &o.s.kv_heads, 1, 256, 1, "of keys and values" },
              { "--head-dim", &o.s.head_dim, 16, 256, 16, "dimensions of a head" },
              { "--ff", &o.s.ff, 64, 16384, 64, "numbers between up and down" },
              { "--vocab", &o.s.vocab, 2, 1u << 20, 1, "tokens that there are" },
              { "--context", &o.context, 0, 65000, 1, "tokens in the cache before the first step" },
              { "--steps", &o.steps, 1, 10000, 1, "tokens to choose" },
              { "--split", &o.split, 1, 64, 1, "parts of a head's tokens" },
              { "--tile", &o.tile, 128, 1u << 17, 128, "bytes of a tile of the pool's version" },
              { "--pool", &o.pool, 0, 1u << 18, 1, "bytes of a block's pool; 1: all, 0: none" },
              { "--pages", &o.page, 0, 1u << 17, 128, "bytes of a page; 0: none" },
              { "--pace", &o.pace, 0, 100000, 1,
                "ns for 32 KiB of a block; 1: at the memory's speed, 0: any" },
              { "--rounds", &o.rounds, 0, 1000, 1, "besides the first; the fastest counts" },
              { "--show", &o.show, 0, 10000, 1, "steps whose layers are printed" } });
    const char *machine = machine_name("decode");

    if (file != nullptr) {
        machine_fail(file, "is not an option; there are no files");
    }
    if (machine == nullptr) {
        return 77;
    }
    if (!seam_has_bulk()) {
        std::printf("decode: skipped: needs a GPU of sm_90 or newer\n");
        return 77;
    }
    check_shape(o.s);
    j.blocks = seam_blocks();
    make_model(j);
    std::printf("%s, %u blocks: %u layers, hidden %u, %u and %u heads of %u, ff %u, vocabulary %u, "
                "context %u; %.0f MB\n", machine, j.blocks, o.s.layers, o.s.hidden, o.s.heads,
                o.s.kv_heads, o.s.head_dim, o.s.ff, o.s.vocab, o.context, 2e-6 * j.m.s.weights());

    const uint32_t bytes = (o.pool > 1u) ? o.pool : seam_shared() - before_pool(o.s);

    return ((o.pool != 0) ? run_pool(j, bytes) : 0) | ((o.page != 0) ? run_pages(j, bytes) : 0);
}
