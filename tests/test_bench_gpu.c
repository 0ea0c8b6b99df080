/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench loadstore without a GPU: what the command lines mean and what is printed, with one
 * made-up row instead of measurements. */
#include "unit.h"

#include <getopt.h>
#include <unistd.h>

#include "../tools/bench_loadstore.h"

/* ---- what bench_cuda.cu and bench_loadstore_run.cu have in the tool ---- */

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
    optind = 0; /* GNU: begin anew */
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

/* ---- loadstore ---- */

static void test_lists_of_loadstore_add_up(void **state)
{
    (void)state;
    assert_int_equal(run(bench_loadstore, "--threads 256 --threads 128-256 --values 16 "
                         "--values=7,16 --type-bytes 16 --type-bytes 1-4"), 0);
    assert_list(&asked.threads, 2, (const uint32_t[]){256, 128});
    assert_list(&asked.values, 2, (const uint32_t[]){16, 7});
    assert_list(&asked.type_bytes, 4, (const uint32_t[]){16, 1, 2, 4});
}

static void test_sizes_of_which_there_are_no_kernels_are_refused(void **state)
{
    (void)state;
    runs = 0;
    assert_int_equal(run(bench_loadstore, "--type-bytes 3"), 2);
    assert_said("--type-bytes 3: elements have 1, 2, 4, 8 or 16 bytes, not 3\n");
    assert_int_equal(run(bench_loadstore, "--type-bytes 4-12:4"), 2);
    assert_said("not 12\n");
    assert_int_equal(runs, 0);
}

static void test_shapes_that_were_not_compiled_in_are_said_before_anything_runs(void **state)
{
    static const char *const none[] = {"--threads 512", "--values 5", "--type-bytes 2,8",
                                       "--threads 256 --values 17"};

    (void)state;
    runs = 0;
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(none); i++) {
        assert_int_equal(run(bench_loadstore, none[i]), 2);
        assert_said("no such shape was compiled in; there are --type-bytes 1,4,16, "
                    "--threads 128,256 and --values 7,16; tools/tools.mk tells how a build gets "
                    "more (SHPOOL_BENCH_LOADSTORE)\n");
    }
    assert_int_equal(runs, 0);
    assert_int_equal(run(bench_loadstore, "--threads 512,256 --values 5-7:1"), 0);
    assert_int_equal(runs, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_of_loadstore_add_up),
        cmocka_unit_test(test_sizes_of_which_there_are_no_kernels_are_refused),
        cmocka_unit_test(test_shapes_that_were_not_compiled_in_are_said_before_anything_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
