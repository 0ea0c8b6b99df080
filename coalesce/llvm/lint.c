/* SPDX-License-Identifier: BSD-3-Clause */
#include "lint.h"

#include "kernels.h"
#include "pass.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <stdlib.h>
#include <string.h>

/* LLVM's message without the line break at its end. */
static void keep_error(char *message, char *error, size_t capacity)
{
    snprintf(error, capacity, "%s", (message != NULL) ? message : "unknown error");
    if (error[0] != '\0' && error[strlen(error) - 1] == '\n') {
        error[strlen(error) - 1] = '\0';
    }
    LLVMDisposeMessage(message);
}

static LLVMModuleRef read_module(LLVMContextRef context, const char *path, char *error,
                                 size_t capacity)
{
    LLVMMemoryBufferRef buffer;
    LLVMModuleRef module;
    char *message = NULL;

    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message) ||
        LLVMParseIRInContext(context, buffer, &module, &message)) { /* takes the buffer */
        keep_error(message, error, capacity);
        return NULL;
    }
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message)) {
        keep_error(message, error, capacity);
        LLVMDisposeModule(module);
        return NULL;
    }
    LLVMDisposeMessage(message);
    if (strncmp(LLVMGetTarget(module), "nvptx64", 7) != 0) {
        snprintf(error, capacity,
                 "it is for '%s', not for nvptx64: device code is needed "
                 "(clang --cuda-device-only -emit-llvm)",
                 LLVMGetTarget(module));
        LLVMDisposeModule(module);
        return NULL;
    }
    return module;
}

static int is_skipped(const char *name, const coalesce_llvm_lint_request *request,
                      coalesce_report *report)
{
    char *readable = coalesce_readable_name(name, __cxa_demangle);
    int found = 0;

    report->out_of_memory |= readable == NULL;
    for (size_t i = 0; readable != NULL && i < request->skips; i++) {
        found |= coalesce_is_called(name, readable, request->skip[i]);
    }
    free(readable);
    return found;
}

/* Functions that are skipped lose their bodies. */
static void remove_skipped(LLVMModuleRef module, const coalesce_llvm_lint_request *request,
                           coalesce_report *report)
{
    size_t bytes;

    for (LLVMValueRef function = LLVMGetFirstFunction(module); function != NULL;
         function = LLVMGetNextFunction(function)) {
        if (!LLVMIsDeclaration(function) &&
            is_skipped(LLVMGetValueName2(function, &bytes), request, report)) {
            LLVMSetLinkage(function, LLVMExternalLinkage);
            while (LLVMGetFirstBasicBlock(function) != NULL) {
                LLVMDeleteBasicBlock(LLVMGetFirstBasicBlock(function));
            }
        }
    }
}

__attribute__((visibility("default"))) int
coalesce_llvm_lint_file(const char *path, const coalesce_llvm_lint_request *request,
                        coalesce_report *report, char *error, size_t capacity)
{
    coalesce_llvm_options options = {
        .plan = request->plan, .lint = request->waste, .remarks = request->remarks, .dry = 1
    };
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = read_module(context, path, error, capacity);

    if (module != NULL) {
        remove_skipped(module, request, report);
        (void)coalesce_llvm_prepare(module, &options, &report->out_of_memory);
        (void)coalesce_llvm_run(module, &options, report);
        LLVMDisposeModule(module);
    }
    LLVMContextDispose(context);
    return module != NULL;
}
