/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that wait for memory of a pool: two words at the end of a pool that threads share.  Not
 * for direct inclusion.
 *
 *   oldest   the lowest ticket that waiting threads have announced; all ones: no thread waits
 *   tickets  number of tickets drawn
 *
 * A thread whose allocation fails draws a ticket.  Before each attempt it lowers `oldest` to its
 * ticket.  If `oldest` is an older ticket, the thread sleeps and lets that one go first; so does a
 * newcomer.  A thread that got memory, or gives up, removes its ticket from `oldest`.  The others
 * announce theirs when they wake; until then any of them, or a newcomer, may try.
 *
 * No thread holds a lock while it sleeps, and no thread waits for another forever: after
 * SHPOOL_TURN_PATIENCE + 1 sleeps in a row a waiter makes its attempt in any case.  Otherwise two
 * requests could block each other: an old one that needs the memory of a younger thread, and that
 * thread's next request, which would fit but may not be tried.
 *
 * The tickets of a pool last for 4,294,967,295 waits. */
#ifndef SHPOOL_IMPL_WAITERS_H
#define SHPOOL_IMPL_WAITERS_H

#include <shpool/abi.h>
#include <shpool/simt.h>

#define SHPOOL_WAIT_NOBODY   0x00000000ffffffffull /* both words before any thread has waited */
#define SHPOOL_WAIT_NONE     0xffffffffu           /* `oldest` */
#define SHPOOL_TURN_PATIENCE 64u                   /* sleeps; about a microsecond each */
#define SHPOOL_PAUSE_LEAST   32u                   /* nanoseconds; doubled with each sleep */
#define SHPOOL_PAUSE_OLDEST  128u                  /* at most, for the thread whose turn it is */
#define SHPOOL_PAUSE_MOST    1000u                 /* at most, for the others */

/* The part of a pool's bytes after the module's. */
SIMT_HD uint32_t shpool_wait_bytes(uint32_t flags, uint32_t pool_bytes)
{
    return (((flags & SHPOOL_FLAG_SHARED) != 0) && (pool_bytes >= SHPOOL_WAIT_BYTES))
               ? SHPOOL_WAIT_BYTES : 0u;
}

/* A pool's two words; 0: it has none, because no other thread could free in it. */
SIMT_FN simt_addr shpool_waiters(shpool_view view)
{
    uint32_t bytes = shpool_wait_bytes(view.flags, view.bytes);

    return (bytes != 0) ? view.base + view.bytes - bytes : 0u;
}

/* Number of attempts: only one for requests larger than the pool, which no free can satisfy and
 * which would block the queue meanwhile. */
SIMT_FN uint32_t shpool_wait_attempts(shpool_view view, size_t bytes, uint32_t attempts)
{
    return ((view.bytes == 0) || (bytes > view.bytes)) ? 1u : attempts;
}

/* A waiting thread. */
typedef struct shpool_turn {
    simt_addr waiters;
    uint32_t  ticket;
    uint32_t  slept; /* sleeps in a row for others */
    uint32_t  pause; /* nanoseconds of the next sleep */
} shpool_turn;

/* Whether a thread is already waiting. */
SIMT_FN uint32_t shpool_turn_is_taken(shpool_view view)
{
    simt_addr waiters = shpool_waiters(view);

    /* relaxed, like all accesses here: decides which thread tries first, and orders nothing */
    return (waiters != 0) && (simt_atomic_load(waiters, SIMT_RELAXED) != SHPOOL_WAIT_NONE);
}

SIMT_FN shpool_turn shpool_turn_draw(shpool_view view)
{
    shpool_turn turn = {shpool_waiters(view), 0, 0, SHPOOL_PAUSE_LEAST};

    if (turn.waiters != 0) {
        turn.ticket = simt_atomic_add(turn.waiters + 4u, 1u, SIMT_RELAXED);
    }
    return turn;
}

/* Whether to try now; turn->pause is the time to sleep otherwise, and after a failed attempt. */
SIMT_FN uint32_t shpool_turn_comes(shpool_turn *turn)
{
    uint32_t first = (turn->waiters == 0) ||
                     (simt_atomic_min(turn->waiters, turn->ticket, SIMT_RELAXED) >= turn->ticket);
    uint32_t most  = (first && (turn->waiters != 0)) ? SHPOOL_PAUSE_OLDEST : SHPOOL_PAUSE_MOST;

    turn->pause = (turn->pause < most / 2u) ? turn->pause * 2u : most;
    if (first || (++turn->slept > SHPOOL_TURN_PATIENCE)) {
        turn->slept = 0;
        return 1;
    }
    return 0;
}

/* The thread has got memory, or gives up. */
SIMT_FN void shpool_turn_end(const shpool_turn *turn)
{
    if (turn->waiters != 0) {
        (void)simt_atomic_cas(turn->waiters, turn->ticket, SHPOOL_WAIT_NONE, SIMT_RELAXED);
    }
}

#endif /* SHPOOL_IMPL_WAITERS_H */
