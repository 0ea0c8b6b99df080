/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms of LLVM values.
 *
 * A value is interpreted in one of three ways, because the same i32 may reach an address extended
 * or not:
 *   MODULO   modulo 2^width of its type
 *   SIGNED   its sign extension to 64 bits
 *   UNSIGNED its zero extension to 64 bits
 * The extension of a sum is the sum of the extensions only where the addition is known not to wrap
 * (nsw, nuw).  Everywhere else the extended value is a separate leaf, identified by (value, way),
 * so two accesses that use the same value differ by a constant. */
#include "forms.h"

#include <stdlib.h>
#include <string.h>

typedef enum coalesce_way { MODULO, SIGNED, UNSIGNED } coalesce_way;

enum { ITERATION = 3 }; /* tag of a loop's count, beside the three ways */

enum { MOST_DEPTH = 200 }; /* of expressions; deeper values are leaves */

void coalesce_llvm_forms_init(coalesce_llvm_forms *forms, LLVMValueRef function, int is_kernel,
                              const coalesce_block *block)
{
    *forms = (coalesce_llvm_forms){ .function = function, .is_kernel = is_kernel, .block = *block };
    forms->layout = LLVMGetModuleDataLayout(LLVMGetGlobalParent(function));
    coalesce_leaves_init(&forms->leaves);
}

void coalesce_llvm_forms_fini(coalesce_llvm_forms *forms)
{
    coalesce_leaves_fini(&forms->leaves);
    coalesce_map_fini(&forms->index);
    free(forms->form);
}

/** 1: the form is the same in all lanes, if nothing wraps. */
static int is_uniform(const coalesce_llvm_forms *forms, const coalesce_form *form)
{
    return form->known &&
           coalesce_lanes_of(&forms->leaves, form, &forms->block).pattern == COALESCE_BROADCAST;
}

/* The cached form of a value: all functions below need forms of operands. */
static coalesce_form form_of(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how);

/* ---- leaves ---- */

/* The value of a leaf. */
static LLVMValueRef leaf_value(const coalesce_leaf *leaf)
{
    return (LLVMValueRef)(uintptr_t)leaf->value;
}

/* A leaf. */

static coalesce_form add_leaf(coalesce_llvm_forms *forms, const void *value, uint64_t tag,
                                 coalesce_leaf_kind kind, int grid_uniform)
{
    coalesce_leaf it = { .value = value, .tag = tag, .kind = kind, .grid_uniform = grid_uniform };

    return coalesce_form_leaf(&forms->leaves, &it);
}

/* A leaf that advances by one for each step along a dimension of the block. */
static coalesce_form add_stepped_leaf(coalesce_llvm_forms *forms, const void *value,
                                         uint64_t tag, unsigned dimension)
{
    coalesce_leaf it = { .value = value, .tag = tag, .kind = COALESCE_STEPPED };

    it.step[dimension] = 1;
    return coalesce_form_leaf(&forms->leaves, &it);
}

/* The value as a whole, known to change from lane to lane as `form` does. */
/* A leaf: the value as a whole, known to change from lane to lane as `form` does. */
static coalesce_form whole_value(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how,
                                  const coalesce_form *form)
{
    coalesce_leaf it = coalesce_leaf_of(&forms->leaves, form);

    it.value = value;
    it.tag = how;
    return coalesce_form_leaf(&forms->leaves, &it);
}

/* Computed of its operands: the same in all lanes where they are. */
static coalesce_form computed_value(coalesce_llvm_forms *forms, LLVMValueRef value,
                                     coalesce_way how)
{
    int operands = LLVMGetNumOperands(value), uniform = 1;

    for (int i = 0; i < operands && uniform; i++) {
        LLVMValueRef operand = LLVMGetOperand(value, (unsigned)i);
        coalesce_form form;

        if (LLVMIsAFunction(operand)) {
            continue; /* of a call */
        }
        form = form_of(forms, operand, MODULO);
        uniform = is_uniform(forms, &form);
    }
    return add_leaf(forms, value, how, uniform ? COALESCE_UNIFORM : COALESCE_IRREGULAR,
                              0);
}

/* ---- arithmetic ---- */

/* 1: the extension of the value is that of its operands, combined likewise. */
static int is_exact(LLVMValueRef value, coalesce_way how)
{
    return (how == MODULO) || ((how == SIGNED) ? LLVMGetNSW(value) : LLVMGetNUW(value));
}

/* An integer of less than 64 bits. */
static int is_narrow(LLVMValueRef value)
{
    return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(LLVMTypeOf(value)) < 64;
}

static int constant_of(coalesce_llvm_forms *forms, LLVMValueRef value, int64_t *constant_p)
{
    coalesce_form form = form_of(forms, value, MODULO);

    return coalesce_form_is_constant(&form, constant_p);
}

/* The value, which changes from lane to lane as the leaf says. */
static coalesce_form changing(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how,
                              coalesce_leaf as)
{
    as.value = value;
    as.tag = how;
    return coalesce_form_leaf(&forms->leaves, &as);
}

static coalesce_form sum(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how,
                         int64_t sign)
{
    coalesce_form a = form_of(forms, LLVMGetOperand(value, 0), how);
    coalesce_form b = form_of(forms, LLVMGetOperand(value, 1), how);
    coalesce_form c = coalesce_form_add(&a, &b, sign);

    return c.known ? c : changing(forms, value, how,
                                  coalesce_leaf_of_sum(&forms->leaves, &a, &b, sign));
}

static coalesce_form product(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    coalesce_form a = form_of(forms, LLVMGetOperand(value, 0), how);
    coalesce_form b = form_of(forms, LLVMGetOperand(value, 1), how);
    coalesce_form c = coalesce_form_multiply(&a, &b);

    return c.known ? c : changing(forms, value, how,
                                  coalesce_leaf_of_product(&forms->leaves, &a, &b));
}

static coalesce_form shifted_left(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    int64_t bits;
    coalesce_form a, factor;

    if (!constant_of(forms, LLVMGetOperand(value, 1), &bits) || bits < 0 || bits > 62) {
        return computed_value(forms, value, how);
    }
    a = form_of(forms, LLVMGetOperand(value, 0), how);
    factor = coalesce_form_constant((int64_t)1 << bits);
    return coalesce_form_multiply(&a, &factor);
}

static coalesce_form arithmetic(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);

    if (!is_exact(value, how)) { /* it may wrap before it is extended */
        coalesce_form form = form_of(forms, value, MODULO);

        return whole_value(forms, value, how, &form);
    }
    switch (opcode) {
    case LLVMAdd:
        return sum(forms, value, how, 1);
    case LLVMSub:
        return sum(forms, value, how, -1);
    case LLVMMul:
        return product(forms, value, how);
    default:
        return shifted_left(forms, value, how);
    }
}

/* ~x = -1 - x, as at the start of n - 1 - x. */
static coalesce_form complement(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    coalesce_form a, all = coalesce_form_constant(-1);
    int64_t bits;

    if (!constant_of(forms, LLVMGetOperand(value, 1), &bits) || bits != -1 || how == UNSIGNED) {
        return computed_value(forms, value, how);
    }
    a = form_of(forms, LLVMGetOperand(value, 0), how);
    return coalesce_form_add(&all, &a, -1);
}

/* Result of a dividing instruction: the quotient, the remainder, or neither. */
typedef enum coalesce_part { PART_NONE, PART_QUOTIENT, PART_REMAINDER } coalesce_part;

/* By k, or by an unknown number of columns, which is assumed to be at least a warp's lanes. */
static coalesce_part part_of(LLVMOpcode opcode, int known, int64_t k)
{
    const int many = !known || k >= COALESCE_LANES;

    switch (opcode) {
    case LLVMUDiv:
    case LLVMSDiv:
        return many ? PART_QUOTIENT : PART_NONE;
    case LLVMURem:
    case LLVMSRem:
        return many ? PART_REMAINDER : PART_NONE;
    case LLVMLShr:
    case LLVMAShr:
        return (known && k >= 5) ? PART_QUOTIENT : PART_NONE;
    case LLVMAnd: /* a mask of low bits is a remainder, one of high bits the rest */
        if (known && (k & 31) == 31 && (k & (k + 1)) == 0) {
            return PART_REMAINDER;
        }
        return (known && k <= -COALESCE_LANES && (k & -k) == -k) ? PART_QUOTIENT : PART_NONE;
    default:
        return PART_NONE;
    }
}

/* x / k and x mod k.  If x advances by one from lane to lane, and the warp begins at a multiple of
 * k, the quotient is the same in the whole warp and the remainder advances by one.  The guard
 * covers the other case. */
static coalesce_form divided(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    coalesce_form a = form_of(forms, LLVMGetOperand(value, 0), MODULO);
    coalesce_form b = form_of(forms, LLVMGetOperand(value, 1), MODULO);
    coalesce_lanes lanes = coalesce_lanes_of(&forms->leaves, &a, &forms->block);
    coalesce_part part = PART_NONE;
    int64_t k;
    int known = coalesce_form_is_constant(&b, &k);

    if (known || is_uniform(forms, &b)) {
        part = part_of(LLVMGetInstructionOpcode(value), known, k);
    }
    if (part == PART_REMAINDER && a.known) {
        return whole_value(forms, value, how, &a);
    }
    return (part == PART_QUOTIENT && lanes.pattern == COALESCE_STRIDED && lanes.stride == 1)
               ? add_leaf(forms, value, how, COALESCE_UNIFORM, 0)
               : computed_value(forms, value, how);
}

static coalesce_form extended(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    LLVMValueRef of = LLVMGetOperand(value, 0);
    int sign = LLVMIsASExtInst(value) != NULL || LLVMGetNNeg(value);

    if (LLVMGetIntTypeWidth(LLVMTypeOf(of)) == 1) { /* one of two constants: see either() */
        return add_leaf(forms, value, how, COALESCE_UNIFORM, 0);
    }
    if (how == UNSIGNED && LLVMIsASExtInst(value)) { /* the zero extension of a sign extension */
        coalesce_form form = form_of(forms, of, SIGNED);

        return whole_value(forms, value, how, &form);
    }
    return form_of(forms, of, sign ? SIGNED : UNSIGNED);
}

/* ---- addresses ---- */

static coalesce_form scaled_index(coalesce_llvm_forms *forms, LLVMValueRef index, uint64_t bytes)
{
    coalesce_form i, scale = coalesce_form_constant((int64_t)bytes);

    if (LLVMGetTypeKind(LLVMTypeOf(index)) != LLVMIntegerTypeKind) {
        return coalesce_form_unknown(); /* a vector of indices */
    }
    i = form_of(forms, index, is_narrow(index) ? SIGNED : MODULO);
    return coalesce_form_multiply(&i, &scale);
}

static coalesce_form element_address(coalesce_llvm_forms *forms, LLVMValueRef gep)
{
    coalesce_form address = form_of(forms, LLVMGetOperand(gep, 0), MODULO);
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    int count = LLVMGetNumOperands(gep);

    for (int i = 1; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
        coalesce_form offset;

        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);

            offset =
                coalesce_form_constant((int64_t)LLVMOffsetOfElement(forms->layout, type, field));
            type = LLVMStructGetTypeAtIndex(type, field);
        } else {
            if (i > 1) {
                type = LLVMGetElementType(type);
            }
            offset = scaled_index(forms, index, LLVMABISizeOfType(forms->layout, type));
        }
        address = coalesce_form_add(&address, &offset, 1);
    }
    return address;
}

/* ---- loops ---- */

/* Made of nothing that changes while the function runs. */
static int is_invariant(const coalesce_llvm_forms *forms, const coalesce_form *form)
{
    for (uint32_t i = 0; i < form->terms; i++) {
        for (uint32_t k = 0; k < form->term[i].factors; k++) {
            if (!forms->leaves.leaf[form->term[i].leaf[k]].grid_uniform) {
                return 0;
            }
        }
    }
    return form->known;
}

/* The increment of the phi by `next`, or unknown. */
static coalesce_form step_of(coalesce_llvm_forms *forms, LLVMValueRef phi, LLVMValueRef next,
                             coalesce_way how)
{
    LLVMOpcode opcode;
    coalesce_form bytes, step;

    if (!LLVMIsAInstruction(next) || LLVMGetNumOperands(next) != 2) {
        return coalesce_form_unknown();
    }
    opcode = LLVMGetInstructionOpcode(next);
    if (opcode == LLVMAdd && is_exact(next, how)) {
        if (LLVMGetOperand(next, 0) == phi) {
            return form_of(forms, LLVMGetOperand(next, 1), how);
        }
        if (LLVMGetOperand(next, 1) == phi) {
            return form_of(forms, LLVMGetOperand(next, 0), how);
        }
    }
    if (opcode == LLVMGetElementPtr && LLVMGetOperand(next, 0) == phi) {
        bytes = coalesce_form_constant(
            (int64_t)LLVMABISizeOfType(forms->layout, LLVMGetGEPSourceElementType(next)));
        step = form_of(forms, LLVMGetOperand(next, 1), MODULO);
        return coalesce_form_multiply(&step, &bytes);
    }
    return coalesce_form_unknown();
}

/* The phi changes from lane to lane as it does at the start, presumably: nothing proves that the
 * lanes add the same, nor that they are in the same round. */
static coalesce_form presumed_like(coalesce_llvm_forms *forms, LLVMValueRef phi, coalesce_way how,
                                   const coalesce_form *start)
{
    coalesce_leaf it = coalesce_leaf_of(&forms->leaves, start);

    it.value = phi;
    it.tag = how;
    it.grid_uniform = 0;
    return coalesce_form_leaf(&forms->leaves, &it);
}

/* Values that meet: those that change from lane to lane do so alike. */
static coalesce_form merged(coalesce_llvm_forms *forms, LLVMValueRef phi)
{
    coalesce_leaf met = { .kind = COALESCE_UNIFORM };

    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        coalesce_form form = form_of(forms, LLVMGetIncomingValue(phi, i), MODULO);
        coalesce_leaf one = coalesce_leaf_of(&forms->leaves, &form);

        (void)coalesce_leaf_meet(&met, &one); /* irregular, if they differ too much */
    }
    return changing(forms, phi, MODULO, met);
}

/* start + step * rounds, if the phi is that of a loop with an invariant step. */
static coalesce_form loop_value(coalesce_llvm_forms *forms, LLVMValueRef phi,
                                       coalesce_way how)
{
    for (unsigned i = 0; i < 2 && LLVMCountIncoming(phi) == 2; i++) {
        LLVMValueRef next = LLVMGetIncomingValue(phi, 1 - i);
        coalesce_form step = step_of(forms, phi, next, how), start, rounds;

        if (!step.known) {
            continue;
        }
        start = form_of(forms, LLVMGetIncomingValue(phi, i), how);
        if (!is_invariant(forms, &step)) {
            return is_uniform(forms, &step)
                       ? presumed_like(forms, phi, how, &start)
                       : add_leaf(forms, phi, how, COALESCE_IRREGULAR, 0);
        }
        rounds = add_leaf(forms, LLVMBasicBlockAsValue(LLVMGetInstructionParent(phi)),
                                    ITERATION, COALESCE_ITERATION, 0);
        rounds = coalesce_form_multiply(&rounds, &step);
        return coalesce_form_add(&start, &rounds, 1);
    }
    if (how != MODULO) {
        coalesce_form form = form_of(forms, phi, MODULO);

        return whole_value(forms, phi, how, &form);
    }
    return merged(forms, phi);
}

/* min(i, n - 1), and i > 0 ? i - 1 : 0: usually advances with i. */
static coalesce_form either(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how,
                            unsigned first)
{
    coalesce_form a = form_of(forms, LLVMGetOperand(value, first), MODULO);
    coalesce_form b = form_of(forms, LLVMGetOperand(value, first + 1), MODULO);
    coalesce_leaf made;

    if (!coalesce_leaf_of_either(&forms->leaves, &a, &b, &made)) {
        return computed_value(forms, value, how);
    }
    return changing(forms, value, how, made);
}

/* ---- calls ---- */

static coalesce_form special_register(coalesce_llvm_forms *forms, LLVMValueRef value,
                                      coalesce_way how, LLVMValueRef callee, const char *name)
{
    static const char *const dimension[] = { "tid.x", "tid.y", "tid.z" };

    /* registers are never negative: extended or not, they are the same */
    for (unsigned d = 0; d < 3; d++) {
        if (strcmp(name, dimension[d]) == 0) {
            return add_stepped_leaf(forms, callee, MODULO, d);
        }
    }
    if (strcmp(name, "laneid") == 0) {
        return add_stepped_leaf(forms, callee, MODULO, 0);
    }
    if (strncmp(name, "ctaid", 5) == 0 || strncmp(name, "ntid", 4) == 0 ||
        strncmp(name, "nctaid", 6) == 0 || strcmp(name, "warpsize") == 0) {
        return add_leaf(forms, callee, MODULO, COALESCE_UNIFORM, 1);
    }
    return add_leaf(forms, value, how, COALESCE_IRREGULAR, 0);
}

static coalesce_form called_value(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    static const char registers[] = "llvm.nvvm.read.ptx.sreg.";
    static const char *const pure[] = { "llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.",
                                        "llvm.abs.",  "llvm.fshl.", "llvm.fshr." };
    LLVMValueRef callee = LLVMGetCalledValue(value);
    const char *name;
    size_t bytes;

    if (callee == NULL || !LLVMIsAFunction(callee)) {
        return add_leaf(forms, value, how, COALESCE_IRREGULAR, 0);
    }
    name = LLVMGetValueName2(callee, &bytes);
    if (strncmp(name, registers, strlen(registers)) == 0) {
        return special_register(forms, value, how, callee, name + strlen(registers));
    }
    for (size_t i = 0; i < sizeof(pure) / sizeof(pure[0]); i++) {
        if (strncmp(name, pure[i], strlen(pure[i])) == 0) {
            return (i < 4) ? either(forms, value, how, 0) : computed_value(forms, value, how);
        }
    }
    return add_leaf(forms, value, how, COALESCE_IRREGULAR, 0);
}

/* ---- dispatch ---- */

static coalesce_form constant_form(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    if (LLVMIsAConstantInt(value)) {
        if (LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) {
            return coalesce_form_unknown();
        }
        return coalesce_form_constant((how == UNSIGNED) ? (int64_t)LLVMConstIntGetZExtValue(value)
                                                        : LLVMConstIntGetSExtValue(value));
    }
    if (LLVMIsAConstantPointerNull(value)) {
        return coalesce_form_constant(0);
    }
    if (LLVMIsAConstantExpr(value)) {
        switch (LLVMGetConstOpcode(value)) {
        case LLVMGetElementPtr:
            return element_address(forms, value);
        case LLVMAddrSpaceCast:
        case LLVMBitCast:
            return form_of(forms, LLVMGetOperand(value, 0), MODULO);
        default:
            break;
        }
    }
    return add_leaf(forms, value, how, COALESCE_UNIFORM, 1);
}

static coalesce_form instruction_form(coalesce_llvm_forms *forms, LLVMValueRef value,
                                      coalesce_way how)
{
    coalesce_form form;

    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
        return arithmetic(forms, value, how);
    case LLVMOr:
        return LLVMGetIsDisjoint(value) ? sum(forms, value, how, 1)
                                        : computed_value(forms, value, how);
    case LLVMXor:
        return complement(forms, value, how);
    case LLVMLShr:
    case LLVMAShr:
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMAnd:
    case LLVMURem:
    case LLVMSRem:
        return divided(forms, value, how);
    case LLVMSExt:
    case LLVMZExt:
        return extended(forms, value, how);
    case LLVMPtrToInt:
    case LLVMTrunc:
        form = form_of(forms, LLVMGetOperand(value, 0), MODULO);
        return (how == MODULO) ? form : whole_value(forms, value, how, &form);
    case LLVMGetElementPtr:
        return element_address(forms, value);
    case LLVMIntToPtr:
        return form_of(forms, LLVMGetOperand(value, 0),
                                     is_narrow(LLVMGetOperand(value, 0)) ? UNSIGNED
                                                                                       : MODULO);
    case LLVMAddrSpaceCast:
        return form_of(forms, LLVMGetOperand(value, 0), how);
    case LLVMFreeze: /* the operand's guarantees (nsw, nuw) do not hold after it */
        form = form_of(forms, LLVMGetOperand(value, 0), MODULO);
        return whole_value(forms, value, how, &form);
    case LLVMPHI:
        return loop_value(forms, value, how);
    case LLVMCall:
        return called_value(forms, value, how);
    case LLVMSelect:
        return either(forms, value, how, 1);
    case LLVMAlloca:
        return add_leaf(forms, value, how, COALESCE_UNIFORM, 0);
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return add_leaf(forms, value, how, COALESCE_IRREGULAR, 0);
    default:
        return computed_value(forms, value, how);
    }
}

static coalesce_form argument_form(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    int is_pointer = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind;

    /* a kernel's parameters are the same everywhere; of another function only the pointers are
     * likely to be */
    return add_leaf(
        forms, value, how, (forms->is_kernel || is_pointer) ? COALESCE_UNIFORM : COALESCE_IRREGULAR,
        forms->is_kernel);
}

static coalesce_form new_form(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));

    if (kind != LLVMIntegerTypeKind && kind != LLVMPointerTypeKind && LLVMIsAConstant(value)) {
        return add_leaf(forms, value, how, COALESCE_UNIFORM, 1);
    }
    if (LLVMIsAArgument(value)) {
        return argument_form(forms, value, how);
    }
    if (LLVMIsAConstant(value)) {
        return constant_form(forms, value, how);
    }
    if (kind == LLVMVectorTypeKind && LLVMIsAInstruction(value) && !LLVMIsACallInst(value)) {
        return computed_value(forms, value, how); /* its parts carry nothing over */
    }
    if (LLVMIsAInstruction(value)) {
        return instruction_form(forms, value, how);
    }
    return add_leaf(forms, value, how, COALESCE_IRREGULAR, 0);
}

static void remember(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how,
                     const coalesce_form *form)
{
    coalesce_form *array =
        coalesce_grow(forms->form, forms->count, &forms->capacity, sizeof(*forms->form));

    if (array == NULL) {
        return; /* computed again when needed */
    }
    forms->form = array;
    if (coalesce_map_set(&forms->index, value, (uint32_t)how, (uint32_t)forms->count)) {
        forms->form[forms->count++] = *form;
    }
}

static coalesce_form form_of(coalesce_llvm_forms *forms, LLVMValueRef value,
                                    coalesce_way how)
{
    enum { BUSY = 8 }; /* tag of values that are being looked at */
    uint32_t at = coalesce_map_get(&forms->index, value, (uint32_t)how);
    coalesce_form form;

    if (at != COALESCE_MAP_NONE) {
        return forms->form[at];
    }
    if (forms->depth >= MOST_DEPTH ||
        coalesce_map_get(&forms->index, value, BUSY + (uint32_t)how) == 1) {
        /* a cycle that is not an induction, or too deep */
        return add_leaf(forms, value, how, COALESCE_IRREGULAR, 0);
    }
    coalesce_map_set(&forms->index, value, BUSY + (uint32_t)how, 1);
    forms->depth++;
    form = new_form(forms, value, how);
    forms->depth--;
    coalesce_map_set(&forms->index, value, BUSY + (uint32_t)how, 0);
    remember(forms, value, how, &form);
    return form;
}

coalesce_form coalesce_llvm_form(coalesce_llvm_forms *forms, LLVMValueRef value)
{
    return form_of(forms, value, MODULO);
}

LLVMValueRef coalesce_llvm_base(const coalesce_llvm_forms *forms, const coalesce_form *form)
{
    LLVMValueRef base = NULL;

    for (uint32_t i = 0; form->known && i < form->terms; i++) {
        const coalesce_term *term = &form->term[i];

        for (uint32_t k = 0; k < term->factors; k++) {
            const coalesce_leaf *it = &forms->leaves.leaf[term->leaf[k]];
            LLVMValueRef value = leaf_value(it);

            if (it->tag == ITERATION || LLVMIsAFunction(value) ||
                LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMPointerTypeKind) {
                continue;
            }
            if (base != NULL || term->factors != 1 || term->coefficient != 1) {
                return NULL; /* a difference of pointers */
            }
            base = value;
        }
    }
    return base;
}
