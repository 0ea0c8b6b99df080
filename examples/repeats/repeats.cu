/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how repetitive each document of a collection is: grams.h.
 *
 *   nvcc -O3 -rdc=true repeats.cu -o repeats $(pkg-config --cflags --libs shpool)
 *   c++ -O2 -x c++ repeats.cu -x none -o repeats_cpu \
 *        $(pkg-config --cflags --libs shpool)                    on the CPU block executor
 *
 *   ./repeats [options] [FILE]          --help lists them
 *
 * Each line of FILE is a document; without FILE they are generated.  The version with a pool has
 * its allocator's name; `binned` is the usual solution without one, a launch for each size of
 * documents.  Every count is compared with the CPU's.
 */
#include "documents.h"
#include "versions.h"

#include "../options.h"

/* Bytes of a document for each of its warps; words of the made-up vocabulary and first document */
static const uint32_t team_bytes = MACHINE_PICK(4096, 512);
static const uint32_t vocabulary = MACHINE_PICK(100000, 1000), first_words = MACHINE_PICK(0, 1200);

struct job {
    collection            c = {};
    documents             all;
    std::vector<uint32_t> want;
    uint32_t              last = 0; /* class */

    uint32_t megabytes = MACHINE_PICK(64, 0), middle = MACHINE_PICK(200, 30); /* see main() */
    uint32_t pool = MACHINE_PICK(96, 24) << 10, threads = MACHINE_PICK(512, 256);
    uint32_t most = MACHINE_PICK(64, 16) << 10, rounds = MACHINE_PICK(5, 1);
};

/* Documents of classes first..last. */
static part part_of(const job &j, uint32_t first, uint32_t last, uint32_t bytes)
{
    return { j.all.end[last + 1u], j.all.end[first], last, bytes };
}

/* The last class whose documents need at most `bytes`, or class 0. */
static uint32_t class_within(uint32_t bytes)
{
    uint32_t which = 0;

    while ((which + 1u < CLASSES) && (class_bytes(which + 1u) <= bytes)) { which++; }
    return which;
}

/* Run all rounds of one version: launch, time, check, print a line.  1 if a count is wrong. */
template <class Launch>
static int run(job &j, const char *name, uint32_t shared_bytes, const Launch &launch)
{
    std::vector<uint32_t> got(j.want.size());
    size_t                wrong = 0;
    const auto            clear = [&] {
        machine_zero(j.c.repeats, got.size() * sizeof(got[0]));
        machine_zero(j.c.next, CLASSES * sizeof(j.c.next[0]));
    };
    const double          best  = machine_best(j.rounds, clear, launch);

    machine_read(got.data(), j.c.repeats, got.size() * sizeof(got[0]));
    for (size_t i = 0; i < got.size(); i++) { wrong += got[i] != j.want[i]; }
    std::printf("%-14s %6u bytes; %zu wrong counts", name, shared_bytes, wrong);
    if (MACHINE_PICK(true, false)) {
        std::printf("; %.3f ms, %.1f GB/s", best * 1e3, 1e-9 * (double)j.all.bytes / best);
    }
    std::printf("\n");
    return wrong != 0;
}

/* The stages' parts.  A document goes to the smallest team with a warp for each team_bytes, but
 * none is larger than half of the block.  If the pool has room for the longest document of each
 * team of a stage, they allocate once.  With 512 threads on a GPU:
 *
 *   bytes, up to   4 KiB   8 KiB   16 KiB   32 KiB   64 KiB
 *   warps              1       2        4        8        8 */
static grams_in_pool in_pool(const job &j)
{
    const uint32_t warps  = j.threads / SIMT_WARP;
    grams_in_pool  kernel = { j.c, {} };
    uint32_t       last   = j.last;

    for (uint32_t stage = 0; stage < STAGES; stage++) {
        const uint32_t each    = (stage < SINGLES) ? warps >> (stage + 1u) : 1u;
        const uint32_t smaller = (stage + 1u < SINGLES) ? warps >> (stage + 2u) : 1u;
        const uint32_t first   = (stage < SINGLES) ? class_within(smaller * team_bytes) + 1u : 0u;
        const uint32_t most    = class_bytes(last);

        if (((each > 1u) || (stage == SINGLES)) && (first <= last)) {
            kernel.stages[stage] = part_of(j, first, last,
                                           (most <= j.pool / (warps / each)) ? most : 0u);
            last                 = first - 1u;
        }
    }
    return kernel;
}

static int run_pool(job &j, const shpool_pool &pool)
{
    const grams_in_pool kernel = in_pool(j);

    return run(j, pool.name, pool.shared_bytes, [&] {
        machine_launch_pool(pool, ~0u, j.threads, BOARD_BYTES, kernel, 1);
    });
}

/* A launch for each class, those of long documents first; a warp for each document that deserves
 * only one, a block for each longer one. */
static int run_binned(job &j)
{
    const uint32_t warps = 4;

    return run(j, "binned", class_bytes(j.last), [&] {
        for (uint32_t k = j.last + 1u; k-- > 0;) {
            const uint32_t each  = class_bytes(k);
            const part     all   = part_of(j, k, k, each);
            const uint32_t count = all.to - all.from;

            if (each <= team_bytes) {
                machine_fill((count + warps - 1u) / warps, warps * SIMT_WARP,
                             TURN_BYTES + warps * each, grams_by<whole_warp>{ j.c, all },
                             k + 1u);
            } else {
                machine_fill(count, std::min(each / team_bytes * SIMT_WARP, 1024u),
                             TURN_BYTES + each, grams_by<whole_block>{ j.c, all }, k + 1u);
            }
        }
    });
}

static void print_documents(const job &j, const char *machine)
{
    double sums[LENGTHS] = {};

    for (size_t i = 0; i < j.want.size(); i++) { sums[i % LENGTHS] += j.want[i]; }
    std::printf("%s\n%zu bytes, %zu documents, %zu words; %zu longer documents are left out\n"
                "repeated on average:", machine, j.all.bytes, j.all.order.size(),
                j.all.hash.size(), j.all.left_out);
    for (double sum : sums) { std::printf(" %.1f", sum / (double)j.all.order.size()); }
    std::printf(" runs of 1 to %u words\n", LENGTHS);
}

int main(int argc, char **argv)
{
    job         j;
    const char *file = read_options(
        argc, argv, "repeats [options] [FILE]",
        { { "--megabytes", &j.megabytes, 0, 4000, 1, "of made-up text; 0: 24 KiB" },
          { "--middle", &j.middle, 4, 10000, 1, "words that half of its documents have at most" },
          { "--pool", &j.pool, 64, 1u << 20, 1, "bytes of a block's pool" },
          { "--threads", &j.threads, 32, 1024, 32, "of a block with a pool" },
          { "--most", &j.most, 256, class_bytes(CLASSES - 1u), 256,
            "bytes that a document may need, rounded down to a class; longer ones are left out" },
          { "--rounds", &j.rounds, 1, 1000, 1, "of which the fastest counts" } });
    const char *machine = machine_name("repeats");

    if (machine == nullptr) { return 77; }
    j.last = class_within(j.most);

    shpool_pool       pool = open_block_pool(j.threads, j.pool, class_bytes(j.last));
    const std::string text = (file != nullptr)
        ? read_text(file)
        : make_text((j.megabytes != 0) ? size_t{ j.megabytes } << 20 : 24u << 10,
                    vocabulary, j.middle, first_words);

    j.all  = split(text, class_bytes(j.last));
    j.want = count_on_host(j.all);

    machine_array<uint32_t> hash(j.all.hash), repeats(j.want.size()), next(CLASSES);
    machine_array<listed>   order(j.all.order);

    j.c = { hash, order, repeats, next };
    print_documents(j, machine);

    const int failed = run_pool(j, pool) | run_binned(j);

    machine_close(&pool);
    return failed;
}
