/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench memory: what its files share. */
#ifndef SHPOOL_BENCH_MEMORY_H
#define SHPOOL_BENCH_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <shpool/device.h>

#include "tools/bench/column.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One measurement, printed as a line of CSV. */
typedef struct memory_row {
    const char *question;  /* "pair", "threads", ... */
    const char *allocator; /* its spec */
    unsigned long long size;  /* bytes of an allocation, or another parameter */
    unsigned long long count; /* live blocks, threads, streams or operations */
    double median;
    double p99;
    double p999;
    const char *unit;
    double driver_calls;   /* allocations and frees of the driver, and events, per operation */
    const char *note;
} memory_row;

typedef struct memory_options {
    int device;
    uint32_t repeats;
    uint32_t pairs;      /* in one repeat */
    uint32_t threads;    /* at most */
    const char *replay;  /* a log, or NULL */
    uint64_t limit;      /* of the replay, bytes; 0: none */
} memory_options;

/* A measurement under way: an allocator, and streams, which are known to be stable. */
#define MEMORY_STREAMS 64u
typedef struct memory_bench {
    const memory_options *options;
    const char *spec;
    shpool_device_allocator *allocator;
    shpool_context *context[MEMORY_STREAMS];
    unsigned streams;
} memory_bench;

/* ---- common.c ---- */

/* Open a fresh allocator with streams, run, and close all; 0, or -1 with a message on stderr. */
int memory_run(const memory_options *options, const char *spec, unsigned streams,
               int (*run)(memory_bench *b, const void *of), const void *of);

/* Make or drop streams until it has that many; 0, or -1: shpool_last_error(). */
int memory_set_streams(memory_bench *b, unsigned streams);

/* One of the streams; the legacy one if it has none. */
shpool_stream memory_stream(const memory_bench *b, unsigned number);

extern const bench_column memory_columns[];

void memory_print(const memory_row *row);

/* Seconds of a clock that only goes forward. */
double memory_now(void);

/* The median and quantiles of the samples, which it sorts; all: also the last one. */
void memory_quantiles(memory_row *row, double *samples, size_t count, int all);

/* Calls of the driver that the allocator has made. */
uint64_t memory_driver_calls(shpool_device_allocator *allocator);

/* Prints this thread's latest detail to stderr; returns -1. */
int memory_failed(const char *spec);

/* The questions; 0, or -1 with a message on stderr. */
int memory_pair(const memory_options *options, const char *spec);
int memory_threads(const memory_options *options, const char *spec);
int memory_cross(const memory_options *options, const char *spec);
int memory_random(const memory_options *options, const char *spec);
int memory_streams(const memory_options *options, const char *spec);
int memory_share(const memory_options *options, const char *spec);
int memory_train(const memory_options *options, const char *spec);
int memory_cold(const memory_options *options, const char *spec);
int memory_oom(const memory_options *options, const char *spec);
int memory_replay(const memory_options *options, const char *spec);

/* Builds with nvcc.  Register CUB's CachingDeviceAllocator as the base `cub`; keep a stream busy
 * for a number of microseconds, on one of its device's multiprocessors. */
void bench_memory_add_cub(void);
void bench_memory_spin(int device, shpool_stream stream, unsigned microseconds);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_MEMORY_H */
