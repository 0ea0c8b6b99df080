/* SPDX-License-Identifier: BSD-3-Clause */
/* own: an allocator that a third party might write, with only shpool/module.h as documentation.
 * own.c has the commands that build it.
 *
 * A bump allocator that starts again when its last allocation has been freed.  Pool:
 *   state (live count << 16 | granules taken) | 12 spare bytes | granules of 16 bytes
 * Each allocation has an additional granule, whose first word holds the number of granules. */
#ifndef OWN_H
#define OWN_H

#include <shpool/module.h>

/* word[0] = granules; 16 bytes before the payload. */
SIMT_HD shpool_layout shpool_own_layout(uint32_t bytes, uint32_t alignment)
{
    shpool_layout layout   = {0, 0, {0, 0}};
    uint32_t      granules = (bytes >= 48u) ? (bytes >> 4) - 1u : 0u;

    (void)alignment; /* always 16, because it does not declare SHPOOL_CAP_ALIGNED */
    if (granules != 0) {
        layout.word[0] = (granules < 0xffffu) ? granules : 0xffffu;
        layout.largest = (layout.word[0] - 1u) << 4;
        layout.bytes   = (layout.word[0] + 1u) << 4;
    }
    return layout;
}

SIMT_FN void shpool_own_init(shpool_view view, uint32_t member, uint32_t members)
{
    (void)members;
    if (member == 0) { simt_store32(view.base, 0); }
}

SIMT_FN simt_addr shpool_own_malloc(shpool_view view, uint32_t bytes, uint32_t alignment,
                                    uint32_t site)
{
    uint32_t need = ((bytes + 15u) >> 4) + 1u;
    uint32_t seen = (view.bytes != 0) ? simt_atomic_load(view.base, SIMT_RELAXED) : 0u;

    (void)alignment;
    (void)site;
    while (need <= view.word[0] && (seen & 0xffffu) <= view.word[0] - need) {
        /* acquire: pairs with the release in shpool_own_free; their last owner has finished */
        uint32_t now = simt_atomic_cas(view.base, seen, seen + 0x10000u + need, SIMT_ACQUIRE);

        if (now == seen) {
            simt_addr header = view.base + 16u + ((seen & 0xffffu) << 4);

            simt_store32(header, need);
            return header + 16u;
        }
        seen = now;
    }
    return 0;
}

SIMT_FN uint32_t shpool_own_owns(shpool_view view, simt_addr addr)
{
    uint32_t offset = addr - view.base;
    uint32_t state;

    if ((offset < 32u) || (offset >= view.bytes)) { return SHPOOL_FREE_FOREIGN; }
    state = simt_atomic_load(view.base, SIMT_RELAXED);
    return ((state >> 16) != 0) && ((offset >> 4) <= (state & 0xffffu)) ? SHPOOL_FREE_OK
                                                                        : SHPOOL_FREE_DOUBLE;
}

SIMT_FN uint32_t shpool_own_free(shpool_view view, simt_addr addr, uint32_t site)
{
    uint32_t reason = shpool_own_owns(view, addr);
    uint32_t seen;
    uint32_t now;

    (void)site;
    if (reason != SHPOOL_FREE_OK) { return reason; }
    seen = simt_atomic_load(view.base, SIMT_RELAXED);
    for (;;) {
        /* release: the owner's accesses; pairs with the acquire in shpool_own_malloc.  acquire: the
         * last free also passes on the releases of the others */
        now = simt_atomic_cas(view.base, seen, ((seen >> 16) == 1u) ? 0u : seen - 0x10000u,
                              SIMT_ACQ_REL);
        if (now == seen) { return SHPOOL_FREE_OK; }
        seen = now;
    }
}

SIMT_FN uint32_t shpool_own_usable(shpool_view view, simt_addr addr)
{
    return (shpool_own_owns(view, addr) == SHPOOL_FREE_OK) ? (simt_load32(addr - 16u) - 1u) << 4
                                                           : 0u;
}

SHPOOL_DISCARD(own)

SIMT_FN uint32_t shpool_own_resize(shpool_view view, simt_addr addr, uint32_t bytes)
{
    return bytes <= shpool_own_usable(view, addr);
}

SIMT_FN uint32_t shpool_own_largest(shpool_view view)
{
    uint32_t left;

    if (view.bytes == 0) { return 0; }
    left = view.word[0] - (simt_atomic_load(view.base, SIMT_RELAXED) & 0xffffu);
    return (left > 1u) ? (left - 1u) << 4 : 0u;
}

/* Invariant 1: granules are taken if and only if an allocation is live, at most all of them. */
SIMT_FN shpool_walk shpool_own_walk(shpool_view view)
{
    shpool_walk walk = {0, 0, 0, 0};
    uint32_t    state;

    if (view.bytes == 0) { return walk; }
    state = simt_atomic_load(view.base, SIMT_RELAXED);
    if (((state & 0xffffu) > view.word[0]) || (((state >> 16) == 0) != ((state & 0xffffu) == 0))) {
        walk.broken = 1;
        walk.where  = view.base;
    }
    walk.live = state >> 16;
    walk.used = (state & 0xffffu) << 4;
    return walk;
}

#endif /* OWN_H */
