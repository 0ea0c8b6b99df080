/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of the helper functions: the frame around plan/warp.h's operations, and plain accesses. */
#include "helper.h"

#include <stdlib.h>
#include <string.h>

static int is_load(const coalesce_ir_shape *shape)
{
    return shape->record.kind == COALESCE_LOADS;
}

void coalesce_ir_name(const coalesce_ir_shape *shape, char *name)
{
    static const char *const kinds[] = { "load", "store", "copy" };
    const coalesce_record *record = &shape->record;
    size_t at = (size_t)snprintf(
        name, COALESCE_IR_NAME, "shpool.coalesce.%s.%u.%llx.%u%s%s%s%s%s", kinds[record->kind],
        (unsigned)record->words, (unsigned long long)record->covered, (unsigned)record->threads,
        record->is_wide ? ".wide" : "", record->is_row ? ".row" : "",
        record->is_global ? "" : ".generic",
        record->is_disjoint ? ".disjoint" : "", record->is_parallel ? ".parallel" : "");

    for (unsigned i = 0; record->is_narrow && i < record->words; i++) {
        at += (size_t)snprintf(name + at, COALESCE_IR_NAME - at, "%s%x", i > 0 ? "" : ".narrow",
                               (unsigned)shape->narrow[i]);
    }
    for (unsigned i = 0; i < shape->parts; i++) { /* at most 512 of 9 characters */
        const coalesce_ir_part *part = &shape->part[i];

        at += (size_t)snprintf(name + at, COALESCE_IR_NAME - at, ".%c%u.%u",
                               part->is_store ? 's' : 'l', part->at, part->bytes);
    }
}

/* ---- the accesses as they were ---- */

/* The fields of word i: its value is loaded into %s<i>, or stored from %w<i>. */
static void write_slow_fields(FILE *out, const coalesce_ir_shape *shape, unsigned i)
{
    unsigned begins = shape->narrow[i];
    char sum[24] = "0";

    for (unsigned at = 0; at < 4; at++) {
        unsigned bytes = 1;

        if (!(begins >> at & 1)) {
            continue;
        }
        while (at + bytes < 4 && !(begins >> (at + bytes) & 1)) {
            bytes++;
        }
        fprintf(out, "  %%sp%u.%u = getelementptr i8, ptr %%p, i64 %u\n", i, at, 4 * i + at);
        if (!is_load(shape)) {
            fprintf(out, "  %%h%u.%u = lshr i32 %%w%u, %u\n", i, at, i, 8 * at);
            fprintf(out, "  %%t%u.%u = trunc i32 %%h%u.%u to i%u\n", i, at, i, at, 8 * bytes);
            fprintf(out, "  store i%u %%t%u.%u, ptr %%sp%u.%u, align %u\n", 8 * bytes, i, at, i,
                    at, bytes);
            continue;
        }
        fprintf(out, "  %%t%u.%u = load i%u, ptr %%sp%u.%u, align %u\n", i, at, 8 * bytes, i, at,
                bytes);
        fprintf(out, "  %%z%u.%u = zext i%u %%t%u.%u to i32\n", i, at, 8 * bytes, i, at);
        fprintf(out, "  %%h%u.%u = shl i32 %%z%u.%u, %u\n", i, at, i, at, 8 * at);
        if (at + bytes == 4) {
            fprintf(out, "  %%s%u = or i32 %s, %%h%u.%u\n", i, sum, i, at);
        } else {
            fprintf(out, "  %%o%u.%u = or i32 %s, %%h%u.%u\n", i, at, sum, i, at);
            snprintf(sum, sizeof(sum), "%%o%u.%u", i, at);
        }
    }
}

static void write_slow_words(FILE *out, const coalesce_ir_shape *shape)
{
    for (unsigned i = 0; i < shape->record.words; i++) {
        if (!(shape->record.covered >> i & 1)) {
            continue;
        }
        if (shape->narrow[i] != 0) {
            write_slow_fields(out, shape, i);
            continue;
        }
        fprintf(out, "  %%sp%u = getelementptr i8, ptr %%p, i64 %u\n", i, 4 * i);
        if (is_load(shape)) {
            fprintf(out, "  %%s%u = load i32, ptr %%sp%u, align 4\n", i, i);
        } else {
            fprintf(out, "  store i32 %%w%u, ptr %%sp%u, align 4\n", i, i);
        }
    }
}

static void write_slow_part(FILE *out, const coalesce_ir_part *part)
{
    unsigned bytes = (part->bytes % 4 == 0) ? 4 : part->bytes; /* of an access */

    for (unsigned i = part->at; i < (unsigned)part->at + part->bytes; i += bytes) {
        const char *side = part->is_store ? "to" : "from";

        fprintf(out, "  %%%s%u = getelementptr i8, ptr %%%s, i64 %u\n", side, i, side, i);
        if (part->is_store) {
            fprintf(out, "  store i%u %%s%u, ptr %%to%u, align %u\n", 8 * bytes, i, i, bytes);
        } else {
            fprintf(out, "  %%s%u = load i%u, ptr %%from%u, align %u\n", i, 8 * bytes, i, bytes);
        }
    }
}

/* The order matters where the thread's own source and destination overlap. */
static void write_slow_copy(FILE *out, const coalesce_ir_shape *shape)
{
    const unsigned char bytes = (unsigned char)(4 * shape->record.words);

    for (unsigned i = 0; i < shape->parts; i++) {
        write_slow_part(out, &shape->part[i]);
    }
    if (shape->parts == 0) {
        write_slow_part(out, &(coalesce_ir_part){ 0, 0, bytes });
        write_slow_part(out, &(coalesce_ir_part){ 1, 0, bytes });
    }
}

/* ---- the function ---- */

static void write_result_type(FILE *out, const coalesce_ir_shape *shape)
{
    if (!is_load(shape)) {
        fputs("void", out);
        return;
    }
    fputs("{ ", out);
    for (unsigned i = 0; i < shape->record.words; i++) {
        fputs((i > 0) ? ", i32" : "i32", out);
    }
    fputs(" }", out);
}

/* The words of both branches as one result; holes stay undefined. */
static void write_end(FILE *out, const coalesce_ir_shape *shape, const coalesce_warp *warp)
{
    char all[16] = "poison";

    fputs("  br label %end\nend:\n", out);
    if (!is_load(shape)) {
        fputs("  ret void\n}\n", out);
        return;
    }
    for (uint32_t i = 0; i < warp->count; i++) {
        if (warp->op[i].kind == COALESCE_OP_RESULT) {
            unsigned word = (unsigned)warp->op[i].immediate;

            fprintf(out, "  %%m%u = phi i32 [ %%v%u, %%fast.end ], [ %%s%u, %%slow ]\n", word,
                    (unsigned)warp->op[i].a[0], word);
        }
    }
    for (unsigned i = 0; i < shape->record.words; i++) {
        if (shape->record.covered >> i & 1) {
            fprintf(out, "  %%x%u = insertvalue ", i);
            write_result_type(out, shape);
            fprintf(out, " %s, i32 %%m%u, %u\n", all, i, i);
            snprintf(all, sizeof(all), "%%x%u", i);
        }
    }
    fputs("  ret ", out);
    write_result_type(out, shape);
    fprintf(out, " %s\n}\n", all);
}

static void write_function(FILE *out, const coalesce_ir_shape *shape, const coalesce_warp *warp)
{
    int is_copy = shape->record.kind == COALESCE_COPIES;
    char name[COALESCE_IR_NAME];

    coalesce_ir_name(shape, name);
    fputs("define ", out);
    write_result_type(out, shape);
    fprintf(out, " @%s(%s", name, is_copy ? "ptr %to, ptr %from" : "ptr %p");
    for (unsigned i = 0; shape->record.kind == COALESCE_STORES && i < shape->record.words; i++) {
        fprintf(out, ", i32 %%w%u", i);
    }
    /* convergent: no compiler may duplicate or sink the instructions that name all lanes */
    fputs(") alwaysinline convergent nounwind {\n", out);
    coalesce_ir_print(out, warp, is_copy);
    fputs("  br label %fast.end\nfast.end:\n  br label %end\nslow:\n", out);
    (is_copy ? write_slow_copy : write_slow_words)(out, shape);
    write_end(out, shape, warp);
}

char *coalesce_ir_text(const coalesce_ir_shape *shape, const char *layout, const char *triple)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    coalesce_warp warp;
    int made;

    if (out == NULL) {
        return NULL;
    }
    fprintf(out,
            "target datalayout = \"%s\"\ntarget triple = \"%s\"\n"
            "declare i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
            "declare i1 @llvm.nvvm.vote.all.sync(i32, i1)\n"
            "declare i1 @llvm.nvvm.isspacep.global(ptr)\n"
            "declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)\n"
            "declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)\n"
            "declare void @llvm.nvvm.bar.warp.sync(i32)\n",
            layout, triple);
    made = coalesce_warp_make(&shape->record, &warp);
    if (made) {
        write_function(out, shape, &warp);
    }
    if ((fclose(out) != 0) || !made) {
        free(text);
        return NULL;
    }
    return text;
}
