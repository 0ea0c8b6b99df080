/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench block: the host's part of the workload objects: sizes, and the baseline's slots. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/internal.h"
#include "block.h"
#include "workload.h"

#define LARGEST_OF_MEDIAN 6u /* the largest request, in medians */

static const char *const scope_summaries[] = {
#define BENCH_SUMMARY(_name, _threads, _summary) _summary,
    BENCH_SCOPES(BENCH_SUMMARY)
#undef BENCH_SUMMARY
};

void bench_scopes(FILE *to)
{
    size_t i;

    fputs("scopes of objects, which thread or threads request one together:\n", to);
    for (i = 0; i < BENCH_SCOPE_COUNT; i++) {
        fprintf(to, "  %-8s %s\n", bench_scope_names[i], scope_summaries[i]);
    }
}

/* ---- the baseline ---- */

int bench_is_own_slot(const char *spec)
{
    return (spec != NULL) && (strcmp(spec, BENCH_OWN_SLOT) == 0);
}

shpool_status bench_own_slot_plan(const bench_point *point, shpool_pool *pool)
{
    const uint32_t bytes = (point->payload_bytes != 0) ? point->payload_bytes : point->total_bytes;

    memset(pool, 0, sizeof(*pool));
    snprintf(pool->name, sizeof(pool->name), "%s", BENCH_OWN_SLOT);
    pool->shared_bytes     = bytes;
    pool->block_threads    = point->threads;
    pool->threads_per_pool = bench_unit_threads(point->scope, point->threads);
    pool->pools            = bench_units(point->scope, point->threads);
    pool->alignment        = SHPOOL_MIN_ALIGNMENT;
    pool->largest          = bytes / pool->pools & ~(SHPOOL_MIN_ALIGNMENT - 1u);
    pool->scope            = SHPOOL_SCOPE_BLOCK;
    return SHPOOL_OK;
}

/* ---- rows that cannot exist ---- */

const char *bench_objects_missing(const bench_point *point, const shpool_pool *pool)
{
    const uint32_t          unit = bench_unit_threads(point->scope, point->threads);
    const shpool_allocator *allocator;

    if (bench_is_own_slot(point->spec)) {
        return NULL;
    }
    if (shpool_allocator_find(pool->name, &allocator) != SHPOOL_OK) {
        return shpool_last_error();
    }
    if ((allocator->caps & SHPOOL_CAP_NONE) != 0) {
        return "refuses every request, and objects repeats refused ones";
    }
    if (((allocator->caps & SHPOOL_CAP_FREE) == 0) && (pool->threads_per_pool > unit)) {
        return "a stack that several units share: memory comes back in stack order";
    }
    if ((point->scope == BENCH_SCOPE_block) &&
        (pool->shared_bytes > SHPOOL_MAX_SHARED - BENCH_BLOCK_BYTES)) {
        return "no room for the 8 bytes that shpool_malloc_block() has beside the pool";
    }
    return NULL;
}

/* ---- sizes ---- */

/* Nearly normal, and the same on every machine: a sum of 12 uniform numbers. */
static double normal(uint32_t *state)
{
    double sum = -6.0;
    int    i;

    for (i = 0; i < 12; i++) {
        *state = bench_next(*state);
        sum += (double)(*state >> 8) / 16777216.0;
    }
    return sum;
}

/* BENCH_SIZES requests, from 16 to `largest` bytes. */
static void draw_sizes(uint32_t *sizes, uint32_t median, double sigma, uint32_t largest,
                       uint32_t seed)
{
    uint32_t state = seed * 2246822519u + 12345u;
    size_t   i;

    for (i = 0; i < BENCH_SIZES; i++) {
        double bytes = (double)median * exp(sigma * normal(&state));

        bytes    = fmin(fmax(bytes, (double)BENCH_LEAST_OBJECT), (double)largest);
        sizes[i] = (uint32_t)bytes & ~3u; /* whole words */
    }
}

void bench_row_sizes(bench_row *row, const bench_options *options, const bench_point *point,
                     const shpool_pool *pool, uint32_t *sizes)
{
    const uint32_t most    = LARGEST_OF_MEDIAN * point->median;
    const int      anysize = ((pool->flags & SHPOOL_FLAG_SPILL) != 0) ||
                             bench_is_own_slot(point->spec);
    const uint32_t bytes   = anysize ? pool->shared_bytes : pool->largest;
    const uint32_t largest = ((bytes != 0) && (bytes < most)) ? bytes : most;

    if (point->workload == BENCH_aging) {
        draw_sizes(sizes, BENCH_AGING_MEDIAN, BENCH_AGING_SIGMA,
                   (bytes < BENCH_AGING_LARGEST) ? bytes : BENCH_AGING_LARGEST,
                   options->seed);
    }
    if (point->workload != BENCH_objects) {
        return;
    }
    if (largest < most) {
        snprintf(row->note, sizeof(row->note), "requests of at most %u bytes: what a pool holds",
                 (unsigned)largest);
    }
    draw_sizes(sizes, point->median, options->sigma,
               (largest < BENCH_LEAST_OBJECT) ? BENCH_LEAST_OBJECT : largest,
               options->seed);
}
