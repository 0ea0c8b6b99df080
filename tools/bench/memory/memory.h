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

/* Allocate or free a number of pieces; 0, or -1 with a message on stderr. */
int  memory_take(memory_bench *b, size_t bytes, shpool_stream stream, void **ptr, unsigned count);
void memory_give(memory_bench *b, shpool_stream stream, void **ptr, unsigned count);

/* Seconds of a clock that only goes forward. */
double memory_now(void);

/* Print the row with the median and quantiles of the samples, which it sorts; all: also the last
 * one. */
void memory_print_samples(memory_row *row, double *samples, size_t count, int all);

/* Calls of the driver that the allocator has made. */
uint64_t memory_driver_calls(shpool_device_allocator *allocator);

/* Prints this thread's latest detail to stderr; returns -1. */
int memory_failed(const char *spec);

/* The questions; 0, or -1 with a message on stderr. */
#define MEMORY_QUESTIONS(X) \
    X(pair, "warm malloc+free, one stream, 256 B to 1 GiB, 0 to 100,000 live") \
    X(threads, "the same from several threads: streams of their own, and one") \
    X(cross, "freed on one stream, allocated on another") \
    X(random, "random sizes and lifetimes, 1,000 to 100,000 operations") \
    X(streams, "kernels on 1 to 32 streams, each with memory of its own") \
    X(share, "memory that goes from stream to stream, one-shot streams") \
    X(train, "synthetic training loops and caches: peak reserved and requested") \
    X(cold, "growth to 4 GiB in pieces, and trim") \
    X(oom, "a request that fits only after all idle memory is freed")
#define MEMORY_DECLARE(_name, _text) \
    int memory_##_name(const memory_options *options, const char *spec);
MEMORY_QUESTIONS(MEMORY_DECLARE)
#undef MEMORY_DECLARE
int memory_replay(const memory_options *options, const char *spec);

/* Builds with nvcc.  Register CUB's CachingDeviceAllocator as the base `cub`; keep a stream busy
 * for a number of microseconds, on one of its device's multiprocessors. */
void bench_memory_add_cub(void);
void bench_memory_spin(int device, shpool_stream stream, unsigned microseconds);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_MEMORY_H */
