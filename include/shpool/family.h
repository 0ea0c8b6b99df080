/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/family.h
 * The rest of the malloc family: sizes, calloc, realloc, and checks of a pool.  Included by
 * shpool/heap.h; the same scope applies.
 */
#include <shpool/heap.h> /* before the guard: it includes this file after what this file needs */
#ifndef SHPOOL_FAMILY_H
#define SHPOOL_FAMILY_H

/** Usable bytes of a live allocation, at least the requested ones; 0 for NULL. */
SIMT_FN size_t shpool_usable_size(shpool_heap heap, const void *ptr)
{
    if (ptr == NULL) {
        return 0;
    }
    if (!simt_is_within(heap.window, ptr)) {
#if SHPOOL_SPILLS
        if ((heap.view.flags & SHPOOL_FLAG_SPILL) != 0) {
            return (size_t)SHPOOL_DO(heap, spilled, (heap.view, ptr));
        }
#endif
        return 0;
    }
    return (heap.view.bytes != 0) ? SHPOOL_DO(heap, usable, (heap.view, simt_to_shared(ptr))) : 0u;
}

/* Word by word, because every usable size is a multiple of 4. */
SIMT_FN void shpool_zero_words(void *to, size_t bytes)
{
    size_t i;

    for (i = 0; i < bytes; i += 4u) {
        if (simt_is_shared(to)) {
            simt_store32(simt_to_shared(to) + (uint32_t)i, 0);
        } else {
            *(uint32_t *)(void *)((char *)to + i) = 0;
        }
    }
}

SIMT_FN uint32_t shpool_get_word(const void *from)
{
    return simt_is_shared(from) ? simt_load32(simt_to_shared(from)) : *(const uint32_t *)from;
}

/* The share of one of `members` threads, 0..members-1. */
SIMT_FN void shpool_copy_words(void *to, const void *from, size_t bytes, uint32_t member,
                               uint32_t members)
{
    size_t i;

    for (i = 4u * (size_t)member; i < bytes; i += 4u * (size_t)members) {
        uint32_t word = shpool_get_word((const char *)from + i);

        if (simt_is_shared(to)) {
            simt_store32(simt_to_shared(to) + (uint32_t)i, word);
        } else {
            *(uint32_t *)(void *)((char *)to + i) = word;
        }
    }
}

/** Allocate count * each zeroed bytes.  A product that overflows is a request for SIZE_MAX. */
SIMT_FN void *shpool_calloc(shpool_heap heap, size_t count, size_t each)
{
    size_t bytes = count * each;
    void  *ptr;

    /* the product of two numbers below 2^32 fits; only larger ones need the division */
    if ((((count | each) >> 32) != 0) && (each != 0) && (bytes / each != count)) {
        bytes = ~(size_t)0;
    }
    ptr = shpool_malloc(heap, bytes);
    if (ptr != NULL) {
        shpool_zero_words(ptr, bytes);
    }
    return ptr;
}

/* Result of an attempt to change an allocation's size in place. */
typedef struct shpool_regrow {
    uint32_t done; /* the size was changed in place */
    size_t   old;  /* otherwise the usable bytes; 0: not an allocation of this heap */
} shpool_regrow;

/* ptr: not NULL. */
SIMT_FN shpool_regrow shpool_realloc_in_place(shpool_heap heap, void *ptr, size_t bytes)
{
    shpool_regrow now = {0, 0};

    if (simt_is_within(heap.window, ptr) && (bytes <= SHPOOL_MAX_REQUEST) &&
        (heap.view.bytes != 0)) {
        now.done = SHPOOL_DO(heap, resize, (heap.view, simt_to_shared(ptr),
                                            (bytes != 0) ? (uint32_t)bytes : 1u));
    }
    if (now.done == 0) {
        now.old = shpool_usable_size(heap, ptr);
    }
    return now;
}

/* The site of an allocation that moves. */
SIMT_FN uint32_t shpool_moving_site(shpool_heap heap, const void *ptr)
{
    return (SHPOOL_COUNTED != 0) ? shpool_zone_site(heap.view, ptr) : 0u;
}

/**
 * Change an allocation's size, in place where the allocator can.
 *
 * realloc(NULL, n) is malloc(n); realloc(p, 0) is realloc(p, 1).
 * @return the allocation, moved or not, with its contents up to the smaller size; NULL: as
 *         shpool_malloc(), and ptr is still allocated and unchanged
 */
SIMT_FN void *shpool_realloc(shpool_heap heap, void *ptr, size_t bytes)
{
    shpool_regrow now;
    void         *moved;

    if (ptr == NULL) {
        return shpool_malloc(heap, bytes);
    }
    now = shpool_realloc_in_place(heap, ptr, bytes);
    if (now.done != 0) {
        return ptr;
    }
    if (now.old == 0) {
        return NULL;
    }
    moved = shpool_malloc_as(heap, bytes, SHPOOL_MIN_ALIGNMENT, shpool_moving_site(heap, ptr));
    if (moved != NULL) {
        shpool_copy_words(moved, ptr, (bytes < now.old) ? bytes : now.old, 0, 1);
        shpool_free(heap, ptr);
    }
    return moved;
}

/** Nonzero if ptr lies in this block's shared memory; 0 if it was spilled, or borrowed from another
 *  block of the cluster. */
SIMT_FN int shpool_is_shared(const void *ptr)
{
    return simt_is_shared(ptr);
}

/**
 * Check every invariant of the calling thread's own pool.
 *
 * Scope: one thread of each pool, while no other thread uses that pool (put barriers around the
 * call).
 * @return .broken 0, or the number of the first invariant that does not hold (the allocator's
 *         README), SHPOOL_BROKEN_LOCK (scope group: the pool's first words were overwritten), or
 *         SHPOOL_BROKEN_ZONE (check=1: bytes around an allocation were overwritten); .where has the
 *         address
 */
SIMT_FN shpool_walk shpool_check(shpool_heap heap)
{
    shpool_walk sound = {0, 0, 0, 0};

    return (heap.view.bytes != 0) ? SHPOOL_DO(heap, walk, (heap.view)) : sound;
}

/** Largest malloc that would succeed now in the caller's pool; exact while no thread uses the
 *  pool. */
SIMT_FN size_t shpool_largest(shpool_heap heap)
{
    return (heap.view.bytes != 0) ? SHPOOL_DO(heap, largest, (heap.view)) : 0u;
}

#endif /* SHPOOL_FAMILY_H */
