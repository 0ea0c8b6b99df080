/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that wait for memory of a pool: three words at the end of a pool that threads share.  Not
 * for direct inclusion.
 *
 *   drawn  number of tickets drawn
 *   ended  number of them whose requests wait no longer: they were served, or given up
 *   stuck  the ticket, plus one, of a request that was tried in vain at its turn; 0: none
 *
 * A request that fails draws a ticket, which is its place in the order of drawing.  It is its turn
 * once no more than its ticket have ended; until then it sleeps, and while a ticket is not ended
 * newcomers draw one at once.  Each ticket that ends passes the turn on, in any order: of the
 * ended + 1 lowest tickets at most `ended` have ended, so at least one request has its turn.  Where
 * requests end in order it is exactly one, the one that has waited longest.
 *
 * While there is enough memory the next SHPOOL_TURNS - 1 requests are tried too: passing the turn
 * on takes longer than a malloc.  Once a request is in vain at its turn, they are not, until it
 * ends.  Then a younger one is tried only at its last attempt, when its patience ends, and where
 * such a one has ended, which passes the turn on.
 *
 * No thread holds a lock while it sleeps, and no thread waits for another forever: where no ticket
 * has ended during SHPOOL_TURN_PATIENCE + 1 sleeps in a row, a request is tried in any case.
 * Otherwise two requests could block each other: an old one that needs the memory of a younger
 * thread, and that thread's next request, which would fit but may not be tried.
 *
 * Tickets may wrap around: only differences of the two counts have a meaning. */
#ifndef SHPOOL_IMPL_WAITERS_H
#define SHPOOL_IMPL_WAITERS_H

#include <shpool/abi.h>
#include <shpool/simt.h>

#define SHPOOL_WAIT_NOBODY   0ull  /* all words before any thread has waited */
#define SHPOOL_TURNS         4u    /* requests that are tried together */
#define SHPOOL_TURN_PATIENCE 64u   /* sleeps */
#define SHPOOL_PAUSE_LEAST   32u   /* nanoseconds; doubled with each sleep */
#define SHPOOL_PAUSE_TURN    128u  /* at its turn, a thread's sleep is doubled up to this */
#define SHPOOL_PAUSE_STEP    16u   /* and then grows by this */
#define SHPOOL_PAUSE_MOST    1000u /* a sleep of the others, and the longest one at one's turn */
#define SHPOOL_PAUSE_NAP     64u   /* for each request that goes first */

/* The part of a pool's bytes after the module's. */
SIMT_HD uint32_t shpool_wait_bytes(uint32_t flags, uint32_t pool_bytes)
{
    return (((flags & SHPOOL_FLAG_SHARED) != 0) && (pool_bytes >= SHPOOL_WAIT_BYTES))
               ? SHPOOL_WAIT_BYTES : 0u;
}

/* A pool's words; 0: it has none, because no other thread could free in it. */
SIMT_FN simt_addr shpool_waiters(shpool_view view)
{
    uint32_t bytes = shpool_wait_bytes(view.flags, view.bytes);

    return (bytes != 0) ? view.base + view.bytes - bytes : 0u;
}

/* A request that waits. */
typedef struct shpool_turn {
    simt_addr waiters;
    uint32_t  lanes;  /* of the group that makes it; 0: a thread */
    uint32_t  ticket;
    uint32_t  before; /* tickets that must end first, as seen last */
    uint32_t  slept;  /* sleeps in a row in which none of them has ended */
    uint32_t  pause;  /* nanoseconds of the next sleep at its turn */
} shpool_turn;

/* Whether a thread is already waiting. */
SIMT_FN uint32_t shpool_turn_is_taken(shpool_view view)
{
    simt_addr waiters = shpool_waiters(view);
    simt_pair counts  = {0, 0};

    if (waiters != 0) { /* decides who tries, and orders nothing; a peek, for loops */
        counts = simt_peek_pair(waiters);
    }
    return counts.x != counts.y;
}

/* Whether the caller is the one that writes for the request. */
SIMT_FN uint32_t shpool_turn_leads(const shpool_turn *turn)
{
    return (turn->waiters != 0) &&
           ((turn->lanes == 0) || (simt_lane() == simt_ffs(turn->lanes) - 1u));
}

/* Called by a thread (lanes: 0), or by the lanes of a group, which draw one ticket. */
SIMT_FN shpool_turn shpool_turn_draw(shpool_view view, uint32_t lanes)
{
    shpool_turn turn = {shpool_waiters(view), lanes, 0, 0, 0, SHPOOL_PAUSE_LEAST};

    if (shpool_turn_leads(&turn)) {
        turn.ticket = simt_atomic_add(turn.waiters, 1u, SIMT_RELAXED);
    }
    if (lanes != 0) {
        turn.ticket = simt_shfl(lanes, turn.ticket, simt_ffs(lanes) - 1u);
    }
    return turn;
}

/* Number of tickets that must end before the request is tried. */
SIMT_FN uint32_t shpool_turns_before(const shpool_turn *turn)
{
    uint32_t before = 0;

    if (turn->waiters != 0) {
        before = turn->ticket - simt_atomic_load(turn->waiters + 4u, SIMT_RELAXED);
        before -= (simt_atomic_load(turn->waiters + 8u, SIMT_RELAXED) == 0)
                      ? SHPOOL_TURNS - 1u : 0u;
    }
    if (turn->lanes != 0) { /* a group sleeps together: lanes that sleep alone wake late */
        before = simt_shfl(turn->lanes, before, simt_ffs(turn->lanes) - 1u);
    }
    return ((int32_t)before > 0) ? before : 0u;
}

/* The request was tried in vain: if it is its turn, younger ones are tried no more. */
SIMT_FN void shpool_turn_insist(const shpool_turn *turn)
{
    if (shpool_turn_leads(turn)) {
        uint32_t ended = simt_atomic_load(turn->waiters + 4u, SIMT_RELAXED);

        if ((int32_t)(turn->ticket - ended) <= 0) {
            (void)simt_atomic_cas(turn->waiters + 8u, 0u, turn->ticket + 1u, SIMT_RELAXED);
        }
    }
}

/* One sleep.  The next request in line looks again soon, so that the turn is passed on quickly.  If
 * it is tried in vain again and again, its sleeps become longer: an attempt holds the lock of a
 * pool that has one, and keeps others' frees from it.  Returns whether to try now. */
SIMT_FN uint32_t shpool_turn_sleep(shpool_turn *turn)
{
    const uint32_t doubled = (turn->waiters != 0) ? SHPOOL_PAUSE_TURN : SHPOOL_PAUSE_MOST;
    uint32_t       before  = shpool_turns_before(turn);
    uint32_t       left    = SHPOOL_PAUSE_MOST;

    if (before == 0) {
        simt_pause(turn->pause);
        turn->pause += (turn->pause < doubled) ? turn->pause : SHPOOL_PAUSE_STEP;
        turn->pause = (turn->pause < SHPOOL_PAUSE_MOST) ? turn->pause : SHPOOL_PAUSE_MOST;
    }
    SIMT_ROLLED
    while ((before != 0) && (left != 0)) {
        uint32_t nap = (before < SHPOOL_PAUSE_MOST / SHPOOL_PAUSE_NAP)
                           ? before * SHPOOL_PAUSE_NAP : SHPOOL_PAUSE_MOST;

        nap = (nap < left) ? nap : left;
        simt_pause(nap);
        left  -= nap;
        before = shpool_turns_before(turn);
    }
    turn->slept  = (before == turn->before) ? turn->slept + 1u : 0u;
    turn->before = before;
    if ((before == 0) || (turn->slept > SHPOOL_TURN_PATIENCE)) {
        turn->slept = 0;
        return 1;
    }
    return 0;
}

/* The request is served, or is given up. */
SIMT_FN void shpool_turn_end(const shpool_turn *turn)
{
    if (shpool_turn_leads(turn)) {
        (void)simt_atomic_add(turn->waiters + 4u, 1u, SIMT_RELAXED);
        (void)simt_atomic_cas(turn->waiters + 8u, turn->ticket + 1u, 0u, SIMT_RELAXED);
    }
}

#endif /* SHPOOL_IMPL_WAITERS_H */
