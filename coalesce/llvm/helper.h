/* SPDX-License-Identifier: BSD-3-Clause */
/* Helper functions of the rewrite, as LLVM IR text.
 *
 * A rewritten group becomes a call of one small function that contains the whole guarded diamond:
 * the operations of plan/warp.h, and the original accesses.  The function is written as text,
 * parsed, linked into the module and inlined there, so the pass does not edit control flow
 * itself. */
#ifndef COALESCE_LLVM_HELPER_H
#define COALESCE_LLVM_HELPER_H

#include "coalesce/plan/warp.h"

#include <stdio.h>

/** One original access of a copy. */
typedef struct coalesce_ir_part {
    unsigned char is_store;
    unsigned char at; /**< its first byte in the record */
    unsigned char bytes;
} coalesce_ir_part;

/** Shape of a helper function; equal shapes share one function.
 *
 *  loads, rows   { i32, ... } f(ptr record)
 *  stores        void f(ptr record, i32, ...)
 *  copies        void f(ptr to, ptr from) */
typedef struct coalesce_ir_shape {
    coalesce_record record;
    /** loads, stores: bit i: a field narrower than a word begins at byte i of the word */
    unsigned char narrow[COALESCE_MAX_WORDS];
    unsigned parts; /**< copies; 0: a thread loads all before it stores, or it does not matter */
    coalesce_ir_part part[2 * 4 * COALESCE_MAX_WORDS]; /**< in program order */
} coalesce_ir_shape;

enum { COALESCE_IR_NAME = 5120 }; /* characters of a name at most */

/** The function's name, in a buffer of COALESCE_IR_NAME characters. */
void coalesce_ir_name(const coalesce_ir_shape *shape, char *name);

/** The text of a module that defines the function; the caller frees it.  NULL: no memory. */
char *coalesce_ir_text(const coalesce_ir_shape *shape, const char *layout, const char *triple);

/** The operations, up to where the accesses of the warp are done (print.c). */
void coalesce_ir_print(FILE *out, const coalesce_warp *warp, int is_copy);

#endif
