/* SPDX-License-Identifier: BSD-3-Clause */
/* PTX tokens to functions and instructions.  Operands and registers are in operand.c. */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

/* ---- bodies ---- */

static void parse_instruction(ptx_parser *parser)
{
    ptx_instruction instruction = { .begin = parser->token.begin, .line = parser->token.line,
                                    .guard = PTX_NONE, .foreign = parser->token.foreign,
                                    .place = parser->place, .inlined_at = parser->inlined_at };
    ptx_instruction *slot;

    if (ptx_is_punct(parser, '@')) {
        ptx_advance(parser);
        if (ptx_is_punct(parser, '!')) {
            instruction.guard_negated = 1;
            ptx_advance(parser);
        }
        instruction.guard = ptx_resolve(parser, parser->token.begin, parser->token.end);
        if (instruction.guard == PTX_NONE) {
            ptx_fail(parser, "a predicate register was expected");
            return;
        }
        ptx_advance(parser);
    }
    if (parser->token.kind != PTX_WORD) {
        ptx_fail(parser, "an instruction was expected");
        return;
    }
    instruction.opcode_begin = parser->token.begin;
    instruction.opcode_end   = parser->token.end;
    ptx_advance(parser);
    ptx_parse_operands(parser, &instruction);
    if (!ptx_is_punct(parser, ';')) {
        ptx_fail(parser, "a semicolon is missing after an instruction");
        return;
    }
    instruction.end    = parser->token.end;
    instruction.effect = ptx_effect_of(parser->module, &instruction);
    slot = PTX_PUSH(parser->module, instruction);
    if (slot == NULL) {
        parser->no_memory = 1;
        ptx_fail(parser, "memory ran out");
        return;
    }
    *slot = instruction;
    ptx_advance(parser);
}

/* A scope's border, or a declaration behind instructions, as an instruction without opcode. */
static void add_border(ptx_parser *parser)
{
    ptx_instruction *slot = PTX_PUSH(parser->module, instruction);

    if (slot == NULL) {
        parser->no_memory = 1;
        ptx_fail(parser, "memory ran out");
        return;
    }
    *slot = (ptx_instruction){ .begin = parser->token.begin, .end = parser->token.begin,
                               .line = parser->token.line, .guard = PTX_NONE,
                               .opcode_begin = parser->token.begin,
                               .opcode_end = parser->token.begin, .effect = PTX_FENCE,
                               .foreign = parser->token.foreign, .place = parser->place };
}

static void open_scope(ptx_parser *parser)
{
    if (++parser->depth > PTX_MAX_DEPTH) {
        ptx_fail(parser, "more than 64 scopes are open");
        return;
    }
    parser->border[parser->depth] = parser->module->instruction_count;
    add_border(parser);
    ptx_advance(parser);
}

/* Accesses may pass a scope of inline assembly that only computes, as conversions of half-precision
 * numbers are: it has no border then. */
static void close_scope(ptx_parser *parser)
{
    ptx_module    *module = parser->module;
    const uint32_t border = parser->border[parser->depth];
    uint32_t       i      = border + 1;

    while ((i < module->instruction_count) && (module->instruction[i].effect == PTX_COMPUTE)) {
        i++;
    }
    if (parser->token.foreign && (border < module->instruction_count) &&
        module->instruction[border].foreign && (i == module->instruction_count)) {
        module->instruction[border].effect = PTX_COMPUTE;
    } else {
        add_border(parser);
    }
    ptx_close_scope(parser);
    parser->marks = parser->lexer.marks;
    ptx_advance(parser);
}

/* Declarations of parameters, up to the character that ends them. */
static void parse_names(ptx_parser *parser, char end, int of_body)
{
    while (!ptx_ended(parser) && !ptx_is_punct(parser, end)) {
        ptx_take_name(parser, of_body);
        ptx_advance(parser);
    }
}

static void parse_directive(ptx_parser *parser)
{
    if (ptx_is_word(parser, ".loc")) {
        ptx_parse_loc(parser);
        return;
    }
    if (ptx_is_word(parser, ".file")) {
        ptx_parse_file(parser);
        return;
    }
    if (parser->module->instruction_count > parser->border[parser->depth] + 1) {
        add_border(parser); /* what is written twice must not declare anything */
    }
    if (ptx_is_word(parser, ".reg")) {
        ptx_parse_registers(parser);
    } else if (ptx_is_word(parser, ".param")) {
        parse_names(parser, ';', 1);
        ptx_expect(parser, ';', "a semicolon is missing after a parameter");
    } else {
        ptx_skip_statement(parser); /* .pragma, .shared, .local, .branchtargets, ... */
    }
}

static int is_label(const ptx_parser *parser)
{
    ptx_lexer ahead = parser->lexer;
    ptx_token next  = ptx_next(&ahead);

    return (parser->token.kind == PTX_WORD) && (next.kind == PTX_PUNCT) &&
           (parser->module->text[next.begin] == ':');
}

static void parse_label(ptx_parser *parser, const ptx_function *function)
{
    ptx_label *label = PTX_PUSH(parser->module, label);

    if (label == NULL) {
        parser->no_memory = 1;
        ptx_fail(parser, "memory ran out");
        return;
    }
    *label = (ptx_label){ .begin = parser->token.begin, .end = parser->token.end,
                          .instruction = parser->module->instruction_count -
                                         function->instruction };
    ptx_advance(parser);
    ptx_advance(parser);
}

static void parse_body(ptx_parser *parser, const ptx_function *function)
{
    do {
        if (ptx_is_punct(parser, '{')) {
            open_scope(parser);
        } else if (ptx_is_punct(parser, '}')) {
            close_scope(parser);
        } else if (ptx_is_punct(parser, ';')) {
            ptx_advance(parser);
        } else if (is_label(parser)) {
            parse_label(parser, function);
        } else if ((parser->token.kind == PTX_WORD) &&
                   (parser->module->text[parser->token.begin] == '.')) {
            parse_directive(parser);
        } else {
            parse_instruction(parser);
        }
    } while ((parser->depth > 0) && !ptx_ended(parser));
    if (parser->depth > 0) {
        ptx_fail(parser, "a '}' is missing");
    }
}

/* ---- the top level ---- */

static void skip_parentheses(ptx_parser *parser)
{
    while (!ptx_ended(parser) && !ptx_is_punct(parser, ')')) {
        ptx_advance(parser);
    }
    ptx_expect(parser, ')', "a ')' is missing");
}

/* .entry and .func, up to the end of the body or the semicolon of a declaration. */
static void parse_function(ptx_parser *parser)
{
    ptx_module  *module = parser->module;
    ptx_function function = { .is_entry = ptx_is_word(parser, ".entry"),
                              .instruction = module->instruction_count,
                              .label = module->label_count, .reg = module->reg_count,
                              .name = module->name_count };
    const uint32_t marks = parser->lexer.marks;
    ptx_function  *slot;

    ptx_advance(parser);
    if (ptx_is_punct(parser, '(')) { /* a function's return value */
        skip_parentheses(parser);
    }
    if (parser->token.kind != PTX_WORD) {
        ptx_fail(parser, "a function's name was expected");
        return;
    }
    function.name_begin = parser->token.begin;
    function.name_end   = parser->token.end;
    ptx_advance(parser);
    if (function.is_entry && ptx_is_punct(parser, '(')) {
        parse_names(parser, ')', 0);
    }
    while (!ptx_ended(parser) && !ptx_is_punct(parser, '{') && !ptx_is_punct(parser, ';')) {
        if (ptx_is_word(parser, ".reqntid") || ptx_is_word(parser, ".maxntid")) {
            ptx_parse_block(parser, &function.block);
        } else {
            ptx_advance(parser);
        }
    }
    if (!ptx_is_punct(parser, '{')) {
        ptx_expect(parser, ';', "a function's body or a semicolon was expected");
        return;
    }
    parser->place = parser->head = parser->inlined_at = (ptx_place){ 0 };
    ptx_forget_registers(parser);
    parse_body(parser, &function);
    function.instructions = module->instruction_count - function.instruction;
    function.labels       = module->label_count - function.label;
    function.regs         = module->reg_count - function.reg;
    function.opted_out    = parser->marks > marks;
    ptx_sort_names(module, &function);
    slot = PTX_PUSH(module, function);
    if (slot == NULL) {
        parser->no_memory = 1;
        ptx_fail(parser, "memory ran out");
        return;
    }
    *slot = function;
}

/* .section .debug_info { ... } */
static void skip_section(ptx_parser *parser)
{
    while (!ptx_ended(parser) && !ptx_is_punct(parser, '{')) {
        ptx_advance(parser);
    }
    while (!ptx_ended(parser) && !ptx_is_punct(parser, '}')) {
        ptx_advance(parser);
    }
    ptx_expect(parser, '}', "a '}' is missing after a section");
}

static void parse_module(ptx_parser *parser)
{
    ptx_parse_header(parser);
    while (!ptx_ended(parser)) {
        if (ptx_is_word(parser, ".target")) {
            ptx_parse_target(parser);
        } else if (ptx_is_word(parser, ".address_size")) {
            ptx_advance(parser);
            parser->module->address_size = ptx_take_number(parser);
        } else if (ptx_is_word(parser, ".file")) {
            ptx_parse_file(parser);
        } else if (ptx_is_word(parser, ".section")) {
            skip_section(parser);
        } else if (ptx_is_word(parser, ".entry") || ptx_is_word(parser, ".func")) {
            parse_function(parser);
        } else if (ptx_is_word(parser, ".visible") || ptx_is_word(parser, ".extern") ||
                   ptx_is_word(parser, ".weak") || ptx_is_word(parser, ".common")) {
            ptx_advance(parser);
        } else if (parser->token.kind == PTX_WORD) {
            ptx_skip_statement(parser); /* variables, .alias, .pragma */
        } else {
            ptx_fail(parser, "a directive was expected");
        }
    }
}

static int compare_files(const void *a, const void *b)
{
    const ptx_file *x = a;
    const ptx_file *y = b;

    if (x->number != y->number) {
        return (x->number < y->number) ? -1 : 1;
    }
    return (x->begin < y->begin) ? -1 : 1;
}

ptx_result ptx_parse(const char *text, uint32_t bytes, ptx_module *module)
{
    ptx_parser parser = { .module = module };

    memset(module, 0, sizeof(*module));
    module->text         = text;
    module->bytes        = bytes;
    module->address_size = 32; /* PTX's default for texts without .address_size */
    ptx_lexer_init(&parser.lexer, text, bytes);
    ptx_advance(&parser);
    parse_module(&parser);
    if (module->file_count > 1) {
        qsort(module->file, module->file_count, sizeof(*module->file), compare_files);
    }
    free(parser.declaration);
    free(parser.bucket);
    free(parser.slot);
    return parser.no_memory ? PTX_NO_MEMORY : parser.failed ? PTX_SYNTAX : PTX_FINE;
}

void ptx_module_fini(ptx_module *module)
{
    for (uint32_t i = 0; i < module->function_count; i++) {
        free(module->function[i].definition);
        free(module->function[i].use);
    }
    for (uint32_t i = 0; i < module->file_count; i++) {
        free(module->file[i].path);
    }
    free(module->function);
    free(module->instruction);
    free(module->operand);
    free(module->reference);
    free(module->reg);
    free(module->label);
    free(module->name);
    free(module->file);
    memset(module, 0, sizeof(*module));
}
