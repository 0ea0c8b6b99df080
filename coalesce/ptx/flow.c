/* SPDX-License-Identifier: BSD-3-Clause */
/* What instructions do to registers and to order: effects, definitions, runs, loops. */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

/* ---- opcodes ---- */

int ptx_next_part(const ptx_module *module, const ptx_instruction *instruction, uint32_t *at_p,
                  uint32_t *begin_p, uint32_t *end_p)
{
    uint32_t at = *at_p;

    if (at >= instruction->opcode_end) {
        return 0;
    }
    *begin_p = at;
    while ((at < instruction->opcode_end) && (module->text[at] != '.')) {
        at++;
    }
    *end_p = at;
    *at_p  = at + 1;
    return 1;
}

int ptx_part_is(const ptx_module *module, const ptx_instruction *instruction, unsigned index,
                const char *word)
{
    uint32_t at = instruction->opcode_begin;
    uint32_t begin;
    uint32_t end;

    while (ptx_next_part(module, instruction, &at, &begin, &end)) {
        if (index-- == 0) {
            return ptx_text_is(module, begin, end, word);
        }
    }
    return 0;
}

/* They define their first operand from the others, and nothing else. */
static const char *const computing[] = {
    "abs", "add", "and", "bfe", "bfi", "bfind", "bmsk", "brev", "clz", "cnot", "copysign", "cos",
    "cvt", "cvta", "div", "dp2a", "dp4a", "ex2", "fma", "fns", "isspacep", "lg2", "lop3", "mad",
    "mad24", "max", "min", "mov", "mul", "mul24", "neg", "not", "or", "popc", "prmt", "rcp", "rem",
    "rsqrt", "sad", "selp", "set", "setp", "shf", "shl", "shr", "sin", "slct", "sqrt", "sub",
    "szext", "tanh", "testp", "vabsdiff", "vadd", "xor",
};

static int is_one_of(const ptx_module *module, uint32_t begin, uint32_t end,
                     const char *const words[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ptx_text_is(module, begin, end, words[i])) {
            return 1;
        }
    }
    return 0;
}

#define IS_ONE_OF(_module, _begin, _end, _words)                                                   \
    is_one_of(_module, _begin, _end, _words, sizeof(_words) / sizeof((_words)[0]))

/* Clocks: moving accesses across them would falsify what is measured. */
static int reads_clock(const ptx_module *module, const ptx_instruction *instruction)
{
    for (uint32_t i = 0; i < instruction->operands; i++) {
        const ptx_operand *operand = &module->operand[instruction->operand + i];

        if ((operand->kind == PTX_SPECIAL) && (operand->end - operand->begin > 6) &&
            ((memcmp(module->text + operand->begin, "%clock", 6) == 0) ||
             (memcmp(module->text + operand->begin, "%globa", 6) == 0))) {
            return 1;
        }
    }
    return 0;
}

ptx_effect ptx_effect_of(const ptx_module *module, const ptx_instruction *instruction)
{
    static const char *const branches[] = { "bra", "ret", "exit", "trap", "brx" };
    uint32_t at = instruction->opcode_begin;
    uint32_t begin;
    uint32_t end;

    if (!ptx_next_part(module, instruction, &at, &begin, &end)) {
        return PTX_FENCE;
    }
    if (ptx_text_is(module, begin, end, "ld")) {
        return ptx_part_is(module, instruction, 1, "param") ? PTX_COMPUTE : PTX_LOAD;
    }
    if (ptx_text_is(module, begin, end, "st")) {
        return ptx_part_is(module, instruction, 1, "param") ? PTX_FENCE : PTX_STORE;
    }
    if (ptx_text_is(module, begin, end, "atom") || ptx_text_is(module, begin, end, "red")) {
        return PTX_ATOMIC;
    }
    if (IS_ONE_OF(module, begin, end, branches)) {
        return PTX_BRANCH;
    }
    if (!IS_ONE_OF(module, begin, end, computing) || reads_clock(module, instruction)) {
        return PTX_FENCE;
    }
    while (ptx_next_part(module, instruction, &at, &begin, &end)) {
        if (ptx_text_is(module, begin, end, "cc")) {
            return PTX_FENCE; /* the carry must reach the next instruction */
        }
    }
    return PTX_COMPUTE;
}

/* ---- registers ---- */

/* Which operands an instruction changes: 1: the first, 2: perhaps all, 0: none. */
static int changed_operands(const ptx_instruction *instruction)
{
    switch (instruction->effect) {
    case PTX_COMPUTE:
    case PTX_LOAD:
        return 1;
    case PTX_STORE:
    case PTX_BRANCH:
        return 0;
    default:
        return 2;
    }
}

static int has_reference(const ptx_module *module, const ptx_operand *operand, uint32_t reg)
{
    for (uint32_t i = 0; i < operand->references; i++) {
        if (module->reference[operand->reference + i] == reg) {
            return 1;
        }
    }
    return 0;
}

int ptx_touches(const ptx_module *module, const ptx_instruction *instruction, uint32_t reg,
                int define)
{
    const int changed = changed_operands(instruction);

    if (!define && (instruction->guard == reg)) {
        return 1;
    }
    for (uint32_t i = 0; i < instruction->operands; i++) {
        const int is_changed = (changed == 2) || ((changed == 1) && (i == 0));
        const int is_used    = (changed != 1) || (i != 0);

        if ((define ? is_changed : is_used) &&
            has_reference(module, &module->operand[instruction->operand + i], reg)) {
            return 1;
        }
    }
    return 0;
}

/* Count, or with fill != 0 list, the definitions of one instruction. */
static void note_registers(ptx_module *module, ptx_function *function, uint32_t index, int fill,
                           uint32_t *next)
{
    const ptx_instruction *instruction = &module->instruction[function->instruction + index];
    const int              changed     = changed_operands(instruction);

    if (!fill && (instruction->guard != PTX_NONE)) {
        module->reg[instruction->guard].uses++;
    }
    for (uint32_t i = 0; i < instruction->operands; i++) {
        const ptx_operand *operand    = &module->operand[instruction->operand + i];
        const int          is_changed = (changed == 2) || ((changed == 1) && (i == 0));

        for (uint32_t j = 0; j < operand->references; j++) {
            const uint32_t reg = module->reference[operand->reference + j];

            if (fill && is_changed) {
                function->definition[next[reg - function->reg]++] =
                    (ptx_definition){ .reg = reg, .instruction = index };
            } else if (!fill) {
                module->reg[reg].definitions += (uint32_t)is_changed;
                module->reg[reg].uses += (changed != 1) || (i != 0);
            }
        }
    }
}

static int list_definitions(ptx_module *module, ptx_function *function)
{
    uint32_t *next = malloc((function->regs + 1u) * sizeof(*next));

    for (uint32_t i = 0; i < function->instructions; i++) {
        note_registers(module, function, i, 0, NULL);
    }
    function->definitions = 0;
    for (uint32_t r = 0; (next != NULL) && (r < function->regs); r++) {
        ptx_register *reg = &module->reg[function->reg + r];

        reg->first_definition = next[r] = function->definitions;
        function->definitions += reg->definitions;
    }
    function->definition = malloc((function->definitions + 1u) * sizeof(*function->definition));
    if ((next == NULL) || (function->definition == NULL)) {
        free(next);
        return 0;
    }
    for (uint32_t i = 0; i < function->instructions; i++) {
        note_registers(module, function, i, 1, next);
    }
    free(next);
    return 1;
}

uint32_t ptx_definition_before(const ptx_function *function, const ptx_module *module, uint32_t reg,
                               uint32_t from, uint32_t before)
{
    const ptx_register   *entry = &module->reg[reg];
    const ptx_definition *list  = function->definition + entry->first_definition;
    uint32_t              low   = 0;
    uint32_t              high  = entry->definitions;

    while (low < high) { /* the number of definitions before `before` */
        uint32_t middle = low + (high - low) / 2;

        if (list[middle].instruction < before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ((low > 0) && (list[low - 1].instruction >= from)) ? list[low - 1].instruction
                                                              : PTX_NONE;
}

/* ---- order ---- */

/* Nothing moves across it. */
static int is_fence(const ptx_module *module, const ptx_instruction *instruction)
{
    static const char *const strong[] = { "volatile", "relaxed", "acquire", "release", "mmio",
                                          "cv", "wt" };
    uint32_t at = instruction->opcode_begin;
    uint32_t begin;
    uint32_t end;

    if (instruction->effect == PTX_COMPUTE) {
        return 0;
    }
    if (((instruction->effect != PTX_LOAD) && (instruction->effect != PTX_STORE)) ||
        instruction->foreign) {
        return 1;
    }
    while (ptx_next_part(module, instruction, &at, &begin, &end)) {
        if (IS_ONE_OF(module, begin, end, strong)) {
            return 1;
        }
    }
    return 0;
}

static void number_runs(ptx_module *module, const ptx_function *function)
{
    uint32_t run  = 0;
    uint32_t next = 0; /* label */

    for (uint32_t i = 0; i < function->instructions; i++) {
        ptx_instruction *instruction = &module->instruction[function->instruction + i];
        const int        fence       = is_fence(module, instruction);

        while ((next < function->labels) &&
               (module->label[function->label + next].instruction <= i)) {
            next++;
            run++;
        }
        run += (uint32_t)fence;
        instruction->run = run;
        run += (uint32_t)fence;
    }
}

/* The label that a branch names; PTX_NONE. */
static uint32_t target_of(const ptx_module *module, const ptx_function *function,
                          const ptx_instruction *instruction)
{
    const ptx_operand *operand;

    if ((instruction->effect != PTX_BRANCH) || (instruction->operands == 0)) {
        return PTX_NONE;
    }
    operand = &module->operand[instruction->operand];
    if (operand->kind != PTX_SYMBOL) {
        return PTX_NONE;
    }
    for (uint32_t i = 0; i < function->labels; i++) {
        const ptx_label *label = &module->label[function->label + i];
        const uint32_t   bytes = label->end - label->begin;

        if ((bytes == operand->end - operand->begin) &&
            (memcmp(module->text + label->begin, module->text + operand->begin, bytes) == 0)) {
            return i;
        }
    }
    return PTX_NONE;
}

/* The stretch from a label to the last branch back to it is a loop. */
static int measure_loops(ptx_module *module, const ptx_function *function)
{
    uint32_t *end   = calloc(function->labels + 1u, sizeof(*end)); /* of each label's loop, or 0 */
    int32_t  *step  = calloc(function->instructions + 2u, sizeof(*step));
    int32_t   depth = 0;

    if ((end == NULL) || (step == NULL)) {
        free(end);
        free(step);
        return 0;
    }
    for (uint32_t i = 0; i < function->instructions; i++) {
        uint32_t label = target_of(module, function,
                                   &module->instruction[function->instruction + i]);

        if ((label != PTX_NONE) && (module->label[function->label + label].instruction <= i)) {
            end[label] = i + 1;
        }
    }
    for (uint32_t i = 0; i < function->labels; i++) {
        if (end[i] != 0) {
            step[module->label[function->label + i].instruction]++;
            step[end[i]]--;
        }
    }
    for (uint32_t i = 0; i < function->instructions; i++) {
        depth += step[i];
        module->instruction[function->instruction + i].loop_depth = (uint32_t)depth;
    }
    free(end);
    free(step);
    return 1;
}

int ptx_flow(ptx_module *module, ptx_function *function)
{
    number_runs(module, function);
    return list_definitions(module, function) && measure_loops(module, function);
}

uint32_t ptx_branch_target(const ptx_module *module, const ptx_function *function, uint32_t index)
{
    const uint32_t label = target_of(module, function,
                                     &module->instruction[function->instruction + index]);

    return (label == PTX_NONE) ? PTX_NONE : module->label[function->label + label].instruction;
}
