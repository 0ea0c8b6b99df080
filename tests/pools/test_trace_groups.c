/* SPDX-License-Identifier: BSD-3-Clause */
/* trace=FILE and requests of groups: one record each, with the first thread and the members. */
#include "trace_trial.h"

#define BLOCK 72u /* the third warp has 8 threads */

/* one pool, also of scope group */
static const shpool_config want = { .block_threads = BLOCK, .payload_bytes = 16384,
                                    .threads_per_pool = BLOCK };

/* ---- operations and their lines; `who` as the file has it ---- */

static int leads(uint32_t lanes)
{
    return simt_lane() == shpool_first_lane(lanes);
}

static void log_gift(trace_trial *t, shpool_heap heap, const char *who, const void *ptr,
                     size_t bytes, uint32_t site)
{
    if (ptr == NULL) {
        LOG(t, "m %s - %zu 0 16 %u\n", who, bytes, site);
    } else {
        LOG(t, "m %s 0x%x %zu %zu 16 %u\n", who, place_of(t, ptr), bytes,
            shpool_usable_size(heap, ptr), site);
    }
}

static void *malloc_lanes(trace_trial *t, shpool_heap heap, uint32_t lanes, const char *who,
                          size_t bytes, uint32_t site)
{
    void *ptr = shpool_malloc_lanes_at(heap, lanes, bytes, site);

    if (leads(lanes)) {
        log_gift(t, heap, who, ptr, bytes, site);
    }
    return ptr;
}

static void free_lanes(trace_trial *t, shpool_heap heap, uint32_t lanes, const char *who, void *ptr,
                       uint32_t site)
{
    unsigned place = place_of(t, ptr);

    if (shpool_free_lanes_at(heap, lanes, ptr, site) != SHPOOL_FREE_OK) {
        LOG(t, "%s: a free of 0x%x was refused\n", who, place);
    }
    if (leads(lanes)) {
        LOG(t, "f %s 0x%x 0 %u\n", who, place, site);
    }
}

/* In place, or a malloc and a free. */
static void *realloc_lanes(trace_trial *t, shpool_heap heap, uint32_t lanes, const char *who,
                           void *ptr, size_t bytes)
{
    void *now = shpool_realloc_lanes(heap, lanes, ptr, bytes);

    if (!leads(lanes)) {
        return now;
    }
    if (now == ptr) {
        LOG(t, "r %s 0x%x %zu %zu\n", who, place_of(t, now), bytes, shpool_usable_size(heap, now));
    } else {
        log_gift(t, heap, who, now, bytes, 0);
        LOG(t, "f %s 0x%x 0 0\n", who, place_of(t, ptr));
    }
    return now;
}

/* ---- one record each ---- */

/* A warp, a tile of 8 lanes, two lanes apart, a warp of 8 threads, one lane, the block. */
static void groups(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);
    const uint32_t warp = simt_warp();
    const uint32_t lane = simt_lane();
    void *ptr;

    if (warp == 0) {
        free_lanes(t, heap, ~0u, "0+31", malloc_lanes(t, heap, ~0u, "0+31", 200, 7), 9);
    }
    simt_barrier();
    if ((warp == 1) && (lane / 8 == 1)) {
        ptr = malloc_lanes(t, heap, 0xff00u, "40+7", 64, 0);
        ptr = realloc_lanes(t, heap, 0xff00u, "40+7", ptr, 16);
        ptr = realloc_lanes(t, heap, 0xff00u, "40+7", ptr, 60);
        (void)malloc_lanes(t, heap, 0xff00u, "40+7", 32, 0); /* in the way */
        ptr = realloc_lanes(t, heap, 0xff00u, "40+7", ptr, 1000);
        free_lanes(t, heap, 0xff00u, "40+7", ptr, 0);
    }
    simt_barrier();
    if ((warp == 1) && ((lane == 3) || (lane == 30))) {
        (void)malloc_lanes(t, heap, 0x40000008u, "35+1", 48, 0);
    }
    simt_barrier();
    if (warp == 2) {
        free_lanes(t, heap, 0xffu, "64+7", malloc_lanes(t, heap, 0xffu, "64+7", 80, 0), 0);
    }
    simt_barrier();
    if (simt_thread_rank() == 33) {
        (void)malloc_lanes(t, heap, 2u, "33", 100, 0);
    }
    simt_barrier();
    shpool_fini(heap);
}

static void expect_log(trace_trial *t, const char *allocator)
{
    char *text;

    assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
    text = trace_text(t->path);
    LOG(t, "end 1\n");
    if (strcmp(strchr(trace_records(text), '\n') + 1, t->log) != 0) {
        fail_msg("%s: %s\nexpected:\n%s", allocator, trace_records(text), t->log);
    }
    free(text);
}

/* With any allocator: those that search with all lanes, and those whose first lane asks. */
static void test_a_group_has_one_record(void **state)
{
    trace_trial *t = *state;
    size_t tried = 0;

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if (((allocator->caps & (SHPOOL_CAP_SPILL | SHPOOL_CAP_NONE)) != 0) ||
            ((allocator->caps & SHPOOL_CAP_FREE) == 0) ||
            (allocator->scope < SHPOOL_SCOPE_GROUP) || (allocator->scope == SHPOOL_SCOPE_CLUSTER)) {
            continue;
        }
        for (uint32_t check = 0; check < 2; check++) {
            trace_open(t, allocator->name, check ? ",check=1" : "", &want);
            trace_run(t, groups);
            expect_log(t, allocator->name);
        }
        tried++;
    }
    assert_true(tried >= 4);
}

/* ---- the block ---- */

static void block(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);
    void *ptr = shpool_malloc_block(heap, 3000);
    void *other;

    if (simt_thread_rank() == 0) {
        log_gift(t, heap, "0+71", ptr, 3000, 0);
    }
    shpool_free_block(heap, ptr);
    simt_barrier();
    other = shpool_malloc_block(heap, 500);
    if (simt_thread_rank() == 0) {
        LOG(t, "f 0+71 0x%x 0 0\n", place_of(t, ptr));
        log_gift(t, heap, "0+71", other, 500, 0);
    }
    simt_barrier();
    (void)shpool_malloc_wait_block(heap, t->pool.largest, 2);
    if (simt_thread_rank() == 0) {
        for (uint32_t i = 0; i < 2; i++) {
            LOG(t, "w 0+71 - %u 0 16 0\n", t->pool.largest);
        }
    }
    simt_barrier();
    if (simt_warp() == 1) { /* a warp may free it */
        free_lanes(t, heap, ~0u, "32+31", other, 0);
    }
    shpool_fini(heap);
}

static void test_a_block_has_one_record(void **state)
{
    trace_trial *t = *state;

    trace_open(t, "bitmap", "", &want);
    trace_run(t, block);
    expect_log(t, "bitmap");
    trace_open(t, "freelist", "", &want);
    trace_run(t, block);
    expect_log(t, "freelist");
}

/* A block of one thread is no group; the largest has 1023 more. */
static void block_alone(void *arg)
{
    shpool_heap heap = trace_init(arg);

    (void)shpool_malloc_block(heap, 100);
    shpool_fini(heap);
}

static void test_the_least_and_the_most_members(void **state)
{
    static const struct {
        uint32_t threads;
        const char *line;
    } rows[] = {
        { 1, "\nm 0 0x" }, { 2, "\nm 0+1 0x" }, { 33, "\nm 0+32 0x" }, { 1024, "\nm 0+1023 0x" },
    };
    trace_trial *t = *state;

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        const shpool_config config = { .block_threads = rows[i].threads, .payload_bytes = 2048 };
        char *text;

        trace_open(t, "bitmap", "", &config);
        trace_run(t, block_alone);
        assert_int_equal(shpool_simt_close(&t->pool), SHPOOL_OK);
        text = trace_text(t->path);
        assert_non_null(strstr(text, " records 1 dropped 0\n"));
        assert_non_null(strstr(text, rows[i].line));
        free(text);
    }
}

/* ---- waiting, spilling ---- */

static void wait(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);

    if ((simt_warp() == 0) && (simt_lane() >= 24)) {
        const uint32_t bytes = t->pool.largest;

        (void)malloc_lanes(t, heap, 0xff000000u, "24+7", 16, 0); /* in the way */
        if (shpool_malloc_wait_lanes(heap, 0xff000000u, bytes, 3) != NULL) {
            LOG(t, "%u bytes beside 16\n", bytes);
        }
        for (uint32_t i = 0; (i < 3) && leads(0xff000000u); i++) {
            LOG(t, "w 24+7 - %u 0 16 0\n", bytes);
        }
    }
    shpool_fini(heap);
}

static void spill(void *arg)
{
    trace_trial *t = arg;
    shpool_heap heap = trace_init(t);

    if (simt_warp() == 1) {
        void *ptr = shpool_malloc_warp(heap, 30000);

        if (simt_lane() == 0) {
            LOG(t, "m 32+31 g0x%llx 30000 %zu 16 0\n", (unsigned long long)(size_t)ptr,
                shpool_usable_size(heap, ptr));
            LOG(t, "f 32+31 g0x%llx 0 0\n", (unsigned long long)(size_t)ptr);
        }
        simt_warp_sync(shpool_warp_lanes());
        shpool_free_warp(heap, ptr);
    }
    shpool_fini(heap);
}

static void test_waits_and_spills_of_groups(void **state)
{
    static const char *const specs[][2] = {
        { "bitmap", ",spill=native" }, { "freelist", ",spill=arena" }, { "native", "" } };
    trace_trial *t = *state;

    trace_open(t, "bitmap", "", &want);
    trace_run(t, wait);
    expect_log(t, "bitmap");
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(specs); i++) {
        trace_open(t, specs[i][0], specs[i][1], &want);
        trace_run(t, spill);
        expect_log(t, specs[i][0]);
    }
}

#define TRIAL(_test) cmocka_unit_test_setup_teardown(_test, make_path, remove_path)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TRIAL(test_a_group_has_one_record),
        TRIAL(test_a_block_has_one_record),
        TRIAL(test_the_least_and_the_most_members),
        TRIAL(test_waits_and_spills_of_groups),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests_name("trace: groups", tests, NULL, NULL);
}
