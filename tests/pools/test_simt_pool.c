/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, reporting and closing pools for the executor, with fake allocators; no kernel runs. */
#include "tests/unit.h"

static shpool_table tables[2];
static shpool_allocator both;
static shpool_allocator plain_only;
static shpool_allocator neither;

static const shpool_config want = { .block_threads = 64, .payload_bytes = 4096 };

static int register_fakes(void **state)
{
    for (size_t i = 0; i < 2; i++) { /* apart from the real ones */
        tables[i] = *shpool_allocator_get(0)->simt[i];
        tables[i].layout = fake_layout;
    }
    both = fake_allocator("s_both", SHPOOL_SCOPE_BLOCK, SHPOOL_CAP_FREE);
    both.simt[0] = &tables[0];
    both.simt[1] = &tables[1];
    plain_only = fake_allocator("s_plain", SHPOOL_SCOPE_BLOCK, SHPOOL_CAP_FREE);
    plain_only.simt[0] = &tables[0];
    neither = fake_allocator("s_neither", SHPOOL_SCOPE_BLOCK, SHPOOL_CAP_FREE);
    return -((shpool_register(&both) != SHPOOL_OK) || (shpool_register(&plain_only) != SHPOOL_OK) ||
             (shpool_register(&neither) != SHPOOL_OK));
}

UNIT_TEST(test_plain_pool_has_the_plain_table_and_no_report)
{
    shpool_report_data report;
    shpool_pool pool;

    assert_int_equal(shpool_simt_open("s_both", &want, &pool), SHPOOL_OK);
    assert_ptr_equal(pool.table, &tables[0]);
    assert_true(pool.allocate == tables[0].allocate);
    assert_true(pool.release == tables[0].release);
    assert_null(pool.report);
    memset(&report, 0xff, sizeof(report));
    assert_int_equal(shpool_simt_report(&pool, &report), SHPOOL_ERR_UNSUPPORTED);
    assert_true(is_zeroed(&report, sizeof(report)));
    assert_detail("stats=1");
    shpool_simt_close(&pool);
    assert_true(is_zeroed(&pool, sizeof(pool)));
}

UNIT_TEST(test_instrumented_pool_has_a_report)
{
    shpool_report_data report;
    shpool_report_data *live;
    shpool_pool pool;

    assert_int_equal(shpool_simt_open("s_both:stats=1", &want, &pool), SHPOOL_OK);
    assert_ptr_equal(pool.table, &tables[1]);
    assert_int_equal(shpool_simt_report(&pool, &report), SHPOOL_OK);
    assert_int_equal(report.abi, SHPOOL_ABI);
    assert_int_equal(report.bytes, sizeof(report));
    assert_int_equal(report.largest_free, 0);

    live = pool.report;
    assert_int_equal(live->largest_free, UINT32_MAX);
    live->blocks = 1;
    live->largest_free = 77;
    assert_int_equal(shpool_simt_report(&pool, &report), SHPOOL_OK);
    assert_int_equal(report.largest_free, 77);
    shpool_simt_close(&pool);
    assert_true(is_zeroed(&pool, sizeof(pool)));
}

UNIT_TEST(test_failures_zero_the_pool)
{
    shpool_pool pool;

    memset(&pool, 0xff, sizeof(pool));
    assert_int_equal(shpool_simt_open("s_neither", &want, &pool), SHPOOL_ERR_UNSUPPORTED);
    assert_true(is_zeroed(&pool, sizeof(pool)));
    assert_detail("CPU executor");
    assert_int_equal(shpool_simt_open("s_plain", &want, &pool), SHPOOL_OK);
    assert_int_equal(shpool_simt_open("s_plain:stats=1", &want, &pool), SHPOOL_ERR_UNSUPPORTED);
    assert_true(is_zeroed(&pool, sizeof(pool)));
    assert_int_equal(shpool_simt_open("s_nothing", &want, &pool), SHPOOL_ERR_NOT_FOUND);
    assert_int_equal(shpool_simt_open("s_both", NULL, &pool), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_simt_open("s_both", &want, NULL), SHPOOL_ERR_INVALID);
}

UNIT_TEST(test_null_and_zeroed_pools)
{
    shpool_pool pool = { 0 };
    shpool_report_data report;

    shpool_simt_close(NULL);
    shpool_simt_close(&pool);
    shpool_simt_close(&pool);
    assert_int_equal(shpool_simt_report(NULL, &report), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_simt_report(&pool, NULL), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_simt_report(&pool, &report), SHPOOL_ERR_UNSUPPORTED);
}

static void listen(shpool_level level, const char *text, void *user)
{
    if (level == SHPOOL_LEVEL_INFO) {
        snprintf(user, 512, "%s", text);
    }
}

UNIT_TEST(test_open_tells_allocator_and_geometry)
{
    char text[512] = "";
    shpool_pool pool;

    shpool_set_message_handler(listen, text);
    assert_int_equal(shpool_simt_open("s_both", &want, &pool), SHPOOL_OK);
    assert_non_null(strstr(text, "s_both"));
    assert_non_null(strstr(text, "shared_bytes 4160"));
    shpool_simt_close(&pool);
}

UNIT_GROUP(register_fakes, NULL)
