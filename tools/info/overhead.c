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
    "  --request B[K|M|G]     largest request that the pools must be able to serve\n"
    "  --threads-per-pool K   threads that share a pool, 1 to 1024, for allocators of scope group\n"
    "                         [the allocator's choice]\n"
    "  --alignment A          largest alignment, a power of two, 16 to 1024 [16]\n"
    "  --arch sm_86|native    architecture whose limits apply [those of any GPU; no blocks/SM]\n"
    "  --allocator NAME|all   allocator to compute [all]\n"
    "  --stats                include the memory for statistics\n"
    "  --json, --help\n"
    "The column overhead compares shared_bytes with --bytes; with --total, with the bytes that\n"
    "the pools can hold.\n"
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
static const range request_range   = { "--request", 1, SHPOOL_MAX_SHARED, 1, 0, BYTES_HINT };
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

/* 0, EXIT_HELP, or the exit status. */
static int parse(int argc, char **argv, request *asked)
{
    static const struct option options[] = {
        { "threads", required_argument, NULL, 't' },
        { "bytes", required_argument, NULL, 'b' },
        { "total", required_argument, NULL, 'T' },
        { "request", required_argument, NULL, 'q' },
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
    if ((want->payload_bytes == 0) && (want->total_bytes == 0)) {
        return info_usage_error(&usage, "--bytes or --total is missing", "");
    }
    if ((want->payload_bytes != 0) && (want->total_bytes != 0)) {
        return info_usage_error(&usage, "--bytes and --total exclude each other; give one", "");
    }
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
            status = shpool_plan(allocator->name, &asked.geometry.want, &pool);
            print_row(&asked.geometry, allocator, status, &pool);
            info_tally_count(&tally, status, &pool);
        }
    }
    return info_tally_failed(&tally);
}
