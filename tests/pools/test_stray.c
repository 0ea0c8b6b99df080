/* SPDX-License-Identifier: BSD-3-Clause */
/* check=1, and one random word of a pool changes in mid-run: nothing may hang, touch memory outside
 * the pool, or reuse memory of a live allocation without a report.
 *
 *     test_stray [RUNS [ALLOCATOR [FIRST]]]   runs of each allocator, the seed of the first one
 *
 * RUNS is 150 unless it is given; with LIBSHPOOL_TEST_LONG it is 1,000,000.
 *
 * A run is two rounds of random requests with the change between them.  Payloads of live
 * allocations are left alone, because nobody could see that; their zones are not. */
#include "heap_trial.h"

#define THREADS  4u
#define SLOTS    6u
#define ROUND    14u       /* requests of a thread before the change, and after it */
#define GUARD    256u      /* bytes after the region that must stay as they are */
#define FILL     0x5au
#define SWITCHES 2000000ull
#define BLOCKS   2u        /* of a cluster */
#define RUNS_LONG 1000000u /* of each allocator */
#define OBJECTS  (BLOCKS * THREADS * SLOTS)

typedef struct object {
    unsigned char *at;
    uint32_t       bytes; /* requested: others must not get these bytes */
    uint32_t       tag;
} object;

static struct {
    uint32_t runs, first;
    const char *only;
} wanted = { 150, 1, NULL };

static struct {
    shpool_pool pool;
    simt_launch launch;
    uint32_t    seed;    /* of this run */
    uint32_t    blocks;
    object      live[OBJECTS]; /* by block, thread and slot */
    uint32_t    twice;   /* allocations that overlap a live one */
    uint32_t    spoilt;  /* payloads that changed */
    uint32_t    outside; /* guards that changed */
    uint32_t    word, before, after; /* what was changed, from the pool's base */
    uint32_t    pool_of;             /* and in which pool */
} s;

/* Results of a run. */
typedef struct tally {
    uint32_t hung, outside, twice, spoilt, unseen, seen, named;
} tally;

static object *mine(uint32_t slot)
{
    return &s.live[(simt_cluster_rank() * THREADS + simt_thread_rank()) * SLOTS + slot];
}

static void fill(object *o)
{
    memset(o->at, (int)o->tag, o->bytes);
}

static uint32_t is_whole(const object *o)
{
    for (uint32_t i = 0; i < o->bytes; i++) {
        if (o->at[i] != (unsigned char)o->tag) {
            return 0;
        }
    }
    return 1;
}

static int overlaps(const object *a, const object *b)
{
    return (a->at != NULL) && (b->at != NULL) && (a->at < b->at + b->bytes) &&
           (b->at < a->at + a->bytes);
}

/* What an allocating call gave; an object that overlaps another is not touched, or the other's
 * owner would not know why. */
static void got(object *o, void *ptr, uint32_t bytes, uint32_t tag)
{
    object fresh = { ptr, bytes, tag };

    o->at = NULL;
    for (uint32_t i = 0; (ptr != NULL) && (i < OBJECTS); i++) {
        if (overlaps(&fresh, &s.live[i])) {
            s.twice++;
            return;
        }
    }
    *o = fresh;
    if (ptr != NULL) {
        fill(o);
    }
}

static void drop(shpool_heap heap, object *o)
{
    object was = *o;

    s.spoilt += !is_whole(o);
    o->at = NULL; /* first: another thread may get it immediately */
    if (shpool_free_at(heap, was.at, 0) != SHPOOL_FREE_OK) {
        *o = was;
    }
}

static void resize(shpool_heap heap, object *o, uint32_t bytes, uint32_t tag)
{
    object         was = *o;
    unsigned char *ptr;

    s.spoilt += !is_whole(o);
    o->at = NULL;
    ptr = (unsigned char *)shpool_realloc(heap, was.at, bytes);
    if (ptr == NULL) {
        *o = was;
        s.spoilt += !is_whole(o);
        return;
    }
    got(o, ptr, bytes, tag);
}

static void act(shpool_heap heap, uint32_t *random)
{
    uint32_t what  = heap_random(random);
    object  *o     = mine((what >> 8) % SLOTS);
    uint32_t bytes = 1u + (what >> 16) % (((what & 7u) == 0) ? 300u : 70u);

    if (o->at == NULL) {
        got(o, ((what & 0x30u) == 0) ? shpool_aligned_malloc(heap, 64, bytes)
                                     : shpool_malloc(heap, bytes), bytes, what >> 24);
    } else if ((what & 0x30u) == 0) {
        resize(heap, o, bytes, what >> 24);
    } else {
        drop(heap, o);
    }
}

/* ---- the change ---- */

static int is_payload(const unsigned char *at)
{
    for (uint32_t i = 0; i < OBJECTS; i++) {
        const object *o = &s.live[i];

        if ((o->at != NULL) && (at + 4 > o->at) && (at < o->at + o->bytes)) {
            return 1;
        }
    }
    return 0;
}

static uint32_t other_value(uint32_t held, simt_addr pool, uint32_t *random)
{
    uint32_t kind = heap_random(random) % 6u;
    uint32_t word = heap_random(random);

    switch (kind) {
    case 0: return word;
    case 1: return 0;
    case 2: return ~0u;
    case 3: return simt_load32(pool + 4u * (word % (s.pool.pool_bytes / 4u)));
    case 4: return held + word % 5u - 2u;
    default: return held ^ (1u << (word & 31u));
    }
}

static void change(shpool_heap heap, uint32_t *random)
{
    simt_addr pool;

    s.pool_of = heap_random(random) % s.pool.pools;
    pool      = heap.view.base - heap.view.rank / s.pool.threads_per_pool * s.pool.pool_bytes +
                s.pool_of * s.pool.pool_bytes;
    for (uint32_t tries = 0; tries < 1000; tries++) { /* half of them at the pool's front */
        uint32_t most = ((heap_random(random) & 1u) != 0) ? s.pool.pool_bytes : 96u;
        uint32_t word = 4u * (heap_random(random) % (most / 4u));

        s.word = word;
        if (!is_payload((unsigned char *)simt_from_shared(pool + word))) {
            s.before = simt_load32(pool + word);
            s.after  = other_value(s.before, pool, random);
            simt_store32(pool + word, s.after);
            return;
        }
    }
}

/* ---- a run ---- */

static void barrier(void)
{
    if (s.blocks > 1) {
        simt_cluster_barrier();
    } else {
        simt_barrier();
    }
}

static void kernel(void *arg)
{
    uint32_t    random = s.seed * 2654435761u + simt_thread_rank() * 40503u +
                         simt_cluster_rank() * 7919u + 1u;
    shpool_heap heap   = shpool_init(&s.pool, simt_from_shared(simt_dynamic_base()));
    simt_addr   end    = simt_dynamic_base() + s.pool.shared_bytes;
    uint32_t    leads  = (simt_thread_rank() == 0) && (simt_cluster_rank() == 0);

    (void)arg;
    (void)heap_random(&random);
    for (uint32_t i = 0; i < ROUND; i++) {
        act(heap, &random);
    }
    barrier();
    if (leads) {
        change(heap, &random);
    }
    barrier();
    for (uint32_t i = 0; i < ROUND; i++) {
        act(heap, &random);
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        if ((mine(i)->at != NULL) && ((random >> i) & 1u)) {
            drop(heap, mine(i));
        }
    }
    for (uint32_t i = 0; i < SLOTS; i++) { /* the others leak; no thread may get them */
        s.spoilt += (mine(i)->at != NULL) && !is_whole(mine(i));
    }
    shpool_fini(heap);
    for (uint32_t i = 0; i < GUARD; i += 4u) {
        s.outside += simt_load32(end + i) != 0x01010101u * FILL;
    }
}

static void open_pool(const shpool_allocator *allocator, uint32_t shape)
{
    shpool_config want = { .block_threads = THREADS, .alignment = ((shape & 1u) != 0) ? 64 : 16 };
    char          spec[96];

    want.payload_bytes = ((shape & 2u) != 0) ? 2400 : 5600;
    (void)snprintf(spec, sizeof(spec), "%s:check=1%s", allocator->name,
                   (allocator->scope != SHPOOL_SCOPE_GROUP) ? "" :
                   ((shape & 4u) != 0) ? ",threads_per_pool=4" : ",threads_per_pool=1");
    if (shpool_simt_open(spec, &want, &s.pool) != SHPOOL_OK) {
        fail_msg("%s: %s", spec, shpool_last_error());
    }
    s.blocks = (allocator->scope == SHPOOL_SCOPE_CLUSTER) ? BLOCKS : 1u;
    memset(&s.launch, 0, sizeof(s.launch));
    s.launch.block[0]      = THREADS;
    s.launch.grid[0]       = s.blocks;
    s.launch.cluster[0]    = s.blocks;
    s.launch.dynamic_bytes = s.pool.shared_bytes + GUARD;
    s.launch.switch_period = 7;
    s.launch.max_switches  = SWITCHES;
    s.launch.fill          = FILL;
}

/* Whether the report has anything; the program itself makes no mistakes. */
static uint32_t judge(const shpool_report_data *report, const simt_result *result, tally *sum)
{
    uint32_t seen = (report->corrupt != 0) || (report->bad_frees != 0);
    uint32_t hung = (result->status == SHPOOL_ERR_DEADLOCK) ||
                    (result->status == SHPOOL_ERR_BUDGET);
    uint32_t outside = (s.outside != 0) || ((result->status != SHPOOL_OK) && !hung);
    uint32_t twice   = (s.twice != 0) && !seen && !hung && !outside;
    uint32_t spoilt  = (s.spoilt != 0) && !seen && !hung && !outside;

    sum->hung += hung;
    sum->outside += outside;
    sum->twice += twice;
    sum->spoilt += spoilt;
    sum->unseen += (seen == 0) && (s.before != s.after);
    sum->seen += seen;
    return hung || outside || twice || spoilt;
}

static void run_once(const shpool_allocator *allocator, uint32_t seed, tally *sum)
{
    shpool_report_data *report = (shpool_report_data *)s.pool.report;
    simt_result         result;

    memset(s.live, 0, sizeof(s.live));
    s.seed = seed;
    s.twice = s.spoilt = s.outside = 0;
    s.launch.seed = seed;
    memset(report, 0, sizeof(*report));
    shpool_report_clear(report);
    (void)simt_run(&s.launch, kernel, NULL, &result);
    if (judge(report, &result, sum)) {
        print_error("%s, seed %u: pool %u, word +%u, 0x%08x to 0x%08x: %s: twice %u, spoilt %u, "
                    "outside %u: %.200s\n", allocator->name, seed, s.pool_of, s.word, s.before,
                    s.after, shpool_strerror(result.status), s.twice, s.spoilt, s.outside,
                    result.text);
    }
}

static void test_one_word_changes(void **state)
{
    uint32_t bad = 0;

    (void)state;
    FOR_EACH_POOL(allocator) {
        tally sum = { 0 };

        if ((wanted.only != NULL) && (strcmp(wanted.only, allocator->name) != 0)) {
            continue;
        }
        for (uint32_t shape = 0; shape < 8u; shape++) {
            open_pool(allocator, shape);
            for (uint32_t i = shape; i < wanted.runs; i += 8u) {
                run_once(allocator, wanted.first + i, &sum);
            }
            shpool_simt_close(&s.pool);
        }
        print_message("%s: %u runs: %u hung, %u went outside, %u gave twice, %u spoilt; %u seen, "
                      "%u not\n", allocator->name, wanted.runs, sum.hung, sum.outside, sum.twice,
                      sum.spoilt, sum.seen, sum.unseen);
        bad += sum.hung + sum.outside + sum.twice + sum.spoilt;
    }
    assert_int_equal(bad, 0);
}

/* Runs that once went wrong, and are too rare for a short test to meet. */
static void test_runs_that_went_wrong(void **state)
{
    static const struct {
        const char *name;
        uint32_t    seed, shape;
    } met[] = {
        { "arena", 97, 0 }, { "arena", 409, 0 }, { "bitmap", 859, 2 }, { "bitmap", 953, 0 },
        { "bitmap", 1905, 0 }, { "bitmap", 2982, 5 }, { "cluster_bitmap", 738, 1 },
        { "cluster_bitmap", 859, 2 }, { "freelist", 312, 7 }, { "freelist", 1739, 2 },
        { "rbtree", 758, 5 }, { "rbtree", 1801, 0 }, { "rbtree", 41443, 2 },
        { "rbtree", 188307, 3 }, { "rbtree", 521806, 6 }, { "thread_bitmap", 1049, 0 },
        { "warp_best_fit", 24, 7 }, { "warp_first_fit", 758, 5 },
    };
    const shpool_allocator *allocator;
    tally                   sum = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(met) / sizeof(met[0]); i++) {
        if (shpool_allocator_find(met[i].name, &allocator) == SHPOOL_OK) {
            open_pool(allocator, met[i].shape);
            run_once(allocator, met[i].seed, &sum);
            shpool_simt_close(&s.pool);
        }
    }
    assert_int_equal(sum.hung + sum.outside + sum.twice + sum.spoilt, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_word_changes),
        cmocka_unit_test(test_runs_that_went_wrong),
    };

    wanted.runs  = (getenv("LIBSHPOOL_TEST_LONG") != NULL) ? RUNS_LONG : wanted.runs;
    wanted.runs  = (argc > 1) ? (uint32_t)strtoul(argv[1], NULL, 10) : wanted.runs;
    wanted.only  = (argc > 2) ? argv[2] : NULL;
    wanted.first = (argc > 3) ? (uint32_t)strtoul(argv[3], NULL, 10) : wanted.first;
    unsetenv("SHPOOL_ALLOCATOR");
#if defined(__SANITIZE_THREAD__)
    return 77; /* a stray write is a race, and so are all that follow from it */
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
