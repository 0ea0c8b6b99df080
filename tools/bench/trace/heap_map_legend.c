/* SPDX-License-Identifier: BSD-3-Clause */
/* The colours of threads or sizes, and which of them are worth a word in print. */
#include "config.h"

#include "heap_map.h"

#define MOST_ENTRIES 8u
#define ENTRY_WIDTH  140.0 /* room for "512 to 1023 bytes: 99%", in pixels */
#define BOX          10.0

uint32_t heap_map_group(heap_map_color color, const trace_op *op)
{
    return (color == HEAP_MAP_SIZE) ? 31u - (uint32_t)__builtin_clz(op->bytes | 1u) : op->thread;
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

/* The group that held most of those behind `last` in that order; groups: none did. */
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

static void put_name(FILE *to, heap_map_color color, uint32_t group)
{
    if (color == HEAP_MAP_THREAD) {
        fprintf(to, "thread %u", group);
    } else if (group == 0) {
        fputs("0 to 1 bytes", to);
    } else if (group >= 10) {
        fprintf(to, "%u to %u KiB", 1u << (group - 10), 2u << (group - 10));
    } else {
        fprintf(to, "%u to %u bytes", 1u << group, (2u << group) - 1u);
    }
}

void heap_map_legend(FILE *to, heap_map_color color, const double *held, uint32_t groups, double x,
                     double y)
{
    uint32_t group = next_group(held, groups, groups);
    double sum = 0.0;

    for (uint32_t i = 0; i < groups; i++) {
        sum += held[i];
    }
    if (sum == 0.0) {
        return;
    }
    fprintf(to, "<text class=\"l\" x=\"%.2f\" y=\"%.2f\">held most:</text>\n", x, y);
    x += 70.0;
    for (uint32_t i = 0; (i < MOST_ENTRIES) && (group != groups); i++, x += ENTRY_WIDTH) {
        fprintf(to, "<rect class=\"k\" x=\"%.2f\" y=\"%.2f\" width=\"%.0f\" height=\"%.0f\" "
                "fill=\"#%06x\"/><text class=\"l\" x=\"%.2f\" y=\"%.2f\">", x, y - BOX + 1.0, BOX,
                BOX, heap_map_rgb(color, group), x + BOX + 4.0, y);
        put_name(to, color, group);
        fprintf(to, ": %.0f%%</text>\n", 100.0 * held[group] / sum);
        group = next_group(held, groups, group);
    }
}
