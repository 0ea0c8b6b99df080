/* SPDX-License-Identifier: BSD-3-Clause */
/* The emitter.  Loads move up to the first of their group, stores and copies down to the last one,
 * where every address and value that they need is there: a group is in one block. */
#include "rewrite.h"

#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <stdlib.h>
#include <string.h>

/* State of the functions below. */
typedef struct emitter {
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMBuilderRef builder;
    LLVMTypeRef i32;
    const coalesce_access *access;
    const coalesce_group *group;
    coalesce_ir_shape shape;
} emitter;

/* ---- shapes ---- */

static int64_t offset_of(const coalesce_access *access, uint32_t from, uint32_t to)
{
    int64_t offset = 0;

    (void)coalesce_form_distance(&access[to].address, &access[from].address, &offset);
    return offset;
}

/* A copy's accesses in program order, unless the thread loads all before it stores. */
static void set_order(const coalesce_access *access, const coalesce_group *group,
                      coalesce_ir_shape *shape)
{
    unsigned char is_store = 0;
    int in_turn = 0;

    for (uint32_t i = group->first; i <= group->last; i++) {
        for (uint32_t k = 0; k < group->count; k++) {
            if (group->member[k] == i || group->source[k] == i) {
                int64_t at = offset_of(access, group->member[0], group->member[k]);

                in_turn |= is_store && group->source[k] == i;
                is_store = group->member[k] == i;
                shape->part[shape->parts++] = (coalesce_ir_part){
                    is_store, (unsigned char)at, (unsigned char)access[i].bytes
                };
            }
        }
    }
    if ((!in_turn || shape->record.is_disjoint) && !shape->record.is_narrow) {
        shape->parts = 0;
    }
}

/* Where fields narrower than a word begin. */
static void set_narrow(const coalesce_access *access, const coalesce_group *group,
                       coalesce_ir_shape *shape)
{
    for (uint32_t k = 0; k < group->count; k++) {
        int64_t at = offset_of(access, group->member[0], group->member[k]);

        if (access[group->member[k]].bytes % 4 != 0) {
            shape->narrow[at / 4] |= (unsigned char)(1 << at % 4);
        }
    }
}

static coalesce_ir_shape shape_of(const coalesce_access *access, const coalesce_group *group)
{
    coalesce_ir_shape shape = { .record = coalesce_record_of(access, group) };

    if (group->kind == COALESCE_COPIES) {
        set_order(access, group, &shape);
    } else {
        set_narrow(access, group, &shape);
    }
    return shape;
}

/* ---- helpers ---- */

/* clang's contexts drop the names of values, and then refuse to read text. */
static LLVMModuleRef parse(LLVMContextRef context, const char *text, const char *name)
{
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), name);
    LLVMBool drops = LLVMContextShouldDiscardValueNames(context);
    LLVMModuleRef module = NULL;
    char *error = NULL;

    LLVMContextSetDiscardValueNames(context, 0);
    if (LLVMParseIRInContext(context, buffer, &module, &error)) { /* takes the buffer */
        LLVMDisposeMessage(error);
        module = NULL;
    }
    LLVMContextSetDiscardValueNames(context, drops);
    return module;
}

/* The shape's function in the module, made if it is not there; NULL: that failed. */
static LLVMValueRef helper(LLVMModuleRef module, const coalesce_ir_shape *shape)
{
    char name[COALESCE_IR_NAME];
    LLVMValueRef function;
    LLVMModuleRef helpers;
    char *text;

    coalesce_ir_name(shape, name);
    function = LLVMGetNamedFunction(module, name);
    if (function != NULL) {
        return function;
    }
    text = coalesce_ir_text(shape, LLVMGetDataLayoutStr(module), LLVMGetTarget(module));
    if (text == NULL) {
        return NULL;
    }
    helpers = parse(LLVMGetModuleContext(module), text, name);
    free(text);
    if (helpers == NULL || LLVMLinkModules2(module, helpers)) { /* takes the helpers' module */
        return NULL;
    }
    function = LLVMGetNamedFunction(module, name);
    LLVMSetLinkage(function, LLVMInternalLinkage); /* after linking, which drops unused ones */
    return function;
}

/* ---- values ---- */

static LLVMValueRef number(emitter *e, int64_t value)
{
    return LLVMConstInt(LLVMInt64TypeInContext(e->context), (unsigned long long)value, 1);
}

/* The address of member[0] of a side, generic, made from that of the access at `place`. */
static LLVMValueRef record_pointer(emitter *e, uint32_t lowest, uint32_t place)
{
    LLVMValueRef pointer = coalesce_llvm_pointer(coalesce_llvm_instruction(&e->access[place]));
    LLVMValueRef offset = number(e, offset_of(e->access, place, lowest));

    if (LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) != 0) {
        pointer = LLVMBuildAddrSpaceCast(e->builder, pointer,
                                         LLVMPointerTypeInContext(e->context, 0), "");
    }
    return LLVMBuildGEP2(e->builder, LLVMInt8TypeInContext(e->context), pointer, &offset, 1, "");
}

/* A value of the type, made of words. */
static LLVMValueRef from_words(emitter *e, const LLVMValueRef *word, unsigned count,
                               LLVMTypeRef type)
{
    LLVMValueRef value = word[0];

    if (count > 1) {
        value = LLVMGetPoison(LLVMVectorType(e->i32, count));
        for (unsigned i = 0; i < count; i++) {
            value =
                LLVMBuildInsertElement(e->builder, value, word[i], LLVMConstInt(e->i32, i, 0), "");
        }
    }
    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind) {
        value = LLVMBuildBitCast(e->builder, value, LLVMInt64TypeInContext(e->context), "");
        return LLVMBuildIntToPtr(e->builder, value, type, "");
    }
    return LLVMBuildBitCast(e->builder, value, type, "");
}

static void to_words(emitter *e, LLVMValueRef value, unsigned count, LLVMValueRef *word)
{
    LLVMTypeRef words = (count > 1) ? LLVMVectorType(e->i32, count) : e->i32;

    if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind) {
        value = LLVMBuildPtrToInt(e->builder, value, LLVMInt64TypeInContext(e->context), "");
    }
    value = LLVMBuildBitCast(e->builder, value, words, "");
    for (unsigned i = 0; i < count; i++) {
        word[i] = (count == 1)
                      ? value
                      : LLVMBuildExtractElement(e->builder, value, LLVMConstInt(e->i32, i, 0), "");
    }
}

/* A value of the type, narrower than a word, from the word's bits `at` on. */
static LLVMValueRef from_part(emitter *e, LLVMValueRef word, unsigned at, unsigned bytes,
                              LLVMTypeRef type)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(e->context, 8 * bytes);
    LLVMValueRef value = LLVMBuildLShr(e->builder, word, LLVMConstInt(e->i32, at, 0), "");

    value = LLVMBuildTrunc(e->builder, value, bits, "");
    return LLVMBuildBitCast(e->builder, value, type, "");
}

/* The word with such a value from its bits `at` on, which were 0. */
static LLVMValueRef with_part(emitter *e, LLVMValueRef word, unsigned at, unsigned bytes,
                              LLVMValueRef value)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(e->context, 8 * bytes);

    value = LLVMBuildBitCast(e->builder, value, bits, "");
    value = LLVMBuildZExt(e->builder, value, e->i32, "");
    value = LLVMBuildShl(e->builder, value, LLVMConstInt(e->i32, at, 0), "");
    return LLVMBuildOr(e->builder, word, value, "");
}

/* ---- groups ---- */

static void position(emitter *e, uint32_t access)
{
    LLVMValueRef instruction = coalesce_llvm_instruction(&e->access[access]);

    LLVMPositionBuilderBefore(e->builder, instruction);
    LLVMSetCurrentDebugLocation2(e->builder, LLVMInstructionGetDebugLoc(instruction));
}

static LLVMValueRef call(emitter *e, LLVMValueRef function, LLVMValueRef *argument, unsigned count)
{
    LLVMTypeRef type = LLVMGlobalGetValueType(function);

    return LLVMBuildCall2(e->builder, type, function, argument, count, "");
}

static void emit_loads(emitter *e, LLVMValueRef function)
{
    LLVMValueRef record, word[COALESCE_MAX_WORDS], pointer;

    position(e, e->group->first);
    pointer = record_pointer(e, e->group->member[0], e->group->first);
    record = call(e, function, &pointer, 1);
    for (unsigned i = 0; i < e->shape.record.words; i++) {
        word[i] = LLVMBuildExtractValue(e->builder, record, i, "");
    }
    for (uint32_t k = 0; k < e->group->count; k++) {
        const coalesce_access *member = &e->access[e->group->member[k]];
        LLVMValueRef load = coalesce_llvm_instruction(member);
        LLVMTypeRef type = LLVMTypeOf(load);
        int64_t offset = offset_of(e->access, e->group->member[0], e->group->member[k]);

        if (member->bytes % 4 != 0) {
            LLVMReplaceAllUsesWith(load, from_part(e, word[offset / 4], 8 * (unsigned)(offset % 4),
                                                   member->bytes, type));
            continue;
        }
        LLVMReplaceAllUsesWith(load, from_words(e, &word[offset / 4], member->bytes / 4, type));
    }
}

static void emit_stores(emitter *e, LLVMValueRef function)
{
    LLVMValueRef argument[1 + COALESCE_MAX_WORDS];

    position(e, e->group->last);
    argument[0] = record_pointer(e, e->group->member[0], e->group->last);
    for (unsigned i = 0; i < e->shape.record.words; i++) {
        argument[1 + i] = LLVMConstInt(e->i32, 0, 0); /* of holes, which are not stored */
    }
    for (uint32_t k = 0; k < e->group->count; k++) {
        const coalesce_access *member = &e->access[e->group->member[k]];
        LLVMValueRef value = LLVMGetOperand(coalesce_llvm_instruction(member), 0);
        int64_t offset = offset_of(e->access, e->group->member[0], e->group->member[k]);

        if (member->bytes % 4 != 0) {
            LLVMValueRef *word = &argument[1 + offset / 4];

            *word = with_part(e, *word, 8 * (unsigned)(offset % 4), member->bytes, value);
            continue;
        }
        to_words(e, value, member->bytes / 4, &argument[1 + offset / 4]);
    }
    (void)call(e, function, argument, 1 + e->shape.record.words);
}

/* The last load and the last store in program order: their addresses are there at the last. */
static void emit_copy(emitter *e, LLVMValueRef function)
{
    LLVMValueRef argument[2];

    position(e, e->group->last);
    argument[0] = record_pointer(e, e->group->member[0], e->group->last);
    argument[1] = record_pointer(e, e->group->source[0], e->group->source[0]);
    (void)call(e, function, argument, 2);
}

static void erase(const coalesce_access *access, const uint32_t *member, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        LLVMInstructionEraseFromParent(coalesce_llvm_instruction(&access[member[k]]));
    }
}

int coalesce_llvm_rewrite(LLVMModuleRef module, const coalesce_access *access,
                          const coalesce_group *group)
{
    emitter e = { .module = module, .access = access, .group = group,
                  .shape = shape_of(access, group) };
    LLVMValueRef function = helper(module, &e.shape);

    if (function == NULL) {
        return 0;
    }
    e.context = LLVMGetModuleContext(module);
    e.i32 = LLVMInt32TypeInContext(e.context);
    e.builder = LLVMCreateBuilderInContext(e.context);
    switch (group->kind) {
    case COALESCE_LOADS:
        emit_loads(&e, function);
        break;
    case COALESCE_STORES:
        emit_stores(&e, function);
        break;
    case COALESCE_COPIES:
        emit_copy(&e, function);
        break;
    }
    LLVMDisposeBuilder(e.builder);
    erase(access, group->member, group->count);
    if (group->source != NULL) {
        erase(access, group->source, group->count);
    }
    return 1;
}
