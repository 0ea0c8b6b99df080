/* SPDX-License-Identifier: BSD-3-Clause */
/* MGPU_SYNC_CHECK in a debug build, over two functions in the place of CUDA's runtime. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
extern "C" {
#include <cmocka.h>
}

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

static void test_nothing_is_thrown_when_all_is_well(void **)
{
    device_says  = cudaSuccess;
    synchronized = 0;
    MGPU_SYNC_CHECK("Kernel");
    assert_int_equal(synchronized, 1);
}

static void test_what_went_wrong_is_thrown_with_its_place(void **)
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

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_thrown_when_all_is_well),
        cmocka_unit_test(test_what_went_wrong_is_thrown_with_its_place),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
