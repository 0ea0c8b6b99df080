/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One kernel text, three bindings, the same results; and a third party's allocator, registered and
 * opened by name.  Exit code 0: all passed, 1: something failed, 77: no device.
 */
#define BINDING_STATICS
#define BINDING_KERNEL binding_table
#include "binding_kernel.cuh"

#include <cstring>

extern "C" const shpool_allocator shpool_allocator_own; /* examples/own_allocator */

extern "C" shpool_status binding_open_other_bitmap(const char *other);
extern "C" shpool_status binding_open_other_thread_first_fit(const char *other);

extern "C" int binding_run_table(const char *spec, uint32_t first, uint32_t kernels, uint32_t *out)
{
    static const void *const kernel[] = {(const void *)BINDING_KERNEL,
                                         BINDING_EACH_STATIC(BINDING_POINTER)};

    return binding_run_kernels("binding_table", kernel, spec, first, kernels, out);
}

/* The kernel's expected result, for any allocator that serves all requests. */
static uint32_t expected_sum(uint32_t block, uint32_t thread)
{
    const uint32_t words = 4u + 3u * (thread & 3u);
    const uint32_t first = (block * 1024u + thread) * 16u;

    return words * first + words * (words - 1u) / 2u;
}

static bool is_right(const char *binding, const shpool_allocator *allocator, const char *spec,
                     uint32_t first, uint32_t kernels, binding_run *run)
{
    static uint32_t out[BINDING_KERNELS * BINDING_RESULTS];
    bool            right = true;

    memset(out, 0xa5, sizeof(out));
    if (run(spec, first, kernels, out) != 0) {
        return false; /* skipped, or explained and counted already */
    }
    for (uint32_t k = 0; k < kernels; k++) {
        uint32_t wrong = 0;

        for (uint32_t i = 0; i < BINDING_RESULTS; i++) {
            const uint32_t sum = ((allocator->caps & SHPOOL_CAP_NONE) != 0)
                                     ? BINDING_NONE
                                     : expected_sum(i / BINDING_THREADS, i % BINDING_THREADS);

            wrong += out[k * BINDING_RESULTS + i] != sum;
        }
        right &= gpu_check(wrong == 0, "%s, %s, kernel %u: %u of %u results are wrong", binding,
                           spec, first + k, wrong, BINDING_RESULTS);
    }
    return right;
}

/* The plain kernel, and pools of all alignments after static arrays of all sizes. */
static void compare(const char *binding, const shpool_allocator *allocator, binding_run *run)
{
    static const uint32_t alignments[] = {16, 32, 128, 256, 1024};
    bool right = is_right(binding, allocator, allocator->name, 0, 1, run);

    for (uint32_t alignment : alignments) {
        char spec[96];

        if ((alignment == 16) || ((allocator->caps & SHPOOL_CAP_ALIGNED) != 0)) {
            (void)std::snprintf(spec, sizeof(spec), "%s:alignment=%u,payload_bytes=%u",
                                allocator->name, alignment, BINDING_PAYLOAD + 24u * alignment);
            right = right && is_right(binding, allocator, spec, 1, BINDING_KERNELS - 1u, run);
        }
    }
    if (right) {
        std::printf("%s, %s: passed\n", binding, allocator->name);
    }
}

/* Statistics of an allocator that knows nothing of them. */
static void test_own_statistics(void)
{
    static uint32_t    out[BINDING_RESULTS];
    shpool_report_data report = {};
    shpool_pool        pool   = {};

    if (binding_open("own:stats=1", &pool) == 0) {
        (void)binding_launch("binding_table (own)", (const void *)BINDING_KERNEL, &pool, out);
        (void)gpu_check((shpool_report(&pool, &report) == SHPOOL_OK) &&
                            (report.blocks == BINDING_GRID) &&
                            (report.mallocs == BINDING_RESULTS) &&
                            (report.frees == BINDING_RESULTS) && (report.live == 0) &&
                            (report.failures == 0) && (report.bad_frees == 0),
                        "own:stats=1: blocks %u, mallocs %llu, frees %llu, live %llu",
                        report.blocks, report.mallocs, report.frees, report.live);
        (void)shpool_close(&pool);
    }
}

int main(void)
{
    const shpool_allocator *bitmap           = NULL;
    const shpool_allocator *thread_first_fit = NULL;

    gpu_need_device();
    (void)gpu_check(shpool_register(&shpool_allocator_own) == SHPOOL_OK, "register: %s",
                    shpool_last_error());
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        compare("table", allocator, binding_run_table);
        if (allocator->lto_ir != NULL) {
            compare("linked", allocator, binding_run_linked);
        }
    }
    if (shpool_allocator_find("bitmap", &bitmap) == SHPOOL_OK) {
        compare("inline", bitmap, binding_run_inline_bitmap);
        (void)gpu_check(binding_open_other_bitmap("null") == SHPOOL_ERR_BINDING,
                        "a kernel bound to bitmap opened null");
        (void)gpu_check(binding_open_other_bitmap("bitmap:stats=1") == SHPOOL_ERR_UNSUPPORTED,
                        "stats without SHPOOL_CHECK");
    }
    if (shpool_allocator_find("thread_first_fit", &thread_first_fit) == SHPOOL_OK) {
        compare("inline", thread_first_fit, binding_run_inline_thread_first_fit);
        (void)gpu_check(binding_open_other_thread_first_fit("null") == SHPOOL_ERR_BINDING,
                        "a kernel bound to thread_first_fit opened null");
    }
    test_own_statistics();
    return gpu_summary();
}
