/* SPDX-License-Identifier: BSD-3-Clause */
/* loadstore.cuh on the block executor: beyond 2^31 elements, two types, in place, launch boxes. */
#include "tests/test.h"

#include <string.h>
#include <sys/mman.h>

#include <shpool/executor.h>
#include <shpool/loadstore.cuh>

namespace {

constexpr int NT   = 64;
constexpr int VT   = 5;
constexpr int TILE = NT * VT;

/* An array of more than 2^33 elements, which are computed and not stored. */
struct endless {
    ptrdiff_t at;
    int     operator[](ptrdiff_t i) const { return static_cast<int>((at + i) * 7 >> 3); }
    endless operator+(ptrdiff_t n) const { return endless{at + n}; }
};
constexpr ptrdiff_t FAR = (ptrdiff_t{1} << 33) + 77;

struct far_arguments {
    const int *a;
    const int *b;
    uint32_t   wrong;
    int        out[TILE];
};

void expect(far_arguments *f, bool right)
{
    if (!right) {
        simt_global_add32(&f->wrong, 1);
    }
}

/* Run it with one block of NT threads; no thread may find anything wrong. */
void run(simt_kernel kernel, far_arguments *f)
{
    simt_launch launch = {};
    simt_result result;

    launch.block[0]      = NT;
    launch.dynamic_bytes = TILE * 16;
    f->wrong             = 0;
    if (simt_run(&launch, kernel, f, &result) != SHPOOL_OK) {
        fail_msg("%s", result.text);
    }
    assert_int_equal(f->wrong, 0);
}

void iterators_kernel(void *arg)
{
    far_arguments *f   = static_cast<far_arguments *>(arg);
    const int      tid = static_cast<int>(simt_thread_rank());
    const endless  all = {0};
    const endless  b   = {FAR};
    ptrdiff_t      indices[VT];
    int            reg[VT];

    for (int i = 0; i < VT; i++) {
        indices[i] = ((NT * i + tid) % 2 == 0) ? FAR + i : i;
    }
    shpool::gather<NT, VT>(FAR, all, indices, tid, reg);
    for (int i = 0; i < VT; i++) {
        expect(f, reg[i] == all[indices[i]]);
    }
    shpool::transfer_merge_reg<NT, VT>(FAR, all, b, FAR, indices, tid, reg);
    for (int i = 0; i < VT; i++) {
        expect(f, reg[i] == all[indices[i]]);
    }
    shpool::load2_to_reg<NT, 2, VT>(all, FAR, b, FAR, tid, reg); /* all of it a's */
    for (int i = 0; i < VT; i++) {
        expect(f, reg[i] == all[NT * i + tid]);
    }
    shpool::global_to_reg<NT, VT>(FAR, b, tid, reg);
    for (int i = 0; i < VT; i++) {
        expect(f, reg[i] == all[FAR + NT * i + tid]);
    }
}
UNIT_TEST(test_indexes_beyond_2_to_the_31)
{
    far_arguments f = {};

    run(iterators_kernel, &f);
}

/* Two arrays of int, more than 2^31 of them apart, in both directions. */
void apart_kernel(void *arg)
{
    far_arguments *f   = static_cast<far_arguments *>(arg);
    const int      tid = static_cast<int>(simt_thread_rank());
    int            indices[VT];
    int            reg[VT];

    for (int i = 0; i < VT; i++) {
        indices[i] = TILE - 1 - (NT * i + tid);
    }
    shpool::load2_to_reg<NT, VT, VT>(f->a, 100, f->b, TILE - 100, tid, reg);
    for (int i = 0; i < VT; i++) {
        expect(f, reg[i] == NT * i + tid);
    }
    shpool::transfer_merge_reg<NT, VT>(TILE, f->a, f->b, 100, indices, tid, reg);
    for (int i = 0; i < VT; i++) {
        expect(f, reg[i] == indices[i]);
    }
}
UNIT_TEST(test_two_arrays_far_apart)
{
    const size_t  bytes = size_t{9} << 30;
    void         *map   = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    far_arguments f     = {};

    if (map == MAP_FAILED) {
        skip();
    }
    for (int turn = 0; turn < 2; turn++) {
        int *low  = static_cast<int *>(map);
        int *high = low + (bytes / sizeof(int) - TILE);

        f.a = (turn == 0) ? low : high;
        f.b = (turn == 0) ? high : low;
        for (int i = 0; i < TILE; i++) {
            ((turn == 0) ? low : high)[i % 100] = i % 100;
            ((turn == 0) ? high : low)[(i < TILE - 100) ? i : 0] = (i < TILE - 100) ? i + 100 : 100;
        }
        run(apart_kernel, &f);
    }
    munmap(map, bytes);
}

/* Sources of one type, destinations of another: every path gives way to elements. */
void converting_kernel(void *arg)
{
    far_arguments *f      = static_cast<far_arguments *>(arg);
    const int      tid    = static_cast<int>(simt_thread_rank());
    double        *shared = static_cast<double *>(simt_from_shared(simt_dynamic_base()));
    double         reg[VT];

    shpool::global_to_shared<NT, VT>(TILE, f->a, tid, shared);
    shpool::shared_to_thread<VT>(shared, tid, reg);
    for (int i = 0; i < VT; i++) {
        expect(f, reg[i] == VT * tid + i);
    }
    shpool::global_to_thread<NT, VT>(TILE, f->a, tid, reg); /* int to double */
    for (int i = 0; i < VT; i++) {
        expect(f, reg[i] == VT * tid + i);
        reg[i] += 0.5;
    }
    shpool::load2_to_reg<NT, VT, VT>(f->a, 40, shared, 40, tid, reg);
    for (int i = 0; i < VT; i++) {
        const int e = NT * i + tid;

        expect(f, reg[i] == ((e < 40) ? e : (e < 80) ? e - 40 : VT * tid + i + 0.5));
    }
    simt_barrier();
    shpool::shared_to_global<NT, VT>(TILE, shared, tid, f->out); /* double to int */
    expect(f, f->out[TILE - 1 - tid] == TILE - 1 - tid);
    simt_barrier();
    shpool::global_to_global<NT, VT>(TILE, f->out, tid, f->out, true); /* onto itself */
    expect(f, f->out[TILE - 1 - tid] == TILE - 1 - tid);
}
UNIT_TEST(test_other_types_and_the_same_place)
{
    int           source[TILE];
    far_arguments f = {};

    for (int i = 0; i < TILE; i++) {
        source[i] = i;
    }
    f.a = source;
    run(converting_kernel, &f);
}

typedef shpool::launch_box<shpool::tune<90, 256, 11, 2>, shpool::tune<75, 128, 7>,
                           shpool::tune<86, 64, 3>> box;

UNIT_TEST(test_a_launch_box_gives_the_highest_that_is_not_above)
{
    struct {
        int sm, chosen;
    } const cases[] = {{75, 75}, {80, 75}, {86, 86}, {89, 86}, {90, 90}, {100, 90}, {121, 90},
                       {70, 0}};

    for (const auto &c : cases) {
        assert_int_equal(box::choose(c.sm).sm, c.chosen);
    }
    assert_int_equal(box::choose(90).NT, 256);
    assert_int_equal(box::choose(120).VT, 11);
    assert_int_equal(box::choose(90).OCC, 2);
    assert_int_equal(box::choose(70).NT, 0);
    /* the same at compile time */
    assert_int_equal(static_cast<int>(box::at<89>::NT), box::choose(89).NT);
    assert_int_equal(static_cast<int>(box::at<75>::VT), box::choose(75).VT);
    assert_int_equal(static_cast<int>(box::at<120>::OCC), box::choose(120).OCC);
}

} // namespace
