/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The accesses of a warp together, and the transpose between them and the lanes' records.
 *
 * A record is N = P * M units, P a power of two and M odd.  The transpose has two steps, of which
 * either may be empty:
 *
 * Butterfly.  P units side by side are a piece.  Groups of P lanes access P pieces by P accesses,
 * lane i of a group unit i of piece j at access j, so that P lanes touch one stretch of memory.
 * Then the P x P units of a group are transposed by exchanges between lanes whose numbers differ in
 * one bit, log2 P rounds.  Loads have neighbours in a group: 8 lanes then read a whole line.
 * Stores have every 32/P-th lane in a group: all 32 lanes of an access then write one stretch.
 * Measured on an H200, 32 words: stores 3,788 and the other way 3,666 GB/s, row sums 4,294 and
 * 4,033.
 *
 * Rotation.  Piece 32 j + lane is field (32 j + lane) mod M of its record: a fixed permutation of
 * j, a rotation by lane mod M (log2 M selects a piece), and one shuffle each bring it to its owner.
 * After B. Catanzaro, A. Keller, M. Garland: A decomposition for in-place matrix transposition
 * (PPoPP 2014).
 *
 * Holes in a stored record are not written: a unit is stored or left out as a whole; which lanes
 * store at an access is known at compile time.
 *
 * Loads do both from memory to record, stores the inverse in the opposite order.  N = 2, 4, 8 could
 * also be done by two rotations around the shuffles (fewer shuffles, more selects); the choice is
 * made here, for both printers, by write_butterfly() being called.
 */
#include "warp.h"

#include <string.h>

#define NONE COALESCE_NO_VALUE

/* ---- the list that grows ---- */

static uint32_t add_op(coalesce_warp *warp, coalesce_op op, uint32_t values)
{
    if ((warp->count == COALESCE_MOST_OPS) || (warp->values + values > COALESCE_MOST_VALUES)) {
        warp->full = 1;
        return 0;
    }
    op.value = warp->values;
    for (uint32_t i = 0; i < values; i++) {
        warp->maker[warp->values++] = warp->count;
    }
    warp->op[warp->count++] = op;
    return op.value;
}

/* 1: the result depends only on the operands, so one such operation suffices. */
static int is_pure(coalesce_op_kind kind)
{
    return (kind == COALESCE_OP_LANE) || (kind == COALESCE_OP_SPECIAL) ||
           (kind == COALESCE_OP_ADDRESS) ||
           ((kind >= COALESCE_OP_ADD) && (kind <= COALESCE_OP_STEP));
}

static coalesce_type type_of(const coalesce_warp *warp, coalesce_op_kind kind, uint32_t a)
{
    static const coalesce_type others[COALESCE_OP_UNLESS + 1] = {
        [COALESCE_OP_ADDRESS] = COALESCE_POINTER,   [COALESCE_OP_STEP]    = COALESCE_POINTER,
        [COALESCE_OP_SCALE]   = COALESCE_I64,       [COALESCE_OP_JOIN]    = COALESCE_I64,
        [COALESCE_OP_INTEGER] = COALESCE_I64,       [COALESCE_OP_EQUAL]   = COALESCE_PREDICATE,
        [COALESCE_OP_ABOVE]   = COALESCE_PREDICATE, [COALESCE_OP_ALL]     = COALESCE_PREDICATE,
        [COALESCE_OP_GLOBAL]  = COALESCE_PREDICATE,
    };

    if ((kind >= COALESCE_OP_ADD) && (kind <= COALESCE_OP_OR)) {
        return coalesce_maker(warp, a)->type;
    }
    return (others[kind] == COALESCE_VOID) ? COALESCE_I32 : others[kind];
}

/* The value of an operation; an earlier one where that is the same. */
static uint32_t make(coalesce_warp *warp, coalesce_op_kind kind, uint32_t a, uint32_t b, uint32_t c,
                     int64_t immediate)
{
    const coalesce_op op = { .kind = kind, .type = type_of(warp, kind, a),
                             .a = { a, b, c, NONE, NONE, NONE }, .immediate = immediate };

    if (((kind == COALESCE_OP_ADD) && (b == NONE) && (immediate == 0)) ||
        ((kind == COALESCE_OP_MUL) && (b == NONE) && (immediate == 1))) {
        return a;
    }
    for (uint32_t i = 0; is_pure(kind) && (i < warp->count); i++) {
        const coalesce_op *old = &warp->op[i];

        if ((old->kind == kind) && (old->immediate == immediate) &&
            (memcmp(old->a, op.a, sizeof(op.a)) == 0)) {
            return old->value;
        }
    }
    return add_op(warp, op, 1);
}

static uint32_t input(coalesce_warp *warp, coalesce_op_kind kind, int64_t which)
{
    return make(warp, kind, NONE, NONE, NONE, which);
}

static uint32_t with_number(coalesce_warp *warp, coalesce_op_kind kind, uint32_t a, int64_t number)
{
    return make(warp, kind, a, NONE, NONE, number);
}

static uint32_t with_value(coalesce_warp *warp, coalesce_op_kind kind, uint32_t a, uint32_t b)
{
    return make(warp, kind, a, b, NONE, 0);
}

static uint32_t lane_of(coalesce_warp *warp)
{
    return input(warp, COALESCE_OP_LANE, 0);
}

static uint32_t address_of(coalesce_warp *warp, int side)
{
    return input(warp, COALESCE_OP_ADDRESS, side);
}

static uint32_t integer_of(coalesce_warp *warp, uint32_t pointer)
{
    return with_number(warp, COALESCE_OP_INTEGER, pointer, 0);
}

/* The pointer + a * factor. */
static uint32_t step(coalesce_warp *warp, uint32_t pointer, uint32_t a, int64_t factor)
{
    return (factor == 0) ? pointer
                         : with_value(warp, COALESCE_OP_STEP, pointer,
                                      with_number(warp, COALESCE_OP_SCALE, a, factor));
}

static void add_void(coalesce_warp *warp, coalesce_op_kind kind, uint32_t a, int64_t immediate)
{
    (void)add_op(warp, (coalesce_op){ .kind = kind, .a = { a, NONE, NONE, NONE, NONE, NONE },
                                      .immediate = immediate }, 0);
}

static void sync(coalesce_warp *warp)
{
    add_void(warp, COALESCE_OP_SYNC, NONE, 0);
}

/* ---- records ---- */

static int64_t bytes_of(const coalesce_record *record)
{
    return 4 * (int64_t)record->words;
}

/* ---- guards ----
 * Each is uniform over the warp: all 32 lanes vote, or read one mask.  So all lanes take the same
 * side, and what follows may name all of them. */

typedef struct guard {
    coalesce_warp         *warp;
    const coalesce_record *record;
    uint32_t               fits; /* predicate so far; NONE: no test yet */
} guard;

static void require(guard *g, uint32_t predicate)
{
    g->fits = (g->fits == NONE) ? predicate
                                : with_value(g->warp, COALESCE_OP_AND, g->fits, predicate);
}

static void leave_unless(coalesce_warp *warp, uint32_t predicate)
{
    add_void(warp, COALESCE_OP_UNLESS, predicate, 0);
}

static uint32_t equals(coalesce_warp *warp, uint32_t a, int64_t number)
{
    return with_number(warp, COALESCE_OP_EQUAL, a, number);
}

/* G1: all lanes are here, in this very execution of the instruction. */
static void require_warp(coalesce_warp *warp)
{
    const uint32_t mask = input(warp, COALESCE_OP_MASK, 0);

    leave_unless(warp, equals(warp, mask, -1));
}

const char *const coalesce_special[4] = { "%ntid.x", "%ntid.y", "%ntid.z", "%total_smem_size" };

/* G0: the blocks that fit into a multiprocessor's shared memory, 227 KiB, have more than `least`
 * threads together.  Fewer warps do not hide the time that a record takes to go through other
 * lanes. */
static void require_threads(coalesce_warp *warp, uint32_t least)
{
    uint32_t threads = input(warp, COALESCE_OP_SPECIAL, 0);
    uint32_t used    = input(warp, COALESCE_OP_SPECIAL, 3);

    for (int d = 1; d < 3; d++) {
        threads = with_value(warp, COALESCE_OP_MUL, threads, input(warp, COALESCE_OP_SPECIAL, d));
    }
    threads = with_number(warp, COALESCE_OP_MUL, threads, 227 * 1024 / least);
    used    = with_number(warp, COALESCE_OP_ADD, used, 1023); /* and 1 KiB of each block */
    leave_unless(warp, with_value(warp, COALESCE_OP_ABOVE, threads, used));
}

static uint32_t half_of(coalesce_warp *warp, uint32_t a, int upper)
{
    return with_number(warp, COALESCE_OP_HALF, a, upper ? 32 : 0);
}

/* G3: what is `offset` bytes from the i64 is aligned.  Words are aligned to words anyway, unless
 * they consist of narrow fields. */
static void require_alignment(guard *g, uint32_t at, int64_t offset)
{
    const uint32_t align = coalesce_record_align(g->record);
    uint32_t       low;

    if ((align == 4) && !g->record->is_narrow) {
        return;
    }
    low = with_number(g->warp, COALESCE_OP_ADD, at, offset & (align - 1));
    low = with_number(g->warp, COALESCE_OP_AND, low, align - 1);
    require(g, equals(g->warp, low, 0));
}

static void require_global(guard *g, int side)
{
    if (!g->record->is_global) {
        require(g, with_number(g->warp, COALESCE_OP_GLOBAL, address_of(g->warp, side), 0));
    }
}

/* G2: the i64 equals lane 0's.  Two shuffles and a vote: match.all is equivalent, but slower. */
static void require_equality(guard *g, uint32_t base)
{
    for (int upper = 0; upper < 2; upper++) {
        const uint32_t half  = half_of(g->warp, base, upper);
        const uint32_t first = with_number(g->warp, COALESCE_OP_SHUFFLE, half, 0);

        require(g, with_value(g->warp, COALESCE_OP_EQUAL, half, first));
    }
}

/* The side's records lie one after the other, from an aligned address on; `is_known`: they are as
 * far from each other as those of another side. */
static void require_records(guard *g, int side, int is_known)
{
    coalesce_warp *warp = g->warp;
    const uint32_t skip = with_number(warp, COALESCE_OP_SCALE, lane_of(warp), bytes_of(g->record));
    const uint32_t at   = integer_of(warp, address_of(warp, side));
    const uint32_t base = with_value(warp, COALESCE_OP_SUB, at, skip);

    require_global(g, side);
    if (!is_known) {
        require_equality(g, base);
    }
    require_alignment(g, base, g->record->offset[side]);
}

/* G4: the warp's two ranges are disjoint or the same. */
static void require_ranges(guard *g)
{
    coalesce_warp *warp     = g->warp;
    const int64_t  bytes    = COALESCE_LANES * bytes_of(g->record);
    const uint32_t from     = integer_of(warp, address_of(warp, 0));
    const uint32_t to       = integer_of(warp, address_of(warp, 1));
    uint32_t       distance = with_value(warp, COALESCE_OP_SUB, to, from);
    uint32_t       beyond;

    distance = with_number(warp, COALESCE_OP_ADD, distance,
                           g->record->offset[1] - g->record->offset[0]);
    beyond   = with_number(warp, COALESCE_OP_ADD, distance, bytes - 1);
    beyond   = with_number(warp, COALESCE_OP_ABOVE, beyond, 2 * bytes - 2);
    require(g, with_value(warp, COALESCE_OP_OR, beyond, equals(warp, distance, 0)));
}

static void write_guards(coalesce_warp *warp, const coalesce_record *record)
{
    guard g = { warp, record, NONE };

    if (record->is_wide) { /* needs no other lane */
        require_alignment(&g, integer_of(warp, address_of(warp, 0)), record->offset[0]);
        leave_unless(warp, g.fits);
        return;
    }
    if (record->threads != 0) {
        require_threads(warp, record->threads);
    }
    require_warp(warp);
    if (record->is_row) {
        require_global(&g, 0);
        require_alignment(&g, integer_of(warp, address_of(warp, 0)), record->offset[0]);
    } else {
        require_records(&g, 0, 0);
    }
    if (record->kind == COALESCE_COPIES) {
        require_records(&g, 1, record->is_parallel);
        if (!record->is_disjoint) {
            require_ranges(&g);
        }
    }
    leave_unless(warp, with_number(warp, COALESCE_OP_ALL, g.fits, 0));
}

/* ---- the transpose ---- */

typedef struct transpose {
    coalesce_warp         *warp;
    const coalesce_record *record;
    uint32_t               unit;   /* U: words */
    uint32_t               pieces; /* M: of a record */
    uint32_t               width;  /* P: units of a piece */
    uint32_t               next;   /* lanes from one of a group to the next one */
    uint32_t               word[COALESCE_MAX_WORDS]; /* piece, unit, word: the current values */
} transpose;

static transpose transpose_of(coalesce_warp *warp, const coalesce_record *record)
{
    transpose t = { .warp = warp, .record = record, .unit = coalesce_record_unit(record),
                    .width = 1 };
    uint32_t  units = record->words / t.unit;

    while (units % (2 * t.width) == 0) {
        t.width *= 2;
    }
    t.pieces = units / t.width;
    t.next   = COALESCE_LANES / t.width;
    if ((record->kind != COALESCE_STORES) || (t.width == 1) || (4 * t.unit % t.next != 0)) {
        t.next = 1;
    }
    return t;
}

/* Predicate: the bits of the number are 0. */
static uint32_t is_clear(coalesce_warp *warp, uint32_t number, int64_t bit)
{
    return equals(warp, with_number(warp, COALESCE_OP_AND, number, bit), 0);
}

static uint32_t choose(coalesce_warp *warp, uint32_t predicate, uint32_t a, uint32_t b)
{
    return make(warp, COALESCE_OP_SELECT, predicate, a, b, 0);
}

static void write_butterfly(transpose *t)
{
    for (uint32_t bit = 1; bit < t->width; bit *= 2) {
        const uint32_t away = bit * t->next; /* to the lane that has the other unit */
        const uint32_t low  = is_clear(t->warp, lane_of(t->warp), away);

        for (uint32_t i = 0; i < t->record->words; i++) {
            uint32_t *a = &t->word[i];
            uint32_t *b;
            uint32_t  got;

            if ((i / t->unit % t->width & bit) != 0) {
                continue; /* is the b of another one */
            }
            b   = &t->word[i + bit * t->unit];
            got = with_number(t->warp, COALESCE_OP_EXCHANGE, choose(t->warp, low, *b, *a), away);
            *a  = choose(t->warp, low, *a, got);
            *b  = choose(t->warp, low, got, *b);
        }
    }
}

/* i with odd * i = 1 modulo 32. */
static uint32_t inverse_of(uint32_t odd)
{
    uint32_t inverse = 1;

    while (odd * inverse % COALESCE_LANES != 1) {
        inverse += 2;
    }
    return inverse;
}

static void permute(transpose *t, int to_fields)
{
    const uint32_t size = t->width * t->unit;
    uint32_t       old[COALESCE_MAX_WORDS];

    memcpy(old, t->word, sizeof(old));
    for (uint32_t j = 0; j < t->pieces; j++) {
        const uint32_t field = COALESCE_LANES * j % t->pieces;

        memcpy(&t->word[(to_fields ? field : j) * size], &old[(to_fields ? j : field) * size],
               size * sizeof(*old));
    }
}

/* Pieces rotate left by the lane's number mod M, or, backward, right. */
static void write_rotation(transpose *t, int backward)
{
    const uint32_t size = t->width * t->unit;
    uint32_t       turn = lane_of(t->warp);

    if (backward) { /* 32 M - lane */
        turn = with_number(t->warp, COALESCE_OP_MUL, turn, -1);
        turn = with_number(t->warp, COALESCE_OP_ADD, turn, COALESCE_LANES * t->pieces);
    }
    turn = with_number(t->warp, COALESCE_OP_REM, turn, t->pieces);
    for (uint32_t by = 1; by < t->pieces; by *= 2) {
        const uint32_t stays = is_clear(t->warp, turn, by);
        uint32_t       turned[COALESCE_MAX_WORDS];

        for (uint32_t i = 0; i < t->record->words; i++) {
            turned[i] = choose(t->warp, stays, t->word[i],
                               t->word[(i + by * size) % t->record->words]);
        }
        memcpy(t->word, turned, sizeof(turned));
    }
}

/* Piece k comes from lane M * lane + k; to memory, from the lane of which that is this one. */
static void write_shuffles(transpose *t, int to_memory)
{
    const uint32_t size   = t->width * t->unit;
    const uint32_t factor = to_memory ? inverse_of(t->pieces) : t->pieces;
    const uint32_t first  = with_number(t->warp, COALESCE_OP_MUL, lane_of(t->warp), factor);

    for (uint32_t k = 0; k < t->pieces; k++) {
        const uint32_t add  = to_memory ? (t->pieces * COALESCE_LANES - k) * factor : k;
        const uint32_t from = with_number(t->warp, COALESCE_OP_ADD, first, add % COALESCE_LANES);

        for (uint32_t i = k * size; i < (k + 1) * size; i++) {
            t->word[i] = with_value(t->warp, COALESCE_OP_SHUFFLE, t->word[i], from);
        }
    }
}

/* ---- memory ---- */

static void load_unit(coalesce_warp *warp, uint32_t *word, uint32_t words, uint32_t at,
                      int64_t offset)
{
    const uint32_t first = add_op(warp, (coalesce_op){
        .kind = COALESCE_OP_LOAD, .type = COALESCE_I32, .words = words,
        .a = { at, NONE, NONE, NONE, NONE, NONE }, .immediate = offset }, words);

    for (uint32_t i = 0; i < words; i++) {
        word[i] = first + i;
    }
}

/* `lanes`: those that store. */
static void store_unit(coalesce_warp *warp, const uint32_t *word, uint32_t words, uint32_t at,
                       int64_t offset, uint32_t lanes)
{
    coalesce_op op = { .kind = COALESCE_OP_STORE, .words = words,
                       .a = { at, NONE, NONE, NONE, NONE, NONE }, .immediate = offset };

    memcpy(&op.a[1], word, words * sizeof(*word));
    if (lanes != UINT32_MAX) {
        op.a[5] = is_clear(warp, with_number(warp, COALESCE_OP_BIT, lane_of(warp), 0),
                           (int32_t)lanes);
    }
    (void)add_op(warp, op, 0);
}

/* A row may be anywhere: lane `lane` provides its row's address.  `within`: i64, bytes. */
static uint32_t row_of(coalesce_warp *warp, uint32_t lane, uint32_t within)
{
    const uint32_t own  = address_of(warp, 0);
    const uint32_t here = integer_of(warp, own);
    uint32_t       half[2];
    uint32_t       away;

    for (int upper = 0; upper < 2; upper++) {
        half[upper] = with_value(warp, COALESCE_OP_SHUFFLE, half_of(warp, here, upper), lane);
    }
    away = with_value(warp, COALESCE_OP_JOIN, half[0], half[1]);
    away = with_value(warp, COALESCE_OP_SUB, away, here);
    away = with_value(warp, COALESCE_OP_ADD, away, within);
    return with_value(warp, COALESCE_OP_STEP, own, away);
}

/* Where this lane accesses unit i of piece j, see the head of the file: pointer, and offset. */
static void find_places(transpose *t, uint32_t *at, int64_t *offset)
{
    coalesce_warp *warp  = t->warp;
    const int64_t  unit  = 4 * t->unit;
    const int64_t  piece = unit * t->width;
    const uint32_t lane  = lane_of(warp);
    /* The lane is unit `in` of a piece.  Neighbours: in = lane mod P, and the piece is lane - in.
     * Else the piece is lane mod (32/P), and in = (lane - piece) / (32/P); units then have 16
     * bytes, a multiple of 32/P. */
    const int64_t  by_lane = (t->next == 1) ? piece : unit / t->next;
    const int64_t  by_rest = ((t->next == 1) ? unit : piece) - by_lane;
    uint32_t       rest    = lane;
    uint32_t       here    = NONE;

    if (t->width > 1) {
        rest = with_number(warp, COALESCE_OP_AND, lane,
                           ((t->next == 1) ? t->width : t->next) - 1);
    }
    if (!t->record->is_row) { /* base + by_lane * lane + by_rest * rest */
        here = step(warp, address_of(warp, 0), lane, by_lane - bytes_of(t->record));
        here = step(warp, here, rest, by_rest);
    }
    for (uint32_t n = 0; n < t->pieces * t->width; n++) {
        const uint32_t i = n % t->width;

        at[n]     = here;
        offset[n] = t->record->offset[0] + (COALESCE_LANES * (n / t->width) + t->next * i) * piece;
        if (t->record->is_row) {
            const uint32_t group = with_number(warp, COALESCE_OP_AND, lane, -(int64_t)t->width);

            at[n]     = row_of(warp, with_number(warp, COALESCE_OP_ADD, group, i),
                               with_number(warp, COALESCE_OP_SCALE, rest, unit));
            offset[n] = t->record->offset[0];
        }
    }
}

/* The lanes whose unit at access n is not a hole; see find_places(). */
static uint32_t lanes_at(const transpose *t, uint32_t n)
{
    uint32_t lanes = 0;

    for (uint32_t lane = 0; lane < COALESCE_LANES; lane++) {
        const uint32_t in    = (t->next == 1) ? lane % t->width : lane / t->next;
        const uint32_t rest  = (t->next == 1) ? lane - in : lane % t->next;
        const uint32_t piece = rest + COALESCE_LANES * (n / t->width) + t->next * (n % t->width);
        const uint32_t word  = (piece % t->pieces * t->width + in) * t->unit;

        lanes |= (uint32_t)(t->record->covered >> word & 1) << lane;
    }
    return lanes;
}

static void access_all(transpose *t, int is_store)
{
    uint32_t at[COALESCE_MAX_WORDS];
    int64_t  offset[COALESCE_MAX_WORDS];

    find_places(t, at, offset);
    for (uint32_t n = 0; n < t->pieces * t->width; n++) {
        uint32_t      *word  = &t->word[n * t->unit];
        const uint32_t lanes = is_store ? lanes_at(t, n) : UINT32_MAX;

        if (!is_store) {
            load_unit(t->warp, word, t->unit, at[n], offset[n]);
        } else if (lanes != 0) {
            store_unit(t->warp, word, t->unit, at[n], offset[n], lanes);
        }
    }
}

/* ---- words of the lane ---- */

/* In holes, which are not stored, anything may be: word 0, which every record has. */
static void take_words(transpose *t)
{
    for (uint32_t i = 0; i < t->record->words; i++) {
        t->word[i] = t->word[0];
        if ((t->record->covered >> i & 1) != 0) {
            t->word[i] = input(t->warp, COALESCE_OP_WORD, i);
        }
    }
}

static void give_words(transpose *t)
{
    for (uint32_t i = 0; i < t->record->words; i++) {
        if ((t->record->covered >> i & 1) != 0) {
            add_void(t->warp, COALESCE_OP_RESULT, t->word[i], i);
        }
    }
}

/* ---- what is done ---- */

static void write_wide(coalesce_warp *warp, const coalesce_record *record)
{
    transpose t = { .warp = warp, .record = record, .unit = record->words };

    if (record->kind == COALESCE_STORES) {
        take_words(&t);
        store_unit(warp, t.word, t.unit, address_of(warp, 0), record->offset[0], UINT32_MAX);
    } else {
        load_unit(warp, t.word, t.unit, address_of(warp, 0), record->offset[0]);
        give_words(&t);
    }
}

static void write_load(coalesce_warp *warp, const coalesce_record *record)
{
    transpose t = transpose_of(warp, record);

    sync(warp); /* a lane's earlier writes are visible to the lane that now reads them */
    access_all(&t, 0);
    write_butterfly(&t);
    if (t.pieces > 1) {
        permute(&t, 1);
        write_rotation(&t, 1);
        write_shuffles(&t, 0);
    }
    give_words(&t);
    sync(warp); /* all have read before a lane overwrites */
}

static void write_store(coalesce_warp *warp, const coalesce_record *record)
{
    transpose t = transpose_of(warp, record);

    take_words(&t);
    if (t.pieces > 1) {
        write_shuffles(&t, 1);
        write_rotation(&t, 0);
        permute(&t, 0);
    }
    write_butterfly(&t);
    sync(warp); /* nothing that a lane did before comes after the stores of another */
    access_all(&t, 1);
    sync(warp); /* a lane's later actions, also its fences and flags, happen after all */
}

/* 32 records of W words are W rows of 32 words.  As many rows as a unit has words are moved by one
 * access of each lane: the same rows on both sides, so a lane stores what it loaded. */
static void write_copy(coalesce_warp *warp, const coalesce_record *record)
{
    const uint32_t unit = coalesce_record_unit(record);
    uint32_t       word[COALESCE_MAX_WORDS];

    sync(warp); /* lanes' earlier writes are read now, and bytes that they read are overwritten
                   now */
    for (int side = 0; side < 2; side++) {
        const uint32_t at = step(warp, address_of(warp, side), lane_of(warp),
                                 4 * (int64_t)unit - bytes_of(record));

        for (uint32_t row = 0; row < record->words; row += unit) {
            const int64_t offset = record->offset[side] + 4 * COALESCE_LANES * (int64_t)row;

            ((side == 0) ? load_unit(warp, &word[row], unit, at, offset)
                         : store_unit(warp, &word[row], unit, at, offset, UINT32_MAX));
        }
    }
    sync(warp); /* a lane's next access happens after all of that */
}

int coalesce_warp_make(const coalesce_record *record, coalesce_warp *warp)
{
    warp->full   = 0;
    warp->count  = 0;
    warp->values = 0;
    write_guards(warp, record);
    if (record->is_wide) {
        write_wide(warp, record);
    } else if (record->kind == COALESCE_COPIES) {
        write_copy(warp, record);
    } else if (record->kind == COALESCE_STORES) {
        write_store(warp, record);
    } else {
        write_load(warp, record);
    }
    return !warp->full;
}
