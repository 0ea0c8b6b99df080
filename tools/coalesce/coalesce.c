/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-coalesce: finds uncoalesced memory accesses, and rewrites them where that pays. */
#include "tool.h"

#include "tools/options.h"
#include "tools/output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
