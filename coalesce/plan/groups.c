/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by grouping, decisions and rows: pairs of accesses, and the list of groups. */
#include "groups.h"

#include <stdlib.h>
#include <string.h>

/* ---- accesses ---- */

int coalesce_may_alias(const coalesce_access *a, const coalesce_access *b)
{
    int64_t distance;

    if (((a->flags & COALESCE_NONCOHERENT) != 0) || ((b->flags & COALESCE_NONCOHERENT) != 0)) {
        return 0;
    }
    if ((a->space != b->space) && (a->space != COALESCE_GENERIC) &&
        (b->space != COALESCE_GENERIC)) {
        return 0;
    }
    if ((a->alias_base != 0) && (b->alias_base != 0) && (a->alias_base != b->alias_base) &&
        (a->alias_alone || b->alias_alone)) {
        return 0;
    }
    /* Within one lane.  Different lanes that access the same byte without ordering are a race in
     * the original as well (L9). */
    if (coalesce_form_distance(&b->address, &a->address, &distance)) {
        return (distance < (int64_t)a->bytes) && (-distance < (int64_t)b->bytes);
    }
    return 1;
}

const coalesce_form *coalesce_plan_far_address(const coalesce_access *access, uint32_t at)
{
    return access[at].far_address.known ? &access[at].far_address : &access[at].address;
}

/* L5, L6 */
coalesce_refusal coalesce_plan_check_access(const coalesce_access  *access,
                                            const coalesce_options *options)
{
    if ((access->space != COALESCE_GLOBAL) &&
        ((access->space != COALESCE_GENERIC) || !options->generic)) {
        return COALESCE_SPACE;
    }
    if ((access->flags & (COALESCE_VOLATILE | COALESCE_ATOMIC | COALESCE_HINTED |
                          COALESCE_CONDITIONAL | COALESCE_FOREIGN)) != 0) {
        return COALESCE_SPECIAL_ACCESS;
    }
    return ((access->flags & COALESCE_UNSUPPORTED) != 0) ? COALESCE_TYPE : COALESCE_REWRITTEN;
}

/* An access as coalesce_plan_kin() sorts it. */
typedef struct kin {
    uint64_t signature;
    uint32_t stretch; /* the first access of its run */
    uint32_t access;
} kin;

static int compare_kin(const void *a, const void *b)
{
    const kin *x = a;
    const kin *y = b;

    if (x->stretch != y->stretch) {
        return (x->stretch < y->stretch) ? -1 : 1;
    }
    if (x->signature != y->signature) {
        return (x->signature < y->signature) ? -1 : 1;
    }
    return (x->access < y->access) ? -1 : 1;
}

uint32_t *coalesce_plan_kin(const coalesce_access *access, size_t count)
{
    kin      *list    = malloc((count + 1) * sizeof(*list));
    uint32_t *next    = malloc((count + 1) * sizeof(*next));
    uint32_t  stretch = 0;

    for (uint32_t i = 0; (list != NULL) && (i < count); i++) {
        stretch = ((i > 0) && (access[i].run == access[i - 1].run)) ? stretch : i;
        list[i] = (kin){ coalesce_form_signature(&access[i].address), stretch, i };
    }
    if ((list != NULL) && (next != NULL)) {
        qsort(list, count, sizeof(*list), compare_kin);
        for (size_t k = 0; k < count; k++) {
            const int is_kin = (k + 1 < count) && access[list[k].access].address.known &&
                               (list[k + 1].stretch == list[k].stretch) &&
                               (list[k + 1].signature == list[k].signature);

            next[list[k].access] = is_kin ? list[k + 1].access : COALESCE_NO_ACCESS;
        }
    } else {
        free(next);
        next = NULL;
    }
    free(list);
    return next;
}

/* ---- groups ---- */

coalesce_group *coalesce_plan_grow(coalesce_plan *plan)
{
    if (plan->count == plan->capacity) {
        size_t          capacity = (plan->capacity == 0) ? 16 : 2 * plan->capacity;
        coalesce_group *group    = realloc(plan->group, capacity * sizeof(*group));

        if (group == NULL) {
            return NULL;
        }
        plan->group    = group;
        plan->capacity = capacity;
    }
    memset(&plan->group[plan->count], 0, sizeof(*plan->group));
    return &plan->group[plan->count];
}

void coalesce_plan_drop_empty(coalesce_plan *plan)
{
    size_t kept = 0;

    for (size_t i = 0; i < plan->count; i++) {
        if (plan->group[i].count != 0) {
            plan->group[kept++] = plan->group[i];
        } else {
            free(plan->group[i].member);
            free(plan->group[i].source);
        }
    }
    plan->count = kept;
}

/* A copy that cannot be one is loads and stores again. */
int coalesce_plan_split(coalesce_plan *plan, size_t index)
{
    coalesce_group *loads = coalesce_plan_grow(plan);
    coalesce_group *stores = &plan->group[index];

    if (loads == NULL) {
        return 0;
    }
    *loads         = *stores;
    loads->kind    = COALESCE_LOADS;
    loads->member  = stores->source;
    loads->source  = NULL;
    stores->source = NULL;
    stores->kind   = COALESCE_STORES;
    plan->count++;
    for (int side = 0; side < 2; side++) {
        coalesce_group *group = (side == 0) ? loads : stores;

        group->first = group->last = group->member[0];
        for (uint32_t k = 1; k < group->count; k++) {
            uint32_t member = group->member[k];

            group->first = (member < group->first) ? member : group->first;
            group->last  = (member > group->last) ? member : group->last;
        }
    }
    return 1;
}
