/* SPDX-License-Identifier: BSD-3-Clause */
/* Which records and rows are rewritten, and why the others are not. */
#include "tests/unit.h"

#include <ctype.h>

#include "coalesce/plan/plan.h"

#define MOST 160u

typedef struct scene {
    coalesce_leaves leaves;
    coalesce_access access[MOST];
    size_t          count;
} scene;

/* An access of a scene's text.  FLAGS ARRAY SHAPE ...:
 *
 *   l s             a load, a store; then: v volatile, a atomic, n not coherent, u unsupported,
 *                   g generic address, h shared memory
 *   ARRAY           nothing else points to arrays from 11 on
 *   /N p i          records of N words (negative: descending), a pitch, irregular
 *   +N :N ^N ~N =N  byte offset; bytes [4]; run [1]; rounds; the alias base [ARRAY]
 *   <N              stores what the access N before it has loaded
 *   *N              N of them, for N words in turn
 *   |               one of each in turn with the next one's
 */
typedef struct item {
    coalesce_access    access; /* its address: of word 0, from the record's begin */
    coalesce_leaf_kind kind;
    int64_t            step;
    uint64_t           tag;
    size_t             copied, times;
} item;

static const char *read_item(const char *at, item *to)
{
    char *end;
    long  array;

    *to = (item){ .kind = COALESCE_STEPPED, .times = 1,
                  .access = { .space = COALESCE_GLOBAL, .bytes = 4, .run = 1,
                              .address = coalesce_form_constant(0) } };
    for (; isalpha((unsigned char)*at); at++) {
        to->access.flags |= (*at == 's') ? COALESCE_STORE : (*at == 'v') ? COALESCE_VOLATILE :
                            (*at == 'a') ? COALESCE_ATOMIC : (*at == 'n') ? COALESCE_NONCOHERENT :
                            (*at == 'u') ? COALESCE_UNSUPPORTED : 0u;
        to->access.space = (*at == 'g') ? COALESCE_GENERIC : (*at == 'h') ? COALESCE_SHARED :
                           to->access.space;
    }
    array                  = strtol(at, &end, 10);
    to->access.alias_base  = (uint32_t)array;
    to->access.alias_alone = array > 10;
    to->tag                = (uint64_t)(array * 100);
    while ((*end != '\0') && (*end != ' ') && (*end != '|')) {
        const char what  = *end++;
        const long value = ((what == 'p') || (what == 'i')) ? 0 : strtol(end, &end, 10);

        switch (what) {
        case '/': to->step = 4 * value; to->tag += (uint64_t)value; break;
        case 'p': to->kind = COALESCE_PITCH; break;
        case 'i': to->kind = COALESCE_IRREGULAR; break;
        case '+': to->access.address = coalesce_form_constant(value); break;
        case ':': to->access.bytes = (uint32_t)value; break;
        case '^': to->access.run = (uint32_t)value; break;
        case '~': to->access.rounds = (uint32_t)value; break;
        case '=': to->access.alias_base = (uint32_t)value; break;
        case '<': to->copied = (size_t)value; break;
        case '*': to->times = (size_t)value; break;
        default: fail_msg("%c in a scene", what);
        }
    }
    return end;
}

/* The item's access to its word-th word. */
static void add(scene *s, const item *from, size_t word)
{
    const coalesce_leaf made   = { .value = &s->leaves, .tag = from->tag, .kind = from->kind,
                                   .step = { from->step, 0, 0 } };
    coalesce_form       form   = coalesce_form_leaf(&s->leaves, &made);
    coalesce_form       shift  = coalesce_form_constant(4 * (int64_t)word);
    coalesce_access    *access = &s->access[s->count];

    *access             = from->access;
    form                = coalesce_form_add(&form, &shift, 1);
    access->address     = coalesce_form_add(&form, &from->access.address, 1);
    access->position    = (uint32_t)s->count;
    access->copied_from = (from->copied != 0) ? (uint32_t)(s->count - from->copied)
                                              : COALESCE_NO_ACCESS;
    s->count++;
}

static scene scene_of(const char *text)
{
    scene s = { .count = 0 };

    while (*text != '\0') {
        item   in_turn[2];
        size_t n = 0;

        do {
            text = read_item(text + ((n > 0) || (*text == ' ')), &in_turn[n]);
            n++;
        } while (*text == '|');
        for (size_t word = 0; word < in_turn[0].times; word++) {
            for (size_t i = 0; i < n; i++) {
                add(&s, &in_turn[i], word);
            }
        }
    }
    return s;
}

static coalesce_plan plan(scene *s, const coalesce_options *options)
{
    coalesce_plan made;
    size_t        members = 0;

    assert_true(coalesce_plan_make(&s->leaves, s->access, s->count, options, NULL, NULL, &made));
    for (size_t i = 0; i < made.count; i++) {
        members += made.group[i].count * ((made.group[i].kind == COALESCE_COPIES) ? 2 : 1);
    }
    assert_int_equal(members, s->count); /* each access is in one group */
    return made;
}

static void finish(scene *s, coalesce_plan *made)
{
    coalesce_plan_fini(made);
    coalesce_leaves_fini(&s->leaves);
}

/* What the plan says about its first group, with the usual options or `options`. */
static void expect(const char *text, coalesce_options options, coalesce_refusal refusal)
{
    scene         s    = scene_of(text);
    coalesce_plan made = plan(&s, &options);

    if (made.group[0].refusal != refusal) {
        fail_msg("%s: refusal %d, not %d", text, made.group[0].refusal, refusal);
    }
    finish(&s, &made);
}

#define USUAL ((coalesce_options){ .force = 0 })
#define FORCE ((coalesce_options){ .force = 1 })

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
        char          text[32];
        scene         s;
        coalesce_plan made;

        (void)snprintf(text, sizeof(text), "s1/%u*%u", widths[i], widths[i]);
        s    = scene_of(text);
        made = plan(&s, &USUAL);
        assert_int_equal(made.count, 1);
        assert_int_equal(made.group[0].transform, transform[widths[i]]);
        finish(&s, &made);
    }
}

/* Not where a launch that works would fail for want of registers (records, blocks, result); nor
 * where accesses are not what takes the time, or few warps are there to hide the exchange. */
UNIT_TEST(test_registers_work_and_warps)
{
    static const struct {
        const char      *text;
        uint32_t         group, most;
        uint64_t         work;
        coalesce_refusal refusal;
    } rows[] = {
        { "ln1/36*36 s13/9*9", 0, 0, 0, COALESCE_REWRITTEN }, /* loads pay with stores */
        { "ln1/37*37 s13/9*9", 0, 0, 0, COALESCE_REGISTERS },
        { "ln1/37*37 s13/9*9", 0, 960, 0, COALESCE_REWRITTEN },
        { "ln1/63*63 s13/9*9", 0, 768, 0, COALESCE_REGISTERS },
        { "ln1/64*64 s13/9*9", 0, 512, 0, COALESCE_REWRITTEN },
        { "ln1/16*16 ln2/20*20 s13/9*9", 1, 0, 0, COALESCE_REWRITTEN },
        { "ln1/16*16 ln2/21*21 s13/9*9", 1, 0, 0, COALESCE_REGISTERS },
        { "ln1/16*16 ln2/21*21 s13/9*9", 1, 512, 0, COALESCE_REWRITTEN },
        { "s1/9*9 lh2/1", 0, 0, 810, COALESCE_REWRITTEN },
        { "s1/9*9 lh2/1", 0, 0, 811, COALESCE_COMPUTES },
        { "s1/9~3 s1/9+4*8 lh2/1", 0, 0, 6480, COALESCE_REWRITTEN },
        { "s1/9~3 s1/9+4*8 lh2/1", 0, 0, 6488, COALESCE_COMPUTES },
        { "s1/6*6 lh2/1", 0, 0, 73, COALESCE_COMPUTES },
        { "s1/32*32 lh2/1", 0, 0, 10240, COALESCE_REWRITTEN },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        scene                 s       = scene_of(rows[i].text);
        coalesce_options      options = { .block = { .most = rows[i].most },
                                          .work = rows[i].work };
        coalesce_plan         made    = plan(&s, &options);
        const coalesce_group *group   = &made.group[rows[i].group];

        assert_int_equal(group->refusal, rows[i].refusal);
        if (rows[i].work != 0) {
            assert_int_equal(group->threads != 0, (rows[i].refusal == COALESCE_REWRITTEN) &&
                                                      (rows[i].work < 10240));
        }
        finish(&s, &made);
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
    static const struct { const char *text; int force; coalesce_refusal refusal; } rows[] = {
        { "s1/65*65", 1, COALESCE_RECORD_TOO_LONG },
        { "s1/24*24", 1, COALESCE_REWRITTEN },
        { "s1/3*3", 0, COALESCE_NOT_MEASURED },
        { "s1/3*3", 1, COALESCE_REWRITTEN },
        { "sv1/9*9", 1, COALESCE_SPECIAL_ACCESS },
        { "su1/9*9", 1, COALESCE_TYPE },
        { "sg1/9*9", 1, COALESCE_SPACE },
        { "s1/9*9 s1/9+8", 1, COALESCE_OVERLAP },
        { "s1/9 s1/9+32", 1, COALESCE_HOLES_STORED },
        { "s1/16*8", 1, COALESCE_REWRITTEN }, /* half of a record, also its first half */
        { "l1/9 l1/9+28", 1, COALESCE_PARTIAL_RECORD },
        { "l1/1", 1, COALESCE_IS_COALESCED },
        { "s1/-9*9", 1, COALESCE_NEGATIVE_STRIDE },
        /* past a barrier; the same word once more, and one of another array */
        { "s1/9*4 s1/9+16^2*5", 1, COALESCE_SPLIT },
        { "sv1/9*8 sv1/9+32^2", 1, COALESCE_SPECIAL_ACCESS },
        { "l1/9*8 l1/9+32^2", 1, COALESCE_SPLIT },
        { "l1/9 l1/9^2 l2/9+32^2", 1, COALESCE_PARTIAL_RECORD },
        { "l1/9+2:2 l1/9+4", 1, COALESCE_TYPE },
        { "s1/2 s1/2+7:2", 0, COALESCE_TYPE }, /* a half-word in two words */
        /* loads pay with stores, or from 32 words on */
        { "ln1/9*9", 0, COALESCE_NEEDS_STORE },
        { "ln1/32*32", 0, COALESCE_REWRITTEN },
        { "ln1/9*9 s2/9*9", 0, COALESCE_REWRITTEN },
        { "s2/9*9 ln1/9*9", 0, COALESCE_REWRITTEN },
        /* a stride of 4 GiB and 36 bytes from lane to lane is not one of 36 bytes */
        { "s1/1073741833*9", 1, COALESCE_RECORD_TOO_LONG },
        /* loads may pass stores only of other arrays */
        { "l1/9*9|s2/9", 1, COALESCE_MAY_ALIAS },
        { "l1/9*9|s11/9", 1, COALESCE_REWRITTEN },
        /* a word of the record that is written in between: no matter for __restrict__ */
        { "s1/9*4 l1/9+4 s1/9+16*5", 1, COALESCE_SAME_ARRAY },
        /* no access moves across a volatile or atomic one, not even a load of another array */
        { "l1/2 l11/1 l1/2+4", 1, COALESCE_REWRITTEN },
        { "s1/2 l11/1 s1/2+4", 1, COALESCE_REWRITTEN },
        { "l1/2 s11/1 l1/2+4", 1, COALESCE_REWRITTEN },
        { "s1/2 s11/1 s1/2+4", 1, COALESCE_REWRITTEN },
        { "l1/2 lv11/1 l1/2+4", 1, COALESCE_IN_BETWEEN },
        { "s1/2 lv11/1 s1/2+4", 1, COALESCE_IN_BETWEEN },
        { "l1/2 sv11/1 l1/2+4", 1, COALESCE_IN_BETWEEN },
        { "s1/2 sv11/1 s1/2+4", 1, COALESCE_IN_BETWEEN },
        { "l1/2 sa11/1 l1/2+4", 1, COALESCE_IN_BETWEEN },
        { "s1/2 sa11/1 s1/2+4", 1, COALESCE_IN_BETWEEN },
        /* short copies pay only where loads wait for stores */
        { "l2/3*3|s1/3<1", 0, COALESCE_REWRITTEN },
        { "l2/3*3 s1/3<3*3", 0, COALESCE_NOT_MEASURED },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        expect(rows[i].text, (coalesce_options){ .force = rows[i].force }, rows[i].refusal);
    }
    expect("s1/9*9", (coalesce_options){ .no_stores = 1 }, COALESCE_OPTED_OUT);
}

/* Fields narrower than a word belong to a record if they fill the word: word 1 is stored as `first`
 * bytes and `then` single bytes. */
UNIT_TEST(test_narrow_fields)
{
    for (uint32_t words = 2; words < 10; words++) {
        for (uint32_t first = 1; first <= 2; first++) {
            for (uint32_t then = 0; first + then <= 4; then++) {
                char        store[128];
                shpool_text text = shpool_text_make(store, sizeof(store));

                shpool_text_add(&text, "s1/%u", words);
                if (words > 2) {
                    shpool_text_add(&text, " s1/%u+8*%u", words, words - 2);
                }
                shpool_text_add(&text, " s1/%u+4:%u", words, first);
                for (uint32_t i = 0; i < then; i++) {
                    shpool_text_add(&text, " s1/%u+%u:1", words, 4 + first + i);
                }
                expect(store, FORCE, (first + then == 4) ? COALESCE_REWRITTEN
                                                         : COALESCE_PART_OF_WORD);
            }
        }
    }
}

/* Of several groups: S1 L1 S2 L2, and S1 may alias L2 only: each group alone is free to move, both
 * together would exchange S1 and L2. */
UNIT_TEST(test_groups)
{
    static const struct { const char *text; int force; size_t groups, rewritten; } rows[] = {
        { "ln1/9*9 s2/9*9", 0, 2, 2 },
        { "l1/9*9|s2/9", 1, 2, 0 },
        { "l1/9*9|s11/9", 1, 2, 2 },
        { "s1/2=31 l11/2 s1/2+4 l11/2+4=31", 1, 2, 1 },
        { "l1/3*3|s2/3<1", 0, 1, 1 },
        { "l2/3*3 s1/3<3*3", 0, 1, 0 },
        { "l1/3 s2/3<1 l1/3+4 s2/3+4<3 l1/3+8 s2/3+8<1", 0, 2, 0 }, /* not the same field */
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        scene         s    = scene_of(rows[i].text);
        coalesce_plan made = plan(&s, &(coalesce_options){ .force = rows[i].force });

        assert_int_equal(made.count, rows[i].groups);
        assert_int_equal(made.rewritten, rows[i].rewritten);
        if (made.count == 1) {
            assert_int_equal(made.group[0].kind, COALESCE_COPIES);
        }
        if ((made.count == 1) && (made.rewritten == 1)) {
            assert_int_equal(made.group[0].transform, COALESCE_COPY);
            assert_int_equal(made.group[0].source[2], 4);
        }
        finish(&s, &made);
    }
}

/* Rows are cut into tiles of 32 words.  ld.global.nc must not replace loads of data that the kernel
 * wrote, a gather of rows is not measured, and rows do not pass stores that may alias. */
UNIT_TEST(test_loads_in_tiles)
{
    static const struct { const char *text; int no_rows, force; size_t loads; } rows[] = {
        { "l1p*31", 0, 0, 0 },
        { "l1p*32", 0, 0, 32 },
        { "l1p*70", 0, 0, 64 },
        { "l1p*32", 1, 0, 0 },
        { "l1i*32", 0, 0, 0 },
        { "l1i*32", 0, 1, 32 },
        { "ln1p l1p+4*31", 0, 0, 0 },
        { "ln1p*32", 0, 0, 32 },
        { "l1p*16 s2/1 l1p+64*16", 0, 0, 0 },
        { "l1p*32 s12/1", 0, 0, 32 },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        scene         s     = scene_of(rows[i].text);
        coalesce_plan made  = plan(&s, &(coalesce_options){ .no_rows = rows[i].no_rows,
                                                            .force = rows[i].force });
        size_t        loads = 0;

        for (size_t k = 0; k < made.count; k++) {
            loads += (made.group[k].transform == COALESCE_ROWS) ? made.group[k].count : 0;
        }
        assert_int_equal(loads, rows[i].loads);
        finish(&s, &made);
    }
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
        const int64_t apart = step[c / 3 / SHPOOL_ARRAY_COUNT(far)];
        scene         s     = { .count = 0 };
        int64_t       offset[4 + SHPOOL_ARRAY_COUNT(far)];
        coalesce_plan made;

        for (size_t i = 0; i < 4 + ((c % 3 == 2) ? SHPOOL_ARRAY_COUNT(far) : 1); i++) {
            item at;

            offset[i] = (i < 4) ? 4 * (int64_t)i
                                : far[(c % 3 == 2) ? i - 4 : c / 3 % SHPOOL_ARRAY_COUNT(far)];
            (void)read_item((c % 3 == 1) ? "l1:1" : "l1", &at);
            at.step           = apart;
            at.access.address = coalesce_form_constant(offset[i]);
            add(&s, &at, 0);
        }
        made = plan(&s, &USUAL);
        for (size_t i = 0; i < made.count; i++) {
            for (uint32_t m = 1; (apart <= 36) && (m < made.group[i].count); m++) {
                const uint64_t gap = (uint64_t)offset[made.group[i].member[m]] -
                                     (uint64_t)offset[made.group[i].member[0]];

                assert_in_range(gap, 0, 35);
            }
        }
        finish(&s, &made);
    }
}
