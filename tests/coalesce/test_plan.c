/* SPDX-License-Identifier: BSD-3-Clause */
/* Which records are rewritten, and why the others are not. */
#include "tests/unit.h"

#include "coalesce/plan/plan.h"

static coalesce_form leaf(coalesce_leaves *leaves, uint64_t tag, coalesce_leaf_kind kind,
                          int64_t x, int64_t y)
{
    const coalesce_leaf made = { .value = leaves, .tag = tag, .kind = kind, .step = { x, y, 0 } };

    return coalesce_form_leaf(leaves, &made);
}

#define MOST 160u

typedef struct scene {
    coalesce_leaves leaves;
    coalesce_access access[MOST];
    size_t          count;
} scene;

/* An access to array `array` of records of `words` (negative: descending) words, at byte
 * `offset`. */
static coalesce_access *add(scene *s, int array, uint32_t words, int64_t offset, unsigned flags)
{
    coalesce_form    form  = leaf(&s->leaves, (uint64_t)(array * 100) + words, COALESCE_STEPPED,
                                  4 * (int64_t)(int32_t)words, 0);
    coalesce_form    shift = coalesce_form_constant(offset);
    coalesce_access *access = &s->access[s->count];

    *access = (coalesce_access){
        .address = coalesce_form_add(&form, &shift, 1), .space = COALESCE_GLOBAL, .flags = flags,
        .bytes = 4, .run = 1, .position = (uint32_t)s->count, .alias_base = (uint32_t)array,
        .alias_alone = (array > 10), .copied_from = COALESCE_NO_ACCESS,
    };
    s->count++;
    return access;
}

static void add_record(scene *s, int array, uint32_t words, unsigned flags)
{
    for (uint32_t k = 0; k < (uint32_t)abs((int32_t)words); k++) {
        (void)add(s, array, words, 4 * (int64_t)k, flags);
    }
}

static coalesce_plan plan(scene *s, const coalesce_options *options)
{
    static const coalesce_options usual;
    coalesce_plan                 made;

    assert_true(coalesce_plan_make(&s->leaves, s->access, s->count,
                                   (options != NULL) ? options : &usual, NULL, NULL, &made));
    return made;
}

static void expect_one(scene *s, const coalesce_options *options, coalesce_refusal refusal)
{
    coalesce_plan made = plan(s, options);

    assert_int_equal(made.group[0].refusal, refusal);
    coalesce_plan_fini(&made);
    coalesce_leaves_fini(&s->leaves);
    memset(s, 0, sizeof(*s));
}

UNIT_TEST(test_widths_by_the_cost_rule)
{
    static const coalesce_transform transform[33] = {
        [4] = COALESCE_WIDE,       [6] = COALESCE_TRANSPOSE,
        [7] = COALESCE_TRANSPOSE,  [8] = COALESCE_TRANSPOSE,  [9] = COALESCE_TRANSPOSE,
        [10] = COALESCE_TRANSPOSE, [11] = COALESCE_TRANSPOSE, [12] = COALESCE_TRANSPOSE,
        [16] = COALESCE_TRANSPOSE, [20] = COALESCE_TRANSPOSE, [24] = COALESCE_TRANSPOSE,
        [31] = COALESCE_TRANSPOSE, [32] = COALESCE_TRANSPOSE,
    };
    static const uint32_t widths[] = { 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 20, 24, 31, 32 };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(widths); i++) {
        scene         s = { .count = 0 };
        coalesce_plan made;

        add_record(&s, 1, widths[i], COALESCE_STORE);
        made = plan(&s, NULL);
        assert_int_equal(made.count, 1);
        assert_int_equal(made.group[0].transform, transform[widths[i]]);
        coalesce_plan_fini(&made);
        coalesce_leaves_fini(&s.leaves);
    }
}

UNIT_TEST(test_loads_need_stores_below_32_words)
{
    scene         s = { .count = 0 };
    coalesce_plan made;

    add_record(&s, 1, 9, COALESCE_NONCOHERENT);
    expect_one(&s, NULL, COALESCE_NEEDS_STORE);
    add_record(&s, 1, 32, COALESCE_NONCOHERENT);
    expect_one(&s, NULL, COALESCE_REWRITTEN);
    add_record(&s, 1, 9, COALESCE_NONCOHERENT);
    add_record(&s, 2, 9, COALESCE_STORE);
    made = plan(&s, NULL);
    assert_int_equal(made.rewritten, 2);
    coalesce_plan_fini(&made);
    coalesce_leaves_fini(&s.leaves);
}

/* Not where a launch that works would fail for want of registers: records, blocks, result. */
UNIT_TEST(test_registers)
{
    static const struct { uint32_t words, words_too, most; coalesce_refusal refusal; } cases[] = {
        { 36, 0, 0, COALESCE_REWRITTEN },   { 37, 0, 0, COALESCE_REGISTERS },
        { 37, 0, 960, COALESCE_REWRITTEN }, { 63, 0, 768, COALESCE_REGISTERS },
        { 64, 0, 512, COALESCE_REWRITTEN }, { 16, 20, 0, COALESCE_REWRITTEN },
        { 16, 21, 0, COALESCE_REGISTERS },  { 16, 21, 512, COALESCE_REWRITTEN },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        const coalesce_options options = { .block = { .most = cases[i].most } };
        scene                  s       = { .count = 0 };
        coalesce_plan          made;

        add_record(&s, 1, cases[i].words, COALESCE_NONCOHERENT);
        add_record(&s, 2, cases[i].words_too, COALESCE_NONCOHERENT);
        add_record(&s, 13, 9, COALESCE_STORE); /* loads pay with stores */
        made = plan(&s, &options);
        assert_int_equal(made.group[(cases[i].words_too != 0) ? 1 : 0].refusal, cases[i].refusal);
        coalesce_plan_fini(&made);
        coalesce_leaves_fini(&s.leaves);
    }
}

/* Nor where accesses are not what takes the time, or few warps are there to hide the exchange. */
UNIT_TEST(test_work_and_warps)
{
    static const struct {
        uint32_t         words, rounds;
        uint64_t         work;
        coalesce_refusal refusal;
    } cases[] = {
        { 9, 0, 810, COALESCE_REWRITTEN }, { 9, 0, 811, COALESCE_COMPUTES },
        { 9, 3, 6480, COALESCE_REWRITTEN }, { 9, 3, 6488, COALESCE_COMPUTES },
        { 6, 0, 73, COALESCE_COMPUTES },   { 32, 0, 10240, COALESCE_REWRITTEN },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        const coalesce_options options = { .work = cases[i].work };
        scene                  s       = { .count = 0 };
        coalesce_plan          made;

        add_record(&s, 1, cases[i].words, COALESCE_STORE);
        s.access[0].rounds = cases[i].rounds;
        add(&s, 2, 1, 0, 0)->space = COALESCE_SHARED;
        made = plan(&s, &options);
        assert_int_equal(made.group[0].refusal, cases[i].refusal);
        assert_int_equal(made.group[0].threads != 0, (cases[i].refusal == COALESCE_REWRITTEN) &&
                                                         (cases[i].words < 16));
        coalesce_plan_fini(&made);
        coalesce_leaves_fini(&s.leaves);
    }
    for (int64_t step = -7; step <= 7; step++) { /* to the next power of two */
        const uint32_t rounds[] = { COALESCE_UNKNOWN_ROUNDS, 9, 8, 7, 7, 6, 6, 6 };

        assert_int_equal(coalesce_rounds(0, step, (step < 0) ? -300 : 300),
                         rounds[(step < 0) ? -step : step]);
        assert_int_equal(coalesce_rounds(0, step, (step < 0) ? 300 : -300),
                         COALESCE_UNKNOWN_ROUNDS);
    }
}

UNIT_TEST(test_refusals)
{
    const coalesce_options force    = { .force = 1 };
    const coalesce_options no_store = { .no_stores = 1 };
    scene                  s        = { .count = 0 };

    add_record(&s, 1, 65, COALESCE_STORE);
    expect_one(&s, &force, COALESCE_RECORD_TOO_LONG);
    add_record(&s, 1, 24, COALESCE_STORE);
    expect_one(&s, &force, COALESCE_REWRITTEN);
    add_record(&s, 1, 9, COALESCE_STORE);
    expect_one(&s, &no_store, COALESCE_OPTED_OUT);
    add_record(&s, 1, 3, COALESCE_STORE);
    expect_one(&s, NULL, COALESCE_NOT_MEASURED);
    add_record(&s, 1, 3, COALESCE_STORE);
    expect_one(&s, &force, COALESCE_REWRITTEN);
    add_record(&s, 1, 9, COALESCE_STORE | COALESCE_VOLATILE);
    expect_one(&s, &force, COALESCE_SPECIAL_ACCESS);
    add_record(&s, 1, 9, COALESCE_STORE | COALESCE_UNSUPPORTED);
    expect_one(&s, &force, COALESCE_TYPE);
    add_record(&s, 1, 9, COALESCE_STORE);
    s.access[3].space = COALESCE_GLOBAL;
    for (size_t i = 0; i < s.count; i++) {
        s.access[i].space = COALESCE_GENERIC;
    }
    expect_one(&s, &force, COALESCE_SPACE);
    add_record(&s, 1, 9, COALESCE_STORE);
    (void)add(&s, 1, 9, 8, COALESCE_STORE);
    expect_one(&s, &force, COALESCE_OVERLAP);
    (void)add(&s, 1, 9, 0, COALESCE_STORE);
    (void)add(&s, 1, 9, 32, COALESCE_STORE);
    expect_one(&s, &force, COALESCE_HOLES_STORED);
    for (uint32_t k = 0; k < 8; k++) { /* half of a record may be stored, also its first half */
        (void)add(&s, 1, 16, 4 * (int64_t)k, COALESCE_STORE);
    }
    expect_one(&s, &force, COALESCE_REWRITTEN);
    (void)add(&s, 1, 9, 0, 0);
    (void)add(&s, 1, 9, 28, 0);
    expect_one(&s, &force, COALESCE_PARTIAL_RECORD);
    (void)add(&s, 1, 1, 0, 0);
    expect_one(&s, &force, COALESCE_IS_COALESCED);
    add_record(&s, 1, (uint32_t)-9, COALESCE_STORE);
    expect_one(&s, &force, COALESCE_NEGATIVE_STRIDE);
    add_record(&s, 1, 9, COALESCE_STORE);
    for (size_t i = 4; i < s.count; i++) {
        s.access[i].run = 2; /* past a barrier */
    }
    expect_one(&s, &force, COALESCE_SPLIT);
    add_record(&s, 1, 9, COALESCE_STORE | COALESCE_VOLATILE);
    s.access[8].run = 2;
    expect_one(&s, &force, COALESCE_SPECIAL_ACCESS);
    add_record(&s, 1, 9, 0);
    s.access[8].run = 2;
    expect_one(&s, &force, COALESCE_SPLIT);
    (void)add(&s, 1, 9, 0, 0); /* the same word once more, and one of another array */
    (void)add(&s, 1, 9, 0, 0);
    (void)add(&s, 2, 9, 32, 0);
    s.access[1].run = s.access[2].run = 2;
    expect_one(&s, &force, COALESCE_PARTIAL_RECORD);
    (void)add(&s, 1, 9, 2, 0);
    s.access[0].bytes = 2;
    (void)add(&s, 1, 9, 4, 0);
    expect_one(&s, &force, COALESCE_TYPE);
}

/* A record whose word 1 is stored as `first` bytes and `then` single bytes. */
static void add_narrow(scene *s, uint32_t words, uint32_t first, uint32_t then)
{
    for (uint32_t k = 0; k < words; k++) {
        if (k != 1) {
            (void)add(s, 1, words, 4 * (int64_t)k, COALESCE_STORE);
        }
    }
    for (uint32_t i = 0; i <= then; i++) {
        (void)add(s, 1, words, 4 + ((i == 0) ? 0 : (int64_t)(first + i - 1)), COALESCE_STORE);
        s->access[s->count - 1].bytes = (i == 0) ? first : 1;
    }
}

/* Fields narrower than a word belong to a record if they fill the word. */
UNIT_TEST(test_narrow_fields)
{
    scene s = { .count = 0 };

    for (uint32_t words = 2; words < 10; words++) {
        const coalesce_options force = { .force = 1 };

        for (uint32_t first = 1; first <= 2; first++) {
            for (uint32_t then = 0; first + then <= 4; then++) {
                add_narrow(&s, words, first, then);
                expect_one(&s, &force, (first + then == 4) ? COALESCE_REWRITTEN
                                                           : COALESCE_PART_OF_WORD);
            }
        }
    }
    (void)add(&s, 1, 2, 0, COALESCE_STORE); /* a half-word in two words */
    (void)add(&s, 1, 2, 7, COALESCE_STORE);
    s.access[1].bytes = 2;
    expect_one(&s, NULL, COALESCE_TYPE);
}

/* A stride of 4 GiB and 36 bytes from lane to lane is not one of 36 bytes. */
UNIT_TEST(test_records_are_not_taken_modulo_2_32)
{
    scene s = { .count = 0 };

    for (uint32_t k = 0; k < 9; k++) {
        (void)add(&s, 1, (1u << 30) + 9, 4 * (int64_t)k, COALESCE_STORE);
    }
    expect_one(&s, &(coalesce_options){ .force = 1 }, COALESCE_RECORD_TOO_LONG);
}

/* Loads may pass stores only of other arrays. */
UNIT_TEST(test_what_lies_between)
{
    const coalesce_options force = { .force = 1 };

    for (int apart = 0; apart < 2; apart++) {
        scene         s = { .count = 0 };
        coalesce_plan made;

        for (uint32_t k = 0; k < 9; k++) {
            (void)add(&s, 1, 9, 4 * (int64_t)k, 0);
            (void)add(&s, apart ? 11 : 2, 9, 4 * (int64_t)k, COALESCE_STORE);
        }
        made = plan(&s, &force);
        assert_int_equal(made.count, 2);
        assert_int_equal(made.rewritten, apart ? 2 : 0);
        assert_int_equal(made.group[0].refusal,
                         apart ? COALESCE_REWRITTEN : COALESCE_MAY_ALIAS);
        coalesce_plan_fini(&made);
        coalesce_leaves_fini(&s.leaves);
    }
}

/* A word of the record that is written in between: no matter for __restrict__. */
UNIT_TEST(test_the_same_pointer_in_between)
{
    scene s = { .count = 0 };

    for (uint32_t k = 0; k < 9; k++) {
        (void)add(&s, 1, 9, 4 * (int64_t)k, COALESCE_STORE);
        if (k == 3) {
            (void)add(&s, 1, 9, 4, 0);
        }
    }
    expect_one(&s, &(coalesce_options){ .force = 1 }, COALESCE_SAME_ARRAY);
}

/* No access moves across a volatile or atomic one, not even a load of an unrelated array. */
UNIT_TEST(test_nothing_passes_volatile)
{
    static const unsigned between[] = { 0, COALESCE_STORE, COALESCE_VOLATILE,
                                        COALESCE_VOLATILE | COALESCE_STORE,
                                        COALESCE_ATOMIC | COALESCE_STORE };

    for (size_t i = 0; i < 2 * sizeof(between) / sizeof(between[0]); i++) {
        const unsigned flags = (i % 2 != 0) ? COALESCE_STORE : 0;
        scene          s     = { .count = 0 };

        (void)add(&s, 1, 2, 0, flags);
        (void)add(&s, 11, 1, 0, between[i / 2]);
        (void)add(&s, 1, 2, 4, flags);
        expect_one(&s, &(coalesce_options){ .force = 1 },
                   (i / 2 < 2) ? COALESCE_REWRITTEN : COALESCE_IN_BETWEEN);
    }
}

/*
 * S1 L1 S2 L2, and S1 may alias L2 only: each group alone is free to move, both together would
 * exchange S1 and L2.
 */
UNIT_TEST(test_two_groups_must_not_pass_each_other)
{
    const coalesce_options force = { .force = 1 };
    scene                  s     = { .count = 0 };
    coalesce_plan          made;

    (void)add(&s, 1, 2, 0, COALESCE_STORE);
    (void)add(&s, 11, 2, 0, 0);
    (void)add(&s, 1, 2, 4, COALESCE_STORE);
    (void)add(&s, 11, 2, 4, 0);
    s.access[0].alias_base = s.access[3].alias_base = 31; /* those may be the same array */
    s.access[3].alias_alone = 1;
    made = plan(&s, &force);
    assert_int_equal(made.rewritten, 1);
    coalesce_plan_fini(&made);
    coalesce_leaves_fini(&s.leaves);
}

UNIT_TEST(test_copies_are_one_group)
{
    scene         s = { .count = 0 };
    coalesce_plan made;

    for (uint32_t k = 0; k < 3; k++) {
        (void)add(&s, 1, 3, 4 * (int64_t)k, 0);
        add(&s, 2, 3, 4 * (int64_t)k, COALESCE_STORE)->copied_from = 2 * k;
    }
    made = plan(&s, NULL);
    assert_int_equal(made.count, 1);
    assert_int_equal(made.group[0].kind, COALESCE_COPIES);
    assert_int_equal(made.group[0].transform, COALESCE_COPY);
    assert_int_equal(made.group[0].source[2], 4);
    coalesce_plan_fini(&made);
    s.access[3].copied_from = 0; /* not the same field */
    made = plan(&s, NULL);
    assert_int_equal(made.count, 2);
    assert_int_equal(made.rewritten, 0);
    coalesce_plan_fini(&made);
    coalesce_leaves_fini(&s.leaves);
}
