/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions called by kernels of shpool.numba, as LTO-IR, which Numba's linker inlines.  A heap is
 * passed as nine words, which stay in registers, because NVVM does not pass C structures by value.
 * Compiled a second time with -DSHPOOL_CHECK, for pools with stats, check or trace. */
#define SHPOOL_LINKED
#include <shpool/shpool.cuh>

#define HEAP_WORDS 9
#define HEAP \
    uint32_t base, uint32_t bytes_of, uint32_t rank, uint32_t flags, uint32_t word0, \
        uint32_t word1, uint32_t area, uint32_t window, uint32_t largest
#define HERE heap_of(base, bytes_of, rank, flags, word0, word1, area, window, largest)
#define NUMBA extern "C" __device__

typedef unsigned long long numba_size;

static __device__ shpool_heap heap_of(HEAP)
{
    shpool_heap heap = {{base, bytes_of, rank, flags, {word0, word1}, area}, window,
                        NULL, NULL, NULL, NULL, NULL, largest};

    return heap;
}

/* at: NULL for the dynamic shared memory of the launch, from its beginning on. */
NUMBA void shpool_numba_init(const shpool_pool *pool, void *at, uint32_t heap_p[HEAP_WORDS])
{
    extern __shared__ __align__(16) unsigned char shpool_numba_region[];
    shpool_heap heap = shpool_init(pool, (at != NULL) ? at : shpool_numba_region);

    heap_p[0] = heap.view.base;
    heap_p[1] = heap.view.bytes;
    heap_p[2] = heap.view.rank;
    heap_p[3] = heap.view.flags;
    heap_p[4] = heap.view.word[0];
    heap_p[5] = heap.view.word[1];
    heap_p[6] = heap.view.area;
    heap_p[7] = heap.window;
    heap_p[8] = heap.largest;
}

NUMBA void shpool_numba_fini(HEAP) { shpool_fini(HERE); }

/* ---- requests of a thread ---- */

NUMBA void *shpool_numba_malloc(HEAP, numba_size bytes) { return shpool_malloc(HERE, bytes); }

NUMBA void *shpool_numba_calloc(HEAP, numba_size bytes) { return shpool_calloc(HERE, 1, bytes); }

NUMBA void *shpool_numba_aligned_malloc(HEAP, numba_size alignment, numba_size bytes)
{
    return shpool_aligned_malloc(HERE, alignment, bytes);
}

NUMBA void *shpool_numba_malloc_wait(HEAP, numba_size attempts, numba_size bytes)
{
    return shpool_malloc_wait(HERE, bytes, (attempts < ~0u) ? (uint32_t)attempts : ~0u);
}

NUMBA void *shpool_numba_realloc(HEAP, void *ptr, numba_size bytes)
{
    return shpool_realloc(HERE, ptr, bytes);
}

NUMBA uint32_t shpool_numba_free(HEAP, void *ptr) { return shpool_free_at(HERE, ptr, 0); }

/* ---- requests of a group ---- */

NUMBA void *shpool_numba_malloc_lanes(HEAP, numba_size lanes, numba_size bytes)
{
    return shpool_malloc_lanes(HERE, (uint32_t)lanes, bytes);
}

NUMBA uint32_t shpool_numba_free_lanes(HEAP, numba_size lanes, void *ptr)
{
    return shpool_free_lanes_at(HERE, (uint32_t)lanes, ptr, 0);
}

NUMBA void *shpool_numba_malloc_warp(HEAP, numba_size bytes)
{
    return shpool_malloc_warp(HERE, bytes);
}

NUMBA uint32_t shpool_numba_free_warp(HEAP, void *ptr)
{
    shpool_free_warp(HERE, ptr);
    return 0;
}

NUMBA void *shpool_numba_malloc_block(HEAP, numba_size bytes)
{
    return shpool_malloc_block(HERE, bytes);
}

NUMBA uint32_t shpool_numba_free_block(HEAP, void *ptr)
{
    shpool_free_block(HERE, ptr);
    return 0;
}

/* ---- questions, and scratch ---- */

NUMBA numba_size shpool_numba_usable_size(HEAP, void *ptr)
{
    return shpool_usable_size(HERE, ptr);
}

NUMBA numba_size shpool_numba_largest(HEAP) { return shpool_largest(HERE); }

NUMBA numba_size shpool_numba_mark(HEAP) { return shpool_mark(HERE); }

NUMBA numba_size shpool_numba_release(HEAP, numba_size mark)
{
    return shpool_release(HERE, (uint32_t)mark);
}
