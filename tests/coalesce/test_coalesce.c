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

UNIT_TEST(test_forms_add_and_multiply_modulo_2_64)
{
    coalesce_leaves leaves;
    coalesce_form   a;
    coalesce_form   b;
    coalesce_form   sum;
    coalesce_form   four = coalesce_form_constant(4);
    int64_t         distance;

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

UNIT_TEST(test_too_many_terms_or_factors_are_unknown)
{
    coalesce_leaves leaves;
    coalesce_form   sum = coalesce_form_constant(1);
    coalesce_form   one;

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

UNIT_TEST(test_sectors_of_strided_words)
{
    static const uint32_t sectors[] = { 1, 4, 8, 12, 16, 20, 24, 28, 32, 32 };

    for (int64_t words = 0; words < 10; words++) {
        coalesce_lanes up   = strided(4 * words);
        coalesce_lanes down = strided(-4 * words);

        assert_int_equal(coalesce_sectors(&up, 4), sectors[words]);
        assert_int_equal(coalesce_sectors_ideal(&up, 4), (words == 0) ? 1 : 4);
        assert_int_equal(coalesce_sectors(&down, 4), sectors[words]);
    }
}

UNIT_TEST(test_narrow_blocks_are_blocked_lanes)
{
    coalesce_leaves leaves;
    coalesce_form   x;
    coalesce_form   y;
    coalesce_lanes  lanes;
    coalesce_block  block = { 8, 8, 1, 0 };

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
UNIT_TEST(test_pitch_along_y_matters_in_narrow_blocks)
{
    coalesce_leaves leaves;
    coalesce_form   x;
    coalesce_form   y;
    coalesce_form   n;
    coalesce_leaf   whole;
    coalesce_lanes  lanes;
    coalesce_block  block = { 16, 16, 1, 0 };
    coalesce_block  tiny  = { 4, 4, 1, 0 };
    coalesce_block  wide  = { 64, 4, 1, 0 };

    coalesce_leaves_init(&leaves);
    x = leaf(&leaves, 1, COALESCE_STEPPED, 4, 0);
    y = leaf(&leaves, 2, COALESCE_STEPPED, 0, 4);
    n = leaf(&leaves, 3, COALESCE_UNIFORM, 0, 0);
    y = coalesce_form_multiply(&y, &n);
    x = coalesce_form_add(&x, &y, 1);
    for (int wrapped = 0; wrapped < 2; wrapped++) {
        assert_int_equal(coalesce_lanes_of(&leaves, &x, NULL).pattern, COALESCE_STRIDED);
        assert_int_equal(coalesce_lanes_of(&leaves, &x, NULL).stride, 4);
        assert_int_equal(coalesce_lanes_of(&leaves, &x, &wide).stride, 4);
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
UNIT_TEST(test_leaves_meet_by_dimension)
{
    const coalesce_leaf lane    = { .kind = COALESCE_STEPPED, .step = { 4, 0, 0 } };
    const coalesce_leaf row     = { .kind = COALESCE_PITCH, .pitch = 2 };
    const coalesce_leaf both    = { .kind = COALESCE_PITCH, .step = { 4, 0, 0 }, .pitch = 2 };
    const coalesce_leaf wide    = { .kind = COALESCE_STEPPED, .step = { 8, 0, 0 } };
    const coalesce_leaf column  = { .kind = COALESCE_PITCH, .pitch = 1 };
    const coalesce_leaf uniform = { .kind = COALESCE_UNIFORM };
    const coalesce_leaf any     = { .kind = COALESCE_IRREGULAR };
    coalesce_leaf       met     = uniform;

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
UNIT_TEST(test_long_products_and_sums_change_alike)
{
    coalesce_leaves leaves;
    coalesce_form   lane;
    coalesce_form   n;
    coalesce_form   sum;
    coalesce_leaf   made;

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

UNIT_TEST(test_products_and_unknown_leaves)
{
    coalesce_leaves leaves;
    coalesce_form   lane;
    coalesce_form   uniform;
    coalesce_form   any;
    coalesce_form   product;

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

UNIT_TEST(test_bank_passes)
{
    static const struct { int64_t stride; uint32_t bytes, passes, ideal; } row[] = {
        { 4, 4, 1, 1 },    { 8, 4, 2, 1 },    { 12, 4, 1, 1 },  { 128, 4, 32, 1 },
        { 132, 4, 1, 1 },  { 0, 4, 1, 1 },    { 1, 1, 1, 1 },   { 8, 8, 2, 2 },
        { 16, 8, 4, 2 },   { 16, 16, 4, 4 },  { 32, 16, 8, 4 }, { -4, 4, 1, 1 },
    };

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

UNIT_TEST(test_lint_reports)
{
    shpool_coalesce_finding       last    = { .line = 99 };
    const shpool_coalesce_options options = { .report = remember, .user = &last };
    size_t                        warnings;

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

UNIT_TEST(test_lint_is_silent_or_mild)
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

/* The last finding, and how many there were. */
typedef struct found {
    int                   count;
    shpool_coalesce_level level;
    uint32_t              bytes;
    char                  rule[16];
    char                  message[1024];
    char                  suggestion[1024];
} found;

static void keep(const shpool_coalesce_finding *finding, void *user)
{
    found *last = user;

    last->count++;
    last->level = finding->level;
    last->bytes = finding->bytes;
    (void)snprintf(last->rule, sizeof(last->rule), "%s", finding->rule);
    (void)snprintf(last->message, sizeof(last->message), "%s", finding->message);
    (void)snprintf(last->suggestion, sizeof(last->suggestion), "%s",
                   (finding->suggestion != NULL) ? finding->suggestion : "");
}

static found lint(const char *ptx)
{
    found                         last    = { .count = 0 };
    const shpool_coalesce_options options = { .report = keep, .user = &last };

    assert_int_equal(shpool_coalesce_lint(ptx, 0, &options, NULL), SHPOOL_OK);
    return last;
}

/* The finding about one access, `stride` bytes from lane to lane, of a pointer that is loaded by
 * `load`. */
static found lint_access(const char *load, unsigned stride, const char *before, const char *space,
                         const char *after)
{
    char ptx[1024];

    (void)snprintf(ptx, sizeof(ptx),
                   HEADER ".visible .entry k(.param .u64 k_param_0)\n{\n.reg .b16 %%rs<2>;\n"
                          ".reg .b32 %%r<6>;\n.reg .b64 %%rd<4>;\n%s %%rd1, [k_param_0];\n"
                          "mov.u32 %%r1, %%tid.x;\nmul.wide.u32 %%rd2, %%r1, %u;\n"
                          "add.s64 %%rd3, %%rd1, %%rd2;\n%s%s%s;\nret;\n}\n",
                   load, stride, before, space, after);
    return lint(ptx);
}

/* Instructions of memory in all spaces, 128 bytes from lane to lane: of ordinary accesses the lint
 * says what is wrong there, of the others nothing. */
UNIT_TEST(test_instructions_and_spaces)
{
    static const struct { const char *space, *name, *rule; } spaces[] = {
        { "", "", "strided" },
        { ".global", "global ", "strided" },
        { ".shared", "shared ", "bank-conflict" },
        { ".shared::cta", "shared ", "bank-conflict" },
        { ".shared::cluster", "shared ", "bank-conflict" },
        { ".local", NULL, NULL },
        { ".const", NULL, NULL },
        { ".param", NULL, NULL },
        { ".param::entry", NULL, NULL },
        { ".param::func", NULL, NULL },
    };
    static const struct { const char *before, *after, *noun; uint32_t bytes; } forms[] = {
        { "ld", ".u32 %r2, [%rd3]", "load", 4 },
        { "ld.weak", ".b16 %rs1, [%rd3]", "load", 2 },
        { "ld.relaxed.gpu", ".u32 %r2, [%rd3]", "load", 4 },
        { "ld.acquire.cluster", ".u64 %rd2, [%rd3]", "load", 8 },
        { "ld.mmio.relaxed.sys", ".u32 %r2, [%rd3]", "load", 4 },
        { "ld.volatile", ".u32 %r2, [%rd3]", "load", 4 },
        { "ld", ".L1::no_allocate.L2::128B.v2.u32 {%r2, %r3}, [%rd3]", "load", 8 },
        { "st", ".u8 [%rd3], %rs1", "store", 1 },
        { "st.weak", ".v4.b32 [%rd3], {%r2, %r3, %r2, %r3}", "store", 16 },
        { "st.release.gpu", ".u32 [%rd3], %r2", "store", 4 },
        { "st.volatile", ".u32 [%rd3], %r2", "store", 4 },
        { "atom", ".add.u32 %r2, [%rd3], 1", "atomic", 4 },
        { "atom.acq_rel.cluster", ".cas.b64 %rd2, [%rd3], 1, 2", "atomic", 8 },
        { "atom", ".v2.f32.add {%r2, %r3}, [%rd3], {%r2, %r3}", "atomic", 8 },
        { "red", ".add.u32 [%rd3], 1", "atomic", 4 },
        { "red.relaxed.gpu", ".add.noftz.bf16 [%rd3], %rs1", "atomic", 2 },
        { "red", ".add.noftz.f16x2 [%rd3], %r2", "atomic", 4 },
        { "red", ".v2.add.noftz.bf16x2 [%rd3], {%r2, %r3}", "atomic", 8 },
        { "st.async", ".mbarrier::complete_tx::bytes.u32 [%rd3], %r2, [%rd1]", NULL, 0 },
        { "st.async.weak", ".mbarrier::complete_tx::bytes.v2.u32 [%rd3], {%r2, %r3}, [%rd1]", NULL,
          0 },
        { "st.async.release.gpu", ".u32 [%rd3], %r2", NULL, 0 },
        { "st.bulk.weak", " [%rd3], %rd1, 0", NULL, 0 },
        { "red.async.relaxed.cluster", ".mbarrier::complete_tx::bytes.add.u32 [%rd3], %r2, [%rd1]",
          NULL, 0 },
        { "cp.async.ca", ".global [%rd3], [%rd3], 4", NULL, 0 },
        { "cp.async.bulk", ".global.mbarrier::complete_tx::bytes [%rd3], [%rd3], 16, [%rd1]", NULL,
          0 },
        { "multimem.ld_reduce.relaxed.gpu", ".add.u32 %r2, [%rd3]", NULL, 0 },
        { "multimem.st", ".u32 [%rd3], %r2", NULL, 0 },
        { "multimem.red.relaxed.gpu", ".add.u32 [%rd3], %r2", NULL, 0 },
        { "ldu", ".u32 %r2, [%rd3]", NULL, 0 },
        { "prefetch", ".L1 [%rd3]", NULL, 0 },
        { "ldmatrix.sync.aligned.m8n8.x1", ".b16 {%r2}, [%rd3]", NULL, 0 },
    };
    static const char *const loads[] = { "ld.param.u64", "ld.param::entry.u64",
                                         "ld.weak.param.u64" };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(forms); i++) {
        for (size_t k = 0; k < SHPOOL_ARRAY_COUNT(spaces); k++) {
            const int is_read = (forms[i].noun != NULL) && (spaces[k].rule != NULL);
            char      subject[64];
            found     last;

            if ((forms[i].noun != NULL) && (strcmp(forms[i].noun, "atomic") == 0) && (k > 4)) {
                continue; /* PTX has none */
            }
            last = lint_access("ld.param.u64", 128, forms[i].before, spaces[k].space,
                               forms[i].after);
            assert_int_equal(last.count, is_read);
            if (is_read) {
                (void)snprintf(subject, sizeof(subject), "1 %s%s of %u byte", spaces[k].name,
                               forms[i].noun, forms[i].bytes);
                assert_string_equal(last.rule, spaces[k].rule);
                assert_ptr_equal(strstr(last.message, subject), last.message);
                assert_int_equal(last.bytes, forms[i].bytes);
            }
        }
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(loads); i++) { /* parameters are uniform */
        assert_int_equal(lint_access(loads[i], 4, "ld", ".global", ".u32 %r2, [%rd3]").count, 0);
    }
}

/* ---- records ---- */

typedef enum record_order { LOADED, COPIED_AT_ONCE, COPIED_BY_FIELD } record_order;

/* A kernel that loads the fields of a record, one after the other, and perhaps stores them. */
static const char *record_kernel(const uint32_t *bytes, uint32_t fields, uint32_t record,
                                 record_order order)
{
    static char text[8192];
    shpool_text to = shpool_text_make(text, sizeof(text));

    shpool_text_add(&to, HEADER ".visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1)\n"
                         "{\n.reg .b16 %%a<64>, %%b<64>;\n.reg .b32 %%d<64>, %%r<4>;\n"
                         ".reg .b64 %%h<64>, %%rd<8>;\nld.param.u64 %%rd1, [k_param_0];\n"
                         "ld.param.u64 %%rd2, [k_param_1];\nmov.u32 %%r1, %%tid.x;\n"
                         "mul.wide.u32 %%rd3, %%r1, %u;\nadd.s64 %%rd4, %%rd1, %%rd3;\n"
                         "add.s64 %%rd5, %%rd2, %%rd3;\n", record);
    for (uint32_t pass = 0; pass < ((order == COPIED_AT_ONCE) ? 2u : 1u); pass++) {
        uint32_t at = 0;

        for (uint32_t i = 0; i < fields; i++) {
            const char name = (char)('a' + bytes[i] - 1); /* of registers so wide */

            at = (at + bytes[i] - 1) / bytes[i] * bytes[i];
            if (pass == 0) {
                shpool_text_add(&to, "ld.global.u%u %%%c%u, [%%rd4+%u];\n", 8 * bytes[i], name, i,
                                at);
            }
            if ((pass == 1) || (order == COPIED_BY_FIELD)) {
                shpool_text_add(&to, "st.global.u%u [%%rd5+%u], %%%c%u;\n", 8 * bytes[i], at, name,
                                i);
            }
            at += bytes[i];
        }
    }
    shpool_text_add(&to, "ret;\n}\n");
    return text;
}

/* Fields of several widths: the widest one's requests count, and words make up the layout. */
UNIT_TEST(test_fields_of_several_widths)
{
    static const struct {
        uint32_t    bytes[16], fields, record;
        const char *subject, *layout; /* NULL: another suggestion */
    } rows[] = {
        { { 1, 4, 4, 4, 4, 4, 4, 4, 4 }, 9, 36, "9 global loads of 1 to 4 bytes", "word 9" },
        { { 4, 4, 4, 4, 4, 4, 4, 4, 1 }, 9, 36, "9 global loads of 1 to 4 bytes", "word 9" },
        { { 4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 }, 13, 28, "13 global loads of 2 to 4 bytes",
          "word 7" },
        { { 2, 2, 2, 2, 2, 2 }, 6, 12, "6 global loads of 2 bytes", "element 6" },
        { { 1, 1, 2, 4 }, 4, 12, "4 global loads of 1 to 4 bytes", "word 3" },
        { { 1, 2, 1 }, 3, 6, "3 global loads of 1 to 2 bytes", "element 6" },
        { { 8, 4, 4, 8 }, 4, 24, "4 global loads of 4 to 8 bytes", "element 6" },
        { { 8, 8, 8 }, 3, 24, "3 global loads of 8 bytes", "element 3" },
        { { 8, 1 }, 2, 24, "2 global loads of 1 to 8 bytes", "word 6" },
        { { 1, 1, 1 }, 3, 3, "3 global loads of 1 byte", NULL },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        const found last = lint(record_kernel(rows[i].bytes, rows[i].fields, rows[i].record,
                                              LOADED));
        char        unit[16] = "";
        unsigned    units    = 0;
        const char *layout   = strstr(last.suggestion, "layout.cuh>: ");

        assert_int_equal(last.count, 1);
        assert_ptr_equal(strstr(last.message, rows[i].subject), last.message);
        assert_int_equal(layout != NULL, rows[i].layout != NULL);
        if (layout != NULL) {
            char said[32];

            assert_int_equal(sscanf(layout, "layout.cuh>: %15s i of record indx is at "
                                            "shpool_layout_index(indx, i, %u,", unit, &units), 2);
            (void)snprintf(said, sizeof(said), "%s %u", unit, units);
            assert_string_equal(said, rows[i].layout);
        }
    }
}

/* Copies: loads wait for stores only where stores lie between them, and __restrict__ helps only
 * then.  What would be rewritten is said, with the words that this saves; else why it is not. */
UNIT_TEST(test_advice_about_copies)
{
    static const uint32_t words[16] = { 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4 };

    for (uint32_t count = 2; count <= 16; count++) {
        for (int order = COPIED_AT_ONCE; order <= COPIED_BY_FIELD; order++) {
            const int      by_field = order == COPIED_BY_FIELD;
            const uint32_t sectors  = (count < 8) ? 4 * count : 32;
            const char    *ptx = record_kernel(words, count, 4 * count, (record_order)order);
            const found    last = lint(ptx);
            char           advice[128], *better;
            size_t         rewritten;

            assert_int_equal(shpool_coalesce_rewrite(ptx, 0, NULL, &better, NULL, &rewritten),
                             SHPOOL_OK);
            shpool_coalesce_free(better);
            (void)snprintf(advice, sizeof(advice), "shpool_coalesce_rewrite(), which rewrites "
                           "this: a warp then moves %u words instead of %u; or ", 64 * count,
                           16 * count * sectors);
            assert_int_equal(last.count, 1);
            assert_int_equal(last.level, (by_field || (count > 5)) ? SHPOOL_COALESCE_WARNING
                                                                   : SHPOOL_COALESCE_NOTE);
            assert_int_equal(strstr(last.suggestion, "__restrict__") != NULL, by_field);
            assert_int_equal(strncmp(last.suggestion, advice, strlen(advice)) == 0, rewritten);
            assert_int_equal(strstr(last.message, "shpool_coalesce_rewrite() leaves this as it is: "
                                                  "no measurement") != NULL, !rewritten);
        }
    }
}

UNIT_TEST(test_rewrite_and_what_stays)
{
    static const char *const names[] = { "other", "k" };
    shpool_coalesce_options  options = { .skip = names, .skips = 2 };
    char                    *better;
    char                    *again;
    size_t                   bytes;
    size_t                   rewritten;

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

UNIT_TEST(test_bad_input_is_named)
{
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
