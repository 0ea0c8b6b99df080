/* SPDX-License-Identifier: BSD-3-Clause */
/* mbarriers: phases that end when enough threads have arrived and all announced bytes have landed.
 *
 * The two words in shared memory only mark the place and hold the phase: its number changes when a
 * phase ends, which a parked thread's `wait_addr` watches.  The counts are in the engine, so that a
 * program that overwrites an mbarrier is detected.
 *
 * simt_engine_mbar_test() is in copy.c, because a test may land copies. */
#include "async.h"

#define MARK 0x5b000000u /* in the upper byte of the first word */

static uint32_t first_word(const simt_mbar *mbar)
{
    return MARK | (mbar->phase & 0xffffffu);
}

static uint32_t *words_of(const simt_block *block, simt_addr addr)
{
    return (uint32_t *)(void *)(block->arena + addr);
}

static void write_words(simt_block *block, const simt_mbar *mbar)
{
    uint32_t *word = words_of(block, mbar->addr);

    /* relaxed: parked OS threads poll it */
    __atomic_store_n(&word[1], ~first_word(mbar), __ATOMIC_RELAXED);
    __atomic_store_n(&word[0], first_word(mbar), __ATOMIC_RELAXED);
}

static int is_intact(const simt_block *block, const simt_mbar *mbar)
{
    const uint32_t *word = words_of(block, mbar->addr);

    return (__atomic_load_n(&word[0], __ATOMIC_RELAXED) == first_word(mbar)) &&
           (__atomic_load_n(&word[1], __ATOMIC_RELAXED) == ~first_word(mbar));
}

simt_mbar *simt_mbar_find(simt_block *block, simt_addr addr, const char *what, simt_place place)
{
    simt_mbar *mbar = simt_mbar_lookup(block->async, addr);

    if (mbar == NULL) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "fault: %s at %s:%d: no mbarrier was initialised at 0x%x", what, place.file,
                  place.line, addr);
        return NULL;
    }
    if (!is_intact(block, mbar)) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "fault: %s at %s:%d: the mbarrier at 0x%x was written over", what, place.file,
                  place.line, addr);
        return NULL;
    }
    return mbar;
}

/* ---- phases ---- */

static uint32_t next_edge(simt_async *async)
{
    return async->edges++ % SIMT_EDGES;
}

/* A phase that is complete ends. */
static void end_phase(simt_block *block, simt_mbar *mbar, simt_place place)
{
    simt_async *async = block->async;

    if ((mbar->pending != 0) || (mbar->bytes != 0)) {
        return;
    }
    if (mbar->flying != 0) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "fault: phase %u of the mbarrier at 0x%x ends at %s:%d while %u copies to it are "
                  "in flight: fewer bytes were expected than are copied", mbar->phase, mbar->addr,
                  place.file, place.line, mbar->flying);
        return;
    }
    mbar->unseen      = mbar->fed;
    mbar->fed         = 0;
    mbar->pending     = mbar->expected;
    mbar->edge_before = mbar->edge;
    mbar->edge        = next_edge(async);
    mbar->phase++;
    write_words(block, mbar);
    simt_progress(block);
}

void simt_mbar_landed(simt_block *block, const simt_flight *flight)
{
    simt_mbar *mbar = simt_mbar_find(block, flight->mbar, "copy", flight->place);

    if (mbar != NULL) {
        mbar->flying--;
        mbar->bytes -= (int32_t)flight->bytes;
        mbar->fed = 1;
        end_phase(block, mbar, flight->place);
    }
}

int simt_mbar_is_complete(simt_block *block, simt_mbar *mbar, uint32_t parity)
{
    if (parity > 1u) {
        simt_fail(block, SHPOOL_ERR_INVALID, "fault: parity %u of the mbarrier at 0x%x: it must "
                  "be 0 or 1", parity, mbar->addr);
        return 1; /* nothing to wait for */
    }
    if ((mbar->phase & 1u) == parity) {
        return 0;
    }
    mbar->unseen = 0;
    simt_order_acquire(&block->async->edge[mbar->edge_before]);
    return 1;
}

/* ---- called by impl/simt/cpu_async.h ---- */

static int is_misplaced(const simt_thread *thread, simt_addr addr)
{
    return (addr < thread->self.arena_begin) || (addr > thread->self.arena_end - 8u) ||
           ((addr & 7u) != 0);
}

void simt_engine_mbar_init(simt_addr addr, uint32_t count, const char *file, int line)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;
    simt_async  *async  = simt_async_enter(block, thread);
    simt_mbar   *mbar   = (async != NULL) ? simt_mbar_lookup(async, addr) : NULL;

    if (async == NULL) {
        /* the block has failed */
    } else if (is_misplaced(thread, addr)) {
        simt_fail_access(thread, "mbarrier", addr, 8);
    } else if ((count == 0) || (count > SIMT_MBAR_MOST)) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "fault: simt_mbar_init at %s:%d: the count is %u, it must be from 1 to %u",
                  file, line,
                  count, SIMT_MBAR_MOST);
    } else if ((mbar != NULL) && is_intact(block, mbar)) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "fault: simt_mbar_init at %s:%d: the mbarrier at 0x%x is in use: simt_mbar_inval "
                  "ends it", file, line, addr);
    } else if ((mbar == NULL) && (async->mbars == SIMT_MAX_MBARS)) {
        simt_fail(block, SHPOOL_ERR_TOO_LARGE, "simt: more than %u mbarriers", SIMT_MAX_MBARS);
    } else {
        mbar  = (mbar != NULL) ? mbar : &async->mbar[async->mbars++];
        *mbar = (simt_mbar){ .addr = addr, .expected = count, .pending = count,
                             .edge = next_edge(async), .edge_before = next_edge(async) };
        write_words(block, mbar);
    }
    block->ops->settle(block, thread);
}

void simt_engine_mbar_inval(simt_addr addr, const char *file, int line)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;
    simt_async  *async  = simt_async_enter(block, thread);
    simt_mbar   *mbar   = (async == NULL) ? NULL
                            : simt_mbar_find(block, addr, "simt_mbar_inval",
                                             (simt_place){ file, line });

    if ((mbar != NULL) && ((mbar->flying != 0) || (mbar->unseen != 0))) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "fault: simt_mbar_inval at %s:%d: no thread has waited for copies to the "
                  "mbarrier at 0x%x", file, line, addr);
    } else if (mbar != NULL) {
        words_of(block, addr)[0] = 0;
        words_of(block, addr)[1] = 0;
        *mbar = async->mbar[--async->mbars];
    }
    block->ops->settle(block, thread);
}

void simt_engine_mbar_arrive(simt_addr addr, uint32_t bytes, const char *file, int line)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;
    simt_place   place  = { file, line };
    simt_async  *async  = simt_async_enter(block, thread);
    simt_mbar   *mbar   = (async == NULL) ? NULL
                            : simt_mbar_find(block, addr, "simt_mbar_arrive", place);

    if (mbar == NULL) {
        /* the block has failed */
    } else if (mbar->pending == 0) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "fault: simt_mbar_arrive at %s:%d: all %u arrivals of phase %u of the mbarrier "
                  "at 0x%x have come", file, line, mbar->expected, mbar->phase, addr);
    } else if ((bytes > SIMT_MBAR_MOST) || (mbar->bytes + (int32_t)bytes > (int)SIMT_MBAR_MOST)) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "fault: simt_mbar_arrive_expect at %s:%d: %u bytes; a phase has at most %u", file,
                  line, bytes, SIMT_MBAR_MOST);
    } else {
        mbar->bytes += (int32_t)bytes;
        mbar->fed   |= (bytes != 0);
        mbar->pending--;
        simt_order_release(&async->edge[mbar->edge]);
        end_phase(block, mbar, place);
    }
    block->ops->settle(block, thread);
}

void simt_engine_mbar_wait(simt_addr addr, uint32_t parity, const char *file, int line)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;
    simt_place   place  = { file, line };
    simt_async  *async  = simt_async_enter(block, thread);

    while (async != NULL) {
        simt_mbar *mbar = simt_mbar_find(block, addr, "simt_mbar_wait", place);

        if ((mbar == NULL) || simt_mbar_is_complete(block, mbar, parity)) {
            break;
        }
        thread->wait_addr = addr;
        thread->wait_seen = first_word(mbar);
        thread->place     = place;
        thread->state     = SIMT_STATE_WAIT;
        simt_async_own(async, thread)->waits = addr;
        block->ops->settle(block, thread);
        simt_lock(block);
        simt_async_own(async, thread)->waits = 0;
    }
    block->ops->settle(block, thread);
}
