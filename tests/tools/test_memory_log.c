/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench memory --replay of logs that no allocator writes. */
#include "tests/growth.h"

#include <unistd.h>

#include "tests/device/fake/driver.h"
#include "tools/bench/memory/memory.h"

#define MIB          ((uint64_t)1 << 20)
#define MOST_SECONDS 300 /* a search without an end ends the test by a signal */

static memory_row printed;
static char note[200];

/* ---- stubs for other files of the tool ---- */

void memory_print(const memory_row *row)
{
    printed = *row;
    snprintf(note, sizeof(note), "%s", row->note);
}

double memory_now(void)
{
    return 0.0;
}

/* ---- a log ---- */

static FILE *begin_log(void)
{
    FILE *log = fopen("memory_log.csv", "w");

    assert_non_null(log);
    return log;
}

static void replay(FILE *log)
{
    memory_options options = { .replay = "memory_log.csv" };

    assert_int_equal(0, fclose(log));
    fake_start(1, 64 * MIB);
    (void)alarm(MOST_SECONDS);
    assert_int_equal(0, memory_replay(&options, "simple"));
    (void)alarm(0);
    assert_int_equal(0, fake_stop().bytes);
    (void)remove("memory_log.csv");
}

/* Pieces of a long line do not count as lines: the table has room for lines. */
UNIT_TEST(test_a_line_without_an_end_is_one_line)
{
    FILE *log = begin_log();

    for (unsigned i = 1; i <= 2000; i++) {
        (void)fprintf(log, "%-299s", "");
        (void)fseek(log, -299, SEEK_CUR);
        (void)fprintf(log, "1,0,allocate,0x%x00,16,0x1", i);
        (void)fseek(log, 299l * i, SEEK_SET);
    }
    replay(log);
    assert_int_equal(1, printed.count);
}

/* Its free is missing: a second allocation at an address says that the first one is gone. */
UNIT_TEST(test_an_address_that_comes_again_was_freed)
{
    FILE *log = begin_log();

    (void)fputs("1,0,allocate,0x100,41943040,0x1\n1,0,allocate,0x100,41943040,0x1\n", log);
    replay(log);
    assert_int_equal(40 * MIB, printed.size);
    assert_non_null(strstr(note, " 0 failures"));
}

/* No allocation is there. */
UNIT_TEST(test_null_is_passed_over)
{
    FILE *log = begin_log();

    (void)fputs("1,0,allocate,0x0,41943040,0x1\n1,0,free,0x0,41943040,0x1\n", log);
    replay(log);
    assert_int_equal(0, printed.size);
}

/* 1,000 allocations live at a time, at addresses whose low bits are equal. */
static void replay_many(void *of, unsigned count)
{
    FILE *log = begin_log();

    (void)of;
    for (unsigned i = 1; i <= count; i++) {
        (void)fprintf(log, "1,0,allocate,0x%x00000,16,0x1\n", i);
        if (i > 1000) {
            (void)fprintf(log, "1,0,free,0x%x00000,16,0x1\n", i - 1000);
        }
    }
    replay(log);
    assert_int_equal(2 * count - 1000, printed.count);
    assert_non_null(strstr(note, " 0 failures"));
}

/* 199,000 lines. */
UNIT_TEST(test_time_grows_as_the_log_does)
{
    assert_linear(replay_many, NULL, 100000);
}
