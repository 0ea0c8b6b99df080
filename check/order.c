/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens before what, in a block: vector clocks.
 *
 * The executor announces the edges of barriers, __syncwarp() and mbarriers to ThreadSanitizer
 * (simt/join.c): the functions of that name here receive them.  Atomics and volatile accesses are
 * relaxed in CUDA.  One that follows a fence of its thread releases what came before that fence;
 * every one acquires what was released to its address.  CUDA also wants a fence after the acquiring
 * one; this is not checked.
 *
 * Views are shared and counted: the threads that leave a barrier have the same one. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define SPARES 256u

typedef check_view         view;
typedef check_thread_order thread_order;
thread_order check_thread_orders[SHPOOL_MAX_THREADS];

/** An object of the executor, or an address of atomics. */
typedef struct meeting {
    const void *key;   /* NULL: a free place */
    view       *merged;
    view       *last;  /* that was merged last */
    uint32_t    block; /* that released it */
    uint32_t   *blocks; /* one bit for each block of the launch that released it, or NULL */
} meeting;

static struct {
    thread_order *thread;
    uint32_t threads;
    uint32_t blocks;
    view    *spares[SPARES];
    uint32_t spare_count;
    meeting *table;
    size_t   room;
    size_t   used;
    uint32_t *known;    /* blocks that this one has acquired */
    uint32_t  acquired; /* there is one */
} order = { .thread = check_thread_orders };

/* ---- views ---- */

static view *view_new(void)
{
    view *v = (order.spare_count > 0)
                  ? order.spares[--order.spare_count]
                  : check_memory(malloc(sizeof(view) + sizeof(uint32_t) * SHPOOL_MAX_THREADS));

    v->users = 1;
    return v;
}

static void view_drop(view *v)
{
    if ((v != NULL) && (--v->users == 0)) {
        if (order.spare_count < SPARES) {
            order.spares[order.spare_count++] = v;
        } else {
            free(v);
        }
    }
}

static view *view_share(view *v)
{
    v->users++;
    return v;
}

/* A copy that is the caller's own. */
static view *view_own(view *v)
{
    view *own;

    if (v->users == 1) {
        return v;
    }
    own = view_new();
    memcpy(own->tick, v->tick, sizeof(uint32_t) * order.threads);
    view_drop(v);
    return own;
}

static void view_merge(view *to, const view *from)
{
    for (uint32_t i = 0; i < order.threads; i++) {
        to->tick[i] = (from->tick[i] > to->tick[i]) ? from->tick[i] : to->tick[i];
    }
}

/* ---- objects, by address ---- */

static size_t slot_of(const void *key)
{
    return (((size_t)key >> 2) * 0x9e3779b97f4a7c15ull >> 20) & (order.room - 1u);
}

static meeting *meeting_find(const void *key)
{
    for (size_t i = (order.room != 0) ? slot_of(key) : 0; order.room != 0;
         i = (i + 1u) & (order.room - 1u)) {
        if (order.table[i].key == key) {
            return &order.table[i];
        }
        if (order.table[i].key == NULL) {
            return NULL;
        }
    }
    return NULL;
}

static meeting *meeting_make(const void *key)
{
    meeting *found = meeting_find(key);
    size_t   i;

    if (found != NULL) {
        return found;
    }
    if (2u * (order.used + 1u) > order.room) {
        meeting *old  = order.table;
        size_t   room = order.room;

        order.room  = (room == 0) ? 256u : 2u * room;
        order.table = check_memory(calloc(order.room, sizeof(*order.table)));
        for (i = 0; i < room; i++) {
            if (old[i].key != NULL) {
                size_t j = slot_of(old[i].key);

                while (order.table[j].key != NULL) {
                    j = (j + 1u) & (order.room - 1u);
                }
                order.table[j] = old[i];
            }
        }
        free(old);
    }
    for (i = slot_of(key); order.table[i].key != NULL; i = (i + 1u) & (order.room - 1u)) {
    }
    order.table[i] = (meeting){ .key = key };
    order.used++;
    return &order.table[i];
}

static void meeting_clear(meeting *m)
{
    view_drop(m->merged);
    view_drop(m->last);
    free(m->blocks);
    m->merged = NULL;
    m->blocks = NULL;
    m->last   = NULL;
}

/* libshpool.so calls them */
#define CALLED SHPOOL_API
CALLED void shpool_check_forget(void *key);
CALLED void __tsan_release(void *key);
CALLED void __tsan_acquire(void *key);

/* The object ends; later ones of its address begin afresh. */
void shpool_check_forget(void *key)
{
    meeting *m = meeting_find(key);

    if (m != NULL) {
        meeting_clear(m); /* its place stays: the next one often has the same address */
    }
}

static void release(const void *key, view *seen, uint32_t thread, uint32_t tick)
{
    meeting *m = meeting_make(key);

    if (m->block != check_now.block) {
        view_drop(m->merged); /* of threads that are no more */
        view_drop(m->last);
        m->merged = NULL;
        m->last   = NULL;
        m->block  = check_now.block;
    }
    if (m->merged == NULL) {
        m->merged = view_own(view_share(seen));
    } else {
        m->merged = view_own(m->merged);
        if (m->last != seen) {
            view_merge(m->merged, seen);
        }
    }
    if (m->last != seen) {
        view_drop(m->last);
        m->last = view_share(seen); /* nobody changes a view that has two users */
    }
    if (m->merged->tick[thread] < tick) {
        m->merged->tick[thread] = tick;
    }
}

/* A block that ends releases nothing: only what it gave to atomics is known to later ones. */
static void release_block(const void *key)
{
    meeting *m     = meeting_make(key);
    size_t   words = order.blocks / 32u + 1u;
    uint32_t own   = check_now.block - check_now.first;

    if (m->blocks == NULL) {
        m->blocks = check_memory(calloc(words, sizeof(*m->blocks)));
    }
    for (size_t i = 0; (order.acquired != 0) && (i < words); i++) {
        m->blocks[i] |= order.known[i];
    }
    m->blocks[own / 32u] |= 1u << (own % 32u);
}

static void acquire(const meeting *m, thread_order *t)
{
    if ((m->blocks != NULL) && (m->block != check_now.block)) {
        for (size_t i = 0; i < order.blocks / 32u + 1u; i++) {
            order.known[i] |= m->blocks[i];
        }
        order.acquired = 1;
    }
    if ((m->merged == NULL) || (m->block != check_now.block)) {
        return;
    }
    if (t->released == m->key) {
        view_drop(t->seen);
        t->seen = view_share(m->merged); /* it has all that the thread knew */
    } else {
        t->seen = view_own(t->seen);
        view_merge(t->seen, m->merged);
    }
    t->released = NULL;
}

/* ---- the executor's edges ---- */

void __tsan_release(void *key)
{
    thread_order *t;

    if ((simt_self == NULL) || (order.threads == 0)) {
        return; /* the launch itself */
    }
    t = &order.thread[simt_self->rank];
    if (t->seen != NULL) {
        release(key, t->seen, simt_self->rank, t->now);
        t->now++;
        t->released = key;
    }
}

void __tsan_acquire(void *key)
{
    const meeting *m = ((simt_self != NULL) && (order.threads != 0)) ? meeting_find(key) : NULL;

    if ((m != NULL) && (order.thread[simt_self->rank].seen != NULL)) {
        acquire(m, &order.thread[simt_self->rank]);
    }
}

/* ---- fences and atomics ---- */

void shpool_check_fence(void)
{
    thread_order *t;

    if (simt_self == NULL) {
        return;
    }
    t = &order.thread[simt_self->rank];
    view_drop(t->fenced);
    t->fenced = view_share(t->seen);
    t->fence  = t->now++;
}

void check_sync(const void *ptr, unsigned how)
{
    thread_order  *t = &order.thread[simt_self->rank];
    const meeting *m;

    if ((how & SHPOOL_CHECK_ACQUIRE) != 0) {
        m = meeting_find(ptr);
        if (m != NULL) {
            acquire(m, t);
        }
    }
    if ((how & SHPOOL_CHECK_RELEASE) != 0) {
        shpool_check_fence();
    }
    if (((how & SHPOOL_CHECK_WRITE) != 0) && (t->fence != 0)) {
        release(ptr, t->fenced, simt_self->rank, t->fence);
        if (order.blocks > 1) {
            release_block(ptr);
        }
    }
}

/* ---- questions ---- */

uint32_t check_tick(void) { return order.thread[simt_self->rank].now; }

int check_known(uint32_t thread, uint32_t tick)
{
    const thread_order *t = &order.thread[simt_self->rank];

    return (thread == simt_self->rank) || (t->seen->tick[thread] >= tick);
}

int check_block_known(uint32_t block)
{
    uint32_t n = block - check_now.first;

    return (block < check_now.first) || ((order.known[n / 32u] >> (n % 32u) & 1u) != 0);
}

/* ---- blocks ---- */

void check_order_begin(uint32_t threads, uint32_t blocks)
{
    view *none;

    for (uint32_t i = 0; i < order.threads; i++) {
        view_drop(order.thread[i].seen);
        view_drop(order.thread[i].fenced);
    }
    if (order.known == NULL) {
        order.known = check_memory(calloc(blocks / 32u + 1u, sizeof(*order.known)));
    } else if (order.acquired != 0) {
        memset(order.known, 0, (blocks / 32u + 1u) * sizeof(*order.known));
    }
    order.acquired = 0;
    order.threads  = threads;
    order.blocks   = blocks;
    none           = view_new();
    none->users    = threads;
    memset(none->tick, 0, sizeof(uint32_t) * threads);
    for (uint32_t i = 0; i < threads; i++) {
        order.thread[i] = (thread_order){ .seen = none, .now = 1 };
    }
}

void check_order_end_launch(void)
{
    for (uint32_t i = 0; i < order.threads; i++) {
        view_drop(order.thread[i].seen);
        view_drop(order.thread[i].fenced);
        order.thread[i] = (thread_order){ .seen = NULL };
    }
    for (size_t i = 0; i < order.room; i++) {
        if (order.table[i].key != NULL) {
            meeting_clear(&order.table[i]);
            order.table[i].key = NULL;
        }
    }
    order.used    = 0;
    order.threads = 0;
    free(order.known);
    order.known = NULL;
}
