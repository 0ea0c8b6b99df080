/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file check/check.h
 * Private parts of libshpool_check.a, the runtime of programs that shpool-check builds.
 *
 * A file calls only files above it in this list:
 *
 *   report.c   findings: the same one once, places in the source, the file of all findings
 *   memory.c   which allocation or array an address belongs to
 *   order.c    what happens before what: the executor's edges, fences and atomics
 *   shadow.c   the last accesses to each word, and the rules
 *   access.c   what compiled code calls: __tsan_read4() and the like, malloc(), memcpy()
 *   counts.c   sectors and bank passes
 *   async.c    asynchronous copies, and barriers in memory
 *   quick.c    plain accesses of compiled code that need no report
 *   launch.c   runs a kernel, and reports what stops it
 *
 * The state is the process's, as that of CUDA's runtime.  One lock guards it: a launch holds it
 * until the kernel ends, and the host's calls wait.
 *
 * Terms
 *   record   an allocation, a shared array, or a device variable
 *   word     4 bytes of a record: what a cell describes
 *   tick     a number that counts a thread's releases
 *   view     for each thread of the block the tick up to which its accesses are known to have
 *            happened before
 */
#ifndef SHPOOL_CHECK_CHECK_H
#define SHPOOL_CHECK_CHECK_H

#include <shpool/executor.h>
#include <shpool/shpool.h>

#include "shpool/check/shpool_check.h"

/* ---- report.c ---- */

typedef enum check_level {
    CHECK_NOTE, /* does not change the exit status */
    CHECK_ERROR
} check_level;

/** A place that a finding names. */
typedef struct check_place {
    const char *says;  /* begins the line: "write by thread 3" */
    const void *pc;    /* or: */
    const char *file;
    int         line;
} check_place;

#define CHECK_PLACES 3

typedef struct check_finding {
    check_level level;
    const char *rule;   /* the word in the first column of doc/CHECK.md */
    char        text[2400];
    check_place place[CHECK_PLACES];
    uint32_t    places;
} check_finding;

/** The lock; a thread that holds it may take it again. */
void check_lock(void);
void check_unlock(void);

/** Begin a finding, and take the lock; the text may be cut. */
check_finding *check_begin(check_level level, const char *rule, const char *format, ...)
    SHPOOL_PRINTF(3, 4);
/** Add a place; `format` begins its line.  It is kept as it is at the time of the call. */
void check_at(check_finding *finding, const void *pc, const char *format, ...) SHPOOL_PRINTF(3, 4);
void check_at_line(check_finding *finding, const char *file, int line, const char *says);
/** Print it, unless one of the same rule at the same places was; ends with the lock released. */
void check_end(check_finding *finding);
/** Print it at the end of the program, unless check_forgive() is called before. */
void check_postpone(check_finding *finding);
void check_forgive(void);
/** The pointer, or the end of the process if it is NULL: there is no memory. */
void *check_memory(void *ptr);
/** Print the sum, write the files; the exit status: 0, or that of a program with errors. */
int check_summary(void);

/** Launches so far. */
uint32_t check_launches(void);

/** What the command line asked for (LIBSHPOOL_CHECK). */
typedef struct check_options {
    unsigned long long seed;
    uint32_t explore;   /* preemptions + 1; 0: no exploration */
    uint32_t most;      /* findings that are printed */
    uint32_t strict;    /* 1: notes are errors */
    uint32_t budget;    /* of check_running.idle, in thousands */
    uint32_t counts;    /* 1: count sectors and bank passes */
    const char *output; /* findings, one a line, for the tool; or NULL */
} check_options;
const check_options *check_asked(void);

/* ---- memory.c ---- */

typedef struct check_access {
    uint32_t pc;    /* from the start of the program's text */
    uint32_t block; /* number of the block over all launches; 0: none */
    uint32_t who;   /* tick, thread, whether it is strong, bytes of the word */
} check_access;

/* of check_access.who */
#define CHECK_BYTES_MASK 0xfu
#define CHECK_THREAD_BIT 6u
#define CHECK_TICK_BIT   16u
#define CHECK_TICK_MOST  0xffffu

/** What is known about 4 bytes. */
typedef struct check_cell {
    check_access write;
    check_access read[2]; /* the first since the write that later ones do not follow; the last */
    uint32_t     block;   /* in which `valid` was written: shared memory starts afresh in each */
    uint8_t      valid;   /* bytes that were written, beside the record's `known` */
    uint8_t      pooled;  /* bytes that belong to a pool */
    uint8_t      live;    /* of them, those that are allocated */
} check_cell;

typedef struct check_record {
    unsigned char *base;
    size_t         bytes;
    check_cell    *cells;   /* NULL: none needed yet */
    const char    *name;    /* of an array; NULL: an allocation */
    const void    *pc;      /* where it was allocated */
    const void    *freed;   /* where it was freed; NULL: it is live */
    uint8_t        kind;    /* shpool_check_kind */
    uint8_t        shared;
    uint8_t        known;   /* as check_cell.valid, of each word */
} check_record;

#define CHECK_UNIT 256u /* of global memory, and the least gap: CUDA's alignment */
#define CHECK_FINE 16u  /* of shared memory and device variables */

/** Addresses, and for each unit the record that it belongs to + 1. */
typedef struct check_range {
    unsigned char *start;
    size_t         bytes;
    size_t         unit;
    uint32_t      *owner;
} check_range;

/** For quick.c. */
typedef struct check_ranges {
    check_range   global;
    check_range   shared;
    check_range   device;
    check_record *record;
} check_ranges;
extern check_ranges check_map;

/** The record of an address, or the one next to the gap that it is in; NULL: it belongs to none. */
check_record *check_find(const void *ptr);
check_cell *check_cells(check_record *record);
/** Is it known what was written?  Variables begin with zeros; the host writes managed memory. */
int check_is_tracked(const check_record *record);
/** Nonzero: in the program's variables, code or constants. */
int check_is_static(const void *ptr);
/** Say which record an address misses: "4 bytes after the array x of 64 bytes". */
void check_describe(const check_record *record, const void *ptr, char *text, size_t room);
/** Call for each record that is live. */
void check_each(void (*each)(check_record *record, void *arg), void *arg);
/** What is allocated; later allocations end when it comes back. */
typedef struct check_mark {
    uint32_t count;
    size_t   used;
    size_t   live;
} check_mark;
check_mark check_mark_now(void);
void check_mark_back(const check_mark *mark);
/** First byte of shared memory, and the bytes of static arrays. */
unsigned char *check_window(size_t *static_bytes_p);
void check_set_dynamic(size_t bytes);

/* ---- order.c ---- */

typedef struct check_view {
    uint32_t users;
    uint32_t tick[];
} check_view;

typedef struct check_thread_order {
    check_view *seen;
    uint32_t    now;
    uint32_t    fence;    /* tick of the last fence; 0: none in this block */
    check_view *fenced;   /* seen at that time */
    const void *released; /* the object of the last release, if nothing was acquired since */
} check_thread_order;
extern check_thread_order check_thread_orders[];

/** Start of a block: nothing is known. */
void check_order_begin(uint32_t threads, uint32_t blocks);
void check_order_end_launch(void);
/** The running thread's tick. */
uint32_t check_tick(void);
/** Nonzero: the access that thread made at that tick of the block happened before now. */
int check_known(uint32_t thread, uint32_t tick);
/** The same of everything that a block before this one has released. */
int check_block_known(uint32_t block);
/** An atomic or volatile access to an address. */
void check_sync(const void *ptr, unsigned how);

/* ---- shadow.c ---- */

void check_shadow(const void *ptr, size_t bytes, unsigned how, const void *pc);
/** Bytes count as not written, but the accesses to them are remembered. */
void check_unwrite(void *ptr, size_t bytes);
/** The host has written the bytes. */
void check_wipe(void *ptr, size_t bytes);
/** Before the next access of any thread. */
void check_shadow_settle(void);
/** Report the races that had to wait for the end of the kernel. */
void check_shadow_end_launch(void);

/* ---- access.c ---- */

/** Start of a block: no thread waits in a loop. */
void check_spin_begin(void);

/* ---- counts.c ---- */

void check_count(const check_record *record, const void *ptr, size_t bytes, unsigned how,
                 const void *pc);

/* ---- async.c ---- */

/** Start of a block: no copy is in flight. */
void check_async_begin(void);

/* ---- launch.c ---- */

#define CHECK_SPINS (1u << 16) /* accesses of a thread that does not let others run */
#define CHECK_SLOW_RUN   1u    /* exploration, counts: each access is looked at */
#define CHECK_SLOW_WRITE 2u    /* the next access settles a write */
#define CHECK_NEAR  (1u << 20) /* of the running frame: the thread's own stack */

typedef struct check_running {
    const shpool_check_call *call;
    uint32_t first; /* number of the launch's block 0; block n has first + n */
    uint32_t block; /* number of the block that runs */
    uint32_t spins; /* accesses since a switch was possible */
    uint32_t last;  /* spins at the last atomic or volatile access */
    uint64_t idle;  /* atomic and volatile accesses since a plain one or a barrier */
    int      spills; /* a pool has memory of the process's heap */
    unsigned slow;   /* not 0: quick.c does nothing */
} check_running;

/** The launch that runs; call is NULL: none. */
extern check_running check_now;

#endif /* SHPOOL_CHECK_CHECK_H */
