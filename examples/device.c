/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stream-ordered device memory: a context, a shared caching allocator, its counters.
 * Exit status 77: this machine has no CUDA device.
 *
 *     cc device.c $(pkg-config --cflags --libs shpool) -o device
 *     SHPOOL_DEVICE_ALLOCATOR='stats|limit:bytes=8G|bins' ./device 0
 */
#include <stdio.h>

#include <shpool/device.h>

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, shpool_last_error());
    return 1;
}

/* A thousand rounds of work, each with its own memory; only the first one calls the driver. */
static int rounds(shpool_context *context)
{
    shpool_device_allocator *allocator = shpool_context_allocator(context);
    shpool_stream stream = shpool_context_stream(context);

    for (int i = 0; i < 1000; i++) {
        void *ptr;

        if (shpool_device_malloc(allocator, 64 << 20, stream, &ptr) != SHPOOL_OK) {
            return failed("malloc");
        }
        /* kernel<<<grid, block, 0, stream>>>(ptr); */
        if (shpool_device_free(allocator, ptr, stream) != SHPOOL_OK) { /* no need to wait */
            return failed("free");
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    shpool_context *context;
    char report[2000];
    int result;
    shpool_status status = shpool_context_create_args(
        argc, argv, SHPOOL_CONTEXT_NEW_STREAM | SHPOOL_CONTEXT_PRINT, &context);

    if (status != SHPOOL_OK) {
        (void)failed("context");
        return (status == SHPOOL_ERR_UNSUPPORTED) ? 77 : 1;
    }
    result = rounds(context);
    if ((result == 0) && (shpool_device_report(shpool_context_allocator(context), report,
                                               sizeof(report), NULL) == SHPOOL_OK)) {
        fputs(report, stdout);
    }
    shpool_context_unref(context);
    return result;
}
