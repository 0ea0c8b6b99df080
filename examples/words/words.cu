/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The words of a text and how often they occur, by hash tables in shared memory: count.h.
 *
 *   nvcc -O3 -rdc=true words.cu -o words $(pkg-config --cflags --libs shpool)
 *   c++ -O2 -x c++ words.cu -x none -o words_cpu \
 *        $(pkg-config --cflags --libs shpool)                    on the CPU block executor
 *
 *   ./words [--megabytes N] [--bytes N] [--threads N] [--slot N] [--rounds N] [FILE]
 *
 * --bytes is the shared memory of a block, the same for all versions:
 *
 *   global      none of it: every word goes to the table in global memory
 *   pool        entries as long as their words, from a pool
 *   static      slots for the longest word of the text
 *   static, N   slots of N bytes (--slot); longer words go to global memory
 *   reference   slots of 20 bytes that point into the text, which each comparison then reads
 *
 * Without FILE the text is made up.  Every result is compared with the CPU's.
 */
#include "count.h"

#include "text.h"

#if defined(__CUDACC__)
#define MEGABYTES  64u
#define VOCABULARY 100000u
#define ROUNDS     5
#define THREADS    256u
#define BYTES      (48u * 1024u)
#define HEADS      1024u
#define SLOTS      (1u << 20)
#else /* a fiber for each thread */
#define MEGABYTES  0u /* 24 KiB */
#define VOCABULARY 1000u
#define ROUNDS     1
#define THREADS    64u
#define BYTES      (8u * 1024u)
#define HEADS      64u
#define SLOTS      (1u << 12)
#endif

struct options {
    size_t      megabytes = MEGABYTES;
    uint32_t    bytes     = BYTES;
    uint32_t    threads   = THREADS;
    uint32_t    slot      = 40;
    int         rounds    = ROUNDS;
    const char *file      = nullptr;
};

struct job {
    counting             c = {};
    std::vector<uint8_t> text;
    word_counts          want;
    options              o;
};

/* Words whose counts differ, both ways. */
static size_t count_wrong(const job &j)
{
    std::vector<unsigned long long> key(j.c.slots);
    std::vector<uint32_t>           count(j.c.slots);
    size_t                          right = 0;
    size_t                          found = 0;

    machine_read(key.data(), j.c.key, key.size() * sizeof(key[0]));
    machine_read(count.data(), j.c.count, count.size() * sizeof(count[0]));
    for (size_t i = 0; i < key.size(); i++) {
        std::string word;

        if (key[i] == 0) {
            continue;
        }
        for (size_t at = static_cast<uint32_t>(key[i]) - 1u;
             (at < j.text.size()) && (fold(j.text[at]) != 0); at++) {
            word += static_cast<char>(fold(j.text[at]));
        }
        const auto there = j.want.find(word);

        found++;
        right += (there != j.want.end()) && (there->second == count[i]);
    }
    return (found - right) + (j.want.size() - right);
}

/* All rounds of one version: launches, times, checks, prints a line; 1 if a count is wrong. */
template <class Kernel>
static int run(job &j, const char *name, uint32_t shared_bytes, Kernel kernel)
{
    const uint32_t blocks = machine_blocks<Kernel>(j.o.threads, shared_bytes);
    double         best   = 1e30;
    totals         seen   = {};
    size_t         wrong;

    kernel.c.share = (j.c.bytes + blocks - 1u) / blocks;
    for (int round = 0; round <= j.o.rounds; round++) {
        machine_zero(j.c.key, j.c.slots * sizeof(*j.c.key));
        machine_zero(j.c.count, j.c.slots * sizeof(*j.c.count));
        machine_zero(j.c.sum, sizeof(*j.c.sum));
        machine_wait();

        const double from = machine_seconds();

        machine_launch(blocks, j.o.threads, shared_bytes, kernel);
        machine_wait();
        best = std::min(best, machine_seconds() - from);
    }
    machine_read(&seen, j.c.sum, sizeof(seen));
    wrong = count_wrong(j);
    std::printf("%-11s %6u bytes, %5u blocks; %7.1f entries a block, %5.1f %% of the words; "
                "%zu wrong", name, shared_bytes, blocks, 1.0 * seen.entries / blocks,
                100.0 * static_cast<double>(seen.here) / static_cast<double>(seen.words), wrong);
#if defined(__CUDACC__)
    std::printf("; %.3f ms, %.1f GB/s", best * 1e3, j.c.bytes / best * 1e-9);
#endif
    std::printf("\n");
    return (wrong != 0) || (seen.dropped != 0);
}

static int run_pool(job &j)
{
    shpool_config want = {};
    shpool_pool   pool;
    int           failed;

    want.block_threads = j.o.threads;
    want.total_bytes   = j.o.bytes - chains_bytes(j.c.heads);
    machine_need(machine_open(nullptr, &want, &pool), "pool"); /* $SHPOOL_ALLOCATOR */
    failed = run(j, "pool", chains_bytes(j.c.heads) + pool.shared_bytes,
                 count_by_pool{ j.c, pool });
    machine_close(&pool);
    return failed;
}

template <class Store>
static int run_slots(job &j, const char *name, uint32_t each)
{
    const uint32_t room  = j.o.bytes - chains_bytes(j.c.heads);
    const uint32_t count = room / each;

    return run(j, name, chains_bytes(j.c.heads) + count * each,
               count_by_slots<Store>{ j.c, each, count });
}

static options read_options(int argc, char **argv)
{
    options o;

    machine_usage(argc, argv, "words [--megabytes N] [--bytes N] [--threads N] [--slot N] "
                              "[--rounds N] [FILE]");
    for (int i = 1; i < argc; i++) {
        const std::string   name  = argv[i];
        const unsigned long value = (i + 1 < argc) ? std::strtoul(argv[i + 1], nullptr, 10) : 0;
        const bool          takes = name.rfind("--", 0) == 0;

        if (takes && (value == 0)) {
            machine_fail(argv[i], "needs a number above 0");
        } else if (name == "--megabytes") {
            o.megabytes = value;
        } else if (name == "--bytes") {
            o.bytes = static_cast<uint32_t>(value);
        } else if (name == "--threads") {
            o.threads = machine_threads(value);
        } else if (name == "--slot") {
            o.slot = static_cast<uint32_t>(value + 3u) & ~3u;
        } else if (name == "--rounds") {
            o.rounds = static_cast<int>(value);
        } else if (takes) {
            machine_fail(argv[i], "is no option");
        } else {
            o.file = argv[i];
        }
        i += takes;
    }
    if ((o.bytes < 2u * chains_bytes(HEADS)) || (o.slot < entry_bytes(0))) {
        machine_fail("--bytes, --slot", "too few");
    }
    return o;
}

static size_t longest_word(const word_counts &counts)
{
    size_t most = 0;

    for (const auto &one : counts) {
        most = std::max(most, one.first.size());
    }
    return most;
}

static void print_text(const job &j)
{
    std::vector<std::pair<uint32_t, std::string>> top;

    for (const auto &one : j.want) {
        top.push_back({ one.second, one.first });
    }
    std::sort(top.rbegin(), top.rend());
    std::printf("%zu bytes, %zu different words, the longest of %zu letters;", j.text.size(),
                j.want.size(), longest_word(j.want));
    for (size_t i = 0; i < std::min<size_t>(top.size(), 5); i++) {
        std::printf(" %s %u", top[i].second.c_str(), top[i].first);
    }
    std::printf("\n");
}

int main(int argc, char **argv)
{
    job         j;
    const char *machine = machine_name("words");
    char        slots[32];
    int         failed = 0;

    j.o = read_options(argc, argv);
    if (machine == nullptr) {
        return 77;
    }
    j.text = (j.o.file != nullptr) ? read_text(j.o.file)
                                   : make_text((j.o.megabytes != 0) ? j.o.megabytes << 20
                                                                    : 24u << 10, VOCABULARY);
    if (j.text.size() >= 0xffff0000u) {
        machine_fail("text", "has 4 GiB or more");
    }
    j.want = count_on_host(j.text);
    if (j.want.empty()) {
        machine_fail((j.o.file != nullptr) ? j.o.file : "text", "has no words");
    }
    std::printf("%s\n", machine);
    print_text(j);

    j.c.text  = machine_copy(j.text);
    j.c.bytes = static_cast<uint32_t>(j.text.size());
    j.c.heads = HEADS;
    j.c.slots = SLOTS;
    while (j.c.slots < 2u * j.want.size()) {
        j.c.slots *= 2u;
    }
    j.c.key   = machine_new<unsigned long long>(j.c.slots);
    j.c.count = machine_new<uint32_t>(j.c.slots);
    j.c.sum   = machine_new<totals>(1);

    const uint32_t longest = entry_bytes(static_cast<uint32_t>(longest_word(j.want)));

    std::snprintf(slots, sizeof(slots), "static, %u", j.o.slot);
    failed |= run(j, "global", 0, count_in_global{ j.c });
    failed |= run_pool(j);
    failed |= run_slots<slot_store>(j, "static", longest);
    failed |= run_slots<slot_store>(j, slots, j.o.slot);
    failed |= run_slots<reference_store>(j, "reference", entry_bytes(0));

    machine_delete(j.c.text);
    machine_delete(j.c.key);
    machine_delete(j.c.count);
    machine_delete(j.c.sum);
    return failed;
}
