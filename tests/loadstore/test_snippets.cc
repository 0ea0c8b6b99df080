/* SPDX-License-Identifier: BSD-3-Clause */
/* The worked examples of loadstore.cuh's documentation, run on the block executor with the numbers
 * that they state.  tests/build/snippets.sh compares them with the headers, line by line. */
#include "examples.h"

namespace {

EXAMPLE(global_to_thread)
{
    UNUSED_NAMES;
    /* snippet global_to_thread */
    int reg[3] = {-1, -1, -1};                                // data: 0 10 20 ... 940
    shpool::global_to_thread<32, 3>(95, data, tid, reg);      // thread 1: 30 40 50; 31: 930 940 -1
    /* end */
    p->is(tid, 1, reg, {30, 40, 50});
    p->is(tid, 31, reg, {930, 940, -1});
}

EXAMPLE(global_to_thread_default)
{
    UNUSED_NAMES;
    /* snippet global_to_thread_default */
    int reg[3];                                                      // data: 0 10 20 ... 940
    shpool::global_to_thread_default<32, 3>(95, data, tid, reg, 7);  // thread 31: 930 940 7
    /* end */
    p->is(tid, 31, reg, {930, 940, 7});
}

EXAMPLE(thread_to_global)
{
    UNUSED_NAMES;
    /* snippet thread_to_global */
    int reg[3] = {3 * tid, 3 * tid + 1, 3 * tid + 2};
    shpool::thread_to_global<32, 3>(95, reg, tid, out);    // out: 0 1 2 ... 94
    /* end */
    simt_barrier();
    p->holds(tid, out, 0, 0);
    p->holds(tid, out, 94, 94);
    p->holds(tid, out, 95, UNTOUCHED);
}

EXAMPLE(thread_to_shared)
{
    UNUSED_NAMES;
    /* snippet thread_to_shared */
    int reg[2] = {10 * tid, 10 * tid + 1};
    shpool::thread_to_shared<2>(reg, tid, shared);    // shared: 0 1 10 11 20 21 ... 310 311
    /* end */
    p->holds(tid, shared, 1, 1);
    p->holds(tid, shared, 2, 10);
    p->holds(tid, shared, 63, 311);
}

EXAMPLE(shared_to_thread)
{
    UNUSED_NAMES;
    p->fill(shared, 0, 1);
    /* snippet shared_to_thread */
    int reg[2];                                       // shared: 0 1 2 ... 63
    shpool::shared_to_thread<2>(shared, tid, reg);    // thread 5: 10 11
    /* end */
    p->is(tid, 5, reg, {10, 11});
}

EXAMPLE(half_smem_transpose)
{
    UNUSED_NAMES;
    /* snippet half_smem_transpose */
    int x[2] = {tid, 32 + tid};
    int y[2];
    shpool::half_smem_transpose<32, 2>(x, tid, shared, y);    // thread 5: 10 11
    /* end */
    p->is(tid, 5, y, {10, 11});
}

EXAMPLE(gather)
{
    UNUSED_NAMES;
    /* snippet gather */
    int indices[2] = {63 - tid, tid};                        // data: 0 10 20 ... 630
    int reg[2]     = {-1, -1};
    shpool::gather<32, 2>(63, data, indices, tid, reg);      // thread 1: 620 10; thread 31: 320 -1
    /* end */
    p->is(tid, 1, reg, {620, 10});
    p->is(tid, 31, reg, {320, -1});
}

EXAMPLE(gather_default)
{
    UNUSED_NAMES;
    /* snippet gather_default */
    int indices[2] = {63 - tid, tid};                                // data: 0 10 20 ... 630
    int reg[2];
    shpool::gather_default<32, 2>(63, data, indices, tid, reg, 0);   // thread 31: 320 0
    /* end */
    p->is(tid, 31, reg, {320, 0});
}

EXAMPLE(scatter)
{
    UNUSED_NAMES;
    /* snippet scatter */
    int indices[2] = {63 - tid, tid};
    int reg[2]     = {tid, 100 + tid};
    shpool::scatter<32, 2>(64, reg, tid, indices, out);      // out: 100 101 ... 131 31 30 ... 0
    /* end */
    p->holds(tid, out, 0, 100);
    p->holds(tid, out, 31, 131);
    p->holds(tid, out, 32, 31);
    p->holds(tid, out, 63, 0);
}

EXAMPLE(gather_global_to_global)
{
    UNUSED_NAMES;
    p->fill(shared, 63, -1);
    /* snippet gather_global_to_global */
    // shared: 63 62 61 ... 0; data: 0 10 20 ... 630
    shpool::gather_global_to_global<32, 2>(60, data, shared, tid, out);    // out: 630 620 ... 40
    /* end */
    simt_barrier();
    p->holds(tid, out, 0, 630);
    p->holds(tid, out, 1, 620);
    p->holds(tid, out, 59, 40);
    p->holds(tid, out, 60, UNTOUCHED);
}

EXAMPLE(load2_to_reg)
{
    UNUSED_NAMES;
    /* snippet load2_to_reg */
    int reg[2] = {-1, -1};                                             // a: 0 10 20 ... 390
    shpool::load2_to_reg<32, 2, 2>(a, 40, b, 20, tid, reg);            // b: 1 2 3 ... 20
                                                                       // thread 7: 70 390
                                                                       // thread 8: 80 1
    /* end */
    p->is(tid, 7, reg, {70, 390});
    p->is(tid, 8, reg, {80, 1});
}

EXAMPLE(load2_to_shared)
{
    UNUSED_NAMES;
    /* snippet load2_to_shared */
    // a: 0 10 20 ... 390; b: 1 2 3 ... 20; shared: 0 10 ... 390 1 2 ... 20
    shpool::load2_to_shared<32, 2, 2>(a, 40, b, 20, tid, shared);
    /* end */
    p->holds(tid, shared, 39, 390);
    p->holds(tid, shared, 40, 1);
    p->holds(tid, shared, 59, 20);
    p->holds(tid, shared, 60, UNTOUCHED);
}

EXAMPLE(transfer_merge_reg)
{
    UNUSED_NAMES;
    /* snippet transfer_merge_reg */
    int indices[2] = {tid, 40 + tid};                                     // a: 0 10 20 ... 390
    int reg[2]     = {-1, -1};                                            // b: 1 2 3 ... 32
    shpool::transfer_merge_reg<32, 2>(64, a, b, 40, indices, tid, reg);   // thread 3: 30 4
    /* end */
    p->is(tid, 3, reg, {30, 4});
}

EXAMPLE(transfer_merge_shared)
{
    UNUSED_NAMES;
    if (tid < 32) {
        shared[2 * tid]     = tid;
        shared[2 * tid + 1] = 40 + tid;
    }
    simt_barrier();
    /* snippet transfer_merge_shared */
    // shared: 0 40 1 41 2 42 ... 31 71; a: 0 10 20 ... 390; b: 1 2 3 ... 32
    shpool::transfer_merge_shared<32, 2>(64, a, b, 40, shared, tid, out); // out: 0 1 10 2 20 3 ...
    /* end */
    p->holds(tid, out, 0, 0);
    p->holds(tid, out, 1, 1);
    p->holds(tid, out, 2, 10);
    p->holds(tid, out, 3, 2);
    p->holds(tid, out, 63, 32);
}

/* The last one has a type and a size of its own. */
struct reversal {
    float data[128 * 7];
    float out[128 * 7];
};
void reverse_kernel(void *arg)
{
    reversal        *r      = static_cast<reversal *>(arg);
    const float     *data   = r->data;
    float           *out    = r->out;
    float           *shared = static_cast<float *>(simt_from_shared(simt_dynamic_base()));
    const int        tid    = static_cast<int>(simt_thread_rank());
    const ptrdiff_t  count  = 128 * 7;
    float            reg[7];

    /* snippet tile_reverse */
    shpool::global_to_shared<128, 7>(count, data, tid, shared);      // coalesced, and a barrier
    shpool::shared_to_thread<7>(shared, 127 - tid, reg);             // the other end's run
    for (int i = 0; i < 3; i++) {                                    // turned around
        const float swap = reg[i];
        reg[i]           = reg[6 - i];
        reg[6 - i]       = swap;
    }
    shpool::thread_to_shared<7>(reg, tid, shared);
    shpool::shared_to_global<128, 7>(count, shared, tid, out);
    /* end */
}
UNIT_TEST(test_tile_reverse)
{
    static reversal r;
    simt_launch     launch = {};
    simt_result     result;

    for (int i = 0; i < 128 * 7; i++) {
        r.data[i] = static_cast<float>(i);
    }
    launch.block[0]      = 128;
    launch.dynamic_bytes = sizeof(r.data);
    if (simt_run(&launch, reverse_kernel, &r, &result) != SHPOOL_OK) {
        fail_msg("%s", result.text);
    }
    for (int i = 0; i < 128 * 7; i++) {
        assert_true(r.out[i] == static_cast<float>(128 * 7 - 1 - i));
    }
}

UNIT_TEST(test_examples_come_out_as_they_say)
{
    static const struct {
        const char *name;
        example     what;
    } all[] = {
        {"shared_to_reg", example_shared_to_reg},
        {"shared_to_reg_counted", example_shared_to_reg_counted},
        {"global_to_reg", example_global_to_reg},
        {"global_to_reg_pred", example_global_to_reg_pred},
        {"global_to_reg2", example_global_to_reg2},
        {"global_to_reg_default", example_global_to_reg_default},
        {"global_to_reg_default2", example_global_to_reg_default2},
        {"global_to_reg_loop", example_global_to_reg_loop},
        {"reg_to_shared", example_reg_to_shared},
        {"reg_to_global", example_reg_to_global},
        {"mem_to_mem4", example_mem_to_mem4},
        {"mem_to_mem_loop", example_mem_to_mem_loop},
        {"shared_to_global", example_shared_to_global},
        {"global_to_global", example_global_to_global},
        {"global_to_shared", example_global_to_shared},
        {"global_to_shared2", example_global_to_shared2},
        {"global_to_shared_loop", example_global_to_shared_loop},
        {"global_to_shared_default", example_global_to_shared_default},
        {"global_to_shared_default2", example_global_to_shared_default2},
        {"global_to_shared_bulk", example_global_to_shared_bulk},
        {"global_to_thread", example_global_to_thread},
        {"global_to_thread_default", example_global_to_thread_default},
        {"thread_to_global", example_thread_to_global},
        {"thread_to_shared", example_thread_to_shared},
        {"shared_to_thread", example_shared_to_thread},
        {"half_smem_transpose", example_half_smem_transpose},
        {"gather", example_gather},
        {"gather_default", example_gather_default},
        {"scatter", example_scatter},
        {"gather_global_to_global", example_gather_global_to_global},
        {"load2_to_reg", example_load2_to_reg},
        {"load2_to_shared", example_load2_to_shared},
        {"transfer_merge_reg", example_transfer_merge_reg},
        {"transfer_merge_shared", example_transfer_merge_shared},
    };
    static scene s;

    for (const auto &e : all) {
        performance now    = {e.what, &s};
        simt_launch launch = {};
        simt_result result;

        launch.block[0]      = 32;
        launch.dynamic_bytes = MOST * sizeof(int);
        s.wrong              = 0;
        if (simt_run(&launch, example_kernel, &now, &result) != SHPOOL_OK) {
            fail_msg("%s: %s", e.name, result.text);
        }
        if (s.wrong != 0) {
            fail_msg("%s: %u numbers are not as the example says", e.name, s.wrong);
        }
    }
}

} // namespace
