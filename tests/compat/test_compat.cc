/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_memory's namespaces on the executor: every pattern of its README, and its defects. */
#include "glob.h"
#include "trial.h"

namespace {

/* The caller's bytes after total_bytes stay unchanged; impossible pools return NULL. */
template <typename Space> void refused_kernel(void *arg)
{
    tally    *t      = static_cast<tally *>(arg);
    simt_addr end    = simt_dynamic_base() + simt_dynamic_bytes();
    /* of a region that is not there at most the first word */
    uint32_t  own    = (t->bytes > simt_dynamic_bytes()) ? 4u : static_cast<uint32_t>(t->bytes);
    simt_addr behind = simt_dynamic_base() + (own + 3u) / 4u * 4u;

    for (simt_addr a = behind + 4u * simt_thread_rank(); a < end; a += 4u * simt_block_threads()) {
        simt_store32(a, a);
    }
    simt_barrier();
    Space::init(t);
    expect(t, Space::get(1) == nullptr);
    Space::put(simt_from_shared(simt_dynamic_base()));
    simt_barrier();
    for (simt_addr a = behind + 4u * simt_thread_rank(); a < end; a += 4u * simt_block_threads()) {
        expect(t, simt_load32(a) == a);
    }
    simt_global_add32(&t->done, 1);
}

/* Holes of 600 and 200 bytes, in this order: the smaller one serves best fit. */
void holes_kernel(void *arg)
{
    tally *t = static_cast<tally *>(arg);

    thread_pool::pool_init(t->bytes);
    void *large = thread_pool::pmalloc(600);
    void *wall  = thread_pool::pmalloc(16);
    void *small = thread_pool::pmalloc_best_fit(200);
    void *other = thread_pool::pmalloc_best_fit(16);
    void *rest  = thread_pool::pmalloc(16);

    while (rest != nullptr) { /* the rest of the pool, so that two holes are all */
        rest = thread_pool::pmalloc(16);
    }
    thread_pool::pfree(large);
    thread_pool::pfree(small);
    expect(t, (wall != nullptr) && (other != nullptr));
    expect(t, thread_pool::pmalloc_best_fit(150) != nullptr);
    expect(t, thread_pool::pmalloc(560) != nullptr);
    simt_global_add32(&t->done, 1);
}

/* The calls of one namespace do not touch the pools of another. */
void kinds_kernel(void *arg)
{
    tally *t = static_cast<tally *>(arg);

    expect(t, thread_pool::pmalloc(8) == nullptr); /* no pool_init yet */
    thread_pool::pool_init(t->bytes);
    void *mine = thread_pool::pmalloc(8);

    expect(t, mine != nullptr);
    expect(t, warp_pool::pmalloc(8) == nullptr);
    expect(t, list_pool::pmalloc(8) == nullptr);
    expect(t, bst_pool::pmalloc(8) == nullptr);
    warp_pool::pfree(mine);
    list_pool::pfree(mine);
    bst_pool::pfree(mine);
    void *next = thread_pool::pmalloc(8);

    expect(t, (next != nullptr) && (next != mine));
    warp_pool::pool_init(t->bytes); /* one thread per pool; ends the others */
    expect(t, thread_pool::pmalloc(8) == nullptr);
    expect(t, warp_pool::pmalloc(8) != nullptr);
    warp_pool::pool_init(40); /* too few: the pools that were there are gone all the same */
    expect(t, warp_pool::pmalloc(8) == nullptr);
    simt_global_add32(&t->done, 1);
}

/* Threads of a group free memory that another one allocated. */
void group_kernel(void *arg)
{
    tally   *t     = static_cast<tally *>(arg);
    uint32_t rank  = simt_thread_rank();
    uint32_t share = static_cast<uint32_t>(t->share);
    uint32_t first = rank / share * share;
    uint32_t group = (simt_block_threads() - first < share) ? simt_block_threads() - first : share;

    warp_pool::pool_init(t->bytes, t->share);
    for (uint32_t round = 0; round < 4; round++) {
        t->box[rank] = warp_pool::pmalloc(16 + rank % 48u);
        expect(t, t->box[rank] != nullptr);
        if (t->box[rank] != nullptr) {
            *static_cast<uint32_t *>(t->box[rank]) = rank;
        }
        simt_barrier();
        uint32_t other = first + (rank - first + round) % group;

        if (t->box[other] != nullptr) {
            expect(t, *static_cast<uint32_t *>(t->box[other]) == other);
            warp_pool::pfree(t->box[other]);
        }
        simt_barrier();
    }
    simt_global_add32(&t->done, 1);
}

/* One pool of nearly 100 KiB. */
void large_kernel(void *arg)
{
    tally *t = static_cast<tally *>(arg);

    warp_pool::pool_init(t->bytes, t->share);
    if (simt_thread_rank() == 0) {
        void *all = warp_pool::pmalloc(90000);

        expect(t, all != nullptr);
        memset(all, 0x5a, 90000);
        warp_pool::pfree(all);
        expect(t, warp_pool::pmalloc_best_fit(100000) != nullptr);
    }
    simt_global_add32(&t->done, 1);
}

/* `using namespace` together with the names without one. */
void using_kernel(void *arg)
{
    using namespace thread_pool;
    tally *t = static_cast<tally *>(arg);

    pool_init(t->bytes);
    void *p = pmalloc(32);

    expect(t, simt_is_shared(p)); /* ::pmalloc is native here */
    pfree(p);
    expect(t, thread_pool::pmalloc(32) == p);
    simt_global_add32(&t->done, 1);
}

/* Both are refused under ALLOCATOR_DEBUG; nothing else is promised of them. */
[[maybe_unused]] void bad_kernel(void *arg)
{
    tally   *t    = static_cast<tally *>(arg);
    uint32_t rank = simt_thread_rank();

    thread_pool::pool_init(t->bytes);
    char *mine = static_cast<char *>(thread_pool::pmalloc(64));

    t->box[rank] = mine;
    expect(t, mine != nullptr);
    simt_barrier();
    thread_pool::pfree(mine + 16);                                       /* interior */
    thread_pool::pfree(t->box[(rank + 1) % simt_block_threads()]);       /* another's */
    thread_pool::pfree(&t->wrong);                                       /* global memory */
    expect(t, thread_pool::pmalloc(64) != mine);
    thread_pool::pfree(mine);
    thread_pool::pfree(mine); /* double */
    void *a = thread_pool::pmalloc(64);
    void *b = thread_pool::pmalloc(64);

    expect(t, (a != nullptr) && (b != nullptr) && (a != b));
    simt_global_add32(&t->done, 1);
}

/* ---- running them ---- */

template <typename Space> void check_space()
{
    simt_kernel pattern = pattern_kernel<Space>;
    simt_kernel refused = refused_kernel<Space>;

    run(pattern, shape(1, 32, 1, 1, 48 * 1024), 48 * 1024, 1);
    run(pattern, shape(3, 32, 1, 1, 48 * 1024), 48 * 1024, 1);
    run(pattern, shape(1, 4, 1, 1, 4096), 4096, 1);
    run(pattern, shape(1, 1, 1, 1, 100 * 1024), 100 * 1024, 1);
    run(pattern, shape(1, 33, 1, 1, 48 * 1024), 40000, 1);
    run(pattern, shape(1, 8, 8, 1, 48 * 1024), 48 * 1024, 1);
    run(pattern, shape(1, 4, 4, 4, 48 * 1024), 48 * 1024, 1);
    run(pattern, shape(2, 1024, 1, 1, 200 * 1024), 200 * 1024, 1);

    run(refused, shape(1, 32, 1, 1, 4096), 512, 1);       /* too few for 32 threads */
    run(refused, shape(1, 32, 1, 1, 4096), 33, 1);
    run(refused, shape(1, 32, 1, 1, 4096), 31, 1);
    run(refused, shape(1, 32, 1, 1, 4096), 3, 1);
    run(refused, shape(1, 32, 1, 1, 4096), 4097, 1);      /* more than the launch has */
    run(refused, shape(1, 32, 1, 1, 4096), SIZE_MAX - 64, 1);
    run(refused, shape(1, 32, 1, 1, 16), 16, 1);
}

UNIT_TEST(test_thread_space) { check_space<thread_space>(); }
UNIT_TEST(test_thread_best_space) { check_space<thread_best_space>(); }
UNIT_TEST(test_warp_space) { check_space<warp_space>(); }
UNIT_TEST(test_warp_best_space) { check_space<warp_best_space>(); }
UNIT_TEST(test_list_space) { check_space<list_space>(); }
UNIT_TEST(test_freelist_space) { check_space<freelist_space>(); }
UNIT_TEST(test_tree_space) { check_space<tree_space>(); }

UNIT_TEST(test_groups)
{
    for (int share : {1, 2, 4, 5, 32, 48}) {
        run(group_kernel, shape(2, 96, 1, 1, 48 * 1024), 48 * 1024, share);
        run(pattern_kernel<warp_space>, shape(2, 16, 6, 1, 48 * 1024), 48 * 1024, share);
        run(pattern_kernel<warp_best_space>, shape(1, 100, 1, 1, 48 * 1024), 48 * 1024, share);
    }
    run(pattern_kernel<warp_space>, shape(1, 64, 1, 1, 48 * 1024), 48 * 1024, 2000000000);
    run(refused_kernel<warp_space>, shape(1, 64, 1, 1, 4096), 4096, 0);
    run(refused_kernel<warp_space>, shape(1, 64, 1, 1, 4096), 4096, -4);
    run(large_kernel, shape(1, 32, 1, 1, 101 * 1024), 101 * 1024, 32);
}

/* t->round pairs of malloc and free by each thread. */
template <typename Space> void pairs_kernel(void *arg)
{
    tally *t = static_cast<tally *>(arg);

    Space::init(t);
    for (uint32_t i = 0; i < t->round; i++) {
        void *p = Space::get(16 * i + 8);

        expect(t, p != nullptr);
        Space::put(p);
    }
}

/* Steps that the pairs of a thread's own pool take: at each access to memory the executor switches
 * threads. */
template <typename Space> unsigned long long steps_of_pairs()
{
    simt_launch        launch = shape(1, 32, 1, 1, 48 * 1024);
    unsigned long long steps[2];

    launch.switch_period = 1;
    for (uint32_t i = 0; i < 2; i++) {
        static tally t;
        simt_result  result;

        memset(&t, 0, sizeof(t));
        t.bytes = 48 * 1024;
        t.share = 1;
        t.round = 8 * i;
        assert_int_equal(simt_run(&launch, pairs_kernel<Space>, &t, &result), SHPOOL_OK);
        assert_int_equal(t.wrong, 0);
        steps[i] = result.switches;
    }
    return steps[1] - steps[0];
}

/* A lock that somebody seems to have stays as it is: malloc and free do not look at it. */
template <typename Space, uint32_t Kind> void lock_kernel(void *arg)
{
    tally *t = static_cast<tally *>(arg);

    Space::init(t);
    simt_addr lock = shpool_compat::view_of(Kind).base + SHPOOL_POOL_LOCK;

    simt_store32(lock, 1);
    void *p = Space::get(40);

    expect(t, p != nullptr);
    Space::put(p);
    expect(t, Space::get(40) == p);
    expect(t, simt_load32(lock) == 1);
    simt_global_add32(&t->done, 1);
}

/* A pool of one thread has no use for a lock, nor for batches of lanes. */
UNIT_TEST(test_alone)
{
    const unsigned long long first = steps_of_pairs<thread_space>();
    const unsigned long long best  = steps_of_pairs<thread_best_space>();

    assert_in_range(steps_of_pairs<warp_space>(), first - first / 50, first + first / 50);
    assert_in_range(steps_of_pairs<warp_best_space>(), best - best / 50, best + best / 50);
    run(lock_kernel<warp_space, shpool_compat::KIND_WARP>, shape(1, 32, 1, 1, 16384), 16384, 1);
    run(lock_kernel<list_space, shpool_compat::KIND_LIST>, shape(1, 32, 1, 1, 16384), 16384, 1);
    run(lock_kernel<tree_space, shpool_compat::KIND_TREE>, shape(1, 32, 1, 1, 16384), 16384, 1);
}

/* Random pairs of calls: the pool stays sound, its blocks keep what is in them, and at last all of
 * it is one free block again. */
template <typename Space, uint32_t Kind, shpool_walk_fn Walk, shpool_largest_fn Largest>
void random_kernel(void *arg)
{
    tally   *t    = static_cast<tally *>(arg);
    uint32_t seed = simt_thread_rank() * 7919u + t->round;
    uint8_t *live[24];
    uint32_t bytes[24];

    memset(live, 0, sizeof(live));
    Space::init(t);
    const shpool_view view  = shpool_compat::view_of(Kind);
    const uint32_t    fresh = Largest(view);

    for (uint32_t step = 0; step < 400; step++) {
        seed = seed * 1664525u + 1013904223u;

        const uint32_t i    = (seed >> 8) % 24u;
        const uint8_t  mark = static_cast<uint8_t>(i * 11u + 1u);

        if ((live[i] == nullptr) && (step < 360)) {
            bytes[i] = (seed >> 16) % (((seed & 64u) != 0) ? 400u : 40u) + 1u;
            live[i]  = static_cast<uint8_t *>(Space::get(bytes[i]));
            if (live[i] != nullptr) {
                memset(live[i], mark, bytes[i]);
            }
        } else if (live[i] != nullptr) {
            expect(t, (live[i][0] == mark) && (live[i][bytes[i] - 1u] == mark));
            Space::put(live[i]);
            live[i] = nullptr;
        }
        expect(t, (step % 8 != 0) || (Walk(view).broken == 0));
    }
    for (uint8_t *p : live) {
        Space::put(p);
    }
    expect(t, (Walk(view).broken == 0) && (Walk(view).live == 0) && (Largest(view) == fresh));
    simt_global_add32(&t->done, 1);
}

UNIT_TEST(test_random)
{
    using namespace shpool_compat;

    for (uint32_t bytes = 3000; bytes <= 30000; bytes *= 9) { /* 2 threads: 1,500 and 13,500 each */
        simt_launch launch = shape(1, 2, 1, 1, bytes);

        launch.switch_period = 100; /* the pools are not shared */

        run(random_kernel<thread_space, KIND_THREAD, shpool_tags_walk, shpool_tags_largest>,
            launch, bytes, 1);
        run(random_kernel<thread_best_space, KIND_THREAD, shpool_tags_walk, shpool_tags_largest>,
            launch, bytes, 1);
        run(random_kernel<warp_space, KIND_WARP, shpool_tags_walk, shpool_tags_largest>, launch,
            bytes, 1);
        run(random_kernel<list_space, KIND_LIST, shpool_fl_walk, shpool_fl_largest>, launch, bytes,
            1);
    }
}

/* Lanes of a warp take turns at a pool: those that were served were so once, one after another,
 * while one of them had the lock.  A pool whose lock another thread has serves none. */
void turns_kernel(void *arg)
{
    tally      *t       = static_cast<tally *>(arg);
    uint32_t    sharing = 0;
    uint32_t    served  = 0;
    uint32_t    refused = 0;

    warp_pool::pool_init(t->bytes, t->share);
    const shpool_view view = shpool_compat::view_of(shpool_compat::KIND_WARP, &sharing);
    const simt_addr   lock = view.base + SHPOOL_POOL_LOCK;
    const simt_addr   sum  = view.base + view.bytes - 16u; /* memory that no thread owns */

    if (simt_thread_rank() % static_cast<uint32_t>(t->share) == 0) {
        simt_store32(sum, 0);
    }
    simt_barrier();
    for (uint32_t round = 0; round < 8; round++) {
        const bool done = shpool_compat::take_turns(view, sharing, [&] {
            const uint32_t seen = simt_load32(sum);

            served++;
            expect(t, simt_atomic_load(lock, SIMT_RELAXED) == 1);
            simt_store32(sum, seen + 1u);
        });

        refused += !done;
        expect(t, served + refused == round + 1u);
    }
    simt_barrier();
    expect(t, simt_atomic_load(lock, SIMT_RELAXED) == 0);
    t->box[simt_thread_rank()] = reinterpret_cast<void *>(static_cast<uintptr_t>(served));
    simt_barrier();
    if (simt_thread_rank() % static_cast<uint32_t>(t->share) == 0) {
        uint32_t all = 0;

        for (int i = 0; i < t->share; i++) {
            all += static_cast<uint32_t>(
                reinterpret_cast<uintptr_t>(t->box[simt_thread_rank() + static_cast<uint32_t>(i)]));
        }
        expect(t, (all != 0) && (simt_load32(sum) == all));
        simt_store32(lock, 1);
    }
    simt_barrier();
    expect(t, !shpool_compat::take_turns(view, sharing, [&] { expect(t, false); }));
    expect(t, simt_atomic_load(lock, SIMT_RELAXED) == 1);
    simt_global_add32(&t->done, 1);
}

UNIT_TEST(test_turns)
{
    for (int share = 2; share <= 32; share *= 2) {
        for (uint32_t seed = 1; seed <= 8; seed++) {
            simt_launch launch = shape(1, 64, 1, 1, 16384);

            launch.seed = seed;
            run(turns_kernel, launch, 16384, share);
        }
    }
}

UNIT_TEST(test_mixed)
{
    run(holes_kernel, shape(1, 8, 1, 1, 16384), 16384, 1);
    run(kinds_kernel, shape(2, 32, 1, 1, 16384), 16384, 1);
    run(using_kernel, shape(1, 32, 1, 1, 16384), 16384, 1);
#if defined(ALLOCATOR_DEBUG)
    run(bad_kernel, shape(1, 32, 1, 1, 16384), 16384, 1);
#endif
}

} // namespace
