/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of very different lengths, one block each, that are kept on the chip: a block whose row is
 * longer than its shared memory borrows from the other blocks of its cluster, whose rows are short.
 * (sm_90.  On older GPUs clusters have one block, and the rest of a long row stays in global
 * memory.)
 *
 * Each row is divided by its sum, in two passes over its values.  The program prints how many
 * values were kept, and how many fit if no block borrows.
 *
 *   nvcc -rdc=true cluster.cu -o cluster $(pkg-config --cflags --libs shpool)
 */
#include "machine.h"

#define THREADS 256
#define ROWS    528u /* whole clusters */
#define CHUNK   512  /* values of one allocation */
#define MOST    128  /* allocations of a row */
#define SHARED  (40u * 1024u)

/* Each row allocates the chunks that it needs, and frees them at the end. */
static __global__ void divide_rows(shpool_pool pool, const int *first, const unsigned *in,
                                   float *out, unsigned long long *on_chip)
{
    extern __shared__ __align__(16) unsigned char smem[];
    __shared__ unsigned *chunk[MOST];
    __shared__ unsigned  sum;
    shpool_heap heap  = shpool_init(&pool, smem); /* all blocks of the cluster */
    const int   from  = first[blockIdx.x];
    const int   count = first[blockIdx.x + 1] - from;
    unsigned    mine  = 0;

    for (int c = threadIdx.x; c < MOST; c += THREADS) {
        void *own = (c * CHUNK < count) ? shpool_malloc(heap, CHUNK * sizeof(unsigned)) : nullptr;

        chunk[c] = static_cast<unsigned *>(own);
        if (own != nullptr) {
            atomicAdd(on_chip, static_cast<unsigned long long>(min(count - c * CHUNK, CHUNK)));
        }
    }
    sum = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += THREADS) {
        const unsigned value = in[from + i];

        if ((i / CHUNK < MOST) && (chunk[i / CHUNK] != nullptr)) {
            chunk[i / CHUNK][i % CHUNK] = value;
        }
        mine += value;
    }
    atomicAdd(&sum, mine);
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += THREADS) {
        const bool kept = (i / CHUNK < MOST) && (chunk[i / CHUNK] != nullptr);

        out[from + i] = static_cast<float>(kept ? chunk[i / CHUNK][i % CHUNK] : in[from + i]) /
                        static_cast<float>(sum);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < MOST; c += THREADS) { shpool_free(heap, chunk[c]); }
    shpool_fini(heap); /* no block exits while another one still uses its memory */
}

int main()
{
    const char           *name = machine_name("cluster");
    std::vector<int>      first(1, 0); /* of each row, and the end of the last one */
    std::vector<unsigned> in;
    std::vector<float>    right;
    shpool_config         want = {};
    shpool_pool           pool = {};
    unsigned long long    fit  = 0;

    if (name == nullptr) { return 77; }
    for (unsigned row = 0; row < ROWS; row++) { /* one in four has most of the values */
        const unsigned count = (row % 4u == 1u) ? 30000u + row : 300u;
        unsigned       sum   = 0;

        for (unsigned i = 0; i < count; i++) {
            in.push_back((row + i) * 7919u % 101u);
            sum += in.back();
        }
        for (unsigned i = 0; i < count; i++) {
            right.push_back(static_cast<float>(in[right.size()]) / static_cast<float>(sum));
        }
        first.push_back(static_cast<int>(in.size()));
        fit += std::min<unsigned>(count, SHARED / sizeof(unsigned));
    }
    want.block_threads = THREADS;
    want.total_bytes   = SHARED;
    machine_need(shpool_open("cluster_bitmap", &want, &pool), "pool");

    machine_array<int>                starts(first);
    machine_array<unsigned>           values(in);
    machine_array<float>              out(in.size());
    machine_array<unsigned long long> kept(1);
    const unsigned clusters = (machine_attribute(cudaDevAttrComputeCapabilityMajor) >= 9) ? 4 : 1;

    kept.zero();
    machine_need(shpool_launch_cluster(divide_rows, dim3(ROWS), dim3(clusters), dim3(THREADS),
                                       pool.shared_bytes, 0, pool, starts, values, out, kept),
                 "launch");

    const double all = static_cast<double>(in.size()) / 100.0;

    std::printf("%u bytes of shared memory a block keep %.0f %% of the values, and without "
                "borrowing %.0f %%\n", SHARED, static_cast<double>(kept.read()[0]) / all,
                static_cast<double>(fit) / all);
    machine_need(shpool_close(&pool), "close");
    return machine_check(name, out, right);
}
