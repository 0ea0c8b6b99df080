/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs with check=1 in which one word of a pool, or of the statistics area, changes: two rounds of
 * random calls with the change between them, and what must not happen then.
 *
 * Payloads of live allocations are left alone, because nobody could see that; their zones are
 * not. */
#ifndef SHPOOL_TESTS_STRAY_TRIAL_H
#define SHPOOL_TESTS_STRAY_TRIAL_H

#include "group_trial.h"

#define THREADS  4u
#define SLOTS    6u
#define ROUND    14u       /* requests of a thread before the change, and after it */
#define SHAPES   16u       /* of pools */
#define FILL     0x5au     /* shared memory before the kernel */
#define SWITCHES 2000000ull
#define BLOCKS   2u        /* of a cluster */
#define OBJECTS  (BLOCKS * SIMT_WARP * SLOTS)

typedef struct object {
    unsigned char *at;
    uint32_t       bytes; /* requested: others must not get these bytes */
    uint32_t       tag;
    uint32_t       depth; /* marks that were taken before it */
} object;

/* A thread's calls: `step` of them in a round. */
typedef void stray_act(shpool_heap heap, uint32_t *random, uint32_t step);

static struct {
    uint32_t    runs, first;
    const char *only, *calls;
} wanted = { 150, 1, NULL, NULL };

static struct {
    shpool_pool pool;
    const shpool_allocator *what;
    simt_launch launch;
    stray_act  *act;
    uint32_t    seed;    /* of this run */
    uint32_t    blocks;
    enum { IN_POOL, IN_POOL_END, IN_AREA } place; /* of the change */
    object      live[OBJECTS]; /* by block, thread and slot */
    uint32_t    twice;   /* allocations that overlap a live one */
    uint32_t    spoilt;  /* payloads that changed */
    uint32_t    word, before, after; /* what was changed, from the pool's base */
    uint32_t    pool_of;             /* and in which pool */
} s;

/* Results of a run. */
typedef struct tally {
    uint32_t runs, hung, outside, twice, spoilt, unseen, seen, wrong;
    uint32_t missed; /* of the statistics area */
} tally;

static inline object *object_of(uint32_t thread, uint32_t slot)
{
    return &s.live[(simt_cluster_rank() * s.launch.block[0] + thread) * SLOTS + slot];
}

static inline object *mine(uint32_t slot)
{
    return object_of(simt_thread_rank(), slot);
}

static inline uint32_t objects(void)
{
    return s.blocks * s.launch.block[0] * SLOTS;
}

static inline uint32_t is_whole(const object *o)
{
    for (uint32_t i = 0; i < o->bytes; i++) {
        if (o->at[i] != (unsigned char)o->tag) {
            return 0;
        }
    }
    return 1;
}

static inline int overlaps(const object *a, const object *b)
{
    return (a->at != NULL) && (b->at != NULL) && (a->at < b->at + b->bytes) &&
           (b->at < a->at + a->bytes);
}

/* What an allocating call gave; an object that overlaps another is not touched, or the other's
 * owner would not know why. */
static inline void got(object *o, void *ptr, uint32_t bytes, uint32_t tag)
{
    object fresh = { ptr, bytes, tag, 0 };

    o->at = NULL;
    for (uint32_t i = 0; (ptr != NULL) && (i < objects()); i++) {
        if (overlaps(&fresh, &s.live[i])) {
            s.twice++;
            return;
        }
    }
    *o = fresh;
    if (ptr != NULL) {
        memset(o->at, (int)o->tag, o->bytes);
    }
}

static inline void drop(shpool_heap heap, object *o)
{
    object was = *o;

    s.spoilt += !is_whole(o);
    o->at = NULL; /* first: another thread may get it immediately */
    if (shpool_free_at(heap, was.at, 0) != SHPOOL_FREE_OK) {
        *o = was;
    }
}

/* A realloc has moved `was` to ptr, or refused. */
static inline void resized(object *o, object was, void *ptr, uint32_t bytes, uint32_t tag)
{
    if (ptr == NULL) {
        *o = was;
        s.spoilt += !is_whole(o);
        return;
    }
    got(o, ptr, bytes, tag);
}

static inline void resize_object(shpool_heap heap, object *o, uint32_t bytes, uint32_t tag)
{
    object was = *o;

    s.spoilt += !is_whole(o);
    o->at = NULL;
    resized(o, was, shpool_realloc(heap, was.at, bytes), bytes, tag);
}

/* Of a request that is not served everywhere. */
static inline uint32_t aligned(void)
{
    return (s.pool.alignment == 16) ? 64 : s.pool.alignment;
}

/* A call of one thread about an object of its own. */
static inline void act_on(shpool_heap heap, object *o, uint32_t what)
{
    uint32_t bytes = 1u + (what >> 16) % (((what & 7u) == 0) ? 300u : 70u);

    if (o->at == NULL) {
        got(o, ((what & 0x30u) == 0) ? shpool_aligned_malloc(heap, aligned(), bytes)
                                     : shpool_malloc(heap, bytes), bytes, what >> 24);
    } else if ((what & 0x30u) == 0) {
        resize_object(heap, o, bytes, what >> 24);
    } else {
        drop(heap, o);
    }
}

static inline void act_alone(shpool_heap heap, uint32_t *random, uint32_t step)
{
    uint32_t what = heap_random(random);

    act_on(heap, mine((what >> 8) % SLOTS), what);
}

/* ---- the change ---- */

static inline int is_payload(const unsigned char *at)
{
    for (uint32_t i = 0; i < objects(); i++) {
        const object *o = &s.live[i];

        if ((o->at != NULL) && (at + 4 > o->at) && (at < o->at + o->bytes)) {
            return 1;
        }
    }
    return 0;
}

static inline uint32_t other_value(uint32_t held, simt_addr pool, uint32_t *random)
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

/* Bytes of the statistics area, without those after it that align the pools. */
static inline uint32_t area_end(void)
{
    return SHPOOL_AREA_CHECKED + (s.pool.spill_bytes >> s.pool.spill_shift) / 4u;
}

/* Whether the word, or its complement, is a maximum or a minimum: later calls may put it right. */
static inline int is_extreme(uint32_t word)
{
    const uint32_t at = word % SHPOOL_AREA_SHADOW - SHPOOL_AREA_FRONT;

    return (at == SHPOOL_AREA_PEAK) || (at == SHPOOL_AREA_SLOWEST) ||
           (at == SHPOOL_AREA_FASTEST) || (at == SHPOOL_AREA_UNUSED) ||
           (at == SHPOOL_AREA_LARGEST);
}

/* Offset of a word: half of them at the pool's front or, where the words of waiters are, at its
 * end. */
static inline uint32_t choose_word(uint32_t *random)
{
    uint32_t half = (heap_random(random) & 1u) != 0;
    uint32_t most = half ? s.pool.pool_bytes : 96u;

    if (s.place == IN_AREA) {
        return 4u * (heap_random(random) % (area_end() / 4u));
    }
    if (!half && (s.place == IN_POOL_END)) {
        return s.pool.pool_bytes - 32u + 4u * (heap_random(random) % 8u);
    }
    return 4u * (heap_random(random) % (most / 4u));
}

/* The address of pool s.pool_of, or of the area. */
static inline simt_addr changed_part(shpool_heap heap)
{
    return (s.place == IN_AREA) ? simt_dynamic_base()
                                : heap.view.base +
                                      (s.pool_of - heap.view.rank / s.pool.threads_per_pool) *
                                          s.pool.pool_bytes;
}

static inline void change(shpool_heap heap, uint32_t *random)
{
    simt_addr pool;

    s.pool_of = heap_random(random) % s.pool.pools;
    pool      = changed_part(heap);
    for (uint32_t tries = 0; tries < 1000; tries++) {
        uint32_t word = choose_word(random);

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

static inline void stray_barrier(void)
{
    if (s.blocks > 1) {
        simt_cluster_barrier();
    } else {
        simt_barrier();
    }
}

static inline void stray_kernel(void *arg)
{
    uint32_t    random = s.seed * 2654435761u + simt_thread_rank() * 40503u +
                         simt_cluster_rank() * 7919u + 1u;
    shpool_heap heap   = shpool_init(&s.pool, simt_from_shared(simt_dynamic_base()));
    uint32_t    leads  = (simt_thread_rank() == 0) && (simt_cluster_rank() == 0);

    (void)heap_random(&random);
    for (uint32_t i = 0; i < ROUND; i++) {
        s.act(heap, &random, i);
    }
    stray_barrier();
    if (leads) {
        change(heap, &random);
    }
    stray_barrier();
    for (uint32_t i = 0; i < ROUND; i++) {
        s.act(heap, &random, ROUND + i);
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
}

/* Each bit of `shape`, below SHAPES, is a choice; options: more of the spec, after a comma, or
 * "". */
static inline void stray_open(const shpool_allocator *allocator, uint32_t shape, uint32_t threads,
                              const char *options)
{
    shpool_config want = { .block_threads = threads,
                           .alignment = (((shape & 1u) != 0) ? 64u : 16u) << ((shape >> 3) & 1u) };
    char          spec[160];

    want.payload_bytes = (((shape & 2u) != 0) ? 2400u : 5600u) * threads / THREADS;
    (void)snprintf(spec, sizeof(spec), "%s:check=1%s%s", allocator->name,
                   (allocator->scope != SHPOOL_SCOPE_GROUP) ? "" :
                   ((shape & 4u) != 0) ? ",threads_per_pool=4" : ",threads_per_pool=1", options);
    if (shpool_simt_open(spec, &want, &s.pool) != SHPOOL_OK) {
        fail_msg("%s: %s", spec, shpool_last_error());
    }
    s.what   = allocator;
    s.blocks = (allocator->scope == SHPOOL_SCOPE_CLUSTER) ? BLOCKS : 1u;
    memset(&s.launch, 0, sizeof(s.launch));
    s.launch.block[0]      = threads;
    s.launch.grid[0]       = s.blocks;
    s.launch.cluster[0]    = s.blocks;
    s.launch.dynamic_bytes = s.pool.shared_bytes; /* an access after it ends the run */
    s.launch.switch_period = 7;
    s.launch.max_switches  = SWITCHES;
    s.launch.fill          = FILL;
}

/* Whether a run went wrong.  The program itself makes no mistakes: a report without a change is
 * wrong, too. */
static inline uint32_t judge(const shpool_report_data *report, const simt_result *result,
                             tally *sum)
{
    uint32_t seen = (report->corrupt != 0) || (report->bad_frees != 0);
    uint32_t hung = (result->status == SHPOOL_ERR_DEADLOCK) ||
                    (result->status == SHPOOL_ERR_BUDGET);
    uint32_t outside = (result->status != SHPOOL_OK) && !hung;
    uint32_t twice   = (s.twice != 0) && !seen && !hung && !outside;
    uint32_t spoilt  = (s.spoilt != 0) && !seen && !hung && !outside;
    uint32_t missed  = (s.place == IN_AREA) && (report->broken != SHPOOL_BROKEN_AREA) &&
                       (s.before != s.after) && !is_extreme(s.word) && !hung && !outside;

    sum->runs++;
    sum->hung += hung;
    sum->outside += outside;
    sum->twice += twice;
    sum->spoilt += spoilt;
    sum->unseen += (seen == 0) && (s.before != s.after);
    sum->seen += seen;
    sum->wrong += seen && (s.before == s.after);
    sum->missed += missed;
    return hung || outside || twice || spoilt || missed || (seen && (s.before == s.after));
}

/* A run of `kernel`, whose random numbers depend on the seed. */
static inline void run_kernel(simt_kernel kernel, uint32_t seed, tally *sum)
{
    shpool_report_data *report = (shpool_report_data *)s.pool.report;
    simt_result         result;

    memset(s.live, 0, sizeof(s.live));
    s.seed = seed;
    s.twice = s.spoilt = 0;
    s.launch.seed = seed;
    memset(report, 0, sizeof(*report));
    shpool_report_clear(report);
    (void)simt_run(&s.launch, kernel, NULL, &result);
    if (judge(report, &result, sum)) {
        print_error("%s, alignment %u, seed %u: pool %u, word +%u, 0x%08x to 0x%08x: %s: twice %u, "
                    "spoilt %u, seen %u: %.200s\n", s.what->name, s.pool.alignment, seed,
                    s.pool_of, s.word, s.before, s.after, shpool_strerror(result.status), s.twice,
                    s.spoilt, (report->corrupt != 0) || (report->bad_frees != 0), result.text);
    }
}

static inline void run_once(uint32_t seed, tally *sum)
{
    run_kernel(stray_kernel, seed, sum);
}

/* Whether no run of the allocator went wrong; prints a line. */
static inline uint32_t bad_runs(const char *what, const shpool_allocator *allocator,
                                const tally *sum)
{
    print_message("%s%s%s: %u runs: %u hung, %u went outside, %u gave twice, %u spoilt; %u seen, "
                  "%u not\n", allocator->name, (what[0] != '\0') ? ", " : "", what, sum->runs,
                  sum->hung, sum->outside, sum->twice, sum->spoilt, sum->seen, sum->unseen);
    return sum->hung + sum->outside + sum->twice + sum->spoilt + sum->wrong + sum->missed;
}

static inline int takes_part_here(const shpool_allocator *allocator)
{
    return (wanted.only == NULL) || (strcmp(wanted.only, allocator->name) == 0);
}

/* PROGRAM [RUNS [ALLOCATOR [FIRST [CALLS]]]], or PROGRAM TEST: only tests of this pattern. */
static inline int stray_main(int argc, char **argv, const struct CMUnitTest *tests, size_t count,
                             uint32_t runs_long)
{
    wanted.runs = heap_long() ? runs_long : wanted.runs;
    if ((argc > 1) && (strncmp(argv[1], "test", 4) == 0)) {
        cmocka_set_test_filter(argv[1]);
    } else if (argc > 1) {
        wanted.runs = (uint32_t)strtoul(argv[1], NULL, 10);
    }
    wanted.only  = (argc > 2) ? argv[2] : NULL;
    wanted.first = (argc > 3) ? (uint32_t)strtoul(argv[3], NULL, 10) : 1u;
    wanted.calls = (argc > 4) ? argv[4] : NULL;
    unsetenv("SHPOOL_ALLOCATOR");
#if defined(__SANITIZE_THREAD__)
    return 77; /* a stray write is a race, and so are all that follow from it */
#endif
    return _cmocka_run_group_tests(argv[0], tests, count, NULL, NULL);
}

#endif /* SHPOOL_TESTS_STRAY_TRIAL_H */
