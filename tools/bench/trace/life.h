/* SPDX-License-Identifier: BSD-3-Clause */
/* From records to operations that name their allocations. */
#ifndef SHPOOL_TOOLS_TRACE_LIFE_H
#define SHPOOL_TOOLS_TRACE_LIFE_H

#include <shpool/shpool.h>

#include "tools/bench/places.h"
#include "file.h"

#define TRACE_MOST_OPS (1u << 26)

/* One line of the file. */
typedef struct trace_record {
    char letter;
    uint32_t thread;
    uint32_t members;
    uint32_t bytes;
    uint32_t usable;
    uint32_t alignment;
    uint32_t reason;
    uint32_t global;
    uint32_t nowhere;
    uint32_t timed;
    unsigned long long place; /* or the mark */
    unsigned long long cycles;
} trace_record;

typedef enum trace_added { TRACE_ADDED, TRACE_UNKNOWN, TRACE_NO_MEMORY } trace_added;

/* A malloc that its pool may still have. */
typedef struct trace_given {
    uint32_t op;
    uint32_t below; /* the one before it in this pool, or TRACE_NONE */
} trace_given;

/* A life that is being read. */
typedef struct trace_builder {
    trace_life *life;
    uint32_t threads_per_pool;
    bench_places latest; /* the latest malloc at a place; and what was there at a mark */
    uint32_t *waiting;   /* of each thread: its attempt that nothing followed yet, or TRACE_NONE */
    trace_given *given;  /* of all pools */
    uint32_t given_count;
    uint32_t *top;       /* of each pool: the last one in given[], or TRACE_NONE */
} trace_builder;

/* 0, or -1: no memory.  trace_builder_end() in any case. */
int trace_builder_begin(trace_builder *b, const trace_file *trace, trace_life *life,
                        uint32_t records);
trace_added trace_builder_add(trace_builder *b, const trace_record *record);
void trace_builder_end(trace_builder *b);

#endif /* SHPOOL_TOOLS_TRACE_LIFE_H */
