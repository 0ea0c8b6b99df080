/* SPDX-License-Identifier: BSD-3-Clause */
/* The questions of shpool-bench memory over the fake driver: each one prints its rows.  If a call
 * of the driver fails, a question answers all the same, or fails with a message; it keeps no
 * memory, no stream and no event but those that the library reports as lost. */
#include "config.h"

#include "tests/device/trial.h"

#include <fcntl.h>
#include <unistd.h>

#include "tools/bench/memory/memory.h"

/* the fake driver takes long for many granules, and for many allocations of its own */
#define SPEC "bins:memory=driver"
#define GIB  ((uint64_t)1 << 30)
#define MOST 10u /* calls of a question that fail, one at a time; with LIBSHPOOL_TEST_LONG 100 */

static const struct {
    const char *name;
    int (*run)(const memory_options *options, const char *spec);
    unsigned    rows; /* at least */
} questions[] = {
    { "pair", memory_pair, 14 },
    { "threads", memory_threads, 2 },
    { "cross", memory_cross, 1 },
    { "random", memory_random, 8 },
    { "streams", memory_streams, 2 },
    { "share", memory_share, 2 },
    { "train", memory_train, 2 },
    { "cold", memory_cold, 1 },
    { "oom", memory_oom, 1 },
};

static struct {
    unsigned lost; /* objects that the library reports as lost */
    unsigned said; /* messages on stderr */
    unsigned rows; /* lines of stdout that are of the question */
} seen;

static void receive(shpool_level level, const char *text, void *user)
{
    unsigned count = 0;

    (void)level;
    (void)user;
    if (sscanf(text, "lost until the process ends, on device 0: %u ", &count) == 1) {
        seen.lost += count;
    }
}

static unsigned count_lines(FILE *file, const char *begin)
{
    char     line[512];
    unsigned count = 0;

    rewind(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        count += strncmp(line, begin, strlen(begin)) == 0;
    }
    return count;
}

/* What the question returns. */
static int ask(size_t question, const char *spec)
{
    const memory_options options = { .repeats = 1, .pairs = 20, .threads = 2 };
    FILE *output = tmpfile();
    FILE *errors = tmpfile();
    int   out    = dup(STDOUT_FILENO);
    int   err    = dup(STDERR_FILENO);
    int   status;

    assert_non_null(output);
    assert_non_null(errors);
    fflush(stdout);
    (void)dup2(fileno(output), STDOUT_FILENO);
    (void)dup2(fileno(errors), STDERR_FILENO);
    status = questions[question].run(&options, spec);
    fflush(stdout);
    fflush(stderr);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(err, STDERR_FILENO);
    (void)close(out);
    (void)close(err);
    seen.rows = count_lines(output, questions[question].name);
    seen.said = count_lines(errors, "shpool-bench: ");
    (void)fclose(output);
    (void)fclose(errors);
    return status;
}

static void begin(void)
{
    seen.lost = 0;
    fake_start(1, 40 * GIB);
    fake_set_current(0);
}

static int set_up(void **state);

UNIT_TEST_WITH(test_every_question_has_its_rows, set_up, NULL)
{
    for (size_t q = 0; q < SHPOOL_ARRAY_COUNT(questions); q++) {
        fake_held held;
        int       status;

        begin();
        status = ask(q, SPEC);
        held = fake_stop();
        if ((status != 0) || (seen.rows < questions[q].rows) || (seen.said != 0)) {
            fail_msg("%s: %d, %u rows, %u messages", questions[q].name, status, seen.rows,
                     seen.said);
        }
        assert_int_equal(held.bytes + held.streams + held.events, 0);
    }
}

UNIT_TEST_WITH(test_an_unknown_allocator_is_an_error, set_up, NULL)
{
    for (size_t q = 0; q < SHPOOL_ARRAY_COUNT(questions); q++) {
        begin();
        assert_int_equal(ask(q, "no_such"), -1);
        assert_true(seen.said > 0);
        (void)fake_stop();
    }
}

/* Call n of the driver fails; 0: there are fewer. */
static int fail_once(size_t question, unsigned long n)
{
    fake_held held;
    int       failed;
    int       status;

    begin();
    fake_fail(n, CU_ERROR_INVALID_VALUE);
    status = ask(question, SPEC);
    failed = fake_failed();
    held = fake_stop();
    if ((held.allocations + held.streams + held.events + held.host_allocations + held.ranges >
         seen.lost) || ((status != 0) && (seen.said == 0))) {
        fail_msg("%s, call %lu fails: %d, %u messages; %u allocations, %u streams, %u events, %u "
                 "of the host, %u ranges are held, %u were said", questions[question].name, n,
                 status, seen.said, held.allocations, held.streams, held.events,
                 held.host_allocations, held.ranges, seen.lost);
    }
    return failed;
}

UNIT_TEST_WITH(test_every_call_fails_in_turn, set_up, NULL)
{
    const unsigned most = (getenv("LIBSHPOOL_TEST_LONG") != NULL) ? 100u : MOST;

    for (size_t q = 0; q < SHPOOL_ARRAY_COUNT(questions); q++) {
        unsigned long n = 1;

        for (unsigned i = 0; (i < most) && fail_once(q, n); i++) {
            n += 1 + n / 2 * (most == MOST); /* the first calls are those that differ most */
        }
    }
}

static int set_up(void **state)
{
    (void)clear_environment(state);
    shpool_set_message_handler(receive, NULL);
    return 0;
}
