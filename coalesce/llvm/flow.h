/* SPDX-License-Identifier: BSD-3-Clause */
/* The control flow of a function, as far as the reader needs it. */
#ifndef COALESCE_LLVM_FLOW_H
#define COALESCE_LLVM_FLOW_H

#include "map.h"

#include <llvm-c/Core.h>

typedef struct coalesce_llvm_block {
    LLVMBasicBlockRef block;
    uint32_t first;  /* of its predecessors in coalesce_llvm_flow.predecessor */
    uint32_t count;  /* of them */
    uint32_t loops;  /* that it is in */
    uint32_t rounds; /* of them together: coalesce_access.rounds */
    uint32_t marked; /* the last loop that it was counted for */
    uint32_t state;  /* of the search: new, on the path, done */
} coalesce_llvm_block;

typedef struct coalesce_llvm_flow {
    coalesce_llvm_block *block;
    uint32_t count;
    uint32_t *predecessor; /* indices of blocks */
    uint32_t *list;        /* room for `count` indices and as many counters */
    coalesce_map index;    /* block to its index */
} coalesce_llvm_flow;

/** 0: no memory, nothing to free. */
int coalesce_llvm_flow_make(coalesce_llvm_flow *flow, LLVMValueRef function);
void coalesce_llvm_flow_fini(coalesce_llvm_flow *flow);

/** The block that one must come from, or NULL. */
LLVMBasicBlockRef coalesce_llvm_only_predecessor(const coalesce_llvm_flow *flow, uint32_t block);

#endif
