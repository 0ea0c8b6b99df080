/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu_conformance in checked mode: bad frees and overruns, each described, and nothing else. */
#ifndef SHPOOL_TESTS_GPU_CHECKED_H
#define SHPOOL_TESTS_GPU_CHECKED_H

#include "conformance_kernels.cuh"

static void test_bad_frees(const shpool_allocator *allocator)
{
    static unsigned long long addresses[BAD_BLOCKS * BAD_INJECT];
    static bool               seen[BAD_BLOCKS * BAD_INJECT];
    unsigned long long       *device_addresses = NULL;
    shpool_report_data        report = {};
    shpool_pool               pool   = {};
    char                      spec[96];

    if ((allocator->caps & SHPOOL_CAP_CHECK) == 0) {
        return;
    }
    memset(seen, 0, sizeof(seen));
    spec_of(allocator, "check=1", spec);
    if (!gpu_check(open_within(spec, BAD_THREADS, 47u * 1024u - 2048u, 0, &pool), "%s: no pool",
                   spec) ||
        !gpu_cuda(cudaMalloc(&device_addresses, sizeof(addresses)), "cudaMalloc")) {
        return;
    }
    run("bad_frees", pool, bad_frees, BAD_BLOCKS, BAD_THREADS, pool.shared_bytes, NULL,
        device_addresses);
    if (gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "report: %s", shpool_last_error()) &&
        gpu_cuda(cudaMemcpy(addresses, device_addresses, sizeof(addresses), cudaMemcpyDeviceToHost),
                 "cudaMemcpy (addresses)")) {
        (void)gpu_check(report.bad_frees == BAD_BLOCKS * BAD_INJECT, "%s: %u bad frees, not %u",
                        spec, report.bad_frees, BAD_BLOCKS * BAD_INJECT);
        (void)gpu_check((report.live == 0) && (report.corrupt == 0), "%s: live %llu, corrupt %u",
                        spec, report.live, report.corrupt);
        (void)gpu_check(report.frees == BAD_BLOCKS * BAD_THREADS, "%s: %llu proper frees, not %u",
                        spec, report.frees, BAD_BLOCKS * BAD_THREADS);
        for (const shpool_bad_free &bad : report.bad_free) {
            uint32_t kind = bad_kind(bad.block, bad.thread, pool.scope);
            uint32_t i    = bad.block * BAD_INJECT + bad.thread;
            bool     who  = (bad.block < BAD_BLOCKS) && (bad.thread < BAD_INJECT) && !seen[i];

            if (gpu_check(who, "%s: block %u, thread %u did no bad free, or is listed twice", spec,
                          bad.block, bad.thread)) {
                seen[i] = true;
                (void)gpu_check((bad.reason == bad_reason(kind)) && (bad.site == 1000u + kind) &&
                                    (bad.address == addresses[i]),
                                "%s: kind %u has reason %u, site %u, address %llx (not %llx)", spec,
                                kind, bad.reason, bad.site, bad.address, addresses[i]);
            }
        }
    }
    (void)gpu_cuda(cudaFree(device_addresses), "cudaFree");
    (void)shpool_close(&pool);

    /* the same work as without, in checked mode: nothing is reported that is in order */
    if (open_within(spec, 128, 47u * 1024u, 0, &pool)) {
        run("stress (check=1)", pool, stress, 20, 128, pool.shared_bytes, NULL, 3u, 100u,
            share_of(pool, 3));
        (void)gpu_check((shpool_report(&pool, &report) == SHPOOL_OK) && (report.bad_frees == 0) &&
                            (report.corrupt == 0) && (report.live == 0),
                        "%s: after sound work: bad frees %u, corrupt %u, live %llu", spec,
                        report.bad_frees, report.corrupt, report.live);
        (void)shpool_close(&pool);
    }
}

static void test_overruns(const shpool_allocator *allocator)
{
    shpool_report_data report = {};
    shpool_pool        pool   = {};
    char               spec[96];

    if ((allocator->caps & SHPOOL_CAP_CHECK) == 0) {
        return;
    }
    spec_of(allocator, "check=1", spec);
    if (!gpu_check(open_within(spec, BAD_THREADS, 47u * 1024u - 2048u, 0, &pool), "%s: no pool",
                   spec)) {
        return;
    }
    run("overruns", pool, overruns, BAD_BLOCKS, BAD_THREADS, pool.shared_bytes, NULL);
    if (gpu_check(shpool_report(&pool, &report) == SHPOOL_OK, "report: %s", shpool_last_error())) {
        (void)gpu_check(report.bad_frees == BAD_BLOCKS * BAD_INJECT, "%s: %u overruns, not %u",
                        spec, report.bad_frees, BAD_BLOCKS * BAD_INJECT);
        (void)gpu_check((report.live == 0) && (report.corrupt == 0) && (report.leaks == 0),
                        "%s: live %llu, corrupt %u, leaks %u", spec, report.live, report.corrupt,
                        report.leaks);
        for (const shpool_bad_free &bad : report.bad_free) {
            uint32_t at = (bad.thread % 2u == 0) ? 7u : 0u;

            (void)gpu_check((bad.reason == SHPOOL_FREE_CORRUPT) && (bad.site == 2000u) &&
                                (bad.malloc_site == at),
                            "%s: thread %u has reason %u, site %u, allocated at %u", spec,
                            bad.thread, bad.reason, bad.site, bad.malloc_site);
        }
    }
    (void)shpool_close(&pool);
}

#endif /* SHPOOL_TESTS_GPU_CHECKED_H */
