/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads the embedded kernels once per device, and launches them. */
#include "kernels.h"

#include <pthread.h>

#include "device/base/sync.h"

/* the kernels' arguments; nothing of simt.h is called here */
#include "fill_kernels.h"

#define MAX_DEVICES 64u

/* Below, the host is done before a launch and the loading of the code would be. */
#define LEAST_ASCENDING_BYTES 65536u
#define LEAST_RANDOM_COUNT    16384u

typedef struct kernel_image {
    const shpool_driver *cu; /* whose functions these are: tests change drivers */
    int tried;
    cu_function function[SHPOOL_KERNEL_COUNT];
} kernel_image;

/* Process-wide, as the primary contexts are that the code is loaded into. */
static struct {
    pthread_mutex_t lock;
    kernel_image device[MAX_DEVICES];
} images = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *const names[SHPOOL_KERNEL_COUNT] = {
    "shpool_kernel_ascending", "shpool_kernel_random"
};

#if HAVE_CUDA_DEVICE
extern const shpool_blob shpool_kernels_image;
static const shpool_blob *const embedded = &shpool_kernels_image;
#else
static const shpool_blob *const embedded = NULL;
#endif

/* Called with the device entered and the lock held.  On failure the functions stay NULL: the host
 * fills. */
static void load(const shpool_device *device, kernel_image *image)
{
    cu_module module = NULL;

    *image = (kernel_image){ .cu = device->cu, .tried = 1 };
    if ((embedded == NULL) || (device->cu->module_load == NULL) || /* a test's driver */
        (device->cu->module_load(&module, embedded->data) != CU_SUCCESS)) {
        return;
    }
    for (unsigned i = 0; i < SHPOOL_KERNEL_COUNT; i++) {
        cu_function function = NULL;

        if (device->cu->module_function(&function, module, names[i]) == CU_SUCCESS) {
            image->function[i] = function;
        }
    }
}

/* NULL: there is none. */
static cu_function find(const shpool_device *device, int kernel)
{
    kernel_image *image = &images.device[device->ordinal];
    cu_function function = NULL;
    int left;

    if (shpool_driver_forked()) {
        return NULL; /* the host's substitute is refused */
    }
    shpool_mutex_lock(&images.lock);
    if ((!image->tried || (image->cu != device->cu)) &&
        (shpool_device_enter(device, &left) == SHPOOL_OK)) {
        load(device, image);
        shpool_device_leave(device, left);
    }
    function = image->function[kernel];
    shpool_mutex_unlock(&images.lock);
    return function;
}

int shpool_kernels_have(const shpool_buffer *buffer, int kernel)
{
    const size_t bytes = buffer->count * SHPOOL_TYPE_BYTES(buffer->type);

    if ((kernel == SHPOOL_KERNEL_ASCENDING) ? (bytes < LEAST_ASCENDING_BYTES)
                                            : (buffer->count < LEAST_RANDOM_COUNT)) {
        return 0;
    }
    return find(buffer->device, kernel) != NULL;
}

static shpool_status launch(const shpool_buffer *buffer, int kernel, unsigned blocks,
                            unsigned shared_bytes, void *task)
{
    const shpool_device *device = buffer->device;
    const cu_function function = find(device, kernel);
    void *parameters[] = { task };
    int left;
    cu_result result;
    shpool_status status = shpool_device_enter_stream(
        device, shpool_context_stream(buffer->context), 0, &left);

    if (status != SHPOOL_OK) {
        return status;
    }
    result = device->cu->launch(function, blocks, 1, 1, SHPOOL_FILL_THREADS, 1, 1, shared_bytes,
                                shpool_context_stream(buffer->context), parameters, NULL);
    shpool_device_leave(device, left);
    return (result == CU_SUCCESS) ? SHPOOL_OK
                                  : shpool_driver_failed(device->cu, "cuLaunchKernel", result);
}

shpool_status shpool_kernels_ascending(const shpool_buffer *buffer, const shpool_ascent *ascent)
{
    const size_t blocks = (buffer->count + SHPOOL_FILL_THREADS - 1) / SHPOOL_FILL_THREADS;
    const size_t most = 16 * (size_t)shpool_context_sm_count(buffer->context);
    shpool_ascending_task task = {
        .data = buffer->ptr, .count = buffer->count,
        .first = ascent->first, .step = ascent->step,
        .first_float = ascent->first_float, .step_float = ascent->step_float,
        .type = buffer->type, .bytes = (uint32_t)SHPOOL_TYPE_BYTES(buffer->type),
    };

    return launch(buffer, SHPOOL_KERNEL_ASCENDING, (unsigned)((blocks < most) ? blocks : most), 0,
                  &task);
}

shpool_status shpool_kernels_random(const shpool_buffer *buffer, const shpool_uniform *uniform,
                                    shpool_random *random)
{
    const int is_float = shpool_type_is_float(uniform->type);
    const uint64_t values = uniform->last + 1;
    shpool_random_task task = {
        .data = buffer->ptr, .count = buffer->count,
        .base = uniform->base, .values = values,
        .min = uniform->min, .width = uniform->width,
        .reject = is_float ? 0 : (uint32_t)((UINT64_C(1) << 32) % values),
        .type = buffer->type, .bytes = (uint32_t)SHPOOL_TYPE_BYTES(buffer->type),
    };
    shpool_buffer *state;
    shpool_status status;

    _Static_assert(sizeof(*random) == 4 * (SHPOOL_FILL_WORDS + 1), "the kernel's state");
    status = shpool_buffer_create_from(buffer->context, SHPOOL_TYPE_U32, SHPOOL_FILL_WORDS + 1,
                                       random, &state);
    if (status != SHPOOL_OK) {
        return status;
    }
    task.state = shpool_buffer_ptr(state);
    status = launch(buffer, SHPOOL_KERNEL_RANDOM, 1, SHPOOL_FILL_SHARED, &task);
    if (status == SHPOOL_OK) {
        status = shpool_buffer_to_host(state, 0, SHPOOL_FILL_WORDS + 1, random);
    }
    shpool_buffer_unref(state);
    return status;
}
