/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads, stores and atomics of a function as accesses of plan.h, and the surrounding registers for
 * an emitter. */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

/* ---- opcodes of memory ---- */

typedef struct memory {
    coalesce_space space;
    uint32_t       flags;
    uint32_t       element_bytes;
    uint32_t       elements;
} memory;

/* Of b32, u8, bf16, f16x2; 0: it is not a type. */
static uint32_t bytes_of_type(const ptx_module *module, uint32_t begin, uint32_t end)
{
    const char *text = module->text;
    uint32_t    bits = 0;
    uint32_t    at   = begin + 1;

    if ((end - begin < 2) || (strchr("busf", text[begin]) == NULL)) {
        return 0;
    }
    at += (text[begin] == 'b') && (text[at] == 'f');
    for (; (at < end) && (text[at] >= '0') && (text[at] <= '9') && (bits <= 128); at++) {
        bits = 10 * bits + (uint32_t)(text[at] - '0');
    }
    if ((end - at == 2) && (memcmp(text + at, "x2", 2) == 0)) {
        at   = end;
        bits = 2 * bits;
    }
    return (at == end) ? bits / 8 : 0;
}

static void read_part(const ptx_module *module, uint32_t begin, uint32_t end, memory *m)
{
    static const struct { const char *name; uint32_t flags; } flags[] = {
        { "weak", 0 },
        { "nc", COALESCE_NONCOHERENT },
        { "volatile", COALESCE_VOLATILE },
        { "relaxed", COALESCE_VOLATILE },
        { "acquire", COALESCE_VOLATILE },
        { "release", COALESCE_VOLATILE },
        { "mmio", COALESCE_VOLATILE },
        { "cv", COALESCE_VOLATILE },
        { "wt", COALESCE_VOLATILE },
    };
    static const struct { const char *name; coalesce_space space; } spaces[] = {
        { "global", COALESCE_GLOBAL },      { "shared", COALESCE_SHARED },
        { "shared::cta", COALESCE_SHARED }, { "shared::cluster", COALESCE_SHARED },
        { "local", COALESCE_LOCAL },        { "const", COALESCE_CONST },
    };
    const uint32_t bytes = bytes_of_type(module, begin, end);

    if (bytes != 0) {
        m->element_bytes = bytes;
        return;
    }
    if ((end - begin == 2) && (module->text[begin] == 'v')) {
        m->elements = (uint32_t)(module->text[begin + 1] - '0');
        return;
    }
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (ptx_text_is(module, begin, end, flags[i].name)) {
            m->flags |= flags[i].flags;
            return;
        }
    }
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        if (ptx_text_is(module, begin, end, spaces[i].name)) {
            m->space = spaces[i].space;
            return;
        }
    }
    m->flags |= COALESCE_HINTED; /* cs, L1::no_allocate, ..., and what is not known */
}

static memory read_opcode(const ptx_module *module, const ptx_instruction *instruction)
{
    memory   m  = { .space = COALESCE_GENERIC, .elements = 1 };
    uint32_t at = instruction->opcode_begin;
    uint32_t begin;
    uint32_t end;

    (void)ptx_next_part(module, instruction, &at, &begin, &end); /* ld, st */
    while (ptx_next_part(module, instruction, &at, &begin, &end)) {
        read_part(module, begin, end, &m);
    }
    if (instruction->effect == PTX_STORE) {
        m.flags |= COALESCE_STORE;
    } else if (instruction->effect == PTX_ATOMIC) {
        m.flags = COALESCE_STORE | COALESCE_ATOMIC;
    }
    return m;
}

/* The operand that is the address; NULL: none. */
static const ptx_operand *address_of(const ptx_module *module, const ptx_instruction *instruction)
{
    for (uint32_t i = 0; i < instruction->operands; i++) {
        const ptx_operand *operand = &module->operand[instruction->operand + i];

        if (operand->kind == PTX_ADDRESS) {
            return operand;
        }
        if (module->text[operand->begin] == '[') {
            return NULL;
        }
    }
    return NULL;
}

/* The loaded or stored operand; NULL: emitters do not support its shape. */
const ptx_operand *ptx_data_of(const ptx_module *module, const ptx_instruction *instruction)
{
    const int          is_load = instruction->effect == PTX_LOAD;
    const ptx_operand *data;

    if (instruction->operands != 2) {
        return NULL;
    }
    data = &module->operand[instruction->operand + (is_load ? 0u : 1u)];
    if ((data->kind == PTX_REGISTER) || (data->kind == PTX_VECTOR)) {
        return data;
    }
    /* 0f3F800000 is PTX_OTHER without references */
    return (!is_load && (data->references == 0) &&
            ((data->kind == PTX_IMMEDIATE) || (data->kind == PTX_OTHER))) ? data : NULL;
}

/* 1: mov takes the constant for the bits that the store stores: an integer, or a floating point
 * number in hexadecimal of that width.  1.5 would be converted, which mov does not. */
static int is_literal(const ptx_module *module, const ptx_operand *data, uint32_t bytes)
{
    const char *text = module->text + data->begin;

    return (data->kind == PTX_IMMEDIATE) ||
           ((data->end - data->begin == 2 + 2 * bytes) && (text[0] == '0') &&
            ((text[1] | 0x20) == ((bytes == 4) ? 'f' : 'd')));
}

/* Registers of bytes and half-words may be wider, also as wide as a word. */
static int is_fitting(const ptx_register *reg, uint32_t bytes)
{
    return (reg->bits == 8 * bytes) || ((bytes < 4) && ((reg->bits == 16) || (reg->bits == 32)));
}

/* 1: emitters can move it: elements in registers as wide as they are. */
static int is_supported(const ptx_module *module, const ptx_instruction *instruction,
                        const memory *m)
{
    const ptx_operand *data = ptx_data_of(module, instruction);

    if ((data == NULL) || (m->elements == 0) || (m->elements > 4) || (m->element_bytes == 0) ||
        (m->element_bytes > 8)) {
        return 0;
    }
    if (data->references != ((data->kind == PTX_VECTOR) ? m->elements : data->references) ||
        ((data->kind != PTX_VECTOR) && (m->elements != 1)) ||
        ((data->references == 0) && !is_literal(module, data, m->element_bytes))) {
        return 0;
    }
    for (uint32_t i = 0; i < data->references; i++) {
        if (!is_fitting(&module->reg[module->reference[data->reference + i]], m->element_bytes)) {
            return 0;
        }
    }
    return 1;
}

/* ---- one-thread branches ---- */

/* if (threadIdx.x == 0): between the branch that skips it and the branch's target. */
static int is_one_thread_test(ptx_forms *forms, const ptx_instruction *branch)
{
    const ptx_module      *module   = forms->module;
    const ptx_function    *function = forms->function;
    const ptx_register    *guard;
    const ptx_instruction *test;
    coalesce_lanes         lanes[2];

    if (branch->guard == PTX_NONE) {
        return 0;
    }
    guard = &module->reg[branch->guard];
    if (guard->definitions != 1) {
        return 0;
    }
    test = &module->instruction[function->instruction] +
           function->definition[guard->first_definition];
    if (!ptx_part_is(module, test, 0, "setp") || (test->operands != 3) ||
        !ptx_part_is(module, test, 1, branch->guard_negated ? "eq" : "ne")) {
        return 0;
    }
    for (uint32_t i = 0; i < 2; i++) {
        const ptx_operand *operand = &module->operand[test->operand + 1 + i];
        coalesce_form      form    = coalesce_form_unknown();

        if (operand->kind == PTX_REGISTER) {
            form = ptx_deep(forms, module->reference[operand->reference]);
        } else if (operand->kind == PTX_IMMEDIATE) {
            form = coalesce_form_constant(operand->value);
        }
        lanes[i] = coalesce_lanes_of(&forms->leaves, &form, NULL);
    }
    return ((lanes[0].pattern == COALESCE_STRIDED) && (lanes[1].pattern == COALESCE_BROADCAST)) ||
           ((lanes[1].pattern == COALESCE_STRIDED) && (lanes[0].pattern == COALESCE_BROADCAST));
}

static void mark_one_thread(ptx_forms *forms, unsigned char *one_thread)
{
    const ptx_function *function = forms->function;
    uint32_t            until    = 0; /* up to here, an earlier branch skips all */

    for (uint32_t i = 0; i < function->instructions; i++) {
        const ptx_instruction *branch = &forms->module->instruction[function->instruction + i];
        uint32_t               target = ptx_branch_target(forms->module, function, i);

        one_thread[i] = i < until;
        if ((target != PTX_NONE) && (target > i) && is_one_thread_test(forms, branch)) {
            until = (target > until) ? target : until;
        }
    }
}

/* ---- accesses ---- */

static coalesce_access *add_access(ptx_accesses *accesses)
{
    if (accesses->count == accesses->capacity) {
        size_t           capacity = (accesses->capacity == 0) ? 64 : 2 * accesses->capacity;
        coalesce_access *grown    = realloc(accesses->access, capacity * sizeof(*grown));

        if (grown == NULL) {
            return NULL;
        }
        accesses->access   = grown;
        accesses->capacity = capacity;
    }
    memset(&accesses->access[accesses->count], 0, sizeof(*accesses->access));
    return &accesses->access[accesses->count++];
}

/* The access that is the instruction at a position; COALESCE_NO_ACCESS. */
static uint32_t access_at(const ptx_accesses *accesses, uint32_t position)
{
    size_t low  = 0;
    size_t high = accesses->count;

    while (low < high) { /* the number of them before the position */
        const size_t middle = low + (high - low) / 2;

        if (accesses->access[middle].position < position) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ((low < accesses->count) && (accesses->access[low].position == position))
               ? (uint32_t)low : COALESCE_NO_ACCESS;
}

/* 1: the load defines element i of the stored data, in its shape. */
static int is_whole_copy(const ptx_module *module, const ptx_instruction *load,
                         const ptx_operand *data, uint32_t i)
{
    const ptx_operand *from = ptx_data_of(module, load);

    return (load->effect == PTX_LOAD) && (from != NULL) && (from->kind == data->kind) &&
           (from->references == data->references) &&
           (module->reference[from->reference + i] == module->reference[data->reference + i]);
}

/* The load that defines a store's value, if neither has another use. */
static uint32_t copied_from(const ptx_forms *forms, const ptx_accesses *accesses,
                            const ptx_instruction *store)
{
    const ptx_module  *module = forms->module;
    const ptx_operand *data   = ptx_data_of(module, store);
    uint32_t           found  = COALESCE_NO_ACCESS;

    for (uint32_t i = 0; (data != NULL) && (i < data->references); i++) {
        const uint32_t      r   = module->reference[data->reference + i];
        const ptx_register *reg = &module->reg[r];
        uint32_t            at;
        uint32_t            k;

        if ((reg->definitions != 1) || (reg->uses != 1)) {
            return COALESCE_NO_ACCESS;
        }
        at = forms->function->definition[reg->first_definition];
        k  = access_at(accesses, at);
        if ((k == COALESCE_NO_ACCESS) || !is_whole_copy(module, accesses->access[k].instruction,
                                                        data, i) ||
            ((i > 0) && (found != k))) {
            return COALESCE_NO_ACCESS;
        }
        found = k;
    }
    return found;
}

/* If nothing wraps: the common form of the two halves of a record that a barrier splits. */
static coalesce_form far_address(ptx_forms *forms, const ptx_operand *address, uint32_t index)
{
    coalesce_form offset = coalesce_form_constant(address->value);
    coalesce_form base;

    if ((address->kind != PTX_ADDRESS) || (address->references != 1)) {
        return coalesce_form_unknown();
    }
    base = ptx_deep_at(forms, forms->module->reference[address->reference], index);
    return coalesce_form_add(&base, &offset, 1);
}

static int add(ptx_forms *forms, ptx_accesses *accesses, uint32_t index, int one_thread)
{
    const ptx_module      *module      = forms->module;
    const ptx_instruction *instruction = &module->instruction[forms->function->instruction + index];
    const memory           m           = read_opcode(module, instruction);
    const ptx_operand     *address     = address_of(module, instruction);
    const uint32_t         copied      = (instruction->effect == PTX_STORE)
                                             ? copied_from(forms, accesses, instruction)
                                             : COALESCE_NO_ACCESS;
    coalesce_access       *access      = add_access(accesses);

    if (access == NULL) {
        return 0;
    }
    access->instruction = instruction;
    access->address     = (address != NULL) ? ptx_exact_address(forms, address, index)
                                            : coalesce_form_unknown();
    access->far_address = (address != NULL) ? far_address(forms, address, index)
                                            : coalesce_form_unknown();
    access->space       = m.space;
    access->flags       = m.flags;
    access->bytes       = m.element_bytes * m.elements;
    access->run         = instruction->run;
    access->cut         = accesses->cut;
    access->position    = index;
    access->copied_from = copied;
    access->loop_depth  = instruction->loop_depth;
    access->rounds      = instruction->rounds;
    access->location    = index;
    access->flags |= (instruction->guard != PTX_NONE) ? COALESCE_CONDITIONAL : 0u;
    access->flags |= instruction->foreign ? COALESCE_FOREIGN : 0u;
    access->flags |= one_thread ? COALESCE_ONE_THREAD : 0u;
    if ((instruction->effect == PTX_ATOMIC) || (address == NULL) || (address->references != 1) ||
        !is_supported(module, instruction, &m)) {
        access->flags |= COALESCE_UNSUPPORTED;
    }
    return 1;
}

/* What the instruction is to accesses that must not pass it. */
static coalesce_cut cut_of(const ptx_module *module, const ptx_instruction *instruction)
{
    static const struct { const char *root; coalesce_cut cut; } known[] = {
        { "bar", COALESCE_CUT_BARRIER },    { "barrier", COALESCE_CUT_BARRIER },
        { "atom", COALESCE_CUT_ATOMIC },    { "red", COALESCE_CUT_ATOMIC },
        { "shfl", COALESCE_CUT_LANES },     { "vote", COALESCE_CUT_LANES },
        { "match", COALESCE_CUT_LANES },    { "redux", COALESCE_CUT_LANES },
        { "activemask", COALESCE_CUT_LANES }, { "call", COALESCE_CUT_CALL },
    };

    if (instruction->effect == PTX_BRANCH) {
        return COALESCE_CUT_BRANCH;
    }
    if ((instruction->effect == PTX_LOAD) || (instruction->effect == PTX_STORE)) {
        return COALESCE_CUT_ATOMIC;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (ptx_part_is(module, instruction, 0, known[i].root)) {
            return known[i].cut;
        }
    }
    return COALESCE_CUT_OTHER;
}

/* Notes in accesses->cut what begins the run of instruction `index`. */
static void note_cut(const ptx_forms *forms, uint32_t index, ptx_accesses *accesses)
{
    const ptx_instruction *code = &forms->module->instruction[forms->function->instruction];
    coalesce_cut           cut;

    if ((index == 0) || (code[index].run == code[index - 1].run)) {
        return;
    }
    cut = ptx_is_fence(forms->module, &code[index - 1]) ? cut_of(forms->module, &code[index - 1])
                                                        : COALESCE_CUT_BRANCH;
    if ((accesses->count > accesses->cut_at) || (cut > accesses->cut)) {
        accesses->cut = cut;
    }
    accesses->cut_at = accesses->count;
}

int ptx_accesses_of(ptx_forms *forms, ptx_accesses *accesses_p)
{
    const ptx_function *function   = forms->function;
    unsigned char      *one_thread = calloc(function->instructions + 1u, 1);
    int                 fine       = one_thread != NULL;

    memset(accesses_p, 0, sizeof(*accesses_p));
    if (fine) {
        mark_one_thread(forms, one_thread);
    }
    for (uint32_t i = 0; fine && (i < function->instructions); i++) {
        const ptx_effect effect = forms->module->instruction[function->instruction + i].effect;

        note_cut(forms, i, accesses_p);
        if ((effect == PTX_LOAD) || (effect == PTX_STORE) || (effect == PTX_ATOMIC)) {
            fine = add(forms, accesses_p, i, one_thread[i]);
        }
    }
    free(one_thread);
    return fine && !forms->leaves.no_memory;
}

void ptx_accesses_fini(ptx_accesses *accesses)
{
    free(accesses->access);
    memset(accesses, 0, sizeof(*accesses));
}
