/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that fail: which one, what is left of the others, and the sweep over a scene. */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "tests/device/fake/driver.h"

#define MOST_REQUESTS 5000u
#define MOST_LIVE     4096u /* pointers at a time */

struct fault fault;

static int strikes(void)
{
    unsigned n;
    int hit;

    if (!fault.armed) {
        return 0;
    }
    n   = atomic_fetch_add(&fault.count, 1) + 1;
    hit = (n == fault.at) || ((n > fault.at) && (fault.then != 0) &&
                              ((fault.then == FAULT_ALL) || (n - fault.at == fault.then)));
    fault.struck += (unsigned)hit;
    return hit;
}

static struct {
    pthread_mutex_t lock;
    size_t          used; /* places that were not always empty */
    const void     *at[MOST_LIVE];
} live = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* In the list, put `with` in the place of `ptr`. */
static void replace(const void *ptr, const void *with)
{
    size_t i = 0;

    (void)pthread_mutex_lock(&live.lock);
    while ((i < live.used) && (live.at[i] != ptr)) {
        i++;
    }
    if ((i < live.used) || ((ptr == NULL) && (i < MOST_LIVE))) {
        live.at[i] = with;
        live.used += (i == live.used);
    }
    (void)pthread_mutex_unlock(&live.lock);
}

static void forget_all(void)
{
    live.used = 0;
}

static unsigned count_live(void)
{
    unsigned count = 0;

    for (size_t i = 0; i < live.used; i++) {
        count += live.at[i] != NULL;
    }
    return count;
}

/* 1: the fake driver, which holds its lock, asks for itself. */
static int is_fake(void)
{
    if (fake.devices == 0) {
        return 0;
    }
    if (pthread_mutex_trylock(&fake_lock) != 0) {
        return 1;
    }
    (void)pthread_mutex_unlock(&fake_lock);
    return 0;
}

/* ThreadSanitizer takes fibers for threads, which share no errno; those of one thread do. */
__attribute__((no_sanitize_thread)) int fault_refuses(void)
{
    if (!fault.armed || is_fake() || !strikes()) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

static cu_result refuse_call(void)
{
    return !strikes()           ? CU_SUCCESS
           : (fault.at % 2 == 0) ? CU_ERROR_OUT_OF_MEMORY : CU_ERROR_INVALID_VALUE;
}

void *fault_note(void *ptr)
{
    if ((ptr != NULL) && fault.armed && !is_fake()) {
        replace(NULL, ptr);
    }
    return ptr;
}

void fault_forget(const void *ptr)
{
    if (ptr != NULL) {
        replace(ptr, NULL);
    }
}

static unsigned count_open_files(void)
{
    unsigned count = 0;

    for (int file = 0; file < 256; file++) {
        count += fcntl(file, F_GETFD) >= 0;
    }
    return count;
}

/* 1: a request failed, so that there may be another one. */
static int play(const fault_scene *scene, unsigned at, unsigned then)
{
    const unsigned files = count_open_files();

    forget_all();
    fault = (struct fault){ .spec = scene->spec };
    scene->begin();
    fake_refusal = refuse_call;
    fault = (struct fault){ .spec = scene->spec, .at = at, .then = then, .armed = 1 };
    scene->act();
    fault.armed = 0;
    scene->end();
    assert_true(live.used < MOST_LIVE); /* what had no place would not be missed */
    if ((count_live() != 0) || (count_open_files() != files)) {
        fail_msg("%s: requests %u and +%u fail: %u pointers and %d files are lost",
                 scene->name, at, then, count_live(),
                 (int)count_open_files() - (int)files);
    }
    return fault.struck > 0;
}

/* Each `step`th request. */
static void sweep(const fault_scene *scene, unsigned then, unsigned step)
{
    unsigned at = 1;

    while (play(scene, at, then)) {
        at += step;
        assert_true(at < MOST_REQUESTS);
    }
    if (at <= scene->least) {
        fail_msg("%s: only %u requests", scene->name, at - 1);
    }
}

void fault_sweep(const fault_scene *scene)
{
    const shpool_allocator *none;

    /* this thread's room for the detail of a failure stays */
    assert_int_equal(shpool_allocator_find(NULL, &none), SHPOOL_ERR_INVALID);
    sweep(scene, 0, 1);
    if (scene->pairs == 0) {
        sweep(scene, FAULT_ALL, 1);
        return;
    }
    for (unsigned then = 1; then <= FAULT_FARTHEST; then++) {
        sweep(scene, then, (getenv("LIBSHPOOL_TEST_LONG") != NULL) ? 1 : scene->pairs);
    }
}
