/* SPDX-License-Identifier: BSD-3-Clause */
/* glob_pool, cuda_memory's heap in global memory: kernels and tests of test_compat. */
#ifndef SHPOOL_TESTS_COMPAT_GLOB_H
#define SHPOOL_TESTS_COMPAT_GLOB_H

#include "trial.h"

namespace {

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

/* Every thread allocates all memory, frees it, and then gets it in one piece. */
void glob_exhaust_kernel(void *arg)
{
    tally      *t    = static_cast<tally *>(arg);
    uint32_t    rank = simt_thread_rank();
    std::size_t most = 0;
    std::size_t lost = (0u - reinterpret_cast<uintptr_t>(t->heap)) % 16u;
    /* each thread's; of 33 times 16 bytes, one is for the others' map */
    std::size_t cells = (t->bytes - lost) / 16u / simt_block_threads();
    std::size_t share = (cells - (cells + 32u) / 33u) * 16u;

    glob_pool::pool_init(t->heap, t->bytes);
    for (std::size_t n = 1u << 25; n > 0; n /= 2u) { /* largest request of the fresh share */
        void *p = glob_pool::pmalloc(most + n);

        most += (p != nullptr) ? n : 0u;
        glob_pool::pfree(p);
    }
    expect(t, most == share);
    for (int round = 0; round < 2; round++) {
        void       *list  = nullptr; /* linked through their first words */
        std::size_t taken = 0;
        std::size_t n     = (round == 0) ? 12u + rank % 5u : most / 3u + 8u;

        for (void *p = glob_pool::pmalloc(n); p != nullptr; p = glob_pool::pmalloc(n)) {
            memset(p, 0xee, n);
            *static_cast<void **>(p) = list;
            list                     = p;
            taken += (n + 15u) / 16u * 16u;
        }
        expect(t, list != nullptr);
        expect(t, (taken + n > share) && (taken <= share)); /* less than one allocation is lost */
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

/* Block 0 allocates everything and keeps it; the others, and later calls, join.  A new launch
 * starts afresh, and so does each call in a grid of one block. */
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

/* Only allocations are freed: wild pointers and double frees have no effect, whoever frees. */
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
    glob_pool::pfree(heap); /* before, in and after the heap's own data */
    glob_pool::pfree(heap - 16);
    glob_pool::pfree(heap + 64);
    glob_pool::pfree(heap + t->bytes);
    glob_pool::pfree(heap + t->bytes + 4096);
    glob_pool::pfree(t);
    glob_pool::pfree(simt_from_shared(simt_dynamic_base()));
    glob_pool::pfree(mine + 8); /* no block begins there */
    glob_pool::pfree(mine + 1);
    glob_pool::pfree(mine - 4);
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
    mark(other, 64, rank);
    /* freed twice: each time by its owner or by another, as a whole or not */
    for (uint32_t way = 0; way < 16; way++) {
        char *twice = static_cast<char *>(glob_pool::pmalloc(40));

        expect(t, twice != nullptr);
        memset(twice, 0xff, 40);
        t->box[rank] = twice;
        for (uint32_t turn = 0; turn < 2; turn++) {
            simt_barrier();
            uint32_t whose = rank + ((way >> turn) & 1u);
            char    *which = static_cast<char *>(t->box[whose % simt_block_threads()]);

            simt_barrier();
            glob_pool::pfree(which + (((way >> 2 >> turn) & 1u) << 4));
            glob_pool::pfree(which + 16);
        }
        simt_barrier();
        void *c = glob_pool::pmalloc(40);
        void *d = glob_pool::pmalloc(40);

        expect(t, (c != nullptr) && (d != nullptr) && (c != d));
        mark(c, 40, rank + 1u);
        glob_pool::pfree(d); /* if c is still to be freed, now */
        d = glob_pool::pmalloc(40);
        mark(d, 40, rank + 2u);
        expect(t, marked(c, 40, rank + 1u) && marked(other, 64, rank));
        for (int i = 0; (i < 40) && ((way & 12u) == 12u); i++) { /* never freed as a whole */
            expect(t, twice[i] == static_cast<char>(0xff));
        }
        glob_pool::pfree(c);
        glob_pool::pfree(d);
    }
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

/* ---- running them ---- */

constexpr std::size_t HEAP_BYTES = 42u << 20;
constexpr std::size_t FENCE      = 4096;

/* As run(), with a heap `off` bytes after a multiple of 4,096; the memory around it must not
 * change. */
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
        memset(memory, 0xb7, FENCE + room + 2 * FENCE); /* 0xb7: no other code writes it */
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

UNIT_TEST(test_glob)
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
        for (std::size_t bytes : {0, 1, 15, 16, 31}) { /* 32: one granule of payload */
            run_glob(glob_refused_kernel, shape(1, 1, 1, 1, 0), bytes, off);
        }
        run_glob(glob_refused_kernel, shape(2, 32, 1, 1, 0), 32 * 32 - 1, off);
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

/* Far more than a pool can address: a share then consists of several pools. */
UNIT_TEST(test_glob_large)
{
    simt_launch launch = shape(1, 1, 1, 1, 0);

    launch.switch_period = 0;
    run_glob(glob_exhaust_kernel, launch, 524272 + 64);
#if defined(__SANITIZE_THREAD__)
    return; /* the rest takes minutes, and one thread has no races */
#endif
    run_glob(glob_exhaust_kernel, launch, 524272 + 64 + 16);
    run_glob(glob_exhaust_kernel, launch, HEAP_BYTES - 1, 9);
    launch.block[0] = 3;
    run_glob(glob_exhaust_kernel, launch, 5u << 20, 1);
}

/* Threads of many shares and of one, of several blocks and launches, in one heap. */
UNIT_TEST(test_glob_shared)
{
    static tally t;
#if defined(__SANITIZE_THREAD__)
    /* OS threads that spin for one lock take minutes on two cores; fibers show the same orders */
    const uint32_t seeds = 7;
#else
    const uint32_t seeds = 9;
#endif

    for (uint32_t shares : {1u, 4u, 32u}) {
        for (uint32_t seed = 1; seed <= seeds; seed++) {
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

} // namespace

#endif /* SHPOOL_TESTS_COMPAT_GLOB_H */
