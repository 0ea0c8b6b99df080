/* SPDX-License-Identifier: BSD-3-Clause */
/* simt_run(): checks a launch, creates a fresh arena for each block, and lets an engine run it.
 *
 * The arena is laid out like a block's shared window on a GPU: the first 1,024 bytes belong to the
 * machine (as on sm_90), then the kernel's static arrays, then dynamic memory.  The arenas of a
 * cluster's blocks are 16 MiB apart, so that their addresses are like sm_90's: the rank in the top
 * byte. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine.h"

#define RESERVED_BYTES   1024u
#define MAX_BLOCKS       0x7fffffffu
#define MAX_OS_THREADS   64u
#define MAX_ARENA_BYTES  (1024u * 1024u) /* of static and of dynamic memory */
#define DEFAULT_SWITCHES 100000000ull
#define DEFAULT_TIMEOUT  10000u
#define DEFAULT_FILL     0xA5u
#define REDZONE_BYTES    4096u           /* after each arena of a cluster, for AddressSanitizer */

/* ---- the launch ---- */

/* Fill in ones for zeros; the product, or 0 if it is more than `most`. */
static uint32_t shape_product(uint32_t *shape, uint32_t most)
{
    unsigned long long product = 1;

    for (uint32_t i = 0; i < 3; i++) {
        shape[i] = (shape[i] == 0) ? 1u : shape[i];
        if (shape[i] > most) {
            return 0;
        }
        product *= shape[i];
    }
    return (product > most) ? 0u : (uint32_t)product;
}

static shpool_status launch_check(simt_block *block)
{
    simt_launch *launch = &block->launch;
    uint32_t     most   = (launch->engine == SIMT_THREADS) ? MAX_OS_THREADS : SHPOOL_MAX_THREADS;

    if ((launch->engine != SIMT_FIBERS) && (launch->engine != SIMT_THREADS)) {
        simt_fail(block, SHPOOL_ERR_INVALID, "simt: engine %d does not exist: use SIMT_FIBERS (0) "
                  "or SIMT_THREADS (1)", (int)launch->engine);
        return block->status;
    }
    block->blocks  = shape_product(launch->grid, MAX_BLOCKS);
    block->each    = shape_product(launch->block, most);
    block->cluster = shape_product(launch->cluster, SIMT_MAX_CLUSTER);
    block->threads = block->each * block->cluster;
    if (block->blocks == 0) {
        simt_fail(block, SHPOOL_ERR_INVALID, "simt: a grid of %ux%ux%u blocks; at most %u in all",
                  launch->grid[0], launch->grid[1], launch->grid[2], MAX_BLOCKS);
    } else if (block->each == 0) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "simt: a block of %ux%ux%u threads; this engine runs at most %u",
                  launch->block[0], launch->block[1], launch->block[2], most);
    } else if ((block->cluster == 0) || (block->threads > most)) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "simt: a cluster of %ux%ux%u blocks of %u threads; at most %u blocks, and this "
                  "engine runs at most %u threads at a time", launch->cluster[0],
                  launch->cluster[1], launch->cluster[2], block->each, SIMT_MAX_CLUSTER, most);
    } else if ((launch->grid[0] % launch->cluster[0] != 0) ||
               (launch->grid[1] % launch->cluster[1] != 0) ||
               (launch->grid[2] % launch->cluster[2] != 0)) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "simt: a grid of %ux%ux%u blocks is not whole clusters of %ux%ux%u",
                  launch->grid[0], launch->grid[1], launch->grid[2], launch->cluster[0],
                  launch->cluster[1], launch->cluster[2]);
    } else if ((launch->dynamic_bytes > MAX_ARENA_BYTES) ||
               (launch->static_bytes > MAX_ARENA_BYTES)) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "simt: %u static and %u dynamic bytes of shared memory; at most %u each",
                  launch->static_bytes, launch->dynamic_bytes, MAX_ARENA_BYTES);
    } else if ((launch->from_zero != 0) &&
               ((block->cluster > 1) || (launch->static_bytes + launch->dynamic_bytes < 16u))) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "simt: from_zero with clusters of %u blocks and %u bytes of shared memory; it "
                  "needs clusters of 1 block, and at least 16 bytes", block->cluster,
                  launch->static_bytes + launch->dynamic_bytes);
    } else if ((launch->arena != NULL) && (block->cluster > 1)) {
        simt_fail(block, SHPOOL_ERR_INVALID, "simt: memory of the caller's for clusters of %u "
                  "blocks; it is possible without clusters only", block->cluster);
    }
    launch->max_switches = (launch->max_switches == 0) ? DEFAULT_SWITCHES : launch->max_switches;
    launch->timeout_ms   = (launch->timeout_ms == 0) ? DEFAULT_TIMEOUT : launch->timeout_ms;
    launch->fill         = (launch->fill == 0) ? DEFAULT_FILL : (launch->fill & 0xffu);
    return block->status;
}

/* Where the arena of the cluster's block `rank` begins. */
static unsigned char *arena_of(const simt_block *block, uint32_t rank)
{
    return block->arena + ((size_t)rank << SIMT_RANK_SHIFT);
}

/* Bytes of address space that a cluster's arenas take. */
static size_t span_of(const simt_block *block)
{
    return (size_t)block->cluster << SIMT_RANK_SHIFT;
}

/* The arenas of a cluster's blocks, with nothing between them that could be touched. */
static shpool_status arenas_create(simt_block *block)
{
    void *map = mmap(NULL, span_of(block), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);

    if (map == MAP_FAILED) {
        simt_fail(block, SHPOOL_ERR_NO_MEMORY, "simt: no address space for %u arenas",
                  block->cluster);
        return block->status;
    }
    block->arena = (unsigned char *)map;
    for (uint32_t rank = 0; rank < block->cluster; rank++) {
        unsigned char *arena = arena_of(block, rank);

        if (mprotect(arena, block->arena_end, PROT_READ | PROT_WRITE) != 0) {
            simt_fail(block, SHPOOL_ERR_NO_MEMORY, "simt: no %u bytes for the arena of block %u of "
                      "a cluster", block->arena_end, rank);
            return block->status;
        }
        simt_poison(arena, RESERVED_BYTES);
        simt_poison(arena + block->arena_end, REDZONE_BYTES);
    }
    return SHPOOL_OK;
}

static shpool_status arena_create(simt_block *block)
{
    uint32_t reserved = (block->launch.from_zero != 0) ? 0u : RESERVED_BYTES;
    void    *arena    = NULL;

    /* as nvlink places dynamic memory, whatever alignment its declaration has */
    block->arena_begin  = reserved;
    block->dynamic_base = reserved + ((block->launch.static_bytes + 15u) & ~15u);
    block->arena_end    = block->dynamic_base + block->launch.dynamic_bytes;
    if (block->cluster > 1) {
        return arenas_create(block);
    }
    if (block->launch.arena != NULL) {
        block->arena = (unsigned char *)block->launch.arena - reserved;
        return SHPOOL_OK;
    }
    if (posix_memalign(&arena, SHPOOL_MAX_ALIGNMENT, block->arena_end) != 0) {
        simt_fail(block, SHPOOL_ERR_NO_MEMORY, "simt: no %u bytes for the arena",
                  block->arena_end);
        return block->status;
    }
    block->arena = (unsigned char *)arena;
    simt_poison(block->arena, reserved);
    return SHPOOL_OK;
}

/* Number of launches in this process. */
static unsigned long long launches;

shpool_status simt_block_create(simt_block *block, const simt_launch *launch, simt_kernel kernel,
                                void *arg, simt_result *result)
{
    *block      = (simt_block){ 0 };
    block->text = (simt_text){ result->text, sizeof(result->text), 0 };
    *result     = (simt_result){ .status = SHPOOL_OK };
    if (simt_self != NULL) {
        simt_fail(block, SHPOOL_ERR_INVALID, "simt: a kernel cannot start another one");
        return block->status;
    }
    if ((launch == NULL) || (kernel == NULL)) {
        simt_fail(block, SHPOOL_ERR_INVALID, "simt: %s is NULL",
                  (launch == NULL) ? "launch" : "kernel");
        return block->status;
    }
    block->launch = *launch;
    block->kernel = kernel;
    block->arg    = arg;
    /* relaxed: only has to be unique */
    block->number = __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
    if ((launch_check(block) != SHPOOL_OK) || (arena_create(block) != SHPOOL_OK)) {
        return block->status;
    }
    block->thread = calloc(block->threads, sizeof(*block->thread));
    if (block->thread == NULL) {
        simt_fail(block, SHPOOL_ERR_NO_MEMORY, "simt: no memory for %u threads", block->threads);
    }
    return block->status;
}

void simt_block_destroy(simt_block *block)
{
    if (block->thread != NULL) {
        for (uint32_t i = 0; i < block->threads; i++) {
            simt_join_drop(block->thread[i].join); /* of threads that were abandoned */
        }
    }
    simt_async_destroy(block);
    free(block->thread);
    if (block->launch.arena != NULL) {
        /* the caller's */
    } else if (block->cluster <= 1) {
        free(block->arena);
    } else if (block->arena != NULL) {
        for (uint32_t rank = 0; rank < block->cluster; rank++) { /* who maps it next is not told */
            simt_unpoison(arena_of(block, rank), RESERVED_BYTES);
            simt_unpoison(arena_of(block, rank) + block->arena_end, REDZONE_BYTES);
        }
        munmap(block->arena, span_of(block));
    }
    block->thread = NULL;
    block->arena  = NULL;
}

void simt_block_renew(simt_block *block)
{
    block->exited = 0;
    block->spent  = 0;
    block->all    = (simt_meeting){ .threads = block->threads };
    simt_async_reset(block);
    for (uint32_t i = 0; i < block->cluster; i++) {
        memset(arena_of(block, i) + block->arena_begin, (int)block->launch.fill,
               block->arena_end - block->arena_begin);
        block->meeting[i] = (simt_meeting){ .threads = block->each };
    }
    for (uint32_t i = 0; i < block->threads; i++) {
        block->thread[i].state = SIMT_STATE_RUNNING;
        block->thread[i].lanes = (simt_lanes){ 0 };
    }
}

/* Coordinates of the n-th place of a shape, x fastest. */
static void place_in(const uint32_t *shape, uint32_t n, uint32_t *at)
{
    at[0] = n % shape[0];
    at[1] = n / shape[0] % shape[1];
    at[2] = n / shape[0] / shape[1];
}

/* Coordinates in the grid of block `rank` of the cluster of that number. */
static void block_index_of(const simt_block *block, uint32_t number, uint32_t rank, uint32_t *at)
{
    const uint32_t *grid = block->launch.grid;
    const uint32_t *many = block->launch.cluster;
    const uint32_t  clusters[3] = { grid[0] / many[0], grid[1] / many[1], grid[2] / many[2] };
    uint32_t        cluster[3];

    place_in(clusters, number, cluster);
    place_in(many, rank, at);
    for (uint32_t i = 0; i < 3; i++) {
        at[i] += cluster[i] * many[i];
    }
}

void simt_block_reset(simt_block *block, uint32_t number)
{
    const uint32_t *grid  = block->launch.grid;
    uint32_t        at[3] = { 0 };

    simt_random_seed(&block->random, block->launch.seed, number);
    block->park_chance = simt_random_below(&block->random, 9);
    block->pauses      = 0;
    for (uint32_t i = 0; i < block->threads; i++) {
        simt_thread *thread = &block->thread[i];
        uint32_t     rank   = i / block->each;
        uint32_t     base   = rank << SIMT_RANK_SHIFT;

        if (i % block->each == 0) {
            block_index_of(block, number, rank, at);
        }
        thread->block = block;
        thread->index = i;
        thread->self  = (simt_self_state){
            .arena          = block->arena,
            .arena_begin    = base + block->arena_begin,
            .arena_end      = base + block->arena_end,
            .dynamic_base   = base + block->dynamic_base,
            .dynamic_bytes  = block->launch.dynamic_bytes,
            .countdown      = 1,
            .rank           = i % block->each,
            .threads        = block->each,
            .block          = at[0] + grid[0] * (at[1] + grid[1] * at[2]),
            .blocks         = block->blocks,
            .block_index    = { at[0], at[1], at[2] },
            .launch         = block->number,
            .cluster_rank   = rank,
            .cluster_blocks = block->cluster,
        };
        place_in(block->launch.block, thread->self.rank, thread->self.thread_index);
    }
    block->rank = block->thread[0].self.block;
    simt_block_renew(block);
}

shpool_status simt_block_close(simt_block *block, simt_result *result)
{
    result->status   = block->status;
    result->switches = block->switches;
    result->block    = block->rank;
    /* not from inside a kernel: fibers share the detail's thread-local memory, which would look
     * like a race to ThreadSanitizer */
    if ((block->status != SHPOOL_OK) && (simt_self == NULL)) {
        shpool_error(block->status, "%s", result->text);
    }
    return block->status;
}

shpool_status simt_run(const simt_launch *launch, simt_kernel kernel, void *arg,
                       simt_result *result)
{
    simt_block  block;
    simt_result own;
    simt_result *out = (result != NULL) ? result : &own;

    if (simt_block_create(&block, launch, kernel, arg, out) != SHPOOL_OK) {
        goto out_destroy;
    }
    block.parallel = block.launch.engine == SIMT_THREADS;
    block.ops      = block.parallel ? &simt_threads_ops : &simt_fibers_ops;
    if (!block.parallel && (simt_fibers_create(&block) != SHPOOL_OK)) {
        goto out_fibers;
    }
    for (uint32_t number = 0; (number < block.blocks / block.cluster) &&
                              (block.status == SHPOOL_OK); number++) {
        simt_block_reset(&block, number);
        if (block.parallel) {
            simt_threads_run(&block);
        } else {
            simt_fibers_run(&block);
        }
    }
out_fibers:
    if (!block.parallel) {
        simt_fibers_destroy(&block);
    }
out_destroy:
    simt_block_destroy(&block);
    return simt_block_close(&block, out);
}
