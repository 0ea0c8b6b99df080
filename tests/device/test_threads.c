/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads on one allocator; for ThreadSanitizer, and for stream ordering. */
#include "trial.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS  20000
#define BOX     64

static shpool_device_allocator *allocator;

typedef struct worker {
    pthread_t thread;
    shpool_stream stream;
    unsigned seed;
    unsigned failures;
} worker;

/* Blocks that are allocated here and freed there. */
static struct {
    pthread_mutex_t lock;
    void *ptr[BOX];
    size_t bytes[BOX];
} box = { .lock = PTHREAD_MUTEX_INITIALIZER };

static unsigned draw(worker *w, unsigned below)
{
    w->seed = w->seed * 1664525u + 1013904223u;
    return (w->seed >> 8) % below;
}

static void swap_with_box(worker *w, void **ptr, size_t *bytes)
{
    unsigned at = draw(w, BOX);
    void *other;
    size_t other_bytes;

    pthread_mutex_lock(&box.lock);
    other = box.ptr[at];
    other_bytes = box.bytes[at];
    box.ptr[at] = *ptr;
    box.bytes[at] = *bytes;
    pthread_mutex_unlock(&box.lock);
    *ptr = other;
    *bytes = other_bytes;
}

/* The caller must order memory that another thread allocated, here by waiting for everything. */
static void *work(void *argument)
{
    worker *w = argument;

    fake_set_current(0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t bytes = 1 + draw(w, (draw(w, 100) == 0) ? 3000000 : 20000);
        void *ptr = NULL;

        if (shpool_device_malloc(allocator, bytes, w->stream, &ptr) != SHPOOL_OK) {
            w->failures++;
            continue;
        }
        if (draw(w, 4) == 0) {
            swap_with_box(w, &ptr, &bytes);
        }
        if (draw(w, 500) == 0) {
            w->failures += (shpool_device_trim(allocator, 1 << 20) != SHPOOL_OK);
            w->failures += (shpool_device_check(allocator) != SHPOOL_OK);
        }
        if (draw(w, 100) == 0) {
            fake_finish_all();
        }
        if ((ptr != NULL) && (draw(w, 50) == 0)) {
            w->failures += (shpool_device_record_stream(allocator, ptr, SHPOOL_STREAM_LEGACY) !=
                            SHPOOL_OK);
        }
        if (shpool_device_free(allocator, ptr, w->stream) != SHPOOL_OK) {
            w->failures++;
        }
    }
    return NULL;
}

static void run(const char *spec, int per_thread)
{
    worker workers[THREADS];
    unsigned failures = 0;

    fake_start(1, 256u << 20);
    fake_set_current(0);
    open_allocator(spec, 0, &allocator);
    memset(box.ptr, 0, sizeof(box.ptr));
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker){ .seed = i + 1 };
        workers[i].stream = per_thread ? SHPOOL_STREAM_PER_THREAD
                                       : (i < 2) ? SHPOOL_STREAM_LEGACY : fake_stream(0, 1);
        if (!per_thread && (i == 3)) {
            assert_ok(shpool_device_stream_stable(allocator, workers[i].stream));
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        failures += workers[i].failures;
    }
    for (unsigned i = 0; i < BOX; i++) {
        put(allocator, box.ptr[i], NULL);
    }
    assert_int_equal(0, failures);
    assert_ok(shpool_device_check(allocator));
    assert_int_equal(0, live_bytes(allocator));
    shpool_device_allocator_unref(allocator);
    assert_int_equal(0, fake_stop().bytes);
    assert_string_equal("", fake_first_violation());
}

UNIT_TEST(test_threads_share_bins)
{
    run("bins:memory=driver", 0);
    run("bins:memory=driver", 1);
    run("bins:memory=driver,capacity=8M", 0);
}

UNIT_TEST(test_threads_share_bins_of_virtual_memory)
{
    run("bins:memory=vmm", 0);
    run("bins:memory=vmm,capacity=8M", 1);
}

UNIT_TEST(test_threads_share_buckets)
{
    run("buckets", 0);
    run("buckets", 1);
}

UNIT_TEST(test_threads_share_layers)
{
    run("lock|stats|limit:bytes=8G|bins", 0);
}

/* If two threads free one pointer at the same time, one succeeds. */
static void *free_it(void *ptr)
{
    fake_set_current(0);
    return (shpool_device_free(allocator, ptr, SHPOOL_STREAM_PER_THREAD) == SHPOOL_OK) ? ptr : NULL;
}

UNIT_TEST(test_of_two_frees_one_wins)
{
    fake_start(1, 256u << 20);
    fake_set_current(0);
    open_allocator("bins", 0, &allocator);
    for (int i = 0; i < 300; i++) {
        pthread_t thread[2];
        void *won[2];
        void *ptr = get(allocator, 1000, NULL);

        for (int j = 0; j < 2; j++) {
            assert_int_equal(0, pthread_create(&thread[j], NULL, free_it, ptr));
        }
        pthread_join(thread[0], &won[0]);
        pthread_join(thread[1], &won[1]);
        assert_int_equal(1, (won[0] != NULL) + (won[1] != NULL));
        fake_finish_all();
        if (i % 100 == 0) {
            assert_ok(shpool_device_check(allocator));
        }
    }
    shpool_device_allocator_unref(allocator);
    fake_stop();
}
