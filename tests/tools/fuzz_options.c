/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: the command lines of shpool-bench, parsed, and those of block completed; nothing is
 * measured.
 *
 * The input is words, one a line; the first may be a command, as in bench.c.  Each point of a sweep
 * is within the limits of its options.  The linker puts the wrappers below in place of
 * tool_parse(), after which a command stops, and of bench_picture_check(), which starts Python. */
#include "tests/fuzz.h"

#include "tools/bench/block/block.h"
#include "tools/bench/names.h"
#include "tools/options.h"
#include "tools/bench/picture.h"
#include "tools/output.h"

const char fuzz_name[] = "options";

#define MOST_WORDS  100
#define MOST_POINTS 2000u /* of a sweep that are looked at */

int __wrap_bench_picture_check(const char *path);
int __wrap_bench_picture_check(const char *path)
{
    return path[0] == '\0';
}

/* ---- commands end once their options are read ---- */

static int stops; /* nonzero: at the next success */

int __real_tool_parse(const tool_parser *parser, int argc, char **argv, void *options);
int __wrap_tool_parse(const tool_parser *parser, int argc, char **argv, void *options);
int __wrap_tool_parse(const tool_parser *parser, int argc, char **argv, void *options)
{
    const int stop = __real_tool_parse(parser, argc, argv, options);

    FUZZ_EXPECT((stop == 0) || (stop == 1) || (stop == 3));
    FUZZ_EXPECT(optind <= argc);
    return ((stop == 0) && stops) ? 1 : stop;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    { "compare", bench_compare }, { "loadstore", bench_loadstore }, { "map", bench_map },
    { "memory", bench_memory },   { "plot", bench_plot },           { "replay", bench_replay },
};

/* 1: the words were those of a command other than block. */
static int run_command(int count, char **words)
{
    for (size_t i = 0; (count > 1) && (i < SHPOOL_ARRAY_COUNT(commands)); i++) {
        if (strcmp(words[1], commands[i].name) == 0) {
            int status;

            stops    = 1;
            words[1] = words[0];
            status   = commands[i].run(count - 1, words + 1);
            stops    = 0;
            FUZZ_EXPECT((status == 0) || (status == 2));
            return 1;
        }
    }
    return 0;
}

void bench_scopes(FILE *to)
{
    (void)to;
}

/* ---- the words ---- */

static int split(char *text, char **words)
{
    char *rest;
    int count = 0;

    words[count++] = (char *)(uintptr_t)"shpool-bench";
    for (char *word = strtok_r(text, "\n", &rest); (word != NULL) && (count < MOST_WORDS);
         word = strtok_r(NULL, "\n", &rest)) {
        words[count++] = word;
    }
    words[count] = NULL;
    return count;
}

static void check_points(const bench_options *options)
{
    const size_t count = bench_points(options);

    FUZZ_EXPECT(count > 0);
    for (size_t i = 0; i < count; i += 1 + count / MOST_POINTS) {
        bench_point point;

        bench_point_at(options, i, &point);
        FUZZ_EXPECT((point.threads >= 1) && (point.threads <= SHPOOL_MAX_THREADS));
        if ((point.spec != NULL) && (strchr(point.spec, ':') == NULL)) { /* else the spec's sizes */
            FUZZ_EXPECT((point.payload_bytes == 0) != (point.total_bytes == 0));
            FUZZ_EXPECT(point.payload_bytes + point.total_bytes <= SHPOOL_MAX_SHARED);
        }
        FUZZ_EXPECT(bench_workload_at(point.workload)->name != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bench_options options;
    char *text = fuzz_text(data, size);
    char *words[MOST_WORDS + 1];
    int count = split(text, words);
    fuzz_silence before = fuzz_silence_begin();

    optind = 0; /* restarts, including the position inside a word that getopt_long() remembers */
    if (!run_command(count, words) && (bench_options_parse(count, words, &options) == 0) &&
        (bench_options_complete(&options, (int)(size % 2)) == 0)) {
        check_points(&options);
    }
    fuzz_silence_end(before);
    free(text);
    return 0;
}
