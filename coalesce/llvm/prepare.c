/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops over rows, prepared for the unroller.
 *
 * `for (j = 0; j < columns; j++) sum += a[row * columns + j];` reads one word of a row in each
 * round, and the lanes' rows are far apart.  Unrolled by the number of words in 128 bytes, one
 * round of the loop reads a tile for plan/rows.c; the unroller adds the remaining rounds. */
#include "prepare.h"

#include "kernels.h"
#include "pass.h"
#include "read.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

enum { TILE_BYTES = 128 };

/* ---- which loops ---- */

/* The loop that is a single block, as rotated inner loops are. */
static int is_loop(LLVMBasicBlockRef block)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);

    return end != NULL && LLVMIsABranchInst(end) && LLVMIsConditional(end) &&
           (LLVMGetSuccessor(end, 0) == block || LLVMGetSuccessor(end, 1) == block);
}

/* Bytes that an address advances in each round of the loop, if that is a constant; else 0. */
static int64_t advance_of(const coalesce_llvm_forms *forms, const coalesce_form *address,
                          LLVMBasicBlockRef loop)
{
    const void *rounds = LLVMBasicBlockAsValue(loop);

    for (uint32_t i = 0; address->known && i < address->terms; i++) {
        const coalesce_term *term = &address->term[i];
        const coalesce_leaf *leaf = &forms->leaves.leaf[term->leaf[0]];

        if (term->factors == 1 && leaf->kind == COALESCE_ITERATION && leaf->value == rounds) {
            return term->coefficient;
        }
    }
    return 0;
}

/* Do neighbouring lanes access different lines? */
static int is_far_apart(const coalesce_llvm_function *f, const coalesce_access *access)
{
    coalesce_lanes lanes = coalesce_lanes_of(&f->forms.leaves, &access->address, &f->forms.block);

    return lanes.pattern == COALESCE_RUNTIME ||
           (lanes.pattern == COALESCE_STRIDED &&
            (lanes.stride >= TILE_BYTES || lanes.stride <= -TILE_BYTES));
}

/* Does the loop read along a row?  Returns the bytes of one round, or 0. */
static uint32_t row_step(const coalesce_llvm_function *f, LLVMBasicBlockRef loop)
{
    const coalesce_access *row = NULL;

    for (size_t i = 0; i < f->count; i++) {
        const coalesce_access *access = &f->access[i];

        if (LLVMGetInstructionParent(coalesce_llvm_instruction(access)) != loop) {
            continue;
        }
        if (!(access->flags & (COALESCE_STORE | COALESCE_VOLATILE | COALESCE_UNSUPPORTED)) &&
            access->bytes % 4 == 0 && access->bytes < TILE_BYTES &&
            advance_of(&f->forms, &access->address, loop) == access->bytes &&
            is_far_apart(f, access)) {
            row = access;
        }
    }
    for (size_t i = 0; row != NULL && i < f->count; i++) {
        if (f->access[i].run == row->run && (f->access[i].flags & COALESCE_STORE) &&
            coalesce_may_alias(&f->access[i], row)) {
            return 0; /* the loads could not be moved together */
        }
    }
    return (row != NULL) ? row->bytes : 0;
}

/* ---- the unroller's input: a loop's metadata, a node that begins with itself ---- */

enum { MOST_PROPERTIES = 16 };

static LLVMMetadataRef text_of(LLVMContextRef context, const char *text)
{
    return LLVMMDStringInContext2(context, text, strlen(text));
}

/* Does a property of the loop say something about unrolling already? */
static int is_about_unrolling(LLVMValueRef property)
{
    static const char about[] = "llvm.loop.unroll";
    LLVMValueRef operand[MOST_PROPERTIES];
    unsigned bytes = 0, count = LLVMGetMDNodeNumOperands(property);
    const char *text;

    if (count == 0 || count > MOST_PROPERTIES) {
        return count != 0;
    }
    LLVMGetMDNodeOperands(property, operand);
    text = (operand[0] != NULL) ? LLVMGetMDString(operand[0], &bytes) : NULL;
    return text != NULL && bytes >= strlen(about) && memcmp(text, about, strlen(about)) == 0;
}

/* Request `rounds` rounds in one, unless the source has its own request. */
static int ask_to_unroll(LLVMContextRef context, LLVMBasicBlockRef loop, unsigned rounds)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(loop), old[MOST_PROPERTIES];
    unsigned kind = LLVMGetMDKindIDInContext(context, "llvm.loop", 9), count = 1;
    LLVMValueRef node = LLVMGetMetadata(end, kind);
    LLVMMetadataRef amount =
        LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(context), rounds, 0));
    LLVMMetadataRef pair[2] = { text_of(context, "llvm.loop.unroll.count"), amount };
    LLVMMetadataRef property[MOST_PROPERTIES + 1], self;

    if (node != NULL) {
        count = LLVMGetMDNodeNumOperands(node);
        if (count > MOST_PROPERTIES) {
            return 0;
        }
        LLVMGetMDNodeOperands(node, old);
    }
    for (unsigned i = 1; i < count; i++) {
        if (is_about_unrolling(old[i])) {
            return 0;
        }
        property[i] = LLVMValueAsMetadata(old[i]);
    }
    property[count] = LLVMMDNodeInContext2(context, pair, 2);
    property[0] = LLVMTemporaryMDNode(context, NULL, 0);
    self = LLVMMDNodeInContext2(context, property, count + 1);
    LLVMMetadataReplaceAllUsesWith(property[0], self);
    LLVMSetMetadata(end, kind, LLVMMetadataAsValue(context, self));
    return 1;
}

static int prepare_function(LLVMModuleRef module, LLVMValueRef of,
                            const coalesce_llvm_options *options, int *out_of_memory_p)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    coalesce_llvm_kernel kernel;
    coalesce_block block;
    coalesce_llvm_function function;
    int changed;

    if (!coalesce_llvm_kernel_of(module, of, &kernel)) {
        *out_of_memory_p = 1;
        return 0;
    }
    if (kernel.is_off) {
        return 0;
    }
    block = options->plan.block.x != 0 ? options->plan.block : kernel.block;
    changed = coalesce_llvm_expand_copies(of, kernel.is_kernel, &block, out_of_memory_p);
    if (options->lint || options->dry || options->plan.no_rows || options->plan.no_loads) {
        return changed;
    }
    if (!coalesce_llvm_read(&function, of, kernel.is_kernel, &block)) {
        *out_of_memory_p = 1;
        return changed;
    }
    for (LLVMBasicBlockRef loop = LLVMGetFirstBasicBlock(of); loop != NULL;
         loop = LLVMGetNextBasicBlock(loop)) {
        uint32_t step = is_loop(loop) ? row_step(&function, loop) : 0;

        if (step != 0) {
            changed |= ask_to_unroll(context, loop, TILE_BYTES / step);
        }
    }
    *out_of_memory_p |= function.forms.leaves.no_memory;
    coalesce_llvm_function_fini(&function);
    return changed;
}

int coalesce_llvm_prepare(LLVMModuleRef module, const coalesce_llvm_options *options,
                          int *out_of_memory_p)
{
    int changed = 0;

    if (options->off || strncmp(LLVMGetTarget(module), "nvptx64", 7) != 0) {
        return 0;
    }
    for (LLVMValueRef function = LLVMGetFirstFunction(module); function != NULL;
         function = LLVMGetNextFunction(function)) {
        if (!LLVMIsDeclaration(function)) {
            changed |= prepare_function(module, function, options, out_of_memory_p);
        }
    }
    return changed;
}
