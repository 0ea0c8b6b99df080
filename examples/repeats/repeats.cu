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
 * the memory for a document comes from, and in which threads work on it:
 *
 *   global           global memory for each warp
 *   global, blocks   global memory for each block of --block threads, which share a document
 *   the pool         --pool bytes of shared memory that the warps of a block (--threads) share;
 *                    named after its allocator: $SHPOOL_ALLOCATOR, else the default
 *   static           --most bytes of shared memory for each warp
 *   static, blocks   --most bytes of shared memory for each block of --block threads
 *
 * In all versions, blocks process documents that need more than --most in global memory.  Every
 * count is compared with the CPU's.
 */
#include "documents.h"

#include "../options.h"

#if defined(__CUDACC__)
#define MEGABYTES    64u
#define MIDDLE       200u
#define VOCABULARY   100000u
#define ROUNDS       5u
#define POOL_THREADS 512u
#define POOL_BYTES   (96u * 1024u)
#define MOST         (32u * 1024u)
#define BLOCK        128u
#define LARGE        1024u
#else /* a fiber for each thread: small, but still with documents of each kind */
#define MEGABYTES    0u /* 24 KiB */
#define MIDDLE       30u
#define VOCABULARY   1000u
#define ROUNDS       1u
#define POOL_THREADS 128u
#define POOL_BYTES   (4u * 1024u)
#define MOST         (2u * 1024u)
#define BLOCK        64u
#define LARGE        128u
#endif
#define THREADS 256u

struct options {
    uint32_t megabytes = MEGABYTES;
    uint32_t middle    = MIDDLE;
    uint32_t pool      = POOL_BYTES;
    uint32_t threads   = POOL_THREADS;
    uint32_t most      = MOST;
    uint32_t block     = BLOCK;
    uint32_t rounds    = ROUNDS;
};

struct job {
    collection              c = {};
    documents               all;
    std::vector<uint32_t>   want;
    options                 o;
    totals                  found; /* by find_words() */
    machine_array<uint32_t> memory;
    machine_array<uint32_t> memory_of_large;
    double                  words_seconds = 1e30;
    double                  large_seconds = 1e30;
};

static void take_again(job &j) { machine_zero(&j.c.sum->next, sizeof(j.c.sum->next)); }

static void prepare(job &j)
{
    const uint32_t blocks = machine_blocks<find_words>(THREADS, 0);

    for (uint32_t round = 0; round <= j.o.rounds; round++) {
        machine_zero(j.c.sum, sizeof(*j.c.sum));
        machine_wait();

        const double from = machine_seconds();

        machine_launch(blocks, THREADS, 0, find_words{ j.c });
        machine_wait();
        j.words_seconds = std::min(j.words_seconds, machine_seconds() - from);
    }
    machine_read(&j.found, j.c.sum, sizeof(j.found));
}

static void launch_large(job &j)
{
    const uint32_t blocks = std::min(j.found.large,
                                     machine_blocks<grams_of_large>(LARGE, 0));
    uint32_t      *memory = j.memory_of_large.get(static_cast<size_t>(blocks) *
                                                  (j.found.longest / 4u));

    if (blocks != 0) {
        machine_launch(blocks, LARGE, 0, grams_of_large{ j.c, memory });
    }
}

/* Run all rounds of one version: launch, time, check, print a line.  1 if a count is wrong. */
template <class Launch>
static int run_with(job &j, const char *name, uint32_t threads, uint32_t shared_bytes,
                    uint32_t blocks, const Launch &launch)
{
    std::vector<uint32_t> got(j.want.size());
    double                best  = 1e30;
    size_t                wrong = 0;
    totals                seen;

    for (uint32_t round = 0; round <= j.o.rounds; round++) {
        machine_zero(j.c.repeats, got.size() * sizeof(got[0]));
        take_again(j);
        machine_wait();

        const double from = machine_seconds();

        launch();
        machine_wait();

        const double then = machine_seconds();

        launch_large(j);
        machine_wait();
        j.large_seconds = std::min(j.large_seconds, machine_seconds() - then);
        best            = std::min(best, machine_seconds() - from);
    }
    machine_read(got.data(), j.c.repeats, got.size() * sizeof(got[0]));
    machine_read(&seen, j.c.sum, sizeof(seen));
    for (size_t i = 0; i < got.size(); i++) {
        wrong += got[i] != j.want[i];
    }
    std::printf("%-14s %4u blocks of %4u threads, %6u bytes; %zu wrong counts, %u without memory",
                name, blocks, threads, shared_bytes, wrong, seen.unserved);
#if defined(__CUDACC__)
    std::printf("; %.3f ms, %.1f GB/s", best * 1e3, 1e-9 * j.all.text.size() / best);
#endif
    std::printf("\n");
    return (wrong != 0) || (seen.unserved != 0);
}

template <class Kernel>
static int run(job &j, const char *name, uint32_t threads, uint32_t shared_bytes, uint32_t blocks,
               const Kernel &kernel)
{
    return run_with(j, name, threads, shared_bytes, blocks,
                    [&] { machine_launch(blocks, threads, shared_bytes, kernel); });
}

/* In global memory: each warp, then each block, processes a document. */
static int run_global(job &j)
{
    typedef grams_by_warps<in_global>  by_warps;
    typedef grams_by_blocks<in_global> by_blocks;
    const uint32_t                     warps  = machine_blocks<by_warps>(THREADS, 0);
    const uint32_t                     blocks = machine_blocks<by_blocks>(j.o.block, TURN_BYTES);
    const size_t                       most   = std::max(warps * (THREADS / SIMT_WARP), blocks);
    const in_global                    place  = { j.memory.get(most * (j.c.most / 4u)) };

    return run(j, "global", THREADS, 0, warps, by_warps{ j.c, place }) |
           run(j, "global, blocks", j.o.block, TURN_BYTES, blocks, by_blocks{ j.c, place });
}

static int run_pool(job &j, const shpool_pool &pool)
{
    const uint32_t blocks = machine_pool_blocks<grams_in_pool>(pool, j.o.threads, 0);

    return run_with(j, pool.name, j.o.threads, pool.shared_bytes, blocks, [&] {
        machine_launch_pool(pool, blocks, j.o.threads, 0, grams_in_pool{ j.c });
    });
}

/* The same in static arrays of shared memory. */
static int run_static(job &j)
{
    typedef grams_by_warps<in_shared>  by_warps;
    typedef grams_by_blocks<in_shared> by_blocks;
    const uint32_t                     bytes = TURN_BYTES + j.c.most;

    return run(j, "static", SIMT_WARP, bytes, machine_blocks<by_warps>(SIMT_WARP, bytes),
               by_warps{ j.c, {} }) |
           run(j, "static, blocks", j.o.block, bytes, machine_blocks<by_blocks>(j.o.block, bytes),
               by_blocks{ j.c, {} });
}

static documents input(const options &o, const char *file)
{
    documents all = split_lines((file != nullptr)
                                    ? read_text(file)
                                    : make_text((o.megabytes != 0) ? size_t{ o.megabytes } << 20
                                                                   : 24u << 10,
                                                VOCABULARY, o.middle));

    if (all.text.empty()) {
        machine_fail((file != nullptr) ? file : "text", "is empty");
    }
    return all;
}

static void print_documents(const job &j, const char *machine)
{
    const double documents = static_cast<double>(j.c.documents);
    double       sums[LENGTHS] = {};

    for (size_t i = 0; i < j.want.size(); i++) {
        sums[i % LENGTHS] += j.want[i];
    }
    std::printf("%s\n%zu bytes, %u documents, %llu words; %u documents need more than %u bytes\n"
                "repeated on average:", machine, j.all.text.size(), j.c.documents, j.found.words,
                j.found.large, j.c.most);
    for (uint32_t n = 1; n <= LENGTHS; n++) {
        std::printf(" %.1f", sums[n - 1u] / documents);
    }
    std::printf(" runs of 1 to %u words\n", LENGTHS);
#if defined(__CUDACC__)
    std::printf("words found in %.3f ms, in front of each version\n", j.words_seconds * 1e3);
#endif
}

int main(int argc, char **argv)
{
    job         j;
    options    &o    = j.o;
    const char *file = read_options(
        argc, argv, "repeats [options] [FILE]",
        { { "--megabytes", &o.megabytes, 0, 4000, 1, "of made-up text, 0 for 24 KiB" },
          { "--middle", &o.middle, 4, 10000, 1, "words that half of its documents have at most" },
          { "--pool", &o.pool, 64, 1u << 20, 1, "bytes of a block's pool" },
          { "--threads", &o.threads, 32, 1024, 32, "of a block with a pool" },
          { "--most", &o.most, 64, 1u << 20, 16, "bytes of the longest document in an array" },
          { "--block", &o.block, 32, 1024, 32, "threads of a block that shares a document" },
          { "--rounds", &o.rounds, 1, 1000, 1, "of which the fastest counts" } });
    const char *machine = machine_name("repeats");
    int         failed  = 0;

    if (machine == nullptr) {
        return 77;
    }
    shpool_pool pool = open_block_pool(o.threads, o.pool, o.most);

    j.all  = input(o, file);
    j.want = count_on_host(j.all);

    j.c.text      = machine_copy(j.all.text);
    j.c.begin     = machine_copy(j.all.begin);
    j.c.documents = static_cast<uint32_t>(j.all.begin.size() - 1u);
    j.c.most      = o.most;
    j.c.hash      = machine_new<uint32_t>(j.all.text.size() / 2u + j.c.documents + 1u);
    j.c.words     = machine_new<uint32_t>(j.c.documents);
    j.c.large     = machine_new<uint32_t>(j.c.documents);
    j.c.repeats   = machine_new<uint32_t>(j.want.size());
    j.c.sum       = machine_new<totals>(1);

    prepare(j);
    print_documents(j, machine);
    failed |= run_global(j);
    failed |= run_pool(j, pool);
    failed |= run_static(j);
#if defined(__CUDACC__)
    std::printf("of these, large documents %.3f ms\n", j.large_seconds * 1e3);
#endif
    machine_close(&pool);
    for (const void *p : std::initializer_list<const void *>{ j.c.text, j.c.begin, j.c.hash,
                                                              j.c.words, j.c.large, j.c.repeats,
                                                              j.c.sum }) {
        machine_delete(p);
    }
    return failed;
}
