/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost table: one row for each kind of group, with its measurement; and the texts. */
#include "plan.h"

/*
 * Measured on an H200, 1 GiB for each array, useful GB/s as compiled by nvcc -> rewritten (device
 * copy: 4,246); doc/performance.md has the whole table.  Groups without a row are not rewritten: a
 * rewrite that can lose more than 2 % is disabled.  This applies to records of 2, 3 and 5 words
 * (already within 2 % of the best; 3 words lose 5 %), to only reading records below 32 words (no
 * gain: L1 eventually uses each sector), and to copies of 3 words that cannot alias.  Records of 3
 * bytes have no transform: 24 words for 32 lanes ran at 0.75 of the plain speed, because 3 bytes a
 * thread in flight are too few.
 */
static const coalesce_cost table[] = {
    { COALESCE_STORES, COALESCE_WIDE, 4, 4, 0, 0, 0, 0, 10,
      "4 floats read and written 3,814 -> 4,263, 4 words 4,256 -> 4,251" },
    { COALESCE_STORES, COALESCE_TRANSPOSE, 7, 64, 0, 0, 0, 0, 10,
      "stores of 9 words 510 -> 3,909, of 12 words 446 -> 3,887, of 32 words 247 -> 3,792, of 36 "
      "words 210 -> 3,570" },
    { COALESCE_STORES, COALESCE_TRANSPOSE, 6, 6, 0, 0, 0, 0, 2,
      "6 words read and written 3,372 -> 4,199, stored 1,736 -> 4,043; as 3 doubles 4,049 -> "
      "4,070" },
    { COALESCE_STORES, COALESCE_TRANSPOSE, 4, 32, 0, 0, 1, 0, 10,
      "stores of 3 of 4 words 1,469 -> 1,601, of 6 of 7 words 600 -> 1,804, of 5 of 9 words 407 -> "
      "1,167, of 16 of 32 words 168 to 246 -> 1,039 to 3,141" },
    { COALESCE_LOADS, COALESCE_WIDE, 4, 4, 0, 1, 0, 0, 10,
      "4 floats read and written 3,814 -> 4,263, 4 words 4,256 -> 4,251" },
    { COALESCE_LOADS, COALESCE_TRANSPOSE, 6, 64, 0, 1, 0, 0, 10,
      "loads alone gain nothing; 8 words read and written 1,272 -> 4,141, 9 words 1,281 -> 4,158, "
      "16 words 721 -> 4,150, 36 words 512 -> 4,014" },
    { COALESCE_LOADS, COALESCE_TRANSPOSE, 32, 32, 0, 0, 0, 0, 10, "32 words read 1,055 -> 4,229" },
    { COALESCE_LOADS, COALESCE_ROWS, 32, 32, 0, 0, 0, 0, 0,
      "sums of rows of 64 columns, by nvcc 1,044 -> 4,268, by clang 1,041 -> 4,257; of 256 "
      "columns, by clang 1,008 -> 4,291" },
    { COALESCE_COPIES, COALESCE_COPY, 3, 64, 1, 0, 0, 0, 10,
      "copies through pointers that may alias: 3 words 2,499 -> 3,989, 9 words 879 -> 4,140, "
      "32 words 201 -> 4,120" },
    { COALESCE_COPIES, COALESCE_COPY, 7, 64, 0, 0, 0, 0, 10,
      "copies of 9 words 1,184 -> 4,144, of 32 words 508 -> 4,099, of 48 words 437 -> 3,985" },
    { COALESCE_COPIES, COALESCE_COPY, 2, 6, 0, 0, 0, 1, 10,
      "copies of ints, shorts and chars, field by field: 2 words 2,861 -> 3,839, 4 words 1,202 -> "
      "4,262, 6 words 777 -> 4,205" },
};

uint32_t coalesce_rounds(int64_t from, int64_t step, int64_t to)
{
    const uint64_t way    = (step < 0) ? (uint64_t)from - (uint64_t)to
                                       : (uint64_t)to - (uint64_t)from;
    const uint64_t stride = (step < 0) ? 0 - (uint64_t)step : (uint64_t)step;
    uint32_t       log    = 0;

    if ((step == 0) || (way > INT64_MAX)) {
        return COALESCE_UNKNOWN_ROUNDS;
    }
    for (uint64_t rounds = way / stride; rounds > 1; rounds = (rounds + 1) / 2) {
        log++;
    }
    return log;
}

const coalesce_cost *coalesce_cost_table(size_t *count_p)
{
    *count_p = sizeof(table) / sizeof(table[0]);
    return table;
}

const char *coalesce_refusal_text(coalesce_refusal refusal)
{
    switch (refusal) {
    case COALESCE_REWRITTEN:
        return "rewritten";
    case COALESCE_IS_COALESCED:
        return "the accesses are coalesced";
    case COALESCE_NO_STRIDE:
        return "the distance from lane to lane is not known at compile time";
    case COALESCE_NEGATIVE_STRIDE:
        return "the records descend from lane to lane";
    case COALESCE_ODD_STRIDE:
        return "the record is not a multiple of 4 bytes";
    case COALESCE_RECORD_TOO_LONG:
        return "the record is longer than 64 words";
    case COALESCE_SPACE:
        return "the address is not known to be in global memory";
    case COALESCE_SPECIAL_ACCESS:
        return "an access is volatile, atomic, predicated, in inline assembly or has a cache hint";
    case COALESCE_TYPE:
        return "a field is not aligned to 4 bytes, or is of a type that cannot be moved";
    case COALESCE_PART_OF_WORD:
        return "fields narrower than 4 bytes leave a part of their word out";
    case COALESCE_OVERLAP:
        return "fields overlap or are accessed twice";
    case COALESCE_HOLES_STORED:
        return "less than half of the record is stored, and the rest must not be written";
    case COALESCE_PARTIAL_RECORD:
        return "only a part of the record is accessed, the rest may lie outside the array";
    case COALESCE_SPLIT:
        return "a barrier, shuffle, call, branch or atomic stands between its fields";
    case COALESCE_MAY_ALIAS:
        return "an access in between may be to the same memory (__restrict__ on both pointers, if "
               "they never overlap)";
    case COALESCE_SAME_ARRAY:
        return "another access through the same pointer lies in between";
    case COALESCE_IN_BETWEEN:
        return "a volatile or atomic access lies in between, or too many others";
    case COALESCE_DATA_FLOW:
        return "a register changes or is used in between";
    case COALESCE_NOT_MEASURED:
        return "no measurement says that it pays (--force rewrites it)";
    case COALESCE_NEEDS_STORE:
        return "reading such records pays only where they are written too (--force rewrites it)";
    case COALESCE_REGISTERS:
        return "it takes more registers than each thread of a block of that size has "
               "(__launch_bounds__, if blocks have fewer than 1,024 threads)";
    case COALESCE_COMPUTES:
        return "the kernel computes longer than it accesses memory (--force rewrites it)";
    case COALESCE_OPTED_OUT:
        return "an option or the kernel's mark says so";
    case COALESCE_UNSUPPORTED_INPUT:
        return "target or version of the input are too old";
    }
    return "unknown";
}

const char *coalesce_cut_text(coalesce_cut cut)
{
    switch (cut) {
    case COALESCE_CUT_BRANCH:  return "a branch";
    case COALESCE_CUT_BARRIER: return "a barrier";
    case COALESCE_CUT_LANES:   return "a shuffle or vote";
    case COALESCE_CUT_ATOMIC:  return "an atomic or volatile access";
    case COALESCE_CUT_CALL:    return "a call";
    case COALESCE_CUT_OTHER:   break;
    }
    return "a fence or inline assembly";
}

const char *coalesce_transform_text(coalesce_transform transform)
{
    switch (transform) {
    case COALESCE_KEEP:      return "kept";
    case COALESCE_WIDE:      return "wide accesses";
    case COALESCE_COPY:      return "warp copy";
    case COALESCE_TRANSPOSE: return "warp transpose";
    case COALESCE_ROWS:      return "row tile";
    }
    return "unknown";
}
