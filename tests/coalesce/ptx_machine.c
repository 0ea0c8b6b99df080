/* SPDX-License-Identifier: BSD-3-Clause */
/* Warps, their lanes' program counters, and memory: see ptx_machine.h. */
#include "ptx_warps.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FULL 0xffffffffu

void machine_stop(machine *m, const char *format, ...)
{
    va_list args;

    if (m->result.fine) {
        va_start(args, format);
        (void)vsnprintf(m->result.error, sizeof(m->result.error), format, args);
        va_end(args);
        m->result.fine = 0;
    }
}

uint64_t machine_random(machine *m)
{
    m->random = m->random * 6364136223846793005ull + 1442695040888963407ull;
    return m->random >> 33;
}

/* ---- symbols: parameters by number, shared variables by declaration ---- */

static uint64_t parameter(const machine *m, uint32_t end)
{
    return m->launch->parameter[(m->launch->module->text[end - 1] - '0') & 7];
}

static uint64_t symbol_value(machine *m, uint64_t span)
{
    const uint32_t begin = (uint32_t)(span >> 32);
    const uint32_t end   = (uint32_t)span;
    const char    *text  = m->launch->module->text;

    for (uint32_t i = 0; i < m->symbols; i++) {
        const symbol *s = &m->symbol[i];

        if ((s->end - s->begin == end - begin) &&
            (memcmp(text + s->begin, text + begin, end - begin) == 0)) {
            return s->address;
        }
    }
    machine_stop(m, "the symbol %.*s is not known", (int)(end - begin), text + begin);
    return 0;
}

/* .shared .align 4 .b8 name[3072]; in the function's text or before it */
static void find_shared(machine *m)
{
    const ptx_module *module = m->launch->module;
    uint64_t          used   = 0;

    for (const char *at = strstr(module->text, ".shared .align"); at != NULL;
         at = strstr(at + 1, ".shared .align")) {
        const char *name = strstr(at, ".b8 ");
        const char *open = (name == NULL) ? NULL : strchr(name, '[');

        if ((open == NULL) || (m->symbols == SYMBOLS)) {
            return;
        }
        name += 4;
        m->symbol[m->symbols++] = (symbol){ (uint32_t)(name - module->text),
                                            (uint32_t)(open - module->text), SHARED_BASE + used };
        used += (strtoull(open + 1, NULL, 10) + 15) / 16 * 16;
    }
}

/* ---- memory ---- */

static unsigned char *locate(machine *m, uint64_t address, uint32_t bytes)
{
    if ((address >= SHARED_BASE) && (address + bytes <= SHARED_BASE + SHARED_BYTES)) {
        return m->shared + (address - SHARED_BASE);
    }
    for (uint32_t i = 0; i < m->launch->regions; i++) {
        const machine_region *region = &m->launch->region[i];

        if ((address >= region->address) && (address - region->address <= region->bytes) &&
            (region->bytes - (address - region->address) >= bytes)) {
            return region->memory + (address - region->address);
        }
    }
    return NULL;
}

static uint64_t operand_value(machine *m, const warp *w, uint32_t lane, const machine_operand *o)
{
    const uint32_t *block  = m->launch->block;
    const uint32_t  thread = w->first_thread + lane;

    switch (o->kind) {
    case 'r': return w->reg[o->reg * 32 + lane];
    case 'i': return o->value;
    case 'y': return symbol_value(m, o->value);
    default:  break;
    }
    switch (o->value) {
    case 0:  return thread % block[0];
    case 1:  return thread / block[0] % block[1];
    case 2:  return thread / block[0] / block[1];
    case 3:  return block[0];
    case 4:  return block[1];
    case 5:  return block[2];
    case 6:  return m->block_index;
    case 7:  return lane;
    case 8:  return m->launch->blocks;
    default: return (o->value == 99) ? 0 : 1; /* %ctaid.y, %nctaid.y */
    }
}

static void count_sectors(machine *m, const uint64_t *address, uint32_t lanes, uint32_t bytes)
{
    uint64_t seen[32 * 2];
    uint32_t count = 0;

    for (uint32_t lane = 0; lane < 32; lane++) {
        for (uint64_t s = address[lane] / 32;
             ((lanes >> lane) & 1) && (s <= (address[lane] + bytes - 1) / 32); s++) {
            uint32_t i = 0;

            while ((i < count) && (seen[i] != s)) {
                i++;
            }
            if (i == count) {
                seen[count++] = s;
            }
        }
    }
    m->result.requests++;
    m->result.sectors += count;
}

/* Loads and stores of the lanes, one after the other: an order that hardware may choose, too. */
static void access_memory(machine *m, warp *w, const machine_code *code, uint32_t lanes)
{
    const int      is_load = code->op == OP_LD;
    const uint32_t bytes   = code->bits / 8;
    const uint32_t data    = is_load ? 0 : 1;
    const machine_operand *base = &code->operand[is_load ? code->elements : 0];
    uint64_t               address[32] = { 0 };

    for (uint32_t lane = 0; lane < 32; lane++) {
        if (((lanes >> lane) & 1) == 0) {
            continue;
        }
        address[lane] = operand_value(m, w, lane, base) + (uint64_t)code->offset;
        if (address[lane] % (bytes * code->elements) != 0) {
            machine_stop(m, "line %u: a misaligned access", code->instruction->line);
            return;
        }
        for (uint32_t e = 0; e < code->elements; e++) {
            const machine_operand *element = &code->operand[data + e];
            unsigned char         *at      = locate(m, address[lane] + e * bytes, bytes);
            uint64_t               value   = 0;

            if (at == NULL) {
                machine_stop(m, "line %u: an access outside of memory by thread %u",
                     code->instruction->line, w->first_thread + lane);
                return;
            }
            if (is_load) {
                memcpy(&value, at, bytes);
                if ((code->type == TYPE_SIGNED) && (bytes < 8)) {
                    value = (uint64_t)((int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes));
                }
                w->reg[element->reg * 32 + lane] = value;
            } else {
                value = operand_value(m, w, lane, element);
                memcpy(at, &value, bytes);
            }
        }
    }
    if (code->space != COALESCE_SHARED) {
        count_sectors(m, address, lanes, bytes * code->elements);
    }
}

/* ---- between lanes ---- */

/* 1: all lanes that the .sync instruction names are here; else these wait for the others. */
static int all_are_here(machine *m, warp *w, const machine_code *code, uint32_t pc, uint32_t *lanes)
{
    const uint64_t named = operand_value(m, w, 0, &code->operand[code->operands - 1]);
    uint32_t       here  = 0;

    for (uint32_t lane = 0; lane < 32; lane++) {
        here |= (((w->live >> lane) & 1) && (w->pc[lane] == pc) &&
                 (((w->waiting | *lanes) >> lane) & 1)) ? 1u << lane : 0;
    }
    if (((uint32_t)named & ~w->live) != 0) {
        machine_stop(m, "line %u: a .sync instruction names lanes that are gone",
                     code->instruction->line);
        return 0;
    }
    if (here != (uint32_t)named) {
        w->waiting |= *lanes;
        return 0;
    }
    w->waiting &= ~here;
    *lanes = here;
    return 1;
}

static void shuffle(machine *m, warp *w, const machine_code *code, uint32_t lanes)
{
    uint64_t value[32];

    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint64_t b    = operand_value(m, w, lane, &code->operand[2]);
        const uint64_t from = (code->exchange ? lane ^ b : b) & 31;

        value[lane] = operand_value(m, w, (uint32_t)from, &code->operand[1]) & FULL;
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        if ((lanes >> lane) & 1) {
            w->reg[code->operand[0].reg * 32 + lane] = value[lane];
        }
    }
}

/* vote.sync.all.pred d, a, mask */
static void vote_all(machine *m, warp *w, const machine_code *code, uint32_t lanes)
{
    uint64_t all = 1;

    for (uint32_t lane = 0; lane < 32; lane++) {
        all &= operand_value(m, w, lane, &code->operand[1]);
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        if ((lanes >> lane) & 1) {
            w->reg[code->operand[0].reg * 32 + lane] = all & 1;
        }
    }
}

/* ---- one instruction ---- */

/* mov.b64 d, {a, b} and mov.b64 {a, b}, d */
static void move_halves(machine *m, warp *w, const machine_code *code, uint32_t lane)
{
    const ptx_operand *first =
        &m->launch->module->operand[code->instruction->operand];

    if (first->kind == PTX_VECTOR) {
        const uint64_t value = operand_value(m, w, lane, &code->operand[2]);

        w->reg[code->operand[0].reg * 32 + lane] = value & FULL;
        w->reg[code->operand[1].reg * 32 + lane] = value >> 32;
    } else {
        w->reg[code->operand[0].reg * 32 + lane] =
            (operand_value(m, w, lane, &code->operand[1]) & FULL) |
            operand_value(m, w, lane, &code->operand[2]) << 32;
    }
}

static void compute(machine *m, warp *w, const machine_code *code, uint32_t lanes)
{
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint64_t value[6] = { 0 };

        if (((lanes >> lane) & 1) == 0) {
            continue;
        }
        if ((code->op == OP_MOV) && (code->operands == 3)) {
            move_halves(m, w, code, lane);
            continue;
        }
        if (code->op == OP_LD_PARAM) {
            value[1] = parameter(m, (uint32_t)code->operand[1].value);
        } else if (code->op == OP_ACTIVEMASK) {
            value[1] = lanes;
        } else {
            for (uint32_t i = 1; i < code->operands; i++) {
                value[i] = operand_value(m, w, lane, &code->operand[i]);
            }
        }
        w->reg[code->operand[0].reg * 32 + lane] =
            ((code->op == OP_LD_PARAM) || (code->op == OP_ACTIVEMASK))
                ? value[1] & ((code->bits == 32) ? FULL : ~0ull)
                : machine_compute(code, value);
    }
}

static uint32_t guarded(const warp *w, const machine_code *code, uint32_t lanes)
{
    uint32_t taken = 0;

    if (code->guard < 0) {
        return lanes;
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t is = (uint32_t)w->reg[(uint32_t)code->guard * 32 + lane] & 1;

        taken |= (is != (uint32_t)code->guard_negated) ? 1u << lane : 0;
    }
    return taken & lanes;
}

static void advance(warp *w, uint32_t lanes, uint32_t pc)
{
    for (uint32_t lane = 0; lane < 32; lane++) {
        if ((lanes >> lane) & 1) {
            w->pc[lane] = pc;
        }
    }
}

/* The lanes, which are all at pc, execute its instruction. */
void machine_step(machine *m, warp *w, uint32_t pc, uint32_t lanes)
{
    const machine_code *code = &m->code[pc];
    uint32_t            taken;

    m->result.steps++;
    if (pc >= m->codes) {
        w->live &= ~lanes;
        return;
    }
    if (((code->op == OP_SHFL) || (code->op == OP_VOTE) || (code->op == OP_BAR_WARP)) &&
        !all_are_here(m, w, code, pc, &lanes)) {
        return;
    }
    taken = guarded(w, code, lanes);
    switch (code->op) {
    case OP_NONE:
    case OP_FENCE: /* memory has one order here */
    case OP_BAR_WARP:
        break;
    case OP_BRA:
        advance(w, lanes & ~taken, pc + 1);
        advance(w, taken, code->target);
        return;
    case OP_RET:
        advance(w, lanes & ~taken, pc + 1);
        w->live &= ~taken;
        return;
    case OP_BAR_SYNC:
        w->at_bar |= taken;
        return;
    case OP_LD:
    case OP_ST:
        access_memory(m, w, code, taken);
        break;
    case OP_SHFL:
        shuffle(m, w, code, taken);
        break;
    case OP_VOTE:
        vote_all(m, w, code, taken);
        break;
    default:
        compute(m, w, code, taken);
    }
    advance(w, lanes, pc + 1);
}

static int prepare(machine *m)
{
    const ptx_function *function = m->launch->function;

    m->codes = function->instructions;
    m->code  = calloc(m->codes + 1u, sizeof(*m->code));
    for (uint32_t i = 0; (m->code != NULL) && (i < m->codes); i++) {
        if (!machine_decode(m->launch->module, function, i, &m->code[i])) {
            const ptx_instruction *instruction = m->code[i].instruction;

            machine_stop(m, "line %u: the machine does not know %.*s", instruction->line,
                 (int)(instruction->end - instruction->begin),
                 m->launch->module->text + instruction->begin);
        }
    }
    find_shared(m);
    return (m->code != NULL) && m->result.fine;
}

static void start_block(machine *m, uint32_t threads)
{
    for (uint32_t i = 0; i < m->warp_count; i++) {
        warp          *w     = &m->warps[i];
        const uint32_t lanes = (threads - 32 * i < 32) ? threads - 32 * i : 32;

        memset(w->reg, 0xA5, (size_t)m->launch->function->regs * 32 * sizeof(*w->reg));
        memset(w->pc, 0, sizeof(w->pc));
        w->live         = (lanes == 32) ? FULL : (1u << lanes) - 1;
        w->at_bar       = 0;
        w->waiting      = 0;
        w->favoured     = 0;
        w->first_thread = 32 * i;
    }
    memset(m->shared, 0xA5, sizeof(m->shared));
}

machine_result machine_run(const machine_launch *launch)
{
    machine       *m       = calloc(1, sizeof(*m));
    const uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    machine_result result  = { .fine = 0, .error = "memory ran out" };
    size_t         bytes   = (launch->function->regs + 1u) * 32 * sizeof(uint64_t);

    if (m == NULL) {
        return result;
    }
    *m = (machine){ .launch = launch, .result = { .fine = 1 }, .random = launch->seed,
                    .warp_count = (threads + 31) / 32 };
    m->warps = calloc(m->warp_count, sizeof(*m->warps));
    for (uint32_t i = 0; (m->warps != NULL) && (i < m->warp_count); i++) {
        m->warps[i].reg = malloc(bytes);
    }
    if ((m->warps != NULL) && prepare(m)) {
        for (m->block_index = 0; (m->block_index < launch->blocks) && m->result.fine;
             m->block_index++) {
            start_block(m, threads);
            machine_run_block(m);
        }
    }
    for (uint32_t i = 0; (m->warps != NULL) && (i < m->warp_count); i++) {
        free(m->warps[i].reg);
    }
    result = m->result;
    free(m->warps);
    free(m->code);
    free(m);
    return result;
}
