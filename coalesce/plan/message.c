/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages about a group of accesses, and suggested changes of the source. */
#include "finding.h"

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

/* "9 global loads of 4 bytes" */
static void add_subject(text *to, const coalesce_group *group, const coalesce_access *member)
{
    const char *noun   = (group->kind == COALESCE_LOADS) ? "load"
                         : (group->kind == COALESCE_STORES) ? "store" : "copy";
    const char *plural = (group->count > 1) ? "s" : "";

    if ((member->flags & COALESCE_ATOMIC) != 0) {
        noun = "atomic";
    }
    if (group->kind == COALESCE_COPIES) {
        add(to, "%u %s%s of %u bytes", group->count, space_name(member->space),
            (group->count > 1) ? "copies" : "copy", member->bytes);
    } else {
        add(to, "%u %s%s%s of %u byte%s", group->count, space_name(member->space), noun, plural,
            member->bytes, (member->bytes == 1) ? "" : "s");
    }
}

static uint32_t used_of(const coalesce_group *group, const coalesce_access *access)
{
    uint32_t used = 0;

    for (uint32_t k = 0; k < group->count; k++) {
        used += access[group->member[k]].bytes;
    }
    return (used < group->record_bytes) ? used : group->record_bytes;
}

static void add_requests(text *to, const coalesce_finding *finding)
{
    add(to, "%u sectors per request, ideal %u", finding->sectors, finding->ideal);
    if (finding->sectors > 0) {
        add(to, " (%u %% of the moved bytes unused)",
            100u - 100u * finding->ideal / finding->sectors);
    }
}

/* ---- strides ---- */

static int is_alias_blocked(const coalesce_group *group, const coalesce_access *access)
{
    return (group->source != NULL) &&
           coalesce_may_alias(&access[group->source[0]], &access[group->member[0]]);
}

static void suggest_for_stride(text *to, const coalesce_group *group,
                               const coalesce_access *access, const coalesce_finding *finding)
{
    if (group->refusal == COALESCE_SPLIT) {
        add(to, "access the record's fields side by side, with what stands between them before or "
                "after all of them; ");
    }
    if (is_alias_blocked(group, access) || (group->refusal == COALESCE_MAY_ALIAS)) {
        add(to, "__restrict__ on both pointers, if they never overlap, lets all loads begin before "
                "the first store; ");
    }
    if (finding->record_bytes == 3) {
        add(to, "let each thread take four records of 3 bytes as three 32-bit words");
    } else if (finding->record_bytes > ROW_BYTES) {
        add(to, "if this walks the rows of a matrix, let threadIdx.x run along the row, or take "
                "32 x 32 tiles through shared memory");
    } else if ((finding->record_bytes == finding->used_bytes) &&
               ((finding->record_bytes == 8) || (finding->record_bytes == 16))) {
        add(to, "declare the record __align__(%u): it is then one access", finding->record_bytes);
    } else if (finding->record_bytes % finding->bytes == 0) {
        add(to, "keep the records in the blocked layout of <shpool/layout.cuh>: element i of "
                "record indx is at shpool_layout_index(indx, i, %u, blockDim.x)%s",
            finding->record_bytes / finding->bytes,
            (finding->record_bytes == finding->used_bytes)
                ? "; or move them through shared memory with <shpool/loadstore.cuh>" : "");
    } else {
        add(to, "keep each field in an array of its own");
    }
}

static void say_strided(text *message, text *suggestion, const coalesce_group *group,
                        const coalesce_access *access, coalesce_finding *finding)
{
    const coalesce_access *member = &access[group->member[0]];
    const int full = (finding->used_bytes == finding->record_bytes);
    /* compilers load a byte where only one of a word is used: the request costs the same */
    const int in_words = (finding->record_bytes <= 4) && (finding->record_bytes != 3);

    finding->rule  = COALESCE_RULE_STRIDED;
    finding->level = (in_words ||
                      (full && (finding->record_bytes <= CHEAP_RECORD_BYTES) &&
                      (finding->record_bytes % 4 == 0) && !is_alias_blocked(group, access)))
                         ? COALESCE_NOTE : COALESCE_WARNING;
    add_subject(message, group, member);
    add(message, ", %lld bytes from lane to lane: ", (long long)finding->stride);
    add_requests(message, finding);
    add(message, "; %u of the record's %u bytes used", finding->used_bytes, finding->record_bytes);
    if (in_words) {
        add(message, ": a request costs what one of whole words does");
    } else if (full) {
        add(message, (finding->level == COALESCE_NOTE)
                         ? ": costs requests, hardly bandwidth" : ": the whole record");
    }
    if (!in_words) {
        suggest_for_stride(suggestion, group, access, finding);
    }
}

/* Blocks narrower than a warp: the lanes are in rows. */
static void say_rows(text *message, text *suggestion, const coalesce_group *group,
                     const coalesce_access *access, coalesce_finding *finding)
{
    const int64_t  step = group->lanes.offset[1];
    const uint32_t gap  = access[group->member[0]].bytes;

    finding->rule  = (group->lanes.pattern == COALESCE_PITCHED) ? COALESCE_RULE_PITCH
                                                                : COALESCE_RULE_STRIDED;
    finding->level = (finding->sectors >= 2 * finding->ideal) ? COALESCE_WARNING : COALESCE_NOTE;
    add_subject(message, group, &access[group->member[0]]);
    add(message, ", %lld bytes from lane to lane in rows of the block%s: ", (long long)step,
        (group->lanes.pattern == COALESCE_PITCHED) ? " that are a run-time distance apart" : "");
    add_requests(message, finding);
    if ((step > (int64_t)gap) || (step < -(int64_t)gap)) {
        add(suggestion, "keep each field in an array of its own, or let threadIdx.x run along the "
                        "contiguous dimension; ");
    }
    add(suggestion, "make blockDim.x a multiple of 32, or of %u at least",
        COALESCE_SECTOR / ((gap < COALESCE_SECTOR) ? gap : COALESCE_SECTOR));
}

static void say_unknown(text *message, text *suggestion, const coalesce_group *group,
                        const coalesce_access *access, coalesce_finding *finding)
{
    add_subject(message, group, &access[group->member[0]]);
    if (group->lanes.pattern == COALESCE_RUNTIME) {
        finding->rule  = COALESCE_RULE_PITCH;
        finding->level = COALESCE_WARNING;
        add(message, " whose distance from lane to lane is a run-time value: up to %u sectors per "
                     "request, ideal %u", finding->sectors, finding->ideal);
        add(suggestion, "let threadIdx.x run along the contiguous dimension, or take 32 x 32 tiles "
                        "through shared memory");
    } else {
        finding->rule  = COALESCE_RULE_IRREGULAR;
        finding->level = COALESCE_NOTE;
        add(message, " at an address that depends on data or is not linear in the thread index: up "
                     "to %u sectors per request, ideal %u", finding->sectors, finding->ideal);
    }
}

static int say_banks(text *message, text *suggestion, const coalesce_group *group,
                     const coalesce_access *access, coalesce_finding *finding)
{
    const coalesce_access *member = &access[group->member[0]];
    const int64_t          step   = group->lanes.offset[1];

    finding->sectors = coalesce_bank_passes(&group->lanes, member->bytes, &finding->ideal);
    if (finding->sectors <= finding->ideal) {
        return 0;
    }
    finding->rule  = COALESCE_RULE_BANKS;
    finding->level = COALESCE_WARNING;
    add_subject(message, group, member);
    add(message, ", %lld bytes from lane to lane: %u-way bank conflict, %u passes per request, "
                 "ideal %u", (long long)step, finding->sectors / finding->ideal,
        finding->sectors, finding->ideal);
    if (step % 128 == 0) {
        add(suggestion, "pad each row by one element, e.g. [32][33] in place of [32][32]");
    } else {
        add(suggestion, "make the stride an odd number of words: pad the record by one word, or "
                        "keep its fields in arrays of their own");
    }
    return 1;
}

/* ---- remarks ---- */

static void say_decision(text *message, const coalesce_group *group,
                         const coalesce_access *access, coalesce_finding *finding)
{
    const char *what = (group->kind == COALESCE_LOADS) ? "loaded"
                       : (group->kind == COALESCE_STORES) ? "stored" : "copied";

    finding->level = COALESCE_REMARK;
    if (group->transform != COALESCE_KEEP) {
        finding->rule = COALESCE_RULE_REWRITTEN;
        if (group->transform == COALESCE_ROWS) {
            add(message, "%u loads along each lane's row rewritten: %s", group->count,
                coalesce_transform_text(group->transform));
        } else {
            add(message, "%s record of %u bytes rewritten: %s", what, group->record_bytes,
                coalesce_transform_text(group->transform));
        }
        if (group->asks_apart) {
            add(message, ", where pointers do not overlap");
        }
        if (group->evidence != NULL) {
            add(message, " (measured: %s GB/s)", group->evidence);
        }
        return;
    }
    finding->rule = COALESCE_RULE_KEPT;
    add(message, "%s record of %u bytes kept: ", what, group->record_bytes);
    if (group->refusal == COALESCE_SPLIT) {
        add(message, "%s stands between its fields%s", coalesce_cut_text(group->cut),
            (group->cut == COALESCE_CUT_BRANCH) ? ": load all before it, store all after it" : "");
    } else {
        add(message, "%s", coalesce_refusal_text(group->refusal));
    }
    if ((group->refusal == COALESCE_PARTIAL_RECORD) || (group->refusal == COALESCE_SPLIT) ||
        (group->refusal == COALESCE_HOLES_STORED)) {
        add(message, " (%u bytes used)", used_of(group, access));
    }
}

static void deliver(coalesce_report *report, coalesce_finding *finding, text *message,
                    text *suggestion)
{
    double weight = (double)finding->accesses;

    weight *= (finding->sectors > finding->ideal) ? finding->sectors - finding->ideal : 0;
    for (uint32_t i = 0; (i < finding->loop_depth) && (i < 6); i++) {
        weight *= 10;
    }
    finding->weight     = weight;
    finding->message    = message->start;
    finding->suggestion = (suggestion->used != 0) ? suggestion->start : NULL;
    coalesce_report_add(report, finding);
}

/* Whether the lanes of a row of the block share an address, and all rows together touch no more
 * sectors than a coalesced request does. */
static int is_uniform_by_rows(const coalesce_group *group, const coalesce_finding *finding)
{
    return ((group->lanes.pattern == COALESCE_BLOCKED) ||
            (group->lanes.pattern == COALESCE_PITCHED)) &&
           (group->lanes.offset[1] == 0) &&
           (finding->sectors * COALESCE_SECTOR <= COALESCE_LANES * finding->bytes);
}

/* 1: there is waste to report. */
static int say_waste(text *message, text *suggestion, const coalesce_group *group,
                     const coalesce_access *access, coalesce_finding *finding)
{
    const coalesce_access *member = &access[group->member[0]];

    if ((member->flags & COALESCE_ONE_THREAD) != 0) {
        return 0;
    }
    if (member->space == COALESCE_SHARED) {
        return say_banks(message, suggestion, group, access, finding);
    }
    if ((member->space != COALESCE_GLOBAL) && (member->space != COALESCE_GENERIC)) {
        return 0;
    }
    if ((finding->sectors <= finding->ideal) || is_uniform_by_rows(group, finding)) {
        return 0;
    }
    if ((group->lanes.pattern == COALESCE_BLOCKED) || (group->lanes.pattern == COALESCE_PITCHED)) {
        say_rows(message, suggestion, group, access, finding);
    } else if (group->lanes.pattern <= COALESCE_BLOCKED) {
        say_strided(message, suggestion, group, access, finding);
    } else {
        say_unknown(message, suggestion, group, access, finding);
    }
    return 1;
}

void coalesce_finding_of_group(coalesce_report *report, const coalesce_access *access,
                               const coalesce_group *group, const char *function,
                               const coalesce_place *place, const coalesce_place *inlined_at,
                               int remarks, int waste)
{
    const coalesce_access *member     = &access[group->member[0]];
    text                   message    = { .used = 0 };
    text                   suggestion = { .used = 0 };
    coalesce_finding       finding    = {
        .place = *place,
        .function = (char *)(uintptr_t)function,
        .store = (group->kind != COALESCE_LOADS),
        .space = member->space,
        .accesses = group->count,
        .bytes = member->bytes,
        .stride = group->lanes.stride,
        .sectors = coalesce_sectors(&group->lanes, member->bytes),
        .ideal = coalesce_sectors_ideal(&group->lanes, member->bytes),
        .record_bytes = group->record_bytes,
        .used_bytes = group->all_bytes,
        .loop_depth = member->loop_depth,
    };

    if (inlined_at != NULL) {
        finding.inlined_at = *inlined_at;
    }
    if (waste && say_waste(&message, &suggestion, group, access, &finding)) {
        deliver(report, &finding, &message, &suggestion);
        message    = (text){ .used = 0 };
        suggestion = (text){ .used = 0 };
    }
    if (remarks &&
        ((group->record_bytes > member->bytes) || (group->transform == COALESCE_ROWS)) &&
        (member->space != COALESCE_SHARED) &&
        (member->space != COALESCE_LOCAL) && (group->refusal != COALESCE_IS_COALESCED)) {
        say_decision(&message, group, access, &finding);
        deliver(report, &finding, &message, &suggestion);
    }
}
