/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how repetitive each document of a collection is, with hash tables in shared memory:
 * see grams.h.
 *
 *   nvcc -O3 -rdc=true repeats.cu -o repeats $(pkg-config --cflags --libs shpool)
 *   c++ -O2 -x c++ repeats.cu -x none -o repeats_cpu \
 *        $(pkg-config --cflags --libs shpool)                    on the CPU block executor
 *
 *   ./repeats [options] [FILE]          --help lists them
 *
 * Each line of FILE is a document; without FILE they are generated.  The versions differ in where
 * the memory for a document comes from, and in which threads work on it: versions.h,
 * doc/EXAMPLES.md.  The pool's version has its allocator's name; `binned` is the usual solution
 * without an allocator.  Every count is compared with the CPU's.
 */
#include "documents.h"
#include "versions.h"

#include "../options.h"

#define THREADS 256u /* of a block in which each warp processes a document alone */

struct options {
    uint32_t megabytes, middle, pool, threads, most, block, rounds;
};
/* What differs between the machines, besides the options' defaults. */
struct sizes {
    uint32_t vocabulary, longest; /* words; 0: no document is longer than the others */
    uint32_t large, team;         /* bytes of a document for each of its threads, of its warps */
    uint32_t pool, warp, block, bin; /* most bytes of a document that is not large; see --most */
};
#if defined(__CUDACC__)
#define DEFAULTS { 64, 200, 96 * 1024, 512, 0, 128, 5 }
static const sizes SIZES = { 100000, 0, 64, 4096, 65536, 16384, 32768, 65536 };
#else /* a fiber for each thread: small, but still with documents of each kind, and several TILEs */
#define DEFAULTS { 0, 30, 4 * 1024, 256, 0, 64, 1 }
static const sizes SIZES = { 1000, 6000, 32, 512, 4096, 1024, 2048, 4096 };
#endif

struct job {
    collection              c = {};
    documents               all;
    std::vector<uint32_t>   want;
    options                 o = DEFAULTS;
    totals                  found; /* by count_classes() */
    uint32_t                end[CLASSES + 1] = {}; /* of classes, in c.order */
    machine_array<uint32_t> memory_of_large;
    double                  words_seconds = 1e30;
};

static void prepare(job &j)
{
    const uint32_t blocks  = machine_blocks<find_words>(THREADS, 0);
    const uint32_t sorters = (j.c.documents + SORTED - 1u) / SORTED;
    const uint32_t bytes   = 4u * CLASSES;

    for (uint32_t round = 0; round <= j.o.rounds; round++) {
        machine_zero(j.c.sum, sizeof(*j.c.sum));
        machine_wait();

        const double from = machine_seconds();

        machine_launch(blocks, THREADS, 0, find_words{ j.c });
        machine_launch(sorters, THREADS, bytes, count_classes{ j.c });
        machine_launch(sorters, THREADS, bytes, sort_documents{ j.c });
        machine_wait();
        j.words_seconds = std::min(j.words_seconds, machine_seconds() - from);
    }
    machine_read(&j.found, j.c.sum, sizeof(j.found));
    for (uint32_t k = CLASSES; k-- > 0;) {
        j.end[k] = j.end[k + 1u] + j.found.in_class[k];
    }
}

/* Documents of classes first..last; none if last < first. */
static part part_of(const job &j, uint32_t first, uint32_t last)
{
    return { j.end[last + 1u], (first <= last) ? j.end[first] : j.end[last + 1u], last };
}

/* The last class whose documents need at most `bytes`, or class 0. */
static uint32_t class_within(uint32_t bytes)
{
    uint32_t which = 0;

    while ((which + 2u < CLASSES) && (class_bytes(which + 1u) <= bytes)) {
        which++;
    }
    return which;
}

/* Start the documents of longer classes than `last`, at the same time as the others, by blocks with
 * a thread for each SIZES.large of the shortest of them. */
static void start_large(job &j, uint32_t last)
{
    typedef grams_by_blocks<in_global> by_blocks;
    const part     all     = part_of(j, last + 1u, CLASSES - 1u);
    const uint32_t each    = global_bytes(j.found.longest);
    const uint32_t threads = std::clamp(class_bytes(last) / SIZES.large, SIMT_WARP, 1024u);
    const uint32_t most    = machine_blocks<by_blocks>(threads, TURN_BYTES);
    const uint32_t blocks  = std::min(all.to - all.from, most);

    machine_fill(blocks, threads, TURN_BYTES,
                 by_blocks{ j.c, { j.memory_of_large.get(size_t{ blocks } * (each / 4u)) }, all,
                            each }, CLASSES - 1u);
}

/* Run all rounds of one version: launch, time, check, print a line.  1 if a count is wrong. */
template <class Launch>
static int run(job &j, const char *name, uint32_t threads, uint32_t shared_bytes, uint32_t last,
               const Launch &launch)
{
    std::vector<uint32_t> got(j.want.size());
    double                best  = 1e30;
    size_t                wrong = 0;
    totals                seen;

    for (uint32_t round = 0; round <= j.o.rounds; round++) {
        machine_zero(j.c.repeats, got.size() * sizeof(got[0]));
        machine_zero(j.c.sum->next_in, sizeof(j.c.sum->next_in));
        machine_wait();

        const double from = machine_seconds();

        start_large(j, last);
        launch();
        machine_wait();
        best = std::min(best, machine_seconds() - from);
    }
    machine_read(got.data(), j.c.repeats, got.size() * sizeof(got[0]));
    machine_read(&seen, j.c.sum, sizeof(seen));
    for (size_t i = 0; i < got.size(); i++) {
        wrong += got[i] != j.want[i];
    }
    std::printf("%-14s %4u threads, %6u bytes, %5u large; %zu wrong counts, %u without memory",
                name, threads, shared_bytes, j.end[last + 1u], wrong, seen.unserved);
#if defined(__CUDACC__)
    std::printf("; %.3f ms, %.1f GB/s", best * 1e3, 1e-9 * j.all.text.size() / best);
#endif
    std::printf("\n");
    return (wrong != 0) || (seen.unserved != 0);
}

/* The last class that a version processes in its own memory: --most, else what suits it. */
static uint32_t last_class(const job &j, uint32_t suits)
{
    return class_within((j.o.most != 0) ? j.o.most : suits);
}

/* The stages' parts.  A document goes to the smallest team with a warp for each SIZES.team, but
 * none is larger than half of the block.  With 512 threads on a GPU:
 *
 *   bytes, up to   4 KiB   8 KiB   16 KiB   32 KiB   64 KiB
 *   warps              1       2        4        8        8 */
static grams_in_pool in_pool(const job &j, uint32_t last)
{
    const uint32_t warps  = j.o.threads / SIMT_WARP;
    grams_in_pool  kernel = { j.c, {} };

    for (uint32_t stage = 0; stage < STAGES; stage++) {
        const uint32_t each    = (stage < SINGLES) ? warps >> (stage + 1u) : 1u;
        const uint32_t smaller = (stage + 1u < SINGLES) ? warps >> (stage + 2u) : 1u;
        const uint32_t first   = (stage < SINGLES) ? class_within(smaller * SIZES.team) + 1u : 0u;
        const uint32_t most    = class_bytes(last);

        if (((each > 1u) || (stage == SINGLES)) && (first <= last)) {
            kernel.stages[stage] = { part_of(j, first, last),
                                     (most <= j.o.pool / (warps / each)) ? most : 0u };
            last                 = first - 1u;
        }
    }
    return kernel;
}

static int run_pool(job &j, const shpool_pool &pool)
{
    const uint32_t      blocks = machine_pool_blocks<grams_in_pool>(pool, j.o.threads, BOARD_BYTES);
    const uint32_t      last   = last_class(j, std::min(pool.largest, SIZES.pool));
    const grams_in_pool kernel = in_pool(j, last);

    return run(j, pool.name, j.o.threads, pool.shared_bytes, last, [&] {
        machine_launch_pool(pool, blocks, j.o.threads, BOARD_BYTES, kernel, 1);
    });
}

/* In static arrays: each block's `warps` warps process a document each, or, if there are none, a
 * block of `threads` threads does. */
static void start_static(const job &j, const part &all, uint32_t each, uint32_t warps,
                         uint32_t threads, uint32_t queue)
{
    const uint32_t count = all.to - all.from;

    if (warps != 0) {
        machine_fill((count + warps - 1u) / warps, warps * SIMT_WARP, TURN_BYTES + warps * each,
                     grams_by_warps<in_shared>{ j.c, {}, all, each }, queue);
    } else {
        machine_fill(count, threads, TURN_BYTES + each,
                     grams_by_blocks<in_shared>{ j.c, {}, all, each }, queue);
    }
}

/* All documents with an array of one size: of a warp, if there is one in a block, or of a block. */
static int run_static(job &j, const char *name, uint32_t suits, uint32_t warps, uint32_t threads)
{
    const uint32_t last = last_class(j, suits);
    const part     all  = part_of(j, 0, last);

    return run(j, name, threads, TURN_BYTES + class_bytes(last), last, [&] {
        start_static(j, all, class_bytes(last), warps, threads, 1);
    });
}

/* A launch for each class, those of long documents first; a warp for each document that deserves
 * only one, a block for each longer one. */
static int run_binned(job &j)
{
    const uint32_t last = last_class(j, SIZES.bin);

    return run(j, "binned", 0, TURN_BYTES + class_bytes(last), last, [&] {
        for (uint32_t k = last + 1u; k-- > 0;) {
            const uint32_t each = class_bytes(k);

            start_static(j, part_of(j, k, k), each, (each <= SIZES.team) ? 4u : 0u,
                         std::min(each / SIZES.team * SIMT_WARP, 1024u), k + 1u);
        }
    });
}

static documents input(const options &o, const char *file)
{
    const size_t bytes = (o.megabytes != 0) ? size_t{ o.megabytes } << 20 : 24u << 10;

    return split_lines((file != nullptr)
                           ? read_text(file)
                           : make_text(bytes, SIZES.vocabulary, o.middle, SIZES.longest));
}

static void print_documents(const job &j, const char *machine)
{
    double sums[LENGTHS] = {};

    for (size_t i = 0; i < j.want.size(); i++) {
        sums[i % LENGTHS] += j.want[i];
    }
    std::printf("%s\n%zu bytes, %u documents, %llu words\n"
                "repeated on average:", machine, j.all.text.size(), j.c.documents, j.found.words);
    for (double sum : sums) {
        std::printf(" %.1f", sum / j.c.documents);
    }
    std::printf(" runs of 1 to %u words\n", LENGTHS);
#if defined(__CUDACC__)
    std::printf("words found and documents sorted in %.3f ms, in front of each version\n",
                j.words_seconds * 1e3);
#endif
}

int main(int argc, char **argv)
{
    job         j;
    options    &o    = j.o;
    const char *file = read_options(
        argc, argv, "repeats [options] [FILE]",
        { { "--megabytes", &o.megabytes, 0, 4000, 1, "of made-up text; 0: 24 KiB" },
          { "--middle", &o.middle, 4, 10000, 1, "words that half of its documents have at most" },
          { "--pool", &o.pool, 64, 1u << 20, 1, "bytes of a block's pool" },
          { "--threads", &o.threads, 32, 1024, 32, "of a block with a pool" },
          { "--most", &o.most, 0, 1u << 18, 16,
            "bytes of the longest documents that are not large; 0: as suits the version" },
          { "--block", &o.block, 32, 1024, 32, "threads of a block that shares a static array" },
          { "--rounds", &o.rounds, 1, 1000, 1, "of which the fastest counts" } });
    const char *machine = machine_name("repeats");
    int         failed  = 0;

    if (machine == nullptr) {
        return 77;
    }
    shpool_pool pool = open_block_pool(o.threads, o.pool, std::max(o.most, 256u));

    j.all  = input(o, file);
    j.want = count_on_host(j.all);

    const uint32_t          count = static_cast<uint32_t>(j.all.begin.size() - 1u);
    machine_array<uint8_t>  text(j.all.text);
    machine_array<uint32_t> begin(j.all.begin), hash(j.all.text.size() / 2u + count + 1u);
    machine_array<uint32_t> words(count), repeats(j.want.size());
    machine_array<listed>   order(count);
    machine_array<totals>   sum(1);

    j.c = { text, begin, count, hash, words, order, repeats, sum };
    prepare(j);
    print_documents(j, machine);
    failed |= run_pool(j, pool);
    failed |= run_static(j, "static", SIZES.warp, 1, SIMT_WARP);
    failed |= run_static(j, "static, blocks", SIZES.block, 0, o.block);
    failed |= run_binned(j);
    machine_close(&pool);
    return failed;
}
