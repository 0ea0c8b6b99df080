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

#endif /* SHPOOL_COALESCE_DECIDE_H */
