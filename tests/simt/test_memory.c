/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, mappings and threads that the machine refuses: each request of a run fails in turn, alone
 * or with all later ones.  The run then reports it, keeps nothing, and works again. */
#include "trial.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define MOST_LIVE 256u /* blocks and mappings of the executor at a time */

void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *ptr, size_t bytes);
void __real_free(void *ptr);
int __real_posix_memalign(void **ptr_p, size_t alignment, size_t bytes);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *at, size_t bytes);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *arg);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *ptr, size_t bytes);
void __wrap_free(void *ptr);
int __wrap_posix_memalign(void **ptr_p, size_t alignment, size_t bytes);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
int __wrap_munmap(void *at, size_t bytes);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *arg);

static struct {
    pthread_mutex_t lock;
    atomic_uint     fail_at; /* 0: none fails, and nothing is counted */
    atomic_uint     count;   /* requests so far */
    int             on;      /* those after it fail, too */
    const void     *live[MOST_LIVE];
} machine = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* 1: this one fails. */
static int fails(void)
{
    unsigned n;

    if (machine.fail_at == 0) {
        return 0;
    }
    n = atomic_fetch_add(&machine.count, 1) + 1;
    return machine.on ? (n >= machine.fail_at) : (n == machine.fail_at);
}

/* In the list of what is live, put `with` in the place of `ptr`. */
static void replace(const void *ptr, const void *with)
{
    (void)pthread_mutex_lock(&machine.lock);
    for (size_t i = 0; i < MOST_LIVE; i++) {
        if (machine.live[i] == ptr) {
            machine.live[i] = with;
            break;
        }
    }
    (void)pthread_mutex_unlock(&machine.lock);
}

static void *note(void *ptr)
{
    if ((ptr != NULL) && (machine.fail_at != 0)) {
        replace(NULL, ptr);
    }
    return ptr;
}

static void forget(const void *ptr)
{
    if (ptr != NULL) {
        replace(ptr, NULL);
    }
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : note(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *ptr, size_t bytes)
{
    if (fails()) {
        return NULL;
    }
    forget(ptr);
    return note(__real_realloc(ptr, bytes));
}

void __wrap_free(void *ptr)
{
    forget(ptr);
    __real_free(ptr);
}

int __wrap_posix_memalign(void **ptr_p, size_t alignment, size_t bytes)
{
    int error = fails() ? ENOMEM : __real_posix_memalign(ptr_p, alignment, bytes);

    if (error == 0) {
        (void)note(*ptr_p);
    }
    return error;
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    void *map;

    if (fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    map = __real_mmap(at, bytes, protection, flags, file, offset);
    if (((flags & MAP_FIXED) == 0) && (map != MAP_FAILED)) { /* else in another mapping */
        (void)note(map);
    }
    return map;
}

int __wrap_munmap(void *at, size_t bytes)
{
    forget(at);
    return __real_munmap(at, bytes);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *arg)
{
    return fails() ? EAGAIN : __real_pthread_create(thread, attributes, body, arg);
}

static unsigned count_live(void)
{
    unsigned count = 0;

    for (size_t i = 0; i < MOST_LIVE; i++) {
        count += machine.live[i] != NULL;
    }
    return count;
}

/* ---- runs ---- */

/* Atomics, votes, barriers: threads wait for each other in every way. */
static void kernel(void *arg)
{
    probe    *p  = (probe *)arg;
    simt_addr at = simt_dynamic_base();

    (void)p;
    if (simt_thread_rank() == 0) {
        simt_store32(at, 0);
    }
    simt_barrier();
    (void)simt_atomic_add(at, 1u, SIMT_RELAXED);
    (void)simt_any(simt_mask(0, simt_block_threads()), simt_lane() == 1);
    simt_barrier();
    if (simt_load32(at) != simt_block_threads()) {
        p->wrong++;
    }
}

typedef shpool_status launched(void);

static shpool_status run_fibers(void)
{
    return run(5, SIMT_FIBERS, 7, 2, kernel);
}

static shpool_status run_threads(void)
{
    return run(5, SIMT_THREADS, 0, 0, kernel);
}

static shpool_status run_cluster(void)
{
    simt_launch launch = { .block = { 3 }, .grid = { 4 }, .cluster = { 2 }, .dynamic_bytes = 256,
                           .seed = 3, .switch_period = 3 };

    return simt_run(&launch, kernel, &state, &result);
}

static shpool_status run_explore(void)
{
    simt_launch launch = { .block = { 2 }, .dynamic_bytes = 256 };
    simt_bounds bounds = { .preemptions = 1, .max_schedules = 40 };

    return simt_explore(&launch, &bounds, NULL, kernel, &state, &result);
}

/* Each request of the run fails in turn; it has at least `expected` of them. */
static void sweep(launched *launch, int on, unsigned expected)
{
    unsigned refused = 0;
    unsigned n       = 0;

    do {
        shpool_status status;

        memset(machine.live, 0, sizeof(machine.live));
        memset(&state, 0, sizeof(state));
        machine.on      = on;
        machine.count   = 0;
        machine.fail_at = ++n;
        status          = launch();
        machine.fail_at = 0;
        if (status != SHPOOL_OK) {
            assert_true((status == SHPOOL_ERR_NO_MEMORY) || (status == SHPOOL_ERR_SYSTEM));
            assert_int_equal(result.status, status);
            refused++;
        }
        assert_int_equal(state.wrong, 0);
        if (count_live() != 0) {
            fail_msg("request %u: %u blocks and mappings are lost", n, count_live());
        }
        assert_int_equal(launch(), SHPOOL_OK);
        assert_true(n < 500);
    } while (machine.count >= n);
    assert_true(refused >= expected);
}

static void test_fibers(void **unused)
{
    (void)unused;
    sweep(run_fibers, 0, 4);
    sweep(run_fibers, 1, 4);
}

static void test_threads(void **unused)
{
    (void)unused;
    sweep(run_threads, 0, 4);
    sweep(run_threads, 1, 4);
}

static void test_clusters(void **unused)
{
    (void)unused;
    sweep(run_cluster, 0, 4);
    sweep(run_cluster, 1, 4);
}

static void test_exploration(void **unused)
{
    (void)unused;
    sweep(run_explore, 0, 4);
    sweep(run_explore, 1, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fibers),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_exploration),
    };

#if defined(__SANITIZE_THREAD__)
    return 77; /* it has its own mmap() and pthread_create() */
#endif
    timeout_ms = 600000;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
