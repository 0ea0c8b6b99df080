/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact forms of addresses: those that differ by a constant differ by it in every execution, modulo
 * 2^64.  They trace back in one run, and only through 64-bit arithmetic; see form.c.
 */
#include "ptx.h"

#include <string.h>

#define MAX_STEPS 64u

/* Tags: which value of the register, and what is done with it. */
enum { SIGNED = 1, UNSIGNED = 2, AT_RUN = 4 };

typedef struct walk {
    ptx_forms *forms;
    uint32_t   from; /* first instruction of the run */
    unsigned   steps;
} walk;

static const ptx_instruction *at(const walk *w, uint32_t index)
{
    return &w->forms->module->instruction[w->forms->function->instruction + index];
}

static const ptx_operand *operand_of(const walk *w, const ptx_instruction *instruction,
                                     uint32_t index)
{
    return (index < instruction->operands)
               ? &w->forms->module->operand[instruction->operand + index] : NULL;
}

/* The leaf for a register's value as instruction `before` finds it, extended as the tag says: named
 * by its definition, or by the run. */
static coalesce_form leaf_of(const walk *w, uint32_t reg, uint32_t before, uint64_t tag)
{
    const uint32_t definition = ptx_definition_before(w->forms->function, w->forms->module, reg,
                                                      w->from, before);
    const coalesce_form deep = ptx_deep_at(w->forms, reg, before);
    coalesce_leaf       leaf = coalesce_leaf_of(&w->forms->leaves, &deep);

    leaf.grid_uniform = ptx_is_uniform(w->forms, reg);
    if (definition == PTX_NONE) {
        leaf.value = &w->forms->module->reg[reg];
        leaf.tag   = tag | AT_RUN | ((uint64_t)at(w, w->from)->run << 8);
    } else {
        leaf.value = at(w, definition);
        leaf.tag   = tag | ((uint64_t)reg << 8); /* vectors define several */
    }
    return coalesce_form_leaf(&w->forms->leaves, &leaf);
}

static coalesce_form exact(walk *w, uint32_t reg, uint32_t before);

static coalesce_form exact_operand(walk *w, const ptx_operand *operand, uint32_t before)
{
    if ((operand != NULL) && (operand->kind == PTX_REGISTER)) {
        return exact(w, w->forms->module->reference[operand->reference], before);
    }
    return ((operand != NULL) && (operand->kind == PTX_IMMEDIATE))
               ? coalesce_form_constant(operand->value) : coalesce_form_unknown();
}

/* A 32-bit operand of mul.wide or cvt: its extension to 64 bits. */
static coalesce_form extended(walk *w, const ptx_operand *operand, uint32_t before, uint64_t tag)
{
    if ((operand != NULL) && (operand->kind == PTX_REGISTER)) {
        return leaf_of(w, w->forms->module->reference[operand->reference], before, tag);
    }
    if ((operand != NULL) && (operand->kind == PTX_IMMEDIATE)) {
        return coalesce_form_constant((tag == SIGNED) ? (int32_t)operand->value
                                                      : (int64_t)(uint32_t)operand->value);
    }
    return coalesce_form_unknown();
}

/* "mul.wide.s32": its parts after the root, at most two. */
static int is_opcode(const walk *w, const ptx_instruction *instruction, const char *a,
                     const char *b, const char *c)
{
    const ptx_module *module = w->forms->module;

    return ptx_part_is(module, instruction, 0, a) && ptx_part_is(module, instruction, 1, b) &&
           ((c == NULL) || ptx_part_is(module, instruction, 2, c));
}

static int is_64(const walk *w, const ptx_instruction *instruction, unsigned part)
{
    const ptx_module *module = w->forms->module;

    return ptx_part_is(module, instruction, part, "s64") ||
           ptx_part_is(module, instruction, part, "u64") ||
           ptx_part_is(module, instruction, part, "b64");
}

/* mul.wide.s32, mad.wide.u32 and so on; unknown: not one of these. */
static coalesce_form wide(walk *w, const ptx_instruction *instruction, uint32_t index)
{
    const int      is_signed = is_opcode(w, instruction, "mul", "wide", "s32") ||
                               is_opcode(w, instruction, "mad", "wide", "s32");
    const int      is_unsigned = is_opcode(w, instruction, "mul", "wide", "u32") ||
                                 is_opcode(w, instruction, "mad", "wide", "u32");
    const uint64_t tag = is_signed ? SIGNED : UNSIGNED;
    coalesce_form  product;

    if (!is_signed && !is_unsigned) {
        return coalesce_form_unknown();
    }
    {
        coalesce_form a = extended(w, operand_of(w, instruction, 1), index, tag);
        coalesce_form b = extended(w, operand_of(w, instruction, 2), index, tag);

        product = coalesce_form_multiply(&a, &b);
    }
    if (ptx_part_is(w->forms->module, instruction, 0, "mad")) {
        coalesce_form c = exact_operand(w, operand_of(w, instruction, 3), index);

        product = coalesce_form_add(&product, &c, 1);
    }
    return product;
}

/* 64-bit sums, products and shifts by constants; unknown: not one of these. */
static coalesce_form arithmetic(walk *w, const ptx_instruction *instruction, uint32_t index)
{
    const ptx_module *module = w->forms->module;
    coalesce_form     a;
    coalesce_form     b;
    int64_t           bits;

    if (ptx_part_is(module, instruction, 0, "mov") && is_64(w, instruction, 1)) {
        return exact_operand(w, operand_of(w, instruction, 1), index);
    }
    if ((ptx_part_is(module, instruction, 0, "add") ||
         ptx_part_is(module, instruction, 0, "sub")) && is_64(w, instruction, 1)) {
        a = exact_operand(w, operand_of(w, instruction, 1), index);
        b = exact_operand(w, operand_of(w, instruction, 2), index);
        return coalesce_form_add(&a, &b, ptx_part_is(module, instruction, 0, "add") ? 1 : -1);
    }
    if (ptx_part_is(module, instruction, 0, "shl") && is_64(w, instruction, 1)) {
        coalesce_form zero = coalesce_form_constant(0);

        a = exact_operand(w, operand_of(w, instruction, 1), index);
        b = exact_operand(w, operand_of(w, instruction, 2), index);
        if (!coalesce_form_is_constant(&b, &bits) || (bits < 0) || (bits > 63)) {
            return coalesce_form_unknown();
        }
        return coalesce_form_add(&zero, &a, (int64_t)((uint64_t)1 << bits));
    }
    if ((ptx_part_is(module, instruction, 0, "mul") ||
         ptx_part_is(module, instruction, 0, "mad")) &&
        ptx_part_is(module, instruction, 1, "lo") && is_64(w, instruction, 2)) {
        a = exact_operand(w, operand_of(w, instruction, 1), index);
        b = exact_operand(w, operand_of(w, instruction, 2), index);
        a = coalesce_form_multiply(&a, &b);
        if (ptx_part_is(module, instruction, 0, "mad")) {
            b = exact_operand(w, operand_of(w, instruction, 3), index);
            a = coalesce_form_add(&a, &b, 1);
        }
        return a;
    }
    if (is_opcode(w, instruction, "cvt", "s64", "s32")) {
        return extended(w, operand_of(w, instruction, 1), index, SIGNED);
    }
    if (is_opcode(w, instruction, "cvt", "u64", "u32")) {
        return extended(w, operand_of(w, instruction, 1), index, UNSIGNED);
    }
    return wide(w, instruction, index);
}

static coalesce_form exact(walk *w, uint32_t reg, uint32_t before)
{
    const uint32_t definition = ptx_definition_before(w->forms->function, w->forms->module, reg,
                                                      w->from, before);
    coalesce_form  form       = coalesce_form_unknown();

    if ((definition != PTX_NONE) && (w->steps < MAX_STEPS) &&
        (at(w, definition)->guard == PTX_NONE) && (at(w, definition)->effect == PTX_COMPUTE)) {
        w->steps++;
        form = arithmetic(w, at(w, definition), definition);
    }
    return form.known ? form : leaf_of(w, reg, before, 0);
}

coalesce_form ptx_exact_address(ptx_forms *forms, const ptx_operand *operand, uint32_t index)
{
    walk          w    = { .forms = forms, .from = index };
    coalesce_form base = coalesce_form_constant(0);
    coalesce_form offset;

    if (operand->kind != PTX_ADDRESS) {
        return coalesce_form_unknown();
    }
    if ((forms->run_begin <= index) && (at(&w, forms->run_begin)->run == at(&w, index)->run)) {
        w.from = forms->run_begin; /* addresses are requested in program order */
    }
    while ((w.from > 0) && (at(&w, w.from - 1)->run == at(&w, index)->run)) {
        w.from--;
    }
    forms->run_begin = w.from;
    if (operand->references == 1) {
        base = exact(&w, forms->module->reference[operand->reference], index);
    } else {
        coalesce_leaf symbol = { .value = forms->module->text + operand->symbol_begin,
                                 .kind = COALESCE_UNIFORM, .grid_uniform = 1 };

        base = coalesce_form_leaf(&forms->leaves, &symbol);
    }
    offset = coalesce_form_constant(operand->value);
    return coalesce_form_add(&base, &offset, 1);
}
