/* SPDX-License-Identifier: BSD-3-Clause */
/* A group as PTX: the guards, what the warp does, and the original accesses as the other branch. */
#include "ptx.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- the text that grows ---- */

static int has_room(ptx_out *out, size_t bytes)
{
    size_t capacity = (out->capacity == 0) ? 4096 : out->capacity;
    char  *grown;

    if (out->no_memory) {
        return 0;
    }
    while (capacity - out->bytes <= bytes) {
        capacity *= 2;
    }
    if (capacity == out->capacity) {
        return 1;
    }
    grown = realloc(out->text, capacity);
    if (grown == NULL) {
        out->no_memory = 1;
        return 0;
    }
    out->text     = grown;
    out->capacity = capacity;
    return 1;
}

void ptx_put_bytes(ptx_out *out, const char *text, size_t bytes)
{
    if (has_room(out, bytes)) {
        memcpy(out->text + out->bytes, text, bytes);
        out->bytes += bytes;
        out->text[out->bytes] = '\0';
    }
}

void ptx_put(ptx_out *out, const char *format, ...)
{
    char    line[512];
    va_list args;
    int     count;

    va_start(args, format);
    count = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (count < 0) {
        return;
    }
    for (const char *at = line; *at != '\0';) {
        const size_t plain = strcspn(at, "~");

        ptx_put_bytes(out, at, plain);
        at += plain;
        if (*at == '~') {
            ptx_put_bytes(out, PTX_OWN, strlen(PTX_OWN));
            at++;
        }
    }
}

/* ---- a group as a record ---- */

typedef struct job {
    const ptx_planned    *planned;
    const coalesce_group *group;
    ptx_record            record;
    uint32_t              anchor;        /* access whose address register is used; copies: source */
    uint32_t              target_anchor; /* copies */
    uint32_t              serial;
} job;

static const ptx_instruction *instruction_of(const job *j, uint32_t access)
{
    return j->planned->accesses->access[access].instruction;
}

static const ptx_operand *address_of(const job *j, uint32_t access)
{
    const ptx_module      *module      = j->planned->module;
    const ptx_instruction *instruction = instruction_of(j, access);
    uint32_t               i           = 0;

    while (module->operand[instruction->operand + i].kind != PTX_ADDRESS) {
        i++; /* there is one: UNSUPPORTED otherwise */
    }
    return &module->operand[instruction->operand + i];
}

/* Where an access is, from the anchor's address register. */
static int64_t offset_from(const job *j, uint32_t anchor, uint32_t access)
{
    const coalesce_access *all = j->planned->accesses->access;
    int64_t                distance;

    (void)coalesce_form_distance(&all[access].address, &all[anchor].address, &distance);
    return distance + address_of(j, anchor)->value;
}

static void put_base(ptx_out *out, const job *j, uint32_t access)
{
    const ptx_module   *module = j->planned->module;
    const ptx_operand  *operand = address_of(j, access);
    const ptx_register *reg = &module->reg[module->reference[operand->reference]];

    ptx_put_bytes(out, module->text + reg->begin, reg->end - reg->begin);
}

/* The registers of one member, word by word from `word` on. */
static void set_pieces(job *j, uint32_t access, uint32_t word)
{
    const ptx_module      *module      = j->planned->module;
    const ptx_instruction *instruction = instruction_of(j, access);
    const ptx_operand     *data        = ptx_data_of(module, instruction);
    const uint32_t elements = (data->kind == PTX_VECTOR) ? data->references : 1;
    const uint32_t bytes    = j->planned->accesses->access[access].bytes / elements;

    for (uint32_t i = 0; i < elements; i++) {
        ptx_piece piece = { .used = 1, .begin = data->begin, .end = data->end, .bits = 8 * bytes };

        if (data->references != 0) {
            const ptx_register *reg = &module->reg[module->reference[data->reference + i]];

            piece.begin = reg->begin;
            piece.end   = reg->end;
            piece.bits  = reg->bits;
        }
        piece.is_signed = module->text[instruction->opcode_end - 2] == 's'; /* .s8 */
        piece.part      = (bytes == 8);
        j->record.piece[word++] = piece;
        if (bytes == 8) {
            piece.part = 2;
            j->record.piece[word++] = piece;
        }
    }
}

static int is_noncoherent(const job *j, uint32_t access)
{
    return (j->planned->accesses->access[access].flags & COALESCE_NONCOHERENT) != 0;
}

static void fill_record(job *j)
{
    const coalesce_group *group  = j->group;
    const uint32_t        source = (group->source != NULL) ? group->source[0] : group->member[0];
    const uint32_t        grain  = (group->record_bytes == 3) ? 1 : 4;

    j->anchor        = (group->kind == COALESCE_LOADS)    ? group->first
                       : (group->kind == COALESCE_STORES) ? group->last : ptx_last_source(group);
    j->target_anchor = group->last;
    j->record = (ptx_record){ .module = j->planned->module, .group = group,
                              .bytes = group->record_bytes, .words = group->record_bytes / 4,
                              .unit = group->unit_words, .units = group->units,
                              .nc = is_noncoherent(j, source) ? ".nc" : "",
                              .offset = offset_from(j, j->anchor, source) };
    if (group->kind == COALESCE_COPIES) {
        j->record.target_offset = offset_from(j, j->target_anchor, group->member[0]);
        return;
    }
    for (uint32_t k = 0; k < group->count; k++) {
        const int64_t at = offset_from(j, j->anchor, group->member[k]) - j->record.offset;

        set_pieces(j, group->member[k], (uint32_t)at / grain);
    }
}

/* ---- guards ---- */

static void open_scope(ptx_out *out, const job *j)
{
    const uint32_t words = (j->record.words < 4) ? 4 : j->record.words;
    /* copies round up to units of 4 words */
    const uint32_t named = (words + 3) / 4 * 4;

    ptx_put(out, "{ // shpool-coalesce: record of %u bytes, %s\n", j->record.bytes,
            coalesce_transform_text(j->group->transform));
    ptx_put(out, "\t.reg .pred ~p, ~q;\n");
    ptx_put(out, "\t.reg .b32 ~lane, ~m, ~x, ~y, ~rot, ~w<%u>, ~t<%u>;\n", named, named);
    ptx_put(out, "\t.reg .b64 ~base, ~target, ~z, ~d;\n");
}

static void put_slow_branch(ptx_out *out, const job *j, const char *condition)
{
    ptx_put(out, "\t@%s bra $Lshpc_slow%u;\n", condition, j->serial);
}

/* G1: all lanes are here, in this very execution of the instruction. */
static void guard_warp(ptx_out *out, const job *j)
{
    ptx_put(out, "\tmov.u32 ~lane, %%laneid;\n");
    ptx_put(out, "\tmul.wide.u32 ~z, ~lane, %u;\n", j->record.bytes);
    ptx_put(out, "\tactivemask.b32 ~m;\n");
    ptx_put(out, "\tsetp.ne.b32 ~p, ~m, -1;\n");
    put_slow_branch(out, j, "~p");
}

/* G2: what is in the address register, less lane*R, is the same in all lanes.  Two shuffles and a
 * vote, for match.all would say the same, but takes longer. */
static void guard_base(ptx_out *out, const job *j, uint32_t anchor, const char *name, int matched)
{
    ptx_put(out, "\tsub.s64 %s, ", name);
    put_base(out, j, anchor);
    ptx_put(out, ", ~z;\n");
    if (matched) {
        ptx_put(out, "\tmov.b64 {~x, ~y}, %s;\n", name);
        ptx_put(out, "\tshfl.sync.idx.b32 ~m, ~x, 0, 31, -1;\n");
        ptx_put(out, "\tshfl.sync.idx.b32 ~rot, ~y, 0, 31, -1;\n");
        ptx_put(out, "\tsetp.eq.b32 ~q, ~x, ~m;\n");
        ptx_put(out, "\tsetp.eq.and.b32 ~q, ~y, ~rot, ~q;\n");
        ptx_put(out, "\tvote.sync.all.pred ~q, ~q, -1;\n");
    }
}

/* G3: and with the predicate p. */
static void guard_alignment(ptx_out *out, const char *name, int64_t offset, uint32_t bytes)
{
    ptx_put(out, "\tadd.s64 ~z, %s, %lld;\n", name, (long long)offset);
    ptx_put(out, "\tand.b64 ~z, ~z, %u;\n", bytes - 1);
    ptx_put(out, "\tsetp.eq.and.s64 ~p, ~z, 0, ~p;\n");
}

/* G4: the warp's two ranges are disjoint or the same. */
static void guard_ranges(ptx_out *out, const job *j)
{
    const uint32_t bytes = COALESCE_LANES * j->record.bytes;

    ptx_put(out, "\tsub.s64 ~d, ~target, ~base;\n");
    ptx_put(out, "\tadd.s64 ~d, ~d, %lld;\n",
            (long long)(j->record.target_offset - j->record.offset));
    ptx_put(out, "\tsetp.eq.s64 ~q, ~d, 0;\n");
    ptx_put(out, "\tadd.s64 ~d, ~d, %u;\n", bytes - 1);
    ptx_put(out, "\tsetp.gt.or.u64 ~q, ~d, %u, ~q;\n",
            2 * bytes - 2);
    ptx_put(out, "\tand.pred ~p, ~p, ~q;\n");
}

static void guard_record(ptx_out *out, const job *j)
{
    const int      is_copy = j->group->kind == COALESCE_COPIES;
    const uint32_t bytes   = (j->record.bytes == 3) ? 4 : 4 * j->record.unit;

    guard_warp(out, j);
    guard_base(out, j, j->anchor, "~base", 1);
    ptx_put(out, "\tmov.pred ~p, ~q;\n");
    if (is_copy) {
        guard_base(out, j, j->target_anchor, "~target", !j->group->one_match);
        if (!j->group->one_match) {
            ptx_put(out, "\tand.pred ~p, ~p, ~q;\n");
        }
    }
    if ((bytes > 4) || (j->record.bytes == 3)) { /* words are aligned to words anyway */
        guard_alignment(out, "~base", j->record.offset, bytes);
        if (is_copy) {
            guard_alignment(out, "~target", j->record.target_offset, bytes);
        }
    }
    if (is_copy) {
        guard_ranges(out, j);
    }
    put_slow_branch(out, j, "!~p");
}

/* T0 needs no other lanes, only its own alignment. */
static void guard_wide(ptx_out *out, const job *j)
{
    ptx_put(out, "\tadd.s64 ~base, ");
    put_base(out, j, j->anchor);
    ptx_put(out, ", 0;\n\tadd.s64 ~z, ~base, %lld;\n",
            (long long)j->record.offset);
    ptx_put(out, "\tand.b64 ~z, ~z, %u;\n", 4 * j->record.unit - 1);
    ptx_put(out, "\tsetp.ne.s64 ~p, ~z, 0;\n");
    put_slow_branch(out, j, "~p");
}

/* ---- the original accesses ---- */

/* A member as it stands in the input, but for its address: the anchor's register is at hand. */
static void put_original(ptx_out *out, const job *j, uint32_t access, uint32_t anchor)
{
    const char            *text        = j->planned->module->text;
    const ptx_instruction *instruction = instruction_of(j, access);
    const ptx_operand     *address     = address_of(j, access);

    ptx_put(out, "\t");
    ptx_put_bytes(out, text + instruction->begin, address->begin - instruction->begin);
    ptx_put(out, "[");
    put_base(out, j, anchor);
    ptx_put(out, "+%lld]", (long long)offset_from(j, anchor, access));
    ptx_put_bytes(out, text + address->end, instruction->end - address->end);
    ptx_put(out, "\n");
}

static int is_in(const uint32_t *list, uint32_t count, uint32_t access)
{
    for (uint32_t k = 0; (list != NULL) && (k < count); k++) {
        if (list[k] == access) {
            return 1;
        }
    }
    return 0;
}

/* In program order. */
static void put_originals(ptx_out *out, const job *j)
{
    const coalesce_group *group = j->group;

    for (uint32_t access = group->first; access <= group->last; access++) {
        if (is_in(group->source, group->count, access)) {
            put_original(out, j, access, j->anchor);
        } else if (is_in(group->member, group->count, access)) {
            put_original(out, j, access,
                         (group->kind == COALESCE_COPIES) ? j->target_anchor : j->anchor);
        }
    }
}

static void put_fast(ptx_out *out, const job *j)
{
    const int is_load = j->group->kind == COALESCE_LOADS;

    switch (j->group->transform) {
    case COALESCE_WIDE:
        (is_load ? ptx_emit_load_wide : ptx_emit_store_wide)(out, &j->record, "~base");
        break;
    case COALESCE_COPY:
        ptx_emit_copy(out, &j->record);
        break;
    case COALESCE_BYTES:
        (is_load ? ptx_emit_load_bytes : ptx_emit_store_bytes)(out, &j->record);
        break;
    default:
        (is_load ? ptx_emit_load : ptx_emit_store)(out, &j->record);
    }
}

void ptx_emit_group(ptx_out *out, const ptx_planned *planned, const coalesce_group *group,
                    uint32_t serial)
{
    job j = { .planned = planned, .group = group, .serial = serial };

    fill_record(&j);
    open_scope(out, &j);
    if (group->transform == COALESCE_WIDE) {
        guard_wide(out, &j);
    } else {
        guard_record(out, &j);
    }
    put_fast(out, &j);
    ptx_put(out, "\tbra.uni $Lshpc_done%u;\n$Lshpc_slow%u:\n", serial, serial);
    put_originals(out, &j);
    ptx_put(out, "$Lshpc_done%u:\n\t}", serial);
}
