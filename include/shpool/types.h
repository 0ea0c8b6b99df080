/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/types.h
 * The fixed-width types that the public headers are written with.
 *
 * C11, C++17, CUDA and NVRTC.  NVRTC has no system headers, so the fixed-width types that the
 * library needs are declared here for it.  64-bit fields are spelt `unsigned long long`, because
 * uint64_t names different types in different code bases that compile at run time.
 */
#ifndef SHPOOL_TYPES_H
#define SHPOOL_TYPES_H

#if defined(__CUDACC_RTC__)
typedef unsigned char  uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int   uint32_t;
typedef int            int32_t;
#else
#include <stddef.h>
#include <stdint.h>
#endif

/**
 * A byte in the shared memory of the running block: on the GPU an offset in the 32-bit shared
 * window, on the CPU block executor an offset in the block's arena.  0 stands for "none"; an
 * allocator never returns it.
 */
typedef uint32_t simt_addr;

#endif /* SHPOOL_TYPES_H */
