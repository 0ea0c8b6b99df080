/* SPDX-License-Identifier: BSD-3-Clause */
/* Who waits for memory of a pool: two words at its end, where threads share it.  Not for direct
 * inclusion.
 *
 *   oldest   the lowest ticket of those who wait, as far as they have said so; all ones: nobody
 *            does
 *   tickets  how many have been drawn
 *
 * A thread that finds no memory draws a ticket.  Before each attempt it lowers `oldest` to its
 * ticket.  If that shows an older ticket, it lets that one go first and sleeps instead; so does a
 * newcomer.  A thread that has memory, or gives up, takes its ticket out of `oldest`, and the
 * others name the next one as they wake: until then any of them, and a newcomer, may ask.
 *
 * Nobody holds anything while it sleeps, and nobody waits for another one for ever: after one more
 * than SHPOOL_TURN_PATIENCE sleeps in a row a waiter makes its attempt in any case.  Without that
 * two requests could stop each other: an old one that needs what a younger one has, and a younger
 * one that holds memory and would fit, but may not ask.
 *
 * The tickets of a pool last for 4,294,967,295 waits. */
#ifndef SHPOOL_IMPL_WAITERS_H
#define SHPOOL_IMPL_WAITERS_H

#include <shpool/abi.h>
#include <shpool/simt.h>

#define SHPOOL_WAIT_NOBODY   0x00000000ffffffffull /* both words before anybody has waited */
#define SHPOOL_WAIT_NONE     0xffffffffu           /* `oldest` */
#define SHPOOL_TURN_PATIENCE 64u                   /* sleeps; about a microsecond each */
#define SHPOOL_PAUSE_LEAST   32u                   /* nanoseconds; doubled with each sleep */
#define SHPOOL_PAUSE_OLDEST  128u                  /* of whose turn it is, at most */
#define SHPOOL_PAUSE_MOST    1000u                 /* of the others */

/* Of the bytes of a pool, those behind the module's. */
SIMT_HD uint32_t shpool_wait_bytes(uint32_t flags, uint32_t pool_bytes)
{
    return (((flags & SHPOOL_FLAG_SHARED) != 0) && (pool_bytes >= SHPOOL_WAIT_BYTES))
               ? SHPOOL_WAIT_BYTES : 0u;
}

/* A pool's two words; 0: it has none, as no other thread could free in it. */
SIMT_FN simt_addr shpool_waiters(shpool_view view)
{
    uint32_t bytes = shpool_wait_bytes(view.flags, view.bytes);

    return (bytes != 0) ? view.base + view.bytes - bytes : 0u;
}

/* How often to try: what is larger than the pool fits after no free, and would stand at the head of
 * the line meanwhile. */
SIMT_FN uint32_t shpool_wait_attempts(shpool_view view, size_t bytes, uint32_t attempts)
{
    return ((view.bytes == 0) || (bytes > view.bytes)) ? 1u : attempts;
}

/* One who waits. */
typedef struct shpool_turn {
    simt_addr waiters;
    uint32_t  ticket;
    uint32_t  slept; /* times in a row for others */
    uint32_t  pause; /* nanoseconds of the next sleep */
} shpool_turn;

/* Whether somebody waits already. */
SIMT_FN uint32_t shpool_turn_is_taken(shpool_view view)
{
    simt_addr waiters = shpool_waiters(view);

    /* relaxed, as all of this: it decides who asks first, and orders nothing */
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

/* Whether to ask now; how long to sleep else, and afterwards, is in turn->pause. */
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

/* It has memory, or waits no longer. */
SIMT_FN void shpool_turn_end(const shpool_turn *turn)
{
    if (turn->waiters != 0) {
        (void)simt_atomic_cas(turn->waiters, turn->ticket, SHPOOL_WAIT_NONE, SIMT_RELAXED);
    }
}

#endif /* SHPOOL_IMPL_WAITERS_H */
