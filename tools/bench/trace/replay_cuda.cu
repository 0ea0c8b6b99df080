/* SPDX-License-Identifier: BSD-3-Clause */
/* Replay on the GPU: cycles of a call while the block's threads run freely. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shpool/shpool.cuh>

#include "tools/bench/gpu.cuh"
#include "replay.h"
#include "replay_kernel.h"

namespace {

const int REPEATS = 7; /* launches; the one with the median of the cycles counts */

__global__ void __launch_bounds__(1024) replay_kernel(shpool_pool pool, replay_args args)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);

    replay_run(heap, &args);
    shpool_fini(heap);
}

/* The text that describes a failure. */
struct place {
    char  *why;
    size_t bytes;
};

bool good(cudaError_t error, const char *what, const place &to)
{
    return !bench_failed(error, what, to.why, to.bytes);
}

/* The memory that the kernel's arguments point to. */
struct memory {
    void *at[8];
};

bool put(void **to, const void *from, size_t bytes, const place &where)
{
    return good(cudaMalloc(to, (bytes != 0) ? bytes : 1), "cudaMalloc", where) &&
           (from == NULL || good(cudaMemcpy(*to, from, bytes, cudaMemcpyHostToDevice),
                                 "cudaMemcpy", where));
}

bool make(const replay_script *script, memory *m, replay_args *args, const place &to)
{
    const size_t lists = (size_t)script->blocks * script->block_threads;

    if (!put(&m->at[0], script->block, script->blocks * sizeof(*script->block), to) ||
        !put(&m->at[1], script->ops, script->count * sizeof(*script->ops), to) ||
        !put(&m->at[2], script->begin, (lists + 1u) * sizeof(*script->begin), to) ||
        !put(&m->at[3], NULL, script->count * sizeof(void *), to) ||
        !put(&m->at[4], NULL, script->count * sizeof(uint32_t), to) ||
        !put(&m->at[5], NULL, sizeof(replay_tally), to) ||
        !put(&m->at[6], NULL, sizeof(uint32_t), to) ||
        !put(&m->at[7], script->steps, script->begin[lists] * sizeof(*script->steps), to)) {
        return false;
    }
    args->block   = (const replay_block *)m->at[0];
    args->ops     = (const replay_op *)m->at[1];
    args->begin   = (const uint32_t *)m->at[2];
    args->got     = (void **)m->at[3];
    args->pending = (uint32_t *)m->at[4];
    args->tally   = (replay_tally *)m->at[5];
    args->failed  = (uint32_t *)m->at[6];
    args->steps   = (const uint32_t *)m->at[7];
    return true;
}

bool once(const replay_script *script, shpool_pool *pool, replay_args *args, replay_tally *tally,
          const place &to)
{
    void *arguments[] = {pool, args};

    return good(cudaMemset(args->got, 0, script->count * sizeof(void *)), "reset", to) &&
           good(cudaMemset(args->pending, 1, script->count * sizeof(uint32_t)), "reset", to) &&
           good(cudaMemset(args->tally, 0, sizeof(*tally)), "reset", to) &&
           good(cudaLaunchKernel((const void *)replay_kernel, dim3(script->blocks),
                                 dim3(script->block_threads), arguments, pool->shared_bytes, NULL),
                "launch", to) &&
           good(cudaMemcpy(tally, args->tally, sizeof(*tally), cudaMemcpyDeviceToHost), "replay",
                to);
}

int by_cycles(const void *a, const void *b)
{
    const replay_tally *x = static_cast<const replay_tally *>(a);
    const replay_tally *y = static_cast<const replay_tally *>(b);

    return (x->cycles > y->cycles) - (x->cycles < y->cycles);
}

bool measure(const replay_script *script, shpool_pool *pool, replay_args *args,
             replay_tally *tally_p, const place &to)
{
    replay_tally tallies[REPEATS + 1];

    for (replay_tally &tally : tallies) { /* the first one warms the caches */
        if (!once(script, pool, args, &tally, to)) {
            return false;
        }
    }
    qsort(tallies + 1, REPEATS, sizeof(tallies[0]), by_cycles);
    *tally_p = tallies[1 + REPEATS / 2];
    return true;
}

} /* namespace */

extern "C" int replay_cuda(const replay_script *script, const replay_shape *shape,
                           replay_tally *tally_p, char *why, size_t why_bytes)
{
    const place   to   = {why, why_bytes};
    memory        m    = {};
    shpool_config want = {};
    replay_args   args = {};
    shpool_pool   pool = {};
    char          spec[640];
    bool          done;

    memset(tally_p, 0, sizeof(*tally_p));
    replay_spec(shape, spec, sizeof(spec));
    want.block_threads = script->block_threads;
    want.alignment     = script->alignment;
    if ((shpool_open(spec, &want, &pool) != SHPOOL_OK) ||
        (shpool_allow_shared(replay_kernel, pool.shared_bytes) != SHPOOL_OK)) {
        snprintf(why, why_bytes, "%s", shpool_last_error());
        (void)shpool_close(&pool);
        return -1;
    }
    done = make(script, &m, &args, to) && measure(script, &pool, &args, tally_p, to);
    for (void *one : m.at) {
        (void)cudaFree(one);
    }
    (void)shpool_close(&pool);
    return done ? 0 : -1;
}
