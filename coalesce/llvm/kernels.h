/* SPDX-License-Identifier: BSD-3-Clause */
/* A module's information about its functions: kernels, block shapes, and opt-outs. */
#ifndef COALESCE_LLVM_KERNELS_H
#define COALESCE_LLVM_KERNELS_H

#include "coalesce/plan/finding.h"

#include <llvm-c/Core.h>

typedef struct coalesce_llvm_kernel {
    int is_kernel;
    int is_off;           /* __attribute__((annotate("shpool-coalesce=off"))) */
    int is_old;           /* for a GPU before sm_70, whose warps are not tried */
    coalesce_block block; /* as far as known */
} coalesce_llvm_kernel;

/** 0: memory ran out; a kernel might then look like another function. */
int coalesce_llvm_kernel_of(LLVMModuleRef module, LLVMValueRef function,
                            coalesce_llvm_kernel *kernel);

/** From the C++ runtime, which LLVM needs anyway: LLVM-C has no demangler. */
coalesce_demangle __cxa_demangle;

#endif
