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
 *             if (stage.data == 0) ...                            // stage.full says why
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

/** Bytes of a table of slots, in shared memory at a multiple of 16. */
#define SHPOOL_STAGES_BYTES(_slots) (32u * (_slots))

#if SIMT_HAS_BULK

/* A slot: mbarrier "full" 8, mbarrier "released" 8, address of the memory 4 (0: none), its bytes 4,
 * the slot's own address, twice 4.  That is read back, because ptxas computes the address of a
 * variable again, from a special register, wherever it is used. */
#define SHPOOL_STAGE_SLOT     SHPOOL_STAGES_BYTES(1)
#define SHPOOL_STAGE_RELEASED 8u
#define SHPOOL_STAGE_MEMORY   16u
#define SHPOOL_STAGE_OWN      24u

/** A stage: two numbers, to be passed by value. */
typedef struct shpool_stage {
    simt_addr data; /**< its memory in shared memory; 0: there is no stage */
    simt_addr full; /**< mbarrier on which copies into it complete; if data is 0, the reason:
                         a shpool_refusal */
} shpool_stage;

/** A consumer's place in a table.  Created by shpool_stages_of(). */
typedef struct shpool_stages {
    simt_addr at;     /**< the slot of the next stage */
    uint32_t  parity; /**< of its phase */
    simt_addr begin;  /**< of the table */
    simt_addr end;
} shpool_stages;

/** Memory of a stage. */
typedef struct shpool_stage_memory {
    simt_addr data;  /**< 0: none */
    uint32_t  bytes; /**< without memory the reason, a shpool_refusal */
} shpool_stage_memory;

/** A producer's.  Created by shpool_producer_init(); do not copy it. */
typedef struct shpool_producer {
    shpool_heap         heap;
    shpool_stages       next;
    shpool_stages       oldest;  /**< the first slot that is not known to be released */
    uint32_t            held;    /**< number of slots from there to `next` */
    uint32_t            room;    /**< bytes of each stage's memory, at least */
    uint32_t            refused; /**< bytes of the latest request that was refused */
    simt_addr           waiters; /**< two counts: equal if nobody waits for memory */
} shpool_producer;

/**
 * Initialise a table of slots.  Call a barrier before its first use.
 *
 * Scope: one thread.
 * @param [out] table     SHPOOL_STAGES_BYTES(slots) bytes of shared memory at a multiple of 16; in
 *                        use until the block ends, or until simt_mbar_inval() of both mbarriers
 * @param [in]  slots     most stages in flight, at least 2; more cost 32 bytes each
 * @param [in]  releases  calls of shpool_stage_release() that each stage needs
 *
 * Several threads can share the work: n slots from SHPOOL_STAGES_BYTES(i) on are a table, too.
 */
SIMT_FN void shpool_stages_init(void *table, uint32_t slots, uint32_t releases)
{
    simt_addr at = simt_to_shared(table);
    uint32_t  i;

    SHPOOL_DID_WRITE(table, SHPOOL_STAGES_BYTES(slots));
    SIMT_ROLLED
    for (i = 0; i < slots; i++, at += SHPOOL_STAGE_SLOT) {
        const simt_u128 words = {0, 0, at, at};

        simt_mbar_init(at, 1);
        simt_mbar_init(at + SHPOOL_STAGE_RELEASED, releases);
        simt_store128(at + SHPOOL_STAGE_MEMORY, words);
    }
}

/** The place before the first stage of a table, which has been initialised. */
SIMT_FN shpool_stages shpool_stages_of(const void *table, uint32_t slots)
{
    const simt_addr begin  = simt_load32(simt_to_shared(table) + SHPOOL_STAGE_OWN);
    shpool_stages   stages = {begin, 0, begin, simt_keep(begin + SHPOOL_STAGES_BYTES(slots))};

    return stages;
}

SIMT_FN void shpool_stages_next(shpool_stages *stages)
{
    const uint32_t wraps = stages->at + SHPOOL_STAGE_SLOT == stages->end;

    stages->at = wraps ? stages->begin : stages->at + SHPOOL_STAGE_SLOT;
    stages->parity ^= wraps;
}

/* The next place, computed here and not where it is used. */
SIMT_FN shpool_stages shpool_stages_after(shpool_stages stages)
{
    shpool_stages_next(&stages);
    stages.at     = simt_pin(stages.at);
    stages.parity = simt_pin(stages.parity);
    return stages;
}

/* ---- consumers ---- */

/**
 * Wait for the next stage: until the copies into it have landed.
 *
 * Scope: each thread that reads the stage, with a place of its own.
 */
SIMT_FN shpool_stage shpool_stage_wait(shpool_stages *stages)
{
    shpool_stage stage;

    stage.full = stages->at;
    simt_mbar_wait(stage.full, stages->parity);
    /* pairs with shpool_stage_give(), ordered by the mbarrier */
    stage.data = simt_atomic_load(stage.full + SHPOOL_STAGE_MEMORY, SIMT_RELAXED);
    shpool_stages_next(stages);
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
    simt_addr       waiters;

    /* known in a joined image; copies land in the block's own memory */
    heap.view.flags = SHPOOL_HEAP_FLAGS(heap.view.flags) & ~(uint32_t)SHPOOL_FLAG_CLUSTER;
    waiters         = shpool_waiters(heap.view);
    p.heap    = heap;
    p.next    = shpool_stages_of(table, slots);
    p.oldest  = p.next;
    p.held    = 0;
    p.room    = (room != 0) ? room : 1u;
    p.refused = ~0u;
    p.waiters = simt_keep((waiters != 0) ? waiters : p.next.begin + SHPOOL_STAGE_OWN);
    return p;
}

/* In the functions below `lanes` is a constant: all lanes of the warp, or 0 for a thread. */

SIMT_FN shpool_stage_memory shpool_stage_memory_at(simt_addr slot)
{
    const simt_pair     words  = simt_peek_pair(slot + SHPOOL_STAGE_MEMORY);
    shpool_stage_memory memory = {words.x, words.y};

    return memory;
}

/* All lanes of a warp write the same, so that each of them may start the copies: its arrival on
 * "full" releases what it wrote itself. */
SIMT_FN void shpool_stage_give(simt_addr slot, shpool_stage_memory memory)
{
    simt_atomic_store(slot + SHPOOL_STAGE_MEMORY, memory.data, SIMT_RELAXED);
    simt_atomic_store(slot + SHPOOL_STAGE_MEMORY + 4u, memory.bytes, SIMT_RELAXED);
}

/* Whether memory is large enough, and at most twice as large.  bytes: not 0. */
SIMT_FN uint32_t shpool_stage_fits(shpool_stage_memory memory, uint32_t alignment, uint32_t bytes)
{
    return (memory.bytes - bytes <= bytes) && ((memory.data & (alignment - 1u)) == 0);
}

/* Others wait for memory.  Decides who gets it, and orders nothing. */
SIMT_FN uint32_t shpool_stage_is_wanted(const shpool_producer *p)
{
    const simt_pair counts = simt_peek_pair(p->waiters);

    return counts.x != counts.y;
}

/* Whether it is true of all lanes. */
SIMT_FN uint32_t shpool_stage_all(uint32_t lanes, uint32_t yes)
{
    return (lanes != 0) ? (uint32_t)simt_all(lanes, yes != 0) : yes;
}

/* The usual case: the oldest stage has been released, or will be soon, and its memory becomes that
 * of the slot `next`.  A warp does everything else before its wait, a thread all but the writing of
 * the slot; if the wait is in vain, the slot is written again.  0: another case.
 * *late: the oldest stage has not been released yet.  If there is no other memory, the call waits
 * for that once.  A thread waits in place of the test.  A warp tests first: its votes take longer
 * than the test. */
SIMT_FN uint32_t shpool_stage_pass(shpool_producer *p, uint32_t lanes, uint32_t alignment,
                                   uint32_t bytes, simt_addr *data, uint32_t *late)
{
    const simt_addr     released = p->oldest.at + SHPOOL_STAGE_RELEASED;
    const uint32_t      full     = p->next.at == p->oldest.at; /* the oldest slot is the next one */
    const uint32_t      waits    = (p->held != 0) & (full | (bytes >= p->refused));
    shpool_stage_memory memory;
    shpool_stages       oldest;
    shpool_stages       next;
    uint32_t            fits;
    uint32_t            done;

    memory = shpool_stage_memory_at(p->oldest.at);
    fits   = !shpool_stage_is_wanted(p);
    done   = (uint32_t)(((lanes == 0) && waits)
                            ? simt_mbar_wait_briefly(released, p->oldest.parity)
                            : simt_mbar_test(released, p->oldest.parity));
    oldest = shpool_stages_after(p->oldest);
    next   = shpool_stages_after(p->next);
    fits &= (p->held != 0) & shpool_stage_fits(memory, alignment, bytes);
    if (fits && !full) {
        shpool_stage_give(p->next.at, memory);
    }
    *late = done == 0;
    if (!shpool_stage_all(lanes, done & fits)) {
        if ((lanes == 0) || !shpool_stage_all(lanes, fits & waits)) {
            return 0;
        }
        done = (uint32_t)simt_mbar_wait_briefly(released, p->oldest.parity);
        if (!shpool_stage_all(lanes, done)) {
            return 0;
        }
    }
    *data     = memory.data;
    p->oldest = oldest;
    p->next   = next;
    return 1;
}

/* Take the memory of the stage in a slot, if it has been released; wait a while if patient.
 * Returns whether it has been. */
SIMT_FN uint32_t shpool_stage_take(uint32_t lanes, shpool_stages slot, uint32_t patient,
                                   shpool_stage_memory *memory)
{
    const simt_addr released = slot.at + SHPOOL_STAGE_RELEASED;
    uint32_t        done;

    done = (uint32_t)(patient ? simt_mbar_wait_briefly(released, slot.parity)
                              : simt_mbar_test(released, slot.parity));
    if (lanes != 0) {
        done = (uint32_t)simt_any(lanes, done != 0);
        simt_warp_sync(lanes);
    }
    if (done != 0) {
        *memory = shpool_stage_memory_at(slot.at);
    }
    return done;
}

/* The same for the oldest one. */
SIMT_FN uint32_t shpool_stage_take_oldest(shpool_producer *p, uint32_t lanes, uint32_t patient,
                                          shpool_stage_memory *memory)
{
    if (!shpool_stage_take(lanes, p->oldest, patient, memory)) {
        return 0;
    }
    shpool_stages_next(&p->oldest);
    p->held--;
    return 1;
}

/* The same for one of the others: consumers may have released it while the oldest one lasts. */
SIMT_FN void shpool_stage_take_younger(const shpool_producer *p, uint32_t lanes,
                                       shpool_stage_memory *memory)
{
    const shpool_stage_memory none = {0, 0};
    shpool_stages             slot = p->oldest;
    uint32_t                  n;

    SIMT_ROLLED
    for (n = p->held; (n > 1u) && (memory->data == 0); n--) {
        shpool_stages_next(&slot);
        if (shpool_stage_take(lanes, slot, 0, memory)) {
            if (lanes != 0) {
                simt_warp_sync(lanes); /* all have read the slot */
            }
            shpool_stage_give(slot.at, none);
        }
    }
}

SIMT_FN void shpool_stage_free(shpool_producer *p, uint32_t lanes, simt_addr data)
{
    if (lanes != 0) {
        shpool_free_lanes(p->heap, lanes, simt_from_shared(data));
    } else {
        shpool_free(p->heap, simt_from_shared(data));
    }
    p->refused = ~0u;
}

#define SHPOOL_STAGE_IN_LINE 16u   /* attempts of a producer that has stages to look after */
#define SHPOOL_STAGE_ATTEMPT 2048u /* cycles, about a microsecond */
#define SHPOOL_STAGE_AGAIN   64u   /* attempts until a pool is searched again, in vain for up to
                                      10,000 cycles, in which no release is noticed */

/* Why no free can serve a request, or NONE. */
SIMT_FN uint32_t shpool_stage_refusal(shpool_heap heap, uint32_t lanes, uint32_t alignment,
                                      uint32_t bytes, uint32_t attempts)
{
    if ((lanes != 0) &&
        !shpool_is_group(heap, lanes, NULL, bytes, shpool_rest(alignment, attempts), 0)) {
        return SHPOOL_REFUSED_GROUP;
    }
    if (heap.view.bytes == 0) {
        return SHPOOL_REFUSED_EMPTY;
    }
    if (shpool_alignment(heap, alignment) == 0) {
        return SHPOOL_REFUSED_ALIGNMENT;
    }
    return (bytes > heap.largest) ? SHPOOL_REFUSED_SIZE : SHPOOL_REFUSED_NONE;
}

/* One request to the pool.  The last one waits in line for as long as it may. */
SIMT_FN simt_addr shpool_stage_request(shpool_producer *p, uint32_t lanes, uint32_t alignment,
                                       uint32_t bytes, uint32_t attempts, uint32_t last)
{
    const uint32_t group = (lanes != 0) ? lanes : 1u << simt_lane();
    uint32_t       tries = last ? attempts
                           : shpool_turn_is_taken(p->heap.view) ? SHPOOL_STAGE_IN_LINE : 1u;
    void          *ptr;

    if (lanes != 0) {
        tries = simt_shfl(lanes, tries, 0);
    }
    ptr = shpool_aligned_malloc_wait_lanes(p->heap, group, alignment, bytes, tries);
    p->refused = (ptr == NULL) ? bytes : ~0u;
    if ((ptr == NULL) && !last && ((lanes == 0) || (simt_lane() == 0))) {
        shpool_note_wait(p->heap); /* not a failure: it is repeated */
    }
    return (ptr != NULL) ? simt_to_shared(ptr) : 0u;
}

/* Whole attempts since *begin, which moves on by as many: waits of the hardware differ among GPUs,
 * so the clock counts.  The executor's stands still: there each call is an attempt. */
SIMT_FN uint32_t shpool_stage_attempts(uint32_t lanes, uint32_t *begin)
{
    const uint32_t cycles = simt_clock() - *begin;
    const uint32_t n      = (cycles != 0) ? cycles / SHPOOL_STAGE_ATTEMPT : 1u;

    *begin += cycles - cycles % SHPOOL_STAGE_ATTEMPT;
    return (lanes != 0) ? simt_shfl(lanes, n, 0) : n;
}

/* The other cases: memory that fits, of a released stage or from the pool.  Released memory that
 * does not fit is freed, and all of it while others wait for memory.  A request that no free can
 * serve is made once, for the report.
 * late: more stages in flight are needed, so the pool comes first.  Otherwise the oldest one, which
 * is released in the meantime, would always be as late for the next stage. */
SIMT_FN shpool_stage_memory shpool_stage_find(shpool_producer *p, uint32_t lanes,
                                              uint32_t alignment, uint32_t bytes,
                                              uint32_t attempts, uint32_t late)
{
    const uint32_t reason = shpool_stage_refusal(p->heap, lanes, alignment, bytes, attempts);
    const shpool_stage_memory none    = {0, reason};
    uint32_t                  begin   = simt_clock();
    uint32_t                  attempt = 0;
    uint32_t                  again   = SHPOOL_STAGE_AGAIN;
    uint32_t                  fits;

    if (reason >= SHPOOL_REFUSED_GROUP) { /* the lanes disagree, or there is no pool */
        return none;
    }
    late = shpool_stage_all(lanes, late);
    SIMT_ROLLED
    for (;;) {
        const uint32_t      full   = (p->held != 0) && (p->next.at == p->oldest.at);
        const uint32_t      last   = (p->held == 0) || (reason != SHPOOL_REFUSED_NONE);
        const uint32_t      asks   = last || (!full && (bytes < p->refused));
        shpool_stage_memory memory = none;

        if (last || (late && asks) || !shpool_stage_take_oldest(p, lanes, !asks, &memory)) {
            if (attempt >= attempts) {
                p->refused = ~0u;
                return none;
            }
            late = 0;
            attempt += shpool_stage_attempts(lanes, &begin);
            if (asks) {
                memory.data  = shpool_stage_request(p, lanes, alignment, bytes, attempts, last);
                memory.bytes = bytes;
                if (memory.data != 0) {
                    return memory;
                }
                attempt = last ? attempts : attempt;
            } else if (!full) {
                shpool_stage_take_younger(p, lanes, &memory);
            }
            if (attempt >= again) { /* another thread may have freed memory */
                p->refused = ~0u;
                again      = 2u * attempt;
            }
        }
        if (memory.data != 0) {
            fits = shpool_stage_fits(memory, alignment, bytes) && !shpool_stage_is_wanted(p);
            if (shpool_stage_all(lanes, fits)) {
                return memory;
            }
            shpool_stage_free(p, lanes, memory.data);
        }
    }
}

SIMT_FN shpool_stage shpool_stage_malloc_as(shpool_producer *p, uint32_t lanes, size_t alignment,
                                            size_t bytes, uint32_t attempts)
{
    uint32_t            use   = (bytes > SHPOOL_MAX_REQUEST) ? SHPOOL_MAX_REQUEST : (uint32_t)bytes;
    const uint32_t      align = shpool_clamp(alignment);
    shpool_stage        stage = {0, p->next.at};
    shpool_stage_memory memory;
    uint32_t            late;

    use = (use > p->room) ? use : p->room;
    if (!shpool_stage_pass(p, lanes, align, use, &stage.data, &late)) {
        memory = shpool_stage_find(p, lanes, align, use, (attempts != 0) ? attempts : 1u, late);
        if (memory.data != 0) {
            if (lanes != 0) {
                simt_warp_sync(lanes); /* all have read the slot */
            }
            stage.data = memory.data;
            shpool_stage_give(p->next.at, memory);
            shpool_stages_next(&p->next);
            p->held++;
        } else {
            stage.full = memory.bytes;
        }
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
 * @param [in] attempts   of 2,048 cycles each, about a microsecond.  The last one may take as long
 *                        as a wait of the hardware: 4 us on an H200
 * @return the stage.  `full` needs one arrival: shpool_stage_copy(), shpool_stage_expect() or, if
 *         threads have filled the stage, simt_mbar_arrive().  `data` 0: there is no stage, nothing
 *         has changed for consumers, and `full` is the reason:
 *         SHPOOL_REFUSED_NONE       memory, or the next slot, is still in use after the attempts
 *         SHPOOL_REFUSED_SIZE       bytes, or room, are more than the pool ever serves
 *         SHPOOL_REFUSED_ALIGNMENT  not a power of two, or more than the pool's
 *         SHPOOL_REFUSED_EMPTY      the heap has no pool
 *         SHPOOL_REFUSED_GROUP      check=1: the lanes of a warp disagree about the request
 *         All but NONE are returned at once, unless memory that fits passes on; SIZE and ALIGNMENT,
 *         to a thread, up to one wait of the hardware later if all slots are in use
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
    SHPOOL_DID_WRITE(simt_from_shared(stage.data), bytes);
    shpool_stage_expect(stage, bytes);
    simt_copy_async(stage.data, from, bytes, stage.full);
}

SIMT_FN void shpool_producer_fini_as(shpool_producer *p, uint32_t lanes)
{
    shpool_stage_memory memory;

    SIMT_ROLLED
    while (p->held != 0) {
        if (shpool_stage_take_oldest(p, lanes, 1, &memory) && (memory.data != 0)) {
            shpool_stage_free(p, lanes, memory.data);
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
