/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions: parts of a run that are in the output twice, rewritten and original, after the check
 * whether addresses are apart (coalesce_apart of plan.h). */
#ifndef COALESCE_LLVM_APART_H
#define COALESCE_LLVM_APART_H

#include "read.h"

/** Everything that is rewritten in a run, because legality depends on the other moves. */
typedef struct coalesce_llvm_region {
    uint32_t run;
    LLVMValueRef first; /* instructions of one block */
    LLVMValueRef last;
} coalesce_llvm_region;

typedef struct coalesce_llvm_regions {
    coalesce_llvm_region region[COALESCE_MOST_APART];
    uint32_t count;
} coalesce_llvm_regions;

/**
 * The regions of the plan's checks; nothing is changed.  1: all can be written; 0: that of *run_p
 * cannot.
 */
int coalesce_llvm_find_regions(const coalesce_llvm_function *function, const coalesce_plan *plan,
                               coalesce_llvm_regions *regions, uint32_t *run_p);

/**
 * Make the check and a copy of the region, which is executed if addresses are near each other.  The
 * region itself is executed otherwise, and its groups may then be rewritten.
 */
void coalesce_llvm_split(const coalesce_llvm_function *function, const coalesce_plan *plan,
                         const coalesce_llvm_region *region);

#endif
