/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies in flight: who lands when.
 *
 * A copy may land at any switch point, and lands at the latest when a thread waits for its group,
 * or when no thread can go on.  Until then its destination in shared memory holds rubbish, and its
 * source is still to be read: memory that is used, or given away, too early shows.
 *
 *   simt_run()      each copy draws how readily it lands: from "at once" to "only when it must"
 *   simt_explore()  only when it must, or, at the price of one preemption, at any access */
#include <sys/mman.h>

#include "async.h"

#define RUBBISH 0xee

/* ---- landing ---- */

/* Nonzero: it is no longer in flight, and the last one has taken its place in the list. */
static int land(simt_block *block, uint32_t i)
{
    simt_async  *async  = block->async;
    simt_flight  flight = async->copy[i];

    if ((flight.kind == SIMT_COPY_OUT) && (flight.held == NULL)) {
        async->copy[i].held = simt_async_map(flight.bytes);
        if (async->copy[i].held == NULL) {
            simt_fail(block, SHPOOL_ERR_NO_MEMORY, "simt: no memory for a copy");
            return 0;
        }
        simt_async_move(async->copy[i].held, flight.from, flight.bytes);
        return 0;
    }
    simt_async_move(flight.to, (flight.held != NULL) ? flight.held : flight.from, flight.bytes);
    if (flight.held != NULL) {
        munmap(flight.held, flight.bytes);
    }
    async->copy[i] = async->copy[async->copies - 1u];
    simt_async_count(block, async->copies - 1u);
    if (flight.kind == SIMT_COPY_IN) {
        simt_view_update(block, flight.shared, flight.bytes);
        simt_mbar_landed(block, &flight);
    }
    return 1;
}

void simt_async_land(simt_block *block, uint32_t i)
{
    (void)land(block, i);
}

/* Land a copy to the mbarrier; 0: none is in flight. */
static int land_for(simt_block *block, simt_addr mbar)
{
    simt_async *async = block->async;

    for (uint32_t i = 0; i < async->copies; i++) {
        if ((async->copy[i].kind == SIMT_COPY_IN) && (async->copy[i].mbar == mbar)) {
            return land(block, i);
        }
    }
    return 0;
}

void simt_async_turn(simt_block *block)
{
    simt_async *async = block->async;

    if (block->flying != 0) {
        uint32_t i = simt_random_below(&block->random, async->copies);

        if (simt_random_below(&block->random, 8) < async->copy[i].chance) {
            (void)land(block, i);
        }
    }
}

/* simt_explore() lands them by a choice of its own. */
void simt_async_pause(simt_block *block)
{
    uint32_t copies = (block->search == NULL) ? simt_async_waking(block) : 0u;

    if ((copies != 0) && (simt_random_below(&block->random, 64) == 0)) {
        simt_async_land_waking(block, simt_random_below(&block->random, copies));
    }
}

/* Only those to an mbarrier: for others nobody is parked. */
uint32_t simt_async_waking(const simt_block *block)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < block->flying; i++) {
        count += (block->async->copy[i].kind == SIMT_COPY_IN);
    }
    return count;
}

void simt_async_land_waking(simt_block *block, uint32_t n)
{
    for (uint32_t i = 0; i < block->async->copies; i++) {
        if ((block->async->copy[i].kind == SIMT_COPY_IN) && (n-- == 0)) {
            (void)land(block, i);
            return;
        }
    }
}

/* ---- starting ---- */

static int is_bulk(simt_copy_kind kind)
{
    return kind != SIMT_COPY_16;
}

/* Two copies at the same bytes of shared memory, one of which writes there: which will be last?
 * The small copies are many, and come in rounds that one wait ends. */
static const simt_flight *find_overlap(const simt_async *async, const simt_flight *flight)
{
    for (uint32_t i = 0; is_bulk(flight->kind) && (i < async->copies); i++) {
        const simt_flight *other = &async->copy[i];

        if (((other->kind != SIMT_COPY_OUT) || (flight->kind != SIMT_COPY_OUT)) &&
            (other->held == NULL) && (flight->shared < other->shared + other->bytes) &&
            (other->shared < flight->shared + flight->bytes)) {
            return other;
        }
    }
    return NULL;
}

static void scramble(unsigned char *at, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        ((volatile unsigned char *)at)[i] = RUBBISH;
    }
}

static void start(simt_block *block, simt_thread *thread, simt_flight flight)
{
    simt_async        *async  = block->async;
    simt_groups       *groups = &simt_async_own(async, thread)->groups[flight.kind];
    const simt_flight *other  = find_overlap(async, &flight);
    simt_mbar         *mbar   = NULL;

    if (other != NULL) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "fault: copy at %s:%d: its %u bytes at 0x%x overlap those of a copy in flight, "
                  "%u bytes at 0x%x, started at %s:%d", flight.place.file, flight.place.line,
                  flight.bytes, flight.shared, other->bytes, other->shared, other->place.file,
                  other->place.line);
        return;
    }
    if (is_bulk(flight.kind) && simt_view_is_stale(block, flight.shared, flight.bytes)) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "fault: copy at %s:%d: its %u bytes at 0x%x were written to after the last "
                  "simt_fence_async()", flight.place.file, flight.place.line, flight.bytes,
                  flight.shared);
        return;
    }
    if (async->copies == SIMT_MAX_COPIES) {
        simt_fail(block, SHPOOL_ERR_TOO_LARGE, "simt: more than %u copies in flight",
                  SIMT_MAX_COPIES);
        return;
    }
    if (flight.kind == SIMT_COPY_IN) {
        mbar = simt_mbar_find(block, flight.mbar, "simt_copy_async", flight.place);
        if (mbar == NULL) {
            return;
        }
        mbar->flying++;
    } else {
        flight.group  = groups->open;
        groups->used  = groups->open + 1u;
        groups->place = flight.place;
    }
    if (flight.kind != SIMT_COPY_OUT) {
        scramble(flight.to, flight.bytes);
    }
    flight.chance = (block->search == NULL) ? simt_random_below(&block->random, 9) : 0u;
    async->copy[async->copies] = flight;
    simt_async_count(block, async->copies + 1u);
}

void simt_engine_copy(simt_copy_kind kind, simt_addr shared, const void *global, uint32_t bytes,
                      simt_addr mbar, const char *file, int line)
{
    simt_thread   *thread = simt_current();
    simt_block    *block  = thread->block;
    simt_async    *async  = simt_async_enter(block, thread);
    unsigned char *at     = block->arena + shared;
    unsigned char *far    = (unsigned char *)(uintptr_t)global;
    simt_flight    flight = { .kind = kind, .owner = thread, .bytes = bytes,
                              .mbar = mbar, .shared = shared, .place = { file, line },
                              .to   = (kind == SIMT_COPY_OUT) ? far : at,
                              .from = (kind == SIMT_COPY_OUT) ? at : far };

    if ((shared < thread->self.arena_begin) || (shared > thread->self.arena_end) ||
        (bytes > thread->self.arena_end - shared) || ((shared & 15u) != 0)) {
        simt_fail_access(thread, "async copy", shared, (bytes != 0) ? bytes : 16u);
    } else if ((((uintptr_t)global & 15u) != 0) || ((bytes & 15u) != 0) ||
               (bytes > SIMT_MBAR_MOST)) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "fault: async copy at %s:%d of %u bytes, global address %p: both must be "
                  "multiples of 16, and the bytes at most %u", file, line, bytes, global,
                  SIMT_MBAR_MOST);
    } else if ((async != NULL) && (bytes != 0)) {
        start(block, thread, flight);
    }
    block->ops->settle(block, thread);
}

/* ---- groups ---- */

void simt_engine_copy_commit(simt_copy_kind kind)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;
    simt_async  *async  = simt_async_enter(block, thread);

    if (async != NULL) {
        simt_async_own(async, thread)->groups[kind].open++;
    }
    block->ops->settle(block, thread);
}

void simt_engine_copy_wait(simt_copy_kind kind, uint32_t most, int read)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;
    simt_async  *async  = simt_async_enter(block, thread);
    simt_groups *groups = (async != NULL) ? &simt_async_own(async, thread)->groups[kind] : NULL;
    uint32_t     limit  = (groups != NULL) && (groups->open > most) ? groups->open - most : 0u;
    uint32_t     i      = 0;

    while ((limit != 0) && (i < async->copies) && (block->status == SHPOOL_OK)) {
        const simt_flight *flight = &async->copy[i];
        int awaited = (flight->kind == kind) && (flight->owner == thread) &&
                      (flight->group < limit) && !(read && (flight->held != NULL));

        i += !awaited || (!land(block, i) && read);
    }
    if ((limit != 0) && (groups->waited < limit)) {
        groups->waited = limit;
    }
    block->ops->settle(block, thread);
}

/* ---- a test of an mbarrier ---- */

/* A thread that tests again and again would never see a copy that only lands when it must. */
static void land_while_asked(simt_block *block, simt_thread *thread, const simt_mbar *mbar)
{
    simt_async_thread *own   = simt_async_own(block->async, thread);
    int                again = (own->asked == mbar->addr) && (own->asked_phase == mbar->phase);

    own->asked       = mbar->addr;
    own->asked_phase = mbar->phase;
    if ((mbar->flying != 0) && (again || (block->ops->choose(block, 2) != 0))) {
        while ((mbar->flying != 0) && land_for(block, mbar->addr)) {
        }
    }
}

int simt_engine_mbar_test(simt_addr addr, uint32_t parity, const char *file, int line)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;
    simt_async  *async  = simt_async_enter(block, thread);
    simt_mbar   *mbar   = (async == NULL) ? NULL
                            : simt_mbar_find(block, addr, "simt_mbar_test",
                                             (simt_place){ file, line });
    int          done   = 0;

    if (mbar != NULL) {
        done = simt_mbar_is_complete(block, mbar, parity);
        if (!done) {
            land_while_asked(block, thread, mbar);
            done = (block->status == SHPOOL_OK) && simt_mbar_is_complete(block, mbar, parity);
        }
    }
    block->ops->settle(block, thread);
    return done;
}

/* ---- exit ---- */

/* The last thread has gone: what is on its way to global memory gets there, nothing else may be. */
static void check_end(simt_block *block)
{
    simt_async *async = block->async;

    while (async->copies > 0) {
        const simt_flight *flight = &async->copy[async->copies - 1u];

        if (flight->kind != SIMT_COPY_OUT) {
            simt_fail(block, SHPOOL_ERR_INVALID,
                      "fault: the block ends and a copy of %u bytes to 0x%x, started at %s:%d, is "
                      "in flight", flight->bytes, flight->shared, flight->place.file,
                      flight->place.line);
            return;
        }
        (void)land(block, async->copies - 1u);
        if (block->status != SHPOOL_OK) {
            return;
        }
    }
    for (uint32_t i = 0; i < async->mbars; i++) {
        if (async->mbar[i].unseen || async->mbar[i].fed) {
            simt_fail(block, SHPOOL_ERR_INVALID,
                      "fault: the block ends, but no thread has waited for the bytes that were "
                      "copied to the mbarrier at 0x%x", async->mbar[i].addr);
            return;
        }
    }
}

void simt_async_exit(simt_block *block, const simt_thread *thread)
{
    simt_async *async = block->async;

    for (uint32_t kind = 0; (async != NULL) && (kind < SIMT_COPY_KINDS); kind++) {
        const simt_groups *groups = &simt_async_own(async, thread)->groups[kind];

        if (groups->used > groups->waited) {
            simt_fail(block, SHPOOL_ERR_INVALID,
                      "fault: thread %u exits and has not waited for its copy, started at %s:%d",
                      thread->self.rank, groups->place.file, groups->place.line);
            return;
        }
    }
    if ((async != NULL) && (block->exited == block->threads)) {
        check_end(block);
    }
}
