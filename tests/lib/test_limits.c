/* SPDX-License-Identifier: BSD-3-Clause */
/* Planning by total_bytes and for an architecture; aliases. */
#include "tests/unit.h"

static const uint32_t threads[] = { 1, 31, 32, 33, 100, 256, 512, 1000, 1024 };

/* ---- architectures ---- */

UNIT_TEST(test_architectures_are_found_by_every_name)
{
    static const char *const bad[] = { "", "sm_", "sm_70", "70", "8,6", "8.66", "sm_8.6", "86a",
                                       "8.", ".86", "99999999999", "hopper", "a", "sm_a", "90f",
                                       "sm_90A", "sm_90aa", "sm_100b", "sm_75f", "9.0.a",
                                       "655450" /* 10 * 65536 + 90 */ };
    static const struct { const char *name; uint32_t number; char letter; } lettered[] = {
        { "sm_90a", 90, 'a' },   { "90a", 90, 'a' },      { "9.0a", 90, 'a' },
        { "sm_100a", 100, 'a' }, { "sm_100f", 100, 'f' }, { "10.3f", 103, 'f' },
        { "sm_110a", 110, 'a' }, { "sm_120f", 120, 'f' }, { "121a", 121, 'a' },
    };
    shpool_arch arch;
    shpool_arch found;
    char name[32];
    uint32_t before = 0;
    size_t count = 0;

    for (; shpool_arch_get(count, &arch) == SHPOOL_OK; count++) {
        assert_true(arch.arch > before);
        before = arch.arch;
        assert_int_equal(arch.shared_sm, arch.shared_block + arch.shared_reserved);
        assert_true(arch.shared_block <= SHPOOL_MAX_SHARED);
        snprintf(name, sizeof(name), "sm_%u", arch.arch);
        assert_int_equal(shpool_arch_find(name, &found), SHPOOL_OK);
        assert_memory_equal(&found, &arch, sizeof(arch));
        assert_int_equal(shpool_arch_find(name + 3, &found), SHPOOL_OK);
        snprintf(name, sizeof(name), "%u.%u", arch.arch / 10, arch.arch % 10);
        assert_int_equal(shpool_arch_find(name, &found), SHPOOL_OK);
        assert_memory_equal(&found, &arch, sizeof(arch));
    }
    assert_true(count >= 10);
    assert_int_equal(shpool_arch_get(count, &arch), SHPOOL_ERR_NOT_FOUND);
    assert_true(is_zeroed(&arch, sizeof(arch)));
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(lettered); i++) {
        assert_int_equal(shpool_arch_find(lettered[i].name, &arch), SHPOOL_OK);
        assert_int_equal(arch.arch, lettered[i].number | SHPOOL_ARCH_LETTER(lettered[i].letter));
        snprintf(name, sizeof(name), "%u", lettered[i].number);
        assert_int_equal(shpool_arch_find(name, &found), SHPOOL_OK);
        assert_int_equal(arch.shared_block, found.shared_block); /* the same limits */
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(bad); i++) {
        memset(&arch, 0xff, sizeof(arch));
        assert_int_equal(shpool_arch_find(bad[i], &arch), SHPOOL_ERR_NOT_FOUND);
        assert_true(is_zeroed(&arch, sizeof(arch)));
        assert_detail("sm_75, sm_80");
        assert_detail("letters: a from sm_90 on");
    }
    assert_int_equal(shpool_arch_find(NULL, &arch), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_arch_find("86", NULL), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_arch_get(0, NULL), SHPOOL_ERR_INVALID);
}

/* With 64 KiB on sm_75, 99 on sm_86, 227 on sm_90: figures of CUDA's occupancy calculator. */
UNIT_TEST(test_blocks_per_sm)
{
    static const struct { const char *arch; uint32_t threads, bytes, blocks; } known[] = {
        { "75", 256, 16 * 1024, 4 },   { "75", 1024, 1024, 1 },       { "75", 32, 65536, 1 },
        { "75", 32, 65537, 0 },        { "75", 32, 0, 16 },           { "80", 128, 40 * 1024, 4 },
        { "86", 256, 32 * 1024, 3 },   { "86", 32, 101376, 1 },       { "86", 32, 101377, 0 },
        { "89", 64, 0, 24 },           { "90", 1024, 112 * 1024, 2 }, { "90", 256, 56 * 1024, 4 },
        { "90", 256, 56 * 1024 + 1, 3 }, { "90", 33, 0, 32 },         { "120", 64, 33 * 1024, 2 },
    };
    shpool_pool pool = { .abi = SHPOOL_ABI };
    shpool_arch arch;

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(known); i++) {
        assert_int_equal(shpool_arch_find(known[i].arch, &arch), SHPOOL_OK);
        pool.block_threads = known[i].threads;
        pool.shared_bytes  = known[i].bytes;
        assert_int_equal(shpool_blocks_per_sm(&pool, &arch, 0), known[i].blocks);
        if (known[i].bytes > 100) {
            pool.shared_bytes -= 100;
            assert_int_equal(shpool_blocks_per_sm(&pool, &arch, 100), known[i].blocks);
        }
    }
    assert_int_equal(shpool_blocks_per_sm(NULL, &arch, 0), 0);
    assert_int_equal(shpool_blocks_per_sm(&pool, NULL, 0), 0);
    assert_int_equal(shpool_blocks_per_sm(&pool, &arch, UINT32_MAX), 0);
    pool.block_threads = 0;
    assert_int_equal(shpool_blocks_per_sm(&pool, &arch, 0), 0);
}

UNIT_TEST(test_a_limit_is_kept_and_named)
{
    shpool_config want = { .block_threads = 256, .payload_bytes = 120 * 1024 };
    shpool_arch arch;
    shpool_pool pool;
    const char *fits;

    assert_int_equal(shpool_arch_find("sm_86", &arch), SHPOOL_OK);
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if ((allocator->caps & (SHPOOL_CAP_NONE | SHPOOL_CAP_SPILL)) != 0) {
            continue;
        }
        want = (shpool_config){ .block_threads = 256, .payload_bytes = 120 * 1024,
                                .shared_limit = arch.shared_block };
        assert_int_equal(shpool_plan(allocator->name, &want, &pool), SHPOOL_ERR_TOO_LARGE);
        assert_detail("at most 101376 (99 KiB)");
        fits = strstr(shpool_last_error(), "; payload_bytes ");
        assert_non_null(fits);
        want.payload_bytes = (uint32_t)strtoul(fits + strlen("; payload_bytes "), NULL, 10);
        assert_int_equal(shpool_plan(allocator->name, &want, &pool), SHPOOL_OK);
        assert_true(pool.shared_bytes <= arch.shared_block);
        want.payload_bytes++;
        assert_int_equal(shpool_plan(allocator->name, &want, &pool), SHPOOL_ERR_TOO_LARGE);
    }
}

/* Every shape of a block with every allocator, null and native too. */
UNIT_TEST(test_no_plan_exceeds_its_limit)
{
    static const uint32_t limits[] = { 1, 64, 95, 96, 207, 1024, 4096, 49152, 101376, 232448 };
    static const uint32_t shared[] = { 0, 1, 8, 1024 }; /* threads_per_pool */
    static const uint32_t sizes[]  = { 1, 50, 1000, 40000, 300000 };
    const uint32_t cases = SHPOOL_ARRAY_COUNT(limits) * SHPOOL_ARRAY_COUNT(threads) *
                           SHPOOL_ARRAY_COUNT(shared) * SHPOOL_ARRAY_COUNT(sizes) * 2 * 4 * 4;
    unsigned planned = 0;

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        for (uint32_t c = 0; c < cases; c += UNIT_STEP) {
            uint32_t at = c / 32;
            uint32_t size = sizes[at % SHPOOL_ARRAY_COUNT(sizes)];
            shpool_config want = { .flags = c / 2 % 4, .spill = c / 8 % 4,
                                   .alignment = (c % 3 == 0) ? SHPOOL_MAX_ALIGNMENT : 0,
                                   .payload_bytes = (c % 2 == 0) ? size : 0,
                                   .total_bytes = (c % 2 == 0) ? 0 : size };
            shpool_pool pool;

            at /= SHPOOL_ARRAY_COUNT(sizes);
            want.block_threads = threads[at % SHPOOL_ARRAY_COUNT(threads)];
            at /= SHPOOL_ARRAY_COUNT(threads);
            want.threads_per_pool = shared[at % SHPOOL_ARRAY_COUNT(shared)];
            want.shared_limit = limits[at / SHPOOL_ARRAY_COUNT(shared)];
            if (shpool_plan(shpool_allocator_get(i)->name, &want, &pool) == SHPOOL_OK) {
                assert_in_range(pool.shared_bytes, 0, want.shared_limit);
                assert_in_range(pool.shared_bytes, 0, (c % 2 == 0) ? UINT32_MAX : size);
                planned++;
            }
        }
    }
    assert_true(planned > shpool_allocator_count() * 1000 / UNIT_STEP);
}

/* ---- request_bytes ---- */

static int proposed(const char *key, uint32_t *value_p)
{
    const char *at = strstr(shpool_last_error(), key);

    if (at != NULL) {
        *value_p = (uint32_t)strtoul(at + strlen(key), NULL, 10);
    }
    return at != NULL;
}

/* What the detail proposes would serve the request. */
static void check_proposals(const char *name, const shpool_config *want)
{
    shpool_config other = *want;
    uint32_t      apart = 0;
    int           share = proposed("threads_per_pool=", &other.threads_per_pool);
    int           grow  = proposed("payload_bytes=", &other.payload_bytes);
    int           both  = proposed(" with payload_bytes=", &apart);
    shpool_pool   pool;

    if (share && !both) { /* the size as it was */
        other.payload_bytes = want->payload_bytes;
        assert_int_equal(shpool_plan(name, &other, &pool), SHPOOL_OK);
        other.threads_per_pool--; /* the least */
        assert_int_equal(shpool_plan(name, &other, &pool), SHPOOL_ERR_TOO_LARGE);
    }
    assert_int_equal(shpool_plan(name, want, &pool), SHPOOL_ERR_TOO_LARGE);
    if (grow) {
        (void)proposed("payload_bytes=", &other.payload_bytes);
        other.total_bytes = 0;
        other.threads_per_pool = want->threads_per_pool;
        if (both) {
            (void)proposed("threads_per_pool=", &other.threads_per_pool);
        }
        assert_int_equal(shpool_plan(name, &other, &pool), SHPOOL_OK);
        assert_in_range(want->request_bytes, 1, pool.largest);
    } else if (!share) {
        assert_detail("too few for it");
    }
    other = *want;
    other.spill = SHPOOL_SPILL_NATIVE;
    other.flags = 0; /* the area may not have room */
    other.payload_bytes = other.total_bytes = 1000;
    other.total_bytes = 0;
    assert_int_equal(shpool_plan(name, &other, &pool), SHPOOL_OK);
}

UNIT_TEST(test_a_request_that_no_pool_serves_is_refused)
{
    static const uint32_t shared[] = { 0, 1, 7, 32, 1024 };
    static const char *const archs[] = { "75", "86", "90" };
    unsigned refused = 0;
    unsigned served  = 0;
    shpool_arch arch;

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        for (uint32_t c = 0; c < SHPOOL_ARRAY_COUNT(archs) * SHPOOL_ARRAY_COUNT(shared) * 24; c++) {
            shpool_config want = { .block_threads = 1 + c * 37 % 512,
                                   .threads_per_pool = shared[c / 24 % SHPOOL_ARRAY_COUNT(shared)],
                                   .request_bytes = 1u << c % 19 };
            shpool_status status;
            shpool_pool pool;

            assert_int_equal(shpool_arch_find(archs[c / 24 / SHPOOL_ARRAY_COUNT(shared)], &arch),
                             SHPOOL_OK);
            want.shared_limit = arch.shared_block;
            *((c % 2 == 0) ? &want.payload_bytes : &want.total_bytes) = 30000;
            status = shpool_plan(allocator->name, &want, &pool);
            if (status == SHPOOL_OK) {
                assert_true((want.request_bytes <= pool.largest) ||
                            ((allocator->caps & (SHPOOL_CAP_NONE | SHPOOL_CAP_SPILL)) != 0));
                served++;
            } else if (strstr(shpool_last_error(), "request_bytes is ") != NULL) {
                assert_int_equal(status, SHPOOL_ERR_TOO_LARGE);
                check_proposals(allocator->name, &want);
                refused++;
            }
        }
    }
    assert_true((refused > 100) && (served > 100));
}

/* ---- total_bytes ---- */

static void check_total(const shpool_allocator *allocator, const shpool_config *want,
                        const shpool_pool *pool)
{
    uint32_t other = SHPOOL_SLACK_BYTES(pool->alignment) + pool->area_bytes;
    uint32_t room = (want->total_bytes - other) / pool->pools;
    uint32_t step = (pool->pools > 1) ? 2 * pool->alignment : pool->alignment;

    assert_true(pool->shared_bytes <= want->total_bytes);
    assert_int_equal(pool->shared_bytes, other + pool->pools * pool->pool_bytes);
    assert_true(pool->pool_bytes + step > room); /* no larger one would fit */
    assert_true(pool->largest > 0);
    assert_int_equal(allocator->layout(pool->pool_bytes - wait_bytes(pool),
                                       pool->alignment).largest, pool->largest);
}

UNIT_TEST(test_pools_fill_the_total)
{
    unsigned planned = 0;
    unsigned refused = 0;
    unsigned pooled  = 0;

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if ((allocator->caps & (SHPOOL_CAP_NONE | SHPOOL_CAP_SPILL)) != 0) {
            continue;
        }
        pooled++;
        for (uint32_t total = 1; total <= SHPOOL_MAX_SHARED; total = total * 5 / 4 + 1) {
            for (size_t k = 0; k < SHPOOL_ARRAY_COUNT(threads); k++) {
                shpool_config want = { .block_threads = threads[k], .total_bytes = total,
                                       .threads_per_pool = 1 + (total + threads[k]) % 40,
                                       .flags = (total % 3 == 0) ? SHPOOL_FLAG_STATS : 0 };
                shpool_pool pool;

                if (shpool_plan(allocator->name, &want, &pool) == SHPOOL_OK) {
                    check_total(allocator, &want, &pool);
                    planned++;
                    continue;
                }
                /* the value that the detail proposes fits, and one byte less does not */
                const char *can = strstr(shpool_last_error(), "\": ");

                refused++;
                if (can == NULL) {
                    assert_detail("use fewer threads");
                    continue;
                }
                want.total_bytes = (uint32_t)strtoul(can + 3, NULL, 10);
                assert_int_equal(shpool_plan(allocator->name, &want, &pool), SHPOOL_OK);
                assert_int_equal(pool.shared_bytes, want.total_bytes);
                want.total_bytes--;
                assert_int_equal(shpool_plan(allocator->name, &want, &pool), SHPOOL_ERR_TOO_SMALL);
            }
        }
    }
    assert_true(planned >= 20 * pooled);
    assert_true(refused >= 20 * pooled);
}

UNIT_TEST(test_one_size_or_the_other)
{
    shpool_config want = { .block_threads = 32, .payload_bytes = 1024, .total_bytes = 2048 };
    shpool_pool pool;

    assert_int_equal(shpool_plan(NULL, &want, &pool), SHPOOL_ERR_INVALID);
    assert_detail("both given");
    want.payload_bytes = 0;
    want.total_bytes = SHPOOL_MAX_SHARED + 1;
    assert_int_equal(shpool_plan(NULL, &want, &pool), SHPOOL_ERR_TOO_LARGE);
    want.shared_limit = UINT32_MAX; /* raises no limit that all GPUs have */
    assert_int_equal(shpool_plan(NULL, &want, &pool), SHPOOL_ERR_TOO_LARGE);
    assert_detail("at most 232448");
    want.shared_limit = 0;
    want.total_bytes = 4096;
    assert_int_equal(shpool_plan(SHPOOL_DEFAULT_ALLOCATOR ":payload_bytes=100", &want, &pool),
                     SHPOOL_OK);
    assert_true(pool.shared_bytes < 2048); /* of 32 pools at most */
    want = (shpool_config){ .block_threads = 32, .payload_bytes = 1024 };
    assert_int_equal(shpool_plan(SHPOOL_DEFAULT_ALLOCATOR ":total_bytes=8K", &want, &pool),
                     SHPOOL_OK);
    assert_in_range(pool.shared_bytes, 8192 - 32 * 32, 8192);
    assert_int_equal(shpool_plan(SHPOOL_DEFAULT_ALLOCATOR ":total_bytes=many", &want, &pool),
                     SHPOOL_ERR_SPEC);
}

/* ---- aliases ---- */

UNIT_TEST(test_aliases)
{
    static const char *const pairs[][2] = {
        { "USE_THREAD_LOCAL", "thread_first_fit" }, { "USE_WARP_LOCAL", "warp_first_fit" },
        { "USE_THREAD_LOCAL_BEST_FIT", "thread_best_fit" },
        { "USE_WARP_LOCAL_BEST_FIT", "warp_best_fit" },
        { "USE_FREELIST_ALLOCATOR", "freelist" },   { "USE_BST_ALLOCATOR", "rbtree" },
    };
    shpool_config want = { .block_threads = 32, .payload_bytes = 4096 };
    const shpool_allocator *allocator;
    shpool_pool pool;
    char spec[64];

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(pairs); i++) {
        int there = shpool_allocator_find(pairs[i][1], &allocator) == SHPOOL_OK;

        snprintf(spec, sizeof(spec), "%s:stats=1", pairs[i][0]);
        assert_int_equal(shpool_plan(spec, &want, &pool), there ? SHPOOL_OK : SHPOOL_ERR_NOT_FOUND);
        if (there) {
            assert_string_equal(pool.name, pairs[i][1]);
            assert_int_equal(shpool_allocator_find(pairs[i][0], &allocator), SHPOOL_OK);
            assert_string_equal(allocator->name, pairs[i][1]);
        } else {
            assert_detail(pairs[i][0]);
            assert_detail(pairs[i][1]);
        }
    }
    assert_int_equal(shpool_plan("USE_WARP", &want, &pool), SHPOOL_ERR_NOT_FOUND);
    assert_int_equal(shpool_plan("Use_warp", &want, &pool), SHPOOL_ERR_SPEC);
}
