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
 *   launch.c   runs a kernel, and reports what stops it
 *
 * Kernels run on one OS thread, so there is no lock.  The state of a process is in check_state, the
 * state of the block that runs in check_block: CUDA's runtime is process-wide, too.
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

/** Begin a finding; the text may be cut. */
check_finding *check_begin(check_level level, const char *rule, const char *format, ...)
    SHPOOL_PRINTF(3, 4);
/** Add a place; `format` begins its line.  It is kept as it is at the time of the call. */
void check_at(check_finding *finding, const void *pc, const char *format, ...) SHPOOL_PRINTF(3, 4);
void check_at_line(check_finding *finding, const char *file, int line, const char *says);
/** Print it, unless one of the same rule at the same places was. */
void check_end(check_finding *finding);
/** The pointer, or the end of the process if it is NULL: there is no memory. */
void *check_memory(void *ptr);
/** Print the sum, write the files; the exit status: 0, or that of a program with errors. */
int check_summary(void);

/** What the command line asked for (LIBSHPOOL_CHECK). */
typedef struct check_options {
    unsigned long long seed;
    uint32_t explore;   /* preemptions + 1; 0: no exploration */
    uint32_t most;      /* findings that are printed */
    uint32_t strict;    /* 1: notes are errors */
    uint32_t budget;    /* switches of a block, in thousands */
    const char *output; /* findings, one a line, for the tool; or NULL */
} check_options;
const check_options *check_asked(void);

/* ---- memory.c ---- */

typedef struct check_access {
    uint32_t pc;    /* from the start of the program's text */
    uint32_t block; /* number of the block over all launches; 0: none */
    uint32_t who;   /* tick, thread, whether it is strong, bytes of the word */
} check_access;

/** What is known about 4 bytes. */
typedef struct check_cell {
    check_access write;
    check_access read[2]; /* the first since the write that later ones do not follow; the last */
    uint32_t     block;   /* in which `valid` was written: shared memory starts afresh in each */
    uint8_t      valid;   /* bytes that were written */
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
} check_record;

/** The record of an address, or of the gap behind it; NULL: it belongs to none. */
check_record *check_find(const void *ptr);
check_cell *check_cells(check_record *record);
/** Nonzero: in the program's variables, code or constants. */
int check_is_static(const void *ptr);
/** Say which record an address misses: "4 bytes after the array x of 64 bytes". */
void check_describe(const check_record *record, const void *ptr, char *text, size_t room);
/** Call for each record that is live. */
void check_each(void (*each)(check_record *record, void *arg), void *arg);
/** First byte of shared memory, and the bytes of static arrays. */
unsigned char *check_window(size_t *static_bytes_p);
void check_set_dynamic(size_t bytes);

/* ---- order.c ---- */

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
/** Bytes become valid or invalid, and no access is remembered. */
void check_wipe(void *ptr, size_t bytes, int valid);

/* ---- launch.c ---- */

typedef struct check_running {
    const shpool_check_call *call;
    uint32_t first; /* number of the launch's block 0; block n has first + n */
    uint32_t block; /* number of the block that runs */
    uint32_t spins; /* accesses since a switch was possible */
    int      spills; /* a pool has memory of the process's heap */
} check_running;

/** The launch that runs; call is NULL: none. */
extern check_running check_now;

#endif /* SHPOOL_CHECK_CHECK_H */
