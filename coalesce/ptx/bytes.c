/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of 3 bytes: 32 of them are 24 words, which lanes 0 to 23 access.  Bytes 3*lane and so on
 * begin in word 3*lane/4 and end in it or the next one: two shuffles and a shift.  Backwards, word
 * w consists of the end of record 4*w/3 and the begin of the next one.
 */
#include "ptx.h"

#define RECORD 3u
#define WORDS  24u

static void put_piece(ptx_out *out, const ptx_record *record, uint32_t k)
{
    const ptx_piece *piece = &record->piece[k];

    ptx_put_bytes(out, record->module->text + piece->begin, piece->end - piece->begin);
}

/* ~z": the address of the lane's word; "~q": it has one. */
static void find_word(ptx_out *out)
{
    ptx_put(out, "\tmul.wide.u32 ~z, ~lane, 4;\n");
    ptx_put(out, "\tadd.s64 ~z, ~base, ~z;\n");
    ptx_put(out, "\tsetp.lt.u32 ~q, ~lane, %u;\n", WORDS);
}

void ptx_emit_load_bytes(ptx_out *out, const ptx_record *record)
{
    ptx_put(out, "\tbar.warp.sync -1;\n");
    find_word(out);
    ptx_put(out, "\tmov.b32 ~w0, 0;\n");
    ptx_put(out, "\t@~q ld.global%s.b32 ~w0, [~z+%lld];\n",
            record->nc, (long long)record->offset);
    ptx_put(out, "\tmul.lo.u32 ~x, ~lane, %u;\n", RECORD);
    ptx_put(out, "\tshl.b32 ~rot, ~x, 3;\n"); /* bits; shf takes modulo 32 */
    ptx_put(out, "\tshr.u32 ~x, ~x, 2;\n");
    ptx_put(out, "\tadd.u32 ~y, ~x, 1;\n");
    ptx_put(out, "\tshfl.sync.idx.b32 ~w1, ~w0, ~x, 31, -1;\n");
    ptx_put(out, "\tshfl.sync.idx.b32 ~w2, ~w0, ~y, 31, -1;\n");
    ptx_put(out, "\tshf.r.wrap.b32 ~w1, ~w1, ~w2, ~rot;\n");
    for (uint32_t k = 0; k < RECORD; k++) {
        const ptx_piece *piece = &record->piece[k];

        ptx_put(out, "\tbfe.%s ~x, ~w1, %u, 8;\n",
                piece->is_signed ? "s32" : "u32", 8 * k);
        ptx_put(out, (piece->bits == 16) ? "\tcvt.u16.u32 " : "\tmov.b32 ");
        put_piece(out, record, k);
        ptx_put(out, ", ~x;\n");
    }
    ptx_put(out, "\tbar.warp.sync -1;\n");
}

void ptx_emit_store_bytes(ptx_out *out, const ptx_record *record)
{
    for (uint32_t k = 0; k < RECORD; k++) {
        ptx_put(out, (record->piece[k].bits == 16) ? "\tcvt.u32.u16 ~x, "
                                                   : "\tmov.b32 ~x, ");
        put_piece(out, record, k);
        ptx_put(out, ";\n");
        if (k == 0) {
            ptx_put(out, "\tand.b32 ~w0, ~x, 255;\n");
        } else {
            ptx_put(out, "\tbfi.b32 ~w0, ~x, ~w0, %u, 8;\n", 8 * k);
        }
    }
    find_word(out);
    ptx_put(out, "\tshl.b32 ~x, ~lane, 2;\n");
    /* x / 3 by a product: exact for x up to 124 */
    ptx_put(out, "\tmul.lo.u32 ~y, ~x, 171;\n");
    ptx_put(out, "\tshr.u32 ~y, ~y, 9;\n");
    ptx_put(out, "\tmad.lo.s32 ~rot, ~y, -3, ~x;\n"); /* 0, 1, 2 */
    ptx_put(out, "\tshl.b32 ~rot, ~rot, 3;\n");
    ptx_put(out, "\tadd.u32 ~x, ~y, 1;\n");
    ptx_put(out, "\tshfl.sync.idx.b32 ~w1, ~w0, ~y, 31, -1;\n");
    ptx_put(out, "\tshfl.sync.idx.b32 ~w2, ~w0, ~x, 31, -1;\n");
    ptx_put(out, "\tshr.u32 ~w1, ~w1, ~rot;\n");
    ptx_put(out, "\tsub.u32 ~rot, 24, ~rot;\n");
    ptx_put(out, "\tshl.b32 ~w2, ~w2, ~rot;\n");
    ptx_put(out, "\tor.b32 ~w1, ~w1, ~w2;\n");
    ptx_put(out, "\tbar.warp.sync -1;\n");
    ptx_put(out, "\t@~q st.global.b32 [~z+%lld], ~w1;\n",
            (long long)record->offset);
    ptx_put(out, "\tbar.warp.sync -1;\n");
}
