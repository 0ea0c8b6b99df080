/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table from addresses in a file to numbers, for files that may be made to be slow. */
#ifndef SHPOOL_BENCH_PLACES_H
#define SHPOOL_BENCH_PLACES_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_NOWHERE 0xffffffffu

typedef struct bench_place bench_place;

/** All zero is empty. */
typedef struct bench_places {
    bench_place *slot;
    size_t   slots; /* a power of two, at least twice `used` */
    size_t   used;
    uint64_t seed;  /* random: no file can choose places that collide */
} bench_places;

/** The number kept for a place of a kind, or BENCH_NOWHERE. */
uint32_t bench_places_get(const bench_places *places, unsigned long long place, uint32_t kind);

/** Keep a number for it, in place of a previous one; 0, or -1: no memory. */
int bench_places_set(bench_places *places, unsigned long long place, uint32_t kind,
                     uint32_t number);

void bench_places_free(bench_places *places);

#endif /* SHPOOL_BENCH_PLACES_H */
