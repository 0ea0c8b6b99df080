/* SPDX-License-Identifier: BSD-3-Clause */
/* The emitter: groups of a plan become calls of helper functions. */
#ifndef COALESCE_LLVM_REWRITE_H
#define COALESCE_LLVM_REWRITE_H

#include "helper.h"
#include "read.h"

/** What a group becomes; 0: there is no helper for it. */
int coalesce_llvm_shape(const coalesce_access *access, const coalesce_group *group,
                        coalesce_ir_shape *shape);

/** For coalesce_plan_make(); user: the function's accesses. */
coalesce_refusal coalesce_llvm_check(void *user, const coalesce_group *group);

/**
 * Replace the accesses of a group by a call.  The instructions are erased; the accesses of other
 * groups stay as they are.  0: the helper could not be made, and nothing was changed.
 */
int coalesce_llvm_rewrite(LLVMModuleRef module, const coalesce_access *access,
                          const coalesce_group *group);

#endif
