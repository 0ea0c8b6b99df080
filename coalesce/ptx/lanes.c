/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the 32 lanes do with their records, as PTX.
 *
 * Records of N units of U words, one record for each lane: 32*N units in a row.  Unit 32*j + lane
 * is what a lane accesses in round j, so that each round is one coalesced request; unit
 * N*lane + k is field k of the lane's own record.
 *
 * N odd: unit 32*j + l has field (32*j + l) mod N, a fixed permutation of j followed by a rotation
 * by l mod N.  So each lane rotates its registers (log2 N selects each), and one shuffle for each
 * field brings it home.  After B. Catanzaro, A. Keller, M. Garland: A decomposition for in-place
 * matrix transposition (PPoPP 2014).
 *
 * N = 2, 4, 8: unit 32*j + l has field l mod N of record (32/N)*j + l/N for every j, so that the N
 * units that a lane wants lie in N lanes, all in round jd = lane*N/32.  In step t lane l gives its
 * unit of round (l + t) mod N, and lane d takes field (jd - t) mod N: a rotation before the
 * shuffles, and a rotation behind them.
 */
#include "ptx.h"

/* Registers w0, w1, ... and t0, t1, ...: unit m, word u is element m*U + u of either. */
typedef struct names {
    char    prefix;
    uint32_t of[COALESCE_MAX_WORDS]; /* element -> number */
} names;

static names numbered(char prefix)
{
    names n = { .prefix = prefix };

    for (uint32_t i = 0; i < COALESCE_MAX_WORDS; i++) {
        n.of[i] = i;
    }
    return n;
}

static void put_name(ptx_out *out, const names *n, uint32_t element)
{
    ptx_put(out, "~%c%u", n->prefix, n->of[element]);
}

/* Unit m becomes unit (m + amount) mod N of the names before; the amount is in ~rot. */
static void rotate(ptx_out *out, const ptx_record *record, names *n)
{
    const uint32_t units = record->units;
    const uint32_t unit  = record->unit;

    for (uint32_t step = 1; step < units; step <<= 1) {
        names to = numbered((n->prefix == 'w') ? 't' : 'w');

        ptx_put(out, "\tand.b32 ~x, ~rot, %u;\n", step);
        ptx_put(out, "\tsetp.ne.b32 ~q, ~x, 0;\n");
        for (uint32_t m = 0; m < units; m++) {
            for (uint32_t u = 0; u < unit; u++) {
                ptx_put(out, "\tselp.b32 ");
                put_name(out, &to, m * unit + u);
                ptx_put(out, ", ");
                put_name(out, n, (m + step) % units * unit + u);
                ptx_put(out, ", ");
                put_name(out, n, m * unit + u);
                ptx_put(out, ", ~q;\n");
            }
        }
        *n = to;
    }
}

/* One shuffle for each word of a unit; the source lane is in ~x. */
static void shuffle_unit(ptx_out *out, const ptx_record *record, const names *to, uint32_t to_unit,
                         const names *from, uint32_t from_unit)
{
    for (uint32_t u = 0; u < record->unit; u++) {
        ptx_put(out, "\tshfl.sync.idx.b32 ");
        put_name(out, to, to_unit * record->unit + u);
        ptx_put(out, ", ");
        put_name(out, from, from_unit * record->unit + u);
        ptx_put(out, ", ~x, 31, -1;\n");
    }
}

/* ---- words and the thread's own registers ---- */

static void put_piece(ptx_out *out, const ptx_record *record, const ptx_piece *piece)
{
    ptx_put_bytes(out, record->module->text + piece->begin, piece->end - piece->begin);
}

/* From the names to the registers that the program's loads define. */
static void deliver(ptx_out *out, const ptx_record *record, const names *n)
{
    for (uint32_t k = 0; k < record->words; k++) {
        const ptx_piece *piece = &record->piece[k];

        if (!piece->used || (piece->part == 2)) {
            continue;
        }
        ptx_put(out, (piece->part == 0) ? "\tmov.b32 " : "\tmov.b64 ");
        put_piece(out, record, piece);
        ptx_put(out, (piece->part == 0) ? ", " : ", {");
        put_name(out, n, k);
        if (piece->part == 1) {
            ptx_put(out, ", ");
            put_name(out, n, k + 1);
        }
        ptx_put(out, (piece->part == 0) ? ";\n" : "};\n");
    }
}

/* From what the program stores to the names. */
static void collect(ptx_out *out, const ptx_record *record, const names *n)
{
    for (uint32_t k = 0; k < record->words; k++) {
        const ptx_piece *piece = &record->piece[k];

        if (piece->part == 0) {
            ptx_put(out, "\tmov.b32 ");
            put_name(out, n, k);
            ptx_put(out, ", ");
            put_piece(out, record, piece);
            ptx_put(out, ";\n");
        } else if (piece->part == 1) {
            ptx_put(out, "\tmov.b64 ~d, ");
            put_piece(out, record, piece);
            ptx_put(out, ";\n\tmov.b64 {");
            put_name(out, n, k);
            ptx_put(out, ", ");
            put_name(out, n, k + 1);
            ptx_put(out, "}, ~d;\n");
        }
    }
}

/* ld.global.v4.b32 {w0, w1, w2, w3}, [register+offset] or the like. */
static void access_unit(ptx_out *out, const ptx_record *record, int store, const names *n,
                        uint32_t m, const char *address, int64_t offset)
{
    static const char *const vector[] = { "", "", ".v2", "", ".v4" };

    ptx_put(out, store ? "\tst.global%s%s.b32 [%s+%lld], " : "\tld.global%s%s.b32 ",
            store ? "" : record->nc, vector[record->unit], address, (long long)offset);
    ptx_put(out, (record->unit > 1) ? "{" : "");
    for (uint32_t u = 0; u < record->unit; u++) {
        ptx_put(out, (u > 0) ? ", " : "");
        put_name(out, n, m * record->unit + u);
    }
    ptx_put(out, (record->unit > 1) ? "}" : "");
    if (store) {
        ptx_put(out, ";\n");
    } else {
        ptx_put(out, ", [%s+%lld];\n", address, (long long)offset);
    }
}

/* All rounds; unit j of round j is unit `field_of(j)` of the names. */
static void access_rounds(ptx_out *out, const ptx_record *record, int store, const names *n,
                          int permuted)
{
    ptx_put(out, "\tmul.wide.u32 ~z, ~lane, %u;\n", 4 * record->unit);
    ptx_put(out, "\tadd.s64 ~z, ~base, ~z;\n");
    for (uint32_t j = 0; j < record->units; j++) {
        access_unit(out, record, store, n, permuted ? 32 * j % record->units : j, "~z",
                    record->offset + (int64_t)(128 * record->unit) * j);
    }
}

#define SYNC "\tbar.warp.sync -1;\n"

/* ---- odd numbers of units ---- */

/* i with n*i = 1 modulo 32. */
static uint32_t inverse_of(uint32_t n)
{
    uint32_t i = 1;

    while (n * i % COALESCE_LANES != 1) {
        i += 2;
    }
    return i;
}

static names odd_load(ptx_out *out, const ptx_record *record)
{
    const uint32_t units = record->units;
    names          n     = numbered('w');
    names          home;

    access_rounds(out, record, 0, &n, 1);
    ptx_put(out, "\trem.u32 ~x, ~lane, %u;\n", units);
    ptx_put(out, "\tsub.u32 ~rot, %u, ~x;\n", units);
    ptx_put(out, "\tsetp.eq.u32 ~q, ~x, 0;\n");
    ptx_put(out, "\tselp.b32 ~rot, 0, ~rot, ~q;\n");
    rotate(out, record, &n);
    home = numbered((n.prefix == 'w') ? 't' : 'w');
    for (uint32_t k = 0; k < units; k++) {
        ptx_put(out, "\tmad.lo.u32 ~x, ~lane, %u, %u;\n", units, k);
        ptx_put(out, "\tand.b32 ~x, ~x, 31;\n");
        shuffle_unit(out, record, &home, k, &n, k);
    }
    return home;
}

static void odd_store(ptx_out *out, const ptx_record *record)
{
    const uint32_t units   = record->units;
    const uint32_t inverse = inverse_of(units);
    names          own     = numbered('t');
    names          n       = numbered('w');

    collect(out, record, &own);
    for (uint32_t k = 0; k < units; k++) {
        ptx_put(out, "\tadd.u32 ~x, ~lane, %u;\n", 32 * units - k);
        ptx_put(out, "\tmul.lo.u32 ~x, ~x, %u;\n", inverse);
        ptx_put(out, "\tand.b32 ~x, ~x, 31;\n");
        shuffle_unit(out, record, &n, k, &own, k);
    }
    ptx_put(out, "\trem.u32 ~rot, ~lane, %u;\n", units);
    rotate(out, record, &n);
    ptx_put(out, SYNC);
    access_rounds(out, record, 1, &n, 1);
}

/* ---- 2, 4 or 8 units ---- */

static uint32_t log2_of(uint32_t n)
{
    uint32_t bits = 0;

    while ((1u << bits) < n) {
        bits++;
    }
    return bits;
}

/* The names in which unit t is unit (-t) mod N of n. */
static names reversed(const ptx_record *record, const names *n)
{
    names r = *n;

    for (uint32_t t = 0; t < record->units; t++) {
        for (uint32_t u = 0; u < record->unit; u++) {
            r.of[t * record->unit + u] =
                n->of[(record->units - t) % record->units * record->unit + u];
        }
    }
    return r;
}

static names skewed_load(ptx_out *out, const ptx_record *record)
{
    const uint32_t units = record->units;
    const uint32_t bits  = log2_of(units);
    names          n     = numbered('w');
    names          got;

    access_rounds(out, record, 0, &n, 0);
    ptx_put(out, "\tand.b32 ~rot, ~lane, %u;\n", units - 1);
    rotate(out, record, &n);
    got = numbered((n.prefix == 'w') ? 't' : 'w');
    ptx_put(out, "\tshr.u32 ~rot, ~lane, %u;\n", 5 - bits);     /* jd */
    ptx_put(out, "\tshl.b32 ~y, ~lane, %u;\n", bits);
    ptx_put(out, "\tand.b32 ~y, ~y, 31;\n");                 /* first lane */
    for (uint32_t t = 0; t < units; t++) {
        ptx_put(out, "\tsub.u32 ~x, ~rot, %u;\n", t);
        ptx_put(out, "\tand.b32 ~x, ~x, %u;\n", units - 1);
        ptx_put(out, "\tadd.u32 ~x, ~x, ~y;\n");
        shuffle_unit(out, record, &got, t, &n, t);
    }
    ptx_put(out, "\tneg.s32 ~rot, ~rot;\n");
    ptx_put(out, "\tand.b32 ~rot, ~rot, %u;\n", units - 1);
    got = reversed(record, &got);
    rotate(out, record, &got);
    return got;
}

static void skewed_store(ptx_out *out, const ptx_record *record)
{
    const uint32_t units = record->units;
    const uint32_t bits  = log2_of(units);
    names          n     = numbered('w');
    names          got;

    collect(out, record, &n);
    ptx_put(out, "\tshr.u32 ~rot, ~lane, %u;\n", 5 - bits); /* jd */
    rotate(out, record, &n);
    n   = reversed(record, &n);
    got = numbered((n.prefix == 'w') ? 't' : 'w');
    ptx_put(out, "\tshr.u32 ~y, ~lane, %u;\n", bits);
    for (uint32_t t = 0; t < units; t++) {
        ptx_put(out, "\tadd.u32 ~x, ~lane, %u;\n", t);
        ptx_put(out, "\tand.b32 ~x, ~x, %u;\n", units - 1);
        ptx_put(out, "\tmad.lo.u32 ~x, ~x, %u, ~y;\n", 32 / units);
        shuffle_unit(out, record, &got, t, &n, t);
    }
    ptx_put(out, "\tneg.s32 ~rot, ~lane;\n");
    ptx_put(out, "\tand.b32 ~rot, ~rot, %u;\n", units - 1);
    rotate(out, record, &got);
    ptx_put(out, SYNC);
    access_rounds(out, record, 1, &got, 0);
}

/* ---- what the guards are followed by ---- */

void ptx_emit_load(ptx_out *out, const ptx_record *record)
{
    names n;

    ptx_put(out, SYNC);
    n = (record->group->transform == COALESCE_SKEWED) ? skewed_load(out, record)
                                                      : odd_load(out, record);
    deliver(out, record, &n);
    ptx_put(out, SYNC);
}

void ptx_emit_store(ptx_out *out, const ptx_record *record)
{
    if (record->group->transform == COALESCE_SKEWED) {
        skewed_store(out, record);
    } else {
        odd_store(out, record);
    }
    ptx_put(out, SYNC);
}

void ptx_emit_load_wide(ptx_out *out, const ptx_record *record, const char *base)
{
    names n = numbered('w');

    access_unit(out, record, 0, &n, 0, base, record->offset);
    deliver(out, record, &n);
}

void ptx_emit_store_wide(ptx_out *out, const ptx_record *record, const char *base)
{
    names n = numbered('w');

    collect(out, record, &n);
    access_unit(out, record, 1, &n, 0, base, record->offset);
}

/* The warp's 32*R bytes in units of 16 bytes (4 for records of 3), each lane every 32nd. */
void ptx_emit_copy(ptx_out *out, const ptx_record *record)
{
    const uint32_t bytes = 4 * record->unit;
    const uint32_t units = COALESCE_LANES * record->bytes / bytes;
    names          n     = numbered('w');
    const uint32_t whole = units / COALESCE_LANES;
    const uint32_t rest  = units % COALESCE_LANES;

    ptx_put(out, SYNC);
    ptx_put(out, "\tmul.wide.u32 ~d, ~lane, %u;\n", bytes);
    ptx_put(out, "\tadd.s64 ~z, ~base, ~d;\n");
    ptx_put(out, "\tadd.s64 ~d, ~target, ~d;\n");
    ptx_put(out, "\tsetp.lt.u32 ~q, ~lane, %u;\n", rest);
    for (int store = 0; store < 2; store++) {
        for (uint32_t j = 0; j < whole + (rest != 0); j++) {
            ptx_put(out, (j == whole) ? "\t@~q " : "");
            access_unit(out, record, store, &n, j, store ? "~d" : "~z",
                        (store ? record->target_offset : record->offset) +
                            (int64_t)(COALESCE_LANES * bytes) * j);
        }
    }
    ptx_put(out, SYNC);
}
