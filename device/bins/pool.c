/* SPDX-License-Identifier: BSD-3-Clause */
/* bins: pools for captured graphs: what stands for their streams, and when their memory goes back;
 * graph.c explains them. */
#include "bins.h"

#include <stdlib.h>

bins_graph **bins_graph_place(bins_self *bins, uint64_t id_high, uint64_t id_low)
{
    bins_graph **at = &bins->graphs;

    while ((*at != NULL) && (((*at)->id_high != id_high) || ((*at)->id_low != id_low))) {
        at = &(*at)->next;
    }
    return at;
}

/* ---- streams and users ---- */

shpool_timeline *bins_graph_stream(bins_graph *graph, shpool_stream stream)
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

shpool_timeline *bins_graph_user(bins_self *bins, const bins_block *block, shpool_stream user)
{
    bins_graph *graph = block->slab->heap->graph;
    int captures = 0;

    user = (user == NULL) ? SHPOOL_STREAM_LEGACY : user;
    if (graph != NULL) {
        (void)shpool_timeline_captures(&bins->lanes, user, &captures);
    }
    return captures ? bins_graph_stream(graph, user) : NULL;
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

/* Whether the user captured when it was recorded, or does now; `now` is asked of the driver. */
static int is_captured(bins_self *bins, const bins_use *use, int now)
{
    shpool_timeline *t = use->timeline;
    int captures = 0;

    if (t->home == NULL) { /* as only graphs' are */
        return 1;
    }
    shpool_spin_lock(&t->lock);
    if (now && !t->gone && (t->incarnation == use->incarnation) &&
        ((t->thread == 0) || (t->thread == shpool_thread_number()))) {
        (void)shpool_timeline_captures(&bins->lanes, use->stream, &captures);
    }
    shpool_spin_unlock(&t->lock);
    return captures;
}

int bins_graph_forget_users(bins_self *bins, bins_block *block, const shpool_timeline *t, int now)
{
    bins_use **at = &block->uses;
    int others = 0;

    while (*at != NULL) {
        bins_use *use = *at;

        if (is_captured(bins, use, now)) {
            others |= (use->timeline != t);
            *at = use->next;
            free(use);
        } else {
            at = &use->next;
        }
    }
    return others;
}

/* ---- memory that goes back ---- */

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

void bins_graph_forget_streams(bins_graph *graph)
{
    while (graph->streams != NULL) {
        shpool_timeline *t = graph->streams;

        graph->streams = t->next;
        free(t);
    }
}

void bins_graph_forget_order(bins_self *bins, bins_graph *graph)
{
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(graph->heap); i++) {
        for (bins_slab *slab = graph->heap[i].slabs; slab != NULL; slab = slab->next) {
            for (bins_block *block = slab->first; block != NULL; block = block->above) {
                block->last = NULL;
                (void)bins_graph_forget_users(bins, block, NULL, 0);
            }
        }
    }
    bins_graph_forget_streams(graph);
}

void bins_graph_drop(bins_self *bins, bins_graph *graph)
{
    if ((graph->holds > 0) || graph->open) {
        return;
    }
    bins_graph_forget_order(bins, graph);
    release_whole(bins, graph);
    if ((graph->heap[0].slabs == NULL) && (graph->heap[1].slabs == NULL)) {
        *bins_graph_place(bins, graph->id_high, graph->id_low) = graph->next;
        free(graph);
    }
}

void bins_graph_put(bins_self *bins, bins_block *block)
{
    bins_graph *graph = block->slab->heap->graph; /* the block may become part of a neighbour */

    bins_heap_put(bins, block);
    bins_graph_drop(bins, graph);
}
