/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The median of each row of a ragged array: row i is from values[offsets[i]] up to, but not
 * including, values[offsets[i + 1]].
 *
 * Each thread sorts a copy of its row in the block's pool.  A static array would have to be as long
 * as the longest row for each thread.
 *
 * For CuPy (cupy_rows.py), PyTorch (torch_rows.cu), and programs that nvcc compiles.
 */
#include <shpool/shpool.cuh>

extern "C" __global__ void row_medians(shpool_pool pool, const long long *offsets,
                                       const float *values, float *medians, long long rows)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap  heap = shpool_init(&pool, smem);
    long long    i    = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const float *from = (i < rows) ? values + offsets[i] : values;
    unsigned     n    = (i < rows) ? (unsigned)(offsets[i + 1] - offsets[i]) : 0u;
    float       *row  = (n != 0) ? (float *)shpool_malloc(heap, n * sizeof(*row)) : NULL;

    for (unsigned k = 0; (row != NULL) && (k < n); k++) {
        unsigned at = k;

        for (; (at > 0) && (row[at - 1] > from[k]); at--) {
            row[at] = row[at - 1];
        }
        row[at] = from[k];
    }
    if (i < rows) { /* NaN: an empty row, or the allocation failed */
        medians[i] = (row != NULL) ? row[n / 2] : __int_as_float(0x7fffffff);
    }
    shpool_free(heap, row);
    shpool_fini(heap);
}
