/* SPDX-License-Identifier: BSD-3-Clause */
/* Which registers are the same in all lanes, proven: deep forms only presume, see form.c. */
#include "ptx.h"

#define MAX_STEPS 400u /* length of a chain of definitions; beyond it nothing is known */

static int is_uniform_operand(ptx_forms *forms, const ptx_operand *operand)
{
    const ptx_special *known;

    switch (operand->kind) {
    case PTX_REGISTER:
        return ptx_is_uniform(forms, forms->module->reference[operand->reference]);
    case PTX_SPECIAL:
        known = ptx_special_of(forms->module, operand);
        return (known != NULL) && known->uniform;
    case PTX_IMMEDIATE:
        return 1;
    default:
        return 0;
    }
}

static int prove_uniform(ptx_forms *forms, const ptx_register *reg)
{
    const ptx_function    *function = forms->function;
    const ptx_instruction *instruction;

    if ((reg->definitions != 1) || (forms->depth == MAX_STEPS)) {
        return 0;
    }
    instruction = &forms->module->instruction[function->instruction] +
                  function->definition[reg->first_definition];
    if ((instruction->guard != PTX_NONE) || (instruction->effect != PTX_COMPUTE)) {
        return 0;
    }
    if (ptx_part_is(forms->module, instruction, 0, "ld")) {
        return ptx_is_parameter(forms, instruction);
    }
    for (uint32_t i = 1; i < instruction->operands; i++) {
        if (!is_uniform_operand(forms, ptx_operand_of(forms, instruction, i))) {
            return 0;
        }
    }
    return 1;
}

int ptx_is_uniform(ptx_forms *forms, uint32_t reg)
{
    unsigned char *known = &forms->uniform[reg - forms->function->reg];

    if (*known == 0) {
        *known = 1; /* a value that depends on itself is not */
        forms->depth++;
        *known = prove_uniform(forms, &forms->module->reg[reg]) ? 2 : 1;
        forms->depth--;
    }
    return *known == 2;
}
