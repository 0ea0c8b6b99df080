/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fork() while other threads are in the library: a lock that one of them holds stays locked in the
 * child forever.  A child that waits for it is ended by an alarm, and counted.
 */
#include "scene.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/arrays/kernels.h"
#include "lib/link/cache.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FORKS 50u
#else
#define FORKS 1000u
#endif
#define FORKS_LONG 2500u /* with LIBSHPOOL_TEST_LONG */
#ifndef FORK_SECONDS
#define FORK_SECONDS 300u /* until a child is taken for one that waits; planted.sh gives less */
#endif

static atomic_int busy;               /* relaxed: it ends loops */
static shpool_buffer *parents_buffer; /* large enough for a kernel to fill it */
static shpool_context *parents_context;
static const int32_t first = 1;
static const int32_t step = 2;

static void ignore(shpool_level level, const char *text, void *user)
{
    (void)level;
    (void)text;
    (void)user;
}

/* ---- the parent's other threads ---- */

/* The locks as often as possible: fork() meets one of them in one case of ten. */
static void use_locks(void)
{
    static const shpool_digest key = { { 7 } };
    void *found;
    size_t bytes;

    for (unsigned i = 0; i < 30; i++) {
        (void)shpool_allocator_count();
        (void)shpool_device_provider_get(0);
        for (unsigned k = 0; k < 8; k++) { /* its sections are the shortest */
            shpool_set_message_handler(ignore, NULL);
        }
        shpool_memory_put(&key, &key, sizeof(key));
        if (shpool_memory_get(&key, &found, &bytes)) {
            free(found);
        }
        shpool_memory_clear();
    }
}

static void use_tables(void)
{
    const shpool_device_provider *provider;
    shpool_config want = { .block_threads = 32, .payload_bytes = 1024 };
    shpool_pool pool;

    use_locks();
    (void)shpool_plan(NULL, &want, &pool);
    (void)shpool_plan("no_such_allocator", &want, &pool);
    (void)shpool_device_provider_find("no_such_layer", &provider);
}

static void *keep_tables_busy(void *arg)
{
    while (atomic_load_explicit(&busy, memory_order_relaxed)) {
        use_tables();
    }
    return arg;
}

static void *keep_devices_busy(void *arg)
{
    while (atomic_load_explicit(&busy, memory_order_relaxed)) {
        shpool_device_allocator *other;
        shpool_device_stats stats;
        void *ptr = NULL;

        if (shpool_device_malloc(allocator, 70000, NULL, &ptr) == SHPOOL_OK) {
            (void)shpool_device_free(allocator, ptr, NULL);
        }
        (void)shpool_device_malloc(allocator, (size_t)1 << 40, NULL, &ptr);
        (void)shpool_device_get_stats(allocator, &stats);
        (void)shpool_device_trim(allocator, 0);
        if (shpool_device_allocator_open("lock|buckets", 0, &other) == SHPOOL_OK) {
            shpool_device_allocator_unref(other);
        }
        (void)shpool_buffer_fill_ascending(parents_buffer, &first, &step);
        for (unsigned i = 0; i < 1000; i++) {
            (void)shpool_kernels_have(parents_buffer, SHPOOL_KERNEL_ASCENDING);
        }
    }
    return arg;
}

/* ---- a child ---- */

/* Each call either has nothing to do, or is refused; none may wait for a lock that a thread of the
 * parent had, and none may reach the driver.  None allocates: AddressSanitizer's malloc does not
 * survive a fork.  1: all was right. */
static int use_in_child(void)
{
    static const shpool_digest key = { { 8 } };
    const shpool_device_provider *provider;
    shpool_config want = { .block_threads = 32, .payload_bytes = 1024 };
    shpool_device_allocator *other;
    shpool_device_stats stats;
    shpool_context *context;
    shpool_pool pool;
    void *const memory = block("a");
    void *ptr = NULL;
    size_t bytes;
    int right = 1;

    fake_forget_calls();
    right &= (shpool_plan("no_such_allocator", &want, &pool) == SHPOOL_ERR_NOT_FOUND);
    right &= (strstr(shpool_last_error(), "no_such_allocator") != NULL);
    right &= (shpool_plan(NULL, &want, &pool) == SHPOOL_OK);
    right &= (shpool_device_provider_find("no_such", &provider) == SHPOOL_ERR_NOT_FOUND);
    right &= !shpool_memory_get(&key, &ptr, &bytes);
    shpool_set_message_handler(NULL, NULL);
    right &= (shpool_device_malloc(allocator, 1000, NULL, &ptr) == SHPOOL_ERR_CUDA);
    right &= (ptr == NULL) && (shpool_torch_malloc(1000, 0, NULL) == NULL);
    right &= (shpool_device_free(allocator, memory, NULL) == SHPOOL_OK);
    right &= (shpool_device_trim(allocator, 0) == SHPOOL_ERR_CUDA);
    right &= (shpool_device_set(allocator, "capacity", "0") == SHPOOL_ERR_CUDA);
    right &= (shpool_device_check(allocator) == SHPOOL_ERR_CUDA);
    right &= (shpool_device_reset_peak(allocator) == SHPOOL_ERR_CUDA);
    right &= (shpool_device_on_oom(allocator, NULL, NULL) == SHPOOL_ERR_CUDA);
    right &= (shpool_device_get_stats(allocator, &stats) == SHPOOL_ERR_CUDA);
    right &= (shpool_device_base(allocator, memory, &ptr, &bytes) == SHPOOL_ERR_CUDA);
    right &= (shpool_device_record_stream(allocator, memory, NULL) == SHPOOL_ERR_CUDA);
    right &= (shpool_device_capture_begin(allocator, 1, 1) == SHPOOL_ERR_CUDA);
    right &= (shpool_device_allocator_open("bins", 0, &other) == SHPOOL_ERR_CUDA);
    right &= (shpool_context_standard(0, &context) == SHPOOL_ERR_CUDA);
    right &= (shpool_context_create(NULL, &context) == SHPOOL_ERR_CUDA);
    right &= (shpool_context_activate(parents_context) == SHPOOL_ERR_CUDA);
    right &= (shpool_context_sync(parents_context) == SHPOOL_ERR_CUDA);
    right &= (shpool_timer_start(parents_context) == SHPOOL_ERR_CUDA);
    right &= (shpool_buffer_from_host(parents_buffer, 0, 1, &right) == SHPOOL_ERR_CUDA);
    right &= !shpool_kernels_have(parents_buffer, SHPOOL_KERNEL_ASCENDING); /* its lock */
    shpool_buffer_unref(parents_buffer);
    shpool_context_unref(parents_context);
    shpool_device_allocator_unref(allocator);
    return right && (fake_all_calls() == 0);
}

static unsigned hung;

/* Fork, and count a child that an alarm ended. */
static void fork_once(int (*child)(void))
{
    int status = 1;
    const pid_t pid = fork();

    if (pid == 0) {
        alarm(FORK_SECONDS);
        _exit(!child());
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    hung += WIFSIGNALED(status) && (WTERMSIG(status) == SIGALRM);
    assert_true(WIFSIGNALED(status) || (WEXITSTATUS(status) == 0));
}

static void fork_often(const char *spec, unsigned forks)
{
    const shpool_config want = { .block_threads = 32, .payload_bytes = 1024 };
    shpool_pool pool;
    pthread_t threads[3];

    begin(spec);
    play("a=1000@0");
    hung = 0;
    assert_ok(shpool_context_create(NULL, &parents_context));
    assert_ok(shpool_buffer_create(parents_context, SHPOOL_TYPE_I32, 1 << 15, &parents_buffer));
    /* from now on there is room for details, and plugins have been looked for: in a child both
     * would allocate */
    assert_int_equal(shpool_plan("nothing", &want, &pool), SHPOOL_ERR_NOT_FOUND);
    atomic_store_explicit(&busy, 1, memory_order_relaxed);
    assert_int_equal(pthread_create(&threads[0], NULL, keep_tables_busy, NULL), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, keep_tables_busy, NULL), 0);
    assert_int_equal(pthread_create(&threads[2], NULL, keep_devices_busy, NULL), 0);
    for (unsigned i = 0; (i < forks) && (hung == 0); i++) {
        fork_once(use_in_child);
    }
    atomic_store_explicit(&busy, 0, memory_order_relaxed);
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    shpool_set_message_handler(NULL, NULL);
    shpool_memory_clear();
    shpool_buffer_unref(parents_buffer);
    shpool_context_unref(parents_context);
    play("free:a@0");
    end();
    assert_int_equal(hung, 0);
}

UNIT_TEST(test_children_find_every_lock_free)
{
    const unsigned forks = (getenv("LIBSHPOOL_TEST_LONG") != NULL) ? FORKS_LONG : FORKS;

    fork_often("bins", forks);
    fork_often("stats|bins:memory=driver", 20); /* the calls, not the locks */
}

/* ---- while the driver is loaded ---- */

static sem_t entered; /* the other thread is in cuInit() */
static sem_t leave;

static cu_result slow_init(unsigned flags)
{
    (void)flags;
    sem_post(&entered);
    sem_wait(&leave);
    return CU_ERROR_NO_DEVICE;
}

static cu_result error_string(cu_result result, const char **text_p)
{
    (void)result;
    *text_p = "no device";
    return CU_SUCCESS;
}

static void *load_driver(void *arg)
{
    const shpool_driver *cu;

    (void)shpool_driver_get(&cu);
    return arg;
}

static int ask_for_the_driver(void)
{
    const shpool_driver *cu;

    return shpool_driver_get(&cu) == SHPOOL_ERR_CUDA;
}

/* After the failure a child may try by itself. */
static int find_no_device(void)
{
    const shpool_driver *cu;

    sem_post(&leave);
    return shpool_driver_get(&cu) == SHPOOL_ERR_UNSUPPORTED;
}

UNIT_TEST(test_a_child_does_not_wait_for_the_driver)
{
    static const shpool_driver slow = { .init = slow_init, .error_string = error_string };
    pthread_t thread;
    shpool_pool pool;

    assert_int_equal(shpool_plan("nothing", NULL, &pool), SHPOOL_ERR_INVALID);
    assert_int_equal(sem_init(&entered, 0, 0), 0);
    assert_int_equal(sem_init(&leave, 0, 0), 0);
    fake_install(&slow);
    assert_int_equal(pthread_create(&thread, NULL, load_driver, NULL), 0);
    assert_int_equal(sem_wait(&entered), 0);
    hung = 0;
    fork_once(ask_for_the_driver);
    sem_post(&leave);
    assert_int_equal(pthread_join(thread, NULL), 0);
    fork_once(find_no_device);
    fake_install(NULL);
    assert_int_equal(hung, 0);
}
