/* SPDX-License-Identifier: BSD-3-Clause */
/* trace=FILE on the executor: the file has what the kernel did, and no more. */
#include "trace_trial.h"

static const shpool_config small = { .block_threads = 2, .payload_bytes = 2048 };

/* ---- scenes: operations one after another, each of a thread, of lanes or of the block ---- */

typedef enum what {
    MALLOC, REFUSED, /* ->slot; REFUSED: there is no room */
    FREE, INSIDE,    /* of the slot; INSIDE: 16 bytes after its start, which is refused */
    REALLOC, RESIZE, /* the slot; RESIZE: in place */
    WAIT,            /* `alignment` attempts in vain, of which `site` are in the file */
    MARK, RELEASE
} what;

typedef struct operation {
    uint32_t warp, lanes; /* lanes 0: the block */
    what     what;
    uint32_t slot, bytes, alignment, site;
} operation;

#define THREAD(_rank) (_rank) / SIMT_WARP, 1u << (_rank) % SIMT_WARP
#define BLOCK         0, 0
#define WHOLE         0xffffffffu /* bytes: the largest request */

typedef struct scene {
    const char      *allocator; /* NULL: each that serves and frees for groups, and checked */
    const char      *options;
    shpool_config    want;
    const operation *operations;
    size_t           count;
    const char      *texts[2]; /* what the file has besides */
} scene;

static const scene *played;
static void        *slots[4];

/* The group of an operation, as the file has it: the first thread, and how many more. */
static const char *who_of(const operation *o, char text[24])
{
    const uint32_t first = (o->lanes != 0) ? o->warp * SIMT_WARP + shpool_first_lane(o->lanes) : 0;
    const uint32_t more = ((o->lanes != 0) ? simt_popc(o->lanes) : simt_block_threads()) - 1u;

    (void)snprintf(text, 24, (more != 0) ? "%u+%u" : "%u", first, more);
    return text;
}

static const char *place_of(const trace_trial *t, const void *ptr, char text[24])
{
    if (shpool_is_shared(ptr)) {
        (void)snprintf(text, 24, "0x%x",
                       simt_to_shared(ptr) - shpool_aligned_start(&t->pool, simt_dynamic_base()) -
                           t->pool.area_bytes);
    } else {
        (void)snprintf(text, 24, "g0x%llx", (unsigned long long)(size_t)ptr);
    }
    return text;
}

static uint32_t bytes_of(const trace_trial *t, const operation *o)
{
    return (o->bytes == WHOLE) ? t->pool.largest : o->bytes;
}

static void *call(trace_trial *t, shpool_heap heap, const operation *o)
{
    const uint32_t bytes = bytes_of(t, o);
    const int alone = (o->lanes & (o->lanes - 1u)) == 0;

    if (o->what == WAIT) {
        return (o->lanes == 0) ? shpool_malloc_wait_block(heap, bytes, o->alignment)
               : alone         ? shpool_malloc_wait(heap, bytes, o->alignment)
                               : shpool_malloc_wait_lanes(heap, o->lanes, bytes, o->alignment);
    }
    if ((o->what == REALLOC) || (o->what == RESIZE)) {
        return alone ? shpool_realloc(heap, slots[o->slot], bytes)
                     : shpool_realloc_lanes(heap, o->lanes, slots[o->slot], bytes);
    }
    return (o->lanes == 0)        ? shpool_malloc_block(heap, bytes)
           : !alone               ? shpool_malloc_lanes_at(heap, o->lanes, bytes, o->site)
           : (o->alignment == 16) ? shpool_malloc_at(heap, bytes, o->site)
                                  : shpool_aligned_malloc(heap, o->alignment, bytes);
}

static uint32_t call_free(shpool_heap heap, const operation *o, void *ptr)
{
    if (o->lanes == 0) {
        shpool_free_block(heap, ptr);
        return SHPOOL_FREE_OK;
    }
    return ((o->lanes & (o->lanes - 1u)) == 0) ? shpool_free_at(heap, ptr, o->site)
                                               : shpool_free_lanes_at(heap, o->lanes, ptr, o->site);
}

/* The first thread's: the lines of an operation that returned `now`, or of a free. */
static void note(trace_trial *t, shpool_heap heap, const operation *o, void *now, uint32_t reason)
{
    char who[24], place[24], old[24];
    const uint32_t bytes = bytes_of(t, o);
    void *ptr = slots[o->slot];

    (void)who_of(o, who);
    (void)place_of(t, now, place);
    switch (o->what) {
    case MALLOC:
    case REALLOC:
    case RESIZE:
        slots[o->slot] = now;
        if ((o->what != MALLOC) && (now == ptr)) {
            LOG(t, "r %s %s %u %zu\n", who, place, bytes, shpool_usable_size(heap, now));
            break;
        }
        LOG(t, "m %s %s %u %zu %u %u\n", who, place, bytes, shpool_usable_size(heap, now),
            o->alignment, o->site);
        if (o->what == REALLOC) {
            LOG(t, "f %s %s 0 0\n", who, place_of(t, ptr, old));
        }
        break;
    case REFUSED:
        LOG(t, "m %s - %u 0 %u %u\n%s", who, bytes, o->alignment, o->site,
            (now != NULL) ? "not refused\n" : "");
        break;
    case WAIT:
        for (uint32_t i = 0; i < o->site; i++) {
            LOG(t, "w %s - %u 0 16 0\n%s", who, bytes, (now != NULL) ? "not refused\n" : "");
        }
        break;
    default: /* a refused free does not reach a checked pool: it is in the report */
        if ((o->what == FREE) || ((t->pool.flags & SHPOOL_FLAG_CHECK) == 0)) {
            LOG(t, "f %s %s %u %u\n", who, place, reason, o->site);
        }
        break;
    }
}

static void do_one(trace_trial *t, shpool_heap heap, const operation *o)
{
    static uint32_t mark;
    uint32_t reason = SHPOOL_FREE_OK;
    void *ptr = slots[o->slot];

    if (o->what == MARK) {
        mark = shpool_mark(heap);
        LOG(t, "k %u %u\n", simt_thread_rank(), mark);
        return;
    }
    if (o->what == RELEASE) {
        (void)shpool_release(heap, mark);
        LOG(t, "l %u %u\n", simt_thread_rank(), mark);
        return;
    }
    if ((o->what == FREE) || (o->what == INSIDE)) {
        ptr = (char *)ptr + ((o->what == INSIDE) ? 16 : 0);
        reason = call_free(heap, o, ptr);
        if ((reason == SHPOOL_FREE_OK) != (o->what == FREE)) {
            LOG(t, "a free has the reason %u\n", reason);
        }
    } else {
        ptr = call(t, heap, o);
    }
    if (simt_thread_rank() == ((o->lanes != 0) ? o->warp * SIMT_WARP + shpool_first_lane(o->lanes)
                                               : 0u)) {
        note(t, heap, o, ptr, reason);
    }
}

static void play(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);

    for (const operation *o = played->operations; o < played->operations + played->count; o++) {
        if ((o->lanes == 0) ||
            ((simt_warp() == o->warp) && (((o->lanes >> simt_lane()) & 1u) != 0))) {
            do_one(t, heap, o);
        }
        simt_barrier();
    }
    shpool_fini(heap);
}

static const operation two_threads[] = {
    { THREAD(0), MALLOC, 0, 100, 16, 7 }, { THREAD(0), MALLOC, 1, 1, 16, 0 },
    { THREAD(0), MALLOC, 2, 40, 64, 0 },  { THREAD(0), FREE, 0, 0, 0, 9 },
    { THREAD(0), REFUSED, 0, 5000, 16, 0 }, { THREAD(0), FREE, 1, 0, 0, 0 },
    { THREAD(0), INSIDE, 2, 0, 0, 3 },    { THREAD(1), FREE, 2, 0, 0, 0 },
};
static const operation resizes[] = {
    { THREAD(0), MALLOC, 0, 64, 16, 0 },  { THREAD(0), RESIZE, 0, 300, 16, 0 },
    { THREAD(0), RESIZE, 0, 16, 16, 0 },  { THREAD(0), WAIT, 1, 2048, 3, 1 }, /* nobody frees */
    { THREAD(0), FREE, 0, 0, 0, 0 },
};
static const operation marks[] = {
    { THREAD(0), MALLOC, 0, 32, 16, 0 },  { THREAD(0), MARK, 0, 0, 0, 0 },
    { THREAD(0), MALLOC, 1, 48, 16, 0 },  { THREAD(0), RELEASE, 0, 0, 0, 0 },
};
static const operation mark_of_nothing[] = {
    { THREAD(0), MARK, 0, 0, 0, 0 },      { THREAD(0), MALLOC, 0, 32, 16, 0 },
    { THREAD(0), RELEASE, 0, 0, 0, 0 },
};
static const operation spills[] = {
    { THREAD(0), MALLOC, 0, 5000, 16, 0 }, { THREAD(0), FREE, 0, 0, 0, 0 },
};
static const operation waits_for_a_slot[] = {
    { THREAD(0), MALLOC, 0, 5000, 16, 0 }, { THREAD(0), WAIT, 1, 100, 2, 2 },
    { THREAD(0), FREE, 0, 0, 0, 0 },
};
/* a warp, a tile of 8 lanes, two lanes apart, a warp of 8 threads, one lane */
static const operation groups[] = {
    { 0, ~0u, MALLOC, 0, 200, 16, 7 },      { 0, ~0u, FREE, 0, 0, 0, 9 },
    { 1, 0xff00u, MALLOC, 0, 64, 16, 0 },   { 1, 0xff00u, REALLOC, 0, 16, 16, 0 },
    { 1, 0xff00u, REALLOC, 0, 60, 16, 0 },  { 1, 0xff00u, MALLOC, 1, 32, 16, 0 }, /* in the way */
    { 1, 0xff00u, REALLOC, 0, 1000, 16, 0 }, { 1, 0xff00u, FREE, 0, 0, 0, 0 },
    { 1, 0x40000008u, MALLOC, 0, 48, 16, 0 }, { 2, 0xffu, MALLOC, 1, 80, 16, 0 },
    { 2, 0xffu, FREE, 1, 0, 0, 0 },         { THREAD(33), MALLOC, 1, 100, 16, 0 },
};
static const operation of_the_block[] = {
    { BLOCK, MALLOC, 0, 3000, 16, 0 },      { BLOCK, FREE, 0, 0, 0, 0 },
    { BLOCK, MALLOC, 1, 500, 16, 0 },       { BLOCK, WAIT, 2, WHOLE, 2, 2 },
    { 1, ~0u, FREE, 1, 0, 0, 0 },
};
static const operation one_of_the_block[] = { { BLOCK, MALLOC, 0, 100, 16, 0 } };
static const operation group_waits[] = {
    { 0, 0xff000000u, MALLOC, 0, 16, 16, 0 }, { 0, 0xff000000u, WAIT, 1, WHOLE, 3, 3 },
};
static const operation group_spills[] = {
    { 1, ~0u, MALLOC, 0, 30000, 16, 0 },    { 1, ~0u, FREE, 0, 0, 0, 0 },
};

#define OPS(_of)           _of, SHPOOL_ARRAY_COUNT(_of)
#define THREADS(_n)        { .block_threads = _n, .payload_bytes = 2048 }
#define ALIGNED            { .block_threads = 2, .payload_bytes = 2048, .alignment = 64 }
/* the third warp has 8 threads; one pool, also of scope group */
#define WARPS              { .block_threads = 72, .payload_bytes = 16384, .threads_per_pool = 72 }

static const scene scenes[] = {
    { "bitmap", "", ALIGNED, OPS(two_threads),
      { "\nallocator bitmap\nblock_threads 2\nthreads_per_pool 2\npools 1\npool_bytes ",
        "\nalignment 64\ncheck 0\nspill 0\nregisters 0\nblock 0 launch " } },
    { "warp_first_fit", ",check=1", ALIGNED, OPS(two_threads), { "\ncheck 1\n", "" } },
    { "bitmap", "", THREADS(1), OPS(resizes), { "", "" } },
    { "arena", "", THREADS(1), OPS(marks), { "", "" } },
    { "arena", "", THREADS(1), OPS(mark_of_nothing), { "\nk 0 0\n", "\nl 0 0\n" } },
    { "bitmap", ",spill=native", THREADS(1), OPS(spills), { "", "" } },
    { "rbtree", ",spill=arena", THREADS(1), OPS(spills), { "", "" } },
    { "native", "", THREADS(1), OPS(spills), { "", "" } },
    { "native", ",spill=arena,spill_bytes=5K", THREADS(1), OPS(waits_for_a_slot), { "", "" } },
    { NULL, "", WARPS, OPS(groups), { "", "" } },
    { NULL, ",check=1", WARPS, OPS(groups), { "", "" } },
    { "bitmap", "", WARPS, OPS(of_the_block), { "\nm 0+71 0x", "" } },
    { "freelist", "", WARPS, OPS(of_the_block), { "", "" } },
    { "bitmap", "", THREADS(1), OPS(one_of_the_block), { "\nm 0 0x", "" } },
    { "bitmap", "", THREADS(2), OPS(one_of_the_block), { "\nm 0+1 0x", "" } },
    { "bitmap", "", THREADS(33), OPS(one_of_the_block), { "\nm 0+32 0x", "" } },
    { "bitmap", "", THREADS(1024), OPS(one_of_the_block), { "\nm 0+1023 0x", "" } },
    { "bitmap", "", WARPS, OPS(group_waits), { "\nw 24+7 - ", "" } },
    { "bitmap", ",spill=native", WARPS, OPS(group_spills), { "\nm 32+31 g0x", "" } },
    { "freelist", ",spill=arena", WARPS, OPS(group_spills), { "", "" } },
    { "native", "", WARPS, OPS(group_spills), { "", "" } },
};

static void play_with(trace_trial *t, const char *allocator)
{
    char *text;

    trace_open(t, allocator, played->options, &played->want);
    trace_run(t, play);
    text = trace_closed(t);
    LOG(t, "end 1\n");
    if ((strncmp(text, "shpool-trace 3\n", 15) != 0) ||
        (strstr(text, played->texts[0]) == NULL) || (strstr(text, played->texts[1]) == NULL) ||
        (strcmp(strchr(trace_records(text), '\n') + 1, t->log) != 0)) {
        fail_msg("%s%s: %s\nexpected:\n%s%s\n%s", allocator, played->options, text,
                 played->texts[0], played->texts[1], t->log);
    }
    free(text);
}

/* Those that search with all lanes, and those whose first lane asks. */
static int serves_groups(const shpool_allocator *allocator)
{
    return ((allocator->caps & (SHPOOL_CAP_SPILL | SHPOOL_CAP_NONE | SHPOOL_CAP_FREE)) ==
            SHPOOL_CAP_FREE) &&
           ((allocator->scope == SHPOOL_SCOPE_GROUP) || (allocator->scope == SHPOOL_SCOPE_BLOCK));
}

UNIT_TEST_WITH(test_the_file_has_what_was_done, make_path, remove_path)
{
    for (played = scenes; played < scenes + SHPOOL_ARRAY_COUNT(scenes); played++) {
        size_t tried = 0;

        if (played->allocator != NULL) {
            play_with(*state, played->allocator);
            continue;
        }
        for (size_t i = 0; i < shpool_allocator_count(); i++) {
            if (serves_groups(shpool_allocator_get(i))) {
                play_with(*state, shpool_allocator_get(i)->name);
                tried++;
            }
        }
        assert_true(tried >= 4);
    }
}

/* ---- which blocks, how many records ---- */

UNIT_TEST_WITH(test_what_has_no_room_is_counted, make_path, remove_path)
{
    static const recording recordings[] = {
        /* 64 records each, and 2 threads have 80 operations */
        { trace_pairs, ",trace_bytes=4K,trace_blocks=2", 2, 3, { 20 },
          { { "\nblock 0 launch ", 1 }, { "\nblock 1 launch ", 1 }, { "\nblock 2 launch ", 0 },
            { " records 64 dropped 16\n", 2 }, { "\nend 2\n", 1 } } },
        /* each launch and init is apart */
        { trace_pairs, "", 2, 1, { 1, 2, 3 },
          { { "\nblock 0", 3 }, { " records 4 dropped 0 grid ", 1 },
            { " records 8 dropped 0 grid ", 1 },
            { " records 12 dropped 0 grid ", 1 }, { "\nend 3\n", 1 } } },
        /* 101 and 27 records, then no room: a complete run has dropped nothing */
        { trace_pairs, ",trace_bytes=4K,trace_blocks=1", 1, 1, { 50, 13, 40 },
          { { " records 100 dropped 0 grid ", 1 }, { " records 26 dropped 0 grid ", 1 },
            { " records 0 dropped 80\nend 3\n", 1 } } },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(recordings); i++) {
        trace_record(*state, &recordings[i]);
    }
}

/* ---- any allocator, any schedule: the order is one that can have been ---- */

static void churn(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);
    uint32_t r = simt_thread_rank() * 2654435761u + t->number;
    void *held[3] = { NULL, NULL, NULL };

    for (uint32_t i = 0; i < 40; i++) {
        uint32_t slot = (r >> 28) % 3;

        r = r * 1664525u + 1013904223u;
        if (held[slot] != NULL) {
            shpool_free(heap, held[slot]);
            held[slot] = NULL;
        } else {
            held[slot] = shpool_malloc(heap, 1 + (r >> 16 & 127));
        }
    }
    shpool_fini(heap);
}

typedef struct live {
    unsigned begin;
    unsigned end;
} live;

/* No allocation overlaps a live one; there are as many lines as counted. */
static void expect_an_order(const char *text, const shpool_report_data *report)
{
    static live held[1024];
    size_t count = 0;
    unsigned long long mallocs = 0;
    unsigned long long frees = 0;
    unsigned long long failures = 0;

    for (const char *at = strchr(trace_records(text), '\n') + 1; *at != 'e';
         at = strchr(at, '\n') + 1) {
        unsigned thread, place, bytes, usable;

        if (sscanf(at, "m %u 0x%x %u %u", &thread, &place, &bytes, &usable) == 4) {
            for (size_t i = 0; i < count; i++) {
                if ((place < held[i].end) && (held[i].begin < place + usable)) {
                    fail_msg("overlap at %.30s", at);
                }
            }
            assert_true(count < SHPOOL_ARRAY_COUNT(held));
            held[count++] = (live){ place, place + usable };
            mallocs++;
        } else if (sscanf(at, "f %u 0x%x", &thread, &place) == 2) {
            size_t i = 0;

            while ((i < count) && (held[i].begin != place)) {
                i++;
            }
            if (i == count) {
                fail_msg("nothing is live there: %.30s", at);
            }
            held[i] = held[--count];
            frees++;
        } else {
            assert_int_equal(sscanf(at, "m %u - %u 0 16 0", &thread, &bytes), 2);
            mallocs++;
            failures++;
        }
    }
    assert_int_equal(mallocs, report->mallocs);
    assert_int_equal(frees, report->frees);
    assert_int_equal(failures, report->failures);
}

UNIT_TEST_WITH(test_the_order_is_one_that_can_have_been, make_path, remove_path)
{
    trace_trial *t = *state;
    shpool_config want = { .block_threads = 40, .payload_bytes = 3000 };

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if (((allocator->caps & (SHPOOL_CAP_SPILL | SHPOOL_CAP_NONE)) != 0) ||
            (allocator->scope == SHPOOL_SCOPE_CLUSTER)) {
            continue;
        }
        for (t->number = 1; t->number <= 6; t->number++) {
            shpool_report_data report;
            char *text;

            trace_open(t, allocator->name, ",trace_blocks=1", &want);
            t->launch.seed = t->number;
            t->launch.switch_period = t->number;
            trace_run(t, churn);
            assert_int_equal(shpool_simt_report(&t->pool, &report), SHPOOL_OK);
            text = trace_closed(t);
            expect_an_order(text, &report);
            free(text);
        }
    }
}

/* ---- what cannot be ---- */

UNIT_TEST_WITH(test_a_file_that_cannot_be_is_an_error_of_open, make_path, remove_path)
{
    shpool_pool pool;

    assert_int_equal(shpool_simt_open("bitmap:trace=/nowhere/at/all", &small, &pool),
                     SHPOOL_ERR_SYSTEM);
    assert_detail("trace=/nowhere/at/all");
    assert_detail("No such file");
    assert_true(is_zeroed(&pool, sizeof(pool)));
    assert_int_equal(shpool_simt_open("bitmap:trace=.", &small, &pool), SHPOOL_ERR_SYSTEM);
    assert_detail("directory");
}

UNIT_TEST_WITH(test_two_pools_do_not_share_a_file, make_path, remove_path)
{
    trace_trial *t = *state;
    char spec[256];
    shpool_pool other;

    trace_open(t, "bitmap", "", &small);
    (void)snprintf(spec, sizeof(spec), "rbtree:trace=%s", t->path);
    assert_int_equal(shpool_simt_open(spec, &small, &other), SHPOOL_ERR_SYSTEM);
    assert_detail("another open pool");
    assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
    assert_int_equal(shpool_simt_open(spec, &small, &other), SHPOOL_OK);
    assert_int_equal(shpool_simt_close(&other), SHPOOL_OK);
}

UNIT_TEST_WITH(test_a_full_disk_is_an_error_of_close, make_path, remove_path)
{
    shpool_pool pool;

    if (access("/dev/full", W_OK) != 0) {
        skip();
    }
    assert_int_equal(shpool_simt_open("bitmap:trace=/dev/full", &small, &pool), SHPOOL_OK);
    assert_int_equal(shpool_simt_close(&pool), SHPOOL_ERR_SYSTEM);
    assert_detail("No space");
    assert_true(is_zeroed(&pool, sizeof(pool)));
}

UNIT_TEST_WITH(test_bad_options, make_path, remove_path)
{
    static const char *const cases[][2] = {
        { "bitmap:trace=x,trace_bytes=1", "4K to 1G" },
        { "bitmap:trace=x,trace_bytes=many", "4K to 1G" },
        { "bitmap:trace=x,trace_blocks=0", "1 to 1024" },
        { "bitmap:trace=x,trace_blocks=1025", "1 to 1024" },
        { "bitmap:trace=x,trace_bytes=4K,trace_blocks=1000", "is too small for a record of each" },
        { "cluster_bitmap:trace=x", "scope cluster" },
        { "bitmap:trace=", "a value" },
        { "bitmap:tracer=x", "did you mean \"trace\"" },
    };
    shpool_pool pool;

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        assert_int_not_equal(shpool_simt_open(cases[i][0], &small, &pool), SHPOOL_OK);
        assert_detail(cases[i][1]);
    }
    assert_int_not_equal(access("x", F_OK), 0);
}

/* Planning makes no file, and other pools know nothing of one. */
UNIT_TEST_WITH(test_planning_makes_no_file, make_path, remove_path)
{
    trace_trial *t = *state;
    char spec[256];
    shpool_pool pool;

    (void)unlink(t->path);
    (void)snprintf(spec, sizeof(spec), "bitmap:trace=%s", t->path);
    assert_int_equal(shpool_plan(spec, &small, &pool), SHPOOL_OK);
    assert_int_not_equal(access(t->path, F_OK), 0);
    assert_true((pool.flags & SHPOOL_FLAG_TRACE) != 0);
    assert_true((pool.flags & SHPOOL_FLAG_STATS) != 0);
    assert_null(pool.trace);
    assert_int_equal(shpool_plan("bitmap:stats=1", &small, &pool), SHPOOL_OK);
    assert_true((pool.flags & SHPOOL_FLAG_TRACE) == 0);
}

