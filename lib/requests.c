/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the pool that serves several requests at once, in any order.
 *
 * All is in granules of 16 bytes.  A request needs `size` of them, its header included, and begins
 * at a multiple of `align` (a power of two; 1 if it is not aligned).
 *
 *   UP, DOWN  Each allocation lies next to the one before, except for a gap that its alignment
 *             causes.  The gap before a request that follows one of at least its own alignment has
 *             at most as many granules as round the size of one of them (UP: the first, DOWN: the
 *             second) up to its alignment.  Each request is charged for that.  After a request of
 *             smaller alignment the gap may have align - 1: that happens at most once for each
 *             request of smaller alignment (DOWN: and once more, at the pool's end, which is not
 *             aligned), and not at all if all sizes are multiples of the alignment (UP).  Later
 *             requests that use a gap leave more room, not less.
 *   ANY       The other allocations, k - 1 of them, leave up to k free runs.  None of them serves a
 *             request only if each has less than size + align - 1 granules; the first one, which
 *             begins with the pool, less than size. */
#include "internal.h"

#include <shpool/impl/report/zones.h>

#define MOST_GRANULES (1ull << 28) /* 4 GiB: what no plan has */

/* The granules of requests of one kind, and how many there are. */
typedef struct need {
    uint64_t count;
    uint64_t size;
    uint64_t align;
} need;

/* What the bounds are made of. */
typedef struct sums {
    uint64_t count;  /* of all requests */
    uint64_t sizes;
    uint64_t padded; /* sizes, rounded up to the alignments */
    uint64_t misses; /* granules of gaps after requests of smaller alignment */
    uint64_t gaps;   /* most gaps that there can be */
    uint64_t widest; /* size + align - 1, the largest */
    uint64_t spare;  /* granules by which padding exceeds the size, the fewest */
    uint32_t aligned;
} sums;

static uint32_t byte_of(const shpool_allocator *allocator, unsigned n)
{
    return (allocator->packing >> (8u * n)) & 0xffu;
}

static need need_of(const shpool_allocator *allocator, const shpool_pool *pool,
                    const shpool_request *request)
{
    uint64_t bytes = (request->bytes != 0) ? request->bytes : 1u;
    uint32_t align = (request->alignment > SHPOOL_MIN_ALIGNMENT) ? request->alignment
                                                                 : SHPOOL_MIN_ALIGNMENT;

    uint64_t size;
    uint64_t most;

    if ((pool->flags & SHPOOL_FLAG_CHECK) != 0) { /* as shpool_zone_request() */
        bytes = ((bytes + 3u) & ~3ull) + shpool_zone_cost(pool->flags);
    }
    size = (bytes + byte_of(allocator, 1) + 15u) / 16u;
    most = MOST_GRANULES / size + 1u; /* more of them are too many as well, and overflow */
    return (need){ (request->count < most) ? request->count : most, size, align / 16u };
}

static uint64_t rounded(need one)
{
    return (one.size + one.align - 1u) & ~(one.align - 1u);
}

/* How many requests of smaller alignment there are; *odd_p: some size is not a multiple. */
static uint64_t smaller(const shpool_allocator *allocator, const shpool_pool *pool,
                        const shpool_request *requests, uint32_t n, uint64_t align, int *odd_p)
{
    uint64_t count = 0;

    *odd_p = 0;
    for (uint32_t i = 0; i < n; i++) {
        need one = need_of(allocator, pool, &requests[i]);

        count += (one.align < align) ? one.count : 0u;
        *odd_p |= (one.size & (align - 1u)) != 0;
    }
    return count;
}

static sums sums_of(const shpool_allocator *allocator, const shpool_pool *pool,
                    const shpool_request *requests, uint32_t n)
{
    const int down = byte_of(allocator, 0) == SHPOOL_PACK_DOWN;
    sums all = { .spare = UINT64_MAX };

    for (uint32_t i = 0; i < n; i++) {
        need     one   = need_of(allocator, pool, &requests[i]);
        uint64_t spare = rounded(one) - one.size;
        int      odd;
        uint64_t below = smaller(allocator, pool, requests, n, one.align, &odd);

        odd |= down; /* the pool's end may not be aligned; its start is */
        below = odd ? below + (down ? 1u : 0u) : 0u;

        all.count += one.count;
        all.sizes += one.count * one.size;
        all.padded += one.count * rounded(one);
        all.misses += ((below < one.count) ? below : one.count) * (one.align - 1u);
        all.gaps += odd ? one.count : 0u;
        all.widest = (one.size + one.align - 1u > all.widest) ? one.size + one.align - 1u
                                                              : all.widest;
        all.spare = (spare < all.spare) ? spare : all.spare;
        all.aligned |= one.align > 1u;
    }
    all.gaps -= (all.gaps == all.count) ? 1u : 0u; /* the first request follows none */
    return all;
}

/* Granules that stay free at the end of the first `unit` ones, because a request that does not fit
 * there goes past it, at the most: fewest[p] requests fill p of them. */
static uint64_t lost_in_unit(const shpool_allocator *allocator, const shpool_pool *pool,
                             const shpool_request *requests, uint32_t n, const sums *all)
{
    const uint32_t unit = byte_of(allocator, 3);
    uint64_t fewest[256] = { 0 };
    uint64_t lost = 0;

    if (all->sizes <= unit) {
        return 0;
    }
    for (uint32_t p = 1; p <= unit; p++) {
        fewest[p] = UINT64_MAX - 2u;
    }
    for (uint32_t i = 0; i < n; i++) {
        need one = need_of(allocator, pool, &requests[i]);

        for (uint64_t made = 0; (made < one.count) && (made * one.size < unit); made++) {
            for (uint64_t p = unit; p >= one.size; p--) {
                uint64_t with = fewest[p - one.size] + 1u;

                fewest[p] = (with < fewest[p]) ? with : fewest[p];
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        need one = need_of(allocator, pool, &requests[i]);

        for (uint64_t p = 1; (p < unit) && (one.size <= unit) && (one.align == 1u); p++) {
            /* the request that goes past it, and one that then misses it */
            if ((unit - p < one.size) && (unit - p > lost) &&
                (all->aligned || (fewest[p] + 2u <= all->count))) {
                lost = unit - p;
            }
        }
    }
    return lost;
}

uint64_t shpool_requests_room(const shpool_allocator *allocator, const shpool_pool *pool,
                              const shpool_request *requests, uint32_t n)
{
    const sums all = sums_of(allocator, pool, requests, n);
    const uint32_t header = byte_of(allocator, 1);
    const uint32_t entry = byte_of(allocator, 2);
    uint64_t granules;

    if (all.sizes >= MOST_GRANULES) { /* the products below could overflow */
        return UINT64_MAX;
    }
    if (byte_of(allocator, 0) == SHPOOL_PACK_ANY) {
        granules = all.sizes + (all.count - 1u) * (all.widest - 1u);
    } else {
        granules = all.padded + all.misses;
    }
    if (byte_of(allocator, 0) == SHPOOL_PACK_UP) {
        granules += lost_in_unit(allocator, pool, requests, n, &all) - all.spare;
    }
    return 16u * granules - header + entry * (all.count + all.gaps - 1u);
}

static shpool_status check_request(const shpool_request *one, uint32_t number,
                                   const shpool_pool *pool)
{
    if ((one->count == 0) || (one->reserved != 0)) {
        return shpool_error(SHPOOL_ERR_INVALID, "requests[%u] has count %u and reserved %u: count "
                            "is at least 1, reserved is 0", number, one->count, one->reserved);
    }
    if (((one->alignment & (one->alignment - 1u)) != 0) || (one->alignment > pool->alignment)) {
        return shpool_error(SHPOOL_ERR_ALIGNMENT, "requests[%u] has alignment %u, a power of two "
                            "up to the pool's alignment, %u, is needed", number, one->alignment,
                            pool->alignment);
    }
    return SHPOOL_OK;
}

shpool_status shpool_requests_check(const shpool_allocator *allocator, const shpool_pool *pool,
                                    const shpool_request *requests, uint32_t n)
{
    shpool_status status = SHPOOL_OK;

    if ((allocator->caps & SHPOOL_CAP_NONE) != 0) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "\"%s\" serves no request", allocator->name);
    }
    if (((allocator->caps & SHPOOL_CAP_SPILL) == 0) &&
        ((byte_of(allocator, 0) == 0) || (byte_of(allocator, 0) > SHPOOL_PACK_ANY))) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "the descriptor of \"%s\" does not state its "
                            "packing: define SHPOOL_PACKS_%s, as shpool/module.h says, or plan "
                            "payload_bytes", allocator->name, allocator->name);
    }
    for (uint32_t i = 0; (status == SHPOOL_OK) && (i < n); i++) {
        status = check_request(&requests[i], i, pool);
    }
    return status;
}
