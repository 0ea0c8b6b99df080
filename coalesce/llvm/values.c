/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms of addresses, of what loops count, and of special registers. */
#include "values.h"

#include <string.h>

/* ---- addresses ---- */

static coalesce_form scaled_index(coalesce_llvm_forms *forms, LLVMValueRef index, uint64_t bytes)
{
    coalesce_form i, scale = coalesce_form_constant((int64_t)bytes);

    if (LLVMGetTypeKind(LLVMTypeOf(index)) != LLVMIntegerTypeKind) {
        return coalesce_form_unknown(); /* a vector of indices */
    }
    i = coalesce_llvm_form_of(forms, index, coalesce_llvm_is_narrow(index) ? SIGNED : MODULO);
    return coalesce_form_multiply(&i, &scale);
}

coalesce_form coalesce_llvm_element_address(coalesce_llvm_forms *forms, LLVMValueRef gep)
{
    coalesce_form address = coalesce_llvm_form_of(forms, LLVMGetOperand(gep, 0), MODULO);
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    int count = LLVMGetNumOperands(gep);

    for (int i = 1; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
        coalesce_form offset;

        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);

            offset =
                coalesce_form_constant((int64_t)LLVMOffsetOfElement(forms->layout, type, field));
            type = LLVMStructGetTypeAtIndex(type, field);
        } else {
            if (i > 1) {
                type = LLVMGetElementType(type);
            }
            offset = scaled_index(forms, index, LLVMABISizeOfType(forms->layout, type));
        }
        address = coalesce_form_add(&address, &offset, 1);
    }
    return address;
}

/* ---- loops ---- */

/* Made of nothing that changes while the function runs. */
static int is_invariant(const coalesce_llvm_forms *forms, const coalesce_form *form)
{
    for (uint32_t i = 0; i < form->terms; i++) {
        for (uint32_t k = 0; k < form->term[i].factors; k++) {
            if (!forms->leaves.leaf[form->term[i].leaf[k]].grid_uniform) {
                return 0;
            }
        }
    }
    return form->known;
}

/* What `next` adds to the phi, or unknown. */
static coalesce_form step_of(coalesce_llvm_forms *forms, LLVMValueRef phi, LLVMValueRef next,
                             coalesce_way how)
{
    LLVMOpcode opcode;
    coalesce_form bytes, step;

    if (!LLVMIsAInstruction(next) || LLVMGetNumOperands(next) != 2) {
        return coalesce_form_unknown();
    }
    opcode = LLVMGetInstructionOpcode(next);
    if (opcode == LLVMAdd && coalesce_llvm_is_exact(next, how)) {
        if (LLVMGetOperand(next, 0) == phi) {
            return coalesce_llvm_form_of(forms, LLVMGetOperand(next, 1), how);
        }
        if (LLVMGetOperand(next, 1) == phi) {
            return coalesce_llvm_form_of(forms, LLVMGetOperand(next, 0), how);
        }
    }
    if (opcode == LLVMGetElementPtr && LLVMGetOperand(next, 0) == phi) {
        bytes = coalesce_form_constant(
            (int64_t)LLVMABISizeOfType(forms->layout, LLVMGetGEPSourceElementType(next)));
        step = coalesce_llvm_form_of(forms, LLVMGetOperand(next, 1), MODULO);
        return coalesce_form_multiply(&step, &bytes);
    }
    return coalesce_form_unknown();
}

/* The phi changes from lane to lane as it does at the start, presumably: nothing proves that the
 * lanes add the same, nor that they are in the same round. */
static coalesce_form presumed_like(coalesce_llvm_forms *forms, LLVMValueRef phi, coalesce_way how,
                                   const coalesce_form *start)
{
    coalesce_leaf it = coalesce_leaf_of(&forms->leaves, start);

    it.value = phi;
    it.tag = how;
    it.grid_uniform = 0;
    return coalesce_form_leaf(&forms->leaves, &it);
}

/* start + step * rounds, if the phi is that of a loop with an invariant step. */
coalesce_form coalesce_llvm_loop_value(coalesce_llvm_forms *forms, LLVMValueRef phi,
                                       coalesce_way how)
{
    for (unsigned i = 0; i < 2 && LLVMCountIncoming(phi) == 2; i++) {
        LLVMValueRef next = LLVMGetIncomingValue(phi, 1 - i);
        coalesce_form step = step_of(forms, phi, next, how), start, rounds;

        if (!step.known) {
            continue;
        }
        start = coalesce_llvm_form_of(forms, LLVMGetIncomingValue(phi, i), how);
        if (!is_invariant(forms, &step)) {
            return coalesce_llvm_is_uniform(forms, &step)
                       ? presumed_like(forms, phi, how, &start)
                       : coalesce_llvm_leaf(forms, phi, how, COALESCE_IRREGULAR, 0);
        }
        rounds = coalesce_llvm_leaf(forms, LLVMBasicBlockAsValue(LLVMGetInstructionParent(phi)),
                                    ITERATION, COALESCE_ITERATION, 0);
        rounds = coalesce_form_multiply(&rounds, &step);
        return coalesce_form_add(&start, &rounds, 1);
    }
    if (how != MODULO) {
        coalesce_form form = coalesce_llvm_form_of(forms, phi, MODULO);

        return coalesce_llvm_whole(forms, phi, how, &form);
    }
    return coalesce_llvm_leaf(forms, phi, how, COALESCE_IRREGULAR, 0);
}

/* ---- calls ---- */

static coalesce_form special_register(coalesce_llvm_forms *forms, LLVMValueRef value,
                                      coalesce_way how, LLVMValueRef callee, const char *name)
{
    static const char *const dimension[] = { "tid.x", "tid.y", "tid.z" };

    /* registers are never negative: extended or not, they are the same */
    for (unsigned d = 0; d < 3; d++) {
        if (strcmp(name, dimension[d]) == 0) {
            return coalesce_llvm_stepped_leaf(forms, callee, MODULO, d);
        }
    }
    if (strcmp(name, "laneid") == 0) {
        return coalesce_llvm_stepped_leaf(forms, callee, MODULO, 0);
    }
    if (strncmp(name, "ctaid", 5) == 0 || strncmp(name, "ntid", 4) == 0 ||
        strncmp(name, "nctaid", 6) == 0 || strcmp(name, "warpsize") == 0) {
        return coalesce_llvm_leaf(forms, callee, MODULO, COALESCE_UNIFORM, 1);
    }
    return coalesce_llvm_leaf(forms, value, how, COALESCE_IRREGULAR, 0);
}

coalesce_form coalesce_llvm_called(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    static const char registers[] = "llvm.nvvm.read.ptx.sreg.";
    static const char *const pure[] = { "llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.",
                                        "llvm.abs.",  "llvm.fshl.", "llvm.fshr." };
    LLVMValueRef callee = LLVMGetCalledValue(value);
    const char *name;
    size_t bytes;

    if (callee == NULL || !LLVMIsAFunction(callee)) {
        return coalesce_llvm_leaf(forms, value, how, COALESCE_IRREGULAR, 0);
    }
    name = LLVMGetValueName2(callee, &bytes);
    if (strncmp(name, registers, strlen(registers)) == 0) {
        return special_register(forms, value, how, callee, name + strlen(registers));
    }
    for (size_t i = 0; i < sizeof(pure) / sizeof(pure[0]); i++) {
        if (strncmp(name, pure[i], strlen(pure[i])) == 0) {
            return coalesce_llvm_computed(forms, value, how);
        }
    }
    return coalesce_llvm_leaf(forms, value, how, COALESCE_IRREGULAR, 0);
}
