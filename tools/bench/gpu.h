/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the GPU that is measured: gpu.cu, or no_cuda.c. */
#ifndef SHPOOL_BENCH_GPU_H
#define SHPOOL_BENCH_GPU_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Whether there is a GPU; its name and driver in text, or why not. */
int bench_cuda_present(char *text, size_t bytes);

/** Whether to run on a GPU; device: in bench_device_names, or BENCH_ANY_DEVICE.  text: why, or the
 *  GPU.  -1: there is none, and stderr says so. */
int bench_choose_device(int device, char *text, size_t bytes);

/** The version of the CUDA runtime, 13000 for 13.0; 0: this build has no CUDA. */
int bench_cuda_runtime(void);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_GPU_H */
