/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms of LLVM values.
 *
 * A value is looked at in one of three ways, because the same i32 may reach an address extended or
 * not:
 *   MODULO   modulo 2^width of its type
 *   SIGNED   its sign extension to 64 bits
 *   UNSIGNED its zero extension to 64 bits
 * The extension of a sum is the sum of the extensions only where the addition is known not to wrap
 * (nsw, nuw).  Everywhere else the extended value is a leaf of its own; what it is called is
 * (value, way), so two accesses that use the same value differ by a constant. */
#include "values.h"

#include <stdlib.h>

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

int coalesce_llvm_is_uniform(const coalesce_llvm_forms *forms, const coalesce_form *form)
{
    return form->known &&
           coalesce_lanes_of(&forms->leaves, form, &forms->block).pattern == COALESCE_BROADCAST;
}

/* ---- leaves ---- */

coalesce_form coalesce_llvm_leaf(coalesce_llvm_forms *forms, const void *value, uint64_t tag,
                                 coalesce_leaf_kind kind, int grid_uniform)
{
    coalesce_leaf it = { .value = value, .tag = tag, .kind = kind, .grid_uniform = grid_uniform };

    return coalesce_form_leaf(&forms->leaves, &it);
}

coalesce_form coalesce_llvm_stepped_leaf(coalesce_llvm_forms *forms, const void *value,
                                         uint64_t tag, unsigned dimension)
{
    coalesce_leaf it = { .value = value, .tag = tag, .kind = COALESCE_STEPPED };

    it.step[dimension] = 1;
    return coalesce_form_leaf(&forms->leaves, &it);
}

/* The value as a whole, known to change from lane to lane as `form` does. */
coalesce_form coalesce_llvm_whole(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how,
                                  const coalesce_form *form)
{
    coalesce_leaf it = coalesce_leaf_of(&forms->leaves, form);

    it.value = value;
    it.tag = how;
    return coalesce_form_leaf(&forms->leaves, &it);
}

/* Computed of its operands: the same in all lanes where they are. */
coalesce_form coalesce_llvm_computed(coalesce_llvm_forms *forms, LLVMValueRef value,
                                     coalesce_way how)
{
    int operands = LLVMGetNumOperands(value), uniform = 1;

    for (int i = 0; i < operands && uniform; i++) {
        LLVMValueRef operand = LLVMGetOperand(value, (unsigned)i);
        coalesce_form form;

        if (LLVMIsAFunction(operand)) {
            continue; /* of a call */
        }
        form = coalesce_llvm_form_of(forms, operand, MODULO);
        uniform = coalesce_llvm_is_uniform(forms, &form);
    }
    return coalesce_llvm_leaf(forms, value, how, uniform ? COALESCE_UNIFORM : COALESCE_IRREGULAR,
                              0);
}

/* ---- arithmetic ---- */

int coalesce_llvm_is_exact(LLVMValueRef value, coalesce_way how)
{
    return (how == MODULO) || ((how == SIGNED) ? LLVMGetNSW(value) : LLVMGetNUW(value));
}

int coalesce_llvm_is_narrow(LLVMValueRef value)
{
    return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(LLVMTypeOf(value)) < 64;
}

static int constant_of(coalesce_llvm_forms *forms, LLVMValueRef value, int64_t *constant_p)
{
    coalesce_form form = coalesce_llvm_form_of(forms, value, MODULO);

    return coalesce_form_is_constant(&form, constant_p);
}

static coalesce_form sum(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how,
                         int64_t sign)
{
    coalesce_form a = coalesce_llvm_form_of(forms, LLVMGetOperand(value, 0), how);
    coalesce_form b = coalesce_llvm_form_of(forms, LLVMGetOperand(value, 1), how);

    return coalesce_form_add(&a, &b, sign);
}

static coalesce_form product(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    coalesce_form a = coalesce_llvm_form_of(forms, LLVMGetOperand(value, 0), how);
    coalesce_form b = coalesce_llvm_form_of(forms, LLVMGetOperand(value, 1), how);
    coalesce_form c = coalesce_form_multiply(&a, &b);

    return c.known ? c : coalesce_llvm_computed(forms, value, how);
}

static coalesce_form shifted_left(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    int64_t bits;
    coalesce_form a, factor;

    if (!constant_of(forms, LLVMGetOperand(value, 1), &bits) || bits < 0 || bits > 62) {
        return coalesce_llvm_computed(forms, value, how);
    }
    a = coalesce_llvm_form_of(forms, LLVMGetOperand(value, 0), how);
    factor = coalesce_form_constant((int64_t)1 << bits);
    return coalesce_form_multiply(&a, &factor);
}

static coalesce_form arithmetic(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);

    if (!coalesce_llvm_is_exact(value, how)) { /* it may wrap before it is extended */
        coalesce_form form = coalesce_llvm_form_of(forms, value, MODULO);

        return coalesce_llvm_whole(forms, value, how, &form);
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

/* ~x = -1 - x, which is what n - 1 - x begins with. */
static coalesce_form complement(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    coalesce_form a, all = coalesce_form_constant(-1);
    int64_t bits;

    if (!constant_of(forms, LLVMGetOperand(value, 1), &bits) || bits != -1 || how == UNSIGNED) {
        return coalesce_llvm_computed(forms, value, how);
    }
    a = coalesce_llvm_form_of(forms, LLVMGetOperand(value, 0), how);
    return coalesce_form_add(&all, &a, -1);
}

/* x / k and x mod k, k a multiple of a warp.  Where x advances by one from lane to lane, the
 * quotient is one for the whole warp and the remainder advances likewise: if the warp begins at a
 * multiple of 32, and if it does not, that is what the guard is there for. */
static coalesce_form divided(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    coalesce_form a = coalesce_llvm_form_of(forms, LLVMGetOperand(value, 0), MODULO);
    coalesce_lanes lanes;
    int64_t k;

    if (!constant_of(forms, LLVMGetOperand(value, 1), &k) || k <= 0) {
        return coalesce_llvm_computed(forms, value, how);
    }
    if (opcode == LLVMLShr && k < 32) {
        k = (int64_t)1 << k;
    } else if (opcode == LLVMAnd && (k & (k + 1)) == 0) {
        k++; /* a mask of low bits is a remainder */
    } else if (opcode != LLVMUDiv && opcode != LLVMURem) {
        return coalesce_llvm_computed(forms, value, how);
    }
    if (k % COALESCE_LANES != 0) {
        return coalesce_llvm_computed(forms, value, how);
    }
    if (opcode == LLVMAnd || opcode == LLVMURem) {
        return a.known ? coalesce_llvm_whole(forms, value, how, &a)
                       : coalesce_llvm_computed(forms, value, how);
    }
    lanes = coalesce_lanes_of(&forms->leaves, &a, &forms->block);
    return (lanes.pattern == COALESCE_STRIDED && lanes.stride == 1)
               ? coalesce_llvm_leaf(forms, value, how, COALESCE_UNIFORM, 0)
               : coalesce_llvm_computed(forms, value, how);
}

static coalesce_form extended(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    LLVMValueRef of = LLVMGetOperand(value, 0);
    int sign = LLVMIsASExtInst(value) != NULL || LLVMGetNNeg(value);

    if (LLVMGetIntTypeWidth(LLVMTypeOf(of)) == 1) {
        return coalesce_llvm_computed(forms, value, how);
    }
    if (how == UNSIGNED && LLVMIsASExtInst(value)) { /* the zero extension of a sign extension */
        coalesce_form form = coalesce_llvm_form_of(forms, of, SIGNED);

        return coalesce_llvm_whole(forms, value, how, &form);
    }
    return coalesce_llvm_form_of(forms, of, sign ? SIGNED : UNSIGNED);
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
            return coalesce_llvm_element_address(forms, value);
        case LLVMAddrSpaceCast:
        case LLVMBitCast:
            return coalesce_llvm_form_of(forms, LLVMGetOperand(value, 0), MODULO);
        default:
            break;
        }
    }
    return coalesce_llvm_leaf(forms, value, how, COALESCE_UNIFORM, 1);
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
                                        : coalesce_llvm_computed(forms, value, how);
    case LLVMXor:
        return complement(forms, value, how);
    case LLVMLShr:
    case LLVMUDiv:
    case LLVMAnd:
    case LLVMURem:
        return divided(forms, value, how);
    case LLVMSExt:
    case LLVMZExt:
        return extended(forms, value, how);
    case LLVMPtrToInt:
    case LLVMTrunc:
        form = coalesce_llvm_form_of(forms, LLVMGetOperand(value, 0), MODULO);
        return (how == MODULO) ? form : coalesce_llvm_whole(forms, value, how, &form);
    case LLVMGetElementPtr:
        return coalesce_llvm_element_address(forms, value);
    case LLVMIntToPtr:
        return coalesce_llvm_form_of(forms, LLVMGetOperand(value, 0),
                                     coalesce_llvm_is_narrow(LLVMGetOperand(value, 0)) ? UNSIGNED
                                                                                       : MODULO);
    case LLVMAddrSpaceCast:
        return coalesce_llvm_form_of(forms, LLVMGetOperand(value, 0), how);
    case LLVMFreeze: /* what the operand promises (nsw, nuw) does not hold behind it */
        form = coalesce_llvm_form_of(forms, LLVMGetOperand(value, 0), MODULO);
        return coalesce_llvm_whole(forms, value, how, &form);
    case LLVMPHI:
        return coalesce_llvm_loop_value(forms, value, how);
    case LLVMCall:
        return coalesce_llvm_called(forms, value, how);
    case LLVMAlloca:
        return coalesce_llvm_leaf(forms, value, how, COALESCE_UNIFORM, 0);
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return coalesce_llvm_leaf(forms, value, how, COALESCE_IRREGULAR, 0);
    default:
        return coalesce_llvm_computed(forms, value, how);
    }
}

static coalesce_form argument_form(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    int is_pointer = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind;

    /* a kernel's parameters are the same everywhere; of another function only the pointers are
     * likely to be */
    return coalesce_llvm_leaf(
        forms, value, how, (forms->is_kernel || is_pointer) ? COALESCE_UNIFORM : COALESCE_IRREGULAR,
        forms->is_kernel);
}

static coalesce_form new_form(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));

    if (kind != LLVMIntegerTypeKind && kind != LLVMPointerTypeKind && LLVMIsAConstant(value)) {
        return coalesce_llvm_leaf(forms, value, how, COALESCE_UNIFORM, 1);
    }
    if (LLVMIsAArgument(value)) {
        return argument_form(forms, value, how);
    }
    if (LLVMIsAConstant(value)) {
        return constant_form(forms, value, how);
    }
    if (kind == LLVMVectorTypeKind && LLVMIsAInstruction(value) && !LLVMIsACallInst(value)) {
        return coalesce_llvm_computed(forms, value, how); /* its parts carry nothing over */
    }
    if (LLVMIsAInstruction(value)) {
        return instruction_form(forms, value, how);
    }
    return coalesce_llvm_leaf(forms, value, how, COALESCE_IRREGULAR, 0);
}

static void remember(coalesce_llvm_forms *forms, LLVMValueRef value, coalesce_way how,
                     const coalesce_form *form)
{
    coalesce_form *array =
        coalesce_grow(forms->form, forms->count, &forms->capacity, sizeof(*forms->form));

    if (array == NULL) {
        return; /* computed again when it is asked for */
    }
    forms->form = array;
    if (coalesce_map_set(&forms->index, value, (uint32_t)how, (uint32_t)forms->count)) {
        forms->form[forms->count++] = *form;
    }
}

coalesce_form coalesce_llvm_form_of(coalesce_llvm_forms *forms, LLVMValueRef value,
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
        /* a cycle that is no induction, or too deep */
        return coalesce_llvm_leaf(forms, value, how, COALESCE_IRREGULAR, 0);
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
    return coalesce_llvm_form_of(forms, value, MODULO);
}

LLVMValueRef coalesce_llvm_base(const coalesce_llvm_forms *forms, const coalesce_form *form)
{
    LLVMValueRef base = NULL;

    for (uint32_t i = 0; form->known && i < form->terms; i++) {
        const coalesce_term *term = &form->term[i];

        for (uint32_t k = 0; k < term->factors; k++) {
            const coalesce_leaf *it = &forms->leaves.leaf[term->leaf[k]];
            LLVMValueRef value = coalesce_llvm_value_of(it);

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
