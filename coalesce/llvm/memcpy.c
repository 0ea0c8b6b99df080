/* SPDX-License-Identifier: BSD-3-Clause */
/* The assignment of a struct, which the front end writes as a call of memcpy, becomes loads and
 * stores of words, as the code generator would make of it later: then it is a record like others.
 */
#include "read.h"

#include "prepare.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

enum { WORD = 4 };

/* Is the call a memcpy of some words of a record, to and from neighbouring records? */
static int is_record_copy(coalesce_llvm_forms *forms, LLVMValueRef call, uint64_t *bytes_p)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    const char *name;
    size_t length;

    if (callee == NULL || !LLVMIsAFunction(callee)) {
        return 0;
    }
    name = LLVMGetValueName2(callee, &length);
    if (strncmp(name, "llvm.memcpy.p", 13) != 0 || !LLVMIsAConstantInt(LLVMGetOperand(call, 2)) ||
        LLVMConstIntGetZExtValue(LLVMGetOperand(call, 3)) != 0) { /* volatile */
        return 0;
    }
    *bytes_p = LLVMConstIntGetZExtValue(LLVMGetOperand(call, 2));
    for (unsigned side = 0; side < 2; side++) {
        unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
        LLVMAttributeRef align = LLVMGetCallSiteEnumAttribute(call, side + 1, kind);
        coalesce_form form = coalesce_llvm_form(forms, LLVMGetOperand(call, side));
        coalesce_lanes lanes = coalesce_lanes_of(&forms->leaves, &form, &forms->block);

        if (align == NULL || LLVMGetEnumAttributeValue(align) < WORD ||
            lanes.pattern != COALESCE_STRIDED || lanes.stride != (int64_t)*bytes_p) {
            return 0;
        }
    }
    return *bytes_p % WORD == 0 && *bytes_p <= WORD * COALESCE_MAX_WORDS;
}

static LLVMValueRef word_address(LLVMBuilderRef builder, LLVMValueRef base, unsigned word)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(base));
    LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(context), WORD * word, 0);

    return LLVMBuildGEP2(builder, LLVMInt8TypeInContext(context), base, &offset, 1, "");
}

static void expand(LLVMBuilderRef builder, LLVMValueRef call, uint64_t bytes)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(call)));
    LLVMValueRef word[COALESCE_MAX_WORDS], store;
    unsigned words = (unsigned)(bytes / WORD);

    LLVMPositionBuilderBefore(builder, call);
    LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(call));
    for (unsigned i = 0; i < words; i++) {
        word[i] =
            LLVMBuildLoad2(builder, i32, word_address(builder, LLVMGetOperand(call, 1), i), "");
        LLVMSetAlignment(word[i], WORD);
    }
    for (unsigned i = 0; i < words; i++) {
        store = LLVMBuildStore(builder, word[i], word_address(builder, LLVMGetOperand(call, 0), i));
        LLVMSetAlignment(store, WORD);
    }
    LLVMInstructionEraseFromParent(call);
}

int coalesce_llvm_expand_copies(LLVMValueRef function, int is_kernel, const coalesce_block *block,
                                int *out_of_memory_p)
{
    LLVMBuilderRef builder = NULL;
    coalesce_llvm_forms forms;
    int changed = 0;

    coalesce_llvm_forms_init(&forms, function, is_kernel, block);
    for (LLVMBasicBlockRef at = LLVMGetFirstBasicBlock(function); at != NULL;
         at = LLVMGetNextBasicBlock(at)) {
        LLVMValueRef next;

        for (LLVMValueRef i = LLVMGetFirstInstruction(at); i != NULL; i = next) {
            uint64_t bytes;

            next = LLVMGetNextInstruction(i);
            if (LLVMIsACallInst(i) && is_record_copy(&forms, i, &bytes)) {
                builder = (builder != NULL)
                              ? builder
                              : LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(i)));
                expand(builder, i, bytes);
                changed = 1;
            }
        }
    }
    if (builder != NULL) {
        LLVMDisposeBuilder(builder);
    }
    *out_of_memory_p |= forms.leaves.no_memory;
    coalesce_llvm_forms_fini(&forms);
    return changed;
}
