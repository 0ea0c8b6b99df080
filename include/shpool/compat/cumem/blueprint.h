/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_memory's header of this name: pool_init, pmalloc and pfree as macros for the qualified names
 * that the USE_* define selects, so that they work wherever a function's name does.  Without a
 * define the last two are malloc and free, in kernels and in host code. */
#pragma once
#include <cstdlib>

#include <shpool/compat/cuda_memory.cuh>

#undef pool_init
#undef pmalloc
#undef pfree
#define pool_init pool_type::pool_init
#if defined(SHPOOL_COMPAT_NATIVE)
#define pmalloc malloc
#define pfree free
#else
#define pmalloc SHPOOL_COMPAT_MALLOC
#define pfree pool_type::pfree
#endif
