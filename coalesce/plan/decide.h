/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of plan.c after grouping. */
#ifndef SHPOOL_COALESCE_DECIDE_H
#define SHPOOL_COALESCE_DECIDE_H

#include "plan.h"

/* Set transform or refusal of every group (decide.c); may split copies.  0: memory ran out. */
int coalesce_plan_decide(const coalesce_leaves *leaves, const coalesce_access *access, size_t count,
                         const coalesce_options *options, coalesce_emitter_check check, void *user,
                         coalesce_plan *plan);

/*
 * Of the loads that were kept because lanes are far apart: those of 32 words side by side become
 * groups of their own (rows.c).  0: memory ran out.
 */
int coalesce_plan_rows(const coalesce_access *access, size_t count, const coalesce_options *options,
                       coalesce_emitter_check check, void *user, coalesce_plan *plan);

/*
 * Ask at run time whether `moved`, an access of the group, is apart from `other` (apart.c).  1: the
 * question is in plan->apart; 0: it cannot be asked.
 */
int coalesce_plan_ask_apart(const coalesce_leaves *leaves, const coalesce_access *access,
                            const coalesce_options *options, const coalesce_group *group,
                            uint32_t moved, uint32_t other, coalesce_plan *plan);

/* Fill in all_bytes of each group.  0: memory ran out. */
int coalesce_plan_count_bytes(const coalesce_access *access, coalesce_plan *plan);

#endif /* SHPOOL_COALESCE_DECIDE_H */
