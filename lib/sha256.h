/* SPDX-License-Identifier: BSD-3-Clause */
/* SHA-256 of FIPS 180-4: a name for contents that no other contents can have. */
#ifndef SHPOOL_SHA256_H
#define SHPOOL_SHA256_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct shpool_digest {
    unsigned char byte[32];
} shpool_digest;

/* A message that is hashed piece by piece. */
typedef struct shpool_sha256 {
    uint32_t state[8];
    uint64_t bytes;          /* added so far */
    unsigned char block[64]; /* the first bytes % 64 wait for the rest */
    int by_x86;              /* the processor's own instructions do it (sha256_x86.c) */
} shpool_sha256;

shpool_sha256 shpool_sha256_begin(void);
void shpool_sha256_add(shpool_sha256 *sha, const void *data, size_t bytes);
shpool_digest shpool_sha256_end(shpool_sha256 *sha);

/* For sha256.c and its tests.  K: the constants of FIPS 180-4, section 4.2.2. */
int shpool_sha256_has_x86(void);
void shpool_sha256_x86(uint32_t state[8], const uint32_t K[64], const unsigned char *data,
                       size_t blocks);

#pragma GCC visibility pop

#endif /* SHPOOL_SHA256_H */
