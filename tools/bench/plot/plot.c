/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench plot, and --plot: gnuplot draws what bench/plot/script.c writes. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/internal.h"
#include "tools/bench/json.h"
#include "tools/bench/options.h"
#include "chart.h"
#include "plot.h"

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

/* gnuplot with a file as its input (-1: none) and no standard output, on which it draws when it
 * cannot write its file; its exit status, or 127: there is none on PATH. */
static int run_gnuplot(int script, const char *argument)
{
    posix_spawn_file_actions_t actions;
    char  name[]  = "gnuplot";
    char *words[] = {name, (char *)(size_t)argument, NULL};
    pid_t child;
    int   status = 0;
    int   error  = posix_spawn_file_actions_init(&actions);

    if (error != 0) {
        return 126;
    }
    error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if ((error == 0) && (script >= 0)) {
        error = posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO);
    }
    error = (error != 0) ? error : posix_spawnp(&child, name, &actions, NULL, words, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        return (error == ENOENT) ? 127 : 126;
    }
    while ((waitpid(child, &status, 0) < 0) && (errno == EINTR)) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* 0: it can be opened for writing, and is as it was; else stderr says why not. */
static int check_writable(const char *path)
{
    const int existed = access(path, F_OK) == 0;
    const int file    = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    if (file < 0) {
        fprintf(stderr, "shpool-bench: %s: %s\n", path, strerror(errno));
        return -1;
    }
    (void)close(file);
    if (!existed) {
        (void)unlink(path);
    }
    return 0;
}

int bench_plot_check(const char *path)
{
    if (ending_of(path) < 0) {
        fprintf(stderr, "shpool-bench: %s: a name that ends in .svg, .png or .pdf is needed, or in "
                ".gp for gnuplot's script\n", path);
        return -1;
    }
    if (!is_script(path) && (run_gnuplot(-1, "--version") != 0)) {
        fprintf(stderr, "shpool-bench: %s: no gnuplot on PATH draws it; install the package "
                "gnuplot-nox (Debian; gnuplot elsewhere), or write its script with a name that "
                "ends in .gp\n", path);
        return -1;
    }
    return check_writable(path);
}

/* out.gp, when run, draws out.svg. */
static int write_script(const bench_results *results, size_t figure, const char *path)
{
    char  drawing[4096];
    FILE *file = fopen(path, "w");
    int   failed;

    if (file == NULL) {
        fprintf(stderr, "shpool-bench: %s: %s\n", path, strerror(errno));
        return -1;
    }
    snprintf(drawing, sizeof(drawing), "%.*s.svg", (int)(strlen(path) - strlen(".gp")), path);
    fprintf(file, "# Of shpool-bench; gnuplot draws %s.\n", drawing);
    failed = plot_script(results, figure, drawing, file) != 0;
    failed |= ferror(file);
    failed |= fclose(file) != 0;
    if (failed) {
        fprintf(stderr, "shpool-bench: %s: writing failed\n", path);
        return -1;
    }
    return 0;
}

int bench_plot_draw(const bench_results *results, size_t figure, const char *path)
{
    FILE *script;
    int   status = 126;

    if (results->count == 0) {
        fprintf(stderr, "shpool-bench: %s: there are no results to draw\n", path);
        return -1;
    }
    if (is_script(path)) {
        return write_script(results, figure, path);
    }
    script = tmpfile();
    if (script != NULL) {
        if ((plot_script(results, figure, path, script) == 0) && (fflush(script) == 0) &&
            (fseek(script, 0, SEEK_SET) == 0)) {
            status = run_gnuplot(fileno(script), "-");
        }
        (void)fclose(script);
    }
    if ((status != 0) || (access(path, R_OK) != 0)) {
        fprintf(stderr, "shpool-bench: %s: gnuplot did not draw it (exit status %d)\n", path,
                status);
        return -1;
    }
    return 0;
}

/* ---- the command ---- */

static void usage(FILE *to)
{
    fputs("usage: shpool-bench plot RESULTS.json -o FILE\n"
          "draws what shpool-bench --json=RESULTS.json measured, here or elsewhere\n"
          "  -o, --output FILE   .svg, .png or .pdf by gnuplot; .gp is its script, data included\n"
          "  --figure NAME       gops, cycles or failed; ramp and aging show utilisation [gops]\n"
          "  --help\n"
          "exit status: 0; 1: it cannot be drawn; 2: usage, or a file cannot be read\n", to);
}

/* In plot_figures[]; -1: there is none such, and stderr says so. */
static int find_figure(const char *name)
{
    int i;

    for (i = 0; plot_figures[i].name != NULL; i++) {
        if (strcmp(plot_figures[i].name, name) == 0) {
            return i;
        }
    }
    fprintf(stderr, "shpool-bench: --figure %s: known are", name);
    for (i = 0; plot_figures[i].name != NULL; i++) {
        fprintf(stderr, " %s", plot_figures[i].name);
    }
    fputc('\n', stderr);
    return -1;
}

/* What the command line asks for. */
typedef struct request {
    const char *output;
    int         figure;
} request;

static int take_option(int c, void *into)
{
    request *asked = into;

    if (c == 'o') {
        asked->output = optarg;
        return 0;
    }
    asked->figure = find_figure(optarg);
    return asked->figure < 0;
}

static int check_words(int argc, char **argv, void *into)
{
    const request *asked = into;

    (void)argv;
    if ((asked->output == NULL) || (optind + 1 != argc)) {
        fprintf(stderr, "shpool-bench: plot: give %s\n",
                (asked->output == NULL) ? "-o FILE" : "one file of results");
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
