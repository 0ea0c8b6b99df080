/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256, with the names of FIPS 180-4, sections 4.1.2 and 6.2. */
#include "sha256.h"

#include <string.h>

static const uint32_t K[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u,
    0xab1c5ed5u, 0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu,
    0x9bdc06a7u, 0xc19bf174u, 0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu,
    0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau, 0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u,
    0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u, 0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu,
    0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u, 0xa2bfe8a1u, 0xa81a664bu,
    0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u, 0x19a4c116u,
    0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u,
    0xc67178f2u,
};

static uint32_t rotr(uint32_t word, unsigned count)
{
    return (word >> count) | (word << (32 - count));
}

/* Words are stored with their highest byte first. */
static uint32_t load(const unsigned char *at)
{
    return ((uint32_t)at[0] << 24) | ((uint32_t)at[1] << 16) | ((uint32_t)at[2] << 8) | at[3];
}

static void store(unsigned char *at, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (unsigned char)(word >> (24 - 8 * i));
    }
}

static void schedule(uint32_t W[64], const unsigned char *block)
{
    for (unsigned t = 0; t < 16; t++) {
        W[t] = load(block + 4 * t);
    }
    for (unsigned t = 16; t < 64; t++) {
        const uint32_t s0 = rotr(W[t - 15], 7) ^ rotr(W[t - 15], 18) ^ (W[t - 15] >> 3);
        const uint32_t s1 = rotr(W[t - 2], 17) ^ rotr(W[t - 2], 19) ^ (W[t - 2] >> 10);

        W[t] = s1 + W[t - 7] + s0 + W[t - 16];
    }
}

/* Round t.  No working variable moves: the next round gets each of them one place further. */
#define ROUND(_a, _b, _c, _d, _e, _f, _g, _h, _t)                                                  \
    do {                                                                                           \
        const uint32_t T1 = (_h) + (rotr(_e, 6) ^ rotr(_e, 11) ^ rotr(_e, 25)) +                   \
                            (((_e) & (_f)) ^ (~(_e) & (_g))) + K[_t] + W[_t];                      \
                                                                                                   \
        (_d) += T1;                                                                                \
        (_h) = T1 + (rotr(_a, 2) ^ rotr(_a, 13) ^ rotr(_a, 22)) +                                  \
               (((_a) & (_b)) ^ ((_a) & (_c)) ^ ((_b) & (_c)));                                    \
    } while (0)

static void add_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t W[64];
    uint32_t v[8];

    schedule(W, block);
    memcpy(v, state, sizeof(v));
    for (unsigned t = 0; t < 64; t += 8) {
        ROUND(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], t);
        ROUND(v[7], v[0], v[1], v[2], v[3], v[4], v[5], v[6], t + 1);
        ROUND(v[6], v[7], v[0], v[1], v[2], v[3], v[4], v[5], t + 2);
        ROUND(v[5], v[6], v[7], v[0], v[1], v[2], v[3], v[4], t + 3);
        ROUND(v[4], v[5], v[6], v[7], v[0], v[1], v[2], v[3], t + 4);
        ROUND(v[3], v[4], v[5], v[6], v[7], v[0], v[1], v[2], t + 5);
        ROUND(v[2], v[3], v[4], v[5], v[6], v[7], v[0], v[1], t + 6);
        ROUND(v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[0], t + 7);
    }
    for (unsigned i = 0; i < 8; i++) {
        state[i] += v[i];
    }
}

static void add_blocks(shpool_sha256 *sha, const unsigned char *data, size_t blocks)
{
    if (sha->by_x86) {
        shpool_sha256_x86(sha->state, K, data, blocks);
        return;
    }
    for (size_t i = 0; i < blocks; i++) {
        add_block(sha->state, data + i * sizeof(sha->block));
    }
}

shpool_sha256 shpool_sha256_begin(void)
{
    return (shpool_sha256){
        .by_x86 = shpool_sha256_has_x86(),
        .state = { 0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au, 0x510e527fu, 0x9b05688cu,
                   0x1f83d9abu, 0x5be0cd19u },
    };
}

void shpool_sha256_add(shpool_sha256 *sha, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    while (bytes > 0) {
        const size_t used = (size_t)(sha->bytes % sizeof(sha->block));
        const size_t room = sizeof(sha->block) - used;
        size_t count = (bytes < room) ? bytes : room;

        if (count == sizeof(sha->block)) {
            count = bytes - bytes % sizeof(sha->block);
            add_blocks(sha, at, count / sizeof(sha->block));
        } else {
            memcpy(sha->block + used, at, count);
            if (count == room) {
                add_blocks(sha, sha->block, 1);
            }
        }
        sha->bytes += count;
        at += count;
        bytes -= count;
    }
}

shpool_digest shpool_sha256_end(shpool_sha256 *sha)
{
    static const unsigned char padding[64] = { 0x80 };
    const uint64_t bits = 8 * sha->bytes;
    unsigned char length[8];
    shpool_digest digest;

    store(length, (uint32_t)(bits >> 32));
    store(length + 4, (uint32_t)bits);
    /* 1 to 64 bytes, so that the length ends a block */
    shpool_sha256_add(sha, padding, 1 + (size_t)((119 - sha->bytes % 64) % 64));
    shpool_sha256_add(sha, length, sizeof(length));
    for (unsigned i = 0; i < 8; i++) {
        store(digest.byte + 4 * i, sha->state[i]);
    }
    return digest;
}
