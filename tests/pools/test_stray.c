/* SPDX-License-Identifier: BSD-3-Clause */
/* check=1, and one random word of a pool changes in mid-run: nothing may hang, touch memory outside
 * the pool, or reuse memory of a live allocation without a report.
 *
 *     test_stray [RUNS [ALLOCATOR [FIRST]]]   runs of each allocator, the seed of the first one
 *
 * RUNS is 150 unless it is given; with LIBSHPOOL_TEST_LONG it is 1,000,000. */
#include "stray_trial.h"

#define RUNS_LONG 1000000u /* of each allocator */

static void test_one_word_changes(void **state)
{
    uint32_t bad = 0;

    (void)state;
    FOR_EACH_POOL(allocator) {
        tally sum = { 0 };

        if ((wanted.only != NULL) && (strcmp(wanted.only, allocator->name) != 0)) {
            continue;
        }
        for (uint32_t shape = 0; shape < 8u; shape++) {
            stray_open(allocator, shape, THREADS, "");
            for (uint32_t i = shape; i < wanted.runs; i += 8u) {
                run_once(allocator, wanted.first + i, &sum);
            }
            shpool_simt_close(&s.pool);
        }
        bad += bad_runs("", allocator, &sum);
    }
    assert_int_equal(bad, 0);
}

/* Runs that once went wrong, and are too rare for a short test to meet. */
static void test_runs_that_went_wrong(void **state)
{
    static const struct {
        const char *name;
        uint32_t    seed, shape;
    } met[] = {
        { "arena", 97, 0 }, { "arena", 409, 0 }, { "bitmap", 859, 2 }, { "bitmap", 953, 0 },
        { "bitmap", 1905, 0 }, { "bitmap", 2982, 5 }, { "cluster_bitmap", 738, 1 },
        { "cluster_bitmap", 859, 2 }, { "freelist", 312, 7 }, { "freelist", 1739, 2 },
        { "rbtree", 758, 5 }, { "rbtree", 1801, 0 }, { "rbtree", 41443, 2 },
        { "rbtree", 188307, 3 }, { "rbtree", 521806, 6 }, { "thread_bitmap", 1049, 0 },
        { "warp_best_fit", 24, 7 }, { "warp_first_fit", 758, 5 },
    };
    const shpool_allocator *allocator;
    tally                   sum = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(met) / sizeof(met[0]); i++) {
        if (shpool_allocator_find(met[i].name, &allocator) == SHPOOL_OK) {
            stray_open(allocator, met[i].shape, THREADS, "");
            run_once(allocator, met[i].seed, &sum);
            shpool_simt_close(&s.pool);
        }
    }
    assert_int_equal(sum.hung + sum.outside + sum.twice + sum.spoilt + sum.wrong, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_word_changes),
        cmocka_unit_test(test_runs_that_went_wrong),
    };

    s.act        = act_alone;
    wanted.runs  = (getenv("LIBSHPOOL_TEST_LONG") != NULL) ? RUNS_LONG : wanted.runs;
    wanted.runs  = (argc > 1) ? (uint32_t)strtoul(argv[1], NULL, 10) : wanted.runs;
    wanted.only  = (argc > 2) ? argv[2] : NULL;
    wanted.first = (argc > 3) ? (uint32_t)strtoul(argv[3], NULL, 10) : wanted.first;
    unsetenv("SHPOOL_ALLOCATOR");
#if defined(__SANITIZE_THREAD__)
    return 77; /* a stray write is a race, and so are all that follow from it */
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
