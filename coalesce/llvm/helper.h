/* SPDX-License-Identifier: BSD-3-Clause */
/* Helper functions of the rewrite, as LLVM IR text.
 *
 * A rewritten group becomes a call of one small function that holds the whole guarded diamond:
 * tests of the premises, the accesses of the warp together, and the accesses as they were.  The
 * function is written as text, parsed, linked into the module and inlined there, so the pass edits
 * no control flow itself.
 *
 *   record   a lane's bytes: those its group reads or writes, and holes between them
 *   word     32 bits; the helpers pass a record as words, lowest address first
 *   unit     what one lane moves by one access: 1, 2 or 4 words
 *   pitch    bytes from a lane's record to the next lane's
 */
#ifndef COALESCE_LLVM_HELPER_H
#define COALESCE_LLVM_HELPER_H

#include <stdint.h>

enum { COALESCE_IR_WORDS = 32 }; /* most words of a record */

typedef enum coalesce_ir_kind {
    COALESCE_IR_LOAD,  /**< { i32, ... } f(ptr record): a record of whole words; pitch: its size */
    COALESCE_IR_STORE, /**< void f(ptr record, i32, ...): likewise */
    COALESCE_IR_COPY,  /**< void f(ptr to, ptr from): a record of whole words or 3 bytes */
    COALESCE_IR_ROW,   /**< { i32, ... } f(ptr record): 8, 16 or 32 words, any pitch at all */
    COALESCE_IR_BYTES_LOAD, /**< { i32 } f(ptr record): 3 bytes, the low ones of the result */
    COALESCE_IR_BYTES_STORE /**< void f(ptr record, i32): likewise */
} coalesce_ir_kind;

/** What a helper function does; equal shapes share one function. */
typedef struct coalesce_ir_shape {
    coalesce_ir_kind kind;
    unsigned bytes;     /**< of the record */
    uint32_t covered;   /**< bit i: word i (records of 3 bytes: byte i) is accessed; the others are
                             holes: only loads have them, and may read them */
    unsigned is_wide;   /**< per-thread wide access (T0): no warp needed, 2 or 4 words */
    unsigned is_global; /**< the address is known to be global; else the guard asks */
    unsigned is_disjoint; /**< COPY: the two sides are known not to overlap; else the guard asks */
    unsigned is_parallel; /**< COPY: their distance is known to be the same in all lanes */
    unsigned loads_first; /**< COPY: a thread loads all before it stores; else word by word */
} coalesce_ir_shape;

/** Can a helper be made for this shape? */
int coalesce_ir_is_supported(const coalesce_ir_shape *shape);

/** The function's name, in a buffer of at least 64 characters. */
void coalesce_ir_name(const coalesce_ir_shape *shape, char *name, unsigned capacity);

/** The text of a module that defines the function; the caller frees it.  NULL: no memory. */
char *coalesce_ir_text(const coalesce_ir_shape *shape, const char *layout, const char *triple);

#endif
