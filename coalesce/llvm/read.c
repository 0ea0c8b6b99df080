/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader: loads and stores of a function, with the properties that the plan needs.
 *
 * Only what runs with -O1 or more is worth reading: at -O0 every index goes through a local
 * variable.  A run ends at the end of a block and at every instruction that memory accesses must
 * not pass, or that may not return. */
#include "read.h"

#include "flow.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

enum { AS_GLOBAL = 1, AS_SHARED = 3, AS_CONST = 4, AS_LOCAL = 5, AS_PARAM = 101 };

LLVMValueRef coalesce_llvm_instruction(const coalesce_access *access)
{
    return (LLVMValueRef)(uintptr_t)access->instruction;
}

LLVMValueRef coalesce_llvm_pointer(LLVMValueRef instruction)
{
    return LLVMGetOperand(instruction, LLVMIsAStoreInst(instruction) ? 1 : 0);
}

LLVMTypeRef coalesce_llvm_type(LLVMValueRef instruction)
{
    return LLVMTypeOf(LLVMIsAStoreInst(instruction) ? LLVMGetOperand(instruction, 0) : instruction);
}

/* ---- attributes of one access ---- */

static coalesce_space space_of_number(unsigned number)
{
    switch (number) {
    case AS_GLOBAL:
        return COALESCE_GLOBAL;
    case AS_SHARED:
        return COALESCE_SHARED;
    case AS_CONST:
        return COALESCE_CONST;
    case AS_LOCAL:
    case AS_PARAM:
        return COALESCE_LOCAL;
    default:
        return COALESCE_GENERIC;
    }
}

/* A generic address is known to be global if it comes from a kernel's pointer argument: the host
 * cannot pass local or shared addresses.  (A `__device__` function's arguments are not known.) */
static coalesce_space space_of(const coalesce_llvm_function *f, LLVMValueRef pointer,
                               LLVMValueRef base)
{
    coalesce_space space = space_of_number(LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)));

    if (space != COALESCE_GENERIC || base == NULL) {
        return space;
    }
    if (LLVMIsAAllocaInst(base)) {
        return COALESCE_LOCAL;
    }
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(base)) != 0) {
        return space_of_number(LLVMGetPointerAddressSpace(LLVMTypeOf(base))); /* cast to generic */
    }
    if (LLVMIsAArgument(base)) {
        unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);

        for (unsigned i = 0; i < LLVMCountParams(f->forms.function); i++) {
            if (LLVMGetParam(f->forms.function, i) == base &&
                LLVMGetEnumAttributeAtIndex(f->forms.function, i + 1, byval) != NULL) {
                return COALESCE_LOCAL; /* the argument itself */
            }
        }
        return f->forms.is_kernel ? COALESCE_GLOBAL : COALESCE_GENERIC;
    }
    return space;
}

/* Objects that no other known object overlaps: noalias arguments.  Not variables: the host may pass
 * a variable's address to the kernel. */
static int is_alone(const coalesce_llvm_function *f, LLVMValueRef base)
{
    unsigned noalias = LLVMGetEnumAttributeKindForName("noalias", 7);

    for (unsigned i = 0; i < LLVMCountParams(f->forms.function); i++) {
        if (LLVMGetParam(f->forms.function, i) == base) {
            return LLVMGetEnumAttributeAtIndex(f->forms.function, i + 1, noalias) != NULL;
        }
    }
    return 0;
}

/* A number for the object; 0 where it may be the same as another one's. */
static uint32_t number_of_base(coalesce_llvm_function *f, LLVMValueRef base)
{
    enum { BASE = 1 }; /* tag in the map, beside the accesses */
    uint32_t number;

    if (base == NULL || (!LLVMIsAArgument(base) && !LLVMIsAGlobalVariable(base))) {
        return 0;
    }
    number = coalesce_map_get(&f->index, base, BASE);
    if (number == COALESCE_MAP_NONE) {
        number = (uint32_t)f->index.count + 1;
        f->failed |= !coalesce_map_set(&f->index, base, BASE, number);
    }
    return number;
}

static int has_metadata(LLVMValueRef instruction, const char *kind)
{
    return LLVMGetMetadata(instruction,
                           LLVMGetMDKindIDInContext(LLVMGetTypeContext(LLVMTypeOf(instruction)),
                                                    kind, (unsigned)strlen(kind))) != NULL;
}

/* Integers, floating point numbers, pointers and vectors of them, of whole bytes and as large in
 * memory as in a register. */
static int is_movable_type(LLVMTargetDataRef layout, LLVMTypeRef type, unsigned bytes)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);

    if (kind == LLVMVectorTypeKind) {
        kind = LLVMGetTypeKind(LLVMGetElementType(type));
        if (kind == LLVMPointerTypeKind) {
            return 0;
        }
    }
    return (kind == LLVMIntegerTypeKind || kind == LLVMFloatTypeKind ||
            kind == LLVMDoubleTypeKind || kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind ||
            kind == LLVMPointerTypeKind) &&
           LLVMSizeOfTypeInBits(layout, type) == 8ull * bytes && (bytes & (bytes - 1)) == 0 &&
           bytes <= 16;
}

static uint32_t flags_of(const coalesce_llvm_function *f, LLVMValueRef instruction, unsigned bytes)
{
    LLVMTypeRef type = coalesce_llvm_type(instruction);
    uint32_t flags = LLVMIsAStoreInst(instruction) ? COALESCE_STORE : 0;

    if (LLVMGetVolatile(instruction) ||
        LLVMGetOrdering(instruction) != LLVMAtomicOrderingNotAtomic) {
        flags |= COALESCE_VOLATILE;
    }
    if (has_metadata(instruction, "nontemporal")) {
        flags |= COALESCE_HINTED;
    }
    if (has_metadata(instruction, "invariant.load")) {
        flags |= COALESCE_NONCOHERENT;
    }
    if (!is_movable_type(f->forms.layout, type, bytes) ||
        LLVMGetAlignment(instruction) < (bytes < 4 ? bytes : 4)) {
        flags |= COALESCE_UNSUPPORTED;
    }
    return flags;
}

/* The load whose result the store stores, if it has no other use. */
static uint32_t copied_from(const coalesce_llvm_function *f, LLVMValueRef store)
{
    LLVMValueRef value = LLVMGetOperand(store, 0);
    LLVMUseRef use;

    if (!LLVMIsALoadInst(value)) {
        return COALESCE_NO_ACCESS;
    }
    use = LLVMGetFirstUse(value);
    if (use == NULL || LLVMGetNextUse(use) != NULL) {
        return COALESCE_NO_ACCESS;
    }
    return coalesce_map_get(&f->index, value, 0); /* COALESCE_MAP_NONE is COALESCE_NO_ACCESS */
}

static void add_access(coalesce_llvm_function *f, LLVMValueRef instruction,
                       const coalesce_llvm_block *block, int one_thread)
{
    LLVMValueRef pointer = coalesce_llvm_pointer(instruction), base;
    coalesce_access *array = coalesce_grow(f->access, f->count, &f->capacity, sizeof(*f->access));
    coalesce_access *access;

    if (array == NULL || !coalesce_map_set(&f->index, instruction, 0, (uint32_t)f->count)) {
        f->access = (array != NULL) ? array : f->access;
        f->failed = 1;
        return;
    }
    f->access = array;
    access = &f->access[f->count];
    *access = (coalesce_access){ .instruction = instruction,
                                 .address = coalesce_llvm_form(&f->forms, pointer),
                                 .run = f->run,
                                 .cut = f->cut,
                                 .position = f->position++,
                                 .copied_from = COALESCE_NO_ACCESS,
                                 .loop_depth = block->loops,
                                 .rounds = block->rounds,
                                 .location = (uint32_t)f->count };
    base = coalesce_llvm_base(&f->forms, &access->address);
    access->space = space_of(f, pointer, base);
    access->bytes = (uint32_t)LLVMStoreSizeOfType(f->forms.layout, coalesce_llvm_type(instruction));
    access->align = LLVMGetAlignment(instruction);
    access->flags = flags_of(f, instruction, access->bytes);
    access->alias_base = number_of_base(f, base);
    access->alias_alone = access->alias_base != 0 && is_alone(f, base);
    if (access->flags & COALESCE_STORE) {
        access->copied_from = copied_from(f, instruction);
    }
    if (one_thread) {
        access->flags |= COALESCE_ONE_THREAD;
    }
    f->count++;
}

/* ---- ends of runs ---- */

/* Calls that touch no memory, name no other lane, and return. */
static int is_transparent_call(LLVMValueRef call)
{
    static const char *const hints[] = { "llvm.dbg.", "llvm.lifetime.", "llvm.assume",
                                         "llvm.experimental.noalias.scope.decl" };
    LLVMValueRef callee = LLVMGetCalledValue(call);
    LLVMAttributeRef memory;
    const char *name;
    size_t bytes;

    if (callee != NULL && LLVMIsAInlineAsm(callee)) {
        name = LLVMGetInlineAsmAsmString(callee, &bytes);
        return coalesce_assembly_computes(name, bytes) &&
               strstr(LLVMGetInlineAsmConstraintString(callee, &bytes), "~{memory}") == NULL;
    }
    if (callee == NULL || !LLVMIsAFunction(callee)) {
        return 0;
    }
    name = LLVMGetValueName2(callee, &bytes);
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        if (strncmp(name, hints[i], strlen(hints[i])) == 0) {
            return 1;
        }
    }
    memory = LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex,
                                         LLVMGetEnumAttributeKindForName("memory", 6));
    return memory != NULL && LLVMGetEnumAttributeValue(memory) == 0 &&
           LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex,
                                       LLVMGetEnumAttributeKindForName("willreturn", 10)) &&
           !LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex,
                                        LLVMGetEnumAttributeKindForName("convergent", 10));
}

static int ends_run(LLVMValueRef instruction)
{
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMCall:
        return !is_transparent_call(instruction);
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMVAArg:
        return 1;
    default:
        return 0;
    }
}

/* What the instruction, which ends a run, is. */
static coalesce_cut cut_of(LLVMValueRef instruction)
{
    static const struct { const char *text; coalesce_cut cut; } known[] = {
        { "barrier", COALESCE_CUT_BARRIER }, { "bar.sync", COALESCE_CUT_BARRIER },
        { "bar.warp", COALESCE_CUT_BARRIER }, { "shfl", COALESCE_CUT_LANES },
        { "vote", COALESCE_CUT_LANES }, { "match", COALESCE_CUT_LANES },
        { "redux", COALESCE_CUT_LANES }, { "activemask", COALESCE_CUT_LANES },
        { "atomic", COALESCE_CUT_ATOMIC },
    };
    LLVMValueRef callee;
    const char *name;
    size_t bytes;

    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return COALESCE_CUT_ATOMIC;
    case LLVMCall:
        break;
    default:
        return COALESCE_CUT_OTHER;
    }
    callee = LLVMGetCalledValue(instruction);
    if (callee == NULL || LLVMIsAInlineAsm(callee)) {
        return (callee == NULL) ? COALESCE_CUT_CALL : COALESCE_CUT_OTHER;
    }
    name = LLVMGetValueName2(callee, &bytes);
    if (strncmp(name, "llvm.", 5) != 0) {
        return COALESCE_CUT_CALL;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strstr(name, known[i].text) != NULL) {
            return known[i].cut;
        }
    }
    return COALESCE_CUT_OTHER;
}

/* ---- branches taken by one thread ---- */

/* Is `block` entered from `from` only where a value that differs in all lanes equals a uniform? */
static int is_one_lane_edge(coalesce_llvm_function *f, LLVMBasicBlockRef from,
                            LLVMBasicBlockRef block)
{
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(from), test;
    LLVMIntPredicate predicate;
    coalesce_form a, b, difference;
    coalesce_lanes lanes;

    if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch) ||
        LLVMGetSuccessor(branch, 0) == LLVMGetSuccessor(branch, 1)) {
        return 0;
    }
    test = LLVMGetCondition(branch);
    if (!LLVMIsAICmpInst(test) ||
        LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(test, 0))) != LLVMIntegerTypeKind) {
        return 0;
    }
    predicate = LLVMGetICmpPredicate(test);
    if ((predicate != LLVMIntEQ || LLVMGetSuccessor(branch, 0) != block) &&
        (predicate != LLVMIntNE || LLVMGetSuccessor(branch, 1) != block)) {
        return 0;
    }
    a = coalesce_llvm_form(&f->forms, LLVMGetOperand(test, 0));
    b = coalesce_llvm_form(&f->forms, LLVMGetOperand(test, 1));
    difference = coalesce_form_add(&a, &b, -1);
    lanes = coalesce_lanes_of(&f->forms.leaves, &difference, &f->forms.block);
    return difference.known && lanes.pattern == COALESCE_STRIDED;
}

static int is_one_thread(coalesce_llvm_function *f, const coalesce_llvm_flow *flow, uint32_t block)
{
    for (unsigned step = 0; step < 16; step++) {
        LLVMBasicBlockRef from = coalesce_llvm_only_predecessor(flow, block);

        if (from == NULL) {
            return 0;
        }
        if (is_one_lane_edge(f, from, flow->block[block].block)) {
            return 1;
        }
        block = coalesce_map_get(&flow->index, from, 0);
    }
    return 0;
}

/* ---- the function ---- */

static void begin_run(coalesce_llvm_function *f, coalesce_cut cut)
{
    f->run++;
    if (f->count > f->cut_at || cut > f->cut) {
        f->cut = cut;
    }
    f->cut_at = f->count;
}

/* See coalesce_weight(). */
static uint32_t weight_of(LLVMValueRef instruction)
{
    LLVMValueRef callee;
    const char *name;
    size_t bytes;

    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMPHI:
        return 0;
    case LLVMFDiv:
    case LLVMFRem:
    case LLVMUDiv:
    case LLVMURem:
    case LLVMSDiv:
    case LLVMSRem:
        return coalesce_weight("div", 3);
    case LLVMCall:
        callee = LLVMGetCalledValue(instruction);
        if (LLVMIsADbgInfoIntrinsic(instruction)) {
            return 0;
        }
        if (callee != NULL && LLVMIsAFunction(callee)) {
            name = LLVMGetValueName2(callee, &bytes);
            return coalesce_weight(name, bytes);
        }
        return 1;
    default:
        return 1;
    }
}

static void read_block(coalesce_llvm_function *f, const coalesce_llvm_flow *flow, uint32_t block)
{
    int one_thread = -1; /* not yet known */

    begin_run(f, COALESCE_CUT_BRANCH);
    for (LLVMValueRef i = LLVMGetFirstInstruction(flow->block[block].block);
         i != NULL && !f->failed; i = LLVMGetNextInstruction(i)) {
        f->work += (uint64_t)weight_of(i)
                   << (flow->block[block].rounds < 32 ? flow->block[block].rounds : 32);
        if (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i)) {
            if (one_thread < 0) {
                one_thread = is_one_thread(f, flow, block);
            }
            add_access(f, i, &flow->block[block], one_thread);
        } else if (ends_run(i)) {
            begin_run(f, cut_of(i));
        }
    }
}

int coalesce_llvm_read(coalesce_llvm_function *function, LLVMValueRef of, int is_kernel,
                       const coalesce_block *block)
{
    coalesce_llvm_flow flow;

    memset(function, 0, sizeof(*function));
    if (!coalesce_llvm_flow_make(&flow, of)) {
        return 0;
    }
    coalesce_llvm_forms_init(&function->forms, of, is_kernel, block);
    for (uint32_t i = 0; i < flow.count && !function->failed; i++) {
        read_block(function, &flow, i);
    }
    coalesce_llvm_flow_fini(&flow);
    if (function->failed) {
        coalesce_llvm_function_fini(function);
        return 0;
    }
    return 1;
}

void coalesce_llvm_function_fini(coalesce_llvm_function *function)
{
    coalesce_llvm_forms_fini(&function->forms);
    coalesce_map_fini(&function->index);
    free(function->access);
    memset(function, 0, sizeof(*function));
}

/* ---- places ---- */

static coalesce_place place_of(LLVMMetadataRef scope, unsigned line, unsigned column)
{
    LLVMMetadataRef file = LLVMDIScopeGetFile(scope);
    coalesce_place place = { NULL, line, column };
    unsigned bytes;
    const char *name;

    if (file != NULL && line != 0) {
        name = LLVMDIFileGetFilename(file, &bytes);
        place.file = strndup(name, bytes);
    }
    return place;
}

static coalesce_place place_of_location(LLVMMetadataRef location)
{
    return place_of(LLVMDILocationGetScope(location), LLVMDILocationGetLine(location),
                    LLVMDILocationGetColumn(location));
}

/* The function's line or, without debug information, its file. */
static coalesce_place place_of_function(LLVMValueRef function)
{
    LLVMMetadataRef subprogram = LLVMGetSubprogram(function);
    size_t bytes;
    const char *name;

    if (subprogram != NULL) {
        return place_of(subprogram, LLVMDISubprogramGetLine(subprogram), 0);
    }
    name = LLVMGetSourceFileName(LLVMGetGlobalParent(function), &bytes);
    return (coalesce_place){ strndup(name, bytes), 0, 0 };
}

coalesce_place coalesce_llvm_place(LLVMValueRef instruction, coalesce_place *inlined_p)
{
    LLVMMetadataRef location = LLVMInstructionGetDebugLoc(instruction), inlined;

    *inlined_p = (coalesce_place){ NULL, 0, 0 };
    if (location == NULL || LLVMDILocationGetLine(location) == 0) {
        return place_of_function(
            LLVMGetBasicBlockParent(LLVMGetInstructionParent(instruction)));
    }
    inlined = LLVMDILocationGetInlinedAt(location);
    if (inlined != NULL) {
        *inlined_p = place_of_location(inlined);
    }
    return place_of_location(location);
}
