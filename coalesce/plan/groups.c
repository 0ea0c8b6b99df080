/* SPDX-License-Identifier: BSD-3-Clause */
/* What grouping, decisions and rows share: pairs of accesses, and the list of groups. */
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
    /* Of one lane.  Different lanes that touch the same byte with nothing to order them race, in
     * the original too (L9). */
    if (coalesce_form_distance(&b->address, &a->address, &distance)) {
        return (distance < (int64_t)a->bytes) && (-distance < (int64_t)b->bytes);
    }
    return 1;
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
