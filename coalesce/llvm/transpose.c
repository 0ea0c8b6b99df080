/* SPDX-License-Identifier: BSD-3-Clause */
/* The accesses of a warp together, and the transposition between them and the lanes' records.
 *
 * A record is N = P * M units, P a power of two and M odd.  Two steps, of which either may be
 * empty:
 *
 * Butterfly.  P units side by side are a piece.  Groups of P lanes access P pieces by P accesses,
 * lane i of a group unit i of piece j at access j, so that P lanes touch one stretch of memory;
 * then the P x P units of a group are transposed by exchanges between lanes whose numbers differ in
 * one bit, log2 P rounds.
 *
 * Rotation.  Piece 32 j + lane is field (32 j + lane) mod M of its record: a fixed permutation of
 * j, a rotation by lane mod M (log2 M selects a piece), and one shuffle each bring it to its owner
 * (Catanzaro, Keller, Garland: A decomposition for in-place matrix transposition, PPoPP 2014).
 *
 * Loads do both from memory to record, stores the inverse in the opposite order. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

typedef char value_name[40];

typedef struct transposition {
    FILE *out;
    unsigned unit;                      /* words */
    unsigned pieces;                    /* M: pieces of a record */
    unsigned width;                     /* P: units of a piece */
    value_name word[COALESCE_IR_WORDS]; /* piece, unit, word: the current values */
} transposition;

static value_name *word_of(transposition *t, unsigned piece, unsigned unit, unsigned word)
{
    return &t->word[(piece * t->width + unit) * t->unit + word];
}

static transposition transposition_of(FILE *out, const coalesce_ir_shape *shape)
{
    transposition t = { .out = out, .unit = coalesce_ir_unit(shape), .width = 1 };
    unsigned units = shape->bytes / 4 / t.unit;

    while (units % (2 * t.width) == 0) {
        t.width *= 2;
    }
    t.pieces = units / t.width;
    return t;
}

const char *coalesce_ir_vector(unsigned words)
{
    return (words == 4) ? "<4 x i32>" : (words == 2) ? "<2 x i32>" : "i32";
}

/* ---- butterfly ---- */

static void write_butterfly(transposition *t)
{
    FILE *out = t->out;

    for (unsigned bit = 1; bit < t->width; bit *= 2) {
        fprintf(out, "  %%bit%u.and = and i32 %%lane, %u\n  %%bit%u = icmp ne i32 %%bit%u.and, 0\n",
                bit, bit, bit, bit);
        for (unsigned i = 0; i < t->pieces * t->width * t->unit; i++) {
            unsigned unit = i / t->unit % t->width;
            unsigned low = i, high = i + bit * t->unit;
            value_name *a = &t->word[low], *b = &t->word[high];

            if (unit & bit) {
                continue;
            }
            fprintf(out,
                    "  %%give%u.%u = select i1 %%bit%u, i32 %s, i32 %s\n"
                    "  %%got%u.%u = call i32 @llvm.nvvm.shfl.sync.bfly.i32"
                    "(i32 -1, i32 %%give%u.%u, i32 %u, i32 31)\n"
                    "  %%b%u.%u = select i1 %%bit%u, i32 %%got%u.%u, i32 %s\n"
                    "  %%b%u.%u = select i1 %%bit%u, i32 %s, i32 %%got%u.%u\n",
                    bit, low, bit, *a, *b, bit, low, bit, low, bit, bit, low, bit, bit, low, *a,
                    bit, high, bit, *b, bit, low);
            snprintf(*a, sizeof(*a), "%%b%u.%u", bit, low);
            snprintf(*b, sizeof(*b), "%%b%u.%u", bit, high);
        }
    }
}

/* ---- rotation of the pieces ---- */

static unsigned inverse_mod_32(unsigned odd)
{
    unsigned inverse = 1;

    while (odd * inverse % 32 != 1) {
        inverse += 2;
    }
    return inverse;
}

static void permute(transposition *t, int to_fields)
{
    unsigned size = t->width * t->unit;
    value_name old[COALESCE_IR_WORDS];

    memcpy(old, t->word, sizeof(old));
    for (unsigned j = 0; j < t->pieces; j++) {
        unsigned field = 32 * j % t->pieces;

        memcpy(t->word[(to_fields ? field : j) * size], old[(to_fields ? j : field) * size],
               size * sizeof(value_name));
    }
}

/* Pieces rotate left by the lane's number mod M, or, backward, right. */
static void write_rotation(transposition *t, int backward)
{
    FILE *out = t->out;
    unsigned size = t->width * t->unit;

    fprintf(out, "  %%turn.lane = urem i32 %%lane, %u\n", t->pieces);
    if (backward) {
        fprintf(out,
                "  %%turn.left = sub i32 %u, %%turn.lane\n"
                "  %%turn.none = icmp eq i32 %%turn.lane, 0\n"
                "  %%turn = select i1 %%turn.none, i32 0, i32 %%turn.left\n",
                t->pieces);
    } else {
        fputs("  %turn = add i32 %turn.lane, 0\n", out);
    }
    for (unsigned step = 1; step < t->pieces; step *= 2) {
        value_name turned[COALESCE_IR_WORDS];

        fprintf(out,
                "  %%turn%u.and = and i32 %%turn, %u\n"
                "  %%turn%u = icmp ne i32 %%turn%u.and, 0\n",
                step, step, step, step);
        for (unsigned i = 0; i < t->pieces * size; i++) {
            unsigned from = (i + step * size) % (t->pieces * size);

            fprintf(out, "  %%t%u.%u = select i1 %%turn%u, i32 %s, i32 %s\n", step, i, step,
                    t->word[from], t->word[i]);
            snprintf(turned[i], sizeof(turned[i]), "%%t%u.%u", step, i);
        }
        memcpy(t->word, turned, sizeof(turned));
    }
}

/* Field k comes from the lane that holds it. */
static void write_shuffles(transposition *t, int to_memory)
{
    FILE *out = t->out;
    unsigned size = t->width * t->unit;

    for (unsigned k = 0; k < t->pieces; k++) {
        if (to_memory) { /* owner * M + k = lane, modulo 32 */
            fprintf(out,
                    "  %%ahead%u = add i32 %%lane, %u\n"
                    "  %%owner%u = mul i32 %%ahead%u, %u\n",
                    k, 32 * t->pieces - k, k, k, inverse_mod_32(t->pieces));
        } else {
            fprintf(out, "  %%ahead%u = mul i32 %%lane, %u\n  %%owner%u = add i32 %%ahead%u, %u\n",
                    k, t->pieces, k, k, k);
        }
        fprintf(out, "  %%from%u = and i32 %%owner%u, 31\n", k, k);
        for (unsigned i = k * size; i < (k + 1) * size; i++) {
            fprintf(out,
                    "  %%s.%u = call i32 @llvm.nvvm.shfl.sync.idx.i32"
                    "(i32 -1, i32 %s, i32 %%from%u, i32 31)\n",
                    i, t->word[i], k);
            snprintf(t->word[i], sizeof(t->word[i]), "%%s.%u", i);
        }
    }
}

/* ---- the accesses ---- */

/* %at<j>.<i>: where this lane accesses for unit i of piece j, see the head of the file. */
static void write_addresses(transposition *t, const coalesce_ir_shape *shape)
{
    FILE *out = t->out;
    unsigned bytes = 4 * t->unit, piece = bytes * t->width;

    fprintf(out,
            "  %%in = and i32 %%lane, %u\n  %%group = xor i32 %%lane, %%in\n"
            "  %%in64 = zext i32 %%in to i64\n  %%group64 = zext i32 %%group to i64\n"
            "  %%in.bytes = mul i64 %%in64, %u\n",
            t->width - 1, bytes);
    if (shape->kind ==
        COALESCE_IR_ROW) { /* any pitch: the lane whose row it is says where it lies */
        fputs("  %low.half = trunc i64 %p.int to i32\n  %p.high = lshr i64 %p.int, 32\n"
              "  %high.half = trunc i64 %p.high to i32\n",
              out);
        for (unsigned i = 0; i < t->width; i++) {
            fprintf(out,
                    "  %%row%u = or i32 %%group, %u\n"
                    "  %%low%u = call i32 @llvm.nvvm.shfl.sync.idx.i32"
                    "(i32 -1, i32 %%low.half, i32 %%row%u, i32 31)\n"
                    "  %%high%u = call i32 @llvm.nvvm.shfl.sync.idx.i32"
                    "(i32 -1, i32 %%high.half, i32 %%row%u, i32 31)\n"
                    "  %%lowx%u = zext i32 %%low%u to i64\n"
                    "  %%highx%u = zext i32 %%high%u to i64\n"
                    "  %%highs%u = shl i64 %%highx%u, 32\n"
                    "  %%rowp%u = or i64 %%highs%u, %%lowx%u\n"
                    "  %%far%u = sub i64 %%rowp%u, %%p.int\n"
                    "  %%rowo%u = add i64 %%far%u, %%in.bytes\n"
                    "  %%at0.%u = getelementptr i8, ptr %%p, i64 %%rowo%u\n",
                    i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i);
        }
        return;
    }
    fprintf(out,
            "  %%group.bytes = mul i64 %%group64, %u\n  %%here = add i64 %%in.bytes, "
            "%%group.bytes\n  %%home = mul i64 %%lane64, %u\n"
            "  %%start = sub i64 %%here, %%home\n"
            "  %%at = getelementptr i8, ptr %%p, i64 %%start\n",
            piece, shape->bytes);
    for (unsigned j = 0; j < t->pieces; j++) {
        for (unsigned i = 0; i < t->width; i++) {
            fprintf(out, "  %%at%u.%u = getelementptr i8, ptr %%at, i64 %u\n", j, i,
                    (32 * j + i) * piece);
        }
    }
}

static void write_loads(transposition *t)
{
    FILE *out = t->out;
    const char *type = coalesce_ir_vector(t->unit);

    for (unsigned j = 0; j < t->pieces; j++) {
        for (unsigned i = 0; i < t->width; i++) {
            fprintf(out, "  %%r%u.%u = load %s, ptr %%at%u.%u, align %u\n", j, i, type, j, i,
                    4 * t->unit);
            for (unsigned u = 0; u < t->unit; u++) {
                value_name *word = word_of(t, j, i, u);

                if (t->unit == 1) {
                    snprintf(*word, sizeof(*word), "%%r%u.%u", j, i);
                } else {
                    snprintf(*word, sizeof(*word), "%%r%u.%u.%u", j, i, u);
                    fprintf(out, "  %s = extractelement %s %%r%u.%u, i32 %u\n", *word, type, j, i,
                            u);
                }
            }
        }
    }
}

static void write_store(transposition *t, unsigned j, unsigned i)
{
    FILE *out = t->out;
    const char *type = coalesce_ir_vector(t->unit);
    value_name all;

    snprintf(all, sizeof(all), "%s", *word_of(t, j, i, 0));
    if (t->unit > 1) {
        for (unsigned u = 0; u < t->unit; u++) {
            fprintf(out, "  %%v%u.%u.%u = insertelement %s %s, i32 %s, i32 %u\n", j, i, u, type,
                    (u == 0) ? "poison" : all, *word_of(t, j, i, u), u);
            snprintf(all, sizeof(all), "%%v%u.%u.%u", j, i, u);
        }
    }
    fprintf(out, "  store %s %s, ptr %%at%u.%u, align %u\n", type, all, j, i, 4 * t->unit);
}

static void write_stores(transposition *t)
{
    for (unsigned j = 0; j < t->pieces; j++) {
        for (unsigned i = 0; i < t->width; i++) {
            write_store(t, j, i);
        }
    }
}

void coalesce_ir_write_warp_sync(FILE *out)
{
    fputs("  call void @llvm.nvvm.bar.warp.sync(i32 -1)\n", out);
}

static void write_load(FILE *out, const coalesce_ir_shape *shape)
{
    transposition t = transposition_of(out, shape);

    coalesce_ir_write_warp_sync(
        out); /* what a lane wrote before is seen by the lane that now reads it */
    write_addresses(&t, shape);
    write_loads(&t);
    write_butterfly(&t);
    if (t.pieces > 1) {
        permute(&t, 1);
        write_rotation(&t, 1);
        write_shuffles(&t, 0);
    }
    coalesce_ir_write_warp_sync(out); /* all have read before a lane overwrites */
    for (unsigned i = 0; i < shape->bytes / 4; i++) {
        fprintf(out, "  %%f%u = add i32 %s, 0\n", i, t.word[i]);
    }
}

static void write_record_store(FILE *out, const coalesce_ir_shape *shape)
{
    transposition t = transposition_of(out, shape);

    for (unsigned i = 0; i < shape->bytes / 4; i++) {
        snprintf(t.word[i], sizeof(t.word[i]), "%%w%u", i);
    }
    if (t.pieces > 1) {
        write_shuffles(&t, 1);
        write_rotation(&t, 0);
        permute(&t, 0);
    }
    write_butterfly(&t);
    coalesce_ir_write_warp_sync(
        out); /* nothing that a lane did before comes after the stores of another */
    write_addresses(&t, shape);
    write_stores(&t);
    coalesce_ir_write_warp_sync(
        out); /* what a lane does next, its fences and flags too, comes after all */
}

/* ---- wide accesses of each thread ---- */

static void write_wide(FILE *out, const coalesce_ir_shape *shape)
{
    transposition t = { .out = out, .unit = shape->bytes / 4, .pieces = 1, .width = 1 };

    fputs("  %at0.0 = getelementptr i8, ptr %p, i64 0\n", out);
    if (shape->kind == COALESCE_IR_LOAD) {
        write_loads(&t);
        for (unsigned i = 0; i < t.unit; i++) {
            fprintf(out, "  %%f%u = add i32 %s, 0\n", i, t.word[i]);
        }
        return;
    }
    for (unsigned i = 0; i < t.unit; i++) {
        snprintf(t.word[i], sizeof(t.word[i]), "%%w%u", i);
    }
    write_store(&t, 0, 0);
}

void coalesce_ir_write_fast(FILE *out, const coalesce_ir_shape *shape)
{
    if (shape->is_wide) {
        write_wide(out, shape);
        return;
    }
    switch (shape->kind) {
    case COALESCE_IR_LOAD:
    case COALESCE_IR_ROW:
        write_load(out, shape);
        return;
    case COALESCE_IR_STORE:
        write_record_store(out, shape);
        return;
    case COALESCE_IR_COPY:
        coalesce_ir_write_copy(out, shape);
        return;
    case COALESCE_IR_BYTES_LOAD:
    case COALESCE_IR_BYTES_STORE:
        coalesce_ir_write_bytes(out, shape);
        return;
    }
}
