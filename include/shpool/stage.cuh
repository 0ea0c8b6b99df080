/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/stage.cuh
 * Stages: shared memory that a producer fills by asynchronous copies and consumers read.
 *
 * A stage is an allocation and a pair of mbarriers.  The producer, a thread or a warp, allocates
 * it, starts a copy into it, and continues.  Consumers wait for it, read it, and release it.  After
 * the last release its memory belongs to the producer again, which uses it for a later stage or
 * frees it:
 *
 *     extern __shared__ __align__(16) unsigned char smem[];
 *     __shared__ __align__(16) unsigned char table[SHPOOL_STAGES_BYTES(8)];
 *     shpool_heap heap = shpool_init(&pool, smem);
 *     if (threadIdx.x == 0) {
 *         shpool_stages_init(table, 8, CONSUMER_WARPS);
 *     }
 *     __syncthreads();
 *     if (threadIdx.x < 32) {                                     // the producer warp
 *         shpool_producer producer = shpool_producer_init(heap, table, 8, 0);
 *         for (...) {
 *             shpool_stage stage = shpool_stage_malloc_warp(&producer, 128, bytes, 100000);
 *             if (stage.data == 0) ...                            // no memory in time
 *             if (threadIdx.x == 0) {
 *                 shpool_stage_copy(stage, from, bytes);
 *             }
 *         }
 *         shpool_producer_fini_warp(&producer);
 *     } else {                                                    // each consumer warp
 *         shpool_stages stages = shpool_stages_of(table, 8);
 *         for (...) {
 *             shpool_stage stage = shpool_stage_wait(&stages);
 *             ...                                                 // simt_from_shared(stage.data)
 *             shpool_stage_release_warp(stage);
 *         }
 *     }
 *     shpool_fini(heap);
 *
 * Order.  Consumers see the stages in the order in which the producer made them, and each waits for
 * every stage.  They release them in any order, but stage n before the producer needs its slot
 * again, for stage n + slots.  A stage that is kept longer belongs in a table of its own.
 * Several producers: each has its own table, over the same pool or another one.
 *
 * Cost.  Memory of a released stage passes to the next one, without the allocator, if it is large
 * enough and at most twice as large.  So the allocator runs for the first stages, and when sizes
 * change; `room` of shpool_producer_init() says which changes do not count.
 *
 * Bulk copies need sm_90 or newer; the functions are not declared for older architectures.
 * doc/PERSISTENT.md shows a whole kernel and compares other pipelines.
 */
#ifndef SHPOOL_STAGE_CUH
#define SHPOOL_STAGE_CUH

#include <shpool/heap.h>

#if SIMT_HAS_BULK

/** Bytes of a table of slots, in shared memory at a multiple of 16. */
#define SHPOOL_STAGES_BYTES(_slots) (32u * (_slots))

/* A slot: mbarrier "full" 8, mbarrier "released" 8, address of the memory 4 (0: none), its bytes 4,
 * unused 8. */
#define SHPOOL_STAGE_RELEASED 8u
#define SHPOOL_STAGE_MEMORY   16u

/** A stage: two numbers, to be passed by value. */
typedef struct shpool_stage {
    simt_addr data; /**< its memory in shared memory; 0: it has none, and there is no stage */
    simt_addr full; /**< mbarrier on which copies into it complete */
} shpool_stage;

/** A consumer's place in a table.  Created by shpool_stages_of(). */
typedef struct shpool_stages {
    simt_addr table;
    uint32_t  slots;
    uint32_t  slot;   /**< of the next stage */
    uint32_t  parity; /**< of its phase */
} shpool_stages;

/** A producer's.  Created by shpool_producer_init(); do not copy it. */
typedef struct shpool_producer {
    shpool_heap   heap;
    shpool_stages next;
    uint32_t      room;    /**< bytes of each stage's memory, at least */
    uint32_t      held;    /**< slots before `next` that are not known to be released */
    uint32_t      refused; /**< bytes of the latest request that was refused */
} shpool_producer;

/**
 * Initialise a table of slots.  Call a barrier before its first use.
 *
 * Scope: one thread.
 * @param [out] table     SHPOOL_STAGES_BYTES(slots) bytes of shared memory at a multiple of 16; in
 *                        use until the block ends, or until simt_mbar_inval() of both mbarriers
 * @param [in]  slots     most stages in flight, at least 2; more cost 32 bytes each
 * @param [in]  releases  calls of shpool_stage_release() that each stage needs
 */
SIMT_FN void shpool_stages_init(void *table, uint32_t slots, uint32_t releases)
{
    simt_addr at = simt_to_shared(table);
    uint32_t  i;

    SIMT_ROLLED
    for (i = 0; i < slots; i++) {
        simt_mbar_init(at + 32u * i, 1);
        simt_mbar_init(at + 32u * i + SHPOOL_STAGE_RELEASED, releases);
        simt_store32(at + 32u * i + SHPOOL_STAGE_MEMORY, 0);
    }
}

/** The place before the first stage of a table. */
SIMT_FN shpool_stages shpool_stages_of(const void *table, uint32_t slots)
{
    shpool_stages stages = {simt_to_shared(table), slots, 0, 0};

    return stages;
}

SIMT_FN simt_addr shpool_stages_next(shpool_stages *stages)
{
    simt_addr at = stages->table + 32u * stages->slot;

    stages->slot++;
    if (stages->slot == stages->slots) {
        stages->slot = 0;
        stages->parity ^= 1u;
    }
    return at;
}

/* ---- consumers ---- */

/**
 * Wait for the next stage: until the copies into it have landed.
 *
 * Scope: each thread that reads the stage, with a place of its own.
 */
SIMT_FN shpool_stage shpool_stage_wait(shpool_stages *stages)
{
    const uint32_t parity = stages->parity;
    shpool_stage   stage;

    stage.full = shpool_stages_next(stages);
    simt_mbar_wait(stage.full, parity);
    stage.data = simt_load32(stage.full + SHPOOL_STAGE_MEMORY);
    return stage;
}

/**
 * Release a stage: the caller's accesses to it happen before its memory is used again.  Copies out
 * of it must have been read (simt_copy_wait_read()).
 *
 * Scope: one thread, for itself and for those that a barrier has ordered before.
 */
SIMT_FN void shpool_stage_release(shpool_stage stage)
{
    simt_mbar_arrive(stage.full + SHPOOL_STAGE_RELEASED);
}

/** shpool_stage_release() once for a whole warp, whose lanes all call it. */
SIMT_FN void shpool_stage_release_warp(shpool_stage stage)
{
    simt_warp_sync(SIMT_ALL_LANES);
    if (simt_lane() == 0) {
        shpool_stage_release(stage);
    }
}

/* ---- the producer ---- */

/**
 * Become the producer of a table.
 *
 * Scope: one thread, or all lanes of one warp.
 * @param [in] heap  the pool of the stages; it never spills here.  Without a pool there are no
 *                   stages
 * @param [in] room  bytes of memory that each stage gets, at least; 0: as many as it needs.  Where
 *                   small stages are mixed with others, give the usual size: memory then passes on
 *                   in spite of them.  A search of the pool takes longer than a small copy
 */
SIMT_FN shpool_producer shpool_producer_init(shpool_heap heap, const void *table, uint32_t slots,
                                             uint32_t room)
{
    shpool_producer p;

    heap.view.flags &= ~(uint32_t)SHPOOL_FLAG_CLUSTER; /* copies land in the block's own memory */
    p.heap    = heap;
    p.next    = shpool_stages_of(table, slots);
    p.room    = room;
    p.held    = 0;
    p.refused = ~0u;
    return p;
}

/* In the functions below `lanes` is a constant: all lanes of the warp, or 0 for a thread. */

/* Whether the stage in the n-th slot before `next` has been released; waits a while if patient.
 * *at_p: the slot. */
SIMT_FN uint32_t shpool_stage_is_released(const shpool_producer *p, uint32_t lanes, uint32_t n,
                                          uint32_t patient, simt_addr *at_p)
{
    const uint32_t  wraps  = n > p->next.slot;
    const uint32_t  slot   = p->next.slot - n + (wraps ? p->next.slots : 0u);
    const uint32_t  parity = p->next.parity ^ wraps;
    const simt_addr at     = p->next.table + 32u * slot;
    uint32_t        done;

    *at_p = at;
    done  = (uint32_t)(patient ? simt_mbar_wait_briefly(at + SHPOOL_STAGE_RELEASED, parity)
                               : simt_mbar_test(at + SHPOOL_STAGE_RELEASED, parity));
    if (lanes != 0) {
        done = (uint32_t)simt_any(lanes, done != 0);
        simt_warp_sync(lanes); /* for the others, too, the releases happen before */
    }
    return done;
}

/* The memory of a slot that has been released, which then has none; 0: it has none, or it does not
 * fit, or others wait for memory, and it was freed. */
SIMT_FN simt_addr shpool_stage_take(shpool_producer *p, uint32_t lanes, simt_addr at,
                                    uint32_t alignment, uint32_t bytes, uint32_t *room_p)
{
    const simt_u128 memory = simt_load128(at + SHPOOL_STAGE_MEMORY);
    uint32_t        fits   = (memory.y >= bytes) && (memory.y / 2u <= bytes) &&
                    ((memory.x & (alignment - 1u)) == 0) && !shpool_turn_is_taken(p->heap.view);

    if (lanes != 0) {
        fits = (uint32_t)simt_all(lanes, fits != 0);
        simt_warp_sync(lanes); /* all lanes have read the slot before the first one writes it */
    }
    if (memory.x == 0) {
        return 0;
    }
    if ((lanes == 0) || (simt_lane() == 0)) {
        simt_store32(at + SHPOOL_STAGE_MEMORY, 0);
    }
    if (fits != 0) {
        *room_p = memory.y;
        return memory.x;
    }
    if (lanes != 0) {
        shpool_free_lanes(p->heap, lanes, simt_from_shared(memory.x));
    } else {
        shpool_free(p->heap, simt_from_shared(memory.x));
    }
    p->refused = ~0u;
    return 0;
}

#define SHPOOL_STAGE_IN_LINE 16u /* attempts of a producer that has stages to look after */

/* One request to the pool.  A producer that holds nothing waits in line for as long as it may. */
SIMT_FN simt_addr shpool_stage_request(shpool_producer *p, uint32_t lanes, uint32_t alignment,
                                       uint32_t bytes, uint32_t attempts)
{
    const uint32_t group = (lanes != 0) ? lanes : 1u << simt_lane();
    uint32_t       tries = (p->held == 0) ? attempts
                           : shpool_turn_is_taken(p->heap.view) ? SHPOOL_STAGE_IN_LINE : 1u;
    void          *ptr;

    if (lanes != 0) {
        tries = simt_shfl(lanes, tries, 0);
    }
    ptr = shpool_aligned_malloc_wait_lanes(p->heap, group, alignment, bytes, tries);
    p->refused = (ptr == NULL) ? bytes : ~0u;
    if ((ptr == NULL) && (p->held != 0) && ((lanes == 0) || (simt_lane() == 0))) {
        shpool_note_wait(p->heap); /* not a failure: it is repeated */
    }
    return (ptr != NULL) ? simt_to_shared(ptr) : 0u;
}

/* Memory for the slot `next`, of *room_p bytes; 0: there was none. */
SIMT_FN simt_addr shpool_stage_find(shpool_producer *p, uint32_t lanes, uint32_t alignment,
                                    uint32_t bytes, uint32_t attempts, uint32_t *room_p)
{
    uint32_t  attempt = 0;
    simt_addr data    = 0;
    simt_addr at;
    uint32_t  n;

    SIMT_ROLLED
    while (data == 0) {
        const uint32_t full = p->held == p->next.slots;

        if ((p->held != 0) &&
            shpool_stage_is_released(p, lanes, p->held, full || (bytes >= p->refused), &at)) {
            data = shpool_stage_take(p, lanes, at, alignment, bytes, room_p);
            p->held--;
            continue;
        }
        if (attempt >= attempts) {
            break;
        }
        attempt++;
        if (full) {
            continue;
        }
        if (bytes < p->refused) {
            data    = shpool_stage_request(p, lanes, alignment, bytes, attempts);
            attempt = (p->held == 0) ? attempts : attempt;
            continue;
        }
        SIMT_ROLLED /* the oldest stage lasts: consumers may have released younger ones */
        for (n = p->held; (n > 1u) && (data == 0); n--) {
            if (shpool_stage_is_released(p, lanes, n - 1u, 0, &at)) {
                data = shpool_stage_take(p, lanes, at, alignment, bytes, room_p);
            }
        }
        p->refused = ~0u; /* another thread may have freed memory: ask again */
    }
    return data;
}

SIMT_FN shpool_stage shpool_stage_malloc_as(shpool_producer *p, uint32_t lanes, size_t alignment,
                                            size_t bytes, uint32_t attempts)
{
    uint32_t     use   = (bytes > SHPOOL_MAX_REQUEST) ? SHPOOL_MAX_REQUEST : (uint32_t)bytes;
    shpool_stage stage = {0, 0};
    uint32_t     room;

    use  = (use > p->room) ? use : p->room;
    room = use;
    if (p->heap.view.bytes != 0) {
        stage.data = shpool_stage_find(p, lanes, shpool_clamp(alignment), use,
                                       (attempts != 0) ? attempts : 1u, &room);
    }
    if (stage.data == 0) {
        return stage;
    }
    stage.full = shpool_stages_next(&p->next);
    p->held++;
    if ((lanes == 0) || (simt_lane() == 0)) {
        const simt_u128 memory = {stage.data, room, 0, 0};

        simt_store128(stage.full + SHPOOL_STAGE_MEMORY, memory);
    }
    if (lanes != 0) {
        simt_warp_sync(lanes);
    }
    return stage;
}

/**
 * Make the next stage: memory of a released one, or from the pool.
 *
 * If there is none, waits until a stage of this producer has been released or another thread has
 * freed memory.  Memory is not kept from threads that wait in shpool_malloc_wait(): a released
 * stage is then freed, and this call stands in line.
 *
 * Scope: the producer's thread.
 * @param [in] alignment  as shpool_aligned_malloc(): 128 for TMA, up to 1,024 for its swizzles
 * @param [in] bytes      any number
 * @param [in] attempts   about as many microseconds, as shpool_malloc_wait()
 * @return the stage.  Its `data` is 0, and nothing has changed for consumers, if there was no
 *         memory.  Otherwise `full` needs one arrival: shpool_stage_copy(), shpool_stage_expect()
 *         or, if threads have filled the stage, simt_mbar_arrive()
 */
SIMT_FN shpool_stage shpool_stage_malloc(shpool_producer *p, size_t alignment, size_t bytes,
                                         uint32_t attempts)
{
    return shpool_stage_malloc_as(p, 0, alignment, bytes, attempts);
}

/** shpool_stage_malloc() by all lanes of the producer's warp, with the same arguments and result;
 *  one of them then starts the copies. */
SIMT_FN shpool_stage shpool_stage_malloc_warp(shpool_producer *p, size_t alignment, size_t bytes,
                                              uint32_t attempts)
{
    return shpool_stage_malloc_as(p, SIMT_ALL_LANES, alignment, bytes, attempts);
}

/**
 * Announce the bytes that copies will write into a stage, before they are started.  For copies that
 * the caller starts, such as TMA's of tensors, with stage.full as their mbarrier.
 *
 * Scope: one thread, once for each stage; includes the fence that memory which threads have read
 *        needs before the copy engine writes it.
 * @param [in] bytes  of all copies together, at most 2^20-1
 */
SIMT_FN void shpool_stage_expect(shpool_stage stage, uint32_t bytes)
{
    simt_fence_async_shared();
    simt_mbar_arrive_expect(stage.full, bytes);
}

/** Fill a stage by one bulk copy: shpool_stage_expect(), simt_copy_async().
 *  @param [in] bytes  a multiple of 16; `from` is aligned to 16 */
SIMT_FN void shpool_stage_copy(shpool_stage stage, const void *from, uint32_t bytes)
{
    shpool_stage_expect(stage, bytes);
    simt_copy_async(stage.data, from, bytes, stage.full);
}

SIMT_FN void shpool_producer_fini_as(shpool_producer *p, uint32_t lanes)
{
    uint32_t  room;
    simt_addr at;

    SIMT_ROLLED
    while (p->held != 0) { /* no memory is that large: it is freed */
        if (shpool_stage_is_released(p, lanes, p->held, 1, &at)) {
            (void)shpool_stage_take(p, lanes, at, 1, ~0u, &room);
            p->held--;
        }
    }
}

/** Wait until all stages have been released, and free their memory.  Scope: the producer's
 *  thread. */
SIMT_FN void shpool_producer_fini(shpool_producer *p)
{
    shpool_producer_fini_as(p, 0);
}

/** shpool_producer_fini() by all lanes of the producer's warp. */
SIMT_FN void shpool_producer_fini_warp(shpool_producer *p)
{
    shpool_producer_fini_as(p, SIMT_ALL_LANES);
}

#endif /* SIMT_HAS_BULK */

#endif /* SHPOOL_STAGE_CUH */
