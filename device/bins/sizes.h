/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins`: sizes of blocks, and their classes. */
#ifndef SHPOOL_DEVICE_BINS_SIZES_H
#define SHPOOL_DEVICE_BINS_SIZES_H

#include <stddef.h>

#define BINS_GRANULE_SHIFT 8u                  /* 256 bytes */
#define BINS_LARGE_BYTES   ((size_t)1 << 20)   /* from here on, the large heap */
#define BINS_GUEST_LEAST   ((size_t)128 << 10) /* from here on, blocks of it for small requests */
#define BINS_GUEST_CLASSES 48u                 /* of such blocks: three doublings */
#define BINS_LARGE_SHIFT   12u                 /* its sizes are multiples of 4 KiB */
#define BINS_DIRECT_BYTES  ((size_t)16 << 20)  /* from this size on, a request gets its own slab */
#define BINS_MAX_BYTES     ((size_t)1 << 46)
#define BINS_CLASSES       592u
#define BINS_GRANULE_MOST  ((size_t)64 << 20)  /* granules are not doubled beyond */

static inline unsigned bins_top_bit(size_t value)
{
    return 63u - (unsigned)__builtin_clzll(value);
}

/* The class of a size: linear up to 4 KiB, then 16 for each doubling. */
static inline unsigned bins_class(size_t bytes)
{
    size_t units = bytes >> BINS_GRANULE_SHIFT;
    unsigned shift;

    if (units <= 16) {
        return (unsigned)units - 1;
    }
    shift = bins_top_bit(units) - 4;
    return shift * 16 + (unsigned)(units >> shift) - 1;
}

/* Size of a block for a request: the class's size if it is small, else whole pages of 4 KiB. */
static inline size_t bins_round(size_t bytes)
{
    size_t units = (bytes + 255) >> BINS_GRANULE_SHIFT;
    unsigned shift;

    if (bytes >= BINS_LARGE_BYTES) {
        return (bytes + 4095) & ~(size_t)4095;
    }
    if (units <= 16) {
        return units << BINS_GRANULE_SHIFT;
    }
    shift = bins_top_bit(units) - 4;
    return ((units + ((size_t)1 << shift) - 1) >> shift) << (shift + BINS_GRANULE_SHIFT);
}

/* The number of a guest's class, from 0 to BINS_GUEST_CLASSES - 1. */
static inline unsigned bins_guest_class(unsigned class)
{
    return class - bins_class(BINS_GUEST_LEAST);
}

#endif /* SHPOOL_DEVICE_BINS_SIZES_H */
