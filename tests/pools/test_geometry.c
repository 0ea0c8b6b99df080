/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan against the pools as kernels find them, byte for byte, over thousands of geometries: the
 * launch gets exactly pool.shared_bytes, every pool is at its place, aligned wherever static memory
 * ends, a malloc of pool.largest succeeds in each and a larger one does not, and the region's last
 * byte is not shared. */
#include "heap_trial.h"

static trial t;

static void geometry_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    own  = simt_thread_rank() / p->pool.threads_per_pool;
    uint32_t    skip = (0u - simt_dynamic_base()) % p->pool.alignment;
    heap_slot   all;

    HEAP_EXPECT(&p->model, heap.view.base == simt_dynamic_base() + skip + p->pool.area_bytes +
                                                 own * p->pool.pool_bytes);
    HEAP_EXPECT(&p->model, heap.view.bytes == p->pool.pool_bytes);
    HEAP_EXPECT(&p->model, heap.view.base % p->pool.alignment == 0);
    if (trial_leads(heap)) {
        HEAP_EXPECT(&p->model, shpool_largest(heap) == p->pool.largest);
        HEAP_EXPECT(&p->model, shpool_malloc(heap, (size_t)p->pool.largest + 1u) == NULL);
        if (p->number == 0) {
            HEAP_EXPECT(&p->model, trial_malloc(p, heap, &all, p->pool.largest, 16, own));
        } else {
            HEAP_EXPECT(&p->model, trial_malloc(p, heap, &all, p->pool.largest,
                                                p->pool.alignment, own));
        }
        simt_global_add32(&p->steps, 1);
    }
    simt_barrier(); /* every pool is full */
    if (trial_leads(heap)) {
        trial_free(p, heap, &all);
    }
    trial_expect_fresh(p, heap);
    shpool_fini(heap);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* A random shape for this allocator; 0 if no block can have it. */
static int open_random(const shpool_allocator *allocator, uint32_t *seed)
{
    static const uint32_t statics[] = { 0, 4, 8, 16, 120, 128, 1000, 1024, 1040 };

    shpool_config want = { .block_threads = 1 + next_random(seed) % 70 };
    uint32_t      bytes = 1 + next_random(seed) % (1u << (6 + next_random(seed) % 10));

    if (next_random(seed) % 32 == 0) {
        want.block_threads = 1 + next_random(seed) % SHPOOL_MAX_THREADS;
    }
    want.threads_per_pool = next_random(seed) % 50;
    want.alignment        = (next_random(seed) % 3 == 0) ? 16u << (next_random(seed) % 7) : 16u;
    want.flags            = (next_random(seed) % 4 == 0) ? SHPOOL_FLAG_STATS : 0u;
    if (next_random(seed) % 2 == 0) {
        want.payload_bytes = bytes;
    } else {
        want.total_bytes = bytes;
    }
    memset(&t, 0, sizeof(t));
    t.allocator = allocator;
    heap_model_reset(&t.model);
    if (shpool_simt_open(allocator->name, &want, &t.pool) != SHPOOL_OK) {
        return 0;
    }
    t.number               = next_random(seed) % 2;
    t.launch.block[0]      = want.block_threads;
    t.launch.dynamic_bytes = t.pool.shared_bytes;
    t.launch.static_bytes  = statics[next_random(seed) % (sizeof(statics) / sizeof(statics[0]))];
    t.launch.from_zero     = next_random(seed) % 2;
    t.launch.seed          = *seed;
    return 1;
}

static void test_plans_are_what_kernels_find(void **state)
{
    const char *more   = getenv("LIBSHPOOL_TEST_LONG");
    unsigned    rounds = (more != NULL) ? 20000 : 1500; /* of each allocator */
    uint32_t    seed   = 7;

    (void)state;
    FOR_EACH_POOL(allocator) {
        unsigned ran = 0;

        for (unsigned round = 0; round < rounds; round++) {
            if (open_random(allocator, &seed)) {
                trial_run(&t, geometry_kernel);
                assert_int_equal(t.steps, t.pool.pools);
                trial_close(&t);
                ran++;
            }
        }
        assert_true(ran > rounds / 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_are_what_kernels_find),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
