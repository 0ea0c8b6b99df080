/* SPDX-License-Identifier: BSD-3-Clause */
/* First fit takes the first block that is large enough, best fit the smallest. */
#include "heap_trial.h"

static trial t;

static int ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);

    return (length >= strlen(end)) && (strcmp(name + length - strlen(end), end) == 0);
}

/* Blocks are taken from the high end, so the last allocation lies first.  From low to high
 * addresses: a hole of 140 usable bytes, a wall, one of 44, a wall, one of 60, a wall. */
static void policy_kernel(void *arg)
{
    static const uint32_t sizes[] = { 12, 60, 12, 44, 12, 140 };
    trial      *p    = (trial *)arg;
    shpool_heap heap = trial_init(p);
    heap_slot   slot[6], first, exact, next;

    for (uint32_t i = 0; i < 6; i++) {
        HEAP_EXPECT(&p->model, trial_malloc(p, heap, &slot[i], sizes[i], 16, i));
        HEAP_EXPECT(&p->model, slot[i].bytes == sizes[i]);
    }
    size_t rest = shpool_largest(heap); /* below all of them; taken, so that only holes are left */

    HEAP_EXPECT(&p->model, (rest > 0) && trial_malloc(p, heap, &first, rest, 16, 9));
    for (uint32_t i = 1; i < 6; i += 2) {
        trial_free(p, heap, &slot[i]);
    }

    HEAP_EXPECT(&p->model, trial_malloc(p, heap, &exact, 30, 16, 10));
    HEAP_EXPECT(&p->model, trial_malloc(p, heap, &next, 50, 16, 11));
    if (p->number != 0) { /* best fit: 44 for 30, then 60 for 50 */
        HEAP_EXPECT(&p->model, (exact.at > slot[4].at) && (exact.at < slot[2].at));
        HEAP_EXPECT(&p->model, (next.at > slot[2].at) && (next.at < slot[0].at));
    } else { /* first fit: both from the hole of 140 */
        HEAP_EXPECT(&p->model, exact.at < slot[4].at);
        HEAP_EXPECT(&p->model, next.at < exact.at);
    }
    trial_free(p, heap, &exact);
    trial_free(p, heap, &next);
    for (uint32_t i = 0; i < 6; i += 2) {
        trial_free(p, heap, &slot[i]);
    }
    trial_free(p, heap, &first);
    trial_expect_fresh(p, heap);
}

static void test_which_block_serves(void **state)
{
    unsigned tried = 0;

    (void)state;
    FOR_EACH_POOL(allocator) {
        int best = ends_with(allocator->name, "_best_fit") || ends_with(allocator->name, "rbtree");

        if (best || ends_with(allocator->name, "_fit")) {
            trial_open(&t, allocator, "", 1, 1000, 16);
            t.number = (size_t)best;
            trial_run(&t, policy_kernel);
            trial_close(&t);
            tried++;
        }
    }
    if (tried == 0) {
        skip(); /* --enable-allocators left them out */
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_block_serves),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
