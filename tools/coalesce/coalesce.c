/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-coalesce: finds uncoalesced memory accesses, and rewrites them where that pays. */
#include "tool.h"

#include "tools/options.h"
#include "tools/output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage_text[] =
    "usage: shpool-coalesce lint [OPTION...] FILE... [-- NVCC-OPTION...]\n"
    "       shpool-coalesce rewrite [OPTION...] IN.ptx -o OUT.ptx\n"
    "       shpool-coalesce nvcc [OPTION...] -- NVCC-OPTION... | nvcc NVCC-OPTION...\n"
    "       shpool-coalesce costs\n"
    "\n"
    "  lint     reports wasteful accesses of .cu (compiled by nvcc), .ptx; with LLVM .ll, .bc\n"
    "  rewrite  reads PTX and writes it with coalesced accesses, where that is correct and pays\n"
    "  nvcc     runs nvcc, and rewrites all device code that it compiles\n"
    "  costs    prints the rules for rewriting records, and the measurements they are based on\n"
    "\n"
    "  -b, --block X[,Y[,Z]]  blockDim of the kernels; default: x is a multiple of 32\n"
    "  -c, --colour WHEN      print colours: auto, always or never [auto]\n"
    "  -d, --sources FOLDER   allow excerpts from files below FOLDER, not only near the inputs\n"
    "  -e, --fail-on LEVEL    exit with 1 if there is a finding of this level or above\n"
    "  -f, --force            rewrite all records for which it is legal, even if it may be slower\n"
    "      --headers          also print findings in headers of the system and of shpool\n"
    "  -j, --json             print the findings as JSON\n"
    "  -l, --level LEVEL      print findings of this level or above: warning, note, remark [note]\n"
    "  -o, --output FILE      write the PTX to FILE; lint: the findings\n"
    "  -r, --remarks          print which records were rewritten (lint: would be), and why others\n"
    "                         are not\n"
    "  -S, --sarif            print the findings as SARIF 2.1.0\n"
    "  -s, --skip KERNEL      leave KERNEL unchanged; may be given up to 64 times\n"
    "      --no-loads, --no-stores, --no-copies, --no-rows   do not rewrite such records\n"
    "  -v, --verbose          nvcc: print a line for each file that was rewritten\n"
    "  -h, --help             print this and exit\n"
    "  -V, --version          print the version and exit\n"
    "\n"
    "Exit status: 0; 1: there are findings (--fail-on); 2: wrong usage; 3: an input cannot be\n"
    "used.  The command nvcc exits with the status of nvcc.\n";

static int point_to_help(void)
{
    (void)fputs("try shpool-coalesce --help\n", stderr);
    return TOOL_USAGE;
}

static int wrong_usage(const char *what, const char *word)
{
    (void)tool_failed("%s%s%s", what, (word != NULL) ? " " : "", (word != NULL) ? word : "");
    return point_to_help();
}

static int point_to_command(void)
{
    return wrong_usage("a command is missing: lint, rewrite, nvcc or costs", NULL);
}

static int level_of(const char *word, int *level_p)
{
    for (int level = COALESCE_REMARK; level <= COALESCE_WARNING; level++) {
        if (strcmp(word, coalesce_level_name((coalesce_level)level)) == 0) {
            *level_p = level;
            return 1;
        }
    }
    return 0;
}

static int block_of(const char *text, coalesce_block *block)
{
    uint32_t *value[] = { &block->x, &block->y, &block->z };
    char     *end     = NULL;

    for (size_t i = 0; i < 3; i++) {
        unsigned long number = strtoul(text, &end, 10);

        if ((end == text) || (number == 0) || (number > 1024)) {
            return 0;
        }
        *value[i] = (uint32_t)number;
        if (*end == '\0') { /* as in dim3, missing dimensions are 1 */
            block->y = (i < 1) ? 1 : block->y;
            block->z = (i < 2) ? 1 : block->z;
            return 1;
        }
        if (*end != ',') {
            return 0;
        }
        text = end + 1;
    }
    return 0;
}

static int is_folder(const char *path)
{
    struct stat what;

    return (stat(path, &what) == 0) && S_ISDIR(what.st_mode);
}

enum { NO_LOADS = 256, NO_STORES, NO_COPIES, NO_ROWS, HEADERS };

static const struct option long_options[] = {
    { "block", required_argument, NULL, 'b' },   { "colour", required_argument, NULL, 'c' },
    { "color", required_argument, NULL, 'c' },   { "fail-on", required_argument, NULL, 'e' },
    { "sources", required_argument, NULL, 'd' },
    { "force", no_argument, NULL, 'f' },         { "json", no_argument, NULL, 'j' },
    { "level", required_argument, NULL, 'l' },   { "output", required_argument, NULL, 'o' },
    { "remarks", no_argument, NULL, 'r' },       { "sarif", no_argument, NULL, 'S' },
    { "skip", required_argument, NULL, 's' },    { "no-loads", no_argument, NULL, NO_LOADS },
    { "no-stores", no_argument, NULL, NO_STORES }, { "no-copies", no_argument, NULL, NO_COPIES },
    { "no-rows", no_argument, NULL, NO_ROWS },   { "headers", no_argument, NULL, HEADERS },
    { "verbose", no_argument, NULL, 'v' },       { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },       { NULL, 0, NULL, 0 },
};

/* 0: the option is fine; else an exit status. */
static int take_option(int c, tool_options *options)
{
    coalesce_options *plan = &options->request.plan;
    int               level = 0;

    switch (c) {
    case 'b':
        return block_of(optarg, &plan->block)
                   ? 0 : wrong_usage("--block takes 1 to 3 numbers up to 1024, not", optarg);
    case 'c':
        options->colour = (strcmp(optarg, "always") == 0) ? 1 : (strcmp(optarg, "never") == 0) ? 0
                                                                                             : -1;
        return ((options->colour >= 0) || (strcmp(optarg, "auto") == 0))
                   ? 0 : wrong_usage("--colour takes auto, always or never, not", optarg);
    case 'd':
        if (options->sources == SHPOOL_ARRAY_COUNT(options->source)) {
            return wrong_usage("--sources is given more than 64 times", NULL);
        }
        options->source[options->sources++] = optarg;
        return is_folder(optarg) ? 0 : wrong_usage("--sources takes a folder, not", optarg);
    case 'e':
    case 'l':
        if (!level_of(optarg, &level)) {
            return wrong_usage((c == 'e') ? "--fail-on takes warning, note or remark, not"
                                          : "--level takes warning, note or remark, not", optarg);
        }
        *((c == 'e') ? &options->fail_on : (int *)&options->least) = level;
        return 0;
    case 's':
        if (options->request.skips == SHPOOL_ARRAY_COUNT(options->skip)) {
            return wrong_usage("--skip is given more than 64 times", NULL);
        }
        options->skip[options->request.skips++] = optarg;
        return 0;
    case 'f': plan->force = 1; return 0;
    case 'j': options->format = FORMAT_JSON; return 0;
    case 'S': options->format = FORMAT_SARIF; return 0;
    case 'o': options->output = optarg; return 0;
    case 'r': options->request.remarks = 1; return 0;
    case 'v': options->verbose = 1; return 0;
    case HEADERS: options->headers = 1; return 0;
    case NO_LOADS: plan->no_loads = 1; return 0;
    case NO_STORES: plan->no_stores = 1; return 0;
    case NO_COPIES: plan->no_copies = 1; return 0;
    case NO_ROWS: plan->no_rows = 1; return 0;
    default: return point_to_help(); /* tool_option() has said it */
    }
}

tool_options tool_default_options(void)
{
    return (tool_options){ .request = { .waste = 1 }, .least = COALESCE_NOTE, .fail_on = -1,
                           .colour = -1 };
}

int tool_take_words(int argc, char **argv, tool_options *options)
{
    char name[TOOL_OPTION_BYTES];
    int  end = 1;
    int  c;
    int  status;

    while ((end < argc) && (strcmp(argv[end], "--") != 0)) {
        end++;
    }
    options->own       = argv + 1;
    options->own_count = end - 1;
    if (end < argc) {
        options->compiler       = argv + end + 1;
        options->compiler_count = (size_t)(argc - end - 1);
    }
    while ((c = tool_option("shpool-coalesce", end, argv, "b:c:d:e:fjl:o:rSs:vhV", long_options,
                            name)) != -1) {
        if (c == 'h') {
            (void)fputs(usage_text, stdout);
            return TOOL_OK;
        }
        if (c == 'V') {
            (void)printf("shpool-coalesce %s\n", PACKAGE_VERSION);
            return TOOL_OK;
        }
        status = take_option(c, options);
        if (status != 0) {
            return status;
        }
    }
    options->files        = argv + optind;
    options->file_count   = (size_t)(end - optind);
    options->request.skip = options->skip;
    if (!tool_demangler(&options->request.demangle)) {
        return tool_failed("no memory to load the C++ runtime, which demangles names");
    }
    if (options->request.remarks && (options->least == COALESCE_NOTE)) {
        options->least = COALESCE_REMARK;
    }
    return -1;
}

/* The input that is also the output, under any name or link; NULL: none. */
static const char *overwritten(const tool_options *options)
{
    struct stat input, output;

    if ((options->output == NULL) || (stat(options->output, &output) != 0) ||
        !S_ISREG(output.st_mode)) {
        return NULL;
    }
    for (size_t i = 0; i < options->file_count; i++) {
        if ((stat(options->files[i], &input) == 0) && (input.st_dev == output.st_dev) &&
            (input.st_ino == output.st_ino)) {
            return options->files[i];
        }
    }
    return NULL;
}

static int is_called(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    return strcmp((slash != NULL) ? slash + 1 : path, name) == 0;
}

/* nvcc's own options need no "--": all words after "nvcc", from the first one that is not ours. */
static int nvcc(int argc, char **argv, tool_options *options)
{
    int status = -1;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            status = tool_take_words(argc, argv, options);
            return (status >= 0) ? status : tool_nvcc(options, (int)options->compiler_count,
                                                      (char **)options->compiler);
        }
    }
    return tool_nvcc(options, argc - 1, argv + 1);
}

static int lint_or_rewrite(const tool_options *options, int is_lint)
{
    const char *input = overwritten(options);

    if (options->file_count == 0) {
        return wrong_usage("a file is missing", NULL);
    }
    if (!is_lint && (options->file_count != 1)) {
        return wrong_usage("rewrite needs exactly one file, not also", options->files[1]);
    }
    if (!is_lint && (options->output == NULL)) {
        return wrong_usage("rewrite needs -o FILE, which names the output", NULL);
    }
    if (input != NULL) {
        return wrong_usage("the output must not be the input", input);
    }
    return is_lint ? tool_lint(options) : tool_rewrite(options);
}

static int run(int argc, char **argv)
{
    static tool_options options;
    static const char *const commands[] = { "lint", "rewrite", "nvcc", "costs", NULL };
    const char *command = (argc > 1) ? argv[1] : "";
    int         status;

    options = tool_default_options();
    if (is_called(argv[0], "cicc")) {
        return tool_cicc(argc, argv);
    }
    if (is_called(command, "nvcc")) { /* with its path, too: CMake's compiler launcher */
        options.nvcc = command;
        return nvcc(argc - 1, argv + 1, &options);
    }
    if (strcmp(command, "costs") == 0) {
        return tool_costs();
    }
    if ((strcmp(command, "lint") != 0) && (strcmp(command, "rewrite") != 0)) {
        if ((argc > 1) && (command[0] != '-')) {
            tool_unknown("shpool-coalesce", "a command", command, commands);
            return point_to_help();
        }
        status = tool_take_words(argc, argv, &options);
        return (status >= 0) ? status : point_to_command();
    }
    status = tool_take_words(argc - 1, argv + 1, &options);
    if (status >= 0) {
        return status;
    }
    return lint_or_rewrite(&options, strcmp(command, "lint") == 0);
}

int main(int argc, char **argv)
{
    tool_prepare();
    return tool_leave("shpool-coalesce", run(argc, argv), TOOL_NO_INPUT);
}
