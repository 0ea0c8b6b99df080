/* SPDX-License-Identifier: BSD-3-Clause */
/* Sorts the columns of each row of C, with their values: an option for all versions, because the
 * tables leave them in no order.  On a GPU with CUB, if SPARSE_SORT is defined: with its kernels,
 * joining the program with an allocator at run time takes more than 10 seconds. */
#ifndef SHPOOL_EXAMPLES_SPARSE_SORT_H
#define SHPOOL_EXAMPLES_SPARSE_SORT_H

#include "rows.h"

#if defined(__CUDACC__) && defined(SPARSE_SORT)
#include <cub/device/device_segmented_sort.cuh>
#elif !defined(__CUDACC__)
#include <algorithm>
#include <numeric>
#endif

/* Memory that sort_columns() needs besides C. */
struct sort_memory {
    machine_array<uint32_t> column;
    machine_array<float>    value;
    machine_array<char>     work;
};

#if defined(__CUDACC__) && defined(SPARSE_SORT)

/* p.column and p.value become the sorted arrays, which belong to `memory`. */
static void sort_columns(product *p, uint32_t entries, sort_memory *memory)
{
    uint32_t *column = memory->column.get(entries);
    float    *value  = memory->value.get(entries);
    size_t    bytes  = 0;
    char     *work   = nullptr;

    for (int turn = 0; turn < 2; turn++) { /* the first call returns the size */
        machine_cuda(cub::DeviceSegmentedSort::SortPairs(
                         work, bytes, p->column, column, p->value, value,
                         static_cast<int>(entries), static_cast<int>(p->a.rows), p->begin,
                         p->begin + 1), "sort");
        work = memory->work.get(bytes);
    }
    machine_wait();
    p->column = column;
    p->value  = value;
}

#elif defined(__CUDACC__)

static void sort_columns(product *, uint32_t, sort_memory *)
{
    machine_fail("--sort", "needs a program that was compiled with -DSPARSE_SORT");
}

#else

static void sort_columns(product *p, uint32_t entries, sort_memory *memory)
{
    uint32_t             *column = memory->column.get(entries);
    float                *value  = memory->value.get(entries);
    std::vector<uint32_t> order(entries);

    std::iota(order.begin(), order.end(), 0u);
    for (uint32_t row = 0; row < p->a.rows; row++) {
        std::sort(order.data() + p->begin[row], order.data() + p->begin[row + 1u],
                  [&](uint32_t a, uint32_t b) { return p->column[a] < p->column[b]; });
    }
    for (uint32_t i = 0; i < entries; i++) {
        column[i] = p->column[order[i]];
        value[i]  = p->value[order[i]];
    }
    p->column = column;
    p->value  = value;
}

#endif

#endif /* SHPOOL_EXAMPLES_SPARSE_SORT_H */
