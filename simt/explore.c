/* SPDX-License-Identifier: BSD-3-Clause */
/* Engine and search: every schedule with a bounded number of preemptions.
 *
 * A stateless depth-first search (CHESS: Musuvathi and Qadeer, PLDI 2007): each schedule runs the
 * kernel from its start.  `choice` holds the decisions of the current schedule; the next schedule
 * repeats them up to the last one that has an alternative left, takes that, and continues with
 * first alternatives.  Points of choice:
 *
 *   an access            continue or, for one preemption each, land copies in flight and continue,
 *                        or run any other runnable thread
 *   a thread stops       any runnable thread, without a preemption
 *   simt_converged()     close the group or park, if another thread could run meanwhile
 *   nothing can run      which parked group continues, or which copy in flight lands
 *
 * Points with one alternative are not recorded.  Nothing is allocated or mapped per schedule; the
 * cost of a schedule is filling its arena, starting its fibers, and running. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* Accesses between two looks at the budget when no preemption is left. */
#define LONG_TURN  (1u << 16)
/* Room for the failure's text; the rest is for the schedule. */
#define TEXT_BYTES 1200u

typedef struct choice {
    uint32_t count;
    uint32_t taken;
} choice;

typedef struct turn {
    const simt_thread *thread; /* NULL: a copy landed */
    uint32_t accesses; /* made before the next one's turn */
} turn;

struct simt_search {
    uint32_t bound;
    uint32_t used;      /* preemptions of this schedule */
    choice  *choices;
    size_t   depth;     /* decisions taken in this schedule */
    size_t   prefix;    /* of them, those to repeat */
    size_t   room;
    turn    *turns;     /* threads that ran, in order; kept short, because only reports need it */
    size_t   turn_count;
    size_t   turn_room;
    uint32_t armed;     /* countdown that the running thread was given */
    uint32_t accesses;  /* of its turn, not counting the countdown */
};

/* ---- decisions ---- */

static int grow(simt_block *block, void **array, size_t *room_p, size_t bytes)
{
    size_t room = (*room_p == 0) ? 256u : (*room_p * 2u);
    void  *wider;

    simt_fiber_pose(&block->main);
    wider = realloc(*array, room * bytes);
    if (simt_self != NULL) {
        simt_fiber_pose(&simt_current()->fiber);
    }
    if (wider == NULL) {
        return 0;
    }
    *array  = wider;
    *room_p = room;
    return 1;
}

static void fail_repeat(simt_block *block, uint32_t before, uint32_t now)
{
    simt_fail(block, SHPOOL_ERR_INVALID,
              "explore: the kernel does not repeat: decision %zu had %u ways and now has %u; "
              "reset its state in hooks->before", block->search->depth, before, now);
}

static uint32_t decide(simt_block *block, uint32_t count)
{
    simt_search *search = block->search;
    choice      *next;

    if (count < 2) {
        return 0;
    }
    if (search->depth < search->prefix) {
        next = &search->choices[search->depth];
        if (next->count != count) {
            fail_repeat(block, next->count, count);
            return 0;
        }
        search->depth++;
        return next->taken;
    }
    if ((search->depth == search->room) &&
        !grow(block, (void **)&search->choices, &search->room, sizeof(choice))) {
        simt_fail(block, SHPOOL_ERR_NO_MEMORY, "explore: no memory for %zu decisions",
                  search->room);
        return 0;
    }
    search->choices[search->depth++] = (choice){ count, 0 };
    return 0;
}

/* Set up the next schedule; 0: there is none left. */
static int backtrack(simt_search *search)
{
    while (search->depth > 0) {
        choice *last = &search->choices[search->depth - 1u];

        if (last->taken + 1u < last->count) {
            last->taken++;
            search->prefix = search->depth;
            return 1;
        }
        search->depth--;
    }
    return 0;
}

static int is_runnable(const simt_block *block, const simt_thread *thread)
{
    return (thread->state == SIMT_STATE_RUNNING) ||
           ((thread->state == SIMT_STATE_WAIT) && simt_word_changed(block, thread));
}

/* Runnable threads except `except`, and the n-th of them, by rank. */
static uint32_t runnable(const simt_block *block, const simt_thread *except)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < block->threads; i++) {
        count += (&block->thread[i] != except) && is_runnable(block, &block->thread[i]);
    }
    return count;
}

static simt_thread *nth_runnable(simt_block *block, const simt_thread *except, uint32_t n)
{
    for (uint32_t i = 0; i < block->threads; i++) {
        simt_thread *thread = &block->thread[i];

        if ((thread != except) && is_runnable(block, thread) && (n-- == 0)) {
            return thread;
        }
    }
    return NULL;
}

/* ---- the engine ---- */

static void arm(simt_search *search, simt_thread *thread)
{
    search->armed = (search->used < search->bound) ? 1u : LONG_TURN;
    thread->self.countdown = search->armed;
}

/* `thread`'s turn ends, if there was one; `next`'s begins.  NULL for `next`: a copy lands. */
static void begin_turn(simt_block *block, simt_thread *thread, simt_thread *next)
{
    simt_search *search = block->search;

    if (search->turn_count > 0) {
        search->turns[search->turn_count - 1u].accesses =
            search->accesses + ((thread != NULL) ? (search->armed - thread->self.countdown) : 0u);
    }
    if ((search->turn_count < search->turn_room) ||
        grow(block, (void **)&search->turns, &search->turn_room, sizeof(turn))) {
        search->turns[search->turn_count++] = (turn){ next, 0 };
    }
    search->accesses = 0;
    if (next != NULL) {
        arm(search, next);
    }
}

static void land_copy(simt_block *block, simt_thread *thread, uint32_t copy)
{
    simt_search *search = block->search;

    search->used++;
    search->accesses--; /* the pending access of `thread` */
    begin_turn(block, thread, NULL);
    simt_async_land(block, copy);
    begin_turn(block, NULL, thread);
    search->accesses++;
    if (block->status != SHPOOL_OK) {
        simt_fibers_settle(block, thread);
    }
}

static void access_turn(simt_block *block, simt_thread *thread)
{
    simt_search *search = block->search;
    uint32_t     others;
    uint32_t     way;

    search->accesses += search->armed;
    arm(search, thread);
    if (simt_fibers_spend(block, search->armed)) {
        simt_fibers_settle(block, thread);
    }
    do {
        if (search->used >= search->bound) {
            return;
        }
        others = runnable(block, thread);
        way    = decide(block, others + 1u + block->flying);
        if (way > others) {
            land_copy(block, thread, way - others - 1u);
        }
    } while (way > others);
    if (way > 0) {
        simt_thread *next = nth_runnable(block, thread, way - 1u);

        search->used++;
        search->accesses--; /* its pending access */
        begin_turn(block, thread, next);
        next->state = SIMT_STATE_RUNNING;
        simt_fibers_switch(block, thread, next);
        search->accesses++;
    } else if (block->status != SHPOOL_OK) {
        simt_fibers_settle(block, thread);
    }
}

static void passed(simt_block *block, simt_thread *thread)
{
    if (simt_fibers_spend(block, 1)) {
        simt_fibers_settle(block, thread);
    }
}

static void wake(simt_block *block, simt_thread *thread)
{
    (void)block;
    (void)thread;
}

static simt_thread *pick(simt_block *block)
{
    uint32_t     count = runnable(block, NULL);
    simt_thread *next  = (count > 0) ? nth_runnable(block, NULL, decide(block, count)) : NULL;

    if (next != NULL) {
        begin_turn(block, simt_current(), next);
    }
    return next;
}

static int close_group(simt_block *block, simt_thread *thread)
{
    return (runnable(block, thread) == 0) || (decide(block, 2) == 0);
}

static const simt_engine_ops explore_ops = {
    .access = access_turn,
    .passed = passed,
    .settle = simt_fibers_settle,
    .wake   = wake,
    .pick   = pick,
    .close  = close_group,
    .choose = decide,
};

/* ---- the search ---- */

/* Fresh memory and states; what is the same in each schedule was set by simt_block_reset(). */
static void schedule_reset(simt_block *block)
{
    simt_search *search = block->search;

    simt_block_renew(block);
    search->depth      = 0;
    search->used       = 0;
    search->turn_count = 0;
    search->accesses   = 0;
}

static void add_schedule(simt_block *block)
{
    const simt_search *search = block->search;

    block->text.room = sizeof(((simt_result *)NULL)->text);
    simt_text_add(&block->text, "; schedule (thread*accesses)");
    for (size_t i = 0; i < search->turn_count; i++) {
        if (search->turns[i].thread == NULL) {
            simt_text_add(&block->text, " copy");
            continue;
        }
        if (block->cluster > 1) {
            simt_text_add(&block->text, " %u:%u", search->turns[i].thread->self.block,
                          search->turns[i].thread->self.rank);
        } else {
            simt_text_add(&block->text, " %u", search->turns[i].thread->self.rank);
        }
        if (i + 1u < search->turn_count) {
            simt_text_add(&block->text, "*%u", search->turns[i].accesses);
        }
    }
}

static void search_all(simt_block *block, const simt_bounds *bounds, const simt_hooks *hooks,
                       simt_result *result)
{
    simt_search *search = block->search;

    for (;;) {
        schedule_reset(block);
        if ((hooks != NULL) && (hooks->before != NULL)) {
            hooks->before(block->arg);
        }
        simt_fibers_run(block);
        if ((block->status == SHPOOL_OK) && (search->depth < search->prefix)) {
            fail_repeat(block, search->choices[search->depth].count, 0);
        }
        if (block->status != SHPOOL_OK) {
            return;
        }
        result->schedules++;
        if ((hooks != NULL) && (hooks->after != NULL) && (hooks->after(block->arg) != 0)) {
            simt_fail(block, SHPOOL_ERR_CORRUPT, "explore: `after` refused schedule %llu",
                      result->schedules);
            return;
        }
        if (!backtrack(search)) {
            result->complete = 1;
            return;
        }
        if (((bounds->max_schedules != 0) && (result->schedules >= bounds->max_schedules)) ||
            ((bounds->max_switches != 0) && (block->switches >= bounds->max_switches))) {
            return;
        }
    }
}

shpool_status simt_explore(const simt_launch *launch, const simt_bounds *bounds,
                           const simt_hooks *hooks, simt_kernel kernel, void *arg,
                           simt_result *result)
{
    static const simt_bounds none = { 0 };
    simt_search  search = { .bound = (bounds != NULL) ? bounds->preemptions : 0 };
    simt_launch  one    = { 0 };
    simt_block   block;
    simt_result  own;
    simt_result *out = (result != NULL) ? result : &own;

    if (launch != NULL) {
        one        = *launch;
        one.engine = SIMT_FIBERS;
        memcpy(one.grid, one.cluster, sizeof(one.grid));
    }
    if (simt_block_create(&block, (launch != NULL) ? &one : NULL, kernel, arg, out) !=
        SHPOOL_OK) {
        goto out_destroy;
    }
    block.ops       = &explore_ops;
    block.search    = &search;
    block.text.room = TEXT_BYTES;
    if (simt_fibers_create(&block) == SHPOOL_OK) {
        simt_block_reset(&block, 0);
        search_all(&block, (bounds != NULL) ? bounds : &none, hooks, out);
        if (block.status != SHPOOL_OK) {
            add_schedule(&block);
        }
    }
    simt_fibers_destroy(&block);
    free(search.choices);
    free(search.turns);
out_destroy:
    simt_block_destroy(&block);
    return simt_block_close(&block, out);
}
