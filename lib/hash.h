/* SPDX-License-Identifier: BSD-3-Clause */
/* A content's name. */
#ifndef SHPOOL_HASH_H
#define SHPOOL_HASH_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct shpool_hash {
    uint64_t word[2];
} shpool_hash;

/* 128 bits of the bytes; on machines of the other byte order others. */
shpool_hash shpool_hash_bytes(const void *data, size_t bytes);

#pragma GCC visibility pop

#endif /* SHPOOL_HASH_H */
