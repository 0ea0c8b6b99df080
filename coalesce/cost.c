/* SPDX-License-Identifier: BSD-3-Clause */
/* What pays: one row for each kind of group, with the measurement behind it; and the words. */
#include "plan.h"

/*
 * Measured on an H200, 1 GiB for each array, useful GB/s as written -> coalesced (device copy:
 * 4,246).  What no row allows is left alone: a rewrite that can lose more than 2 % is off.  That
 * is so for records of 2 to 6 words that are read and written (within 2 % of the roof as they
 * are), for reading records below 32 words alone (no gain: each sector is used in the end, by L1)
 * and for copies of 3 words that cannot alias (4,087 -> 3,701).
 */
static const coalesce_cost table[] = {
    { COALESCE_STORES, COALESCE_TRANSPOSE, 7, 31, 0, 0,
      "stores of 9 words 526 -> 3,967, of 12 words 450 -> 3,956; stores alone bring 7 words from "
      "1,375 to 4,211" },
    { COALESCE_STORES, COALESCE_SKEWED, 8, 32, 0, 0,
      "8 words read and written 1,338 -> 4,158, stores of 32 words 271 -> 3,760" },
    { COALESCE_LOADS, COALESCE_TRANSPOSE, 7, 31, 0, 1,
      "9 words read and written 1,262 -> 4,192, 12 words 958 -> 4,228; loads alone gain nothing" },
    { COALESCE_LOADS, COALESCE_SKEWED, 8, 31, 0, 1,
      "8 words read and written 1,338 -> 4,158, 16 words 715 -> 4,144; loads alone gain nothing" },
    { COALESCE_LOADS, COALESCE_SKEWED, 32, 32, 0, 0, "32 words read 1,059 -> 4,085" },
    { COALESCE_LOADS, COALESCE_ROWS, 32, 32, 0, 0,
      "sums of rows of 64 columns 1,045 -> 4,132, of 256 columns 1,010 -> 4,112" },
    { COALESCE_COPIES, COALESCE_COPY, 3, 32, 1, 0,
      "copies through pointers that may alias: 3 words 2,500, 9 words 875, 32 words 204 -> 4,250" },
    { COALESCE_COPIES, COALESCE_COPY, 7, 32, 0, 0,
      "copies of 9 words 1,248 -> 4,214, of 32 words 509 -> 4,005" },
    { COALESCE_COPIES, COALESCE_COPY, 0, 0, 1, 0, "pixels of 3 bytes 2,046 -> 3,880" },
    { COALESCE_STORES, COALESCE_BYTES, 0, 0, 0, 0, "pixels of 3 bytes 2,046 -> 3,880" },
    { COALESCE_LOADS, COALESCE_BYTES, 0, 0, 0, 1, "pixels of 3 bytes 2,046 -> 3,880" },
};

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
        return "the record is no multiple of 4 bytes";
    case COALESCE_RECORD_TOO_LONG:
        return "the record is longer than 32 words";
    case COALESCE_NO_TRANSFORM:
        return "there is no transform for records of so many words";
    case COALESCE_SPACE:
        return "the address is not known to be in global memory";
    case COALESCE_SPECIAL_ACCESS:
        return "an access is volatile, atomic, predicated, in inline assembly or has a cache hint";
    case COALESCE_TYPE:
        return "a field is narrower than 4 bytes or not aligned to them";
    case COALESCE_OVERLAP:
        return "fields overlap or are accessed twice";
    case COALESCE_HOLES_STORED:
        return "not every word of the record is stored, and the rest must not be written";
    case COALESCE_PARTIAL_RECORD:
        return "only a part of the record is accessed, the rest may lie outside the array";
    case COALESCE_IN_BETWEEN:
        return "a memory access in between may alias (would __restrict__ be right?)";
    case COALESCE_DATA_FLOW:
        return "a register changes or is used in between";
    case COALESCE_NOT_MEASURED:
        return "no measurement says that it pays (--force rewrites it)";
    case COALESCE_NEEDS_STORE:
        return "reading such records pays only where they are written too (--force rewrites it)";
    case COALESCE_OPTED_OUT:
        return "an option or the kernel's mark says so";
    case COALESCE_UNSUPPORTED_INPUT:
        return "target or version of the input are too old";
    }
    return "unknown";
}

const char *coalesce_transform_text(coalesce_transform transform)
{
    switch (transform) {
    case COALESCE_KEEP:      return "kept";
    case COALESCE_WIDE:      return "wide accesses";
    case COALESCE_COPY:      return "warp copy";
    case COALESCE_TRANSPOSE: return "warp transpose";
    case COALESCE_BYTES:     return "bytes as words";
    case COALESCE_SKEWED:    return "skewed warp transpose";
    case COALESCE_ROWS:      return "row tile";
    }
    return "unknown";
}
