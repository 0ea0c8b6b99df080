/* SPDX-License-Identifier: BSD-3-Clause */
/* The leaves of one function's forms, found by what they stand for. */
#include "form.h"

#include <stdlib.h>
#include <string.h>

void coalesce_leaves_init(coalesce_leaves *leaves)
{
    memset(leaves, 0, sizeof(*leaves));
}

void coalesce_leaves_fini(coalesce_leaves *leaves)
{
    free(leaves->leaf);
    free(leaves->slot);
    coalesce_leaves_init(leaves);
}

/* Where the leaf is in the table, or would be. */
static uint32_t *slot_of(const coalesce_leaves *leaves, const coalesce_leaf *leaf)
{
    const size_t   mask = 2 * leaves->capacity - 1;
    const uint64_t hash = (((uintptr_t)leaf->value >> 3) ^ (leaf->tag << 7)) * 0x9e3779b97f4a7c15u;
    size_t         at   = (size_t)(hash >> 32) & mask;

    while ((leaves->slot[at] != 0) &&
           ((leaves->leaf[leaves->slot[at] - 1].value != leaf->value) ||
            (leaves->leaf[leaves->slot[at] - 1].tag != leaf->tag))) {
        at = (at + 1) & mask;
    }
    return &leaves->slot[at];
}

/* Make room for one more; 0: memory ran out, and nothing has changed. */
static int grow(coalesce_leaves *leaves)
{
    const size_t   capacity = (leaves->capacity == 0) ? 64 : 2 * leaves->capacity;
    uint32_t      *slot     = calloc(2 * capacity, sizeof(*slot));
    coalesce_leaf *grown    = realloc(leaves->leaf, capacity * sizeof(*grown));

    leaves->leaf = (grown != NULL) ? grown : leaves->leaf;
    if ((slot == NULL) || (grown == NULL)) {
        free(slot);
        return 0;
    }
    free(leaves->slot);
    leaves->slot     = slot;
    leaves->capacity = capacity;
    for (size_t i = 0; i < leaves->count; i++) {
        *slot_of(leaves, &leaves->leaf[i]) = (uint32_t)i + 1;
    }
    return 1;
}

static int find_or_add(coalesce_leaves *leaves, const coalesce_leaf *leaf, uint32_t *index_p)
{
    uint32_t *slot;

    if ((leaves->count == leaves->capacity) && !grow(leaves)) {
        leaves->no_memory = 1;
        return 0;
    }
    slot = slot_of(leaves, leaf);
    if (*slot == 0) {
        leaves->leaf[leaves->count++] = *leaf;
        *slot = (uint32_t)leaves->count;
    }
    *index_p = *slot - 1;
    return 1;
}

coalesce_form coalesce_form_leaf(coalesce_leaves *leaves, const coalesce_leaf *leaf)
{
    coalesce_form form = { .known = 1, .terms = 1 };

    form.term[0].coefficient = 1;
    form.term[0].factors     = 1;
    return find_or_add(leaves, leaf, &form.term[0].leaf[0]) ? form : coalesce_form_unknown();
}
