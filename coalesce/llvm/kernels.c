/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

enum { CONVENTION_PTX_KERNEL = 71 };

/* ---- !nvvm.annotations: { function, name, value, name, value, ... } ---- */

static void read_property(coalesce_llvm_kernel *kernel, const char *name, unsigned bytes,
                          LLVMValueRef value)
{
    static const char *const dimension[] = { "reqntidx", "reqntidy", "reqntidz" };
    const uint32_t most = (kernel->block.most == 0) ? 1 : kernel->block.most;
    uint32_t *const extent[] = { &kernel->block.x, &kernel->block.y, &kernel->block.z };

    if (value == NULL || !LLVMIsAConstantInt(value)) {
        return;
    }
    if (bytes == 6 && memcmp(name, "kernel", 6) == 0) {
        kernel->is_kernel |= LLVMConstIntGetZExtValue(value) != 0;
    }
    for (unsigned d = 0; d < 3; d++) {
        if (bytes == 8 && memcmp(name, dimension[d], 8) == 0) {
            *extent[d] = (uint32_t)LLVMConstIntGetZExtValue(value);
        }
    }
    if (bytes == 8 && memcmp(name, "maxntid", 7) == 0) {
        kernel->block.most = most * (uint32_t)LLVMConstIntGetZExtValue(value);
    }
}

/* 0: memory ran out. */
static int read_annotation(coalesce_llvm_kernel *kernel, LLVMValueRef node, LLVMValueRef function)
{
    unsigned count = LLVMGetMDNodeNumOperands(node);
    LLVMValueRef *operand = calloc(count + 1u, sizeof(*operand));

    if (operand == NULL) {
        return 0;
    }
    LLVMGetMDNodeOperands(node, operand);
    for (unsigned i = 1; count > 0 && operand[0] == function && i + 1 < count; i += 2) {
        unsigned bytes = 0;
        const char *name = (operand[i] != NULL) ? LLVMGetMDString(operand[i], &bytes) : NULL;

        if (name != NULL) {
            read_property(kernel, name, bytes, operand[i + 1]);
        }
    }
    free(operand);
    return 1;
}

/* ---- @llvm.global.annotations: { function, text, ... } ---- */

static int is_off_text(LLVMValueRef text)
{
    size_t bytes = 0;
    const char *start;

    while (text != NULL && LLVMIsAConstantExpr(text)) { /* casts between address spaces */
        text = LLVMGetOperand(text, 0);
    }
    if (text == NULL || !LLVMIsAGlobalVariable(text) || LLVMGetInitializer(text) == NULL ||
        !LLVMIsAConstantDataSequential(LLVMGetInitializer(text))) {
        return 0;
    }
    start = LLVMGetAsString(LLVMGetInitializer(text), &bytes);
    return bytes >= 19 && memcmp(start, "shpool-coalesce=off", 19) == 0;
}

static int is_off(LLVMModuleRef module, LLVMValueRef function)
{
    LLVMValueRef list = LLVMGetNamedGlobal(module, "llvm.global.annotations");

    if (list == NULL || LLVMGetInitializer(list) == NULL) {
        return 0;
    }
    list = LLVMGetInitializer(list);
    for (int i = 0; i < LLVMGetNumOperands(list); i++) {
        LLVMValueRef entry = LLVMGetOperand(list, (unsigned)i), of;

        if (!LLVMIsAConstantStruct(entry) || LLVMGetNumOperands(entry) < 2) {
            continue;
        }
        of = LLVMGetOperand(entry, 0);
        while (LLVMIsAConstantExpr(of)) {
            of = LLVMGetOperand(of, 0);
        }
        if (of == function && is_off_text(LLVMGetOperand(entry, 1))) {
            return 1;
        }
    }
    return 0;
}

/* "sm_61" and so on; if unspecified: recent enough. */
static int is_old(LLVMValueRef function)
{
    static const char kind[] = "target-cpu";
    LLVMAttributeRef cpu = LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind,
                                                         sizeof(kind) - 1);
    const char *text;
    unsigned bytes;

    if (cpu == NULL) {
        return 0;
    }
    text = LLVMGetStringAttributeValue(cpu, &bytes);
    return bytes >= 4 && memcmp(text, "sm_", 3) == 0 && strtoul(text + 3, NULL, 10) < 70;
}

int coalesce_llvm_kernel_of(LLVMModuleRef module, LLVMValueRef function,
                            coalesce_llvm_kernel *kernel)
{
    unsigned count = LLVMGetNamedMetadataNumOperands(module, "nvvm.annotations");
    LLVMValueRef *node = calloc(count + 1u, sizeof(*node));
    int fine = node != NULL;

    *kernel = (coalesce_llvm_kernel){ 0 };
    if (fine) {
        LLVMGetNamedMetadataOperands(module, "nvvm.annotations", node);
    }
    for (unsigned i = 0; fine && i < count; i++) {
        fine = read_annotation(kernel, node[i], function);
    }
    free(node);
    kernel->is_kernel |= LLVMGetFunctionCallConv(function) == CONVENTION_PTX_KERNEL;
    kernel->is_off = is_off(module, function);
    kernel->is_old = is_old(function);
    return fine;
}
