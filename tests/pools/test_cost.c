/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of malloc and free with many free blocks, in accesses to shared memory: independent of
 * clocks, and the same on all machines.  rbtree's search is bounded by the bits of a size, best fit
 * looks at all. */
#include "heap_trial.h"

#define MOST_HOLES 1000u
#define SIZES      25u /* different ones; as many as 1,000 holes of 227 KiB can have */

static trial t;

static uint32_t hole_bytes(uint32_t i)
{
    return 16u * (1u + i * 37u % SIZES) - 4u;
}

/* One thread: p->number holes, then a malloc and a free of each size, and of one that no hole has;
 * p->steps: the most accesses that one of these pairs took. */
static void holes_kernel(void *arg)
{
    static void *hole[MOST_HOLES], *wall[MOST_HOLES];
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);

    for (size_t i = 0; i < p->number; i++) {
        hole[i] = shpool_malloc(heap, hole_bytes((uint32_t)i));
        wall[i] = shpool_malloc(heap, 12);
        HEAP_EXPECT(&p->model, (hole[i] != NULL) && (wall[i] != NULL));
    }
    for (size_t i = 0; i < p->number; i++) {
        shpool_free(heap, hole[i]);
    }
    for (uint32_t i = 0; i <= SIZES; i++) {
        uint32_t from = simt_self->countdown; /* falls with each access; no other thread runs */
        void    *ptr  = shpool_malloc(heap, (i < SIZES) ? hole_bytes(i) - 3u : 16u * SIZES);

        HEAP_EXPECT(&p->model, ptr != NULL);
        shpool_free(heap, ptr);
        if (from - simt_self->countdown > p->steps) {
            p->steps = from - simt_self->countdown;
        }
    }
    HEAP_EXPECT(&p->model, shpool_check(heap).broken == 0);
}

/* Most accesses of a malloc and a free with this number of holes in the pool. */
static uint32_t cost_of(const shpool_allocator *allocator, uint32_t holes)
{
    trial_open(&t, allocator, ":threads_per_pool=1", 1, 226u * 1024u, 16);
    t.number = holes;
    trial_run(&t, holes_kernel);
    trial_close(&t);
    return t.steps;
}

static void test_rbtree_does_not_look_at_every_hole(void **state)
{
    const shpool_allocator *tree = NULL;
    const shpool_allocator *list = NULL;
    uint32_t few, many;

    (void)state;
    if (shpool_allocator_find("rbtree", &tree) != SHPOOL_OK) {
        skip(); /* --enable-allocators left it out */
    }
    few  = cost_of(tree, 10);
    many = cost_of(tree, MOST_HOLES);
    print_message("rbtree: %u accesses with 10 holes, %u with %u\n", few, many, MOST_HOLES);
    assert_true(few > 1);
    assert_true(many <= 4 * few);
    if (shpool_allocator_find("warp_best_fit", &list) == SHPOOL_OK) {
        /* the measure sees a search that does */
        few  = cost_of(list, 10);
        many = cost_of(list, MOST_HOLES);
        print_message("warp_best_fit: %u and %u\n", few, many);
        assert_true(many > 10 * few);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rbtree_does_not_look_at_every_hole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
