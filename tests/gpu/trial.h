/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors that gpu_conformance's kernels can find, and how they report them; on the host, their
 * launches and pools.  The program is one translation unit: the state is static. */
#ifndef SHPOOL_TESTS_GPU_TRIAL_H
#define SHPOOL_TESTS_GPU_TRIAL_H

#include <cstring>

#include <shpool/shpool.cuh>

#include "check.h"

/* ---- errors that a kernel can find ---- */

#define ERRORS(_) \
    _(PATTERN, "an allocation's contents changed: it overlaps another")             \
    _(MISALIGNED, "an allocation is not aligned")                                   \
    _(USABLE, "usable_size is less than what was asked for")                        \
    _(DIRTY, "calloc gave memory that is not zero")                                 \
    _(LOST, "realloc lost contents")                                                \
    _(REFUSED, "a proper free was refused")                                         \
    _(ACCEPTED, "a bad free was not refused for its reason")                        \
    _(BROKEN, "check found the structure broken")                                   \
    _(LIVE, "check found allocations after everything was freed")                   \
    _(LARGEST, "a pool at rest does not give pool.largest")                         \
    _(BEYOND, "a request that cannot fit succeeded")                                \
    _(ZERO, "malloc(0) failed in a fresh pool")                                     \
    _(ALIGNED, "aligned_malloc failed in a fresh pool, or took a bad alignment")    \
    _(LAYOUT, "the device's geometry is not the host's")                            \
    _(NOT_EMPTY, "a heap that must be empty gave memory, or took some")             \
    _(EXHAUSTED, "malloc failed though the pool has room for all")                  \
    _(MASK, "simt_mask is not the model's, bit by bit")                             \
    _(WINDOW, "the window is not where simt_is_shared sees shared memory")          \
    _(KEEP, "simt_keep changed a value")                                            \
    _(SAME, "members of a group got different addresses")                           \
    _(STARVED, "a request that waited was never served")                            \
    _(CALL, "a call does not do what its row says")

enum error_kind {
#define ERROR_NAME(_name, _text) E_##_name,
    ERRORS(ERROR_NAME)
#undef ERROR_NAME
    E_COUNT
};

static const char *const error_text[E_COUNT] = {
#define ERROR_TEXT(_name, _text) _text,
    ERRORS(ERROR_TEXT)
#undef ERROR_TEXT
};

/* Counters of the kernels in addition to errors, for comparison with the report. */
enum tally_kind { T_MALLOCS, T_NULLS, T_FREES, T_LEAKS, T_LEAK_BYTES, T_COUNT };

struct counts {
    uint32_t           error[E_COUNT];
    uint32_t           reserved[E_COUNT % 2];
    unsigned long long tally[T_COUNT];
};

/* ---- device helpers ---- */

static __device__ void note(counts *c, error_kind kind, bool wrong = true)
{
    if (wrong) {
        atomicAdd(&c->error[kind], 1u);
    }
}

static __device__ void tally(counts *c, tally_kind kind, unsigned long long n)
{
    atomicAdd(&c->tally[kind], n);
}

static __device__ uint32_t random_next(uint32_t *state)
{
    uint32_t x = *state; /* xorshift (Marsaglia, 2003) */

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    return x;
}

static __device__ uint32_t word_of(uint32_t tag, uint32_t i)
{
    return tag * 2654435761u + i * 40503u + 1u;
}

static __device__ void fill(void *ptr, size_t bytes, uint32_t tag)
{
    uint32_t *words = static_cast<uint32_t *>(ptr);

    for (uint32_t i = 0; i < bytes / 4u; i++) {
        words[i] = word_of(tag, i);
    }
}

static __device__ bool holds(const void *ptr, size_t bytes, uint32_t tag)
{
    const uint32_t *words = static_cast<const uint32_t *>(ptr);

    for (uint32_t i = 0; i < bytes / 4u; i++) {
        if (words[i] != word_of(tag, i)) {
            return false;
        }
    }
    return true;
}

static __device__ bool is_aligned(const void *ptr, size_t alignment)
{
    return (reinterpret_cast<size_t>(ptr) & (alignment - 1u)) == 0;
}

static __device__ bool is_leader(const shpool_heap &heap)
{
    return (heap.view.flags & SHPOOL_FLAG_LEADER) != 0;
}

/* Called by the whole block: every pool must be as new, except for its geometry. */
static __device__ void at_rest(const shpool_pool &pool, shpool_heap heap, counts *c)
{
    __syncthreads();
    if (is_leader(heap)) {
        shpool_walk walk = shpool_check(heap);

        note(c, E_BROKEN, walk.broken != 0);
        note(c, E_LIVE, (walk.live != 0) || (walk.used != 0));
        note(c, E_LARGEST, shpool_largest(heap) != pool.largest);
    }
    __syncthreads();
}

/* ---- host ---- */

static counts *device_counts;
static int     most_shared; /* bytes that one block may have */

/* Into 96 bytes: NAME:OPTIONS. */
static inline void spec_of(const shpool_allocator *allocator, const char *options, char *spec)
{
    std::snprintf(spec, 96, "%s:%s", allocator->name, options);
}

/* The kernel that runs with the pool: with SHPOOL_BINDING=linked, or a plugin's allocator, that of
 * the joined image.  Its parameters by value, converted. */
template <typename... Parameters>
static shpool_status launch(const shpool_pool &pool, void (*kernel)(Parameters...),
                            cudaLaunchConfig_t config, Parameters... values)
{
    const void   *own         = NULL;
    void         *arguments[] = {&values...};
    shpool_status status      = shpool_kernel_of((const void *)kernel, &pool, &own);

    if (status == SHPOOL_OK) {
        status = shpool_allow_shared(own, config.dynamicSmemBytes);
    }
    if (status == SHPOOL_OK) {
        status = shpool_cuda_status(cudaLaunchKernelExC(&config, own, arguments), "launch");
    }
    return status;
}

/* Launch, wait, and judge the counts; `tallies` receives the others. */
template <typename... Parameters, typename... Arguments>
static void run(const char *what, const shpool_pool &pool, void (*kernel)(Parameters...), dim3 grid,
                dim3 block, size_t shared, unsigned long long *tallies, Arguments... arguments)
{
    counts             zero   = {};
    counts             c      = {};
    cudaLaunchConfig_t config = {};

    if (!gpu_cuda(cudaMemcpy(device_counts, &zero, sizeof(zero), cudaMemcpyHostToDevice),
                  "cudaMemcpy (counts)")) {
        return;
    }
    config.gridDim          = grid;
    config.blockDim         = block;
    config.dynamicSmemBytes = shared;
    if (launch<Parameters...>(pool, kernel, config, pool, arguments..., device_counts) !=
        SHPOOL_OK) {
        (void)gpu_check(false, "%s %s: %s", pool.name, what, shpool_last_error());
        return;
    }
    gpu_wait(what);
    if (!gpu_cuda(cudaMemcpy(&c, device_counts, sizeof(c), cudaMemcpyDeviceToHost),
                  "cudaMemcpy (counts)")) {
        return;
    }
    for (int kind = 0; kind < E_COUNT; kind++) {
        (void)gpu_check(c.error[kind] == 0, "%s %s: %s (%u times; grid %u, block %ux%ux%u, %zu B)",
                        pool.name, what, error_text[kind], c.error[kind], grid.x, block.x, block.y,
                        block.z, shared);
    }
    if (tallies != NULL) {
        memcpy(tallies, c.tally, sizeof(c.tally));
    }
}

/* Open the largest pool of at most `most` bytes; false: none fits. */
static inline bool open_within(const char *spec, uint32_t threads, uint32_t most,
                               uint32_t alignment, shpool_pool *pool)
{
    shpool_config want = {};
    shpool_pool   plan = {};
    uint32_t      low  = 0; /* fits */
    uint32_t      high = most + 1u;

    want.block_threads = threads;
    want.alignment     = alignment;
    while (high - low > 1u) {
        want.payload_bytes = low + (high - low) / 2u;
        if ((shpool_plan(spec, &want, &plan) == SHPOOL_OK) && (plan.shared_bytes <= most)) {
            low = want.payload_bytes;
        } else {
            high = want.payload_bytes;
        }
    }
    want.payload_bytes = low;
    return (low != 0) && gpu_check(shpool_open(spec, &want, pool) == SHPOOL_OK, "open \"%s\": %s",
                                   spec, shpool_last_error());
}

/* Bytes that a thread may hold so that several allocations of each thread usually fit. */
static inline uint32_t share_of(const shpool_pool &pool, uint32_t parts)
{
    uint32_t share = (pool.largest == 0) ? 96u : pool.largest / pool.threads_per_pool / parts;

    return (share < 1u) ? 1u : share;
}

/* Whether the allocator is among the arguments, or there are no arguments. */
static inline bool trial_is_chosen(const char *name, int argc, char **argv)
{
    bool chosen = argc < 2;

    for (int i = 1; i < argc; i++) {
        chosen = chosen || (strcmp(argv[i], name) == 0);
    }
    return chosen;
}

#endif /* SHPOOL_TESTS_GPU_TRIAL_H */
