/* SPDX-License-Identifier: BSD-3-Clause */
/* Boundary-tag pools that a group of threads shares, behind a lock.  Not for direct inclusion.
 *
 * Lanes of one warp may want the lock at the same time.  The critical section therefore lies inside
 * the loop that takes the lock, and the loop ends for a lane only after it gave the lock back: were
 * it behind the loop, the compiler would have the lane that got the lock wait there for those of its
 * warp that did not, for ever.  So the lanes of a warp are served one after another, and while one is
 * at work the others of its warp do not spin.
 *
 * What the threads keep in registers meanwhile is the base and one word: the geometry comes from the
 * pool once they have the lock (a table function has 14 registers for everything). */
#ifndef SHPOOL_IMPL_TAGS_GROUP_H
#define SHPOOL_IMPL_TAGS_GROUP_H

#include <shpool/impl/boundary_tags.h>

/* The view of the pool at base as far as boundary_tags.h needs it. */
SIMT_FN shpool_view shpool_tags_view(simt_addr base)
{
    shpool_view view     = {base, 0, 0, 0, {0, 0}, 0};
    uint32_t    geometry = simt_load32(base + SHPOOL_TAGS_GEOMETRY);

    view.word[0] = geometry & 0xffffu;
    view.word[1] = geometry >> 16;
    return view;
}

/* _result = _call under the pool's lock; the empty pool has none, and nothing to do.  _forget sets
 * what _call alone needed, or the compiler keeps it for another round that never comes. */
#define SHPOOL_TAGS_LOCKED(_result, _call, _forget) \
    if (view.word[0] != 0) { \
        const simt_addr base    = view.base; \
        uint32_t        waiting = 1; \
        do { \
            /* relaxed: a look only.  Whoever of this warp had the lock has given it back by now, so \
             * it is another warp that is worth a sleep. */ \
            uint32_t seen = simt_atomic_load(base + SHPOOL_TAGS_LOCK, SIMT_RELAXED); \
            if (seen != 0) { \
                simt_wait(base + SHPOOL_TAGS_LOCK, seen); \
            } \
            /* acquire: pairs with the release below */ \
            if (simt_atomic_cas(base + SHPOOL_TAGS_LOCK, 0, 1, SIMT_ACQUIRE) == 0) { \
                view    = shpool_tags_view(base); \
                _result = _call; \
                _forget; \
                /* release: pairs with the acquire above; what this thread changed */ \
                simt_atomic_store(base + SHPOOL_TAGS_LOCK, 0, SIMT_RELEASE); \
                waiting = 0; \
            } \
        } while (waiting != 0); \
    }

/* The functions of an allocator NAME whose pools are shared by groups of threads. */
#define SHPOOL_TAGS_GROUP_MODULE(_name, _best) \
    SIMT_HD shpool_layout shpool_##_name##_layout(uint32_t bytes, uint32_t alignment) \
    { \
        return shpool_tags_layout(bytes, alignment); \
    } \
    SIMT_FN void shpool_##_name##_init(shpool_view view, uint32_t member, uint32_t members) \
    { \
        (void)members; \
        if (member == 0) { \
            shpool_tags_init(view); \
        } \
    } \
    SIMT_FN simt_addr shpool_##_name##_malloc(shpool_view view, uint32_t bytes, \
                                              uint32_t alignment, uint32_t site) \
    { \
        uint32_t  want = simt_keep(shpool_tags_want(bytes, alignment)); \
        simt_addr addr = 0; \
        (void)site; \
        SHPOOL_TAGS_LOCKED(addr, shpool_tags_malloc(view, want, _best), want = 0) \
        return addr; \
    } \
    SIMT_FN uint32_t shpool_##_name##_free(shpool_view view, simt_addr addr, uint32_t site) \
    { \
        uint32_t reason = SHPOOL_FREE_FOREIGN; \
        uint32_t want   = addr; \
        (void)site; \
        SHPOOL_TAGS_LOCKED(reason, shpool_tags_free(view, want), want = 0) \
        return reason; \
    } \
    SIMT_FN uint32_t shpool_##_name##_owns(shpool_view view, simt_addr addr) \
    { \
        uint32_t reason = SHPOOL_FREE_FOREIGN; \
        uint32_t want   = addr; \
        SHPOOL_TAGS_LOCKED(reason, shpool_tags_owns(view, want), want = 0) \
        return reason; \
    } \
    SIMT_FN uint32_t shpool_##_name##_resize(shpool_view view, simt_addr addr, uint32_t bytes) \
    { \
        uint32_t done = 0; \
        uint32_t want = addr; \
        SHPOOL_TAGS_LOCKED(done, shpool_tags_resize(view, want, bytes), want = bytes = 0) \
        return done; \
    } \
    SIMT_FN uint32_t shpool_##_name##_usable(shpool_view view, simt_addr addr) \
    { \
        uint32_t bytes = 0; \
        uint32_t want  = addr; \
        SHPOOL_TAGS_LOCKED(bytes, shpool_tags_usable(view, want), want = 0) \
        return bytes; \
    } \
    SIMT_FN uint32_t shpool_##_name##_largest(shpool_view view) \
    { \
        uint32_t bytes = 0; \
        SHPOOL_TAGS_LOCKED(bytes, shpool_tags_largest(view), (void)0) \
        return bytes; \
    } \
    SIMT_FN shpool_walk shpool_##_name##_walk(shpool_view view) { return shpool_tags_walk(view); }

#endif /* SHPOOL_IMPL_TAGS_GROUP_H */
