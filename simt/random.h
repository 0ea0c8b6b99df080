/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file simt/random.h
 * Random numbers.  The same seed gives the same numbers on every machine.
 */
#ifndef SHPOOL_SIMT_RANDOM_H
#define SHPOOL_SIMT_RANDOM_H

#include <stdint.h>

typedef struct simt_random {
    unsigned long long s[4];
} simt_random;

/** Streams of one seed are independent of each other. */
void simt_random_seed(simt_random *random, unsigned long long seed, unsigned long long stream);
/** 0..count-1 for count > 0 */
uint32_t simt_random_below(simt_random *random, uint32_t count);

#endif /* SHPOOL_SIMT_RANDOM_H */
