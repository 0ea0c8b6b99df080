/* SPDX-License-Identifier: BSD-3-Clause */
/* An operator that does nothing, with which times.py compares the one of
 * examples/torch_rows.cu: the same arguments, an output, a launch. */
#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

__global__ static void nothing(const long long *, const float *, float *, long long) {}

static at::Tensor empty_cuda(const at::Tensor &offsets, const at::Tensor &values, int64_t)
{
    TORCH_CHECK(values.is_cuda() && (offsets.device() == values.device()));
    const c10::cuda::CUDAGuard guard(values.device());
    const int64_t              rows = offsets.numel() - 1;
    at::Tensor                 out  = at::empty({rows}, values.options());

    nothing<<<(unsigned)((rows + 127) / 128), 128, 0, c10::cuda::getCurrentCUDAStream()>>>(
        (const long long *)offsets.const_data_ptr<int64_t>(), values.const_data_ptr<float>(),
        out.data_ptr<float>(), rows);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}

TORCH_LIBRARY(shpool_empty, library)
{
    library.def("nothing(Tensor offsets, Tensor values, int payload_bytes) -> Tensor");
}

TORCH_LIBRARY_IMPL(shpool_empty, CUDA, library)
{
    library.impl("nothing", &empty_cuda);
}
