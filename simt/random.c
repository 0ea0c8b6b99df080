/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers: xoshiro256** (Blackman and Vigna), seeded by splitmix64. */
#include "random.h"

static unsigned long long splitmix64(unsigned long long *state)
{
    unsigned long long z = (*state += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

void simt_random_seed(simt_random *random, unsigned long long seed, unsigned long long stream)
{
    unsigned long long state = seed;

    state = splitmix64(&state) ^ stream;
    for (uint32_t i = 0; i < 4; i++) {
        random->s[i] = splitmix64(&state);
    }
}

static unsigned long long rotl(unsigned long long v, int n)
{
    return (v << n) | (v >> (64 - n));
}

uint32_t simt_random_below(simt_random *random, uint32_t count)
{
    unsigned long long *s      = random->s;
    unsigned long long  result = rotl(s[1] * 5u, 7) * 9u;
    unsigned long long  t      = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return (uint32_t)(((result >> 32) * count) >> 32);
}
