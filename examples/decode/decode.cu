/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decode steps of a Llama-shaped model at batch 1: decode.h explains the kernel.
 *
 *   nvcc -O3 -arch=sm_90 -rdc=true decode.cu -o decode $(pkg-config --cflags --libs shpool)
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
 * 0 for one of these omits the version.  Both must choose the same tokens.  With --check 1 each
 * step is compared with the host's, layer by layer (small shapes only). */
#if defined(__CUDACC__) && !defined(SHPOOL_INLINE) && !defined(DECODE_TABLE)
/* -DSHPOOL_INLINE=NAME: another allocator; -DDECODE_TABLE: $SHPOOL_ALLOCATOR */
#define SHPOOL_INLINE warp_first_fit
#endif
#include "decode.h"
#include "reference.h"

#include "../options.h"

struct options {
    shape    s;
    uint32_t context, steps, split, tile;
    uint32_t pool; /* 1: all of the shared memory */
    uint32_t page;
    uint32_t pace; /* 1: what the machine's memory allows */
    uint32_t rounds, check, show;
};
#if defined(__CUDACC__)
#define DEFAULTS \
    { { 16, 2048, 32, 8, 64, 8192, 128256, 0 }, 512, 64, 3, 32768, 1, 32768, 1, 5, 0, 0 }
#else
#define DEFAULTS { { 3, 64, 4, 2, 16, 576, 200, 0 }, 21, 2, 2, 1536, 5000, 1536, 1, 0, 1, 0 }
#endif

struct job {
    options               o = DEFAULTS;
    model                 m = { {}, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                0, 0, 0, divisor(1), divisor(1) };
    program               p = {};
    uint32_t              blocks = 0;
    std::vector<uint32_t> tokens; /* of the first version */

    machine_array<uint16_t>           weights, cache;
    machine_array<float>              turns, stream, others, logits;
    machine_array<unsigned long long> best;
    machine_array<simt_u128>          instructions;
    machine_array<uint32_t>           begin, done;
};

/* ---- setting up ---- */

/* End the program: `what` with this value, and why that is wrong. */
[[noreturn]] static void refuse(const char *what, uint32_t value, const std::string &why)
{
    machine_fail(what, std::to_string(value) + " " + why);
}

static void check_shape(const options &o)
{
    const shape   &s       = o.s;
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

static std::vector<float> rotary_table(const shape &s)
{
    std::vector<float> turns;

    for (uint32_t position = 0; position < s.tokens; position++) {
        for (uint32_t i = 0; i < s.head_dim / 2u; i++) {
            const double angle = position * std::pow(ROTARY_BASE, -2.0 * i / s.head_dim);

            turns.push_back(static_cast<float>(std::cos(angle)));
            turns.push_back(static_cast<float>(std::sin(angle)));
        }
    }
    return turns;
}

static void make_model(job &j)
{
    model &m = j.m;

    m.s           = j.o.s;
    m.s.tokens    = j.o.context + j.o.steps;
    m.split       = j.o.split;
    m.first_token = 1;
    m.dim_bits    = static_cast<uint32_t>(std::log2(m.s.head_dim));
    m.by_group    = divisor(m.s.group());
    m.by_share    = divisor(m.s.group() + 2u);
    m.weights     = j.weights.get(m.s.weights());
    m.cache       = j.cache.get(m.s.cache());
    m.turns       = j.turns.write(rotary_table(m.s));
    m.stream      = j.stream.get(size_t{ 2 } * m.s.layers * m.s.hidden);
    m.others      = j.others.get(size_t{ m.s.layers } * m.results());
    m.logits      = j.logits.get(m.s.vocab);
    m.best        = j.best.get(j.o.steps);
    j.p.done      = j.done.get(size_t{ m.s.layers } * OPS_OF_LAYER + 1u);
    j.p.pace      = (j.o.pace == 1u) ? seam_pace(j.blocks) : j.o.pace;
    j.cache.zero();
    make_up_model(m, j.weights, j.o.context, 4u * j.blocks);
}

static void make_program(job &j, uint32_t tile)
{
    const schedule all = scheduler(j.m, j.blocks, tile).run();

    j.p.stream = j.instructions.write(all.stream);
    j.p.begin  = j.begin.write(all.begin);
}

/* Reset to the state before the first step. */
static void start_again(job &j)
{
    j.done.zero();
    j.stream.zero();
    j.others.zero();
    j.best.zero();
    machine_wait();
}

/* ---- versions: launch(step) starts a step ---- */

/* A key or value near the middle between two numbers of bf16 may be rounded to the other one: the
 * machine's vectors have 16 bits.  At a short context this makes up to 0.3 %. */
#define TOLERANCE 5e-3

/* The largest difference, relative to the root of the mean square. */
static double difference(const float *on_machine, const std::vector<float> &want)
{
    std::vector<float> got(want.size());
    double             square = 0;
    double             most   = 0;

    machine_read(got.data(), on_machine, got.size() * sizeof(got[0]));
    for (size_t i = 0; i < got.size(); i++) {
        square += static_cast<double>(want[i]) * want[i];
        most = std::max(most, std::fabs(static_cast<double>(got[i]) - want[i]));
        most = std::isnan(got[i]) ? 1e30 : most;
    }
    return most / std::sqrt(square / static_cast<double>(got.size()));
}

/* The token that a step has chosen. */
static uint32_t chosen(const job &j, uint32_t step)
{
    return static_cast<uint32_t>(~j.best.read()[step]);
}

/* Compare the last step with the host's; 1: a layer or the token is wrong. */
static int check(const job &j, uint32_t step, reference &host)
{
    int    wrong = 0;
    double worst = 0;

    host.step((step == 0) ? j.m.first_token : chosen(j, step - 1u));
    for (uint32_t l = 0; l < j.m.s.layers; l++) {
        const double here = difference(j.m.after_layer(l), host.after_layer[l]);

        if (!(here <= TOLERANCE)) {
            std::printf("step %u, layer %u: a difference of %g\n", step, l, here);
            wrong = 1;
        }
        worst = std::max(worst, here);
    }
    const double   logits = difference(j.m.logits, host.logits);
    const uint32_t token  = static_cast<uint32_t>(
        std::max_element(host.logits.begin(), host.logits.end()) - host.logits.begin());

    wrong |= !(logits <= TOLERANCE) || (chosen(j, step) != token);
    std::printf("step %u is %s: token %u and %u, largest difference %.1e, of the logits %.1e\n",
                step, wrong ? "WRONG" : "right", chosen(j, step), token, worst, logits);
    return wrong;
}

static void show_layers(const job &j)
{
    std::vector<float> x(j.m.s.hidden);

    for (uint32_t l = 0; l < j.m.s.layers; l++) {
        double square = 0;

        machine_read(x.data(), j.m.after_layer(l), x.size() * sizeof(x[0]));
        for (float v : x) {
            square += static_cast<double>(v) * v;
        }
        std::printf("layer %u: %.6g %.6g %.6g %.6g\n", l, std::sqrt(square / j.m.s.hidden), x[0],
                    x[1], x[j.m.s.hidden - 1u]);
    }
}

/* All rounds of a version; the first one is checked, and so is slower. */
template <class Launch>
static int run(job &j, const char *name, Launch launch)
{
    reference             host(j.m.s, (j.o.check != 0) ? j.o.context : 0u);
    std::vector<uint32_t> tokens;
    double                seconds = 1e30;
    int                   wrong   = 0;

    for (uint32_t round = 0; round <= j.o.rounds; round++) {
        start_again(j);

        const double from = machine_seconds();

        for (uint32_t step = 0; step < j.o.steps; step++) {
            launch(step);
            if ((j.o.check != 0) && (round == 0)) {
                machine_wait();
                wrong |= check(j, step, host);
            }
            if ((j.o.show != 0) && (round == 0) && (step == 0) && j.tokens.empty()) {
                machine_wait();
                show_layers(j);
            }
        }
        machine_wait();
        seconds = std::min(seconds, machine_seconds() - from);
    }
    for (uint32_t step = 0; step < j.o.steps; step++) {
        tokens.push_back(chosen(j, step));
    }
    if (j.tokens.empty()) {
        std::printf("tokens");
        for (uint32_t token : tokens) {
            std::printf(" %u", token);
        }
        std::printf("\n");
        j.tokens = tokens;
    }
#if defined(__CUDACC__)
    const double tokens_read = j.o.context + 0.5 * j.o.steps;
    const double bytes = 2.0 * (j.m.s.weights() + 2.0 * tokens_read * j.m.s.layers *
                                                      j.m.s.kv_heads * j.m.s.head_dim);

    std::printf("%-6s %.4f ms a step, %.0f GB/s", name, 1e3 * seconds / j.o.steps,
                1e-9 * bytes * j.o.steps / seconds);
#else
    std::printf("%-6s %u steps", name, j.o.steps);
#endif
    std::printf("%s\n", (tokens == j.tokens) ? "" : ": OTHER TOKENS");
    return wrong | (tokens != j.tokens);
}

template <class Memory>
static int run_persistent(job &j, const char *name, const Memory &memory, uint32_t bytes,
                          uint32_t tile)
{
    const uint32_t most = std::max(tile / (4u * j.m.s.head_dim), 1u); /* tokens of a tile */

    return run(j, name, [&](uint32_t step) {
        const uint32_t share = std::max(pieces(j.o.context + step, j.m.split), 1u);

        seam_launch_together(j.blocks, CONTROL_BYTES + TILE_ALIGNED + bytes,
                             decode_step<Memory>{ j.m, j.p, memory, step, j.o.context + step,
                                                  share, pieces(share, pieces(share, most)) });
    });
}

/* The largest tile, which is the least that a pool must hold at one time. */
static uint32_t largest_tile(const job &j, uint32_t tile)
{
    return std::max({ tile, 4u * j.m.s.head_dim,
                      2u * std::max({ j.m.s.hidden, j.m.s.ff, j.m.s.query() }) });
}

static int run_pool(job &j)
{
    const uint32_t whole   = seam_shared() - CONTROL_BYTES - TILE_ALIGNED;
    const uint32_t largest = largest_tile(j, j.o.tile);
    shpool_config  want    = {};
    shpool_pool    pool    = {};

    make_program(j, j.o.tile);
    want.block_threads    = decode_step<pool_memory>::THREADS;
    want.threads_per_pool = want.block_threads;
    want.total_bytes      = (j.o.pool == 1u) ? whole : j.o.pool;
    want.alignment        = TILE_ALIGNED;
    machine_need(machine_open(
#if defined(SHPOOL_INLINE)
                     nullptr,
#else
                     (std::getenv("SHPOOL_ALLOCATOR") != nullptr) ? nullptr : "bitmap",
#endif
                     &want, &pool), "pool");
    if (pool.largest < 2u * largest) {
        const std::string tile = ", or less than --tile " + std::to_string(j.o.tile);

        refuse("the pool", want.total_bytes,
               "bytes have room for " + std::to_string(pool.largest) +
                   ", and two of the largest tiles need " + std::to_string(2u * largest) +
                   ": more --pool" + ((largest_tile(j, 0) < largest) ? tile : ""));
    }
    std::printf("%s, %u bytes, tiles of %u\n", pool.name, pool.shared_bytes, j.o.tile);

    const int failed = run_persistent(j, "pool", pool_memory{ pool }, pool.shared_bytes,
                                      j.o.tile);

    machine_close(&pool);
    return failed;
}

static int run_pages(job &j)
{
    const uint32_t whole = seam_shared() - CONTROL_BYTES - TILE_ALIGNED;
    const uint32_t bytes = (j.o.pool > 1u) ? j.o.pool : whole;
    const uint32_t pages = std::min(bytes / j.o.page, SLOTS);
    const uint32_t row   = largest_tile(j, 0);

    make_program(j, j.o.page);
    if (row > j.o.page) {
        refuse("--pages", j.o.page, "is less than the longest row: " + std::to_string(row));
    }
    if (pages < 2u) {
        refuse("--pages", j.o.page, "is more than half of the " + std::to_string(bytes) +
                                        " bytes that there are: two pages are needed");
    }
    std::printf("%u pages of %u bytes\n", pages, j.o.page);
    return run_persistent(j, "pages", page_memory{ pages, j.o.page }, pages * j.o.page, j.o.page);
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
              { "--check", &o.check, 0, 1, 1, "compare with the host's" },
              { "--show", &o.show, 0, 1, 1, "what the first step's layers give" } });
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
    check_shape(o);
    j.blocks = seam_blocks();
    make_model(j);
    std::printf("%s, %u blocks: %u layers, hidden %u, %u and %u heads of %u, ff %u, vocabulary %u, "
                "context %u; %.0f MB\n", machine, j.blocks, o.s.layers, o.s.hidden, o.s.heads,
                o.s.kv_heads, o.s.head_dim, o.s.ff, o.s.vocab, o.context, 2e-6 * j.m.s.weights());

    return ((o.pool != 0) ? run_pool(j) : 0) | ((o.page != 0) ? run_pages(j) : 0);
}
