/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.h on the executor: opening pools, where they may lie, and when heaps must be empty. */
#include "heap_trial.h"

static trial t;

/* Everything that asks for memory gets NULL, and nothing faults. */
static void expect_empty(trial *p, shpool_heap heap)
{
    static char word[8];

    HEAP_EXPECT(&p->model, shpool_malloc(heap, 1) == NULL);
    HEAP_EXPECT(&p->model, shpool_malloc_at(heap, 1, 3) == NULL);
    HEAP_EXPECT(&p->model, shpool_malloc_shared(heap, 1) == NULL);
    HEAP_EXPECT(&p->model, shpool_calloc(heap, 1, 1) == NULL);
    HEAP_EXPECT(&p->model, shpool_aligned_malloc(heap, 16, 1) == NULL);
    HEAP_EXPECT(&p->model, shpool_realloc(heap, NULL, 1) == NULL);
    HEAP_EXPECT(&p->model, shpool_largest(heap) == 0);
    HEAP_EXPECT(&p->model, shpool_check(heap).broken == 0);
    HEAP_EXPECT(&p->model, shpool_free_at(heap, NULL, 0) == SHPOOL_FREE_OK);
    HEAP_EXPECT(&p->model, shpool_free_at(heap, word, 0) == SHPOOL_FREE_FOREIGN);
    HEAP_EXPECT(&p->model, shpool_free_at(heap, simt_from_shared(simt_dynamic_base()), 0) ==
                               SHPOOL_FREE_FOREIGN);
}

static void expect_works(trial *p, shpool_heap heap)
{
    heap_slot slot;

    if (trial_malloc(p, heap, &slot, 40, 16, simt_thread_rank())) {
        trial_free(p, heap, &slot);
    } else { /* a pool of one allocation may be in another thread's hands */
        HEAP_EXPECT(&p->model, p->pool.scope != SHPOOL_SCOPE_THREAD);
    }
    trial_expect_fresh(p, heap);
}

static void empty_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);

    expect_empty(p, heap);
    shpool_fini(heap);
}

/* ---- heaps that must be empty ---- */

UNIT_TEST(test_null_never_hands_out_anything)
{
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if ((allocator->caps & SHPOOL_CAP_NONE) != 0) {
            trial_open(&t, allocator, "", 33, 64, 16);
            t.launch.dynamic_bytes = 64;
            trial_run(&t, empty_kernel);
            assert_int_equal(t.model.faults, 0);
            trial_close(&t);
        }
    }
}

UNIT_TEST(test_zeroed_pool_gives_empty_heaps)
{
    memset(&t, 0, sizeof(t));
    heap_model_reset(&t.model);
    t.allocator            = shpool_allocator_get(0);
    t.launch.block[0]      = 7;
    t.launch.dynamic_bytes = 512;
    trial_run(&t, empty_kernel);
    assert_int_equal(t.model.faults, 0);
}

static void misaligned_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = shpool_init(&p->pool, simt_from_shared(simt_dynamic_base() +
                                                              (uint32_t)p->number));

    expect_empty(p, heap);
    shpool_fini(heap);
}

/* The reason is in the report, once a block; the detail has `text`. */
static void assert_refused(simt_kernel kernel, shpool_status reason, const char *text)
{
    t.launch.grid[0] = 3;
    trial_run(&t, kernel);
    assert_int_equal(t.report.status, reason);
    assert_int_equal(shpool_simt_report(&t.pool, &t.report), SHPOOL_OK);
    assert_non_null(strstr(shpool_last_error(), "empty heap in 3 blocks: "));
    assert_non_null(strstr(shpool_last_error(), text));
    assert_int_equal(t.report.empty, 3);
    assert_int_equal(t.report.blocks, 0);
    trial_close(&t);
}

UNIT_TEST(test_misaligned_base_gives_empty_heaps)
{
    FOR_EACH_POOL(allocator) {
        trial_open(&t, allocator, ":stats=1", 4, 400, 128);
        t.launch.dynamic_bytes += 1024;
        t.number = 8;
        assert_refused(misaligned_kernel, SHPOOL_ERR_ALIGNMENT, "0x408 in shared memory, which is "
                       "not a multiple of 16");
        trial_open(&t, allocator, ":stats=1", 4, 400, 16);
        t.launch.dynamic_bytes += 1024;
        t.number = 4;
        assert_refused(misaligned_kernel, SHPOOL_ERR_ALIGNMENT, "base is at 0x404 in");
    }
}

static void assert_bytes_refused(uint32_t bytes)
{
    char text[128];

    snprintf(text, sizeof(text), "has %u bytes of shared memory from the pool's base on, the pool "
             "needs %u;", bytes, t.pool.shared_bytes);
    assert_refused(empty_kernel, SHPOOL_ERR_LAUNCH, text);
}

UNIT_TEST(test_too_little_dynamic_memory_gives_empty_heaps)
{
    FOR_EACH_POOL(allocator) {
        trial_open(&t, allocator, ":stats=1", 4, 400, 16);
        t.launch.dynamic_bytes -= 4;
        assert_bytes_refused(t.launch.dynamic_bytes);
    }
}

/* Its base is where shared memory ends, as on the GPU. */
UNIT_TEST(test_no_dynamic_memory_gives_empty_heaps)
{
    FOR_EACH_POOL(allocator) {
        trial_open(&t, allocator, ":stats=1", 4, 400, 16);
        t.launch.dynamic_bytes = 0;
        assert_bytes_refused(0);
        trial_open(&t, allocator, ":stats=1", 4, 400, 16);
        t.launch.dynamic_bytes = 0;
        t.launch.static_bytes  = 64;
        assert_bytes_refused(0);
    }
}

UNIT_TEST(test_more_threads_than_planned_give_empty_heaps)
{
    FOR_EACH_POOL(allocator) {
        trial_open(&t, allocator, ":stats=1", 4, 400, 16);
        t.launch.block[0] = 5;
        assert_refused(empty_kernel, SHPOOL_ERR_LAUNCH,
                       "the launch has 5 threads in a block, the pool is planned for 4;");
    }
}

static void host_base_kernel(void *arg)
{
    trial      *p = (trial *)arg;
    static char elsewhere[4096] __attribute__((aligned(1024)));
    shpool_heap heap = shpool_init(&p->pool, elsewhere);

    expect_empty(p, heap);
    shpool_fini(heap);
}

UNIT_TEST(test_base_outside_shared_memory_gives_empty_heaps)
{
    FOR_EACH_POOL(allocator) {
        trial_open(&t, allocator, ":stats=1", 4, 400, 16);
        assert_refused(host_base_kernel, SHPOOL_ERR_INVALID, "base is not in shared memory");
    }
}

/* ---- where pools may lie ---- */

static void works_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);

    expect_works(p, heap);
    shpool_fini(heap);
}

UNIT_TEST(test_fewer_threads_than_planned_work)
{
    FOR_EACH_POOL(allocator) {
        trial_open(&t, allocator, ":stats=1", 8, 400, 16);
        t.launch.block[0] = 5;
        trial_run(&t, works_kernel);
        assert_int_equal(t.report.status, SHPOOL_OK);
        assert_int_equal(t.report.blocks, 1);
        assert_int_equal(t.report.empty, 0);
        trial_close(&t);
    }
}

static shpool_pool second;

/* user's array | first pool | user's array | second pool, of another allocator */
static void two_pools_kernel(void *arg)
{
    trial      *p      = (trial *)arg;
    simt_addr   base   = simt_dynamic_base();
    uint32_t    offset = 64u + p->pool.shared_bytes;
    uint32_t    rank   = simt_thread_rank();
    heap_slot   user   = { (unsigned char *)simt_from_shared(base + 4u * rank), 4, rank };
    heap_slot   other  = { (unsigned char *)simt_from_shared(base + offset + 4u * rank), 4, ~rank };
    shpool_heap one;
    shpool_heap two;
    heap_slot   a;
    heap_slot   b;

    heap_fill(&user);
    heap_fill(&other);
    one = shpool_init(&p->pool, simt_from_shared(base + 64u));
    two = shpool_init(&second, simt_from_shared(base + offset + 64u));
    for (uint32_t i = 0; i < 10; i++) {
        int have_a = trial_malloc(p, one, &a, 16u + i, 16, 3u * i);
        int have_b = trial_malloc(p, two, &b, 40u + i, 16, 5u * i);

        HEAP_EXPECT(&p->model, have_a && have_b);
        if (have_a) {
            HEAP_EXPECT(&p->model, shpool_free_at(two, a.at, 0) == SHPOOL_FREE_FOREIGN);
            trial_free(p, one, &a);
        }
        if (have_b) {
            HEAP_EXPECT(&p->model, shpool_free_at(one, b.at, 0) == SHPOOL_FREE_FOREIGN);
            trial_free(p, two, &b);
        }
    }
    trial_expect_fresh(p, one);
    HEAP_EXPECT(&p->model, shpool_check(two).broken == 0);
    simt_barrier();
    heap_verify(&p->model, user.at, 4, user.tag);
    heap_verify(&p->model, other.at, 4, other.tag);
}

UNIT_TEST(test_two_pools_and_arrays_of_the_user_in_one_block)
{
    shpool_config want = { .block_threads = 16, .payload_bytes = 16 * 128, .alignment = 256 };

    FOR_EACH_POOL(allocator) {
        for (size_t i = 0; i < shpool_allocator_count(); i++) {
            if (!has_pool(shpool_allocator_get(i))) {
                continue;
            }
            trial_open(&t, allocator, "", 16, (allocator->scope == SHPOOL_SCOPE_THREAD)
                                                  ? 128 : 16 * 128, 64);
            assert_int_equal(shpool_simt_open(shpool_allocator_get(i)->name, &want, &second),
                             SHPOOL_OK);
            t.launch.dynamic_bytes   = 128u + t.pool.shared_bytes + second.shared_bytes;
            t.launch.switch_period   = 5;
            trial_run(&t, two_pools_kernel);
            shpool_simt_close(&second);
            trial_close(&t);
        }
    }
}

static void static_array_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    uint32_t    room = (p->pool.shared_bytes + 1023u) & ~1023u;
    shpool_heap heap = shpool_init(&p->pool, simt_from_shared(simt_dynamic_base() - room));
    void       *ptr  = shpool_malloc(heap, 16);

    HEAP_EXPECT(&p->model, (ptr != NULL) && (simt_to_shared(ptr) < simt_dynamic_base()));
    simt_barrier();
    HEAP_EXPECT(&p->model, shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
    simt_barrier();
    HEAP_EXPECT(&p->model, !trial_leads(heap) || (shpool_largest(heap) == p->pool.largest));
}

UNIT_TEST(test_pool_in_an_array_of_the_kernel)
{
    FOR_EACH_POOL(allocator) {
        trial_open(&t, allocator, "", 4, 400, 16);
        t.launch.dynamic_bytes = 0;
        t.launch.static_bytes  = (t.pool.shared_bytes + 1023u) & ~1023u;
        trial_run(&t, static_array_kernel);
        assert_int_equal(t.model.faults, 0);
        trial_close(&t);
    }
}

/* Twice over the same memory; the first time everything leaks. */
static void again_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);

    for (uint32_t i = 0; i < 3; i++) {
        void *ptr = shpool_malloc(heap, 24u + 16u * i);

        HEAP_EXPECT(&p->model, ptr != NULL);
        heap = trial_init(p);
        expect_works(p, heap);
        if (ptr != NULL) { /* the new pool knows nothing of it */
            HEAP_EXPECT(&p->model, shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK);
        }
        simt_barrier();
    }
    shpool_fini(heap);
}

UNIT_TEST(test_init_again_starts_afresh)
{
    FOR_EACH_POOL(allocator) {
        for (uint32_t period = 0; period < 6; period++) {
            trial_open(&t, allocator, ":check=1", 6, 1200, 16);
            t.launch.switch_period = period;
            trial_run(&t, again_kernel);
            assert_int_equal(t.report.bad_frees, 18);
            assert_int_equal(t.report.corrupt, 0);
            trial_close(&t);
        }
    }
}

static void sub_pool_kernel(void *arg)
{
    trial      *p    = (trial *)arg;
    simt_addr   base = simt_dynamic_base() + 1024u;
    shpool_heap heap = shpool_init_bytes(&p->pool, simt_from_shared(base + 16u),
                                         (uint32_t)p->number);

    if (heap.view.bytes == 0) {
        expect_empty(p, heap);
        return;
    }
    HEAP_EXPECT(&p->model, (heap.view.base % 64u == 0) && (heap.view.base >= base + 16u) &&
                               (heap.view.base + heap.view.bytes <= base + 16u + p->number));
    simt_global_add32(&p->steps, 1);
    simt_barrier();
    if (heap.view.base == base + 64u && simt_thread_rank() == 0) {
        size_t    most = shpool_largest(heap);
        heap_slot slot;

        HEAP_EXPECT(&p->model, most > 0);
        HEAP_EXPECT(&p->model, trial_malloc(p, heap, &slot, most, 16, 1));
        HEAP_EXPECT(&p->model, shpool_malloc(heap, 1) == NULL);
        trial_free(p, heap, &slot);
        HEAP_EXPECT(&p->model, shpool_largest(heap) == most);
        HEAP_EXPECT(&p->model, shpool_check(heap).broken == 0);
    }
}

UNIT_TEST(test_init_bytes_makes_pools_of_what_it_is_given)
{
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        for (uint32_t bytes = 0; bytes < 6000; bytes += 1u + bytes / 2u) {
            trial_open(&t, allocator, "", 4, 400, 64);
            t.launch.dynamic_bytes = 1024u + 6016u;
            t.number               = bytes;
            trial_run(&t, sub_pool_kernel);
            assert_true((t.steps == 0) || (t.steps == 4));
            assert_true((bytes < 2000) || ((t.steps == 4) == has_pool(allocator)));
            trial_close(&t);
        }
    }
}

#define NESTED_BYTES 4096u

/* Pools inside an allocation of another pool; all threads work in them, each frees what another of
 * its group allocated. */
static void nested_kernel(void *arg)
{
    trial      *p     = (trial *)arg;
    shpool_heap outer = trial_init(p);
    uint32_t    rank  = simt_thread_rank();
    uint32_t    first = rank / p->pool.threads_per_pool * p->pool.threads_per_pool;
    uint32_t    group = p->pool.threads_per_pool;
    shpool_heap heap;

    group = (simt_block_threads() - first < group) ? simt_block_threads() - first : group;
    if (rank == 0) {
        p->box[0].at = (unsigned char *)shpool_malloc(outer, NESTED_BYTES);
        HEAP_EXPECT(&p->model, p->box[0].at != NULL);
    }
    simt_barrier();
    heap = shpool_init_bytes(&p->pool, p->box[0].at, NESTED_BYTES);
    HEAP_EXPECT(&p->model, heap.view.bytes != 0);
    for (uint32_t round = 0; round < 6; round++) {
        uint32_t  partner = first + (rank - first + round) % group;
        heap_slot mine;
        uint32_t  got = (uint32_t)trial_malloc(p, heap, &mine, 1 + (rank * 7 + round * 13) % 60, 16,
                                               rank);

        HEAP_EXPECT(&p->model, got);
        simt_barrier();
        p->box[rank + 1] = mine;
        simt_barrier();
        trial_free(p, heap, &p->box[partner + 1]);
    }
    simt_barrier();
    if (trial_leads(heap)) {
        shpool_walk walk = shpool_check(heap);

        HEAP_EXPECT(&p->model, (walk.broken == 0) && (walk.live == 0));
    }
    simt_barrier();
    if (rank == 0) {
        HEAP_EXPECT(&p->model, shpool_free_at(outer, p->box[0].at, 0) == SHPOOL_FREE_OK);
    }
    trial_expect_fresh(p, outer);
}

UNIT_TEST(test_pools_inside_an_allocation)
{
    FOR_EACH_POOL(allocator) {
        for (uint32_t period = 0; period < 6; period++) {
            trial_open(&t, allocator, "", 8, 3u * NESTED_BYTES, 16);
            t.launch.switch_period = period;
            t.launch.seed          = period;
            trial_run(&t, nested_kernel);
            trial_close(&t);
        }
    }
}

UNIT_TEST(test_init_bytes_of_a_pool_with_stats_gives_empty_heaps)
{
    FOR_EACH_POOL(allocator) {
        trial_open(&t, allocator, ":stats=1", 4, 400, 64);
        t.launch.dynamic_bytes = 1024u + 6000u;
        t.number               = 4096;
        trial_run(&t, sub_pool_kernel);
        assert_int_equal(t.steps, 0);
        trial_close(&t);
    }
}
