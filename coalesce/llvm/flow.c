/* SPDX-License-Identifier: BSD-3-Clause */
/* Predecessors and loop depth.  LLVM-C shows neither loops nor dominators: a loop consists of the
 * blocks that reach the source of an edge back to a block on the search's path without passing that
 * block. */
#include "flow.h"

#include "coalesce/plan/plan.h"

#include <stdlib.h>
#include <string.h>

enum { NEW, ON_PATH, DONE };

static uint32_t index_of(const coalesce_llvm_flow *flow, LLVMBasicBlockRef block)
{
    return coalesce_map_get(&flow->index, block, 0);
}

static unsigned successors(const coalesce_llvm_flow *flow, uint32_t block)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(flow->block[block].block);

    return (end != NULL) ? LLVMGetNumSuccessors(end) : 0;
}

static uint32_t successor(const coalesce_llvm_flow *flow, uint32_t block, unsigned i)
{
    return index_of(flow,
                    LLVMGetSuccessor(LLVMGetBasicBlockTerminator(flow->block[block].block), i));
}

static int find_blocks(coalesce_llvm_flow *flow, LLVMValueRef function)
{
    uint32_t i = 0;

    flow->count = LLVMCountBasicBlocks(function);
    flow->block = calloc(flow->count + 1u, sizeof(*flow->block));
    flow->list = calloc(flow->count + 1u, 2 * sizeof(*flow->list));
    if (flow->block == NULL || flow->list == NULL) {
        return 0;
    }
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block != NULL;
         block = LLVMGetNextBasicBlock(block)) {
        flow->block[i].block = block;
        if (!coalesce_map_set(&flow->index, block, 0, i++)) {
            return 0;
        }
    }
    return 1;
}

static int find_predecessors(coalesce_llvm_flow *flow)
{
    uint32_t edges = 0;

    for (uint32_t i = 0; i < flow->count; i++) {
        for (unsigned k = 0; k < successors(flow, i); k++) {
            flow->block[successor(flow, i, k)].count++;
        }
    }
    for (uint32_t i = 0; i < flow->count; i++) {
        flow->block[i].first = edges;
        edges += flow->block[i].count;
        flow->block[i].count = 0;
    }
    flow->predecessor = calloc(edges + 1u, sizeof(*flow->predecessor));
    if (flow->predecessor == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < flow->count; i++) {
        for (unsigned k = 0; k < successors(flow, i); k++) {
            coalesce_llvm_block *to = &flow->block[successor(flow, i, k)];

            flow->predecessor[to->first + to->count++] = i;
        }
    }
    return 1;
}

/* The constant that the value is; 0: it is none. */
static int number_of(LLVMValueRef value, int64_t *number)
{
    if (!LLVMIsAConstantInt(value) || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) {
        return 0;
    }
    *number = LLVMConstIntGetSExtValue(value);
    return 1;
}

/* The phi of a counter, if `value` is one and its next value is `next`: where it begins. */
static int begins_at(LLVMValueRef value, LLVMValueRef next, int64_t *from)
{
    unsigned other;

    if (!LLVMIsAPHINode(value) || LLVMCountIncoming(value) != 2) {
        return 0;
    }
    other = LLVMGetIncomingValue(value, 0) == next;
    return LLVMGetIncomingValue(value, 1 - other) == next &&
           number_of(LLVMGetIncomingValue(value, other), from);
}

/* Of the loop that ends with the block, whose counter is a phi, added to and compared. */
static uint32_t rounds_of(LLVMBasicBlockRef latch)
{
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(latch), test, next;
    int64_t from, step, to;

    if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch)) {
        return COALESCE_UNKNOWN_ROUNDS;
    }
    test = LLVMGetCondition(branch);
    if (!LLVMIsAICmpInst(test) || !number_of(LLVMGetOperand(test, 1), &to)) {
        return COALESCE_UNKNOWN_ROUNDS;
    }
    next = LLVMGetOperand(test, 0);
    return (LLVMIsABinaryOperator(next) && LLVMGetInstructionOpcode(next) == LLVMAdd &&
            number_of(LLVMGetOperand(next, 1), &step) &&
            begins_at(LLVMGetOperand(next, 0), next, &from))
               ? coalesce_rounds(from, step, to) : COALESCE_UNKNOWN_ROUNDS;
}

/* Count one loop more for each block from which `latch` is reached, up to the header.  Another
 * edge back to the same header belongs to the same loop: `marked` holds the header. */
static void count_loop(coalesce_llvm_flow *flow, uint32_t header, uint32_t latch, uint32_t *stack)
{
    const uint32_t rounds = rounds_of(flow->block[latch].block);
    uint32_t depth = 0;

    if (flow->block[header].marked != header + 1) {
        flow->block[header].marked = header + 1;
        flow->block[header].loops++;
        flow->block[header].rounds += rounds;
    }
    stack[depth++] = latch;
    while (depth > 0) {
        coalesce_llvm_block *block = &flow->block[stack[--depth]];

        if (block->marked == header + 1) {
            continue;
        }
        block->marked = header + 1;
        block->loops++;
        block->rounds += rounds;
        for (uint32_t i = 0; i < block->count && depth < flow->count; i++) {
            if (flow->block[flow->predecessor[block->first + i]].marked != header + 1) {
                stack[depth++] = flow->predecessor[block->first + i];
            }
        }
    }
}

/* Depth first, with `list` as the path and each block's next successor beside it. */
static int find_loops(coalesce_llvm_flow *flow)
{
    uint32_t *path = flow->list, *next = flow->list + flow->count, depth = 0, edges = 0;
    uint32_t *edge = calloc(2 * ((size_t)flow->count + 1), 2 * sizeof(*edge));
    uint32_t *stack = malloc((flow->count + 1u) * sizeof(*stack));
    uint32_t room = 2 * (flow->count + 1u);

    if (edge == NULL || stack == NULL) {
        free(edge);
        free(stack);
        return 0;
    }
    if (flow->count > 0) {
        path[depth++] = 0;
        flow->block[0].state = ON_PATH;
    }
    while (depth > 0) {
        uint32_t block = path[depth - 1], to;

        if (next[block] == successors(flow, block)) {
            flow->block[block].state = DONE;
            depth--;
            continue;
        }
        to = successor(flow, block, next[block]++);
        if (flow->block[to].state == NEW) {
            flow->block[to].state = ON_PATH;
            path[depth++] = to;
        } else if (flow->block[to].state == ON_PATH && edges < room) {
            edge[2 * edges] = to;
            edge[2 * edges + 1] = block;
            edges++;
        }
    }
    for (uint32_t header = 0; header < flow->count; header++) { /* all edges of one loop together */
        for (uint32_t i = 0; i < edges; i++) {
            if (edge[2 * i] == header) {
                count_loop(flow, header, edge[2 * i + 1], stack);
            }
        }
    }
    free(edge);
    free(stack);
    return 1;
}

int coalesce_llvm_flow_make(coalesce_llvm_flow *flow, LLVMValueRef function)
{
    memset(flow, 0, sizeof(*flow));
    if (!find_blocks(flow, function) || !find_predecessors(flow) || !find_loops(flow)) {
        coalesce_llvm_flow_fini(flow);
        return 0;
    }
    return 1;
}

void coalesce_llvm_flow_fini(coalesce_llvm_flow *flow)
{
    free(flow->block);
    free(flow->predecessor);
    free(flow->list);
    coalesce_map_fini(&flow->index);
    memset(flow, 0, sizeof(*flow));
}

LLVMBasicBlockRef coalesce_llvm_only_predecessor(const coalesce_llvm_flow *flow, uint32_t block)
{
    const coalesce_llvm_block *it = &flow->block[block];

    return (it->count == 1) ? flow->block[flow->predecessor[it->first]].block : NULL;
}
