/* SPDX-License-Identifier: BSD-3-Clause */
/* Which groups are rewritten: the shape (L2), the kind of access (L5, L6), the order (L3), cost. */
#include "decide.h"
#include "groups.h"

#include <stdlib.h>

/* State of the steps below. */
typedef struct decision {
    const coalesce_leaves  *leaves;
    const coalesce_access  *access;
    size_t                  count;
    const coalesce_options *options;
    coalesce_emitter_check  check;
    void                   *user;
    uint32_t               *place; /* where each access is executed: before that of this index */
    uint32_t                reach; /* how far accesses were moved, at most */
    coalesce_plan          *plan;
    int                     is_shared; /* shared memory is used: it may leave room for few warps */
    uint32_t                run;   /* of the last loads that are rewritten */
    uint32_t                held;  /* registers of all of those in that run */
} decision;

#define MOST_SPAN 512u /* accesses from a group's first to its last: 4 records of 32 words, copied,
                        * have 256; moving one further would keep too many registers alive, too */

#define BUSY_WORDS 16u /* records below that pay only where many warps run beside each other: of 7
                        * words 0.69 of plain with 5 warps and 0.85 with 20, which G0 makes 0.94 and
                        * 0.98; of 12 words 0.86 with 5 */

#define MOST_PARTS 64u /* groups before and after a part of a record that are searched for
                        * the rest of it, which only changes the reason that is given */

/* ---- the shape of a record (L2) ---- */

static int has_holes(const coalesce_group *group)
{
    return group->used_bytes != group->record_bytes;
}

/* Stores of less than half of a record need no more requests than the warp together. */
static int is_half_used(const coalesce_group *group)
{
    return 2 * group->used_bytes >= group->record_bytes;
}

/* Bytes of its word that a narrow field at `offset` has, as bits; 0: it is in two words. */
static uint32_t bytes_in_word(int64_t offset, uint32_t bytes)
{
    const uint32_t at = (uint32_t)offset % 4;

    return (at + bytes <= 4) ? ((1u << bytes) - 1) << at : 0;
}

/* Offsets of the fields from the first one, and how many bytes they cover. */
static coalesce_refusal check_fields(const decision *d, coalesce_group *group)
{
    const coalesce_access *first  = &d->access[group->member[0]];
    const uint32_t         record = group->record_bytes;
    int64_t                end    = 0;
    uint32_t               filled = 0; /* bytes of the word of the last narrow fields */
    int                    is_filled = 1;

    group->used_bytes = 0;
    for (uint32_t k = 0; k < group->count; k++) {
        const coalesce_access *field = &d->access[group->member[k]];
        int64_t                offset;

        if (!coalesce_form_distance(&field->address, &first->address, &offset)) {
            return COALESCE_NO_STRIDE; /* cannot be: that made it a member */
        }
        if ((field->bytes % 4 == 0) ? (offset % 4 != 0)
                                    : (bytes_in_word(offset, field->bytes) == 0)) {
            return COALESCE_TYPE;
        }
        if (offset < end) {
            return COALESCE_OVERLAP;
        }
        if ((offset % 4 == 0) || (offset / 4 != (end - 1) / 4)) { /* the first one of a word */
            is_filled &= (filled == 0) || (filled == 15);
            filled = 0;
        }
        if (field->bytes % 4 != 0) {
            filled |= bytes_in_word(offset, field->bytes);
            group->is_narrow = 1;
        }
        end = offset + field->bytes;
        group->used_bytes += field->bytes;
    }
    if (end > record) {
        return COALESCE_OVERLAP; /* with the next lane's record */
    }
    is_filled &= (filled == 0) || (filled == 15);
    if (!is_filled) {
        return COALESCE_PART_OF_WORD;
    }
    if (group->is_narrow && (record < 8)) {
        return COALESCE_TYPE; /* one word: no records of lanes to exchange */
    }
    if (group->used_bytes == record) {
        return COALESCE_REWRITTEN;
    }
    if ((group->kind == COALESCE_STORES) && (record > 4 * COALESCE_MAX_UNITS)) {
        return COALESCE_RECORD_TOO_LONG;
    }
    if (group->kind == COALESCE_STORES) {
        return is_half_used(group) ? COALESCE_REWRITTEN : COALESCE_HOLES_STORED;
    }
    if (group->kind == COALESCE_COPIES) {
        return COALESCE_HOLES_STORED;
    }
    /* words inside may be read along: both neighbours are mapped */
    return (end < record) ? COALESCE_PARTIAL_RECORD : COALESCE_REWRITTEN;
}

static coalesce_transform transform_of(const coalesce_group *group)
{
    const uint32_t words = group->record_bytes / 4;

    if (group->kind == COALESCE_COPIES) {
        return COALESCE_COPY;
    }
    if ((words != 2) && (words != 4)) {
        return COALESCE_TRANSPOSE;
    }
    return ((group->kind == COALESCE_STORES) && has_holes(group)) ? COALESCE_TRANSPOSE
                                                                  : COALESCE_WIDE;
}

static coalesce_refusal check_shape(const decision *d, coalesce_group *group)
{
    const coalesce_access *first = &d->access[group->member[0]];
    coalesce_refusal       refusal;

    if ((group->lanes.pattern == COALESCE_BROADCAST) ||
        ((group->lanes.pattern == COALESCE_STRIDED) && (group->record_bytes <= first->bytes))) {
        return COALESCE_IS_COALESCED;
    }
    if (group->lanes.pattern != COALESCE_STRIDED) {
        return COALESCE_NO_STRIDE;
    }
    if (group->record_bytes > 4 * COALESCE_MAX_WORDS) {
        return COALESCE_RECORD_TOO_LONG;
    }
    if (group->record_bytes % 4 != 0) {
        return COALESCE_ODD_STRIDE;
    }
    if (group->lanes.stride < 0) {
        return COALESCE_NEGATIVE_STRIDE;
    }
    refusal = check_fields(d, group);
    if (refusal == COALESCE_REWRITTEN) {
        group->transform = transform_of(group);
    }
    return refusal;
}

/* ---- the kind of access (L5, L6) ---- */

static coalesce_refusal check_accesses(const decision *d, const coalesce_group *group)
{
    for (uint32_t k = 0; k < group->count; k++) {
        coalesce_refusal refusal = coalesce_plan_check_access(&d->access[group->member[k]],
                                                              d->options);

        if ((refusal == COALESCE_REWRITTEN) && (group->source != NULL)) {
            refusal = coalesce_plan_check_access(&d->access[group->source[k]], d->options);
        }
        if (refusal != COALESCE_REWRITTEN) {
            return refusal;
        }
    }
    return COALESCE_REWRITTEN;
}

/* ---- the order within one thread (L3) ---- */

static uint32_t place_of(const coalesce_group *group)
{
    return (group->kind == COALESCE_LOADS) ? group->first : group->last;
}

static int is_member(const coalesce_group *group, uint32_t access)
{
    for (uint32_t k = 0; k < group->count; k++) {
        if ((group->member[k] == access) ||
            ((group->source != NULL) && (group->source[k] == access))) {
            return 1;
        }
    }
    return 0;
}

/* 1: the two must stay in order: nothing passes what is volatile or atomic. */
static int is_ordered(const coalesce_access *a, const coalesce_access *b)
{
    const uint32_t flags = a->flags | b->flags;

    return ((flags & (COALESCE_VOLATILE | COALESCE_ATOMIC)) != 0) ||
           (((flags & COALESCE_STORE) != 0) && coalesce_may_alias(a, b));
}

/* The first access from `after` on that `moved` would pass, though it must not; COALESCE_NO_ACCESS:
 * none. */
static uint32_t obstacle_of(const decision *d, const coalesce_group *group, uint32_t moved,
                            uint32_t after)
{
    const uint32_t place = place_of(group);
    const uint32_t run   = d->access[moved].run;
    const uint32_t low   = (moved < place) ? moved : place;
    const uint32_t high  = (moved < place) ? place : moved;
    const uint32_t near  = (low > d->reach) ? low - d->reach : 0;
    const uint32_t from  = (after > near) ? after : near;

    /* what is further away than anything was moved cannot have passed it */
    for (uint32_t i = from; (i < d->count) && (i <= high + d->reach); i++) {
        const int was_before = i < moved;
        const int is_before  = d->place[i] < place;

        if ((d->access[i].run == run) && (was_before != is_before) && !is_member(group, i) &&
            is_ordered(&d->access[i], &d->access[moved])) {
            return i;
        }
    }
    return COALESCE_NO_ACCESS;
}

/* Whether the addresses have a common pointer: a uniform value, added unchanged. */
static int is_through_same(const decision *d, uint32_t access, uint32_t other)
{
    const coalesce_form *a = coalesce_plan_far_address(d->access, access);
    const coalesce_form *b = coalesce_plan_far_address(d->access, other);

    for (uint32_t i = 0; a->known && b->known && (i < a->terms); i++) {
        const coalesce_term *x = &a->term[i];

        for (uint32_t k = 0; (k < b->terms) && (x->factors == 1) && (x->coefficient == 1) &&
                             (d->leaves->leaf[x->leaf[0]].kind == COALESCE_UNIFORM); k++) {
            if ((b->term[k].factors == 1) && (b->term[k].coefficient == 1) &&
                (b->term[k].leaf[0] == x->leaf[0])) {
                return 1;
            }
        }
    }
    return 0;
}

/* Why `moved` must not pass the group's obstacle. */
static coalesce_refusal why_not_past(const decision *d, const coalesce_group *group, uint32_t moved)
{
    const coalesce_access *a     = &d->access[group->between];
    const coalesce_access *b     = &d->access[moved];
    const uint32_t         flags = a->flags | b->flags;
    int64_t                distance;

    if ((flags & (COALESCE_VOLATILE | COALESCE_ATOMIC)) != 0) {
        return COALESCE_IN_BETWEEN;
    }
    /* __restrict__ would not part these */
    if (coalesce_form_distance(&a->address, &b->address, &distance) ||
        is_through_same(d, group->between, moved)) {
        return COALESCE_SAME_ARRAY;
    }
    return COALESCE_MAY_ALIAS;
}

/* Whether an access may move to the group's place.  Possible overlap with another pointer is then
 * checked at run time. */
static coalesce_refusal check_moved(const decision *d, coalesce_group *group, uint32_t moved)
{
    coalesce_refusal refusal = COALESCE_REWRITTEN;

    group->between = obstacle_of(d, group, moved, 0);
    while ((refusal == COALESCE_REWRITTEN) && (group->between != COALESCE_NO_ACCESS)) {
        const uint32_t other = group->between;

        refusal = why_not_past(d, group, moved);
        if ((refusal == COALESCE_MAY_ALIAS) &&
            coalesce_plan_ask_apart(d->leaves, d->access, d->options, group, moved, other,
                                    d->plan)) {
            refusal           = COALESCE_REWRITTEN;
            group->asks_apart = 1;
            group->between    = obstacle_of(d, group, moved, other + 1);
        }
    }
    return refusal;
}

static coalesce_refusal check_order(const decision *d, coalesce_group *group)
{
    coalesce_refusal refusal = COALESCE_REWRITTEN;

    if (group->last - group->first > MOST_SPAN) {
        group->between = group->first;
        return COALESCE_IN_BETWEEN;
    }
    for (uint32_t k = 0; (refusal == COALESCE_REWRITTEN) && (k < group->count); k++) {
        refusal = check_moved(d, group, group->member[k]);
        if ((refusal == COALESCE_REWRITTEN) && (group->source != NULL)) {
            refusal = check_moved(d, group, group->source[k]);
        }
    }
    return refusal;
}

/* ---- cost ---- */

int coalesce_is_alias_blocked(const coalesce_access *access, const coalesce_group *group)
{
    uint32_t first_store = group->member[0];
    uint32_t last_load   = 0;

    for (uint32_t k = 0; (k < group->count) && (group->source != NULL); k++) {
        first_store = (group->member[k] < first_store) ? group->member[k] : first_store;
        last_load   = (group->source[k] > last_load) ? group->source[k] : last_load;
    }
    return (group->source != NULL) && (first_store < last_load) &&
           coalesce_may_alias(&access[group->source[0]], &access[group->member[0]]);
}

/* Registers of the record's fields, which the warp holds all at once; fewer of copies, and of
 * fields that are parts of words: 48 take 56 with all else, 48 words 76. */
static uint32_t registers_of(const decision *d, const coalesce_group *group)
{
    uint32_t count = 0;

    for (uint32_t k = 0; k < group->count; k++) {
        count += (d->access[group->member[k]].bytes + 3) / 4;
    }
    return (group->is_narrow || (group->kind == COALESCE_COPIES)) ? count * 3 / 4 : count;
}

/* 1: a multiprocessor's 65,536 registers suffice for the block, with 28 for other values.  If not,
 * a launch that works would fail. */
static int has_registers(const decision *d, const coalesce_group *group)
{
    const coalesce_block *block   = &d->options->block;
    const uint32_t        bound   = (block->most != 0) ? block->most : 1024;
    const uint32_t        threads = (block->x != 0) ? block->x * block->y * block->z : bound;
    const uint32_t        run     = d->access[group->first].run;
    const uint32_t        held    = ((group->kind == COALESCE_LOADS) && (run == d->run)) ? d->held
                                                                                         : 0;

    return (uint64_t)threads * (held + registers_of(d, group) + 28) <= 65536;
}

/* 1: what the kernel computes for each record takes longer than even the plain accesses do, whose
 * time grows with the square of their number. */
static int is_busy(const decision *d, const coalesce_group *group, const coalesce_cost *row)
{
    const uint32_t rounds = d->access[group->first].rounds;
    const uint64_t work   = (rounds < 64) ? d->options->work >> rounds : 0;
    uint64_t       count  = 0;

    for (uint32_t k = 0; k < group->count; k++) {
        const coalesce_access *access = &d->access[group->member[k]];

        count += ((access->align != 0) && (access->align < access->bytes))
                     ? access->bytes / access->align : 1;
    }
    return work > row->work * count * count;
}

/* `stores_too`: records are written in this function, and that is rewritten. */
static coalesce_refusal check_cost(const decision *d, coalesce_group *group, int stores_too)
{
    const uint32_t       words = group->record_bytes / 4;
    coalesce_refusal     best  = COALESCE_NOT_MEASURED;
    size_t               count;
    const coalesce_cost *row = coalesce_cost_table(&count);

    if (d->options->force) {
        return COALESCE_REWRITTEN;
    }
    for (size_t i = 0; i < count; i++) {
        if ((row[i].kind != group->kind) || (row[i].transform != group->transform) ||
            (row[i].has_holes != has_holes(group)) || (row[i].is_narrow > group->is_narrow) ||
            (words < row[i].words_min) || (words > row[i].words_max) ||
            (row[i].may_alias && !coalesce_is_alias_blocked(d->access, group))) {
            continue;
        }
        if (row[i].with_store && !stores_too) {
            best = COALESCE_NEEDS_STORE;
            continue;
        }
        if (is_busy(d, group, &row[i])) {
            best = COALESCE_COMPUTES;
            continue;
        }
        group->evidence = row[i].evidence;
        return has_registers(d, group) ? COALESCE_REWRITTEN : COALESCE_REGISTERS;
    }
    return best;
}

static int is_opted_out(const coalesce_options *options, const coalesce_group *group)
{
    return ((group->kind == COALESCE_LOADS) && options->no_loads) ||
           ((group->kind == COALESCE_STORES) && options->no_stores) ||
           ((group->kind == COALESCE_COPIES) && options->no_copies);
}

/* ---- all of it ---- */

/* The access is executed at `place`. */
static void move(decision *d, uint32_t access, uint32_t place)
{
    const uint32_t distance = (access < place) ? place - access : access - place;

    d->place[access] = place;
    d->reach         = (distance > d->reach) ? distance : d->reach;
}

static void decide(decision *d, coalesce_group *group, int stores_too)
{
    const uint32_t   aparts  = d->plan->aparts;
    coalesce_refusal refusal = check_shape(d, group);

    if (refusal == COALESCE_REWRITTEN) {
        refusal = check_accesses(d, group);
    }
    if (refusal == COALESCE_REWRITTEN) {
        refusal = check_order(d, group);
    }
    if ((refusal == COALESCE_REWRITTEN) && d->options->unsupported) {
        refusal = COALESCE_UNSUPPORTED_INPUT;
    }
    if ((refusal == COALESCE_REWRITTEN) && is_opted_out(d->options, group)) {
        refusal = COALESCE_OPTED_OUT;
    }
    if (refusal == COALESCE_REWRITTEN) {
        refusal = check_cost(d, group, stores_too);
    }
    if ((refusal == COALESCE_REWRITTEN) && (group->kind == COALESCE_COPIES)) {
        group->one_match = coalesce_form_same_in_lanes(d->leaves,
                                                       &d->access[group->member[0]].address,
                                                       &d->access[group->source[0]].address);
    }
    if ((refusal == COALESCE_REWRITTEN) && (d->check != NULL)) {
        refusal = d->check(d->user, group);
    }
    group->refusal = refusal;
    if (refusal != COALESCE_REWRITTEN) {
        group->transform  = COALESCE_KEEP;
        group->asks_apart = 0;
        d->plan->aparts   = aparts; /* other checks may have become wider, which is fine */
        return;
    }
    if (d->is_shared && !d->options->force && !group->is_narrow &&
        (group->record_bytes < 4 * BUSY_WORDS) && (group->transform == COALESCE_TRANSPOSE)) {
        group->threads = 768;
    }
    if (group->kind == COALESCE_LOADS) {
        d->held = registers_of(d, group) + ((d->run == d->access[group->first].run) ? d->held : 0);
        d->run  = d->access[group->first].run;
    }
    for (uint32_t k = 0; k < group->count; k++) {
        move(d, group->member[k], place_of(group));
        if (group->source != NULL) {
            move(d, group->source[k], place_of(group));
        }
    }
}

/* A refused copy may still pay as loads and stores, unless copies are the reason. */
static int may_split(const coalesce_group *group)
{
    return (group->refusal == COALESCE_IN_BETWEEN) || (group->refusal == COALESCE_MAY_ALIAS) ||
           (group->refusal == COALESCE_SAME_ARRAY) || (group->refusal == COALESCE_DATA_FLOW) ||
           ((group->refusal == COALESCE_HOLES_STORED) && is_half_used(group));
}

/* Whether the access is to the group's record, but not to any of its fields. */
static int is_of_record(const decision *d, const coalesce_group *group, uint32_t access)
{
    const int64_t record = (int64_t)group->record_bytes;

    for (uint32_t k = 0; k < group->count; k++) {
        int64_t distance;

        if (!coalesce_form_distance(coalesce_plan_far_address(d->access, access),
                                    coalesce_plan_far_address(d->access, group->member[k]),
                                    &distance) ||
            (distance == 0) || (distance >= record) || (distance <= -record)) {
            return 0;
        }
    }
    return 1;
}

static int is_part(const coalesce_group *group)
{
    const int is_judged = (group->refusal == COALESCE_REWRITTEN) ||
                          (group->refusal == COALESCE_NOT_MEASURED);

    return (group->refusal == COALESCE_PARTIAL_RECORD) ||
           (group->refusal == COALESCE_HOLES_STORED) || (group->refusal == COALESCE_SPLIT) ||
           (is_judged && (group->kind == COALESCE_STORES) && has_holes(group));
}

/* Is something of `other`, a part itself, the rest of the group's record, in another run? */
static int is_rest_of(const decision *d, const coalesce_group *group, const coalesce_group *other)
{
    return is_part(other) && (d->access[group->member[0]].run != d->access[other->member[0]].run) &&
           (group->record_bytes == other->record_bytes) &&
           ((group->kind == COALESCE_LOADS) == (other->kind == COALESCE_LOADS)) &&
           (is_of_record(d, group, other->member[0]) ||
            is_of_record(d, group, other->member[other->count - 1]));
}

/* Parts of a record whose rest is near, past something that no access may pass, or that are parts
 * because each of their accesses is such a thing: that is why. */
static void name_splits(const decision *d, coalesce_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        coalesce_group *group = &plan->group[i];
        const size_t    from  = (i > MOST_PARTS) ? i - MOST_PARTS : 0;

        if (!is_part(group) || (group->refusal == COALESCE_REWRITTEN)) {
            continue;
        }
        if (check_accesses(d, group) == COALESCE_SPECIAL_ACCESS) {
            group->refusal = COALESCE_SPECIAL_ACCESS;
            continue;
        }
        for (size_t k = from; (k < plan->count) && (k <= i + MOST_PARTS); k++) {
            if (is_rest_of(d, group, &plan->group[k])) {
                const uint32_t other = plan->group[k].first;

                group->refusal = COALESCE_SPLIT;
                group->cut     = d->access[(other > group->first) ? other : group->first].cut;
                break;
            }
        }
    }
}

int coalesce_plan_decide(const coalesce_leaves *leaves, const coalesce_access *access, size_t count,
                         const coalesce_options *options, coalesce_emitter_check check, void *user,
                         coalesce_plan *plan)
{
    static const coalesce_group_kind order[] = { COALESCE_COPIES, COALESCE_STORES, COALESCE_LOADS };
    decision d = { leaves, access, count, options, check, user, NULL, 0, plan, 0, UINT32_MAX, 0 };
    int      stores_too = 0;

    d.place = malloc((count + 1) * sizeof(*d.place));
    if (d.place == NULL) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        d.place[i] = (uint32_t)i;
        d.is_shared |= access[i].space == COALESCE_SHARED;
    }
    for (size_t step = 0; step < sizeof(order) / sizeof(order[0]); step++) {
        for (size_t i = 0; i < plan->count; i++) {
            if (plan->group[i].kind != order[step]) {
                continue;
            }
            decide(&d, &plan->group[i], stores_too);
            if ((order[step] == COALESCE_COPIES) && may_split(&plan->group[i]) &&
                !coalesce_plan_split(plan, i)) {
                free(d.place);
                return 0;
            }
        }
        for (size_t i = 0; i < plan->count; i++) {
            stores_too |= (plan->group[i].kind == COALESCE_STORES) &&
                          (plan->group[i].transform != COALESCE_KEEP);
        }
    }
    name_splits(&d, plan);
    free(d.place);
    return 1;
}
