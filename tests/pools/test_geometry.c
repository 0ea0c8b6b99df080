/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan against the pools as kernels find them, byte for byte, over thousands of geometries: the
 * launch gets exactly pool.shared_bytes, every pool is at its place, aligned wherever static memory
 * ends, a malloc of pool.largest succeeds in each and a larger one does not, and the region's last
 * byte is not shared.
 *
 * Plans of several requests: all of them succeed in each pool, in whatever order. */
#include "scene.h"

static void geometry_kernel(shpool_heap heap)
{
    uint32_t  own  = simt_thread_rank() / t.pool.threads_per_pool;
    uint32_t  skip = (0u - simt_dynamic_base()) % t.pool.alignment;
    heap_slot all;

    EXPECT(heap.view.base == simt_dynamic_base() + skip + t.pool.area_bytes +
           own * t.pool.pool_bytes);
    EXPECT(heap.view.bytes == t.pool.pool_bytes);
    EXPECT(heap.view.base % t.pool.alignment == 0);
    if (trial_leads(heap)) {
        EXPECT(shpool_largest(heap) == t.pool.largest);
        EXPECT(shpool_malloc(heap, (size_t)t.pool.largest + 1u) == NULL);
        EXPECT(get_aligned(heap, &all, t.pool.largest, (t.number == 0) ? 16u : t.pool.alignment,
                           own));
        simt_global_add32(&t.steps, 1);
    }
    simt_barrier(); /* every pool is full */
    if (trial_leads(heap)) {
        (void)trial_expect_unbroken(&t, heap);
        EXPECT((shpool_largest(heap) == 0) && (shpool_malloc(heap, 1) == NULL));
        put(heap, &all);
    }
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

    shpool_config want  = { .block_threads = 1 + next_random(seed) % 70 };
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
    memset(&t, 0, offsetof(trial, model));
    t.allocator = allocator;
    trial_reset(&t);
    if (shpool_simt_open(allocator->name, &want, &t.pool) != SHPOOL_OK) {
        return 0;
    }
    assert_true(t.pool.largest * t.pool.pools >= want.payload_bytes);
    t.number               = next_random(seed) % 2;
    t.launch.block[0]      = want.block_threads;
    t.launch.dynamic_bytes = t.pool.shared_bytes;
    t.launch.static_bytes  = statics[next_random(seed) % (sizeof(statics) / sizeof(statics[0]))];
    t.launch.from_zero     = next_random(seed) % 2;
    t.launch.seed          = *seed;
    return 1;
}

UNIT_TEST(test_plans_are_what_kernels_find)
{
    static const scene s      = { .body = geometry_kernel };
    const unsigned     rounds = heap_long() ? 20000 : 1500 / UNIT_STEP; /* of each allocator */
    uint32_t           seed   = 7;

    now = &s;
    FOR_EACH_POOL(allocator) {
        unsigned ran = 0;

        for (unsigned round = 0; round < rounds; round++) {
            if (open_random(allocator, &seed)) {
                trial_run(&t, scene_kernel);
                assert_int_equal(t.steps, t.pool.pools);
                trial_close(&t);
                ran++;
            }
        }
        assert_true(ran > rounds / 3);
    }
}

/* ---- several requests at once ---- */

#define KINDS 3u   /* in a list */
#define MOST  100u /* requests of a list */

typedef shpool_request kinds[KINDS]; /* until a count of 0 */

static const kinds lists[] = {
    { { 2, 8192, 0, 0 } },
    { { 2, 8190, 0, 0 } },
    { { 1, 4, 0, 0 } },
    { { 64, 100, 0, 0 } },
    { { 100, 1, 0, 0 } },
    { { 3, 320, 0, 0 } }, /* in thread_bitmap two end words that the others do not fit in */
    { { 2, 320, 0, 0 } },
    { { 17, 0, 0, 0 } },
    { { 30, 1, 0, 0 }, { 3, 700, 0, 0 }, { 2, 180, 0, 0 } },
    { { 1, 4000, 0, 0 }, { 20, 16, 0, 0 } },
    { { 7, 100, 64, 0 } },
    { { 3, 1024, 1024, 0 } },
    { { 5, 64, 64, 0 }, { 3, 256, 16, 0 } },
    { { 9, 24, 0, 0 }, { 4, 100, 128, 0 }, { 3, 500, 32, 0 } },
    { { 1, 1000, 512, 0 }, { 12, 40, 32, 0 }, { 2, 4, 0, 0 } },
};

static struct {
    shpool_request order[MOST];
    uint32_t       count;
    uint32_t       next[SHPOOL_MAX_THREADS]; /* of each pool */
    uint32_t       refused;
} held;

/* The threads of a pool make its requests, whichever of them is first. */
static void hold_kernel(shpool_heap heap)
{
    uint32_t own = simt_thread_rank() / t.pool.threads_per_pool;
    uint32_t i;

    while ((i = simt_global_add32(&held.next[own], 1)) < held.count) {
        const shpool_request *one = &held.order[i];
        heap_slot             slot;

        if (!get_aligned(heap, &slot, one->bytes, (one->alignment != 0) ? one->alignment : 16u,
                         i)) {
            simt_global_add32(&held.refused, 1);
        }
    }
}

/* The requests as listed, the other way round, or shuffled. */
static void put_in_order(const shpool_request *requests, uint32_t n, uint32_t seed)
{
    uint32_t random = seed;

    held.count = 0;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < requests[i].count; k++) {
            held.order[held.count++] = requests[i];
        }
    }
    for (uint32_t i = held.count; (i > 1) && (seed > 0); i--) {
        uint32_t       k    = (seed == 1) ? held.count - i : next_random(&random) % i;
        shpool_request last = held.order[i - 1];

        if ((seed > 1) || (k < i - 1)) {
            held.order[i - 1] = held.order[k];
            held.order[k]     = last;
        }
    }
}

/* How many requests the pools refuse, of all orders. */
static uint32_t refused_of(const shpool_allocator *allocator, const shpool_config *want,
                           const shpool_request *requests, uint32_t n)
{
    static const scene s = { .body = hold_kernel, .leaves = 1 };

    now          = &s;
    held.refused = 0;
    for (uint32_t seed = 0; seed < 6; seed++) {
        trial_open_as(&t, allocator, "", want);
        t.launch.seed          = seed;
        t.launch.switch_period = seed % 3u;
        put_in_order(requests, n, seed);
        memset(held.next, 0, sizeof(held.next));
        trial_run(&t, scene_kernel);
        trial_close(&t);
    }
    return held.refused;
}

/* Whether the plan is the smallest: no alignments and, where the order matters, one size.  arena
 * shifts its entries by the pool's address; with no area before the pool, by 0. */
static int is_tight(const shpool_allocator *allocator, const shpool_pool *plan, uint32_t n)
{
    const uint32_t place = allocator->packing & 0xffu;

    return (plan->pools == 1) && (place != SHPOOL_PACK_ANY) && (plan->alignment == 16) &&
           ((n == 1) || (place == SHPOOL_PACK_DOWN)) &&
           ((plan->area_bytes == 0) || ((allocator->caps & SHPOOL_CAP_MARK) == 0));
}

/* Plans a list and holds it: 0, or 1 if no block has so much. */
static int hold(const shpool_allocator *allocator, shpool_config want, const shpool_request *list)
{
    shpool_pool plan;
    shpool_pool same;
    uint32_t    n = 0;
    uint32_t    refused;

    want.alignment = 16;
    for (; (n < KINDS) && (list[n].count != 0); n++) {
        want.alignment = (list[n].alignment > want.alignment) ? list[n].alignment : want.alignment;
    }
    if (shpool_plan_requests(allocator->name, &want, list, n, &plan) == SHPOOL_ERR_TOO_LARGE) {
        return 1;
    }
    if (plan.pools == 0) {
        fail_msg("%s: %s", allocator->name, shpool_last_error());
    }
    want.payload_bytes = plan.largest * plan.pools;
    assert_int_equal(shpool_plan(allocator->name, &want, &same), SHPOOL_OK);
    assert_memory_equal(&same, &plan, sizeof(plan));
    refused = refused_of(allocator, &want, list, n);
    if (refused != 0) {
        fail_msg("%s, %u threads, %u pools, %u x %u ..: %u refused", allocator->name,
                 want.block_threads, plan.pools, list[0].count, list[0].bytes, refused);
    }
    want.payload_bytes -= (plan.largest > 16) ? 16 : want.payload_bytes; /* the next smaller pool */
    if (is_tight(allocator, &plan, n) && (want.payload_bytes != 0) &&
        (refused_of(allocator, &want, list, n) == 0)) {
        fail_msg("%s, %u threads, %u x %u ..: a payload of %u is enough", allocator->name,
                 want.block_threads, list[0].count, list[0].bytes, want.payload_bytes);
    }
    return 0;
}

UNIT_TEST(test_requests_fit_in_any_order)
{
    static const struct { uint32_t threads, per_pool; } shapes[] = {
        { 1, 1 }, { 8, 8 }, { 33, 8 }, { 64, 32 }, { 128, 128 },
    };

    FOR_EACH_POOL(allocator) {
        uint32_t ran = 0;

        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
            for (size_t k = 0; k < 2 * sizeof(lists) / sizeof(lists[0]); k += UNIT_STEP) {
                shpool_config want = {
                    .block_threads = shapes[i].threads,
                    .threads_per_pool = (allocator->scope == SHPOOL_SCOPE_GROUP)
                                            ? shapes[i].per_pool : 0u,
                    .flags = (k % 2 != 0) ? SHPOOL_FLAG_CHECK : 0u,
                };

                ran += !hold(allocator, want, lists[k / 2]);
            }
        }
        assert_true(ran > 60 / UNIT_STEP);
    }
}
