/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-info overhead: the bytes of a block's pools with each allocator, without a GPU. */
#include "info.h"

#include <stdio.h>
#include <string.h>

#include "tools/options.h"
#include "tools/message.h"

static const info_usage usage = {
    "shpool-info overhead",
    "usage: shpool-info overhead --threads N --bytes B[K] [options]\n"
    "\n"
    "  --threads N            threads of a block, 1 to 1024\n"
    "  --bytes B[K|M|G]       payload of all pools of a block\n"
    "  --total B[K|M|G]       instead of --bytes: shared memory that the pools fill\n"
    "  --request-bytes B      largest request that the pools must be able to serve\n"
    "  --requests CxB[@A],... instead of --bytes: C requests of B bytes, aligned to A, and so on,\n"
    "                         which each pool serves at once, in any order\n"
    "  --threads-per-pool K   threads that share a pool, 1 to 1024, for allocators of scope group\n"
    "                         [the allocator's choice]\n"
    "  --alignment A          largest alignment, a power of two, 16 to 1024 [16]\n"
    "  --arch sm_86|native    architecture whose limits apply [those of any GPU; no blocks/SM]\n"
    "  --allocator NAME|all   allocator to compute [all]\n"
    "  --stats                include the memory for statistics\n"
    "  --json, --help\n"
    "The column overhead compares shared_bytes with --bytes; with --total and --requests, with\n"
    "the bytes that the pools can hold.\n"
};

/* The command line's request. */
typedef struct request {
    info_geometry geometry;
    const char *allocator;
} request;

/* Legal values of a numeric option. */
typedef struct range {
    const char *option;
    uint32_t low;
    uint32_t high;
    int suffix;       /* K, M or G may follow */
    int power_of_two;
    const char *hint;
} range;

#define BYTES_HINT " (the shared memory of a block: 227 KiB at most); it may end in K, M or G"

static const range threads_range   = { "--threads", 1, SHPOOL_MAX_THREADS, 0, 0, "" };
static const range bytes_range     = { "--bytes", 1, SHPOOL_MAX_SHARED, 1, 0, BYTES_HINT };
static const range total_range     = { "--total", 1, SHPOOL_MAX_SHARED, 1, 0, BYTES_HINT };
static const range request_range   = { "--request-bytes", 1, SHPOOL_MAX_SHARED, 1, 0, BYTES_HINT };
static const range per_pool_range  = { "--threads-per-pool", 1, SHPOOL_MAX_THREADS, 0, 0, "" };
static const range alignment_range = { "--alignment", SHPOOL_MIN_ALIGNMENT, SHPOOL_MAX_ALIGNMENT,
                                       1, 1, "" };

/* 0, or EXIT_USAGE: stderr says what is valid. */
static int number(const char *text, const range *legal, uint32_t *value_p)
{
    uint64_t value;

    if (!shpool_spec_number(text, legal->suffix, &value) || (value < legal->low) ||
        (value > legal->high) || (legal->power_of_two && ((value & (value - 1)) != 0))) {
        tool_say("shpool-info overhead: %s %s: a %s from %u to %u is needed%s\n",
                 legal->option, text, legal->power_of_two ? "power of two" : "number", legal->low,
                 legal->high, legal->hint);
        return EXIT_USAGE;
    }
    *value_p = (uint32_t)value;
    return 0;
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

/* The list of --requests; 0, or EXIT_USAGE: stderr says what is valid. */
static int read_requests(const char *list, info_geometry *geometry)
{
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
            return EXIT_USAGE;
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

/* 0, EXIT_HELP, or the exit status. */
static int parse(int argc, char **argv, request *asked)
{
    static const struct option options[] = {
        { "threads", required_argument, NULL, 't' },
        { "bytes", required_argument, NULL, 'b' },
        { "total", required_argument, NULL, 'T' },
        { "request-bytes", required_argument, NULL, 'q' },
        { "requests", required_argument, NULL, 'Q' },
        { "threads-per-pool", required_argument, NULL, 'k' },
        { "alignment", required_argument, NULL, 'a' },
        { "arch", required_argument, NULL, 'r' },
        { "allocator", required_argument, NULL, 'n' },
        { "stats", no_argument, NULL, 's' },
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    shpool_config *want = &asked->geometry.want;
    int status = 0;
    int sizes;
    char name[TOOL_OPTION_BYTES];
    int option;

    optind = 1;
    while ((status == 0) &&
           ((option = tool_option(usage.command, argc, argv, "jh", options, name)) != -1)) {
        switch (option) {
        case 't': status = number(optarg, &threads_range, &want->block_threads); break;
        case 'b': status = number(optarg, &bytes_range, &want->payload_bytes); break;
        case 'T': status = number(optarg, &total_range, &want->total_bytes); break;
        case 'q': status = number(optarg, &request_range, &want->request_bytes); break;
        case 'k': status = number(optarg, &per_pool_range, &want->threads_per_pool); break;
        case 'a': status = number(optarg, &alignment_range, &want->alignment); break;
        case 'Q': status = read_requests(optarg, &asked->geometry); break;
        case 'n': asked->allocator = optarg; break;
        case 's': want->flags |= SHPOOL_FLAG_STATS; break;
        case 'j': asked->geometry.json = 1; break;
        case 'r':
            status = info_read_arch(optarg, &asked->geometry.arch);
            want->shared_limit = asked->geometry.arch.shared_block;
            break;
        case 'h':
            fputs(usage.text, stdout);
            return EXIT_HELP;
        default:
            return info_point_to_help(&usage);
        }
    }
    if (status != 0) {
        return status;
    }
    if (optind < argc) {
        return info_usage_error(&usage, "unexpected argument ", argv[optind]);
    }
    if (want->block_threads == 0) {
        return info_usage_error(&usage, "--threads is missing", "");
    }
    sizes = (want->payload_bytes != 0) + (want->total_bytes != 0) +
            (asked->geometry.requests != 0);
    if (sizes == 0) {
        return info_usage_error(&usage, "--bytes, --total or --requests is missing", "");
    }
    if (sizes > 1) {
        return info_usage_error(&usage, "--bytes, --total and --requests exclude each other; give "
                                "one", "");
    }
    align_to_requests(&asked->geometry);
    return 0;
}

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
    int exit_status = parse(argc, argv, &asked);
    info_tally tally = { 0, 0 };

    if (exit_status != 0) {
        return (exit_status == EXIT_HELP) ? 0 : exit_status;
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
