/* SPDX-License-Identifier: BSD-3-Clause */
/* A group's record as the warp sees it. */
#include "warp.h"

/* 1: each unit is stored or a hole, as a whole. */
static int has_whole_units(const coalesce_record *record, uint32_t unit)
{
    const uint64_t all = (1u << unit) - 1;

    for (uint32_t i = 0; i < record->words; i += unit) {
        const uint64_t stored = record->covered >> i & all;

        if ((stored != 0) && (stored != all)) {
            return 0;
        }
    }
    return 1;
}

uint32_t coalesce_record_unit(const coalesce_record *record)
{
    uint32_t unit = (record->words % 4 == 0) ? 4 : (record->words % 2 == 0) ? 2 : 1;

    while ((record->kind == COALESCE_STORES) && !has_whole_units(record, unit)) {
        unit /= 2;
    }
    return unit;
}

static int64_t offset_of(const coalesce_access *access, uint32_t from, uint32_t to)
{
    int64_t offset = 0;

    (void)coalesce_form_distance(&access[to].address, &access[from].address, &offset);
    return offset;
}

/* 1: the compiler knows that they are different objects. */
static int is_disjoint(const coalesce_access *to, const coalesce_access *from)
{
    int64_t distance;

    return !coalesce_form_distance(&to->address, &from->address, &distance) &&
           !coalesce_may_alias(to, from);
}

coalesce_record coalesce_record_of(const coalesce_access *access, const coalesce_group *group)
{
    const coalesce_access *lowest = &access[group->member[0]];
    coalesce_record        record = { .kind = group->kind, .words = group->record_bytes / 4,
                                      .is_wide = group->transform == COALESCE_WIDE,
                                      .is_row = group->transform == COALESCE_ROWS,
                                      .is_narrow = group->is_narrow,
                                      .threads = group->threads,
                                      .is_global = lowest->space == COALESCE_GLOBAL };
    uint32_t               words  = 0;

    for (uint32_t k = 0; k < group->count; k++) {
        const int64_t  at    = offset_of(access, group->member[0], group->member[k]) / 4;
        const uint32_t count = (access[group->member[k]].bytes + 3) / 4;

        for (uint32_t i = 0; i < count; i++) {
            record.covered |= (uint64_t)1 << (at + i);
        }
        words += count;
    }
    record.words = record.is_row ? words : record.words;
    if (group->kind == COALESCE_COPIES) {
        const coalesce_access *from = &access[group->source[0]];

        record.is_parallel = group->one_match;
        record.is_disjoint = is_disjoint(lowest, from);
        record.is_global   = record.is_global && (from->space == COALESCE_GLOBAL);
    }
    return record;
}

/* Of copies, too, what all records of an aligned array have: a copy may begin at any of them. */
uint32_t coalesce_record_align(const coalesce_record *record)
{
    return 4 * coalesce_record_unit(record);
}
