/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by ptx_machine.c (instructions) and ptx_warps.c (scheduling). */
#ifndef SHPOOL_TESTS_PTX_WARPS_H
#define SHPOOL_TESTS_PTX_WARPS_H

#include "ptx_machine.h"

#define SHARED_BYTES (64u * 1024)
#define SHARED_BASE  0x1000000ull /* of the addresses: fits 32 bits, and no region lies there */
#define SYMBOLS      64

typedef struct symbol {
    uint32_t begin;
    uint32_t end;
    uint64_t address;
} symbol;

typedef struct warp {
    uint64_t *reg; /* [register * 32 + lane] */
    uint32_t  pc[32];
    uint32_t  live;    /* lanes that have not returned */
    uint32_t  at_bar;  /* lanes at a block barrier */
    uint32_t  waiting; /* lanes that wait in a .sync for others */
    uint32_t  first_thread;
    uint32_t  favourite; /* a lane that goes first for `favoured` more turns */
    uint32_t  favoured;
} warp;

typedef struct machine {
    const machine_launch *launch;
    machine_result        result;
    machine_code         *code;
    uint32_t              codes;
    warp                 *warps;
    uint32_t              warp_count;
    uint32_t              block_index;
    uint64_t              random;
    unsigned char         shared[SHARED_BYTES];
    symbol                symbol[SYMBOLS];
    uint32_t              symbols;
} machine;

void machine_stop(machine *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t machine_random(machine *m);

/* The lanes, which are all at pc, execute its instruction. */
void machine_step(machine *m, warp *w, uint32_t pc, uint32_t lanes);

/* Until all threads of the block have returned, or nothing can go on. */
void machine_run_block(machine *m);

#endif /* SHPOOL_TESTS_PTX_WARPS_H */
