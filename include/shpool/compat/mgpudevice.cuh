/* SPDX-License-Identifier: BSD-3-Clause */
/* MGPU's header of this name: the load and store functions, and launch boxes. */
#ifndef SHPOOL_COMPAT_MGPUDEVICE_CUH
#define SHPOOL_COMPAT_MGPUDEVICE_CUH

#include <shpool/compat/device/launchbox.cuh>
#include <shpool/compat/device/loadstore.cuh>

#endif /* SHPOOL_COMPAT_MGPUDEVICE_CUH */
