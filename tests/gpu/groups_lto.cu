/* SPDX-License-Identifier: BSD-3-Clause */
/* groups_kernel.cuh for run-time linking: compiled to LTO-IR, which gpu_groups embeds. */
#define SHPOOL_LINKED
#define GROUPS_KERNEL groups_kernel_linked
#include "groups_kernel.cuh"
