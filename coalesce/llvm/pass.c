/* SPDX-License-Identifier: BSD-3-Clause */
#include "pass.h"

#include "apart.h"
#include "kernels.h"
#include "rewrite.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <stdlib.h>
#include <string.h>

#define HELPERS "shpool.coalesce." /* how the names of helper functions begin */

/* ---- options ---- */

static int read_block(const char *text, size_t bytes, coalesce_block *block)
{
    uint32_t extent[3] = { 0, 1, 1 };
    unsigned d = 0;

    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == 'x' && d < 2 && i > 0) {
            extent[++d] = 0;
        } else if (text[i] >= '0' && text[i] <= '9' && extent[d] < 1000) {
            extent[d] = 10 * extent[d] + (uint32_t)(text[i] - '0');
        } else {
            return 0;
        }
    }
    if (extent[0] == 0 || extent[1] == 0 || extent[2] == 0) {
        return 0;
    }
    *block = (coalesce_block){ extent[0], extent[1], extent[2], 0 };
    return 1;
}

static int read_option(const char *word, size_t bytes, coalesce_llvm_options *options)
{
    const struct {
        const char *name;
        int *value;
    } flags[] = {
        { "lint", &options->lint },
        { "remarks", &options->remarks },
        { "off", &options->off },
        { "headers", &options->headers },
        { "force", &options->plan.force },
        { "no-loads", &options->plan.no_loads },
        { "no-stores", &options->plan.no_stores },
        { "no-copies", &options->plan.no_copies },
        { "no-rows", &options->plan.no_rows },
    };

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strlen(flags[i].name) == bytes && memcmp(flags[i].name, word, bytes) == 0) {
            *flags[i].value = 1;
            return 1;
        }
    }
    return bytes > 6 && memcmp(word, "block=", 6) == 0 &&
           read_block(word + 6, bytes - 6, &options->plan.block);
}

int coalesce_llvm_options_parse(const char *text, coalesce_llvm_options *options, char *error,
                                size_t capacity)
{
    coalesce_llvm_options read = *options;

    while (*text != '\0') {
        size_t bytes = strcspn(text, ",");

        if (bytes > 0 && !read_option(text, bytes, &read)) {
            snprintf(error, capacity,
                     "unknown option '%.*s'; known: lint, remarks, headers, off, force, no-loads, "
                     "no-stores, no-copies, no-rows and block=X[xY[xZ]]",
                     (int)bytes, text);
            return 0;
        }
        text += bytes + (text[bytes] == ',');
    }
    *options = read;
    return 1;
}

/* ---- one function ---- */

static void report_plan(coalesce_report *report, const coalesce_llvm_options *options,
                        const coalesce_llvm_function *function, const coalesce_plan *plan,
                        const char *name)
{
    for (size_t i = 0; i < plan->count; i++) {
        const coalesce_group *group = &plan->group[i];
        /* what is kept here may be rewritten after the unroller, which the lint precedes */
        const coalesce_wanted wanted = { options->remarks, options->lint,
                                         group->transform == COALESCE_KEEP ? NULL
                                                                           : "the clang plugin" };
        coalesce_place inlined_at;
        coalesce_place place = coalesce_llvm_place(
            coalesce_llvm_instruction(&function->access[group->first]), &inlined_at);

        coalesce_finding_of_group(report, function->access, group, &wanted, name, &place,
                                  &inlined_at);
        free(place.file);
        free(inlined_at.file);
    }
}

static void mark(LLVMModuleRef module, LLVMValueRef function)
{
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(LLVMGetModuleContext(module),
                                                      COALESCE_LLVM_ATTRIBUTE,
                                                      strlen(COALESCE_LLVM_ATTRIBUTE), "", 0));
}

/* Report the plan; the name is that of the function. */
static void report_function(coalesce_report *report, const coalesce_llvm_options *options,
                            const coalesce_llvm_function *function, const coalesce_plan *plan,
                            const char *of)
{
    char *name = coalesce_readable_name(of, __cxa_demangle);

    if (name != NULL) {
        report_plan(report, options, function, plan, name);
    } else {
        report->out_of_memory = 1;
    }
    free(name);
}

/* With checks at run time, except in runs where one of them is impossible. */
static int make_plan(const coalesce_llvm_function *function, coalesce_options *options,
                     coalesce_plan *plan, coalesce_llvm_regions *regions)
{
    uint32_t run;

    options->asks_apart = 1;
    while (coalesce_plan_make(&function->forms.leaves, function->access, function->count, options,
                              NULL, NULL, plan)) {
        if (coalesce_llvm_find_regions(function, plan, regions, &run)) {
            return 1;
        }
        coalesce_plan_fini(plan);
        coalesce_ask_not(options, run);
    }
    return 0;
}

/* The groups that are to be rewritten, reported; with `change`, of those the ones that were. */
static size_t run_on_function(LLVMModuleRef module, LLVMValueRef of,
                              const coalesce_llvm_options *options, coalesce_report *report,
                              int change)
{
    coalesce_llvm_kernel kernel;
    coalesce_options want = options->plan;
    coalesce_llvm_function function;
    coalesce_plan plan;
    coalesce_llvm_regions regions;
    size_t bytes, rewritten = 0;

    if (!coalesce_llvm_kernel_of(module, of, &kernel)) {
        report->out_of_memory = 1;
        return 0;
    }
    want.generic = 1;
    want.no_loads |= kernel.is_off;
    want.no_stores |= kernel.is_off;
    want.no_copies |= kernel.is_off;
    want.unsupported = kernel.is_old;
    if (want.block.x == 0) {
        want.block = kernel.block;
    }
    if (!coalesce_llvm_read(&function, of, kernel.is_kernel, &want.block)) {
        report->out_of_memory = 1;
        return 0;
    }
    want.work = function.work;
    if (!function.forms.leaves.no_memory && make_plan(&function, &want, &plan, &regions)) {
        rewritten = plan.rewritten;
        if (!change) {
            report_function(report, options, &function, &plan, LLVMGetValueName2(of, &bytes));
        }
        for (uint32_t i = 0; change && i < regions.count; i++) {
            coalesce_llvm_split(&function, &plan, &regions.region[i]);
        }
        for (size_t i = 0; change && i < plan.count; i++) {
            if (plan.group[i].transform != COALESCE_KEEP &&
                !coalesce_llvm_rewrite(module, function.access, &plan.group[i])) {
                rewritten--;
            }
        }
        if (change && rewritten > 0) {
            mark(module, of);
        }
        coalesce_plan_fini(&plan);
    } else {
        report->out_of_memory = 1;
    }
    coalesce_llvm_function_fini(&function);
    return rewritten;
}

/* ---- the module ---- */

/* A kernel compiled with -O0: every index is in memory. */
static void note_unoptimized(LLVMModuleRef module, LLVMValueRef function, coalesce_report *report)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("optnone", 7);
    coalesce_llvm_kernel kernel;
    size_t bytes;

    if (!coalesce_llvm_kernel_of(module, function, &kernel)) {
        report->out_of_memory = 1;
    } else if (kernel.is_kernel &&
               LLVMGetEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind) != NULL) {
        coalesce_report_input(report, COALESCE_NOTE, LLVMGetSourceFileName(module, &bytes), 0, 0,
                              "%s was compiled with -O0, where every index is in memory: add "
                              "-Xclang -disable-O0-optnone, or use -O1 or more",
                              LLVMGetValueName2(function, &bytes));
    }
}

static size_t run_on_module(LLVMModuleRef module, const coalesce_llvm_options *options,
                            coalesce_report *report, int change)
{
    size_t rewritten = 0;

    for (LLVMValueRef function = LLVMGetFirstFunction(module); function != NULL;
         function = LLVMGetNextFunction(function)) {
        size_t bytes;

        if (!LLVMIsDeclaration(function) &&
            strncmp(LLVMGetValueName2(function, &bytes), HELPERS, strlen(HELPERS)) != 0) {
            if (!change) {
                note_unoptimized(module, function, report);
            }
            rewritten += run_on_function(module, function, options, report, change);
        }
    }
    return rewritten;
}

/* The rewrite is tried on a copy: a module that would not verify is never touched. */
static int verifies(LLVMModuleRef module, const coalesce_llvm_options *options,
                    coalesce_report *report)
{
    LLVMModuleRef copy = LLVMCloneModule(module);
    char *error = NULL;
    size_t bytes;
    int fine;

    (void)run_on_module(copy, options, report, 1);
    fine = !LLVMVerifyModule(copy, LLVMReturnStatusAction, &error);
    if (!fine) {
        coalesce_report_input(report, COALESCE_WARNING, LLVMGetSourceFileName(module, &bytes), 0, 0,
                              "the rewritten module does not verify and is left as it was: %s",
                              error);
    }
    LLVMDisposeMessage(error);
    LLVMDisposeModule(copy);
    return fine;
}

static int is_for_nvidia(LLVMModuleRef module)
{
    return strncmp(LLVMGetTarget(module), "nvptx64", 7) == 0;
}

int coalesce_llvm_run(LLVMModuleRef module, const coalesce_llvm_options *options,
                      coalesce_report *report)
{
    size_t planned;

    if (options->off || !is_for_nvidia(module)) {
        return 0;
    }
    planned = run_on_module(module, options, report, 0);
    if (planned == 0 || options->lint || options->dry || report->out_of_memory ||
        !verifies(module, options, report) || report->out_of_memory) {
        return 0;
    }
    return run_on_module(module, options, report, 1) > 0;
}

/* On a copy, which may be prepared. */
static int lint(LLVMModuleRef module, const coalesce_llvm_options *options, coalesce_report *report)
{
    LLVMModuleRef copy = LLVMCloneModule(module);

    (void)coalesce_llvm_prepare(copy, options, &report->out_of_memory);
    (void)coalesce_llvm_run(copy, options, report);
    LLVMDisposeModule(copy);
    return 0;
}

int coalesce_llvm_pass(LLVMModuleRef module, const coalesce_llvm_options *options)
{
    const coalesce_text_options text = { 0 };
    coalesce_report report;
    int changed;

    coalesce_report_init(&report);
    changed = options->lint ? lint(module, options, &report)
                            : coalesce_llvm_run(module, options, &report);
    coalesce_report_sort(&report);
    if (!options->headers && !report.out_of_memory) {
        coalesce_report_drop_headers(&report, COALESCE_REMARK, "SHPOOL_COALESCE=headers");
    }
    if (report.out_of_memory) {
        (void)fputs("shpool-coalesce: memory ran out: findings are missing\n", stderr);
    } else {
        (void)coalesce_report_text(&report, &text, stderr); /* no excerpts: it cannot fail */
    }
    coalesce_report_fini(&report);
    return changed;
}
