/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-coalesce: the options of its commands. */
#include "tool.h"

#include "tools/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int refuse(const tool_given *given, const char *takes)
{
    (void)tool_failed("%s takes %s, not %s", given->typed, takes, given->value);
    return -1;
}

static int take_block(const tool_given *given, void *field)
{
    coalesce_block *block   = field;
    uint32_t       *value[] = { &block->x, &block->y, &block->z };
    const char     *text    = given->value;
    char           *end     = NULL;

    for (size_t i = 0; i < 3; i++) {
        unsigned long number = strtoul(text, &end, 10);

        if ((end == text) || (number == 0) || (number > 1024)) {
            break;
        }
        *value[i] = (uint32_t)number;
        if (*end == '\0') { /* as in dim3, missing dimensions are 1 */
            block->y = (i < 1) ? 1 : block->y;
            block->z = (i < 2) ? 1 : block->z;
            return 0;
        }
        if (*end != ',') {
            break;
        }
        text = end + 1;
    }
    return refuse(given, "1 to 3 numbers up to 1024");
}

static int take_colour(const tool_given *given, void *field)
{
    int *colour = field;

    *colour = (strcmp(given->value, "always") == 0) ? 1 : (strcmp(given->value, "never") == 0) ? 0
                                                                                              : -1;
    return ((*colour >= 0) || (strcmp(given->value, "auto") == 0))
               ? 0 : refuse(given, "auto, always or never");
}

static int take_level(const tool_given *given, void *field)
{
    for (int level = COALESCE_REMARK; level <= COALESCE_WARNING; level++) {
        if (strcmp(given->value, coalesce_level_name((coalesce_level)level)) == 0) {
            *(int *)field = level;
            return 0;
        }
    }
    return refuse(given, "warning, note or remark");
}

/* One more of a list, which has room for 64. */
static int add(const tool_given *given, const char **list, size_t *count, size_t most)
{
    if (*count == most) {
        (void)tool_failed("%s is given more than 64 times", given->typed);
        return -1;
    }
    list[(*count)++] = given->value;
    return 0;
}

static int take_folder(const tool_given *given, void *field)
{
    tool_options *options = field;
    struct stat   what;

    if (add(given, options->source, &options->sources, SHPOOL_ARRAY_COUNT(options->source)) != 0) {
        return -1;
    }
    return ((stat(given->value, &what) == 0) && S_ISDIR(what.st_mode)) ? 0
                                                                     : refuse(given, "a folder");
}

static int take_skip(const tool_given *given, void *field)
{
    tool_options *options = field;

    return add(given, options->skip, &options->request.skips, SHPOOL_ARRAY_COUNT(options->skip));
}

#define AT(_member) offsetof(tool_options, _member)
static const tool_row rows[] = {
    { "-b, --block X[,Y[,Z]]", take_block, AT(request.plan.block), 0, 0, NULL,
      "blockDim of the kernels; default: x is a multiple of 32" },
    { "-c, --colour WHEN", take_colour, AT(colour), 0, 0, NULL,
      "print colours: auto, always or never [auto]" },
    { "--color WHEN", take_colour, AT(colour), 0, 0, NULL, NULL },
    { "-d, --sources FOLDER", take_folder, 0, 0, 0, NULL,
      "allow excerpts from files below FOLDER, not only near the inputs" },
    { "-e, --fail-on LEVEL", take_level, AT(fail_on), 0, 0, NULL,
      "exit with 1 if there is a finding of this level or above" },
    { "-f, --force", tool_flag, AT(request.plan.force), 1, 0, NULL,
      "rewrite all records for which it is legal, even if it may be slower" },
    { "    --headers", tool_flag, AT(headers), 1, 0, NULL,
      "also print findings in headers of the system and of shpool" },
    { "-j, --json", tool_flag, AT(format), FORMAT_JSON, 0, NULL, "print the findings as JSON" },
    { "-l, --level LEVEL", take_level, AT(least), 0, 0, NULL,
      "print findings of this level or above: warning, note, remark [note]" },
    { "-o, --output FILE", tool_text, AT(output), 0, 0, NULL,
      "write the PTX to FILE; lint: the findings" },
    { "-r, --remarks", tool_flag, AT(request.remarks), 1, 0, NULL,
      "print which records were rewritten (lint: would be), and why others\n"
      "are not" },
    { "-S, --sarif", tool_flag, AT(format), FORMAT_SARIF, 0, NULL,
      "print the findings as SARIF 2.1.0" },
    { "-s, --skip KERNEL", take_skip, 0, 0, 0, NULL,
      "leave KERNEL unchanged; may be given up to 64 times" },
    { "--no-loads", tool_flag, AT(request.plan.no_loads), 1, 0, NULL, NULL },
    { "--no-stores", tool_flag, AT(request.plan.no_stores), 1, 0, NULL, NULL },
    { "--no-copies", tool_flag, AT(request.plan.no_copies), 1, 0, NULL, NULL },
    { "--no-rows", tool_flag, AT(request.plan.no_rows), 1, 0, NULL, NULL },
    TOOL_LINE("      --no-loads, --no-stores, --no-copies, --no-rows   do not rewrite such "
              "records"),
    { "-v, --verbose", tool_flag, AT(verbose), 1, 0, NULL,
      "nvcc: print a line for each file that was rewritten" },
    TOOL_LINE("  -h, --help             print this and exit\n"
              "  -V, --version          print the version and exit"),
    TOOL_ROWS_END,
};

static void usage(FILE *to)
{
    (void)fputs(
        "usage: shpool-coalesce lint [OPTION...] FILE... [-- NVCC-OPTION...]\n"
        "       shpool-coalesce rewrite [OPTION...] IN.ptx -o OUT.ptx\n"
        "       shpool-coalesce nvcc [OPTION...] -- NVCC-OPTION... | nvcc NVCC-OPTION...\n"
        "       shpool-coalesce costs\n"
        "\n"
        "  lint     reports wasteful accesses of .cu (compiled by nvcc), .ptx; with LLVM .ll, .bc\n"
        "  rewrite  reads PTX and writes it with coalesced accesses, where that is correct and "
        "pays\n"
        "  nvcc     runs nvcc, and rewrites all device code that it compiles\n"
        "  costs    prints the rules for rewriting records, and the measurements they are based "
        "on\n"
        "\n", to);
    tool_rows_print(to, rows, 25);
    (void)fputs(
        "\n"
        "Exit status: 0; 1: there are findings (--fail-on); 2: wrong usage; 3: an input cannot be\n"
        "used.  The command nvcc exits with the status of nvcc.\n", to);
}

/* what does not go together depends on the command */
static const tool_parser parser = { "shpool-coalesce", "shpool-coalesce", rows, usage, NULL, 0,
                                    NULL };

tool_options tool_default_options(void)
{
    return (tool_options){ .request = { .waste = 1 }, .least = COALESCE_NOTE, .fail_on = -1,
                           .colour = -1 };
}

int tool_take_words(int argc, char **argv, tool_options *options)
{
    int end = 1;
    int stop;

    while ((end < argc) && (strcmp(argv[end], "--") != 0)) {
        end++;
    }
    options->own       = argv + 1;
    options->own_count = end - 1;
    if (end < argc) {
        options->compiler       = argv + end + 1;
        options->compiler_count = (size_t)(argc - end - 1);
    }
    stop = tool_parse(&parser, end, argv, options);
    if (stop != 0) {
        return stop - 1;
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
