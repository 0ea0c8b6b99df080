/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrappers around a module's functions for stats=1, check=1 and trace=FILE.  Not for direct
 * inclusion.
 *
 * The counted functions are separate functions, not branches in the plain ones: a pool that was
 * opened without these options runs code without them.  The counters are in the statistics area
 * before the pools; shpool_fini() adds them to the report in global memory. */
#ifndef SHPOOL_IMPL_INSTRUMENT_H
#define SHPOOL_IMPL_INSTRUMENT_H

#include <shpool/impl/report/spill.h>
#include <shpool/impl/waiters.h>

/* The rewind of a module without marks. */
SIMT_FN uint32_t shpool_no_rewind(shpool_view view, uint32_t to)
{
    (void)view;
    return (to == SHPOOL_NO_MARK) ? SHPOOL_NO_MARK : 0u;
}

/* The group functions of a module without them; never called (SHPOOL_GROUPED in bind.h). */
SIMT_FN simt_addr shpool_no_malloc_group(shpool_view view, uint32_t bytes, uint32_t alignment,
                                         uint32_t site, uint32_t lanes)
{
    (void)view;
    (void)bytes;
    (void)alignment;
    (void)site;
    (void)lanes;
    return 0;
}
SIMT_FN uint32_t shpool_no_free_group(shpool_view view, simt_addr addr, uint32_t site,
                                      uint32_t lanes)
{
    (void)view;
    (void)addr;
    (void)site;
    (void)lanes;
    return SHPOOL_FREE_FOREIGN;
}

/* The guard of a module without one. */
SIMT_FN shpool_walk shpool_no_guard(shpool_view view)
{
    shpool_walk walk = {0, 0, 0, 0};

    (void)view;
    return walk;
}

/* A pool before its module's init: all of it is free memory. */
SIMT_FN void shpool_zone_init(shpool_view view, uint32_t member, uint32_t members)
{
    simt_addr end = (shpool_waiters(view) != 0) ? shpool_waiters(view) : view.base + view.bytes;
    simt_addr at;

    for (at = view.base + 16u * member; at < end; at += 16u * members) {
        shpool_zone_poison(at, at + 16u);
    }
#if SIMT_HAS_BULK
    simt_fence_async(); /* a program may copy into its first allocation immediately */
#endif
    simt_barrier();
}

/* Start of the module's allocation for a caller's address; 0, which is never an allocation, for an
 * address outside this pool. */
SIMT_FN simt_addr shpool_zone_addr(shpool_view view, simt_addr user)
{
    if (((view.flags & SHPOOL_FLAG_CLUSTER) != 0) &&
        (simt_addr_rank(user) < simt_cluster_blocks())) { /* or in a neighbour's */
        view.base = simt_map_cluster(view.base, simt_addr_rank(user));
    }
    return (user - view.base < view.bytes) ? user - shpool_zone_front(view.flags) : 0u;
}

/* A counted free in progress. */
typedef struct shpool_counted_free {
    simt_addr            addr;   /* the module's allocation */
    uint32_t             bytes;  /* of its payload */
    uint32_t             reason; /* why it is refused, or SHPOOL_FREE_OK */
    uint32_t             start;  /* when the module's free began */
    shpool_trace_record *record;
} shpool_counted_free;

SIMT_FN shpool_counted_free shpool_counted_free_none(void)
{
    shpool_counted_free call = {0, 0, SHPOOL_FREE_OK, 0, NULL};

    return call;
}

/* Allocations that a release frees are counted as freed and, with check=1, checked as by a free. */
#define SHPOOL_INSTRUMENT_MARKS(_name) \
    SIMT_FN uint32_t shpool_counted_##_name##_rewind(shpool_view view, uint32_t to) \
    { \
        shpool_walk before = shpool_counted_##_name##_survey(view, 0); \
        uint32_t    done; \
        shpool_trace_record *record = NULL; \
        if (before.broken != 0) { /* do not wait for an overwritten lock */ \
            (void)shpool_count(view, SHPOOL_AREA_CORRUPT, 1); \
            return (to == SHPOOL_NO_MARK) ? SHPOOL_NO_MARK : 0u; \
        } \
        if ((to != SHPOOL_NO_MARK) && (shpool_is_traced(view) != 0)) { /* first, as in free */ \
            record = shpool_trace_take(view); \
        } \
        done = shpool_##_name##_rewind(view, to); \
        if ((to != SHPOOL_NO_MARK) && (done != 0)) { \
            shpool_walk after = shpool_counted_##_name##_survey(view, 0); \
            (void)shpool_count(view, SHPOOL_AREA_BYTES_NOW, after.used - before.used); \
            (void)shpool_count(view, SHPOOL_AREA_FREES, before.live - after.live); \
            shpool_trace_fill(record, (uint32_t)SHPOOL_TRACE_RELEASE, 0, 0, to, 0); \
        } \
        if ((to == SHPOOL_NO_MARK) && (done != SHPOOL_NO_MARK)) { \
            shpool_trace_mark(view, done); \
        } \
        return done; \
    }

/* A group makes one request: its first lane counts, checks and records; all lanes do the work. */
#define SHPOOL_INSTRUMENT_GROUPS(_name) \
    SIMT_FN simt_addr shpool_counted_##_name##_malloc_group(shpool_view view, uint32_t bytes, \
                                                            uint32_t alignment, uint32_t site, \
                                                            uint32_t lanes) \
    { \
        const uint32_t first = simt_ffs(lanes) - 1u; \
        const uint32_t leads = simt_lane() == first; \
        uint32_t       start = simt_clock(); \
        simt_addr      addr  = 0; \
        simt_addr      user  = 0; \
        if (simt_all(lanes, (leads == 0) || shpool_counted_##_name##_sound(view))) { \
            addr = shpool_##_name##_malloc_group(view, shpool_zone_request(bytes, view.flags), \
                                                 alignment, site, lanes); \
        } \
        if (leads != 0) { \
            shpool_note_cycles(view, start); \
            user = shpool_counted_##_name##_given(view, bytes, alignment, site, addr); \
        } \
        simt_warp_sync(lanes); /* the zones: another lane may free it at once */ \
        return simt_shfl(lanes, user, first); \
    } \
    SIMT_FN uint32_t shpool_counted_##_name##_free_group(shpool_view view, simt_addr user, \
                                                         uint32_t site, uint32_t lanes) \
    { \
        const uint32_t      first  = simt_ffs(lanes) - 1u; \
        const uint32_t      leads  = simt_lane() == first; \
        shpool_counted_free call   = shpool_counted_free_none(); \
        uint32_t            reason = SHPOOL_FREE_OK; \
        if (leads != 0) { \
            call = shpool_counted_##_name##_freeing(view, user, site); \
        } \
        simt_warp_sync(lanes); \
        call.reason = simt_shfl(lanes, call.reason, first); \
        if (call.reason == SHPOOL_FREE_OK) { \
            reason = shpool_##_name##_free_group(view, user - shpool_zone_front(view.flags), \
                                                 site, lanes); \
            if (leads != 0) { \
                shpool_counted_##_name##_freed(view, &call, reason); \
            } \
        } \
        if (leads != 0) { \
            (void)shpool_counted_##_name##_ended(view, user, site, call.reason); \
        } \
        return call.reason; \
    }

/* The counted functions of one module.  Addresses are the callers'; the module's own allocation
 * begins one front zone below. */
#define SHPOOL_INSTRUMENT(_name) \
    SIMT_FN void shpool_counted_##_name##_init(shpool_view view, uint32_t member, \
                                               uint32_t members) \
    { \
        if (SHPOOL_IS_CLEAN(_name, view)) { \
            shpool_zone_init(view, member, members); \
        } \
        shpool_##_name##_init(view, member, members); \
    } \
    /* The module's guard, then its walk if no other thread uses the pool, or if a lock excludes
     * them. */ \
    SIMT_FN shpool_walk shpool_counted_##_name##_look(shpool_view view, uint32_t alone) \
    { \
        shpool_walk walk = {0, 0, 0, 0}; \
        if ((view.flags & SHPOOL_FLAG_CHECK) != 0) { \
            walk = SHPOOL_IF_GUARDS(_name, shpool_##_name##_guard, shpool_no_guard)(view); \
        } \
        return (alone && (walk.broken == 0)) ? shpool_##_name##_walk(view) : walk; \
    } \
    /* A stray write may have made a module's data anything: with check=1 this looks before the \
     * module follows it; where others may be at work without a lock, at what never changes. */ \
    SIMT_FN_NOINLINE uint32_t shpool_counted_##_name##_sound(shpool_view view) \
    { \
        const uint32_t busy = (uint32_t)SHPOOL_FLAG_SHARED | (uint32_t)SHPOOL_FLAG_IN_BAND; \
        return ((view.flags & SHPOOL_FLAG_CHECK) == 0) || \
               !shpool_note_broken(view, shpool_counted_##_name##_look( \
                                             view, (view.flags & busy) != SHPOOL_FLAG_SHARED)); \
    } \
    /* Nonzero if memory that the module returns was free before; addr and usable are the
     * module's. */ \
    SIMT_FN uint32_t shpool_counted_##_name##_fresh(shpool_view view, simt_addr addr, \
                                                    uint32_t usable) \
    { \
        shpool_walk walk = {0, 0, 0, 0}; \
        if (SHPOOL_IS_CLEAN(_name, view)) { \
            walk.where  = shpool_zone_used(addr, addr + usable); \
            walk.broken = (walk.where != addr + usable) ? SHPOOL_BROKEN_FREED : 0u; \
        } \
        return !shpool_note_broken(view, walk); \
    } \
    /* The module has answered a request for `asked` bytes: what the caller gets. */ \
    SIMT_FN simt_addr shpool_counted_##_name##_given(shpool_view view, uint32_t asked, \
                                                     uint32_t alignment, uint32_t site, \
                                                     simt_addr addr) \
    { \
        uint32_t  usable; \
        uint32_t  bytes; \
        simt_addr user; \
        if (addr == 0) { \
            shpool_note_malloc(view, 0); \
            shpool_trace_malloc(view, asked, alignment, 0, 0, site); \
            return 0; \
        } \
        usable = shpool_##_name##_usable(view, addr); \
        bytes  = shpool_zone_bytes(asked, usable, view.flags); \
        if (!shpool_counted_##_name##_fresh(view, addr, usable)) { /* it is never used again */ \
            shpool_note_malloc(view, 0); \
            shpool_note_bad_free(view, simt_from_window(simt_window(), addr), \
                                 SHPOOL_FREE_CORRUPT, site); \
            return 0; \
        } \
        shpool_note_malloc(view, bytes); \
        user = shpool_zone_set(view, addr, usable, bytes, \
                               (site < SHPOOL_SITE_TRY) ? site : 0u, view.rank); \
        shpool_trace_malloc(view, asked, alignment, bytes, user, site); \
        return user; \
    } \
    SIMT_FN simt_addr shpool_counted_##_name##_malloc(shpool_view view, uint32_t bytes, \
                                                      uint32_t alignment, uint32_t site) \
    { \
        simt_addr addr = 0; \
        if (shpool_counted_##_name##_sound(view)) { \
            uint32_t start = simt_clock(); \
            addr = shpool_##_name##_malloc(view, shpool_zone_request(bytes, view.flags), \
                                           alignment, site); \
            shpool_note_cycles(view, start); \
        } \
        return shpool_counted_##_name##_given(view, bytes, alignment, site, addr); \
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
    /* The part of a free before the module's. */ \
    SIMT_FN shpool_counted_free shpool_counted_##_name##_freeing(shpool_view view, simt_addr user, \
                                                                 uint32_t site) \
    { \
        shpool_counted_free call = shpool_counted_free_none(); \
        uint32_t            usable; \
        call.addr = user - shpool_zone_front(view.flags); \
        if ((view.flags & SHPOOL_FLAG_CHECK) != 0) { /* otherwise free refuses what it can */ \
            call.reason = shpool_counted_##_name##_owns(view, user); \
        } \
        if (call.reason != SHPOOL_FREE_OK) { \
            return call; \
        } \
        usable      = shpool_##_name##_usable(view, call.addr); \
        call.bytes  = shpool_zone_payload(view, call.addr, usable); \
        call.reason = shpool_zone_release(view, call.addr, usable, call.bytes); \
        if (call.reason == SHPOOL_FREE_OK) { \
            /* first: another thread may have them at once, and peak is not to see both */ \
            (void)shpool_count(view, SHPOOL_AREA_BYTES_NOW, 0u - call.bytes); \
            call.record = shpool_trace_free(view, shpool_trace_place(view, user), 0, site); \
            call.start  = simt_clock(); \
        } \
        return call; \
    } \
    /* The module's free has returned `reason`. */ \
    SIMT_FN void shpool_counted_##_name##_freed(shpool_view view, shpool_counted_free *call, \
                                                uint32_t reason) \
    { \
        shpool_note_cycles(view, call->start); \
        shpool_trace_refused(call->record, reason); \
        if (reason != SHPOOL_FREE_OK) { \
            (void)shpool_count(view, SHPOOL_AREA_BYTES_NOW, call->bytes); \
        } \
        call->reason = reason; \
    } \
    /* In both cases the free has ended. */ \
    SIMT_FN uint32_t shpool_counted_##_name##_ended(shpool_view view, simt_addr user, \
                                                    uint32_t site, uint32_t reason) \
    { \
        if (reason == SHPOOL_FREE_OK) { \
            shpool_note_free(view); \
        } else { \
            shpool_note_bad_free(view, simt_from_shared(user), reason, site); \
        } \
        return reason; \
    } \
    SIMT_FN uint32_t shpool_counted_##_name##_free(shpool_view view, simt_addr user, \
                                                   uint32_t site) \
    { \
        shpool_counted_free call = shpool_counted_##_name##_freeing(view, user, site); \
        if (call.reason == SHPOOL_FREE_OK) { \
            shpool_counted_##_name##_freed(view, &call, \
                                           shpool_##_name##_free(view, call.addr, site)); \
        } \
        return shpool_counted_##_name##_ended(view, user, site, call.reason); \
    } \
    /* An address that is not the start of an allocation, or a damaged one, has 0 bytes: nothing is
     * copied. */ \
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
        uint32_t  asked  = bytes; \
        uint32_t  less; \
        shpool_trace_record *record = NULL; \
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
        less = (bytes < before) ? before - bytes : 0u; /* freed at most; as in free */ \
        (void)shpool_count(view, SHPOOL_AREA_BYTES_NOW, 0u - less); \
        if ((less != 0) && (shpool_is_traced(view) != 0)) { \
            record = shpool_trace_take(view); \
        } \
        if (SHPOOL_IS_CLEAN(_name, view) && (less != 0)) { /* such a module frees that */ \
            shpool_zone_poison(addr + ((shpool_zone_request(bytes, view.flags) + 15u) & ~15u), \
                               addr + usable); \
        } \
        if (!shpool_##_name##_resize(view, addr, shpool_zone_request(bytes, view.flags))) { \
            shpool_count_live(view, less); \
            return 0; \
        } \
        if (!shpool_counted_##_name##_fresh(view, addr + usable, \
                                            shpool_##_name##_usable(view, addr) - usable)) { \
            return 0; \
        } \
        usable = shpool_##_name##_usable(view, addr); \
        bytes  = shpool_zone_bytes(bytes, usable, view.flags); \
        (void)shpool_zone_set(view, addr, usable, bytes, \
                              shpool_zone_word(view, user, SHPOOL_ZONE_SITE), \
                              shpool_zone_word(view, user, SHPOOL_ZONE_RANK)); \
        shpool_count_live(view, less + bytes - before); \
        if ((less == 0) && (shpool_is_traced(view) != 0)) { /* grown into memory that others
                                                               freed */ \
            record = shpool_trace_take(view); \
        } \
        shpool_trace_fill(record, (uint32_t)SHPOOL_TRACE_RESIZE, asked, bytes, \
                          shpool_trace_place(view, user), 0); \
        return 1; \
    } \
    SIMT_FN uint32_t shpool_counted_##_name##_largest(shpool_view view) \
    { \
        return shpool_counted_##_name##_sound(view) \
                   ? shpool_zone_room(shpool_##_name##_largest(view), view.flags) : 0u; \
    } \
    /* The module's walk, then the zones of all that is live, found by asking for each address; \
     * `leaks`: and note it as leaked. */ \
    SIMT_FN shpool_walk shpool_counted_##_name##_survey(shpool_view view, uint32_t leaks) \
    { \
        shpool_walk walk; \
        simt_addr   addr = view.base; \
        uint32_t    left; \
        walk = shpool_counted_##_name##_look(view, 1); \
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
                if ((leaks != 0) && (usable >= shpool_zone_cost(view.flags))) { \
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
    SIMT_FN void shpool_counted_##_name##_fini(shpool_view view) \
    { \
        simt_barrier(); \
        if (((view.flags & SHPOOL_FLAG_LEADER) != 0) && (view.bytes != 0)) { \
            if (((view.flags & SHPOOL_FLAG_CHECK) != 0) && \
                shpool_note_broken(view, shpool_counted_##_name##_survey(view, 1))) { \
                (void)shpool_count(view, SHPOOL_AREA_CORRUPT, 1); \
            } else { /* a damaged list could lead anywhere; the walk does not follow it */ \
                shpool_count_most(view, SHPOOL_AREA_LARGEST, \
                                  shpool_counted_##_name##_largest(view)); \
            } \
        } \
        simt_barrier(); \
        if (view.rank == 0) { \
            shpool_area_fini(view); \
        } \
    } \
    SHPOOL_IF_MARKS(_name, SHPOOL_INSTRUMENT_MARKS(_name), ) \
    SHPOOL_IF_GROUPS(_name, SHPOOL_INSTRUMENT_GROUPS(_name), )

#endif /* SHPOOL_IMPL_INSTRUMENT_H */
