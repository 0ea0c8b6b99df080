/* SPDX-License-Identifier: BSD-3-Clause */
/* What stats=1 and check=1 add around a module's functions.  Not for direct inclusion.
 *
 * The counted functions are other functions, not branches in the plain ones: a pool that was
 * opened without stats and check runs code that knows nothing of them.  The counters lie in the
 * statistics area in front of the pools and go to the report in global memory in shpool_fini(). */
#ifndef SHPOOL_IMPL_INSTRUMENT_H
#define SHPOOL_IMPL_INSTRUMENT_H

#include <shpool/abi.h>
#include <shpool/impl/zones.h>
#include <shpool/simt.h>

/* Words of the area, as byte offsets. */
enum {
    SHPOOL_AREA_REPORT    = 0, /* 64 bits: address of the shpool_report_data */
    SHPOOL_AREA_BYTES_NOW = 8,
    SHPOOL_AREA_PEAK      = 12,
    SHPOOL_AREA_MALLOCS   = 16,
    SHPOOL_AREA_FREES     = 20,
    SHPOOL_AREA_FAILURES  = 24,
    SHPOOL_AREA_SPILLS    = 28,
    SHPOOL_AREA_LARGEST   = 32, /* largest free block of any pool, filled in by fini */
    SHPOOL_AREA_CORRUPT   = 36
};

/* All counters are relaxed: fini reads them behind a barrier. */
SIMT_FN void shpool_count(shpool_view view, uint32_t word, uint32_t n)
{
    (void)simt_atomic_add(view.area + word, n, SIMT_RELAXED);
}

SIMT_FN shpool_report_data *shpool_area_report(simt_addr area)
{
    return (shpool_report_data *)(size_t)simt_load64(area + SHPOOL_AREA_REPORT);
}

/* A live allocation of `bytes` usable bytes more. */
SIMT_FN void shpool_count_live(shpool_view view, uint32_t bytes)
{
    uint32_t now = simt_atomic_add(view.area + SHPOOL_AREA_BYTES_NOW, bytes, SIMT_RELAXED) + bytes;

    if ((int32_t)now > 0) { /* a free that will be refused may have counted down for a moment */
        (void)simt_atomic_max(view.area + SHPOOL_AREA_PEAK, now, SIMT_RELAXED);
    }
}

/* Count a refused free, and describe it while there is room. */
SIMT_FN void shpool_note_bad_free(shpool_view view, const void *ptr, uint32_t reason, uint32_t site)
{
    shpool_report_data *report = shpool_area_report(view.area);
    uint32_t            slot   = simt_global_add32(&report->bad_frees, 1);

    if (slot < SHPOOL_BAD_FREE_SLOTS) {
        shpool_bad_free *entry = &report->bad_free[slot];
        simt_addr        user  = simt_to_shared(ptr);
        uint32_t         known = (reason == SHPOOL_FREE_DOUBLE) || (reason == SHPOOL_FREE_CORRUPT);

        entry->block   = simt_block_rank();
        entry->thread  = view.rank;
        entry->reason  = reason;
        entry->site    = site;
        entry->address = (unsigned long long)(size_t)ptr;
        if (known && shpool_zone_is_sealed(view, user)) { /* in the pool, behind a front zone */
            entry->malloc_site   = shpool_zone_word(view, user, SHPOOL_ZONE_SITE);
            entry->malloc_thread = shpool_zone_word(view, user, SHPOOL_ZONE_RANK);
        }
    }
}

/* Count an allocation that nobody freed, and describe it while there is room. */
SIMT_FN void shpool_note_leak(shpool_view view, simt_addr user, uint32_t usable)
{
    shpool_report_data *report = shpool_area_report(view.area);
    uint32_t            slot   = simt_global_add32(&report->leaks, 1);

    if (slot < SHPOOL_LEAK_SLOTS) {
        shpool_leak *entry  = &report->leak[slot];
        uint32_t     sealed = shpool_zone_is_sealed(view, user);

        entry->block   = simt_block_rank();
        entry->thread  = (sealed != 0) ? simt_load32(user - SHPOOL_ZONE_RANK) : 0u;
        entry->site    = (sealed != 0) ? simt_load32(user - SHPOOL_ZONE_SITE) : 0u;
        entry->usable  = usable;
        entry->address = (unsigned long long)(size_t)simt_from_shared(user);
    }
}

SIMT_FN void shpool_note_malloc(shpool_view view, uint32_t usable)
{
    shpool_count(view, SHPOOL_AREA_MALLOCS, 1);
    if (usable == 0) {
        shpool_count(view, SHPOOL_AREA_FAILURES, 1);
    } else {
        shpool_count_live(view, usable);
    }
}

/* But for the bytes, which the caller has counted down. */
SIMT_FN void shpool_note_free(shpool_view view)
{
    shpool_count(view, SHPOOL_AREA_FREES, 1);
}

/* The rewind of a module without marks. */
SIMT_FN uint32_t shpool_no_rewind(shpool_view view, uint32_t to)
{
    (void)view;
    return (to == SHPOOL_NO_MARK) ? SHPOOL_NO_MARK : 0u;
}

/* ---- what does not lie in the pool ---- */

/* Header in front of an allocation that lies in global memory. */
typedef struct shpool_spilled {
    void              *raw;   /* what the native allocator returned */
    unsigned long long bytes; /* payload, whole words */
} shpool_spilled;

/* Bytes of a spilled allocation as the statistics count them. */
SIMT_FN uint32_t shpool_spilled_bytes(const void *ptr)
{
    unsigned long long bytes = ((const shpool_spilled *)ptr)[-1].bytes;

    return (bytes > SHPOOL_MAX_REQUEST) ? SHPOOL_MAX_REQUEST : (uint32_t)bytes;
}

/* A request that fails for good; where there is no pool, no module has counted it. */
SIMT_FN void *shpool_no_spill(shpool_view view, unsigned long long bytes, uint32_t alignment)
{
    (void)bytes;
    (void)alignment;
    if ((view.area != 0) && (view.bytes == 0)) {
        shpool_note_malloc(view, 0);
    }
    return NULL;
}

/* From the native heap, behind a header; NULL where that is full as well. */
SIMT_FN void *shpool_spill(shpool_view view, unsigned long long bytes, uint32_t alignment)
{
    const uint32_t extra = (uint32_t)sizeof(shpool_spilled) + alignment - SHPOOL_MIN_ALIGNMENT;
    char          *raw   = NULL;
    char          *ptr   = NULL;

    if ((view.flags & SHPOOL_FLAG_SPILL) == 0) {
        return shpool_no_spill(view, bytes, alignment);
    }
    if (bytes < ~0ull - 4u - extra) {
        bytes = (bytes + 3u) & ~3ull;
        raw   = (char *)simt_native_malloc((size_t)(bytes + extra));
    }
    if (raw != NULL) {
        ptr = raw + sizeof(shpool_spilled);
        ptr += (0u - (uint32_t)(size_t)ptr) & (alignment - 1u);
        ((shpool_spilled *)(void *)ptr)[-1].raw   = raw;
        ((shpool_spilled *)(void *)ptr)[-1].bytes = bytes;
    }
    if (view.area != 0) {
        if (view.bytes != 0) { /* the module has counted a request that failed */
            shpool_count(view, SHPOOL_AREA_MALLOCS, 0u - 1u);
            shpool_count(view, SHPOOL_AREA_FAILURES, 0u - 1u);
        }
        shpool_note_malloc(view, (ptr != NULL) ? shpool_spilled_bytes(ptr) : 0u);
        shpool_count(view, SHPOOL_AREA_SPILLS, (ptr != NULL) ? 1u : 0u);
    }
    return ptr;
}

/* A free that no pool of this heap can serve. */
SIMT_FN uint32_t shpool_refuse(shpool_view view, void *ptr, uint32_t site)
{
    if (view.area != 0) {
        shpool_note_bad_free(view, ptr, SHPOOL_FREE_FOREIGN, site);
    }
    return SHPOOL_FREE_FOREIGN;
}

SIMT_FN uint32_t shpool_unspill(shpool_view view, void *ptr, uint32_t site)
{
    if (((view.flags & SHPOOL_FLAG_SPILL) == 0) || simt_is_shared(ptr)) {
        return shpool_refuse(view, ptr, site);
    }
    if (view.area != 0) {
        shpool_count(view, SHPOOL_AREA_BYTES_NOW, 0u - shpool_spilled_bytes(ptr));
        shpool_note_free(view);
    }
    simt_native_free(((shpool_spilled *)ptr)[-1].raw);
    return SHPOOL_FREE_OK;
}

/* ---- the end of a block's pools ---- */

/* A difference, for a sum of 64 bits: a block of a cluster may have freed what others allocated. */
SIMT_FN unsigned long long shpool_signed(uint32_t difference)
{
    return (unsigned long long)(long long)(int32_t)difference;
}

/* Add the area to the report; one thread of the block. */
SIMT_FN void shpool_flush_area(simt_addr area)
{
    shpool_report_data *report = shpool_area_report(area);

    simt_global_add64(&report->mallocs, simt_load32(area + SHPOOL_AREA_MALLOCS));
    simt_global_add64(&report->frees, simt_load32(area + SHPOOL_AREA_FREES));
    simt_global_add64(&report->failures, simt_load32(area + SHPOOL_AREA_FAILURES));
    simt_global_add64(&report->live, shpool_signed(simt_load32(area + SHPOOL_AREA_MALLOCS) -
                                                   simt_load32(area + SHPOOL_AREA_FAILURES) -
                                                   simt_load32(area + SHPOOL_AREA_FREES)));
    simt_global_add64(&report->live_bytes,
                      shpool_signed(simt_load32(area + SHPOOL_AREA_BYTES_NOW)));
    simt_global_add64(&report->spills, simt_load32(area + SHPOOL_AREA_SPILLS));
    simt_global_max32(&report->peak_bytes, simt_load32(area + SHPOOL_AREA_PEAK));
    simt_global_min32(&report->largest_free, simt_load32(area + SHPOOL_AREA_LARGEST));
    (void)simt_global_add32(&report->corrupt, simt_load32(area + SHPOOL_AREA_CORRUPT));
    (void)simt_global_add32(&report->blocks, 1);
}

#define SHPOOL_FLAGS_EXPOSED ((uint32_t)SHPOOL_FLAG_CHECK | (uint32_t)SHPOOL_FLAG_IN_BAND)

/* Where the module's allocation of a caller's address begins; 0, which is nobody's, for an address
 * that is not in this pool. */
SIMT_FN simt_addr shpool_zone_addr(shpool_view view, simt_addr user)
{
    if (((view.flags & SHPOOL_FLAG_CLUSTER) != 0) &&
        (simt_addr_rank(user) < simt_cluster_blocks())) { /* or in a neighbour's */
        view.base = simt_map_cluster(view.base, simt_addr_rank(user));
    }
    return (user - view.base < view.bytes) ? user - shpool_zone_front(view.flags) : 0u;
}

/* The counted functions of one module.  Addresses are those that callers have; the module's own
 * allocation begins one front zone below. */
#define SHPOOL_INSTRUMENT(_name) \
    /* Where a module's data lies between the allocations an overrun may have made it anything: \
     * with check=1 this looks before the module follows it. */ \
    SIMT_FN_NOINLINE uint32_t shpool_counted_##_name##_sound(shpool_view view) \
    { \
        return ((view.flags & SHPOOL_FLAGS_EXPOSED) != SHPOOL_FLAGS_EXPOSED) || \
               (shpool_##_name##_walk(view).broken == 0); \
    } \
    SIMT_FN simt_addr shpool_counted_##_name##_malloc(shpool_view view, uint32_t bytes, \
                                                      uint32_t alignment, uint32_t site) \
    { \
        simt_addr addr = 0; \
        uint32_t  usable; \
        if (shpool_counted_##_name##_sound(view)) { \
            addr = shpool_##_name##_malloc(view, shpool_zone_request(bytes, view.flags), \
                                           alignment, site); \
        } \
        if (addr == 0) { \
            shpool_note_malloc(view, 0); \
            return 0; \
        } \
        usable = shpool_##_name##_usable(view, addr); \
        bytes  = shpool_zone_bytes(bytes, usable, view.flags); \
        shpool_note_malloc(view, bytes); \
        return shpool_zone_set(view, addr, usable, bytes, site, view.rank); \
    } \
    SIMT_FN uint32_t shpool_counted_##_name##_owns(shpool_view view, simt_addr user) \
    { \
        simt_addr addr = shpool_zone_addr(view, user); \
        if (addr == 0) { \
            return SHPOOL_FREE_FOREIGN; \
        } \
        if (!shpool_counted_##_name##_sound(view)) { \
            return SHPOOL_FREE_CORRUPT; \
        } \
        return shpool_##_name##_owns(view, addr); \
    } \
    SIMT_FN uint32_t shpool_counted_##_name##_free(shpool_view view, simt_addr user, \
                                                   uint32_t site) \
    { \
        simt_addr addr   = user - shpool_zone_front(view.flags); \
        uint32_t  reason = SHPOOL_FREE_OK; \
        if ((view.flags & SHPOOL_FLAG_CHECK) != 0) { /* else free refuses what it can */ \
            reason = shpool_counted_##_name##_owns(view, user); \
        } \
        if (reason == SHPOOL_FREE_OK) { \
            uint32_t usable = shpool_##_name##_usable(view, addr); \
            uint32_t bytes  = shpool_zone_payload(view, addr, usable); \
            reason = shpool_zone_release(view, addr, usable, bytes); \
            if (reason == SHPOOL_FREE_OK) { \
                /* first: another thread may have them at once, and peak is not to see both */ \
                shpool_count(view, SHPOOL_AREA_BYTES_NOW, 0u - bytes); \
                reason = shpool_##_name##_free(view, addr, site); \
                if (reason != SHPOOL_FREE_OK) { \
                    shpool_count(view, SHPOOL_AREA_BYTES_NOW, bytes); \
                } \
            } \
        } \
        if (reason == SHPOOL_FREE_OK) { \
            shpool_note_free(view); \
        } else { \
            shpool_note_bad_free(view, simt_from_shared(user), reason, site); \
        } \
        return reason; \
    } \
    /* What is not the start of an allocation, or is damaged, has no bytes: nothing is copied. */ \
    SIMT_FN uint32_t shpool_counted_##_name##_usable(shpool_view view, simt_addr user) \
    { \
        simt_addr addr = user - shpool_zone_front(view.flags); \
        uint32_t  usable; \
        uint32_t  bytes; \
        if (shpool_counted_##_name##_owns(view, user) != SHPOOL_FREE_OK) { \
            return 0; \
        } \
        usable = shpool_##_name##_usable(view, addr); \
        bytes  = shpool_zone_payload(view, addr, usable); \
        return shpool_zone_intact(view, addr, usable, bytes) ? bytes : 0u; \
    } \
    SIMT_FN uint32_t shpool_counted_##_name##_resize(shpool_view view, simt_addr user, \
                                                     uint32_t bytes) \
    { \
        simt_addr addr   = user - shpool_zone_front(view.flags); \
        uint32_t  reason = shpool_counted_##_name##_owns(view, user); \
        uint32_t  usable = 0; \
        uint32_t  before = 0; \
        uint32_t  less; \
        if (reason == SHPOOL_FREE_OK) { \
            usable = shpool_##_name##_usable(view, addr); \
            before = shpool_zone_payload(view, addr, usable); \
            reason = shpool_zone_intact(view, addr, usable, before) ? SHPOOL_FREE_OK \
                                                                    : SHPOOL_FREE_CORRUPT; \
        } \
        if (reason != SHPOOL_FREE_OK) { \
            shpool_note_bad_free(view, simt_from_shared(user), reason, 0); \
            return 0; \
        } \
        less = (bytes < before) ? before - bytes : 0u; /* given back at most; as in free */ \
        shpool_count(view, SHPOOL_AREA_BYTES_NOW, 0u - less); \
        if (!shpool_##_name##_resize(view, addr, shpool_zone_request(bytes, view.flags))) { \
            shpool_count_live(view, less); \
            return 0; \
        } \
        usable = shpool_##_name##_usable(view, addr); \
        bytes  = shpool_zone_bytes(bytes, usable, view.flags); \
        (void)shpool_zone_set(view, addr, usable, bytes, \
                              shpool_zone_word(view, user, SHPOOL_ZONE_SITE), \
                              shpool_zone_word(view, user, SHPOOL_ZONE_RANK)); \
        shpool_count_live(view, less + bytes - before); \
        return 1; \
    } \
    SIMT_FN uint32_t shpool_counted_##_name##_largest(shpool_view view) \
    { \
        return shpool_zone_room(shpool_##_name##_largest(view), view.flags); \
    } \
    /* The module's walk, then the zones of all that is live, found by asking for each address; \
     * `leaks`: and note it as leaked. */ \
    SIMT_FN shpool_walk shpool_counted_##_name##_survey(shpool_view view, uint32_t leaks) \
    { \
        shpool_walk walk; \
        simt_addr   addr = view.base; \
        uint32_t    left; \
        walk = shpool_##_name##_walk(view); \
        left = walk.live; \
        if (((view.flags & SHPOOL_FLAG_CHECK) == 0) || (walk.broken != 0)) { \
            return walk; \
        } \
        for (walk.used = 0; (left != 0) && (addr - view.base < view.bytes); addr += 16u) { \
            if (shpool_##_name##_owns(view, addr) == SHPOOL_FREE_OK) { \
                uint32_t  usable = shpool_##_name##_usable(view, addr); \
                uint32_t  bytes  = shpool_zone_payload(view, addr, usable); \
                simt_addr user   = addr + shpool_zone_front(view.flags); \
                if (!shpool_zone_intact(view, addr, usable, bytes)) { \
                    bytes       = 0; \
                    walk.where  = (walk.broken == 0) ? user : walk.where; \
                    walk.broken = SHPOOL_BROKEN_ZONE; \
                } \
                if (leaks != 0) { \
                    shpool_note_leak(view, user, bytes); \
                } \
                walk.used += bytes; \
                addr += (usable - 1u) & ~15u; \
                left--; \
            } \
        } \
        return walk; \
    } \
    SIMT_FN shpool_walk shpool_counted_##_name##_walk(shpool_view view) \
    { \
        return shpool_counted_##_name##_survey(view, 0); \
    } \
    /* What a release lets go is counted as freed, and with check=1 looked at as by a free. */ \
    SIMT_FN uint32_t shpool_counted_##_name##_rewind(shpool_view view, uint32_t to) \
    { \
        shpool_walk before = shpool_counted_##_name##_survey(view, 0); \
        uint32_t    done; \
        if ((to != SHPOOL_NO_MARK) && (before.broken != 0)) { \
            shpool_count(view, SHPOOL_AREA_CORRUPT, 1); \
            return 0; \
        } \
        done = SHPOOL_IF_MARKS(_name, shpool_##_name##_rewind, shpool_no_rewind)(view, to); \
        if ((to != SHPOOL_NO_MARK) && (done != 0)) { \
            shpool_walk after = shpool_counted_##_name##_survey(view, 0); \
            shpool_count(view, SHPOOL_AREA_BYTES_NOW, after.used - before.used); \
            shpool_count(view, SHPOOL_AREA_FREES, before.live - after.live); \
        } \
        return done; \
    } \
    SIMT_FN void shpool_counted_##_name##_fini(shpool_view view) \
    { \
        simt_barrier(); \
        if (((view.flags & SHPOOL_FLAG_LEADER) != 0) && (view.bytes != 0)) { \
            if (((view.flags & SHPOOL_FLAG_CHECK) != 0) && \
                (shpool_counted_##_name##_survey(view, 1).broken != 0)) { \
                shpool_count(view, SHPOOL_AREA_CORRUPT, 1); \
            } else { /* a damaged list could lead anywhere; the walk does not follow it */ \
                (void)simt_atomic_max(view.area + SHPOOL_AREA_LARGEST, \
                                      shpool_counted_##_name##_largest(view), SIMT_RELAXED); \
            } \
        } \
        simt_barrier(); \
        if (view.rank == 0) { \
            shpool_flush_area(view.area); \
        } \
    }

#endif /* SHPOOL_IMPL_INSTRUMENT_H */
