/* SPDX-License-Identifier: BSD-3-Clause */
/* MGPU's device functions with the executor's half of their code, whose accesses are checked. */
#include "cuda_runtime.h"

#pragma push_macro("__CUDACC__")
#undef __CUDACC__
#include <shpool/compat/mgpudevice.cuh>
#pragma pop_macro("__CUDACC__")
