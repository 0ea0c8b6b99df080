/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench compare: what changed between two files of results, and whether it is more than
 * noise. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"
#include "json.h"
#include "list.h"
#include "options.h"
#include "tools/message.h"

#define MOST_RATIO 1e6

/* A median distance from the median, times this, is what a normal distribution calls sigma. */
#define SIGMA_OF_MAD 1.4826
#define SIGMAS       3.0
#define FEW          3 /* fewer samples than this do not show their spread */

typedef struct compare_options {
    double noise;    /* percent: less is never called a difference */
    double fail_on;  /* 0: never; a slowdown from which on it is a failure */
    int    changed;  /* only such rows */
} compare_options;

typedef enum verdict {
    SAME, FASTER, SLOWER, REFUSES, HOLDS_LESS, BROKEN, MENDED, GONE, NEW, VERDICTS
} verdict;

static const struct {
    const char *text;
    int         worse; /* independent of --fail-on, which is about time */
} verdicts[VERDICTS] = {
    [SAME]       = {"same", 0},
    [FASTER]     = {"faster", 0},
    [SLOWER]     = {"slower", 0},
    [REFUSES]    = {"refuses more", 1},
    [HOLDS_LESS] = {"holds less", 1},
    [BROKEN]     = {"fails", 1},
    [MENDED]     = {"no longer fails", 0},
    [GONE]       = {"only in A", 1},
    [NEW]        = {"only in B", 0},
};

/* One figure of two rows. */
typedef struct change {
    double a, b;
    double speed; /* above 1: B is faster; negative: nothing to compare */
    double noise; /* percent */
    int    apart; /* neither median lies among the other's samples */
} change;

/* sigma in percent of the median; 0: too few samples */
static double sigma(const bench_series *series, double spread)
{
    return ((series->count < FEW) || (spread < 0.0)) ? 0.0 : SIGMA_OF_MAD * spread;
}

/* Whether the value lies among the samples; few samples do not tell. */
static int among(double value, const bench_series *series)
{
    double least = HUGE_VAL;
    double most  = -HUGE_VAL;

    for (size_t i = 0; i < series->count; i++) {
        least = fmin(least, series->value[i]);
        most  = fmax(most, series->value[i]);
    }
    return (series->count >= FEW) && (value >= least) && (value <= most);
}

/* All but the speed. */
static change of_figure(double a, const bench_series *samples_a, double spread_a, double b,
                        const bench_series *samples_b, double spread_b, double least)
{
    const double sigmas = SIGMAS * hypot(sigma(samples_a, spread_a), sigma(samples_b, spread_b));

    return (change){a, b, -1.0, fmax(sigmas, least), !among(a, samples_b) && !among(b, samples_a)};
}

static change of_rate(const bench_row *a, const bench_row *b, double least)
{
    change c = of_figure(a->gops, &a->gops_samples, a->gops_spread, b->gops, &b->gops_samples,
                         b->gops_spread, least);

    c.speed = ((c.a > 0.0) && (c.b >= 0.0)) ? c.b / c.a : -1.0;
    return c;
}

static change of_cycles(const bench_row *a, const bench_row *b, double least)
{
    change c = of_figure(a->cycles, &a->cycles_samples, a->cycles_spread, b->cycles,
                         &b->cycles_samples, b->cycles_spread, least);

    c.speed = ((c.a > 0.0) && (c.b > 0.0)) ? c.a / c.b : -1.0;
    return c;
}

/* -1 slower, 0 the same, 1 faster: by more than noise. */
static int direction(const change *c)
{
    const double most = 1.0 + 0.01 * c->noise;

    if ((c->speed < 0.0) || !c->apart) {
        return 0;
    }
    return (c->speed > most) - (c->speed < 1.0 / most);
}

/* How many times as long B takes; 0: not more than noise. */
static double slowdown(const change *c)
{
    return (direction(c) < 0) ? 1.0 / fmax(c->speed, 1.0 / MOST_RATIO) : 0.0;
}

static int is_broken(const bench_row *row)
{
    return (strcmp(row->state, BENCH_FAILED) == 0) || (row->errors != 0);
}

/* 10 % more, and at least 0.1 % of the operations: threads that race for the last blocks do not
 * fail equally often. */
static int refuses_more(const bench_row *a, const bench_row *b)
{
    return b->failed > fmax(a->failed, 0.0) * 1.1 + 0.1;
}

/* ramp and aging: one percentage point less of the pool; which thread fails first is a race. */
static int holds_less(const bench_row *a, const bench_row *b)
{
    return (a->utilisation >= 0.0) && (b->utilisation < a->utilisation - 1.0);
}

static int is_absent(const bench_row *row)
{
    return strcmp(row->state, BENCH_ABSENT) == 0;
}

static verdict judge(const bench_row *a, const bench_row *b, const change *rate,
                     const change *cycles)
{
    if (is_absent(a) || is_absent(b)) {
        return is_absent(a) ? (is_absent(b) ? SAME : NEW) : GONE;
    }
    if (is_broken(b)) {
        return is_broken(a) ? SAME : BROKEN;
    }
    if (is_broken(a)) {
        return MENDED;
    }
    if (refuses_more(a, b)) {
        return REFUSES;
    }
    if (holds_less(a, b)) {
        return HOLDS_LESS;
    }
    if ((direction(rate) < 0) || ((direction(rate) == 0) && (direction(cycles) < 0))) {
        return SLOWER;
    }
    return ((direction(rate) > 0) || (direction(cycles) > 0)) ? FASTER : SAME;
}

/* ---- which row is like which ---- */

/* Rows sorted for the search: those of a point are adjacent, in their order. */
typedef struct row_index {
    const bench_row **rows;
    size_t            count;
} row_index;

static int order(const bench_row *a, const bench_row *b)
{
    const uint32_t of_a[] = {a->median_bytes, a->touched, a->threads, a->payload_bytes,
                             a->total_bytes, a->threads_per_pool};
    const uint32_t of_b[] = {b->median_bytes, b->touched, b->threads, b->payload_bytes,
                             b->total_bytes, b->threads_per_pool};
    int differ = strcmp(a->spec, b->spec);

    differ = (differ != 0) ? differ : strcmp(a->binding, b->binding);
    differ = (differ != 0) ? differ : strcmp(a->workload, b->workload);
    differ = (differ != 0) ? differ : strcmp(a->scope, b->scope);
    for (size_t i = 0; (differ == 0) && (i < SHPOOL_ARRAY_COUNT(of_a)); i++) {
        differ = (of_a[i] > of_b[i]) - (of_a[i] < of_b[i]);
    }
    return differ;
}

static int by_point(const void *a, const void *b)
{
    const bench_row *const *x = a;
    const bench_row *const *y = b;
    const int differ = order(*x, *y);

    return (differ != 0) ? differ : (*x > *y) - (*x < *y);
}

/* 0, or -1: no memory, and stderr says so. */
static int make_index(const bench_results *in, row_index *index)
{
    index->count = in->count;
    index->rows  = malloc((in->count + 1) * sizeof(index->rows[0]));
    if (index->rows == NULL) {
        fputs("shpool-bench: no memory to compare\n", stderr);
        return -1;
    }
    for (size_t i = 0; i < in->count; i++) {
        index->rows[i] = &in->rows[i];
    }
    qsort(index->rows, in->count, sizeof(index->rows[0]), by_point);
    return 0;
}

/* The first row of that point, or NULL. */
static const bench_row *find(const row_index *in, const bench_row *like)
{
    size_t low  = 0;
    size_t high = in->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (order(in->rows[middle], like) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ((low < in->count) && (order(in->rows[low], like) == 0)) ? in->rows[low] : NULL;
}

/* ---- output ---- */

#define WORKLOAD_BYTES 64 /* bench_row_workload() */

static int widest_workload(const bench_results *in, int least)
{
    char text[WORKLOAD_BYTES];
    int  most = least;

    for (size_t i = 0; i < in->count; i++) {
        bench_row_workload(&in->rows[i], text, sizeof(text));
        most = ((int)strlen(text) > most) ? (int)strlen(text) : most;
    }
    return most;
}

typedef struct tally {
    size_t count[VERDICTS];
    int    width;      /* letters of the longest workload */
    size_t rows;
    size_t few;        /* rows whose samples are too few */
    size_t others;     /* rows that did other operations */
    size_t ratios;
    double logarithms; /* their sum: for the geometric mean */
    double worst;      /* largest slowdown beyond noise */
} tally;

static void put_number(double value, const char *format)
{
    char text[32] = "-";

    if (value >= 0.0) {
        snprintf(text, sizeof(text), format, value);
    }
    printf(" %9s", text);
}

/* failed and utilisation of A and B */
typedef struct shares {
    double failed_a, failed_b;
    double holds_a, holds_b;
} shares;

static void put_row(const bench_row *row, int width, const change *rate, const change *cycles,
                    const shares *percent, verdict v)
{
    char workload[WORKLOAD_BYTES];

    bench_row_workload(row, workload, sizeof(workload));
    printf("%-18s %-7s %-*s %7u %7u %6u", row->spec, row->binding, width, workload,
           (unsigned)row->threads,
           (unsigned)((row->payload_bytes != 0) ? row->payload_bytes : row->total_bytes),
           (unsigned)row->threads_per_pool);
    put_number(rate->a, "%.4g");
    put_number(rate->b, "%.4g");
    put_number(rate->speed, "%.3f");
    put_number(rate->noise, "%.1f");
    put_number(cycles->speed, "%.3f");
    put_number(percent->failed_a, "%.2f");
    put_number(percent->failed_b, "%.2f");
    put_number(percent->holds_a, "%.1f");
    put_number(percent->holds_b, "%.1f");
    printf("  %s\n", (v == SAME) ? "" : verdicts[v].text);
}

/* The values of a member in all rows, each once and in their order: a sweep has several. */
static void add_swept(shpool_text *text, const bench_results *in, const char *name)
{
    const bench_column *c = bench_row_columns;
    bench_list          values = {0, {0}};

    while ((c->name != NULL) && (strcmp(c->name, name) != 0)) {
        c++;
    }
    for (size_t i = 0; (c->name != NULL) && (c->kind == BENCH_U32) && (i < in->count); i++) {
        const uint32_t value =
            *(const uint32_t *)(const void *)((const char *)&in->rows[i] + c->offset);

        if ((value != 0) && !bench_list_has(&values, value) &&
            (bench_list_add(&values, value) == 0)) {
            shpool_text_add(text, "%s%u", (values.count > 1) ? ", " : "", (unsigned)value);
        }
    }
    if (values.count == 0) {
        shpool_text_add(text, "none");
    }
}

/* What a file says of a fact; of those that a sweep has no single value for, what its rows have. */
static void fact_text(const bench_column *column, const void *record, const bench_results *in,
                      char *text, size_t bytes)
{
    shpool_text swept;

    bench_cell(column, record, text, bytes);
    if ((column->kind == BENCH_INT) && (text[0] == '\0')) {
        swept = shpool_text_make(text, bytes);
        add_swept(&swept, in, column->name);
    }
}

/* All that differs, except what says nothing about the figures: when, and where results went. */
static void put_other_facts(const bench_column *columns, const bench_results *a, const void *in_a,
                            const bench_results *b, const void *in_b)
{
    char text_a[BENCH_COMMAND_BYTES];
    char text_b[BENCH_COMMAND_BYTES];

    for (const bench_column *c = columns; c->name != NULL; c++) {
        fact_text(c, in_a, a, text_a, sizeof(text_a));
        fact_text(c, in_b, b, text_b, sizeof(text_b));
        if ((strcmp(text_a, text_b) != 0) && (strcmp(c->name, "date") != 0) &&
            ((strcmp(c->name, "command") != 0) || !bench_command_same(text_a, text_b))) {
            printf("# %s differs: A %s; B %s\n", c->name, text_a, text_b);
        }
    }
}

static void put_header(const bench_results *a, const bench_results *b, const char *path_a,
                       const char *path_b, int width, const compare_options *options)
{
    tool_print("# A: %s, %s\n# B: %s, %s\n", path_a, a->facts.origin.date, path_b,
           b->facts.origin.date);
    put_other_facts(bench_origin_columns, a, &a->facts.origin, b, &b->facts.origin);
    put_other_facts(bench_fact_columns, a, &a->facts, b, &b->facts);
    printf("# speed is B's over A's: above 1 B is faster; what differs by less than noise (%% of "
           "the rate: 3 sigma, at least %g) is not reported\n", options->noise);
    printf("%-18s %-7s %-*s %7s %7s %6s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "allocator",
           "binding", width, "workload", "threads", "bytes", "a pool", "A Gop/s", "B Gop/s",
           "speed", "noise %", "by cycles", "A failed%", "B failed%", "A util %", "B util %");
}

static void take(tally *all, const compare_options *options, const bench_row *a,
                 const bench_row *b)
{
    const change rate    = of_rate(a, b, options->noise);
    const change cycles  = of_cycles(a, b, options->noise);
    const shares percent = {a->failed, b->failed, a->utilisation, b->utilisation};
    const verdict v      = judge(a, b, &rate, &cycles);

    all->rows++;
    all->count[v]++;
    all->others += (a->digest[0] != '\0') && (b->digest[0] != '\0') &&
                   (strcmp(a->digest, b->digest) != 0);
    if (rate.speed > 0.0) {
        all->few += (a->gops_samples.count < FEW) || (b->gops_samples.count < FEW);
        all->ratios++;
        all->logarithms += log(rate.speed);
    }
    if (v == SLOWER) {
        all->worst = fmax(all->worst, fmax(slowdown(&rate), slowdown(&cycles)));
    }
    if ((v != SAME) || !options->changed) {
        put_row(b, all->width, &rate, &cycles, &percent, v);
    }
}

/* A row that the other file lacks. */
static void take_lonely(tally *all, const bench_row *row, verdict v)
{
    const int    in_a    = v == GONE;
    const change rate    = {in_a ? row->gops : -1.0, in_a ? -1.0 : row->gops, -1.0, -1.0, 0};
    const change cycles  = {-1.0, -1.0, -1.0, -1.0, 0};
    const shares percent = {in_a ? row->failed : -1.0, in_a ? -1.0 : row->failed,
                            in_a ? row->utilisation : -1.0, in_a ? -1.0 : row->utilisation};

    all->rows++;
    all->count[v]++;
    put_row(row, all->width, &rate, &cycles, &percent, v);
}

static void put_summary(const tally *all)
{
    const char *before = ": "; /* printed before the next figure */

    printf("# %zu row%s", all->rows, bench_s(all->rows));
    for (int v = 0; v < VERDICTS; v++) {
        if (all->count[v] != 0) {
            printf("%s%zu %s", before, all->count[v], verdicts[v].text);
            before = "; ";
        }
    }
    if (all->ratios != 0) {
        printf("%sgeometric mean of the speeds %.3f", before,
               exp(all->logarithms / (double)all->ratios));
    }
    putchar('\n');
    if (all->few != 0) {
        printf("# %zu row%s fewer than %d samples: the spread is not known\n", all->few,
               (all->few == 1) ? " has" : "s have", FEW);
    }
    if (all->others != 0) {
        printf("# %zu row%s did other operations: another seed, other iterations, or other "
               "requests were refused\n", all->others, bench_s(all->others));
    }
}

/* ---- the command ---- */

static void usage(FILE *to)
{
    fputs("usage: shpool-bench compare [options] A.json B.json\n"
          "Compares two files of shpool-bench --json=FILE, of before (A) and after (B) a change,\n"
          "and reports differences that exceed the noise.\n"
          "  --noise PERCENT    smallest difference that is reported [5]\n"
          "  --fail-on RATIO    exit with status 1 if a row takes RATIO times as long (1.1, for\n"
          "                     example), fails, refuses more requests, has a lower utilisation\n"
          "                     (ramp, aging), or is missing in B\n"
          "  --changed          print only the rows that differ\n"
          "  --help\n"
          "A difference is reported if it exceeds --noise and 3 sigma of the samples of both\n"
          "files (by the median absolute deviation), and if neither median lies among the\n"
          "samples of the other.\n"
          "Exit status: 0; 1: --fail-on; 2: usage, or a file cannot be read\n", to);
}

static int take_option(int c, const char *option, void *into)
{
    compare_options *options = into;

    switch (c) {
    case 'n':
        return bench_decimal(optarg, option, 0.0, 1000.0, &options->noise);
    case 'f':
        return bench_decimal(optarg, option, 1.0, MOST_RATIO, &options->fail_on);
    default:
        options->changed = 1;
        return 0;
    }
}

static int check_files(int argc, char **argv, void *into)
{
    (void)argv;
    (void)into;
    if (argc - optind != 2) {
        tool_say("shpool-bench: compare: exactly two files of results are needed, got %d\n",
                 argc - optind);
        return -1;
    }
    return 0;
}

static const struct option longs[] = {
    {"noise", required_argument, NULL, 'n'}, {"fail-on", required_argument, NULL, 'f'},
    {"changed", no_argument, NULL, 'c'},     {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};
static const bench_parser parser = {"shpool-bench compare", "h", longs, usage, take_option,
                                    check_files};

static int fails(const tally *all, const compare_options *options)
{
    int worse = all->worst >= options->fail_on;

    for (int v = 0; v < VERDICTS; v++) {
        worse |= verdicts[v].worse && (all->count[v] != 0);
    }
    return worse && (options->fail_on > 0.0);
}

/* All rows: those of B in their order, then those that only A has. */
static int compare(const bench_results *a, const bench_results *b,
                   const compare_options *options, tally *all)
{
    row_index in_a = {NULL, 0};
    row_index in_b = {NULL, 0};
    const int failed = (make_index(a, &in_a) != 0) || (make_index(b, &in_b) != 0);

    for (size_t i = 0; !failed && (i < b->count); i++) {
        const bench_row *before = find(&in_a, &b->rows[i]);

        if (before != NULL) {
            take(all, options, before, &b->rows[i]);
        } else {
            take_lonely(all, &b->rows[i], NEW);
        }
    }
    for (size_t i = 0; !failed && (i < a->count); i++) {
        if (find(&in_b, &a->rows[i]) == NULL) {
            take_lonely(all, &a->rows[i], GONE);
        }
    }
    free(in_a.rows);
    free(in_b.rows);
    return failed ? -1 : 0;
}

int bench_compare(int argc, char **argv)
{
    compare_options options = {5.0, 0.0, 0};
    bench_results   a;
    bench_results   b;
    tally           all;
    int             failed;
    int             stop = bench_parse(&parser, argc, argv, &options);

    if (stop != 0) {
        return stop - 1;
    }
    if (bench_json_read(argv[optind], &a) != 0) {
        return 2;
    }
    if (bench_json_read(argv[optind + 1], &b) != 0) {
        bench_results_clear(&a);
        return 2;
    }
    memset(&all, 0, sizeof(all));
    all.width = widest_workload(&b, widest_workload(&a, 8));
    put_header(&a, &b, argv[optind], argv[optind + 1], all.width, &options);
    failed = compare(&a, &b, &options, &all) != 0;
    if (!failed) {
        put_summary(&all);
    }
    bench_results_clear(&a);
    bench_results_clear(&b);
    return failed ? 2 : fails(&all, &options) ? 1 : 0;
}
