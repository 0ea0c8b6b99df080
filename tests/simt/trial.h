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
static uint32_t    timeout_ms; /* 0: the default; a busy machine is not a deadlock */

static inline shpool_status run(uint32_t threads, simt_engine engine, unsigned long long seed,
                                uint32_t period, simt_kernel kernel)
{
    simt_launch launch = { .block = { threads }, .dynamic_bytes = 4096, .engine = engine,
                           .seed = seed, .switch_period = period, .timeout_ms = timeout_ms };

    return simt_run(&launch, kernel, &state, &result);
}

static inline int setup(void **unused)
{
    (void)unused;
    memset(&state, 0, sizeof(state));
    timeout_ms = 0;
    return 0;
}

static inline void assert_text(const char *part)
{
    if (strstr(result.text, part) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", part, result.text);
    }
}

static inline void expect(probe *p, int fine)
{
    if (!fine) {
        simt_global_add32(&p->wrong, 1);
    }
}

/* A livelock: no thread stores the word. */
static inline void spin_kernel(void *arg)
{
    (void)arg;
    while (simt_atomic_load(simt_dynamic_base(), SIMT_RELAXED) != 1) {
    }
}

#endif /* SHPOOL_TESTS_SIMT_TRIAL_H */
