/* SPDX-License-Identifier: BSD-3-Clause */
/* A group as PTX: the warp's operations, and the original accesses as the other branch. */
#include "ptx.h"

#include "coalesce/plan/warp.h"

/* ---- a group as a record ---- */

typedef struct job {
    const ptx_planned    *planned;
    const coalesce_group *group;
    coalesce_record       shape;
    ptx_record            record;
    uint32_t              anchor[2]; /* by side: the access whose address register is used */
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
    int64_t                distance = 0;

    (void)coalesce_form_distance(&all[access].address, &all[anchor].address, &distance);
    return (int64_t)((uint64_t)distance + (uint64_t)address_of(j, anchor)->value);
}

static ptx_span base_of(const job *j, uint32_t access)
{
    const ptx_module   *module = j->planned->module;
    const ptx_register *reg    = &module->reg[module->reference[address_of(j, access)->reference]];

    return (ptx_span){ reg->begin, reg->end };
}

/* 1: the type of the access, the last part of its opcode, has a sign. */
static int is_signed(const job *j, uint32_t access)
{
    const ptx_module      *module      = j->planned->module;
    const ptx_instruction *instruction = instruction_of(j, access);
    uint32_t               at          = instruction->opcode_begin;
    uint32_t               begin       = at;
    uint32_t               end;

    while (ptx_next_part(module, instruction, &at, &begin, &end)) {
    }
    return module->text[begin] == 's';
}

/* The registers of one member narrower than a word, or of a vector of such, from the byte on. */
static void set_fields(job *j, uint32_t access, uint32_t byte)
{
    const ptx_module  *module   = j->planned->module;
    const ptx_operand *data     = ptx_data_of(module, instruction_of(j, access));
    const uint32_t     elements = (data->kind == PTX_VECTOR) ? data->references : 1;
    ptx_field          field    = { .text = { data->begin, data->end },
                                    .bytes = j->planned->accesses->access[access].bytes / elements,
                                    .is_signed = is_signed(j, access) };

    for (uint32_t i = 0; i < elements; i++, byte += field.bytes) {
        if (data->references != 0) {
            const ptx_register *reg = &module->reg[module->reference[data->reference + i]];

            field.text = (ptx_span){ reg->begin, reg->end };
            field.bits = reg->bits;
        }
        j->record.piece[byte / 4].part      = 3;
        j->record.field[byte / 4][byte % 4] = field;
    }
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
        ptx_piece piece = { .text = { data->begin, data->end }, .part = (bytes == 8) };

        if (data->references != 0) {
            const ptx_register *reg = &module->reg[module->reference[data->reference + i]];

            piece.text = (ptx_span){ reg->begin, reg->end };
        }
        j->record.piece[word++] = piece;
        if (bytes == 8) {
            piece.part = 2;
            j->record.piece[word++] = piece;
        }
    }
}

static uint32_t element_bytes(const job *j, uint32_t access)
{
    const ptx_operand *data = ptx_data_of(j->planned->module, instruction_of(j, access));

    return j->planned->accesses->access[access].bytes /
           ((data->kind == PTX_VECTOR) ? data->references : 1);
}

static int is_noncoherent(const job *j, uint32_t access)
{
    return (j->planned->accesses->access[access].flags & COALESCE_NONCOHERENT) != 0;
}

static void fill_record(job *j, uint32_t serial)
{
    const coalesce_group *group   = j->group;
    const int             is_copy = group->kind == COALESCE_COPIES;
    const uint32_t        lowest  = is_copy ? group->source[0] : group->member[0];

    j->anchor[0] = (group->kind == COALESCE_LOADS)    ? group->first
                   : (group->kind == COALESCE_STORES) ? group->last : ptx_last_source(group);
    j->anchor[1] = group->last;
    j->shape     = coalesce_record_of(j->planned->accesses->access, group);
    j->record    = (ptx_record){ .module = j->planned->module, .serial = serial,
                                 .nc   = is_noncoherent(j, lowest) ? ".nc" : "",
                                 .base = { base_of(j, j->anchor[0]), base_of(j, j->anchor[1]) } };
    j->shape.offset[0] = offset_from(j, j->anchor[0], lowest);
    if (is_copy) {
        j->shape.offset[1] = offset_from(j, j->anchor[1], group->member[0]);
        return;
    }
    for (uint32_t k = 0; k < group->count; k++) {
        const uint32_t at = (uint32_t)offset_from(j, j->anchor[0], group->member[k]) -
                            (uint32_t)j->shape.offset[0];

        if (element_bytes(j, group->member[k]) < 4) {
            set_fields(j, group->member[k], at);
        } else {
            set_pieces(j, group->member[k], at / 4);
        }
    }
}

/* ---- the original accesses ---- */

/* A member as in the input, except for its address: the anchor's register is available. */
static void put_original(ptx_out *out, const job *j, uint32_t access, int side)
{
    const char            *text        = j->planned->module->text;
    const ptx_span        *base        = &j->record.base[side];
    const ptx_instruction *instruction = instruction_of(j, access);
    const ptx_operand     *address     = address_of(j, access);

    ptx_put(out, "\t");
    ptx_put_bytes(out, text + instruction->begin, address->begin - instruction->begin);
    ptx_put(out, "[");
    ptx_put_bytes(out, text + base->begin, base->end - base->begin);
    ptx_put(out, "+%lld]", (long long)offset_from(j, j->anchor[side], access));
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
            put_original(out, j, access, 0);
        } else if (is_in(group->member, group->count, access)) {
            put_original(out, j, access, group->kind == COALESCE_COPIES);
        }
    }
}

void ptx_emit_group(ptx_out *out, const ptx_planned *planned, const coalesce_group *group,
                    uint32_t serial)
{
    job           j = { .planned = planned, .group = group };
    coalesce_warp warp;

    fill_record(&j, serial);
    if (!coalesce_warp_make(&j.shape, &warp)) {
        put_originals(out, &j);
        return;
    }
    ptx_put(out, "{ // shpool-coalesce: record of %u bytes, %s\n", 4 * j.shape.words,
            coalesce_transform_text(group->transform));
    ptx_print_warp(out, &j.record, &warp);
    ptx_put(out, "\tbra.uni $Lshpc_done%u;\n$Lshpc_slow%u:\n", serial, serial);
    put_originals(out, &j);
    ptx_put(out, "$Lshpc_done%u:\n\t}", serial);
}
