/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers by scope and number, and operands. */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

/* ---- registers ---- */

/* The declaration that a name belongs to, the innermost first, and its number. */
static const ptx_declaration *declaration_of(const ptx_parser *parser, uint32_t begin, uint32_t end,
                                             uint32_t *number_p)
{
    const char *text = parser->module->text;

    for (uint32_t i = parser->declaration_count; i-- > 0;) {
        const ptx_declaration *declaration = &parser->declaration[i];
        const uint32_t         bytes       = declaration->end - declaration->begin;
        uint64_t               number      = 0;
        uint32_t               at          = begin + bytes;

        if ((end - begin < bytes) ||
            (memcmp(text + begin, text + declaration->begin, bytes) != 0)) {
            continue;
        }
        *number_p = 0;
        if (declaration->count == 0) {
            if (at == end) {
                return declaration;
            }
            continue;
        }
        while ((at < end) && (text[at] >= '0') && (text[at] <= '9') && (number < UINT32_MAX)) {
            number = 10 * number + (uint64_t)(text[at++] - '0');
        }
        if ((at == end) && (end - begin > bytes) && (number < declaration->count)) {
            *number_p = (uint32_t)number;
            return declaration;
        }
    }
    return NULL;
}

static uint32_t hash_of(uint32_t declaration, uint32_t number)
{
    return (declaration * 2654435761u) ^ (number * 2246822519u);
}

static int grow_slots(ptx_parser *parser)
{
    const ptx_module *module   = parser->module;
    const uint32_t    capacity = (parser->slot_capacity == 0) ? 256 : 2 * parser->slot_capacity;
    uint32_t         *slot     = calloc(capacity, sizeof(*slot));

    if (slot == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < parser->slot_capacity; i++) {
        if (parser->slot[i] != 0) {
            const ptx_register *reg = &module->reg[parser->slot[i] - 1];
            uint32_t            at  = hash_of(reg->declaration, reg->number) & (capacity - 1);

            while (slot[at] != 0) {
                at = (at + 1) & (capacity - 1);
            }
            slot[at] = parser->slot[i];
        }
    }
    free(parser->slot);
    parser->slot          = slot;
    parser->slot_capacity = capacity;
    return 1;
}

static uint32_t no_memory(ptx_parser *parser)
{
    parser->no_memory = 1;
    ptx_fail(parser, "memory ran out");
    return PTX_NONE;
}

uint32_t ptx_resolve(ptx_parser *parser, uint32_t begin, uint32_t end)
{
    uint32_t               number;
    const ptx_declaration *declaration = declaration_of(parser, begin, end, &number);
    ptx_register          *reg;
    uint32_t               at;

    if (declaration == NULL) {
        return PTX_NONE;
    }
    if ((4 * (parser->slot_count + 1) > 3 * parser->slot_capacity) && !grow_slots(parser)) {
        return no_memory(parser);
    }
    /* the place of the declaration in the text is its identity */
    at = hash_of(declaration->begin, number) & (parser->slot_capacity - 1);
    while (parser->slot[at] != 0) {
        reg = &parser->module->reg[parser->slot[at] - 1];
        if ((reg->declaration == declaration->begin) && (reg->number == number)) {
            return parser->slot[at] - 1;
        }
        at = (at + 1) & (parser->slot_capacity - 1);
    }
    reg = PTX_PUSH(parser->module, reg);
    if (reg == NULL) {
        return no_memory(parser);
    }
    *reg = (ptx_register){ .begin = begin, .end = end, .bits = declaration->bits,
                           .declaration = declaration->begin, .number = number };
    parser->slot[at] = parser->module->reg_count;
    parser->slot_count++;
    return parser->module->reg_count - 1;
}

/* ---- operands ---- */

static uint32_t add_reference(ptx_parser *parser, ptx_operand *operand, uint32_t reg)
{
    uint32_t *reference = PTX_PUSH(parser->module, reference);

    if (reference == NULL) {
        return no_memory(parser);
    }
    *reference = reg;
    operand->references++;
    return reg;
}

/* The register of a word, with or without a component: %v.x. */
static uint32_t register_of(ptx_parser *parser, const ptx_token *token, int *whole_p)
{
    uint32_t reg = ptx_resolve(parser, token->begin, token->end);

    *whole_p = 1;
    for (uint32_t end = token->end; (reg == PTX_NONE) && (end > token->begin + 1); end--) {
        if (parser->module->text[end - 1] == '.') {
            *whole_p = 0;
            reg = ptx_resolve(parser, token->begin, end - 1);
        }
    }
    return reg;
}

/* Words, numbers and signs of one operand, as far as they are of interest. */
typedef struct shape {
    uint32_t tokens;
    uint32_t words;
    uint32_t registers; /* whole ones */
    uint32_t numbers;
    uint32_t symbol_begin;
    uint32_t symbol_end;
    int64_t  value;
    int      minus;
    int      plus;
    int      other; /* something else is there */
} shape;

static void see_word(ptx_parser *parser, ptx_operand *operand, shape *seen)
{
    int      whole;
    uint32_t reg = register_of(parser, &parser->token, &whole);

    seen->words++;
    if (reg != PTX_NONE) {
        seen->registers += (uint32_t)whole;
        seen->other |= !whole;
        (void)add_reference(parser, operand, reg);
    } else {
        seen->symbol_begin = parser->token.begin;
        seen->symbol_end   = parser->token.end;
    }
}

static void see(ptx_parser *parser, ptx_operand *operand, shape *seen)
{
    int64_t value;

    seen->tokens++;
    if (parser->token.kind == PTX_WORD) {
        see_word(parser, operand, seen);
    } else if ((parser->token.kind == PTX_NUMBER) &&
               ptx_integer(parser->module, parser->token.begin, parser->token.end, &value)) {
        seen->numbers++;
        seen->value = value;
    } else if (ptx_is_punct(parser, '-') && !seen->minus) {
        seen->minus = 1;
    } else if (ptx_is_punct(parser, '+') && !seen->plus) {
        seen->plus = 1;
    } else {
        seen->other = 1;
    }
}

static int64_t signed_value(const shape *seen)
{
    return seen->minus ? (int64_t)(0 - (uint64_t)seen->value) : seen->value;
}

/* [base], [base+4], [base+-4], [base-4] */
static void classify_address(ptx_operand *operand, const shape *seen)
{
    if (seen->other || (seen->words != 1) || (seen->numbers > 1) ||
        ((seen->numbers == 1) && !seen->plus && !seen->minus)) {
        return;
    }
    operand->kind  = PTX_ADDRESS;
    operand->value = signed_value(seen);
    if (seen->registers == 0) {
        operand->symbol_begin = seen->symbol_begin;
        operand->symbol_end   = seen->symbol_end;
    }
}

static void classify_plain(const ptx_module *module, ptx_operand *operand, const shape *seen)
{
    if (seen->other || (seen->words + seen->numbers != 1)) {
        return;
    }
    if (seen->numbers == 1) {
        operand->kind  = PTX_IMMEDIATE;
        operand->value = signed_value(seen);
    } else if (seen->registers == 1) {
        operand->kind = PTX_REGISTER;
    } else if (seen->symbol_end != 0) {
        operand->kind = (module->text[seen->symbol_begin] == '%') ? PTX_SPECIAL : PTX_SYMBOL;
    }
}

/* One operand, up to the comma or semicolon behind it. */
static void parse_operand(ptx_parser *parser, ptx_operand *operand)
{
    shape      seen   = { 0 };
    const char open   = (parser->token.kind == PTX_PUNCT)
                            ? parser->module->text[parser->token.begin] : '\0';
    const int  is_vector = open == '{';
    const int  is_address = open == '[';
    unsigned   depth  = 0;

    operand->kind      = PTX_OTHER;
    operand->begin     = parser->token.begin;
    operand->reference = parser->module->reference_count;
    while (parser->token.kind != PTX_END) {
        const char c = (parser->token.kind == PTX_PUNCT)
                           ? parser->module->text[parser->token.begin] : '\0';

        if ((c == ';') || ((depth == 0) && ((c == ',') || (c == '}')))) {
            break;
        }
        if ((c == '[') || (c == '{') || (c == '(')) {
            seen.other |= (depth > 0) || (c == '(');
            depth++;
        } else if ((c == ']') || (c == '}') || (c == ')')) {
            if (depth == 0) {
                ptx_fail(parser, "a bracket closes that was not opened");
                return;
            }
            depth--;
        } else if ((c == ',') && is_vector) {
            seen.tokens++;
        } else {
            seen.other |= (depth == 0) && (is_vector || is_address);
            see(parser, operand, &seen);
        }
        operand->end = parser->token.end;
        ptx_advance(parser);
    }
    if (depth != 0) {
        ptx_fail(parser, "a bracket is not closed");
        return;
    }
    if (is_address) {
        classify_address(operand, &seen);
    } else if (is_vector) {
        if (!seen.other && (seen.registers != 0) && (seen.registers == seen.words) &&
            (seen.numbers == 0)) {
            operand->kind = PTX_VECTOR;
        }
    } else {
        classify_plain(parser->module, operand, &seen);
    }
}

void ptx_parse_operands(ptx_parser *parser, ptx_instruction *instruction)
{
    instruction->operand = parser->module->operand_count;
    while (!ptx_is_punct(parser, ';') && (parser->token.kind != PTX_END)) {
        ptx_operand  operand = { .kind = PTX_OTHER };
        ptx_operand *slot;

        parse_operand(parser, &operand);
        if (ptx_is_punct(parser, '}')) {
            ptx_fail(parser, "a semicolon is missing");
            return;
        }
        slot = PTX_PUSH(parser->module, operand);
        if (slot == NULL) {
            (void)no_memory(parser);
            return;
        }
        *slot = operand;
        instruction->operands++;
        if (ptx_is_punct(parser, ',')) {
            ptx_advance(parser);
        }
    }
}
