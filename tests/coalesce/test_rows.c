/* SPDX-License-Identifier: BSD-3-Clause */
/* Tiles of rows, the order of copies, and a pitch along the block's rows. */
#include "tests/unit.h"

#include "coalesce/plan/plan.h"

#define MOST 80u

typedef struct scene {
    coalesce_leaves leaves;
    coalesce_access access[MOST];
    size_t          count;
} scene;

static coalesce_form leaf_of(scene *s, uint64_t tag, coalesce_leaf_kind kind, int64_t step)
{
    const coalesce_leaf made = { .value = s, .tag = tag, .kind = kind, .step = { step, 0, 0 } };

    return coalesce_form_leaf(&s->leaves, &made);
}

/* An access of 4 bytes to array `array` at `offset`; array > 10: nothing else points there. */
static coalesce_access *add(scene *s, uint32_t array, coalesce_leaf_kind kind, int64_t step,
                            int64_t offset, uint32_t flags)
{
    const coalesce_form form   = leaf_of(s, array, kind, step);
    const coalesce_form shift  = coalesce_form_constant(offset);
    coalesce_access    *access = &s->access[s->count];

    *access = (coalesce_access){
        .address = coalesce_form_add(&form, &shift, 1), .space = COALESCE_GLOBAL, .flags = flags,
        .bytes = 4, .run = 1, .position = (uint32_t)s->count, .alias_base = array,
        .alias_alone = (array > 10), .copied_from = COALESCE_NO_ACCESS,
    };
    s->count++;
    return access;
}

static void add_row(scene *s, uint32_t words, coalesce_leaf_kind kind)
{
    for (uint32_t k = 0; k < words; k++) {
        (void)add(s, 1, kind, 0, 4 * (int64_t)k, 0);
    }
}

/* Loads of the scene that are in tiles; frees the scene. */
static size_t in_tiles(scene *s, const coalesce_options *options)
{
    coalesce_plan plan;
    size_t        found = 0, members = 0;

    assert_true(coalesce_plan_make(&s->leaves, s->access, s->count, options, NULL, NULL, &plan));
    for (size_t i = 0; i < plan.count; i++) {
        members += plan.group[i].count;
        found += (plan.group[i].transform == COALESCE_ROWS) ? plan.group[i].count : 0;
    }
    assert_int_equal(members, s->count); /* each access is in one group */
    coalesce_plan_fini(&plan);
    coalesce_leaves_fini(&s->leaves);
    memset(s, 0, sizeof(*s));
    return found;
}

UNIT_TEST(test_rows_are_cut_into_tiles_of_32_words)
{
    const coalesce_options rows = { 0 };
    scene                  s    = { .count = 0 };

    add_row(&s, 31, COALESCE_PITCH);
    assert_int_equal(in_tiles(&s, &rows), 0);
    add_row(&s, 32, COALESCE_PITCH);
    assert_int_equal(in_tiles(&s, &rows), 32);
    add_row(&s, 70, COALESCE_PITCH);
    assert_int_equal(in_tiles(&s, &rows), 64);
}

UNIT_TEST(test_rows_only_where_asked_for)
{
    const coalesce_options off = { .no_rows = 1 };
    const coalesce_options rows = { 0 }, force = { .force = 1 };
    scene                  s    = { .count = 0 };

    add_row(&s, 32, COALESCE_PITCH);
    assert_int_equal(in_tiles(&s, &off), 0);
    add_row(&s, 32, COALESCE_IRREGULAR); /* a gather of rows is not measured */
    assert_int_equal(in_tiles(&s, &rows), 0);
    add_row(&s, 32, COALESCE_IRREGULAR);
    assert_int_equal(in_tiles(&s, &force), 32);
}

/* ld.global.nc must not replace loads of data that the kernel wrote. */
UNIT_TEST(test_a_tile_is_coherent_or_not)
{
    const coalesce_options rows = { 0 };
    scene                  s    = { .count = 0 };

    for (uint32_t k = 0; k < 32; k++) {
        (void)add(&s, 1, COALESCE_PITCH, 0, 4 * (int64_t)k, (k == 0) ? COALESCE_NONCOHERENT : 0);
    }
    assert_int_equal(in_tiles(&s, &rows), 0);
    for (uint32_t k = 0; k < 32; k++) {
        (void)add(&s, 1, COALESCE_PITCH, 0, 4 * (int64_t)k, COALESCE_NONCOHERENT);
    }
    assert_int_equal(in_tiles(&s, &rows), 32);
}

UNIT_TEST(test_rows_do_not_pass_stores_that_may_alias)
{
    const coalesce_options rows = { 0 };
    scene                  s    = { .count = 0 };

    add_row(&s, 16, COALESCE_PITCH);
    (void)add(&s, 2, COALESCE_STEPPED, 4, 0, COALESCE_STORE);
    for (uint32_t k = 16; k < 32; k++) {
        (void)add(&s, 1, COALESCE_PITCH, 0, 4 * (int64_t)k, 0);
    }
    assert_int_equal(in_tiles(&s, &rows), 0);
    add_row(&s, 32, COALESCE_PITCH);
    (void)add(&s, 12, COALESCE_STEPPED, 4, 0, COALESCE_STORE);
    assert_int_equal(in_tiles(&s, &rows), 32);
}

/* Three words copied: by turns, or all loaded first. */
static coalesce_refusal copy_of_three(int in_turn)
{
    static const coalesce_options usual;
    scene                         s = { .count = 0 };
    coalesce_plan                 plan;
    coalesce_refusal              refusal;

    for (uint32_t k = 0; k < 6; k++) {
        const int      is_store = in_turn ? (int)(k % 2) : (k >= 3);
        const uint32_t word     = in_turn ? k / 2 : k % 3;
        coalesce_access *access = add(&s, is_store ? 1 : 2, COALESCE_STEPPED, 12, 4 * (int64_t)word,
                                      is_store ? COALESCE_STORE : 0);

        access->copied_from = !is_store ? COALESCE_NO_ACCESS : in_turn ? k - 1 : k - 3;
    }
    assert_true(coalesce_plan_make(&s.leaves, s.access, s.count, &usual, NULL, NULL, &plan));
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.group[0].kind, COALESCE_COPIES);
    refusal = plan.group[0].refusal;
    coalesce_plan_fini(&plan);
    coalesce_leaves_fini(&s.leaves);
    return refusal;
}

UNIT_TEST(test_short_copies_pay_only_where_loads_wait_for_stores)
{
    assert_int_equal(copy_of_three(1), COALESCE_REWRITTEN);
    assert_int_equal(copy_of_three(0), COALESCE_NOT_MEASURED);
}

UNIT_TEST(test_rows_of_the_block_are_no_pitch_within_a_warp)
{
    const coalesce_block narrow = { 16, 16, 1, 0 }, wide = { 64, 4, 1, 0 };
    const coalesce_leaf  y      = { .tag = 1, .kind = COALESCE_STEPPED, .step = { 0, 1, 0 } };
    const coalesce_leaf  width  = { .tag = 2, .kind = COALESCE_UNIFORM };
    scene                s      = { .count = 0 };
    coalesce_form        x      = leaf_of(&s, 3, COALESCE_STEPPED, 4);
    coalesce_form        row, pitch, at;
    coalesce_leaf        whole;

    row   = coalesce_form_leaf(&s.leaves, &y);
    pitch = coalesce_form_leaf(&s.leaves, &width);
    row   = coalesce_form_multiply(&row, &pitch);
    at    = coalesce_form_add(&row, &x, 1);
    assert_int_equal(coalesce_lanes_of(&s.leaves, &at, NULL).pattern, COALESCE_STRIDED);
    assert_int_equal(coalesce_lanes_of(&s.leaves, &at, &wide).stride, 4);
    assert_int_equal(coalesce_lanes_of(&s.leaves, &at, &narrow).pattern, COALESCE_PITCHED);
    whole     = coalesce_leaf_of(&s.leaves, &at); /* looked at as one value, it is the same */
    whole.tag = 4;
    at        = coalesce_form_leaf(&s.leaves, &whole);
    assert_int_equal(coalesce_lanes_of(&s.leaves, &at, &wide).stride, 4);
    assert_int_equal(coalesce_lanes_of(&s.leaves, &at, &narrow).pattern, COALESCE_PITCHED);
    coalesce_leaves_fini(&s.leaves);
}

/* Loads of each size at the beginning of a record and at a far offset, alone and with their like:
 * only those that are near each other are one group.  Builds with UBSan also see sums that
 * overflow. */
UNIT_TEST(test_accesses_2_to_the_63_apart_are_not_one_record)
{
    static const int64_t far[] = {
        INT64_MIN, INT64_MIN + 36, -((int64_t)1 << 62), -((int64_t)1 << 60), INT32_MIN, INT32_MAX,
        (int64_t)1 << 32, (int64_t)1 << 60, (int64_t)1 << 62, INT64_MAX - 36, INT64_MAX,
    };
    static const int64_t step[] = { 36, 4, 0, INT64_MAX, INT64_MIN };

    for (size_t c = 0; c < 3 * SHPOOL_ARRAY_COUNT(far) * SHPOOL_ARRAY_COUNT(step); c++) {
        const int64_t    at    = far[c / 3 % SHPOOL_ARRAY_COUNT(far)];
        const int64_t    apart = step[c / 3 / SHPOOL_ARRAY_COUNT(far)];
        coalesce_options options = { .no_rows = 0 };
        scene            s       = { .count = 0 };
        int64_t          offset[4 + SHPOOL_ARRAY_COUNT(far)];
        coalesce_plan    plan;

        for (size_t i = 0; i < 4 + ((c % 3 == 2) ? SHPOOL_ARRAY_COUNT(far) : 1); i++) {
            offset[i] = (i < 4) ? 4 * (int64_t)i : (c % 3 == 2) ? far[i - 4] : at;
            add(&s, 1, COALESCE_STEPPED, apart, offset[i], 0)->bytes = (c % 3 == 1) ? 1 : 4;
        }
        assert_true(coalesce_plan_make(&s.leaves, s.access, s.count, &options, NULL, NULL, &plan));
        for (size_t i = 0; i < plan.count; i++) {
            for (uint32_t m = 1; (apart <= 36) && (m < plan.group[i].count); m++) {
                const uint64_t gap = (uint64_t)offset[plan.group[i].member[m]] -
                                     (uint64_t)offset[plan.group[i].member[0]];

                assert_in_range(gap, 0, 35);
            }
        }
        coalesce_plan_fini(&plan);
        coalesce_leaves_fini(&s.leaves);
    }
}
