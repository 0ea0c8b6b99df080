/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding of instructions for ptx_machine.c, and arithmetic. */
#include "ptx_machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- decoding ---- */

static const struct { const char *name; machine_op op; } names[] = {
    { "mov", OP_MOV }, { "add", OP_ADD }, { "sub", OP_SUB }, { "mul", OP_MUL }, { "mad", OP_MAD },
    { "div", OP_DIV }, { "rem", OP_REM }, { "shl", OP_SHL }, { "shr", OP_SHR }, { "and", OP_AND },
    { "or", OP_OR }, { "xor", OP_XOR }, { "not", OP_NOT }, { "neg", OP_NEG }, { "min", OP_MIN },
    { "max", OP_MAX }, { "setp", OP_SETP }, { "selp", OP_SELP }, { "cvt", OP_CVT },
    { "cvta", OP_CVTA }, { "bfe", OP_BFE }, { "bfi", OP_BFI }, { "shf", OP_SHF_R },
    { "fma", OP_FMA }, { "lop3", OP_LOP3 }, { "abs", OP_ABS }, { "ld", OP_LD }, { "st", OP_ST },
    { "bra", OP_BRA }, { "ret", OP_RET }, { "exit", OP_RET }, { "bar", OP_BAR_SYNC },
    { "barrier", OP_BAR_SYNC }, { "shfl", OP_SHFL }, { "vote", OP_VOTE },
    { "activemask", OP_ACTIVEMASK }, { "prmt", OP_PRMT }, { "membar", OP_FENCE },
    { "fence", OP_FENCE },
};

static int type_of(const char *part, int *type, uint32_t *bits)
{
    const char *kinds = "usbf";
    const char *kind  = strchr(kinds, part[0]);

    if (strcmp(part, "pred") == 0) {
        *type = TYPE_PRED;
        *bits = 1;
        return 1;
    }
    if ((kind == NULL) || (part[0] == '\0') || (part[1] < '0') || (part[1] > '9')) {
        return 0;
    }
    *type = (part[0] == 's') ? TYPE_SIGNED : (part[0] == 'f') ? TYPE_FLOAT : TYPE_UNSIGNED;
    *bits = (uint32_t)atoi(part + 1);
    return 1;
}

static void decode_part(machine_code *code, const char *part, int *types)
{
    static const struct { const char *name; int compare; } compares[] = {
        { "eq", 'e' }, { "ne", 'n' }, { "lt", 'l' }, { "le", 'L' }, { "gt", 'g' }, { "ge", 'G' },
        { "lo", 'l' }, { "ls", 'L' }, { "hi", 'g' }, { "hs", 'G' },
    };
    int      type;
    uint32_t bits;

    if (type_of(part, &type, &bits)) {
        if ((*types)++ == 0) {
            code->type = type;
            code->bits = bits;
        }
        code->from_type = type;
        code->from_bits = bits;
    } else if ((part[0] == 'v') && (part[2] == '\0')) {
        code->elements = (uint32_t)(part[1] - '0');
    } else if (code->op == OP_MUL || code->op == OP_MAD) {
        code->wide = (strcmp(part, "wide") == 0) ? 1 : (strcmp(part, "hi") == 0) ? 2 : code->wide;
    } else if (code->op == OP_SETP) {
        for (size_t i = 0; i < sizeof(compares) / sizeof(compares[0]); i++) {
            if (strcmp(part, compares[i].name) == 0) {
                code->compare = compares[i].compare;
            }
        }
        code->combine = (strcmp(part, "and") == 0) ? 'a' : (strcmp(part, "or") == 0) ? 'o'
                                                                                   : code->combine;
    } else if (strcmp(part, "bfly") == 0) {
        code->exchange = 1;
    } else if (strcmp(part, "global") == 0) {
        code->space = COALESCE_GLOBAL;
    } else if (strcmp(part, "shared") == 0) {
        code->space = COALESCE_SHARED;
    } else if ((code->op == OP_LD) && (strcmp(part, "param") == 0)) {
        code->op = OP_LD_PARAM;
    } else if ((code->op == OP_BAR_SYNC) && (strcmp(part, "warp") == 0)) {
        code->op = OP_BAR_WARP;
    }
}

static uint64_t special_code(const ptx_module *module, const ptx_operand *operand)
{
    static const char *const specials[] = { "%tid.x",  "%tid.y",   "%tid.z",  "%ntid.x", "%ntid.y",
                                            "%ntid.z", "%ctaid.x", "%laneid", "%nctaid.x" };

    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
        if (ptx_text_is(module, operand->begin, operand->end, specials[i])) {
            return i;
        }
    }
    return (operand->end - operand->begin == 8) ? 99 : 98; /* %ctaid.y: 0 */
}

/* 0f3F800000 and 0d3FF0000000000000 */
static int float_literal(const ptx_module *module, const ptx_operand *operand, uint64_t *value)
{
    char   text[24] = "";
    size_t bytes    = operand->end - operand->begin;

    if ((bytes < 3) || (bytes >= sizeof(text))) {
        return 0;
    }
    memcpy(text, module->text + operand->begin, bytes);
    if ((text[0] != '0') || (strchr("fFdD", text[1]) == NULL)) {
        return 0;
    }
    *value = strtoull(text + 2, NULL, 16);
    return 1;
}

static int decode_operand(const ptx_module *module, const ptx_function *function,
                          const ptx_operand *operand, machine_operand *to)
{
    switch (operand->kind) {
    case PTX_REGISTER:
        *to = (machine_operand){ 'r', module->reference[operand->reference] - function->reg, 0 };
        return 1;
    case PTX_IMMEDIATE:
        *to = (machine_operand){ 'i', 0, (uint64_t)operand->value };
        return 1;
    case PTX_SPECIAL:
        *to = (machine_operand){ 's', 0, special_code(module, operand) };
        return 1;
    case PTX_SYMBOL:
        *to = (machine_operand){ 'y', 0, (uint64_t)operand->begin << 32 | operand->end };
        return 1;
    default:
        *to = (machine_operand){ 'i', 0, 0 };
        return float_literal(module, operand, &to->value);
    }
}

/* d|p, {a, b}: the registers one by one, as operands of their own. */
static int add_operand(const ptx_module *module, const ptx_function *function,
                       const ptx_operand *operand, machine_code *code)
{
    if (operand->kind == PTX_ADDRESS) {
        code->offset = operand->value;
        code->operand[code->operands++] =
            (operand->references == 1)
                ? (machine_operand){ 'r', module->reference[operand->reference] - function->reg, 0 }
                : (machine_operand){ 'y', 0, (uint64_t)operand->symbol_begin << 32 |
                                                 operand->symbol_end };
        return 1;
    }
    if ((operand->kind == PTX_VECTOR) || ((operand->kind == PTX_OTHER) && operand->references)) {
        for (uint32_t i = 0; (i < operand->references) && (code->operands < 6); i++) {
            code->operand[code->operands++] = (machine_operand){
                'r', module->reference[operand->reference + i] - function->reg, 0
            };
        }
        return 1;
    }
    return decode_operand(module, function, operand, &code->operand[code->operands++]);
}

int machine_decode(const ptx_module *module, const ptx_function *function, uint32_t index,
                   machine_code *code)
{
    const ptx_instruction *instruction = &module->instruction[function->instruction + index];
    uint32_t at = instruction->opcode_begin;
    uint32_t begin;
    uint32_t end;
    int      types = 0;

    *code = (machine_code){ .op = OP_NONE, .elements = 1, .guard = -1, .space = COALESCE_GENERIC,
                            .instruction = instruction };
    if (!ptx_next_part(module, instruction, &at, &begin, &end)) {
        return 1; /* a scope's border */
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (ptx_text_is(module, begin, end, names[i].name)) {
            code->op = names[i].op;
        }
    }
    if (code->op == OP_NONE) {
        return 0;
    }
    while (ptx_next_part(module, instruction, &at, &begin, &end)) {
        char part[24] = "";

        memcpy(part, module->text + begin, (end - begin < 23) ? end - begin : 23);
        decode_part(code, part, &types);
    }
    if (instruction->guard != PTX_NONE) {
        code->guard         = (int)(instruction->guard - function->reg);
        code->guard_negated = instruction->guard_negated;
    }
    if (code->op == OP_BRA) {
        code->target = ptx_branch_target(module, function, index);
        return code->target != PTX_NONE;
    }
    for (uint32_t i = 0; (i < instruction->operands) && (code->operands < 6); i++) {
        if (!add_operand(module, function, &module->operand[instruction->operand + i], code)) {
            return 0;
        }
    }
    return 1;
}

/* ---- arithmetic ---- */

static uint64_t cut(uint64_t value, uint32_t bits)
{
    return (bits >= 64) ? value : value & (((uint64_t)1 << bits) - 1);
}

static int64_t extended(uint64_t value, uint32_t bits)
{
    return (bits >= 64) ? (int64_t)value
                        : (int64_t)(cut(value, bits) << (64 - bits)) >> (64 - bits);
}

static double to_double(uint64_t value, uint32_t bits)
{
    uint32_t low = (uint32_t)value;
    float    single;
    double   twice;

    memcpy(&single, &low, sizeof(single));
    memcpy(&twice, &value, sizeof(twice));
    return (bits == 32) ? (double)single : twice;
}

static uint64_t from_double(double value, uint32_t bits)
{
    float    single = (float)value;
    uint32_t low;
    uint64_t all;

    memcpy(&low, &single, sizeof(low));
    memcpy(&all, &value, sizeof(all));
    return (bits == 32) ? low : all;
}

static int compares(const machine_code *code, uint64_t a, uint64_t b)
{
    int less;
    int equal;

    if (code->type == TYPE_FLOAT) {
        less  = to_double(a, code->bits) < to_double(b, code->bits);
        equal = to_double(a, code->bits) == to_double(b, code->bits);
    } else if (code->type == TYPE_SIGNED) {
        less  = extended(a, code->bits) < extended(b, code->bits);
        equal = cut(a, code->bits) == cut(b, code->bits);
    } else {
        less  = cut(a, code->bits) < cut(b, code->bits);
        equal = cut(a, code->bits) == cut(b, code->bits);
    }
    switch (code->compare) {
    case 'e': return equal;
    case 'n': return !equal;
    case 'l': return less;
    case 'L': return less || equal;
    case 'g': return !less && !equal;
    default:  return !less;
    }
}

static uint64_t compute_float(const machine_code *code, const uint64_t v[6])
{
    const double a = to_double(v[1], code->bits);
    const double b = to_double(v[2], code->bits);

    switch (code->op) {
    case OP_ADD: return from_double(a + b, code->bits);
    case OP_SUB: return from_double(a - b, code->bits);
    case OP_MUL: return from_double(a * b, code->bits);
    case OP_FMA: return from_double(fma(a, b, to_double(v[3], code->bits)), code->bits);
    case OP_MIN: return from_double(fmin(a, b), code->bits);
    case OP_MAX: return from_double(fmax(a, b), code->bits);
    case OP_NEG: return from_double(-a, code->bits);
    default:     return from_double(fabs(a), code->bits);
    }
}

static uint64_t convert(const machine_code *code, uint64_t value)
{
    if (code->type == TYPE_FLOAT) {
        return (code->from_type == TYPE_FLOAT)
                   ? from_double(to_double(value, code->from_bits), code->bits)
               : (code->from_type == TYPE_SIGNED)
                   ? from_double((double)extended(value, code->from_bits), code->bits)
                   : from_double((double)cut(value, code->from_bits), code->bits);
    }
    if (code->from_type == TYPE_FLOAT) {
        return (uint64_t)(int64_t)trunc(to_double(value, code->from_bits));
    }
    return (code->from_type == TYPE_SIGNED) ? (uint64_t)extended(value, code->from_bits)
                                            : cut(value, code->from_bits);
}

static uint64_t multiply(const machine_code *code, uint64_t a, uint64_t b)
{
    const int is_signed = code->type == TYPE_SIGNED;

    if (code->wide == 1) {
        return is_signed ? (uint64_t)(extended(a, code->bits) * extended(b, code->bits))
                         : cut(a, code->bits) * cut(b, code->bits);
    }
    if (code->wide == 2) {
        return is_signed ? (uint64_t)((extended(a, 32) * extended(b, 32)) >> 32)
                         : (cut(a, 32) * cut(b, 32)) >> 32;
    }
    return a * b;
}

static uint64_t permute(uint64_t a, uint64_t b, uint64_t selector)
{
    const uint64_t both = cut(a, 32) | cut(b, 32) << 32;
    uint64_t       out  = 0;

    for (uint32_t i = 0; i < 4; i++) {
        out |= ((both >> (8 * ((selector >> (4 * i)) & 7))) & 255) << (8 * i);
    }
    return out;
}

static uint64_t lop3(uint64_t a, uint64_t b, uint64_t c, uint64_t table)
{
    uint64_t out = 0;

    for (uint32_t i = 0; i < 32; i++) {
        const uint64_t index = ((a >> i) & 1) << 2 | ((b >> i) & 1) << 1 | ((c >> i) & 1);

        out |= ((table >> index) & 1) << i;
    }
    return out;
}

/* v[0] is not used: operand 0 is the destination. */
static uint64_t compute_integer(const machine_code *code, const uint64_t v[6])
{
    const uint32_t bits      = code->bits;
    const int      is_signed = code->type == TYPE_SIGNED;
    const uint64_t a         = cut(v[1], bits);
    const uint64_t b         = cut(v[2], bits);
    const uint64_t shift     = cut(v[2], 32);

    switch (code->op) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return multiply(code, v[1], v[2]);
    case OP_MAD: return multiply(code, v[1], v[2]) + v[3];
    case OP_DIV: return (b == 0) ? ~0ull : is_signed
                        ? (uint64_t)(extended(a, bits) / extended(b, bits)) : a / b;
    case OP_REM: return (b == 0) ? a : is_signed
                        ? (uint64_t)(extended(a, bits) % extended(b, bits)) : a % b;
    case OP_SHL: return (shift >= bits) ? 0 : a << shift;
    case OP_SHR: return is_signed ? (uint64_t)(extended(a, bits) >> ((shift >= bits) ? bits - 1
                                                                                   : shift))
                                  : (shift >= bits) ? 0 : a >> shift;
    case OP_AND: return a & b;
    case OP_OR:  return a | b;
    case OP_XOR: return a ^ b;
    case OP_NOT: return ~a;
    case OP_NEG: return 0 - a;
    case OP_ABS: return (extended(a, bits) < 0) ? 0 - a : a;
    case OP_MIN: return (is_signed ? extended(a, bits) < extended(b, bits) : a < b) ? a : b;
    case OP_MAX: return (is_signed ? extended(a, bits) < extended(b, bits) : a < b) ? b : a;
    case OP_BFE: return is_signed ? (uint64_t)extended(a >> shift, (uint32_t)cut(v[3], 8))
                                  : cut(a >> shift, (uint32_t)cut(v[3], 8));
    case OP_BFI: {
        const uint64_t mask = cut(~0ull, (uint32_t)v[4]) << v[3];

        return (b & ~mask) | ((a << v[3]) & mask);
    }
    case OP_SHF_R: return cut((cut(v[1], 32) | cut(v[2], 32) << 32) >> (v[3] & 31), 32);
    case OP_PRMT:  return permute(v[1], v[2], v[3]);
    case OP_LOP3:  return lop3(v[1], v[2], v[3], v[4]);
    default:       return a;
    }
}

uint64_t machine_compute(const machine_code *code, const uint64_t v[6])
{
    const uint32_t bits = code->bits * ((code->wide == 1) ? 2 : 1);

    switch (code->op) {
    case OP_SETP: {
        int is = compares(code, v[1], v[2]);

        is = (code->combine == 'a') ? is && (v[3] & 1) : (code->combine == 'o') ? is || (v[3] & 1)
                                                                                : is;
        return (uint64_t)is;
    }
    case OP_SELP:
        return cut((v[3] & 1) ? v[1] : v[2], bits);
    case OP_CVT:
        return cut(convert(code, v[1]), code->bits);
    case OP_MOV:
    case OP_CVTA:
        return cut(v[1], bits);
    default:
        return cut(((code->type == TYPE_FLOAT) && (code->op != OP_AND)) ? compute_float(code, v)
                                                                        : compute_integer(code, v),
                   bits);
    }
}
