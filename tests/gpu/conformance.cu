/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract of every registered allocator, on a GPU, through the function table.
 *
 * Kernels (conformance_kernels.cuh) count errors by their kind; the host checks that every count
 * is 0.  Exit code 0: all passed, 1: something failed, 77: no device.  Arguments: allocators to
 * test; none: all.
 */
#include "conformance_kernels.cuh"
#include "checked.h"

static uint32_t *device_sums;

struct shape {
    dim3 block;
    const char *text;
};

static const shape shapes[] = {
    {dim3(1), "1"},       {dim3(31), "31"},     {dim3(32), "32"},      {dim3(33), "33"},
    {dim3(256), "256"},   {dim3(1024), "1024"}, {dim3(16, 3), "16x3"}, {dim3(4, 5, 3), "4x5x3"},
};

static uint32_t threads_of(dim3 block)
{
    return block.x * block.y * block.z;
}

static bool serves(const shpool_allocator *allocator)
{
    return (allocator->caps & SHPOOL_CAP_NONE) == 0;
}

static void test_shapes(const shpool_allocator *allocator)
{
    for (const shape &s : shapes) {
        const uint32_t threads = threads_of(s.block);
        shpool_pool    pool    = {};
        uint32_t       seed    = threads;

        if (!open_within(allocator->name, threads, 47u * 1024u, 0, &pool) &&
            !open_within(allocator->name, threads, static_cast<uint32_t>(most_shared), 0, &pool)) {
            std::printf("note %s: no pool for %s threads in %d B\n", allocator->name, s.text,
                        most_shared);
            continue;
        }
        for (uint32_t grid : {1u, 300u}) {
            run("stress", pool, stress, grid, s.block, pool.shared_bytes, NULL, seed++,
                (grid == 1) ? 400u : 60u, share_of(pool, 3));
            run("limits", pool, limits, grid, s.block, pool.shared_bytes, NULL,
                static_cast<uint32_t>(serves(allocator)));
            if (pool.shared_bytes + 8u * 1024u <= static_cast<uint32_t>(most_shared)) {
                /* not where rounding and headers alone could exhaust the pool */
                if ((pool.largest == 0) || (share_of(pool, 1) >= 64u)) {
                    run("exchange", pool, exchange, grid, s.block, pool.shared_bytes, NULL, 8u,
                        share_of(pool, 3));
                }
            }
        }
        (void)gpu_check(shpool_close(&pool) == SHPOOL_OK, "close: %s", shpool_last_error());
    }
}

/* threads_per_pool: one, of a warp's parts, across warps, a last pool with fewer, all threads. */
static void test_groups(const shpool_allocator *allocator)
{
    char options[32];
    char spec[96];

    if (allocator->scope != SHPOOL_SCOPE_GROUP) {
        return;
    }
    for (uint32_t threads : {100u, 1024u}) {
        for (uint32_t group : {1u, 5u, 8u, 48u, threads}) {
            shpool_pool pool = {};

            std::snprintf(options, sizeof(options), "threads_per_pool=%u", group);
            spec_of(allocator, options, spec);
            /* next to exchange's own arrays */
            if (!gpu_check(open_within(spec, threads,
                                       static_cast<uint32_t>(most_shared) - 8u * 1024u, 0, &pool),
                           "%s: no pool for %u threads", spec, threads)) {
                continue;
            }
            (void)gpu_check((pool.threads_per_pool == group) &&
                                (pool.pools == (threads + group - 1u) / group),
                            "%s: %u pools of %u threads", spec, pool.pools, pool.threads_per_pool);
            run(spec, pool, stress, 40, threads, pool.shared_bytes, NULL, group, 100u,
                share_of(pool, 3));
            run(spec, pool, limits, 4, threads, pool.shared_bytes, NULL, 1u);
            if (share_of(pool, 1) >= 64u) { /* as in test_shapes */
                run(spec, pool, exchange, 40, threads, pool.shared_bytes, NULL, 16u,
                    share_of(pool, 3));
            }
            (void)shpool_close(&pool);
        }
    }
}

static void test_whole_block_memory(const shpool_allocator *allocator)
{
    for (uint32_t threads : {1u, 256u}) {
        shpool_pool pool = {};

        if (!gpu_check(open_within(allocator->name, threads, static_cast<uint32_t>(most_shared), 0,
                                   &pool),
                       "%s: no pool of %u threads in %d B", allocator->name, threads,
                       most_shared)) {
            continue;
        }
        if ((allocator->scope >= SHPOOL_SCOPE_BLOCK) && (pool.largest != 0)) {
            (void)gpu_check(pool.shared_bytes + 64u > static_cast<uint32_t>(most_shared),
                            "%s: one pool of the whole %d B is only %u B", pool.name, most_shared,
                            pool.shared_bytes);
        }
        run("stress (all memory)", pool, stress, 4, threads, pool.shared_bytes, NULL, 77u, 200u,
            share_of(pool, 3));
        run("limits (all memory)", pool, limits, 4, threads, pool.shared_bytes, NULL,
            static_cast<uint32_t>(serves(allocator)));
        (void)shpool_close(&pool);
    }
}

static void test_alignments(const shpool_allocator *allocator)
{
    if ((allocator->caps & SHPOOL_CAP_ALIGNED) == 0) {
        return;
    }
    for (uint32_t alignment = 16; alignment <= SHPOOL_MAX_ALIGNMENT; alignment *= 2u) {
        shpool_pool pool = {};

        if (!gpu_check(open_within(allocator->name, 32, static_cast<uint32_t>(most_shared),
                                   alignment, &pool), "%s: no pool with alignment %u",
                       allocator->name, alignment)) {
            continue;
        }
        run("stress (aligned)", pool, stress, 8, 32, pool.shared_bytes, NULL, alignment, 200u,
            share_of(pool, 3));
        run("limits (aligned)", pool, limits, 2, 32, pool.shared_bytes, NULL,
            static_cast<uint32_t>(serves(allocator)));
        (void)shpool_close(&pool);
    }
}

/* Served, or refused for a reason that capabilities, options or the report declare: as
 * test_every_call_of_every_allocator() of tests/pools/test_conformance.c. */
static void test_calls(const shpool_allocator *allocator, const char *options, bool clusters)
{
    const uint32_t threads  = 96;
    uint32_t       failures = 0;
    uint32_t       refusals = 0;
    shpool_config  want     = {};
    shpool_pool    pool     = {};
    char           spec[96];

    spec_of(allocator, options, spec);
    spec[strlen(spec) - (options[0] == '\0')] = '\0';
    want.block_threads = threads;
    want.payload_bytes = threads * 700u;
    want.alignment     = 64;
    if (!gpu_check(shpool_open(spec, &want, &pool) == SHPOOL_OK, "open \"%s\": %s", spec,
                   shpool_last_error())) {
        return;
    }
    for (uint32_t k = 0; k < CALL_COUNT * FREE_COUNT; k++) {
        const call_row *row  = &call_rows[k / FREE_COUNT];
        const call_row *form = &free_rows[k % FREE_COUNT];
        char            what[192];

        if ((row->who != form->who) || ((row->who == CALL_CLUSTER) && !clusters)) {
            continue;
        }
        call_case c = call_case_of(&pool, k / FREE_COUNT, k % FREE_COUNT);

        std::snprintf(what, sizeof(what), "%s, %s and %s", spec, row->name, form->name);
        run(what, pool, calls, 1, threads, c.mbars + 8u * threads, NULL, c);
        failures += call_failures(&c, threads);
        refusals += call_refusals(&c, threads);
    }
    if (pool.report != NULL) {
        shpool_report_data report = {};

        (void)gpu_check((shpool_report(&pool, &report) == SHPOOL_OK) &&
                            (report.refused.reason == SHPOOL_REFUSED_SIZE),
                        "%s: reason %u", spec, report.refused.reason);
        (void)gpu_check((report.failures == failures) && (report.refusals == refusals) &&
                            (report.live == 0) && (report.bad_frees == 0) &&
                            (report.corrupt == 0),
                        "%s: failures %llu, not %u; refusals %llu, not %u; live %llu, bad frees "
                        "%u, corrupt %u", spec, report.failures, failures, report.refusals,
                        refusals, report.live, report.bad_frees, report.corrupt);
    }
    (void)shpool_close(&pool);
}

/* Where CUDA's heap serves all, a waiting request waits for it. */
static void test_waiting_for_the_heap(const shpool_allocator *allocator)
{
    shpool_report_data report = {};
    shpool_config      want   = {};
    shpool_pool        pool   = {};
    char               spec[96];

    if ((allocator->caps & SHPOOL_CAP_SPILL) == 0) {
        return;
    }
    spec_of(allocator, "stats=1", spec);
    want.block_threads = 64;
    want.payload_bytes = 64;
    if (gpu_check(shpool_open(spec, &want, &pool) == SHPOOL_OK, "open: %s", shpool_last_error())) {
        run("wait_for_heap", pool, wait_for_heap, 1, 64, pool.shared_bytes, NULL);
        (void)gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "report: %s",
                        shpool_last_error());
        (void)gpu_check((report.failures == 1) && (report.refusals == 0) && (report.waits != 0) &&
                            (report.live == 0),
                        "%s: failures %llu, refusals %llu, waits %llu, live %llu", spec,
                        report.failures, report.refusals, report.waits, report.live);
    }
    (void)shpool_close(&pool);
}

static void test_every_call(const shpool_allocator *allocator)
{
    int device = 0;
    int major  = 0;

    if (!gpu_cuda(cudaGetDevice(&device), "cudaGetDevice") ||
        !gpu_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                  "cudaDeviceGetAttribute")) {
        return;
    }
    for (const char *options : {"", "stats=1", "check=1,stats=1", "spill=native",
                                "spill=arena,spill_bytes=64K", "spill=native,stats=1"}) {
        if (((strstr(options, "check") == NULL) || ((allocator->caps & SHPOOL_CAP_CHECK) != 0)) &&
            ((strstr(options, "spill") == NULL) || serves(allocator)) &&
            ((strstr(options, "arena") == NULL) || (allocator->scope != SHPOOL_SCOPE_CLUSTER))) {
            test_calls(allocator, options, major >= 9);
        }
    }
}

static void test_overhead(const shpool_allocator *allocator)
{
    static uint32_t sums[4096];

    for (uint32_t alignment : {16u, 128u}) {
        shpool_pool pool  = {};
        uint32_t    wrong = 0;

        if (((alignment > 16u) && ((allocator->caps & SHPOOL_CAP_ALIGNED) == 0)) ||
            !open_within(allocator->name, 64, static_cast<uint32_t>(most_shared), alignment,
                         &pool)) {
            continue;
        }
        run("layouts", pool, layouts, 1, 64, pool.shared_bytes, NULL, device_sums);
        if (gpu_cuda(cudaMemcpy(sums, device_sums, sizeof(sums), cudaMemcpyDeviceToHost),
                     "cudaMemcpy (sums)")) {
            for (uint32_t i = 0; i < 4096u; i++) {
                shpool_layout l = allocator->layout(i * 16u, alignment);

                wrong += sums[i] != l.bytes * 3u + l.largest * 5u + l.word[0] * 7u +
                                        l.word[1] * 11u;
            }
            (void)gpu_check(wrong == 0, "%s: %u of 4096 layouts differ on host and device",
                            pool.name, wrong);
        }
        (void)shpool_close(&pool);
    }
}

static void test_statistics(const shpool_allocator *allocator)
{
    unsigned long long t[T_COUNT] = {};
    shpool_report_data report     = {};
    shpool_pool        pool       = {};
    char               spec[96];

    spec_of(allocator, "stats=1", spec);
    if (!gpu_check(open_within(spec, 128, 47u * 1024u, 0, &pool), "%s: no pool", spec)) {
        return;
    }
    run("counted", pool, counted, 20, 128, pool.shared_bytes, t);
    if (gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "report: %s", shpool_last_error())) {
        /* each block has requested more than can be, which null does not care about */
        (void)gpu_check((report.status == (((allocator->caps & SHPOOL_CAP_NONE) != 0)
                                               ? SHPOOL_OK : SHPOOL_ERR_TOO_LARGE)) &&
                            (report.refusals == (((allocator->caps & SHPOOL_CAP_NONE) != 0)
                                                     ? report.mallocs : 20u)) &&
                            (report.refused.bytes > 1u << 30 || pool.largest == 0) &&
                            (report.empty == 0) && (report.blocks == 20),
                        "%s: status %d, empty %u, blocks %u", spec, report.status, report.empty,
                        report.blocks);
        (void)gpu_check(report.mallocs == t[T_MALLOCS], "%s: %llu mallocs, not %llu", spec,
                        report.mallocs, t[T_MALLOCS]);
        (void)gpu_check(report.failures == t[T_NULLS], "%s: %llu failures, not %llu", spec,
                        report.failures, t[T_NULLS]);
        (void)gpu_check(report.frees == t[T_FREES], "%s: %llu frees, not %llu", spec, report.frees,
                        t[T_FREES]);
        (void)gpu_check((report.live == t[T_LEAKS]) && (report.live_bytes == t[T_LEAK_BYTES]),
                        "%s: %llu leaks of %llu B, not %llu of %llu B", spec, report.live,
                        report.live_bytes, t[T_LEAKS], t[T_LEAK_BYTES]);
        (void)gpu_check((t[T_LEAKS] != 0) == serves(allocator), "%s: %llu leaks", spec, t[T_LEAKS]);
        (void)gpu_check(report.spills == (((pool.flags & SHPOOL_FLAG_SPILL) != 0)
                                              ? t[T_MALLOCS] - t[T_NULLS] : 0u),
                        "%s: %llu spills", spec, report.spills);
        (void)gpu_check(report.peak_bytes * 20ull >= report.live_bytes, "%s: peak %u", spec,
                        report.peak_bytes);
        (void)gpu_check((report.largest_free <= pool.largest) && (report.bad_frees == 0) &&
                            (report.corrupt == 0),
                        "%s: largest free %u, bad frees %u, corrupt %u", spec, report.largest_free,
                        report.bad_frees, report.corrupt);
    }
    (void)shpool_close(&pool);
}

struct unfit_case {
    const char *text;
    uint32_t    shift;
    uint32_t    global;
    uint32_t    more_threads;
    uint32_t    less_bytes;
    int32_t     status;
    const char *detail; /* in shpool_last_error() after shpool_report() */
};

static void test_unfit(const shpool_allocator *allocator)
{
    static const unfit_case cases[] = {
        {"misaligned base", 8, 0, 0, 0, SHPOOL_ERR_ALIGNMENT, "is not a multiple of 16"},
        {"base in global memory", 0, 1, 0, 0, SHPOOL_ERR_INVALID, "is not in shared memory"},
        {"base too far up", 256, 0, 0, 0, SHPOOL_ERR_LAUNCH, "from the pool's base on"},
        {"too many threads", 0, 0, 1, 0, SHPOOL_ERR_LAUNCH,
         "the launch has 64 threads in a block, the pool is planned for 63;"},
        /* less than a unit goes unnoticed */
        {"too little memory", 0, 0, 0, 256, SHPOOL_ERR_LAUNCH, "from the pool's base on"},
    };
    char spec[96];

    spec_of(allocator, "stats=1", spec);
    for (const unfit_case &u : cases) {
        shpool_report_data report = {};
        shpool_pool        pool   = {};

        if (!gpu_check(open_within(spec, 63, 40u * 1024u, 0, &pool), "%s: no pool", spec)) {
            return;
        }
        run(u.text, pool, unfit, 7, 63u + u.more_threads,
            (pool.shared_bytes > u.less_bytes) ? pool.shared_bytes - u.less_bytes : 0u, NULL,
            u.shift, u.global);
        (void)gpu_check((shpool_report(&pool, &report) == SHPOOL_OK) &&
                            (report.status == u.status) && (report.empty == 7) &&
                            (report.blocks == 0) &&
                            (report.mallocs == 7u * 2u * (63u + u.more_threads)) &&
                            (report.failures == report.mallocs) &&
                            (report.refusals == report.mallocs) &&
                            (report.refused.reason == SHPOOL_REFUSED_EMPTY),
                        "%s, %s: status %d (not %d), empty %u, blocks %u, mallocs %llu, failures "
                        "%llu, refusals %llu", spec, u.text, report.status, u.status, report.empty,
                        report.blocks, report.mallocs, report.failures, report.refusals);
        (void)gpu_check(strstr(shpool_last_error(), u.detail) != NULL, "%s, %s: \"%s\" lacks "
                        "\"%s\"", spec, u.text, shpool_last_error(), u.detail);
        (void)shpool_close(&pool);
    }
}

static bool is_zero(const shpool_pool &pool)
{
    const shpool_pool none = {};

    return memcmp(&pool, &none, sizeof(pool)) == 0;
}

static void expect_open(const char *spec, const shpool_config &want, shpool_status expected,
                        const char *word)
{
    shpool_pool   pool   = {};
    shpool_status status = SHPOOL_OK;

    memset(&pool, 0xff, sizeof(pool));
    status = shpool_open(spec, &want, &pool);
    (void)gpu_check((status == expected) && is_zero(pool) &&
                        (strstr(shpool_last_error(), word) != NULL),
                    "open \"%s\" gave %d (not %d), \"%s\" (without \"%s\"?)", spec, status,
                    expected, shpool_last_error(), word);
}

static void test_errors(const shpool_allocator *any)
{
    shpool_report_data report = {};
    shpool_config      want   = {};
    shpool_pool        pool   = {};
    char               spec[96];

    want.block_threads = 32;
    want.payload_bytes = 8192;
    expect_open("no_such_allocator", want, SHPOOL_ERR_NOT_FOUND, any->name);
    spec_of(any, "colour=1", spec);
    expect_open(spec, want, SHPOOL_ERR_SPEC, "alignment");
    spec_of(any, "stats=maybe", spec);
    expect_open(spec, want, SHPOOL_ERR_SPEC, "stats");
    spec_of(any, "alignment=48", spec);
    expect_open(spec, want, SHPOOL_ERR_ALIGNMENT, "48");
    want.block_threads = 0;
    expect_open(any->name, want, SHPOOL_ERR_INVALID, "block_threads");
    want.block_threads = 32;

    (void)gpu_check(shpool_allow_shared(stress, static_cast<size_t>(most_shared) + 1u) ==
                        SHPOOL_ERR_TOO_LARGE, "allow_shared beyond the device: %s",
                    shpool_last_error());
    (void)gpu_check(shpool_allow_shared(stress, static_cast<size_t>(most_shared)) == SHPOOL_OK,
                    "allow_shared of all the device has: %s", shpool_last_error());
    (void)gpu_check(shpool_allow_shared(exchange, static_cast<size_t>(most_shared)) ==
                        SHPOOL_ERR_TOO_LARGE, "allow_shared beside the kernel's own arrays");
    (void)gpu_check(shpool_allow_shared(stress, 0) == SHPOOL_OK, "allow_shared of nothing");
    if (gpu_check(shpool_open(any->name, &want, &pool) == SHPOOL_OK, "open: %s",
                  shpool_last_error())) {
        (void)gpu_check(shpool_report(&pool, &report) == SHPOOL_ERR_UNSUPPORTED,
                        "a report without stats");
    }
    (void)gpu_check((shpool_close(&pool) == SHPOOL_OK) && is_zero(pool), "close zeroes the pool");
    (void)gpu_check(shpool_close(&pool) == SHPOOL_OK, "close of a zeroed pool");
    (void)gpu_check(shpool_close(NULL) == SHPOOL_OK, "close of NULL");

    run("unfit (zeroed pool)", pool, unfit, 3, 33, 64, NULL, 0u, 0u);
}

static void test_seam(void)
{
    const shpool_pool none = {};

    run("seam", none, seam, 2, 33, 64, NULL);
}

int main(int argc, char **argv)
{
    int device = 0;

    gpu_need_device();
    if (!gpu_cuda(cudaGetDevice(&device), "cudaGetDevice") ||
        !gpu_cuda(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                         device), "cudaDeviceGetAttribute") ||
        !gpu_cuda(cudaMalloc(&device_counts, sizeof(counts)), "cudaMalloc") ||
        !gpu_cuda(cudaMalloc(&device_sums, 4096u * sizeof(uint32_t)), "cudaMalloc")) {
        return gpu_summary();
    }
    test_seam();
    test_errors(shpool_allocator_get(0));
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);
        unsigned                before    = gpu_failed;

        if (!trial_is_chosen(allocator->name, argc, argv)) {
            continue;
        }
        test_overhead(allocator);
        test_shapes(allocator);
        test_groups(allocator);
        test_whole_block_memory(allocator);
        test_alignments(allocator);
        test_every_call(allocator);
        test_waiting_for_the_heap(allocator);
        test_statistics(allocator);
        test_bad_frees(allocator);
        test_overruns(allocator);
        test_unfit(allocator);
        std::printf("%s: %s\n", allocator->name, (gpu_failed == before) ? "passed" : "FAILED");
        std::fflush(stdout);
    }
    (void)gpu_cuda(cudaFree(device_sums), "cudaFree");
    (void)gpu_cuda(cudaFree(device_counts), "cudaFree");
    return gpu_summary();
}
