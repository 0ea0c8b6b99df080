/* SPDX-License-Identifier: BSD-3-Clause */
/* Between llvm_forms.c (arithmetic) and llvm_values.c (addresses, loops, calls). */
#ifndef COALESCE_LLVM_VALUES_H
#define COALESCE_LLVM_VALUES_H

#include "forms.h"

/** How a value is looked at: llvm_forms.c. */
typedef enum coalesce_way { MODULO, SIGNED, UNSIGNED } coalesce_way;

enum { ITERATION = 3 }; /* tag of a loop's count, beside the three ways */

/** The value that a leaf stands for. */
static inline LLVMValueRef coalesce_llvm_value_of(const coalesce_leaf *leaf)
{
    return (LLVMValueRef)(uintptr_t)leaf->value;
}

/** The form of a value, remembered. */
coalesce_form coalesce_llvm_form_of(coalesce_llvm_forms *forms, LLVMValueRef value,
                                    coalesce_way how);

/** 1: the extension of the value is that of its operands, combined likewise. */
int coalesce_llvm_is_exact(LLVMValueRef value, coalesce_way how);

/** An integer of less than 64 bits. */
int coalesce_llvm_is_narrow(LLVMValueRef value);

/** A leaf. */
coalesce_form coalesce_llvm_leaf(coalesce_llvm_forms *forms, const void *value, uint64_t tag,
                                 coalesce_leaf_kind kind, int grid_uniform);

/** A leaf that advances by one for each step along a dimension of the block. */
coalesce_form coalesce_llvm_stepped_leaf(coalesce_llvm_forms *forms, const void *value,
                                         uint64_t tag, unsigned dimension);

/** A leaf: the value as a whole, known to change from lane to lane as `form` does. */
coalesce_form coalesce_llvm_whole(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how,
                                  const coalesce_form *form);

/** A leaf: computed of its operands, the same in all lanes where they are. */
coalesce_form coalesce_llvm_computed(coalesce_llvm_forms *forms, LLVMValueRef value,
                                     coalesce_way how);

coalesce_form coalesce_llvm_element_address(coalesce_llvm_forms *forms, LLVMValueRef gep);
coalesce_form coalesce_llvm_loop_value(coalesce_llvm_forms *forms, LLVMValueRef phi,
                                       coalesce_way how);
coalesce_form coalesce_llvm_called(coalesce_llvm_forms *forms, LLVMValueRef value,
                                   coalesce_way how);

#endif
