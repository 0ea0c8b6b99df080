/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: the command line of shpool-bench block, parsed and completed; nothing is measured.
 *
 * The input is words, one a line.  Each point of a sweep is within the limits of its options. */
#include "tests/fuzz.h"

#include "tools/bench/block/block.h"
#include "tools/bench/json.h"
#include "tools/bench/options.h"
#include "tools/bench/plot/plot.h"

const char fuzz_name[] = "options";

#define MOST_WORDS  100
#define MOST_POINTS 2000u /* of a sweep that are looked at */

/* ---- what other files have in the tool ---- */

int bench_has_json(void)
{
    return 1;
}

int bench_plot_check(const char *path)
{
    return path[0] == '\0';
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
        FUZZ_EXPECT((point.payload_bytes == 0) != (point.total_bytes == 0));
        FUZZ_EXPECT(point.payload_bytes + point.total_bytes <= SHPOOL_MAX_SHARED);
        FUZZ_EXPECT(bench_workload_name(point.workload) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bench_options options;
    char *text = fuzz_text(data, size);
    char *words[MOST_WORDS + 1];
    int count = split(text, words);
    fuzz_silence before = fuzz_silence_begin();
    int stop;

    optind = 0; /* begins anew, what getopt_long() remembers inside a word included */
    stop = bench_options_parse(count, words, &options);
    FUZZ_EXPECT((stop == 0) || (stop == 1) || (stop == 3));
    if ((stop == 0) && (bench_options_complete(&options, (int)(size % 2)) == 0)) {
        check_points(&options);
    }
    fuzz_silence_end(before);
    free(text);
    return 0;
}
