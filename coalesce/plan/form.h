/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Affine forms of addresses: the components of an address, and how it changes from lane to lane.
 *
 * Who calls whom.  The analysis knows no compiler; readers and emitters know one each:
 *
 *     reader (llvm, ptx) --- forms (form.h) --> accesses --- plan.h --> groups with decisions
 *         |                                                                |           |
 *         +-- source lines, kernels -----------> finding.h <--- findings --+      emitter (llvm,
 *                                                   |                             ptx) writes what
 *                                          text, JSON, SARIF                     was decided
 *
 * Words used in this folder
 *   leaf      a value that the analysis treats as opaque; the reader identifies it
 *   form      a sum of coefficients times products of leaves, exact modulo 2^64
 *   lane      a thread's place in its warp, 0..31
 *   stride    bytes from one lane's address to the next one's, if that is the same for all lanes
 *   request   the accesses of one warp's lanes with one instruction
 *   sector    32 bytes of memory, aligned: the unit of requests
 *   record    the bytes between two lanes' addresses: with AoS data, one struct
 *   word      4 bytes
 *
 * Exactness.  Two forms whose difference is a constant differ by that constant, modulo 2^64, in
 * every execution: grouping and legality rest on it.  So a reader sees through sign and zero
 * extension only where the arithmetic below cannot wrap; otherwise the extended value becomes a
 * leaf.  A leaf's lane steps, in contrast, hold only if nothing wraps: profitability rests on them,
 * and rewritten code checks them at run time.
 *
 * No dependence on the rest of libshpool: the LLVM plugin links these files alone.
 */
#ifndef SHPOOL_COALESCE_FORM_H
#define SHPOOL_COALESCE_FORM_H

#include <stddef.h>
#include <stdint.h>

#define COALESCE_LANES   32
#define COALESCE_FACTORS 3  /* leaves of a product; longer ones make a form unknown */
#define COALESCE_TERMS   12 /* products of a form; more make it unknown */
#define COALESCE_SECTOR  32 /* bytes */

/* Properties of a leaf. */
typedef enum coalesce_leaf_kind {
    COALESCE_UNIFORM,   /* the same in all lanes that execute the access together: parameters,
                           ctaid, ntid, what is computed or loaded from such */
    COALESCE_ITERATION, /* how often a loop has gone round: uniform, and advances by 1 */
    COALESCE_STEPPED,   /* advances by step[d] for each step of tid.x, tid.y, tid.z */
    COALESCE_PITCH,     /* advances likewise, and along some dimensions by an unknown amount more */
    COALESCE_IRREGULAR  /* anything: loaded with a divergent address, chosen per lane, ... */
} coalesce_leaf_kind;

typedef struct coalesce_leaf {
    const void         *value; /* the reader's name of it: equal names (value, tag) are one leaf */
    uint64_t            tag;
    coalesce_leaf_kind  kind;
    int64_t             step[3]; /* STEPPED and PITCH */
    uint32_t            pitch;   /* PITCH: bit d: by an unknown amount along dimension d; 0: all */
    /* 1: proven to be the same in all lanes of a block, as kernel parameters, ntid and ctaid are,
     * and what is computed from such alone: two addresses whose forms differ by such leaves alone
     * have one distance in all lanes. */
    int                 grid_uniform;
} coalesce_leaf;

/* All leaves of one function. */
typedef struct coalesce_leaves {
    coalesce_leaf *leaf;
    size_t         count;
    size_t         capacity;
    uint32_t      *slot; /* hash table by value and tag: index + 1; twice the capacity */
    int            no_memory; /* forms are unknown that would be known: none may be used */
} coalesce_leaves;

/* coefficient * leaf[0] * ... * leaf[factors-1]; 0 factors: the constant. */
typedef struct coalesce_term {
    int64_t  coefficient;
    uint32_t factors;
    uint32_t leaf[COALESCE_FACTORS]; /* ascending */
} coalesce_term;

typedef struct coalesce_form {
    int           known; /* 0: nothing else is meaningful */
    uint32_t      terms;
    coalesce_term term[COALESCE_TERMS]; /* no two with the same leaves, no coefficient 0 */
} coalesce_form;

/* The block's shape, as far as known; x 0: unknown, assumed to be a multiple of 32. */
typedef struct coalesce_block {
    uint32_t x;
    uint32_t y;
    uint32_t z;
    uint32_t most; /* threads, by __launch_bounds__; 0: not known */
} coalesce_block;

/* How an address changes from lane to lane. */
typedef enum coalesce_pattern {
    COALESCE_BROADCAST, /* all lanes the same address */
    COALESCE_STRIDED,   /* lane l is at lane 0's address + l * stride */
    COALESCE_BLOCKED,   /* known for each lane, but no single stride (blocks narrower than 32) */
    COALESCE_PITCHED,   /* known in each row of the block, which are a run-time distance apart */
    COALESCE_RUNTIME,   /* a stride that is known at run time only */
    COALESCE_ANY        /* nothing is known: a gather */
} coalesce_pattern;

typedef struct coalesce_lanes {
    coalesce_pattern pattern;
    int64_t          stride;                 /* STRIDED; BROADCAST: 0 */
    int64_t          offset[COALESCE_LANES]; /* from lane 0, up to PITCHED, whose rows count as far
                                              * apart; lanes past the block's end repeat others */
} coalesce_lanes;

/* ---- leaves ---- */

void coalesce_leaves_init(coalesce_leaves *leaves);
void coalesce_leaves_fini(coalesce_leaves *leaves);

/* The form 1 * leaf; what was said of the leaf first holds.  Memory ran out: unknown, and no_memory
 * is set. */
coalesce_form coalesce_form_leaf(coalesce_leaves *leaves, const coalesce_leaf *leaf);

/* ---- forms: plain values; unknown operands give unknown results ---- */

coalesce_form coalesce_form_unknown(void);
coalesce_form coalesce_form_constant(int64_t value);
coalesce_form coalesce_form_add(const coalesce_form *a, const coalesce_form *b, int64_t scale_of_b);
coalesce_form coalesce_form_multiply(const coalesce_form *a, const coalesce_form *b);

/* 1: the form is the constant *value_p; *value_p is its constant part in any case. */
int coalesce_form_is_constant(const coalesce_form *form, int64_t *value_p);

/* Equal for forms that differ by a constant, and for few others. */
uint64_t coalesce_form_signature(const coalesce_form *form);

/* 1: a - b is the constant *difference_p, in every execution.  0 also if that is 2^60 bytes or
 * more: sums of a few distances and sizes then never overflow. */
int coalesce_form_distance(const coalesce_form *a, const coalesce_form *b, int64_t *difference_p);

/* 1: a - b has leaves that are uniform in the block, proven, and nothing else. */
int coalesce_form_same_in_lanes(const coalesce_leaves *leaves, const coalesce_form *a,
                                const coalesce_form *b);

/* ---- consequences for a warp ---- */

/* How the form changes from lane to lane, if nothing wraps. */
coalesce_lanes coalesce_lanes_of(const coalesce_leaves *leaves, const coalesce_form *form,
                                 const coalesce_block *block);

/*
 * A leaf that represents a whole form that a reader must treat as opaque (it may wrap): kind and
 * steps are the form's.
 */
coalesce_leaf coalesce_leaf_of(const coalesce_leaves *leaves, const coalesce_form *form);

/*
 * *met represents a value that is, lane by lane, itself or the other: a clamped index, the rows
 * above and below, definitions that meet.  1: both change alike, or only one, or neither, and a
 * request has at most twice its sectors; 0: *met is now irregular.
 */
int coalesce_leaf_meet(coalesce_leaf *met, const coalesce_leaf *other);

/* 1: *leaf_p represents a value that is one of two, lane by lane. */
int coalesce_leaf_of_either(const coalesce_leaves *leaves, const coalesce_form *a,
                            const coalesce_form *b, coalesce_leaf *leaf_p);

/* The leaf that stands for a + b or a * b where that has more terms or factors than a form. */
coalesce_leaf coalesce_leaf_of_sum(const coalesce_leaves *leaves, const coalesce_form *a,
                                   const coalesce_form *b, int64_t scale_of_b);
coalesce_leaf coalesce_leaf_of_product(const coalesce_leaves *leaves, const coalesce_form *a,
                                       const coalesce_form *b);

/*
 * Sectors that one request of `bytes` per lane touches, its lowest address being aligned to a
 * sector.  RUNTIME and ANY: the worst, one sector (or more) per lane.
 */
uint32_t coalesce_sectors(const coalesce_lanes *lanes, uint32_t bytes);

/* Sectors that the bytes of a request would fill: the least. */
uint32_t coalesce_sectors_ideal(const coalesce_lanes *lanes, uint32_t bytes);

/*
 * Passes over shared memory for one request: 1 means no bank conflicts.  32 banks of 4 bytes; lanes
 * that need the same word share it; 8 and 16 bytes per lane are served by half and quarter warps.
 * *ideal_p: the minimum for these bytes, in the same unit.
 */
uint32_t coalesce_bank_passes(const coalesce_lanes *lanes, uint32_t bytes, uint32_t *ideal_p);

#endif /* SHPOOL_COALESCE_FORM_H */
