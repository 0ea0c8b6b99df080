/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loadstore.cuh on a GPU: the trials of the CPU's tests, larger ones, offsets beyond 2^31, and the
 * shape of a launch_box.
 *
 *   gpu_loadstore [ROUNDS]    trials of each function and shape [12]
 *
 * Prints a FAIL line for each mismatch, and "N passed, M failed".  Exit code 0: all passed, 1:
 * something failed, 77: no device.
 */
#include <utility>

#include "tests/loadstore/gpu.cuh"
#include "tests/loadstore/ops.h"

unsigned char *gpu_in;
unsigned char *gpu_in2;
unsigned char *gpu_out;
int           *gpu_indices;
uint32_t      *gpu_wrong;

void gpu_result(bool ok, const std::string &what)
{
    (void)gpu_check(ok, "%s", what.c_str());
}

namespace {

#define STRIDED_SHAPES \
    shape<32, 1, uint8_t>, shape<64, 3, blob<3, 1>>, shape<96, 4, uint32_t>, \
        shape<32, 32, uint16_t>, shape<128, 7, uint64_t>, shape<64, 8, blob<24, 8>>, \
        shape<32, 5, careful>, shape<32, 2, blob<32, 16>>, shape<1024, 11, uint32_t>, \
        shape<64, 6, uint32_t, copy_path::automatic, ITERATOR>, \
        shape<32, 3, blob<12, 4>, copy_path::automatic, READ_ONLY>

template <template <typename> class Op> void strided(const char *name, unsigned rounds)
{
    gpu_all<Op, STRIDED_SHAPES>(name, rounds, 1);
}

/* ---- beyond 2^31 elements ---- */
constexpr long long FAR = (1ll << 31) + 12345; /* elements; not a multiple of anything */

SHPOOL_HOST_METHOD unsigned char far_byte(long long i)
{
    return static_cast<unsigned char>(hash(static_cast<uint32_t>(i),
                                           static_cast<uint32_t>(i >> 32)) >> 5);
}

__global__ void far_fill(unsigned char *p, long long count)
{
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
        p[i] = far_byte(i);
    }
}
__global__ void far_compare(const unsigned char *p, long long count, unsigned long long *wrong)
{
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
        if (p[i] != far_byte(i)) {
            atomicAdd(wrong, 1ull);
        }
    }
}

/* One array as two sources whose second begins beyond 2^31, and indexes that reach there. */
__global__ void far_kernel(const unsigned char *p, unsigned long long *wrong)
{
    constexpr int       NT  = 128;
    constexpr int       VT  = 5;
    const int           tid = static_cast<int>(threadIdx.x);
    const long long     a   = 300;
    unsigned char       reg[VT];
    long long           indices[VT];

    shpool::load2_to_reg<NT, VT, VT>(p, a, p + FAR, 340, tid, reg);
    for (int i = 0; i < VT; i++) {
        const long long e = NT * i + tid;

        if ((e < 640) && (reg[i] != far_byte((e < a) ? e : FAR + e - a))) {
            atomicAdd(wrong, 1ull);
        }
        indices[i] = (e % 2 == 0) ? e : FAR + e;
    }
    shpool::gather<NT, VT>(NT * VT, p, indices, tid, reg);
    for (int i = 0; i < VT; i++) {
        if (reg[i] != far_byte(indices[i])) {
            atomicAdd(wrong, 1ull);
        }
    }
    /* the same numbers as indexes of a merge: b begins at element FAR */
    shpool::transfer_merge_reg<NT, VT>(NT * VT, p, p + FAR, FAR, indices, tid, reg);
    for (int i = 0; i < VT; i++) {
        if (reg[i] != far_byte(indices[i])) {
            atomicAdd(wrong, 1ull);
        }
    }
    shpool::global_to_thread<NT, VT>(FAR, p + FAR, tid, reg);
    for (int i = 0; i < VT; i++) {
        if (reg[i] != far_byte(FAR + VT * tid + i)) {
            atomicAdd(wrong, 1ull);
        }
    }
}
__global__ void far_copy(const unsigned char *from, long long count, unsigned char *to)
{
    shpool::mem_to_mem_loop<1024>(count, from, static_cast<int>(threadIdx.x), to);
}

void far_offsets()
{
    const long long     bytes = FAR + (1 << 20);
    unsigned char      *all   = nullptr;
    unsigned char      *copy  = nullptr;
    unsigned long long *wrong = nullptr;
    unsigned long long  found = 0;

    if ((cudaMalloc(&all, bytes) != cudaSuccess) || (cudaMalloc(&copy, bytes) != cudaSuccess) ||
        (cudaMalloc(&wrong, sizeof(*wrong)) != cudaSuccess)) {
        (void)cudaGetLastError();
        std::printf("note offsets beyond 2^31: not tried, no %lld MiB of memory\n",
                    2 * bytes >> 20);
    } else {
        (void)gpu_cuda(cudaMemset(wrong, 0, sizeof(*wrong)), "cudaMemset");
        (void)gpu_cuda(cudaMemset(copy, 0x5a, bytes), "cudaMemset");
        far_fill<<<2048, 256>>>(all, bytes);
        gpu_wait("far_fill");
        far_kernel<<<1, 128>>>(all, wrong);
        gpu_wait("far_kernel");
        (void)gpu_cuda(cudaMemcpy(&found, wrong, sizeof(found), cudaMemcpyDeviceToHost), "copy");
        (void)gpu_check(found == 0, "beyond 2^31 elements: %llu wrong registers", found);
        far_copy<<<1, 1024>>>(all, FAR, copy); /* one block, in its loop */
        gpu_wait("far_copy");
        far_compare<<<2048, 256>>>(copy, FAR, wrong);
        gpu_wait("far_compare");
        (void)gpu_cuda(cudaMemcpy(&found, wrong, sizeof(found), cudaMemcpyDeviceToHost), "copy");
        (void)gpu_check(found == 0, "mem_to_mem_loop beyond 2^31: %llu wrong bytes", found);
        unsigned char behind = 0;

        (void)gpu_cuda(cudaMemcpy(&behind, copy + FAR, 1, cudaMemcpyDeviceToHost), "copy");
        (void)gpu_check(behind == 0x5a, "mem_to_mem_loop writes behind count");
    }
    (void)cudaFree(all);
    (void)cudaFree(copy);
    (void)cudaFree(wrong);
}

/* ---- launch boxes ---- */
typedef shpool::launch_box<shpool::tune<75, 64, 3>, shpool::tune<80, 96, 5>,
                           shpool::tune<90, 128, 7, 2>, shpool::tune<100, 160, 9>> gpu_box;
typedef shpool::launch_box<shpool::tune<75, 512, 3>> larger_box;

template <typename Box> SHPOOL_LAUNCH_BOUNDS(Box) void box_kernel(int *out)
{
    typedef SHPOOL_LAUNCH_PARAMS(Box) params;

    out[0] = params::NT;
    out[1] = params::VT;
}

void launch_boxes()
{
    shpool::launch_shape shape = {};
    int                  found[2] = {};

    if (gpu_check(shpool::launch_params<gpu_box>(box_kernel<gpu_box>, &shape) == SHPOOL_OK,
                  "launch_params: %s", shpool_last_error())) {
        box_kernel<gpu_box><<<1, shape.NT>>>(gpu_indices);
        gpu_wait("box_kernel");
        (void)gpu_cuda(cudaMemcpy(found, gpu_indices, sizeof(found), cudaMemcpyDeviceToHost),
                       "cudaMemcpy");
        (void)gpu_check((found[0] == shape.NT) && (found[1] == shape.VT),
                        "the host launches %d, %d and the kernel has %d, %d", shape.NT, shape.VT,
                        found[0], found[1]);
    }
    (void)gpu_check((shpool::launch_params<larger_box>(box_kernel<gpu_box>, &shape) ==
                     SHPOOL_ERR_INVALID) && (shape.NT == 0),
                    "another box's kernel is not refused: NT %d", shape.NT);
}

} // namespace

void gpu_strided(unsigned rounds)
{
    strided<op_shared_to_reg>("shared_to_reg", rounds);
    strided<op_shared_to_reg_counted>("shared_to_reg (counted)", rounds);
    strided<op_global_to_reg>("global_to_reg", rounds);
    strided<op_global_to_reg_pred>("global_to_reg_pred", rounds);
    strided<op_global_to_reg2>("global_to_reg2", rounds);
    strided<op_global_to_reg_default>("global_to_reg_default", rounds);
    strided<op_global_to_reg_default2>("global_to_reg_default2", rounds);
    strided<op_global_to_reg_loop>("global_to_reg_loop", rounds);
    strided<op_reg_to_shared>("reg_to_shared", rounds);
    strided<op_reg_to_global>("reg_to_global", rounds);
    strided<op_gather>("gather", rounds);
    strided<op_gather_default>("gather_default", rounds);
    strided<op_scatter>("scatter", rounds);
    strided<op_gather_global_to_global>("gather_global_to_global", rounds);
    strided<op_load2_to_reg>("load2_to_reg", rounds);
    strided<op_load2_to_shared>("load2_to_shared", rounds);
    strided<op_transfer_merge_reg>("transfer_merge_reg", rounds);
    strided<op_transfer_merge_shared>("transfer_merge_shared", rounds);
}

int main(int argc, char **argv)
{
    const int      asked  = (argc > 1) ? std::atoi(argv[1]) : 0;
    const unsigned rounds = (asked > 0) ? static_cast<unsigned>(asked) : 12;

    gpu_need_device();
    if (!gpu_cuda(cudaMalloc(&gpu_in, GPU_BUFFER_BYTES), "cudaMalloc") ||
        !gpu_cuda(cudaMalloc(&gpu_in2, GPU_BUFFER_BYTES), "cudaMalloc") ||
        !gpu_cuda(cudaMalloc(&gpu_out, GPU_BUFFER_BYTES), "cudaMalloc") ||
        !gpu_cuda(cudaMalloc(&gpu_indices, GPU_BUFFER_BYTES), "cudaMalloc") ||
        !gpu_cuda(cudaMalloc(&gpu_wrong, sizeof(*gpu_wrong)), "cudaMalloc") ||
        !gpu_cuda(cudaMemset(gpu_wrong, 0, sizeof(*gpu_wrong)), "cudaMemset")) {
        return gpu_summary();
    }
    launch_boxes();
    gpu_strided(rounds);
    gpu_copies(rounds);
    gpu_stages(rounds);
    gpu_threads(rounds);
    far_offsets();
    return gpu_summary();
}
