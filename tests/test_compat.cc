/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_memory's namespaces on the executor: every pattern of its README, and what it got wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
extern "C" {
#include <cmocka.h>
}
#include <string.h>

#include <initializer_list>

#include <shpool/executor.h>

#include "allocator.cuh"
#include "poolAlloc.cuh"
#include "poolAllocBST.cuh"

namespace {

/* What kernels find wrong, and how much they did right. */
struct tally {
    uint32_t    wrong;
    uint32_t    done;
    std::size_t bytes;   /* pool_init's argument */
    int         share;   /* threads_per_pool */
    void       *heap;    /* glob_pool's */
    uint32_t    round;   /* launches on it before */
    void       *box[SHPOOL_MAX_THREADS];
};

void expect(tally *t, bool right)
{
    if (!right) {
        simt_global_add32(&t->wrong, 1);
    }
}

struct thread_space {
    static void  init(tally *t) { thread_pool::pool_init(t->bytes); }
    static void *get(std::size_t n) { return thread_pool::pmalloc(n); }
    static void  put(void *p) { thread_pool::pfree(p); }
};
struct thread_best_space : thread_space {
    static void *get(std::size_t n) { return thread_pool::pmalloc_best_fit(n); }
};
struct warp_space {
    static void  init(tally *t) { warp_pool::pool_init(t->bytes, t->share); }
    static void *get(std::size_t n) { return warp_pool::pmalloc(n); }
    static void  put(void *p) { warp_pool::pfree(p); }
};
struct warp_best_space : warp_space {
    static void *get(std::size_t n) { return warp_pool::pmalloc_best_fit(n); }
};
struct list_space {
    static void  init(tally *t) { list_pool::pool_init(t->bytes); }
    static void *get(std::size_t n) { return list_pool::pmalloc(n); }
    static void  put(void *p) { list_pool::pfree(p); }
};
struct freelist_space {
    static void  init(tally *t) { pmalloc_freelist::init_gpu_buffer(t->bytes); }
    static void *get(std::size_t n) { return pmalloc_freelist::cmalloc(n); }
    static void  put(void *p) { pmalloc_freelist::cfree(p); }
};
struct tree_space {
    static void  init(tally *t) { pmalloc_bst::init_gpu_buffer(t->bytes); }
    static void *get(std::size_t n) { return pmalloc_bst::cmalloc(n); }
    static void  put(void *p) { pmalloc_bst::cfree(p); }
};

struct glob_space {
    static void  init(tally *t) { glob_pool::pool_init(t->heap, t->bytes); }
    static void *get(std::size_t n) { return glob_pool::pmalloc(n); }
    static void  put(void *p) { glob_pool::pfree(p); }
};
struct glob_best_space : glob_space {
    static void *get(std::size_t n) { return glob_pool::pmalloc_best_fit(n); }
};

/* README, "Writing Your Own Kernel": allocate, use, free; by all threads, twice. */
template <typename Space> void pattern_kernel(void *arg)
{
    tally   *t    = static_cast<tally *>(arg);
    uint32_t rank = simt_thread_rank();

    for (int round = 0; round < 2; round++) { /* a second pool_init starts afresh */
        Space::init(t);
        uint32_t *data = static_cast<uint32_t *>(Space::get(4 * sizeof(uint32_t)));

        expect(t, data != nullptr);
        if (data == nullptr) {
            continue;
        }
        expect(t, (reinterpret_cast<uintptr_t>(data) & 15u) == 0);
        for (uint32_t i = 0; i < 4; i++) {
            data[i] = rank * 100u + i;
        }
        simt_barrier();
        for (uint32_t i = 0; i < 4; i++) {
            expect(t, data[i] == rank * 100u + i);
        }
        if (round == 1) {
            Space::put(data);
            Space::put(nullptr);
        } /* else: left to the next pool_init */
        expect(t, Space::get(~static_cast<std::size_t>(0)) == nullptr);
        expect(t, Space::get(~static_cast<std::size_t>(0) - 8u) == nullptr);
        expect(t, Space::get(t->bytes) == nullptr);
        simt_barrier();
    }
    void *none = Space::get(0);

    expect(t, none != nullptr);
    Space::put(none);
    simt_global_add32(&t->done, 1);
}

/* The caller's bytes behind total_bytes stay as they were; pools that cannot be give NULL. */
template <typename Space> void refused_kernel(void *arg)
{
    tally    *t      = static_cast<tally *>(arg);
    simt_addr end    = simt_dynamic_base() + simt_dynamic_bytes();
    /* of a region that is not there at most the first word */
    uint32_t  own    = (t->bytes > simt_dynamic_bytes()) ? 4u : static_cast<uint32_t>(t->bytes);
    simt_addr behind = simt_dynamic_base() + (own + 3u) / 4u * 4u;

    for (simt_addr a = behind + 4u * simt_thread_rank(); a < end; a += 4u * simt_block_threads()) {
        simt_store32(a, a);
    }
    simt_barrier();
    Space::init(t);
    expect(t, Space::get(1) == nullptr);
    Space::put(simt_from_shared(simt_dynamic_base()));
    simt_barrier();
    for (simt_addr a = behind + 4u * simt_thread_rank(); a < end; a += 4u * simt_block_threads()) {
        expect(t, simt_load32(a) == a);
    }
    simt_global_add32(&t->done, 1);
}

/* Holes of 600 and 200 bytes, in this order: the smaller one serves best fit. */
void holes_kernel(void *arg)
{
    tally *t = static_cast<tally *>(arg);

    thread_pool::pool_init(t->bytes);
    void *large = thread_pool::pmalloc(600);
    void *wall  = thread_pool::pmalloc(16);
    void *small = thread_pool::pmalloc_best_fit(200);
    void *other = thread_pool::pmalloc_best_fit(16);
    void *rest  = thread_pool::pmalloc(16);

    while (rest != nullptr) { /* the rest of the pool, so that two holes are all */
        rest = thread_pool::pmalloc(16);
    }
    thread_pool::pfree(large);
    thread_pool::pfree(small);
    expect(t, (wall != nullptr) && (other != nullptr));
    expect(t, thread_pool::pmalloc_best_fit(150) != nullptr);
    expect(t, thread_pool::pmalloc(560) != nullptr);
    simt_global_add32(&t->done, 1);
}

/* The calls of one namespace do not touch the pools of another. */
void kinds_kernel(void *arg)
{
    tally *t = static_cast<tally *>(arg);

    expect(t, thread_pool::pmalloc(8) == nullptr); /* no pool_init yet */
    thread_pool::pool_init(t->bytes);
    void *mine = thread_pool::pmalloc(8);

    expect(t, mine != nullptr);
    expect(t, warp_pool::pmalloc(8) == nullptr);
    expect(t, list_pool::pmalloc(8) == nullptr);
    expect(t, bst_pool::pmalloc(8) == nullptr);
    warp_pool::pfree(mine);
    list_pool::pfree(mine);
    bst_pool::pfree(mine);
    void *next = thread_pool::pmalloc(8);

    expect(t, (next != nullptr) && (next != mine));
    warp_pool::pool_init(t->bytes); /* one thread per pool; ends the others */
    expect(t, thread_pool::pmalloc(8) == nullptr);
    expect(t, warp_pool::pmalloc(8) != nullptr);
    warp_pool::pool_init(40); /* too few: the pools that were there are gone all the same */
    expect(t, warp_pool::pmalloc(8) == nullptr);
    simt_global_add32(&t->done, 1);
}

/* Threads of a group free what another allocated. */
void group_kernel(void *arg)
{
    tally   *t     = static_cast<tally *>(arg);
    uint32_t rank  = simt_thread_rank();
    uint32_t share = static_cast<uint32_t>(t->share);
    uint32_t first = rank / share * share;
    uint32_t group = (simt_block_threads() - first < share) ? simt_block_threads() - first : share;

    warp_pool::pool_init(t->bytes, t->share);
    for (uint32_t round = 0; round < 4; round++) {
        t->box[rank] = warp_pool::pmalloc(16 + rank % 48u);
        expect(t, t->box[rank] != nullptr);
        if (t->box[rank] != nullptr) {
            *static_cast<uint32_t *>(t->box[rank]) = rank;
        }
        simt_barrier();
        uint32_t other = first + (rank - first + round) % group;

        if (t->box[other] != nullptr) {
            expect(t, *static_cast<uint32_t *>(t->box[other]) == other);
            warp_pool::pfree(t->box[other]);
        }
        simt_barrier();
    }
    simt_global_add32(&t->done, 1);
}

/* One pool of nearly 100 KiB. */
void large_kernel(void *arg)
{
    tally *t = static_cast<tally *>(arg);

    warp_pool::pool_init(t->bytes, t->share);
    if (simt_thread_rank() == 0) {
        void *all = warp_pool::pmalloc(90000);

        expect(t, all != nullptr);
        memset(all, 0x5a, 90000);
        warp_pool::pfree(all);
        expect(t, warp_pool::pmalloc_best_fit(100000) != nullptr);
    }
    simt_global_add32(&t->done, 1);
}

/* ---- glob_pool ---- */

/* All bytes of an allocation tell whose it is. */
void mark(void *p, std::size_t bytes, uint32_t of)
{
    memset(p, static_cast<int>(of % 251u), bytes);
}
bool marked(const void *p, std::size_t bytes, uint32_t of)
{
    const unsigned char *c = static_cast<const unsigned char *>(p);

    for (std::size_t i = 0; i < bytes; i++) {
        if (c[i] != of % 251u) {
            return false;
        }
    }
    return true;
}

/* Random sizes and lifetimes by all threads; some allocations are left to the next block, whose
 * threads free them.  With bytes 0 it goes on with the heap of the launch before. */
void glob_random_kernel(void *arg)
{
    enum { SLOTS = 6, STEPS = 60 };
    tally      *t       = static_cast<tally *>(arg);
    uint32_t    rank    = simt_thread_rank();
    uint32_t    threads = simt_block_threads();
    uint32_t    before  = rank + t->round + simt_block_rank(); /* who left it: same slot, one on */
    uint32_t    random  = 12345u + 977u * rank + 31u * simt_block_rank();
    void       *slot[SLOTS]  = {};
    std::size_t bytes[SLOTS] = {};

    if (t->bytes != 0) {
        glob_pool::pool_init(t->heap, t->bytes);
    }
    if (t->box[rank] != nullptr) {
        expect(t, marked(t->box[rank], 24, before));
        glob_pool::pfree(t->box[rank]);
    }
    simt_barrier();
    for (uint32_t step = 0; step < STEPS; step++) {
        random       = random * 1664525u + 1013904223u;
        uint32_t i   = (random >> 8) % SLOTS;
        uint32_t tag = rank + 7u * i;

        if (slot[i] != nullptr) {
            expect(t, marked(slot[i], bytes[i], tag));
            glob_pool::pfree(slot[i]);
            slot[i] = nullptr;
        } else {
            bytes[i] = (random >> 16) % ((step % 8u == 0) ? 900u : 90u);
            slot[i]  = ((random & 16u) != 0) ? glob_pool::pmalloc(bytes[i])
                                             : glob_pool::pmalloc_best_fit(bytes[i]);
            if (slot[i] != nullptr) {
                expect(t, (reinterpret_cast<uintptr_t>(slot[i]) & 15u) == 0);
                mark(slot[i], bytes[i], tag);
            }
        }
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (slot[i] != nullptr) {
            expect(t, marked(slot[i], bytes[i], rank + 7u * i));
            glob_pool::pfree(slot[i]);
        }
    }
    simt_barrier();
    void *left = glob_pool::pmalloc(24);

    expect(t, left != nullptr);
    if (left != nullptr) {
        mark(left, 24, (rank + threads - 1u) % threads + t->round + simt_block_rank() + 1u);
    }
    t->box[(rank + threads - 1u) % threads] = left;
    simt_global_add32(&t->done, 1);
}

/* Everybody takes all there is, gives it back, and then gets it in one piece. */
void glob_exhaust_kernel(void *arg)
{
    tally      *t    = static_cast<tally *>(arg);
    uint32_t    rank = simt_thread_rank();
    std::size_t most = 0;
    std::size_t lost = (0u - reinterpret_cast<uintptr_t>(t->heap)) % 16u + 64u;
    /* each thread's, of one pool in 524,272 bytes or the rest of them */
    std::size_t share = (t->bytes - lost) / simt_block_threads() / 16u * 16u;

    glob_pool::pool_init(t->heap, t->bytes);
    for (std::size_t n = 1u << 19; n > 0; n /= 2u) { /* largest request of the fresh share */
        void *p = glob_pool::pmalloc(most + n);

        most += (p != nullptr) ? n : 0u;
        glob_pool::pfree(p);
    }
    expect(t, most == ((share < 524272u) ? share : 524272u) - 20u);
    for (int round = 0; round < 2; round++) {
        void       *list  = nullptr; /* linked through their first words */
        std::size_t taken = 0;
        std::size_t n     = (round == 0) ? 12u + rank % 5u : most / 3u + 8u;

        for (void *p = glob_pool::pmalloc(n); p != nullptr; p = glob_pool::pmalloc(n)) {
            memset(p, 0xee, n);
            *static_cast<void **>(p) = list;
            list                     = p;
            taken += (n + 4u + 15u) / 16u * 16u;
        }
        expect(t, list != nullptr);
        /* what a pool loses is less than one of them, and its own 20 bytes */
        expect(t, taken + (share / 524272u + 1u) * (n + 48u) >= share);
        expect(t, taken < share);
        expect(t, glob_pool::pmalloc_best_fit(n) == nullptr);
        while (list != nullptr) {
            void *next = *static_cast<void **>(list);

            glob_pool::pfree(list);
            list = next;
        }
        void *all = glob_pool::pmalloc_best_fit(most);

        expect(t, all != nullptr); /* merged */
        expect(t, glob_pool::pmalloc(t->bytes) == nullptr);
        glob_pool::pfree(all);
    }
    simt_global_add32(&t->done, 1);
}

/* A heap that cannot be: NULL, and nothing is written (run_glob looks). */
void glob_refused_kernel(void *arg)
{
    tally *t = static_cast<tally *>(arg);

    glob_pool::pool_init(t->heap, t->bytes);
    expect(t, glob_pool::pmalloc(1) == nullptr);
    expect(t, glob_pool::pmalloc_best_fit(0) == nullptr);
    glob_pool::pfree(t->heap);
    glob_pool::pfree(t);
    simt_global_add32(&t->done, 1);
}

/* Block 0 takes all and keeps it; the others, and whoever calls again, join.  A new launch starts
 * afresh, and so does each call in a grid of one block. */
void glob_join_kernel(void *arg)
{
    tally *t = static_cast<tally *>(arg);

    glob_pool::pool_init(t->heap, t->bytes);
    void *p = glob_pool::pmalloc(1000);

    expect(t, (p != nullptr) == (simt_block_rank() == 0));
    glob_pool::pool_init(t->heap, t->bytes);
    expect(t, (glob_pool::pmalloc(1000) != nullptr) == (simt_grid_blocks() == 1));
    simt_global_add32(&t->done, 1);
}

/* Nothing but what it gave is freed: neither a wild pointer nor most second frees do anything. */
void glob_bad_kernel(void *arg)
{
    tally   *t    = static_cast<tally *>(arg);
    uint32_t rank = simt_thread_rank();
    char    *heap = static_cast<char *>(t->heap);

    glob_pool::pool_init(heap, t->bytes);
    char *mine = static_cast<char *>(glob_pool::pmalloc(64));

    expect(t, mine != nullptr);
    mark(mine, 64, rank);
    simt_barrier();
    glob_pool::pfree(heap); /* before, in and behind what is the heap's own */
    glob_pool::pfree(heap - 16);
    glob_pool::pfree(heap + 64);
    glob_pool::pfree(heap + t->bytes);
    glob_pool::pfree(heap + t->bytes + 4096);
    glob_pool::pfree(t);
    glob_pool::pfree(simt_from_shared(simt_dynamic_base()));
    glob_pool::pfree(mine + 8); /* no block begins there */
    glob_pool::pfree(mine + 1);
    glob_pool::pfree(mine - 4);
#if defined(ALLOCATOR_DEBUG)
    for (int i = 16; i < 64; i += 16) {
        *reinterpret_cast<uint32_t *>(mine + i - 4) = 0x80000000u | (2u << 15) | 2u; /* a header */
        glob_pool::pfree(mine + i);
        memset(mine + i - 4, static_cast<int>(rank % 251u), 4);
    }
#endif
    simt_barrier();
    expect(t, marked(mine, 64, rank));
    void *other = glob_pool::pmalloc(64);

    expect(t, (other != nullptr) && (other != mine));
    t->box[rank] = mine;
    simt_barrier();
    glob_pool::pfree(t->box[(rank + 1u) % simt_block_threads()]); /* another's: it may */
    simt_barrier();
    glob_pool::pfree(mine); /* the second time */
    void *a = glob_pool::pmalloc(64);
    void *b = glob_pool::pmalloc(64);

    expect(t, (a != nullptr) && (b != nullptr) && (a != b) && (a != other) && (b != other));
    simt_global_add32(&t->done, 1);
}

void glob_using_kernel(void *arg)
{
    using namespace glob_pool;
    tally     *t = static_cast<tally *>(arg);
    std::byte *heap = static_cast<std::byte *>(t->heap);

    pool_init(heap, t->bytes); /* as cuda_memory has it */
    void *large = pmalloc(600);
    void *wall  = pmalloc(16);
    void *small = pmalloc_best_fit(200);
    void *other = pmalloc(16);

    expect(t, (large != nullptr) && (wall != nullptr) && (small != nullptr) && (other != nullptr));
    while (pmalloc(16) != nullptr) {
    }
    pfree(large);
    pfree(small);
    expect(t, pmalloc_best_fit(150) != nullptr);
    expect(t, pmalloc(560) != nullptr);
    simt_global_add32(&t->done, 1);
}

/* `using namespace` beside the names without one. */
void using_kernel(void *arg)
{
    using namespace thread_pool;
    tally *t = static_cast<tally *>(arg);

    pool_init(t->bytes);
    void *p = pmalloc(32);

    expect(t, simt_is_shared(p)); /* ::pmalloc is native here */
    pfree(p);
    expect(t, thread_pool::pmalloc(32) == p);
    simt_global_add32(&t->done, 1);
}

/* Both are refused under ALLOCATOR_DEBUG; nothing else is promised of them. */
[[maybe_unused]] void bad_kernel(void *arg)
{
    tally   *t    = static_cast<tally *>(arg);
    uint32_t rank = simt_thread_rank();

    thread_pool::pool_init(t->bytes);
    char *mine = static_cast<char *>(thread_pool::pmalloc(64));

    t->box[rank] = mine;
    expect(t, mine != nullptr);
    simt_barrier();
    thread_pool::pfree(mine + 16);                                       /* interior */
    thread_pool::pfree(t->box[(rank + 1) % simt_block_threads()]);       /* another's */
    thread_pool::pfree(&t->wrong);                                       /* global memory */
    expect(t, thread_pool::pmalloc(64) != mine);
    thread_pool::pfree(mine);
    thread_pool::pfree(mine); /* double */
    void *a = thread_pool::pmalloc(64);
    void *b = thread_pool::pmalloc(64);

    expect(t, (a != nullptr) && (b != nullptr) && (a != b));
    simt_global_add32(&t->done, 1);
}

/* ---- running them ---- */

uint32_t volume(const uint32_t *of)
{
    return (of[0] ? of[0] : 1) * (of[1] ? of[1] : 1) * (of[2] ? of[2] : 1);
}

void run(simt_kernel kernel, const simt_launch &launch, std::size_t bytes, int share)
{
    static tally t;
    simt_result  result;

    memset(&t, 0, sizeof(t));
    t.bytes = bytes;
    t.share = share;
    if (simt_run(&launch, kernel, &t, &result) != SHPOOL_OK) {
        fail_msg("%s", result.text);
    }
    assert_int_equal(t.wrong, 0);
    assert_int_equal(t.done, volume(launch.grid) * volume(launch.block));
}

simt_launch shape(uint32_t blocks, uint32_t x, uint32_t y, uint32_t z, uint32_t dynamic_bytes)
{
    simt_launch launch = {};

    launch.grid[0]       = blocks;
    launch.block[0]      = x;
    launch.block[1]      = y;
    launch.block[2]      = z;
    launch.dynamic_bytes = dynamic_bytes;
    launch.switch_period = 3;
    launch.seed          = x + y;
    return launch;
}

constexpr std::size_t HEAP_BYTES = 42u << 20;
constexpr std::size_t FENCE      = 4096;

/* As run(), with a heap `off` bytes behind a multiple of 4,096; what lies around it stays. */
void run_glob(simt_kernel kernel, const simt_launch &launch, std::size_t bytes, std::size_t off = 0,
              tally *go_on = nullptr)
{
    alignas(4096) static unsigned char memory[FENCE + HEAP_BYTES + 2 * FENCE];
    static tally fresh;
    tally       *t    = (go_on != nullptr) ? go_on : &fresh;
    std::size_t  room = (bytes < HEAP_BYTES) ? bytes : 0u;
    simt_result  result;

    if (go_on == nullptr) {
        memset(t, 0, sizeof(*t));
        memset(memory, 0xb7, FENCE + room + 2 * FENCE); /* 0xb7: what nobody else writes */
    }
    t->wrong = 0;
    t->done  = 0;
    t->heap  = memory + FENCE + off;
    t->bytes = bytes;
    if (simt_run(&launch, kernel, t, &result) != SHPOOL_OK) {
        fail_msg("%s", result.text);
    }
    assert_int_equal(t->wrong, 0);
    assert_int_equal(t->done, volume(launch.grid) * volume(launch.block));
    for (std::size_t i = 0; i < FENCE; i++) {
        assert_int_equal(memory[i + off], 0xb7);
        if (go_on == nullptr) {
            assert_int_equal(memory[FENCE + off + room + i], 0xb7);
        }
    }
    if (kernel == glob_refused_kernel) {
        for (std::size_t i = 0; i < room; i++) {
            assert_int_equal(memory[FENCE + off + i], 0xb7);
        }
    }
}

void test_glob(void **)
{
    static tally same;

    for (simt_kernel pattern : {pattern_kernel<glob_space>, pattern_kernel<glob_best_space>}) {
        run_glob(pattern, shape(1, 32, 1, 1, 0), 48 * 1024);
        run_glob(pattern, shape(3, 32, 1, 1, 0), 48 * 1024 + 13);
        run_glob(pattern, shape(1, 1, 1, 1, 0), 3u << 20, 8);
        run_glob(pattern, shape(1, 33, 1, 1, 0), 40000, 1);
        run_glob(pattern, shape(1, 8, 8, 1, 0), 48 * 1024, 15);
        run_glob(pattern, shape(2, 4, 4, 4, 0), 48 * 1024, 16);
        run_glob(pattern, shape(2, 1024, 1, 1, 0), 200 * 1024, 7);
    }
    for (std::size_t off : {0, 1, 7, 8, 12, 16}) {
        for (std::size_t bytes : {0, 1, 15, 63, 64, 80, 95}) { /* 96: one granule of payload */
            run_glob(glob_refused_kernel, shape(1, 1, 1, 1, 0), bytes, off);
        }
        run_glob(glob_refused_kernel, shape(2, 32, 1, 1, 0), 64 + 32 * 32 - 1, off);
    }
    run_glob(glob_refused_kernel, shape(1, 4, 1, 1, 0), SIZE_MAX - 64);
    for (std::size_t off : {0, 5, 8}) {
        run_glob(glob_exhaust_kernel, shape(1, 1, 1, 1, 0), 64 * 1024 + off, off);
        run_glob(glob_exhaust_kernel, shape(1, 5, 1, 1, 0), 70001, off);
        run_glob(glob_exhaust_kernel, shape(1, 32, 1, 1, 0), 150000, off);
    }
    for (uint32_t blocks : {1u, 3u, 3u, 2u, 1u}) { /* on the same memory */
        run_glob(glob_join_kernel, shape(blocks, 32, 1, 1, 0), 64 + 32 * 1040, 0, &same);
    }
    run_glob(glob_bad_kernel, shape(1, 32, 1, 1, 64), 64 * 1024);
    run_glob(glob_bad_kernel, shape(1, 1, 1, 1, 64), 64 * 1024, 3);
    run_glob(glob_using_kernel, shape(1, 32, 1, 1, 0), 64 * 1024);
}

/* Far above what a pool can address: a share is several pools then. */
void test_glob_large(void **)
{
    simt_launch launch = shape(1, 1, 1, 1, 0);

    launch.switch_period = 0;
    run_glob(glob_exhaust_kernel, launch, 524272 + 64);
    run_glob(glob_exhaust_kernel, launch, 524272 + 64 + 16);
    run_glob(glob_exhaust_kernel, launch, HEAP_BYTES - 1, 9);
    launch.block[0] = 3;
    run_glob(glob_exhaust_kernel, launch, 5u << 20, 1);
}

/* Threads of many shares and of one, of several blocks and launches, in one heap. */
void test_glob_shared(void **)
{
    static tally t;

    for (uint32_t shares : {1u, 4u, 32u}) {
        for (uint32_t seed = 1; seed <= 9; seed++) {
            simt_launch launch = shape(3, 32, 1, 1, 0);

            launch.engine        = (seed < 8) ? SIMT_FIBERS : SIMT_THREADS;
            launch.switch_period = (seed < 8) ? 3 : 0;
            launch.seed          = seed;
            run_glob(glob_random_kernel, launch, 60001, seed);

            /* divided by a block of another shape; the kernels that follow go on with it */
            memset(&t, 0, sizeof(t));
            launch.grid[0]  = 1;
            launch.block[0] = shares;
            run_glob(glob_random_kernel, launch, 60001, seed);
            launch.grid[0]  = 3;
            launch.block[0] = 32;
            for (t.round = 0; t.round < 6; t.round += 3) {
                run_glob(glob_random_kernel, launch, 0, seed, &t);
            }
        }
    }
}

template <typename Space> void test_space(void **)
{
    simt_kernel pattern = pattern_kernel<Space>;
    simt_kernel refused = refused_kernel<Space>;

    run(pattern, shape(1, 32, 1, 1, 48 * 1024), 48 * 1024, 1);
    run(pattern, shape(3, 32, 1, 1, 48 * 1024), 48 * 1024, 1);
    run(pattern, shape(1, 4, 1, 1, 4096), 4096, 1);
    run(pattern, shape(1, 1, 1, 1, 100 * 1024), 100 * 1024, 1);
    run(pattern, shape(1, 33, 1, 1, 48 * 1024), 40000, 1);
    run(pattern, shape(1, 8, 8, 1, 48 * 1024), 48 * 1024, 1);
    run(pattern, shape(1, 4, 4, 4, 48 * 1024), 48 * 1024, 1);
    run(pattern, shape(2, 1024, 1, 1, 200 * 1024), 200 * 1024, 1);

    run(refused, shape(1, 32, 1, 1, 4096), 512, 1);       /* too few for 32 threads */
    run(refused, shape(1, 32, 1, 1, 4096), 33, 1);
    run(refused, shape(1, 32, 1, 1, 4096), 31, 1);
    run(refused, shape(1, 32, 1, 1, 4096), 3, 1);
    run(refused, shape(1, 32, 1, 1, 4096), 4097, 1);      /* more than the launch has */
    run(refused, shape(1, 32, 1, 1, 4096), SIZE_MAX - 64, 1);
    run(refused, shape(1, 32, 1, 1, 16), 16, 1);
}

void test_groups(void **)
{
    for (int share : {1, 2, 4, 5, 32, 48}) {
        run(group_kernel, shape(2, 96, 1, 1, 48 * 1024), 48 * 1024, share);
        run(pattern_kernel<warp_space>, shape(2, 16, 6, 1, 48 * 1024), 48 * 1024, share);
        run(pattern_kernel<warp_best_space>, shape(1, 100, 1, 1, 48 * 1024), 48 * 1024, share);
    }
    run(pattern_kernel<warp_space>, shape(1, 64, 1, 1, 48 * 1024), 48 * 1024, 2000000000);
    run(refused_kernel<warp_space>, shape(1, 64, 1, 1, 4096), 4096, 0);
    run(refused_kernel<warp_space>, shape(1, 64, 1, 1, 4096), 4096, -4);
    run(large_kernel, shape(1, 32, 1, 1, 101 * 1024), 101 * 1024, 32);
}

void test_mixed(void **)
{
    run(holes_kernel, shape(1, 8, 1, 1, 16384), 16384, 1);
    run(kinds_kernel, shape(2, 32, 1, 1, 16384), 16384, 1);
    run(using_kernel, shape(1, 32, 1, 1, 16384), 16384, 1);
#if defined(ALLOCATOR_DEBUG)
    run(bad_kernel, shape(1, 32, 1, 1, 16384), 16384, 1);
#endif
}

} // namespace

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_space<thread_space>),
        cmocka_unit_test(test_space<thread_best_space>),
        cmocka_unit_test(test_space<warp_space>),
        cmocka_unit_test(test_space<warp_best_space>),
        cmocka_unit_test(test_space<list_space>),
        cmocka_unit_test(test_space<freelist_space>),
        cmocka_unit_test(test_space<tree_space>),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_glob),
        cmocka_unit_test(test_glob_large),
        cmocka_unit_test(test_glob_shared),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
