/* SPDX-License-Identifier: BSD-3-Clause */
/* The emitter's conditions: at a group's place, registers have the values that its members need. */
#include "ptx.h"


static const ptx_instruction *at(const ptx_planned *planned, uint32_t index)
{
    return &planned->module->instruction[planned->function->instruction + index];
}

static uint32_t position_of(const ptx_planned *planned, uint32_t access)
{
    return planned->accesses->access[access].position;
}

/* 1: an instruction in from..to-1 changes (define) or reads the register. */
static int is_touched(const ptx_planned *planned, uint32_t reg, uint32_t from, uint32_t to,
                      int define)
{
    return ptx_is_touched(planned->function, planned->module, reg, from, to, define);
}

uint32_t ptx_base_of(const ptx_module *module, const ptx_instruction *instruction)
{
    for (uint32_t i = 0; i < instruction->operands; i++) {
        const ptx_operand *operand = &module->operand[instruction->operand + i];

        if ((operand->kind == PTX_ADDRESS) && (operand->references == 1)) {
            return module->reference[operand->reference];
        }
    }
    return PTX_NONE;
}

/*
 * A load that moves up to the group's first: from there on its registers have the loaded values,
 * which no instruction in between may read or overwrite.  They may have other definitions: nvcc
 * loads into registers that a loop then changes.  The address register of the first must stay
 * unchanged, because all accesses of the group use it.
 */
static int load_may_move(const ptx_planned *planned, const coalesce_group *group, uint32_t access)
{
    const uint32_t         place    = position_of(planned, group->first);
    const uint32_t         position = position_of(planned, access);
    const ptx_operand     *data     = ptx_data_of(planned->module, at(planned, position));

    for (uint32_t i = 0; i < data->references; i++) {
        const uint32_t reg = planned->module->reference[data->reference + i];

        if ((reg == ptx_base_of(planned->module, at(planned, place))) ||
            is_touched(planned, reg, place, position, 0) ||
            is_touched(planned, reg, place, position, 1)) {
            return 0;
        }
    }
    return 1;
}

/* A store that moves down to `place`: its value must still be in the register. */
static int store_may_move(const ptx_planned *planned, uint32_t access, uint32_t place)
{
    const uint32_t     position = position_of(planned, access);
    const ptx_operand *data     = ptx_data_of(planned->module, at(planned, position));

    for (uint32_t i = 0; i < data->references; i++) {
        if (is_touched(planned, planned->module->reference[data->reference + i], position + 1,
                       place, 1)) {
            return 0;
        }
    }
    return 1;
}

/* The load whose address a copy uses: the last in program order. */
uint32_t ptx_last_source(const coalesce_group *group)
{
    uint32_t last = group->source[0];

    for (uint32_t k = 1; k < group->count; k++) {
        last = (group->source[k] > last) ? group->source[k] : last;
    }
    return last;
}

static int copy_is_fine(const ptx_planned *planned, const coalesce_group *group)
{
    const uint32_t place = position_of(planned, group->last);
    const uint32_t load  = position_of(planned, ptx_last_source(group));

    return !is_touched(planned, ptx_base_of(planned->module, at(planned, load)), load, place, 1);
}

coalesce_refusal ptx_check_group(void *user, const coalesce_group *group)
{
    const ptx_planned *planned = user;

    for (uint32_t k = 0; k < group->count; k++) {
        int fine = (group->kind == COALESCE_LOADS)
                       ? load_may_move(planned, group, group->member[k])
                       : (group->kind == COALESCE_COPIES) ||
                             store_may_move(planned, group->member[k],
                                            position_of(planned, group->last));

        if (!fine) {
            return COALESCE_DATA_FLOW;
        }
    }
    /* copied_from says of copies that each register is defined and used once */
    if ((group->kind == COALESCE_COPIES) && !copy_is_fine(planned, group)) {
        return COALESCE_DATA_FLOW;
    }
    return COALESCE_REWRITTEN;
}
