/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader: a function of an LLVM module as a list of accesses. */
#ifndef COALESCE_LLVM_READ_H
#define COALESCE_LLVM_READ_H

#include "coalesce/plan/finding.h"
#include "forms.h"
#include "coalesce/plan/plan.h"

/** A function and its accesses, in program order. */
typedef struct coalesce_llvm_function {
    coalesce_llvm_forms forms;
    coalesce_access *access;
    size_t count;
    size_t capacity;
    coalesce_map index; /* instruction to access */
    uint32_t run;       /* of the next access */
    coalesce_cut cut;   /* before this run, */
    size_t cut_at;      /* after as many accesses */
    uint32_t position;  /* likewise */
    uint64_t work;      /* see coalesce_options */
    int failed;         /* no memory */
} coalesce_llvm_function;

/**
 * Read a function.  1: give it to coalesce_llvm_function_fini(); 0: no memory, nothing to give
 * back.
 */
int coalesce_llvm_read(coalesce_llvm_function *function, LLVMValueRef of, int is_kernel,
                       const coalesce_block *block);
void coalesce_llvm_function_fini(coalesce_llvm_function *function);

/** The instruction of an access. */
LLVMValueRef coalesce_llvm_instruction(const coalesce_access *access);

/** The pointer of a load or store, and the type of what it moves. */
LLVMValueRef coalesce_llvm_pointer(LLVMValueRef instruction);
LLVMTypeRef coalesce_llvm_type(LLVMValueRef instruction);

/** The instruction's place in the source, in new strings (or NULL); inlined_p: where it was
 *  inlined. */
coalesce_place coalesce_llvm_place(LLVMValueRef instruction, coalesce_place *inlined_p);

#endif
