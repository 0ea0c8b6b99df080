/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests an allocator on the CPU block executor, before it runs on a GPU: `own`, or the named one,
 * such as `bump`.
 *
 *   ./trial [NAME]
 *
 * A block's threads allocate, write, compare and free at random: first in seeded schedules, then
 * two threads in every schedule with up to three preemptions.  shpool/module.h has the contract of
 * an allocator; this tests the part that breaks first.  Build it with -fsanitize=thread as well.
 */
#include <stdio.h>

#include <shpool/executor.h>
#include <shpool/heap.h>
#include <shpool/shpool.h>

extern const shpool_allocator shpool_allocator_own, shpool_allocator_bump; /* host.c */

#define HELD  4u  /* most allocations of a thread */
#define SEEDS 20u

typedef struct trial {
    shpool_pool pool;
    uint32_t    held, rounds; /* of a thread */
    uint32_t    most;         /* bytes */
    uint32_t    served, refused, wrong; /* NULL is a valid result, too */
} trial;

typedef struct held {
    unsigned char *bytes;
    uint32_t       count, mark;
} held;

static void expect(trial *t, int holds)
{
    if (!holds) { (void)simt_global_add32(&t->wrong, 1); }
}

static void take(trial *t, shpool_heap heap, held *h, uint32_t bytes, uint32_t mark)
{
    void *p = shpool_malloc(heap, bytes);

    *h = (held){ p, (p != NULL) ? bytes : 0, mark & 0xffu };
    (void)simt_global_add32((p != NULL) ? &t->served : &t->refused, 1);
    expect(t, (p == NULL) || ((shpool_usable_size(heap, p) >= bytes) &&
                              (simt_to_shared(p) % 16u == 0)));
    for (uint32_t i = 0; i < h->count; i++) { simt_store8(simt_to_shared(p) + i, (uint8_t)mark); }
}

static void give_back(trial *t, shpool_heap heap, held *h)
{
    for (uint32_t i = 0; i < h->count; i++) {
        expect(t, simt_load8(simt_to_shared(h->bytes) + i) == h->mark);
    }
    expect(t, (h->bytes == NULL) || (shpool_free_at(heap, h->bytes, 0) == SHPOOL_FREE_OK));
    *h = (held){ 0 };
}

static void kernel(void *arg)
{
    trial      *t         = arg;
    shpool_heap heap      = shpool_init(&t->pool, simt_from_shared(simt_dynamic_base()));
    held        all[HELD] = { { 0 } };
    uint32_t    random    = simt_thread_rank() * 2654435761u + 12345u;

    for (uint32_t round = 0; round < t->rounds; round++) {
        random = random * 1664525u + 1013904223u;

        held *h = &all[(random >> 30) % t->held];

        if (h->bytes == NULL) {
            take(t, heap, h, 1u + (random >> 8) % t->most, simt_thread_rank() + round);
        } else {
            give_back(t, heap, h);
        }
    }
    for (uint32_t i = 0; i < t->held; i++) { give_back(t, heap, &all[i]); }
    simt_barrier();
    if ((heap.view.flags & SHPOOL_FLAG_LEADER) != 0) { /* everything has been freed */
        const shpool_walk walk = shpool_check(heap);

        expect(t, (walk.broken == 0) && (walk.live == 0) &&
                      (shpool_largest(heap) == t->pool.largest));
    }
    shpool_fini(heap);
}

static int is_wrong(void *arg) { return ((const trial *)arg)->wrong != 0; }

/* Runs a block of `threads` threads: with SEEDS schedules, or, if `explore`, with two allocations
 * for each thread and every schedule.  1: one of them fails. */
static int run(const char *name, uint32_t threads, int explore)
{
    const shpool_config want   = { .block_threads = threads, .payload_bytes = 160 * threads };
    const simt_bounds   bounds = { .preemptions = 3 };
    const simt_hooks    hooks  = { .after = is_wrong };
    trial               t      = { .held = explore ? 1 : HELD, .rounds = explore ? 4 : 60,
                                   .most = explore ? 4 : 90 };
    simt_result         result = { .complete = 1 };

    if (shpool_simt_open(name, &want, &t.pool) != SHPOOL_OK) {
        fprintf(stderr, "trial: %s: %s\n", name, shpool_last_error());
        return 1;
    }
    simt_launch launch = { .block = { threads }, .dynamic_bytes = t.pool.shared_bytes,
                           .switch_period = explore ? 0 : 3 };
    int         status = SHPOOL_OK;

    if (explore) { status = simt_explore(&launch, &bounds, &hooks, kernel, &t, &result); }
    for (launch.seed = 1; !explore && (status == SHPOOL_OK) && (launch.seed <= SEEDS);
         launch.seed++) {
        status = simt_run(&launch, kernel, &t, &result);
    }
    printf("%s: %u threads, %s: %u allocations, %u refused, %u wrong\n", name, threads,
           (status != SHPOOL_OK) ? result.text
           : explore             ? "all schedules with 3 preemptions"
                                 : "seeded schedules", t.served, t.refused, t.wrong);
    shpool_simt_close(&t.pool);
    return (status != SHPOOL_OK) || (t.wrong != 0) || (t.served == 0) ||
           (explore && !result.complete);
}

int main(int argc, char **argv)
{
    const char *name = (argc > 1) ? argv[1] : "own";

    if ((shpool_register(&shpool_allocator_own) != SHPOOL_OK) ||
        (shpool_register(&shpool_allocator_bump) != SHPOOL_OK)) {
        fprintf(stderr, "trial: %s\n", shpool_last_error());
        return 1;
    }
    return run(name, 33, 0) | run(name, 2, 1); /* a warp and a single thread in the next one */
}
