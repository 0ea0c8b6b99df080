/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A warp's operations for a rewritten record.
 *
 * The list is written once, here, and printed twice: as PTX by ptx/print.c and as LLVM IR by
 * llvm/print.c.  It is in SSA form: each operation makes one new value (a load: one for each word)
 * out of earlier ones.  It has no loops and one kind of branch: UNLESS leaves for the original
 * accesses, which the printers write.
 *
 *   record   the bytes of a lane: those that its group reads or writes, and the holes between them
 *   word     32 bits, the lowest address first
 *   unit     the words that a lane moves by one access: 1, 2 or 4
 *   side     which address: 0 is the source of a copy; 1 is its destination
 */
#ifndef SHPOOL_COALESCE_WARP_H
#define SHPOOL_COALESCE_WARP_H

#include "plan.h"

/* A group as the warp sees it. */
typedef struct coalesce_record {
    coalesce_group_kind kind;
    uint32_t words;
    uint64_t covered;    /* bit i: word i is accessed.  Others: loads may read them, stores must not
                          * write them, copies have none */
    int      is_wide;    /* T0: each thread by itself, 2 or 4 words */
    int      is_row;     /* T3: lanes are any distance apart; 32 words */
    int      is_narrow;  /* some words consist of bytes and half-words: they may lie anywhere */
    int      is_global;  /* the address is known to be global; else a guard tests it */
    int      is_disjoint; /* copies: the two sides are known not to overlap; else G4 tests it */
    uint32_t threads;    /* G0: a multiprocessor must have room for more than these; 0: no test */
    int      is_parallel; /* copies: their distance is known to be the same in all lanes */
    int64_t  offset[2];  /* of each side's record from its address */
} coalesce_record;

/* Operands a, b, c are a[0], a[1], a[2]; where b is COALESCE_NO_VALUE, `immediate` is meant. */
typedef enum coalesce_op_kind {
    /* inputs and outputs */
    COALESCE_OP_MASK,     /* i32: the lanes that are here */
    COALESCE_OP_LANE,     /* i32: this lane's number */
    COALESCE_OP_SPECIAL,  /* i32: the special register coalesce_special[`immediate`] */
    COALESCE_OP_ADDRESS,  /* pointer: of side `immediate` */
    COALESCE_OP_WORD,     /* i32: word `immediate` of what the lane stores; all come in a row */
    COALESCE_OP_RESULT,   /* word `immediate` of what the lane loads is a; all come in a row */
    /* arithmetic on integers; AND and OR also on predicates */
    COALESCE_OP_ADD,
    COALESCE_OP_SUB,
    COALESCE_OP_MUL,
    COALESCE_OP_REM,      /* unsigned */
    COALESCE_OP_AND,
    COALESCE_OP_OR,
    COALESCE_OP_EQUAL,    /* predicate */
    COALESCE_OP_ABOVE,    /* predicate: a > b, unsigned */
    COALESCE_OP_SELECT,   /* i32: a ? b : c */
    COALESCE_OP_BIT,      /* i32: 1 << a */
    COALESCE_OP_SCALE,    /* i64: the i32 a, signed, times `immediate` */
    COALESCE_OP_HALF,     /* i32: the lower (`immediate` 0) or upper half (32) of the i64 a */
    COALESCE_OP_JOIN,     /* i64: lower half a, upper half b */
    COALESCE_OP_INTEGER,  /* i64: the pointer a */
    COALESCE_OP_STEP,     /* pointer: a + the i64 b */
    /* the warp */
    COALESCE_OP_SHUFFLE,  /* i32: a of lane b modulo 32 */
    COALESCE_OP_EXCHANGE, /* i32: a of the lane whose number differs in the bits of `immediate` */
    COALESCE_OP_ALL,      /* predicate: a in all lanes */
    COALESCE_OP_SYNC,     /* lanes wait for each other, and their memory accesses are ordered */
    /* memory: `words` words at the pointer a + immediate */
    COALESCE_OP_LOAD,
    COALESCE_OP_STORE,    /* of a[1], a[2], ...; not where the predicate a[5] is true, if any */
    COALESCE_OP_GLOBAL,   /* predicate: the pointer a is global */
    COALESCE_OP_UNLESS    /* unless a: on with the original accesses */
} coalesce_op_kind;

typedef enum coalesce_type {
    COALESCE_VOID,
    COALESCE_PREDICATE,
    COALESCE_I32,
    COALESCE_I64,
    COALESCE_POINTER
} coalesce_type;

#define COALESCE_NO_VALUE UINT32_MAX

typedef struct coalesce_op {
    coalesce_op_kind kind;
    coalesce_type    type;  /* of the value */
    uint32_t         value; /* its number; of a load's first word */
    uint32_t         words; /* of LOAD and STORE: 1, 2 or 4 */
    uint32_t         a[6];
    int64_t          immediate;
} coalesce_op;

extern const char *const coalesce_special[4]; /* the block's extents, and its shared memory */

#define COALESCE_MOST_OPS    1024u /* tests/coalesce/test_warp.c makes them all */
#define COALESCE_MOST_VALUES 1024u

typedef struct coalesce_warp {
    int         full;
    uint32_t    count;
    uint32_t    values;
    coalesce_op op[COALESCE_MOST_OPS];
    uint32_t    maker[COALESCE_MOST_VALUES]; /* by value: index of the operation that makes it */
} coalesce_warp;

/* The record of a group that is rewritten; offsets are 0. */
coalesce_record coalesce_record_of(const coalesce_access *access, const coalesce_group *group);

/* Words that a lane moves by one access of a transpose.  It stores all words of such a unit. */
uint32_t coalesce_record_unit(const coalesce_record *record);

/* Bytes to which the record of the warp's first lane (wide, row: of each) must be aligned: G3. */
uint32_t coalesce_record_align(const coalesce_record *record);

/* The list: guards, then the accesses of the warp together.  0: it has no room, which no record of
 * COALESCE_MAX_WORDS words brings about; the list is then not to be printed. */
int coalesce_warp_make(const coalesce_record *record, coalesce_warp *warp);

/* The operation that makes a value. */
static inline const coalesce_op *coalesce_maker(const coalesce_warp *warp, uint32_t value)
{
    return &warp->op[warp->maker[value]];
}

/* How a printer writes operations; see coalesce_op_print(). */
typedef struct coalesce_printer {
    const coalesce_warp *warp;
    void                *user;
    const char          *type[5]; /* by coalesce_type */
    void (*put)(void *user, const char *text, size_t bytes);
    void (*put_value)(void *user, uint32_t value);
} coalesce_printer;

/*
 * Write an operation by a template, in which $r is its value, $a $b $c are operands (or the
 * immediate), $i is the immediate, $t the type of a (without a: of r), $n its bits, $$ a dollar.
 */
void coalesce_op_print(const coalesce_printer *printer, const coalesce_op *op, const char *text);

#endif /* SHPOOL_COALESCE_WARP_H */
