/* SPDX-License-Identifier: BSD-3-Clause */
/* Grouping: which accesses are fields of one record.  Decisions are in decide.c. */
#include "decide.h"
#include "groups.h"

#include <stdlib.h>
#include <string.h>

/* A candidate for the group of an access: `offset` bytes from it. */
typedef struct field {
    uint32_t access;
    int64_t  offset;
} field;

static int compare_fields(const void *a, const void *b)
{
    const field *x = a;
    const field *y = b;

    if (x->offset != y->offset) {
        return (x->offset < y->offset) ? -1 : 1;
    }
    return (x->access < y->access) ? -1 : 1;
}

static int64_t magnitude(int64_t value)
{
    return (value < 0) ? (int64_t)(0 - (uint64_t)value) : value;
}

/* Bytes of the record that lanes of this stride have; 0: the access is coalesced, or none known. */
static int64_t record_of(const coalesce_lanes *lanes, uint32_t bytes)
{
    int64_t stride = magnitude(lanes->stride);

    return ((lanes->pattern == COALESCE_STRIDED) && (stride > bytes)) ? stride : 0;
}

/* A group of fields, ascending by offset, which are one record at most. */
static int add_group(coalesce_plan *plan, const coalesce_access *access, const field *fields,
                     uint32_t count, const coalesce_lanes *lanes)
{
    coalesce_group *group = coalesce_plan_grow(plan);
    uint32_t       *member = malloc(count * sizeof(*member));

    if ((group == NULL) || (member == NULL)) {
        free(member);
        return 0;
    }
    group->kind = ((access[fields[0].access].flags & COALESCE_STORE) != 0) ? COALESCE_STORES
                                                                          : COALESCE_LOADS;
    group->count        = count;
    group->member       = member;
    group->first        = fields[0].access;
    group->last         = fields[0].access;
    group->lanes        = *lanes;
    group->record_bytes = (record_of(lanes, 0) > UINT32_MAX) ? UINT32_MAX
                                                             : (uint32_t)record_of(lanes, 0);
    for (uint32_t i = 0; i < count; i++) {
        member[i] = fields[i].access;
        group->first = (member[i] < group->first) ? member[i] : group->first;
        group->last  = (member[i] > group->last) ? member[i] : group->last;
    }
    plan->count++;
    return 1;
}

/* Properties that must be equal in the fields of a record; the others concern legality. */
#define KIND_FLAGS (COALESCE_STORE | COALESCE_ATOMIC | COALESCE_NONCOHERENT | COALESCE_ONE_THREAD)

/* For accesses of one run. */
static int may_join(const coalesce_access *a, const coalesce_access *b, int64_t *offset_p)
{
    return (a->space == b->space) &&
           (((a->flags ^ b->flags) & KIND_FLAGS) == 0) &&
           coalesce_form_distance(&b->address, &a->address, offset_p);
}

/* Cut fields that lie within a record's length of each other into groups. */
static int add_records(coalesce_plan *plan, const coalesce_access *access, const field *fields,
                       uint32_t count, const coalesce_lanes *lanes)
{
    uint32_t from = 0;

    while (from < count) {
        int64_t  record = record_of(lanes, access[fields[from].access].bytes);
        uint32_t to     = from + 1;

        while ((to < count) && (record != 0) &&
               (fields[to].offset - fields[from].offset < record)) {
            to++;
        }
        if (!add_group(plan, access, fields + from, to - from, lanes)) {
            return 0;
        }
        from = to;
    }
    return 1;
}

static int group_accesses(const coalesce_leaves *leaves, const coalesce_access *access,
                          size_t count, const coalesce_options *options, coalesce_plan *plan)
{
    field         *fields = malloc((count + 1) * sizeof(*fields));
    uint32_t      *kin    = coalesce_plan_kin(access, count);
    unsigned char *done   = calloc(count + 1, 1);
    int            fine   = (fields != NULL) && (kin != NULL) && (done != NULL);

    for (size_t i = 0; fine && (i < count); i++) {
        coalesce_lanes lanes;
        uint32_t       found = 0;

        if (done[i]) {
            continue;
        }
        lanes = coalesce_lanes_of(leaves, &access[i].address, &options->block);
        fields[found++] = (field){ .access = (uint32_t)i, .offset = 0 };
        for (uint32_t j = kin[i]; j != COALESCE_NO_ACCESS; j = kin[j]) {
            int64_t offset;

            if (!done[j] && may_join(&access[i], &access[j], &offset)) {
                fields[found++] = (field){ .access = j, .offset = offset };
                done[j] = 1;
            }
        }
        qsort(fields, found, sizeof(*fields), compare_fields);
        fine = add_records(plan, access, fields, found, &lanes);
    }
    free(fields);
    free(kin);
    free(done);
    return fine;
}

/* ---- copies: a group of stores whose values are a group of loads ---- */

/* The group of each access; NULL: memory ran out. */
static uint32_t *owners_of(const coalesce_plan *plan, size_t count)
{
    uint32_t *owner = malloc((count + 1) * sizeof(*owner));

    for (size_t i = 0; (owner != NULL) && (i < plan->count); i++) {
        for (uint32_t k = 0; k < plan->group[i].count; k++) {
            owner[plan->group[i].member[k]] = (uint32_t)i;
        }
    }
    return owner;
}

/* 1: field k of the stores is field k of the loads, at the same place of its record, for all k. */
static int is_copy(const coalesce_access *access, const coalesce_group *stores,
                   const coalesce_group *loads)
{
    const coalesce_access *to   = &access[stores->member[0]];
    const coalesce_access *from = &access[loads->member[0]];

    if ((loads->kind != COALESCE_LOADS) || (loads->count != stores->count) ||
        (loads->record_bytes != stores->record_bytes) ||
        (loads->lanes.stride != stores->lanes.stride) || (to->run != from->run) ||
        (to->space != from->space)) {
        return 0;
    }
    for (uint32_t k = 0; k < stores->count; k++) {
        const coalesce_access *store = &access[stores->member[k]];
        const coalesce_access *load  = &access[loads->member[k]];
        int64_t                to_offset;
        int64_t                from_offset;

        if ((store->copied_from != loads->member[k]) || (store->bytes != load->bytes) ||
            !coalesce_form_distance(&store->address, &to->address, &to_offset) ||
            !coalesce_form_distance(&load->address, &from->address, &from_offset) ||
            (to_offset != from_offset)) {
            return 0;
        }
    }
    return 1;
}

/* Merge the two groups of a copy: the stores' group includes the loads.  0: memory ran out. */
static int join_copies(const coalesce_access *access, size_t count, coalesce_plan *plan)
{
    uint32_t *owner = owners_of(plan, count);

    for (size_t i = 0; (owner != NULL) && (i < plan->count); i++) {
        coalesce_group *stores = &plan->group[i];
        coalesce_group *loads;
        uint32_t        copied;

        if ((stores->kind != COALESCE_STORES) || (stores->record_bytes == 0)) {
            continue;
        }
        copied = access[stores->member[0]].copied_from;
        loads  = (copied == COALESCE_NO_ACCESS) ? NULL : &plan->group[owner[copied]];
        if ((loads == NULL) || !is_copy(access, stores, loads)) {
            continue;
        }
        stores->kind   = COALESCE_COPIES;
        stores->source = loads->member;
        stores->first  = loads->first;
        loads->member  = NULL; /* taken; the empty group goes below */
        loads->count   = 0;
    }
    free(owner);
    return owner != NULL;
}

static int compare_groups(const void *a, const void *b)
{
    const coalesce_group *x = a;
    const coalesce_group *y = b;

    return (x->first < y->first) ? -1 : (x->first > y->first);
}

int coalesce_plan_make(const coalesce_leaves *leaves, const coalesce_access *access, size_t count,
                       const coalesce_options *options, coalesce_emitter_check check, void *user,
                       coalesce_plan *plan_p)
{
    coalesce_plan plan = { 0 };

    memset(plan_p, 0, sizeof(*plan_p));
    if (!group_accesses(leaves, access, count, options, &plan) ||
        !join_copies(access, count, &plan)) {
        coalesce_plan_fini(&plan);
        return 0;
    }
    coalesce_plan_drop_empty(&plan);
    if (!coalesce_plan_decide(leaves, access, count, options, check, user, &plan) ||
        !coalesce_plan_rows(access, count, options, check, user, &plan) ||
        !coalesce_plan_count_bytes(access, &plan)) {
        coalesce_plan_fini(&plan);
        return 0;
    }
    for (size_t i = 0; i < plan.count; i++) {
        plan.rewritten += (plan.group[i].transform != COALESCE_KEEP);
    }
    if (plan.count > 1) {
        qsort(plan.group, plan.count, sizeof(*plan.group), compare_groups);
    }
    *plan_p = plan;
    return 1;
}

void coalesce_plan_fini(coalesce_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        free(plan->group[i].member);
        free(plan->group[i].source);
    }
    free(plan->group);
    memset(plan, 0, sizeof(*plan));
}
