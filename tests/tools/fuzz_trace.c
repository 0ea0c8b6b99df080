/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: the reader of traces, for shpool-bench replay and map.
 *
 * The input is the file.  Operations that were read refer to each other as tools/bench/trace/file.h
 * says, and sums of them agree with a count. */
#include "tests/fuzz.h"

#include "tools/bench/trace/file.h"

const char fuzz_name[] = "trace";

static void check_op(const trace_file *trace, const trace_life *life, uint32_t i)
{
    const trace_op *op = &life->ops[i];
    trace_threads threads = trace_threads_of(op->thread, op->members, trace->block_threads);
    char who[TRACE_WHO_BYTES];

    FUZZ_EXPECT(op->thread < trace->block_threads);
    FUZZ_EXPECT((threads.count >= 1) && (threads.first < trace->block_threads) &&
                (threads.count <= trace->block_threads - threads.first));
    FUZZ_EXPECT(strlen(trace_who(op->thread, op->members, trace->block_threads, who)) <
                TRACE_WHO_BYTES);
    switch (op->kind) {
    case TRACE_SKIP:
        break;
    case TRACE_MALLOC:
        FUZZ_EXPECT(op->object == i);
        FUZZ_EXPECT((op->end == TRACE_NONE) || ((op->end > i) && (op->end <= life->count)));
        break;
    default:
        FUZZ_EXPECT(op->object < i);
        FUZZ_EXPECT(life->ops[op->object].kind == TRACE_MALLOC);
        FUZZ_EXPECT(life->ops[op->object].end >= i);
        break;
    }
}

static void check_trace(const trace_file *trace)
{
    trace_sums sums;
    unsigned long long frees = 0;

    FUZZ_EXPECT((trace->count > 0) && (trace->block_threads > 0) && (trace->pools > 0));
    for (uint32_t i = 0; i < trace->count; i++) {
        const trace_life *life = &trace->lives[i];

        for (uint32_t j = 0; j < life->count; j++) {
            check_op(trace, life, j);
            frees += (life->ops[j].kind == TRACE_FREE);
        }
    }
    memset(&sums, 0, sizeof(sums));
    trace_file_sums(trace, &sums);
    FUZZ_EXPECT(sums.frees == frees);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_BYTES];
    char why[300] = "";
    trace_file trace;
    int fd = fuzz_file(data, size, path);

    if (trace_file_read(path, &trace, why, sizeof(why)) == 0) {
        FUZZ_EXPECT(why[0] == '\0');
        check_trace(&trace);
    } else {
        FUZZ_EXPECT((strstr(why, path) != NULL) && (trace.lives == NULL));
    }
    trace_file_free(&trace);
    (void)close(fd);
    return 0;
}
