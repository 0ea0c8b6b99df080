/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of the CPU block executor: the record that a kernel fills, and one launch.
 *
 * Kernels never assert: cmocka leaves a failed test by longjmp, and a kernel has another stack.
 * They count errors in their argument, which the test checks afterwards.  The kernels do not race,
 * so that the whole program may run under ThreadSanitizer. */
#ifndef SHPOOL_TESTS_SIMT_TRIAL_H
#define SHPOOL_TESTS_SIMT_TRIAL_H

#include <stdlib.h>
#include <string.h>

#include <shpool/executor.h>

#include "tests/test.h"

#undef UNIT_STATE
#define UNIT_STATE unused /* `state` is a kernel's */

typedef struct probe {
    uint32_t wrong;
    uint32_t count;
    uint32_t x, y;          /* inputs of the kernel */
    uint32_t seen[1024];
    uint32_t order[4096];
} probe;

static simt_result result;
static probe       state;
static unsigned long long last_seed;
static uint32_t    timeout_ms; /* 0: the default; a busy machine is not a deadlock */

static inline shpool_status run(uint32_t threads, simt_engine engine, unsigned long long seed,
                                uint32_t period, simt_kernel kernel)
{
    simt_launch launch = { .block = { threads }, .dynamic_bytes = 4096, .engine = engine,
                           .seed = seed, .switch_period = period, .timeout_ms = timeout_ms };

    last_seed = seed;
    return simt_run(&launch, kernel, &state, &result);
}

static inline int setup(void **unused)
{
    memset(&state, 0, sizeof(state));
    timeout_ms = 0;
    return 0;
}

/* A run has ended well, and no thread found anything wrong. */
static inline void fine(shpool_status status)
{
    if ((status != SHPOOL_OK) || (state.wrong != 0)) {
        fail_msg("seed %llu: %u wrong; %s", last_seed, state.wrong, result.text);
    }
}

#define FOR_EACH_ENGINE(_engine)                                                                   \
    for (simt_engine _engine = SIMT_FIBERS; _engine <= SIMT_THREADS; _engine++)

static inline void assert_text(const char *part)
{
    if (strstr(result.text, part) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", part, result.text);
    }
}

static inline void expect(int is_fine)
{
    if (!is_fine) {
        simt_global_add32(&state.wrong, 1);
    }
}

static inline shpool_status explore(uint32_t threads, uint32_t bound, const simt_hooks *hooks,
                                    simt_kernel kernel)
{
    simt_launch launch = { .block = { threads }, .dynamic_bytes = 1024, .max_switches = 100000 };
    simt_bounds bounds = { .preemptions = bound };

    return simt_explore(&launch, &bounds, hooks, kernel, &state, &result);
}

/* A livelock: no thread stores the word. */
static inline void spin_kernel(void *arg)
{
    while (simt_atomic_load(simt_dynamic_base(), SIMT_RELAXED) != 1) {
    }
}

#endif /* SHPOOL_TESTS_SIMT_TRIAL_H */
