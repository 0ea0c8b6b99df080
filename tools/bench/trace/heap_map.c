/* SPDX-License-Identifier: BSD-3-Clause */
/* The picture: x is the order of the operations, y the address, a rectangle an allocation. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"
#include "tools/bench/colours.h"
#include "heap_map.h"

#define WIDTH     704.0 /* of the drawing, in pixels; 800 with its margins, as a page is wide */
#define HEIGHT    480.0
#define LEFT      84.0
#define RIGHT     12.0
#define TOP       72.0
#define BELOW     (TOP + HEIGHT) /* of what is drawn: the axis, the legend, failures in words */
#define AXIS      (BELOW + 16.0)
#define LEGEND    (BELOW + 38.0)
#define WORDS     (BELOW + 80.0)
#define LINE      16.0           /* of words */
#define LETTERS   120u           /* of words in a line */
#define MOST_RECTANGLES 20000u /* with more, allocations narrower than a pixel are merged */
#define MOST_LABELS     12u
#define COLUMNS   704u
#define ROWS      480u
#define SIZES     32u   /* groups with HEAP_MAP_SIZE: powers of two */
#define MOST_ENTRIES 8u /* of the legend, in two lines */
#define ENTRY_WIDTH  158.0 /* room for "lanes 16-23 of warp 31: 99%", in pixels */
#define KINDS     33u   /* kinds of requesters: a thread, 2 to 32 lanes, the block */
#define BOX       10.0

typedef struct map {
    FILE *to;
    const trace_file *trace;
    const trace_life *life;
    heap_map_options options;
    uint32_t bytes;       /* of all pools */
    uint32_t low;         /* bytes of them that are drawn: what was used */
    uint32_t high;
    int is_used;
    unsigned char *busy;  /* COLUMNS * ROWS: cells of merged allocations, or NULL */
    double *held;         /* of each colour: bytes times operations */
    uint32_t groups;      /* of held */
    uint32_t failures;
    char *words[MOST_LABELS + 1]; /* why the first ones failed, and what this means; or NULL */
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

/* One of the three channels, part of the way from a colour to another one. */
static uint32_t mix(uint32_t from, uint32_t to, uint32_t shift, double part)
{
    const double a = (double)(from >> shift & 255u);
    const double b = (double)(to >> shift & 255u);

    return (uint32_t)(a + (b - a) * part + 0.5) << shift;
}

static uint32_t between(uint32_t from, uint32_t to, double part)
{
    return mix(from, to, 16, part) | mix(from, to, 8, part) | mix(from, to, 0, part);
}

/* Neighbours in number have other colours; after seven of them come lighter and darker ones. */
static uint32_t rgb_of_number(uint32_t group)
{
    static const uint32_t colours[] = {COLOUR_BLUE, COLOUR_ORANGE, COLOUR_GREEN, COLOUR_VERMILION,
                                       COLOUR_SKY, COLOUR_PURPLE, COLOUR_GREY};
    static const double shades[] = {0.0, 0.45, -0.35, 0.7, -0.6}; /* of white; negative: of black */
    const uint32_t count = SHPOOL_ARRAY_COUNT(colours);
    const double shade = shades[group / count % SHPOOL_ARRAY_COUNT(shades)];

    return between(colours[group % count], (shade > 0.0) ? 0xffffffu : 0u, fabs(shade));
}

/* Dark is small and light is large, through the colours of matplotlib's viridis. */
static uint32_t rgb_of_size(uint32_t log2_bytes)
{
    static const uint32_t steps[] = {0x440154, 0x3b528b, 0x21918c, 0x5ec962, 0xfde725};
    /* from less than 16 bytes to 16 KiB and more */
    const double at = 4.0 * fmax(fmin((log2_bytes - 3.0) / 11.0, 1.0), 0.0);
    const uint32_t step = (at < 4.0) ? (uint32_t)at : 3u;

    return between(steps[step], steps[step + 1], at - step);
}

uint32_t heap_map_rgb(heap_map_color color, uint32_t group)
{
    return (color == HEAP_MAP_SIZE) ? rgb_of_size(group) : rgb_of_number(group);
}

/* ---- places ---- */

static double x_of(const map *m, uint32_t at)
{
    at = (at < m->options.from) ? m->options.from : (at > m->options.to) ? m->options.to : at;
    return LEFT + WIDTH * (at - m->options.from) / (m->options.to - m->options.from);
}

/* The lowest byte that was used is below. */
static double y_of(const map *m, double byte)
{
    return BELOW - HEIGHT * (byte - m->low) / (m->high - m->low);
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

/* Of the pools, the bytes that the picture shows: from the lowest to the highest that was used. */
static void crop(map *m)
{
    uint32_t low = m->bytes;
    uint32_t high = 0;

    for (uint32_t i = 0; i < m->life->count; i++) {
        const trace_op *op = &m->life->ops[i];
        const trace_op *object = (op->object < m->life->count) ? &m->life->ops[op->object] : op;

        if (((op->kind == TRACE_MALLOC) || (op->kind == TRACE_RESIZE)) && is_drawn(m, object) &&
            (object->place < m->bytes)) {
            const uint64_t end = object->place + extent_of(op);

            low = (object->place < low) ? (uint32_t)object->place : low;
            high = (end > high) ? (uint32_t)((end < m->bytes) ? end : m->bytes) : high;
        }
    }
    m->is_used = low < high;
    m->low = m->is_used ? low : 0;
    m->high = m->is_used ? high : (m->bytes != 0) ? m->bytes : 1;
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
            y_of(m, (double)op->place + bytes), right - left, HEIGHT * bytes / (m->high - m->low),
            heap_map_rgb(m->options.color, group), who_of(m, op, who), op->bytes, op->usable,
            op->place, op->object, op->end, (op->end == m->life->count) ? " (never freed)" : "");
}

/* Mark the cells that a short life has been in. */
static void put_busy(map *m, const trace_op *op)
{
    const uint32_t span = m->options.to - m->options.from;
    const uint32_t at = (op->object > m->options.from) ? op->object - m->options.from : 0;
    uint32_t column = (uint32_t)((uint64_t)at * COLUMNS / span);
    const uint32_t bytes = m->high - m->low;
    uint32_t row = (uint32_t)((op->place - m->low) * ROWS / bytes);
    uint32_t last = (uint32_t)((op->place - m->low + extent_of(op) - 1) * ROWS / bytes);

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

/* A sentence.  Neighbours of a hole that was allocated meanwhile are left out. */
static void put_why(FILE *to, const map *m, const heap_map_fault *f)
{
    const trace_op *op = &m->life->ops[f->at];
    const int has_head = f->hole_at > f->pool * m->trace->pool_bytes;
    char who[TRACE_WHO_BYTES];

    fprintf(to, "operation %u: %s requested %u bytes; pool %u has %u free", f->at,
            who_of(m, op, who), op->bytes, f->pool, f->free_bytes);
    if (f->hole == 0) {
        return;
    }
    fprintf(to, ", the largest hole %u at 0x%x", f->hole, f->hole_at);
    if (f->takers != 0) {
        fputs("; already taken in it: ", to);
        put_allocation(to, m, &m->life->ops[f->taken]);
        fprintf(to, " (operation %u)", f->taken);
        if (f->takers > 1) {
            fprintf(to, " and %u more", f->takers - 1);
        }
    } else {
        fputs(", between ", to);
        put_neighbour(to, m, f->below, has_head ? "the pool's metadata"
                                                   : "the begin of the pool");
        fputs(" and ", to);
        put_neighbour(to, m, f->above, "the end of the pool");
    }
    if (f->left >= op->bytes) {
        fputs(" *", to);
    }
}

static int has_failed(const trace_op *op)
{
    return (op->kind == TRACE_MALLOC) && (op->end == TRACE_NONE);
}

/* One of words[]: why an operation failed, or (NULL) what such words mean.  -1: no memory. */
static int explain(map *m, const heap_map_fault *fault, char **words)
{
    size_t bytes;
    FILE *to = open_memstream(words, &bytes);

    if (to == NULL) {
        *words = NULL;
        return -1;
    }
    if (fault != NULL) {
        put_why(to, m, fault);
    } else {
        if (m->failures > MOST_LABELS) {
            fprintf(to, "and %u more failures.  ", m->failures - MOST_LABELS);
        }
        fputs("metadata in front is not a hole.  already taken: by a malloc under way that is "
              "recorded later.  * large enough: there is metadata in it, or it was freed while "
              "the request was under way", to);
    }
    return ((fclose(to) == 0) && (*words != NULL)) ? 0 : -1;
}

/* The failures of what is drawn are counted, and the first ones put into words. */
static int explain_failures(map *m)
{
    heap_map_fault fault;

    for (uint32_t i = m->options.from; (i < m->options.to) && (i < m->life->count); i++) {
        if (!has_failed(&m->life->ops[i])) {
            continue;
        }
        if ((m->failures < MOST_LABELS) &&
            ((heap_map_explain(m->trace, m->life, i, &fault) != 0) ||
             (explain(m, &fault, &m->words[m->failures]) != 0))) {
            return -1;
        }
        m->failures++;
    }
    return (m->failures == 0) ? 0 : explain(m, NULL, &m->words[MOST_LABELS]);
}

/* Letters of the next line. */
static size_t line_of(const char *words)
{
    size_t letters = strlen(words);

    if (letters > LETTERS) {
        for (letters = LETTERS; (letters > LETTERS / 2) && (words[letters] != ' '); letters--) {
        }
    }
    return letters;
}

static uint32_t lines_of(const char *words)
{
    uint32_t lines = 0;

    for (; *words != '\0'; words += line_of(words)) {
        lines++;
    }
    return lines;
}

static uint32_t all_lines(const map *m)
{
    uint32_t lines = 0;

    for (uint32_t i = 0; i <= MOST_LABELS; i++) {
        lines += (m->words[i] != NULL) ? lines_of(m->words[i]) : 0;
    }
    return lines;
}

/* From y on, with a number in front (0: none); where the next line is. */
static double put_words(FILE *to, const char *words, uint32_t number, double y)
{
    size_t letters;

    for (int is_first = 1; *words != '\0'; words += letters, is_first = 0) {
        letters = line_of(words);
        fprintf(to, "<text class=\"w\" x=\"%.2f\" y=\"%.2f\">", LEFT, y);
        if (is_first && (number != 0)) {
            fprintf(to, "%u: ", number);
        }
        fprintf(to, "%.*s</text>\n", (int)letters - (words[0] == ' '), words + (words[0] == ' '));
        y += LINE;
    }
    return y;
}

/* A line for each failure, with its number where there is room; below, the first ones in words. */
static void put_failures(const map *m)
{
    double labelled = 0.0;
    double y = WORDS;
    uint32_t count = 0;

    for (uint32_t i = m->options.from; (i < m->options.to) && (i < m->life->count); i++) {
        const double x = x_of(m, i);

        if (!has_failed(&m->life->ops[i])) {
            continue;
        }
        fprintf(m->to, "<g class=\"f\"><line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>", x,
                TOP, x, BELOW);
        if (count < MOST_LABELS) {
            fprintf(m->to, "<title>%s</title>", m->words[count]);
            if (x - labelled > 16.0) { /* numbers side by side */
                fprintf(m->to, "<text x=\"%.2f\" y=\"%.2f\">%u</text>", x, TOP - 4.0, count + 1);
                labelled = x;
            }
            y = put_words(m->to, m->words[count], count + 1, y);
        }
        fputs("</g>\n", m->to);
        count++;
    }
    if (count != 0) {
        (void)put_words(m->to, m->words[MOST_LABELS], 0, y);
    }
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

/* The groups that held most, in two lines. */
static void put_legend(const map *m)
{
    uint32_t group = next_group(m->held, m->groups, m->groups);
    double sum = 0.0;

    for (uint32_t i = 0; i < m->groups; i++) {
        sum += m->held[i];
    }
    if (sum == 0.0) {
        return;
    }
    fprintf(m->to, "<text class=\"l\" x=\"%.2f\" y=\"%.2f\">held most:</text>\n", LEFT, LEGEND);
    for (uint32_t i = 0; (i < MOST_ENTRIES) && (group != m->groups); i++) {
        const double x = LEFT + 70.0 + ENTRY_WIDTH * (i % (MOST_ENTRIES / 2));
        const double y = LEGEND + LINE * (i / (MOST_ENTRIES / 2));

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
    const double width = LEFT + WIDTH + RIGHT;
    const double height = WORDS - 12.0 + LINE * (all_lines(m) + (m->failures != 0));

    fprintf(m->to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
            "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.a{stroke:#333;stroke-width:.2}.m{fill:#999}.p{stroke:#000;stroke-width:.6}"
            ".f{stroke:#c00;stroke-dasharray:4 2}.f text,.w{fill:#c00;stroke:none;font-size:11px}"
            ".l{font-size:11px}</style>\n"
            "<rect x=\"0\" y=\"0\" width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n"
            "<text x=\"%.0f\" y=\"20\" font-size=\"14\">", width, height, width, height, width,
            height, LEFT);
    put_text(m->to, m->trace->allocator);
    fprintf(m->to, "</text>\n<text x=\"%.0f\" y=\"38\">block %u, launch %u, %u threads, %u pool%s "
            "of %u bytes; ", LEFT, m->life->block, m->life->launch, m->trace->block_threads,
            m->trace->pools, (m->trace->pools == 1) ? "" : "s", m->trace->pool_bytes);
    if (m->is_used) {
        fprintf(m->to, "used: 0x%x to 0x%x</text>\n", m->low, m->high);
    } else {
        fputs("nothing was used</text>\n", m->to);
    }
    fprintf(m->to, "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"#f6f6f6\" "
            "stroke=\"#000\"/>\n", LEFT, TOP, WIDTH, HEIGHT);
}

/* A byte's line, and its address left of it, if there is room. */
static void put_byte(const map *m, uint32_t byte, int has_room)
{
    const double y = y_of(m, byte);

    fprintf(m->to, "<line class=\"p\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n",
            LEFT - 4.0, y, LEFT + WIDTH, y);
    if (has_room) {
        fprintf(m->to, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"end\">0x%x</text>\n", LEFT - 6.0,
                y + 4.0, byte);
    }
}

static void put_axes(const map *m, uint32_t merged)
{
    const double middle = TOP + HEIGHT / 2.0;

    put_byte(m, m->low, 1);
    put_byte(m, m->high, 1);
    for (uint32_t pool = 0; (m->trace->pools <= 64) && (pool < m->trace->pools); pool++) {
        const uint32_t byte = pool * m->trace->pool_bytes;

        if ((byte > m->low) && (byte < m->high)) {
            put_byte(m, byte, (m->trace->pools <= 16) && (y_of(m, byte) < BELOW - LINE) &&
                                  (y_of(m, byte) > TOP + LINE));
        }
    }
    fprintf(m->to, "<text x=\"%.2f\" y=\"%.2f\">%u</text>\n"
            "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"end\">%u</text>\n"
            "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">operations in order; colour: "
            "%s; %u failed</text>\n"
            "<text x=\"16\" y=\"%.2f\" text-anchor=\"middle\" transform=\"rotate(-90 16 %.2f)\">"
            "bytes from the start of the first pool</text>\n", LEFT, AXIS, m->options.from,
            LEFT + WIDTH, AXIS, m->options.to, LEFT + WIDTH / 2.0, AXIS,
            (m->options.color == HEAP_MAP_SIZE) ? "size, light is large" : "thread", m->failures,
            middle, middle);
    if (merged != 0) {
        fprintf(m->to, "<text class=\"l\" x=\"%.2f\" y=\"54\">grey: %u allocations that lived for "
                "less than a pixel; --from and --to draw a part</text>\n", LEFT, merged);
    }
    if (m->life->dropped != 0) {
        fprintf(m->to, "<text class=\"l\" x=\"%.2f\" y=\"54\" text-anchor=\"end\" fill=\"#c00\">%u "
                "records were dropped: the end is missing</text>\n", LEFT + WIDTH,
                m->life->dropped);
    }
}

static int put_all(map *m)
{
    uint32_t merged = 0;

    if (explain_failures(m) != 0) {
        return -1;
    }
    put_head(m);
    if (put_allocations(m, &merged) != 0) {
        return -1;
    }
    put_failures(m);
    put_axes(m, merged);
    put_legend(m);
    fputs("</svg>\n", m->to);
    return 0;
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
    crop(&m);
    is_crowded = m.options.to - m.options.from > MOST_RECTANGLES;
    m.held = calloc(m.groups, sizeof(*m.held));
    m.busy = is_crowded ? calloc(COLUMNS, ROWS) : NULL;
    if ((m.held != NULL) && (!is_crowded || (m.busy != NULL))) {
        status = put_all(&m);
    }
    for (uint32_t i = 0; i <= MOST_LABELS; i++) {
        free(m.words[i]);
    }
    free(m.busy);
    free(m.held);
    return status;
}
