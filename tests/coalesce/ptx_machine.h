/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine that runs PTX on the CPU: one grid, warps of 32 lanes, each lane with a program
 * counter of its own.  For tests of the rewriter: plain against rewritten kernels.
 *
 * It knows the instructions that nvcc writes for the test kernels and the rewriter adds, and stops
 * with a message at any other, at an access outside the regions or not aligned to its size, at a
 * .sync instruction that not all named lanes reach, and when nothing can go on.
 *
 * Lanes of a warp that are at the same instruction execute it together.  With a seed, the scheduler
 * also splits them and lets any part continue, which finds code that converges only by luck.
 */
#ifndef SHPOOL_TESTS_PTX_MACHINE_H
#define SHPOOL_TESTS_PTX_MACHINE_H

#include "coalesce/ptx/ptx.h"

/* Memory that the kernel may touch: `bytes` at the address that the kernel uses. */
typedef struct machine_region {
    uint64_t       address;
    uint64_t       bytes;
    unsigned char *memory;
} machine_region;

typedef struct machine_launch {
    const ptx_module   *module;
    const ptx_function *function; /* after ptx_flow() or before */
    uint32_t            blocks;
    uint32_t            block[3];  /* threads */
    uint64_t            parameter[8];
    machine_region      region[4];
    uint32_t            regions;
    uint64_t            seed;      /* 0: lanes stay together as long as they can */
    uint64_t            most_steps; /* 0: 50 million */
} machine_launch;

typedef struct machine_result {
    int      fine;
    char     error[200];
    uint64_t steps;      /* warp instructions */
    uint64_t requests;   /* global loads and stores, of warps */
    uint64_t sectors;    /* 32-byte sectors that they touched */
} machine_result;

machine_result machine_run(const machine_launch *launch);

/* ---- between ptx_machine.c and ptx_alu.c ---- */

typedef enum machine_op {
    OP_MOV, OP_ADD, OP_SUB, OP_MUL, OP_MAD, OP_DIV, OP_REM, OP_SHL, OP_SHR, OP_AND, OP_OR, OP_XOR,
    OP_NOT, OP_NEG, OP_MIN, OP_MAX, OP_SETP, OP_SELP, OP_CVT, OP_CVTA, OP_BFE, OP_BFI, OP_SHF_R,
    OP_FMA, OP_LOP3, OP_ABS, OP_LD, OP_ST, OP_LD_PARAM, OP_BRA, OP_RET, OP_BAR_SYNC, OP_BAR_WARP,
    OP_SHFL, OP_VOTE, OP_ACTIVEMASK, OP_PRMT, OP_FENCE, OP_NONE
} machine_op;

enum { TYPE_UNSIGNED, TYPE_SIGNED, TYPE_FLOAT, TYPE_PRED };

typedef struct machine_operand {
    int      kind; /* 'r'egister, 'i'mmediate, 's'pecial, '_' */
    uint32_t reg;  /* index in the function */
    uint64_t value;
} machine_operand;

typedef struct machine_code {
    machine_op op;
    int        type;    /* of the operation */
    uint32_t   bits;
    int        from_type; /* cvt */
    uint32_t   from_bits;
    int        wide;    /* mul, mad: the result has twice the bits; 2: hi */
    int        compare; /* setp: 'e', 'n', 'l', 'L'(<=), 'g', 'G' */
    int        combine; /* setp: 0, 'a'nd, 'o'r */
    int        exchange; /* shfl.bfly */
    coalesce_space space;
    uint32_t   elements;
    uint32_t   operands;
    machine_operand operand[6]; /* destination first; memory: address, then elements */
    int64_t    offset; /* of addresses */
    int        guard;  /* register, or -1 */
    int        guard_negated;
    uint32_t   target; /* bra: instruction */
    const ptx_instruction *instruction;
} machine_code;

/* 0: the instruction is not known. */
int machine_decode(const ptx_module *module, const ptx_function *function, uint32_t index,
                   machine_code *code);

/* Values of one lane in, the result out (not for memory, order and other lanes). */
uint64_t machine_compute(const machine_code *code, const uint64_t value[6]);

#endif /* SHPOOL_TESTS_PTX_MACHINE_H */
