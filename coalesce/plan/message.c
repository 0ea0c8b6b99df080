/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages about a group of accesses, and suggested changes of the source. */
#include "finding.h"
#include "groups.h"

#include <stdarg.h>

#define MESSAGE_BYTES 768u

/* Full records up to this length cost requests, not bandwidth: measured, within 2 % of the roof. */
#define CHEAP_RECORD_BYTES 20u

/* Strides beyond this are taken for rows of a matrix: no struct is so long. */
#define ROW_BYTES 256u

typedef struct text {
    char   start[MESSAGE_BYTES];
    size_t used;
} text;

/* What is being written about a group. */
typedef struct about {
    const coalesce_group  *group;
    const coalesce_access *access;
    const char            *rewriter;
    coalesce_finding       finding;
    text                   message;
    text                   suggestion;
} about;

static void add(text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(text *to, const char *format, ...)
{
    size_t  left = sizeof(to->start) - to->used;
    va_list args;
    int     count;

    va_start(args, format);
    count = vsnprintf(to->start + to->used, left, format, args);
    va_end(args);
    if (count > 0) {
        to->used += ((size_t)count < left) ? (size_t)count : left - 1;
    }
}

static const char *space_name(coalesce_space space)
{
    switch (space) {
    case COALESCE_GLOBAL: return "global ";
    case COALESCE_SHARED: return "shared ";
    case COALESCE_LOCAL:  return "local ";
    case COALESCE_CONST:  return "constant ";
    default:              return "";
    }
}

/* The bytes of the narrowest access, or of the widest. */
static uint32_t bytes_of(const coalesce_group *group, const coalesce_access *access, int widest)
{
    uint32_t found = access[group->member[0]].bytes;

    for (uint32_t k = 1; k < group->count; k++) {
        const uint32_t bytes = access[group->member[k]].bytes;

        found = ((bytes > found) == widest) ? bytes : found;
    }
    return found;
}

/* "9 global loads of 4 bytes", "2 copies of 1 to 4 bytes" */
static void add_subject(about *a)
{
    static const char *const nouns[][2] = { { "load", "loads" }, { "store", "stores" },
                                            { "copy", "copies" }, { "atomic", "atomics" } };
    const coalesce_group *group = a->group;
    const uint32_t        least = bytes_of(group, a->access, 0);
    const int             what  = ((a->access[group->member[0]].flags & COALESCE_ATOMIC) != 0)
                                      ? 3 : (int)group->kind;

    add(&a->message, "%u %s%s of ", group->count, space_name(a->finding.space),
        nouns[what][group->count > 1]);
    if (least < a->finding.bytes) {
        add(&a->message, "%u to ", least);
    }
    add(&a->message, "%u byte%s", a->finding.bytes, (a->finding.bytes == 1) ? "" : "s");
}

static uint32_t used_of(const about *a)
{
    uint32_t used = 0;

    for (uint32_t k = 0; k < a->group->count; k++) {
        used += a->access[a->group->member[k]].bytes;
    }
    return (used < a->group->record_bytes) ? used : a->group->record_bytes;
}

static void add_requests(about *a)
{
    add(&a->message, "%u sectors per request, ideal %u", a->finding.sectors, a->finding.ideal);
    if (a->finding.sectors > 0) {
        add(&a->message, " (%u %% of the moved bytes unused)",
            100u - 100u * a->finding.ideal / a->finding.sectors);
    }
}

/* ---- what the rewriter does with it ---- */

static void add_refusal(about *a)
{
    const coalesce_refusal refusal = a->group->refusal;

    if (refusal == COALESCE_SPLIT) {
        add(&a->message, "%s stands between its fields%s", coalesce_cut_text(a->group->cut),
            (a->group->cut == COALESCE_CUT_BRANCH) ? ": load all before it, store all after it"
                                                   : "");
    } else {
        add(&a->message, "%s", coalesce_refusal_text(refusal));
    }
    if ((refusal == COALESCE_PARTIAL_RECORD) || (refusal == COALESCE_SPLIT) ||
        (refusal == COALESCE_HOLES_STORED)) {
        add(&a->message, " (%u bytes used)", used_of(a));
    }
}

/* The first suggestion, with the words that a warp moves for its records. */
static void suggest_rewriter(about *a)
{
    const coalesce_group *group = a->group;
    const uint32_t        sides = (group->source != NULL) ? 2 : 1;
    uint32_t              words = 0;
    uint32_t              moved = 0;

    if ((a->rewriter == NULL) || (group->transform == COALESCE_KEEP)) {
        return;
    }
    for (uint32_t k = 0; k < group->count; k++) {
        const uint32_t bytes = a->access[group->member[k]].bytes;

        words += COALESCE_LANES * bytes / 4;
        moved += COALESCE_SECTOR / 4 * coalesce_sectors(&group->lanes, bytes);
    }
    if ((group->kind == COALESCE_LOADS) && (group->transform != COALESCE_ROWS)) {
        words = COALESCE_LANES * group->record_bytes / 4; /* holes are loaded, too */
    }
    add(&a->suggestion, "%s, which rewrites this%s: a warp then moves %u words instead of %u; or ",
        a->rewriter, group->asks_apart ? " where pointers do not overlap" : "", sides * words,
        sides * moved);
}

/* ---- strides ---- */

/* Bytes of what the blocked layout consists of: a field or, where narrow fields stand beside wider
 * ones, a word. */
static uint32_t element_of(const about *a)
{
    const uint32_t least = bytes_of(a->group, a->access, 0);

    return ((least < 4) && (least < a->finding.bytes) && (a->finding.record_bytes % 4 == 0))
               ? 4 : least;
}

static void suggest_for_stride(about *a)
{
    text          *to      = &a->suggestion;
    const uint32_t element = element_of(a);
    const uint32_t record  = a->finding.record_bytes;
    const int      full    = record == a->finding.used_bytes;

    suggest_rewriter(a);
    if (a->group->refusal == COALESCE_SPLIT) {
        add(to, "access the record's fields side by side, with what stands between them before or "
                "after all of them; ");
    }
    if (coalesce_is_alias_blocked(a->access, a->group) ||
        (a->group->refusal == COALESCE_MAY_ALIAS)) {
        add(to, "__restrict__ on both pointers, if they never overlap, lets all loads begin before "
                "the first store; ");
    }
    if (record == 3) {
        add(to, "let each thread take four records of 3 bytes as three 32-bit words");
    } else if (record > ROW_BYTES) {
        add(to, "if this walks the rows of a matrix, let threadIdx.x run along the row, or take "
                "32 x 32 tiles through shared memory");
    } else if (full && ((record == 8) || (record == 16))) {
        add(to, "declare the record __align__(%u): it is then one access", record);
    } else if (record % element == 0) {
        add(to, "keep the records in the blocked layout of <shpool/layout.cuh>: %s i of record "
                "indx is at shpool_layout_index(indx, i, %u, blockDim.x)%s",
            (element == bytes_of(a->group, a->access, 0)) ? "element" : "word", record / element,
            full ? "; or move them through shared memory with <shpool/loadstore.cuh>" : "");
    } else {
        add(to, "keep each field in an array of its own");
    }
}

static void say_strided(about *a)
{
    coalesce_finding *finding = &a->finding;
    const int full = (finding->used_bytes == finding->record_bytes);
    /* compilers load a byte where only one of a word is used: the request costs the same */
    const int in_words = (finding->record_bytes <= 4) && (finding->record_bytes != 3);

    finding->rule  = COALESCE_RULE_STRIDED;
    finding->level = (in_words || (full && (finding->record_bytes <= CHEAP_RECORD_BYTES) &&
                                   (finding->record_bytes % 4 == 0) &&
                                   !coalesce_is_alias_blocked(a->access, a->group)))
                         ? COALESCE_NOTE : COALESCE_WARNING;
    add_subject(a);
    add(&a->message, ", %lld bytes from lane to lane: ", (long long)finding->stride);
    add_requests(a);
    add(&a->message, "; %u of the record's %u bytes used", finding->used_bytes,
        finding->record_bytes);
    if (in_words) {
        add(&a->message, ": a request costs what one of whole words does");
        return;
    }
    if (full) {
        add(&a->message, (finding->level == COALESCE_NOTE)
                             ? ": costs requests, hardly bandwidth" : ": the whole record");
    }
    if ((a->rewriter != NULL) && (a->group->transform == COALESCE_KEEP)) {
        add(&a->message, "; %s leaves this as it is: ", a->rewriter);
        add_refusal(a);
    }
    suggest_for_stride(a);
}

/* Blocks narrower than a warp: the lanes are in rows. */
static void say_rows(about *a)
{
    coalesce_finding *finding = &a->finding;
    const int64_t     step    = a->group->lanes.offset[1];
    const uint32_t    gap     = finding->bytes;

    finding->rule  = (a->group->lanes.pattern == COALESCE_PITCHED) ? COALESCE_RULE_PITCH
                                                                   : COALESCE_RULE_STRIDED;
    finding->level = (finding->sectors >= 2 * finding->ideal) ? COALESCE_WARNING : COALESCE_NOTE;
    add_subject(a);
    add(&a->message, ", %lld bytes from lane to lane in rows of the block%s: ", (long long)step,
        (a->group->lanes.pattern == COALESCE_PITCHED) ? " that are a run-time distance apart" : "");
    add_requests(a);
    if ((step > (int64_t)gap) || (step < -(int64_t)gap)) {
        add(&a->suggestion, "keep each field in an array of its own, or let threadIdx.x run along "
                            "the contiguous dimension; ");
    }
    add(&a->suggestion, "make blockDim.x a multiple of 32, or of %u at least",
        COALESCE_SECTOR / ((gap < COALESCE_SECTOR) ? gap : COALESCE_SECTOR));
}

static void say_unknown(about *a)
{
    const int is_pitch = a->group->lanes.pattern == COALESCE_RUNTIME;

    a->finding.rule  = is_pitch ? COALESCE_RULE_PITCH : COALESCE_RULE_IRREGULAR;
    a->finding.level = is_pitch ? COALESCE_WARNING : COALESCE_NOTE;
    add_subject(a);
    add(&a->message, "%s: up to %u sectors per request, ideal %u",
        is_pitch ? " whose distance from lane to lane is a run-time value"
                 : " at an address that depends on data or is not linear in the thread index",
        a->finding.sectors, a->finding.ideal);
    if (is_pitch) {
        suggest_rewriter(a);
        add(&a->suggestion, "let threadIdx.x run along the contiguous dimension, or take 32 x 32 "
                            "tiles through shared memory");
    }
}

static int say_banks(about *a)
{
    coalesce_finding *finding = &a->finding;
    const int64_t     step    = a->group->lanes.offset[1];

    finding->sectors = coalesce_bank_passes(&a->group->lanes, finding->bytes, &finding->ideal);
    if (finding->sectors <= finding->ideal) {
        return 0;
    }
    finding->rule  = COALESCE_RULE_BANKS;
    finding->level = COALESCE_WARNING;
    add_subject(a);
    add(&a->message, ", %lld bytes from lane to lane: %u-way bank conflict, %u passes per request, "
                     "ideal %u", (long long)step, finding->sectors / finding->ideal,
        finding->sectors, finding->ideal);
    if (step % 128 == 0) {
        add(&a->suggestion, "pad each row by one element, e.g. [32][33] in place of [32][32]");
    } else {
        add(&a->suggestion, "make the stride an odd number of words: pad the record by one word, "
                            "or keep its fields in arrays of their own");
    }
    return 1;
}

/* ---- remarks ---- */

static void say_decision(about *a)
{
    static const char *const what[] = { "loaded", "stored", "copied" };
    const coalesce_group    *group  = a->group;
    const int                kept   = group->transform == COALESCE_KEEP;

    a->finding.level = COALESCE_REMARK;
    a->finding.rule  = kept ? COALESCE_RULE_KEPT : COALESCE_RULE_REWRITTEN;
    if (group->transform == COALESCE_ROWS) {
        add(&a->message, "%u loads along each lane's row ", group->count);
    } else {
        add(&a->message, "%s record of %u bytes ", what[group->kind], group->record_bytes);
    }
    if (kept) {
        add(&a->message, "kept: ");
        add_refusal(a);
        return;
    }
    add(&a->message, "rewritten: %s", coalesce_transform_text(group->transform));
    if (group->asks_apart) {
        add(&a->message, ", where pointers do not overlap");
    }
    if (group->evidence != NULL) {
        add(&a->message, " (measured: %s GB/s)", group->evidence);
    }
}

static void deliver(coalesce_report *report, about *a)
{
    coalesce_finding *finding = &a->finding;
    double            weight  = (double)finding->accesses;

    weight *= (finding->sectors > finding->ideal) ? finding->sectors - finding->ideal : 0;
    for (uint32_t i = 0; (i < finding->loop_depth) && (i < 6); i++) {
        weight *= 10;
    }
    finding->weight     = weight;
    finding->message    = a->message.start;
    finding->suggestion = (a->suggestion.used != 0) ? a->suggestion.start : NULL;
    coalesce_report_add(report, finding);
    a->message.used = a->suggestion.used = 0;
}

/* Whether the lanes of a row of the block share an address, and all rows together touch no more
 * sectors than a coalesced request does. */
static int is_uniform_by_rows(const about *a)
{
    const coalesce_lanes *lanes = &a->group->lanes;

    return ((lanes->pattern == COALESCE_BLOCKED) || (lanes->pattern == COALESCE_PITCHED)) &&
           (lanes->offset[1] == 0) &&
           (a->finding.sectors * COALESCE_SECTOR <= COALESCE_LANES * a->finding.bytes);
}

/* 1: there is waste to report. */
static int say_waste(about *a)
{
    const coalesce_pattern pattern = a->group->lanes.pattern;

    if ((a->access[a->group->member[0]].flags & COALESCE_ONE_THREAD) != 0) {
        return 0;
    }
    if (a->finding.space == COALESCE_SHARED) {
        return say_banks(a);
    }
    if (((a->finding.space != COALESCE_GLOBAL) && (a->finding.space != COALESCE_GENERIC)) ||
        (a->finding.sectors <= a->finding.ideal) || is_uniform_by_rows(a)) {
        return 0;
    }
    if ((pattern == COALESCE_BLOCKED) || (pattern == COALESCE_PITCHED)) {
        say_rows(a);
    } else if (pattern < COALESCE_BLOCKED) {
        say_strided(a);
    } else {
        say_unknown(a);
    }
    return 1;
}

void coalesce_finding_of_group(coalesce_report *report, const coalesce_access *access,
                               const coalesce_group *group, const coalesce_wanted *wanted,
                               const char *function, const coalesce_place *place,
                               const coalesce_place *inlined_at)
{
    const coalesce_access *member = &access[group->member[0]];
    const uint32_t         bytes  = bytes_of(group, access, 1);
    about                  a      = { .group = group, .access = access };

    a.rewriter = wanted->rewriter;
    a.finding  = (coalesce_finding){
        .place = *place,
        .inlined_at = *inlined_at,
        .function = (char *)(uintptr_t)function,
        .store = (group->kind != COALESCE_LOADS),
        .space = member->space,
        .accesses = group->count,
        .bytes = bytes,
        .stride = group->lanes.stride,
        .sectors = coalesce_sectors(&group->lanes, bytes),
        .ideal = coalesce_sectors_ideal(&group->lanes, bytes),
        .record_bytes = group->record_bytes,
        .used_bytes = group->all_bytes,
        .loop_depth = member->loop_depth,
    };
    /* An access without a type, or of v0, has no width: nothing is known of its record. */
    if (wanted->waste && (bytes_of(group, access, 0) != 0) && say_waste(&a)) {
        deliver(report, &a);
    }
    if (wanted->remarks && ((group->record_bytes > bytes) || (group->transform == COALESCE_ROWS)) &&
        (member->space != COALESCE_SHARED) && (member->space != COALESCE_LOCAL) &&
        (group->refusal != COALESCE_IS_COALESCED)) {
        say_decision(&a);
        deliver(report, &a);
    }
}
