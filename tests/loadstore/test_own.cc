/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels written for MGPU rely on this: a thread's elements are its own, without a barrier before
 * or after a call.  Also unusual destinations and elements. */
#include "tests/test.h"

#include <shpool/executor.h>

#include "mgpudevice.cuh"

namespace {

constexpr int NT   = 64;
constexpr int VT   = 9; /* 36 bytes: shpool's thread order needs whole warps for them */
constexpr int TILE = NT * VT;

struct tile {
    int in[TILE];
    int out[TILE];
};

SIMT_FN int *stage() { return static_cast<int *>(simt_from_shared(simt_dynamic_base())); }

/* Run by threads that switch all over: some are far ahead of others. */
void run(void (*kernel)(void *), void *arg)
{
    for (uint32_t seed = 1; seed <= 8; seed++) {
        simt_launch launch = {};
        simt_result end;

        launch.block[0]      = NT;
        launch.dynamic_bytes = sizeof(int) * 16 * NT * 8;
        launch.seed          = seed;
        launch.switch_period = (seed % 2 == 0) ? 0 : 5;
        if (simt_run(&launch, kernel, arg, &end) != SHPOOL_OK) {
            fail_msg("%s", end.text);
        }
    }
}

void check(const tile &t, int times)
{
    for (int i = 0; i < TILE; i++) {
        assert_int_equal(t.out[i], times * t.in[i]);
    }
}

tile numbers()
{
    tile t = {};

    for (int i = 0; i < TILE; i++) {
        t.in[i] = 7 * i + 1;
    }
    return t;
}

/* ---- MGPU's ---- */
void store_own_kernel(void *arg)
{
    tile     *t   = static_cast<tile *>(arg);
    const int tid = static_cast<int>(simt_thread_rank());
    int       reg[VT];

    mgpu::DeviceGlobalToReg<NT, VT>(TILE, t->in, tid, reg);
    mgpu::DeviceRegToShared<NT, VT>(reg, tid, stage(), false);
    mgpu::DeviceSharedToGlobal<NT, VT>(TILE, stage(), tid, t->out);
}
UNIT_TEST(test_own_slots_are_stored_without_a_barrier_in_front)
{
    tile t = numbers();

    run(store_own_kernel, &t);
    check(t, 1);
}

void load_own_kernel(void *arg)
{
    tile     *t   = static_cast<tile *>(arg);
    const int tid = static_cast<int>(simt_thread_rank());
    int       first[VT];
    int       second[VT];

    mgpu::DeviceGlobalToShared<NT, VT>(TILE, t->in, tid, stage());
    mgpu::DeviceSharedToReg<NT, VT>(stage(), tid, first, false);
    mgpu::DeviceGlobalToShared<NT, VT>(TILE, t->in, tid, stage()); /* the same slots again */
    mgpu::DeviceSharedToReg<NT, VT>(stage(), tid, second, false);
    for (int i = 0; i < VT; i++) {
        first[i] += second[i];
    }
    mgpu::DeviceRegToGlobal<NT, VT>(TILE, first, tid, t->out);
}
UNIT_TEST(test_own_slots_are_loaded_again_without_a_barrier_in_front)
{
    tile t = numbers();

    run(load_own_kernel, &t);
    check(t, 2);
}

/* Some lanes of a warp only. */
MGPU_DEVICE void load_some(const int *in, int tid, int *reg)
{
    if (tid < 3) {
        mgpu::DeviceGlobalToThread<NT, VT>(TILE, in, tid, reg);
    }
}
void some_lanes_kernel(void *arg)
{
    tile     *t   = static_cast<tile *>(arg);
    const int tid = static_cast<int>(simt_thread_rank());
    int       reg[VT];

    for (int i = 0; i < VT; i++) {
        reg[i] = -1;
    }
    load_some(t->in, tid, reg);
    for (int i = 0; i < VT; i++) {
        t->out[VT * tid + i] = reg[i];
    }
}
UNIT_TEST(test_some_lanes_load_in_thread_order)
{
    tile t = numbers();

    run(some_lanes_kernel, &t);
    for (int i = 0; i < TILE; i++) {
        assert_int_equal(t.out[i], (i < 3 * VT) ? t.in[i] : -1);
    }
    assert_int_equal(MGPU_DIV_UP(TILE + 1, TILE), 2);
}

/* MGPU has a barrier after the indexes for any sync: they may be written again. */
void merge_kernel(void *arg)
{
    tile     *t   = static_cast<tile *>(arg);
    const int tid = static_cast<int>(simt_thread_rank());

    for (int i = 0; i < VT; i++) { /* in reverse, and by another thread */
        stage()[TILE - 1 - (NT * i + tid)] = NT * i + tid;
    }
    simt_barrier();
    mgpu::DeviceTransferMergeValuesShared<NT, VT>(TILE, t->in, t->in + TILE / 2, TILE / 2, stage(),
                                                  tid, t->out, false);
    for (int i = 0; i < VT; i++) {
        stage()[TILE - 1 - (NT * i + tid)] = 0;
    }
}
UNIT_TEST(test_merged_indexes_may_be_written_again)
{
    tile t = numbers();

    run(merge_kernel, &t);
    for (int i = 0; i < TILE; i++) {
        assert_int_equal(t.out[i], t.in[TILE - 1 - i]);
    }
}

/* ---- shpool's ---- */
void spilled_kernel(void *arg)
{
    tile *t = static_cast<tile *>(arg);

    /* automatic, to where a pool that spills would have put it */
    shpool::global_to_shared<NT, VT>(TILE, t->in, static_cast<int>(simt_thread_rank()), t->out);
}
UNIT_TEST(test_a_destination_in_global_memory_is_served)
{
    tile t = numbers();

    run(spilled_kernel, &t);
    check(t, 1);
}

struct alignas(16) large {
    int word[16];
};
struct large_tile {
    large in[NT * 32];
    large out[NT * 32];
};
void large_kernel(void *arg)
{
    large_tile *t     = static_cast<large_tile *>(arg);
    large      *slots = static_cast<large *>(simt_from_shared(simt_dynamic_base()));
    const int   tid   = static_cast<int>(simt_thread_rank());

    shpool::global_to_shared<NT, 8>(NT * 8 - 1, t->in, tid, slots);
    shpool::shared_to_global<NT, 8>(NT * 8 - 1, slots, tid, t->out);
}
UNIT_TEST(test_a_part_of_a_tile_of_large_elements)
{
    static large_tile t;

    for (int i = 0; i < NT * 8; i++) {
        t.in[i].word[0]  = i;
        t.in[i].word[15] = -i;
        t.out[i]         = large{};
    }
    run(large_kernel, &t);
    for (int i = 0; i < NT * 8 - 1; i++) {
        assert_int_equal(t.out[i].word[0], i);
        assert_int_equal(t.out[i].word[15], -i);
    }
    assert_int_equal(t.out[NT * 8 - 1].word[15], 0);
}

/* Bytes between multiples of 16 on both sides: a head, chunks that are waited for, and a tail. */
void bytes_kernel(void *arg)
{
    unsigned char *bytes = static_cast<unsigned char *>(arg);
    unsigned char *slots = static_cast<unsigned char *>(simt_from_shared(simt_dynamic_base()));
    const int      tid   = static_cast<int>(simt_thread_rank());

    shpool::global_to_shared<NT, VT>(TILE - 30, bytes + 5, tid, slots + 5);
    shpool::shared_to_global<NT, VT>(TILE - 30, slots + 5, tid, bytes + 1024 + 5);
}
UNIT_TEST(test_head_and_tail_of_a_tile_of_bytes)
{
    alignas(16) static unsigned char bytes[2048];

    for (int i = 0; i < 2048; i++) {
        bytes[i] = (i < 1024) ? static_cast<unsigned char>(i * 5 + 1) : 0x5a;
    }
    run(bytes_kernel, bytes);
    for (int i = 0; i < 1024; i++) {
        const bool copied = (i >= 5) && (i < 5 + TILE - 30);

        assert_int_equal(bytes[1024 + i], copied ? bytes[i] : 0x5a);
    }
}

/* Two tiles through one gate; a wait that is forgotten is found. */
struct gate_trial {
    alignas(16) uint32_t in[2 * TILE];
    uint32_t out[2 * TILE];
    bool     forgets;
};
void gate_kernel(void *arg)
{
    gate_trial &t    = *static_cast<gate_trial *>(arg);
    uint32_t   *tile = static_cast<uint32_t *>(simt_from_shared(simt_dynamic_base() + 16));
    const int   tid  = static_cast<int>(simt_thread_rank());
    shpool::bulk_gate gate(
        static_cast<shpool::bulk_barrier *>(simt_from_shared(simt_dynamic_base())), tid);

    for (int i = 0; i < 2; i++) {
        shpool::global_to_shared<NT, VT>(TILE, t.in + i * TILE, tid, tile, gate, !t.forgets);
        shpool::shared_to_global<NT, VT>(TILE, tile, tid, t.out + i * TILE);
        simt_barrier();
    }
    gate.close(tid);
}
UNIT_TEST(test_a_tile_that_nobody_waits_for_is_reported)
{
    gate_trial  t = {};
    simt_launch launch = {};
    simt_result result;

    launch.block[0]      = NT;
    launch.dynamic_bytes = 16 + TILE * sizeof(uint32_t);
    for (int i = 0; i < 2 * TILE; i++) {
        t.in[i] = static_cast<uint32_t>(i) * 3u + 1u;
    }
    for (launch.seed = 0; launch.seed < 12; launch.seed++) {
        launch.switch_period = static_cast<uint32_t>(launch.seed % 3);
        t.forgets            = false;
        if (simt_run(&launch, gate_kernel, &t, &result) != SHPOOL_OK) {
            fail_msg("%s", result.text);
        }
        assert_memory_equal(t.in, t.out, sizeof(t.in));
        t.forgets = true;
        assert_int_not_equal(simt_run(&launch, gate_kernel, &t, &result), SHPOOL_OK);
        assert_non_null(strstr(result.text, "mbarrier"));
    }
}

/* A box for new GPUs only compiles if no older one is requested. */
UNIT_TEST(test_a_launch_box_needs_no_choice_for_the_oldest)
{
    typedef shpool::launch_box<shpool::tune<100, 512, 9>, shpool::tune<90, 256, 11>> box;
    typedef SHPOOL_LAUNCH_PARAMS(box) params; /* a pass that compiles for no GPU */

    assert_int_equal(static_cast<int>(params::NT), 256);
    assert_int_equal(static_cast<int>(box::at<120>::VT), 9);
    assert_int_equal(box::choose(80).NT, 0);
}

} // namespace
