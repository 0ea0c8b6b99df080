/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A PyTorch operator whose kernel has a pool for each block: shpool_rows::row_medians(Tensor
 * offsets, Tensor values, int payload_bytes) -> Tensor.  torch_rows.py builds and calls it.
 */
#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "rows.cuh"

#define THREADS 128u

namespace {

/* A thread's latest pool.  It has no report, so it does not have to be closed, and opening another
 * one does not allocate: this also works while a stream captures a graph. */
struct opened {
    int         device;
    int64_t     payload_bytes;
    shpool_pool pool;
};

const shpool_pool &pool_of(int device, int64_t payload_bytes)
{
    thread_local opened last = {-1, 0, {}};

    if ((last.device != device) || (last.payload_bytes != payload_bytes)) {
        shpool_config want = {};

        last.device        = -1;
        want.block_threads = THREADS;
        want.payload_bytes = (uint32_t)payload_bytes;
        TORCH_CHECK((payload_bytes > 0) && (payload_bytes < (1 << 30)) &&
                        (shpool_open(NULL, &want, &last.pool) == SHPOOL_OK),
                    "row_medians: ", shpool_last_error());
        last.device        = device;
        last.payload_bytes = payload_bytes;
    }
    return last.pool;
}

at::Tensor row_medians_cuda(const at::Tensor &offsets, const at::Tensor &values,
                            int64_t payload_bytes)
{
    TORCH_CHECK(values.is_cuda() && (offsets.device() == values.device()),
                "row_medians: offsets and values must be on one GPU");
    TORCH_CHECK((offsets.scalar_type() == at::kLong) && (values.scalar_type() == at::kFloat),
                "row_medians: offsets are int64, values float32");
    TORCH_CHECK((offsets.dim() == 1) && (values.dim() == 1) && (offsets.numel() >= 1) &&
                    offsets.is_contiguous() && values.is_contiguous(),
                "row_medians: offsets and values are contiguous and have one dimension");
    const c10::cuda::CUDAGuard guard(values.device());
    const int64_t              rows    = offsets.numel() - 1;
    at::Tensor                 medians = at::empty({rows}, values.options());

    if (rows > 0) {
        const shpool_pool &pool = pool_of(values.get_device(), payload_bytes);

        TORCH_CHECK(shpool_launch(row_medians, dim3((unsigned)((rows + THREADS - 1) / THREADS)),
                                  dim3(THREADS), c10::cuda::getCurrentCUDAStream(), &pool,
                                  (const long long *)offsets.const_data_ptr<int64_t>(),
                                  values.const_data_ptr<float>(), medians.data_ptr<float>(),
                                  (long long)rows) == SHPOOL_OK,
                    "row_medians: ", shpool_last_error());
    }
    return medians;
}

} /* namespace */

TORCH_LIBRARY(shpool_rows, library)
{
    library.def("row_medians(Tensor offsets, Tensor values, int payload_bytes) -> Tensor");
}

TORCH_LIBRARY_IMPL(shpool_rows, CUDA, library)
{
    library.impl("row_medians", &row_medians_cuda);
}
