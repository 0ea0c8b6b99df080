/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of plan/warp.h as PTX: value 7 is ~w7, ~d7 or ~p7, by its type. */
#include "ptx.h"

#include "coalesce/plan/warp.h"

typedef struct printer {
    ptx_out          *out;
    const ptx_record *record;
    coalesce_printer  how;
} printer;

static void put_text(void *user, const char *text, size_t bytes)
{
    ptx_put(((printer *)user)->out, "%.*s", (int)bytes, text);
}

static void put_span(const printer *p, const ptx_span *span)
{
    ptx_put_bytes(p->out, p->record->module->text + span->begin, span->end - span->begin);
}

static void put_value(void *user, uint32_t value)
{
    static const char prefix[] = { '?', 'p', 'w', 'd', 'd' };
    const printer     *p  = user;
    const coalesce_op *op = coalesce_maker(p->how.warp, value);

    while (op->kind == COALESCE_OP_INTEGER) {
        op = coalesce_maker(p->how.warp, op->a[0]);
    }
    if (op->kind == COALESCE_OP_ADDRESS) {
        put_span(p, &p->record->base[op->immediate]);
    } else {
        ptx_put(p->out, "~%c%u", prefix[op->type],
                (op->kind == COALESCE_OP_LOAD) ? value : op->value);
    }
}

/* {w0, w1} or w0 */
static void put_words(printer *p, const coalesce_op *op)
{
    ptx_put(p->out, (op->words > 1) ? "{" : "");
    for (uint32_t i = 0; i < op->words; i++) {
        ptx_put(p->out, (i > 0) ? ", " : "");
        put_value(p, (op->kind == COALESCE_OP_LOAD) ? op->value + i : op->a[1 + i]);
    }
    ptx_put(p->out, (op->words > 1) ? "}" : "");
}

static void put_access(printer *p, const coalesce_op *op)
{
    static const char *const vector[] = { "", "", ".v2", "", ".v4" };

    if (op->kind == COALESCE_OP_LOAD) {
        ptx_put(p->out, "\tld.global%s%s.b32 ", p->record->nc, vector[op->words]);
        put_words(p, op);
        coalesce_op_print(&p->how, op, ", [$a+$i];\n");
    } else {
        ptx_put(p->out, "\t");
        if (op->a[5] != COALESCE_NO_VALUE) {
            ptx_put(p->out, "@!");
            put_value(p, op->a[5]);
            ptx_put(p->out, " ");
        }
        ptx_put(p->out, "st.global%s.b32 ", vector[op->words]);
        coalesce_op_print(&p->how, op, "[$a+$i], ");
        put_words(p, op);
        ptx_put(p->out, ";\n");
    }
}

/* The word is assembled: each field overwrites what is above the fields before it. */
static void put_fields(printer *p, const coalesce_op *op)
{
    for (uint32_t at = 0; at < 4; at++) {
        const ptx_field *field = &p->record->field[op->immediate][at];

        if (field->bytes == 0) {
            continue;
        }
        coalesce_op_print(&p->how, op, (field->bits == 16) ? "\tcvt.u32.u16 " : "\tmov.b32 ");
        coalesce_op_print(&p->how, op, (at == 0) ? "$r, " : "~x, ");
        put_span(p, &field->text);
        ptx_put(p->out, ";\n");
        if (at != 0) {
            coalesce_op_print(&p->how, op, "\tbfi.b32 $r, ~x, $r, ");
            ptx_put(p->out, "%u, %u;\n", 8 * at, 8 * field->bytes);
        }
    }
}

/* The fields of a word, to the registers that the program's loads define. */
static void put_field_results(printer *p, const coalesce_op *op)
{
    for (uint32_t at = 0; at < 4; at++) {
        const ptx_field *field = &p->record->field[op->immediate][at];

        if (field->bytes == 0) {
            continue;
        }
        coalesce_op_print(&p->how, op, field->is_signed ? "\tbfe.s32 ~x, $a, "
                                                        : "\tbfe.u32 ~x, $a, ");
        ptx_put(p->out, "%u, %u;\n\t%s ", 8 * at, 8 * field->bytes,
                (field->bits == 16) ? "cvt.u16.u32" : "mov.b32");
        put_span(p, &field->text);
        ptx_put(p->out, ", ~x;\n");
    }
}

/* A register of 64 bits is two words; the values of both are neighbours. */
static void put_word(printer *p, const coalesce_op *op)
{
    const ptx_piece *piece = &p->record->piece[op->immediate];

    if (piece->part == 3) {
        put_fields(p, op);
        return;
    }
    if (piece->part == 0) {
        coalesce_op_print(&p->how, op, "\tmov.b32 $r, ");
        put_span(p, &piece->text);
        ptx_put(p->out, ";\n");
    } else if (piece->part == 1) {
        ptx_put(p->out, "\tmov.b64 ~d%u, ", op->value); /* constants cannot be taken apart */
        put_span(p, &piece->text);
        ptx_put(p->out, ";\n\tmov.b64 {~w%u, ~w%u}, ~d%u;\n", op->value, op->value + 1, op->value);
    }
}

/* To the register that the program's load defines. */
static void put_result(printer *p, const coalesce_op *op)
{
    const ptx_piece *piece = &p->record->piece[op->immediate];

    if (piece->part == 3) {
        put_field_results(p, op);
        return;
    }
    if (piece->part == 2) {
        return;
    }
    ptx_put(p->out, "\tmov.b%u ", (piece->part == 0) ? 32u : 64u);
    put_span(p, &piece->text);
    coalesce_op_print(&p->how, op, (piece->part == 0) ? ", $a;\n" : ", {$a, ");
    if (piece->part == 1) {
        coalesce_op_print(&p->how, op + 1, "$a};\n");
    }
}

static void put_op(printer *p, const coalesce_op *op)
{
    static const char *const text[] = {
        [COALESCE_OP_MASK]     = "activemask.b32 $r",
        [COALESCE_OP_LANE]     = "mov.u32 $r, %laneid",
        [COALESCE_OP_ADD]      = "add.s$n $r, $a, $b",
        [COALESCE_OP_SUB]      = "sub.s$n $r, $a, $b",
        [COALESCE_OP_MUL]      = "mul.lo.s$n $r, $a, $b",
        [COALESCE_OP_REM]      = "rem.u$n $r, $a, $b",
        [COALESCE_OP_AND]      = "and.$t $r, $a, $b",
        [COALESCE_OP_OR]       = "or.$t $r, $a, $b",
        [COALESCE_OP_EQUAL]    = "setp.eq.s$n $r, $a, $b",
        [COALESCE_OP_ABOVE]    = "setp.gt.u$n $r, $a, $b",
        [COALESCE_OP_SELECT]   = "selp.b32 $r, $b, $c, $a",
        [COALESCE_OP_BIT]      = "shl.b32 $r, 1, $a",
        [COALESCE_OP_SCALE]    = "mul.wide.s32 $r, $a, $i",
        [COALESCE_OP_JOIN]     = "mov.b64 $r, {$a, $b}",
        [COALESCE_OP_STEP]     = "add.s64 $r, $a, $b",
        [COALESCE_OP_SHUFFLE]  = "shfl.sync.idx.b32 $r, $a, $b, 31, -1",
        [COALESCE_OP_EXCHANGE] = "shfl.sync.bfly.b32 $r, $a, $i, 31, -1",
        [COALESCE_OP_ALL]      = "vote.sync.all.pred $r, $a, -1",
        [COALESCE_OP_SYNC]     = "bar.warp.sync -1",
        [COALESCE_OP_GLOBAL]   = "isspacep.global $r, $a",
    };

    switch (op->kind) {
    case COALESCE_OP_ADDRESS:
    case COALESCE_OP_INTEGER:
        break; /* the program's register */
    case COALESCE_OP_WORD:
        put_word(p, op);
        break;
    case COALESCE_OP_RESULT:
        put_result(p, op);
        break;
    case COALESCE_OP_LOAD:
    case COALESCE_OP_STORE:
        put_access(p, op);
        break;
    case COALESCE_OP_SPECIAL:
        coalesce_op_print(&p->how, op, "\tmov.u32 $r, ");
        ptx_put(p->out, "%s;\n", coalesce_special[op->immediate]);
        break;
    case COALESCE_OP_HALF:
        coalesce_op_print(&p->how, op, (op->immediate == 0) ? "\tmov.b64 {$r, ~x}, $a;\n"
                                                            : "\tmov.b64 {~x, $r}, $a;\n");
        break;
    case COALESCE_OP_UNLESS:
        coalesce_op_print(&p->how, op, "\t@!$a bra ");
        ptx_put(p->out, "$Lshpc_slow%u;\n", p->record->serial);
        break;
    default:
        ptx_put(p->out, "\t");
        coalesce_op_print(&p->how, op, text[op->kind]);
        ptx_put(p->out, ";\n");
    }
}

void ptx_print_warp(ptx_out *out, const ptx_record *record, const coalesce_warp *warp)
{
    printer p = { .out = out, .record = record,
                  .how = { .warp = warp, .type = { "", "pred", "b32", "b64", "b64" },
                           .put = put_text, .put_value = put_value } };

    p.how.user = &p;
    ptx_put(out, "\t.reg .pred ~p<%u>;\n\t.reg .b32 ~x, ~w<%u>;\n\t.reg .b64 ~d<%u>;\n",
            warp->values, warp->values, warp->values);
    for (uint32_t i = 0; i < warp->count; i++) {
        put_op(&p, &warp->op[i]);
    }
}
