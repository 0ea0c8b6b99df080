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
#define BENCH_NAME(_name, ...) #_name,
    BENCH_WORKLOADS(BENCH_NAME)
#undef BENCH_NAME
    NULL};

const char *const bench_scope_names[] = {
#define BENCH_NAME(_name, _threads, _summary) #_name,
    BENCH_SCOPES(BENCH_NAME)
#undef BENCH_NAME
    NULL};

static const bench_workload workloads[] = {
#define BENCH_ROW(_name, _least, _traits, _summary) {#_name, _least, _traits, _summary},
    BENCH_WORKLOADS(BENCH_ROW)
#undef BENCH_ROW
    {NULL, 0, 0, NULL}};

const bench_workload *bench_workload_at(size_t index)
{
    return &workloads[(index < BENCH_COUNT) ? index : BENCH_COUNT];
}

uint32_t bench_box_bytes(size_t workload, uint32_t threads)
{
    const uint32_t traits = bench_workload_at(workload)->traits;

    return ((traits & BENCH_BOXES) != 0) ? 8u * threads : ((traits & BENCH_TURNS) != 0) ? 8u : 0u;
}
