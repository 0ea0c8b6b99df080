/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table from addresses in a file to numbers: open addressing, nothing is removed. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "places.h"

struct bench_place {
    unsigned long long place;
    uint32_t kind;
    uint32_t number; /* BENCH_NOWHERE: the slot is empty */
};

/* Every bit of the key changes half of the bits (the finalizer of MurmurHash3).  It has an inverse
 * (tests/tools/colliding.h): only the seed keeps a file from choosing places that collide. */
static uint64_t mix(uint64_t key)
{
    key = (key ^ (key >> 33)) * 0xff51afd7ed558ccdull;
    key = (key ^ (key >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return key ^ (key >> 33);
}

/* The slot that has the place, or the empty slot for it; there is always an empty one. */
static bench_place *find(const bench_places *p, unsigned long long place, uint32_t kind)
{
    size_t at = mix(mix(place ^ p->seed) + kind) & (p->slots - 1);

    while ((p->slot[at].number != BENCH_NOWHERE) &&
           ((p->slot[at].place != place) || (p->slot[at].kind != kind))) {
        at = (at + 1) & (p->slots - 1);
    }
    return &p->slot[at];
}

static int grow(bench_places *p)
{
    bench_places more = {.slots = (p->slots != 0) ? 2 * p->slots : 64, .used = p->used,
                         .seed = p->seed};

    if ((p->slots == 0) && (getentropy(&more.seed, sizeof(more.seed)) != 0)) {
        more.seed = (uintptr_t)p; /* better than none */
    }
    more.slot = malloc(more.slots * sizeof(*more.slot));
    if (more.slot == NULL) {
        return -1;
    }
    memset(more.slot, 0xff, more.slots * sizeof(*more.slot));
    for (size_t i = 0; i < p->slots; i++) {
        if (p->slot[i].number != BENCH_NOWHERE) {
            *find(&more, p->slot[i].place, p->slot[i].kind) = p->slot[i];
        }
    }
    free(p->slot);
    *p = more;
    return 0;
}

uint32_t bench_places_get(const bench_places *places, unsigned long long place, uint32_t kind)
{
    return (places->slots != 0) ? find(places, place, kind)->number : BENCH_NOWHERE;
}

int bench_places_set(bench_places *places, unsigned long long place, uint32_t kind,
                     uint32_t number)
{
    bench_place *slot;

    if ((2 * (places->used + 1) > places->slots) && (grow(places) != 0)) {
        return -1;
    }
    slot = find(places, place, kind);
    places->used += slot->number == BENCH_NOWHERE;
    *slot = (bench_place){place, kind, number};
    return 0;
}

void bench_places_free(bench_places *places)
{
    free(places->slot);
    memset(places, 0, sizeof(*places));
}
