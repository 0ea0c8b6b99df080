/* SPDX-License-Identifier: BSD-3-Clause */
/* The accesses of a warp together where 32 records are moved as one block of memory: copies, whose
 * words need not come to the lanes that own them, and records of 3 bytes. */
#include "text.h"

/* ---- copies ---- */

/* Where this lane's part of a row of `width` words begins. */
static void write_copy_start(FILE *out, unsigned width, int is_store)
{
    if (is_store) {
        fprintf(out, "  %%ct%u = getelementptr i8, ptr %%ct, i64 %%cl%u\n", width, width);
    } else {
        fprintf(out,
                "  %%cl%u = mul i64 %%lane64, %u\n"
                "  %%cf%u = getelementptr i8, ptr %%cf, i64 %%cl%u\n",
                width, 4 * width, width, width);
    }
}

/* 32 records of W words are W rows of 32 words.  Four rows are moved by one 128-bit access of each
 * lane, then two, then one: the same rows on both sides, so a lane stores what it loaded. */
static void write_copy_rows(FILE *out, const coalesce_ir_shape *shape, int is_store)
{
    unsigned words = shape->bytes / 4, row = 0;

    for (unsigned width = 4; width > 0; width /= 2) {
        if (words - row >= width) {
            write_copy_start(out, width, is_store);
        }
        for (; words - row >= width; row += width) {
            const char *type = coalesce_ir_vector(width);

            if (is_store) {
                fprintf(out,
                        "  %%ct.%u = getelementptr i8, ptr %%ct%u, i64 %u\n"
                        "  store %s %%cv.%u, ptr %%ct.%u, align %u\n",
                        row, width, 128 * row, type, row, row, 4 * width);
            } else {
                fprintf(out,
                        "  %%cf.%u = getelementptr i8, ptr %%cf%u, i64 %u\n"
                        "  %%cv.%u = load %s, ptr %%cf.%u, align %u\n",
                        row, width, 128 * row, row, type, row, 4 * width);
            }
        }
    }
}

/* 96 bytes: lanes 0 to 23 move one word each. */
static void write_copy_of_bytes(FILE *out)
{
    fputs("  %mine.bytes = shl i64 %lane64, 2\n"
          "  %cf0 = getelementptr i8, ptr %cf, i64 %mine.bytes\n"
          "  %ct0 = getelementptr i8, ptr %ct, i64 %mine.bytes\n"
          "  %part = icmp ult i32 %lane, 24\n"
          "  br i1 %part, label %copy, label %copied\n"
          "copy:\n"
          "  %word = load i32, ptr %cf0, align 4\n"
          "  store i32 %word, ptr %ct0, align 4\n"
          "  br label %copied\n"
          "copied:\n",
          out);
}

void coalesce_ir_write_copy(FILE *out, const coalesce_ir_shape *shape)
{
    coalesce_ir_write_warp_sync(out);
    fprintf(out,
            "  %%skip = mul i64 %%lane64, -%u\n"
            "  %%cf = getelementptr i8, ptr %%from, i64 %%skip\n"
            "  %%ct = getelementptr i8, ptr %%to, i64 %%skip\n",
            shape->bytes);
    if (shape->bytes == 3) {
        write_copy_of_bytes(out);
    } else {
        write_copy_rows(out, shape, 0);
        write_copy_rows(out, shape, 1);
    }
    coalesce_ir_write_warp_sync(out);
}

/* ---- records of 3 bytes: the warp's 96 bytes are 24 words ---- */

static void write_shuffle(FILE *out, const char *name, const char *word, const char *lane)
{
    fprintf(out,
            "  %%%s = call i32 @llvm.nvvm.shfl.sync.idx.i32"
            "(i32 -1, i32 %%%s, i32 %%%s, i32 31)\n",
            name, word, lane);
}

/* Record l begins in word 3 l / 4, at byte 3 l mod 4 of it. */
static void write_bytes_load(FILE *out)
{
    coalesce_ir_write_warp_sync(out);
    fputs("  %part = icmp ult i32 %lane, 24\n"
          "  %mine = select i1 %part, i32 %lane, i32 23\n" /* no lane beyond the last word */
          "  %mine64 = zext i32 %mine to i64\n"
          "  %mine.bytes = shl i64 %mine64, 2\n"
          "  %offset = sub i64 %mine.bytes, %p.skip\n"
          "  %at = getelementptr i8, ptr %p, i64 %offset\n"
          "  %word = load i32, ptr %at, align 4\n"
          "  %begin = mul i32 %lane, 3\n"
          "  %first = lshr i32 %begin, 2\n"
          "  %next = add i32 %first, 1\n"
          "  %byte = and i32 %begin, 3\n"
          "  %shift = shl i32 %byte, 3\n",
          out);
    write_shuffle(out, "low", "word", "first");
    write_shuffle(out, "high", "word", "next");
    fputs("  %f0 = call i32 @llvm.fshr.i32(i32 %high, i32 %low, i32 %shift)\n", out);
    coalesce_ir_write_warp_sync(out);
}

/* Word q begins in record 4 q / 3, at byte 4 q mod 3 of it, and ends in the next record. */
static void write_bytes_store(FILE *out)
{
    fputs("  %record = and i32 %w0, 16777215\n"
          "  %begin = mul i32 %lane, 4\n"
          "  %first = udiv i32 %begin, 3\n"
          "  %byte = urem i32 %begin, 3\n"
          "  %from0 = and i32 %first, 31\n"
          "  %next = add i32 %first, 1\n"
          "  %from1 = and i32 %next, 31\n"
          "  %shift = shl i32 %byte, 3\n",
          out);
    write_shuffle(out, "r0", "record", "from0");
    write_shuffle(out, "r1", "record", "from1");
    fputs("  %r1.up = shl i32 %r1, 24\n"
          "  %low = or i32 %r0, %r1.up\n"
          "  %high = lshr i32 %r1, 8\n"
          "  %word = call i32 @llvm.fshr.i32(i32 %high, i32 %low, i32 %shift)\n",
          out);
    coalesce_ir_write_warp_sync(out);
    fputs("  %part = icmp ult i32 %lane, 24\n"
          "  br i1 %part, label %store, label %stored\n"
          "store:\n"
          "  %mine.bytes = shl i64 %lane64, 2\n"
          "  %offset = sub i64 %mine.bytes, %p.skip\n"
          "  %at = getelementptr i8, ptr %p, i64 %offset\n"
          "  store i32 %word, ptr %at, align 4\n"
          "  br label %stored\n"
          "stored:\n",
          out);
    coalesce_ir_write_warp_sync(out);
}

void coalesce_ir_write_bytes(FILE *out, const coalesce_ir_shape *shape)
{
    if (shape->kind == COALESCE_IR_BYTES_LOAD) {
        write_bytes_load(out);
    } else {
        write_bytes_store(out);
    }
}
