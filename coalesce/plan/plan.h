/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From accesses to groups, and from groups to decisions: which records are rewritten, and how, and
 * why others are not.  The rules are the same for all compilers; form.h shows the structure.
 *
 * A reader lists the memory accesses of one function in program order.  Accesses of one `run`
 * (straight-line code in which only other accesses prevent them from moving) whose addresses differ
 * by constants and whose lanes are R bytes apart are fields of one record of R bytes.  They become
 * a group if the rules L1 to L9 of doc/COALESCE.md hold, and the group is rewritten if a row of the
 * cost table says that it pays.
 *
 * Rewritten code checks its assumptions at run time, by the guards
 *   G1  all 32 lanes are present  activemask == ~0
 *   G2  lane l's record is at b + l*R    address - lane*R is the same in all lanes
 *   G3  b is aligned to a unit
 *   G4  copies: the warp's source and destination are disjoint or the same
 * If one fails, the original accesses are executed.
 */
#ifndef SHPOOL_COALESCE_PLAN_H
#define SHPOOL_COALESCE_PLAN_H

#include "form.h"

#define COALESCE_MAX_WORDS 64u /* of a record */
#define COALESCE_MAX_UNITS 32u /* the same, where words may have to be stored one by one */
#define COALESCE_MOST_APART 32u /* questions in a function; see coalesce_apart */

typedef enum coalesce_space {
    COALESCE_GLOBAL,
    COALESCE_SHARED,
    COALESCE_LOCAL,   /* also parameters: other storage in each lane, never rewritten */
    COALESCE_CONST,
    COALESCE_GENERIC  /* unknown */
} coalesce_space;

enum { /* coalesce_access.flags */
    COALESCE_STORE        = 1u << 0,
    COALESCE_VOLATILE     = 1u << 1, /* also relaxed and stronger: must stay unchanged */
    COALESCE_ATOMIC       = 1u << 2, /* atomics and reductions: a load and a store */
    COALESCE_HINTED       = 1u << 3, /* requests a cache policy: not rewritten */
    COALESCE_NONCOHERENT  = 1u << 4, /* ld.global.nc, invariant: nothing writes there */
    COALESCE_CONDITIONAL  = 1u << 5, /* predicated: need not execute with its neighbours */
    COALESCE_FOREIGN      = 1u << 6, /* inline assembly: left alone */
    COALESCE_ONE_THREAD   = 1u << 7, /* at most one thread of the warp gets here: no warning */
    COALESCE_UNSUPPORTED  = 1u << 8  /* a type that emitters do not move (e.g. predicates) */
};

#define COALESCE_NO_ACCESS UINT32_MAX

/* One load or store. */
/* What begins a run: the thing that no access may pass.  Of several without an access between them
 * the last of these is named. */
typedef enum coalesce_cut {
    COALESCE_CUT_BRANCH, /* or a place that branches go to */
    COALESCE_CUT_OTHER,
    COALESCE_CUT_CALL,
    COALESCE_CUT_ATOMIC, /* or volatile */
    COALESCE_CUT_LANES,  /* shuffle, vote, match */
    COALESCE_CUT_BARRIER
} coalesce_cut;

typedef struct coalesce_access {
    const void    *instruction; /* the reader's */
    coalesce_form  address;
    coalesce_form  far_address; /* comparable across runs, for reasons only; zeroed by a reader
                                 * whose `address` is as well */
    coalesce_space space;
    uint32_t       flags;
    uint32_t       bytes;    /* of one lane: 1, 2, 4, 8 or 16 (vectors as a whole) */
    uint32_t       align;    /* less than that: it is several instructions; 0: one */
    uint32_t       run;      /* equal: nothing but accesses between them forbids motion (L3, L4) */
    coalesce_cut   cut;      /* before its run; for reasons only */
    uint32_t       position; /* ascending in the function */
    uint32_t       alias_base; /* accesses with different bases != 0, one of them `alone`, do */
    int            alias_alone; /* not alias (noalias arguments, distinct global variables) */
    /* Stores: the index of the load whose result this stores unchanged, if that is the only use of
     * the result; else COALESCE_NO_ACCESS. */
    uint32_t       copied_from;
    uint32_t       loop_depth;
    uint32_t       rounds;   /* of its loops together, per thread: their binary logarithm */
    uint32_t       location; /* the reader's, for findings */
} coalesce_access;

/* How a group is rewritten; T0 to T3 of doc/COALESCE.md. */
typedef enum coalesce_transform {
    COALESCE_KEEP,           /* not at all */
    COALESCE_WIDE,           /* T0: 64- and 128-bit accesses of each thread */
    COALESCE_COPY,           /* T1: the warp's records copied as one block of memory */
    COALESCE_TRANSPOSE,      /* T2: unit-stride accesses, and exchanges between lanes */
    COALESCE_ROWS            /* T3: 32 words of each lane's own row, any distance apart */
} coalesce_transform;

/* Why a group is kept.  coalesce_refusal_text() has a sentence for each. */
typedef enum coalesce_refusal {
    COALESCE_REWRITTEN, /* it is not */
    COALESCE_IS_COALESCED,
    COALESCE_NO_STRIDE,        /* no stride that is known at compile time */
    COALESCE_NEGATIVE_STRIDE,
    COALESCE_ODD_STRIDE,       /* not a multiple of a word */
    COALESCE_RECORD_TOO_LONG,  /* over COALESCE_MAX_WORDS */
    COALESCE_SPACE,            /* not known to be global memory */
    COALESCE_SPECIAL_ACCESS,   /* volatile, atomic, hinted, predicated, inline assembly */
    COALESCE_TYPE,
    COALESCE_PART_OF_WORD,     /* fields narrower than a word do not fill it */
    COALESCE_OVERLAP,          /* two accesses to the same bytes, or overlapping ones */
    COALESCE_HOLES_STORED,     /* a copy with holes, or stores of less than half of a record: what
                                * the program does not write must not be written */
    COALESCE_PARTIAL_RECORD,   /* the first or last word is missing: may lie outside the array */
    COALESCE_SPLIT,            /* the rest of it is past a barrier, call, branch, ... */
    COALESCE_MAY_ALIAS,        /* an access in between may be to the same memory */
    COALESCE_SAME_ARRAY,       /* one is through the same pointer */
    COALESCE_IN_BETWEEN,       /* one is volatile or atomic, or there are too many */
    COALESCE_DATA_FLOW,        /* the emitter: a register is used or changed in between */
    COALESCE_NOT_MEASURED,     /* the cost table has no row: --force rewrites it */
    COALESCE_NEEDS_STORE,      /* loads of this width pay only together with stores */
    COALESCE_REGISTERS,        /* a block of the largest size would not have enough */
    COALESCE_COMPUTES,         /* the accesses are not what takes the time */
    COALESCE_OPTED_OUT,        /* the kernel, the file or an option says so */
    COALESCE_UNSUPPORTED_INPUT /* the reader: target or version */
} coalesce_refusal;

typedef enum coalesce_group_kind { COALESCE_LOADS, COALESCE_STORES, COALESCE_COPIES }
    coalesce_group_kind;

/* Fields of one record that a thread reads or writes, ascending by address. */
typedef struct coalesce_group {
    coalesce_group_kind kind;
    coalesce_transform  transform; /* KEEP: see refusal */
    coalesce_refusal    refusal;
    uint32_t            count;     /* of member; for copies, of pairs */
    uint32_t           *member;    /* indices of accesses; copies: the stores */
    uint32_t           *source;    /* copies: the loads, in the order of `member`; else NULL */
    uint32_t            first;     /* index of the first access in program order: loads go there */
    uint32_t            last;      /* of the last: stores and copies go there */
    coalesce_lanes      lanes;     /* of one member */
    uint32_t            record_bytes; /* R; 0 if there is no stride */
    uint32_t            used_bytes;   /* of R */
    uint32_t            all_bytes;    /* of R, used by all accesses of the function: for findings */
    coalesce_cut        cut;          /* SPLIT: what stands between its fields */
    uint32_t            between;      /* MAY_ALIAS and the next two: index of what is in the way */
    int                 one_match;    /* copies: source - destination is uniform, proven: G2 for one
                                         of them is enough */
    int                 asks_apart;   /* legal if addresses are apart, see plan->apart */
    int                 is_narrow;    /* some fields are bytes or half-words */
    uint32_t            threads;      /* on a multiprocessor, without which it does not pay; 0: any
                                       * number */
    const char         *evidence;     /* measurement for its row of the cost table */
} coalesce_group;

/*
 * Two addresses of one run that may be near each other, through different pointers.  If they are,
 * in either direction, the original run is executed: the emitter checks at run time.
 */
typedef struct coalesce_apart {
    uint32_t a;     /* indices of accesses: the earliest in the program of their records */
    uint32_t b;
    int64_t  bytes; /* minimum distance of the two: their warps' accesses, and a margin */
} coalesce_apart;

/* The user's options.  Zeroed: the default. */
typedef struct coalesce_options {
    int            force;      /* rewrite every legal record, even if it may be slower */
    int            no_loads;
    int            no_stores;
    int            no_copies;
    int            no_rows;
    int            generic;    /* the emitter's guard tests whether a generic address is global */
    int            asks_apart; /* the emitter can: see coalesce_apart */
    uint32_t       asks_not[COALESCE_MOST_APART]; /* but not in these runs */
    uint32_t       asks_nots;
    int            unsupported; /* nothing can be rewritten: COALESCE_UNSUPPORTED_INPUT */
    coalesce_block block;      /* as far as known */
    uint64_t       work;       /* instructions that a thread executes in the function, roughly */
} coalesce_options;

/* A row of the cost table. */
typedef struct coalesce_cost {
    coalesce_group_kind kind;
    coalesce_transform  transform;
    uint32_t            words_min; /* of the record */
    uint32_t            words_max;
    int                 may_alias;  /* copies: only where loads wait for stores that may alias */
    int                 with_store; /* loads: only in a kernel that rewrites stores as wide */
    int                 has_holes;  /* the record has words that are not accessed */
    int                 is_narrow;  /* only records with bytes or half-words */
    uint32_t            work;       /* instructions, divided by the square of the accesses, at
                                     * most: with more, the accesses are not what takes the time */
    const char         *evidence;   /* the measurement: kernel, plain -> rewritten, GB/s */
} coalesce_cost;

/* The rounds of a loop as coalesce_access.rounds has them: of one whose counter goes from `from` by
 * `step` to `to`; of one that is not known. */
uint32_t coalesce_rounds(int64_t from, int64_t step, int64_t to);
#define COALESCE_UNKNOWN_ROUNDS 6u

/* The table, for the manual and the tools; *count_p is the number of rows. */
const coalesce_cost *coalesce_cost_table(size_t *count_p);

/*
 * An emitter's own conditions on a group that would be rewritten, e.g. that registers hold at
 * group->last what they held at a member.  COALESCE_REWRITTEN: it can write it.
 */
typedef coalesce_refusal (*coalesce_emitter_check)(void *user, const coalesce_group *group);

/* All of one function. */
typedef struct coalesce_plan {
    coalesce_group *group; /* ascending by first position */
    size_t          count;
    size_t          capacity;
    size_t          rewritten;
    coalesce_apart  apart[COALESCE_MOST_APART];
    uint32_t        aparts;
} coalesce_plan;

/*
 * Group the accesses of one function and decide.  Every access is in exactly one group (copies: as
 * source or member), also those that are coalesced already, so that findings can be made of them.
 * `check` may be NULL.  1: *plan_p is to be given to coalesce_plan_fini(); 0: memory ran out.
 */
int coalesce_plan_make(const coalesce_leaves *leaves, const coalesce_access *access, size_t count,
                       const coalesce_options *options, coalesce_emitter_check check, void *user,
                       coalesce_plan *plan_p);
void coalesce_plan_fini(coalesce_plan *plan);

/* For the next plan: ask no question about this run, which the emitter could not place; after too
 * many of them, none at all. */
void coalesce_ask_not(coalesce_options *options, uint32_t run);

/* 1: the two may touch the same byte, in one lane or in different ones. */
int coalesce_may_alias(const coalesce_access *a, const coalesce_access *b);

/* 1: the instruction of PTX, which begins with its opcode, computes its first operand from the
 * others, and nothing else: accesses may pass it. */
int coalesce_computes(const char *text, size_t bytes);

/* 1: so do all instructions of inline assembly. */
int coalesce_assembly_computes(const char *text, size_t bytes);

/* Instructions that the one of this name, of PTX or an intrinsic of LLVM, takes as long as. */
uint32_t coalesce_weight(const char *name, size_t bytes);

/* A clause for a remark: "the record's first or last word is not accessed ...". */
const char *coalesce_refusal_text(coalesce_refusal refusal);

/* "a barrier" */
const char *coalesce_cut_text(coalesce_cut cut);

/* "warp transpose" and so on. */
const char *coalesce_transform_text(coalesce_transform transform);

#endif /* SHPOOL_COALESCE_PLAN_H */
