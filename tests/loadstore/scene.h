/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment of the worked examples of loadstore.cuh, and how each is run and checked. */
#ifndef SHPOOL_TESTS_LOADSTORE_SCENE_H
#define SHPOOL_TESTS_LOADSTORE_SCENE_H

#include "tests/test.h"

#include <initializer_list>

#include <shpool/executor.h>
#include <shpool/loadstore.cuh>

namespace {

constexpr int UNTOUCHED = -99;
constexpr int MOST      = 1024;

/* The data around the examples, and the number of errors after them. */
struct scene {
    int      data[MOST]; /* 0 10 20 ... */
    int      a[40];      /* 0 10 20 ... 390 */
    int      b[32];      /* 1 2 3 ... 32 */
    int      out[MOST];
    uint32_t wrong;

    void expect(bool right)
    {
        if (!right) {
            simt_global_add32(&wrong, 1);
        }
    }
    template <int VT>
    void is(int tid, int of, const int (&reg)[VT], std::initializer_list<int> values)
    {
        if (tid == of) {
            expect(values.size() == VT);
            for (int i = 0; i < VT; i++) {
                expect(reg[i] == values.begin()[i]);
            }
        }
    }
    void holds(int tid, const int *array, int index, int value)
    {
        if (tid == (index + 7) % 32) { /* another thread than the one that wrote it */
            expect(array[index] == value);
        }
    }
    /* count elements are there, and no more */
    void same(int tid, const int *array, const int *source, int count)
    {
        for (int i = 31 - tid; i < count; i += 32) {
            expect(array[i] == source[i]);
        }
        expect(array[count] == UNTOUCHED);
    }
    void fill(int *shared, int first, int step)
    {
        for (int i = static_cast<int>(simt_thread_rank()); i < 128; i += 32) {
            shared[i] = first + step * i;
        }
        simt_barrier();
    }
};

/* A kernel of 32 threads with the examples' names. */
#define EXAMPLE(_name) \
    void example_##_name(scene *p, const int *data, const int *a, const int *b, int *out, \
                         int *shared, int tid)
#define UNUSED_NAMES (void)p, (void)data, (void)a, (void)b, (void)out, (void)shared, (void)tid

typedef void (*example)(scene *, const int *, const int *, const int *, int *, int *, int);
struct performance {
    example what;
    scene  *where;
};
void example_kernel(void *arg)
{
    performance *now    = static_cast<performance *>(arg);
    scene       *p      = now->where;
    const int    tid    = static_cast<int>(simt_thread_rank());
    int         *shared = static_cast<int *>(simt_from_shared(simt_dynamic_base()));

    for (int i = tid; i < MOST; i += 32) {
        p->data[i] = 10 * i;
        p->out[i]  = UNTOUCHED;
        shared[i]  = UNTOUCHED;
        if (i < 40) {
            p->a[i] = 10 * i;
        }
        if (i < 32) {
            p->b[i] = 1 + i;
        }
    }
    simt_barrier();
    now->what(p, p->data, p->a, p->b, p->out, shared, tid);
}

} // namespace

#endif /* SHPOOL_TESTS_LOADSTORE_SCENE_H */
