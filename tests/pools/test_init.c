/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.h on the executor: opening pools, where they may lie, and when heaps must be empty. */
#include "scene.h"

/* Everything that asks for memory gets NULL, and nothing faults. */
static void empty_body(shpool_heap heap)
{
    static char word[8];

    EXPECT(shpool_malloc(heap, 1) == NULL);
    EXPECT(shpool_malloc_at(heap, 1, 3) == NULL);
    EXPECT(shpool_malloc_shared(heap, 1) == NULL);
    EXPECT(shpool_calloc(heap, 1, 1) == NULL);
    EXPECT(shpool_aligned_malloc(heap, 16, 1) == NULL);
    EXPECT(shpool_realloc(heap, NULL, 1) == NULL);
    EXPECT(shpool_largest(heap) == 0);
    EXPECT(shpool_check(heap).broken == 0);
    EXPECT(shpool_free_at(heap, NULL, 0) == SHPOOL_FREE_OK);
    EXPECT(shpool_free_at(heap, word, 0) == SHPOOL_FREE_FOREIGN);
    EXPECT(shpool_free_at(heap, simt_from_shared(simt_dynamic_base()), 0) == SHPOOL_FREE_FOREIGN);
}

static void expect_works(shpool_heap heap)
{
    heap_slot slot;

    if (get(heap, &slot, 40, simt_thread_rank())) {
        put(heap, &slot);
    } else { /* a pool of one allocation may be in another thread's hands */
        EXPECT(t.pool.scope != SHPOOL_SCOPE_THREAD);
    }
    trial_expect_fresh(&t, heap);
}

/* ---- heaps that must be empty ---- */

static void add_memory(void)
{
    t.launch.dynamic_bytes += 1024;
}

static int has_nothing(const shpool_allocator *allocator)
{
    return !serves(allocator);
}

SCENE(test_null_never_hands_out_anything, empty_body, .takes = has_nothing, .threads = { 33 },
      .each = 64, .tune = add_memory)

UNIT_TEST(test_zeroed_pool_gives_empty_heaps)
{
    static const scene s = { .body = empty_body };

    now = &s;
    memset(&t, 0, offsetof(trial, model));
    trial_reset(&t);
    t.allocator            = shpool_allocator_get(0);
    t.launch.block[0]      = 7;
    t.launch.dynamic_bytes = 512;
    trial_run(&t, scene_kernel);
}

static void misaligned_kernel(void *arg)
{
    shpool_heap heap = shpool_init(&t.pool, simt_from_shared(simt_dynamic_base() +
                                                             (uint32_t)t.number));

    empty_body(heap);
    shpool_fini(heap);
}

static void host_base_kernel(void *arg)
{
    static char elsewhere[4096] __attribute__((aligned(1024)));
    shpool_heap heap = shpool_init(&t.pool, elsewhere);

    empty_body(heap);
    shpool_fini(heap);
}

static void misalign_by_8(void) { add_memory(); t.number = 8; }
static void misalign_by_4(void) { add_memory(); t.number = 4; }
static void drop_a_word(void) { t.launch.dynamic_bytes -= 4; }
static void drop_all(void) { t.launch.dynamic_bytes = 0; }
static void drop_all_behind_static(void) { drop_all(); t.launch.static_bytes = 64; }
static void add_a_thread(void) { t.launch.block[0]++; }

/* A launch that the pool is not for. */
static const struct refusal {
    simt_kernel kernel; /* NULL: all is as it should be but the launch */
    void        (*tune)(void);
    uint32_t      alignment;
    shpool_status reason;
    const char   *text; /* of the detail; %u: the bytes that the launch has, and the pool needs */
} refusals[] = {
    { misaligned_kernel, misalign_by_8, 128, SHPOOL_ERR_ALIGNMENT,
      "0x408 in shared memory, which is not a multiple of 16" },
    { misaligned_kernel, misalign_by_4, 16, SHPOOL_ERR_ALIGNMENT, "base is at 0x404 in" },
#define TOO_LITTLE "has %u bytes of shared memory from the pool's base on, the pool needs %u;"
    { NULL, drop_a_word, 16, SHPOOL_ERR_LAUNCH, TOO_LITTLE },
    { NULL, drop_all, 16, SHPOOL_ERR_LAUNCH, TOO_LITTLE }, /* the base is where it all ends */
    { NULL, drop_all_behind_static, 16, SHPOOL_ERR_LAUNCH, TOO_LITTLE },
    { NULL, add_a_thread, 16, SHPOOL_ERR_LAUNCH,
      "the launch has 5 threads in a block, the pool is planned for 4;" },
    { host_base_kernel, NULL, 16, SHPOOL_ERR_INVALID, "base is not in shared memory" },
};

static const struct refusal *refused;

/* The reason is in the report, once a block. */
static void expect_refusal(void)
{
    char text[128];

    (void)snprintf(text, sizeof(text), refused->text, t.launch.dynamic_bytes, t.pool.shared_bytes);
    assert_int_equal(t.report.status, refused->reason);
    assert_int_equal(shpool_simt_report(&t.pool, &t.report), SHPOOL_OK);
    assert_non_null(strstr(shpool_last_error(), "empty heap in 3 blocks: "));
    assert_non_null(strstr(shpool_last_error(), text));
}

UNIT_TEST(test_launches_that_give_empty_heaps)
{
    for (refused = refusals; refused < refusals + sizeof(refusals) / sizeof(refusals[0]);
         refused++) {
        const scene s = { .body = empty_body, .kernel = refused->kernel,
                          .options = { ":stats=1" }, .threads = { 4 }, .blocks = 3, .each = 400,
                          .alignments = { refused->alignment }, .tune = refused->tune,
                          .report = "empty 3, blocks 0", .expect = expect_refusal };

        run_scene(&s);
    }
}

/* ---- where pools may lie ---- */

static void drop_threads(void)
{
    t.launch.block[0] = 5;
}

SCENE(test_fewer_threads_than_planned_work, expect_works, .options = { ":stats=1" },
      .threads = { 8 }, .each = 400, .tune = drop_threads, .report = "blocks 1, empty 0")

static shpool_pool second;

/* user's array | first pool | user's array | second pool, of another allocator */
static void two_pools_kernel(void *arg)
{
    simt_addr   base   = simt_dynamic_base();
    uint32_t    offset = 64u + t.pool.shared_bytes;
    uint32_t    rank   = simt_thread_rank();
    heap_slot   user   = { (unsigned char *)simt_from_shared(base + 4u * rank), 4, rank };
    heap_slot   other  = { (unsigned char *)simt_from_shared(base + offset + 4u * rank), 4, ~rank };
    shpool_heap one;
    shpool_heap two;
    heap_slot   a;
    heap_slot   b;

    heap_fill(&user);
    heap_fill(&other);
    one = shpool_init(&t.pool, simt_from_shared(base + 64u));
    two = shpool_init(&second, simt_from_shared(base + offset + 64u));
    for (uint32_t i = 0; i < 10; i++) {
        int have_a = get(one, &a, 16u + i, 3u * i);
        int have_b = get(two, &b, 40u + i, 5u * i);

        EXPECT(have_a && have_b);
        if (have_a) {
            EXPECT(shpool_free_at(two, a.at, 0) == SHPOOL_FREE_FOREIGN);
            put(one, &a);
        }
        if (have_b) {
            EXPECT(shpool_free_at(one, b.at, 0) == SHPOOL_FREE_FOREIGN);
            put(two, &b);
        }
    }
    trial_expect_fresh(&t, one);
    EXPECT(shpool_check(two).broken == 0);
    simt_barrier();
    heap_verify(&t.model, user.at, 4, user.tag);
    heap_verify(&t.model, other.at, 4, other.tag);
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
    uint32_t    room = (t.pool.shared_bytes + 1023u) & ~1023u;
    shpool_heap heap = shpool_init(&t.pool, simt_from_shared(simt_dynamic_base() - room));
    void       *ptr  = shpool_malloc(heap, 16);

    EXPECT((ptr != NULL) && (simt_to_shared(ptr) < simt_dynamic_base()));
    simt_barrier();
    EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
    simt_barrier();
    EXPECT(!trial_leads(heap) || (shpool_largest(heap) == t.pool.largest));
}

static void put_in_an_array(void)
{
    t.launch.dynamic_bytes = 0;
    t.launch.static_bytes  = (t.pool.shared_bytes + 1023u) & ~1023u;
}

SCENE(test_pool_in_an_array_of_the_kernel, NULL, .kernel = static_array_kernel, .threads = { 4 },
      .each = 400, .tune = put_in_an_array)

/* Twice over the same memory; the first time everything leaks. */
static void again_kernel(shpool_heap heap)
{
    for (uint32_t i = 0; i < 3; i++) {
        void *ptr = shpool_malloc(heap, 24u + 16u * i);

        EXPECT(ptr != NULL);
        heap = trial_init(&t);
        expect_works(heap);
        if (ptr != NULL) { /* the new pool knows nothing of it */
            EXPECT(shpool_free_at(heap, ptr, 0) != SHPOOL_FREE_OK);
        }
        simt_barrier();
    }
}

SCENE(test_init_again_starts_afresh, again_kernel, .options = { ":check=1" }, .threads = { 6 },
      .each = 1200, .seeds = 6, .periods = 6, .leaves = 1, .report = "bad_frees 18, corrupt 0")

static void sub_pool_kernel(void *arg)
{
    simt_addr   base = simt_dynamic_base() + 1024u;
    shpool_heap heap = shpool_init_bytes(&t.pool, simt_from_shared(base + 16u), (uint32_t)t.number);

    if (heap.view.bytes == 0) {
        empty_body(heap);
        return;
    }
    EXPECT((heap.view.base % 64u == 0) && (heap.view.base >= base + 16u) &&
           (heap.view.base + heap.view.bytes <= base + 16u + t.number));
    simt_global_add32(&t.steps, 1);
    simt_barrier();
    if (heap.view.base == base + 64u && simt_thread_rank() == 0) {
        size_t    most = shpool_largest(heap);
        heap_slot slot;

        EXPECT(most > 0);
        EXPECT(get(heap, &slot, most, 1));
        EXPECT(shpool_malloc(heap, 1) == NULL);
        put(heap, &slot);
        EXPECT(shpool_largest(heap) == most);
        EXPECT(shpool_check(heap).broken == 0);
    }
}

static void make_room(void)
{
    t.launch.dynamic_bytes = 1024u + 6016u;
}

static void expect_all_or_none(void)
{
    assert_true((t.steps == 0) || (t.steps == 4));
    assert_true((t.number < 2000) || ((t.steps == 4) == has_pool(t.allocator)));
}

UNIT_TEST(test_init_bytes_makes_pools_of_what_it_is_given)
{
    for (uint32_t bytes = 0; bytes < 6000; bytes += 1u + bytes / 2u) {
        const scene s = { .kernel = sub_pool_kernel, .takes = every, .threads = { 4 },
                          .each = 400, .alignments = { 64 }, .number = bytes, .tune = make_room,
                          .expect = expect_all_or_none };

        run_scene(&s);
    }
}

#define NESTED_BYTES 4096u

/* Pools inside an allocation of another pool; all threads work in them, each frees what another of
 * its group allocated. */
static void nested_kernel(shpool_heap outer)
{
    uint32_t    rank  = simt_thread_rank();
    uint32_t    first = rank / t.pool.threads_per_pool * t.pool.threads_per_pool;
    uint32_t    group = t.pool.threads_per_pool;
    shpool_heap heap;

    group = (simt_block_threads() - first < group) ? simt_block_threads() - first : group;
    if (rank == 0) {
        t.box[0].at = (unsigned char *)shpool_malloc(outer, NESTED_BYTES);
        EXPECT(t.box[0].at != NULL);
    }
    simt_barrier();
    heap = shpool_init_bytes(&t.pool, t.box[0].at, NESTED_BYTES);
    EXPECT(heap.view.bytes != 0);
    for (uint32_t round = 0; round < 6; round++) {
        uint32_t  partner = first + (rank - first + round) % group;
        heap_slot mine;
        uint32_t  got     = (uint32_t)get(heap, &mine, 1 + (rank * 7 + round * 13) % 60, rank);

        EXPECT(got);
        simt_barrier();
        t.box[rank + 1] = mine;
        simt_barrier();
        put(heap, &t.box[partner + 1]);
    }
    simt_barrier();
    if (trial_leads(heap)) {
        shpool_walk walk = shpool_check(heap);

        EXPECT((walk.broken == 0) && (walk.live == 0));
    }
    simt_barrier();
    if (rank == 0) {
        EXPECT(shpool_free_at(outer, t.box[0].at, 0) == SHPOOL_FREE_OK);
    }
}

SCENE(test_pools_inside_an_allocation, nested_kernel, .threads = { 8 }, .each = 3u * NESTED_BYTES,
      .seeds = 6, .periods = 6)

static void expect_none(void)
{
    assert_int_equal(t.steps, 0);
}

SCENE(test_init_bytes_of_a_pool_with_stats_gives_empty_heaps, NULL, .kernel = sub_pool_kernel,
      .options = { ":stats=1" }, .threads = { 4 }, .each = 400, .alignments = { 64 },
      .number = 4096, .tune = make_room, .expect = expect_none)
