/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms, sectors, bank passes, and the library calls of <shpool/coalesce.h>. */
#include "tests/unit.h"

#include <shpool/coalesce.h>

#include "coalesce/plan/form.h"

/* ---- forms ---- */

static coalesce_form leaf(coalesce_leaves *leaves, uint64_t tag, coalesce_leaf_kind kind,
                          int64_t x, int64_t y)
{
    const coalesce_leaf made = { .value = leaves, .tag = tag, .kind = kind, .step = { x, y, 0 } };

    return coalesce_form_leaf(leaves, &made);
}

static void test_forms_add_and_multiply_modulo_2_64(void **state)
{
    coalesce_leaves leaves;
    coalesce_form   a;
    coalesce_form   b;
    coalesce_form   sum;
    coalesce_form   four = coalesce_form_constant(4);
    int64_t         distance;

    (void)state;
    coalesce_leaves_init(&leaves);
    a   = leaf(&leaves, 1, COALESCE_STEPPED, 1, 0);
    b   = leaf(&leaves, 2, COALESCE_UNIFORM, 0, 0);
    sum = coalesce_form_add(&a, &b, 3);
    sum = coalesce_form_multiply(&sum, &four);
    sum = coalesce_form_add(&sum, &four, -2);
    b   = coalesce_form_multiply(&b, &four);
    a   = coalesce_form_multiply(&a, &four);
    a   = coalesce_form_add(&a, &b, 3);
    assert_true(coalesce_form_distance(&sum, &a, &distance));
    assert_int_equal(distance, -8);
    assert_false(coalesce_form_distance(&sum, &b, &distance));
    a = coalesce_form_constant(INT64_MAX);
    a = coalesce_form_add(&a, &four, 1);
    assert_true(coalesce_form_is_constant(&a, &distance));
    assert_int_equal(distance, INT64_MIN + 3);
    coalesce_leaves_fini(&leaves);
}

static void test_too_many_terms_or_factors_are_unknown(void **state)
{
    coalesce_leaves leaves;
    coalesce_form   sum = coalesce_form_constant(1);
    coalesce_form   one;

    (void)state;
    coalesce_leaves_init(&leaves);
    for (uint64_t i = 0; i < COALESCE_TERMS; i++) {
        one = leaf(&leaves, i, COALESCE_UNIFORM, 0, 0);
        assert_true(sum.known);
        sum = coalesce_form_add(&sum, &one, 1);
    }
    assert_false(sum.known);
    one = coalesce_form_multiply(&one, &one);
    one = coalesce_form_multiply(&one, &one);
    assert_false(one.known);
    coalesce_leaves_fini(&leaves);
}

static coalesce_lanes strided(int64_t stride)
{
    coalesce_leaves leaves;
    coalesce_form   form;
    coalesce_lanes  lanes;

    coalesce_leaves_init(&leaves);
    form  = leaf(&leaves, 1, COALESCE_STEPPED, stride, 0);
    lanes = coalesce_lanes_of(&leaves, &form, NULL);
    coalesce_leaves_fini(&leaves);
    return lanes;
}

static void test_sectors_of_strided_words(void **state)
{
    static const uint32_t sectors[] = { 1, 4, 8, 12, 16, 20, 24, 28, 32, 32 };

    (void)state;
    for (int64_t words = 0; words < 10; words++) {
        coalesce_lanes up   = strided(4 * words);
        coalesce_lanes down = strided(-4 * words);

        assert_int_equal(coalesce_sectors(&up, 4), sectors[words]);
        assert_int_equal(coalesce_sectors_ideal(&up, 4), (words == 0) ? 1 : 4);
        assert_int_equal(coalesce_sectors(&down, 4), sectors[words]);
    }
}

static void test_narrow_blocks_are_blocked_lanes(void **state)
{
    coalesce_leaves leaves;
    coalesce_form   x;
    coalesce_form   y;
    coalesce_lanes  lanes;
    coalesce_block  block = { 8, 8, 1, 0 };

    (void)state;
    coalesce_leaves_init(&leaves);
    x     = leaf(&leaves, 1, COALESCE_STEPPED, 4, 0);
    y     = leaf(&leaves, 2, COALESCE_STEPPED, 0, 1024);
    x     = coalesce_form_add(&x, &y, 1);
    lanes = coalesce_lanes_of(&leaves, &x, &block);
    assert_int_equal(lanes.pattern, COALESCE_BLOCKED);
    assert_int_equal(coalesce_sectors(&lanes, 4), 4); /* 4 rows of 8 words */
    block = (coalesce_block){ 0 };
    lanes = coalesce_lanes_of(&leaves, &x, &block);
    assert_int_equal(lanes.pattern, COALESCE_STRIDED);
    assert_int_equal(lanes.stride, 4);
    coalesce_leaves_fini(&leaves);
}

/* a[y * n + x]: along x the lanes are neighbours; only blocks narrower than a warp see n. */
static void test_pitch_along_y_matters_in_narrow_blocks(void **state)
{
    coalesce_leaves leaves;
    coalesce_form   x;
    coalesce_form   y;
    coalesce_form   n;
    coalesce_leaf   whole;
    coalesce_lanes  lanes;
    coalesce_block  block = { 16, 16, 1, 0 };
    coalesce_block  tiny  = { 4, 4, 1, 0 };

    (void)state;
    coalesce_leaves_init(&leaves);
    x = leaf(&leaves, 1, COALESCE_STEPPED, 4, 0);
    y = leaf(&leaves, 2, COALESCE_STEPPED, 0, 4);
    n = leaf(&leaves, 3, COALESCE_UNIFORM, 0, 0);
    y = coalesce_form_multiply(&y, &n);
    x = coalesce_form_add(&x, &y, 1);
    for (int wrapped = 0; wrapped < 2; wrapped++) {
        assert_int_equal(coalesce_lanes_of(&leaves, &x, NULL).pattern, COALESCE_STRIDED);
        assert_int_equal(coalesce_lanes_of(&leaves, &x, NULL).stride, 4);
        lanes = coalesce_lanes_of(&leaves, &x, &block);
        assert_int_equal(lanes.pattern, COALESCE_PITCHED);
        assert_int_equal(coalesce_sectors(&lanes, 4), 4); /* two rows of 16 words */
        assert_int_equal(coalesce_sectors_ideal(&lanes, 4), 4);
        lanes = coalesce_lanes_of(&leaves, &x, &tiny);
        assert_int_equal(coalesce_sectors(&lanes, 4), 4); /* four of 4: a fifth does not exist */
        assert_int_equal(coalesce_sectors_ideal(&lanes, 4), 2);
        whole = coalesce_leaf_of(&leaves, &x); /* the same, as one leaf */
        whole.value = &whole;
        x = coalesce_form_leaf(&leaves, &whole);
    }
    coalesce_leaves_fini(&leaves);
}

/* Definitions that meet: the same in each dimension, or one of them does not change. */
static void test_leaves_meet_by_dimension(void **state)
{
    const coalesce_leaf lane    = { .kind = COALESCE_STEPPED, .step = { 4, 0, 0 } };
    const coalesce_leaf row     = { .kind = COALESCE_PITCH, .pitch = 2 };
    const coalesce_leaf both    = { .kind = COALESCE_PITCH, .step = { 4, 0, 0 }, .pitch = 2 };
    const coalesce_leaf wide    = { .kind = COALESCE_STEPPED, .step = { 8, 0, 0 } };
    const coalesce_leaf column  = { .kind = COALESCE_PITCH, .pitch = 1 };
    const coalesce_leaf uniform = { .kind = COALESCE_UNIFORM };
    const coalesce_leaf any     = { .kind = COALESCE_IRREGULAR };
    coalesce_leaf       met     = uniform;

    (void)state;
    assert_true(coalesce_leaf_meet(&met, &uniform));
    assert_int_equal(met.kind, COALESCE_UNIFORM);
    assert_true(coalesce_leaf_meet(&met, &lane));
    assert_int_equal(met.kind, COALESCE_STEPPED);
    assert_true(coalesce_leaf_meet(&met, &row));
    assert_true(coalesce_leaf_meet(&met, &both));
    assert_true(coalesce_leaf_meet(&met, &uniform));
    assert_int_equal(met.kind, COALESCE_PITCH);
    assert_int_equal(met.pitch, 2);
    assert_int_equal(met.step[0], 4);
    assert_false(coalesce_leaf_meet(&met, &wide));
    assert_int_equal(met.kind, COALESCE_IRREGULAR);
    assert_false(coalesce_leaf_meet(&met, &lane)); /* and stays so */
    met = lane;
    assert_false(coalesce_leaf_meet(&met, &column));
    met = lane;
    assert_false(coalesce_leaf_meet(&met, &any));
}

/* A product or sum with too many factors or terms becomes a leaf that changes in the same way. */
static void test_long_products_and_sums_change_alike(void **state)
{
    coalesce_leaves leaves;
    coalesce_form   lane;
    coalesce_form   n;
    coalesce_form   sum;
    coalesce_leaf   made;

    (void)state;
    coalesce_leaves_init(&leaves);
    lane = leaf(&leaves, 1, COALESCE_STEPPED, 4, 0);
    n    = leaf(&leaves, 2, COALESCE_UNIFORM, 0, 0);
    made = coalesce_leaf_of_product(&leaves, &lane, &n);
    assert_int_equal(made.kind, COALESCE_PITCH);
    assert_int_equal(made.pitch, 1);
    assert_int_equal(coalesce_leaf_of_product(&leaves, &n, &n).kind, COALESCE_UNIFORM);
    assert_int_equal(coalesce_leaf_of_product(&leaves, &lane, &lane).kind, COALESCE_IRREGULAR);
    sum  = coalesce_form_multiply(&lane, &n);
    made = coalesce_leaf_of_sum(&leaves, &lane, &n, -1);
    assert_int_equal(made.kind, COALESCE_STEPPED);
    assert_int_equal(made.step[0], 4);
    assert_int_equal(coalesce_leaf_of_sum(&leaves, &n, &lane, -3).step[0], -12);
    assert_int_equal(coalesce_leaf_of_sum(&leaves, &lane, &sum, 1).kind, COALESCE_PITCH);
    assert_false(coalesce_leaf_of_sum(&leaves, &lane, &n, 1).grid_uniform);
    coalesce_leaves_fini(&leaves);
}

static void test_products_and_unknown_leaves(void **state)
{
    coalesce_leaves leaves;
    coalesce_form   lane;
    coalesce_form   uniform;
    coalesce_form   any;
    coalesce_form   product;

    (void)state;
    coalesce_leaves_init(&leaves);
    lane    = leaf(&leaves, 1, COALESCE_STEPPED, 1, 0);
    uniform = leaf(&leaves, 2, COALESCE_UNIFORM, 0, 0);
    any     = leaf(&leaves, 3, COALESCE_IRREGULAR, 0, 0);
    product = coalesce_form_multiply(&lane, &uniform);
    assert_int_equal(coalesce_lanes_of(&leaves, &product, NULL).pattern, COALESCE_RUNTIME);
    product = coalesce_form_multiply(&lane, &lane);
    assert_int_equal(coalesce_lanes_of(&leaves, &product, NULL).pattern, COALESCE_ANY);
    product = coalesce_form_multiply(&any, &uniform);
    assert_int_equal(coalesce_lanes_of(&leaves, &product, NULL).pattern, COALESCE_ANY);
    product = coalesce_form_multiply(&uniform, &uniform);
    assert_int_equal(coalesce_lanes_of(&leaves, &product, NULL).pattern, COALESCE_BROADCAST);
    coalesce_leaves_fini(&leaves);
}

static void test_bank_passes(void **state)
{
    static const struct { int64_t stride; uint32_t bytes, passes, ideal; } row[] = {
        { 4, 4, 1, 1 },    { 8, 4, 2, 1 },    { 12, 4, 1, 1 },  { 128, 4, 32, 1 },
        { 132, 4, 1, 1 },  { 0, 4, 1, 1 },    { 1, 1, 1, 1 },   { 8, 8, 2, 2 },
        { 16, 8, 4, 2 },   { 16, 16, 4, 4 },  { 32, 16, 8, 4 }, { -4, 4, 1, 1 },
    };

    (void)state;
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(row); i++) {
        coalesce_lanes lanes = strided(row[i].stride);
        uint32_t       ideal;

        assert_int_equal(coalesce_bank_passes(&lanes, row[i].bytes, &ideal), row[i].passes);
        assert_int_equal(ideal, row[i].ideal);
    }
}

/* ---- the library calls ---- */

#define HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"
#define KERNEL                                                                                     \
    ".visible .entry k(.param .u64 k_param_0)\n{\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n"       \
    "\tld.param.u64 %rd1, [k_param_0];\n\tmov.u32 %r1, %tid.x;\n"                                  \
    "\tmul.wide.u32 %rd2, %r1, 28;\n\tadd.s64 %rd3, %rd1, %rd2;\n"                                 \
    "\tst.global.u32 [%rd3], 1;\n\tst.global.u32 [%rd3+4], 2;\n\tst.global.u32 [%rd3+8], 3;\n"     \
    "\tst.global.u32 [%rd3+12], 4;\n\tst.global.u32 [%rd3+16], 5;\n"                             \
    "\tst.global.u32 [%rd3+20], 6;\n"                                                             \
    "\tst.global.u32 [%rd3+24], 7;\n\tret;\n}\n"

static void remember(const shpool_coalesce_finding *finding, void *user)
{
    shpool_coalesce_finding *last = user;

    *last = *finding;
    last->message = NULL; /* gone after this call */
    last->suggestion = NULL;
}

static void test_lint_reports(void **state)
{
    shpool_coalesce_finding       last    = { .line = 99 };
    const shpool_coalesce_options options = { .report = remember, .user = &last };
    size_t                        warnings;

    (void)state;
    assert_int_equal(shpool_coalesce_lint(HEADER KERNEL, 0, &options, &warnings), SHPOOL_OK);
    assert_int_equal(warnings, 1);
    assert_string_equal(last.rule, "strided");
    assert_int_equal(last.level, SHPOOL_COALESCE_WARNING);
    assert_int_equal(last.stride, 28);
    assert_int_equal(last.sectors, 28);
    assert_int_equal(last.ideal, 4);
    assert_int_equal(last.accesses, 7);
    assert_int_equal(last.used_bytes, 28);
    assert_null(last.file);
}

/* A kernel that loads with `load` at parameter 0 plus %rd2, which `index` makes of %r1 = tid.x. */
#define LOADS(_index, _load)                                                                       \
    HEADER ".visible .entry k(.param .u64 k_param_0)\n{\n\t.reg .b16 %rs<2>;\n"                    \
           "\t.reg .b32 %r<6>;\n\t.reg .b64 %rd<4>;\n\tld.param.u64 %rd1, [k_param_0];\n"          \
           "\tmov.u32 %r1, %tid.x;\n" _index "\tadd.s64 %rd3, %rd1, %rd2;\n" _load "\tret;\n}\n"

static void test_lint_is_silent_or_mild(void **state)
{
    static const struct { const char *ptx; int found; } cases[] = {
        { LOADS("mul.wide.u32 %rd2, %r1, 4;\n", "ld.global.u32 %r2, [%rd3];\n"), 0 },
        /* n - 1 - i, as nvcc writes it; and -i */
        { LOADS("not.b32 %r3, %r1;\nadd.s32 %r3, %r3, %r4;\nmul.wide.s32 %rd2, %r3, 4;\n",
                "ld.global.u32 %r2, [%rd3];\n"), 1 }, /* of %r4 nothing is known */
        { LOADS("not.b32 %r3, %r1;\nadd.s32 %r3, %r3, 4096;\nmul.wide.s32 %rd2, %r3, 4;\n",
                "ld.global.u32 %r2, [%rd3];\n"), 0 },
        { LOADS("neg.s32 %r3, %r1;\nmul.wide.s32 %rd2, %r3, 4;\n",
                "ld.global.u32 %r2, [%rd3];\n"), 0 },
        /* a byte of each word: what compilers make of a[i] & 255 */
        { LOADS("mul.wide.u32 %rd2, %r1, 4;\n", "ld.global.u8 %rs1, [%rd3];\n"), 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        shpool_coalesce_finding       last    = { .level = SHPOOL_COALESCE_REMARK };
        const shpool_coalesce_options options = { .report = remember, .user = &last };
        size_t                        warnings;

        assert_int_equal(shpool_coalesce_lint(cases[i].ptx, 0, &options, &warnings), SHPOOL_OK);
        assert_int_equal(warnings, 0);
        assert_int_equal(last.level, cases[i].found ? SHPOOL_COALESCE_NOTE
                                                    : SHPOOL_COALESCE_REMARK);
    }
}

static void test_rewrite_and_what_stays(void **state)
{
    static const char *const names[] = { "other", "k" };
    shpool_coalesce_options  options = { .skip = names, .skips = 2 };
    char                    *better;
    char                    *again;
    size_t                   bytes;
    size_t                   rewritten;

    (void)state;
    assert_int_equal(shpool_coalesce_rewrite(HEADER KERNEL, 0, NULL, &better, &bytes, &rewritten),
                     SHPOOL_OK);
    assert_int_equal(rewritten, 1);
    assert_int_equal(strlen(better), bytes);
    assert_non_null(strstr(better, "vote.sync.all"));
    assert_int_equal(shpool_coalesce_rewrite(better, bytes, NULL, &again, NULL, NULL),
                     SHPOOL_ERR_UNSUPPORTED);
    assert_detail("already");
    assert_null(again);
    shpool_coalesce_free(better);

    assert_int_equal(shpool_coalesce_rewrite(HEADER KERNEL, 0, &options, &better, &bytes,
                                             &rewritten), SHPOOL_OK);
    assert_int_equal(rewritten, 0);
    assert_string_equal(better, HEADER KERNEL);
    shpool_coalesce_free(better);
    shpool_coalesce_free(NULL);
}

static void expect_refused(const char *text, shpool_status status, const char *detail)
{
    char  *better = (char *)(uintptr_t)text;
    size_t bytes  = 1;

    assert_int_equal(shpool_coalesce_rewrite(text, 0, NULL, &better, &bytes, NULL), status);
    assert_null(better);
    assert_int_equal(bytes, 0);
    assert_detail(detail);
}

static void test_bad_input_is_named(void **state)
{
    (void)state;
    expect_refused(NULL, SHPOOL_ERR_INVALID, "ptx is NULL");
    expect_refused("", SHPOOL_ERR_INVALID, "line 1, column 1");
    expect_refused("int main() {}", SHPOOL_ERR_INVALID, "PTX begins with .version");
    expect_refused(HEADER ".entry k() {\n  mov.u32 %r1, 5\n}", SHPOOL_ERR_INVALID,
                   "line 6, column 1 of the PTX: a semicolon is missing at \"}\"");
    expect_refused(HEADER ".entry k() {\n  bra L; ", SHPOOL_ERR_INVALID, "a '}' is missing");
    expect_refused(HEADER ".entry k() {\n  @5 bra L; }", SHPOOL_ERR_INVALID,
                   "a predicate register");
    expect_refused(HEADER ".entry k() { .reg .b32 %r<4>; .reg .b32 %r1, %r<2>; }",
                   SHPOOL_ERR_INVALID, "a register is declared twice in a scope at \"%r\"");
    expect_refused(".version 6.0\n.target sm_80\n.address_size 64\n", SHPOOL_ERR_UNSUPPORTED,
                   ".version 6.2");
    expect_refused(".version 8.0\n.target sm_61\n.address_size 64\n", SHPOOL_ERR_UNSUPPORTED,
                   "sm_70");
    expect_refused(".version 8.0\n.target sm_80\n", SHPOOL_ERR_UNSUPPORTED, ".address_size");
    assert_int_equal(shpool_coalesce_rewrite(HEADER, 0, NULL, NULL, NULL, NULL),
                     SHPOOL_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms_add_and_multiply_modulo_2_64),
        cmocka_unit_test(test_too_many_terms_or_factors_are_unknown),
        cmocka_unit_test(test_sectors_of_strided_words),
        cmocka_unit_test(test_narrow_blocks_are_blocked_lanes),
        cmocka_unit_test(test_pitch_along_y_matters_in_narrow_blocks),
        cmocka_unit_test(test_leaves_meet_by_dimension),
        cmocka_unit_test(test_long_products_and_sums_change_alike),
        cmocka_unit_test(test_products_and_unknown_leaves),
        cmocka_unit_test(test_bank_passes),
        cmocka_unit_test(test_lint_reports),
        cmocka_unit_test(test_lint_is_silent_or_mild),
        cmocka_unit_test(test_rewrite_and_what_stays),
        cmocka_unit_test(test_bad_input_is_named),
    };

    return cmocka_run_group_tests(tests, clear_environment, NULL);
}
