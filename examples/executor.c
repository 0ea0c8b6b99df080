/* SPDX-License-Identifier: BSD-3-Clause */
/* A kernel with a pool on the CPU block executor, without a GPU and without CUDA:
 *
 *   cc executor.c $(pkg-config --cflags --libs shpool) -o executor
 *
 * The program of README.md. */
#include <stdio.h>
#include <shpool/executor.h>
#include <shpool/heap.h>

static void kernel(void *arg)                       /* runs once for each thread of the block */
{
    shpool_pool *pool = arg;
    shpool_heap heap = shpool_init(pool, simt_from_shared(simt_dynamic_base()));
    unsigned n = simt_thread_rank() + 1;            /* each thread needs a row of another length */
    unsigned *row = shpool_malloc(heap, n * sizeof *row);
    if (row) row[n - 1] = n;                        /* exhausted: NULL */
    if (n == 64) printf("thread 63: %s from %s\n", row ? "256 bytes" : "NULL", pool->name);
    shpool_free(heap, row);
    shpool_fini(heap);
}

int main(void)
{
    shpool_config want = {.block_threads = 64, .payload_bytes = 16 * 1024};
    shpool_pool pool;
    simt_result result;
    if (shpool_simt_open(NULL, &want, &pool)) {     /* NULL: $SHPOOL_ALLOCATOR, else bitmap */
        puts(shpool_last_error());
        return 1;
    }
    simt_launch launch = {.block = {64}, .dynamic_bytes = pool.shared_bytes};
    if (simt_run(&launch, kernel, &pool, &result)) {
        puts(result.text);
        return 1;
    }
    return shpool_simt_close(&pool);
}
