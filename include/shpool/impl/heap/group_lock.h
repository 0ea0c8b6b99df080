/* SPDX-License-Identifier: BSD-3-Clause */
/* One lock for each pool that a group of threads shares.  Not for direct inclusion.
 *
 * Lanes of one warp may request the lock at the same time.  The critical section is therefore
 * inside the loop that acquires the lock, and a lane leaves the loop only after it has released the
 * lock.  If the section followed the loop, the lane with the lock would wait there forever for the
 * lanes of its warp that do not have it.  The compiler moves the section there if it sees that the
 * lane will leave the loop (for sm_100 and later it did); simt_pin() hides that, and
 * tests/build/sass.sh checks it.  Lanes of a warp in the same loop are thus served one after
 * another, and do not spin while one of them is in the section.  Lanes from another call spin and
 * sleep like those of another warp.
 *
 * Meanwhile the threads keep only the base and one word in registers: they read the geometry from
 * the pool once they have the lock (a table function has 14 registers for everything).  A pool of a
 * single thread (no SHPOOL_FLAG_SHARED) uses the same code, but acquires no lock. */
#ifndef SHPOOL_IMPL_GROUP_LOCK_H
#define SHPOOL_IMPL_GROUP_LOCK_H

#include <shpool/abi.h>
#include <shpool/impl/heap/patience.h>
#include <shpool/simt.h>

#define SHPOOL_POOL_LOCK     4u /* offsets of two words at the pool's base */
#define SHPOOL_POOL_GEOMETRY 8u /* word[0] and, in the upper half, word[1] of the view */

/* Called by one thread, before any other uses the pool. */
SIMT_FN void shpool_lock_init(shpool_view view)
{
    simt_store32(view.base + SHPOOL_POOL_LOCK, 0);
    simt_store32(view.base + SHPOOL_POOL_GEOMETRY, view.word[0] | (view.word[1] << 16));
}

/* The view of the pool at base: base and geometry. */
SIMT_FN shpool_view shpool_lock_view(simt_addr base)
{
    shpool_view view     = {base, 0, 0, 0, {0, 0}, 0};
    uint32_t    geometry = simt_load32(base + SHPOOL_POOL_GEOMETRY);

    view.word[0] = geometry & 0xffffu;
    view.word[1] = geometry >> 16;
    return view;
}

/* Whether these words were overwritten: a thread would wait for such a lock forever, and with such
 * a geometry it would leave the pool. */
SIMT_FN shpool_walk shpool_lock_walk(shpool_view view)
{
    shpool_walk walk = {0, 0, 0, 0};

    /* relaxed: the value changes between 0 and 1, and is never anything else */
    if ((view.word[0] != 0) &&
        ((simt_atomic_load(view.base + SHPOOL_POOL_LOCK, SIMT_RELAXED) > 1u) ||
         (simt_load32(view.base + SHPOOL_POOL_GEOMETRY) !=
          (view.word[0] | (view.word[1] << 16))))) {
        walk.broken = SHPOOL_BROKEN_LOCK;
        walk.where  = view.base + SHPOOL_POOL_LOCK;
    }
    return walk;
}

/* Try to acquire the lock; 0 is success, as always in a pool that is not shared. */
SIMT_FN uint32_t shpool_lock_try(simt_addr lock, uint32_t shared)
{
    uint32_t seen;

    if (!shared) {
        return 0;
    }
    /* relaxed: a hint only.  Lanes of this loop have released the lock by now, so another thread
     * holds it, and sleeping pays. */
    seen = simt_atomic_load(lock, SIMT_RELAXED);
    if (seen != 0) {
        simt_wait(lock, seen);
    }
    /* acquire: pairs with the release in SHPOOL_LOCKED */
    return simt_atomic_cas(lock, 0, 1, SIMT_ACQUIRE);
}

/* _result = _call under the pool's lock; the empty pool has no lock and nothing to do.  _forget
 * sets the variables that only _call needed, or the compiler keeps them for another round that
 * never comes. */
#define SHPOOL_LOCKED(_result, _call, _forget) \
    if (view.word[0] != 0) { \
        const simt_addr base    = view.base; \
        uint32_t        waiting = 1; \
        do { \
            if (shpool_lock_try(base + SHPOOL_POOL_LOCK, view.flags & SHPOOL_FLAG_SHARED) == 0) { \
                view    = shpool_lock_view(simt_keep(base)); \
                _result = _call; \
                _forget; \
                /* release: pairs with the acquire in shpool_lock_try; what this thread changed. \
                 * Also if the pool is not shared: to test that would take a register. */ \
                simt_atomic_store(base + SHPOOL_POOL_LOCK, 0, SIMT_RELEASE); \
                waiting = simt_pin(0); /* the compiler must not know that this leaves the loop */ \
            } \
        } while (waiting != 0); \
    }

/* A locked module NAME from unlocked functions PREFIX_*:
 *   layout(bytes, alignment)  init(view)  free(view, addr)  owns(view, addr)
 *   resize(view, addr, bytes)  usable(view, addr)  largest(view)  walk(view)
 * and _serve(view, want) for malloc, where _want encodes `bytes` and `alignment` in one word.
 * layout's word[] have 16 bits each; init does not touch bytes 4..11 of the pool.  NAME.h also has
 * `#define SHPOOL_GUARDS_NAME ~, 1`. */
#define SHPOOL_LOCKED_MODULE(_name, _prefix, _serve, _want) \
    SIMT_FN simt_addr shpool_##_name##_malloc(shpool_view view, uint32_t bytes, \
                                              uint32_t alignment, uint32_t site) \
    { \
        uint32_t  want = simt_keep(_want); \
        simt_addr addr = 0; \
        (void)site; \
        SHPOOL_LOCKED(addr, _serve(view, want), want = 0) \
        return addr; \
    } \
    SIMT_FN uint32_t shpool_##_name##_free(shpool_view view, simt_addr addr, uint32_t site) \
    { \
        uint32_t reason = SHPOOL_FREE_FOREIGN; \
        uint32_t want   = addr; \
        (void)site; \
        SHPOOL_LOCKED(reason, _prefix##_free(view, want), want = 0) \
        return reason; \
    } \
    SHPOOL_LOCKED_REST(_name, _prefix)

/* The same except malloc and free. */
#define SHPOOL_LOCKED_REST(_name, _prefix) \
    SIMT_HD shpool_layout shpool_##_name##_layout(uint32_t bytes, uint32_t alignment) \
    { \
        return _prefix##_layout(bytes, alignment); \
    } \
    SIMT_FN void shpool_##_name##_init(shpool_view view, uint32_t member, uint32_t members) \
    { \
        (void)members; \
        if (member == 0) { \
            _prefix##_init(view); \
            shpool_lock_init(view); \
        } \
    } \
    SIMT_FN uint32_t shpool_##_name##_owns(shpool_view view, simt_addr addr) \
    { \
        uint32_t reason = SHPOOL_FREE_FOREIGN; \
        uint32_t want   = addr; \
        SHPOOL_LOCKED(reason, _prefix##_owns(view, want), want = 0) \
        return reason; \
    } \
    SIMT_FN uint32_t shpool_##_name##_owns_and_free(shpool_view view, simt_addr addr) \
    { \
        uint32_t reason = _prefix##_owns(view, addr); \
        return (reason == SHPOOL_FREE_OK) ? _prefix##_free(view, addr) : reason; \
    } \
    SIMT_FN uint32_t shpool_##_name##_discard(shpool_view view, simt_addr addr, uint32_t site) \
    { \
        uint32_t reason = SHPOOL_FREE_FOREIGN; \
        uint32_t want   = addr; \
        (void)site; \
        SHPOOL_LOCKED(reason, shpool_##_name##_owns_and_free(view, want), want = 0) \
        return reason; \
    } \
    SIMT_FN uint32_t shpool_##_name##_resize(shpool_view view, simt_addr addr, uint32_t bytes) \
    { \
        uint32_t done = 0; \
        uint32_t want = addr; \
        SHPOOL_LOCKED(done, _prefix##_resize(view, want, bytes), want = bytes = 0) \
        return done; \
    } \
    SIMT_FN uint32_t shpool_##_name##_usable(shpool_view view, simt_addr addr) \
    { \
        uint32_t bytes = 0; \
        uint32_t want  = addr; \
        SHPOOL_LOCKED(bytes, _prefix##_usable(view, want), want = 0) \
        return bytes; \
    } \
    SIMT_FN uint32_t shpool_##_name##_largest(shpool_view view) \
    { \
        uint32_t bytes = 0; \
        SHPOOL_LOCKED(bytes, _prefix##_largest(view), (void)0) \
        return bytes; \
    } \
    SIMT_FN shpool_walk shpool_##_name##_guard(shpool_view view) \
    { \
        return shpool_lock_guard(view, SHPOOL_POOL_LOCK); \
    } \
    SIMT_FN shpool_walk shpool_##_name##_walk(shpool_view view) \
    { \
        const shpool_view own  = view; /* not read from the pool: the walk trusts nothing there */ \
        shpool_walk       walk = shpool_lock_walk(view); \
        if (walk.broken == 0) { \
            SHPOOL_LOCKED(walk, _prefix##_walk(own), (void)0) \
        } \
        return walk; \
    }

#endif /* SHPOOL_IMPL_GROUP_LOCK_H */
