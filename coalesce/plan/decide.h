/* SPDX-License-Identifier: BSD-3-Clause */
/* Between plan.c (groups) and decide.c (legality and cost). */
#ifndef SHPOOL_COALESCE_DECIDE_H
#define SHPOOL_COALESCE_DECIDE_H

#include "plan.h"

/* Set transform or refusal of every group; may split copies.  0: memory ran out. */
int coalesce_plan_decide(const coalesce_leaves *leaves, const coalesce_access *access, size_t count,
                         const coalesce_options *options, coalesce_emitter_check check, void *user,
                         coalesce_plan *plan);

/* Turn the copy at `index` into its stores, and append its loads; 0: memory ran out. */
int coalesce_plan_split(coalesce_plan *plan, size_t index);

/* May accesses like this one be rewritten at all (L5, L6)? */
coalesce_refusal coalesce_plan_check_access(const coalesce_access  *access,
                                            const coalesce_options *options);

/*
 * Of the loads that were kept because lanes are far apart: those of 32 words side by side become
 * groups of their own (rows.c).  0: memory ran out.
 */
int coalesce_plan_rows(const coalesce_access *access, size_t count, const coalesce_options *options,
                       coalesce_emitter_check check, void *user, coalesce_plan *plan);

/* Room for one group more, zeroed, at plan->group[plan->count]; NULL: memory ran out. */
coalesce_group *coalesce_plan_grow(coalesce_plan *plan);

/* Remove groups without members. */
void coalesce_plan_drop_empty(coalesce_plan *plan);

#endif /* SHPOOL_COALESCE_DECIDE_H */
