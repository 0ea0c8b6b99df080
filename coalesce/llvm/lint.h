/* SPDX-License-Identifier: BSD-3-Clause */
/* The lint of files, for programs that load the plugin themselves (tools/coalesce/llvm.c). */
#ifndef COALESCE_LLVM_LINT_H
#define COALESCE_LLVM_LINT_H

#include "coalesce/plan/finding.h"

/** Options of the lint. */
typedef struct coalesce_llvm_lint_request {
    coalesce_options plan;
    const char *const *skip; /**< functions that are left alone */
    size_t skips;
    int remarks;
    int waste;
} coalesce_llvm_lint_request;

/** The name of the function below, and its type, for dlsym(). */
#define COALESCE_LLVM_LINT "coalesce_llvm_lint_file"
typedef int coalesce_llvm_lint_function(const char *path, const coalesce_llvm_lint_request *request,
                                        coalesce_report *report, char *error, size_t capacity);

/**
 * Add findings about a file of bitcode or IR text to the report.  The process must hold LLVM's
 * symbols.  0: the file cannot be read, is not valid IR, or is not for NVIDIA GPUs; `error` has the
 * reason.
 */
coalesce_llvm_lint_function coalesce_llvm_lint_file;

#endif
