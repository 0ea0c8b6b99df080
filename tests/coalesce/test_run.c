/* SPDX-License-Identifier: BSD-3-Clause */
/* Rewritten PTX does what the plain PTX does: kernels of nvcc on the machine of ptx_machine.h, over
 * blocks, sizes, tails, misalignments, overlaps and schedules. */
#include "tests/unit.h"

#include <unistd.h>

#include "ptx_trial.h"

/* ---- what is run ---- */

static trial_text texts[128];
static size_t     text_count;
static char     **files; /* arguments; NULL: hand.ptx, and the kernels in tests/corpus/ptx */

static int read_texts(void **state)
{
    const char *top     = getenv("top_srcdir");
    size_t      kernels = 0;

    (void)clear_environment(state);
    assert_int_equal(chdir((top != NULL) ? top : "."), 0);
    for (char **file = files; (file != NULL) && (*file != NULL); file++) {
        texts[text_count++] = trial_read(*file);
    }
    if (files == NULL) {
        texts[text_count++] = trial_read("tests/coalesce/hand.ptx");
    }
    for (size_t k = 0; k < trial_kernel_count; k++) {
        size_t i = 0;
        char   path[100];

        (void)snprintf(path, sizeof(path), "tests/corpus/ptx/%s.ptx", trial_kernels[k].name);
        if ((files == NULL) && (access(path, R_OK) == 0)) {
            texts[text_count++] = trial_read(path);
        }
        while ((i < text_count) && !trial_has(&texts[i], trial_kernels[k].name)) {
            i++;
        }
        kernels += (i < text_count);
    }
    print_message("%zu of %zu kernels\n", kernels, trial_kernel_count);
    return (files == NULL) && (kernels < 20); /* lost files would be lost tests */
}

static int free_texts(void **state)
{
    for (size_t i = 0; i < text_count; i++) {
        trial_free(&texts[i]);
    }
    return 0;
}

static uint32_t trials_per_kernel(void)
{
    return (getenv("LIBSHPOOL_TEST_LONG") != NULL) ? 1000 : 60 / UNIT_STEP;
}

/* 0 also if the machine has no use for it: blocks of two dimensions, or minutes. */
static int is_run(const trial_text *text, const trial_kernel *kernel)
{
    return (strcmp(kernel->name, "transposed") != 0) && (strcmp(kernel->name, "rows256") != 0) &&
           trial_has(text, kernel->name);
}

static void compare_all(int force)
{
    const ptx_request request  = { .plan = { .force = force } };
    size_t            kernels  = 0;
    size_t            groups   = 0;
    uint64_t          compared = 0;
    uint64_t          saved    = 0; /* requests */

    for (size_t i = 0; i < text_count; i++) {
        size_t     here;
        trial_text rewritten = trial_rewrite(&texts[i], &request, &here);

        groups += here;
        for (const trial_kernel *k = trial_kernels; k < trial_kernels + trial_kernel_count; k++) {
            const int runs = is_run(&texts[i], k);

            kernels += (size_t)runs;
            for (uint32_t n = 0; runs && (n < trials_per_kernel()); n++) {
                const trial_setup   setup   = trial_setup_of(k, n);
                const trial_outcome outcome = trial_compare(&texts[i], &rewritten, k, &setup);

                if (!outcome.same) {
                    fail_msg("%s", outcome.what);
                }
                saved += (outcome.requests < outcome.plain_requests);
                compared++;
            }
        }
        trial_free(&rewritten);
    }
    print_message("%zu kernels, %zu records, %llu comparisons, %llu of them with fewer requests\n",
                  kernels, groups, (unsigned long long)compared, (unsigned long long)saved);
    assert_true(groups >= kernels / 2);
    assert_true(saved > compared / 20); /* the fast path is taken */
}

static void test_run_by_the_cost_rule(void **state)
{
    compare_all(0);
}

static void test_run_forced(void **state)
{
    compare_all(1);
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

static int is_noticed(const trial_text *plain, const trial_text *faulty)
{
    for (uint32_t n = 0; n < 200; n++) {
        for (const trial_kernel *k = trial_kernels; k < trial_kernels + trial_kernel_count; k++) {
            if (is_run(plain, k)) {
                const trial_setup   setup   = trial_setup_of(k, n);
                const trial_outcome outcome = trial_compare(plain, faulty, k, &setup);

                assert_true(outcome.plain_ran);
                if (!outcome.same) {
                    return 1;
                }
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
    const ptx_request request = { .plan = { .force = 1 } };
    size_t            planted = 0;

    for (size_t i = 0; i < text_count; i++) {
        size_t     here;
        trial_text rewritten = trial_rewrite(&texts[i], &request, &here);
        trial_text faulty    = trial_parse(replaced(rewritten.text, from, to, &here));
        int        noticed   = (here > 0) && is_noticed(&texts[i], &faulty);

        planted += here;
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
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        expect_noticed(faults[i].from, faults[i].to);
    }
}

/* Lanes read values that other lanes of their warp stored for them: the barrier after the
 * stores. */
static void test_missing_warp_barrier_is_noticed(void **state)
{
    expect_noticed("\tbar.warp.sync -1;\n", "");
}

/* test_run [FILTER [FILE...]]: the tests whose names match (pools/planted.sh is in a hurry), on
 * all kernels of the files (coalesce/nvcc.sh). */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_by_the_cost_rule),
        cmocka_unit_test(test_run_forced),
        cmocka_unit_test(test_faults_in_rewritten_code_are_noticed),
        cmocka_unit_test(test_missing_warp_barrier_is_noticed),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    files = (argc > 2) ? argv + 2 : NULL;
    return cmocka_run_group_tests(tests, read_texts, free_texts);
}
