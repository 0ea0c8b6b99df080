/* SPDX-License-Identifier: BSD-3-Clause */
/* trace=FILE on the GPU, in all three bindings: the file has as many calls as the kernel made, in
 * an order in which nobody is given what another one has. */
#define TRACE_KERNEL trace_kernel_table
#include "trace_kernel.cuh"

#include <map>

/* Of one file. */
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
    unsigned thread, place, bytes, usable, reason;

    if (sscanf(line, "m %u 0x%x %u %u", &thread, &place, &bytes, &usable) == 4) {
        f->counts.mallocs++;
        f->odd += (thread >= TRACE_THREADS) || (bytes < 1) || (bytes > 128) || (usable < bytes) ||
                  overlaps(*live, place, usable);
        (*live)[place] = usable;
    } else if (sscanf(line, "m %u - %u", &thread, &bytes) == 2) {
        f->counts.mallocs++;
        f->counts.failures++;
    } else if (sscanf(line, "f %u 0x%x %u", &thread, &place, &reason) == 3) {
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
    gpu_check((f.blocks == TRACE_BLOCKS) && f.ended, "%s: %u blocks", binding, f.blocks);
    gpu_check(f.odd == 0, "%s: %u records are odd", binding, f.odd);
    gpu_check(counts.mallocs > TRACE_THREADS, "%s: %u mallocs were made", binding, counts.mallocs);
}

static void run_table(const char *allocator, const char *path)
{
    trace_counts counts = {};
    shpool_pool  pool;

    if (trace_open(allocator, path, &pool) &&
        trace_launch((const void *)trace_kernel_table, &pool, &counts)) {
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
            run_table(allocator->name, path);
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
