/* SPDX-License-Identifier: BSD-3-Clause */
/* Places that a hostile trace or log would have: in the table of tools/bench/places.c all of them
 * belong to the first slot, unless the table has a seed that nobody knows. */
#ifndef SHPOOL_TESTS_COLLIDING_H
#define SHPOOL_TESTS_COLLIDING_H

#include <stdint.h>

/* The inverse of that file's mix(). */
static inline uint64_t unmix(uint64_t key)
{
    key = (key ^ (key >> 33)) * 0x9cb4b2f8129337dbull;
    key = (key ^ (key >> 33)) * 0x4f74430c22a54005ull;
    return key ^ (key >> 33);
}

/* number: from 1 on; kind: as for bench_places_set(). */
static inline unsigned long long colliding_place(uint32_t number, uint32_t kind)
{
    return unmix(unmix((uint64_t)number << 32) - kind);
}

#endif /* SHPOOL_TESTS_COLLIDING_H */
