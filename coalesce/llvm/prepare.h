/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of coalesce_llvm_prepare(). */
#ifndef COALESCE_LLVM_PREPARE_H
#define COALESCE_LLVM_PREPARE_H

#include "coalesce/plan/form.h"

#include <llvm-c/Types.h>

/** Copies of whole records by memcpy become loads and stores of words.  1: there were some.
 *  *out_of_memory_p is set to 1 if memory ran out: copies may be left. */
int coalesce_llvm_expand_copies(LLVMValueRef function, int is_kernel, const coalesce_block *block,
                                int *out_of_memory_p);

#endif
