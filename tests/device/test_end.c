/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a process: no call of the driver is made there (of a child: test_fork). */
#include "scene.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#define RIGHT 42

static int ends_here;         /* this process is a child whose end is looked at */
static unsigned long at_exit; /* calls in its first exit handler */
static sem_t stays;           /* the other thread makes no call any more */

/* Exit handlers run before destructors, the one that was registered last first. */
static void before_all(void)
{
    at_exit = fake_all_calls();
}

/* The last of all. */
__attribute__((destructor)) static void after_all(void)
{
    if (ends_here) {
        _exit(((at_exit > 0) && (fake_all_calls() == at_exit)) ? RIGHT : 1);
    }
}

static int exit_of(void (*child)(void))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        child();
        _exit(2);
    }
    assert_true(pid > 0);
    assert_int_equal(pid, waitpid(pid, &status, 0));
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void *stay(void *nothing)
{
    put(allocator, get(allocator, 70000, SHPOOL_STREAM_PER_THREAD), SHPOOL_STREAM_PER_THREAD);
    sem_post(&stays);
    pause();
    return nothing;
}

/* Everything is live or idle: shared, own and layered allocators, contexts, buffers, a capture, and
 * a thread that goes on. */
static void leave_it_all(void)
{
    shpool_context_options options = { .bytes = sizeof(options),
                                       .flags = SHPOOL_CONTEXT_NEW_STREAM };
    shpool_device_allocator *layered;
    shpool_context *context;
    shpool_buffer *buffer;
    shpool_stream aux;
    pthread_t thread;

    begin("bins");
    open_allocator("stats|limit:bytes=1G|guard|buckets", 0, &layered);
    (void)get(layered, 1000, NULL);
    assert_ok(shpool_context_create(&options, &context));
    assert_ok(shpool_context_aux_stream(context, &aux));
    assert_ok(shpool_context_standard(0, &context));
    assert_ok(shpool_buffer_create(context, SHPOOL_TYPE_I32, 1000, &buffer));
    (void)shpool_torch_malloc(20 << 20, 0, NULL);
    (void)get(allocator, 3 * MIB, NULL);
    put(allocator, get(allocator, 20 * MIB, stream_of('1')), NULL);
    assert_ok(shpool_device_capture_begin(allocator, 1, 1));
    assert_int_equal(0, sem_init(&stays, 0, 0));
    assert_int_equal(0, pthread_create(&thread, NULL, stay, NULL));
    assert_int_equal(0, sem_wait(&stays));
    ends_here = 1;
    atexit(before_all);
    exit(0); /* the checks are in after_all() */
}

TEST_ON_BOTH(test_the_end_makes_no_call)
{
    assert_int_equal(RIGHT, exit_of(leave_it_all));
}
