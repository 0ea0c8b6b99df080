/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: pools for captured graphs.
 *
 * A graph uses the same addresses each time it is launched, so a capturing stream's allocations
 * come from slabs that serve no other requests until the graph is destroyed.  Within a capture, a
 * block is reused only by the stream that freed it: events would become part of the graph.  Graphs
 * that share a pool are never in flight together, so a new capture can use all free blocks.
 *
 * Whether a stream captures is asked only while a pool is open.
 */
#include "bins.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH 64u

/* ---- pools ---- */

static bins_graph **place_of(bins_self *bins, uint64_t id_high, uint64_t id_low)
{
    bins_graph **at = &bins->graphs;

    while ((*at != NULL) && (((*at)->id_high != id_high) || ((*at)->id_low != id_low))) {
        at = &(*at)->next;
    }
    return at;
}

/* The pool that this thread opened, else the latest one. */
static bins_graph *open_graph(bins_self *bins)
{
    uint64_t thread = shpool_thread_number();
    bins_graph *found = NULL;

    for (bins_graph *graph = bins->graphs; graph != NULL; graph = graph->next) {
        if (graph->open && ((found == NULL) || (graph->thread == thread))) {
            found = graph;
        }
    }
    return found;
}

/* Stands for a stream in the tags of a pool's blocks; its numbers are never done. */
static shpool_timeline *stream_of(bins_graph *graph, shpool_stream stream)
{
    uint64_t thread = (stream == SHPOOL_STREAM_PER_THREAD) ? shpool_thread_number() : 0;
    shpool_timeline *t = graph->streams;

    while ((t != NULL) && ((t->stream != stream) || (t->thread != thread))) {
        t = t->next;
    }
    if (t != NULL) {
        return t;
    }
    t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return &graph->nobody;
    }
    t->stream = stream;
    t->thread = thread;
    t->seq = 1;
    t->gone = 1; /* no events are recorded on it */
    t->next = graph->streams;
    graph->streams = t;
    return t;
}

void bins_graph_retire(bins_self *bins, shpool_stream stream)
{
    shpool_mutex_lock(&bins->lock);
    for (bins_graph *graph = bins->graphs; graph != NULL; graph = graph->next) {
        for (shpool_timeline *t = graph->streams; t != NULL; t = t->next) {
            t->stream = (t->stream == stream) ? NULL : t->stream; /* blocks may still refer to it */
        }
    }
    shpool_mutex_unlock(&bins->lock);
}

static bins_block *take(bins_self *bins, bins_graph *graph, size_t need, shpool_stream stream,
                        shpool_status *status_p)
{
    bins_heap *heap = &graph->heap[need >= BINS_LARGE_BYTES];
    const shpool_timeline *t = stream_of(graph, stream);
    bins_block *block;

    bins->refusal = CU_SUCCESS;
    block = bins_heap_take(bins, heap, need, t, BINS_USABLE, DEPTH);
    if (block != NULL) {
        bins->count.hits++;
        return block;
    }
    *status_p = bins_slab_create(bins, heap, need, 0);
    if ((*status_p == SHPOOL_ERR_NO_MEMORY) && (bins->refusal != CU_SUCCESS)) {
        *status_p = bins_slab_create(bins, heap, need, 1);
    }
    if ((*status_p == SHPOOL_ERR_NO_MEMORY) && (bins->refusal != CU_SUCCESS)) {
        bins->count.retries++;
        (void)bins_make_room(bins, need);
        *status_p = bins_slab_create(bins, heap, need, 1);
    }
    if ((*status_p == SHPOOL_ERR_NO_MEMORY) && (bins->refusal != CU_SUCCESS) &&
        (bins_make_room(bins, SIZE_MAX) > 0)) {
        *status_p = bins_slab_create(bins, heap, need, 1);
    }
    if (*status_p != SHPOOL_OK) {
        return NULL;
    }
    bins->count.misses++;
    block = bins_heap_take(bins, heap, need, t, BINS_USABLE, DEPTH);
    if (block == NULL) {
        *status_p = shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a block's record");
    }
    return block;
}

int bins_graph_malloc(bins_self *bins, size_t need, shpool_stream stream, void **ptr_p,
                      shpool_status *status_p)
{
    bins_graph *graph;
    bins_block *block = NULL;
    cu_result result;
    int refused = 0;
    int captures;
    int mode;

    stream = (stream == NULL) ? SHPOOL_STREAM_LEGACY : stream;
    result = shpool_timeline_captures(&bins->lanes, stream, &captures);
    if (!captures) {
        return 0;
    }
    *status_p = (result == CU_SUCCESS)
                    ? bins_capture_relax(bins, &mode)
                    : shpool_driver_failed(bins->lanes.device->cu, "cuStreamIsCapturing", result);
    if (*status_p != SHPOOL_OK) {
        return 1;
    }
    shpool_mutex_lock(&bins->lock);
    graph = open_graph(bins);
    if (graph != NULL) {
        block = take(bins, graph, need, stream, status_p);
        if (block != NULL) {
            block->last = NULL; /* belongs to no lane */
            bins_set_state(block, BINS_LIVE_GRAPH);
            bins->count.mallocs++;
            bins->count.live_bytes += block->bytes;
            bins->count.live_count++;
            *ptr_p = block->address;
        } else if (bins->refusal == CU_ERROR_OUT_OF_MEMORY) {
            bins->count.failures++;
            refused = 1;
        }
    }
    shpool_mutex_unlock(&bins->lock);
    if (refused) {
        *status_p = bins_out_of_memory(bins, need);
    }
    bins_capture_restore(bins, mode);
    return graph != NULL;
}

/* ---- free ---- */

static void release_whole(bins_self *bins, bins_graph *graph)
{
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(graph->heap); i++) {
        bins_slab *slab = graph->heap[i].slabs;

        bins_heap_merge(bins, &graph->heap[i]);
        while (slab != NULL) {
            bins_slab *next = slab->next;

            if (bins_is_whole(slab)) {
                (void)bins_slab_release(bins, slab);
            }
            slab = next;
        }
    }
}

static void forget_streams(bins_graph *graph)
{
    while (graph->streams != NULL) {
        shpool_timeline *t = graph->streams;

        graph->streams = t->next;
        free(t);
    }
}

static void forget_order(bins_graph *graph)
{
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(graph->heap); i++) {
        for (bins_slab *slab = graph->heap[i].slabs; slab != NULL; slab = slab->next) {
            for (bins_block *block = slab->first; block != NULL; block = block->above) {
                block->last = NULL;
            }
        }
    }
    forget_streams(graph);
}

static void drop_if_empty(bins_self *bins, bins_graph *graph)
{
    if ((graph->holds > 0) || graph->open) {
        return;
    }
    forget_order(graph);
    release_whole(bins, graph);
    if ((graph->heap[0].slabs == NULL) && (graph->heap[1].slabs == NULL)) {
        *place_of(bins, graph->id_high, graph->id_low) = graph->next;
        free(graph);
    }
}

void bins_graph_free(bins_self *bins, bins_block *block, shpool_stream stream)
{
    bins_graph *graph = block->slab->heap->graph;
    int captures;

    stream = (stream == NULL) ? SHPOOL_STREAM_LEGACY : stream;
    (void)shpool_timeline_captures(&bins->lanes, stream, &captures);
    block->last = captures ? stream_of(graph, stream) : NULL;
    block->seq = 1;
    bins->count.frees++;
    bins->count.live_bytes -= block->bytes;
    bins->count.live_count--;
    bins_heap_put(bins, block);
    drop_if_empty(bins, graph);
}

/* ---- begin, end, release ---- */

static bins_graph *make(bins_self *bins, uint64_t id_high, uint64_t id_low)
{
    bins_graph *graph = calloc(1, sizeof(*graph));

    if (graph != NULL) {
        graph->id_high = id_high;
        graph->id_low = id_low;
        graph->nobody.seq = 1;
        graph->nobody.gone = 1;
        graph->heap[1].large = 1;
        graph->heap[0].graph = graph;
        graph->heap[1].graph = graph;
        graph->next = bins->graphs;
        bins->graphs = graph;
    }
    return graph;
}

static shpool_status begin(bins_self *bins, uint64_t id_high, uint64_t id_low)
{
    bins_graph *graph = *place_of(bins, id_high, id_low);

    if ((graph != NULL) && graph->open) {
        return shpool_error(SHPOOL_ERR_INVALID, "the pool %llu, %llu is already open",
                            (unsigned long long)id_high, (unsigned long long)id_low);
    }
    if (graph == NULL) {
        graph = make(bins, id_high, id_low);
    }
    if (graph == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a graph's pool");
    }
    forget_order(graph);
    bins_heap_merge(bins, &graph->heap[0]);
    bins_heap_merge(bins, &graph->heap[1]);
    graph->holds++;
    graph->open = 1;
    graph->thread = shpool_thread_number();
    atomic_fetch_add_explicit(&bins->lanes.captures, 1, memory_order_relaxed);
    return SHPOOL_OK;
}

static shpool_status no_graph(uint64_t id_high, uint64_t id_low, const char *what)
{
    return shpool_error(SHPOOL_ERR_NOT_FOUND, "the pool %llu, %llu is not %s",
                        (unsigned long long)id_high, (unsigned long long)id_low, what);
}

shpool_status bins_capture_begin(void *self, uint64_t id_high, uint64_t id_low)
{
    bins_self *bins = self;
    shpool_status status;

    if ((id_high == 0) && (id_low == 0)) {
        return shpool_error(SHPOOL_ERR_INVALID, "the numbers 0, 0 mean no pool: choose others");
    }
    shpool_mutex_lock(&bins->lock);
    status = begin(bins, id_high, id_low);
    shpool_mutex_unlock(&bins->lock);
    return status;
}

shpool_status bins_capture_end(void *self, uint64_t id_high, uint64_t id_low)
{
    bins_self *bins = self;
    bins_graph *graph;
    int mode;
    shpool_status status = bins_capture_relax(bins, &mode);

    if (status != SHPOOL_OK) {
        return status;
    }
    shpool_mutex_lock(&bins->lock);
    graph = *place_of(bins, id_high, id_low);
    if ((graph != NULL) && graph->open) {
        graph->open = 0;
        atomic_fetch_sub_explicit(&bins->lanes.captures, 1, memory_order_relaxed);
        drop_if_empty(bins, graph);
    } else {
        status = no_graph(id_high, id_low, "open");
    }
    shpool_mutex_unlock(&bins->lock);
    bins_capture_restore(bins, mode);
    return status;
}

shpool_status bins_capture_release(void *self, uint64_t id_high, uint64_t id_low)
{
    bins_self *bins = self;
    bins_graph *graph;
    int mode;
    shpool_status status = bins_capture_relax(bins, &mode);

    if (status != SHPOOL_OK) {
        return status;
    }
    shpool_mutex_lock(&bins->lock);
    graph = *place_of(bins, id_high, id_low);
    if ((graph != NULL) && (graph->holds > 0)) {
        graph->holds--;
        drop_if_empty(bins, graph);
    } else {
        status = no_graph(id_high, id_low, "known");
    }
    shpool_mutex_unlock(&bins->lock);
    bins_capture_restore(bins, mode);
    return status;
}

void bins_graphs_fini(bins_self *bins)
{
    while (bins->graphs != NULL) {
        bins_graph *graph = bins->graphs;

        bins->graphs = graph->next;
        for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(graph->heap); i++) {
            bins_heap_fini(bins, &graph->heap[i]);
        }
        forget_streams(graph);
        free(graph);
    }
}
