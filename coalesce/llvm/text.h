/* SPDX-License-Identifier: BSD-3-Clause */
/* Between llvm_helper.c, llvm_transpose.c and llvm_block.c. */
#ifndef COALESCE_LLVM_TEXT_H
#define COALESCE_LLVM_TEXT_H

#include "helper.h"

#include <stdio.h>

/** Words that the helper passes for a record. */
unsigned coalesce_ir_words(const coalesce_ir_shape *shape);

/** Words of a unit. */
unsigned coalesce_ir_unit(const coalesce_ir_shape *shape);

/** Bytes to which the warp's first record (wide accesses and rows: each) must be aligned. */
unsigned coalesce_ir_align(const coalesce_ir_shape *shape);

/**
 * The accesses of the warp together.  Defined before: %lane, %lane64, the pointer %p (COPY: %to and
 * %from), for stores the words %w0 ...; defined by it, for loads: the words %f0 ...  Text may end
 * in another block than the one it began in.
 */
void coalesce_ir_write_fast(FILE *out, const coalesce_ir_shape *shape);

/** The same for COPY, BYTES_LOAD and BYTES_STORE: llvm_block.c. */
void coalesce_ir_write_copy(FILE *out, const coalesce_ir_shape *shape);
void coalesce_ir_write_bytes(FILE *out, const coalesce_ir_shape *shape);

/** "<4 x i32>", "<2 x i32>" or "i32". */
const char *coalesce_ir_vector(unsigned words);

/** A barrier of the warp, which orders the lanes' accesses to memory. */
void coalesce_ir_write_warp_sync(FILE *out);

#endif
