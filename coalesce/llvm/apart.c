/* SPDX-License-Identifier: BSD-3-Clause */
#include "apart.h"

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>

#define MOST_DEEP 16u /* operands of operands of an address */

static LLVMValueRef instruction_of(const coalesce_llvm_function *function, uint32_t access)
{
    return coalesce_llvm_instruction(&function->access[access]);
}

static int is_in(const coalesce_llvm_region *region, LLVMValueRef value)
{
    LLVMValueRef end = LLVMGetNextInstruction(region->last);

    if (!LLVMIsAInstruction(value) ||
        LLVMGetInstructionParent(value) != LLVMGetInstructionParent(region->first)) {
        return 0;
    }
    for (LLVMValueRef i = region->first; i != end; i = LLVMGetNextInstruction(i)) {
        if (i == value) {
            return 1;
        }
    }
    return 0;
}

/* ---- addresses that are computed within the region ---- */

static int may_come_first(LLVMValueRef instruction)
{
    return LLVMIsABinaryOperator(instruction) || LLVMIsACastInst(instruction) ||
           LLVMIsAGetElementPtrInst(instruction) || LLVMIsASelectInst(instruction) ||
           LLVMIsAICmpInst(instruction);
}

/* 1: the value is there at the region's start, or can be computed there. */
static int may_bring(const coalesce_llvm_region *region, LLVMValueRef value, unsigned depth)
{
    if (!is_in(region, value)) {
        return 1;
    }
    if (depth == MOST_DEEP || !may_come_first(value)) {
        return 0;
    }
    for (int i = 0; i < LLVMGetNumOperands(value); i++) {
        if (!may_bring(region, LLVMGetOperand(value, (unsigned)i), depth + 1)) {
            return 0;
        }
    }
    return 1;
}

/* Move the instructions that compute the value to before the region. */
static void bring(LLVMBuilderRef builder, const coalesce_llvm_region *region, LLVMValueRef value)
{
    if (!is_in(region, value)) {
        return;
    }
    for (int i = 0; i < LLVMGetNumOperands(value); i++) {
        bring(builder, region, LLVMGetOperand(value, (unsigned)i));
    }
    LLVMInstructionRemoveFromParent(value);
    LLVMPositionBuilderBefore(builder, region->first);
    LLVMSetCurrentDebugLocation2(builder, NULL); /* the instruction keeps its own */
    LLVMInsertIntoBuilder(builder, value);
}

/* ---- regions ---- */

static coalesce_llvm_region region_of(const coalesce_llvm_function *function,
                                      const coalesce_plan *plan, uint32_t run)
{
    uint32_t first = UINT32_MAX, last = 0;

    for (size_t i = 0; i < plan->count; i++) {
        const coalesce_group *group = &plan->group[i];

        if (group->transform != COALESCE_KEEP && function->access[group->first].run == run) {
            first = (group->first < first) ? group->first : first;
            last = (group->last > last) ? group->last : last;
        }
    }
    return (coalesce_llvm_region){ run, instruction_of(function, first),
                                   instruction_of(function, last) };
}

static int may_be_copied(const coalesce_llvm_region *region)
{
    LLVMValueRef end = LLVMGetNextInstruction(region->last);

    for (LLVMValueRef i = region->first; i != end; i = LLVMGetNextInstruction(i)) {
        if (LLVMIsAAllocaInst(i) || LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMTokenTypeKind) {
            return 0;
        }
    }
    return 1;
}

static int add_question(const coalesce_llvm_function *function, const coalesce_plan *plan,
                        const coalesce_apart *apart, coalesce_llvm_regions *regions)
{
    uint32_t run = function->access[apart->a].run;
    coalesce_llvm_region *region = NULL;

    for (uint32_t i = 0; i < regions->count; i++) {
        region = (regions->region[i].run == run) ? &regions->region[i] : region;
    }
    if (region == NULL) {
        region = &regions->region[regions->count++];
        *region = region_of(function, plan, run);
        if (!may_be_copied(region)) {
            return 0;
        }
    }
    return may_bring(region, coalesce_llvm_pointer(instruction_of(function, apart->a)), 0) &&
           may_bring(region, coalesce_llvm_pointer(instruction_of(function, apart->b)), 0);
}

int coalesce_llvm_find_regions(const coalesce_llvm_function *function, const coalesce_plan *plan,
                               coalesce_llvm_regions *regions, uint32_t *run_p)
{
    regions->count = 0;
    for (uint32_t i = 0; i < plan->aparts; i++) {
        *run_p = function->access[plan->apart[i].a].run;
        if (!add_question(function, plan, &plan->apart[i], regions)) {
            return 0;
        }
    }
    return 1;
}

/* ---- output ---- */

static LLVMValueRef address(LLVMBuilderRef builder, LLVMValueRef instruction)
{
    LLVMValueRef pointer = coalesce_llvm_pointer(instruction);
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(pointer));
    LLVMTypeRef generic = LLVMPointerTypeInContext(context, 0);

    if (LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) != 0) {
        pointer = LLVMBuildAddrSpaceCast(builder, pointer, generic, "");
    }
    return LLVMBuildPtrToInt(builder, pointer, LLVMInt64TypeInContext(context), "");
}

/* True if b - a is in -bytes+1 .. bytes-1. */
static LLVMValueRef question(LLVMBuilderRef builder, LLVMValueRef a, LLVMValueRef b, int64_t bytes)
{
    LLVMValueRef gap = LLVMBuildSub(builder, address(builder, b), address(builder, a), "");
    LLVMTypeRef i64 = LLVMTypeOf(gap);

    gap = LLVMBuildAdd(builder, gap, LLVMConstInt(i64, (uint64_t)bytes - 1, 0), "");
    return LLVMBuildICmp(builder, LLVMIntULT, gap,
                         LLVMConstInt(i64, 2 * (uint64_t)bytes - 1, 0), "");
}

/* Move [first, end) to the block's end; end NULL: to the last instruction. */
static void move(LLVMBuilderRef builder, LLVMValueRef first, LLVMValueRef end,
                 LLVMBasicBlockRef block)
{
    LLVMPositionBuilderAtEnd(builder, block);
    LLVMSetCurrentDebugLocation2(builder, NULL);
    while (first != end) {
        LLVMValueRef next = LLVMGetNextInstruction(first);

        LLVMInstructionRemoveFromParent(first);
        LLVMInsertIntoBuilder(builder, first);
        first = next;
    }
}

/* A user of the value in another block, apart from the phi; NULL: there is none (any more). */
static LLVMValueRef user_elsewhere(LLVMValueRef value, LLVMValueRef phi)
{
    for (LLVMUseRef use = LLVMGetFirstUse(value); use != NULL; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);

        if (user != phi && LLVMGetInstructionParent(user) != LLVMGetInstructionParent(value)) {
            return user;
        }
    }
    return NULL;
}

/* Let users of the value in other blocks use a phi in `joined`, of it and of its copy. */
static void join(LLVMBuilderRef builder, LLVMValueRef value, LLVMValueRef copy,
                 LLVMBasicBlockRef joined)
{
    LLVMBasicBlockRef from[2] = { LLVMGetInstructionParent(value), LLVMGetInstructionParent(copy) };
    LLVMValueRef either[2] = { value, copy };
    LLVMValueRef user = user_elsewhere(value, NULL);
    LLVMValueRef phi;

    if (user == NULL) {
        return;
    }
    LLVMPositionBuilderAtEnd(builder, joined);
    phi = LLVMBuildPhi(builder, LLVMTypeOf(value), "");
    LLVMAddIncoming(phi, either, from, 2);
    for (; user != NULL; user = user_elsewhere(value, phi)) {
        for (int i = 0; i < LLVMGetNumOperands(user); i++) {
            if (LLVMGetOperand(user, (unsigned)i) == value) {
                LLVMSetOperand(user, (unsigned)i, phi);
            }
        }
    }
}

/* Copy the block's instructions to the end of `to`; then join both in `joined`. */
static void copy(LLVMBuilderRef builder, LLVMBasicBlockRef block, LLVMBasicBlockRef to,
                 LLVMBasicBlockRef joined)
{
    LLVMValueRef i, k;

    LLVMPositionBuilderAtEnd(builder, to);
    LLVMSetCurrentDebugLocation2(builder, NULL);
    for (i = LLVMGetFirstInstruction(block); i != NULL; i = LLVMGetNextInstruction(i)) {
        LLVMInsertIntoBuilder(builder, LLVMInstructionClone(i));
    }
    for (i = LLVMGetFirstInstruction(block), k = LLVMGetFirstInstruction(to); i != NULL;
         i = LLVMGetNextInstruction(i), k = LLVMGetNextInstruction(k)) {
        LLVMValueRef user = k;

        for (; user != NULL; user = LLVMGetNextInstruction(user)) { /* users come after */
            for (int o = 0; o < LLVMGetNumOperands(user); o++) {
                if (LLVMGetOperand(user, (unsigned)o) == i) {
                    LLVMSetOperand(user, (unsigned)o, k);
                }
            }
        }
        join(builder, i, k, joined);
    }
}

/* The block is the tail, so that its successors' phis stay as they are.  `joined` has the new phis:
 * with -g, variables' values may be described at the tail's start, where no phi may follow. */
void coalesce_llvm_split(const coalesce_llvm_function *function, const coalesce_plan *plan,
                         const coalesce_llvm_region *region)
{
    LLVMBasicBlockRef tail = LLVMGetInstructionParent(region->first);
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(LLVMGetBasicBlockTerminator(tail)));
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(context, tail, "");
    LLVMBasicBlockRef moved = LLVMInsertBasicBlockInContext(context, tail, "");
    LLVMBasicBlockRef plain = LLVMInsertBasicBlockInContext(context, tail, "");
    LLVMBasicBlockRef joined = LLVMInsertBasicBlockInContext(context, tail, "");
    LLVMValueRef end = LLVMGetNextInstruction(region->last);
    LLVMValueRef near = NULL, rest;

    for (uint32_t i = 0; i < plan->aparts; i++) {
        if (function->access[plan->apart[i].a].run == region->run) {
            bring(builder, region,
                  coalesce_llvm_pointer(instruction_of(function, plan->apart[i].a)));
            bring(builder, region,
                  coalesce_llvm_pointer(instruction_of(function, plan->apart[i].b)));
        }
    }
    move(builder, LLVMGetFirstInstruction(tail), region->first, head);
    move(builder, region->first, end, moved);
    rest = LLVMGetBasicBlockTerminator(tail);
    LLVMInstructionRemoveFromParent(rest); /* or its successors' phis would change, too */
    LLVMReplaceAllUsesWith(LLVMBasicBlockAsValue(tail), LLVMBasicBlockAsValue(head));
    LLVMPositionBuilderAtEnd(builder, tail);
    LLVMSetCurrentDebugLocation2(builder, NULL);
    LLVMInsertIntoBuilder(builder, rest);
    copy(builder, moved, plain, joined);

    LLVMPositionBuilderAtEnd(builder, head);
    LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(region->first));
    for (uint32_t i = 0; i < plan->aparts; i++) {
        const coalesce_apart *apart = &plan->apart[i];

        if (function->access[apart->a].run == region->run) {
            LLVMValueRef also = question(builder, instruction_of(function, apart->a),
                                         instruction_of(function, apart->b), apart->bytes);

            near = (near != NULL) ? LLVMBuildOr(builder, near, also, "") : also;
        }
    }
    (void)LLVMBuildCondBr(builder, near, plain, moved);
    LLVMPositionBuilderAtEnd(builder, moved);
    (void)LLVMBuildBr(builder, joined);
    LLVMPositionBuilderAtEnd(builder, plain);
    (void)LLVMBuildBr(builder, joined);
    LLVMPositionBuilderAtEnd(builder, joined);
    (void)LLVMBuildBr(builder, tail);
    LLVMDisposeBuilder(builder);
}
