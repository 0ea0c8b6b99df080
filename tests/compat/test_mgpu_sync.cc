/* SPDX-License-Identifier: BSD-3-Clause */
/* MGPU_SYNC_CHECK in a debug build, over two functions in the place of CUDA's runtime. */
#include "tests/test.h"

#include <cstring>

#define _DEBUG 1
#define __CUDA_RUNTIME_H__ // as if it were there: the two functions are below

#include <moderngpu.cuh>

static cudaError_t device_says = cudaSuccess;
static unsigned    synchronized;

extern "C" {

cudaError_t cudaDeviceSynchronize(void)
{
    synchronized++;
    return device_says;
}

const char *cudaGetErrorString(cudaError_t)
{
    return "what the runtime says";
}

}

UNIT_TEST(test_nothing_is_thrown_when_all_is_well)
{
    device_says  = cudaSuccess;
    synchronized = 0;
    MGPU_SYNC_CHECK("Kernel");
    assert_int_equal(synchronized, 1);
}

UNIT_TEST(test_what_went_wrong_is_thrown_with_its_place)
{
    int line = 0;

    device_says = cudaErrorUnknown;
    try {
        line = __LINE__ + 1;
        MGPU_SYNC_CHECK("Kernel");
        fail();
    } catch (const mgpu::CudaException &e) {
        char place[40];

        std::snprintf(place, sizeof(place), "test_mgpu_sync.cc(%d)", line);
        assert_int_equal(e.status, SHPOOL_ERR_CUDA);
        assert_non_null(std::strstr(e.what(), "Kernel: "));
        assert_non_null(std::strstr(e.what(), place));
        assert_non_null(std::strstr(e.what(), "what the runtime says"));
    }
}
