/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What compute-sanitizer reports of accesses to device memory: this program runs itself under it.
 *
 *   tests/gpu/marks                 all cases; skipped without compute-sanitizer
 *   tests/gpu/marks SPEC OFFSET     the child: a program that uses memory of the allocator, and
 *                                   writes one byte so far past the end of an allocation
 */
#include <stdlib.h>
#include <string.h>

#include <shpool/device.h>

#include "check.h"

#define BYTES 1000

static __global__ void touch(char *at, size_t bytes)
{
    for (size_t i = threadIdx.x; i < bytes; i += blockDim.x) {
        at[i] = 1;
    }
}

static void need(shpool_status status)
{
    if (status != SHPOOL_OK) {
        printf("%s\n", shpool_last_error());
        exit(1);
    }
}

static int child(const char *spec, long offset)
{
    shpool_device_allocator *allocator;
    cudaStream_t             stream[2];
    void                    *ptr[4];

    (void)cudaStreamCreate(&stream[0]);
    (void)cudaStreamCreateWithFlags(&stream[1], cudaStreamNonBlocking);
    need(shpool_device_allocator_open(spec, 0, &allocator));
    for (int round = 0; round < 6; round++) { /* legal: never waits for a kernel before a free */
        for (int i = 0; i < 4; i++) {
            need(shpool_device_malloc(allocator, (size_t)BYTES << (4 * i), stream[i % 2], &ptr[i]));
            touch<<<1, 256, 0, stream[i % 2]>>>((char *)ptr[i], (size_t)BYTES << (4 * i));
        }
        for (int i = 0; i < 4; i++) {
            need(shpool_device_free(allocator, ptr[i], stream[i % 2]));
        }
        if (round % 3 == 2) {
            need(shpool_device_trim(allocator, 0));
        }
    }
    need(shpool_device_malloc(allocator, BYTES, stream[0], &ptr[0]));
    need(shpool_device_malloc(allocator, BYTES, stream[0], &ptr[1]));
    touch<<<1, 1, 0, stream[0]>>>((char *)ptr[0] + BYTES - 1 + offset, 1);
    (void)cudaDeviceSynchronize();
    printf("the end\n");
    return 0;
}

/* The number of accesses that were reported; -1: no tool, or the child did not end. */
static int reported(const char *self, const char *spec, int offset)
{
    char  line[1000];
    int   found = 0;
    int   ended = 0;
    FILE *from;

    snprintf(line, sizeof(line), "compute-sanitizer --nvtx yes --destroy-on-device-error kernel "
             "'%s' '%s' %d 2>&1", self, spec, offset);
    from = popen(line, "r");
    while ((from != NULL) && (fgets(line, sizeof(line), from) != NULL)) {
        found += (strstr(line, "Invalid __global__ write") != NULL) ||
                 (strstr(line, "Warning: Call to nvtx") != NULL);
        ended |= (strstr(line, "the end") != NULL);
    }
    return ((from != NULL) && (pclose(from) >= 0) && ended) ? found : -1;
}

int main(int count, char **arguments)
{
    static const struct {
        const char *spec;
        int         offset;
        int         want;
    } cases[] = {
        { "bins:nvtx=1", 0, 0 },   { "bins:nvtx=1", 1, 1 },      { "bins:nvtx=1", 24, 1 },
        { "bins:nvtx=1", -BYTES, 1 }, { "stats|bins:nvtx=1", 1, 1 },
        { "bins", 1, 0 },          { "bins:memory=driver", 1, 0 }, { "simple", 1, 1 },
    };

    if (count == 3) {
        return child(arguments[1], atol(arguments[2]));
    }
    gpu_need_device();
    if (system("command -v compute-sanitizer >/dev/null 2>&1") != 0) {
        printf("skipped: no compute-sanitizer on PATH\n");
        return 77;
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int got = reported(arguments[0], cases[i].spec, cases[i].offset);

        (void)gpu_check(got == cases[i].want, "%s, %d bytes past the end: %d reports, not %d",
                        cases[i].spec, cases[i].offset, got, cases[i].want);
    }
    return gpu_summary();
}
