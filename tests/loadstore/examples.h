/* SPDX-License-Identifier: BSD-3-Clause */
/* The first half of the worked examples: registers in strided order, memory to memory. */
#ifndef SHPOOL_TESTS_LOADSTORE_EXAMPLES_H
#define SHPOOL_TESTS_LOADSTORE_EXAMPLES_H

#include "scene.h"

namespace {

EXAMPLE(shared_to_reg)
{
    UNUSED_NAMES;
    p->fill(shared, 0, 1);
    /* snippet shared_to_reg */
    int reg[3];                                        // shared: 0 1 2 ... 95
    shpool::shared_to_reg<32, 3>(shared, tid, reg);    // thread 5: 5 37 69
    /* end */
    p->is(tid, 5, reg, {5, 37, 69});
}

EXAMPLE(shared_to_reg_counted)
{
    UNUSED_NAMES;
    p->fill(shared, 0, 1);
    /* snippet shared_to_reg_counted */
    int reg[3] = {-1, -1, -1};                             // shared: 0 1 2 ... 95
    shpool::shared_to_reg<32, 3>(70, shared, tid, reg);    // thread 5: 5 37 69; thread 6: 6 38 -1
    /* end */
    p->is(tid, 5, reg, {5, 37, 69});
    p->is(tid, 6, reg, {6, 38, -1});
}

EXAMPLE(global_to_reg)
{
    UNUSED_NAMES;
    /* snippet global_to_reg */
    int reg[2] = {-1, -1};                                // data: 0 10 20 ... 620
    shpool::global_to_reg<32, 2>(63, data, tid, reg);     // thread 1: 10 330; thread 31: 310 -1
    /* end */
    p->is(tid, 1, reg, {10, 330});
    p->is(tid, 31, reg, {310, -1});
}

EXAMPLE(global_to_reg_pred)
{
    UNUSED_NAMES;
    /* snippet global_to_reg_pred */
    int reg[2] = {-1, -1};                                     // data: 0 10 20 ... 620
    shpool::global_to_reg_pred<32, 2>(63, data, tid, reg);     // thread 31: 310 -1
    /* end */
    p->is(tid, 31, reg, {310, -1});
}

EXAMPLE(global_to_reg2)
{
    UNUSED_NAMES;
    /* snippet global_to_reg2 */
    int reg[3] = {-1, -1, -1};                                 // data: 0 10 20 ... 690
    shpool::global_to_reg2<32, 2, 3>(70, data, tid, reg);      // thread 5: 50 370 690
    /* end */
    p->is(tid, 5, reg, {50, 370, 690});
}

EXAMPLE(global_to_reg_default)
{
    UNUSED_NAMES;
    /* snippet global_to_reg_default */
    int reg[2];                                                   // data: 0 10 20 ... 620
    shpool::global_to_reg_default<32, 2>(63, data, tid, reg, 7);  // thread 31: 310 7
    /* end */
    p->is(tid, 31, reg, {310, 7});
}

EXAMPLE(global_to_reg_default2)
{
    UNUSED_NAMES;
    /* snippet global_to_reg_default2 */
    int reg[3];                                                       // data: 0 10 20 ... 690
    shpool::global_to_reg_default2<32, 2, 3>(70, data, tid, reg, 7);  // thread 6: 60 380 7
    /* end */
    p->is(tid, 6, reg, {60, 380, 7});
}

EXAMPLE(global_to_reg_loop)
{
    UNUSED_NAMES;
    /* snippet global_to_reg_loop */
    int reg[8] = {};                                          // data: 0 10 20 ... 390
    shpool::global_to_reg_loop<32, 8>(40, data, tid, reg);    // thread 7: 70 390 0 0 0 0 0 0
    /* end */
    p->is(tid, 7, reg, {70, 390, 0, 0, 0, 0, 0, 0});
}

EXAMPLE(reg_to_shared)
{
    UNUSED_NAMES;
    /* snippet reg_to_shared */
    int reg[2] = {tid, 100 + tid};
    shpool::reg_to_shared<32, 2>(reg, tid, shared);    // shared: 0 1 ... 31 100 101 ... 131
    /* end */
    p->holds(tid, shared, 31, 31);
    p->holds(tid, shared, 32, 100);
    p->holds(tid, shared, 63, 131);
}

EXAMPLE(reg_to_global)
{
    UNUSED_NAMES;
    /* snippet reg_to_global */
    int reg[2] = {tid, 100 + tid};
    shpool::reg_to_global<32, 2>(40, reg, tid, out);   // out: 0 1 ... 31 100 101 ... 107
    /* end */
    simt_barrier();
    p->holds(tid, out, 31, 31);
    p->holds(tid, out, 32, 100);
    p->holds(tid, out, 39, 107);
    p->holds(tid, out, 40, UNTOUCHED);
}

EXAMPLE(mem_to_mem4)
{
    UNUSED_NAMES;
    /* snippet mem_to_mem4 */
    shpool::mem_to_mem4<32, 6>(190, data, tid, out);    // out[0 .. 189]: data[0 .. 189]
    /* end */
    p->same(tid, out, data, 190);
}

EXAMPLE(mem_to_mem_loop)
{
    UNUSED_NAMES;
    /* snippet mem_to_mem_loop */
    shpool::mem_to_mem_loop<32>(1000, data, tid, out);    // out[0 .. 999]: data[0 .. 999]
    /* end */
    p->same(tid, out, data, 1000);
}

EXAMPLE(shared_to_global)
{
    UNUSED_NAMES;
    p->fill(shared, 0, 1);
    /* snippet shared_to_global */
    shpool::shared_to_global<32, 4>(100, shared, tid, out);    // out[0 .. 99]: shared[0 .. 99]
    /* end */
    p->same(tid, out, shared, 100);
}

EXAMPLE(global_to_global)
{
    UNUSED_NAMES;
    /* snippet global_to_global */
    shpool::global_to_global<32, 4>(100, data, tid, out);    // out[0 .. 99]: data[0 .. 99]
    /* end */
    simt_barrier();
    p->same(tid, out, data, 100);
}

EXAMPLE(global_to_shared)
{
    UNUSED_NAMES;
    /* snippet global_to_shared */
    shpool::global_to_shared<32, 4>(100, data, tid, shared);    // shared[0 .. 99]: data[0 .. 99]
    /* end */
    p->same(tid, shared, data, 100);
}

EXAMPLE(global_to_shared2)
{
    UNUSED_NAMES;
    /* snippet global_to_shared2 */
    shpool::global_to_shared2<32, 2, 3>(70, data, tid, shared);    // shared[0 .. 69]: data[0 .. 69]
    /* end */
    p->same(tid, shared, data, 70);
}

EXAMPLE(global_to_shared_loop)
{
    UNUSED_NAMES;
    /* snippet global_to_shared_loop */
    shpool::global_to_shared_loop<32, 8>(40, data, tid, shared);  // shared[0 .. 39]: data[0 .. 39]
    /* end */
    p->same(tid, shared, data, 40);
}

EXAMPLE(global_to_shared_default)
{
    UNUSED_NAMES;
    /* snippet global_to_shared_default */
    shpool::global_to_shared_default<32, 4>(100, data, tid, shared, 7);    // shared[100 .. 127]: 7
    /* end */
    p->holds(tid, shared, 99, 990);
    p->holds(tid, shared, 100, 7);
    p->holds(tid, shared, 127, 7);
    p->holds(tid, shared, 128, UNTOUCHED);
}

EXAMPLE(global_to_shared_default2)
{
    UNUSED_NAMES;
    /* snippet global_to_shared_default2 */
    shpool::global_to_shared_default2<32, 2, 3>(70, data, tid, shared, 7);    // shared[70 .. 95]: 7
    /* end */
    p->holds(tid, shared, 69, 690);
    p->holds(tid, shared, 70, 7);
    p->holds(tid, shared, 95, 7);
    p->holds(tid, shared, 96, UNTOUCHED);
}

EXAMPLE(global_to_shared_bulk)
{
    UNUSED_NAMES;
    shpool::bulk_barrier &word = *reinterpret_cast<shpool::bulk_barrier *>(shared + 256);
    /* snippet global_to_shared_bulk */
    shpool::bulk_gate gate(&word, tid);
    shpool::global_to_shared<32, 4>(100, data, tid, shared, gate); // shared[0 .. 99]: data[0 .. 99]
    gate.close(tid);
    /* end */
    p->same(tid, shared, data, 100);
}

} // namespace

#endif /* SHPOOL_TESTS_LOADSTORE_EXAMPLES_H */
