/* SPDX-License-Identifier: BSD-3-Clause */
/* Trials of loadstore.cuh on a GPU. */
#ifndef SHPOOL_TESTS_LOADSTORE_GPU_CUH
#define SHPOOL_TESTS_LOADSTORE_GPU_CUH

#include "tests/gpu/check.h"
#include "run.h"

/* Device buffers, of gpu/loadstore.cu. */
constexpr size_t GPU_BUFFER_BYTES = 16u << 20;
extern unsigned char *gpu_in;
extern unsigned char *gpu_in2;
extern unsigned char *gpu_out;
extern int           *gpu_indices;
extern uint32_t      *gpu_wrong; /* one word, 0 between trials */
void gpu_result(bool ok, const std::string &what); /* one trial more */

/* The parts of the program. */
void gpu_strided(unsigned rounds);
void gpu_copies(unsigned rounds);
void gpu_stages(unsigned rounds);
void gpu_threads(unsigned rounds);

namespace {

template <typename Op> __global__ __launch_bounds__(Op::shape::NT) void gpu_kernel(trial t)
{
    run_trial<Op>(t);
}

/* As near to the buffer's end as the shift allows: compute-sanitizer reports reads past it. */
inline unsigned char *gpu_place(unsigned char *buffer, const std::vector<unsigned char> &bytes,
                                uint32_t shift)
{
    unsigned char *at = buffer + ((GPU_BUFFER_BYTES - shift - bytes.size()) & ~size_t{15}) + shift;

    if (!bytes.empty()) {
        (void)gpu_cuda(cudaMemcpy(at, bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
                       "cudaMemcpy to the device");
    }
    return at;
}

template <typename Op>
bool machine_run(const job &j, trial t, std::vector<unsigned char> *out)
{
    unsigned char *result = gpu_place(gpu_out, j.out, j.out_shift);
    uint32_t       wrong  = 0;

    t.in      = gpu_place(gpu_in, j.in, j.in_shift);
    t.in2     = gpu_place(gpu_in2, j.in2, j.in2_shift);
    t.out     = result + ((Op::writes == OUT) ? GUARD : 0);
    t.indices = gpu_indices;
    t.wrong   = gpu_wrong;
    if (Op::reads_indices) {
        (void)gpu_cuda(cudaMemcpy(gpu_indices, j.indices.data(), j.indices.size() * sizeof(int),
                                  cudaMemcpyHostToDevice), "cudaMemcpy of the indexes");
    }
    if (j.dynamic_bytes > 48u * 1024u) {
        (void)gpu_cuda(cudaFuncSetAttribute(gpu_kernel<Op>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(j.dynamic_bytes)),
                       "cudaFuncSetAttribute");
    }
    gpu_kernel<Op><<<1, j.threads, j.dynamic_bytes>>>(t);
    gpu_wait("a trial's kernel");
    out->resize(j.out.size());
    (void)gpu_cuda(cudaMemcpy(&wrong, gpu_wrong, sizeof(wrong), cudaMemcpyDeviceToHost),
                   "cudaMemcpy from the device");
    if (wrong != 0) {
        (void)gpu_cuda(cudaMemset(gpu_wrong, 0, sizeof(wrong)), "cudaMemset");
    }
    return gpu_cuda(cudaMemcpy(out->data(), result, out->size(), cudaMemcpyDeviceToHost),
                    "cudaMemcpy from the device") && (wrong == 0);
}

inline void report(const std::string &what)
{
    gpu_result(false, what);
}

/* As check_all(), each trial counted. */
template <template <typename> class Op, typename... Shapes>
void gpu_shapes(const char *name, unsigned rounds, unsigned long long seed)
{
    unsigned trials = rounds * static_cast<unsigned>(sizeof...(Shapes));
    unsigned failed = check_all<Op, Shapes...>(name, rounds, seed);

    for (unsigned i = failed; i < trials; i++) {
        gpu_result(true, name);
    }
    std::printf("%s: %u of %u trials passed\n", name, trials - failed, trials);
    std::fflush(stdout);
}

/* GPU_ONE_SHAPE: of each list only the first one, for machines that compile these programs and
 * cannot run them. */
template <template <typename> class Op, typename First, typename... More>
void gpu_all(const char *name, unsigned rounds, unsigned long long seed)
{
#ifdef GPU_ONE_SHAPE
    gpu_shapes<Op, First>(name, rounds, seed);
#else
    gpu_shapes<Op, First, More...>(name, rounds, seed);
#endif
}

} // namespace

#endif /* SHPOOL_TESTS_LOADSTORE_GPU_CUH */
