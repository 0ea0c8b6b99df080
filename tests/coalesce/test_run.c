/* SPDX-License-Identifier: BSD-3-Clause */
/* Rewritten PTX does what the plain PTX does: kernels of nvcc on the machine of ptx_machine.h, over
 * blocks, sizes, tails, misalignments, overlaps and schedules. */
#include "tests/unit.h"

#include "ptx_trial.h"

static uint32_t trials_per_kernel(void)
{
    return (getenv("LIBSHPOOL_TEST_LONG") != NULL) ? 1000 : 60;
}

/* 1: the machine has no use for it: blocks of two dimensions, or minutes. */
static int is_left_out(const trial_kernel *kernel)
{
    return (strcmp(kernel->name, "transposed") == 0) || (strcmp(kernel->name, "rows256") == 0);
}

static void compare_all(const char *file, const trial_kernel *kernels, size_t count, int force,
                        size_t least_groups)
{
    const ptx_request request   = { .plan = { .force = force } };
    trial_text        plain     = trial_read(file);
    size_t            groups;
    trial_text        rewritten = trial_rewrite(&plain, &request, &groups);
    uint64_t          compared  = 0;
    uint64_t          saved     = 0; /* requests */

    assert_true(groups >= least_groups);
    for (size_t k = 0; k < count; k++) {
        for (uint32_t i = 0; !is_left_out(&kernels[k]) && (i < trials_per_kernel()); i++) {
            const trial_setup   setup   = trial_setup_of(&kernels[k], i);
            const trial_outcome outcome = trial_compare(&plain, &rewritten, &kernels[k], &setup);

            if (!outcome.same) {
                fail_msg("%s", outcome.what);
            }
            saved += (outcome.requests < outcome.plain_requests);
            compared++;
        }
    }
    assert_true(saved > compared / 20); /* the fast path is taken */
    print_message("%llu comparisons, %llu of them with fewer requests\n",
                  (unsigned long long)compared, (unsigned long long)saved);
    trial_free(&plain);
    trial_free(&rewritten);
}

static void test_suite_by_the_cost_rule(void **state)
{
    (void)state;
    compare_all("suite.ptx", trial_suite, trial_suite_count, 0, 30);
}

static void test_suite_forced(void **state)
{
    (void)state;
    compare_all("suite.ptx", trial_suite, trial_suite_count, 1, 50);
}

static void test_defects_by_the_cost_rule(void **state)
{
    (void)state;
    compare_all("defects.ptx", trial_defects, trial_defect_count, 0, 30);
}

static void test_defects_forced(void **state)
{
    (void)state;
    compare_all("defects.ptx", trial_defects, trial_defect_count, 1, 40);
}

static void test_by_hand(void **state)
{
    (void)state;
    compare_all("hand.ptx", trial_by_hand, trial_by_hand_count, 0, 10);
    compare_all("hand.ptx", trial_by_hand, trial_by_hand_count, 1, 10);
}

static void test_kernels_of_both_routes(void **state)
{
    (void)state;
    compare_all("both.ptx", trial_both, trial_both_count, 0, 14);
}

/* ---- the tests' test: faults in rewritten code are seen ---- */

/* `from` becomes `to` wherever it stands. */
static char *replaced(const char *text, const char *from, const char *to, size_t *count_p)
{
    const size_t grown = strlen(text) * (1 + strlen(to) / strlen(from)) + 1;
    char        *out   = malloc(grown);
    char        *end   = out;

    *count_p = 0;
    assert_non_null(out);
    for (const char *at = text; *at != '\0';) {
        if (strncmp(at, from, strlen(from)) == 0) {
            end = stpcpy(end, to);
            at += strlen(from);
            ++*count_p;
        } else {
            *end++ = *at++;
        }
    }
    *end = '\0';
    return out;
}

static int is_noticed(const trial_text *plain, const trial_text *faulty,
                      const trial_kernel *kernels, size_t count)
{
    for (uint32_t i = 0; i < 200; i++) {
        for (size_t k = 0; k < count; k++) {
            trial_setup   setup;
            trial_outcome outcome;

            if (is_left_out(&kernels[k])) {
                continue;
            }
            setup   = trial_setup_of(&kernels[k], i);
            outcome = trial_compare(plain, faulty, &kernels[k], &setup);
            assert_true(outcome.plain_ran);
            if (!outcome.same) {
                return 1;
            }
        }
    }
    return 0;
}

static const struct { const char *from; const char *to; } faults[] = {
    /* G1, G2, G3, G4: value 0 is the mask, 1 its comparison */
    { "setp.eq.s32 %shpc_p1, %shpc_w0, -1;", "setp.eq.s32 %shpc_p1, %shpc_w0, %shpc_w0;" },
    { "vote.sync.all.pred", "or.pred" },
    { "vote.sync.all.pred", "and.pred" }, /* lanes disagree */
    { "setp.eq.s64 %shpc_p", "setp.ge.u64 %shpc_p" },
    { "setp.gt.u64 %shpc_p", "setp.ne.u64 %shpc_p" },
    { "and.pred %shpc_p", "or.pred %shpc_p" },
    /* the arithmetic of lanes and units */
    { "rem.u32 %shpc_w", "div.u32 %shpc_w" },
    { "mul.lo.s32 %shpc_w", "add.s32 %shpc_w" },
    { "add.s32 %shpc_w", "sub.s32 %shpc_w" },
    { "and.b32 %shpc_w", "or.b32 %shpc_w" },
    { "mul.wide.s32 %shpc_d", "mul.wide.u32 %shpc_d" },
    { "add.s64 %shpc_d", "sub.s64 %shpc_d" },
    { "shfl.sync.bfly.b32", "shfl.sync.idx.b32" },
    { "mov.b64 {%shpc_x, ", "mov.b64 {%shpc_w2, " }, /* the lane's number is lost */
    /* the original accesses are lost */
    { "bra $Lshpc_slow", "bra $Lshpc_done" },
};

static void expect_noticed(const char *from, const char *to)
{
    const struct { const char *file; const trial_kernel *kernels; size_t count; } sets[] = {
        { "defects.ptx", trial_defects, trial_defect_count },
        { "suite.ptx", trial_suite, trial_suite_count },
        { "hand.ptx", trial_by_hand, trial_by_hand_count },
    };
    const ptx_request request = { .plan = { .force = 1 } };
    size_t            planted = 0;

    for (size_t i = 0; i < 3; i++) {
        trial_text   plain = trial_read(sets[i].file);
        size_t       groups;
        size_t       here;
        trial_text   rewritten = trial_rewrite(&plain, &request, &groups);
        trial_text   faulty    = trial_parse(replaced(rewritten.text, from, to, &here));
        int          noticed   = (here > 0) && is_noticed(&plain, &faulty, sets[i].kernels,
                                                           sets[i].count);

        planted += here;
        trial_free(&plain);
        trial_free(&rewritten);
        trial_free(&faulty);
        if (noticed) {
            return;
        }
    }
    fail_msg("%zu times \"%s\" for \"%s\" was not noticed", planted, to, from);
}

static void test_faults_in_rewritten_code_are_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        expect_noticed(faults[i].from, faults[i].to);
    }
}

/* Lanes read values that other lanes of their warp stored for them: the barrier after the
 * stores. */
static void test_missing_warp_barrier_is_noticed(void **state)
{
    (void)state;
    expect_noticed("\tbar.warp.sync -1;\n", "");
}

/* With an argument, the tests whose names it matches: coalesce/planted.sh is in a hurry. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suite_by_the_cost_rule),
        cmocka_unit_test(test_suite_forced),
        cmocka_unit_test(test_defects_by_the_cost_rule),
        cmocka_unit_test(test_defects_forced),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_kernels_of_both_routes),
        cmocka_unit_test(test_faults_in_rewritten_code_are_noticed),
        cmocka_unit_test(test_missing_warp_barrier_is_noticed),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, clear_environment, NULL);
}
