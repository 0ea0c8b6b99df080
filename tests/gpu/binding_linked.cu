/* SPDX-License-Identifier: BSD-3-Clause */
/* binding_kernel.cuh for run-time linking: compiled to LTO-IR, which gpu_bindings embeds. */
#define SHPOOL_LINKED
#define BINDING_STATICS
#define BINDING_KERNEL binding_linked
#include "binding_kernel.cuh"
