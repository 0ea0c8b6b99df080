/* SPDX-License-Identifier: BSD-3-Clause */
/* The picture: x is the order of the operations, y the address, a rectangle an allocation. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "heap_map.h"

#define WIDTH     1200.0 /* of the drawing, in pixels */
#define HEIGHT    480.0
#define LEFT      80.0
#define TOP       64.0
#define BELOW     (TOP + HEIGHT) /* of what is drawn: the axis, the legend, failures in words */
#define AXIS      (BELOW + 16.0)
#define LEGEND    (BELOW + 36.0)
#define WORDS     (BELOW + 60.0)
#define LINE      16.0           /* of words */
#define MOST_RECTANGLES 20000u /* with more, allocations narrower than a pixel are merged */
#define MOST_LABELS     12u
#define COLUMNS   1200u
#define ROWS      480u
#define SIZES     32u   /* groups with HEAP_MAP_SIZE: powers of two */
#define MOST_ENTRIES 8u /* of the legend */
#define ENTRY_WIDTH  140.0 /* room for "512 to 1023 bytes: 99%", in pixels */
#define WHO_WIDTH    165.0 /* for "lanes 16-23 of warp 31: 99%" */
#define KINDS     33u   /* kinds of requesters: a thread, 2 to 32 lanes, the block */
#define BOX       10.0

typedef struct map {
    FILE *to;
    const trace_file *trace;
    const trace_life *life;
    heap_map_options options;
    uint32_t bytes;       /* of all pools */
    unsigned char *busy;  /* COLUMNS * ROWS: cells of merged allocations, or NULL */
    double *held;         /* of each colour: bytes times operations */
    uint32_t groups;      /* of held */
} map;

/* ---- colours ---- */

/* Group of operations with a common colour: by the leading power of two of the size, or by
 * requester.  Threads are numbered by their ranks, followed by pairs of lanes by the first one's
 * rank, and so on. */
static uint32_t group_of(const map *m, const trace_op *op)
{
    const uint32_t kind = ((op->members < KINDS) ? op->members : KINDS) - 1;

    return (m->options.color == HEAP_MAP_SIZE) ? 31u - (uint32_t)__builtin_clz(op->bytes | 1u)
                                               : kind * m->trace->block_threads + op->thread;
}

static const char *who_of(const map *m, const trace_op *op, char text[TRACE_WHO_BYTES])
{
    return trace_who(op->thread, op->members, m->trace->block_threads, text);
}

/* One of the three colours of a hue in degrees, at medium brightness. */
static uint32_t channel(uint32_t hue, uint32_t shift)
{
    const uint32_t at = (hue + shift) % 360u;
    const uint32_t far = (at < 180u) ? at : 360u - at; /* from where this colour is brightest */
    const uint32_t part = (far <= 60u) ? 60u : (far < 120u) ? 120u - far : 0;

    return 80u + part * 145u / 60u;
}

/* Neighbours in number are far apart in hue: steps of the golden angle. */
uint32_t heap_map_rgb(heap_map_color color, uint32_t group)
{
    uint32_t hue = (uint32_t)(group * 137.508) % 360u;

    if (color == HEAP_MAP_SIZE) { /* blue is small, red large */
        hue = 240u - 15u * group % 241u;
    }
    return channel(hue, 0) << 16 | channel(hue, 240) << 8 | channel(hue, 120);
}

/* ---- places ---- */

static double x_of(const map *m, uint32_t at)
{
    at = (at < m->options.from) ? m->options.from : (at > m->options.to) ? m->options.to : at;
    return LEFT + WIDTH * (at - m->options.from) / (m->options.to - m->options.from);
}

/* The first pool's begin is below. */
static double y_of(const map *m, double byte)
{
    return BELOW - HEIGHT * byte / m->bytes;
}

static uint32_t extent_of(const trace_op *op)
{
    return (op->usable > op->bytes) ? op->usable : (op->bytes != 0) ? op->bytes : 1;
}

/* An allocation of the pools; all or part of its lifetime is drawn. */
static int is_drawn(const map *m, const trace_op *op)
{
    return (op->kind == TRACE_MALLOC) && !op->global && (op->end != TRACE_NONE) &&
           (op->object < m->options.to) && (op->end > m->options.from) && (m->bytes != 0);
}

/* For text between tags and in attributes. */
static void put_text(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", to);
            break;
        case '<':
            fputs("&lt;", to);
            break;
        case '>':
            fputs("&gt;", to);
            break;
        case '"':
            fputs("&quot;", to);
            break;
        default:
            fputc(((unsigned char)*text < ' ') ? ' ' : *text, to);
            break;
        }
    }
}

/* For the legend: bytes, and for how many drawn operations they were live. */
static void count_held(map *m, const trace_op *op, uint32_t from, uint32_t to, uint32_t bytes)
{
    from = (from > m->options.from) ? from : m->options.from;
    to = (to < m->options.to) ? to : m->options.to;
    if (to > from) {
        m->held[group_of(m, op)] += (double)(to - from) * bytes;
    }
}

/* One rectangle of an allocation: its bytes from one operation to another. */
static void put_piece(map *m, const trace_op *op, uint32_t from, uint32_t to, uint32_t bytes)
{
    const double left = x_of(m, from);
    const double right = x_of(m, to);
    const uint32_t group = group_of(m, op);
    char who[TRACE_WHO_BYTES];

    count_held(m, op, from, to, bytes);
    if ((right <= left) || (op->place >= m->bytes)) {
        return;
    }
    fprintf(m->to, "<rect class=\"a\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
            "fill=\"#%06x\"><title>%s: %u bytes (%u usable) at 0x%llx, "
            "operations %u to %u%s</title></rect>\n", left,
            y_of(m, (double)op->place + bytes), right - left, HEIGHT * bytes / m->bytes,
            heap_map_rgb(m->options.color, group), who_of(m, op, who), op->bytes, op->usable,
            op->place, op->object, op->end, (op->end == m->life->count) ? " (never freed)" : "");
}

/* Mark the cells that a short life has been in. */
static void put_busy(map *m, const trace_op *op)
{
    const uint32_t span = m->options.to - m->options.from;
    const uint32_t at = (op->object > m->options.from) ? op->object - m->options.from : 0;
    uint32_t column = (uint32_t)((uint64_t)at * COLUMNS / span);
    uint32_t row = (uint32_t)(op->place * ROWS / m->bytes);
    uint32_t last = (uint32_t)((op->place + extent_of(op) - 1) * ROWS / m->bytes);

    column = (column < COLUMNS) ? column : COLUMNS - 1;
    for (; (row <= last) && (row < ROWS); row++) {
        m->busy[column * ROWS + row] = 1;
    }
}

/* The cells, one rectangle for each run in a column. */
static void put_cells(map *m)
{
    for (uint32_t column = 0; column < COLUMNS; column++) {
        const unsigned char *cells = m->busy + (size_t)column * ROWS;

        for (uint32_t row = 0; row < ROWS; row++) {
            uint32_t end = row;

            while ((end < ROWS) && cells[end]) {
                end++;
            }
            if (end > row) {
                fprintf(m->to, "<rect class=\"m\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                        "height=\"%.2f\"/>\n", LEFT + WIDTH * column / COLUMNS,
                        BELOW - HEIGHT * end / ROWS, WIDTH / COLUMNS,
                        HEIGHT * (end - row) / ROWS);
                row = end;
            }
        }
    }
}

/* An allocation that was resized in place is several rectangles side by side. */
static int put_allocations(map *m, uint32_t *merged)
{
    const trace_life *life = m->life;
    const uint32_t pixel = (m->options.to - m->options.from) / COLUMNS;
    uint32_t *bytes = calloc(life->count + 1u, sizeof(*bytes));
    uint32_t *since = calloc(life->count + 1u, sizeof(*since));

    if ((bytes == NULL) || (since == NULL)) {
        free(bytes);
        free(since);
        return -1;
    }
    for (uint32_t i = 0; i < life->count; i++) {
        const trace_op *op = &life->ops[i];
        const trace_op *object = &life->ops[op->object];

        if (op->kind == TRACE_MALLOC) {
            bytes[i] = extent_of(op);
            since[i] = i;
        } else if ((op->kind == TRACE_RESIZE) && is_drawn(m, object)) {
            put_piece(m, object, since[op->object], i, bytes[op->object]);
            bytes[op->object] = extent_of(op);
            since[op->object] = i;
        }
    }
    for (uint32_t i = 0; i < life->count; i++) {
        const trace_op *op = &life->ops[i];

        if (!is_drawn(m, op)) {
            continue;
        }
        if ((m->busy != NULL) && (op->end - op->object <= pixel)) {
            put_busy(m, op);
            count_held(m, op, since[i], op->end, bytes[i]);
            (*merged)++;
        } else {
            put_piece(m, op, since[i], op->end, bytes[i]);
        }
    }
    if (m->busy != NULL) {
        put_cells(m);
    }
    free(bytes);
    free(since);
    return 0;
}

/* ---- failures ---- */

static void put_allocation(FILE *to, const map *m, const trace_op *op)
{
    char who[TRACE_WHO_BYTES];

    if (op->members == 1) {
        fprintf(to, "thread %u's %u bytes at 0x%llx", op->thread, op->bytes, op->place);
    } else {
        fprintf(to, "%u bytes of %s at 0x%llx", op->bytes, who_of(m, op, who), op->place);
    }
}

/* The end of a hole: an allocation, or else an edge of the pool. */
static void put_neighbour(FILE *to, const map *m, uint32_t at, const char *edge)
{
    if (at == TRACE_NONE) {
        fputs(edge, to);
    } else {
        put_allocation(to, m, &m->life->ops[at]);
    }
}

/* In one line of the picture.  Neighbours of a hole that was allocated meanwhile are left out. */
static void put_why(map *m, const heap_map_fault *f)
{
    const trace_op *op = &m->life->ops[f->at];
    const int has_head = f->hole_at > f->pool * m->trace->pool_bytes;
    char who[TRACE_WHO_BYTES];

    fprintf(m->to, "operation %u: %s requested %u bytes; pool %u has %u free", f->at,
            who_of(m, op, who), op->bytes, f->pool, f->free_bytes);
    if (f->hole == 0) {
        return;
    }
    fprintf(m->to, ", the largest hole %u at 0x%x", f->hole, f->hole_at);
    if (f->takers != 0) {
        fputs("; already taken in it: ", m->to);
        put_allocation(m->to, m, &m->life->ops[f->taken]);
        fprintf(m->to, " (operation %u)", f->taken);
        if (f->takers > 1) {
            fprintf(m->to, " and %u more", f->takers - 1);
        }
    } else {
        fputs(", between ", m->to);
        put_neighbour(m->to, m, f->below, has_head ? "the pool's metadata"
                                                   : "the begin of the pool");
        fputs(" and ", m->to);
        put_neighbour(m->to, m, f->above, "the end of the pool");
    }
    if (f->left >= op->bytes) {
        fputs(" *", m->to);
    }
}

static uint32_t labels_of(uint32_t failures)
{
    return (failures < MOST_LABELS) ? failures : MOST_LABELS;
}

static int has_failed(const trace_op *op)
{
    return (op->kind == TRACE_MALLOC) && (op->end == TRACE_NONE);
}

/* The drawn failures: a line each, and the first ones in words below. */
static int put_failures(map *m, uint32_t *count)
{
    double labelled = 0.0;

    for (uint32_t i = m->options.from; i < m->options.to; i++) {
        const trace_op *op = &m->life->ops[i];
        const double x = x_of(m, i);
        const double y = WORDS + LINE * *count;
        heap_map_fault fault;

        if (!has_failed(op)) {
            continue;
        }
        if (*count < MOST_LABELS) {
            if (heap_map_explain(m->trace, m->life, i, &fault) != 0) {
                return -1;
            }
            fprintf(m->to, "<g class=\"f\"><line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>"
                    "<title>", x, TOP, x, BELOW);
            put_why(m, &fault);
            fputs("</title>", m->to);
            if (x - labelled > 16.0) { /* numbers side by side */
                fprintf(m->to, "<text x=\"%.2f\" y=\"%.2f\">%u</text>", x, TOP - 4.0, *count + 1);
                labelled = x;
            }
            fprintf(m->to, "<text class=\"w\" x=\"%.2f\" y=\"%.2f\">%u: ", LEFT, y, *count + 1);
            put_why(m, &fault);
            fputs("</text></g>\n", m->to);
        } else {
            fprintf(m->to, "<line class=\"f\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n",
                    x, TOP, x, BELOW);
        }
        (*count)++;
    }
    if (*count != 0) {
        fprintf(m->to, "<text class=\"w\" x=\"%.2f\" y=\"%.2f\">", LEFT,
                WORDS + LINE * labels_of(*count));
        if (*count > MOST_LABELS) {
            fprintf(m->to, "and %u more failures.  ", *count - MOST_LABELS);
        }
        fputs("metadata in front is not a hole.  already taken: by a malloc under way that is "
              "recorded later.  * large enough: there is metadata in it, or it was freed while "
              "the request was under way</text>\n", m->to);
    }
    return 0;
}

/* ---- the legend ---- */

/* The group with the most live bytes of those that rank after `last`; groups: none. */
static uint32_t next_group(const double *held, uint32_t groups, uint32_t last)
{
    uint32_t best = groups;

    for (uint32_t i = 0; i < groups; i++) {
        const int is_behind = (last == groups) || (held[i] < held[last]) ||
                              ((held[i] == held[last]) && (i > last));

        if (is_behind && (held[i] > 0.0) && ((best == groups) || (held[i] > held[best]))) {
            best = i;
        }
    }
    return best;
}

static void put_name(const map *m, uint32_t group)
{
    const uint32_t threads = m->trace->block_threads;
    FILE *to = m->to;
    char who[TRACE_WHO_BYTES];

    if (m->options.color == HEAP_MAP_THREAD) {
        fputs(trace_who(group % threads, group / threads + 1, threads, who), to);
    } else if (group == 0) {
        fputs("0 to 1 bytes", to);
    } else if (group >= 10) {
        fprintf(to, "%u to %u KiB", 1u << (group - 10), 2u << (group - 10));
    } else {
        fprintf(to, "%u to %u bytes", 1u << group, (2u << group) - 1u);
    }
}

/* A line of SVG: the groups that held most; one entry less where their names may be long. */
static void put_legend(const map *m, double x, double y)
{
    uint32_t group = next_group(m->held, m->groups, m->groups);
    uint32_t room = MOST_ENTRIES;
    double width = ENTRY_WIDTH;
    double sum = 0.0;

    for (uint32_t i = 0; i < m->groups; i++) {
        sum += m->held[i];
        if ((m->held[i] > 0.0) && (m->options.color == HEAP_MAP_THREAD) &&
            (i >= m->trace->block_threads)) {
            width = WHO_WIDTH;
            room = MOST_ENTRIES - 1;
        }
    }
    if (sum == 0.0) {
        return;
    }
    fprintf(m->to, "<text class=\"l\" x=\"%.2f\" y=\"%.2f\">held most:</text>\n", x, y);
    x += 70.0;
    for (uint32_t i = 0; (i < room) && (group != m->groups); i++, x += width) {
        fprintf(m->to, "<rect class=\"k\" x=\"%.2f\" y=\"%.2f\" width=\"%.0f\" height=\"%.0f\" "
                "fill=\"#%06x\"/><text class=\"l\" x=\"%.2f\" y=\"%.2f\">", x, y - BOX + 1.0, BOX,
                BOX, heap_map_rgb(m->options.color, group), x + BOX + 4.0, y);
        put_name(m, group);
        fprintf(m->to, ": %.0f%%</text>\n", 100.0 * m->held[group] / sum);
        group = next_group(m->held, m->groups, group);
    }
}

/* ---- text around the picture ---- */

static void put_head(const map *m)
{
    const double width = LEFT + WIDTH + 40.0;
    uint32_t failures = 0;
    double height;

    for (uint32_t i = m->options.from; (i < m->options.to) && (i < m->life->count); i++) {
        failures += has_failed(&m->life->ops[i]) != 0;
    }
    height = WORDS - 12.0 + ((failures != 0) ? LINE * (labels_of(failures) + 2) : 0.0);

    fprintf(m->to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
            "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.a{stroke:#333;stroke-width:.2}.m{fill:#999}.p{stroke:#000;stroke-width:.6}"
            ".f{stroke:#c00;stroke-dasharray:4 2}.f text,.w{fill:#c00;stroke:none;font-size:11px}"
            ".l{font-size:11px}</style>\n"
            "<rect x=\"0\" y=\"0\" width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n"
            "<text x=\"%.0f\" y=\"22\" font-size=\"15\">", width, height, width, height, width,
            height, LEFT);
    put_text(m->to, m->trace->allocator);
    fprintf(m->to, ": block %u, launch %u, %u threads, %u pool%s of %u bytes</text>\n",
            m->life->block, m->life->launch, m->trace->block_threads, m->trace->pools,
            (m->trace->pools == 1) ? "" : "s", m->trace->pool_bytes);
    fprintf(m->to, "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"#f6f6f6\" "
            "stroke=\"#000\"/>\n", LEFT, TOP, WIDTH, HEIGHT);
}

static void put_axes(const map *m, uint32_t merged, uint32_t failures)
{
    for (uint32_t pool = 0; pool <= m->trace->pools; pool++) {
        const uint32_t byte = pool * m->trace->pool_bytes;
        const double y = y_of(m, byte);

        if ((m->bytes != 0) && ((m->trace->pools <= 64) || (pool == m->trace->pools))) {
            fprintf(m->to, "<line class=\"p\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n",
                    LEFT - 4.0, y, LEFT + WIDTH, y);
        }
        if ((m->bytes != 0) && ((m->trace->pools <= 16) || (pool == m->trace->pools))) {
            fprintf(m->to, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"end\">0x%x</text>\n",
                    LEFT - 6.0, y + 4.0, byte);
        }
    }
    fprintf(m->to, "<text x=\"%.2f\" y=\"%.2f\">%u</text>\n"
            "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"end\">%u</text>\n"
            "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">to the right: operations in "
            "order; up: bytes from the start of the first pool; colour: %s; %u failed</text>\n",
            LEFT,
            AXIS, m->options.from, LEFT + WIDTH, AXIS, m->options.to, LEFT + WIDTH / 2.0, AXIS,
            (m->options.color == HEAP_MAP_SIZE) ? "size" : "thread", failures);
    if (merged != 0) {
        fprintf(m->to, "<text x=\"%.2f\" y=\"44\">grey: %u allocations that lived for less than a "
                "pixel; --from and --to draw a part</text>\n", LEFT, merged);
    }
    if (m->life->dropped != 0) {
        fprintf(m->to, "<text x=\"%.2f\" y=\"44\" text-anchor=\"end\" fill=\"#c00\">%u records "
                "were dropped: the end is missing</text>\n", LEFT + WIDTH, m->life->dropped);
    }
}

static int put_all(map *m)
{
    uint32_t merged = 0;
    uint32_t failures = 0;
    int status;

    put_head(m);
    status = put_allocations(m, &merged);
    if ((status == 0) && (m->life->count != 0)) {
        status = put_failures(m, &failures);
    }
    put_axes(m, merged, failures);
    put_legend(m, LEFT, LEGEND);
    fputs("</svg>\n", m->to);
    return status;
}

int heap_map_write(FILE *to, const trace_file *trace, const trace_life *life,
                   const heap_map_options *options)
{
    map m = { .to = to, .trace = trace, .life = life, .options = *options,
              .bytes = trace->pools * trace->pool_bytes };
    int is_crowded;
    int status = -1;

    m.groups = (m.options.color == HEAP_MAP_SIZE) ? SIZES : KINDS * trace->block_threads;
    m.options.to = (m.options.to < life->count) ? m.options.to : life->count;
    if (m.options.from >= m.options.to) { /* nothing, and no division by 0 */
        m.options.from = 0;
        m.options.to = (life->count != 0) ? life->count : 1;
    }
    is_crowded = m.options.to - m.options.from > MOST_RECTANGLES;
    m.held = calloc(m.groups, sizeof(*m.held));
    m.busy = is_crowded ? calloc(COLUMNS, ROWS) : NULL;
    if ((m.held != NULL) && (!is_crowded || (m.busy != NULL))) {
        status = put_all(&m);
    }
    free(m.busy);
    free(m.held);
    return status;
}
