/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests an allocator on the CPU block executor, before it runs on a GPU: `own`, or the named one.
 *
 *   ./trial [NAME]
 *
 * First come seeded schedules of a block whose threads allocate, write, compare and free at random,
 * then every schedule of two threads with up to three preemptions.  shpool/module.h has the
 * contract of an allocator; this tests the part that breaks first.  Build it with -fsanitize=thread
 * as well.
 */
#include <stdio.h>
#include <string.h>

#include <shpool/executor.h>
#include <shpool/heap.h>
#include <shpool/shpool.h>

extern const shpool_allocator shpool_allocator_own; /* host.c */

#define THREADS 33u /* a warp, and a single thread in the next */
#define HELD    4u  /* allocations of a thread */
#define ROUNDS  60u
#define SEEDS   20u

typedef struct trial {
    shpool_pool pool;
    uint32_t    served;
    uint32_t    refused; /* NULL is a valid result, too */
    uint32_t    wrong;
} trial;

typedef struct held {
    unsigned char *bytes;
    uint32_t       count;
    uint32_t       mark;
} held;

static void expect(trial *t, int holds)
{
    if (!holds) {
        (void)simt_global_add32(&t->wrong, 1);
    }
}

static void take(trial *t, shpool_heap heap, held *h, uint32_t bytes, uint32_t mark)
{
    h->bytes = shpool_malloc(heap, bytes);
    h->count = bytes;
    h->mark  = mark & 0xffu;
    if (h->bytes == NULL) {
        (void)simt_global_add32(&t->refused, 1);
        return;
    }
    (void)simt_global_add32(&t->served, 1);
    expect(t, shpool_usable_size(heap, h->bytes) >= bytes);
    expect(t, simt_to_shared(h->bytes) % 16u == 0);
    for (uint32_t i = 0; i < bytes; i++) {
        simt_store8(simt_to_shared(h->bytes) + i, (uint8_t)h->mark);
    }
}

static void give_back(trial *t, shpool_heap heap, held *h)
{
    if (h->bytes != NULL) {
        for (uint32_t i = 0; i < h->count; i++) {
            expect(t, simt_load8(simt_to_shared(h->bytes) + i) == h->mark);
        }
        expect(t, shpool_free_at(heap, h->bytes, 0) == SHPOOL_FREE_OK);
    }
    h->bytes = NULL;
}

/* Called by the whole block when everything has been freed. */
static void expect_empty(trial *t, shpool_heap heap)
{
    simt_barrier();
    if ((heap.view.flags & SHPOOL_FLAG_LEADER) != 0) {
        const shpool_walk walk = shpool_check(heap);

        expect(t, (walk.broken == 0) && (walk.live == 0));
        expect(t, shpool_largest(heap) == t->pool.largest);
    }
    shpool_fini(heap);
}

static void at_random(void *arg)
{
    trial      *t      = arg;
    shpool_heap heap   = shpool_init(&t->pool, simt_from_shared(simt_dynamic_base()));
    held        all[HELD];
    uint32_t    random = simt_thread_rank() * 2654435761u + 12345u;

    memset(all, 0, sizeof(all));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        held *h;

        random = random * 1664525u + 1013904223u;
        h      = &all[random >> 30];
        if (h->bytes == NULL) {
            take(t, heap, h, 1u + (random >> 8) % 90u, simt_thread_rank() + round);
        } else {
            give_back(t, heap, h);
        }
    }
    for (uint32_t i = 0; i < HELD; i++) {
        give_back(t, heap, &all[i]);
    }
    expect_empty(t, heap);
}

static void twice(void *arg)
{
    trial      *t    = arg;
    shpool_heap heap = shpool_init(&t->pool, simt_from_shared(simt_dynamic_base()));

    for (uint32_t round = 0; round < 2; round++) {
        held h;

        take(t, heap, &h, 4, simt_thread_rank() + 1u);
        give_back(t, heap, &h);
    }
    expect_empty(t, heap);
}

static int is_wrong(void *arg)
{
    return ((const trial *)arg)->wrong != 0;
}

static int failed(const char *what, const char *why)
{
    fprintf(stderr, "trial: %s: %s\n", what, why);
    return 1;
}

static int open_pool(const char *name, uint32_t threads, uint32_t each, trial *t,
                     simt_launch *launch)
{
    shpool_config want = { .block_threads = threads, .payload_bytes = each * threads };

    memset(t, 0, sizeof(*t));
    memset(launch, 0, sizeof(*launch));
    if (shpool_simt_open(name, &want, &t->pool) != SHPOOL_OK) {
        return failed(name, shpool_last_error());
    }
    launch->block[0]      = threads;
    launch->dynamic_bytes = t->pool.shared_bytes;
    return 0;
}

static int try_seeds(const char *name)
{
    simt_launch launch;
    simt_result result;
    trial       t;

    if (open_pool(name, THREADS, 160, &t, &launch) != 0) {
        return 1;
    }
    launch.switch_period = 3;
    for (launch.seed = 1; launch.seed <= SEEDS; launch.seed++) {
        if (simt_run(&launch, at_random, &t, &result) != SHPOOL_OK) {
            return failed(name, result.text);
        }
    }
    printf("%s: %u seeds, %u allocations, %u refused, %u wrong\n", name, SEEDS, t.served,
           t.refused, t.wrong);
    shpool_simt_close(&t.pool);
    return (t.wrong != 0) || (t.served == 0);
}

static int try_all_schedules(const char *name)
{
    const simt_bounds bounds = { .preemptions = 3 };
    const simt_hooks  hooks  = { .after = is_wrong };
    simt_launch       launch;
    simt_result       result;
    trial             t;

    if (open_pool(name, 2, 128, &t, &launch) != 0) {
        return 1;
    }
    if (simt_explore(&launch, &bounds, &hooks, twice, &t, &result) != SHPOOL_OK) {
        return failed(name, result.text);
    }
    printf("%s: %llu schedules of two threads, %s\n", name, result.schedules,
           result.complete ? "all with 3 preemptions" : "not all");
    shpool_simt_close(&t.pool);
    return (t.served == 0) || !result.complete;
}

int main(int argc, char **argv)
{
    const char *name = (argc > 1) ? argv[1] : "own";

    if (shpool_register(&shpool_allocator_own) != SHPOOL_OK) {
        return failed("register", shpool_last_error());
    }
    return try_seeds(name) | try_all_schedules(name);
}
