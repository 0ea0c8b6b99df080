/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of shpool-bench when the nth allocation, or a write, fails: they report it, their exit
 * status is not 0, and a file is the new one or the unchanged old one, without temporary files. */
#include "trace_text.h"

#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/faults.h"
#include "tools/bench/json.h"
#include "tools/bench/names.h"

#if HAVE_JANSSON
#include <jansson.h>
#endif

#define WRITES 16u /* limits on a file that are tried */

/* ---- a command ---- */

typedef int command(int argc, char **argv);

static char folder[] = "test_tool_faults.XXXXXX";

/* Its exit status; words: its options, parted by blanks. */
static int run(command *what, const char *words)
{
    char      copy[512];
    char     *argv[16] = {NULL};
    int       argc     = 0;
    const int nowhere  = open("/dev/null", O_WRONLY);
    const int said     = open("said", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int out      = dup(STDOUT_FILENO);
    const int err      = dup(STDERR_FILENO);
    int       status;

    snprintf(copy, sizeof(copy), "shpool-bench %s", words);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    fflush(stdout);
    (void)dup2(nowhere, STDOUT_FILENO);
    (void)dup2(said, STDERR_FILENO);
    optind = 0; /* GNU: restart */
    status = what(argc, argv);
    fflush(stdout);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(err, STDERR_FILENO);
    (void)close(out);
    (void)close(err);
    (void)close(said);
    (void)close(nowhere);
    return status;
}

static size_t text_of(const char *name, char *text, size_t room)
{
    FILE  *file = fopen(name, "r");
    size_t bytes;

    assert_non_null(file);
    bytes = fread(text, 1, room, file);
    assert_int_equal(fclose(file), 0);
    assert_true(bytes < room);
    return bytes;
}

static unsigned files(void)
{
    DIR     *listing = opendir(".");
    unsigned count   = 0;

    assert_non_null(listing);
    while (readdir(listing) != NULL) {
        count++;
    }
    (void)closedir(listing);
    return count;
}

static void put_old(const char *output)
{
    if (output != NULL) {
        put_text(output, "old", 3);
    }
}

static int is_old(const char *output)
{
    struct stat about;

    return (output != NULL) && (stat(output, &about) == 0) && (about.st_size == 3);
}

static struct {
    command    *what;
    const char *words;
    const char *output; /* the file that it writes, or NULL */
    unsigned    files;  /* before it */
} played;

static void begin_command(void)
{
    put_old(played.output);
    played.files = files();
}

static void act_command(void)
{
    const int status = run(played.what, played.words);

    (void)fault_fine((status == 0) ? SHPOOL_OK : SHPOOL_ERR_NO_MEMORY);
    assert_true((status == 0) || (played.output == NULL) || is_old(played.output));
}

static void end_command(void)
{
    assert_int_equal(files(), played.files);
}

static void sweep_allocations(command *what, const char *words, const char *output)
{
    const fault_scene scene = { words, "", 4, 0, begin_command, act_command, end_command };

    played.what   = what;
    played.words  = words;
    played.output = output;
    fault_sweep(&scene);
    assert_false(is_old(output));
}

/* Let a write fail at each place of the output in turn. */
static void sweep_writes(command *what, const char *words, const char *output)
{
    struct rlimit all;
    struct stat   about;
    unsigned      before;

    assert_int_equal(run(what, words), 0);
    assert_int_equal(stat(output, &about), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    before = files();
    for (unsigned i = 0; i < WRITES; i++) {
        struct rlimit less = all;
        int           status;

        put_old(output);
        less.rlim_cur = (rlim_t)about.st_size * i / WRITES;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
        status = run(what, words);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
        assert_int_not_equal(status, 0);
        assert_true(is_old(output));
        assert_int_equal(files(), before);
    }
}

UNIT_TEST(test_map)
{
    sweep_allocations(bench_map, "--svg map.svg trace", "map.svg");
    sweep_writes(bench_map, "--svg map.svg trace", "map.svg");
}

UNIT_TEST(test_replay)
{
    sweep_allocations(bench_replay, "--device cpu --allocator bitmap trace", NULL);
}

UNIT_TEST(test_plot)
{
    if (!bench_has_json()) {
        skip();
    }
    sweep_allocations(bench_plot, "results.json -o chart.svg", "chart.svg");
    sweep_writes(bench_plot, "results.json -o chart.svg", "chart.svg");
}

/* No Python, none with matplotlib, one that prints nothing, one that fails: stderr says it. */
UNIT_TEST(test_no_picture)
{
    static const struct {
        const char *script;
        const char *said;
    } rows[] = {
        {NULL, "there is no python3 on PATH; install the package python3-matplotlib"},
        {"#!/bin/sh\nexit 3\n", "there is no matplotlib; install the package python3-matplotlib"},
        {"#!/bin/sh\nexit 0\n", "map.svg: Python did not draw it (exit status 126)"},
        {"#!/bin/sh\necho a; exit 5\n", "map.svg: Python did not draw it (exit status 5)"},
    };
    char text[1024] = "";

    assert_int_equal(setenv("PATH", ".", 1), 0);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        put_old("map.svg");
        (void)unlink("python3");
        if (rows[i].script != NULL) {
            put_text("python3", rows[i].script, strlen(rows[i].script));
            assert_int_equal(chmod("python3", 0700), 0);
        }
        assert_int_equal(run(bench_map, "--svg map.svg trace"), 1);
        text[text_of("said", text, sizeof(text) - 1)] = '\0';
        if (strstr(text, rows[i].said) == NULL) {
            fail_msg("no \"%s\" in: %s", rows[i].said, text);
        }
        assert_true(is_old("map.svg"));
    }
}

UNIT_TEST(test_compare)
{
    if (!bench_has_json()) {
        skip();
    }
    sweep_allocations(bench_compare, "results.json results.json", NULL);
}

/* ---- results ---- */

/* Write some; returns what bench_json_write() did. */
static int put_results(const char *name)
{
    static const bench_point point = {.spec = "bitmap", .threads = 64, .payload_bytes = 4096};
    bench_results results = {.count = 0};
    bench_row     row;
    FILE         *file   = fopen(name, "w");
    const int     armed   = fault.armed;
    int           status;

    assert_non_null(file);
    fault.armed = 0;
    bench_row_init(&row, &point);
    for (uint32_t i = 1; i <= 3; i++) {
        row.threads = 32 * i;
        assert_int_equal(bench_results_add(&results, &row), 0);
    }
    fault.armed = armed;
    status      = bench_json_write(&results, file);
    fault.armed = 0;
    assert_int_equal(fclose(file), 0);
    bench_results_clear(&results);
    return status;
}

/* Results that lack a row or a member would be read as others. */
static void act_results(void)
{
    static char  whole[65536], text[65536];
    const size_t bytes   = text_of("results.json", whole, sizeof(whole));
    const int    nowhere = open("/dev/null", O_WRONLY);
    const int    err     = dup(STDERR_FILENO);
    int          status;

    (void)dup2(nowhere, STDERR_FILENO);
    status = put_results("part.json");
    (void)dup2(err, STDERR_FILENO);
    (void)close(err);
    (void)close(nowhere);
    if ((status == 0) && ((text_of("part.json", text, sizeof(text)) != bytes) ||
                          (memcmp(text, whole, bytes) != 0))) {
        fail_msg("without allocation %u the results are others", fault.at);
    }
}

static void nothing(void)
{
}

UNIT_TEST(test_results_are_whole_or_refused)
{
    static const fault_scene scene = { "results", "", 100, 0, nothing, act_results, nothing };

    if (!bench_has_json()) {
        skip();
    }
    fault_sweep(&scene);
    (void)unlink("part.json");
}

/* ---- their inputs ---- */

static int start(void **state)
{
#if HAVE_JANSSON
    json_set_alloc_funcs(malloc, free); /* ours */
#endif
    if ((mkdtemp(folder) == NULL) || (chdir(folder) != 0)) {
        return -1;
    }
    put_text("trace", handed_text, strlen(handed_text));
    put_text("python3", "#!/bin/sh\nexec cat\n", 19); /* a picture is its data */
    put_text("said", "", 0);
    if ((chmod("python3", 0700) != 0) || (setenv("PATH", ".:/usr/bin:/bin", 1) != 0)) {
        return -1;
    }
    (void)put_results("results.json"); /* a build without JSON skips its readers */
    return 0;
}

static int stop(void **state)
{
    static const char *const names[] = {"trace", "results.json", "map.svg", "chart.svg",
                                        "python3", "said"};

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(names); i++) {
        (void)unlink(names[i]);
    }
    return chdir("..") | rmdir(folder);
}

UNIT_GROUP(start, stop)
