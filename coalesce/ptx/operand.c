/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers by scope and number, and operands. */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

static uint32_t no_memory(ptx_parser *parser)
{
    parser->no_memory = 1;
    ptx_fail(parser, "memory ran out");
    return PTX_NONE;
}

/* ---- declarations ---- */

#define MOST_DIGITS 10u /* of a register's number */
#define HASH_BEGIN  2166136261u

static uint32_t hash_step(uint32_t hash, char c)
{
    return (hash ^ (unsigned char)c) * 16777619u;
}

static uint32_t *bucket_of(const ptx_parser *parser, uint32_t hash)
{
    return &parser->bucket[(hash ^ (hash >> 15)) & (parser->bucket_capacity - 1)];
}

static int grow_buckets(ptx_parser *parser)
{
    const uint32_t capacity = (parser->bucket_capacity == 0) ? 64 : 2 * parser->bucket_capacity;
    uint32_t      *bucket   = calloc(capacity, sizeof(*bucket));

    if (bucket == NULL) {
        return 0;
    }
    free(parser->bucket);
    parser->bucket          = bucket;
    parser->bucket_capacity = capacity;
    for (uint32_t i = 0; i < parser->declaration_count; i++) { /* the newest comes first */
        uint32_t *head = bucket_of(parser, parser->declaration[i].hash);

        parser->declaration[i].next = *head;
        *head = i + 1;
    }
    return 1;
}

/* The newest declaration of a name: of a single register, or of one that has the number. */
static const ptx_declaration *newest(const ptx_parser *parser, uint32_t begin, uint32_t bytes,
                                     uint32_t hash, int is_single, uint64_t number)
{
    const char *text = parser->module->text;

    for (uint32_t i = (parser->bucket != NULL) ? *bucket_of(parser, hash) : 0; i != 0;
         i = parser->declaration[i - 1].next) {
        const ptx_declaration *one = &parser->declaration[i - 1];

        if ((one->hash == hash) && (one->end - one->begin == bytes) &&
            (memcmp(text + one->begin, text + begin, bytes) == 0) &&
            (is_single ? (one->count == 0) : (number < one->count))) {
            return one;
        }
    }
    return NULL;
}

void ptx_declare(ptx_parser *parser, const ptx_token *name, uint32_t count, uint32_t bits)
{
    const ptx_declaration *old;
    ptx_declaration       *made;
    uint32_t               hash = HASH_BEGIN;

    for (uint32_t at = name->begin; at < name->end; at++) {
        hash = hash_step(hash, parser->module->text[at]);
    }
    old = newest(parser, name->begin, name->end - name->begin, hash, count == 0, 0);
    if ((old != NULL) && (old->scope == parser->depth)) {
        parser->token = *name;
        ptx_fail(parser, "a register is declared twice in a scope");
        return;
    }
    made = ((parser->declaration_count < parser->bucket_capacity) || grow_buckets(parser))
               ? PTX_PUSH(parser, declaration) : NULL;
    if (made == NULL) {
        (void)no_memory(parser);
        return;
    }
    *made = (ptx_declaration){ .begin = name->begin, .end = name->end, .count = count,
                               .bits = bits, .scope = parser->depth, .hash = hash,
                               .next = *bucket_of(parser, hash) };
    *bucket_of(parser, hash) = parser->declaration_count;
}

void ptx_close_scope(ptx_parser *parser)
{
    parser->depth--;
    while ((parser->declaration_count > 0) &&
           (parser->declaration[parser->declaration_count - 1].scope > parser->depth)) {
        const ptx_declaration *last = &parser->declaration[--parser->declaration_count];

        *bucket_of(parser, last->hash) = last->next;
    }
}

/* The declaration that a name belongs to, the innermost first, and its number: with every part of
 * the digits at its end, since %r1<5> declares %r10, too. */
static const ptx_declaration *declaration_of(const ptx_parser *parser, uint32_t begin, uint32_t end,
                                             uint32_t *number_p)
{
    const char            *text   = parser->module->text;
    const ptx_declaration *best   = NULL;
    uint32_t               digits = 0;
    uint32_t               hash   = HASH_BEGIN;

    while ((digits < MOST_DIGITS) && (digits < end - begin) && (text[end - digits - 1] >= '0') &&
           (text[end - digits - 1] <= '9')) {
        digits++;
    }
    for (uint32_t at = begin; at < end; at++) {
        const ptx_declaration *found;
        uint64_t               number = 0;

        hash = hash_step(hash, text[at]);
        if (end - at - 1 > digits) {
            continue;
        }
        for (uint32_t i = at + 1; i < end; i++) {
            number = 10 * number + (uint64_t)(text[i] - '0');
        }
        found = newest(parser, begin, at + 1 - begin, hash, at + 1 == end, number);
        if ((found != NULL) && ((best == NULL) || (found > best))) {
            best      = found;
            *number_p = (uint32_t)number;
        }
    }
    return best;
}

/* ---- registers ---- */

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

void ptx_forget_registers(ptx_parser *parser)
{
    free(parser->slot); /* clearing a large one for each function would take too long */
    parser->slot          = NULL;
    parser->slot_count    = 0;
    parser->slot_capacity = 0;
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
    if (reg == PTX_NONE) { /* names of registers have no dots */
        const char *text = parser->module->text + token->begin;
        const char *dot  = memchr(text, '.', token->end - token->begin);

        if ((dot != NULL) && (dot != text)) {
            *whole_p = 0;
            reg = ptx_resolve(parser, token->begin, token->begin + (uint32_t)(dot - text));
        }
    }
    return reg;
}

/* Relevant words, numbers and signs of one operand. */
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

/* One operand, up to the comma or semicolon after it. */
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
