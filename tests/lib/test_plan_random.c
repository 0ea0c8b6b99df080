/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool_plan over thousands of random geometries: as small as can be, and refused with reason. */
#include "plan_trial.h"

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* The header's guarantees for every plan. */
static void check_pool(const shpool_config *want, const shpool_pool *pool,
                       const shpool_allocator *allocator)
{
    const uint32_t step = ((pool->pools > 1) && (pool->alignment == 16)) ? 32
                        : (pool->pools > 1) ? pool->alignment : 16;
    const uint32_t payload = (want->payload_bytes + pool->pools - 1) / pool->pools;
    const uint32_t zones = ((pool->flags & SHPOOL_FLAG_CHECK) != 0) ? pool->alignment + 4 : 0;
    const uint32_t bytes = pool->pool_bytes - wait_bytes(pool); /* the module's */
    shpool_layout layout = allocator->layout(bytes, pool->alignment);

    assert_int_equal(pool->shared_bytes, SHPOOL_SLACK_BYTES(pool->alignment) + pool->area_bytes +
                                             pool->pools * pool->pool_bytes);
    assert_true(pool->shared_bytes <= SHPOOL_MAX_SHARED);
    assert_int_equal(pool->pools, (want->block_threads + pool->threads_per_pool - 1) /
                                  pool->threads_per_pool);
    assert_int_equal(pool->largest, layout.largest - zones);
    assert_memory_equal(pool->word, layout.word, sizeof(pool->word));
    assert_true((uint64_t)pool->largest * pool->pools >= want->payload_bytes);
    assert_int_equal(pool->area_bytes % pool->alignment, 0);
    assert_int_equal(pool->pool_bytes % 16, 0);
    if (pool->pools > 1) {
        assert_int_equal(pool->pool_bytes % pool->alignment, 0);
    }
    if ((pool->pools > 1) && (pool->alignment == 16)) {
        assert_int_equal(pool->pool_bytes / 16 % 2, 1);
    }
    /* minimal: the next smaller size that is permitted would hold too little */
    assert_true((pool->pool_bytes <= step) ||
                (allocator->layout(bytes - step, pool->alignment).largest < payload + zones));
}

/* A payload that was refused must really not fit, and the one that is proposed must. */
static void check_refusal(const char *name, shpool_config want)
{
    const char *hint = strstr(shpool_last_error(), "; payload_bytes ");
    unsigned long long proposed = 0;
    shpool_pool pool;

    if (hint == NULL) {
        assert_detail("no payload fits");
        want.payload_bytes = 1;
        assert_int_equal(shpool_plan(name, &want, &pool), SHPOOL_ERR_TOO_LARGE);
        return;
    }
    proposed = strtoull(hint + strlen("; payload_bytes "), NULL, 10);
    assert_true(proposed < want.payload_bytes);
    want.payload_bytes = (uint32_t)proposed;
    assert_int_equal(shpool_plan(name, &want, &pool), SHPOOL_OK);
    want.payload_bytes++;
    assert_int_equal(shpool_plan(name, &want, &pool), SHPOOL_ERR_TOO_LARGE);
}

UNIT_TEST(test_random_geometries)
{
    static const char *const names[] = { "t_thread", "t_group", "t_block", "t_growing" };
    uint32_t seed = 12345;
    unsigned planned = 0;
    unsigned refused = 0;

    for (unsigned round = 0; round < 20000; round++) {
        const char *name = names[next_random(&seed) % SHPOOL_ARRAY_COUNT(names)];
        const shpool_allocator *allocator;
        shpool_config want = { 0 };
        shpool_pool pool;

        want.block_threads = 1 + next_random(&seed) % SHPOOL_MAX_THREADS;
        want.payload_bytes = 1 + next_random(&seed) % (1u << (8 + next_random(&seed) % 12));
        want.threads_per_pool = next_random(&seed) % 65;
        want.alignment = (next_random(&seed) % 2) ? 16u << (next_random(&seed) % 7) : 16;
        want.flags = next_random(&seed) % 4;
        assert_int_equal(shpool_allocator_find(name, &allocator), SHPOOL_OK);
        if (shpool_plan(name, &want, &pool) == SHPOOL_OK) {
            check_pool(&want, &pool, allocator);
            planned++;
        } else {
            assert_true(is_zeroed(&pool, sizeof(pool)));
            check_refusal(name, want);
            refused++;
        }
    }
    assert_true(planned > 5000);
    assert_true(refused > 1000);
}

/* The real allocators, whichever this build has. */
UNIT_TEST(test_builtins_with_random_geometries)
{
    uint32_t seed = 54321;

    for (unsigned round = 0; round < 5000; round++) {
        size_t index = next_random(&seed) % (shpool_allocator_count() - SHPOOL_ARRAY_COUNT(fakes));
        const shpool_allocator *allocator = shpool_allocator_get(index);
        shpool_config want = { 0 };
        shpool_pool pool;

        want.block_threads = 1 + next_random(&seed) % SHPOOL_MAX_THREADS;
        want.payload_bytes = 1 + next_random(&seed) % (1u << (next_random(&seed) % 19));
        if (shpool_plan(allocator->name, &want, &pool) != SHPOOL_OK) {
            check_refusal(allocator->name, want);
        } else if (pool.pool_bytes != 0) {
            check_pool(&want, &pool, allocator);
        }
    }
}

/* The plan halves its way to the least size: a larger pool must never hold less. */
UNIT_TEST(test_layouts_never_give_less_for_more)
{
    const size_t builtins = shpool_allocator_count() - SHPOOL_ARRAY_COUNT(fakes);

    for (size_t i = 0; i < builtins; i++) {
        for (uint32_t alignment = 16; alignment <= SHPOOL_MAX_ALIGNMENT; alignment *= 2) {
            uint32_t before = 0;

            for (uint32_t bytes = 16; bytes <= 300000; bytes += 16) {
                shpool_layout layout = shpool_allocator_get(i)->layout(bytes, alignment);

                assert_true(layout.largest >= before);
                assert_true((layout.bytes <= bytes) && (layout.largest <= layout.bytes));
                before = layout.largest;
            }
        }
    }
}

UNIT_GROUP(register_fakes, NULL)
