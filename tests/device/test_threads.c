/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads on one allocator; for ThreadSanitizer, and for stream ordering. */
#include "scene.h"

#include <pthread.h>

#include "device/bins/bins.h"
#include "device/stack.h"

#define THREADS 6
#define ROUNDS  14000
#define BOX     64

/* The streams of the threads: their own default ones, different ones, or one for all, on which each
 * thread then has a lane of its own. */
enum { PER_THREAD, DIFFERENT, ONE };

typedef struct worker {
    pthread_t thread;
    shpool_stream stream;
    int is_crowd; /* it has often found the lock of the stream's lane taken */
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

static void crowd(shpool_stream stream)
{
    shpool_timelines *lanes = &((bins_self *)allocator->self)->lanes;
    shpool_timeline_seen *seen = shpool_timeline_slot(lanes, stream);

    seen->taken = SHPOOL_TIMELINE_PATIENCE;
    shpool_timeline_crowded(lanes, seen);
}

static unsigned count_lanes(void)
{
    unsigned count = 0;

    for (bins_lane *l = bins_first_lane(allocator->self); l != NULL; l = bins_next_lane(l)) {
        count++;
    }
    return count;
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
        if (w->is_crowd && (i == 8)) {
            crowd(w->stream);
        }
        if (w->is_crowd) { /* on one stream the work is in order */
            fake_work(w->stream, ptr, (bytes < 4096) ? bytes : 4096);
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

static void run(const char *spec, int streams)
{
    worker workers[THREADS];
    unsigned failures = 0;

    begin_on(256 * MIB, spec);
    memset(box.ptr, 0, sizeof(box.ptr));
    for (unsigned i = 0; i < THREADS; i++) { /* two legacy ones, a stable and three others */
        workers[i] = (worker){ .seed = i + 1, .is_crowd = streams == ONE };
        workers[i].stream = (streams == PER_THREAD) ? SHPOOL_STREAM_PER_THREAD
                            : (streams == ONE) ? stream_of('1')
                            : (i < 2) ? SHPOOL_STREAM_LEGACY
                            : (i == 3) ? stream_of('1') : fake_stream(0, CU_STREAM_NON_BLOCKING);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        failures += workers[i].failures;
    }
    for (unsigned i = 0; i < BOX; i++) {
        put(allocator, box.ptr[i], workers[0].stream);
    }
    assert_int_equal(0, failures);
    assert_true((streams != ONE) || (count_lanes() >= THREADS - 1));
    play("check live_bytes=0 done%s", (streams == ONE) ? " trim:0 driver_bytes=0" : "");
    end();
}

UNIT_TEST(test_threads_share_bins)
{
    run("bins:memory=driver", DIFFERENT);
    run("bins:memory=driver", PER_THREAD);
    run("bins:memory=driver,capacity=8M", DIFFERENT);
    run("bins:wait=0", ONE);
}

UNIT_TEST(test_threads_share_bins_of_virtual_memory)
{
    run("bins:memory=vmm", DIFFERENT);
    run("bins:memory=vmm,capacity=8M", PER_THREAD);
}

UNIT_TEST(test_threads_share_buckets)
{
    run("buckets", DIFFERENT);
    run("buckets", PER_THREAD);
}

UNIT_TEST(test_threads_share_layers)
{
    run("lock|stats|limit:bytes=8G|bins", DIFFERENT);
}

/* If two threads free one pointer at the same time, one succeeds. */
static void *free_it(void *ptr)
{
    fake_set_current(0);
    return (shpool_device_free(allocator, ptr, SHPOOL_STREAM_PER_THREAD) == SHPOOL_OK) ? ptr : NULL;
}

UNIT_TEST(test_of_two_frees_one_wins)
{
    begin("bins");
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
    end();
}
