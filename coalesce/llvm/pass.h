/* SPDX-License-Identifier: BSD-3-Clause */
/* The pass: reads a module, reports findings, and rewrites the records that pay. */
#ifndef COALESCE_LLVM_PASS_H
#define COALESCE_LLVM_PASS_H

#include "coalesce/plan/finding.h"

#include <llvm-c/Types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of the pass; zeroed: rewrite silently. */
typedef struct coalesce_llvm_options {
    coalesce_options plan;
    int lint;    /**< report wasted sectors, rewrite nothing */
    int dry;     /**< rewrite nothing */
    int remarks; /**< print the rewritten records, and why others were kept */
    int headers; /**< also print what lies in headers of the system and of shpool */
    int off;     /**< do nothing at all */
} coalesce_llvm_options;

/** Marks the functions that were rewritten, for the passes that clean up. */
#define COALESCE_LLVM_ATTRIBUTE "shpool-coalesce"

/**
 * Read options: words separated by commas, "" for none.
 *
 *   lint  remarks  headers  off  force  no-loads  no-stores  no-copies  no-rows  block=X[xY[xZ]]
 *
 * 0: a word is not one of these; `error` says which, and options are as they were.
 */
int coalesce_llvm_options_parse(const char *text, coalesce_llvm_options *options, char *error,
                                size_t capacity);

/**
 * Analyse a module for NVIDIA GPUs (others are ignored) and, unless options->lint, rewrite it.
 * Findings are added to the report.  1: the module has changed; call the always-inliner.  If the
 * rewritten module does not verify, the original is kept, and a finding says so; likewise if memory
 * runs out (report->out_of_memory).
 */
int coalesce_llvm_run(LLVMModuleRef module, const coalesce_llvm_options *options,
                      coalesce_report *report);

/**
 * Prepare a module so that the rewrite finds whole records and tiles; call it before the unroller.
 * memcpy of a record becomes loads and stores, and loops in which each thread walks along its own
 * row are marked for unrolling.  1: the module has changed.  *out_of_memory_p is set to 1 if memory
 * ran out, and functions are as they were.
 */
int coalesce_llvm_prepare(LLVMModuleRef module, const coalesce_llvm_options *options,
                          int *out_of_memory_p);

/** The pass as a plugin runs it: coalesce_llvm_run() and findings to stderr. */
int coalesce_llvm_pass(LLVMModuleRef module, const coalesce_llvm_options *options);

#ifdef __cplusplus
}
#endif

#endif
