/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool_open() and its relatives for Python, which cannot call inline functions of a header.  The
 * file contains the CUDA runtime, which uses the context that PyTorch, CuPy or Numba made current.
 * Pools are for kernels that are linked with their allocator, or have it compiled in. */
#define SHPOOL_LINKED
#define SHPOOL_CHECK
#include <shpool/shpool.cuh>

#define PYTHON_API extern "C" __attribute__((visibility("default")))

PYTHON_API shpool_status shpool_python_open(const char *spec, const shpool_config *want,
                                            shpool_pool *pool_p)
{
    return shpool_open(spec, want, pool_p);
}

PYTHON_API shpool_status shpool_python_report(const shpool_pool *pool, shpool_report_data *report_p)
{
    return shpool_report(pool, report_p);
}

PYTHON_API shpool_status shpool_python_close(shpool_pool *pool)
{
    return shpool_close(pool);
}
