/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms of LLVM values: the components of addresses. */
#ifndef COALESCE_LLVM_FORMS_H
#define COALESCE_LLVM_FORMS_H

#include "coalesce/plan/form.h"
#include "map.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

/** Forms of the values of one function, remembered. */
typedef struct coalesce_llvm_forms {
    LLVMValueRef function;
    int is_kernel;
    LLVMTargetDataRef layout;
    coalesce_block block;
    coalesce_leaves leaves;
    coalesce_map index; /* (value, how it is extended) to a place in `form` */
    coalesce_form *form;
    size_t count;
    size_t capacity;
    uint32_t depth; /* of the recursion */
} coalesce_llvm_forms;

void coalesce_llvm_forms_init(coalesce_llvm_forms *forms, LLVMValueRef function, int is_kernel,
                              const coalesce_block *block);
void coalesce_llvm_forms_fini(coalesce_llvm_forms *forms);

/** The form of an integer or pointer, exact modulo 2^64 (integers: modulo 2^width). */
coalesce_form coalesce_llvm_form(coalesce_llvm_forms *forms, LLVMValueRef value);

/** The object that the address points into: the only pointer in it with coefficient 1, or NULL. */
LLVMValueRef coalesce_llvm_base(const coalesce_llvm_forms *forms, const coalesce_form *form);

#endif
