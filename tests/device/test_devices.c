/* SPDX-License-Identifier: BSD-3-Clause */
/* The device facts of shpool-info: read from the driver, without a context. */
#include "trial.h"

#define MIB ((uint64_t)1 << 20)

static shpool_driver_device devices[3];
static size_t count;
static uint32_t version;

static int start(void **state)
{
    clear_environment(state);
    fake_start(2, 1535 * MIB);
    memset(devices, 0xff, sizeof(devices));
    count = 7;
    version = 7;
    return 0;
}

static int stop(void **state)
{
    (void)fake_stop();
    return fake_violations() != 0;
}

UNIT_TEST_WITH(test_two_devices, start, stop)
{
    assert_ok(shpool_driver_devices(devices, SHPOOL_ARRAY_COUNT(devices), &count, &version));
    assert_int_equal(2, count);
    assert_int_equal(13000, version);
    assert_string_equal("Fake 0", devices[0].name);
    assert_string_equal("Fake 1", devices[1].name);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(86, devices[i].arch);
        assert_int_equal(15, devices[i].multiprocessors);
        assert_int_equal(49152, devices[i].shared_block);
        assert_int_equal(101376, devices[i].shared_block_optin);
        assert_int_equal(102400, devices[i].shared_sm);
        assert_int_equal(1024, devices[i].shared_reserved);
        assert_true(devices[i].memory == 1535 * MIB);
    }
    assert_int_equal(0, fake_calls(FAKE_CALL_primary_retain));
    assert_int_equal(-1, fake_current());
}

UNIT_TEST_WITH(test_fewer_places_than_devices, start, stop)
{
    assert_ok(shpool_driver_devices(devices, 1, &count, &version));
    assert_int_equal(2, count);
    assert_string_equal("Fake 0", devices[0].name);
    assert_int_equal(0xff, (unsigned char)devices[1].name[0]);
    assert_ok(shpool_driver_devices(NULL, 0, &count, &version));
    assert_int_equal(2, count);
}

UNIT_TEST_WITH(test_an_old_driver_reserves_nothing, start, stop)
{
    fake_without_attribute(CU_ATTRIBUTE_SHARED_RESERVED);
    assert_ok(shpool_driver_devices(devices, 2, &count, &version));
    assert_int_equal(0, devices[1].shared_reserved);
    assert_int_equal(102400, devices[1].shared_sm);
}

UNIT_TEST_WITH(test_a_missing_attribute_is_a_failure, start, stop)
{
    fake_without_attribute(CU_ATTRIBUTE_SHARED_SM);
    assert_int_equal(SHPOOL_ERR_CUDA, shpool_driver_devices(devices, 2, &count, &version));
    assert_detail("cuDeviceGetAttribute of the CUDA driver failed with result 1: fake error");
    assert_int_equal(0, count);
    assert_int_equal(0, version);
}

UNIT_TEST_WITH(test_no_device, start, stop)
{
    (void)fake_stop();
    fake_start(0, 0);
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED, shpool_driver_devices(devices, 2, &count, &version));
    assert_detail("CUDA_VISIBLE_DEVICES");
    assert_int_equal(0, count);
}

UNIT_TEST_WITH(test_a_driver_that_cannot_begin, start, stop)
{
    static const struct { cu_result result; shpool_status status; const char *detail; } rows[] = {
        { CU_ERROR_NO_DEVICE, SHPOOL_ERR_UNSUPPORTED,
          "no GPU: cuInit found no device (100); kernels run without one on" },
        { CU_ERROR_INVALID_VALUE, SHPOOL_ERR_CUDA,
          "cuInit of the CUDA driver failed with result 1: fake error" },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        fake_fail(1, rows[i].result);
        assert_int_equal(rows[i].status,
                         shpool_driver_devices(devices, 2, &count, &version));
        assert_detail(rows[i].detail);
        assert_int_equal(0, count);
    }
    assert_ok(shpool_driver_devices(devices, 2, &count, &version));
}
