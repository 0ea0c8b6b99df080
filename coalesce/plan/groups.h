/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by grouping (plan.c), decisions (decide.c) and rows (rows.c). */
#ifndef SHPOOL_COALESCE_GROUPS_H
#define SHPOOL_COALESCE_GROUPS_H

#include "plan.h"

/* May accesses like this one be rewritten at all (L5, L6)? */
coalesce_refusal coalesce_plan_check_access(const coalesce_access  *access,
                                            const coalesce_options *options);

/*
 * For each access the next one in its run whose address may differ by a constant: of the same
 * signature; COALESCE_NO_ACCESS: there is none.  free() it; NULL: memory ran out.
 */
uint32_t *coalesce_plan_kin(const coalesce_access *access, size_t count);

/* 1: a copy whose loads wait for stores, because the two may alias.  One that loads all before it
 * stores, as the assignment of a struct does, has nothing to wait for. */
int coalesce_is_alias_blocked(const coalesce_access *access, const coalesce_group *group);

/* The address of access[at] in its form that is comparable across runs. */
const coalesce_form *coalesce_plan_far_address(const coalesce_access *access, uint32_t at);

/* Room for one group more, zeroed, at plan->group[plan->count]; NULL: memory ran out. */
coalesce_group *coalesce_plan_grow(coalesce_plan *plan);

/* Remove groups without members. */
void coalesce_plan_drop_empty(coalesce_plan *plan);

/* Turn the copy at `index` into its stores, and append its loads; 0: memory ran out. */
int coalesce_plan_split(coalesce_plan *plan, size_t index);

#endif /* SHPOOL_COALESCE_GROUPS_H */
