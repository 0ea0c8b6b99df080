/* SPDX-License-Identifier: BSD-3-Clause */
/* Engine: one OS thread for each GPU thread, truly parallel.
 *
 * All waiting is polling, with sleeps in between that a wake-up ends, and the lock is a spin lock:
 * pthread mutexes and condition variables would be happens-before edges for ThreadSanitizer, and
 * every vote would hide the races around it.  These files are built without its instrumentation, so
 * it does not see the polling; join.c announces the edges that simt.h guarantees, and those of the
 * start and end of the run are from pthread_create() and pthread_join().
 *
 * Threads cannot be killed.  When the block has failed, each leaves its kernel by longjmp at its
 * next call that waits, or after at most CHECK_PERIOD accesses; its host allocations leak.  A
 * thread that makes no further simt.h call prevents simt_run() from returning. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

#define CHECK_PERIOD    1024u /* accesses between two looks at `failed` */
#define SPINS           64u   /* polls before a waiting thread starts to sleep between them */
#define WORD_NS         50000   /* sleep of a thread that waits for a word: a change wakes no
                                   thread */
#define WAKE_NS         2000000 /* sleep of the others: only a failure of the block wakes no
                                   thread */
#define WORKER_STACK    (1024u * 1024u)

struct simt_worker {
    simt_thread *thread;
    pthread_t    id;
    jmp_buf      leave;
    simt_random  random;
    uint32_t     progress;          /* of the block, when the clock below was read */
    unsigned long long since_ms;    /* 0: not read yet */
    unsigned long long switches;
};

static unsigned long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000u + (unsigned long long)now.tv_nsec / 1000000u;
}

static int has_failed(const simt_block *block)
{
    /* acquire: pairs with the release in report.c */
    return (int)__atomic_load_n(&block->failed, __ATOMIC_ACQUIRE);
}

static void leave_kernel(simt_thread *thread) __attribute__((noreturn));

static void leave_kernel(simt_thread *thread)
{
    longjmp(thread->worker->leave, 1);
}

/* Stop the block if nothing has happened in it for too long. */
static void check_clock(simt_block *block, simt_worker *worker)
{
    uint32_t           progress = __atomic_load_n(&block->progress, __ATOMIC_RELAXED);
    unsigned long long now      = now_ms();

    if ((worker->since_ms == 0) || (progress != worker->progress)) {
        worker->progress = progress;
        worker->since_ms = now;
    } else if (now - worker->since_ms >= block->launch.timeout_ms) {
        simt_lock(block);
        simt_fail_listed(block, SHPOOL_ERR_DEADLOCK,
                         "deadlock: no thread has met another for %u ms (timeout_ms)",
                         block->launch.timeout_ms);
        simt_unlock(block);
    }
}

/* Called with the lock when a thread stops running: if it was the last one, no other will detect
 * that the block is stuck. */
static void look_whether_stuck(simt_block *block)
{
    while ((block->running == 0) && (block->exited < block->threads) &&
           (block->status == SHPOOL_OK)) {
        for (uint32_t i = 0; i < block->threads; i++) {
            if ((block->thread[i].state == SIMT_STATE_WAIT) &&
                simt_word_changed(block, &block->thread[i])) {
                return; /* it polls, and will see that */
            }
        }
        if (!simt_sync_stuck(block)) {
            return;
        }
    }
}

/* The bare system call, which is not an edge for ThreadSanitizer. */
static void pause_between_polls(simt_thread *thread, uint32_t state, uint32_t polls)
{
    struct timespec span = { .tv_sec = 0,
                             .tv_nsec = (state == SIMT_STATE_WAIT) ? WORD_NS : WAKE_NS };

    if (polls < SPINS) {
        sched_yield();
    } else {
        (void)syscall(SYS_futex, &thread->state, FUTEX_WAIT_PRIVATE, state, &span, NULL, 0);
    }
}

static void settle(simt_block *block, simt_thread *thread)
{
    int blocked = thread->state != SIMT_STATE_RUNNING;

    if (blocked && (block->status == SHPOOL_OK)) {
        block->running--;
        look_whether_stuck(block);
    }
    simt_unlock(block);
    for (uint32_t polls = 0; !has_failed(block); polls++) {
        /* acquire: pairs with the release in sync.c's wake(), which publishes result */
        uint32_t state = __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE);

        if (state == SIMT_STATE_RUNNING) {
            return;
        }
        if ((state == SIMT_STATE_WAIT) && simt_word_changed(block, thread)) {
            simt_lock(block);
            if (block->status == SHPOOL_OK) {
                thread->state = SIMT_STATE_RUNNING;
                block->running++;
                simt_progress(block);
            }
            simt_unlock(block);
            continue;
        }
        pause_between_polls(thread, state, polls);
        if (polls % SPINS == SPINS - 1u) {
            check_clock(block, thread->worker);
        }
    }
    leave_kernel(thread);
}

static void wake(simt_block *block, simt_thread *thread)
{
    block->running++;
    (void)syscall(SYS_futex, &thread->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void arm(simt_block *block, simt_thread *thread)
{
    uint32_t period = block->launch.switch_period;

    if ((period == 0) || (period > CHECK_PERIOD)) {
        thread->self.countdown = CHECK_PERIOD;
    } else {
        thread->self.countdown = 1u + simt_random_below(&thread->worker->random, 2u * period - 1u);
    }
}

static void access_turn(simt_block *block, simt_thread *thread)
{
    simt_worker *worker = thread->worker;

    arm(block, thread);
    if (has_failed(block)) {
        leave_kernel(thread);
    }
    worker->switches++;
    if (worker->switches > block->launch.max_switches) {
        simt_lock(block);
        simt_fail_listed(block, SHPOOL_ERR_BUDGET,
                         "budget: thread %u had more than %llu turns (max_switches)",
                         thread->self.rank, block->launch.max_switches);
        simt_unlock(block);
    } else if ((worker->switches % SPINS) == 0) {
        check_clock(block, worker);
    }
    /* relaxed: a hint, the lock decides */
    if (__atomic_load_n(&block->flying, __ATOMIC_RELAXED) != 0) {
        simt_lock(block);
        simt_async_turn(block);
        simt_unlock(block);
    }
    if (block->launch.switch_period != 0) {
        sched_yield();
    }
}

static void passed(simt_block *block, simt_thread *thread)
{
    access_turn(block, thread);
}

/* A parked lane waits until the others also stop, so this is rare; otherwise little would run in
 * parallel. */
static int close_group(simt_block *block, simt_thread *thread)
{
    (void)thread;
    return simt_random_below(&block->random, 4) != 0;
}

static uint32_t choose(simt_block *block, uint32_t count)
{
    return simt_random_below(&block->random, count);
}

const simt_engine_ops simt_threads_ops = {
    .access = access_turn,
    .passed = passed,
    .settle = settle,
    .wake   = wake,
    .close  = close_group,
    .choose = choose,
    .unparks = 1,
};

/* ---- a run ---- */

static void *worker_main(void *arg)
{
    simt_worker *worker = (simt_worker *)arg;
    simt_thread *thread = worker->thread;
    simt_block  *block  = thread->block;

    /* Start together, or the first is done before the last exists.  acquire: pairs with go below */
    while (__atomic_load_n(&block->go, __ATOMIC_ACQUIRE) == 0) {
        sched_yield();
    }
    simt_self = &thread->self;
    simt_lock(block);
    simt_sync_begin(thread);
    simt_unlock(block);
    if ((setjmp(worker->leave) == 0) && !has_failed(block)) {
        block->kernel(block->arg);
        simt_lock(block);
        if (block->status == SHPOOL_OK) {
            block->running--;
            simt_sync_exit(block, thread);
            look_whether_stuck(block);
        }
        simt_unlock(block);
    }
    simt_self = NULL;
    return NULL;
}

void simt_threads_run(simt_block *block)
{
    simt_worker   *workers = calloc(block->threads, sizeof(*workers));
    pthread_attr_t attributes;
    uint32_t       started = 0;

    if (workers == NULL) {
        simt_fail(block, SHPOOL_ERR_NO_MEMORY, "simt: no memory for %u threads", block->threads);
        return;
    }
    block->go      = 0;
    block->running = block->threads;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WORKER_STACK);
    for (; started < block->threads; started++) {
        simt_worker *worker = &workers[started];
        int          error;

        worker->thread         = &block->thread[started];
        worker->thread->worker = worker;
        simt_random_seed(&worker->random, block->launch.seed,
                         ((unsigned long long)block->rank << 32) | (started + 1u));
        arm(block, worker->thread);
        error = pthread_create(&worker->id, &attributes, worker_main, worker);
        if (error != 0) {
            simt_fail(block, SHPOOL_ERR_SYSTEM, "simt: OS thread %u of %u: %s", started + 1u,
                      block->threads, strerror(error));
            break;
        }
    }
    pthread_attr_destroy(&attributes);
    __atomic_store_n(&block->go, 1, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < started; i++) {
        pthread_join(workers[i].id, NULL);
        block->switches += workers[i].switches;
    }
    free(workers);
}
