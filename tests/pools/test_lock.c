/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock of pools that a group shares: every schedule of few threads up to a number of
 * preemptions, and many seeds of whole warps. */
#include "heap_trial.h"

static trial    t;
static uint32_t refused; /* mallocs that got NULL in the running schedule */

/* Two allocations each; frees in the other order, so that neighbours merge across threads. */
static void pair_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    uint32_t    rank = simt_thread_rank();
    heap_slot   a, b;
    int         got_a, got_b;

    got_a = trial_malloc(p, heap, &a, 20u + 20u * (rank % 8u), 16, rank);
    got_b = trial_malloc(p, heap, &b, 12, 16, rank + 8u);
    simt_global_add32(&refused, (uint32_t)!got_a + (uint32_t)!got_b);
    if (got_a && (rank == 0)) {
        (void)trial_realloc(p, heap, &a, 50, rank + 16u);
    }
    if (got_a) {
        trial_free(p, heap, &a);
    }
    if (got_b) {
        trial_free(p, heap, &b);
    }
    trial_expect_fresh(p, heap);
}

/* One allocation each, of one size: served together, or not. */
static void single_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   a;
    int         got  = trial_malloc(p, heap, &a, 20u, 16, simt_thread_rank());

    simt_global_add32(&refused, (uint32_t)!got);
    if (got) {
        trial_free(p, heap, &a);
    }
    trial_expect_fresh(p, heap);
}

static void before(void *arg)
{
    (void)arg;
    heap_model_reset(&t.model);
    refused = 0;
}

static int after(void *arg)
{
    (void)arg;
    if (refused != 0) { /* there is room for all: a lock must not make anyone miss it */
        heap_model_fault(&t.model, "%u wrong refusals", refused);
    }
    return t.model.faults != 0;
}

static void explore(const shpool_allocator *allocator, simt_kernel kernel, uint32_t threads,
                    uint32_t preemptions)
{
    simt_bounds   bounds = { .preemptions = heap_preemptions(preemptions) };
    simt_hooks    hooks  = { before, after };
    shpool_status status;
    char          option[32];

    (void)snprintf(option, sizeof(option), ":threads_per_pool=%u", threads);
    trial_open(&t, allocator, option, threads, 800u / trial_pools(allocator, threads) + 1u, 16);
    status = simt_explore(&t.launch, &bounds, &hooks, kernel, &t, &t.result);
    print_message("             %s: %llu schedules of %u threads, %u preemptions\n",
                  TRIAL_NAME(&t), t.result.schedules, threads, bounds.preemptions);
    if (status != SHPOOL_OK) {
        fail_msg("%s; %s", (t.model.faults != 0) ? t.model.text : "", t.result.text);
    }
    assert_true(t.result.complete && (t.result.schedules > 100));
    trial_close(&t);
}

#define FOR_EACH_SHARED(_allocator)                                                                \
    FOR_EACH_POOL(_allocator)                                                                      \
        if (_allocator->scope == SHPOOL_SCOPE_GROUP)

/* Lanes that are served together ask each other: each answer is a point where threads may switch,
 * and there are very many schedules. */
static int is_batched(const shpool_allocator *allocator)
{
    return strncmp(allocator->name, "warp_", 5) == 0;
}

UNIT_TEST(test_every_schedule_of_two_threads)
{
    FOR_EACH_SHARED(allocator) {
        if (is_batched(allocator)) {
            explore(allocator, pair_kernel, 2, 1);
            explore(allocator, single_kernel, 2, 2);
        } else {
            explore(allocator, pair_kernel, 2, 2);
        }
    }
}

UNIT_TEST(test_every_schedule_of_three_threads)
{
    FOR_EACH_SHARED(allocator) {
        if (!is_batched(allocator)) { /* three such: not in a day; seeds below have whole warps */
            explore(allocator, pair_kernel, 3, 1);
        }
    }
}

/* Groups of every size in a block of 70: also one that spans warps, and a short last one. */
UNIT_TEST(test_groups_of_every_size)
{
    FOR_EACH_SHARED(allocator) {
        for (uint32_t group = 1; group <= 70; group++) {
            shpool_config want = { .block_threads = 70, .threads_per_pool = group };

            memset(&t, 0, sizeof(t));
            heap_model_reset(&t.model);
            t.allocator        = allocator;
            want.payload_bytes = (70u + group - 1u) / group * (group * 220u + 200u);
            assert_int_equal(shpool_simt_open(allocator->name, &want, &t.pool), SHPOOL_OK);
            assert_int_equal(t.pool.pools, (70u + group - 1u) / group);
            t.launch.block[0]      = 70;
            t.launch.dynamic_bytes = t.pool.shared_bytes;
            t.launch.seed          = group;
            t.launch.switch_period = 1u + group % 9u;
            refused                = 0;
            trial_run(&t, pair_kernel);
            assert_int_equal(refused, 0);
            trial_close(&t);
        }
    }
}

/* Freed together, and once more together: each piece of what was given back as one is refused. */
static void twice_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    void       *a    = shpool_malloc(heap, 20);

    HEAP_EXPECT(&p->model, a != NULL);
    simt_barrier();
    HEAP_EXPECT(&p->model, shpool_free_at(heap, a, 0) == SHPOOL_FREE_OK);
    simt_barrier();
    HEAP_EXPECT(&p->model, shpool_free_at(heap, a, 0) == SHPOOL_FREE_DOUBLE);
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_double_frees_of_a_batch)
{
    FOR_EACH_SHARED(allocator) {
        if (is_batched(allocator)) {
            trial_once(&t, allocator, ":threads_per_pool=8", 24, 800, twice_kernel);
        }
    }
}

/* Everybody frees what the next thread of its group allocated. */
static void hand_over_kernel(void *arg)
{
    trial      *p     = (trial *)arg;
    shpool_heap heap  = trial_init(p);
    uint32_t    rank  = simt_thread_rank();
    uint32_t    share = p->pool.threads_per_pool;
    uint32_t    first = rank - rank % share;
    uint32_t    left  = simt_block_threads() - first;
    uint32_t    size  = (left < share) ? left : share;
    uint32_t    next  = first + (rank - first + 1u) % size;

    for (uint32_t round = 0; round < 3; round++) {
        if (!trial_malloc(p, heap, &p->box[rank], 8u + 4u * (rank % 5u), 16, rank)) {
            heap_model_fault(&p->model, "no room for thread %u", rank);
        }
        simt_barrier();
        trial_free(p, heap, &p->box[next]);
        simt_barrier();
    }
    trial_expect_fresh(p, heap);
}

UNIT_TEST(test_others_of_the_group_free)
{
    static const char *const options[] = { ":threads_per_pool=%u", ":threads_per_pool=%u,check=1" };

    FOR_EACH_SHARED(allocator) {
        for (uint32_t i = 0; i < 60; i++) {
            char     option[64];
            uint32_t group = 1u + i * 7u % 40u;

            (void)snprintf(option, sizeof(option), options[i % 2u], group);
            trial_open(&t, allocator, option, 40, 16000u / trial_pools(allocator, 40), 16);
            t.launch.seed          = i;
            t.launch.switch_period = 1u + i % 7u;
            trial_run(&t, hand_over_kernel);
            trial_close(&t);
        }
    }
}

/* One OS thread per GPU thread: what ThreadSanitizer is for. */
UNIT_TEST(test_groups_of_os_threads)
{
    FOR_EACH_SHARED(allocator) {
        for (unsigned round = 0; round < 5; round++) {
            trial_open(&t, allocator, ":threads_per_pool=24", 24,
                       4000u / trial_pools(allocator, 24), 16);
            t.launch.engine = SIMT_THREADS;
            t.launch.seed   = round;
            trial_run(&t, pair_kernel);
            trial_close(&t);
        }
    }
}
