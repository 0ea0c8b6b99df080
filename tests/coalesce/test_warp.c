/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of plan/warp.h, executed for 32 lanes: records of every size are loaded, stored
 * and copied as the lanes would do it one by one, and guards fail where they must. */
#include "tests/unit.h"

#include "coalesce/plan/warp.h"

#define LANES  32u
#define BEFORE 0x300000000ull /* addresses of the two arrays: the upper halves differ, too */
#define APART  0x20000000ull
#define ARRAY  (4u * LANES * 320u) /* bytes of each */

/* Inputs and results of 32 lanes. */
typedef struct warp_run {
    const coalesce_warp *warp;
    uint64_t      address[2][LANES];
    uint32_t      word[LANES][COALESCE_MAX_WORDS]; /* stored */
    uint32_t      result[LANES][COALESCE_MAX_WORDS];
    uint32_t      mask;
    uint32_t      special[4];
    uint32_t      local; /* lanes whose addresses are not global */
    unsigned char memory[2][ARRAY];
    uint64_t      low, high; /* loads below and stores beyond these offsets are errors */
    uint64_t      value[COALESCE_MOST_VALUES][LANES];
    uint32_t      syncs;
    uint32_t      accesses;
    uint32_t      unordered; /* accesses before the first sync or after the last */
} warp_run;

static unsigned char *memory_of(warp_run *run, uint64_t address, uint32_t bytes)
{
    const int      side = address >= BEFORE + APART;
    const uint64_t at   = address - BEFORE - (side ? APART : 0);

    assert_int_equal(address % bytes, 0);
    assert_true((at >= run->low) && (at + bytes <= run->high));
    return &run->memory[side][at];
}

static void access_memory(warp_run *run, const coalesce_op *op, uint32_t lane)
{
    const uint64_t at   = run->value[op->a[0]][lane] + (uint64_t)op->immediate;
    unsigned char *here = memory_of(run, at, 4 * op->words);

    for (uint32_t i = 0; i < op->words; i++) {
        if (op->kind == COALESCE_OP_LOAD) {
            uint32_t word;

            memcpy(&word, here + 4 * i, sizeof(word));
            run->value[op->value + i][lane] = word;
        } else {
            const uint32_t word = (uint32_t)run->value[op->a[1 + i]][lane];

            memcpy(here + 4 * i, &word, sizeof(word));
        }
    }
}

static uint64_t compute(const warp_run *run, const coalesce_op *op, uint32_t lane)
{
    const uint64_t number = (uint64_t)op->immediate;
    const uint64_t a = (op->a[0] == COALESCE_NO_VALUE) ? 0 : run->value[op->a[0]][lane];
    const uint64_t b = (op->a[1] == COALESCE_NO_VALUE) ? number : run->value[op->a[1]][lane];
    const uint64_t c = (op->a[2] == COALESCE_NO_VALUE) ? 0 : run->value[op->a[2]][lane];

    switch (op->kind) {
    case COALESCE_OP_MASK:    return run->mask;
    case COALESCE_OP_LANE:    return lane;
    case COALESCE_OP_SPECIAL: return run->special[op->immediate];
    case COALESCE_OP_ADDRESS: return run->address[op->immediate][lane];
    case COALESCE_OP_WORD:    return run->word[lane][op->immediate];
    case COALESCE_OP_ADD:
    case COALESCE_OP_STEP:    return a + b;
    case COALESCE_OP_SUB:     return a - b;
    case COALESCE_OP_MUL:     return a * b;
    case COALESCE_OP_REM:     return a % b;
    case COALESCE_OP_AND:     return a & b;
    case COALESCE_OP_OR:      return a | b;
    case COALESCE_OP_EQUAL:
        return (coalesce_maker(run->warp, op->a[0])->type == COALESCE_I32)
                   ? (uint32_t)a == (uint32_t)b : a == b;
    case COALESCE_OP_ABOVE:   return a > b;
    case COALESCE_OP_SELECT:  return a ? b : c;
    case COALESCE_OP_BIT:     return 1u << a;
    case COALESCE_OP_SCALE:   return (uint64_t)((int64_t)(int32_t)a * op->immediate);
    case COALESCE_OP_HALF:    return a >> op->immediate;
    case COALESCE_OP_JOIN:    return a | b << 32;
    case COALESCE_OP_INTEGER: return a;
    case COALESCE_OP_SHUFFLE: return run->value[op->a[0]][b % LANES];
    case COALESCE_OP_EXCHANGE: return run->value[op->a[0]][lane ^ number];
    case COALESCE_OP_GLOBAL:  return (run->local >> lane & 1) == 0;
    case COALESCE_OP_ALL:
        for (uint32_t other = 0; other < LANES; other++) {
            if (run->value[op->a[0]][other] == 0) {
                return 0;
            }
        }
        return 1;
    default:
        fail_msg("operation %d", (int)op->kind);
        return 0;
    }
}

/* One operation in all lanes: the values before it are those of operations before it. */
static void execute(warp_run *run, const coalesce_op *op)
{
    for (uint32_t i = 0; i < SHPOOL_ARRAY_COUNT(op->a); i++) {
        assert_true((op->a[i] == COALESCE_NO_VALUE) || (op->a[i] < op->value));
    }
    for (uint32_t lane = 0; lane < LANES; lane++) {
        uint64_t value;

        if (op->type == COALESCE_VOID) {
            if (op->kind == COALESCE_OP_RESULT) {
                run->result[lane][op->immediate] = (uint32_t)run->value[op->a[0]][lane];
            } else if ((op->kind == COALESCE_OP_STORE) &&
                       ((op->a[5] == COALESCE_NO_VALUE) || !run->value[op->a[5]][lane])) {
                access_memory(run, op, lane);
            }
            continue;
        }
        if (op->kind == COALESCE_OP_LOAD) {
            access_memory(run, op, lane);
            continue;
        }
        value = compute(run, op, lane);
        run->value[op->value][lane] = (op->type == COALESCE_I32) ? (uint32_t)value : value;
    }
}

/* 1: the warp accessed its records together; 0: the guards said no, before any access. */
static int run_warp(warp_run *run)
{
    uint32_t since = 0; /* accesses after the last sync */

    run->syncs = run->accesses = run->unordered = 0;
    for (uint32_t i = 0; i < run->warp->count; i++) {
        const coalesce_op *op = &run->warp->op[i];

        execute(run, op);
        if (op->kind == COALESCE_OP_UNLESS) {
            const uint64_t *go = run->value[op->a[0]];

            for (uint32_t lane = 1; lane < LANES; lane++) { /* else the lanes would part */
                assert_int_equal(go[lane], go[0]);
            }
            if (go[0] == 0) {
                assert_int_equal(run->accesses, 0);
                return 0;
            }
        } else if (op->kind == COALESCE_OP_SYNC) {
            run->syncs++;
            since = 0;
        } else if ((op->kind == COALESCE_OP_LOAD) || (op->kind == COALESCE_OP_STORE)) {
            run->accesses++;
            run->unordered += (run->syncs == 0);
            since++;
        }
    }
    run->unordered += since;
    return 1;
}

/* ---- records in memory ---- */

static warp_run      run;  /* of the test in progress */
static coalesce_warp list;

#define FIRST 256u /* where the records begin in their array */

static uint32_t random_word(void)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 32);
}

/* The warp's records from FIRST + shift on; to be executed by run_warp(). */
static void prepare(const coalesce_record *record, uint32_t shift)
{
    const uint32_t bytes = 4 * record->words;

    memset(&run, 0, sizeof(run));
    run.warp = &list;
    run.mask = UINT32_MAX;
    run.low  = FIRST + shift;
    run.high = FIRST + shift + LANES * bytes;
    for (uint32_t i = 0; i < ARRAY; i += 4) {
        const uint32_t words[2] = { random_word(), random_word() };

        memcpy(&run.memory[0][i], &words[0], 4);
        memcpy(&run.memory[1][i], &words[1], 4);
    }
    for (uint32_t lane = 0; lane < LANES; lane++) {
        const uint64_t at = BEFORE + FIRST + shift + lane * bytes;

        run.address[0][lane] = at - (uint64_t)record->offset[0];
        run.address[1][lane] = at + APART - (uint64_t)record->offset[1];
        for (uint32_t k = 0; k < record->words; k++) {
            run.word[lane][k] = random_word();
        }
    }
    assert_int_equal(coalesce_warp_make(record, &list), 1);
}

static uint64_t all_of(uint32_t words)
{
    return UINT64_MAX >> (64 - words);
}

static uint64_t random_words(void)
{
    return (uint64_t)random_word() << 32 | random_word();
}

static uint32_t word_at(int side, uint64_t at)
{
    uint32_t word;

    memcpy(&word, &run.memory[side][at], sizeof(word));
    return word;
}

/* The lanes' results are the covered words of their records. */
static void expect_loaded(const coalesce_record *record)
{
    for (uint32_t lane = 0; lane < LANES; lane++) {
        for (uint32_t k = 0; k < record->words; k++) {
            const uint64_t at = run.address[0][lane] + (uint64_t)record->offset[0] - BEFORE;

            assert_int_equal(run.result[lane][k],
                             (record->covered >> k & 1) ? word_at(0, at + 4 * k) : 0);
        }
    }
}

static void expect_ordered(const coalesce_record *record)
{
    assert_int_equal(run.syncs, record->is_wide ? 0 : 2);
    assert_true(record->is_wide || (run.unordered == 0));
}

static int is_wide(uint32_t words)
{
    return (words == 2) || (words == 4);
}

/* ---- operations ---- */

UNIT_TEST(test_loads_of_every_size_with_holes)
{
    for (uint32_t words = 2; words <= COALESCE_MAX_WORDS; words++) {
        for (uint32_t i = 0; i < 16; i++) {
            coalesce_record record = { .kind = COALESCE_LOADS, .words = words, .is_global = 1,
                                       .offset = { 4 * ((int64_t)i - 8), 0 } };

            record.covered = 1u | (uint64_t)1 << (words - 1) | (random_words() & all_of(words));
            record.covered = (i == 0) ? all_of(words) : record.covered;
            record.is_wide = is_wide(words) && (i == 0);
            prepare(&record, 0);
            assert_true(run_warp(&run));
            expect_loaded(&record);
            expect_ordered(&record);
        }
    }
}

UNIT_TEST(test_stores_of_every_size)
{
    for (uint32_t words = 2; words <= COALESCE_MAX_WORDS; words++) {
        for (uint32_t i = 0; i < 4; i++) {
            const coalesce_record record = { .kind = COALESCE_STORES, .words = words,
                                             .covered = all_of(words), .is_global = 1,
                                             .is_wide = is_wide(words) && (i < 2),
                                             .offset = { 12 * ((int64_t)i - 2), 0 } };

            prepare(&record, 0);
            assert_true(run_warp(&run));
            for (uint32_t n = 0; n < LANES * words; n++) {
                assert_int_equal(word_at(0, FIRST + 4 * n), run.word[n / words][n % words]);
            }
            expect_ordered(&record);
        }
    }
}

/* Only the words that a lane stores change, at whatever alignment the unit needs. */
UNIT_TEST(test_stores_with_holes)
{
    static unsigned char before[ARRAY];
    uint32_t             most = 0;

    for (uint32_t words = 2; words <= COALESCE_MAX_UNITS; words++) {
        for (uint32_t i = 0; i < 32; i++) {
            coalesce_record record = { .kind = COALESCE_STORES, .words = words, .is_global = 1,
                                       .offset = { 4 * ((int64_t)i - 8), 0 } };

            record.covered = 1u | (random_words() & random_words() & all_of(words));
            if (i % 2 == 0) { /* whole units */
                record.covered |= record.covered << 1 & 0xaaaaaaaaaaaaaaaau & all_of(words);
                record.covered |= record.covered << 2 & 0xccccccccccccccccu & all_of(words);
            }
            prepare(&record, coalesce_record_align(&record));
            memcpy(before, run.memory[0], sizeof(before));
            assert_true(run_warp(&run));
            for (uint32_t n = 0; n < LANES * words; n++) {
                const uint64_t at = FIRST + coalesce_record_align(&record) + 4 * n;

                if ((record.covered >> n % words & 1) != 0) {
                    assert_int_equal(word_at(0, at), run.word[n / words][n % words]);
                } else {
                    assert_memory_equal(&run.memory[0][at], &before[at], 4);
                }
            }
            expect_ordered(&record);
            most = (list.count > most) ? list.count : most;
        }
    }
    print_message("at most %u operations\n", most);
}

static coalesce_record copy_of(uint32_t words)
{
    return (coalesce_record){ .kind = COALESCE_COPIES, .words = words, .covered = all_of(words),
                              .is_global = 1, .offset = { 8, -20 } };
}

UNIT_TEST(test_copies_of_every_size)
{
    for (uint32_t words = 2; words <= COALESCE_MAX_WORDS; words++) {
        for (int i = 0; i < 4; i++) {
            coalesce_record record = copy_of(words);

            record.is_parallel = i & 1;
            record.is_disjoint = i >> 1;
            prepare(&record, 0);
            assert_true(run_warp(&run));
            assert_memory_equal(&run.memory[0][FIRST], &run.memory[1][FIRST], 4 * LANES * words);
            expect_ordered(&record);
        }
    }
}

UNIT_TEST(test_rows_that_lie_anywhere)
{
    static const uint32_t sizes[] = { 8, 16, 32 };

    for (uint32_t i = 0; i < 30; i++) {
        const uint32_t  words  = sizes[i % 3];
        coalesce_record record = { .kind = COALESCE_LOADS, .words = words, .is_row = 1,
                                   .covered = all_of(words), .is_global = 1, .offset = { 48, 0 } };

        prepare(&record, 0);
        run.low  = 0;
        run.high = ARRAY;
        for (uint32_t lane = 0; lane < LANES; lane++) {
            run.address[0][lane] = BEFORE - 48 + random_word() % (ARRAY - 128) / 16 * 16;
        }
        assert_true(run_warp(&run));
        expect_loaded(&record);
        expect_ordered(&record);
        run.address[0][i] += 8; /* not aligned */
        assert_false(run_warp(&run));
    }
}

/* ---- guards ---- */

/* A condition, for one side, that must prevent the warp from accessing its records together. */
static void expect_guarded(const coalesce_record *record, int side)
{
    const uint32_t lane = random_word() % LANES;

    run.mask = UINT32_MAX ^ 1u << lane; /* G1 */
    assert_false(run_warp(&run));
    run.mask = UINT32_MAX;
    run.address[side][lane] += 4 * coalesce_record_align(record); /* G2, lower half */
    assert_false(run_warp(&run));
    run.address[side][lane] -= 4 * coalesce_record_align(record);
    run.address[side][lane] += 1ull << 40; /* upper half */
    assert_false(run_warp(&run));
    run.address[side][lane] -= 1ull << 40;
    run.local = 1u << lane;
    assert_int_equal(run_warp(&run), record->is_global);
    run.local = 0;
    assert_true(run_warp(&run));
}

UNIT_TEST(test_guards_of_the_warp)
{
    for (uint32_t words = 2; words <= COALESCE_MAX_WORDS; words++) {
        for (int kind = COALESCE_LOADS; kind <= COALESCE_COPIES; kind++) {
            coalesce_record record = copy_of(words);

            record.kind      = (coalesce_group_kind)kind;
            record.is_global = words % 2;
            prepare(&record, 0);
            expect_guarded(&record, 0);
            if (kind == COALESCE_COPIES) {
                expect_guarded(&record, 1);
            }
        }
    }
}

UNIT_TEST(test_guard_of_alignment)
{
    for (uint32_t words = 2; words <= COALESCE_MAX_WORDS; words++) {
        for (uint32_t shift = 0; shift < 32; shift += 4) {
            coalesce_record record = { .kind = COALESCE_LOADS, .words = words, .is_global = 1,
                                       .covered = all_of(words), .offset = { 100, 36 } };

            for (int i = 0; i < 3; i++) {
                record.kind    = (i == 2) ? COALESCE_COPIES : COALESCE_LOADS;
                record.is_wide = (i == 1) && is_wide(words);
                prepare(&record, shift);
                assert_int_equal(run_warp(&run), shift % coalesce_record_align(&record) == 0);
                prepare(&record, 4 * words); /* from the array's second record on */
                assert_true(run_warp(&run));
            }
        }
    }
}

/* Words that consist of bytes may lie anywhere. */
UNIT_TEST(test_guard_of_narrow_fields)
{
    for (uint32_t words = 2; words <= COALESCE_MAX_WORDS; words++) {
        for (uint32_t shift = 0; shift < 4; shift++) {
            for (int kind = COALESCE_LOADS; kind <= COALESCE_COPIES; kind++) {
                coalesce_record record = copy_of(words);

                record.kind      = (coalesce_group_kind)kind;
                record.is_narrow = 1;
                record.offset[1] = record.offset[0];
                prepare(&record, shift);
                assert_int_equal(run_warp(&run), shift == 0);
            }
        }
    }
}

/* 227 KiB are shared by blocks that have 1 KiB more than they ask for. */
UNIT_TEST(test_guard_of_threads)
{
    static const struct { uint32_t block[3], bytes; int fits; } cases[] = {
        { { 64, 1, 1 }, 0, 1 },         { { 64, 1, 1 }, 18304, 1 }, { { 64, 1, 1 }, 18305, 0 },
        { { 32, 8, 1 }, 46080, 1 },     { { 256, 1, 1 }, 80000, 0 }, { { 8, 4, 2 }, 18305, 0 },
        { { 1024, 1, 1 }, 232448, 1 },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        coalesce_record record = copy_of(9);

        record.threads = 768;
        prepare(&record, 0);
        memcpy(run.special, cases[i].block, sizeof(cases[i].block));
        run.special[3] = cases[i].bytes;
        assert_int_equal(run_warp(&run), cases[i].fits);
    }
}

UNIT_TEST(test_guard_of_overlap)
{
    for (uint32_t words = 2; words <= COALESCE_MAX_WORDS; words++) {
        const int64_t   bytes  = 4 * (int64_t)words;
        const int64_t   step   = 16;
        coalesce_record record = copy_of(words);

        record.is_parallel = words % 2;
        for (int64_t away = -33 * bytes / step * step; away <= 33 * bytes; away += step) {
            const int is_apart = (away >= 32 * bytes) || (away <= -32 * bytes) || (away == 0);

            prepare(&record, 0);
            run.low  = 0;
            run.high = ARRAY;
            for (uint32_t lane = 0; lane < LANES; lane++) {
                const uint64_t at = BEFORE + ARRAY / 2 + (uint64_t)(lane * bytes);

                run.address[0][lane] = at - (uint64_t)record.offset[0];
                run.address[1][lane] = at + (uint64_t)away - (uint64_t)record.offset[1];
            }
            assert_int_equal(run_warp(&run), is_apart);
        }
    }
}

/* ---- the list ---- */

UNIT_TEST(test_nothing_is_computed_twice_or_for_nothing)
{
    uint32_t most = 0;

    for (uint32_t words = 2; words <= COALESCE_MAX_WORDS; words++) {
        for (int kind = COALESCE_LOADS; kind <= COALESCE_COPIES; kind++) {
            coalesce_record record = copy_of(words);

            record.kind = (coalesce_group_kind)kind;
            assert_int_equal(coalesce_warp_make(&record, &list), 1);
            most = (list.count > most) ? list.count : most;
            for (uint32_t i = 0; i < list.count; i++) {
                const coalesce_op *op   = &list.op[i];
                uint32_t           used = op->type == COALESCE_VOID;

                assert_false((op->kind == COALESCE_OP_ADD) && (op->a[1] == COALESCE_NO_VALUE) &&
                             (op->immediate == 0));
                assert_false((op->kind == COALESCE_OP_SCALE) && (op->immediate == 0));
                for (uint32_t k = i + 1; k < list.count; k++) {
                    for (uint32_t n = 0; n < SHPOOL_ARRAY_COUNT(op->a); n++) {
                        used |= (list.op[k].a[n] - op->value) < ((op->words > 1) ? op->words : 1);
                    }
                }
                assert_true(used != 0);
            }
        }
    }
    print_message("at most %u operations\n", most);
    assert_true(most <= COALESCE_MOST_OPS);
}
