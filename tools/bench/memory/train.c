/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench memory train: what is held from the driver for made-up training loops, and for
 * caches. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "loads.h"
#include "memory.h"

#define PLACES 8192u /* a power of two, more than twice the live entries */

/* Counts requests: open addressing, in which freed entries leave their keys. */
typedef struct trainer {
    shpool_device_allocator *allocator;
    shpool_stream stream;
    struct { void *ptr; size_t bytes; } place[PLACES];
    size_t used;
    uint64_t live;
    uint64_t peak;
    uint64_t calls;
    double seconds;
} trainer;

static size_t place_of(const trainer *t, const void *ptr)
{
    size_t at = (size_t)(((uintptr_t)ptr >> 8) * 0x9e3779b97f4a7c15ull >> 40) & (PLACES - 1);

    while ((t->place[at].ptr != NULL) && (t->place[at].ptr != ptr)) {
        at = (at + 1) & (PLACES - 1);
    }
    return at;
}

/* Rebuilds the table with the live entries only. */
static void clean(trainer *t)
{
    static trainer old;

    old = *t;
    t->used = 0;
    for (size_t i = 0; i < PLACES; i++) {
        t->place[i].ptr = NULL;
    }
    for (size_t i = 0; i < PLACES; i++) {
        if ((old.place[i].ptr != NULL) && (old.place[i].bytes > 0)) {
            t->place[place_of(t, old.place[i].ptr)] = old.place[i];
            t->used++;
        }
    }
}

static int take(void *user, void **ptr_p, size_t bytes)
{
    trainer *t = user;
    double start = memory_now();
    shpool_status status = shpool_device_malloc(t->allocator, bytes, t->stream, ptr_p);
    size_t at;

    t->seconds += memory_now() - start;
    t->calls++;
    if (status != SHPOOL_OK) {
        return 0;
    }
    if (t->used > PLACES / 2) {
        clean(t);
    }
    at = place_of(t, *ptr_p);
    t->used += (t->place[at].ptr == NULL);
    t->place[at].ptr = *ptr_p;
    t->place[at].bytes = bytes;
    t->live += bytes;
    t->peak = (t->live > t->peak) ? t->live : t->peak;
    return 1;
}

static void give(void *user, void *ptr)
{
    trainer *t = user;
    size_t at = place_of(t, ptr);
    double start = memory_now();

    (void)shpool_device_free(t->allocator, ptr, t->stream);
    t->seconds += memory_now() - start;
    t->calls++;
    t->live -= t->place[at].bytes;
    t->place[at].bytes = 0;
}

static int run(memory_bench *b, const void *of)
{
    static trainer t;
    const loads_load *load = of;
    const loads_memory memory = {.take = take, .give = give, .user = &t};
    memory_row row = {.question = "train", .allocator = b->spec, .unit = "ns"};
    shpool_device_stats stats;
    char note[120];

    t = (trainer){.allocator = b->allocator, .stream = memory_stream(b, 0)};
    if ((loads_run(load, &memory, load->steps) != 0) ||
        (shpool_device_get_stats(t.allocator, &stats) != SHPOOL_OK)) {
        return memory_failed(b->spec);
    }
    row.size = t.peak;
    row.count = t.calls;
    row.median = t.seconds * 1e9 / (double)t.calls;
    row.driver_calls = (double)memory_driver_calls(t.allocator) / (double)t.calls;
    snprintf(note, sizeof(note), "%s: driver peak %llu; driver/requested %.3f", load->name,
             (unsigned long long)stats.driver_bytes_peak,
             (double)stats.driver_bytes_peak / (double)t.peak);
    row.note = (stats.driver_bytes_peak > 0) ? note : "its bytes are not counted";
    memory_print(&row);
    return 0;
}

int memory_train(const memory_options *options, const char *spec)
{
    int result = 0;

    for (size_t i = 0; i < LOADS_COUNT; i++) {
        result |= memory_run(options, spec, 1, run, &loads[i]);
    }
    return result;
}
