/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench without kernels for GPUs: what the files of nvcc define. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "gpu.h"
#include "tools/bench/block/block.h"
#include "tools/bench/loadstore/loadstore.h"
#include "tools/bench/trace/replay.h"

#ifdef HAVE_CUDA_DEVICE
#define NO_CUDA "this shpool-bench was built without kernels for GPUs (--disable-bench-kernels)"
#else
#define NO_CUDA "this build has no CUDA (--without-cuda)"
#endif

int bench_cuda_present(char *text, size_t bytes)
{
    snprintf(text, bytes, NO_CUDA);
    return 0;
}

int bench_cuda_runtime(void)
{
    return 0;
}

int bench_cuda_row(const bench_options *options, const bench_point *point, bench_row *row)
{
    (void)options;
    (void)point;
    snprintf(row->note, sizeof(row->note), NO_CUDA);
    return -1;
}

void bench_loadstore_shapes(bench_ls_shapes *shapes)
{
    memset(shapes, 0, sizeof(*shapes));
}

int bench_loadstore_run(const bench_ls_options *options, bench_ls_sink sink, void *user,
                        char *error)
{
    (void)options;
    (void)sink;
    (void)user;
    snprintf(error, 256, NO_CUDA);
    return -1;
}

int replay_cuda(const replay_script *script, const replay_shape *shape, replay_tally *tally_p,
                char *why, size_t why_bytes)
{
    (void)script;
    (void)shape;
    memset(tally_p, 0, sizeof(*tally_p));
    snprintf(why, why_bytes, NO_CUDA);
    return -1;
}
