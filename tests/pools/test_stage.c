/* SPDX-License-Identifier: BSD-3-Clause */
/* stage.cuh on the executor: producers whose stages have several sizes and alignments, consumers
 * that release them in another order, and a pool that holds a few of them.  The executor reports a
 * copy into memory that somebody still reads, or that nobody has waited for; the pool must be empty
 * in the end. */
#include "scene.h"

#include <shpool/stage.cuh>

#define SLOTS  4u
#define STAGES 24u
#define WORDS  32u  /* at most, of a stage */
#define LATE   100000u

static uint32_t source[4u * STAGES + WORDS] __attribute__((aligned(16)));
static uint32_t warps;      /* producers are warps, not threads */
static uint32_t producers;
static uint32_t equal;      /* all stages have the same size, */
static uint32_t room;       /* or memory of that size, if that is not 0 */

static void *table_of(uint32_t producer)
{
    return simt_from_shared(simt_dynamic_base() + ((t.pool.shared_bytes + 15u) & ~15u) +
                            SHPOOL_STAGES_BYTES(SLOTS) * producer);
}

static void prepare(void)
{
    for (uint32_t i = 0; i < 4u * STAGES + WORDS; i++) {
        source[i] = 0x51000000u + i;
    }
    t.launch.dynamic_bytes += 16u + SHPOOL_STAGES_BYTES(SLOTS) * 2u;
    t.launch.engine = (t.seed % 16u == 7u) ? SIMT_THREADS : SIMT_FIBERS;
}

static uint32_t bytes_of(uint32_t producer, uint32_t k)
{
    uint32_t random = 77u * producer + 13u * k + t.seed;

    return equal ? 64u : 16u + 16u * (heap_random(&random) % (WORDS / 4u));
}

static uint32_t alignment_of(uint32_t k)
{
    return (equal || room || (k % 3u == 0)) ? 32u : 16u;
}

/* Every fifth stage is filled by a thread. */
static void fill(shpool_stage stage, uint32_t producer, uint32_t k)
{
    const uint32_t bytes = bytes_of(producer, k);

    if (k % 5u != 4u) {
        shpool_stage_copy(stage, source + 4u * k, bytes);
        return;
    }
    for (uint32_t i = 0; i < bytes / 4u; i++) {
        simt_store32(stage.data + 4u * i, source[4u * k + i]);
    }
    simt_mbar_arrive(stage.full);
}

static void produce(shpool_heap heap, uint32_t producer)
{
    shpool_producer p = shpool_producer_init(heap, table_of(producer), SLOTS, room);

    for (uint32_t k = 0; k < STAGES; k++) {
        const uint32_t bytes = bytes_of(producer, k);
        shpool_stage   stage = warps
                                   ? shpool_stage_malloc_warp(&p, alignment_of(k), bytes, LATE)
                                   : shpool_stage_malloc(&p, alignment_of(k), bytes, LATE);

        EXPECT(stage.data != 0);
        EXPECT(stage.data % alignment_of(k) == 0);
        if ((stage.data != 0) && (!warps || (simt_lane() == 9))) {
            fill(stage, producer, k);
        }
    }
    if (warps) {
        shpool_producer_fini_warp(&p);
    } else {
        shpool_producer_fini(&p);
    }
}

static void look(shpool_stage stage, uint32_t producer, uint32_t k)
{
    const uint32_t last = bytes_of(producer, k) - 4u;

    EXPECT(simt_load32(stage.data) == source[4u * k]);
    EXPECT(simt_load32(stage.data + last) == source[4u * k + last / 4u]);
}

/* Odd threads keep every fourth stage until they have read the two after it. */
static void consume(uint32_t producer)
{
    shpool_stages stages = shpool_stages_of(table_of(producer), SLOTS);
    shpool_stage  kept   = {0, 0};

    for (uint32_t k = 0; k < STAGES; k++) {
        shpool_stage stage = shpool_stage_wait(&stages);

        look(stage, producer, k);
        if ((simt_thread_rank() & 1u) && (k % 4u == 0)) {
            kept = stage;
            continue;
        }
        shpool_stage_release(stage);
        if ((kept.full != 0) && (k % 4u == 2u)) {
            look(kept, producer, k - 2u);
            shpool_stage_release(kept);
            kept.full = 0;
        }
    }
}

static void pipeline(shpool_heap heap)
{
    const uint32_t unit = warps ? simt_warp() : simt_thread_rank();
    const uint32_t each = warps ? SIMT_WARP : 1u; /* threads of a producer */
    const uint32_t rest = simt_block_threads() - producers * each; /* consumers */
    const uint32_t mine = (unit < producers) ? unit : (simt_thread_rank() / 2u) % producers;

    if (simt_thread_rank() == 0) {
        for (uint32_t i = 0; i < producers; i++) {
            uint32_t readers = 0;

            for (uint32_t r = simt_block_threads() - rest; r < simt_block_threads(); r++) {
                readers += (r / 2u) % producers == i;
            }
            shpool_stages_init(table_of(i), SLOTS, readers);
        }
    }
    simt_barrier();
    if (unit < producers) {
        produce(heap, mine);
    } else {
        consume(mine);
    }
}

static void few_mallocs(void)
{
    if ((equal || room) && (t.report.mallocs != 0)) { /* memory passes from stage to stage */
        assert_true(t.report.mallocs <= SLOTS + t.launch.block[0]); /* the trial makes some, too */
    }
}

/* Not arena, which frees in reverse order only. */
static int feeds(const shpool_allocator *allocator)
{
    return has_pool(allocator) && ((allocator->caps & SHPOOL_CAP_MARK) == 0);
}

static int feeds_several(const shpool_allocator *allocator)
{
    return feeds(allocator) && shares(allocator);
}

#define PIPELINE(_name, _warps, _producers, _equal, _room, _each, ...) \
    static void _name##_prepare(void) \
    { \
        warps     = (_warps); \
        producers = (_producers); \
        equal     = (_equal); \
        room      = (_room); \
        prepare(); \
    } \
    SCENE(_name, pipeline, .takes = ((_producers) == 1) ? feeds : feeds_several, \
          .tune = _name##_prepare, .expect = few_mallocs, .alignments = { 32 }, \
          .each = (_each), .share = ALL, .periods = 4, .most_switches = 1000000, __VA_ARGS__)

PIPELINE(test_a_thread_feeds, 0, 1, 0, 0, 704, .threads = { 3, 9 }, .seeds = 24)
PIPELINE(test_equal_stages_do_without_the_allocator, 0, 1, 1, 0, 704, .threads = { 4 }, .seeds = 8,
         .options = { ":stats=1" })
PIPELINE(test_so_do_stages_with_room, 0, 1, 0, 4u * WORDS, 704, .threads = { 4 }, .seeds = 8,
         .options = { ":stats=1" })
/* two or three fit: the stage after a kept one passes its memory on */
PIPELINE(test_a_kept_stage_is_passed, 0, 1, 1, 0, 208, .threads = { 4 }, .seeds = 16)
PIPELINE(test_a_warp_feeds, 1, 1, 0, 0, 704, .threads = { 35 }, .seeds = 8)
/* the warp waits after its votes, and in vain while a stage is kept */
PIPELINE(test_a_kept_stage_of_a_warp_is_passed, 1, 1, 1, 0, 208, .threads = { 36 }, .seeds = 16)
PIPELINE(test_two_threads_feed, 0, 2, 0, 0, 1056, .threads = { 6 }, .seeds = 16)
PIPELINE(test_two_warps_feed, 1, 2, 0, 0, 1056, .threads = { 68 }, .seeds = 4)

/* ---- stages go on until a thread that waits for memory has got it ---- */

#define MANY 2000u

static uint32_t served;

static void feed(shpool_heap heap)
{
    shpool_producer p    = shpool_producer_init(heap, table_of(0), SLOTS, 0);
    uint32_t        last = 0;

    for (uint32_t k = 0; last == 0; k++) {
        const shpool_stage stage = shpool_stage_malloc(&p, 16, 64, LATE);

        EXPECT(stage.data != 0);
        last = (k + 1u == MANY) || (stage.data == 0) || __atomic_load_n(&served, __ATOMIC_RELAXED);
        if (stage.data != 0) {
            simt_store32(stage.data, last);
            simt_mbar_arrive(stage.full);
        }
    }
    EXPECT(__atomic_load_n(&served, __ATOMIC_RELAXED));
    shpool_producer_fini(&p);
}

static void eat(void)
{
    shpool_stages stages = shpool_stages_of(table_of(0), SLOTS);
    uint32_t      last   = 0;

    while (last == 0) {
        const shpool_stage stage = shpool_stage_wait(&stages);

        last = simt_load32(stage.data);
        shpool_stage_release(stage);
    }
}

static void feed_and_wait(shpool_heap heap)
{
    if (simt_thread_rank() == 0) {
        shpool_stages_init(table_of(0), SLOTS, 1);
    }
    simt_barrier();
    switch (simt_thread_rank()) {
    case 0: feed(heap); break;
    case 1: eat(); break;
    default: {
        void *ptr = shpool_malloc_wait(heap, 64, LATE); /* does not fit beside two stages */

        EXPECT(ptr != NULL);
        __atomic_store_n(&served, 1u, __ATOMIC_RELAXED);
        shpool_free(heap, ptr);
    }
    }
}

static void wait_prepare(void)
{
    served = 0;
    prepare();
    t.launch.engine = SIMT_FIBERS; /* the system may let a thread begin after all stages */
}

SCENE(test_others_get_memory, feed_and_wait, .takes = feeds_several, .served = ONE_BY_ONE,
      .tune = wait_prepare, .threads = { 3 }, .each = 176, .share = ALL, .seeds = 64, .periods = 4)

/* ---- no stage, and why ---- */

static const struct {
    uint32_t stages; /* of 16 bytes, that nobody has released */
    uint32_t alignment, bytes, room;
    uint32_t reason;
} refusals[] = {
    { 0, 16, 1u << 20, 0, SHPOOL_REFUSED_SIZE },
    { 1, 16, 1u << 20, 0, SHPOOL_REFUSED_SIZE },
    { 0, 16, 16, 1u << 20, SHPOOL_REFUSED_SIZE },
    { 0, 24, 64, 0, SHPOOL_REFUSED_ALIGNMENT },
    { 1, 64, 64, 0, SHPOOL_REFUSED_ALIGNMENT }, /* the pool's is 32 */
    { 2, 16, 192, 0, SHPOOL_REFUSED_NONE },     /* of 208 */
    { SLOTS, 16, 16, 0, SHPOOL_REFUSED_NONE },
    { 0, 16, 64, 0, SHPOOL_REFUSED_EMPTY },
};

static void refuse(shpool_heap heap)
{
    const uint32_t  stages = refusals[t.number].stages;
    const uint32_t  reason = refusals[t.number].reason;
    shpool_producer p;
    shpool_stage    stage;

    shpool_stages_init(table_of(0), SLOTS, 1);
    p = shpool_producer_init((reason == SHPOOL_REFUSED_EMPTY) ? shpool_empty_heap() : heap,
                             table_of(0), SLOTS, refusals[t.number].room);
    for (uint32_t i = 0; i < stages; i++) {
        EXPECT(shpool_stage_malloc(&p, 16, 16, 3).data != 0);
    }
    stage = shpool_stage_malloc(&p, refusals[t.number].alignment, refusals[t.number].bytes, 3);
    EXPECT((stage.data == 0) && (stage.full == reason));
    EXPECT((p.held == stages) && /* the slot is not used up */
           (p.next.at == p.next.begin + stages % SLOTS * SHPOOL_STAGE_SLOT));
    for (uint32_t i = 0; i < stages; i++) {
        simt_mbar_arrive(p.next.begin + i * SHPOOL_STAGE_SLOT + SHPOOL_STAGE_RELEASED);
    }
    shpool_producer_fini(&p);
}

static void is_in_the_report(void)
{
    const uint32_t reason = refusals[t.number].reason;

    if ((t.pool.report != NULL) && (reason != SHPOOL_REFUSED_EMPTY)) {
        assert_int_equal(t.report.refusals, reason != SHPOOL_REFUSED_NONE);
        assert_int_equal(t.report.refused.reason, reason);
        assert_true((t.report.waits == 0) || (reason == SHPOOL_REFUSED_NONE));
    }
}

SCENE(test_a_refused_stage_says_why, refuse, .takes = feeds, .tune = prepare, .each = 208,
      .alignments = { 32 }, .numbers = sizeof(refusals) / sizeof(refusals[0]),
      .options = { "", ":stats=1", ":check=1" }, .expect = is_in_the_report)

static void disagree(shpool_heap heap)
{
    shpool_producer p;
    shpool_stage    stage;

    if (simt_lane() == 0) {
        shpool_stages_init(table_of(0), SLOTS, 1);
    }
    simt_barrier();
    p     = shpool_producer_init(heap, table_of(0), SLOTS, 0);
    stage = shpool_stage_malloc_warp(&p, 16, (simt_lane() == 5) ? 32 : 16, LATE);
    EXPECT((stage.data == 0) && (stage.full == SHPOOL_REFUSED_GROUP));
}

SCENE(test_lanes_that_disagree_get_no_stage, disagree, .takes = feeds_several, .tune = prepare,
      .threads = { 32 }, .each = 208, .share = ALL, .options = { ":check=1" },
      .report = "bad_frees 1")

/* ---- every schedule ---- */

#define MOST 3u

/* Sizes of stages, in a table of two slots.  The pool holds none of the pairs of large ones. */
static const uint32_t sizes[][MOST] = {
    { 80, 80 },     /* memory passes on */
    { 80, 176 },    /* is freed and requested again */
    { 16, 96, 96 }, /* the first slot gets the second one's memory */
};

static void short_pipeline(shpool_heap heap)
{
    const uint32_t *bytes = sizes[t.number];

    if (simt_thread_rank() == 0) {
        shpool_stages_init(table_of(0), 2, 1);
    }
    simt_barrier();
    if (simt_thread_rank() == 0) {
        shpool_producer p = shpool_producer_init(heap, table_of(0), 2, 0);

        for (uint32_t k = 0; (k < MOST) && (bytes[k] != 0); k++) {
            shpool_stage stage = shpool_stage_malloc(&p, 16, bytes[k], LATE);

            EXPECT(stage.data != 0);
            shpool_stage_copy(stage, source + 4u * k, 16);
        }
        shpool_producer_fini(&p);
    } else {
        shpool_stages stages = shpool_stages_of(table_of(0), 2);

        for (uint32_t k = 0; (k < MOST) && (bytes[k] != 0); k++) {
            shpool_stage stage = shpool_stage_wait(&stages);

            EXPECT(simt_load32(stage.data) == source[4u * k]);
            shpool_stage_release(stage);
        }
    }
}

static void explore(uint32_t number)
{
    const scene s = { .body = short_pipeline, .only = "bitmap", .threads = { 2 }, .number = number,
                      .each = 16u * 11u, .tune = prepare };

    explore_scene(&s, 2u + (heap_long() != 0));
}

UNIT_TEST(test_memory_passes_on) { explore(0); }
UNIT_TEST(test_memory_is_freed_and_requested_again) { explore(1); }
UNIT_TEST(test_a_slot_gets_other_memory) { explore(2); }
