/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of the helper functions: their frame, guards and plain accesses.  The accesses of the warp
 * together are in llvm_transpose.c. */
#include "text.h"

#include <stdlib.h>
#include <string.h>

static int is_bytes(const coalesce_ir_shape *shape)
{
    return (shape->kind == COALESCE_IR_BYTES_LOAD) || (shape->kind == COALESCE_IR_BYTES_STORE);
}

static int is_load(const coalesce_ir_shape *shape)
{
    return (shape->kind == COALESCE_IR_LOAD) || (shape->kind == COALESCE_IR_ROW) ||
           (shape->kind == COALESCE_IR_BYTES_LOAD);
}

static uint32_t all_covered(const coalesce_ir_shape *shape)
{
    unsigned parts = (shape->bytes == 3) ? 3 : shape->bytes / 4;

    return (parts < 32) ? (1u << parts) - 1u : ~0u;
}

unsigned coalesce_ir_words(const coalesce_ir_shape *shape)
{
    return (shape->bytes + 3) / 4;
}

unsigned coalesce_ir_unit(const coalesce_ir_shape *shape)
{
    unsigned words = shape->bytes / 4;

    return (shape->bytes == 3) ? 1 : (words % 4 == 0) ? 4 : (words % 2 == 0) ? 2 : 1;
}

unsigned coalesce_ir_align(const coalesce_ir_shape *shape)
{
    unsigned words = shape->bytes / 4;

    if (shape->kind == COALESCE_IR_COPY && shape->bytes != 3) {
        return (words >= 4) ? 16 : (words >= 2) ? 8 : 4;
    }
    return 4 * coalesce_ir_unit(shape);
}

int coalesce_ir_is_supported(const coalesce_ir_shape *shape)
{
    unsigned words = shape->bytes / 4;

    if (!is_load(shape) && shape->covered != all_covered(shape)) {
        return 0;
    }
    if (shape->bytes == 3) {
        return is_bytes(shape) || shape->kind == COALESCE_IR_COPY;
    }
    if (is_bytes(shape) || shape->bytes % 4 != 0 || words < 2 || words > COALESCE_IR_WORDS) {
        return 0;
    }
    if (shape->is_wide) {
        return (words == 2 || words == 4) && shape->covered == all_covered(shape) &&
               (shape->kind == COALESCE_IR_LOAD || shape->kind == COALESCE_IR_STORE);
    }
    return shape->kind != COALESCE_IR_ROW || words == 8 || words == 16 || words == 32;
}

void coalesce_ir_name(const coalesce_ir_shape *shape, char *name, unsigned capacity)
{
    static const char *const kinds[] = {
        "load", "store", "copy", "row", "bytes_load", "bytes_store"
    };

    snprintf(name, capacity, "shpool.coalesce.%s.%u.%x%s%s%s%s%s", kinds[shape->kind], shape->bytes,
             (unsigned)shape->covered, shape->is_wide ? ".wide" : "",
             shape->is_global ? "" : ".generic", shape->is_disjoint ? ".disjoint" : "",
             shape->is_parallel ? ".parallel" : "", shape->loads_first ? ".ahead" : "");
}

/* ---- guards ----
 * Each guard is uniform over the warp: it is computed by instructions that all 32 lanes execute, or
 * from the mask that all of them read. */

/* Is the whole warp here? */
static void write_warp_test(FILE *out)
{
    fputs("  %mask = call i32 asm sideeffect \"activemask.b32 $0;\", \"=r\"() convergent\n"
          "  %whole = icmp eq i32 %mask, -1\n"
          "  br i1 %whole, label %check, label %slow\n"
          "check:\n"
          "  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n"
          "  %lane64 = zext i32 %lane to i64\n",
          out);
}

/* %NAME.ok: the pointer %NAME is global, as far as that is not known. */
static void write_pointer_test(FILE *out, const coalesce_ir_shape *shape, const char *name)
{
    fprintf(out, "  %%%s.int = ptrtoint ptr %%%s to i64\n", name, name);
    if (!shape->is_global) {
        fprintf(out, "  %%%s.ok = call i1 @llvm.nvvm.isspacep.global(ptr %%%s)\n", name, name);
    } else {
        fprintf(out, "  %%%s.ok = and i1 true, true\n", name);
    }
}

/* %NAME.aligned: the value %NAME.OF is a multiple of `align`. */
static void write_alignment_test(FILE *out, const char *name, const char *of, unsigned align)
{
    fprintf(out, "  %%%s.low = and i64 %%%s.%s, %u\n  %%%s.aligned = icmp eq i64 %%%s.low, 0\n",
            name, name, of, align - 1, name, name);
}

/* %NAME.equal: the value %NAME.base is lane 0's.  Two shuffles and a vote: match.all would say the
 * same, but takes longer. */
static void write_equality_test(FILE *out, const char *name)
{
    static const char *const half[] = { "low", "high" };

    fprintf(out,
            "  %%%s.upper = lshr i64 %%%s.base, 32\n"
            "  %%%s.half.low = trunc i64 %%%s.base to i32\n"
            "  %%%s.half.high = trunc i64 %%%s.upper to i32\n",
            name, name, name, name, name, name);
    for (unsigned h = 0; h < 2; h++) {
        fprintf(out,
                "  %%%s.first.%s = call i32 @llvm.nvvm.shfl.sync.idx.i32"
                "(i32 -1, i32 %%%s.half.%s, i32 0, i32 31)\n"
                "  %%%s.equal.%s = icmp eq i32 %%%s.half.%s, %%%s.first.%s\n",
                name, half[h], name, half[h], name, half[h], name, half[h], name, half[h]);
    }
    fprintf(out, "  %%%s.equal = and i1 %%%s.equal.low, %%%s.equal.high\n", name, name, name);
}

/* %NAME.here: lane l's record lies at %NAME.base + l * bytes, for all lanes, the base is aligned,
 * and %NAME.ok.  `is_known`: the lanes' records are known to lie like others that were tested. */
static void write_record_test(FILE *out, const coalesce_ir_shape *shape, const char *name,
                              int is_known)
{
    write_pointer_test(out, shape, name);
    fprintf(out,
            "  %%%s.skip = mul i64 %%lane64, %u\n"
            "  %%%s.base = sub i64 %%%s.int, %%%s.skip\n",
            name, shape->bytes, name, name, name);
    write_alignment_test(out, name, "base", coalesce_ir_align(shape));
    fprintf(out, "  %%%s.mine = and i1 %%%s.ok, %%%s.aligned\n", name, name, name);
    if (is_known) {
        fprintf(out, "  %%%s.fits = and i1 %%%s.mine, true\n", name, name);
    } else {
        write_equality_test(out, name);
        fprintf(out, "  %%%s.fits = and i1 %%%s.mine, %%%s.equal\n", name, name, name);
    }
    fprintf(out, "  %%%s.here = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %%%s.fits)\n", name,
            name);
}

/* %apart: the warp's two ranges do not overlap, or are the same. */
static void write_overlap_test(FILE *out, unsigned bytes)
{
    fprintf(out,
            "  %%distance = sub i64 %%to.base, %%from.base\n"
            "  %%shifted = add i64 %%distance, %u\n"
            "  %%beyond = icmp ugt i64 %%shifted, %u\n"
            "  %%equal = icmp eq i64 %%distance, 0\n"
            "  %%apart = or i1 %%beyond, %%equal\n",
            32 * bytes - 1, 64 * bytes - 2);
}

static void write_copy_guard(FILE *out, const coalesce_ir_shape *shape)
{
    write_record_test(out, shape, "to", 0);
    write_record_test(out, shape, "from", (int)shape->is_parallel);
    if (shape->is_disjoint) {
        fputs("  %apart = and i1 true, true\n", out);
    } else {
        write_overlap_test(out, shape->bytes);
    }
    fputs("  %both = and i1 %to.here, %from.here\n  %go = and i1 %both, %apart\n"
          "  br i1 %go, label %fast, label %slow\n",
          out);
}

static void write_guard(FILE *out, const coalesce_ir_shape *shape)
{
    if (shape->is_wide) {
        fputs("  %p.int = ptrtoint ptr %p to i64\n", out);
        write_alignment_test(out, "p", "int", coalesce_ir_align(shape));
        fputs("  br i1 %p.aligned, label %fast, label %slow\n", out);
        return;
    }
    write_warp_test(out);
    switch (shape->kind) {
    case COALESCE_IR_COPY:
        write_copy_guard(out, shape);
        return;
    case COALESCE_IR_ROW:
        write_pointer_test(out, shape, "p");
        write_alignment_test(out, "p", "int", coalesce_ir_align(shape));
        fputs("  %p.fits = and i1 %p.ok, %p.aligned\n"
              "  %p.all = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %p.fits)\n"
              "  br i1 %p.all, label %fast, label %slow\n",
              out);
        return;
    default:
        write_record_test(out, shape, "p", 0);
        fputs("  br i1 %p.here, label %fast, label %slow\n", out);
    }
}

/* ---- the accesses as they were ---- */

static void write_slow_address(FILE *out, const char *name, const char *base, unsigned part,
                               unsigned offset)
{
    fprintf(out, "  %%%s%u = getelementptr i8, ptr %%%s, i64 %u\n", name, part, base, offset);
}

static void write_slow_words(FILE *out, const coalesce_ir_shape *shape)
{
    for (unsigned i = 0; i < coalesce_ir_words(shape); i++) {
        if (!(shape->covered >> i & 1)) { /* of a load: nobody uses it */
            fprintf(out, "  %%s%u = add i32 0, 0\n", i);
            continue;
        }
        write_slow_address(out, "sp", "p", i, 4 * i);
        if (is_load(shape)) {
            fprintf(out, "  %%s%u = load i32, ptr %%sp%u, align 4\n", i, i);
        } else {
            fprintf(out, "  store i32 %%w%u, ptr %%sp%u, align 4\n", i, i);
        }
    }
}

static void write_slow_copy_load(FILE *out, unsigned part, unsigned bytes)
{
    write_slow_address(out, "sf", "from", part, part * bytes);
    fprintf(out, "  %%sv%u = load i%u, ptr %%sf%u, align %u\n", part, 8 * bytes, part, bytes);
}

static void write_slow_copy_store(FILE *out, unsigned part, unsigned bytes)
{
    write_slow_address(out, "st", "to", part, part * bytes);
    fprintf(out, "  store i%u %%sv%u, ptr %%st%u, align %u\n", 8 * bytes, part, part, bytes);
}

/* The order matters where the thread's own source and destination overlap. */
static void write_slow_copy(FILE *out, const coalesce_ir_shape *shape)
{
    unsigned bytes = (shape->bytes == 3) ? 1 : 4, parts = shape->bytes / bytes;

    for (unsigned i = 0; i < parts; i++) {
        write_slow_copy_load(out, i, bytes);
        if (!shape->loads_first) {
            write_slow_copy_store(out, i, bytes);
        }
    }
    for (unsigned i = 0; i < parts && shape->loads_first; i++) {
        write_slow_copy_store(out, i, bytes);
    }
}

static void write_slow_bytes(FILE *out, const coalesce_ir_shape *shape)
{
    char sum[16] = "0"; /* the word so far */

    for (unsigned i = 0; i < shape->bytes; i++) {
        if (!(shape->covered >> i & 1)) {
            continue;
        }
        write_slow_address(out, "sp", "p", i, i);
        if (is_load(shape)) {
            fprintf(out,
                    "  %%sb%u = load i8, ptr %%sp%u, align 1\n"
                    "  %%sx%u = zext i8 %%sb%u to i32\n"
                    "  %%sh%u = shl i32 %%sx%u, %u\n"
                    "  %%so%u = or i32 %s, %%sh%u\n",
                    i, i, i, i, i, i, 8 * i, i, sum, i);
            snprintf(sum, sizeof(sum), "%%so%u", i);
        } else {
            fprintf(out,
                    "  %%sh%u = lshr i32 %%w0, %u\n"
                    "  %%sb%u = trunc i32 %%sh%u to i8\n"
                    "  store i8 %%sb%u, ptr %%sp%u, align 1\n",
                    i, 8 * i, i, i, i, i);
        }
    }
    if (is_load(shape)) {
        fprintf(out, "  %%s0 = or i32 %s, 0\n", sum);
    }
}

/* ---- the function ---- */

static void write_result_type(FILE *out, const coalesce_ir_shape *shape)
{
    unsigned words = coalesce_ir_words(shape);

    if (!is_load(shape)) {
        fputs("void", out);
        return;
    }
    fputs("{ ", out);
    for (unsigned i = 0; i < words; i++) {
        fputs((i > 0) ? ", i32" : "i32", out);
    }
    fputs(" }", out);
}

static void write_end(FILE *out, const coalesce_ir_shape *shape)
{
    unsigned words = coalesce_ir_words(shape);

    fputs("  br label %end\nend:\n", out);
    if (!is_load(shape)) {
        fputs("  ret void\n}\n", out);
        return;
    }
    for (unsigned i = 0; i < words; i++) {
        fprintf(out, "  %%m%u = phi i32 [ %%f%u, %%fast.end ], [ %%s%u, %%slow ]\n", i, i, i);
    }
    for (unsigned i = 0; i < words; i++) {
        fprintf(out, "  %%x%u = insertvalue ", i);
        write_result_type(out, shape);
        if (i > 0) {
            fprintf(out, " %%x%u, i32 %%m%u, %u\n", i - 1, i, i);
        } else {
            fputs(" poison, i32 %m0, 0\n", out);
        }
    }
    fputs("  ret ", out);
    write_result_type(out, shape);
    fprintf(out, " %%x%u\n}\n", words - 1);
}

static void write_function(FILE *out, const coalesce_ir_shape *shape)
{
    char name[64];

    coalesce_ir_name(shape, name, sizeof(name));
    fputs("define ", out);
    write_result_type(out, shape);
    fprintf(out, " @%s(%s", name,
            (shape->kind == COALESCE_IR_COPY) ? "ptr %to, ptr %from" : "ptr %p");
    if (shape->kind == COALESCE_IR_STORE || shape->kind == COALESCE_IR_BYTES_STORE) {
        for (unsigned i = 0; i < coalesce_ir_words(shape); i++) {
            fprintf(out, ", i32 %%w%u", i);
        }
    }
    /* convergent: no compiler may duplicate or sink the instructions that name all lanes */
    fputs(") alwaysinline convergent nounwind {\n", out);
    write_guard(out, shape);
    fputs("fast:\n", out);
    coalesce_ir_write_fast(out, shape);
    fputs("  br label %fast.end\nfast.end:\n  br label %end\nslow:\n", out);
    if (is_bytes(shape)) {
        write_slow_bytes(out, shape);
    } else if (shape->kind == COALESCE_IR_COPY) {
        write_slow_copy(out, shape);
    } else {
        write_slow_words(out, shape);
    }
    write_end(out, shape);
}

char *coalesce_ir_text(const coalesce_ir_shape *shape, const char *layout, const char *triple)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

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
            "declare i32 @llvm.fshr.i32(i32, i32, i32)\n"
            "declare void @llvm.nvvm.bar.warp.sync(i32)\n",
            layout, triple);
    write_function(out, shape);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
