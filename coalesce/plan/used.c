/* SPDX-License-Identifier: BSD-3-Clause */
/* How many bytes of a record all accesses of a function use: branches and loops may each access
 * some fields of what is, for memory, one record. */
#include "decide.h"
#include "groups.h"

#include <stdlib.h>

/* A member of a group, as they are sorted. */
typedef struct part {
    uint64_t signature; /* equal for those of one record */
    uint32_t record;
    uint32_t access;
    uint32_t group;
    uint32_t from; /* in the record; relative to the first part of the same signature */
} part;

static int compare_parts(const void *a, const void *b)
{
    const part *x = a;
    const part *y = b;

    if (x->signature != y->signature) {
        return (x->signature < y->signature) ? -1 : 1;
    }
    if (x->record != y->record) {
        return (x->record < y->record) ? -1 : 1;
    }
    return (x->access < y->access) ? -1 : (x->access > y->access);
}

static int compare_places(const void *a, const void *b)
{
    const part *x = a;
    const part *y = b;

    return (x->from < y->from) ? -1 : (x->from > y->from);
}

static size_t list_groups(const coalesce_access *access, const coalesce_plan *plan, part *list)
{
    size_t count = 0;

    for (uint32_t i = 0; i < plan->count; i++) {
        const coalesce_group *group = &plan->group[i];

        for (uint32_t k = 0; (k < group->count) && (group->record_bytes != 0); k++) {
            const uint32_t at = group->member[k];

            list[count++] = (part){ coalesce_form_signature(coalesce_plan_far_address(access, at)),
                                    group->record_bytes, at, i, 0 };
        }
        for (uint32_t k = 0; (k < group->count) && (group->record_bytes != 0) &&
                             (group->source != NULL); k++) {
            const uint32_t at = group->source[k];

            list[count++] = (part){ coalesce_form_signature(coalesce_plan_far_address(access, at)),
                                    group->record_bytes, at, i, 0 };
        }
    }
    return count;
}

/* The bytes that parts, which are of one record and sorted by place, cover. */
static uint32_t covered(const coalesce_access *access, const part *list, size_t count)
{
    uint64_t end   = 0; /* bytes below are counted */
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        const uint64_t to   = (uint64_t)list[i].from + access[list[i].access].bytes;
        const uint64_t from = (list[i].from > end) ? list[i].from : end;

        bytes += (to > from) ? to - from : 0;
        end = (to > end) ? to : end;
    }
    return (bytes < list[0].record) ? (uint32_t)bytes : list[0].record;
}

/* Parts of one signature and record, the first of which is the record's anchor: those that lie a
 * constant from it go to the front, with their places.  The number of them. */
static size_t gather(const coalesce_access *access, part *list, size_t count)
{
    const coalesce_form *anchor = coalesce_plan_far_address(access, list[0].access);
    size_t               kept   = 0;

    for (size_t i = 0; i < count; i++) {
        const coalesce_form *address = coalesce_plan_far_address(access, list[i].access);
        int64_t              distance;

        if ((i == 0) || coalesce_form_distance(address, anchor, &distance)) {
            const part    other  = list[kept];
            const int64_t record = list[i].record;

            distance = (i == 0) ? 0 : distance % record;
            list[kept] = list[i];
            list[kept].from = (uint32_t)((distance < 0) ? distance + record : distance);
            list[i] = (i == kept) ? list[kept] : other;
            kept++;
        }
    }
    return kept;
}

static void raise_groups(coalesce_plan *plan, const part *list, size_t count, uint32_t bytes)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t *all = &plan->group[list[i].group].all_bytes;

        *all = (bytes > *all) ? bytes : *all;
    }
}

int coalesce_plan_count_bytes(const coalesce_access *access, coalesce_plan *plan)
{
    size_t members = 0;
    size_t count;
    size_t end;
    part  *list;

    for (size_t i = 0; i < plan->count; i++) {
        plan->group[i].all_bytes = 0;
        members += 2 * (size_t)plan->group[i].count;
    }
    list = malloc((members + 1) * sizeof(*list));
    if (list == NULL) {
        return 0;
    }
    count = list_groups(access, plan, list);
    if (count > 1) {
        qsort(list, count, sizeof(*list), compare_parts);
    }
    for (size_t i = 0; i < count; i = end) {
        size_t same;

        end = i + 1;
        while ((end < count) && (list[end].signature == list[i].signature) &&
               (list[end].record == list[i].record)) {
            end++;
        }
        same = gather(access, list + i, end - i);
        qsort(list + i, same, sizeof(*list), compare_places);
        raise_groups(plan, list + i, same, covered(access, list + i, same));
        end = i + same; /* signatures that are equal by chance: their own turn */
    }
    free(list);
    return 1;
}
