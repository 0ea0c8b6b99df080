/* SPDX-License-Identifier: BSD-3-Clause */
/* MGPU's header of this name: the load and store functions, launch boxes, and the macros before
 * device functions; also its scans, if its algorithms are used together with these headers. */
#ifndef SHPOOL_COMPAT_MGPUDEVICE_CUH
#define SHPOOL_COMPAT_MGPUDEVICE_CUH

#include <shpool/compat/device/launchbox.cuh>
#include <shpool/compat/device/loadstore.cuh>

#if defined(__CUDACC__) && __has_include(<device/ctaloadbalance.cuh>)
/* MGPU 1.1's ctaloadbalance.cuh calls this function of ctamerge.cuh without including it, which
 * today's compilers reject. */
namespace mgpu {
MGPU_HOST_DEVICE int4 ComputeMergeRange(int, int, int, int, int, const int *);
} // namespace mgpu
#endif

#if __has_include(<device/ctascan.cuh>)
#include <device/ctascan.cuh>
#endif
#if __has_include(<device/ctasegscan.cuh>)
#include <device/ctasegscan.cuh>
#endif

#endif /* SHPOOL_COMPAT_MGPUDEVICE_CUH */
