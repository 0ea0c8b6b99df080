/* SPDX-License-Identifier: BSD-3-Clause */
/* Scenes: what the threads of a block do in a pool, in which pools, under which schedules, and what
 * the report must have then.  One row says all of it, and one function runs it.
 *
 *     static void pair(shpool_heap heap) { shpool_free(heap, shpool_malloc(heap, 40)); }
 *     SCENE(test_a_pair, pair, .threads = { 3, 33 }, .each = 400, .seeds = 8, .periods = 4)
 */
#ifndef SHPOOL_TESTS_SCENE_H
#define SHPOOL_TESTS_SCENE_H

#include "heap_trial.h"

typedef struct scene {
    void (*body)(shpool_heap heap); /* of each thread */
    simt_kernel kernel;       /* in place of a body: it makes its heap, and gets `t` */

    const char *only;         /* this allocator: the test is skipped in a build without it */
    int (*takes)(const shpool_allocator *allocator); /* NULL: all that have pools */
    uint32_t    caps;         /* that the allocators need */
    enum { EACH_WAY, ONE_BY_ONE, BATCHED } served; /* only those whose lanes are served so */
    const char *options[9];   /* one after another, each from its ':' on; none: "" */
    uint32_t    threads[9];   /* one after another; none: 1 */
    uint32_t    alignments[8]; /* one after another; none: 16 */
    uint32_t    each;         /* payload of a pool, and more for each of its threads */
    uint32_t    per_thread;
    uint32_t    each_alone;   /* of one that a thread has for itself; 0: the same */
    uint32_t    share;        /* so many threads share a pool, if groups do; or ALL */

    uint32_t    numbers;      /* t.number is 0, 1, ...; none: `number` */
    uint32_t    number, steps, blocks, cluster;
    uint32_t    seeds;        /* of schedules and kernels, 0, 1, ...; none: 1 */
    uint32_t    periods;      /* the period is the seed modulo this one; 0: `period` */
    uint32_t    period;
    simt_engine engine;
    unsigned long long most_switches;
    void (*tune)(void);       /* changes `t` in front of a run */

    uint32_t    leaves;       /* memory is left: no look at the pool in the end */
    uint32_t    counts;       /* the report counts what the model does, in every mode */
    const char *report;       /* fields and sums, as "failures 2, mallocs 5t+1p": t is the number of
                               * threads, p that of pools, b that of blocks */
    void (*expect)(void);     /* after the run */
    shpool_status status;     /* how the run ends, and what the executor says of it */
    const char *texts[2];

    void (*before)(void);     /* of explorations: in front of each schedule, and behind it */
    void (*after)(void);
    uint32_t    schedules;    /* there are more */
} scene;

#define ALL SHPOOL_MAX_THREADS

static trial        t;
static const scene *now; /* the one that runs */

#define EXPECT(_fine) HEAP_EXPECT(&t.model, _fine)

/* ---- calls that tell the model ---- */

static inline int get(shpool_heap heap, heap_slot *slot, size_t bytes, uint32_t tag)
{
    return trial_malloc(&t, heap, slot, bytes, 16, tag);
}

static inline int get_aligned(shpool_heap heap, heap_slot *slot, size_t bytes, uint32_t alignment,
                              uint32_t tag)
{
    return trial_malloc(&t, heap, slot, bytes, alignment, tag);
}

static inline void put(shpool_heap heap, heap_slot *slot)
{
    trial_free(&t, heap, slot);
}

/* Those of `n` that are there. */
static inline void put_all(shpool_heap heap, heap_slot *slots, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (slots[i].at != NULL) {
            put(heap, &slots[i]);
        }
    }
}

static inline int resize(shpool_heap heap, heap_slot *slot, size_t bytes, uint32_t tag)
{
    return trial_realloc(&t, heap, slot, bytes, tag);
}

/* ---- who takes part ---- */

static inline int every(const shpool_allocator *allocator)
{
    return allocator != NULL;
}

static inline int serves(const shpool_allocator *allocator)
{
    return (allocator->caps & SHPOOL_CAP_NONE) == 0;
}

static inline int shares(const shpool_allocator *allocator)
{
    return has_pool(allocator) && (allocator->scope != SHPOOL_SCOPE_THREAD);
}

static inline int of_groups(const shpool_allocator *allocator)
{
    return has_pool(allocator) && (allocator->scope == SHPOOL_SCOPE_GROUP);
}

/* Lanes that are served together wait for each other in simt_converged(): the executor leaves them
 * there while others sleep several times, and they have very many schedules. */
static inline int is_batched(const shpool_allocator *allocator)
{
    return strncmp(allocator->name, "warp_", 5) == 0;
}

/* The plan refuses the others: test_plan.c. */
static inline int allows(const shpool_allocator *allocator, const char *options)
{
    return ((strstr(options, "check") == NULL) || ((allocator->caps & SHPOOL_CAP_CHECK) != 0)) &&
           ((strstr(options, "spill=") == NULL) || serves(allocator)) &&
           ((strstr(options, "arena") == NULL) || (allocator->scope != SHPOOL_SCOPE_CLUSTER));
}

static inline int takes_part(const scene *s, const shpool_allocator *allocator)
{
    if (s->only != NULL) {
        return strcmp(allocator->name, s->only) == 0;
    }
    return ((s->takes != NULL) ? s->takes(allocator) : has_pool(allocator)) &&
           ((allocator->caps & s->caps) == s->caps) &&
           ((s->served == EACH_WAY) || ((s->served == BATCHED) == is_batched(allocator)));
}

/* ---- the report ---- */

static inline unsigned long long field_of_report(const char *name)
{
#define FIELD(_of) { #_of, offsetof(shpool_report_data, _of), sizeof(t.report._of) }
    static const struct {
        const char *name;
        size_t      at, bytes;
    } fields[] = {
        FIELD(bad_frees), FIELD(blocks), FIELD(broken), FIELD(corrupt), FIELD(empty),
        FIELD(failures), FIELD(frees), FIELD(leaks), FIELD(live), FIELD(live_bytes), FIELD(mallocs),
        FIELD(native_spills), FIELD(peak_bytes), FIELD(refusals), FIELD(spills), FIELD(timed),
        FIELD(waits),
    };
    unsigned long long value = 0;

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (strcmp(fields[i].name, name) == 0) {
            memcpy(&value, (const char *)&t.report + fields[i].at, fields[i].bytes);
            return value;
        }
    }
    fail_msg("the report has no %s", name);
    return 0;
}

static inline unsigned long long sum_of(const char *text, int *length_p)
{
    unsigned long long sum = 0;
    char              *end = (char *)(size_t)text - 1;

    do {
        unsigned long long term = strtoull(end + 1, &end, 10);

        term *= (*end == 't') ? t.launch.block[0] : (*end == 'p') ? t.pool.pools
                : (*end == 'b') ? t.report.blocks : 1u;
        sum += term;
        end += (*end != '\0') && (strchr("tpb", *end) != NULL);
    } while (*end == '+');
    *length_p = (int)(end - text);
    return sum;
}

static inline void expect_report(const char *expected, const char *options)
{
    char name[32];
    int  length = 0;

    for (const char *at = expected; *at != '\0'; at += length + (int)strspn(at + length, ", ")) {
        unsigned long long value;

        assert_int_equal(sscanf(at, "%31[a-z_] %n", name, &length), 1);
        at += length;
        value = sum_of(at, &length);
        if (field_of_report(name) != value) {
            fail_msg("%s%s, case %zu, seed %u: %s != %llu but %llu", TRIAL_NAME(&t), options,
                     t.number, t.seed, name, value, field_of_report(name));
        }
    }
}

static inline void expect_counts(void)
{
    const uint32_t looks = (now->leaves != 0) ? 0u : t.pool.pools * t.report.blocks;
    const uint32_t all   = (t.pool.flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0;

    assert_int_equal(t.report.mallocs, all ? t.model.mallocs + looks : 0u);
    assert_int_equal(t.report.frees, all ? t.model.frees + looks : 0u);
    assert_int_equal(t.report.failures, t.model.failures);
    assert_int_equal(t.report.live, all ? t.model.held : 0u);
}

/* ---- a run ---- */

static inline void scene_kernel(void *arg)
{
    shpool_heap heap = trial_init((trial *)arg);

    now->body(heap);
    if (now->leaves == 0) {
        trial_expect_fresh((trial *)arg, heap);
    }
    shpool_fini(heap);
}

static inline simt_kernel kernel_of(const scene *s)
{
    return (s->kernel != NULL) ? s->kernel : scene_kernel;
}

static inline void open_scene(const shpool_allocator *allocator, const char *options,
                              uint32_t threads, uint32_t alignment)
{
    const uint32_t pools = ((now->share != 0) && (allocator->scope == SHPOOL_SCOPE_GROUP))
                               ? (threads + now->share - 1u) / now->share
                               : trial_pools(allocator, threads);
    const uint32_t alone = (pools == threads) && (now->each_alone != 0);
    shpool_config  want  = { .block_threads = threads, .alignment = alignment };

    want.threads_per_pool = (now->share < threads) ? now->share : threads;
    want.payload_bytes    = pools * (alone ? now->each_alone
                                           : now->each + threads / pools * now->per_thread);
    trial_open_as(&t, allocator, options, &want);
    t.steps               = now->steps;
    t.launch.engine       = now->engine;
    t.launch.grid[0]      = now->blocks;
    t.launch.cluster[0]   = now->cluster;
    t.launch.max_switches = now->most_switches;
}

static inline void run_it(void)
{
    if (now->status == SHPOOL_OK) {
        trial_run(&t, kernel_of(now));
        return;
    }
    assert_int_equal(simt_run(&t.launch, kernel_of(now), &t, &t.result), now->status);
    for (size_t i = 0; (i < 2) && (now->texts[i] != NULL); i++) {
        if (strstr(t.result.text, now->texts[i]) == NULL) {
            fail_msg("%s: \"%s\" is not in \"%s\"", TRIAL_NAME(&t), now->texts[i], t.result.text);
        }
    }
}

static inline void run_case(const char *options, size_t number, uint32_t seed)
{
    t.number               = number;
    t.seed                 = seed;
    t.launch.seed          = seed;
    t.launch.switch_period = (now->periods != 0) ? seed % now->periods : now->period;
    if (now->tune != NULL) {
        now->tune();
    }
    run_it();
    if ((now->report != NULL) && (t.pool.report != NULL)) {
        expect_report(now->report, options);
    }
    if ((now->counts != 0) && (t.pool.report != NULL)) {
        expect_counts();
    }
    if (now->expect != NULL) {
        now->expect();
    }
    trial_close(&t);
}

static inline void run_in(const shpool_allocator *allocator, const char *options, uint32_t threads,
                          uint32_t alignment)
{
    const uint32_t numbers = (now->numbers != 0) ? now->numbers : 1u;
    const uint32_t seeds   = (now->seeds != 0) ? heap_seeds(now->seeds) : 1u;

    for (uint32_t i = 0; i < numbers * seeds; i++) {
        open_scene(allocator, options, threads, alignment);
        run_case(options, (now->numbers != 0) ? i % numbers : now->number, i / numbers);
    }
}

static inline void run_with(const shpool_allocator *allocator, const char *options)
{
    for (size_t n = 0; (n == 0) || (now->threads[n] != 0); n++) {
        for (size_t a = 0; (a == 0) || (now->alignments[a] != 0); a++) {
            run_in(allocator, options, (now->threads[n] != 0) ? now->threads[n] : 1u,
                   (now->alignments[a] != 0) ? now->alignments[a] : 16u);
        }
    }
}

/* Every allocator that takes part: calls `run` with each of the scene's options that it allows. */
static inline void for_each_pool(const scene *s,
                                 void run(const shpool_allocator *allocator, const char *options))
{
    uint32_t ran = 0;

    now = s;
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        for (size_t k = 0; takes_part(s, allocator) && ((k == 0) || (s->options[k] != NULL)); k++) {
            const char *options = (s->options[k] != NULL) ? s->options[k] : "";

            if (allows(allocator, options)) {
                run(allocator, options);
                ran++;
            }
        }
    }
    if (ran == 0) {
        skip(); /* --enable-allocators left them out */
    }
}

static inline void run_scene(const scene *s)
{
    for_each_pool(s, run_with);
}

#define SCENE(_test, _body, ...)                                                                   \
    UNIT_TEST(_test)                                                                               \
    {                                                                                              \
        static const scene row = { .body = _body, __VA_ARGS__ };                                   \
                                                                                                   \
        run_scene(&row);                                                                           \
    }

/* ---- every schedule within a bound of preemptions ---- */

static uint32_t bound; /* of preemptions */

static inline void before_schedule(void *arg)
{
    trial_reset((trial *)arg);
    if (now->before != NULL) {
        now->before();
    }
}

static inline int after_schedule(void *arg)
{
    if (now->after != NULL) {
        now->after();
    }
    return trial_fault((trial *)arg) != NULL;
}

static inline void explore_in(const shpool_allocator *allocator, const char *options)
{
    const simt_bounds bounds = { .preemptions = bound };
    const simt_hooks  hooks  = { before_schedule, after_schedule };
    shpool_status     status;

    open_scene(allocator, options, now->threads[0], 16);
    t.number = now->number;
    if (now->tune != NULL) {
        now->tune();
    }
    status = simt_explore(&t.launch, &bounds, &hooks, kernel_of(now), &t, &t.result);
    print_message("             %s%s: %llu schedules of %u threads, %u preemptions\n",
                  allocator->name, options, t.result.schedules, now->threads[0], bound);
    if (status != SHPOOL_OK) {
        fail_msg("%s%s: %s; %s", allocator->name, options,
                 (trial_fault(&t) != NULL) ? trial_fault(&t) : "", t.result.text);
    }
    assert_true(t.result.complete && (t.result.schedules > now->schedules));
    if (now->expect != NULL) {
        now->expect();
    }
    trial_close(&t);
}

static inline void explore_scene(const scene *s, uint32_t preemptions)
{
    bound = preemptions;
    for_each_pool(s, explore_in);
}

#endif /* SHPOOL_TESTS_SCENE_H */
