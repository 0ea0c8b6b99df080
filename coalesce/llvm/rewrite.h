/* SPDX-License-Identifier: BSD-3-Clause */
/* The emitter: groups of a plan become calls of helper functions. */
#ifndef COALESCE_LLVM_REWRITE_H
#define COALESCE_LLVM_REWRITE_H

#include "helper.h"
#include "read.h"

/**
 * Replace the accesses of a group by a call.  The instructions are erased; the accesses of other
 * groups stay as they are.  0: the helper could not be made, and nothing was changed.
 */
int coalesce_llvm_rewrite(LLVMModuleRef module, const coalesce_access *access,
                          const coalesce_group *group);

#endif
