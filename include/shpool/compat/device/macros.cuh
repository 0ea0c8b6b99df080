/* SPDX-License-Identifier: BSD-3-Clause */
/* The macros before MGPU's functions and its enumerations; its own headers of these if its
 * algorithms are used together with these headers (doc/COMPAT.md). */
#ifndef SHPOOL_COMPAT_DEVICE_MACROS_CUH
#define SHPOOL_COMPAT_DEVICE_MACROS_CUH

#if __has_include(<device/deviceutil.cuh>)
#include <cmath>
#include <memory>

#include <device/deviceutil.cuh>
#endif

/* Unlike in MGPU, not forced inline on the host: its host functions are recursive. */
#undef MGPU_HOST
#undef MGPU_DEVICE
#undef MGPU_HOST_DEVICE
#if defined(__CUDACC__)
#define MGPU_HOST        __host__ inline
#define MGPU_DEVICE      __device__ __forceinline__
#define MGPU_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define MGPU_HOST        inline
#define MGPU_DEVICE      inline
#define MGPU_HOST_DEVICE inline
#endif
#if !defined(MGPU_DIV_UP)
#define MGPU_DIV_UP(x, y) (((x) + (y) - 1) / (y))
#endif

#include <shpool/compat/mgpuenums.h>

#endif /* SHPOOL_COMPAT_DEVICE_MACROS_CUH */
