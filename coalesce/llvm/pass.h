/* SPDX-License-Identifier: BSD-3-Clause */
/* The pass: a module is read, findings are made, and what pays is rewritten. */
#ifndef COALESCE_LLVM_PASS_H
#define COALESCE_LLVM_PASS_H

#include "coalesce/plan/finding.h"

#include <llvm-c/Types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is wanted of the pass; zeroed: rewrite silently. */
typedef struct coalesce_llvm_options {
    coalesce_options plan;
    int lint;    /**< say what wastes sectors, rewrite nothing */
    int dry;     /**< rewrite nothing */
    int remarks; /**< print what was rewritten, and what was kept and why */
    int off;     /**< do nothing at all */
} coalesce_llvm_options;

/** Marks the functions that were rewritten, for the passes that clean up. */
#define COALESCE_LLVM_ATTRIBUTE "shpool-coalesce"

/**
 * Read options: words separated by commas, "" for none.
 *
 *   lint  remarks  off  force  no-loads  no-stores  no-copies  no-rows  block=X[xY[xZ]]
 *
 * 0: a word is not one of these; `error` says which, and options are as they were.
 */
int coalesce_llvm_options_parse(const char *text, coalesce_llvm_options *options, char *error,
                                size_t capacity);

/**
 * Analyse a module for NVIDIA GPUs (others are left alone) and, unless options->lint, rewrite it.
 * Findings are added to the report.  1: the module has changed; call the always-inliner.  If the
 * rewritten module would not verify, it is left as it was, and a finding says so.
 */
int coalesce_llvm_run(LLVMModuleRef module, const coalesce_llvm_options *options,
                      coalesce_report *report);

/**
 * What the rewrite needs to find whole records and tiles, to be called before the unroller: memcpy
 * of a record becomes loads and stores, and the unroller is asked for loops in which each thread
 * walks along a row of its own.  1: the module has changed.
 */
int coalesce_llvm_prepare(LLVMModuleRef module, const coalesce_llvm_options *options);

/** The pass as a plugin runs it: coalesce_llvm_run() and findings to stderr. */
int coalesce_llvm_pass(LLVMModuleRef module, const coalesce_llvm_options *options);

#ifdef __cplusplus
}
#endif

#endif
