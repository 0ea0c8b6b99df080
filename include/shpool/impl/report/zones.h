/* SPDX-License-Identifier: BSD-3-Clause */
/* Zones that check=1 puts around each allocation.  Not for direct inclusion.
 *
 *   front zone | payload, whole words | back zone, at least 4 bytes
 *
 * The front zone is as long as the pool's configured alignment, 16 bytes or more, so that the
 * payload has the alignment of the module's allocation.  Its last four words are the payload's
 * length, the site and thread that allocated it, and a checksum of these (the seal).  All other
 * words of the zones contain SHPOOL_ZONE.  A module is not aware of the zones: it serves a larger
 * request.
 *
 * With scope cluster an allocation may be in a neighbour block: all accesses are cluster accesses.
 *
 * Without check the zones have 0 bytes, and the functions below do nothing.  In their parameters,
 * addr is the module's allocation, of `usable` bytes, and user is the caller's address. */
#ifndef SHPOOL_IMPL_ZONES_H
#define SHPOOL_IMPL_ZONES_H

#include <shpool/abi.h>
#include <shpool/simt.h>

#define SHPOOL_ZONE   0xfdfdfdfdu /* untouched */
#define SHPOOL_POISON 0xddddddddu /* freed */

#define SHPOOL_ZONE_NONE ~0u /* in place of a payload's length: longer than any */

/* Words before the payload, as offsets below it. */
enum { SHPOOL_ZONE_BYTES = 16, SHPOOL_ZONE_SITE = 12, SHPOOL_ZONE_RANK = 8, SHPOOL_ZONE_SEAL = 4 };

/* Bytes before a payload. */
SIMT_HD uint32_t shpool_zone_front(uint32_t flags)
{
    uint32_t shift = (flags & (uint32_t)SHPOOL_FLAG_ALIGN_MASK) >> SHPOOL_FLAG_ALIGN_SHIFT;

    return ((flags & SHPOOL_FLAG_CHECK) != 0) ? 1u << shift : 0u;
}

/* Bytes that an allocation needs in addition to its payload. */
SIMT_HD uint32_t shpool_zone_cost(uint32_t flags)
{
    uint32_t front = shpool_zone_front(flags);

    return (front != 0) ? front + 4u : 0u;
}

/* The largest payload that a module's allocation of `bytes` can hold. */
SIMT_HD uint32_t shpool_zone_room(uint32_t bytes, uint32_t flags)
{
    uint32_t cost = shpool_zone_cost(flags);

    return (bytes > cost) ? bytes - cost : 0u;
}

/* Bytes that a caller who requested `bytes` may use of a module's allocation of `usable`.  With
 * check these are only whole words, so that the next word is in the zone. */
SIMT_FN uint32_t shpool_zone_bytes(uint32_t bytes, uint32_t usable, uint32_t flags)
{
    return ((flags & SHPOOL_FLAG_CHECK) != 0) ? (bytes + 3u) & ~3u : usable;
}

/* Bytes to request from the module. */
SIMT_FN uint32_t shpool_zone_request(uint32_t bytes, uint32_t flags)
{
    uint32_t want = shpool_zone_bytes(bytes, bytes, flags) + shpool_zone_cost(flags);

    return (want < SHPOOL_MAX_REQUEST) ? want : SHPOOL_MAX_REQUEST;
}

SIMT_FN void shpool_zone_fill(simt_addr from, simt_addr end, uint32_t word)
{
    SIMT_ROLLED /* mostly few words; unrolled, it takes registers from its callers */
    for (; from < end; from += 4u) {
        simt_cluster_store32(from, word);
    }
}

/* Poison a payload: `from` is aligned to 16; in the own block's memory by 16 bytes at a time. */
SIMT_FN void shpool_zone_poison(simt_addr from, simt_addr end)
{
    const simt_u128 poison = {SHPOOL_POISON, SHPOOL_POISON, SHPOOL_POISON, SHPOOL_POISON};

    if (simt_addr_rank(from) == simt_cluster_rank()) {
        for (; from + 16u <= end; from += 16u) {
            simt_store128(from, poison);
        }
    }
    shpool_zone_fill(from, end, SHPOOL_POISON);
}

SIMT_FN uint32_t shpool_zone_untouched(simt_addr from, simt_addr end)
{
    uint32_t changed = 0;

    SIMT_ROLLED
    for (; from < end; from += 4u) {
        changed |= simt_cluster_load32(from) ^ SHPOOL_ZONE;
    }
    return changed == 0;
}

/* The seal's value for a payload of `bytes`; SHPOOL_POISON for a freed one. */
SIMT_FN uint32_t shpool_zone_seal(simt_addr user, uint32_t bytes)
{
    /* odd factors: a change of any bit of either word changes the sum */
    return (simt_cluster_load32(user - SHPOOL_ZONE_SITE) * 0x9e3779b1u) ^
           (simt_cluster_load32(user - SHPOOL_ZONE_RANK) * 0x85ebca6bu) ^ SHPOOL_ZONE ^ bytes;
}

/* Write the zones for a payload of `bytes`, whole words, allocated by `rank`; `user`. */
SIMT_FN simt_addr shpool_zone_set(shpool_view view, simt_addr addr, uint32_t usable, uint32_t bytes,
                                  uint32_t site, uint32_t rank)
{
    simt_addr user = addr + shpool_zone_front(view.flags);

    if (user != addr) {
        shpool_zone_fill(addr, user - SHPOOL_ZONE_BYTES, SHPOOL_ZONE);
        simt_cluster_store32(user - SHPOOL_ZONE_SITE, site);
        simt_cluster_store32(user - SHPOOL_ZONE_RANK, rank);
        simt_cluster_store32(user - SHPOOL_ZONE_BYTES, bytes);
        /* relaxed: a thread that frees it is ordered by the synchronisation that passed the
         * allocation to it */
        simt_cluster_atomic_store(user - SHPOOL_ZONE_SEAL, shpool_zone_seal(user, bytes),
                                  SIMT_RELAXED);
        shpool_zone_fill(user + bytes, addr + usable, SHPOOL_ZONE);
    }
    return user;
}

/* The payload's bytes according to its front zone; SHPOOL_ZONE_NONE if that word, which may have
 * been overwritten, is not the length of a payload between the zones.  An allocation shorter than
 * its zones does not have any: a damaged module believes in it, and its zones would be outside of
 * it, or of the pool. */
SIMT_FN uint32_t shpool_zone_payload(shpool_view view, simt_addr addr, uint32_t usable)
{
    uint32_t front = shpool_zone_front(view.flags);
    uint32_t bytes = usable;

    if (front != 0) {
        uint32_t cost = shpool_zone_cost(view.flags);

        if (usable < cost) {
            return SHPOOL_ZONE_NONE;
        }
        bytes = simt_cluster_load32(addr + front - SHPOOL_ZONE_BYTES);
        if ((bytes > usable - cost) || ((bytes & 3u) != 0)) {
            return SHPOOL_ZONE_NONE;
        }
    }
    return bytes;
}

/* Nonzero if the zones around a payload of `bytes` are intact, except for the record, which is not
 * checked. */
SIMT_FN uint32_t shpool_zone_quiet(shpool_view view, simt_addr addr, uint32_t usable,
                                   uint32_t bytes)
{
    simt_addr user = addr + shpool_zone_front(view.flags);

    return shpool_zone_untouched(addr, user - SHPOOL_ZONE_BYTES) &&
           shpool_zone_untouched(user + bytes, addr + usable);
}

/* Nonzero if the zones around a payload of `bytes` are intact. */
SIMT_FN uint32_t shpool_zone_intact(shpool_view view, simt_addr addr, uint32_t usable,
                                    uint32_t bytes)
{
    simt_addr user = addr + shpool_zone_front(view.flags);

    return (user == addr) || ((bytes != SHPOOL_ZONE_NONE) &&
                              (simt_cluster_atomic_load(user - SHPOOL_ZONE_SEAL, SIMT_RELAXED) ==
                               shpool_zone_seal(user, bytes)) &&
                              shpool_zone_quiet(view, addr, usable, bytes));
}

/* The first granule from `from` up to `end` that does not look like free memory, that is, poison
 * except for former records of allocations; `end` if all do. */
SIMT_FN simt_addr shpool_zone_used(simt_addr from, simt_addr end)
{
    for (; from < end; from += 16u) {
        uint32_t changed = 0;
        uint32_t i;

        for (i = 0; i < 16u; i += 4u) {
            changed |= simt_cluster_load32(from + i) ^ SHPOOL_POISON;
        }
        if ((changed != 0) && (simt_cluster_load32(from + 16u - SHPOOL_ZONE_SEAL) !=
                               shpool_zone_seal(from + 16u, SHPOOL_POISON))) {
            return from;
        }
    }
    return end;
}

/* Poison an allocation that is about to be freed, except its record; or return why it cannot be
 * freed, with nothing changed.  Among concurrent frees of one allocation, the one that breaks the
 * seal succeeds: no allocator's links overwrite that word of a block that was freed meanwhile. */
SIMT_FN uint32_t shpool_zone_release(shpool_view view, simt_addr addr, uint32_t usable,
                                     uint32_t bytes)
{
    simt_addr user = addr + shpool_zone_front(view.flags);
    uint32_t  sealed;
    uint32_t  found;

    if (user == addr) {
        return SHPOOL_FREE_OK;
    }
    if (bytes == SHPOOL_ZONE_NONE) {
        return SHPOOL_FREE_CORRUPT;
    }
    sealed = shpool_zone_seal(user, bytes);
    /* relaxed: orders nothing; only one may succeed */
    found = simt_cluster_atomic_cas(user - SHPOOL_ZONE_SEAL, sealed,
                                    shpool_zone_seal(user, SHPOOL_POISON), SIMT_RELAXED);
    if (found != sealed) {
        return (found == shpool_zone_seal(user, SHPOOL_POISON)) ? SHPOOL_FREE_DOUBLE
                                                                : SHPOOL_FREE_CORRUPT;
    }
    if (!shpool_zone_quiet(view, addr, usable, bytes)) {
        simt_cluster_atomic_store(user - SHPOOL_ZONE_SEAL, sealed, SIMT_RELAXED); /* undoes it */
        return SHPOOL_FREE_CORRUPT;
    }
    shpool_zone_poison(addr, user - SHPOOL_ZONE_BYTES);
    shpool_zone_poison(user, addr + usable);
    return SHPOOL_FREE_OK;
}

/* A word of the front zone; 0 if there is no zone. */
SIMT_FN uint32_t shpool_zone_word(shpool_view view, simt_addr user, uint32_t word)
{
    return (shpool_zone_front(view.flags) != 0) ? simt_cluster_load32(user - word) : 0u;
}

/* The site of a live allocation, which it keeps when it moves. */
SIMT_FN uint32_t shpool_zone_site(shpool_view view, const void *ptr)
{
    return ((view.bytes != 0) && simt_is_within(simt_window(), ptr)) /* also a neighbour's */
               ? shpool_zone_word(view, simt_to_shared(ptr), SHPOOL_ZONE_SITE) : 0u;
}

/* Whether site and rank of an allocation, live or freed, can still be trusted. */
SIMT_FN uint32_t shpool_zone_is_sealed(shpool_view view, simt_addr user)
{
    uint32_t seal;

    if ((shpool_zone_front(view.flags) == 0) || ((user & 3u) != 0)) {
        return 0;
    }
    seal = simt_cluster_atomic_load(user - SHPOOL_ZONE_SEAL, SIMT_RELAXED);
    return (seal == shpool_zone_seal(user, SHPOOL_POISON)) ||
           (seal == shpool_zone_seal(user, simt_cluster_load32(user - SHPOOL_ZONE_BYTES)));
}

#endif /* SHPOOL_IMPL_ZONES_H */
