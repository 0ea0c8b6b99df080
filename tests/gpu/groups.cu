/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of groups (shpool/group.h, shpool/groups.cuh, shpool/wait.h) of every allocator, on a
 * GPU: by function table, and with bitmap inlined and linked at run time.
 *
 * Exit code 0: all passed, 1: something failed, 77: no device.  Arguments: allocators to test;
 * none: all.
 */
#define GROUPS_KERNEL groups_kernel_table
#include "groups_kernel.cuh"

#include "groups_cg.cuh"
#include "groups_check.cuh"
#include "groups_wait.cuh"

static uint32_t most_pool; /* bytes of a pool, so that a block has room for its letter boxes */

static bool serves(const shpool_allocator *allocator)
{
    return (allocator->caps & (SHPOOL_CAP_NONE | SHPOOL_CAP_SPILL)) == 0;
}

/* Options for one pool for the whole block, where the allocator can have that. */
static const char *for_block(const shpool_allocator *allocator, uint32_t threads)
{
    static char options[64];

    if (allocator->scope != SHPOOL_SCOPE_GROUP) {
        return "alignment=16";
    }
    (void)std::snprintf(options, sizeof(options), "threads_per_pool=%u", threads);
    return options;
}

static void expect_sound(const char *binding, const char *what, const counts &c)
{
    for (int kind = 0; kind < E_COUNT; kind++) {
        (void)gpu_check(c.error[kind] == 0, "%s, %s: %s (%u times)", binding, what,
                        error_text[kind], c.error[kind]);
    }
}

/* Exactly one line in the statistics for each request of a group. */
static void expect_report(const char *spec, const shpool_pool &pool, const counts &c, uint32_t grid)
{
    shpool_report_data report = {};

    if (!gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "report: %s", shpool_last_error())) {
        return;
    }
    (void)gpu_check((report.empty == 0) && (report.blocks == grid) && (report.live == 0) &&
                        (report.leaks == 0) && (report.bad_frees == 0) && (report.corrupt == 0),
                    "%s: status %d, blocks %u, live %llu, leaks %u, bad frees %u, corrupt %u", spec,
                    report.status, report.blocks, report.live, report.leaks, report.bad_frees,
                    report.corrupt);
    if ((pool.flags & SHPOOL_FLAG_SPILL) != 0) {
        (void)gpu_check(report.spills > 0, "%s: nothing was spilled", spec);
        return;
    }
    if ((pool.flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) == 0) {
        return;
    }
    (void)gpu_check(report.mallocs == c.tally[T_MALLOCS], "%s: %llu mallocs, not %llu", spec,
                    report.mallocs, c.tally[T_MALLOCS]);
    (void)gpu_check(report.failures == c.tally[T_NULLS], "%s: %llu failures, not %llu", spec,
                    report.failures, c.tally[T_NULLS]);
    (void)gpu_check(report.frees == c.tally[T_FREES], "%s: %llu frees, not %llu", spec,
                    report.frees, c.tally[T_FREES]);
}

/* Open the largest pool, launch, judge. */
static void test_letters(const shpool_allocator *allocator, const char *options, uint32_t most,
                         const groups_shape &shape)
{
    counts      c    = {};
    shpool_pool pool = {};
    char        spec[96];

    spec_of(allocator, options, spec);
    if (!open_within(spec, shape.threads, most, 0, &pool)) {
        return;
    }
    if (groups_launch(spec, (const void *)groups_kernel_table, pool, shape, &c)) {
        expect_sound("table", spec, c);
        if (serves(allocator) && ((allocator->caps & SHPOOL_CAP_FREE) != 0)) {
            (void)gpu_check(c.tally[T_NULLS] * 4u < c.tally[T_MALLOCS] * 3u,
                            "%s: %llu of %llu requests failed", spec, c.tally[T_NULLS],
                            c.tally[T_MALLOCS]);
        }
        if (pool.report != NULL) {
            expect_report(spec, pool, c, shape.grid);
        }
    }
    (void)gpu_check(shpool_close(&pool) == SHPOOL_OK, "close: %s", shpool_last_error());
}

static exactness exactness_of(const shpool_allocator *allocator)
{
    if ((allocator->caps & SHPOOL_CAP_FREE) == 0) {
        return EXACT_NOT; /* a stack */
    }
    return ((allocator->caps & SHPOOL_CAP_GROUP) != 0) ? EXACT_BYTES : EXACT_NULL;
}

static void test_scopes(const shpool_allocator *allocator)
{
    const exactness exact = exactness_of(allocator);

    for (uint32_t threads : {1u, 33u, 77u, 256u, 1024u}) {
        test_letters(allocator, "alignment=16", most_pool, {132, threads, 40, exact});
        if (allocator->scope == SHPOOL_SCOPE_GROUP) {
            test_letters(allocator, for_block(allocator, threads), most_pool,
                         {132, threads, 40, exact});
        }
    }
    test_letters(allocator, "alignment=16", 8u * 1024u, {264, 64, 100, exact});
    if (allocator->scope >= SHPOOL_SCOPE_BLOCK) {
        test_letters(allocator, "alignment=1024", most_pool, {132, 96, 60, EXACT_NOT});
    }
    test_letters(allocator, "stats=1", most_pool, {66, 96, 40, EXACT_NOT});
    if ((allocator->caps & SHPOOL_CAP_CHECK) != 0) {
        test_letters(allocator, "check=1", most_pool, {33, 96, 20, EXACT_NOT});
    }
    /* CUDA's heap is slow */
    test_letters(allocator, "spill=native", 6u * 1024u, {33, 96, 20, EXACT_NOT});
    if (allocator->scope != SHPOOL_SCOPE_CLUSTER) {
        test_letters(allocator, "spill=arena,spill_bytes=64K,stats=1", 6u * 1024u,
                     {66, 96, 40, EXACT_NOT});
    }
}

static void test_types(const shpool_allocator *allocator)
{
    for (uint32_t threads : {1u, 45u, 64u}) {
        shpool_config want = {};
        shpool_pool   pool = {};

        want.block_threads = threads;
        want.payload_bytes = threads * 640u + 4096u;
        if (gpu_check(shpool_open(allocator->name, &want, &pool) == SHPOOL_OK, "open: %s",
                      shpool_last_error())) {
            run("types", pool, types, 132, threads, pool.shared_bytes, NULL, 12u);
        }
        (void)shpool_close(&pool);
    }
}

/* Bad frees by groups, in each mode that refuses them. */
static void test_refusals(const shpool_allocator *allocator, const char *options, bool exact)
{
    const uint32_t     grid   = 10;
    const uint32_t     bad    = 3u * REFUSED_PER_TEAM + 2u;
    shpool_report_data report = {};
    shpool_pool        pool   = {};
    char               spec[96];

    spec_of(allocator, options, spec);
    if (!open_within(spec, 64, most_pool, 0, &pool)) {
        return;
    }
    run("refusals", pool, refusals, grid, 64, pool.shared_bytes, NULL,
        static_cast<uint32_t>(exact));
    if (pool.report != NULL) {
        (void)gpu_check((shpool_report(&pool, &report) == SHPOOL_OK) &&
                            (report.bad_frees == bad * grid) && (report.live == 0) &&
                            (report.corrupt == 0) && (report.frees == 4u * grid),
                        "%s: %u bad frees, not %u; live %llu, corrupt %u, %llu proper frees, not "
                        "%u", spec, report.bad_frees, bad * grid, report.live, report.corrupt,
                        report.frees, 4u * grid);
    }
    (void)shpool_close(&pool);
}

static void test_disagreement(const shpool_allocator *allocator)
{
    const uint32_t     grid   = 3;
    shpool_report_data report = {};
    shpool_pool        pool   = {};
    uint32_t           other  = 0;
    char               spec[96];

    spec_of(allocator, "check=1", spec);
    if (!open_within(spec, DISAGREE_THREADS, most_pool, 32, &pool)) {
        return;
    }
    run("disagree", pool, disagree, grid, DISAGREE_THREADS, pool.shared_bytes, NULL);
    if (gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "report: %s", shpool_last_error())) {
        (void)gpu_check((report.bad_frees == DISAGREEMENTS * grid) &&
                            (report.mallocs == 9u * grid) && (report.failures == 7u * grid) &&
                            (report.refusals == 7u * grid) && (report.frees == 2u * grid) &&
                            (report.refused.reason == SHPOOL_REFUSED_GROUP) &&
                            (report.live == 0) && (report.corrupt == 0),
                        "%s: %u disagreements, not %u; %llu mallocs, not %u; %llu failures, %llu "
                        "frees, live %llu, corrupt %u", spec, report.bad_frees,
                        DISAGREEMENTS * grid, report.mallocs, 9u * grid, report.failures,
                        report.frees, report.live, report.corrupt);
        for (const shpool_bad_free &bad : report.bad_free) {
            other += bad.reason != SHPOOL_FREE_GROUP;
        }
        (void)gpu_check(other == 0, "%s: %u disagreements have another reason", spec, other);
    }
    (void)shpool_close(&pool);
}

/* Memory for about eight, and 32 warps that want it; then with one that always wants all of it. */
static void test_waiting(const shpool_allocator *allocator)
{
    shpool_config want = {};
    shpool_pool   pool = {};
    char          spec[96];

    if ((allocator->scope == SHPOOL_SCOPE_THREAD) || ((allocator->caps & SHPOOL_CAP_FREE) == 0)) {
        return;
    }
    spec_of(allocator, for_block(allocator, WAIT_THREADS), spec);
    want.block_threads = WAIT_THREADS;
    want.payload_bytes = 8u * 1024u;
    if (gpu_check(shpool_open(spec, &want, &pool) == SHPOOL_OK, "open: %s", shpool_last_error())) {
        test_queue(pool, "all alike", pool.largest / 8u, pool.largest / 8u, 40, 1000);
        test_queue(pool, "a large one among them", pool.largest / 8u, pool.largest, 20, 1000);
        test_queue(pool, "all want everything", pool.largest, pool.largest, 10, 200);
    }
    (void)shpool_close(&pool);
    spec_of(allocator, for_block(allocator, 512), spec);
    for (uint32_t payload : {24u << 10, 64u << 10}) {
        want.block_threads = 512;
        want.payload_bytes = payload;
        if (gpu_check(shpool_open(spec, &want, &pool) == SHPOOL_OK, "open: %s",
                      shpool_last_error())) {
            run("crowd_of_groups", pool, crowd_of_groups, 132, 512, pool.shared_bytes, NULL,
                pool.largest / 3u, 100u);
        }
        (void)shpool_close(&pool);
    }
}

/* Requests of whole clusters. */
static void test_clusters(const char *name, const char *options)
{
    shpool_report_data report = {};
    char               spec[96];

    (void)std::snprintf(spec, sizeof(spec), "%s%s", name, options);
    for (unsigned blocks : {1u, 2u, 4u, 8u}) {
        shpool_config want = {};
        shpool_pool   pool = {};
        counts        c    = {};

        want.block_threads = 96;
        want.payload_bytes = 12000;
        want.alignment     = 128;
        if (!gpu_check(shpool_open(spec, &want, &pool) == SHPOOL_OK, "open: %s",
                       shpool_last_error())) {
            continue;
        }
        if (gpu_cuda(cudaMemset(device_counts, 0, sizeof(c)), "cudaMemset") &&
            gpu_check(shpool_launch_cluster(clusters, dim3(blocks * 16u), dim3(blocks), dim3(96),
                                            pool.shared_bytes, 0, pool, 20u,
                                            device_counts) == SHPOOL_OK, "clusters of %u: %s",
                      blocks, shpool_last_error())) {
            gpu_wait("clusters");
            (void)gpu_cuda(cudaMemcpy(&c, device_counts, sizeof(c), cudaMemcpyDeviceToHost),
                           "cudaMemcpy");
            expect_sound(spec, "clusters", c);
        }
        if (pool.report != NULL) {
            const bool     serves = pool.scope == SHPOOL_SCOPE_CLUSTER;
            const uint32_t reason = serves ? SHPOOL_REFUSED_ALIGNMENT : SHPOOL_REFUSED_SCOPE;

            (void)gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "report: %s",
                            shpool_last_error());
            (void)gpu_check((report.live == 0) && (report.bad_frees == 0) &&
                                (report.corrupt == 0) && (report.refused.reason == reason) &&
                                (report.refusals == 16u * 20u * (serves ? 2u : 3u)),
                            "%s, clusters of %u: live %llu, bad frees %u, corrupt %u, refusals "
                            "%llu of reason %u", spec, blocks, report.live, report.bad_frees,
                            report.corrupt, report.refusals, report.refused.reason);
        }
        (void)shpool_close(&pool);
    }
}

static void test_bindings(void)
{
    for (uint32_t threads : {33u, 256u, 1024u}) {
        const groups_shape shape   = {132, threads, 40, EXACT_BYTES};
        counts             c       = {};
        bool               skipped = false;

        if (gpu_check(groups_run_inline(&shape, &c), "inline: the lines above say why")) {
            expect_sound("inline", "bitmap", c);
        }
        for (const char *name : {"bitmap", "warp_best_fit"}) {
            const groups_shape linked = {132, threads, 40, (name[0] == 'b') ? EXACT_BYTES
                                                                            : EXACT_NULL};
            const bool         right  = groups_run_linked(name, &linked, &c, &skipped);

            if (skipped) {
                std::printf("note: run-time linking is skipped: %s\n", shpool_last_error());
            } else if (gpu_check(right, "linked: the lines above say why")) {
                expect_sound("linked", name, c);
            }
        }
    }
}

static void test_allocator(const shpool_allocator *allocator)
{
    if (!serves(allocator)) { /* native: all of it is spilled */
        test_letters(allocator, "alignment=16", most_pool, {33, 96, 10, EXACT_NOT});
        return;
    }
    test_scopes(allocator);
    test_types(allocator);
    if ((allocator->caps & SHPOOL_CAP_REFUSES) != 0) {
        test_refusals(allocator, "alignment=16", false);
    }
    if ((allocator->caps & SHPOOL_CAP_CHECK) != 0) {
        test_refusals(allocator, "check=1", true);
        test_disagreement(allocator);
    }
    test_waiting(allocator);
}

int main(int argc, char **argv)
{
    uint32_t major  = 0;
    int      device = 0;

    gpu_need_device();
    unsetenv("SHPOOL_ALLOCATOR");
    if (!gpu_cuda(cudaGetDevice(&device), "cudaGetDevice") ||
        !gpu_cuda(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                         device), "cudaDeviceGetAttribute") ||
        !gpu_cuda(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 256u << 20), "malloc heap") ||
        !gpu_cuda(cudaMalloc(&device_counts, sizeof(counts)), "cudaMalloc") ||
        (shpool_device_get(cudaDevAttrComputeCapabilityMajor, "cudaDeviceGetAttribute", &major) !=
         SHPOOL_OK)) {
        return 1;
    }
    most_pool = static_cast<uint32_t>(most_shared) - 36u * 1024u;
    most_pool = (most_pool < 96u * 1024u) ? most_pool : 96u * 1024u;
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);
        unsigned                before    = gpu_failed;
        const clock_t           start     = clock();

        if (((allocator->caps & SHPOOL_CAP_NONE) != 0) ||
            !trial_is_chosen(allocator->name, argc, argv)) {
            continue;
        }
        test_allocator(allocator);
        std::printf("%s: %s (%.1f s)\n", allocator->name,
                    (gpu_failed == before) ? "passed" : "FAILED",
                    static_cast<double>(clock() - start) / CLOCKS_PER_SEC);
        std::fflush(stdout);
    }
    test_bindings();
    if (major >= 9) {
        test_clusters("cluster_bitmap", "");
        test_clusters("cluster_bitmap", ":check=1");
        test_clusters("bitmap", ":stats=1");
    }
    (void)gpu_cuda(cudaFree(device_counts), "cudaFree");
    std::printf("%u checks, %u failed\n", gpu_passed + gpu_failed, gpu_failed);
    return (gpu_failed == 0) ? 0 : 1;
}
