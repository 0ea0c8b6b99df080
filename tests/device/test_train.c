/* SPDX-License-Identifier: BSD-3-Clause */
/* Synthetic training loops and caches: how much more than the requested memory is reserved, and
 * until when the driver is called. */
#include "scene.h"

#include "tools/bench/memory/loads.h"

/* If the GPU lags, it lags by this number of requests, about a step of the loops. */
#define BEHIND 1000u

static struct {
    uint64_t live;
    uint64_t peak;
    unsigned requests;
    unsigned latest;   /* request that needed the driver */
    unsigned long calls;
    unsigned scale;    /* sixteenths of the load's sizes that are requested */
    void *small;       /* memory for the work that keeps the GPU busy; NULL: never busy */
    struct { void *ptr; size_t bytes; } place[4096]; /* few enough to be searched */
} asked;

/* Calls of the driver for memory. */
static unsigned long memory_calls(void)
{
    return fake_calls(FAKE_CALL_memory_alloc) + fake_calls(FAKE_CALL_granule_create) +
           fake_calls(FAKE_CALL_granule_map) + fake_calls(FAKE_CALL_granule_unmap);
}

static void be_busy(void)
{
    if (asked.small != NULL) {
        fake_work(NULL, asked.small, 256);
    }
}

static int take(void *user, void **ptr_p, size_t bytes)
{
    size_t at = 0;

    (void)user;
    bytes = (bytes * asked.scale + 15) / 16;
    if (shpool_device_malloc(allocator, bytes, NULL, ptr_p) != SHPOOL_OK) {
        return 0;
    }
    while (asked.place[at].ptr != NULL) {
        at++;
    }
    assert_true(at + 1 < SHPOOL_ARRAY_COUNT(asked.place));
    asked.place[at].ptr = *ptr_p;
    asked.place[at].bytes = bytes;
    asked.live += bytes;
    asked.peak = (asked.live > asked.peak) ? asked.live : asked.peak;
    asked.requests++;
    if (memory_calls() != asked.calls) {
        asked.calls = memory_calls();
        asked.latest = asked.requests;
    }
    be_busy();
    return 1;
}

static void give(void *user, void *ptr)
{
    size_t at = 0;

    (void)user;
    while (asked.place[at].ptr != ptr) {
        at++;
    }
    asked.live -= asked.place[at].bytes;
    asked.place[at].ptr = NULL;
    put(allocator, ptr, NULL);
}

/* Reserved by requested bytes, at the peaks of each, per thousand; the device is large enough.
 * steps: 0: the load's. */
static unsigned permille_of(const char *spec, unsigned load, unsigned steps, int behind,
                            unsigned scale)
{
    const loads_memory memory = { .take = take, .give = give };
    unsigned result;
    void *small;

    memset(&asked, 0, sizeof(asked));
    asked.scale = scale;
    fake_start(1, (uint64_t)((scale > 16) ? 5 * scale : 80) << 30);
    fake_set_current(0);
    open_allocator(spec, 0, &allocator);
    small = get(allocator, 256, NULL);
    asked.small = behind ? small : NULL;
    fake_lag(behind ? BEHIND : 0);
    assert_int_equal(0, loads_run(&loads[load], &memory, (steps > 0) ? steps : loads[load].steps));
    put(allocator, small, NULL);
    assert_int_equal(0, live_bytes(allocator));
    result = (unsigned)(1000 * stats_of(allocator).driver_bytes_peak / asked.peak);
    end();
    return result;
}

static unsigned permille(const char *spec, unsigned load, unsigned steps, int behind)
{
    return permille_of(spec, load, steps, behind, 16);
}

/* Pieces of two slabs cannot be merged: with small ones, as PyTorch has, it is a fifth more. */
UNIT_TEST(test_large_slabs_hold_little_more_than_is_asked_for)
{
    unsigned small;
    unsigned large;

    large = permille("bins:memory=driver", 1, 0, 0);
    small = permille("bins:memory=driver,slab=20M", 1, 0, 0);
    assert_true(large <= 1100);
    assert_true(large < small);
}

/* However sizes vary, and also where the host is far ahead of the GPU. */
UNIT_TEST(test_virtual_memory_holds_what_is_live)
{
    /* in thousandths: reserved bytes; the latest request that needs the driver; its calls.  The
     * fourth and the last load never repeat their sizes, and the sixth repeats them after 13 steps
     * of 40, but its pages double until the third round. */
    static const struct { unsigned most; unsigned latest; unsigned calls; } bound[LOADS_COUNT] = {
        { 1050, 190, 135 }, { 1050, 130, 40 }, { 1030, 130, 65 }, { 1050, 750, 60 },
        { 1050, 150, 65 }, { 1050, 950, 80 }, { 1050, 600, 65 },
    };

    for (unsigned i = 0; i < LOADS_COUNT; i++) {
        for (int behind = 0; behind < 2; behind++) {
            const unsigned held = permille("bins:memory=vmm,wait=1000000", i, 0, behind);
            const unsigned found[] = {
                held,
                (unsigned)(1000ull * asked.latest / asked.requests),
                (unsigned)(1000ull * asked.calls / asked.requests),
            };

            if ((found[0] > bound[i].most) || (found[1] > bound[i].latest) ||
                (found[2] > bound[i].calls)) {
                fail_msg("%s, behind %d: reserved bytes %u of %u, latest request %u of %u, calls "
                         "%u of %u", loads[i].name, behind, found[0], bound[i].most, found[1],
                         bound[i].latest, found[2], bound[i].calls);
            }
        }
    }
}

/* And however large the program is.  What is idle is a part of it, or a number of pages: in small
 * programs the pages are a larger part, and in all it depends on how their sizes fit into pages. */
UNIT_TEST(test_virtual_memory_holds_what_is_live_at_any_scale)
{
    static const struct { unsigned scale; unsigned most[LOADS_COUNT]; } row[] = {
        { 1, { 1050, 1050, 1050, 1200, 1200, 1300, 1700 } },
        { 3, { 1050, 1050, 1050, 1420, 1090, 1090, 1140 } },
        { 4, { 1050, 1050, 1050, 1150, 1080, 1060, 1115 } },
        { 14, { 1050, 1050, 1050, 1050, 1055, 1050, 1075 } },
        { 24, { 1050, 1050, 1050, 1050, 1055, 1050, 1060 } },
        { 64, { 1050, 1050, 1050, 1050, 1050, 1050, 1050 } },
    };

    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(row); i++) {
        for (unsigned j = 0; j < 2 * LOADS_COUNT; j++) {
            unsigned held = permille_of("bins:memory=vmm,wait=1000000", j / 2, 0, (int)(j % 2),
                                        row[i].scale);

            if (held > row[i].most[j / 2]) {
                fail_msg("%s, behind %u, sizes times %u/16: reserved bytes %u of %u",
                         loads[j / 2].name, j % 2, row[i].scale, held, row[i].most[j / 2]);
            }
        }
    }
}

/* However long it runs, a program that repeats its requests calls the driver at its beginning only,
 * and reserves no more than then. */
UNIT_TEST(test_a_program_that_repeats_needs_no_driver)
{
    static const struct { unsigned load; unsigned steps; unsigned step; } longer[] = {
        { 4, 1000, 5 }, { 5, 130, 39 },
    };

    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(longer); i++) {
        for (int behind = 0; behind < 2; behind++) {
            unsigned load = longer[i].load;

            assert_in_range(permille("bins:memory=vmm,wait=0", load, longer[i].steps, behind), 1000,
                            1050);
            if ((uint64_t)asked.latest * longer[i].steps > (uint64_t)asked.requests *
                                                           longer[i].step) {
                fail_msg("%s, behind %d: the driver is called at request %u of %u",
                         loads[load].name, behind, asked.latest, asked.requests);
            }
        }
    }
}

/* A first request that is most of the program counts as its peak. */
UNIT_TEST(test_a_large_first_request_has_large_pages)
{
    void *ptr;

    fake_start(1, (uint64_t)80 << 30);
    fake_set_current(0);
    open_allocator("bins:memory=vmm", 0, &allocator);
    ptr = get(allocator, (size_t)10 << 30, NULL);
    assert_int_equal(160, fake_calls(FAKE_CALL_granule_create)); /* 64 MiB each */
    put(allocator, ptr, NULL);
    end();
}
