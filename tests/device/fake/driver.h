/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CUDA driver for tests: devices with a fixed amount of memory, streams, events, captures.
 *
 * It keeps the happens-before relation of all work as vector clocks: each stream counts the work
 * submitted to it, and knows of each other stream up to where it is ordered after it (by events,
 * by the legacy stream's rules, or because the host saw it finished before it submitted).  Work
 * that touches memory without being ordered after the work that touched it last is a violation:
 * a missing edge fails a test on a machine without a GPU.
 *
 * Nothing finishes by itself: events are "not ready" until fake_finish() or a wait of the host.
 * Device addresses are memory of this process, so that copies work.
 */
#ifndef SHPOOL_TESTS_FAKE_DRIVER_H
#define SHPOOL_TESTS_FAKE_DRIVER_H

#include <pthread.h>
#include <string.h>

#include "lib/driver.h"

#define FAKE_DEVICES 4u
#define FAKE_STREAMS 256u /* in a test's life, destroyed ones included */

/* Every call by its member's name in shpool_driver: FAKE_CALL_memory_alloc, ... */
enum {
#define FAKE_NUMBER(_member, _name, _symbol, _version, _optional, _arguments) FAKE_CALL_##_member,
    SHPOOL_DRIVER_CALLS(FAKE_NUMBER)
#undef FAKE_NUMBER
    FAKE_CALL_COUNT
};

/* The entry points, f_memory_alloc and so on; there are no kernels. */
#define FAKE_FUNCTION(_member, _name, _symbol, _version, _optional, _arguments)                    \
    cu_result f_##_member _arguments;
SHPOOL_DRIVER_CALLS(FAKE_FUNCTION)
#undef FAKE_FUNCTION
#define f_module_load     NULL
#define f_module_unload   NULL
#define f_module_function NULL
#define f_launch          NULL

/* ---- what it knows ---- */

/* Objects that the library holds; all must be 0 at the end of a test, after the library's own
 * defaults are dropped. */
typedef struct fake_held {
    uint64_t bytes;
    unsigned allocations;
    unsigned events;
    unsigned streams;
    unsigned pools;
    unsigned host_allocations;
    unsigned ranges;
    unsigned imports;
} fake_held;
typedef uint32_t fake_clock[FAKE_STREAMS];

/* A stream's life; a handle that is used again after destruction gets another one. */
typedef struct fake_line {
    int device;
    int alive;
    int blocking;          /* ordered with the legacy stream */
    uint32_t submitted;
    fake_clock knows;      /* work that comes next is ordered after this */
} fake_line;

struct CUstream_st {
    unsigned line;
    int used;
    int capturing;
    unsigned graph;
    unsigned branch;       /* the line of its captured work */
};

struct CUctx_st {
    int device;
};

struct CUevent_st {
    struct CUevent_st *next; /* in fake.events */
    int device;
    int recorded;
    shpool_stream captured; /* recorded on this one as it captured, or NULL */
    unsigned graph;         /* then */
    unsigned branch;
    fake_clock covers;
};

/* The last access to 256 bytes; at 0: none. */
typedef struct fake_last {
    uint32_t line;
    uint32_t at;
} fake_last;

typedef struct fake_memory {
    struct fake_memory *next;
    char *start;           /* of the mapping; NULL: a granule */
    size_t mapped;
    char *ptr;             /* NULL: a granule that is mapped nowhere, or in other places only */
    struct fake_memory *of; /* one more place where this granule is mapped, else NULL */
    unsigned others;       /* such places of a granule */
    size_t bytes;
    int device;
    int pooled;
    unsigned graph;        /* that allocated it from a pool; 0: none */
    int released;          /* a granule whose handle is gone; it goes when it is unmapped */
    int file;              /* the memfd that processes share; -1: none */
    int exported;
    int imported;          /* another process's: not counted in this one's bytes */
    unsigned access;       /* a granule's: devices that may use it where it is mapped, as bits */
    fake_last *last;       /* made when it is first used; of a granule wherever it is mapped */
    uint32_t *uses;        /* by line: the last work at this place of a granule */
} fake_memory;

/* Reserved addresses; only memory that is mapped in them, with access, can be touched. */
typedef struct fake_range {
    struct fake_range *next;
    char *start;           /* of the mapping */
    size_t mapped;
    char *ptr;
    size_t bytes;
} fake_range;

typedef struct fake_state {
    unsigned devices;
    uint64_t limit[FAKE_DEVICES];
    uint64_t used[FAKE_DEVICES];
    struct CUctx_st context[FAKE_DEVICES];
    unsigned legacy[FAKE_DEVICES];      /* lines */
    unsigned lines;
    fake_line line[FAKE_STREAMS];
    struct CUstream_st handle[FAKE_STREAMS];
    uint32_t done[FAKE_STREAMS];        /* finished work, by line */
    fake_clock host;                    /* work that the host saw finished */
    fake_memory *memory;
    fake_range *ranges;
    struct CUevent_st *events;
    void *pinned[64];                   /* page-locked memory */
    fake_held held;
    unsigned violations;
    char first_violation[300];
    unsigned long calls[FAKE_CALL_COUNT];
    unsigned long fail_in;
    unsigned long fail_again;           /* fail_in after the next failure */
    cu_result fail_with;
    int failed;
    unsigned long fail_from;
    int misalign;
    size_t granularity;
    int hermit;                         /* no device reaches it; -1: none is */
    size_t most_addresses;
    int unknown_attribute;              /* 0: none */
    void (*on_sync)(void);
    unsigned lag;                       /* pieces of work that are not finished; 0: all */
    unsigned capturing;                 /* captures that are not ended */
    unsigned graphs;
    unsigned hidden;                    /* devices before the first one, as CUDA_VISIBLE_DEVICES */
    struct fake_noted {
        unsigned graph;
        unsigned branch;
        unsigned after;                 /* a branch that it waits for; its own: none */
        const void *ptr;                /* NULL: only that wait */
        size_t bytes;
    } noted[4096];
    unsigned noted_count;
    struct { pthread_t thread; unsigned line; int device; } per_thread[256];
    unsigned per_thread_count;
} fake_state;

extern fake_state fake;
extern pthread_mutex_t fake_lock; /* guards it */
extern shpool_driver fake_table;

/* The calling thread's contexts and capture mode. */
typedef struct fake_thread {
    cu_context stack[16];
    unsigned depth;
    int mode;
} fake_thread;
extern _Thread_local fake_thread fake_thread_state;

/* ---- for tests ---- */

/* Reset, with devices of `bytes` each, and make the library use this driver. */
void fake_start(unsigned devices, uint64_t bytes);
fake_held fake_stop(void);
static inline fake_held fake_holds(void) { return fake.held; }

/* Make the library use this table, and forget the devices of another one; NULL: the real driver. */
void fake_install(const shpool_driver *table);

/* Work on a stream that touches memory; checked against earlier accesses. */
void fake_work(shpool_stream stream, const void *ptr, size_t bytes);

/* Let all work of a stream, and the work that it waits for, finish; the same for all streams. */
void fake_finish(shpool_stream stream);
void fake_finish_all(void);

/* From now on the GPU lags: when work is submitted, all of that stream but the latest `pieces` has
 * finished, and each query of an event finishes one piece more.  0: work finishes as above. */
static inline void fake_lag(unsigned pieces) { fake.lag = pieces; }

/* Violations since fake_start(), and the text of the first one. */
static inline unsigned fake_violations(void) { return fake.violations; }
static inline const char *fake_first_violation(void) { return fake.first_violation; }

/* How often an entry point was called since fake_start() or fake_forget_calls(); all of them. */
static inline unsigned long fake_calls(unsigned call) { return fake.calls[call]; }
static inline void fake_forget_calls(void) { memset(fake.calls, 0, sizeof(fake.calls)); }
unsigned long fake_all_calls(void);

/* Let the nth call from now on (1: the next) fail with `result`; 0: none.  Calls that cannot fail
 * for a reason of their own (error texts, pop, the capture mode) do not count. */
void fake_fail(unsigned long nth, cu_result result);
static inline int fake_failed(void) { return fake.failed; } /* 1: it happened */

/* The nth call from now on and all after it fail, as at the end of the process; 0: none. */
void fake_fail_from(unsigned long nth, cu_result result);

/* Asked at each such call, if it is not NULL: what the call is to return, CU_SUCCESS if it is to do
 * its work. */
extern cu_result (*fake_refusal)(void);

/* Limit the driver to `bytes` of a device. */
static inline void fake_limit(int device, uint64_t bytes) { fake.limit[device] = bytes; }

/* The driver knows an attribute of devices no more; 0: it knows all.  It lacks functions:
 * cuStreamGetId as before CUDA 12, cuMemCreate as before CUDA 10.2, exports and imports. */
static inline void fake_without_attribute(int attribute) { fake.unknown_attribute = attribute; }
static inline void fake_without_granules(void) { fake_table.granule_create = NULL; }
static inline void fake_without_sharing(void)
{
    fake_table.granule_export = NULL;
    fake_table.granule_import = NULL;
}

/* The devices that may access the memory at an address, as bits. */
unsigned fake_access(const void *ptr);

/* Streams of the test's own, on a device. */
shpool_stream fake_stream(int device, unsigned flags);
void fake_stream_destroy(shpool_stream stream);

/* Capture: work is noted instead of submitted, and done at each launch.  A stream that is joined
 * waits for another one's captured work so far, and takes part in its capture until the end. */
void fake_capture_begin(shpool_stream stream);
void fake_capture_join(shpool_stream stream, shpool_stream after);
unsigned fake_capture_end(shpool_stream stream);
void fake_launch(unsigned graph, shpool_stream stream);

/* The device that is current to the calling thread; -1: none. */
int fake_current(void);
void fake_set_current(int device);

/* ---- for the files of the driver ---- */

static inline void fake_unlock(const int *unused)
{
    (void)unused;
    (void)pthread_mutex_unlock(&fake_lock);
}

/* With the lock, up to the end of the function. */
#define FAKE_LOCKED                                                                                \
    __attribute__((cleanup(fake_unlock))) const int locked = pthread_mutex_lock(&fake_lock);       \
    (void)locked;

/* How an entry point begins. */
#define FAKE_ENTER(_member)                                                                        \
    FAKE_LOCKED                                                                                    \
    cu_result result = fake_begin(FAKE_CALL_##_member);                                            \
    if (result != CU_SUCCESS) {                                                                    \
        return result;                                                                             \
    }

/* In a call that ends captures unless the thread's mode is "relaxed". */
#define FAKE_UNSAFE(_name)                                                                         \
    if (fake_is_capturing_here()) {                                                                \
        fake_violate(_name " during a capture");                                                   \
        return CU_ERROR_STREAM_CAPTURE_UNSUPPORTED;                                                \
    }

/* Counts a call, and says whether it is to fail; the lock is held. */
cu_result fake_begin(unsigned call);

void fake_violate(const char *format, ...) SHPOOL_PRINTF(1, 2);

/* With the lock held. */
int fake_line_of(shpool_stream stream); /* -1: no such stream; said as a violation */
void fake_submit(unsigned line);
void fake_join(fake_clock to, const fake_clock from);
void fake_finish_device(int device);
void fake_touch(unsigned line, const void *ptr, size_t bytes);
fake_memory *fake_find(const void *ptr);
unsigned fake_new_line(int device, int blocking);
int fake_is_capturing_here(void);
int fake_is_captured_on(int device);
int fake_is_off_limits(int line);       /* the legacy stream, while others capture: said, too */
int fake_is_captured(shpool_stream stream);
int fake_is_done(const fake_clock clock);

/* Work of a stream that captures, or its wait for another one, for fake_launch(). */
void fake_note(const struct CUstream_st *stream, unsigned after, const void *ptr, size_t bytes);
void fake_give(fake_memory *gone);      /* back to the device */

/* Memory that processes can share (share.c): make a granule so; map or unmap its file. */
int fake_file(size_t bytes);
void fake_map_file(const fake_memory *m);
void fake_unmap_pages(const fake_memory *m);

void fake_drop_ranges(void);

#endif /* SHPOOL_TESTS_FAKE_DRIVER_H */
