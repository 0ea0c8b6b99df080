/* SPDX-License-Identifier: BSD-3-Clause */
/* trace_kernel.cuh for run-time linking: compiled to LTO-IR, which gpu_trace embeds. */
#define SHPOOL_LINKED
#define SHPOOL_CHECK
#define TRACE_KERNEL trace_kernel_linked
#include "trace_kernel.cuh"
