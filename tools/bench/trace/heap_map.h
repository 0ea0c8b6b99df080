/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture of a block's pools over time. */
#ifndef SHPOOL_TOOLS_HEAP_MAP_H
#define SHPOOL_TOOLS_HEAP_MAP_H

#include <stdint.h>
#include <stdio.h>

#include "file.h"

typedef enum heap_map_color { HEAP_MAP_THREAD, HEAP_MAP_SIZE } heap_map_color;

typedef struct heap_map_options {
    uint32_t from;        /* first operation that is drawn, and the first one after */
    uint32_t to;
    heap_map_color color;
} heap_map_options;

/* A failed request, and why it failed; at the instant of the request. */
typedef struct heap_map_fault {
    uint32_t at;          /* operation */
    uint32_t pool;
    uint32_t free_bytes;  /* of the thread's own pool, between allocations, its head left out */
    uint32_t hole;        /* the largest piece of that */
    uint32_t hole_at;     /* bytes after the start of the first pool */
    uint32_t below;       /* operations whose allocations bound it; TRACE_NONE: the pool's end */
    uint32_t above;
    uint32_t takers;      /* others that had already got parts of it, if it is large enough */
    uint32_t taken;       /* the first one's operation, after `at`; TRACE_NONE: none */
    uint32_t left;        /* largest hole without these parts */
} heap_map_fault;

/**
 * Find out why operation `at`, a malloc, failed.
 * @return 0, or -1: no memory
 */
int heap_map_explain(const trace_file *trace, const trace_life *life, uint32_t at,
                     heap_map_fault *fault_p);

/** 0xRRGGBB of a group: a thread's rank (more: groups of threads), or the power of two that a size
 * begins with. */
uint32_t heap_map_rgb(heap_map_color color, uint32_t group);

/**
 * Write an SVG.
 * @return 0, or -1: no memory; ferror(to) reports whether writing failed
 */
int heap_map_write(FILE *to, const trace_file *trace, const trace_life *life,
                   const heap_map_options *options);

#endif /* SHPOOL_TOOLS_HEAP_MAP_H */
