/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit.h"

#include "tests/device/fake/driver.h"
#include "runtime_fake.h"

/* As cuda_runtime_api.h declares them: the compiler that sees both is that of the test. */
int cudaGetDevice(int *device_p);
int cudaSetDevice(int device);
int cudaStreamSynchronize(shpool_stream stream);
const char *cudaGetErrorString(int code);

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

int fake_runtime_teardown(void **state)
{
    const fake_held held = fake_stop();

    (void)state;
    if (fake_violations() != 0) {
        print_error("%s\n", fake_first_violation());
    }
    if (held.bytes != 0) {
        print_error("%zu bytes are held\n", (size_t)held.bytes);
    }
    return (fake_violations() != 0) || (held.bytes != 0);
}

shpool_stream fake_runtime_stream(int device)
{
    return fake_stream(device, 1); /* CU_STREAM_NON_BLOCKING */
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
