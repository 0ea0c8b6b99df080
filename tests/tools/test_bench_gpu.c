/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench loadstore and memory without a GPU: command lines and output, with one synthetic row
 * instead of measurements. */
#include "tests/growth.h"

#include <getopt.h>
#include <unistd.h>

#include "colliding.h"
#include "tests/device/fake/driver.h"
#include "tools/bench/gpu.h"
#include "tools/bench/loadstore/loadstore.h"
#include "tools/bench/memory/memory.h"
#include "tools/bench/names.h"

/* ---- stubs for other files of the tool ---- */

int bench_cuda_runtime(void)
{
    return 12080;
}

static bench_ls_options asked; /* of the latest run */
static int              runs;

int bench_cuda_present(char *text, size_t bytes)
{
    snprintf(text, bytes, "Fake 0");
    return 1;
}

void bench_loadstore_shapes(bench_ls_shapes *shapes)
{
    *shapes = (bench_ls_shapes){
        .type_bytes = {3, {1, 4, 16}}, .threads = {2, {128, 256}}, .values = {2, {7, 16}}};
}

int bench_loadstore_run(const bench_ls_options *options, bench_ls_sink sink, void *user,
                        char *error)
{
    const bench_ls_row row = {
        .entry = {.function = "global_to_reg", .path = "elements", .check = BENCH_LS_SUM,
                  .type_bytes = 4, .threads = 256, .values = 7},
        .gbs = 3000.0, .copy_gbs = 4000.0, .cub_gbs = 2000.0, .cub_mode = "striped",
        .registers = 32};

    asked    = *options;
    error[0] = '\0';
    runs++;
    sink(&row, user);
    return 0;
}

/* Each question of memory is a row. */
#define QUESTION(_name, _text)                                                                     \
    int memory_##_name(const memory_options *options, const char *spec)                            \
    {                                                                                              \
        const memory_row row = {.question = #_name, .allocator = spec, .unit = "ns",               \
                                .count = options->pairs};                                          \
                                                                                                   \
        memory_print(&row);                                                                        \
        return 0;                                                                                  \
    }
MEMORY_QUESTIONS(QUESTION)

/* ---- running a command ---- */

static char said[65536]; /* stdout and stderr of the latest run */

/* Exit status of a command; words: its options, parted by blanks. */
static int run(int (*command)(int argc, char **argv), const char *words)
{
    char  copy[1024];
    char *argv[64] = {NULL};
    int   argc     = 0;
    FILE *file     = tmpfile();
    int   out      = dup(STDOUT_FILENO);
    int   err      = dup(STDERR_FILENO);
    int   status;

    snprintf(copy, sizeof(copy), "shpool-bench %s", words);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    assert_non_null(file);
    fflush(stdout);
    fflush(stderr);
    (void)dup2(fileno(file), STDOUT_FILENO);
    (void)dup2(fileno(file), STDERR_FILENO);
    optind = 0; /* GNU: restart */
    status = command(argc, argv);
    fflush(stdout);
    fflush(stderr);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(err, STDERR_FILENO);
    (void)close(out);
    (void)close(err);
    rewind(file);
    said[fread(said, 1, sizeof(said) - 1, file)] = '\0';
    fclose(file);
    return status;
}

#define assert_said(_part)                                                                         \
    do {                                                                                           \
        if (strstr(said, (_part)) == NULL) {                                                       \
            fail_msg("\"%s\" is not in \"%s\"", (_part), said);                                    \
        }                                                                                          \
    } while (0)

static void assert_list(const bench_list *list, size_t count, const uint32_t *values)
{
    assert_int_equal(list->count, count);
    assert_memory_equal(list->value, values, count * sizeof(values[0]));
}

/* How often something was said. */
static size_t times_said(const char *part)
{
    size_t count = 0;

    for (const char *at = strstr(said, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

/* "# name: value" for each member of bench_origin, once, before everything else. */
static void assert_origin_lines(const char *device, const char *command)
{
    static const char *const name[] = {"version", "device", "driver", "clocks", "date", "command"};
    const char *at = said;
    char        begin[64];
    char        line[200];

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(name); i++) {
        snprintf(begin, sizeof(begin), "# %s: ", name[i]);
        assert_int_equal(times_said(begin), 1);
        if ((strncmp(at, begin, strlen(begin)) != 0) || (at[strlen(begin)] == '\n')) {
            fail_msg("line %zu is no \"%s\" in \"%s\"", i + 1, begin, said);
        }
        at = strchr(at, '\n') + 1;
    }
    assert_said("# version: " PACKAGE_VERSION "\n");
    snprintf(line, sizeof(line), "# device: %s (sm_86, 15 SMs, CUDA driver 13.0)\n", device);
    assert_said(line);
    assert_said(", CUDA runtime 12.8\n# clocks: SM at most 1401 MHz, memory at most 1848 MHz\n");
    snprintf(line, sizeof(line), "Z\n# command: %s\n", command);
    assert_said(line);
}

/* ---- loadstore ---- */

UNIT_TEST(test_the_table_of_loadstore_says_where_it_is_from)
{
    assert_int_equal(run(bench_loadstore, "--bytes 1M --function it's"), 0);
    assert_said("# shpool-bench " PACKAGE_VERSION " on Fake 0 (sm_86, 15 SMs, CUDA driver 13.0), "
                "1048576 bytes read and as many written, median of 9 launches, waves 0\n# driver ");
    assert_said(", CUDA runtime 12.8; clocks: SM at most 1401 MHz, memory at most 1848 MHz; 20");
    assert_said("Z\n# shpool-bench loadstore --bytes 1M --function 'it'\\''s'\nfunction ");
    assert_said("\nglobal_to_reg            elements         4  256   7 read           3000.0   "
                "75.0 striped          2000.0  1.500   32      0\n");
    assert_int_equal(times_said("Fake 0"), 1);
}

UNIT_TEST(test_csv_of_loadstore_says_where_it_is_from)
{
    assert_int_equal(run(bench_loadstore, "--csv --waves 3"), 0);
    assert_origin_lines("Fake 0", "shpool-bench loadstore --csv --waves 3");
    assert_said("\n# bytes: 1073741824\n# repeats: 9\n# waves: 3\nfunction,path,");
    assert_said("\nglobal_to_reg,elements,4,256,7,read,3000,4000,75,striped,2000,1.5,32,0,0,\n");
}

UNIT_TEST(test_json_of_loadstore_says_where_it_is_from)
{
    assert_int_equal(run(bench_loadstore, "--json --repeats 11"), 0);
    assert_said("{\n  \"version\": \"" PACKAGE_VERSION "\",\n"
                "  \"device\": \"Fake 0 (sm_86, 15 SMs, CUDA driver 13.0)\",\n  \"driver\": \"");
    assert_said(", CUDA runtime 12.8\",\n  \"clocks\": \"SM at most 1401 MHz, memory at most 1848 "
                "MHz\",\n  \"date\": \"20");
    assert_said("Z\",\n  \"command\": \"shpool-bench loadstore --json --repeats 11\",\n"
                "  \"bytes\": 1073741824,\n  \"repeats\": 11,\n  \"waves\": 0,\n  \"rows\": [");
    assert_said("\"function\": \"global_to_reg\"");
    assert_said("\"device_copy_gbs\": 4000.0,\n      \"copy_percent\": 75.0,\n"
                "      \"cub_mode\": \"striped\"");
}

UNIT_TEST(test_lists_of_loadstore_add_up)
{
    assert_int_equal(run(bench_loadstore, "--threads 256 --threads 128-256 --values 16 "
                         "--values=7,16 --type-bytes 16 --type-bytes 1-4"), 0);
    assert_list(&asked.threads, 2, (const uint32_t[]){256, 128});
    assert_list(&asked.values, 2, (const uint32_t[]){16, 7});
    assert_list(&asked.type_bytes, 4, (const uint32_t[]){16, 1, 2, 4});
}

UNIT_TEST(test_sizes_of_which_there_are_no_kernels_are_refused)
{
    runs = 0;
    assert_int_equal(run(bench_loadstore, "--type-bytes 3"), 2);
    assert_said("--type-bytes 3: elements have 1, 2, 4, 8 or 16 bytes, not 3\n");
    assert_int_equal(run(bench_loadstore, "--type-bytes 4-12:4"), 2);
    assert_said("not 12\n");
    assert_int_equal(runs, 0);
}

UNIT_TEST(test_shapes_that_were_not_compiled_in_are_said_before_anything_runs)
{
    static const char *const none[] = {"--threads 512", "--values 5", "--type-bytes 2,8",
                                       "--threads 256 --values 17"};

    runs = 0;
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(none); i++) {
        assert_int_equal(run(bench_loadstore, none[i]), 2);
        assert_said("no such shape was compiled in; there are --type-bytes 1,4,16, "
                    "--threads 128,256 and --values 7,16; tools/bench/loadstore/loadstore.mk tells "
                    "how a build gets "
                    "more (BENCH_LOADSTORE)\n");
    }
    assert_int_equal(runs, 0);
    assert_int_equal(run(bench_loadstore, "--threads 512,256 --values 5-7:1"), 0);
    assert_int_equal(runs, 1);
}

/* ---- memory ---- */

UNIT_TEST(test_memory_says_where_it_is_from)
{
    assert_int_equal(run(bench_memory, "--device 1 --pairs 70 --allocator bins pair"), 0);
    assert_origin_lines("Fake 1",
                        "shpool-bench memory --device 1 --pairs 70 --allocator bins pair");
    assert_said("\n# repeats: 9\n# pairs: 70\n# threads: 16\nquestion,allocator,size,");
    assert_said("\npair,bins,0,70,");
}

UNIT_TEST(test_memory_measures_an_allocator_once)
{
    assert_int_equal(run(bench_memory, "oom --allocator bins --allocator async --allocator bins"),
                     0);
    assert_int_equal(times_said("\noom,"), 2);
    assert_said("\noom,bins,");
    assert_said("\noom,async,");
}

/* ---- a log that is replayed ---- */

#define LOG "test_bench_gpu.log"

/* Replay `count` allocations of 512 bytes, at addresses that are made to collide. */
static void replay_log(void *of, unsigned count)
{
    FILE *file = fopen(LOG, "w");
    char row[64];

    (void)of;
    assert_non_null(file);
    fputs("Thread,Time,Action,Pointer,Size,Stream\n", file);
    for (unsigned i = 1; i <= count; i++) {
        fprintf(file, "1,0,allocate,0x%llx,512,0x0\n", colliding_place(i, 0));
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(run(bench_memory, "--allocator bins --replay " LOG), 0);
    (void)unlink(LOG);
    (void)snprintf(row, sizeof(row), "\nreplay,bins,%u,%u,", count * 512u, count);
    assert_said(row);
}

UNIT_TEST(test_pointers_of_a_log_cannot_collide)
{
    assert_linear(replay_log, NULL, 30000);
}

UNIT_TEST(test_a_log_that_cannot_be_read_is_said)
{
    assert_int_equal(run(bench_memory, "--allocator bins --replay nobody.log"), 1);
    assert_said("nobody.log: No such file");
}

UNIT_TEST(test_a_device_that_is_not_there_is_said)
{
    assert_int_equal(run(bench_memory, "--device 7 pair"), 1);
    assert_int_equal(times_said("#"), 0);
    assert_said("shpool-bench: ");
}

static int start(void **state)
{
    fake_start(2, 1u << 30);
    return 0;
}

static int stop(void **state)
{
    return (fake_stop().bytes != 0) || (fake_violations() != 0);
}

UNIT_GROUP(start, stop)
