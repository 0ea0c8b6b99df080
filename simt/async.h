/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file simt/async.h
 * Shared by async.c (memory), mbar.c (mbarriers) and copy.c (copies); each calls those before it.
 *
 * A block that uses neither mbarriers nor copies has no simt_async.  Otherwise it is in a separate
 * mapping: malloc() and free() called by the kernel's threads would look like races, because the
 * engine orders the threads without ThreadSanitizer's knowledge.
 *
 * Terms
 *   in flight  a copy that was started and has not landed
 *   to land    to move the bytes.  A copy out of shared memory lands in two steps: first its source
 *              is read, into `held`, later its destination is written.
 *   view       the copy engine's view of shared memory: writes of threads appear there only with a
 *              fence
 *   edge       an address that ThreadSanitizer is told about, one for each phase of an mbarrier
 */
#ifndef SHPOOL_SIMT_ASYNC_H
#define SHPOOL_SIMT_ASYNC_H

#include "engine.h"

#define SIMT_MAX_COPIES 16384u
#define SIMT_MAX_MBARS  4096u
#define SIMT_EDGES      65536u
#define SIMT_MBAR_MOST  ((1u << 20) - 1u) /* arrivals, and bytes, of a phase: the hardware's */

typedef struct simt_mbar {
    simt_addr addr;
    uint32_t  expected; /* arrivals of each phase */
    uint32_t  pending;  /* of them, those that the current phase still waits for */
    int32_t   bytes;    /* that it still waits for; below 0: landed before they were expected */
    uint32_t  phase;    /* number of the current one */
    uint32_t  flying;   /* copies in flight to it */
    uint32_t  fed;      /* the current phase has had bytes */
    uint32_t  unseen;   /* the previous phase had some, and no thread has found that it is
                           complete */
    uint32_t  edge;     /* of the current phase */
    uint32_t  edge_before;
} simt_mbar;

typedef struct simt_flight {
    simt_copy_kind kind;
    const simt_thread *owner;
    uint32_t       group;
    uint32_t       bytes;
    uint32_t       chance;  /* to land where threads switch, in 1/8; 0: when it must */
    simt_addr      mbar;
    simt_addr      shared;  /* its bytes there */
    unsigned char *to;
    const unsigned char *from;
    unsigned char *held;
    simt_place     place;
} simt_flight;

/* Groups of one thread and kind; 0 is the first. */
typedef struct simt_groups {
    uint32_t   open;   /* number of the group of the next copy */
    uint32_t   used;   /* groups below it have copies, or may */
    uint32_t   waited; /* groups below it have been waited for */
    simt_place place;  /* of the last copy */
} simt_groups;

typedef struct simt_async_thread {
    simt_groups groups[SIMT_COPY_KINDS];
    simt_addr   waits;       /* mbarrier that it is parked at; 0: none */
    simt_addr   asked;       /* mbarrier whose last test returned 0; 0: none */
    uint32_t    asked_phase;
} simt_async_thread;

struct simt_async {
    uint32_t          copies;
    uint32_t          mbars;
    uint32_t          edges;  /* in use, round and round */
    unsigned char    *view;   /* the arena as seen by the copy engine; NULL: no copies yet */
    simt_async_thread thread[SHPOOL_MAX_THREADS];
    simt_mbar         mbar[SIMT_MAX_MBARS];
    simt_flight       copy[SIMT_MAX_COPIES];
    uint64_t          edge[SIMT_EDGES]; /* only their addresses are used */
};

/** The thread's groups, and the object it waits for. */
static inline simt_async_thread *simt_async_own(simt_async *async, const simt_thread *thread)
{
    return &async->thread[thread - thread->block->thread];
}

/** Written with the lock, read without it. */
static inline void simt_async_count(simt_block *block, uint32_t copies)
{
    block->async->copies = copies;
    __atomic_store_n(&block->flying, copies, __ATOMIC_RELAXED);
}

/** The mbarrier at addr, or NULL. */
static inline simt_mbar *simt_mbar_lookup(simt_async *async, simt_addr addr)
{
    for (uint32_t i = 0; i < async->mbars; i++) {
        if (async->mbar[i].addr == addr) {
            return &async->mbar[i];
        }
    }
    return NULL;
}

/* ---- async.c ---- */

/** Allocate zeroed memory for the engine itself; NULL: out of memory. */
void *simt_async_map(size_t bytes);
/** Move bytes without the sanitizers attributing it to a thread. */
void simt_async_move(unsigned char *to, const unsigned char *from, uint32_t bytes);
/**
 * A call of these functions is an access: perhaps let others run.  Then take the lock.
 * The block's simt_async, made at the first call; NULL, and the block has failed: no memory.
 */
simt_async *simt_async_enter(simt_block *block, simt_thread *thread);
/** Nonzero if threads have written to the bytes since the last fence. */
int simt_view_is_stale(simt_block *block, simt_addr at, uint32_t bytes);
/** The copy engine has written them, or now sees them. */
void simt_view_update(simt_block *block, simt_addr at, uint32_t bytes);

/* ---- mbar.c ---- */

/** The mbarrier at addr, or NULL, and the block has failed. */
simt_mbar *simt_mbar_find(simt_block *block, simt_addr addr, const char *what, simt_place place);
/** A copy to an mbarrier has landed. */
void simt_mbar_landed(simt_block *block, const simt_flight *flight);
/** Nonzero if the phase of that parity is complete, or if the block has failed. */
int simt_mbar_is_complete(simt_block *block, simt_mbar *mbar, uint32_t parity);

#endif /* SHPOOL_SIMT_ASYNC_H */
