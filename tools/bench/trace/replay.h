/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench replay: what its files share. */
#ifndef SHPOOL_TOOLS_REPLAY_H
#define SHPOOL_TOOLS_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include <shpool/shpool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REPLAY_NONE 0xffffffffu

enum {
    REPLAY_MALLOC = 1,
    REPLAY_FREE   = 2,
    REPLAY_RESIZE = 3,
    REPLAY_TRY    = 4 /* a malloc that failed when recorded: if it succeeds, it is freed
                         immediately */
};

/** One operation of a script.  Plain data: kernels read it. */
typedef struct replay_op {
    uint32_t what;   /* REPLAY_*, log2 of the alignment in bits 8..15, the thread in bits 16..31 */
    uint32_t bytes;
    uint32_t from;   /* free, resize: the operation that gave the pointer */
    uint32_t lanes;  /* of the thread's warp: those that make the call, the thread the lowest */
} replay_op;

/** The part that one block replays: a life of the trace. */
typedef struct replay_block {
    uint32_t begin; /* of its operations, among those of all blocks */
    uint32_t count;
} replay_block;

/** A trace, ready to be replayed. */
typedef struct replay_script {
    uint32_t block_threads;
    uint32_t alignment;
    uint32_t total_bytes;     /* of the recorded pools, all of a block */
    uint32_t blocks;
    uint32_t count;           /* of operations, over all blocks */
    uint32_t peak_bytes;
    replay_block *block;
    replay_op *ops;
    /* what each thread takes part in, in its order, as indices in its block's operations: those
     * from begin[t] to begin[t + 1], with t = block * block_threads + thread */
    uint32_t *steps;
    uint32_t *begin;
    uint32_t *spent; /* if not NULL, replay_cpu() stores how often each operation's first thread
                        accessed shared memory */
} replay_script;

/** Results of a replay, over all blocks. */
typedef struct replay_tally {
    unsigned long long ops;      /* calls */
    unsigned long long mallocs;
    unsigned long long frees;
    unsigned long long resizes;
    unsigned long long failures; /* mallocs and resizes that failed */
    unsigned long long refused;  /* frees */
    unsigned long long bytes;    /* requested by mallocs */
    unsigned long long cycles;   /* in all calls */
} replay_tally;

/** A geometry: an allocator, how many threads share a pool, and how large all pools are. */
typedef struct replay_shape {
    const char *spec;          /* a name, or with options */
    uint32_t threads_per_pool; /* 0: as the spec says */
    uint32_t total_bytes;
} replay_shape;

/**
 * Make a script of a trace.
 * @return 0, or -1: no memory
 */
struct trace_file;
int replay_script_make(const struct trace_file *trace, replay_script *script_p);
void replay_script_free(replay_script *script);

/** The spec of a shape, in text: for messages, and for `open`. */
void replay_spec(const replay_shape *shape, char *text, size_t bytes);

/** Whether pools of that many threads each can serve the script; else `why` says why not. */
int replay_fits(const replay_script *script, uint32_t scope, uint32_t threads_per_pool, char *why,
                size_t bytes);

/**
 * Replay on the executor, in the recorded order.
 * @param [in]  stop     end at the first failure
 * @param [out] tally_p
 * @param [out] pool_p   the pool's shape, closed already; may be NULL
 * @return of opening the pool and of the run; the detail says what failed
 */
shpool_status replay_cpu(const replay_script *script, const replay_shape *shape, int stop,
                         replay_tally *tally_p, shpool_pool *pool_p);

/** The least bytes that suffice. */
typedef struct replay_need {
    int      possible; /* 0: requests fail, however large the pools */
    uint32_t bytes;    /* of all pools; 0: all is spilled */
    uint32_t below;    /* the next smaller size, at which requests fail; 0: none */
    uint32_t runs;
} replay_need;

/**
 * Find the least bytes at which nothing fails, by bisection.
 * @return SHPOOL_OK; as replay_cpu() for a run that does not end well
 */
shpool_status replay_bisect(const replay_script *script, const replay_shape *shape,
                            replay_need *need_p);

/**
 * Replay on the GPU, every thread its own operations in their order; a free waits for its malloc.
 * @param [out] tally_p  of the run with the median of the cycles
 * @param [out] why      of a failure
 * @return 0, or -1
 */
int replay_cuda(const replay_script *script, const replay_shape *shape, replay_tally *tally_p,
                char *why, size_t why_bytes);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_TOOLS_REPLAY_H */
