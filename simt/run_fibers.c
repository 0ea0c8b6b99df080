/* SPDX-License-Identifier: BSD-3-Clause */
/* Engine: all threads of a block are fibers of the calling OS thread, and a seed decides.
 *
 * Control passes directly from thread to thread; the main fiber gets it back when the block has
 * ended or failed.  A thread that cannot continue is in no list, or in `waiting` if it only waits
 * for a word: such threads are not notified, so the choice of the next thread checks the word. */
#include <stdlib.h>

#include "engine.h"

/* Without a switch period the engine is called only after this number of accesses: by then the
 * thread spins without simt_wait(), and cannot progress unless others do. */
#define NEVER UINT32_MAX

/* Words checked before a ready thread is chosen: with 1,000 threads at one lock, checking all would
 * make every switch a thousand times slower. */
#define PROBES 2u

int simt_fibers_spend(simt_block *block, unsigned long long decisions)
{
    block->spent += decisions;
    if (SIMT_UNLIKELY(block->spent > block->launch.max_switches)) {
        simt_fail_listed(block, SHPOOL_ERR_BUDGET,
                         "budget: more than %llu switches (max_switches): a livelock, or a budget "
                         "too small", block->launch.max_switches);
        return 1;
    }
    return 0;
}

void simt_fibers_switch(simt_block *block, simt_thread *thread, simt_thread *next)
{
    block->switches++;
    simt_self = &next->self;
    simt_fiber_switch(&thread->fiber, &next->fiber);
}

/* The next thread after one that cannot go on; NULL: back to the main fiber. */
static simt_thread *next_thread(simt_block *block)
{
    while ((block->status == SHPOOL_OK) && (block->exited < block->threads)) {
        simt_thread *next = block->ops->pick(block);

        if (next != NULL) {
            next->state = SIMT_STATE_RUNNING;
            simt_fibers_spend(block, 1);
            return (block->status == SHPOOL_OK) ? next : NULL;
        }
        if (!simt_sync_stuck(block)) {
            return NULL;
        }
    }
    return NULL;
}

void simt_fibers_settle(simt_block *block, simt_thread *thread)
{
    simt_thread *next;

    if ((thread->state == SIMT_STATE_RUNNING) && (block->status == SHPOOL_OK)) {
        return;
    }
    if ((thread->state == SIMT_STATE_WAIT) && (block->waiting != NULL)) {
        block->waiting[block->waiting_count++] = thread->index;
    }
    next = next_thread(block);
    if (next == NULL) {
        simt_self = NULL;
        simt_fiber_switch(&thread->fiber, &block->main); /* failed: never returns */
    } else if (next != thread) {
        simt_fibers_switch(block, thread, next);
    }
}

static void thread_main(void *arg)
{
    simt_thread *thread = (simt_thread *)arg;
    simt_block  *block  = thread->block;
    simt_thread *next;

    simt_order_acquire(&block->main); /* everything before simt_run() */
    simt_sync_begin(thread);
    block->kernel(block->arg);
    simt_sync_exit(block, thread);
    simt_order_release(&block->stacks); /* happens before its return; see simt_fibers_run() */
    next = next_thread(block);
    if (next == NULL) {
        simt_self = NULL;
        simt_fiber_finish(&thread->fiber, &block->main);
    }
    block->switches++;
    simt_self = &next->self;
    simt_fiber_finish(&thread->fiber, &next->fiber);
}

/* ---- the seed's decisions ---- */

/* Draw the thread's next countdown: uniform around the mean. */
static void arm(simt_block *block, simt_thread *thread)
{
    uint32_t period = block->launch.switch_period;

    if (period == 0) {
        thread->self.countdown = NEVER;
    } else {
        uint32_t spread = (period < 0x40000000u) ? (2u * period - 1u) : period;

        thread->self.countdown = 1u + simt_random_below(&block->random, spread);
    }
}

static simt_thread *take(simt_block *block, uint32_t *list, uint32_t *count_p, uint32_t i)
{
    simt_thread *thread = &block->thread[list[i]];

    list[i] = list[--*count_p];
    return thread;
}

static simt_thread *pick(simt_block *block)
{
    uint32_t ready   = block->ready_count;
    uint32_t waiting = block->waiting_count;
    uint32_t start;

    for (uint32_t probe = 0; (probe < PROBES) && (ready > 0); probe++) {
        uint32_t i = simt_random_below(&block->random, ready + waiting);

        if (i < ready) {
            return take(block, block->ready, &block->ready_count, i);
        }
        if (simt_word_changed(block, &block->thread[block->waiting[i - ready]])) {
            return take(block, block->waiting, &block->waiting_count, i - ready);
        }
    }
    if (ready > 0) {
        return take(block, block->ready, &block->ready_count,
                    simt_random_below(&block->random, ready));
    }
    start = (waiting > 0) ? simt_random_below(&block->random, waiting) : 0;
    for (uint32_t k = 0; k < waiting; k++) {
        uint32_t i = (start + k < waiting) ? (start + k) : (start + k - waiting);

        if (simt_word_changed(block, &block->thread[block->waiting[i]])) {
            return take(block, block->waiting, &block->waiting_count, i);
        }
    }
    return NULL;
}

static void wake(simt_block *block, simt_thread *thread)
{
    block->ready[block->ready_count++] = thread->index;
}

static void access_turn(simt_block *block, simt_thread *thread)
{
    simt_thread *next;

    arm(block, thread);
    if (simt_fibers_spend(block, 1)) {
        simt_fibers_settle(block, thread);
    }
    if (block->flying != 0) {
        simt_async_turn(block);
        if (block->status != SHPOOL_OK) {
            simt_fibers_settle(block, thread);
        }
    }
    if (block->ready_count + block->waiting_count == 0) {
        return;
    }
    wake(block, thread); /* itself is as good a choice as any: two accesses in a row must happen */
    next = pick(block);
    if (next != thread) {
        next->state = SIMT_STATE_RUNNING;
        simt_fibers_switch(block, thread, next);
    }
}

/* A kernel may spin on a word that has long changed: count it as an access. */
static void passed(simt_block *block, simt_thread *thread)
{
    if (--thread->self.countdown == 0) {
        access_turn(block, thread);
    } else if (simt_fibers_spend(block, 1)) {
        simt_fibers_settle(block, thread);
    }
}

/* Whole warps and single lanes must both come up: how readily lanes park is drawn for each group,
 * from never (0) to always (8). */
static int close_group(simt_block *block, simt_thread *thread)
{
    int close = simt_random_below(&block->random, 8) >= block->park_chance;

    (void)thread;
    if (close) {
        block->park_chance = simt_random_below(&block->random, 9);
    }
    return close;
}

static uint32_t choose(simt_block *block, uint32_t count)
{
    block->park_chance = simt_random_below(&block->random, 9);
    return simt_random_below(&block->random, count);
}

const simt_engine_ops simt_fibers_ops = {
    .access = access_turn,
    .passed = passed,
    .settle = simt_fibers_settle,
    .wake   = wake,
    .pick   = pick,
    .close  = close_group,
    .choose = choose,
    .unparks = 1,
};

/* ---- a run ---- */

shpool_status simt_fibers_create(simt_block *block)
{
    shpool_status status = simt_stacks_create(&block->stacks, block->threads,
                                              block->launch.stack_bytes);

    if (status == SHPOOL_OK) {
        status = simt_fiber_adopt(&block->main);
    }
    for (uint32_t i = 0; (i < block->threads) && (status == SHPOOL_OK); i++) {
        status = simt_fiber_create(&block->thread[i].fiber, &block->stacks, i);
    }
    if ((status == SHPOOL_OK) && (block->search == NULL)) {
        block->ready   = calloc(block->threads, sizeof(*block->ready));
        block->waiting = calloc(block->threads, sizeof(*block->waiting));
        if ((block->ready == NULL) || (block->waiting == NULL)) {
            status = SHPOOL_ERR_NO_MEMORY;
        }
    }
    if (status != SHPOOL_OK) {
        simt_fail(block, status, "simt: no memory for the stacks of %u threads", block->threads);
    }
    return status;
}

void simt_fibers_destroy(simt_block *block)
{
    for (uint32_t i = 0; i < block->threads; i++) {
        simt_fiber_destroy(&block->thread[i].fiber);
    }
    simt_fiber_destroy(&block->main);
    simt_stacks_destroy(&block->stacks);
    free(block->ready);
    free(block->waiting);
    block->ready   = NULL;
    block->waiting = NULL;
}

void simt_fibers_run(simt_block *block)
{
    simt_thread *first;

    block->ready_count   = 0;
    block->waiting_count = 0;
    for (uint32_t i = 0; i < block->threads; i++) {
        simt_fiber_prepare(&block->thread[i].fiber, thread_main, &block->thread[i]);
        if (block->search == NULL) {
            wake(block, &block->thread[i]);
            arm(block, &block->thread[i]);
        }
    }
    simt_order_release(&block->main);
    first = next_thread(block);
    if (first != NULL) {
        simt_self = &first->self;
        simt_fiber_switch(&block->main, &first->fiber);
    }
    simt_order_acquire(&block->stacks); /* any address that is not used for another edge */
    if (block->status != SHPOOL_OK) {
        for (uint32_t i = 0; i < block->threads; i++) {
            if (block->thread[i].state != SIMT_STATE_EXITED) {
                shpool_status status = simt_fiber_abandon(&block->thread[i].fiber, &block->main);

                (void)status; /* the block has failed already */
            }
        }
    }
}
