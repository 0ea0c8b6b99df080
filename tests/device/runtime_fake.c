/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit.h"

#include "tests/device/fake/driver.h"
#include "runtime_fake.h"

/* As cuda_runtime_api.h declares them: the compiler that sees both is that of the test. */
int cudaGetDevice(int *device_p);
int cudaSetDevice(int device);
int cudaStreamSynchronize(shpool_stream stream);
int cudaStreamIsCapturing(shpool_stream stream, int *status);
int cudaThreadExchangeStreamCaptureMode(int *mode);
int cudaGetLastError(void);
const char *cudaGetErrorString(int code);
const char *cudaGetErrorName(int code);

static int sync_fails;

int cudaGetDevice(int *device_p)
{
    *device_p = fake_current();
    return 0;
}

int cudaSetDevice(int device)
{
    fake_set_current(device);
    return 0;
}

int cudaStreamSynchronize(shpool_stream stream)
{
    const shpool_driver *cu;

    if (sync_fails || (shpool_driver_get(&cu) != SHPOOL_OK)) {
        sync_fails = 0;
        return 700;
    }
    return cu->stream_sync(stream);
}

int cudaStreamIsCapturing(shpool_stream stream, int *status)
{
    const shpool_driver *cu;

    return (shpool_driver_get(&cu) == SHPOOL_OK) ? cu->stream_capturing(stream, status) : 700;
}

int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    const shpool_driver *cu;

    return (shpool_driver_get(&cu) == SHPOOL_OK) ? cu->capture_mode(mode) : 700;
}

int cudaGetLastError(void)
{
    return 0;
}

const char *cudaGetErrorName(int code)
{
    return (code == 700) ? "cudaErrorIllegalAddress" : "cudaErrorUnknown";
}

const char *cudaGetErrorString(int code)
{
    return (code == 700) ? "an illegal memory access was encountered" : "no error";
}

int fake_runtime_setup(void **state)
{
    (void)clear_environment(state);
    fake_start(2, (uint64_t)1 << 30);
    fake_set_current(0);
    return 0;
}

int fake_runtime_is_in_order(void **state)
{
    if (fake_violations() != 0) {
        print_error("%s\n", fake_first_violation());
    }
    return fake_violations() != 0;
}

int fake_runtime_teardown(void **state)
{
    const fake_held held = fake_stop();

    if (held.bytes != 0) {
        print_error("%zu bytes are held\n", (size_t)held.bytes);
    }
    return fake_runtime_is_in_order(state) || (held.bytes != 0);
}

shpool_stream fake_runtime_stream(int device)
{
    return fake_stream(device, 1); /* CU_STREAM_NON_BLOCKING */
}

shpool_stream fake_runtime_capture(int device, int blocking)
{
    shpool_stream stream = fake_stream(device, blocking ? CU_STREAM_DEFAULT
                                                        : CU_STREAM_NON_BLOCKING);

    fake_capture_begin(stream);
    return stream;
}

void fake_runtime_work(shpool_stream stream, const void *ptr, size_t bytes)
{
    fake_work(stream, ptr, bytes);
}

void fake_runtime_fail_next_sync(void)
{
    sync_fails = 1;
}

void fake_runtime_use(int device)
{
    fake_set_current(device);
}
