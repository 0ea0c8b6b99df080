/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of very different lengths, one block each, that are kept on the chip: a block whose row is
 * longer than its shared memory borrows from the other blocks of its cluster, whose rows are short.
 *
 * Each row is replaced by its softmax, exp(x - max) / sum, in three passes over its values.
 * `before` keeps the values that fit in an array of fixed size, and reads the others from global
 * memory in each pass.  `after` has the same shared memory, but as a pool of the cluster (sm_90; on
 * older GPUs, where clusters have one block, it is a pool of the block).
 *
 *   nvcc -rdc=true cluster.cu -o cluster $(pkg-config --cflags --libs shpool)
 */
#include <cmath>
#include <cstdio>
#include <vector>

#include <shpool/shpool.cuh>

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

/* Before: an array of fixed size; a short row leaves most of it unused. */
static __global__ void before(const int *first, const float *in, float *out,
                              unsigned long long *on_chip)
{
    extern __shared__ __align__(16) unsigned char smem[];
    float *values = reinterpret_cast<float *>(smem);
    int    from   = first[blockIdx.x];
    int    count  = first[blockIdx.x + 1] - from;
    int    most   = static_cast<int>(SHARED / sizeof(float));

    softmax(in + from, out + from, count, [&](int i) { return (i < most) ? values + i : NULL; });
    if (threadIdx.x == 0) {
        atomicAdd(on_chip, static_cast<unsigned long long>((count < most) ? count : most));
    }
}

/* After: each row allocates the chunks that it needs, and frees them at the end. */
static __global__ void after(shpool_pool pool, const int *first, const float *in, float *out,
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

/* ---- host ---- */

static bool failed(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    }
    return error != cudaSuccess;
}

static bool failed(shpool_status status)
{
    if (status != SHPOOL_OK) {
        std::fprintf(stderr, "%s\n", shpool_last_error());
    }
    return status != SHPOOL_OK;
}

static int check(const std::vector<int> &first, const std::vector<float> &in,
                 const std::vector<float> &out, const char *what)
{
    for (size_t row = 0; row + 1 < first.size(); row++) {
        double top = -INFINITY;
        double sum = 0;

        for (int i = first[row]; i < first[row + 1]; i++) {
            top = std::fmax(top, in[static_cast<size_t>(i)]);
        }
        for (int i = first[row]; i < first[row + 1]; i++) {
            sum += std::exp(in[static_cast<size_t>(i)] - top);
        }
        for (int i = first[row]; i < first[row + 1]; i++) {
            double right = std::exp(in[static_cast<size_t>(i)] - top) / sum;

            if (!(std::fabs(out[static_cast<size_t>(i)] - right) <= 1e-4 * right)) {
                std::fprintf(stderr, "%s: row %zu, value %d is %g, not %g\n", what, row,
                             i - first[row], out[static_cast<size_t>(i)], right);
                return 1;
            }
        }
    }
    return 0;
}

/* Test data: softmax of rows, of which one in four has most of the values. */
struct task {
    std::vector<int>    starts; /* of each row, and the end of the last one */
    std::vector<float>  in;
    int                *first   = NULL; /* the same on the device */
    float              *values  = NULL;
    float              *out     = NULL;
    unsigned long long *on_chip = NULL; /* for each kernel */
    shpool_pool         pool    = {};
    int                 major   = 0; /* of the compute capability: clusters need 9 or more */
};

static bool prepare(task &t, unsigned rows)
{
    shpool_config want = {};

    t.starts.assign(1, 0);
    for (unsigned row = 0; row < rows; row++) {
        t.starts.push_back(t.starts.back() +
                           static_cast<int>((row % 4u == 1u) ? 30000u + row : 300u));
    }
    for (int i = 0; i < t.starts.back(); i++) {
        t.in.push_back(static_cast<float>(static_cast<unsigned>(i) * 7919u % 1013u) / 100.0f);
    }
    want.block_threads = THREADS;
    want.total_bytes   = SHARED;

    const size_t bytes       = t.in.size() * sizeof(float);
    const size_t start_bytes = t.starts.size() * sizeof(int);

    return !failed(cudaDeviceGetAttribute(&t.major, cudaDevAttrComputeCapabilityMajor, 0),
                   "device") &&
           !failed(shpool_open("cluster_bitmap", &want, &t.pool)) &&
           !failed(cudaMalloc(&t.first, start_bytes), "cudaMalloc") &&
           !failed(cudaMalloc(&t.values, bytes), "cudaMalloc") &&
           !failed(cudaMalloc(&t.out, bytes), "cudaMalloc") &&
           !failed(cudaMalloc(&t.on_chip, 2 * sizeof(*t.on_chip)), "cudaMalloc") &&
           !failed(cudaMemset(t.on_chip, 0, 2 * sizeof(*t.on_chip)), "cudaMemset") &&
           !failed(cudaMemcpy(t.first, t.starts.data(), start_bytes, cudaMemcpyHostToDevice),
                   "cudaMemcpy") &&
           !failed(cudaMemcpy(t.values, t.in.data(), bytes, cudaMemcpyHostToDevice),
                   "cudaMemcpy");
}

/* Kernel 0 has only its block's shared memory, kernel 1 the cluster's. */
static bool run(task &t, unsigned rows, int kernel)
{
    std::vector<float> back(t.in.size());
    const size_t       bytes = back.size() * sizeof(float);

    if (failed(cudaMemset(t.out, 0, bytes), "cudaMemset")) {
        return false;
    }
    if (kernel == 0) {
        before<<<rows, THREADS, SHARED>>>(t.first, t.values, t.out, t.on_chip);
    } else if (failed(shpool_launch_cluster(after, dim3(rows), dim3((t.major >= 9) ? 4 : 1),
                                            dim3(THREADS), t.pool.shared_bytes, 0, t.pool,
                                            t.first, t.values, t.out, t.on_chip + 1))) {
        return false;
    }
    return !failed(cudaGetLastError(), "launch") &&
           !failed(cudaMemcpy(back.data(), t.out, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy") &&
           (check(t.starts, t.in, back, (kernel == 0) ? "before" : "after") == 0);
}

int main()
{
    const unsigned     rows       = 528; /* whole clusters */
    int                devices    = 0;
    unsigned long long on_chip[2] = {0, 0};
    task               t;

    if ((cudaGetDeviceCount(&devices) != cudaSuccess) || (devices == 0)) {
        std::puts("no CUDA device");
        return 77;
    }
    if (!prepare(t, rows) || !run(t, rows, 0) || !run(t, rows, 1) ||
        failed(cudaMemcpy(on_chip, t.on_chip, sizeof(on_chip), cudaMemcpyDeviceToHost),
               "cudaMemcpy") || failed(shpool_close(&t.pool))) {
        return 1;
    }
    std::printf("%u rows, %zu values, %u bytes of shared memory a block; kept on the chip: "
                "%.0f %% before, %.0f %% after\n", rows, t.in.size(), SHARED,
                100.0 * static_cast<double>(on_chip[0]) / static_cast<double>(t.in.size()),
                100.0 * static_cast<double>(on_chip[1]) / static_cast<double>(t.in.size()));
    (void)cudaFree(t.first);
    (void)cudaFree(t.values);
    (void)cudaFree(t.out);
    (void)cudaFree(t.on_chip);
    return 0;
}
