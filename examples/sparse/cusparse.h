/* SPDX-License-Identifier: BSD-3-Clause */
/* The same product by cuSPARSE, for the comparison: cusparseSpGEMM with its default algorithm. */
#ifndef SHPOOL_EXAMPLES_SPARSE_CUSPARSE_H
#define SHPOOL_EXAMPLES_SPARSE_CUSPARSE_H

#include <cusparse.h>

#include "matrix.h"
#include "rows.h"

static inline void cusparse_need(cusparseStatus_t status, const char *what)
{
    if (status != CUSPARSE_STATUS_SUCCESS) {
        machine_fail(what, cusparseGetErrorString(status));
    }
}

/* C = A * A, `rounds` times; the shortest one's seconds. */
static inline double by_cusparse(const csr &a, uint32_t nonzeros, uint32_t rounds, matrix *c)
{
    const float             one       = 1.0f;
    const float             zero      = 0.0f;
    const auto              int32     = CUSPARSE_INDEX_32I;
    const auto              base      = CUSPARSE_INDEX_BASE_ZERO;
    const auto              plain     = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const auto              algorithm = CUSPARSE_SPGEMM_DEFAULT;
    cusparseHandle_t        handle;
    cusparseSpMatDescr_t    in, out;
    cusparseSpGEMMDescr_t   work;
    machine_array<char>     first, second;
    machine_array<uint32_t> begin, columns;
    machine_array<float>    values;
    double                  best  = 1e30;
    int64_t                 rows  = 0;
    int64_t                 cols  = 0;
    int64_t                 count = 0;

    cusparse_need(cusparseCreate(&handle), "cusparseCreate");
    cusparse_need(cusparseCreateCsr(&in, a.rows, a.rows, nonzeros,
                                    const_cast<uint32_t *>(a.begin),
                                    const_cast<uint32_t *>(a.column),
                                    const_cast<float *>(a.value), int32, int32, base, CUDA_R_32F),
                  "cusparseCreateCsr");
    const auto estimate = [&](void *buffer, size_t *bytes) {
        cusparse_need(cusparseSpGEMM_workEstimation(handle, plain, plain, &one, in, in, &zero, out,
                                                    CUDA_R_32F, algorithm, work, bytes, buffer),
                      "cusparseSpGEMM_workEstimation");
    };
    const auto compute = [&](void *buffer, size_t *bytes) {
        cusparse_need(cusparseSpGEMM_compute(handle, plain, plain, &one, in, in, &zero, out,
                                             CUDA_R_32F, algorithm, work, bytes, buffer),
                      "cusparseSpGEMM_compute");
    };
    for (uint32_t round = 0; round < rounds; round++) {
        size_t bytes = 0;
        double from;

        machine_wait();
        from = machine_seconds();
        cusparse_need(cusparseCreateCsr(&out, a.rows, a.rows, 0, begin.get(a.rows + 1u), nullptr,
                                        nullptr, int32, int32, base, CUDA_R_32F),
                      "cusparseCreateCsr");
        cusparse_need(cusparseSpGEMM_createDescr(&work), "cusparseSpGEMM_createDescr");
        estimate(nullptr, &bytes); /* each says what it needs, and then works */
        estimate(first.get(bytes), &bytes);
        compute(nullptr, &bytes);
        compute(second.get(bytes), &bytes);
        cusparse_need(cusparseSpMatGetSize(out, &rows, &cols, &count), "cusparseSpMatGetSize");
        cusparse_need(cusparseCsrSetPointers(out, begin.data, columns.get(count),
                                             values.get(count)), "cusparseCsrSetPointers");
        cusparse_need(cusparseSpGEMM_copy(handle, plain, plain, &one, in, in, &zero, out,
                                          CUDA_R_32F, algorithm, work), "cusparseSpGEMM_copy");
        machine_wait();
        best = std::min(best, machine_seconds() - from);
        cusparse_need(cusparseSpGEMM_destroyDescr(work), "cusparseSpGEMM_destroyDescr");
        cusparse_need(cusparseDestroySpMat(out), "cusparseDestroySpMat");
    }
    c->rows = c->columns = a.rows;
    c->begin.resize(a.rows + 1u);
    c->column.resize(count);
    c->value.resize(count);
    machine_read(c->begin.data(), begin.data, c->begin.size() * sizeof(uint32_t));
    machine_read(c->column.data(), columns.data, count * sizeof(uint32_t));
    machine_read(c->value.data(), values.data, count * sizeof(float));
    cusparse_need(cusparseDestroySpMat(in), "cusparseDestroySpMat");
    cusparse_need(cusparseDestroy(handle), "cusparseDestroy");
    return best;
}

#endif /* SHPOOL_EXAMPLES_SPARSE_CUSPARSE_H */
