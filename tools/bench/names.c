/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: the names of what can be chosen: commands, bindings, workloads. */
#include "config.h"

#include "names.h"
#include "tools/bench/block/workload.h"

void bench_commands(FILE *to)
{
    fputs("commands, each with a --help of its own:\n", to);
#define BENCH_LINE(_name, _summary) fprintf(to, "  %-10s  %s\n", #_name, _summary);
    BENCH_COMMANDS(BENCH_LINE)
#undef BENCH_LINE
}

const char *const bench_command_names[] = {
#define BENCH_NAME(_name, _summary) #_name,
    BENCH_COMMANDS(BENCH_NAME)
#undef BENCH_NAME
    NULL};

const char *const bench_device_names[] = {"cpu", "cuda", NULL};

const char *const bench_binding_names[] = {"table", "inline", "linked", NULL};

const char *const bench_workload_names[] = {
#define BENCH_NAME(_name, _summary) #_name,
    BENCH_WORKLOADS(BENCH_NAME)
#undef BENCH_NAME
    NULL};

const char *const bench_scope_names[] = {
#define BENCH_NAME(_name, _threads, _summary) #_name,
    BENCH_SCOPES(BENCH_NAME)
#undef BENCH_NAME
    NULL};

static const char *const workload_summaries[] = {
#define BENCH_SUMMARY(_name, _summary) _summary,
    BENCH_WORKLOADS(BENCH_SUMMARY)
#undef BENCH_SUMMARY
};

const char *bench_workload_name(size_t index)
{
    return (index < BENCH_COUNT) ? bench_workload_names[index] : NULL;
}

const char *bench_workload_summary(size_t index)
{
    return (index < BENCH_COUNT) ? workload_summaries[index] : NULL;
}
