/* SPDX-License-Identifier: BSD-3-Clause */
/* What a module says about its functions: kernels, block shapes, and who opted out. */
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

coalesce_llvm_kernel coalesce_llvm_kernel_of(LLVMModuleRef module, LLVMValueRef function);

/** Of the C++ runtime, which LLVM brings along: LLVM-C has none. */
coalesce_demangle __cxa_demangle;

#endif
