/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of plan/warp.h as LLVM IR: value 7 is %v7.  Addresses stay pointers, so that LLVM
 * keeps their provenance. */
#include "helper.h"

#include <stdio.h>

typedef struct printer {
    FILE            *out;
    int              is_copy;
    coalesce_printer how;
} printer;

static void put_text(void *user, const char *text, size_t bytes)
{
    (void)fwrite(text, 1, bytes, ((printer *)user)->out);
}

static void put_value(void *user, uint32_t value)
{
    const printer     *p  = user;
    const coalesce_op *op = coalesce_maker(p->how.warp, value);

    if (op->kind == COALESCE_OP_WORD) {
        fprintf(p->out, "%%w%d", (int)op->immediate);
    } else if (op->kind == COALESCE_OP_ADDRESS) {
        fputs(!p->is_copy ? "%p" : (op->immediate == 0) ? "%from" : "%to", p->out);
    } else {
        fprintf(p->out, "%%v%u", (unsigned)value);
    }
}

static const char *vector_of(unsigned words)
{
    return (words == 4) ? "<4 x i32>" : (words == 2) ? "<2 x i32>" : "i32";
}

/* %at<place>: the pointer a + immediate.  `place` is the operation's index. */
static void put_place(printer *p, const coalesce_op *op, unsigned place)
{
    fprintf(p->out, "  %%at%u = ", place);
    coalesce_op_print(&p->how, op, "getelementptr i8, ptr $a, i64 $i\n");
}

static void put_load(printer *p, const coalesce_op *op, unsigned place)
{
    const char *type = vector_of(op->words);

    put_place(p, op, place);
    if (op->words == 1) {
        coalesce_op_print(&p->how, op, "  $r");
    } else {
        fprintf(p->out, "  %%l%u", place);
    }
    fprintf(p->out, " = load %s, ptr %%at%u, align %u\n", type, place, 4 * op->words);
    for (unsigned i = 0; op->words > 1 && i < op->words; i++) {
        fputs("  ", p->out);
        put_value(p, op->value + i);
        fprintf(p->out, " = extractelement %s %%l%u, i32 %u\n", type, place, i);
    }
}

static void put_store(printer *p, const coalesce_op *op, unsigned place)
{
    const char *type = vector_of(op->words);
    int is_some = op->a[5] != COALESCE_NO_VALUE; /* only some lanes store */

    if (is_some) {
        fputs("  br i1 ", p->out);
        put_value(p, op->a[5]);
        fprintf(p->out, ", label %%past%u, label %%here%u\nhere%u:\n", place, place, place);
    }
    put_place(p, op, place);
    for (unsigned i = 0; op->words > 1 && i < op->words; i++) {
        fprintf(p->out, "  %%s%u.%u = insertelement %s ", place, i, type);
        if (i == 0) {
            fputs("poison, i32 ", p->out);
        } else {
            fprintf(p->out, "%%s%u.%u, i32 ", place, i - 1);
        }
        put_value(p, op->a[1 + i]);
        fprintf(p->out, ", i32 %u\n", i);
    }
    fprintf(p->out, "  store %s ", type);
    if (op->words == 1) {
        put_value(p, op->a[1]);
    } else {
        fprintf(p->out, "%%s%u.%u", place, op->words - 1);
    }
    fprintf(p->out, ", ptr %%at%u, align %u\n", place, 4 * op->words);
    if (is_some) {
        fprintf(p->out, "  br label %%past%u\npast%u:\n", place, place);
    }
}

static void put_op(printer *p, const coalesce_op *op, unsigned index)
{
    static const char *const text[] = {
        [COALESCE_OP_MASK] = "  $r = call i32 asm sideeffect \"activemask.b32 $$0;\", \"=r\"()"
                             " convergent\n",
        [COALESCE_OP_LANE]   = "  $r = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n",
        [COALESCE_OP_ADD]    = "  $r = add $t $a, $b\n",
        [COALESCE_OP_SUB]    = "  $r = sub $t $a, $b\n",
        [COALESCE_OP_MUL]    = "  $r = mul $t $a, $b\n",
        [COALESCE_OP_REM]    = "  $r = urem $t $a, $b\n",
        [COALESCE_OP_AND]    = "  $r = and $t $a, $b\n",
        [COALESCE_OP_OR]     = "  $r = or $t $a, $b\n",
        [COALESCE_OP_EQUAL]  = "  $r = icmp eq $t $a, $b\n",
        [COALESCE_OP_ABOVE]  = "  $r = icmp ugt $t $a, $b\n",
        [COALESCE_OP_SELECT] = "  $r = select i1 $a, i32 $b, i32 $c\n",
        [COALESCE_OP_BIT]    = "  $r = shl i32 1, $a\n",
        [COALESCE_OP_SCALE]  = "  $r.wide = sext i32 $a to i64\n  $r = mul i64 $r.wide, $i\n",
        [COALESCE_OP_HALF]   = "  $r.low = lshr i64 $a, $i\n  $r = trunc i64 $r.low to i32\n",
        [COALESCE_OP_JOIN]   = "  $r.low = zext i32 $a to i64\n  $r.high = zext i32 $b to i64\n"
                               "  $r.up = shl i64 $r.high, 32\n  $r = or i64 $r.up, $r.low\n",
        [COALESCE_OP_INTEGER] = "  $r = ptrtoint ptr $a to i64\n",
        [COALESCE_OP_STEP]    = "  $r = getelementptr i8, ptr $a, i64 $b\n",
        [COALESCE_OP_SHUFFLE] = "  $r = call i32 @llvm.nvvm.shfl.sync.idx.i32"
                                "(i32 -1, i32 $a, i32 $b, i32 31)\n",
        [COALESCE_OP_EXCHANGE] = "  $r = call i32 @llvm.nvvm.shfl.sync.bfly.i32"
                                 "(i32 -1, i32 $a, i32 $i, i32 31)\n",
        [COALESCE_OP_ALL]    = "  $r = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 $a)\n",
        [COALESCE_OP_SYNC]   = "  call void @llvm.nvvm.bar.warp.sync(i32 -1)\n",
        [COALESCE_OP_GLOBAL] = "  $r = call i1 @llvm.nvvm.isspacep.global(ptr $a)\n",
    };

    switch (op->kind) {
    case COALESCE_OP_ADDRESS:
    case COALESCE_OP_WORD:
        break; /* arguments */
    case COALESCE_OP_RESULT:
        break; /* helper.c joins them with those of the other branch */
    case COALESCE_OP_LOAD:
        put_load(p, op, index);
        break;
    case COALESCE_OP_STORE:
        put_store(p, op, index);
        break;
    case COALESCE_OP_SPECIAL:
        coalesce_op_print(&p->how, op, "  $r = call i32 asm \"mov.u32 $$0, ");
        fprintf(p->out, "%s;\", \"=r\"()\n", coalesce_special[op->immediate]);
        break;
    case COALESCE_OP_UNLESS:
        coalesce_op_print(&p->how, op, "  br i1 $a, label %on");
        fprintf(p->out, "%u, label %%slow\non%u:\n", index, index);
        break;
    default:
        coalesce_op_print(&p->how, op, text[op->kind]);
    }
}

void coalesce_ir_print(FILE *out, const coalesce_warp *warp, int is_copy)
{
    printer p = { .out = out, .is_copy = is_copy,
                  .how = { .warp = warp, .type = { "void", "i1", "i32", "i64", "ptr" },
                           .put = put_text, .put_value = put_value } };

    p.how.user = &p;
    for (uint32_t i = 0; i < warp->count; i++) {
        put_op(&p, &warp->op[i], i);
    }
}
