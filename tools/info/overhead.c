/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-info overhead: the bytes of a block's pools with each allocator, without a GPU. */
#include "info.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tools/options.h"
#include "tools/message.h"

/* The command line's request. */
typedef struct request {
    info_geometry geometry;
    const char *allocator;
} request;

static int take_shared(const tool_given *given, void *field)
{
    return tool_number_hint(given, field, " (the shared memory of a block: 227 KiB at most); it "
                            "may end in K, M or G");
}

static int take_alignment(const tool_given *given, void *field)
{
    uint64_t value;

    if (!shpool_spec_number(given->value, 0, &value) || (value < SHPOOL_MIN_ALIGNMENT) ||
        (value > SHPOOL_MAX_ALIGNMENT) || ((value & (value - 1)) != 0)) {
        tool_say("%s: %s %s: a power of two from %u to %u is needed\n", given->says, given->typed,
                 given->value, SHPOOL_MIN_ALIGNMENT, SHPOOL_MAX_ALIGNMENT);
        return -1;
    }
    *(uint32_t *)field = (uint32_t)value;
    return 0;
}

static int take_arch(const tool_given *given, void *field)
{
    info_geometry *geometry = field;
    const int bad = info_read_arch(given, &geometry->arch);

    geometry->want.shared_limit = geometry->arch.shared_block;
    return bad;
}

/* COUNTxBYTES[@ALIGNMENT], which it cuts up; 0 if it is not one. */
static int read_request(char *text, shpool_request *one)
{
    char *bytes = strchr(text, 'x');
    char *alignment = strchr(text, '@');
    uint64_t value[3] = { 0, 0, SHPOOL_MIN_ALIGNMENT };

    if (bytes == NULL) {
        return 0;
    }
    *bytes++ = '\0';
    if (alignment != NULL) {
        *alignment++ = '\0';
    }
    if (!shpool_spec_number(text, 0, &value[0]) || !shpool_spec_number(bytes, 1, &value[1]) ||
        ((alignment != NULL) && !shpool_spec_number(alignment, 1, &value[2])) ||
        (value[0] == 0) || (value[0] > SHPOOL_MAX_SHARED) || (value[1] > SHPOOL_MAX_SHARED) ||
        (value[2] == 0) || (value[2] > SHPOOL_MAX_ALIGNMENT) ||
        ((value[2] & (value[2] - 1)) != 0)) {
        return 0;
    }
    *one = (shpool_request){ (uint32_t)value[0], (uint32_t)value[1], (uint32_t)value[2], 0 };
    return 1;
}

static int take_requests(const tool_given *given, void *field)
{
    info_geometry *geometry = field;
    const char *list = given->value;
    size_t bytes = strcspn(list, ",");

    for (geometry->requests = 0;; list += bytes + 1, bytes = strcspn(list, ",")) {
        char text[64];
        shpool_request *one = &geometry->request[geometry->requests];

        snprintf(text, sizeof(text), "%.*s", (int)((bytes < sizeof(text)) ? bytes : 0), list);
        if ((geometry->requests == INFO_REQUESTS) || !read_request(text, one)) {
            tool_say("shpool-info overhead: --requests %s: up to %u times COUNTxBYTES or "
                    "COUNTxBYTES@ALIGNMENT are needed, with commas between them, as in "
                    "2x8192,64x100@32; COUNT is at least 1, ALIGNMENT a power of two up to %u\n",
                    list, INFO_REQUESTS, SHPOOL_MAX_ALIGNMENT);
            return -1;
        }
        geometry->requests++;
        if (list[bytes] == '\0') {
            return 0;
        }
    }
}

/* The pool's alignment, if the command line has none, is that of the requests. */
static void align_to_requests(info_geometry *geometry)
{
    for (uint32_t i = 0, given = geometry->want.alignment; (given == 0) && (i < geometry->requests);
         i++) {
        if (geometry->request[i].alignment > geometry->want.alignment) {
            geometry->want.alignment = geometry->request[i].alignment;
        }
    }
    if ((geometry->want.alignment != 0) && (geometry->want.alignment < SHPOOL_MIN_ALIGNMENT)) {
        geometry->want.alignment = SHPOOL_MIN_ALIGNMENT;
    }
}

#define AT(_member) offsetof(request, geometry.want._member)
static const tool_row rows[] = {
    {"--threads N", tool_number, AT(block_threads), 1, SHPOOL_MAX_THREADS, NULL,
     "threads of a block, 1 to 1024"},
    {"--bytes B[K|M|G]", take_shared, AT(payload_bytes), 1, SHPOOL_MAX_SHARED, NULL,
     "payload of all pools of a block"},
    {"--total B[K|M|G]", take_shared, AT(total_bytes), 1, SHPOOL_MAX_SHARED, NULL,
     "instead of --bytes: shared memory that the pools fill"},
    {"--request-bytes B", take_shared, AT(request_bytes), 1, SHPOOL_MAX_SHARED, NULL,
     "largest request that the pools must be able to serve"},
    {"--requests CxB[@A],...", take_requests, offsetof(request, geometry), 0, 0, NULL,
     "instead of --bytes: C requests of B bytes, aligned to A, and so on,\n"
     "which each pool serves at once, in any order"},
    {"--threads-per-pool K", tool_number, AT(threads_per_pool), 1, SHPOOL_MAX_THREADS, NULL,
     "threads that share a pool, 1 to 1024, for allocators of scope group\n"
     "[the allocator's choice]"},
    {"--alignment A", take_alignment, AT(alignment), 0, 0, NULL,
     "largest alignment, a power of two, 16 to 1024 [16]"},
    {"--arch sm_86|native", take_arch, offsetof(request, geometry), 0, 0, NULL,
     "architecture whose limits apply [those of any GPU; no blocks/SM]"},
    {"--allocator NAME|all", tool_text, offsetof(request, allocator), 0, 0, NULL,
     "allocator to compute [all]"},
    {"--stats", tool_flag, AT(flags), SHPOOL_FLAG_STATS, 0, NULL,
     "include the memory for statistics"},
    {"-j, --json", tool_flag, offsetof(request, geometry.json), 1, 0, NULL, NULL},
    TOOL_LINE("  --json, --help"),
    TOOL_ROWS_END,
};

static void usage(FILE *to)
{
    fputs("usage: shpool-info overhead --threads N --bytes B[K] [options]\n\n", to);
    tool_rows_print(to, rows, 25);
    fputs("The column overhead compares shared_bytes with --bytes; with --total and --requests, "
          "with\nthe bytes that the pools can hold.\n", to);
}

static int check(int argc, char **argv, void *options)
{
    request *asked = options;
    const shpool_config *want = &asked->geometry.want;
    const int sizes = (want->payload_bytes != 0) + (want->total_bytes != 0) +
                      (asked->geometry.requests != 0);
    const char *wrong = (want->block_threads == 0) ? "--threads is missing"
                        : (sizes == 0) ? "--bytes, --total or --requests is missing"
                        : (sizes > 1) ? "--bytes, --total and --requests exclude each other; give "
                                        "one" : NULL;

    if (optind < argc) {
        tool_say("shpool-info overhead: unexpected argument %s\n", argv[optind]);
        return -1;
    }
    if (wrong != NULL) {
        tool_say("shpool-info overhead: %s\n", wrong);
        return -1;
    }
    align_to_requests(&asked->geometry);
    return 0;
}

static const tool_parser parser = { "shpool-info overhead", "shpool-info overhead", rows, usage,
                                    check, 0, NULL };

static void print_row(const info_geometry *geometry, const shpool_allocator *allocator,
                      shpool_status status, const shpool_pool *pool)
{
    printf("%-20s %-7s ", allocator->name, info_scope(allocator->scope));
    if (status != SHPOOL_OK) {
        printf("%s\n", shpool_last_error());
        return;
    }
    printf("%6u %11u %9u %13u ", pool->pools, pool->pool_bytes, pool->largest, pool->shared_bytes);
    if (pool->largest > 0) {
        double payload = (geometry->want.payload_bytes != 0)
                             ? geometry->want.payload_bytes
                             : (double)pool->pools * pool->largest;

        printf("%8.1f%%", 100.0 * pool->shared_bytes / payload - 100.0);
    } else {
        printf("%9s", "-");
    }
    if (geometry->arch.arch != 0) {
        printf(" %10u", shpool_blocks_per_sm(pool, &geometry->arch, 0));
    }
    putchar('\n');
}

int info_overhead(int argc, char **argv, int json)
{
    request asked = { .allocator = "all", .geometry = { .json = json } };
    const shpool_allocator *only = NULL;
    info_tally tally = { 0, 0 };
    int stop;

    optind = 1;
    stop   = tool_parse(&parser, argc, argv, &asked);
    if (stop != 0) {
        return stop - 1;
    }
    if ((strcmp(asked.allocator, "all") != 0) &&
        (shpool_allocator_find(asked.allocator, &only) != SHPOOL_OK)) {
        return info_failed();
    }
    if (asked.geometry.json) {
        return json_overhead(&asked.geometry, only);
    }

    printf("%-20s %-7s %6s %11s %9s %13s %9s%s\n", "allocator", "scope", "pools", "pool_bytes",
           "largest", "shared_bytes", "overhead",
           (asked.geometry.arch.arch != 0) ? "  blocks/SM" : "");
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);
        shpool_pool pool;
        shpool_status status;

        if ((only == NULL) || (allocator == only)) {
            status = info_plan(&asked.geometry, allocator, &pool);
            print_row(&asked.geometry, allocator, status, &pool);
            info_tally_count(&tally, status, &pool);
        }
    }
    return info_tally_failed(&tally);
}
