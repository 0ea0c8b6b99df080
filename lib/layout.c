/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocked layout of records in host memory. */
#include "internal.h"

#include <string.h>

#include <shpool/layout.h>

shpool_status shpool_layout_check(unsigned long long n, uint32_t m, uint32_t bd,
                                  uint32_t element_bytes)
{
    if (m == 0) {
        return shpool_error(SHPOOL_ERR_INVALID, "m is 0: a record has at least one word");
    }
    if ((bd == 0) || (bd % SHPOOL_LAYOUT_GRAIN != 0) || (bd > SHPOOL_MAX_THREADS)) {
        return shpool_error(SHPOOL_ERR_INVALID,
                            "bd is %u: a multiple of 32 from 32 to 1024 is needed", (unsigned)bd);
    }
    if ((element_bytes == 0) || (element_bytes > 16) ||
        ((element_bytes & (element_bytes - 1)) != 0)) {
        return shpool_error(SHPOOL_ERR_INVALID,
                            "an element of %u bytes: 1, 2, 4, 8 or 16 are possible",
                            (unsigned)element_bytes);
    }
    /* PTRDIFF_MAX: no object is larger, and differences of addresses in it can be formed */
    if ((n != 0) && ((shpool_layout_elements(n, m, bd) == 0) ||
                     (shpool_layout_elements(n, m, bd) > (size_t)PTRDIFF_MAX / element_bytes))) {
        return shpool_error(SHPOOL_ERR_TOO_LARGE,
                            "%llu records of %u words of %u bytes, in groups of %u, have more "
                            "bytes than an address can reach",
                            n, (unsigned)m, (unsigned)element_bytes, (unsigned)bd);
    }
    return SHPOOL_OK;
}

static shpool_status check(const void *from, unsigned long long n, uint32_t m, uint32_t bd,
                           uint32_t element_bytes, const void *to)
{
    shpool_status status = shpool_layout_check(n, m, bd, element_bytes);

    if ((status == SHPOOL_OK) && (n != 0) && ((from == NULL) || (to == NULL))) {
        status = shpool_error(SHPOOL_ERR_INVALID, "the array to %s is NULL",
                              (from == NULL) ? "read" : "write");
    }
    return status;
}

/* One group of `count` records, the rest padding.  Inlined with `bytes` a constant, so that each
 * memcpy is a load and a store. */
static inline void pack_group(const unsigned char *records, size_t count, size_t m, size_t bd,
                              size_t bytes, unsigned char *blocked)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t tx = 0; tx < count; tx++) {
            memcpy(blocked + (i * bd + tx) * bytes, records + (tx * m + i) * bytes, bytes);
        }
        memset(blocked + (i * bd + count) * bytes, 0, (bd - count) * bytes);
    }
}

static inline void unpack_group(const unsigned char *blocked, size_t count, size_t m, size_t bd,
                                size_t bytes, unsigned char *records)
{
    for (size_t tx = 0; tx < count; tx++) {
        for (size_t i = 0; i < m; i++) {
            memcpy(records + (tx * m + i) * bytes, blocked + (i * bd + tx) * bytes, bytes);
        }
    }
}

/* Call _group(from, count, m, bd, bytes, to) with `bytes` a constant. */
#define WITH_BYTES(_group, _from, _count, _m, _bd, _bytes, _to)                                    \
    switch (_bytes) {                                                                              \
    case 1:                                                                                        \
        _group(_from, _count, _m, _bd, 1, _to);                                                    \
        break;                                                                                     \
    case 2:                                                                                        \
        _group(_from, _count, _m, _bd, 2, _to);                                                    \
        break;                                                                                     \
    case 4:                                                                                        \
        _group(_from, _count, _m, _bd, 4, _to);                                                    \
        break;                                                                                     \
    case 8:                                                                                        \
        _group(_from, _count, _m, _bd, 8, _to);                                                    \
        break;                                                                                     \
    default:                                                                                       \
        _group(_from, _count, _m, _bd, 16, _to);                                                   \
        break;                                                                                     \
    }

shpool_status shpool_layout_pack(const void *records, unsigned long long n, uint32_t m,
                                 uint32_t bd, uint32_t element_bytes, void *blocked)
{
    const size_t  step   = (size_t)m * bd * element_bytes;
    shpool_status status = check(records, n, m, bd, element_bytes, blocked);

    for (size_t group = 0; (status == SHPOOL_OK) && (group * bd < n); group++) {
        const size_t count = (n - group * bd < bd) ? (size_t)n - group * bd : bd;

        WITH_BYTES(pack_group, (const unsigned char *)records + group * step, count, m, bd,
                   element_bytes, (unsigned char *)blocked + group * step)
    }
    return status;
}

shpool_status shpool_layout_unpack(const void *blocked, unsigned long long n, uint32_t m,
                                   uint32_t bd, uint32_t element_bytes, void *records)
{
    const size_t  step   = (size_t)m * bd * element_bytes;
    shpool_status status = check(blocked, n, m, bd, element_bytes, records);

    for (size_t group = 0; (status == SHPOOL_OK) && (group * bd < n); group++) {
        const size_t count = (n - group * bd < bd) ? (size_t)n - group * bd : bd;

        WITH_BYTES(unpack_group, (const unsigned char *)blocked + group * step, count, m, bd,
                   element_bytes, (unsigned char *)records + group * step)
    }
    return status;
}
