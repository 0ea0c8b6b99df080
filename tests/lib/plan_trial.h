/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of shpool_plan: fake allocators of every scope, plans that succeed. */
#ifndef SHPOOL_TESTS_PLAN_TRIAL_H
#define SHPOOL_TESTS_PLAN_TRIAL_H

#include "tests/unit.h"

#define ALL_CAPS (SHPOOL_CAP_FREE | SHPOOL_CAP_ALIGNED | SHPOOL_CAP_CHECK)

static shpool_allocator fakes[8];

/* Bitmap-like: one metadata byte per 16-byte granule, so that the overhead grows with the size. */
static inline shpool_layout growing_layout(uint32_t bytes, uint32_t alignment)
{
    uint32_t granules = bytes / 17;
    shpool_layout layout = { 0 };

    while ((granules > 0) && ((granules + 15) / 16 * 16 + granules * 16 > bytes)) {
        granules--;
    }
    if (alignment > 16) {
        granules = (granules * 16 / alignment) * (alignment / 16);
    }
    if (granules > 0) {
        layout = (shpool_layout){ bytes, granules * 16, { granules, alignment } };
    }
    return layout;
}

static inline int register_fakes(void **state)
{
    size_t count = 0;

    fakes[count++] = fake_allocator("t_thread", SHPOOL_SCOPE_THREAD, ALL_CAPS);
    fakes[count++] = fake_allocator("t_group", SHPOOL_SCOPE_GROUP, ALL_CAPS);
    fakes[count++] = fake_allocator("t_block", SHPOOL_SCOPE_BLOCK, ALL_CAPS);
    fakes[count++] = fake_allocator("t_plain", SHPOOL_SCOPE_GROUP, 0);
    fakes[count++] = fake_allocator("t_native", SHPOOL_SCOPE_BLOCK, SHPOOL_CAP_SPILL);
    fakes[count - 1].layout = empty_layout;
    fakes[count++] = fake_allocator("t_null", SHPOOL_SCOPE_THREAD, SHPOOL_CAP_NONE);
    fakes[count - 1].layout = empty_layout;
    fakes[count++] = fake_allocator("t_spill", SHPOOL_SCOPE_BLOCK, SHPOOL_CAP_SPILL);
    fakes[count++] = fake_allocator("t_growing", SHPOOL_SCOPE_GROUP, ALL_CAPS);
    fakes[count - 1].layout = growing_layout;
    for (size_t i = 0; i < count; i++) {
        if (shpool_register(&fakes[i]) != SHPOOL_OK) {
            return -1;
        }
    }
    return 0;
}

static inline shpool_config want_of(uint32_t threads, uint32_t payload)
{
    return (shpool_config){ .block_threads = threads, .payload_bytes = payload };
}

static inline shpool_pool plan_ok(const char *spec, shpool_config want)
{
    shpool_pool pool;

    if (shpool_plan(spec, &want, &pool) != SHPOOL_OK) {
        fail_msg("%s: %s", (spec != NULL) ? spec : "the default", shpool_last_error());
    }
    return pool;
}

#endif /* SHPOOL_TESTS_PLAN_TRIAL_H */
