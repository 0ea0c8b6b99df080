/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-info link: join a kernel with an allocator, without a GPU, and print the time. */
#include "info.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/link/cache.h"
#include "lib/link/link.h"
#include "tools/input.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/message.h"

typedef struct request {
    const char *kernel;
    const char *allocator; /* NULL: the default */
    const char *output;    /* NULL: none */
    shpool_arch arch;
    int json;
} request;

static int take_arch(const tool_given *given, void *field)
{
    return info_read_arch(given, field);
}

#define AT(_member) offsetof(request, _member)
static const tool_row rows[] = {
    TOOL_LINE("  KERNEL                 a file of nvcc -DSHPOOL_LINKED -rdc=true -dlto -ltoir, or "
              "a fat\n"
              "                         binary or an object that holds LTO-IR"),
    {"--arch sm_90|native", take_arch, AT(arch), 0, 0, NULL, "architecture of the result"},
    {"--allocator NAME", tool_text, AT(allocator), 0, 0, NULL,
     "allocator to join with the kernel [the default of programs]"},
    {"-o, --output FILE", tool_text, AT(output), 0, 0, NULL, "write the cubin to FILE"},
    {"-j, --json", tool_flag, AT(json), 1, 0, NULL, NULL},
    TOOL_LINE("  --json, --help"),
    TOOL_ROWS_END,
};

static void usage(FILE *to)
{
    fputs("usage: shpool-info link KERNEL --arch sm_90|native [options]\n"
          "\n"
          "Joins a kernel with an allocator's LTO-IR, and prints how long each way took: linking, "
          "the\n"
          "folder SHPOOL_CACHE_DIR if it is set, and the cache in memory.  A GPU is needed only "
          "for\n"
          "--arch native.\n"
          "\n", to);
    tool_rows_print(to, rows, 25);
}

static int check(int argc, char **argv, void *options)
{
    request *asked = options;

    if ((optind == argc) || (asked->arch.arch == 0)) {
        tool_say("shpool-info link: %s is missing\n", (optind == argc) ? "the kernel's file"
                                                                      : "--arch");
        return -1;
    }
    if (optind + 1 < argc) {
        tool_say("shpool-info link: unexpected argument %s\n", argv[optind + 1]);
        return -1;
    }
    asked->kernel = argv[optind];
    return 0;
}

static const tool_parser parser = { "shpool-info link", "shpool-info link", rows, usage, check,
                                    0, NULL };

/* The contents of a file, to be freed by free(); NULL: stderr says why. */
static void *read_file(const char *path, size_t *bytes_p)
{
    const char *why;
    FILE *file = tool_input_open(path, NULL, &why);
    size_t capacity = 0;
    size_t bytes = 0;
    char *data = NULL;
    int bad = (file == NULL);

    while (!bad && !feof(file)) {
        if (bytes == capacity) {
            char *more = realloc(data, capacity = 2 * capacity + 65536);

            bad = (more == NULL);
            data = bad ? data : more;
        }
        bytes += bad ? 0 : fread(data + bytes, 1, capacity - bytes, file);
        bad |= ferror(file) != 0;
    }
    if (bad) {
        tool_say("shpool-info: %s cannot be read: %s\n", path,
                 (why != NULL) ? why : strerror(errno));
        free(data);
        data = NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    *bytes_p = bytes;
    return data;
}

static int write_file(const char *path, const void *data, size_t bytes)
{
    tool_output out;
    int bad = tool_output_begin(&out, path) != 0;

    if (!bad) {
        (void)!fwrite(data, 1, bytes, out.to); /* tool_output_end() reports a failure */
        bad = tool_output_end(&out, 1) != 0;
    }
    if (bad) {
        tool_say("shpool-info: %s cannot be written: %s\n", path, tool_output_error(errno));
    }
    return bad ? EXIT_FAILED : 0;
}

/* One link, timed; the cubin is that of the first. */
static shpool_status link_once(const void *kernel, size_t bytes, const request *asked,
                               info_link *result)
{
    shpool_link_origin origin = SHPOOL_FROM_LINKER;
    struct timespec begin;
    struct timespec end;
    shpool_status status;
    size_t cubin_bytes;
    void *cubin;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    status = shpool_link_from(kernel, bytes, result->allocator, asked->arch.arch, &cubin,
                              &cubin_bytes, &origin);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (status != SHPOOL_OK) {
        return status;
    }
    result->ms[origin] = (double)(end.tv_sec - begin.tv_sec) * 1e3 +
                         (double)(end.tv_nsec - begin.tv_nsec) * 1e-6;
    if (result->cubin == NULL) {
        result->cubin = cubin;
        result->bytes = cubin_bytes;
    } else {
        free(cubin);
    }
    return SHPOOL_OK;
}

/* Every way to the cubin that this process has. */
static shpool_status link_all_ways(const void *kernel, size_t bytes, const request *asked,
                                   info_link *result)
{
    shpool_status status = link_once(kernel, bytes, asked, result);

    if ((status == SHPOOL_OK) && (shpool_config_value(SHPOOL_VARIABLE_CACHE_DIR) != NULL) &&
        (result->ms[SHPOOL_FROM_DISK] == 0)) {
        shpool_memory_clear(); /* as in another process; if it is not on disk, it is joined again */
        status = link_once(kernel, bytes, asked, result);
    }
    return (status == SHPOOL_OK) ? link_once(kernel, bytes, asked, result) : status;
}

static void print_result(const info_link *result, const request *asked)
{
    static const char *const ways[INFO_LINK_WAYS] = { "nvJitLink", "memory", "SHPOOL_CACHE_DIR" };
    char arch[SHPOOL_ARCH_BYTES];

    tool_print("%s with %s for %s: %zu bytes%s%s\n", asked->kernel, result->allocator,
               shpool_arch_name(asked->arch.arch, arch), result->bytes,
               (asked->output != NULL) ? " in " : "", (asked->output != NULL) ? asked->output : "");
    for (unsigned i = 0; i < INFO_LINK_WAYS; i++) {
        if (result->ms[i] > 0) {
            printf("  %-18s %9.3f ms\n", ways[i], result->ms[i]);
        }
    }
}

int info_link_kernel(int argc, char **argv, int json)
{
    request asked = { .json = json };
    info_link result = { .cubin = NULL };
    info_selected selected;
    void *kernel;
    size_t bytes;
    int exit_status;

    optind = 1;
    exit_status = tool_parse(&parser, argc, argv, &asked);
    if (exit_status != 0) {
        return exit_status - 1;
    }
    result.allocator = asked.allocator;
    if (result.allocator == NULL) {
        selected = info_select();
        if (selected.status != SHPOOL_OK) {
            return info_failed();
        }
        result.allocator = selected.selection.allocator->name;
    }
    kernel = read_file(asked.kernel, &bytes);
    if (kernel == NULL) {
        return EXIT_FAILED;
    }
    if (link_all_ways(kernel, bytes, &asked, &result) != SHPOOL_OK) {
        exit_status = info_failed();
    } else if ((asked.output != NULL) && (write_file(asked.output, result.cubin, result.bytes))) {
        exit_status = EXIT_FAILED;
    } else if (asked.json) {
        exit_status = json_link(&result, asked.arch.arch);
    } else {
        print_result(&result, &asked);
    }
    free(result.cubin);
    free(kernel);
    return exit_status;
}
