/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: what its files share.  The commands' own headers: bench/loadstore/loadstore.h and
 * others. */
#ifndef SHPOOL_BENCH_H
#define SHPOOL_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <shpool/shpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- lists of an option's values: bench/list.c ---- */

#define BENCH_LIST 64 /* as many as there can be allocators */

/** Numbers, each once, in the order given. */
typedef struct bench_list {
    size_t   count;
    uint32_t value[BENCH_LIST];
} bench_list;

/** Names, each once, in the order given; they belong to somebody else. */
typedef struct bench_names {
    size_t      count;
    const char *name[BENCH_LIST];
} bench_names;

int bench_list_has(const bench_list *list, uint32_t value);

/** A value that is there already stays where it is.  -1: the list is full. */
int bench_list_add(bench_list *list, uint32_t value);

/** A number from low to high, K, M or G behind it; -1: it is none, and stderr says so. */
int bench_number(const char *text, const char *option, uint32_t low, uint32_t high,
                 uint32_t *value);

/**
 * Numbers from low to high: `32,64,128-1024` (a range doubles) or `100-400:100` (it adds 100).
 * They go behind what the list has; what it has already stays where it is.  -1: stderr says what
 * is wrong and what would do.
 */
int bench_numbers(const char *text, const char *option, uint32_t low, uint32_t high,
                  bench_list *list);

/** Indices of names among the known ones, which a NULL ends; `all` is all.  -1 as above. */
int bench_choices(const char *text, const char *option, const char *const *known,
                  bench_list *list);

/** What a plural of so many ends in. */
static inline const char *bench_s(unsigned long long count)
{
    return (count == 1) ? "" : "s";
}

/** One more name; -1: the list is full, and stderr says so. */
int bench_name_add(bench_names *names, const char *option, const char *name);

/* ---- what the user asked for: bench/block/options.c ---- */

#define BENCH_REPEATS 101 /* most samples of a figure */

typedef enum bench_binding_id { BENCH_TABLE, BENCH_INLINE, BENCH_LINKED } bench_binding_id;
extern const char *const bench_binding_names[]; /* NULL at the end */

typedef struct bench_options {
    const char *device;    /* "cpu", "cuda", or NULL: cuda if there is one */
    bench_names allocators; /* specs or "all"; none: as $SHPOOL_ALLOCATOR says */
    bench_names skipped;   /* names that "all" leaves out */
    bench_list  bindings;  /* bench_binding_id */
    bench_list  workloads; /* indices in bench/block/workload.h's order */
    bench_list  threads;
    bench_list  payload_bytes; /* of all pools of a block; empty: total_bytes counts */
    bench_list  total_bytes;   /* of shared memory, for the pools to fill */
    bench_list  threads_per_pool; /* 0: the allocator's own choice */
    uint32_t    blocks;     /* CPU: blocks of the grid */
    uint32_t    iterations;
    uint32_t    repeats;    /* launches whose median counts */
    uint32_t    spin_ms;    /* GPU: work before a measurement, so that its clocks rise */
    uint32_t    seed;
    const char *json;       /* file; "-": stdout; NULL: none */
    const char *csv;        /* likewise */
    const char *plot;       /* file */
} bench_options;

/** 0: go on; else exit status + 1. */
int bench_options_parse(int argc, char **argv, bench_options *options);

/** What is left to say when it is known where the kernels run: all allocators, the defaults. */
int bench_options_complete(bench_options *options, int cuda);

/** One measurement of the sweep. */
typedef struct bench_point {
    const char *spec;             /* NULL: as $SHPOOL_ALLOCATOR says */
    bench_binding_id binding;
    size_t   workload;
    uint32_t threads;
    uint32_t payload_bytes;       /* 0: total_bytes counts */
    uint32_t total_bytes;
    uint32_t threads_per_pool;
} bench_point;

/** How many there are: the product of all lists. */
size_t bench_points(const bench_options *options);

/** Point `index`; workloads change fastest, then bindings, allocators, pools, threads. */
void bench_point_at(const bench_options *options, size_t index, bench_point *point);

/* ---- records: bench/record.c ---- */

/** Samples of one figure. */
typedef struct bench_series {
    size_t count;
    double value[BENCH_REPEATS];
} bench_series;

typedef enum bench_kind { BENCH_TEXT, BENCH_U32, BENCH_U64, BENCH_INT, BENCH_REAL, BENCH_SERIES }
    bench_kind;

/** A member of a record: the table, CSV and JSON are written from these. */
typedef struct bench_column {
    const char *name;    /* in CSV and JSON */
    bench_kind  kind;    /* BENCH_INT and BENCH_REAL: negative is none */
    size_t      offset;
    size_t      bytes;
    const char *heading; /* in the table; NULL: not there */
    int         width;   /* negative: flush left */
    const char *format;  /* of a BENCH_REAL in the table */
} bench_column;

/** The member of a record as text, with all digits that count; empty: none. */
void bench_cell(const bench_column *column, const void *record, char *text, size_t bytes);

/* ---- where, when and how: bench/facts.c ---- */

#define BENCH_COMMAND_BYTES 1024

/** What the results of every command carry.  bench_origin_columns names all of it. */
typedef struct bench_origin {
    char version[32]; /* of the library */
    char device[256];
    char driver[64];
    char clocks[128];
    char date[32];    /* when it began, UTC */
    char command[BENCH_COMMAND_BYTES]; /* bench_command_write() */
} bench_origin;

extern const bench_column bench_origin_columns[];

/** All but the command, of the CPU block executor; why: it runs there. */
void bench_origin_cpu(bench_origin *origin, const char *why);

/** The same of a GPU; a failure leaves it as it was, and shpool_last_error() says why. */
shpool_status bench_origin_gpu(bench_origin *origin, int ordinal);

/** The first lines of a table; how: what else there is to say, "median of 9 launches". */
void bench_origin_print(FILE *to, const bench_origin *origin, const char *how);

/** The first lines of CSV: `# name: value` for each member of a record. */
void bench_csv_facts(FILE *to, const bench_column *columns, const void *record);

/* ---- results: bench/record.c ---- */

#define BENCH_MEASURED "measured"
#define BENCH_ABSENT   "n/a"    /* such a row cannot exist; the note says why */
#define BENCH_FAILED   "failed" /* it should, and does not */

/** One measurement.  Negative figures: not measured.  bench_row_columns names all of it. */
typedef struct bench_row {
    char     spec[512];     /* as it was asked for */
    char     allocator[SHPOOL_NAME_BYTES];
    char     binding[8];
    char     workload[8];
    char     state[12];     /* BENCH_MEASURED, ... */
    uint32_t threads;
    uint32_t payload_bytes; /* asked for; 0: total_bytes was */
    uint32_t total_bytes;
    uint32_t threads_per_pool; /* asked for; 0: the allocator's own choice */
    uint32_t pool_threads;  /* that share a pool in fact */
    uint32_t pools;
    uint32_t shared_bytes;  /* of a block's pools, metadata included */
    uint32_t blocks;        /* of the launch that gave gops */
    double   registers;
    double   cycles;        /* per operation, one thread of a block alone on the GPU: median */
    double   cycles_spread; /* median distance from that median, percent of it */
    double   gops;          /* 10^9 operations per second, the whole device: median */
    double   gops_spread;
    double   failed;        /* percent of operations that were refused mallocs */
    double   utilisation;   /* ramp: percent of the region that was payload */
    double   sm_mhz;        /* clock of the multiprocessors right after the measurement */
    unsigned long long operations; /* of one launch; checked launches on a GPU */
    unsigned long long refused;    /* of those */
    unsigned long long errors;     /* payload checks that failed, in all launches */
    char     digest[17];    /* of the operations: equal digests did the same; else empty */
    bench_series cycles_samples;
    bench_series gops_samples;
    char     note[2048];    /* why a figure is missing; a list of all allocators fits */
} bench_row;

/** Where and how the rows were measured: bench_origin_columns and bench_fact_columns name it. */
typedef struct bench_facts {
    bench_origin origin;
    int64_t  threads;       /* negative: there are several; the rows tell */
    int64_t  payload_bytes;
    uint32_t iterations;
    uint32_t repeats;
    uint32_t seed;
    uint32_t planned;      /* rows; more than there are: interrupted */
} bench_facts;

extern const bench_column bench_row_columns[];  /* a name of NULL ends each */
extern const bench_column bench_fact_columns[];

/** Results of one run, in memory or from a file. */
typedef struct bench_results {
    bench_facts facts;
    bench_row  *rows;
    size_t      count;
} bench_results;

/** Copy a row to the end; 0, or -1: no memory, and stderr says so. */
int bench_results_add(bench_results *results, const bench_row *row);

void bench_results_clear(bench_results *results);

/** A row with everything but the figures. */
void bench_row_init(bench_row *row, const bench_point *point);

/** What has been planned for it. */
void bench_row_set_pool(bench_row *row, const shpool_pool *pool);

/** Ascending. */
void bench_sort(double *values, size_t count);

/** Median and median distance from it in percent; the values stay in their order. */
void bench_series_summary(const bench_series *series, double *median, double *spread);

/** The row's medians and spreads from its samples. */
void bench_row_summarise(bench_row *row);

/* ---- the command line as text: bench/command.c ---- */

/** What a shell would need to run it again: the tool's name and argv[1] on. */
void bench_command_write(const char *tool, int argc, char **argv, char *line, size_t bytes);

/** Whether two such lines ask for the same, wherever results go (--json, --csv, --plot). */
int bench_command_same(const char *a, const char *b);

/* ---- output ---- */

/** bench/text.c: the table, with the letters of the longest spec, and CSV. */
void bench_text_begin(FILE *to, const bench_facts *facts, int spec_width);
void bench_text_row(FILE *to, const bench_row *row, int spec_width);
void bench_csv_begin(FILE *to, const bench_facts *facts);
void bench_csv_row(FILE *to, const bench_row *row);

/** bench/json.c.  Whether this build has a JSON library. */
int bench_has_json(void);

/** A member for each of a record's; a figure that there is not is null.  (A json_t of jansson.) */
struct json_t;
void bench_json_members(struct json_t *object, const bench_column *columns, const void *record);

/** 0, or -1: writing failed. */
int bench_json_write(const bench_results *results, FILE *to);

/** Results of a file that --json wrote, to be cleared; -1: stderr says what is wrong with it. */
int bench_json_read(const char *path, bench_results *results);

/** bench/plot/plot.c: whether --plot can write such a file; -1: stderr says why not. */
int bench_plot_check(const char *path);

/** Draw; figure: in plot_figures[] of bench/plot/plot.h.  0, or -1 with a message on stderr. */
int bench_plot_draw(const bench_results *results, size_t figure, const char *path);

/** bench/progress.c: one line on a terminal, nothing elsewhere. */
void bench_progress_begin(size_t total);
void bench_progress_show(size_t done, const bench_point *point);
void bench_progress_clear(void);

/** From now on Ctrl-C (SIGINT) or SIGTERM only asks to stop; a second one ends the process. */
void bench_interrupt_catch(void);

/** The signal that asked to stop, or 0. */
int bench_interrupted(void);

/* ---- commands: argv[0] is the tool's name, the options follow; exit status ---- */

int bench_block(int argc, char **argv);   /* block/block.c: the workloads over block allocators */
int bench_plot(int argc, char **argv);    /* bench/plot/plot.c: draws a file of --json */
int bench_compare(int argc, char **argv); /* bench/compare.c: two such files */

/** The lines of all commands in a usage text (bench.c's table). */
void bench_commands(FILE *to);

/* ---- measuring ---- */

/** Name of workload `index` (bench/block/workload.h's order), or NULL past the last; what it does.
 * */
const char *bench_workload_name(size_t index);
const char *bench_workload_summary(size_t index);

/** What a point wants of shpool_plan(). */
void bench_point_config(const bench_point *point, shpool_config *want);

/** The row cannot exist, because... */
void bench_row_absent(bench_row *row, const char *why);

/** Say why planning failed; 0: such pools cannot exist, -1: it should have worked. */
int bench_row_refused(bench_row *row, shpool_status status);

/** Whether the row of `workload` cannot exist for this pool; then the row says why. */
int bench_row_missing(bench_row *row, size_t workload, const shpool_pool *pool);

struct bench_args;
struct bench_tally;

/** A kernel's arguments, but for the tally's place. */
void bench_args_init(struct bench_args *args, const bench_options *options,
                     const shpool_pool *pool);

/** What happened in one launch of row->blocks blocks; errors add up. */
void bench_row_tally(bench_row *row, size_t workload, const struct bench_tally *tally);

/** One row on the CPU block executor; 0, or -1 with row->note set. */
int bench_cpu_row(const bench_options *options, const bench_point *point, bench_row *row);

/** Whether there is a GPU; its name and driver in text, or why not. */
int bench_cuda_present(char *text, size_t bytes);

/** The version of the CUDA runtime, as 13000; 0: this build has none. */
int bench_cuda_runtime(void);

/** One row on the current GPU; 0, or -1 with row->note set. */
int bench_cuda_row(const bench_options *options, const bench_point *point, bench_row *row);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_H */
