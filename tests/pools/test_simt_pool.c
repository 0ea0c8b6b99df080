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

/* ---- the report as text ---- */

static shpool_report_data made_report(void)
{
    shpool_report_data report = { .abi = SHPOOL_ABI, .bytes = sizeof(report), .blocks = 2,
                                  .mallocs = 5, .live = 1, .peak_bytes = 96, .bad_frees = 2,
                                  .leaks = 1, .corrupt = 1, .broken = SHPOOL_BROKEN_ZONE,
                                  .broken_at = 0x1234 };

    report.bad_free[0] = (shpool_bad_free){ .block = 1, .thread = 7, .site = 41, .address = 0x40,
                                            .reason = SHPOOL_FREE_DOUBLE, .malloc_site = 12,
                                            .malloc_thread = 3 };
    report.bad_free[1] = (shpool_bad_free){ .reason = SHPOOL_FREE_FOREIGN, .address = 0x50 };
    report.leak[0] = (shpool_leak){ .thread = 9, .site = 12, .usable = 64, .address = 0x80 };
    return report;
}

UNIT_TEST(test_a_report_as_text_has_places_and_reasons)
{
    static const char *const parts[] = {
        "s_both: 5 mallocs, 0 failed, 1 never freed, peak 96 of ", " 2 invalid frees, 2 blocks\n",
        "\n  invalid free: block 1, thread 7, site 41: 0x40: free before, or never allocated; "
        "allocated by thread 3 at site 12\n",
        "\n  invalid free: block 0, thread 0: 0x50: an address of no pool of this thread\n",
        "\n  1 damaged pool; the first: 0x1234: bytes around an allocation changed (100)\n",
        "\n  never freed: block 0, thread 9, site 12: 64 bytes at 0x80",
    };
    shpool_report_data report = made_report();
    char text[SHPOOL_REPORT_TEXT];
    shpool_pool pool;

    assert_int_equal(shpool_simt_open("s_both:stats=1", &want, &pool), SHPOOL_OK);
    assert_int_equal(shpool_report_text(&pool, &report, text, sizeof(text)), SHPOOL_OK);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(parts); i++) {
        if (strstr(text, parts[i]) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", parts[i], text);
        }
    }

    report.status = SHPOOL_ERR_LAUNCH;
    report.empty = 1;
    report.empty_threads = 96;
    report.bad_frees = 1000;
    report.leaks = 1000;
    memset(report.bad_free, 0xff, sizeof(report.bad_free));
    memset(report.leak, 0xff, sizeof(report.leak));
    assert_int_equal(shpool_report_text(&pool, &report, text, sizeof(text)), SHPOOL_OK);
    assert_non_null(strstr(text, "96 threads in a block, the pool is planned for 64"));
    assert_non_null(strstr(text, "more allocations were never freed")); /* the whole text fits */
    assert_int_equal(shpool_report_text(&pool, &report, text, 10), SHPOOL_OK);
    assert_string_equal(text, "s_both: 5");

    report = made_report();
    report.status = SHPOOL_ERR_ALIGNMENT; /* as shpool_report() leaves it */
    report.refusals = 64;
    report.refused = (shpool_refused){ .bytes = 64, .alignment = 128,
                                       .reason = SHPOOL_REFUSED_ALIGNMENT };
    assert_int_equal(shpool_report_text(&pool, &report, text, sizeof(text)), SHPOOL_OK);
    assert_non_null(strstr(text, "\n  64 requests could never succeed; "));
    assert_non_null(strstr(text, "open it with alignment=128"));
    assert_null(strstr(text, "empty heap"));

    assert_int_equal(shpool_report_text(NULL, &report, text, 10), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_report_text(&pool, NULL, text, 10), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_report_text(&pool, &report, NULL, 10), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_report_text(&pool, &report, text, 0), SHPOOL_ERR_INVALID);
    report.abi++;
    assert_int_equal(shpool_report_text(&pool, &report, text, 10), SHPOOL_ERR_ABI);
    assert_string_equal(text, "");
    shpool_simt_close(&pool);
}

/* What the environment requested is written when the pool is closed, unless the user wants none. */
UNIT_TEST(test_the_environments_report_is_shown)
{
    static const struct { const char *value, *level, *spec; uint32_t flags; int shown; } rows[] = {
        { "s_both:stats=1", "", NULL, 0, 1 },
        { "s_both:stats=1", "", NULL, SHPOOL_FLAG_STATS, 0 }, /* the program reads its own */
        { "s_both:stats=1", "none", NULL, 0, 0 },
        { "s_both", "", NULL, SHPOOL_FLAG_STATS, 0 },
        { "s_both:stats=1", "", "s_both:stats=1", 0, 0 },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        shpool_config config = want;
        shpool_pool pool;
        char text[CAPTURED];
        capture c;

        setenv("SHPOOL_ALLOCATOR", rows[i].value, 1);
        setenv("SHPOOL_LOG_LEVEL", rows[i].level, 1);
        shpool_config_reload();
        config.flags = rows[i].flags;
        c = capture_stderr();
        assert_int_equal(shpool_simt_open(rows[i].spec, &config, &pool), SHPOOL_OK);
        ((shpool_report_data *)pool.report)->mallocs = 5;
        ((shpool_report_data *)pool.report)->blocks = 1;
        shpool_simt_close(&pool);
        end_capture(&c, text);
        assert_int_equal(strncmp(text, "shpool: s_both: 5 mallocs, ", 27) == 0, rows[i].shown);
        assert_int_equal(text[0] != '\0', rows[i].shown);
    }
    clear_environment(NULL);
}

UNIT_GROUP(register_fakes, NULL)
