/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forms of registers, by walking back the definitions.
 *
 * Deep forms trace through everything, across the whole function, as if nothing wrapped: they show
 * how an address presumably changes from lane to lane.  Exact forms trace back only in one run, and
 * only through 64-bit arithmetic, which is that of addresses.  Where they stop is a leaf,
 * identified by the definition, or by the run at whose start the register had its value.
 */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STEPS 400u /* length of a chain of definitions; beyond it nothing is known */

/* Tags of leaves: what is done with the value that the leaf's pointer names. */
enum { TAG_VALUE = 0, TAG_SIGNED = 1, TAG_UNSIGNED = 2, TAG_PARAMETER = 3, TAG_RUN = 4,
       TAG_PRODUCT = 5, TAG_CHOICE = 16 };

int ptx_forms_init(ptx_forms *forms, const ptx_module *module, const ptx_function *function)
{
    *forms = (ptx_forms){ .module = module, .function = function, .low = PTX_MADE,
                          .budget = 10000 + 10 * (uint64_t)function->instructions };
    coalesce_leaves_init(&forms->leaves);
    forms->deep  = calloc(function->regs + 1u, sizeof(*forms->deep));
    forms->state = calloc(function->regs + 1u, sizeof(*forms->state));
    forms->uniform = calloc(function->regs + 1u, 1);
    return (forms->deep != NULL) && (forms->state != NULL) && (forms->uniform != NULL);
}

void ptx_forms_fini(ptx_forms *forms)
{
    coalesce_leaves_fini(&forms->leaves);
    free(forms->deep);
    free(forms->state);
    free(forms->uniform);
    memset(forms, 0, sizeof(*forms));
}

/* ---- leaves ---- */

static coalesce_form leaf(ptx_forms *forms, const void *value, uint64_t tag,
                          coalesce_leaf_kind kind, int dimension)
{
    coalesce_leaf made = { .value = value, .tag = tag, .kind = kind };

    if (kind == COALESCE_STEPPED) {
        made.step[dimension] = 1;
    }
    return coalesce_form_leaf(&forms->leaves, &made);
}

static const ptx_special specials[] = {
    { "%tid.x", COALESCE_STEPPED, 0, 0 },    { "%tid.y", COALESCE_STEPPED, 1, 0 },
    { "%tid.z", COALESCE_STEPPED, 2, 0 },    { "%laneid", COALESCE_STEPPED, 0, 0 },
    { "%ntid.x", COALESCE_UNIFORM, 0, 1 },   { "%ntid.y", COALESCE_UNIFORM, 0, 1 },
    { "%ntid.z", COALESCE_UNIFORM, 0, 1 },   { "%ctaid.x", COALESCE_UNIFORM, 0, 1 },
    { "%ctaid.y", COALESCE_UNIFORM, 0, 1 },  { "%ctaid.z", COALESCE_UNIFORM, 0, 1 },
    { "%nctaid.x", COALESCE_UNIFORM, 0, 1 }, { "%nctaid.y", COALESCE_UNIFORM, 0, 1 },
    { "%nctaid.z", COALESCE_UNIFORM, 0, 1 }, { "%warpid", COALESCE_UNIFORM, 0, 0 },
};

const ptx_special *ptx_special_of(const ptx_module *module, const ptx_operand *operand)
{
    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
        if (ptx_text_is(module, operand->begin, operand->end, specials[i].name)) {
            return &specials[i];
        }
    }
    return NULL;
}

static coalesce_form special(ptx_forms *forms, const ptx_operand *operand)
{
    const ptx_special *known = ptx_special_of(forms->module, operand);

    return (known != NULL) ? leaf(forms, known, TAG_VALUE, known->kind, known->dimension)
                           : leaf(forms, operand, TAG_VALUE, COALESCE_IRREGULAR, 0);
}

static coalesce_form deep_operand(ptx_forms *forms, const ptx_operand *operand)
{
    switch (operand->kind) {
    case PTX_REGISTER:
        return ptx_deep_at(forms, forms->module->reference[operand->reference], forms->use);
    case PTX_SPECIAL:
        return special(forms, operand);
    case PTX_IMMEDIATE:
        return coalesce_form_constant(operand->value);
    case PTX_SYMBOL:
        return leaf(forms, operand, TAG_VALUE, COALESCE_UNIFORM, 0);
    default:
        return coalesce_form_unknown();
    }
}

/* ---- deep: one definition ---- */

const ptx_operand *ptx_operand_of(const ptx_forms *forms, const ptx_instruction *instruction,
                                  uint32_t index)
{
    static const ptx_operand none = { .kind = PTX_OTHER };

    return (index < instruction->operands)
               ? &forms->module->operand[instruction->operand + index] : &none;
}

/* ld.param of a kernel's own parameter, which is the same in the whole grid.  A call's result is
 * loaded in the same way, from a name that the body declares. */
int ptx_is_parameter(const ptx_forms *forms, const ptx_instruction *instruction)
{
    const ptx_module  *module  = forms->module;
    const ptx_operand *operand = ptx_operand_of(forms, instruction, 1);

    return ptx_part_is(module, instruction, 0, "ld") && (instruction->effect == PTX_COMPUTE) &&
           (operand->kind == PTX_ADDRESS) && (operand->references == 0) &&
           ptx_has_parameter(module, forms->function, operand->symbol_begin, operand->symbol_end);
}

/* Whatever the instruction computes: uniform if all its operands are. */
static coalesce_form opaque(ptx_forms *forms, const ptx_instruction *instruction)
{
    coalesce_leaf_kind kind = COALESCE_UNIFORM;

    for (uint32_t i = 1; i < instruction->operands; i++) {
        const coalesce_form form    = deep_operand(forms, ptx_operand_of(forms, instruction, i));
        const coalesce_leaf operand = coalesce_leaf_of(&forms->leaves, &form);

        if (operand.kind > COALESCE_ITERATION) {
            kind = COALESCE_IRREGULAR;
        }
    }
    return leaf(forms, instruction, TAG_VALUE, kind, 0);
}

/* The instruction's value, which changes as the leaf says. */
static coalesce_form whole(ptx_forms *forms, const ptx_instruction *instruction,
                           coalesce_leaf changing)
{
    changing.value = instruction;
    changing.tag   = TAG_VALUE;
    return coalesce_form_leaf(&forms->leaves, &changing);
}

/* The number of values in the form that lanes chose by data: see either(). */
static uint32_t choices_in(const ptx_forms *forms, const coalesce_form *form)
{
    uint32_t count = 0;

    for (uint32_t i = 0; form->known && (i < form->terms); i++) {
        for (uint32_t k = 0; k < form->term[i].factors; k++) {
            count += forms->leaves.leaf[form->term[i].leaf[k]].tag == TAG_CHOICE;
        }
    }
    return count;
}

static coalesce_form add_forms(ptx_forms *forms, const ptx_instruction *instruction,
                               const coalesce_form *a, const coalesce_form *b, int64_t sign)
{
    const coalesce_form sum = coalesce_form_add(a, b, sign);

    if (choices_in(forms, &sum) > 1) {
        return leaf(forms, instruction, TAG_VALUE, COALESCE_IRREGULAR, 0);
    }
    return sum.known ? sum : whole(forms, instruction,
                                   coalesce_leaf_of_sum(&forms->leaves, a, b, sign));
}

static coalesce_form multiply_add(ptx_forms *forms, const ptx_instruction *instruction, int add)
{
    coalesce_form a       = deep_operand(forms, ptx_operand_of(forms, instruction, 1));
    coalesce_form b       = deep_operand(forms, ptx_operand_of(forms, instruction, 2));
    coalesce_form product = coalesce_form_multiply(&a, &b);

    if (!product.known) {
        coalesce_leaf made = coalesce_leaf_of_product(&forms->leaves, &a, &b);

        made.value = instruction;
        made.tag   = TAG_PRODUCT;
        product    = coalesce_form_leaf(&forms->leaves, &made);
    }
    if (add) {
        coalesce_form c = deep_operand(forms, ptx_operand_of(forms, instruction, 3));

        product = add_forms(forms, instruction, &product, &c, 1);
    }
    return product;
}

static coalesce_form add_or_subtract(ptx_forms *forms, const ptx_instruction *instruction,
                                     int64_t sign)
{
    coalesce_form a   = deep_operand(forms, ptx_operand_of(forms, instruction, 1));
    coalesce_form b   = deep_operand(forms, ptx_operand_of(forms, instruction, 2));

    return add_forms(forms, instruction, &a, &b, sign);
}

/* -x, and ~x = -1 - x. */
static coalesce_form negated(ptx_forms *forms, const ptx_instruction *instruction, int64_t from)
{
    coalesce_form constant = coalesce_form_constant(from);
    coalesce_form a        = deep_operand(forms, ptx_operand_of(forms, instruction, 1));

    return a.known ? coalesce_form_add(&constant, &a, -1) : opaque(forms, instruction);
}

static coalesce_form shift_left(ptx_forms *forms, const ptx_instruction *instruction)
{
    coalesce_form a    = deep_operand(forms, ptx_operand_of(forms, instruction, 1));
    coalesce_form b    = deep_operand(forms, ptx_operand_of(forms, instruction, 2));
    coalesce_form zero = coalesce_form_constant(0);
    int64_t       bits;

    if (!a.known || !coalesce_form_is_constant(&b, &bits) || (bits < 0) || (bits > 62)) {
        return opaque(forms, instruction);
    }
    return coalesce_form_add(&zero, &a, (int64_t)((uint64_t)1 << bits));
}

/* A division by a constant of 32 or more, as compilers write it: the high half of i * M, shifted
 * right.  1: the instruction, a shift by `bits`, completes this for an i that advances by 1. */
static int is_quotient(ptx_forms *forms, const ptx_operand *of, int64_t bits)
{
    const ptx_module      *module   = forms->module;
    const ptx_function    *function = forms->function;
    const ptx_register    *reg      = (of->kind == PTX_REGISTER)
                                          ? &module->reg[module->reference[of->reference]] : NULL;
    const ptx_instruction *by;
    coalesce_form          i;
    coalesce_lanes         lanes;
    int                    is_high;

    if ((reg == NULL) || (reg->definitions != 1) || (bits < 0) || (bits > 63)) {
        return 0;
    }
    by = &module->instruction[function->instruction] + function->definition[reg->first_definition];
    is_high = ptx_part_is(module, by, 1, "hi");
    if (!ptx_part_is(module, by, 0, "mul") || (!is_high && !ptx_part_is(module, by, 1, "wide")) ||
        (ptx_operand_of(forms, by, 2)->kind != PTX_IMMEDIATE) ||
        ptx_part_is(module, by, 2, "s64") || ptx_part_is(module, by, 2, "u64")) {
        return 0;
    }
    i     = deep_operand(forms, ptx_operand_of(forms, by, 1));
    lanes = coalesce_lanes_of(&forms->leaves, &i, NULL);
    bits  = is_high ? bits + 32 : bits;
    return (lanes.pattern == COALESCE_STRIDED) && (lanes.stride == 1) && (bits >= 32) &&
           ((bits >= 37 + 32) ||
            ((uint32_t)ptx_operand_of(forms, by, 2)->value <= ((uint64_t)1 << (bits - 5))));
}

/* 1: `mask` keeps at least 5 bits that change from lane to lane, as i & 1023, 4 * i & 4092. */
static int keeps_lanes(const coalesce_lanes *lanes, int64_t mask)
{
    const uint64_t step = ((lanes->pattern == COALESCE_STRIDED) && (lanes->stride > 0))
                              ? (uint64_t)lanes->stride : 1;
    const uint64_t all  = (uint64_t)mask | (step - 1);

    return ((step & (step - 1)) == 0) && (mask > 0) && ((all & (all + 1)) == 0) &&
           (all / step >= COALESCE_LANES - 1);
}

/* i / n, i >> 5, i & ~31 of an index that advances by 1 are uniform, i % n and i & 31 are like i.
 * An unknown number of columns n is assumed to be at least a warp's lanes. */
static coalesce_form part_of_index(ptx_forms *forms, const ptx_instruction *instruction,
                                   const char *root)
{
    coalesce_form  a     = deep_operand(forms, ptx_operand_of(forms, instruction, 1));
    coalesce_form  b     = deep_operand(forms, ptx_operand_of(forms, instruction, 2));
    coalesce_lanes lanes = coalesce_lanes_of(&forms->leaves, &a, NULL);
    coalesce_leaf  n     = coalesce_leaf_of(&forms->leaves, &b);
    int64_t        value;
    const int      known = coalesce_form_is_constant(&b, &value);
    const int      many  = known ? value >= COALESCE_LANES : n.kind <= COALESCE_ITERATION;
    const int      steps = (lanes.pattern == COALESCE_STRIDED) && (lanes.stride == 1);
    int            high;
    int            low;

    high = ((strcmp(root, "shr") == 0) && known &&
            ((steps && (value >= 5) && (value < 64)) ||
             is_quotient(forms, ptx_operand_of(forms, instruction, 1), value))) ||
           ((strcmp(root, "div") == 0) && steps && many) ||
           ((strcmp(root, "and") == 0) && steps && known && (value <= -COALESCE_LANES) &&
            (((uint64_t)value & (0 - (uint64_t)value)) == 0 - (uint64_t)value));
    low  = ((strcmp(root, "and") == 0) && known && keeps_lanes(&lanes, value)) ||
           ((strcmp(root, "rem") == 0) && many);
    if (high) {
        return leaf(forms, instruction, TAG_VALUE, COALESCE_UNIFORM, 0);
    }
    return (low && a.known) ? whole(forms, instruction, coalesce_leaf_of(&forms->leaves, &a))
                            : opaque(forms, instruction);
}

/* 1: the form is the same in all lanes, and not known. */
static int is_uniform_value(const ptx_forms *forms, const coalesce_form *form)
{
    int64_t value;

    return !coalesce_form_is_constant(form, &value) &&
           (coalesce_leaf_of(&forms->leaves, form).kind <= COALESCE_ITERATION);
}

/* or with bits that are free: (i << 2) | 1, and presumably (i & ~31) | lane. */
static coalesce_form or_as_add(ptx_forms *forms, const ptx_instruction *instruction)
{
    coalesce_form a = deep_operand(forms, ptx_operand_of(forms, instruction, 1));
    coalesce_form b = deep_operand(forms, ptx_operand_of(forms, instruction, 2));
    int64_t       value;

    if (is_uniform_value(forms, &a) != is_uniform_value(forms, &b)) {
        return add_or_subtract(forms, instruction, 1);
    }
    if (!a.known || !coalesce_form_is_constant(&b, &value) || (value < 0)) {
        return opaque(forms, instruction);
    }
    for (uint32_t i = 0; i < a.terms; i++) {
        uint64_t lowest = (uint64_t)a.term[i].coefficient & (0 - (uint64_t)a.term[i].coefficient);

        if ((uint64_t)value >= lowest) {
            return opaque(forms, instruction);
        }
    }
    return coalesce_form_add(&a, &b, 1);
}

/* selp by what was loaded: lanes choose differently. */
static int is_chosen_by_data(ptx_forms *forms, const ptx_instruction *instruction)
{
    const ptx_module      *module   = forms->module;
    const ptx_operand     *by       = ptx_operand_of(forms, instruction, 3);
    const ptx_register    *reg      = (by->kind == PTX_REGISTER)
                                          ? &module->reg[module->reference[by->reference]] : NULL;
    const ptx_instruction *test;

    if ((reg == NULL) || (reg->definitions != 1)) {
        return 0;
    }
    test = &module->instruction[forms->function->instruction] +
           forms->function->definition[reg->first_definition];
    for (uint32_t i = 1; ptx_part_is(module, test, 0, "setp") && (i < test->operands); i++) {
        const coalesce_form form = deep_operand(forms, ptx_operand_of(forms, test, i));

        if (coalesce_leaf_of(&forms->leaves, &form).kind == COALESCE_IRREGULAR) {
            return 1;
        }
    }
    return 0;
}

/* min(i, n - 1), and i > 0 ? i - 1 : 0: usually advances with i.  One choice by data has two
 * results, but a choice after a choice, as in a search, leads anywhere. */
static coalesce_form either(ptx_forms *forms, const ptx_instruction *instruction)
{
    coalesce_form a = deep_operand(forms, ptx_operand_of(forms, instruction, 1));
    coalesce_form b = deep_operand(forms, ptx_operand_of(forms, instruction, 2));
    coalesce_leaf made;

    if (!coalesce_leaf_of_either(&forms->leaves, &a, &b, &made)) {
        return opaque(forms, instruction);
    }
    if (!is_chosen_by_data(forms, instruction)) {
        return whole(forms, instruction, made);
    }
    if ((choices_in(forms, &a) != 0) || (choices_in(forms, &b) != 0)) {
        return leaf(forms, instruction, TAG_VALUE, COALESCE_IRREGULAR, 0);
    }
    made.value = instruction;
    made.tag   = TAG_CHOICE;
    return coalesce_form_leaf(&forms->leaves, &made);
}

/* A loaded value is the same in all lanes if its address is, but nothing proves that. */
static coalesce_form loaded(ptx_forms *forms, const ptx_instruction *instruction)
{
    const ptx_operand *address = ptx_operand_of(forms, instruction, 1);
    coalesce_form      form    = coalesce_form_constant(0);
    coalesce_leaf      of_address;

    if ((address->kind == PTX_ADDRESS) && (address->references == 1)) {
        form = ptx_deep(forms, forms->module->reference[address->reference]);
    } else if (address->kind != PTX_ADDRESS) {
        form = coalesce_form_unknown();
    }
    of_address = coalesce_leaf_of(&forms->leaves, &form);
    return leaf(forms, instruction, TAG_VALUE,
                (of_address.kind <= COALESCE_ITERATION) ? COALESCE_UNIFORM : COALESCE_IRREGULAR,
                0);
}

static coalesce_form define_by_opcode(ptx_forms *forms, const ptx_instruction *instruction)
{
    const ptx_module *module = forms->module;
    char              root[12] = "";
    uint32_t          at = instruction->opcode_begin;
    uint32_t          begin;
    uint32_t          end;

    if ((instruction->effect == PTX_LOAD) && (ptx_operand_of(forms, instruction, 0)->kind ==
                                              PTX_REGISTER)) {
        return loaded(forms, instruction);
    }
    if ((instruction->effect != PTX_COMPUTE) ||
        !ptx_next_part(module, instruction, &at, &begin, &end) || (end - begin >= sizeof(root))) {
        return leaf(forms, instruction, TAG_VALUE, COALESCE_IRREGULAR, 0);
    }
    memcpy(root, module->text + begin, end - begin);
    if (strcmp(root, "ld") == 0) {
        return leaf(forms, instruction, TAG_PARAMETER,
                    ptx_is_parameter(forms, instruction) ? COALESCE_UNIFORM : COALESCE_IRREGULAR,
                    0);
    }
    if ((strcmp(root, "mov") == 0) || (strcmp(root, "cvta") == 0) || (strcmp(root, "cvt") == 0)) {
        coalesce_form form = deep_operand(forms, ptx_operand_of(forms, instruction, 1));

        return form.known ? form : opaque(forms, instruction);
    }
    if ((strcmp(root, "add") == 0) || (strcmp(root, "sub") == 0)) {
        return add_or_subtract(forms, instruction, (root[0] == 'a') ? 1 : -1);
    }
    if ((strcmp(root, "neg") == 0) || (strcmp(root, "not") == 0)) {
        return negated(forms, instruction, (root[1] == 'o') ? -1 : 0);
    }
    if ((strcmp(root, "mul") == 0) || (strcmp(root, "mad") == 0)) {
        if (ptx_part_is(module, instruction, 1, "hi")) {
            return opaque(forms, instruction);
        }
        return multiply_add(forms, instruction, root[1] == 'a');
    }
    if (strcmp(root, "shl") == 0) {
        return shift_left(forms, instruction);
    }
    if (strcmp(root, "or") == 0) {
        return or_as_add(forms, instruction);
    }
    if ((strcmp(root, "min") == 0) || (strcmp(root, "max") == 0) || (strcmp(root, "selp") == 0)) {
        return either(forms, instruction);
    }
    return part_of_index(forms, instruction, root);
}

/* The form that the instruction defines. */
static coalesce_form define(ptx_forms *forms, const ptx_instruction *instruction)
{
    const uint32_t outer = forms->use;
    coalesce_form  form;

    forms->use = (uint32_t)(instruction -
                            &forms->module->instruction[forms->function->instruction]);
    form       = define_by_opcode(forms, instruction);
    forms->use = outer;
    return form;
}

/* ---- deep: a register ---- */

/* Where definitions meet: those that change from lane to lane must change alike, and
 * self-references must add a uniform value.  nvcc also sets registers that no path reads. */
static coalesce_form merge(ptx_forms *forms, const ptx_register *reg)
{
    const ptx_function *function = forms->function;
    const ptx_module   *module   = forms->module;
    coalesce_leaf       met      = { .kind = COALESCE_UNIFORM };

    if (forms->budget < reg->definitions) {
        forms->budget = 0; /* nothing is known of what is left */
        return leaf(forms, reg, TAG_VALUE, COALESCE_IRREGULAR, 0);
    }
    forms->budget -= reg->definitions;
    for (uint32_t i = 0; i < reg->definitions; i++) {
        const uint32_t at = function->definition[reg->first_definition + i];
        const uint32_t outer = forms->low;
        coalesce_form  form;
        coalesce_leaf  one;
        int            refers;

        forms->low = PTX_MADE;
        form       = define(forms, &module->instruction[function->instruction + at]);
        one        = coalesce_leaf_of(&forms->leaves, &form);
        refers     = forms->low != PTX_MADE;
        forms->low = (forms->low < outer) ? forms->low : outer;
        if (refers) { /* it counted as uniform: the added value must also be uniform */
            met.kind = (one.kind > COALESCE_ITERATION) ? COALESCE_IRREGULAR : met.kind;
        } else {
            (void)coalesce_leaf_meet(&met, &one); /* irregular, if they differ too much */
        }
    }
    met.value = reg;
    met.tag   = TAG_VALUE;
    if (met.kind <= COALESCE_ITERATION) {
        met.kind = COALESCE_ITERATION;
    }
    return coalesce_form_leaf(&forms->leaves, &met);
}

/* A register without a form yet; forms->low notes unfinished ones that it meets. */
static coalesce_form make_deep(ptx_forms *forms, const ptx_register *reg)
{
    const ptx_function    *function = forms->function;
    const ptx_instruction *instruction;

    if (reg->definitions != 1) {
        return merge(forms, reg);
    }
    instruction = &forms->module->instruction[function->instruction] +
                  function->definition[reg->first_definition];
    return (instruction->guard == PTX_NONE)
               ? define(forms, instruction)
               : leaf(forms, reg, TAG_VALUE, COALESCE_IRREGULAR, 0);
}

coalesce_form ptx_deep(ptx_forms *forms, uint32_t reg)
{
    const ptx_register *entry = &forms->module->reg[reg];
    const uint32_t      index = reg - forms->function->reg;
    const uint32_t      outer = forms->low;
    coalesce_form       form;

    if (forms->state[index] == PTX_MADE) {
        return forms->deep[index];
    }
    if (forms->state[index] != PTX_UNKNOWN) { /* a loop: it counts as uniform, see merge() */
        forms->low = (forms->state[index] < outer) ? forms->state[index] : outer;
        return leaf(forms, &forms->state[index], TAG_VALUE, COALESCE_ITERATION, 0);
    }
    if ((forms->depth == MAX_STEPS) || (entry->definitions == 0) || (forms->budget == 0)) {
        return leaf(forms, entry, TAG_VALUE, COALESCE_IRREGULAR, 0);
    }
    forms->budget--;
    forms->state[index] = ++forms->depth;
    forms->low = PTX_MADE;
    form = make_deep(forms, entry);
    /* a form that met an unfinished register is not final */
    if (forms->low >= forms->depth) {
        forms->low = PTX_MADE;
        forms->state[index] = PTX_MADE;
        forms->deep[index]  = form;
    } else {
        forms->state[index] = PTX_UNKNOWN;
    }
    forms->depth--;
    forms->low = (forms->low < outer) ? forms->low : outer;
    return form;
}

/* The instruction after the last label before `use`, from which every path goes to it. */
static uint32_t straight_from(const ptx_forms *forms, uint32_t use)
{
    const ptx_label *label = forms->module->label; /* NULL if there is none */
    const uint32_t   first = forms->function->label;
    uint32_t         low   = first;
    uint32_t         high  = first + forms->function->labels;

    while (low < high) { /* the number of labels up to `use`; they ascend */
        const uint32_t middle = low + (high - low) / 2;

        if (label[middle].instruction <= use) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (low > first) ? label[low - 1].instruction : 0;
}

coalesce_form ptx_deep_at(ptx_forms *forms, uint32_t reg, uint32_t use)
{
    const ptx_instruction *code = &forms->module->instruction[forms->function->instruction];
    uint32_t               at   = PTX_NONE;
    coalesce_form          form;

    if ((forms->module->reg[reg].definitions > 1) && (forms->depth < MAX_STEPS) &&
        (forms->budget > 0)) {
        at = ptx_definition_before(forms->function, forms->module, reg, straight_from(forms, use),
                                   use);
    }
    if ((at == PTX_NONE) || (code[at].guard != PTX_NONE)) {
        return ptx_deep(forms, reg);
    }
    forms->budget--;
    forms->depth++;
    form = define(forms, &code[at]);
    forms->depth--;
    return form;
}
