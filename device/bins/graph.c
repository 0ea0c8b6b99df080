/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bins: pools for captured graphs.
 *
 * A graph uses the same addresses each time it is launched, so a capturing stream's allocations
 * come from slabs that serve no other requests until the graph is destroyed.  Graphs that share a
 * pool are never in flight together, so a new capture can use all free blocks.
 *
 * Within a capture, a block is reused only by the stream that freed it: whether other streams have
 * joined that one is known to the graph alone, and events would become part of it.  A block that
 * another stream of the capture was recorded for, or that was freed on a stream outside of it, is
 * not reused until the pool opens again.  (PyTorch defers such frees to the end of the capture.)
 * Streams outside of captures, those that free included, must have finished with the block: the
 * stream that launches the graphs is unknown.
 *
 * A malloc asks whether its stream captures only while a pool is open.
 */
#include "bins.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH 64u

/* ---- malloc ---- */

/* The pool of a capture: the one that serves it already, else the one that this thread opened, else
 * one that serves none. */
static bins_graph *open_graph(bins_self *bins, uint64_t capture)
{
    uint64_t thread = shpool_thread_number();
    bins_graph *found = NULL;
    int best = 0;

    for (bins_graph *graph = bins->graphs; graph != NULL; graph = graph->next) {
        int fits = !graph->open ? 0 : ((capture != 0) && (graph->capture == capture)) ? 4
                 : (graph->thread == thread) ? 3 : (graph->capture == 0) ? 2 : 1;

        found = (fits > best) ? graph : found;
        best = (fits > best) ? fits : best;
    }
    if (best > 1) { /* a capture that must share a pool leaves it to its own one */
        found->capture = capture;
    }
    return found;
}

static bins_block *take(bins_self *bins, bins_graph *graph, size_t need, shpool_stream stream,
                        shpool_status *status_p)
{
    bins_heap *heap = &graph->heap[need >= BINS_LARGE_BYTES];
    const shpool_timeline *t = bins_graph_stream(graph, stream);
    bins_block *block;

    bins->refusal = CU_SUCCESS;
    if (t == &graph->nobody) { /* as which other blocks were freed that it must not have */
        *status_p = shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a stream's record");
        return NULL;
    }
    bins_use_drain(bins, 0);
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

    stream = (stream == NULL) ? SHPOOL_STREAM_LEGACY : stream;
    result = shpool_timeline_captures(&bins->lanes, stream, &captures);
    if (!captures) {
        return 0;
    }
    *status_p = (result == CU_SUCCESS)
                    ? SHPOOL_OK
                    : shpool_driver_failed(bins->lanes.device->cu, "cuStreamIsCapturing", result);
    if (*status_p != SHPOOL_OK) {
        return 1;
    }
    shpool_device_hold();
    shpool_mutex_lock(&bins->lock);
    graph = open_graph(bins, shpool_device_capture_of(bins->lanes.device, stream));
    if (graph != NULL) {
        block = take(bins, graph, need, stream, status_p);
        if (block != NULL) {
            bins_hand_out(block, NULL, BINS_LIVE_GRAPH); /* belongs to no lane */
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
    shpool_device_restore(bins->lanes.device);
    if (refused) {
        *status_p = bins_out_of_memory(bins, need);
    }
    return graph != NULL;
}

/* ---- free ---- */

shpool_status bins_graph_free(bins_self *bins, bins_block *block, shpool_stream stream)
{
    bins_graph *graph = block->slab->heap->graph;
    shpool_timeline *t = bins_graph_user(bins, block, stream);
    shpool_status status = (t == NULL) ? bins_use_add(bins, block, stream) : SHPOOL_OK;

    if (status != SHPOOL_OK) {
        return status;
    }
    if (bins_graph_forget_users(bins, block, t, 1) || (t == NULL)) {
        t = graph->open ? &graph->nobody : NULL;
    }
    block->last = t;
    block->seq = 1;
    bins->count.frees++;
    bins->count.live_bytes -= block->bytes;
    bins->count.live_count--;
    if (block->uses != NULL) {
        bins_set_state(block, BINS_PENDING);
        bins_use_mark(bins, block);
    } else {
        bins_graph_put(bins, block);
    }
    return SHPOOL_OK;
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
    bins_graph *graph = *bins_graph_place(bins, id_high, id_low);

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
    bins_graph_forget_order(bins, graph);
    bins_heap_merge(bins, &graph->heap[0]);
    bins_heap_merge(bins, &graph->heap[1]);
    graph->holds++;
    graph->open = 1;
    graph->thread = shpool_thread_number();
    graph->capture = 0;
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
    shpool_status status = SHPOOL_OK;

    shpool_mutex_lock(&bins->lock);
    graph = *bins_graph_place(bins, id_high, id_low);
    if ((graph != NULL) && graph->open) {
        graph->open = 0;
        atomic_fetch_sub_explicit(&bins->lanes.captures, 1, memory_order_relaxed);
        bins_graph_drop(bins, graph);
    } else {
        status = no_graph(id_high, id_low, "open");
    }
    shpool_mutex_unlock(&bins->lock);
    return status;
}

shpool_status bins_capture_release(void *self, uint64_t id_high, uint64_t id_low)
{
    bins_self *bins = self;
    bins_graph *graph;
    shpool_status status = SHPOOL_OK;

    shpool_mutex_lock(&bins->lock);
    graph = *bins_graph_place(bins, id_high, id_low);
    if ((graph != NULL) && (graph->holds > 0)) {
        graph->holds--;
        bins_graph_drop(bins, graph);
    } else {
        status = no_graph(id_high, id_low, "known");
    }
    shpool_mutex_unlock(&bins->lock);
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
        bins_graph_forget_streams(graph);
        free(graph);
    }
}
