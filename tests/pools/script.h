/* SPDX-License-Identifier: BSD-3-Clause */
/* What a thread does, one operation after another, with all that must hold: malloc and its family,
 * frees, good and bad, and allocations that others free.  fuzz_heap.c reads the operations; here
 * are random ones, too. */
#ifndef SHPOOL_TESTS_SCRIPT_H
#define SHPOOL_TESTS_SCRIPT_H

#include "scene.h"

#define SLOTS 8u

/* Operations are those of fuzz_heap.c. */
typedef struct op {
    char     what;
    uint32_t thread;
    size_t   arg[3];
} op;

/* One thread and what it holds. */
typedef struct actor {
    shpool_heap heap;
    uint32_t    alone;   /* nobody shares its pool */
    uint32_t    spills;  /* some memory is not the pool's */
    uint32_t    exact;   /* the largest free piece tells which requests are served */
    uint32_t    refuses; /* bad frees are refused */
    uint32_t    tag;
    heap_slot   slot[SLOTS];
} actor;

static uint32_t wrong_frees; /* bad frees that a report must tell of */
static uint32_t borrowed; /* times that a thread got a neighbour's memory */

static inline size_t at_least_1(size_t bytes)
{
    return (bytes != 0) ? bytes : 1u;
}

static inline void expect_refused(actor *a, void *ptr)
{
    EXPECT(shpool_free_at(a->heap, ptr, 0) != SHPOOL_FREE_OK);
    simt_global_add32(&wrong_frees, 1);
}

static inline void drop(actor *a, heap_slot *slot)
{
    if (slot->at != NULL) {
        put(a->heap, slot);
    }
}

static inline void do_malloc(actor *a, heap_slot *slot, size_t bytes)
{
    size_t most = shpool_largest(a->heap);
    int    got  = get(a->heap, slot, bytes, a->tag++);

    EXPECT(!a->exact || (got == (at_least_1(bytes) <= most)));
    EXPECT(got || ((t.pool.flags & SHPOOL_FLAG_SPILL_NATIVE) == 0)); /* the host has memory */
    EXPECT(!got || a->spills || simt_is_within(a->heap.window, slot->at));
}

static inline void do_aligned(actor *a, heap_slot *slot, size_t bytes, size_t alignment)
{
    size_t most = shpool_largest(a->heap);
    int    got;

    if ((alignment == 0) || ((alignment & (alignment - 1u)) != 0) ||
        (alignment > t.pool.alignment)) {
        EXPECT(shpool_aligned_malloc(a->heap, alignment, bytes) == NULL);
        heap_model_count_malloc(&t.model, 0);
        return;
    }
    got = get_aligned(a->heap, slot, bytes, (uint32_t)alignment, a->tag++);
    EXPECT(!a->exact || !got || (at_least_1(bytes) <= most));
}

static inline void do_calloc(actor *a, heap_slot *slot, size_t count, size_t each)
{
    unsigned char *ptr  = (unsigned char *)shpool_calloc(a->heap, count, each);
    size_t         bytes = count * each;

    if ((each != 0) && (bytes / each != count)) { /* never reaches the allocator */
        EXPECT(ptr == NULL);
        heap_model_count_malloc(&t.model, 0);
        return;
    }
    for (size_t i = 0; (ptr != NULL) && (i < bytes); i++) {
        EXPECT(ptr[i] == 0);
    }
    (void)trial_got(&t, a->heap, slot, ptr, bytes, 16, a->tag++);
    heap_model_count_malloc(&t.model, slot->bytes);
}

static inline void do_realloc(actor *a, heap_slot *slot, size_t bytes)
{
    size_t most = shpool_largest(a->heap);
    int    got;

    if (slot->at == NULL) {
        void *ptr = shpool_realloc(a->heap, NULL, bytes);

        got = trial_got(&t, a->heap, slot, ptr, bytes, 16, a->tag++);
        heap_model_count_malloc(&t.model, slot->bytes);
    } else {
        got = resize(a->heap, slot, bytes, a->tag++);
    }
    EXPECT(!a->exact || got || (at_least_1(bytes) > most));
}

/* No allocation starts at `addr` for as long as this thread does not make one there. */
static inline int is_never_a_start(const actor *a, simt_addr addr)
{
    if (addr - a->heap.view.base >= a->heap.view.bytes) {
        return 1; /* not of this pool */
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        if ((a->slot[i].at != NULL) && (simt_to_shared(a->slot[i].at) == addr)) {
            return 0;
        }
    }
    return a->alone;
}

static inline void do_wild(actor *a, const op *o)
{
    simt_addr addr = simt_dynamic_base() + (uint32_t)(o->arg[0] % t.pool.shared_bytes);

    if (!is_never_a_start(a, addr)) {
        return;
    }
    if (o->what == 'o') {
        expect_refused(a, simt_from_shared(addr));
    } else {
        EXPECT(shpool_realloc(a->heap, simt_from_shared(addr), o->arg[1]) == NULL);
        if (o->arg[1] <= SHPOOL_MAX_REQUEST) { /* larger ones never reach the allocator */
            simt_global_add32(&wrong_frees, 1);
        }
    }
}

static inline void do_double(actor *a, heap_slot *slot)
{
    void *ptr = slot->at;

    drop(a, slot);
    if (a->alone && (ptr != NULL)) { /* else another thread may have it by now */
        expect_refused(a, ptr);
    }
}

static inline void do_bad(actor *a, const op *o, heap_slot *slot)
{
    if (!a->refuses) {
        return;
    }
    switch (o->what) {
    case 'd':
        do_double(a, slot);
        break;
    case 'x':
        if ((slot->at != NULL) && (slot->bytes > 1)) {
            expect_refused(a, slot->at + 1 + o->arg[1] % (slot->bytes - 1u));
        }
        break;
    default:
        do_wild(a, o);
        break;
    }
}

static inline void do_own(actor *a, const op *o)
{
    static char on_the_host;
    heap_slot  *slot = &a->slot[o->arg[0] % SLOTS];

    switch (o->what) {
    case 'm':
        drop(a, slot);
        do_malloc(a, slot, o->arg[1]);
        break;
    case 'a':
        drop(a, slot);
        do_aligned(a, slot, o->arg[1], o->arg[2]);
        break;
    case 'k':
        drop(a, slot);
        do_calloc(a, slot, o->arg[1], o->arg[2]);
        break;
    case 'r':
        do_realloc(a, slot, o->arg[1]);
        break;
    case 'f':
        drop(a, slot);
        break;
    case 'u':
        EXPECT(shpool_usable_size(a->heap, slot->at) == ((slot->at != NULL) ? slot->bytes : 0));
        heap_verify(&t.model, slot->at, (slot->at != NULL) ? slot->bytes : 0, slot->tag);
        break;
    case 'n':
        expect_refused(a, &on_the_host);
        break;
    default:
        do_bad(a, o, slot);
        break;
    }
}

static inline void check_pool(actor *a)
{
    const shpool_walk walk = trial_expect_unbroken(&t, a->heap);
    uint32_t          live = 0;
    uint32_t          used = 0;

    EXPECT(shpool_largest(a->heap) <= t.pool.largest);
    for (uint32_t i = 0; i < SLOTS; i++) {
        live += (a->slot[i].at != NULL);
        used += (a->slot[i].at != NULL) ? a->slot[i].bytes : 0u;
    }
    EXPECT(!a->alone || ((walk.live == live) && (walk.used == used)));
}

/* All threads hand an allocation to the next one of their pool, in a cluster to one of the next
 * block, which owns it from then on. */
static inline void do_hand_over(heap_slot *slot)
{
    const uint32_t threads = simt_block_threads();
    const uint32_t rank    = simt_thread_rank();
    const uint32_t share   = t.pool.threads_per_pool;
    const uint32_t first   = rank / share * share;
    const uint32_t begin   = simt_cluster_rank() * threads;
    uint32_t       next    = rank + 1u;

    if ((next == first + share) || (next == threads)) {
        next = first;
    }
    if (simt_cluster_blocks() > 1u) {
        next = (threads + rank) % (threads * simt_cluster_blocks());
    }
    t.box[(begin + next) % (threads * simt_cluster_blocks())] = *slot;
    trial_barrier();
    *slot = t.box[begin + rank];
    trial_barrier();
}

static inline actor new_actor(shpool_heap heap)
{
    const uint32_t rank   = simt_thread_rank();
    const uint32_t share  = t.pool.threads_per_pool;
    const uint32_t spills = (t.pool.flags & SHPOOL_FLAG_SPILL) || !has_pool(t.allocator);
    actor          a      = { .heap = heap, .spills = spills, .tag = rank << 16 };

    a.alone   = (simt_cluster_blocks() == 1u) &&
                ((share == 1u) || (simt_block_threads() - rank / share * share == 1u));
    a.exact   = a.alone && !spills;
    a.refuses = ((t.pool.flags & SHPOOL_FLAG_CHECK) != 0) || has_cap(&t, SHPOOL_CAP_REFUSES);
    return a;
}

/* ---- a random script of each thread ---- */

static inline size_t random_size(uint32_t *state)
{
    const uint32_t roll = heap_random(state) % 16u;

    return heap_random(state) % ((roll < 10u) ? 80u : (roll < 15u) ? 600u : t.pool.largest + 64u);
}

static inline op random_op(const actor *a, uint32_t *state)
{
    const uint32_t slot = heap_random(state) % SLOTS;
    const uint32_t roll = heap_random(state);
    op             o    = { "mmka"[roll % 4u], 0, { slot, random_size(state), 16u } };

    if (a->slot[slot].at != NULL) {
        o.what = "frf"[roll % 3u];
    } else if (o.what == 'k') {
        o.arg[1] = o.arg[1] / 4u + 1u;
        o.arg[2] = 4u;
    }
    while ((o.what == 'a') && (o.arg[2] < t.pool.alignment) && (heap_random(state) % 2u != 0)) {
        o.arg[2] *= 2u;
    }
    return o;
}

static inline void script(shpool_heap heap)
{
    actor    a     = new_actor(heap);
    uint32_t state = (t.seed * 1025u + simt_block_rank() * 7919u + simt_thread_rank()) *
                     2654435769u;

    for (uint32_t step = 0; step < t.steps; step++) {
        const op    o  = random_op(&a, &state);
        const void *at = (do_own(&a, &o), a.slot[o.arg[0]].at);

        if ((at != NULL) && (owner_of(at) != simt_cluster_rank())) {
            simt_global_add32(&borrowed, 1);
        }
        if ((step % 8u == 7u) && ((t.pool.threads_per_pool > 1u) || (simt_cluster_blocks() > 1u))) {
            do_hand_over(&a.slot[step / 8u % SLOTS]);
        }
    }
    put_all(heap, a.slot, SLOTS);
}

#endif /* SHPOOL_TESTS_SCRIPT_H */
