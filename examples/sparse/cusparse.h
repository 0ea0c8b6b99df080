/* SPDX-License-Identifier: BSD-3-Clause */
/* The same product with cuSPARSE, for comparison: cusparseSpGEMM with its default algorithm. */
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

/* Computes C = A * A, repeatedly; the memory of C is allocated once. */
class cusparse_square
{
public:
    cusparse_square(const csr &a, uint32_t nonzeros) : a_(a)
    {
        cusparse_need(cusparseCreate(&handle_), "cusparseCreate");
        cusparse_need(cusparseCreateCsr(&in_, a.rows, a.rows, nonzeros,
                                        const_cast<uint32_t *>(a.begin),
                                        const_cast<uint32_t *>(a.column),
                                        const_cast<float *>(a.value), int32, int32, base,
                                        CUDA_R_32F), "cusparseCreateCsr");
    }
    ~cusparse_square()
    {
        cusparse_need(cusparseDestroySpMat(in_), "cusparseDestroySpMat");
        cusparse_need(cusparseDestroy(handle_), "cusparseDestroy");
    }

    void multiply()
    {
        size_t  bytes = 0;
        int64_t rows  = 0;
        int64_t cols  = 0;

        cusparse_need(cusparseCreateCsr(&out_, a_.rows, a_.rows, 0, begin_.get(a_.rows + 1u),
                                        nullptr, nullptr, int32, int32, base, CUDA_R_32F),
                      "cusparseCreateCsr");
        cusparse_need(cusparseSpGEMM_createDescr(&work_), "cusparseSpGEMM_createDescr");
        estimate(nullptr, &bytes); /* the first call returns the size, the second one works */
        estimate(first_.get(bytes), &bytes);
        compute(nullptr, &bytes);
        compute(second_.get(bytes), &bytes);
        cusparse_need(cusparseSpMatGetSize(out_, &rows, &cols, &count_), "cusparseSpMatGetSize");
        cusparse_need(cusparseCsrSetPointers(out_, begin_.data, columns_.get(count_),
                                             values_.get(count_)), "cusparseCsrSetPointers");
        cusparse_need(cusparseSpGEMM_copy(handle_, plain, plain, &one_, in_, in_, &zero_, out_,
                                          CUDA_R_32F, algorithm, work_), "cusparseSpGEMM_copy");
        machine_wait();
    }

    /* Call it after each product; C stays allocated. */
    void finish()
    {
        cusparse_need(cusparseSpGEMM_destroyDescr(work_), "cusparseSpGEMM_destroyDescr");
        cusparse_need(cusparseDestroySpMat(out_), "cusparseDestroySpMat");
    }

    matrix result() const
    {
        matrix c;

        c.rows = c.columns = a_.rows;
        c.begin.resize(a_.rows + 1u);
        c.column.resize(count_);
        c.value.resize(count_);
        machine_read(c.begin.data(), begin_.data, c.begin.size() * sizeof(uint32_t));
        machine_read(c.column.data(), columns_.data, c.column.size() * sizeof(uint32_t));
        machine_read(c.value.data(), values_.data, c.value.size() * sizeof(float));
        return c;
    }

private:
    static const cusparseIndexType_t int32     = CUSPARSE_INDEX_32I;
    static const cusparseIndexBase_t base      = CUSPARSE_INDEX_BASE_ZERO;
    static const cusparseOperation_t plain     = CUSPARSE_OPERATION_NON_TRANSPOSE;
    static const cusparseSpGEMMAlg_t algorithm = CUSPARSE_SPGEMM_DEFAULT;

    void estimate(void *buffer, size_t *bytes)
    {
        cusparse_need(cusparseSpGEMM_workEstimation(handle_, plain, plain, &one_, in_, in_, &zero_,
                                                    out_, CUDA_R_32F, algorithm, work_, bytes,
                                                    buffer), "cusparseSpGEMM_workEstimation");
    }
    void compute(void *buffer, size_t *bytes)
    {
        cusparse_need(cusparseSpGEMM_compute(handle_, plain, plain, &one_, in_, in_, &zero_, out_,
                                             CUDA_R_32F, algorithm, work_, bytes, buffer),
                      "cusparseSpGEMM_compute");
    }

    const csr               a_;
    const float             one_  = 1.0f;
    const float             zero_ = 0.0f;
    cusparseHandle_t        handle_;
    cusparseSpMatDescr_t    in_, out_;
    cusparseSpGEMMDescr_t   work_;
    machine_array<char>     first_, second_;
    machine_array<uint32_t> begin_, columns_;
    machine_array<float>    values_;
    int64_t                 count_ = 0;
};

/* The time of the fastest of `rounds` rounds, in seconds. */
static inline double by_cusparse(const csr &a, uint32_t nonzeros, uint32_t rounds, matrix *c)
{
    cusparse_square square(a, nonzeros);
    double          best = 1e30;

    for (uint32_t round = 0; round < rounds; round++) {
        machine_wait();

        const double from = machine_seconds();

        square.multiply();
        best = std::min(best, machine_seconds() - from);
        square.finish();
    }
    *c = square.result();
    return best;
}

#endif /* SHPOOL_EXAMPLES_SPARSE_CUSPARSE_H */
