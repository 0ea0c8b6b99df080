/* SPDX-License-Identifier: BSD-3-Clause */
/* Effects of instructions on registers and order: effects, definitions, runs, loops. */
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

/* 1: the opcode has a part that is one of the words. */
static int has_part(const ptx_module *module, const ptx_instruction *instruction,
                    const char *const words[], size_t count)
{
    uint32_t at = instruction->opcode_begin;
    uint32_t begin;
    uint32_t end;

    while (ptx_next_part(module, instruction, &at, &begin, &end)) {
        if (is_one_of(module, begin, end, words, count)) {
            return 1;
        }
    }
    return 0;
}

#define HAS_PART(_module, _instruction, _words)                                                    \
    has_part(_module, _instruction, _words, sizeof(_words) / sizeof((_words)[0]))

ptx_effect ptx_effect_of(const ptx_module *module, const ptx_instruction *instruction)
{
    static const char *const branches[]   = { "bra", "ret", "exit", "trap", "brx" };
    static const char *const parameters[] = { "param", "param::entry", "param::func" };
    static const char *const later[]      = { "async", "bulk" }; /* done by another unit */
    uint32_t at = instruction->opcode_begin;
    uint32_t begin;
    uint32_t end;

    if (!ptx_next_part(module, instruction, &at, &begin, &end)) {
        return PTX_FENCE;
    }
    if (ptx_text_is(module, begin, end, "ld")) {
        return HAS_PART(module, instruction, parameters) ? PTX_COMPUTE : PTX_LOAD;
    }
    if (ptx_text_is(module, begin, end, "st")) {
        return (HAS_PART(module, instruction, parameters) || HAS_PART(module, instruction, later))
                   ? PTX_FENCE : PTX_STORE;
    }
    if (ptx_text_is(module, begin, end, "atom") || ptx_text_is(module, begin, end, "red")) {
        return HAS_PART(module, instruction, later) ? PTX_FENCE : PTX_ATOMIC;
    }
    if (IS_ONE_OF(module, begin, end, branches)) {
        return PTX_BRANCH;
    }
    return coalesce_computes(module->text + instruction->opcode_begin,
                             instruction->end - instruction->opcode_begin)
               ? PTX_COMPUTE : PTX_FENCE;
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

/* One definition or use of a register. */
static void note(ptx_module *module, ptx_function *function, uint32_t reg, uint32_t index, int use,
                 uint32_t *const *next)
{
    ptx_register *entry = &module->reg[reg];

    if (next != NULL) {
        (use ? function->use : function->definition)[next[use][reg - function->reg]++] = index;
    } else {
        *(use ? &entry->uses : &entry->definitions) += 1;
    }
}

/* Count, or with `next` list, the definitions and uses of one instruction: next[0] and next[1] are
 * where those of each register go. */
static void note_registers(ptx_module *module, ptx_function *function, uint32_t index,
                           uint32_t *const *next)
{
    const ptx_instruction *instruction = &module->instruction[function->instruction + index];
    const int              changed     = changed_operands(instruction);

    if (instruction->guard != PTX_NONE) {
        note(module, function, instruction->guard, index, 1, next);
    }
    for (uint32_t i = 0; i < instruction->operands; i++) {
        const ptx_operand *operand    = &module->operand[instruction->operand + i];
        const int          is_changed = (changed == 2) || ((changed == 1) && (i == 0));
        const int          is_used    = (changed != 1) || (i != 0);

        for (uint32_t j = 0; j < operand->references; j++) {
            const uint32_t reg = module->reference[operand->reference + j];

            if (is_changed) {
                note(module, function, reg, index, 0, next);
            }
            if (is_used) {
                note(module, function, reg, index, 1, next);
            }
        }
    }
}

/* Where each register's part of the two lists begins. */
static void lay_out(ptx_module *module, ptx_function *function, uint32_t *const *next)
{
    function->definitions = function->uses = 0;
    for (uint32_t r = 0; r < function->regs; r++) {
        ptx_register *reg = &module->reg[function->reg + r];

        reg->first_definition = next[0][r] = function->definitions;
        reg->first_use        = next[1][r] = function->uses;
        function->definitions += reg->definitions;
        function->uses += reg->uses;
    }
}

static int list_definitions(ptx_module *module, ptx_function *function)
{
    uint32_t *first = malloc((function->regs + 1u) * 2 * sizeof(*first));
    uint32_t *next[2] = { first, (first != NULL) ? first + function->regs : NULL };
    int       fine    = first != NULL;

    for (uint32_t i = 0; i < function->instructions; i++) {
        note_registers(module, function, i, NULL);
    }
    if (fine) {
        lay_out(module, function, next);
        function->definition = malloc((function->definitions + 1u) *
                                      sizeof(*function->definition));
        function->use = malloc((function->uses + 1u) * sizeof(*function->use));
        fine          = (function->definition != NULL) && (function->use != NULL);
    }
    for (uint32_t i = 0; fine && (i < function->instructions); i++) {
        note_registers(module, function, i, next);
    }
    free(first);
    return fine;
}

/* The last of the instructions before `before` and not before `from`; PTX_NONE. */
static uint32_t latest_of(const uint32_t *list, uint32_t count, uint32_t from, uint32_t before)
{
    uint32_t low  = 0;
    uint32_t high = count;

    while (low < high) { /* the number of them before `before` */
        uint32_t middle = low + (high - low) / 2;

        if (list[middle] < before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ((low > 0) && (list[low - 1] >= from)) ? list[low - 1] : PTX_NONE;
}

uint32_t ptx_definition_before(const ptx_function *function, const ptx_module *module, uint32_t reg,
                               uint32_t from, uint32_t before)
{
    const ptx_register *entry = &module->reg[reg];

    return latest_of(function->definition + entry->first_definition, entry->definitions, from,
                     before);
}

int ptx_is_touched(const ptx_function *function, const ptx_module *module, uint32_t reg,
                   uint32_t from, uint32_t to, int define)
{
    const ptx_register *entry = &module->reg[reg];

    return (define ? ptx_definition_before(function, module, reg, from, to)
                   : latest_of(function->use + entry->first_use, entry->uses, from, to)) !=
           PTX_NONE;
}

/* ---- order ---- */

int ptx_is_fence(const ptx_module *module, const ptx_instruction *instruction)
{
    static const char *const strong[] = { "volatile", "relaxed", "acquire", "release", "mmio",
                                          "cv", "wt" };

    if (instruction->effect == PTX_COMPUTE) {
        return 0;
    }
    if (((instruction->effect != PTX_LOAD) && (instruction->effect != PTX_STORE)) ||
        instruction->foreign) {
        return 1;
    }
    return HAS_PART(module, instruction, strong);
}

static void number_runs(ptx_module *module, const ptx_function *function)
{
    uint32_t run  = 0;
    uint32_t next = 0; /* label */

    for (uint32_t i = 0; i < function->instructions; i++) {
        ptx_instruction *instruction = &module->instruction[function->instruction + i];
        const int        fence       = ptx_is_fence(module, instruction);

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

/* A label by its name, as text of the module. */
typedef struct name {
    const char *text;
    uint32_t    bytes;
    uint32_t    label;
} name;

static int compare_names(const void *a, const void *b)
{
    const name *x     = a;
    const name *y     = b;
    const int   order = memcmp(x->text, y->text, (x->bytes < y->bytes) ? x->bytes : y->bytes);

    return (order != 0) ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* The same, and of equal names the first label first. */
static int compare_labels(const void *a, const void *b)
{
    const int order = compare_names(a, b);

    return (order != 0) ? order : (((const name *)a)->label < ((const name *)b)->label) ? -1 : 1;
}

/* The label that a branch names; PTX_NONE.  `names` are sorted. */
static uint32_t target_of(const ptx_module *module, const ptx_instruction *instruction,
                          const name *names, uint32_t count)
{
    const ptx_operand *operand;
    name               wanted;
    uint32_t           low  = 0;
    uint32_t           high = count;

    if ((instruction->effect != PTX_BRANCH) || (instruction->operands == 0)) {
        return PTX_NONE;
    }
    operand = &module->operand[instruction->operand];
    if (operand->kind != PTX_SYMBOL) {
        return PTX_NONE;
    }
    wanted = (name){ module->text + operand->begin, operand->end - operand->begin, 0 };
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (compare_names(&names[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ((low < count) && (compare_names(&names[low], &wanted) == 0)) ? names[low].label
                                                                        : PTX_NONE;
}

static int find_targets(ptx_module *module, const ptx_function *function)
{
    name *names = malloc((function->labels + 1u) * sizeof(*names));

    for (uint32_t i = 0; (names != NULL) && (i < function->labels); i++) {
        const ptx_label *label = &module->label[function->label + i];

        names[i] = (name){ module->text + label->begin, label->end - label->begin, i };
    }
    if ((names != NULL) && (function->labels > 1)) {
        qsort(names, function->labels, sizeof(*names), compare_labels);
    }
    for (uint32_t i = 0; (names != NULL) && (i < function->instructions); i++) {
        ptx_instruction *instruction = &module->instruction[function->instruction + i];

        instruction->target = target_of(module, instruction, names, function->labels);
    }
    free(names);
    return names != NULL;
}

/* The instruction in from..before-1 that gives an operand's register its value; NULL. */
static const ptx_instruction *maker_of(const ptx_module *module, const ptx_function *function,
                                       uint32_t reg, uint32_t from, uint32_t before)
{
    const uint32_t index = ptx_definition_before(function, module, reg, from, before);

    return (index == PTX_NONE) ? NULL : &module->instruction[function->instruction + index];
}

/* 1: its root is the word, and its last operand a constant. */
static int is_with_number(const ptx_module *module, const ptx_instruction *instruction,
                          const char *root, int64_t *number)
{
    const ptx_operand *last;

    if ((instruction == NULL) || !ptx_part_is(module, instruction, 0, root)) {
        return 0;
    }
    last    = &module->operand[instruction->operand + instruction->operands - 1];
    *number = last->value;
    return (instruction->operands > 1) && (last->kind == PTX_IMMEDIATE);
}

/* Of the loop from `begin` to the branch before `end`, whose counter is moved, added to and
 * compared. */
static uint32_t rounds_of(const ptx_module *module, const ptx_function *function, uint32_t begin,
                          uint32_t end)
{
    const ptx_instruction *branch = &module->instruction[function->instruction + end - 1];
    const ptx_instruction *test   = (branch->guard == PTX_NONE)
                                        ? NULL : maker_of(module, function, branch->guard, begin,
                                                          end - 1);
    uint32_t               counter;
    int64_t                from;
    int64_t                step;
    int64_t                to;

    if (!is_with_number(module, test, "setp", &to) ||
        (module->operand[test->operand + 1].kind != PTX_REGISTER)) {
        return COALESCE_UNKNOWN_ROUNDS;
    }
    counter = module->reference[module->operand[test->operand + 1].reference];
    return (is_with_number(module, maker_of(module, function, counter, begin, end), "add", &step) &&
            is_with_number(module, maker_of(module, function, counter, 0, begin), "mov", &from))
               ? coalesce_rounds(from, step, to) : COALESCE_UNKNOWN_ROUNDS;
}

/* The stretch from a label to the last branch back to it is a loop.  step[i]: how many of them
 * begin at instruction i or, negative, end; and behind those the same of their rounds. */
static void find_loops(const ptx_module *module, const ptx_function *function, uint32_t *end,
                       int32_t *step)
{
    int32_t *rounds = step + function->instructions + 1;

    for (uint32_t i = 0; i < function->instructions; i++) {
        const uint32_t label = module->instruction[function->instruction + i].target;

        if ((label != PTX_NONE) && (module->label[function->label + label].instruction <= i)) {
            end[label] = i + 1;
        }
    }
    for (uint32_t i = 0; i < function->labels; i++) {
        const uint32_t begin = module->label[function->label + i].instruction;

        if (end[i] != 0) {
            const int32_t log = (int32_t)rounds_of(module, function, begin, end[i]);

            step[begin]++;
            step[end[i]]--;
            rounds[begin] += log;
            rounds[end[i]] -= log;
        }
    }
}

static int measure_loops(ptx_module *module, ptx_function *function)
{
    uint32_t *end    = calloc(function->labels + 1u, sizeof(*end)); /* of each label's loop, or 0 */
    int32_t  *step   = calloc(function->instructions + 1u, 2 * sizeof(*step));
    int32_t   depth  = 0;
    int32_t   rounds = 0;

    if ((end == NULL) || (step == NULL)) {
        free(end);
        free(step);
        return 0;
    }
    find_loops(module, function, end, step);
    function->work = 0;
    for (uint32_t i = 0; i < function->instructions; i++) {
        ptx_instruction *instruction = &module->instruction[function->instruction + i];

        depth += step[i];
        rounds += step[function->instructions + 1 + i];
        instruction->loop_depth = (uint32_t)depth;
        instruction->rounds     = (uint32_t)rounds;
        function->work += (uint64_t)coalesce_weight(module->text + instruction->opcode_begin,
                                                    instruction->opcode_end -
                                                        instruction->opcode_begin)
                          << ((rounds < 32) ? rounds : 32);
    }
    free(end);
    free(step);
    return 1;
}

int ptx_flow(ptx_module *module, ptx_function *function)
{
    number_runs(module, function);
    return find_targets(module, function) && list_definitions(module, function) &&
           measure_loops(module, function);
}

uint32_t ptx_branch_target(const ptx_module *module, const ptx_function *function, uint32_t index)
{
    const uint32_t label = module->instruction[function->instruction + index].target;

    return (label == PTX_NONE) ? PTX_NONE : module->label[function->label + label].instruction;
}
