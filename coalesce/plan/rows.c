/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows: each thread reads words side by side, but lanes are far apart, by a distance that need not
 * be known, e.g. in an unrolled loop over a row of a matrix.  32 lanes times 32 words are read row
 * by row together and exchanged.  It is legal for any addresses: the guard needs the warp and the
 * alignment of each row, and the bytes that are read are the same.
 */
#include "decide.h"
#include "groups.h"

#include <stdlib.h>

#define ROW_BYTES 128u /* read by 8 lanes with 16 bytes each */

typedef struct word {
    uint32_t access;
    int64_t  offset; /* from the first of them */
} word;

static int compare_words(const void *a, const void *b)
{
    const word *x = a;
    const word *y = b;

    if (x->offset != y->offset) {
        return (x->offset < y->offset) ? -1 : 1;
    }
    return (x->access < y->access) ? -1 : 1; /* a total order, because qsort() is not stable */
}

/* The group of each access that may be part of a row; others NULL. */
static void find_candidates(const coalesce_access *access, const coalesce_options *options,
                            coalesce_plan *plan, uint32_t *group_of)
{
    int is_stored = 0; /* long records are, too, which takes more time */

    for (size_t i = 0; i < plan->count; i++) {
        is_stored |= (plan->group[i].kind == COALESCE_STORES) &&
                     (plan->group[i].record_bytes > ROW_BYTES) && !options->force;
    }
    for (size_t i = 0; i < plan->count; i++) {
        const coalesce_group *group = &plan->group[i];
        const int is_long   = (group->record_bytes > ROW_BYTES) &&
                              (group->record_bytes % 16 == 0);
        const int far_apart = (is_long && !is_stored) ||
                              ((group->refusal == COALESCE_NO_STRIDE) &&
                               ((group->lanes.pattern == COALESCE_RUNTIME) || options->force));

        for (uint32_t k = 0; k < group->count; k++) {
            const coalesce_access *member = &access[group->member[k]];

            if ((group->kind == COALESCE_LOADS) && (group->transform == COALESCE_KEEP) &&
                far_apart && (member->bytes % 4 == 0) &&
                (coalesce_plan_check_access(member, options) == COALESCE_REWRITTEN)) {
                group_of[group->member[k]] = (uint32_t)i;
            }
        }
    }
}

/* State of the steps below. */
typedef struct rows {
    const coalesce_access *access;
    size_t                 count;
    coalesce_plan         *plan;
    coalesce_emitter_check check;
    void                  *user;
    uint32_t              *group_of; /* of accesses that may be part of a row, not looked at yet */
    uint32_t              *kin;
    unsigned char         *taken;    /* accesses that are part of one */
    uint32_t               begin;    /* the run of the words that are looked at */
    uint32_t               end;
    uint32_t               flags;    /* of all its accesses */
} rows;

/* The words of one lane's row, ascending, that are accessed in the same run as access `first`. */
static uint32_t find_words(const rows *r, uint32_t first, word *words)
{
    const coalesce_access *access   = r->access;
    const uint32_t        *group_of = r->group_of;
    uint32_t               found    = 0;

    for (uint32_t i = first; i != COALESCE_NO_ACCESS; i = r->kin[i]) {
        int64_t offset;

        /* an emitter writes all loads of a tile alike, and only some may bypass coherence */
        if ((group_of[i] != COALESCE_NO_ACCESS) && (access[i].space == access[first].space) &&
            (((access[i].flags ^ access[first].flags) & COALESCE_NONCOHERENT) == 0) &&
            coalesce_form_distance(&access[i].address, &access[first].address, &offset)) {
            words[found++] = (word){ i, offset };
        }
    }
    qsort(words, found, sizeof(*words), compare_words);
    return found;
}

/* How many of the words, from the first one on, are exactly one row's part; 0: they are not. */
static uint32_t part_of_row(const coalesce_access *access, const word *words, uint32_t count)
{
    int64_t end = words[0].offset;

    for (uint32_t k = 0; k < count; k++) {
        if (words[k].offset != end) {
            return 0;
        }
        end += access[words[k].access].bytes;
        if (end - words[0].offset >= ROW_BYTES) {
            return (end - words[0].offset == ROW_BYTES) ? k + 1 : 0;
        }
    }
    return 0;
}

/* The run that access i is in. */
static void enter_run(rows *r, uint32_t i)
{
    if (i < r->end) {
        return;
    }
    r->begin = i;
    while ((r->begin > 0) && (r->access[r->begin - 1].run == r->access[i].run)) {
        r->begin--;
    }
    r->flags = 0;
    for (r->end = r->begin; (r->end < r->count) && (r->access[r->end].run == r->access[i].run);
         r->end++) {
        r->flags |= r->access[r->end].flags;
    }
}

/* 1: in the same run something is volatile, or a store may alias one of the words. */
static int is_stored(const rows *r, const word *words, uint32_t members)
{
    if ((r->flags & (COALESCE_VOLATILE | COALESCE_ATOMIC)) != 0) {
        return 1;
    }
    if (((r->flags & COALESCE_STORE) == 0) ||
        ((r->access[words[0].access].flags & COALESCE_NONCOHERENT) != 0)) {
        return 0; /* the words are alike in that */
    }
    for (uint32_t i = r->begin; i < r->end; i++) {
        if ((r->access[i].flags & COALESCE_STORE) == 0) {
            continue;
        }
        for (uint32_t k = 0; k < members; k++) {
            if (coalesce_may_alias(&r->access[i], &r->access[words[k].access])) {
                return 1;
            }
        }
    }
    return 0;
}

static const coalesce_cost *cost_of_rows(void)
{
    size_t               count;
    const coalesce_cost *row = coalesce_cost_table(&count);

    for (size_t i = 0; i < count; i++) {
        if (row[i].transform == COALESCE_ROWS) {
            return &row[i];
        }
    }
    return NULL;
}

/* Take the accesses that are part of rows out of the groups that they were in. */
static void remove_taken(coalesce_group *group, const unsigned char *taken)
{
    uint32_t kept = 0;

    for (uint32_t k = 0; k < group->count; k++) {
        if (!taken[group->member[k]]) {
            group->member[kept++] = group->member[k];
        }
    }
    if (kept == group->count) {
        return;
    }
    group->count = kept;
    for (uint32_t k = 0; k < kept; k++) {
        group->first = ((k == 0) || (group->member[k] < group->first)) ? group->member[k]
                                                                       : group->first;
        group->last  = ((k == 0) || (group->member[k] > group->last)) ? group->member[k]
                                                                      : group->last;
    }
}

/* A new group of the words; 1 also if the emitter cannot write it. */
static int add_row(rows *r, const word *words, uint32_t count)
{
    coalesce_plan  *plan   = r->plan;
    coalesce_group *group  = coalesce_plan_grow(plan);
    uint32_t       *member = malloc(count * sizeof(*member));

    if ((group == NULL) || (member == NULL)) {
        free(member);
        return 0;
    }
    *group           = plan->group[r->group_of[words[0].access]];
    group->transform = COALESCE_ROWS;
    group->refusal   = COALESCE_REWRITTEN;
    group->evidence  = (cost_of_rows() != NULL) ? cost_of_rows()->evidence : NULL;
    group->count     = count;
    group->member    = member;
    group->source    = NULL;
    group->first     = words[0].access;
    group->last      = words[0].access;
    for (uint32_t k = 0; k < count; k++) {
        member[k]    = words[k].access;
        group->first = (member[k] < group->first) ? member[k] : group->first;
        group->last  = (member[k] > group->last) ? member[k] : group->last;
    }
    if ((r->check != NULL) && (r->check(r->user, group) != COALESCE_REWRITTEN)) {
        free(member);
        return 1;
    }
    for (uint32_t k = 0; k < count; k++) {
        r->taken[member[k]] = 1;
    }
    plan->count++;
    return 1;
}

/* The rows that access i begins or is part of. */
static int find_rows(rows *r, uint32_t i, word *words)
{
    const uint32_t found   = find_words(r, i, words);
    uint32_t       members = 0;
    int            fine    = 1;

    enter_run(r, i);
    for (uint32_t k = 0; fine && (k < found); k += (members > 0) ? members : 1) {
        members = part_of_row(r->access, words + k, found - k);
        if ((members > 0) && !is_stored(r, words + k, members)) {
            fine = add_row(r, words + k, members);
        }
    }
    for (uint32_t k = 0; k < found; k++) {
        r->group_of[words[k].access] = COALESCE_NO_ACCESS; /* looked at */
    }
    return fine;
}

int coalesce_plan_rows(const coalesce_access *access, size_t count, const coalesce_options *options,
                       coalesce_emitter_check check, void *user, coalesce_plan *plan)
{
    const size_t old = plan->count;
    rows  r = { .access = access, .count = count, .plan = plan, .check = check, .user = user,
                .group_of = malloc((count + 1) * sizeof(*r.group_of)),
                .kin = coalesce_plan_kin(access, count), .taken = calloc(count + 1, 1) };
    word *words = malloc((count + 1) * sizeof(*words));
    int   fine  = (r.group_of != NULL) && (r.kin != NULL) && (r.taken != NULL) && (words != NULL);

    for (size_t i = 0; fine && (i < count); i++) {
        r.group_of[i] = COALESCE_NO_ACCESS;
    }
    if (fine && !options->no_rows && !options->no_loads && !options->unsupported) {
        find_candidates(access, options, plan, r.group_of);
    }
    for (uint32_t i = 0; fine && (i < count); i++) {
        fine = (r.group_of[i] == COALESCE_NO_ACCESS) || find_rows(&r, i, words);
    }
    for (size_t i = 0; fine && (i < old); i++) {
        remove_taken(&plan->group[i], r.taken);
    }
    coalesce_plan_drop_empty(plan);
    free(r.group_of);
    free(r.kin);
    free(r.taken);
    free(words);
    return fine;
}
