/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of cuda_memory's namespaces: the namespaces as types, the common pattern, and
 * a function that runs a kernel. */
#ifndef SHPOOL_TESTS_COMPAT_TRIAL_H
#define SHPOOL_TESTS_COMPAT_TRIAL_H

#include "tests/test.h"

#include <string.h>

#include <initializer_list>

#include <shpool/executor.h>

#include "allocator.cuh"
#include "poolAlloc.cuh"
#include "poolAllocBST.cuh"

namespace {

/* Errors that kernels find, and the number of successful operations. */
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

} // namespace

#endif /* SHPOOL_TESTS_COMPAT_TRIAL_H */
