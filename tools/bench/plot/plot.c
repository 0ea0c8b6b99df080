/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench plot, and --plot: gnuplot draws what bench/plot/script.c writes. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/internal.h"
#include "tools/bench/json.h"
#include "tools/bench/options.h"
#include "tools/output.h"
#include "chart.h"
#include "plot.h"
#include "tools/message.h"

extern char **environ;

static const char *const endings[] = {".svg", ".png", ".pdf", ".gp"};

/* In endings[], or -1. */
static int ending_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    size_t      i;

    for (i = 0; (dot != NULL) && (i < SHPOOL_ARRAY_COUNT(endings)); i++) {
        if (strcmp(dot, endings[i]) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static int is_script(const char *path)
{
    return strcmp(endings[ending_of(path)], ".gp") == 0;
}

/* Start gnuplot, on PATH, with a file as its input (-1: none); 0 or an errno.  It reads no settings
 * of the user's, and Ctrl-C ends it while it is waited for. */
static int start_gnuplot(int script, int output, char *argument, pid_t *child_p)
{
    static const char name[] = "gnuplot";
    char       *words[] = {(char *)(size_t)name, (char *)(size_t)"-d", argument, NULL};
    sigset_t    none;
    posix_spawnattr_t          attributes;
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);

    if (error != 0) {
        return error;
    }
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        (void)sigemptyset(&none);
        (void)posix_spawnattr_setsigmask(&attributes, &none);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        if ((error == 0) && (script >= 0)) {
            error = posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO);
        }
        error = (error != 0) ? error
                             : posix_spawnp(child_p, name, &actions, &attributes, words, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Run gnuplot, and copy what it prints.  Its exit status, or 127: there is none on PATH; 126: it
 * could not be run. */
static int run_gnuplot(int script, char *argument, FILE *to)
{
    char    text[65536];
    int     ends[2];
    int     status = 0;
    pid_t   child;
    ssize_t got;
    int     error = (pipe2(ends, O_CLOEXEC) != 0) ? errno : 0;

    if (error == 0) {
        error = start_gnuplot(script, ends[1], argument, &child);
        (void)close(ends[1]);
        while ((error == 0) && (((got = read(ends[0], text, sizeof(text))) > 0) ||
                                ((got < 0) && (errno == EINTR)))) {
            (void)!fwrite(text, 1, (got > 0) ? (size_t)got : 0, to); /* ferror() shows a failure */
        }
        (void)close(ends[0]);
    }
    if (error != 0) {
        return (error == ENOENT) ? 127 : 126;
    }
    while ((waitpid(child, &status, 0) < 0) && (errno == EINTR)) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int has_gnuplot(void)
{
    char  version[] = "--version";
    FILE *nowhere   = fopen("/dev/null", "we");
    int   status    = (nowhere != NULL) ? run_gnuplot(-1, version, nowhere) : 126;

    if (nowhere != NULL) {
        (void)fclose(nowhere);
    }
    return status == 0;
}

static int cannot_write(const char *path)
{
    tool_say("shpool-bench: %s: %s\n", path, tool_output_error(errno));
    return -1;
}

int bench_plot_check(const char *path)
{
    tool_output out;

    if (ending_of(path) < 0) {
        tool_say("shpool-bench: %s: a name that ends in .svg, .png or .pdf is needed, or in "
                 ".gp for gnuplot's script\n", path);
        return -1;
    }
    if (!is_script(path) && !has_gnuplot()) {
        tool_say("shpool-bench: %s: gnuplot, which draws it, is not on PATH; install the "
                 "package gnuplot-nox (Debian; gnuplot elsewhere), or write its script with a name "
                 "that ends in .gp\n", path);
        return -1;
    }
    if (tool_output_begin(&out, path) != 0) {
        return cannot_write(path);
    }
    return tool_output_end(&out, 0);
}

/* out.gp, when run, draws out.svg. */
static int write_script(const bench_results *results, size_t figure, const char *path, FILE *to)
{
    char drawing[4096];

    snprintf(drawing, sizeof(drawing), "%.*s.svg", (int)(strlen(path) - strlen(".gp")), path);
    return plot_script(results, figure, drawing, drawing, to);
}

/* Uses gnuplot, whose output is copied: gnuplot gets no file name. */
static int write_chart(const bench_results *results, size_t figure, const char *path, FILE *to)
{
    char  input[] = "-";
    FILE *script  = tmpfile();
    int   status  = 126;

    if (script != NULL) {
        if (plot_script(results, figure, path, NULL, script) != 0) {
            (void)fclose(script);
            return -1;
        }
        if ((tool_flush(script) == 0) && (fseek(script, 0, SEEK_SET) == 0)) {
            status = run_gnuplot(fileno(script), input, to);
            if ((status == 0) && !ferror(to) && (ftell(to) == 0)) {
                status = 126; /* nothing was drawn */
            }
        }
        (void)fclose(script);
    }
    if (status != 0) {
        tool_say("shpool-bench: %s: gnuplot did not draw it (exit status %d)\n", path,
                 status);
    }
    return (status == 0) ? 0 : -1;
}

int bench_plot_draw(const bench_results *results, size_t figure, const char *path)
{
    tool_output out;
    int         failed;

    if (results->count == 0) {
        tool_say("shpool-bench: %s: there are no results to draw\n", path);
        return -1;
    }
    if (tool_output_begin(&out, path) != 0) {
        return cannot_write(path);
    }
    failed = (is_script(path) ? write_script : write_chart)(results, figure, path, out.to);
    if (tool_output_end(&out, !failed) != 0) {
        return cannot_write(path);
    }
    return failed;
}

/* ---- the command ---- */

static void usage(FILE *to)
{
    fputs("usage: shpool-bench plot RESULTS.json -o FILE\n"
          "Draws a chart of a file of shpool-bench --json=RESULTS.json, of any machine.\n"
          "  -o, --output FILE   file of the chart: gnuplot draws .svg, .png and .pdf; .gp is its\n"
          "                      script, data included\n"
          "  --figure NAME       figure on the y axis: gops, cycles or failed; ramp and aging\n"
          "                      show utilisation [gops]\n"
          "  --help\n"
          "Exit status: 0; 1: it cannot be drawn; 2: usage, or a file cannot be read\n", to);
}

/* In plot_figures[]; -1: there is none such, and stderr says so. */
static int find_figure(const char *option, const char *name)
{
    const char *known[8] = {NULL};
    size_t      i;

    for (i = 0; (plot_figures[i].name != NULL) && (i + 1 < SHPOOL_ARRAY_COUNT(known)); i++) {
        known[i] = plot_figures[i].name;
    }
    return bench_choice(name, option, known);
}

/* The command line's request. */
typedef struct request {
    const char *output;
    int         figure;
} request;

static int take_option(int c, const char *option, void *into)
{
    request *asked = into;

    if (c == 'o') {
        asked->output = optarg;
        return tool_no_name("shpool-bench", option, optarg);
    }
    asked->figure = find_figure(option, optarg);
    return asked->figure < 0;
}

static int check_words(int argc, char **argv, void *into)
{
    const request *asked = into;

    (void)argv;
    if (optind + 1 != argc) {
        tool_say("shpool-bench: plot: exactly one file of results is needed, got %d\n",
                 argc - optind);
        return -1;
    }
    if (asked->output == NULL) {
        fputs("shpool-bench: plot: -o FILE is missing, which names the chart\n", stderr);
        return -1;
    }
    return 0;
}

static const struct option longs[] = {{"output", required_argument, NULL, 'o'},
                                      {"figure", required_argument, NULL, 'f'},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};
static const bench_parser parser = {"shpool-bench plot", "o:h", longs, usage, take_option,
                                    check_words};

int bench_plot(int argc, char **argv)
{
    request       asked = {NULL, 0};
    bench_results results;
    int           failed;
    int           stop = bench_parse(&parser, argc, argv, &asked);

    if (stop != 0) {
        return stop - 1;
    }
    if (bench_plot_check(asked.output) != 0) {
        return 2;
    }
    if (bench_json_read(argv[optind], &results) != 0) {
        return 2;
    }
    failed = bench_plot_draw(&results, (size_t)asked.figure, asked.output);
    bench_results_clear(&results);
    return failed ? 1 : 0;
}
