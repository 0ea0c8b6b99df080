/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench replay: its ranking, printed. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay_table.h"

static double cycles_of(const replay_row *r)
{
    return (r->gpu.ops != 0) ? (double)r->gpu.cycles / (double)r->gpu.ops : 0.0;
}

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

/* Whether no figure shows which one is faster: neither cycles nor the number of blocks. */
static int is_equal(const replay_row *x, const replay_row *y)
{
    return (x->gpu.ops == 0) && (y->gpu.ops == 0) && (x->missing == y->missing) &&
           (x->need.possible == y->need.possible) &&
           ((x->need.bytes == 0) == (y->need.bytes == 0)) && (x->blocks == y->blocks) &&
           (x->tally.failures == y->tally.failures);
}

/* Without a GPU: more blocks first, then fewer failures.  With a GPU: fewer cycles, among those
 * that did not fail. */
static int by_speed(const replay_row *x, const replay_row *y)
{
    int order = 0;

    if ((cycles_of(x) != 0.0) && (cycles_of(y) != 0.0)) {
        order = ((x->gpu.failures != 0) - (y->gpu.failures != 0)) * 2 +
                compare(cycles_of(x), cycles_of(y));
    } else if ((x->gpu.ops == 0) && (y->gpu.ops == 0) && (x->need.bytes != 0) &&
               (y->need.bytes != 0)) {
        order = compare(y->blocks, x->blocks) * 2 +
                (x->tally.failures > y->tally.failures) - (x->tally.failures < y->tally.failures);
    }
    return order;
}

/* Unsupported geometries last, before them those that never suffice; the rest as the usage says. */
static int by_rank(const void *a, const void *b)
{
    const replay_row *x = a;
    const replay_row *y = b;
    int order = (x->missing - y->missing) * 4 + (y->need.possible - x->need.possible) * 2;

    if (order == 0) {
        order = by_speed(x, y);
    }
    if (order == 0) {
        order = ((x->need.bytes == 0) - (y->need.bytes == 0)) * 2 +
                compare(x->need.bytes, y->need.bytes);
    }
    return (order != 0) ? order : strcmp(x->allocator, y->allocator);
}

static void cell(int known, const char *format, double value)
{
    char text[32];

    snprintf(text, sizeof(text), known ? format : "-", value);
    printf(" %9s", text);
}

/* Text after the figures. */
static void print_remark(const replay_options *o, const replay_row *r)
{
    if (r->note[0] != '\0') {
        printf("  %s", r->note);
    } else if (!r->need.possible) {
        printf("  fails with all the memory that a block can have");
    } else if (r->tally.failures == ~0ull) {
        printf("  no such pool: %u bytes are too few", o->bytes);
    } else if (r->need.bytes == 0) {
        printf("  all of it is in global memory");
    }
    putchar('\n');
}

static void print_row(const replay_options *o, uint32_t rank, const replay_row *r)
{
    if (r->missing) {
        printf("%4s %-18s %7u %6u  n/a: %s\n", "-", r->allocator, r->threads_per_pool, r->pools,
               r->note);
        return;
    }
    printf("%4u %-18s %7u %6u", rank, r->allocator, r->threads_per_pool, r->pools);
    cell(r->tally.failures != ~0ull, "%.0f", (double)r->tally.failures);
    cell(r->need.possible, "%.0f", r->need.bytes);
    cell(r->blocks != 0, "%.0f", r->blocks);
    if (o->cuda) {
        cell(r->gpu.ops != 0, "%.0f", cycles_of(r));
        cell(r->gpu.failures != ~0ull, "%.0f", (double)r->gpu.failures);
        cell(r->gpu_least.failures != ~0ull, "%.0f", (double)r->gpu_least.failures);
    }
    print_remark(o, r);
}

/* Note about the limits of a table without cycles. */
static void print_unmeasured(const replay_table *t)
{
    uint32_t equal = 1;

    while ((equal < t->count) && (t->rows[equal].blocks == t->rows[0].blocks)) {
        equal++;
    }
    printf("speed is not known without a GPU");
    if ((equal > 1) && (t->rows[0].blocks != 0)) {
        printf(": the first %u rows are equal in blocks/SM, those of one rank in failures, too",
               equal);
    }
    putchar('\n');
}

void replay_table_print(const replay_options *o, replay_table *t)
{
    const replay_row *best = NULL;
    uint32_t rank = 0;

    qsort(t->rows, t->count, sizeof(*t->rows), by_rank);
    printf("%4s %-18s %7s %6s %9s %9s %9s", "rank", "allocator", "thr/pool", "pools", "failed",
           "needs", "blocks/SM");
    printf(o->cuda ? " %9s %9s %9s\n" : "\n", "cycles", "fails GPU", "at needs");
    for (uint32_t i = 0; i < t->count; i++) {
        const replay_row *r = &t->rows[i];

        rank = ((i > 0) && is_equal(r - 1, r)) ? rank : i + 1;
        print_row(o, rank, r);
        if (!r->missing && (r->spec[0] != '\0') &&
            ((best == NULL) || (r->need.bytes < best->need.bytes))) {
            best = r;
        }
    }
    if (!o->cuda) {
        print_unmeasured(t);
    }
    if (best != NULL) {
        printf("fewest bytes%s: SHPOOL_ALLOCATOR=%s\n", o->cuda ? "" : ", speed not measured",
               best->spec);
    }
}
