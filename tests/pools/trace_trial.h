/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of traces: a pool on the executor that records to a file. */
#ifndef SHPOOL_TESTS_TRACE_TRIAL_H
#define SHPOOL_TESTS_TRACE_TRIAL_H

#include "tests/unit.h"

#include <unistd.h>

#include <shpool/executor.h>
#include <shpool/heap.h>

typedef struct trace_trial {
    char path[64];
    shpool_pool pool;
    simt_launch launch;
    simt_result result;
    uint32_t number;      /* for the kernel, whatever it needs */
    char log[1 << 16];    /* what the kernel knows of its operations, as the file has it */
    size_t logged;
} trace_trial;

static inline int make_path(void **state)
{
    trace_trial *t = calloc(1, sizeof(*t));
    int at;

    clear_environment(NULL);
    if (t == NULL) {
        return -1;
    }
    strcpy(t->path, "trace_test_XXXXXX");
    at = mkstemp(t->path);
    *state = t;
    return (at >= 0) ? close(at) : -1;
}

static inline int remove_path(void **state)
{
    trace_trial *t = *state;

    (void)unlink(t->path);
    free(t);
    return 0;
}

/* `options` begins with a comma, or is empty. */
static inline void trace_open(trace_trial *t, const char *allocator, const char *options,
                              const shpool_config *want)
{
    char spec[256];

    (void)snprintf(spec, sizeof(spec), "%s:trace=%s%s", allocator, t->path, options);
    if (shpool_simt_open(spec, want, &t->pool) != SHPOOL_OK) {
        fail_msg("%s: %s", spec, shpool_last_error());
    }
    memset(&t->launch, 0, sizeof(t->launch));
    t->launch.block[0] = want->block_threads;
    t->launch.dynamic_bytes = t->pool.shared_bytes + 4096;
    t->launch.static_bytes = 48; /* the base is not aligned as the pool is */
    t->logged = 0;
    t->log[0] = '\0';
}

static inline void trace_run(trace_trial *t, simt_kernel kernel)
{
    if (simt_run(&t->launch, kernel, t, &t->result) != SHPOOL_OK) {
        fail_msg("%s: %s", t->pool.name, t->result.text);
    }
}

/* The file's text; free() it. */
static inline char *trace_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 22);

    assert_non_null(file);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 22) - 1, file) > 0);
    (void)fclose(file);
    return text;
}

/* Close the pool, and what the file says then; free() it. */
static inline char *trace_closed(trace_trial *t)
{
    assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
    return trace_text(t->path);
}

/* The lines from "block" on: what was recorded. */
static inline const char *trace_records(const char *text)
{
    const char *at = strstr(text, "\nblock ");

    return (at != NULL) ? at + 1 : strstr(text, "\nend ") + 1;
}

static inline shpool_heap trace_init(trace_trial *t)
{
    return shpool_init(&t->pool, simt_from_shared(simt_dynamic_base()));
}

/* A kernel: t->number mallocs and frees of each thread. */
static inline void trace_pairs(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);

    for (uint32_t i = 0; i < t->number; i++) {
        shpool_free(heap, shpool_malloc(heap, 16));
    }
    shpool_fini(heap);
}

static inline unsigned count_of(const char *text, const char *what)
{
    unsigned count = 0;

    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) {
        count++;
    }
    return count;
}

/* Some launches of bitmap, and how often the file has which text. */
typedef struct recording {
    simt_kernel kernel;
    const char *options;
    uint32_t    threads, blocks;
    uint32_t    numbers[4]; /* t->number of each launch */
    struct {
        const char *text;
        unsigned    times;
    } has[6];
} recording;

static inline void trace_record(trace_trial *t, const recording *r)
{
    const shpool_config want = { .block_threads = r->threads, .payload_bytes = 1024 * r->threads };
    char               *text;

    trace_open(t, "bitmap", r->options, &want);
    t->launch.grid[0] = r->blocks;
    for (size_t i = 0; (i < 4) && (r->numbers[i] != 0); i++) {
        t->number = r->numbers[i];
        trace_run(t, r->kernel);
    }
    text = trace_closed(t);
    for (size_t i = 0; (i < 6) && (r->has[i].text != NULL); i++) {
        if (count_of(text, r->has[i].text) != r->has[i].times) {
            fail_msg("not %u times \"%s\" in %s", r->has[i].times, r->has[i].text, text);
        }
    }
    free(text);
}

/* In kernels without preemption: a line that the file must have. */
#define LOG(_t, ...)                                                                               \
    ((_t)->logged += (size_t)snprintf((_t)->log + (_t)->logged, sizeof((_t)->log) - (_t)->logged,  \
                                      __VA_ARGS__))

#endif /* SHPOOL_TESTS_TRACE_TRIAL_H */
