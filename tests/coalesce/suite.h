/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of kernels.cu: SUITE(name, bytes read for a record, bytes written for it,
 * flags).  Included with SUITE defined. */
/* flags */
#ifndef COALESCE_SUITE_FLAGS
#define COALESCE_SUITE_FLAGS
#define SUITE_ALIAS   1 /* source and destination may be the same */
#define SUITE_COLUMNS 2 /* bytes read are for each column */
#define SUITE_BYTES   4 /* addresses need no alignment */
#define SUITE_2D      8 /* blocks of two dimensions */
#define SUITE_DOUBLE  16 /* addresses need an alignment of 8 */
#define SUITE_FLOAT   32 /* words are floating point numbers */
#define SUITE_ALL     64 /* all threads access, whatever n is: coalesce/clang_defects.cu */
#define SUITE_SPAN    128 /* 65,536 words more on both sides */
#endif
SUITE(copy3, 12, 12, SUITE_ALIAS)
SUITE(copy_restrict3, 12, 12, 0)
SUITE(copy4, 16, 16, SUITE_ALIAS)
SUITE(copy_restrict4, 16, 16, 0)
SUITE(copy9, 36, 36, SUITE_ALIAS)
SUITE(copy_restrict9, 36, 36, 0)
SUITE(copy12, 48, 48, SUITE_ALIAS)
SUITE(copy_restrict12, 48, 48, 0)
SUITE(copy32, 128, 128, SUITE_ALIAS)
SUITE(copy_restrict32, 128, 128, 0)
SUITE(assign12, 48, 48, SUITE_ALIAS)
SUITE(mix2, 8, 8, 0)
SUITE(mix3, 12, 12, 0)
SUITE(mix4, 16, 16, 0)
SUITE(mix5, 20, 20, 0)
SUITE(mix7, 28, 28, 0)
SUITE(mix8, 32, 32, 0)
SUITE(mix9, 36, 36, 0)
SUITE(mix12, 48, 48, 0)
SUITE(mix15, 60, 60, 0)
SUITE(mix16, 64, 64, 0)
SUITE(mix20, 80, 80, 0)
SUITE(mix28, 112, 112, 0)
SUITE(mix31, 124, 124, 0)
SUITE(mix32, 128, 128, 0)
SUITE(expand3, 4, 12, 0)
SUITE(expand9, 4, 36, 0)
SUITE(expand12, 4, 48, 0)
SUITE(expand32, 4, 128, 0)
SUITE(gather9, 36, 4, 0)
SUITE(gather32, 128, 4, 0)
SUITE(rgb8, 3, 3, SUITE_BYTES)
SUITE(rgb8_copy, 3, 3, SUITE_BYTES | SUITE_ALIAS)
SUITE(rows64, 256, 4, 0)
SUITE(rows256, 1024, 4, 0)
SUITE(rows, 4, 4, SUITE_COLUMNS | SUITE_FLOAT)
SUITE(particles, 40, 40, SUITE_DOUBLE)
SUITE(links, 40, 40, SUITE_DOUBLE)
SUITE(grid_stride9, 36, 36, 0)
SUITE(odd_lanes9, 36, 36, SUITE_ALIAS)
SUITE(early9, 36, 36, 0)
SUITE(block2d9, 36, 36, SUITE_2D)
SUITE(wrapping9, 36, 36, SUITE_SPAN)
SUITE(wrapped9, 36, 36, SUITE_SPAN)
SUITE(exchange9, 36, 36, SUITE_ALL)
SUITE(alias9, 36, 36, SUITE_ALIAS)
SUITE(alias_rows, 256, 256, SUITE_ALIAS)
SUITE(permuted9, 36, 36, 0)
SUITE(generic9, 4, 36, 0)
SUITE(barrier9, 36, 36, 0)
SUITE(red_black9, 36, 36, 0)
SUITE(red_black_cells9, 36, 36, 0)
SUITE(newton9, 36, 36, 0)
SUITE(newton_own9, 36, 36, 0)
SUITE(newton24, 96, 96, 0)
SUITE(newton_roots32, 128, 4, 0)
SUITE(copy_by_parts8, 32, 32, SUITE_ALIAS)
SUITE(newton8, 32, 32, 0)
SUITE(open9, 36, 36, SUITE_ALIAS)
