/* SPDX-License-Identifier: BSD-3-Clause */
/* MGPU's header of this name: the load and store functions, launch boxes, and
 * the macros in front of device functions. */
#ifndef SHPOOL_COMPAT_MGPUDEVICE_CUH
#define SHPOOL_COMPAT_MGPUDEVICE_CUH

#include <shpool/compat/device/launchbox.cuh>
#include <shpool/compat/device/loadstore.cuh>

#if defined(__CUDACC__)
#define MGPU_HOST        __host__ __forceinline__
#define MGPU_DEVICE      __device__ __forceinline__
#define MGPU_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define MGPU_HOST        inline
#define MGPU_DEVICE      inline
#define MGPU_HOST_DEVICE inline
#endif
#define MGPU_DIV_UP(x, y) (((x) + (y) - 1) / (y))

#endif /* SHPOOL_COMPAT_MGPUDEVICE_CUH */
