/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A warp-specialised persistent kernel: a producer warp fetches rows of different lengths by bulk
 * copies, each into a stage of the row's own size, and consumer warps sum them up.
 *
 *   nvcc -arch=sm_90a -DSHPOOL_INLINE=bitmap stages.cu -o stages \
 *       $(pkg-config --cflags --libs shpool)
 *   ./stages [rows [KiB of the pool [bytes of a page [model]]]]
 *
 * With pages all stages have the same memory, as in a ring by hand, and longer rows are cut;
 * without pages those of more than 32 KiB are.
 * Rows have 16 bytes to 32 KiB, or with model 1 and 2 those of experts of two widths.
 * doc/PERSISTENT.md explains it.  With -arch=sm_90a the producer gives its registers to the
 * consumers (setmaxnreg); without the letter the program is the same except for that.
 */
#include "options.h"

#include <shpool/stage.cuh>

#define CONSUMERS 8u           /* warps; setmaxnreg counts groups of four */
#define THREADS   (128u + 32u * CONSUMERS)
#define SLOTS     64u          /* most stages in flight or being summed up */
#define MOST      32768u       /* bytes of the longest row */
#define PATIENCE  10000000u    /* about 10 s: nothing else holds the memory for so long */

/* With fewer than 80 the producer spills in code for sm_100f. */
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_SPECIFIC__) || \
    defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
#define GIVE_REGISTERS() asm volatile("setmaxnreg.dec.sync.aligned.u32 80;")
#define TAKE_REGISTERS() asm volatile("setmaxnreg.inc.sync.aligned.u32 208;")
#else
#define GIVE_REGISTERS()
#define TAKE_REGISTERS()
#endif

/* Row r is data[begin[r]] .. data[begin[r + 1] - 1]; rows are multiples of 16 bytes. */
struct rows {
    const float    *data;
    float          *sums;
    const unsigned *begin;
    unsigned        count;
    unsigned        most; /* bytes of a stage: longer rows are cut */
    unsigned        room; /* least bytes of a stage's memory */
};

#if SIMT_HAS_BULK
struct place {
    unsigned begin, bytes;
};

/* The place of the block's next row.  Each lane loads one of 32 at a time: to load each row's place
 * when it is needed would take longer than to copy the row. */
static __device__ place place_of(const rows &r, unsigned row, unsigned turn, place *lanes)
{
    const unsigned lane = turn % 32u;

    if (lane == 0) {
        const unsigned its = min(row + threadIdx.x % 32u * gridDim.x, r.count - 1u);

        lanes->begin = r.begin[its];
        lanes->bytes = (r.begin[its + 1u] - lanes->begin) * static_cast<unsigned>(sizeof(float));
    }
    return { __shfl_sync(~0u, lanes->begin, lane), __shfl_sync(~0u, lanes->bytes, lane) };
}

static __device__ void produce(shpool_heap heap, const void *table, const rows &r)
{
    shpool_producer producer = shpool_producer_init(heap, table, SLOTS, r.room);
    place           lanes    = {};
    unsigned        turn     = 0;

    for (unsigned row = blockIdx.x; row < r.count; row += gridDim.x, turn++) {
        const place its = place_of(r, row, turn, &lanes);

        for (unsigned at = 0; at < its.bytes; at += r.most) {
            const unsigned     bytes = min(its.bytes - at, r.most);
            const shpool_stage stage = shpool_stage_malloc_warp(&producer, 128, bytes, PATIENCE);

            if (stage.data == 0) {
                __trap(); /* PATIENCE is over, or the pool cannot hold it */
            }
            if (threadIdx.x % 32 == 0) {
                shpool_stage_copy(stage, r.data + its.begin + at / sizeof(float), bytes);
            }
        }
    }
    shpool_producer_fini_warp(&producer);
}

static __device__ float sum_of(simt_addr stage, unsigned bytes)
{
    const float *data = static_cast<const float *>(simt_from_shared(stage));
    float        sum  = 0.0f;

    for (unsigned i = threadIdx.x % 32; i < bytes / sizeof(float); i += 32) {
        sum += data[i];
    }
    return sum;
}

/* One row for each warp: all wait for every stage, and the warp whose turn it is reads it. */
static __device__ void consume(const void *table, const rows &r, unsigned warp)
{
    shpool_stages stages = shpool_stages_of(table, SLOTS);
    place         lanes  = {};
    unsigned      turn   = 0;

    for (unsigned row = blockIdx.x; row < r.count; row += gridDim.x, turn++) {
        const place its  = place_of(r, row, turn, &lanes);
        const bool  mine = turn % CONSUMERS == warp;
        float       sum  = 0.0f;

        for (unsigned at = 0; at < its.bytes; at += r.most) {
            const shpool_stage stage = shpool_stage_wait(&stages);

            if (mine) {
                sum += sum_of(stage.data, min(its.bytes - at, r.most));
            }
            shpool_stage_release_warp(stage);
        }
        for (unsigned step = 16; mine && (step != 0); step /= 2) {
            sum += __shfl_xor_sync(~0u, sum, step);
        }
        if (mine && (threadIdx.x % 32 == 0)) {
            r.sums[row] = sum;
        }
    }
}
#endif

static __global__ void __launch_bounds__(THREADS, 1) sum_rows(shpool_pool pool, rows r)
{
#if SIMT_HAS_BULK
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ __align__(16) unsigned char         table[SHPOOL_STAGES_BYTES(SLOTS)];
    const shpool_heap                              heap = shpool_init(&pool, smem);
    const unsigned                                 warp = threadIdx.x / 32;

    if (threadIdx.x == 0) {
        shpool_stages_init(table, SLOTS, CONSUMERS);
    }
    __syncthreads();
    if (warp < 4) { /* a group of four warps, of which one produces */
        GIVE_REGISTERS();
        if (warp == 0) {
            produce(heap, table, r);
        }
    } else {
        TAKE_REGISTERS();
        consume(table, r, warp - 4);
    }
    shpool_fini(heap);
#endif
}

/* A row of an expert's third matrix is as long as the expert is wide.  A layer multiplies by the
 * experts that were chosen for a token, then by the one that all tokens share, in bf16. */
static const struct {
    unsigned rows, chosen, width, shared_width;
} models[] = {
    { 2048, 4, 1408, 5632 },  /* Qwen1.5-MoE-A2.7B */
    { 3584, 8, 2560, 20480 }, /* Qwen2-57B-A14B */
};

static unsigned floats_of(unsigned row, unsigned model)
{
    if (model == 0) {
        return 4u + (row * 2654435761u >> 16) % (MOST / 16u) * 4u; /* 16 bytes to MOST */
    }
    const auto &m = models[model - 1u];

    return ((row / m.rows % (m.chosen + 1u) < m.chosen) ? m.width : m.shared_width) / 2u;
}

int main(int argc, char **argv)
{
    unsigned            count = 40000u, kib = 6u * MOST / 1024u, page = 0, model = 0;
    const number_option arguments[] = {
        { "rows", &count, 1, 200000, 1, "" },
        { "KiB of the pool", &kib, 1, 227, 1, "" },
        { "bytes of a page", &page, 0, MOST, 16, "" },
        { "model", &model, 0, sizeof(models) / sizeof(*models), 1, "" },
    };
    shpool_config       want = {};
    shpool_pool         pool = {};

    for (int i = 1; (i < argc) && (i <= 4); i++) {
        arguments[i - 1].read(argv[i]);
    }
    std::vector<unsigned> begin(count + 1, 0);

    if (machine_name("stages") == nullptr) {
        return 77;
    }
    if (machine_attribute(cudaDevAttrComputeCapabilityMajor) < 9) {
        std::printf("stages: skipped: no CUDA device of sm_90 or newer\n");
        return 77;
    }
    for (unsigned i = 0; i < count; i++) {
        begin[i + 1] = begin[i] + floats_of(i, model);
    }
    std::vector<float> data(begin[count], 1.0f), right(count);

    for (unsigned i = 0; i < count; i++) {
        right[i] = static_cast<float>(begin[i + 1] - begin[i]);
    }
    want.block_threads    = THREADS;
    want.threads_per_pool = THREADS;
    want.alignment        = 128;
    want.total_bytes      = kib * 1024u;
    machine_need(shpool_open(NULL, &want, &pool), "pool");
    if (pool.largest < ((page != 0) ? page : MOST)) {
        machine_fail("pool", "a stage is larger than " + std::to_string(pool.largest) + " bytes");
    }

    machine_array<float>    from(data), sums(count);
    machine_array<unsigned> begins(begin);
    const rows              r      = { from, sums, begins, count, (page != 0) ? page : MOST, page };
    const unsigned          blocks = machine_blocks_of(sum_rows, THREADS, pool.shared_bytes);

    const char *const       name   = (page != 0) ? "pages" : "stages";

    const int failed = machine_run(name, pool.shared_bytes, sums, right, [&] {
        machine_need(shpool_launch(sum_rows, blocks, THREADS, NULL, &pool, r), "launch");
    }, static_cast<double>(data.size() * sizeof(float)));

    machine_need(shpool_close(&pool), "close");
    return failed;
}
