/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_memory's pools of one thread each, for shpool/compat/cuda_memory.cuh.  Not for direct
 * inclusion.
 *
 * The pools are those of the allocators, but the calls acquire no lock, read no geometry from the
 * pool and look for no other lanes.  Under ALLOCATOR_DEBUG a free looks the allocation up first.
 *
 * take_turns() serves pools that threads of one warp share by the same functions. */
#ifndef SHPOOL_IMPL_COMPAT_ALONE_H
#define SHPOOL_IMPL_COMPAT_ALONE_H

#include <shpool/impl/heap/boundary_tags.h>
#include <shpool/impl/heap/group_lock.h>
#include <shpool/module.h>

#if defined(ALLOCATOR_DEBUG)
#define SHPOOL_COMPAT_ALONE_FREE(_owns, _free) \
    uint32_t reason = _owns(view, addr); \
    return (reason == SHPOOL_FREE_OK) ? _free(view, addr) : reason;
#else
#define SHPOOL_COMPAT_ALONE_FREE(_owns, _free) return _free(view, addr);
#endif

namespace shpool_compat {

/* Make the last `need` granules of the free block an allocation. */
SIMT_FN simt_addr tags_cut(shpool_view view, uint32_t block, uint32_t header, uint32_t need)
{
    const uint32_t size  = shpool_tags_size(header);
    const uint32_t front = size - need;
    const uint32_t at    = block + front;

    shpool_tags_set_before(view, block + size, need);
    if (front != 0) {
        shpool_tags_set_header(view, at, SHPOOL_TAGS_USED, need, front);
        shpool_tags_set_header(view, block, 0, front, shpool_tags_before(header));
    } else {
        shpool_tags_set_header(view, at, SHPOOL_TAGS_USED, need, shpool_tags_before(header));
        shpool_tags_unlink(view, shpool_tags_link(view, block));
    }
    return shpool_tags_payload(view, at);
}

/* shpool_tags_take() for the alignment that all requests here have, which is that of the granules.
 * Best: the smallest block that is large enough, else the first. */
template <bool Best>
SIMT_FN simt_addr tags_malloc(shpool_view view, uint32_t bytes, uint32_t, uint32_t)
{
    const uint32_t need  = (bytes + 4u + 15u) >> 4;
    uint32_t       found = 0;
    uint32_t       taken = 0; /* header of the chosen block */
    uint32_t       least = SHPOOL_TAGS_GRANULES + 1u; /* its size */
    uint32_t       next;

    if (need > view.word[0]) {
        return 0; /* also for the empty pool */
    }
    for (uint32_t block = shpool_tags_next(view, 0); block != 0; block = next) {
        const uint32_t header = shpool_tags_header(view, block);
        const uint32_t size   = shpool_tags_size(header);

        next = shpool_tags_next(view, block); /* loaded together with the header */
        if ((size >= need) && (size < least)) {
            found = block;
            taken = header;
            least = size;
            if (!Best || (size == need)) {
                break;
            }
        }
    }
    return (found != 0) ? tags_cut(view, found, taken, need) : 0u;
}
SIMT_FN uint32_t tags_free(shpool_view view, simt_addr addr, uint32_t)
{
    SHPOOL_COMPAT_ALONE_FREE(shpool_tags_owns, shpool_tags_free)
}

#if defined(SHPOOL_ALLOCATORS_FREELIST_H)
/* shpool_fl_serve() for the alignment of granules; links and sizes are loaded together. */
SIMT_FN simt_addr freelist_malloc(shpool_view view, uint32_t bytes, uint32_t, uint32_t)
{
    const uint32_t need  = (bytes + 15u) >> 4;
    uint32_t       entry = simt_load32(view.base);

    while ((entry != 0) && (entry <= view.word[0])) {
        const uint32_t  g    = entry - 1u;
        const simt_addr a    = shpool_fl_payload(view, g);
        const uint64_t  both = simt_load64(a);
        const uint32_t  link = static_cast<uint32_t>(both);
        const uint32_t  size = static_cast<uint32_t>(both >> 32);

        if ((size >= need) && (size <= view.word[0] - g)) {
            const uint32_t at = g + size - need;

            if (at != g) {
                simt_store32(a + 4u, size - need);
                shpool_fl_flip(view, at, SHPOOL_FL_BEGINS);
            } else {
                shpool_fl_flip(view, g, SHPOOL_FL_FREE);
                shpool_fl_unlink_from(view, link);
            }
            return shpool_fl_payload(view, at);
        }
        entry = link & 0xffffu;
    }
    return 0;
}

/* A pair of map words, and a block whose beginning it has. */
struct freelist_place {
    uint32_t begins;
    uint32_t free;
    uint32_t block;
};

SIMT_FN freelist_place freelist_pair(shpool_view view, uint32_t g)
{
    const uint64_t both = simt_load64(shpool_fl_pair(view, g));

    return {static_cast<uint32_t>(both), static_cast<uint32_t>(both >> 32), g};
}

/* The block before g, with its pair; g itself if there is none.  own: the pair of g. */
SIMT_FN freelist_place freelist_before(shpool_view view, freelist_place own)
{
    freelist_place place = own;
    uint32_t       at    = own.block & ~31u;

    place.begins &= simt_mask(0, own.block & 31u);
    while ((place.begins == 0) && (at != 0)) {
        at -= 32u;
        place = freelist_pair(view, at);
    }
    place.block = (place.begins != 0) ? at + 31u - simt_clz(place.begins) : own.block;
    return place;
}

/* The next block after g, or the end of the pool, with its pair. */
SIMT_FN freelist_place freelist_after(shpool_view view, freelist_place own)
{
    freelist_place place = own;
    uint32_t       at    = own.block & ~31u;

    place.begins &= simt_mask((own.block & 31u) + 1u, 32u);
    while (place.begins == 0) { /* ends: the map is closed */
        at += 32u;
        place = freelist_pair(view, at);
    }
    place.block = at + simt_ffs(place.begins) - 1u;
    return place;
}

SIMT_FN uint32_t freelist_is_free(freelist_place place)
{
    return (place.free >> (place.block & 31u)) & 1u;
}

/* shpool_fl_free(): each pair of the map is loaded once, and the block's own is stored once.  An
 * access of 64 bits meets no more bank conflicts than one of 32. */
SIMT_FN uint32_t freelist_give(shpool_view view, simt_addr addr)
{
    const uint32_t g = shpool_fl_granule(view, addr);
    freelist_place own;
    uint32_t       size;

    if (g >= view.word[0]) {
        return SHPOOL_FREE_FOREIGN; /* or interior: nobody asks here */
    }
    own = freelist_pair(view, g);
    if ((((own.begins >> (g & 31u)) & 1u) == 0) || freelist_is_free(own)) {
        return SHPOOL_FREE_INTERIOR; /* or double */
    }
    const freelist_place after  = freelist_after(view, own);
    const freelist_place before = freelist_before(view, own);

    size = after.block - g;
    if (freelist_is_free(after)) { /* not the end of the pool, which counts as used */
        const uint64_t both = simt_load64(shpool_fl_payload(view, after.block));
        const uint32_t bit  = 1u << (after.block & 31u);

        size += static_cast<uint32_t>(both >> 32);
        if (((after.block ^ g) & ~31u) == 0) {
            own.begins ^= bit;
            own.free   ^= bit;
        } else {
            shpool_fl_flip(view, after.block, SHPOOL_FL_BEGINS);
            shpool_fl_flip(view, after.block, SHPOOL_FL_FREE);
        }
        shpool_fl_unlink_from(view, static_cast<uint32_t>(both));
    }
    if ((before.block != g) && freelist_is_free(before)) { /* it grows, and stays in its place */
        own.begins ^= 1u << (g & 31u);
        simt_store32(shpool_fl_payload(view, before.block) + 4u, g - before.block + size);
    } else {
        own.free ^= 1u << (g & 31u);
        shpool_fl_push(view, g, size);
    }
    simt_store64(shpool_fl_pair(view, g), own.begins | (static_cast<uint64_t>(own.free) << 32));
    return SHPOOL_FREE_OK;
}
SIMT_FN uint32_t freelist_free(shpool_view view, simt_addr addr, uint32_t)
{
    SHPOOL_COMPAT_ALONE_FREE(shpool_fl_owns, freelist_give)
}
#endif

#if defined(SHPOOL_ALLOCATORS_RBTREE_H)
SIMT_FN simt_addr rbtree_malloc(shpool_view view, uint32_t bytes, uint32_t alignment, uint32_t)
{
    return shpool_rb_serve(view, shpool_tags_want(bytes, alignment));
}
SIMT_FN uint32_t rbtree_free(shpool_view view, simt_addr addr, uint32_t)
{
    SHPOOL_COMPAT_ALONE_FREE(shpool_rb_owns, shpool_rb_free)
}
#endif

/*
 * request() for each lane of a pool that 1 << sharing lanes of a warp share, one lane of a pool at
 * a time; lanes of different pools are served together.  One lane of each pool acquires the lock
 * for all that are here.  Returns false, with nothing done, if the pool is shared in another way,
 * or if lanes that are not here have the lock.
 *
 * There is no loop with an atomic access: for those ptxas adds YIELD, after which lanes in malloc
 * and lanes in free compete for the lock for hundreds of iterations of their kernel, and sleep.
 */
template <typename Request>
SIMT_FN bool take_turns(shpool_view view, uint32_t sharing, Request request)
{
    const uint32_t  here   = simt_converged();
    const uint32_t  lane   = view.rank % SIMT_WARP;
    const uint32_t  group  = lane >> sharing << sharing; /* its first lane */
    const uint32_t  lanes  = (sharing <= 5u) ? here & simt_mask(group, 1u << sharing) : 0u;
    const uint32_t  leader = simt_ffs(lanes) - 1u;
    const simt_addr lock   = view.base + SHPOOL_POOL_LOCK;
    uint32_t        held   = 0;
    uint32_t        rest;

    if (lane == leader) {
        /* acquire: pairs with the release below and in SHPOOL_LOCKED */
        held = simt_atomic_cas(lock, 0, 1, SIMT_ACQUIRE) == 0;
    }
    held = (simt_ballot(here, held) & lanes) != 0;
    simt_warp_sync(here); /* orders the others after what the leader acquired */
    rest = held ? lanes : 0u;
    do {
        if ((rest & (0u - rest)) == 1u << lane) {
            request();
        }
        simt_warp_sync(here); /* what this lane changed comes before the next lane's request */
        rest &= rest - 1u;
    } while (simt_ballot(here, rest != 0) != 0);
    if (held && (lane == leader)) {
        /* release: pairs with the acquires above and in shpool_lock_try */
        simt_atomic_store(lock, 0, SIMT_RELEASE);
    }
    return held != 0;
}

} // namespace shpool_compat

#undef SHPOOL_COMPAT_ALONE_FREE

#endif /* SHPOOL_IMPL_COMPAT_ALONE_H */
