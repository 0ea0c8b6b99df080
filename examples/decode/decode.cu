/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decode steps of a Llama-shaped model at batch 1: decode.h explains the kernel.
 *
 *   nvcc -O3 -arch=sm_90 -rdc=true -DSHPOOL_INLINE=warp_first_fit decode.cu -o decode \
 *        $(pkg-config --cflags --libs shpool)
 *   c++ -O2 -x c++ decode.cu -x none -o decode_cpu \
 *        $(pkg-config --cflags --libs shpool)                    on the CPU block executor
 *
 *   ./decode [options]          --help lists them
 *
 * Without -DSHPOOL_INLINE the kernel calls $SHPOOL_ALLOCATOR by the table.  Compiled with
 * $(pkg-config --variable=lto_cflags shpool) in place of -arch, SHPOOL_BINDING=linked inlines it.
 *
 * The model's weights are synthetic; its cache begins with --context synthetic tokens.  A launch
 * runs --launch steps.  Versions:
 *
 *   pool    each block's shared memory is a pool of --pool bytes
 *   pages   the same with pages of --pages bytes, used round-robin
 *
 * 0 for one of these omits the version.  With tiles of one size both must choose the same
 * tokens.  With two sizes they may differ, because sums are rounded in another order: those of
 * attention, and those of rows where a tile has an odd number of units.  --show N prints the
 * residual stream after each layer, at the end of launches within N steps; tests compare it. */
#include "decode.h"

#include "../options.h"

struct job {
#if defined(__CUDACC__)
    uint32_t context = 512, steps = 64, tile = 32768, page = 32768, rounds = 5;
#else
    uint32_t context = 21, steps = 2, tile = 1536, page = 1536, rounds = 0;
#endif
    uint32_t pool = 1, room = 1, pace = 1, launch = 16, show = 0, blocks = 0;
    model    m = {};
    program  p = {};

    std::vector<uint32_t>             tokens; /* of the first version */
    uint32_t                          bytes = 0; /* of its tiles */
    machine_array<uint16_t>           weights, cache;
    machine_array<float>              turns, results, logits;
    machine_array<unsigned long long> best;
    machine_array<instruction>        list;
    machine_array<uint32_t>           begin, done;
};

/* End the program: `what` with this value, and why that is wrong. */
[[noreturn]] static void refuse(const char *what, uint32_t value, const std::string &why)
{
    machine_fail(what, std::to_string(value) + " " + why);
}

/* Returns the bytes of all weights. */
static size_t make_model(job &j)
{
    model &m = j.m;

    m.context = j.context;
    m.tokens  = j.context + j.steps;
    if (m.split == 0) {
        m.split = std::max(std::min(pieces(j.context, 256), j.blocks / m.heads), 3u);
    }

    const size_t weights = lay_out(m, j.tile);

    m.weights  = j.weights.get(weights);
    m.cache    = j.cache.get(m.keys(m.layers, 0));
    m.turns    = j.turns.write(rotary_table(m));
    m.results  = j.results.get(size_t{ m.layers } * (2u * m.hidden + m.others()));
    m.logits   = j.logits.get(m.vocab);
    m.best     = j.best.get(j.steps);
    j.p.done   = j.done.get(m.layers * OPS_OF_LAYER + 2u);
    j.p.ended  = j.p.done + m.layers * OPS_OF_LAYER + 1u;
    make_up_model(m, j.weights, 4u * j.blocks);
    return 2u * weights;
}

/* A step's layers and logits, at most 4,096 numbers of each. */
static void show(const job &j, uint32_t step)
{
    machine_wait();
    for (uint32_t l = 0; l <= j.m.layers; l++) {
        const bool         last = l == j.m.layers;
        std::vector<float> x(std::min(last ? j.m.vocab : j.m.hidden, 4096u));

        machine_read(x.data(), last ? j.m.logits : j.m.stream(2u * l + 1u),
                     x.size() * sizeof(x[0]));
        std::printf(last ? "logits %u" : "layer %u %u", last ? step : l, step);
        for (float number : x) {
            std::printf(" %.6g", number);
        }
        std::printf("\n");
    }
}

/* All rounds of a version: launch, time, compare the tokens.  1: they differ, and not because tiles
 * of another size round otherwise. */
template <bool POOL>
static int run(job &j, const memory &of, uint32_t before)
{
    const uint32_t        bytes = before + (POOL ? 0u : of.slots * of.bytes);
    double                seconds = 1e30;
    std::vector<uint32_t> begin, tokens;

    (void)lay_out(j.m, of.bytes);
    const std::vector<instruction> list = schedule(j.m, j.blocks, &begin);

    j.p.list   = j.list.write(list);
    j.p.blocks = 0;
    for (uint32_t first : begin) {
        j.p.blocks += list[first].op() != OP_COUNT;
    }
    j.p.begin = j.begin.write(begin);
    for (uint32_t round = 0; round <= j.rounds; round++) {
        j.done.zero();
        j.results.zero();
        j.best.zero();
        machine_wait();

        const double from = machine_seconds();

        for (j.p.number = 0; j.p.number < j.steps; j.p.number += j.p.steps) {
            j.p.steps = std::min(j.launch, j.steps - j.p.number);
            seam_launch_together(j.blocks, bytes, POOL ? &of.pool : nullptr,
                                 decode_step<POOL>{ j.m, j.p, of });
            if ((round == 0) && (j.p.number + j.p.steps <= j.show)) {
                show(j, j.p.number + j.p.steps - 1u);
            }
        }
        machine_wait();
        seconds = std::min(seconds, machine_seconds() - from);
    }
    std::printf("tokens");
    for (unsigned long long best : j.best.read()) {
        if (best == 0) {
            std::printf(": none, because the code is not for sm_90 or newer (-arch, lto_cflags)\n");
            return 1;
        }
        tokens.push_back(static_cast<uint32_t>(~best));
        std::printf(" %u", tokens.back());
    }
    if (j.tokens.empty()) {
        j.tokens = tokens;
        j.bytes  = of.bytes;
    }
    std::printf("\n%-6s %.4f ms a step%s\n", POOL ? "pool" : "pages", 1e3 * seconds / j.steps,
                (tokens == j.tokens)    ? ""
                : (of.bytes == j.bytes) ? ": OTHER TOKENS"
                                        : ": other tokens, as tiles of another size may choose");
    return (tokens != j.tokens) && (of.bytes == j.bytes);
}

static int run_pool(job &j, uint32_t bytes, uint32_t before)
{
    const uint32_t largest = std::max(j.tile, least_tile(j.m));
    shpool_config  want    = {};
    memory         of      = {};

    want.block_threads    = decode_step<true>::THREADS;
    want.threads_per_pool = want.block_threads;
    want.total_bytes      = bytes;
    want.alignment        = TILE_ALIGNED;
    machine_need(machine_open(nullptr, &want, &of.pool), "pool");
    if (of.pool.largest < 2u * largest) {
        const std::string tile = ", or less than --tile " + std::to_string(j.tile);

        refuse("the pool", bytes, "bytes have room for " + std::to_string(of.pool.largest) +
               ", and two of the largest tiles need " + std::to_string(2u * largest) +
               ": more --pool" + ((least_tile(j.m) < largest) ? tile : ""));
    }
    if (j.room > of.pool.largest / 2u) {
        refuse("--room", j.room, "is more than half of the " + std::to_string(of.pool.largest) +
                                     " bytes that the pool has room for");
    }
    of.bytes = fitting_tile(j.m, j.tile, std::min(bytes / j.tile, SLOTS - 1u), of.pool.largest);
    of.room  = (j.room == 1u) ? of.bytes : j.room;
    of.slots = (of.room >= of.bytes) ? std::min(of.pool.largest / of.room, SLOTS) : SLOTS;
    std::printf("%s, %u bytes, %u tiles of %u\n", of.pool.name, of.pool.shared_bytes, of.slots,
                of.bytes);

    const int failed = run<true>(j, of, before);

    machine_close(&of.pool);
    return failed;
}

static int run_pages(job &j, uint32_t bytes, uint32_t before)
{
    const memory   of    = { {}, j.page, j.page, std::min(bytes / j.page, SLOTS) };
    const uint32_t least = least_tile(j.m);

    if (least > j.page) {
        refuse("--pages", j.page, "is less than the longest row: " + std::to_string(least));
    }
    if (of.slots < 2u) {
        refuse("--pages", j.page, "is more than half of the " + std::to_string(bytes) +
                                      " bytes that there are: two pages are needed");
    }
    std::printf("%u pages of %u bytes\n", of.slots, j.page);
    return run<false>(j, of, before);
}

int main(int argc, char **argv)
{
    const uint32_t longest = MOST_SEGMENTS * SEGMENT; /* row that the readers' registers hold */
    job            j;
    model         &m    = j.m;
    (void)read_options(
            argc, argv, "decode [options]",
            { { "--layers", &m.layers, 1, 1000, 1, "of the model" },
              { "--hidden", &m.hidden, 64, longest, 64, "numbers of the residual stream" },
              { "--heads", &m.heads, 1, 256, 1, "of queries" },
              { "--kv-heads", &m.kv_heads, 1, 256, 1, "of keys and values" },
              { "--head-dim", &m.head_dim, 16, 256, 8, "dimensions of a head" },
              { "--ff", &m.ff, 64, 65536, 8, "numbers between up and down" },
              { "--vocab", &m.vocab, 2, 1u << 20, 1, "tokens that there are" },
              { "--context", &j.context, 0, 65000, 1, "tokens in the cache before the first step" },
              { "--steps", &j.steps, 1, 10000, 1, "tokens to choose" },
              { "--launch", &j.launch, 1, 10000, 1, "steps of a launch" },
              { "--split", &m.split, 0, 64, 1,
                "parts of a head's tokens; 0: 3, or as many as there are blocks for" },
              { "--panel", &m.panel, 64, longest, 8, "most numbers of a row of out and down" },
              { "--tile", &j.tile, 128, 1u << 17, 128,
                "bytes of a tile of the pool's version; others where pages would fit once more" },
              { "--pool", &j.pool, 0, 1u << 18, 1, "bytes of a block's pool; 1: all, 0: none" },
              { "--room", &j.room, 0, 1u << 17, 1,
                "least memory of a tile of the pool; 0: its own bytes, 1: those of --tile" },
              { "--pages", &j.page, 0, 1u << 17, 128, "bytes of a page; 0: none" },
              { "--pace", &j.pace, 0, 100000, 1,
                "ns for 32 KiB of a block; 1: at the memory's speed, 0: any" },
              { "--rounds", &j.rounds, 0, 1000, 1, "besides the first; the fastest counts" },
              { "--show", &j.show, 0, 10000, 1, "print layers after launches within N steps" } });
    const char *machine = machine_name("decode");

    if ((j.pool == 0) && (j.page == 0)) {
        machine_fail("--pool 0 --pages 0", "leave nothing to run");
    }
    if (m.heads % m.kv_heads != 0) {
        refuse("--heads", m.heads, "is not a multiple of --kv-heads " + std::to_string(m.kv_heads));
    }
    if (machine == nullptr) {
        return 77;
    }

    const seam_facts facts = seam_machine();

    if (!facts.has_bulk) {
        std::printf("decode: skipped: needs a GPU of sm_90 or newer\n");
        return 77;
    }
    j.blocks   = facts.blocks;
    j.p.pace   = (j.pace == 1u) ? facts.pace : j.pace;

    const size_t   weights = make_model(j);
    const uint32_t before  = CONTROL_BYTES + exchange_bytes(m.head_dim) + TILE_ALIGNED;
    const uint32_t bytes   = (j.pool > 1u) ? j.pool : facts.shared - before;

    std::printf("%s, %u blocks: %u layers, hidden %u, %u and %u heads of %u, ff %u, vocabulary %u, "
                "context %u; %.0f MB\n", machine, j.blocks, m.layers, m.hidden, m.heads, m.kv_heads,
                m.head_dim, m.ff, m.vocab, j.context, 1e-6 * weights);
    return ((j.pool != 0) ? run_pool(j, bytes, before) : 0) |
           ((j.page != 0) ? run_pages(j, bytes, before) : 0);
}
