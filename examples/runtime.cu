/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shape of every kernel that uses a pool: init, malloc, use, free, fini.  The allocator is
 * chosen at run time; the kernel is not recompiled for it.
 *
 *   nvcc -rdc=true runtime.cu -o runtime $(pkg-config --cflags --libs shpool)
 *   ./runtime                                          the build's default
 *   SHPOOL_ALLOCATOR=bitmap:payload_bytes=16K ./runtime
 *   SHPOOL_PLUGIN_PATH=$PWD SHPOOL_ALLOCATOR=own ./runtime     ../plugin's
 *   ./runtime thread_first_fit:check=1
 *
 * At compile time: -DSHPOOL_INLINE=bitmap -DSHPOOL_CHECK (for the statistics), without -rdc=true.
 *
 * Prints the pool's statistics.  One allocation in each block is leaked on purpose: the report
 * shows it as live.
 */
#include "machine.h"

#define BLOCKS  16u
#define THREADS 64u

/* Build a list of `length` nodes, walk it and free it again. */
struct node {
    node    *next;
    unsigned value;
};

static __global__ void lists(shpool_pool pool, unsigned length)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    node       *head = NULL;

    for (unsigned i = 0; i < length; i++) {
        node *n = static_cast<node *>(shpool_malloc(heap, sizeof(*n)));

        if (n == NULL) {
            break; /* the report counts it as a failure */
        }
        n->value = i;
        n->next  = head;
        head     = n;
    }
    while (head != NULL) {
        node *next = head->next;

        if ((threadIdx.x != 0) || (next != NULL)) { /* thread 0 leaks its last one */
            shpool_free(heap, head);
        }
        head = next;
    }
    shpool_fini(heap);
}

int main(int argc, char **argv)
{
    const char        *spec   = (argc > 1) ? argv[1] : NULL; /* NULL: $SHPOOL_ALLOCATOR */
    shpool_config      want   = {};
    shpool_pool        pool   = {};
    shpool_report_data report = {};

    want.block_threads = THREADS;
    want.payload_bytes = 32 * 1024;
    want.flags         = SHPOOL_FLAG_STATS; /* as "stats=1" in the spec */
    machine_need(shpool_plan(spec, &want, &pool), "allocator"); /* needs no device */
    if (machine_name("runtime") == nullptr) { return 77; }
    machine_need(shpool_open(spec, &want, &pool), "pool");
    machine_need(shpool_launch(lists, BLOCKS, THREADS, NULL, &pool, 12), "launch");
    machine_need(shpool_report(&pool, &report), "report"); /* waits for the kernel */
    if (report.status != SHPOOL_OK) {
        machine_fail("kernel", shpool_strerror(static_cast<shpool_status>(report.status)));
    }

    std::printf("allocator     %s, %u pools of %u bytes\n", pool.name, pool.pools, pool.pool_bytes);
    std::printf("requests      %llu, of which failed %llu, in global memory %llu\n", report.mallocs,
                report.failures, report.spills);
    std::printf("frees         %llu, bad ones %u\n", report.frees, report.bad_frees);
    std::printf("never freed   %llu, %llu bytes (one a block is meant)\n", report.live,
                report.live_bytes);
    std::printf("peak          %u bytes in one block\n", report.peak_bytes);
    std::printf("largest free  %u bytes at the end\n", report.largest_free);
    machine_need(shpool_close(&pool), "close");
    return 0;
}
