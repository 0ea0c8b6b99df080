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
#include "llvm_forms.h"

#include <stdlib.h>
#include <string.h>

typedef enum way { MODULO, SIGNED, UNSIGNED } way;

enum { MOST_DEPTH = 200, /* of expressions; deeper values are leaves */
       ITERATION  = 3,   /* tag of a loop's count, beside the three ways */
       WARP_BITS  = 5 };

static coalesce_form form_of(coalesce_llvm_forms *forms, LLVMValueRef value, way how);

void coalesce_llvm_forms_init(coalesce_llvm_forms *forms, LLVMValueRef function, int is_kernel,
                              const coalesce_block *block)
{
    *forms = (coalesce_llvm_forms){.function = function, .is_kernel = is_kernel, .block = *block};
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
    return form->known && coalesce_lanes_of(&forms->leaves, form, &forms->block).pattern ==
                              COALESCE_BROADCAST;
}

/* ---- leaves ---- */

static coalesce_form leaf(coalesce_llvm_forms *forms, const void *value, uint64_t tag,
                          coalesce_leaf_kind kind, int grid_uniform)
{
    coalesce_leaf it = {.value = value, .tag = tag, .kind = kind, .grid_uniform = grid_uniform};

    return coalesce_form_leaf(&forms->leaves, &it);
}

static coalesce_form stepped_leaf(coalesce_llvm_forms *forms, const void *value, uint64_t tag,
                                  unsigned dimension)
{
    coalesce_leaf it = {.value = value, .tag = tag, .kind = COALESCE_STEPPED};

    it.step[dimension] = 1;
    return coalesce_form_leaf(&forms->leaves, &it);
}

/* The value as a whole, known to change from lane to lane as `form` does. */
static coalesce_form whole(coalesce_llvm_forms *forms, LLVMValueRef value, way how,
                           const coalesce_form *form)
{
    coalesce_leaf it = coalesce_leaf_of(&forms->leaves, form);

    it.value = value;
    it.tag   = how;
    return coalesce_form_leaf(&forms->leaves, &it);
}

/* Computed of its operands: the same in all lanes where they are. */
static coalesce_form computed(coalesce_llvm_forms *forms, LLVMValueRef value, way how)
{
    int operands = LLVMGetNumOperands(value), uniform = 1;

    for (int i = 0; i < operands && uniform; i++) {
        LLVMValueRef  operand = LLVMGetOperand(value, (unsigned)i);
        coalesce_form form;

        if (LLVMIsAFunction(operand)) {
            continue; /* of a call */
        }
        form    = form_of(forms, operand, MODULO);
        uniform = coalesce_llvm_is_uniform(forms, &form);
    }
    return leaf(forms, value, how, uniform ? COALESCE_UNIFORM : COALESCE_IRREGULAR, 0);
}

/* ---- arithmetic ---- */

static int is_exact(LLVMValueRef value, way how)
{
    return (how == MODULO) || ((how == SIGNED) ? LLVMGetNSW(value) : LLVMGetNUW(value));
}

static int constant_of(coalesce_llvm_forms *forms, LLVMValueRef value, int64_t *constant_p)
{
    coalesce_form form = form_of(forms, value, MODULO);

    return coalesce_form_is_constant(&form, constant_p);
}

static coalesce_form sum(coalesce_llvm_forms *forms, LLVMValueRef value, way how, int64_t sign)
{
    coalesce_form a = form_of(forms, LLVMGetOperand(value, 0), how);
    coalesce_form b = form_of(forms, LLVMGetOperand(value, 1), how);

    return coalesce_form_add(&a, &b, sign);
}

static coalesce_form product(coalesce_llvm_forms *forms, LLVMValueRef value, way how)
{
    coalesce_form a = form_of(forms, LLVMGetOperand(value, 0), how);
    coalesce_form b = form_of(forms, LLVMGetOperand(value, 1), how);
    coalesce_form c = coalesce_form_multiply(&a, &b);

    return c.known ? c : computed(forms, value, how);
}

static coalesce_form shifted_left(coalesce_llvm_forms *forms, LLVMValueRef value, way how)
{
    int64_t       bits;
    coalesce_form a, factor;

    if (!constant_of(forms, LLVMGetOperand(value, 1), &bits) || bits < 0 || bits > 62) {
        return computed(forms, value, how);
    }
    a      = form_of(forms, LLVMGetOperand(value, 0), how);
    factor = coalesce_form_constant((int64_t)1 << bits);
    return coalesce_form_multiply(&a, &factor);
}

static coalesce_form arithmetic(coalesce_llvm_forms *forms, LLVMValueRef value, way how)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);

    if (!is_exact(value, how)) { /* it may wrap before it is extended */
        coalesce_form form = form_of(forms, value, MODULO);

        return whole(forms, value, how, &form);
    }
    switch (opcode) {
    case LLVMAdd:
        return sum(forms, value, how, 1);
    case LLVMSub:
        /* an unsigned difference without wrapping is still not a sum of extensions of -b */
        return sum(forms, value, how, -1);
    case LLVMMul:
        return product(forms, value, how);
    default:
        return shifted_left(forms, value, how);
    }
}

/* Is the form tid.x itself, in blocks whose warps are rows of it? */
static int is_thread_x(const coalesce_llvm_forms *forms, const coalesce_form *form)
{
    const coalesce_leaf *it;

    if (!form->known || form->terms != 1 || form->term[0].factors != 1 ||
        form->term[0].coefficient != 1 || forms->block.x % COALESCE_LANES != 0) {
        return 0;
    }
    it = &forms->leaves.leaf[form->term[0].leaf[0]];
    return it->kind == COALESCE_STEPPED && it->step[0] == 1 && LLVMIsAFunction(it->value);
}

/* tid.x / 32 and tid.x mod 32: the warp and the lane, in blocks whose rows are whole warps. */
static coalesce_form divided(coalesce_llvm_forms *forms, LLVMValueRef value, way how)
{
    LLVMOpcode    opcode = LLVMGetInstructionOpcode(value);
    coalesce_form a      = form_of(forms, LLVMGetOperand(value, 0), MODULO);
    int64_t       k;

    if (!constant_of(forms, LLVMGetOperand(value, 1), &k) || k <= 0 || !is_thread_x(forms, &a)) {
        return computed(forms, value, how);
    }
    switch (opcode) {
    case LLVMLShr:
        return (k >= WARP_BITS) ? leaf(forms, value, how, COALESCE_UNIFORM, 0)
                                : computed(forms, value, how);
    case LLVMUDiv:
        return (k % COALESCE_LANES == 0) ? leaf(forms, value, how, COALESCE_UNIFORM, 0)
                                         : computed(forms, value, how);
    case LLVMAnd:
        k++; /* a mask of low bits is a remainder */
        if ((k & (k - 1)) != 0) {
            return computed(forms, value, how);
        }
        /* fall through */
    default:
        return (k % COALESCE_LANES == 0) ? stepped_leaf(forms, value, how, 0)
                                         : computed(forms, value, how);
    }
}

static coalesce_form extended(coalesce_llvm_forms *forms, LLVMValueRef value, way how)
{
    LLVMValueRef of = LLVMGetOperand(value, 0);
    int sign        = LLVMIsASExtInst(value) != NULL || LLVMGetNNeg(value);

    if (LLVMGetIntTypeWidth(LLVMTypeOf(of)) == 1) {
        return computed(forms, value, how);
    }
    if (how == UNSIGNED && LLVMIsASExtInst(value)) { /* the zero extension of a sign extension */
        coalesce_form form = form_of(forms, of, SIGNED);

        return whole(forms, value, how, &form);
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
    i = form_of(forms, index, (LLVMGetIntTypeWidth(LLVMTypeOf(index)) < 64) ? SIGNED : MODULO);
    return coalesce_form_multiply(&i, &scale);
}

static coalesce_form element_address(coalesce_llvm_forms *forms, LLVMValueRef gep)
{
    coalesce_form address = form_of(forms, LLVMGetOperand(gep, 0), MODULO);
    LLVMTypeRef   type    = LLVMGetGEPSourceElementType(gep);
    int           count   = LLVMGetNumOperands(gep);

    for (int i = 1; i < count; i++) {
        LLVMValueRef  index = LLVMGetOperand(gep, (unsigned)i);
        coalesce_form offset;

        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);

            offset = coalesce_form_constant(
                (int64_t)LLVMOffsetOfElement(forms->layout, type, field));
            type   = LLVMStructGetTypeAtIndex(type, field);
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

/* What `next` adds to the phi, or unknown. */
static coalesce_form step_of(coalesce_llvm_forms *forms, LLVMValueRef phi, LLVMValueRef next,
                             way how)
{
    LLVMOpcode    opcode;
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
        bytes = coalesce_form_constant((int64_t)LLVMABISizeOfType(
            forms->layout, LLVMGetGEPSourceElementType(next)));
        step  = form_of(forms, LLVMGetOperand(next, 1), MODULO);
        return coalesce_form_multiply(&step, &bytes);
    }
    return coalesce_form_unknown();
}

/* start + step * rounds, if the phi is that of a loop with an invariant step. */
static coalesce_form loop_value(coalesce_llvm_forms *forms, LLVMValueRef phi, way how)
{
    for (unsigned i = 0; i < 2 && LLVMCountIncoming(phi) == 2; i++) {
        LLVMValueRef  next = LLVMGetIncomingValue(phi, 1 - i);
        coalesce_form step = step_of(forms, phi, next, how), start, rounds;

        if (!step.known) {
            continue;
        }
        start = form_of(forms, LLVMGetIncomingValue(phi, i), how);
        if (!is_invariant(forms, &step)) {
            return coalesce_llvm_is_uniform(forms, &step)
                       ? whole(forms, phi, how, &start)
                       : leaf(forms, phi, how, COALESCE_IRREGULAR, 0);
        }
        rounds = leaf(forms, LLVMBasicBlockAsValue(LLVMGetInstructionParent(phi)), ITERATION,
                      COALESCE_ITERATION, 0);
        rounds = coalesce_form_multiply(&rounds, &step);
        return coalesce_form_add(&start, &rounds, 1);
    }
    return leaf(forms, phi, how, COALESCE_IRREGULAR, 0);
}

/* ---- calls ---- */

static coalesce_form special_register(coalesce_llvm_forms *forms, LLVMValueRef value, way how,
                                      LLVMValueRef callee, const char *name)
{
    static const char *const dimension[] = {"tid.x", "tid.y", "tid.z"};

    /* registers are never negative: extended or not, they are the same */
    for (unsigned d = 0; d < 3; d++) {
        if (strcmp(name, dimension[d]) == 0) {
            return stepped_leaf(forms, callee, MODULO, d);
        }
    }
    if (strcmp(name, "laneid") == 0) {
        return stepped_leaf(forms, callee, MODULO, 0);
    }
    if (strncmp(name, "ctaid", 5) == 0 || strncmp(name, "ntid", 4) == 0 ||
        strncmp(name, "nctaid", 6) == 0 || strcmp(name, "warpsize") == 0) {
        return leaf(forms, callee, MODULO, COALESCE_UNIFORM, 1);
    }
    return leaf(forms, value, how, COALESCE_IRREGULAR, 0);
}

static coalesce_form called(coalesce_llvm_forms *forms, LLVMValueRef value, way how)
{
    static const char registers[] = "llvm.nvvm.read.ptx.sreg.";
    static const char *const pure[] = {"llvm.smin.", "llvm.smax.", "llvm.umin.", "llvm.umax.",
                                       "llvm.abs.", "llvm.fshl.", "llvm.fshr."};
    LLVMValueRef callee = LLVMGetCalledValue(value);
    const char  *name;
    size_t       bytes;

    if (callee == NULL || !LLVMIsAFunction(callee)) {
        return leaf(forms, value, how, COALESCE_IRREGULAR, 0);
    }
    name = LLVMGetValueName2(callee, &bytes);
    if (strncmp(name, registers, strlen(registers)) == 0) {
        return special_register(forms, value, how, callee, name + strlen(registers));
    }
    for (size_t i = 0; i < sizeof(pure) / sizeof(pure[0]); i++) {
        if (strncmp(name, pure[i], strlen(pure[i])) == 0) {
            return computed(forms, value, how);
        }
    }
    return leaf(forms, value, how, COALESCE_IRREGULAR, 0);
}

/* ---- dispatch ---- */

static coalesce_form constant_form(coalesce_llvm_forms *forms, LLVMValueRef value, way how)
{
    if (LLVMIsAConstantInt(value)) {
        if (LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) {
            return coalesce_form_unknown();
        }
        return coalesce_form_constant((how == UNSIGNED)
                                          ? (int64_t)LLVMConstIntGetZExtValue(value)
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
        case LLVMPtrToInt:
        case LLVMIntToPtr:
            return form_of(forms, LLVMGetOperand(value, 0), MODULO);
        default:
            break;
        }
    }
    return leaf(forms, value, how, COALESCE_UNIFORM, 1);
}

static coalesce_form instruction_form(coalesce_llvm_forms *forms, LLVMValueRef value, way how)
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
                                        : computed(forms, value, how);
    case LLVMLShr:
    case LLVMUDiv:
    case LLVMAnd:
    case LLVMURem:
        return divided(forms, value, how);
    case LLVMSExt:
    case LLVMZExt:
        return extended(forms, value, how);
    case LLVMTrunc:
        form = form_of(forms, LLVMGetOperand(value, 0), MODULO);
        return (how == MODULO) ? form : whole(forms, value, how, &form);
    case LLVMGetElementPtr:
        return element_address(forms, value);
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
    case LLVMFreeze:
        return form_of(forms, LLVMGetOperand(value, 0), how);
    case LLVMPHI:
        return loop_value(forms, value, how);
    case LLVMCall:
        return called(forms, value, how);
    case LLVMAlloca:
        return leaf(forms, value, how, COALESCE_UNIFORM, 0);
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return leaf(forms, value, how, COALESCE_IRREGULAR, 0);
    default:
        return computed(forms, value, how);
    }
}

static coalesce_form argument_form(coalesce_llvm_forms *forms, LLVMValueRef value, way how)
{
    int is_pointer = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind;

    /* a kernel's parameters are the same everywhere; of another function only the pointers are
     * likely to be */
    return leaf(forms, value, how,
                (forms->is_kernel || is_pointer) ? COALESCE_UNIFORM : COALESCE_IRREGULAR,
                forms->is_kernel);
}

static coalesce_form new_form(coalesce_llvm_forms *forms, LLVMValueRef value, way how)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));

    if (kind != LLVMIntegerTypeKind && kind != LLVMPointerTypeKind &&
        LLVMIsAConstant(value)) {
        return leaf(forms, value, how, COALESCE_UNIFORM, 1);
    }
    if (LLVMIsAArgument(value)) {
        return argument_form(forms, value, how);
    }
    if (LLVMIsAConstant(value)) {
        return constant_form(forms, value, how);
    }
    if (LLVMIsAInstruction(value)) {
        return instruction_form(forms, value, how);
    }
    return leaf(forms, value, how, COALESCE_IRREGULAR, 0);
}

static void remember(coalesce_llvm_forms *forms, LLVMValueRef value, way how,
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

static coalesce_form form_of(coalesce_llvm_forms *forms, LLVMValueRef value, way how)
{
    enum { BUSY = 8 }; /* tag of values that are being looked at */
    uint32_t      at = coalesce_map_get(&forms->index, value, (uint32_t)how);
    coalesce_form form;

    if (at != COALESCE_MAP_NONE) {
        return forms->form[at];
    }
    if (forms->depth >= MOST_DEPTH ||
        coalesce_map_get(&forms->index, value, BUSY + (uint32_t)how) == 1) {
        /* a cycle that is no induction, or too deep */
        return leaf(forms, value, how, COALESCE_IRREGULAR, 0);
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
            LLVMValueRef         value = (LLVMValueRef)(uintptr_t)it->value;

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
