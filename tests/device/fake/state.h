/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the fake driver. */
#ifndef SHPOOL_TESTS_FAKE_STATE_H
#define SHPOOL_TESTS_FAKE_STATE_H

#include <pthread.h>

#include "driver.h"

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

/* The calling thread's contexts and capture mode. */
typedef struct fake_thread {
    cu_context stack[16];
    unsigned depth;
    int mode;
} fake_thread;
extern _Thread_local fake_thread fake_thread_state;

/* How an entry point begins and ends. */
#define FAKE_ENTER(_member)                                                                        \
    cu_result result;                                                                              \
    pthread_mutex_lock(&fake_lock);                                                                \
    result = fake_begin(FAKE_CALL_##_member);                                                      \
    if (result != CU_SUCCESS) {                                                                    \
        pthread_mutex_unlock(&fake_lock);                                                          \
        return result;                                                                             \
    }
#define FAKE_LEAVE(_result)                                                                        \
    do {                                                                                           \
        cu_result leave_result = (_result);                                                        \
        pthread_mutex_unlock(&fake_lock);                                                          \
        return leave_result;                                                                       \
    } while (0)

/* In a call that ends captures unless the thread's mode is "relaxed". */
#define FAKE_UNSAFE(_name)                                                                         \
    if (fake_is_capturing_here()) {                                                                \
        fake_violate(_name " during a capture");                                                   \
        FAKE_LEAVE(CU_ERROR_STREAM_CAPTURE_UNSUPPORTED);                                           \
    }

/* Counts a call, and says whether it is to fail; the lock is held. */
cu_result fake_begin(unsigned call);

void fake_violate(const char *format, ...) SHPOOL_PRINTF(1, 2);

/* With the lock held. */
int fake_current_device(void);          /* -1: none */
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

/* The entry points of memory.c, granules.c, share.c, streams.c and
 * events.c. */
void fake_bind_memory(shpool_driver *table);
void fake_bind_granules(shpool_driver *table);
void fake_bind_share(shpool_driver *table);
void fake_bind_streams(shpool_driver *table);
void fake_bind_events(shpool_driver *table);

#endif /* SHPOOL_TESTS_FAKE_STATE_H */
