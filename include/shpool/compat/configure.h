/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_memory's header of this name, with the default values of its build.  A program that needs
 * other sizes defines them before it includes this file. */
#pragma once
#include <stdlib.h>

#if defined(__CUDACC__)
#define DISPATCH_MACRO __device__
#else
#define DISPATCH_MACRO
#if !defined(pmalloc)
#define pmalloc malloc
#endif
#if !defined(pfree)
#define pfree free
#endif
#endif

#if !defined(CPU_MEM_POOL_SIZE)
#define CPU_MEM_POOL_SIZE 64000
#endif
#if !defined(GPU_MEM_POOL_SIZE)
#define GPU_MEM_POOL_SIZE 800
#endif
#if !defined(MEM_MAX_BLOCKS)
#define MEM_MAX_BLOCKS 100
#endif
#if !defined(MEM_MAX_THREADS)
#define MEM_MAX_THREADS 1100000
#endif
