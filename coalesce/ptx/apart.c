/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions: parts of a run that are in the output twice, rewritten and original, after the check
 * whether addresses are apart (coalesce_apart of plan.h).  A run has no branches, declarations or
 * borders of scopes with accesses, so both may use the registers of the input.
 */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

static const ptx_instruction *at(const ptx_planned *planned, uint32_t index)
{
    return &planned->module->instruction[planned->function->instruction + index];
}

static uint32_t position_of(const ptx_planned *planned, uint32_t access)
{
    return planned->accesses->access[access].position;
}

/* ---- addresses that are computed within the region ---- */

/* 1: the instruction may also be executed at the region's start, and then again. */
static int may_come_first(const ptx_planned *planned, const ptx_region *region, uint32_t index)
{
    const ptx_module      *module      = planned->module;
    const ptx_instruction *instruction = at(planned, index);
    const ptx_operand     *to          = &module->operand[instruction->operand];

    if ((instruction->effect != PTX_COMPUTE) || (instruction->guard != PTX_NONE) ||
        instruction->foreign || (instruction->operands == 0) || (to->kind != PTX_REGISTER)) {
        return 0;
    }
    for (int define = 0; define < 2; define++) { /* up to itself, so it is not its own operand */
        if (ptx_is_touched(planned->function, module, module->reference[to->reference],
                           region->begin, define ? index : index + 1, define)) {
            return 0;
        }
    }
    return 1;
}

/* Add the instructions that define the register, as instruction `before` finds it, to those
 * executed first. */
static int bring_forward(const ptx_planned *planned, ptx_region *region, uint32_t reg,
                         uint32_t before, unsigned depth)
{
    const ptx_module      *module = planned->module;
    const uint32_t         index  = ptx_definition_before(planned->function, module, reg,
                                                          region->begin, before);
    const ptx_instruction *instruction;

    if (index == PTX_NONE) {
        return 1;
    }
    for (uint32_t i = 0; i < region->firsts; i++) {
        if (region->first[i] == index) {
            return 1;
        }
    }
    if ((depth == PTX_MOST_FIRST) || (region->firsts == PTX_MOST_FIRST) ||
        !may_come_first(planned, region, index)) {
        return 0;
    }
    instruction = at(planned, index);
    for (uint32_t i = 1; i < instruction->operands; i++) {
        const ptx_operand *operand = &module->operand[instruction->operand + i];

        for (uint32_t k = 0; k < operand->references; k++) {
            if (!bring_forward(planned, region, module->reference[operand->reference + k], index,
                               depth + 1)) {
                return 0;
            }
        }
    }
    if (region->firsts == PTX_MOST_FIRST) {
        return 0;
    }
    region->first[region->firsts++] = index; /* after its operands */
    return 1;
}

static int bring_address(const ptx_planned *planned, ptx_region *region, uint32_t access)
{
    const uint32_t position = position_of(planned, access);
    const uint32_t reg      = ptx_base_of(planned->module, at(planned, position));

    return (reg != PTX_NONE) && bring_forward(planned, region, reg, position, 0);
}

/* ---- regions ---- */

/* Everything that is rewritten in a run, because legality depends on the other moves. */
static ptx_region region_of(const ptx_planned *planned, const coalesce_plan *plan, uint32_t run)
{
    ptx_region region = { .run = run, .begin = PTX_NONE };

    for (size_t i = 0; i < plan->count; i++) {
        const coalesce_group *group = &plan->group[i];

        if ((group->transform != COALESCE_KEEP) &&
            (planned->accesses->access[group->first].run == run)) {
            const uint32_t first = position_of(planned, group->first);
            const uint32_t end   = position_of(planned, group->last) + 1;

            region.begin = (first < region.begin) ? first : region.begin;
            region.end   = (end > region.end) ? end : region.end;
        }
    }
    return region;
}

static int compare_regions(const void *a, const void *b)
{
    const ptx_region *x = a;
    const ptx_region *y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int add_question(const ptx_planned *planned, const coalesce_plan *plan, uint32_t index,
                        ptx_regions *regions)
{
    const uint32_t run    = planned->accesses->access[plan->apart[index].a].run;
    ptx_region    *region = NULL;

    for (uint32_t i = 0; i < regions->count; i++) {
        region = (regions->region[i].run == run) ? &regions->region[i] : region;
    }
    if (region == NULL) {
        region  = &regions->region[regions->count++];
        *region = region_of(planned, plan, run);
    }
    return bring_address(planned, region, plan->apart[index].a) &&
           bring_address(planned, region, plan->apart[index].b);
}

int ptx_find_regions(const ptx_planned *planned, const coalesce_plan *plan, ptx_regions *regions,
                     uint32_t *run_p)
{
    regions->count = 0;
    for (uint32_t i = 0; i < plan->aparts; i++) {
        *run_p = planned->accesses->access[plan->apart[i].a].run;
        if (!add_question(planned, plan, i, regions)) {
            return 0;
        }
    }
    if (regions->count > 1) {
        qsort(regions->region, regions->count, sizeof(regions->region[0]), compare_regions);
    }
    return 1;
}

/* ---- output ---- */

static const ptx_operand *address_of(const ptx_planned *planned, uint32_t access)
{
    const ptx_instruction *instruction = at(planned, position_of(planned, access));
    const ptx_operand     *operand     = &planned->module->operand[instruction->operand];

    while (operand->kind != PTX_ADDRESS) {
        operand++; /* there is one: its address is known */
    }
    return operand;
}

static void put_base(ptx_out *out, const ptx_planned *planned, uint32_t access)
{
    const ptx_module   *module  = planned->module;
    const ptx_operand  *address = address_of(planned, access);
    const ptx_register *reg     = &module->reg[module->reference[address->reference]];

    ptx_put_bytes(out, module->text + reg->begin, reg->end - reg->begin);
}

/* ~near is true if b - a is in -bytes+1 .. bytes-1. */
static void put_question(ptx_out *out, const ptx_planned *planned, const coalesce_apart *apart,
                         int is_first)
{
    const uint64_t values = (uint64_t)address_of(planned, apart->b)->value -
                            (uint64_t)address_of(planned, apart->a)->value;

    ptx_put(out, "\tsub.s64 ~gap, ");
    put_base(out, planned, apart->b);
    ptx_put(out, ", ");
    put_base(out, planned, apart->a);
    ptx_put(out, ";\n\tadd.s64 ~gap, ~gap, %lld;\n",
            (long long)(values + (uint64_t)apart->bytes - 1));
    ptx_put(out, "\tsetp.lt.u64 %s, ~gap, %lld;\n", is_first ? "~near" : "~too",
            (long long)(2 * apart->bytes - 1));
    if (!is_first) {
        ptx_put(out, "\tor.pred ~near, ~near, ~too;\n");
    }
}

void ptx_open_region(ptx_out *out, const ptx_planned *planned, const coalesce_plan *plan,
                     const ptx_region *region, uint32_t serial)
{
    const char *text  = planned->module->text;
    int         first = 1;

    ptx_put(out, "{ // shpool-coalesce: where pointers do not overlap\n"
                 "\t.reg .pred ~near, ~too;\n\t.reg .b64 ~gap;\n");
    for (uint32_t i = 0; i < region->firsts; i++) {
        const ptx_instruction *instruction = at(planned, region->first[i]);

        ptx_put(out, "\t");
        ptx_put_bytes(out, text + instruction->begin, instruction->end - instruction->begin);
        ptx_put(out, "\n");
    }
    for (uint32_t i = 0; i < plan->aparts; i++) {
        if (planned->accesses->access[plan->apart[i].a].run == region->run) {
            put_question(out, planned, &plan->apart[i], first);
            first = 0;
        }
    }
    ptx_put(out, "\t@~near bra $Lshpc_plain%u;\n\t", serial);
}

void ptx_close_region(ptx_out *out, const ptx_planned *planned, const ptx_region *region,
                      uint32_t serial)
{
    const uint32_t begin = at(planned, region->begin)->begin;
    const uint32_t end   = at(planned, region->end - 1)->end;

    ptx_put(out, "\n\tbra $Lshpc_joined%u;\n$Lshpc_plain%u:\n\t", serial, serial);
    ptx_put_bytes(out, planned->module->text + begin, end - begin);
    ptx_put(out, "\n$Lshpc_joined%u:\n\t}", serial);
}
