/* SPDX-License-Identifier: BSD-3-Clause */
/* MGPU's header of this name: contexts, memory, allocators, and the functions for kernels.  MGPU's
 * algorithms (scan, sort, ...) are not here, because CUB has their successors.  If they are
 * installed next to these headers (doc/COMPAT.md), they are included. */
#ifndef SHPOOL_COMPAT_MODERNGPU_CUH
#define SHPOOL_COMPAT_MODERNGPU_CUH

#include <shpool/compat/mgpudevice.cuh>
#include <shpool/compat/util/mgpucontext.h>

#if __has_include(<kernels/reduce.cuh>)
#include <kernels/reduce.cuh>
#endif
#if __has_include(<kernels/scan.cuh>)
#include <kernels/scan.cuh>
#endif
#if __has_include(<kernels/bulkremove.cuh>)
#include <kernels/bulkremove.cuh>
#endif
#if __has_include(<kernels/bulkinsert.cuh>)
#include <kernels/bulkinsert.cuh>
#endif
#if __has_include(<kernels/merge.cuh>)
#include <kernels/merge.cuh>
#endif
#if __has_include(<kernels/mergesort.cuh>)
#include <kernels/mergesort.cuh>
#endif
#if __has_include(<kernels/segmentedsort.cuh>)
#include <kernels/segmentedsort.cuh>
#endif
#if __has_include(<kernels/localitysort.cuh>)
#include <kernels/localitysort.cuh>
#endif
#if __has_include(<kernels/sortedsearch.cuh>)
#include <kernels/sortedsearch.cuh>
#endif
#if __has_include(<kernels/loadbalance.cuh>)
#include <kernels/loadbalance.cuh>
#endif
#if __has_include(<kernels/intervalmove.cuh>)
#include <kernels/intervalmove.cuh>
#endif
#if __has_include(<kernels/join.cuh>)
#include <kernels/join.cuh>
#endif
#if __has_include(<kernels/sets.cuh>)
#include <kernels/sets.cuh>
#endif
#if __has_include(<kernels/segreducecsr.cuh>)
#include <kernels/segreducecsr.cuh>
#endif
#if __has_include(<kernels/reducebykey.cuh>)
#include <kernels/reducebykey.cuh>
#endif
#if __has_include(<kernels/spmvcsr.cuh>)
#include <kernels/spmvcsr.cuh>
#endif

#endif /* SHPOOL_COMPAT_MODERNGPU_CUH */
