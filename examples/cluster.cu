/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of very different lengths, one block each, that are kept on the chip: a block whose row is
 * longer than its shared memory borrows from the other blocks of its cluster, whose rows are short.
 * (sm_90.  On older GPUs clusters have one block, and the rest of a long row stays in global
 * memory.)
 *
 * Each row is replaced by its softmax, exp(x - max) / sum, in three passes over its values.  The
 * program prints how many values were kept, and how many fit if no block borrows.
 *
 *   nvcc -rdc=true cluster.cu -o cluster $(pkg-config --cflags --libs shpool)
 */
#include "machine.h"

#include <cmath>

#define THREADS 256
#define CHUNK   512  /* values of one allocation */
#define MOST    128  /* allocations of a row */
#define SHARED  (40u * 1024u)

static __device__ float block_fold(float value, bool is_max)
{
    __shared__ float part[THREADS / 32];

    for (int step = 16; step > 0; step /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, value, step);

        value = is_max ? fmaxf(value, other) : value + other;
    }
    if (threadIdx.x % 32 == 0) {
        part[threadIdx.x / 32] = value;
    }
    __syncthreads();
    value = part[0];
    for (int i = 1; i < THREADS / 32; i++) {
        value = is_max ? fmaxf(value, part[i]) : value + part[i];
    }
    __syncthreads();
    return value;
}

/* The three passes; at(i) is the place of value i in shared memory, or NULL if it has none. */
template <typename At>
static __device__ void softmax(const float *in, float *out, int count, At at)
{
    float top = -INFINITY;
    float sum = 0;

    for (int i = threadIdx.x; i < count; i += THREADS) {
        float *kept = at(i);

        if (kept != NULL) {
            *kept = in[i];
        }
        top = fmaxf(top, in[i]);
    }
    top = block_fold(top, true);
    for (int i = threadIdx.x; i < count; i += THREADS) {
        float *kept = at(i);
        float  e    = expf(((kept != NULL) ? *kept : in[i]) - top);

        if (kept != NULL) {
            *kept = e;
        }
        sum += e;
    }
    sum = block_fold(sum, false);
    for (int i = threadIdx.x; i < count; i += THREADS) {
        float *kept = at(i);

        out[i] = ((kept != NULL) ? *kept : expf(in[i] - top)) / sum;
    }
}

/* Each row allocates the chunks that it needs, and frees them at the end. */
static __global__ void softmax_rows(shpool_pool pool, const int *first, const float *in, float *out,
                                    unsigned long long *on_chip)
{
    extern __shared__ __align__(16) unsigned char smem[];
    __shared__ float *chunk[MOST];
    shpool_heap heap   = shpool_init(&pool, smem); /* all blocks of the cluster */
    int         from   = first[blockIdx.x];
    int         count  = first[blockIdx.x + 1] - from;
    int         chunks = (count + CHUNK - 1) / CHUNK;

    for (int i = threadIdx.x; i < MOST; i += THREADS) {
        chunk[i] = (i < chunks) ? static_cast<float *>(shpool_malloc(heap, CHUNK * sizeof(float)))
                                : NULL;
    }
    __syncthreads();
    softmax(in + from, out + from, count, [&](int i) {
        float *piece = (i / CHUNK < MOST) ? chunk[i / CHUNK] : NULL;

        return (piece != NULL) ? piece + i % CHUNK : NULL;
    });
    __syncthreads();
    for (int i = threadIdx.x; i < MOST; i += THREADS) {
        if (chunk[i] != NULL) {
            int here = (count - i * CHUNK < CHUNK) ? count - i * CHUNK : CHUNK;

            atomicAdd(on_chip, static_cast<unsigned long long>(here));
            shpool_free(heap, chunk[i]);
        }
    }
    shpool_fini(heap); /* no block exits while another one still uses its memory */
}

/* The number of values that are not those of the host's softmax. */
static unsigned count_wrong(const std::vector<int> &first, const std::vector<float> &in,
                            const std::vector<float> &out)
{
    unsigned wrong = 0;

    for (size_t row = 0; row + 1 < first.size(); row++) {
        double sum = 0;

        for (int i = first[row]; i < first[row + 1]; i++) {
            sum += std::exp(static_cast<double>(in[i]));
        }
        for (int i = first[row]; i < first[row + 1]; i++) {
            const double right = std::exp(static_cast<double>(in[i])) / sum;

            wrong += !(std::fabs(out[i] - right) <= 1e-4 * right);
        }
    }
    return wrong;
}

int main()
{
    const unsigned     rows  = 528; /* whole clusters */
    const char        *name  = machine_name("cluster");
    std::vector<int>   first(1, 0); /* of each row, and the end of the last one */
    std::vector<float> in;
    shpool_config      want  = {};
    shpool_pool        pool  = {};
    int                major = 0; /* of the compute capability: clusters need 9 or more */
    unsigned long long fit   = 0;

    if (name == nullptr) {
        return 77;
    }
    for (unsigned row = 0; row < rows; row++) { /* one in four has most of the values */
        const int count = static_cast<int>((row % 4u == 1u) ? 30000u + row : 300u);

        first.push_back(first.back() + count);
        fit += std::min<unsigned>(count, SHARED / sizeof(float));
    }
    for (unsigned i = 0; i < static_cast<unsigned>(first.back()); i++) {
        in.push_back(static_cast<float>(i * 7919u % 1013u) / 100.0f);
    }
    machine_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "attribute");
    want.block_threads = THREADS;
    want.total_bytes   = SHARED;
    machine_need(shpool_open("cluster_bitmap", &want, &pool), "pool");

    machine_array<int>                starts(first);
    machine_array<float>              values(in), out(in.size());
    machine_array<unsigned long long> kept(1);

    kept.zero();
    machine_need(shpool_launch_cluster(softmax_rows, dim3(rows), dim3((major >= 9) ? 4 : 1),
                                       dim3(THREADS), pool.shared_bytes, 0, pool,
                                       static_cast<const int *>(starts),
                                       static_cast<const float *>(values),
                                       static_cast<float *>(out),
                                       static_cast<unsigned long long *>(kept)), "launch");

    const unsigned wrong = count_wrong(first, in, out.read());
    const double   all   = static_cast<double>(in.size()) / 100.0;

    std::printf("%s: %u rows, %zu values, %u wrong; %u bytes of shared memory a block keep %.0f %% "
                "of them, and without borrowing %.0f %%\n", name, rows, in.size(), wrong, SHARED,
                static_cast<double>(kept.read()[0]) / all, static_cast<double>(fit) / all);
    machine_need(shpool_close(&pool), "close");
    return wrong != 0;
}
