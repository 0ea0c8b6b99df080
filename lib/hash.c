/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MurmurHash3_x64_128 of Austin Appleby with seed 0: fast, well mixed, and not cryptographic.  It
 * tells contents apart that differ by accident; who may write into a cache's folder is for the
 * folder's mode to say.
 */
#include "hash.h"

#include <string.h>

#define LANE_0 0x87c37b91114253d5u
#define LANE_1 0x4cf5ad432745937fu

static uint64_t rotate(uint64_t x, unsigned count)
{
    return (x << count) | (x >> (64 - count));
}

static uint64_t scramble_0(uint64_t k)
{
    return rotate(k * LANE_0, 31) * LANE_1;
}

static uint64_t scramble_1(uint64_t k)
{
    return rotate(k * LANE_1, 33) * LANE_0;
}

/* Every bit of the result depends on every bit of x. */
static uint64_t finish(uint64_t x)
{
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

shpool_hash shpool_hash_bytes(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t k[2];
    size_t left = bytes;

    for (; left >= sizeof(k); at += sizeof(k), left -= sizeof(k)) {
        memcpy(k, at, sizeof(k));
        a = (rotate(a ^ scramble_0(k[0]), 27) + b) * 5 + 0x52dce729u;
        b = (rotate(b ^ scramble_1(k[1]), 31) + a) * 5 + 0x38495ab5u;
    }
    if (left > 0) { /* words of 0 change nothing */
        memset(k, 0, sizeof(k));
        memcpy(k, at, left);
        a ^= scramble_0(k[0]);
        b ^= scramble_1(k[1]);
    }

    a ^= bytes;
    b ^= bytes;
    a += b;
    b += a;
    a = finish(a);
    b = finish(b);
    a += b;
    b += a;
    return (shpool_hash){ { a, b } };
}
