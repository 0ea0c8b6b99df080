/* SPDX-License-Identifier: BSD-3-Clause */
/* trace=FILE on the GPU, in all three bindings: the file has as many calls as the kernel made, in
 * an order in which no allocation overlaps a live one. */
#define TRACE_KERNEL trace_kernel_table
#include "trace_kernel.cuh"

#include <map>

/* A group's call, by its first thread. */
__device__ static void count_group(trace_counts *counts, uint32_t members, const void *ptr)
{
    if (blockIdx.x < TRACE_BLOCKS) {
        (void)atomicAdd(&counts->mallocs, 1u);
        (void)atomicAdd(&counts->frees, (ptr != NULL) ? 1u : 0u);
        (void)atomicAdd(&counts->failures, (ptr == NULL) ? 1u : 0u);
        (void)atomicAdd(&counts->members, members);
    }
}

/* Warps, tiles of 8 lanes, and lanes that took a branch, at the same time; then the block. */
extern "C" __global__ void trace_kernel_groups(shpool_pool pool, trace_counts *counts)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);

    for (uint32_t round = 0; round < TRACE_ROUNDS; round++) {
        uint32_t kind  = (threadIdx.x / 32u + round) % 3u;
        uint32_t lane  = threadIdx.x % 32u;
        uint32_t lanes = (kind == 0) ? ~0u : (kind == 1) ? 0xffu << (lane & 24u)
                         : (lane % 3u == 0) ? 0x49249249u : 0xb6db6db6u;
        void    *ptr   = shpool_malloc_lanes(heap, lanes, 1u + (round * 7u + kind) % 128u);
        void    *all;

        if (lane == __ffs(lanes) - 1u) {
            count_group(counts, __popc(lanes), ptr);
        }
        shpool_free_lanes(heap, lanes, ptr);
        all = shpool_malloc_block(heap, 1u + round);
        if (threadIdx.x == 0) {
            count_group(counts, blockDim.x, all);
        }
        shpool_free_block(heap, all);
    }
    shpool_fini(heap);
}

/* The contents of one file. */
struct found {
    trace_counts counts;
    uint32_t     blocks;
    uint32_t     odd; /* overlaps, frees of nothing, refusals, drops */
    bool         ended;
};

typedef std::map<unsigned, unsigned> live_map; /* where, and how many bytes */

static bool overlaps(const live_map &live, unsigned place, unsigned usable)
{
    live_map::const_iterator next = live.lower_bound(place);

    if ((next != live.end()) && (next->first < place + usable)) {
        return true;
    }
    return (next != live.begin()) && ((--next)->first + next->second > place);
}

static void read_line(const char *line, found *f, live_map *live)
{
    unsigned thread = 0, others = 0, place, bytes, usable, reason;
    char     rest[256] = ""; /* after the letter and the threads */

    if ((sscanf(line, "%*[mf] %u+%u%255[^\n]", &thread, &others, rest) != 3) &&
        (sscanf(line, "%*[mf] %u%255[^\n]", &thread, rest) == 2)) {
        others = 0;
    }
    f->odd += (rest[0] != '\0') && (thread + others >= TRACE_THREADS);
    if ((line[0] == 'm') && (sscanf(rest, " 0x%x %u %u", &place, &bytes, &usable) == 3)) {
        f->counts.mallocs++;
        f->counts.members += others + 1;
        f->odd += (bytes < 1) || (bytes > 128) || (usable < bytes) ||
                  overlaps(*live, place, usable);
        (*live)[place] = usable;
    } else if ((line[0] == 'm') && (sscanf(rest, " - %u", &bytes) == 1)) {
        f->counts.mallocs++;
        f->counts.members += others + 1;
        f->counts.failures++;
    } else if ((line[0] == 'f') && (sscanf(rest, " 0x%x %u", &place, &reason) == 2)) {
        f->counts.frees++;
        f->odd += (live->erase(place) != 1) || (reason != 0);
    } else if (sscanf(line, "block %u launch %u records %u dropped %u", &thread, &place, &bytes,
                      &usable) == 4) {
        f->blocks++;
        f->odd += (usable != 0) || (live->size() != 0);
    } else if (strncmp(line, "end ", 4) == 0) {
        f->ended = true;
        f->odd += live->size() != 0;
    }
}

static void expect_file(const char *binding, const char *path, const trace_counts &counts)
{
    FILE    *file = fopen(path, "r");
    char     line[256];
    found    f = {};
    live_map live;

    if (!gpu_check(file != NULL, "%s: no file", binding)) {
        return;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        read_line(line, &f, &live);
    }
    (void)fclose(file);
    (void)remove(path);
    gpu_check(f.counts.mallocs == counts.mallocs, "%s: %u mallocs are in the file, %u were made",
              binding, f.counts.mallocs, counts.mallocs);
    gpu_check(f.counts.frees == counts.frees, "%s: %u frees are in the file, %u were made", binding,
              f.counts.frees, counts.frees);
    gpu_check(f.counts.failures == counts.failures, "%s: %u failures are in the file, not %u",
              binding, f.counts.failures, counts.failures);
    gpu_check(f.counts.members == counts.members, "%s: %u threads made the mallocs of the file, "
              "not %u", binding, f.counts.members, counts.members);
    gpu_check((f.blocks == TRACE_BLOCKS) && f.ended, "%s: %u blocks", binding, f.blocks);
    gpu_check(f.odd == 0, "%s: %u records are odd", binding, f.odd);
    gpu_check(counts.mallocs > TRACE_THREADS, "%s: %u mallocs were made", binding, counts.mallocs);
}

static void run_table(const char *allocator, const char *path, const void *kernel)
{
    trace_counts counts = {};
    shpool_pool  pool;

    if (trace_open(allocator, path, &pool) && trace_launch(kernel, &pool, &counts)) {
        expect_file(allocator, path, counts);
    }
}

int main(void)
{
    static const char path[] = "gpu_trace.trace";
    trace_counts      counts = {};
    shpool_config     want   = {};
    bool              skipped = false;
    shpool_pool       pool;

    gpu_need_device();
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if (((allocator->caps & (SHPOOL_CAP_SPILL | SHPOOL_CAP_NONE)) == 0) &&
            (allocator->scope != SHPOOL_SCOPE_CLUSTER)) {
            run_table(allocator->name, path, (const void *)trace_kernel_table);
            if ((allocator->caps & SHPOOL_CAP_FREE) != 0) {
                run_table(allocator->name, path, (const void *)trace_kernel_groups);
            }
        }
    }
    if (trace_run_inline(path, &counts)) {
        expect_file("inline", path, counts);
    }
    for (const char *allocator : {"bitmap", "warp_best_fit"}) {
        counts = {};
        if (trace_run_linked(allocator, path, &counts, &skipped)) {
            expect_file("linked", path, counts);
        } else if (skipped) {
            std::printf("note: run-time linking is skipped: %s\n", shpool_last_error());
        }
    }
    want.block_threads = 32;
    want.payload_bytes = 1024;
    gpu_check(shpool_open("bitmap:trace=/nowhere/at/all", &want, &pool) == SHPOOL_ERR_SYSTEM,
              "a file that cannot be: %s", shpool_last_error());
    return gpu_summary();
}
