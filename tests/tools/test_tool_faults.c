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
#include "tools/bench/names.h"
#include "tools/bench/results.h"

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
    const fault_scene scene = { words, "", 2, 0, begin_command, act_command, end_command };

    played.what   = what;
    played.words  = words;
    played.output = output;
    assert_int_equal(run(what, words), 0); /* the executor keeps the stacks of a launch */
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

UNIT_TEST(test_advise)
{
    sweep_allocations(bench_advise, "--allocator bitmap trace", NULL);
}

UNIT_TEST(test_replay)
{
    sweep_allocations(bench_replay, "--device cpu --allocator bitmap trace", NULL);
}

UNIT_TEST(test_plot)
{
    sweep_allocations(bench_plot, "r.json -o chart.svg", "chart.svg");
    sweep_writes(bench_plot, "r.json -o chart.svg", "chart.svg");
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
    (void)unlink("python3");
    assert_int_equal(run(bench_compare, "a.json b.json"), 2);
    text[text_of("said", text, sizeof(text) - 1)] = '\0';
    assert_non_null(strstr(text, "there is no python3 on PATH; install the package python3 "));
}

/* ---- their inputs ---- */

static int start(void **state)
{
    if ((mkdtemp(folder) == NULL) || (chdir(folder) != 0)) {
        return -1;
    }
    put_text("trace", handed_text, strlen(handed_text));
    put_text("python3", "#!/bin/sh\nexec cat <&3\n", 23); /* a picture is its data */
    put_text("said", "", 0);
    if ((chmod("python3", 0700) != 0) || (setenv("PATH", ".:/usr/bin:/bin", 1) != 0)) {
        return -1;
    }
    return 0;
}

static int stop(void **state)
{
    static const char *const names[] = {"trace", "map.svg", "chart.svg", "python3", "said"};

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(names); i++) {
        (void)unlink(names[i]);
    }
    return chdir("..") | rmdir(folder);
}

UNIT_GROUP(start, stop)
