/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace in memory: shpool-bench replay and map read it from the file of trace=FILE. */
#ifndef SHPOOL_TOOLS_TRACE_FILE_H
#define SHPOOL_TOOLS_TRACE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <shpool/abi.h>

#define TRACE_NONE 0xffffffffu
#define TRACE_WARP 32u /* threads */
#define TRACE_MOST_CYCLES (1ull << 48)

typedef enum trace_kind {
    TRACE_SKIP, /* an attempt of shpool_malloc_wait that another one followed */
    TRACE_MALLOC,
    TRACE_FREE,
    TRACE_RESIZE
} trace_kind;

/* One operation.  A release of a mark is here as the frees that it stands for. */
typedef struct trace_op {
    trace_kind kind;
    uint32_t thread;    /* requester: a thread, or a group's first one */
    uint32_t members;   /* of the group; 1: the thread alone */
    uint32_t bytes;     /* requested by malloc or resize */
    uint32_t usable;
    uint32_t alignment;
    uint32_t object;    /* malloc: its own index in the life; else that of the malloc */
    uint32_t end;       /* malloc: index of its free, or the life's count; TRACE_NONE: it failed */
    uint32_t global;    /* place is an address of global memory: it was spilled */
    unsigned long long place; /* malloc: bytes after the start of the block's first pool */
    unsigned long long cycles; /* after the life's first one; 0 if it is not timed */
} trace_op;

/* One life of a block's pools: from shpool_init() to shpool_fini(). */
typedef struct trace_life {
    uint32_t block;
    uint32_t launch;
    uint32_t dropped;  /* records after the last one, for which there was no room */
    uint32_t refused;  /* frees that changed nothing: they are left out */
    uint32_t waits;    /* attempts that were repeated: likewise */
    uint32_t grid;     /* blocks; 0: not known */
    uint32_t own;      /* shared memory of the block besides the pool's, bytes */
    uint32_t waiting;  /* attempts of requests that may wait */
    uint32_t timed;    /* operations have times */
    uint32_t count;    /* of operations */
    trace_op *ops;
    uint32_t room;     /* of ops */
} trace_life;

typedef struct trace_file {
    const char *path; /* not owned */
    char allocator[SHPOOL_NAME_BYTES];
    uint32_t block_threads;
    uint32_t threads_per_pool;
    uint32_t pools;
    uint32_t pool_bytes;
    uint32_t largest;
    uint32_t alignment;
    uint32_t check;
    uint32_t spill;
    uint32_t registers; /* of a thread; 0: not known */
    uint32_t count;    /* of lives */
    trace_life *lives;
} trace_file;

/**
 * Read a trace.
 * @param [out] trace_p  trace_file_free() it; zeroed on failure
 * @param [out] why      of a failure: names the file, the line and what was expected
 * @return 0, or -1
 */
int trace_file_read(const char *path, trace_file *trace_p, char *why, size_t why_bytes);

void trace_file_free(trace_file *trace);

/**
 * The start of a command whose only word is a trace: its options are parsed and the trace is read.
 * @return 0, or the exit status + 1, and stderr says why
 */
struct tool_parser;
int trace_command_begin(const struct tool_parser *parser, int argc, char **argv, void *options,
                        trace_file *trace_p);

/* The threads that an operation stands for. */
typedef struct trace_threads {
    uint32_t first;
    uint32_t count;
} trace_threads;

/**
 * The threads of a group.  A trace has the first one and their number: those of a warp are taken as
 * neighbours, more than a warp has are the block.
 * @param [in] members  1: the thread alone
 */
trace_threads trace_threads_of(uint32_t thread, uint32_t members, uint32_t block_threads);

#define TRACE_WHO_BYTES 48 /* with any numbers */

/** Their name: "thread 7", "lanes 8-15 of warp 0", "warp 3", "the block".  Returns `text`. */
const char *trace_who(uint32_t thread, uint32_t members, uint32_t block_threads,
                      char text[TRACE_WHO_BYTES]);

/* Sums over a life, or over all of a trace. */
typedef struct trace_sums {
    unsigned long long mallocs;
    unsigned long long frees;
    unsigned long long resizes;
    unsigned long long failures; /* of mallocs */
    unsigned long long groups;   /* mallocs, frees and resizes that groups made */
    unsigned long long dropped;
    unsigned long long refused;
    unsigned long long waits;
    uint32_t peak_bytes;         /* requested and live at the same time, in one life */
    uint32_t largest;            /* request */
} trace_sums;

void trace_life_sums(const trace_life *life, trace_sums *sums); /* adds to what is there */
void trace_file_sums(const trace_file *trace, trace_sums *sums);

#endif /* SHPOOL_TOOLS_TRACE_FILE_H */
