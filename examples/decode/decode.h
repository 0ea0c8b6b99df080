/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A decode step of a Llama-shaped model in one launch: a persistent kernel whose shared memory is a
 * pool.
 *
 * Why.  At batch 1 a step reads every weight once, so memory bandwidth is the limit: 2.49 GB for
 * the default shape, 0.52 ms at an H200's 4.8 TB/s.  With a kernel for each operation, the memory
 * is idle at each launch and at the end of each kernel.  Here one block on each multiprocessor
 * fetches weights of later operations while it waits for the results of earlier ones.  With a
 * latency of 1.2 us, 40 KiB have to be in flight on each multiprocessor; the pool's 194 KiB also
 * cover about 5.4 us in which the data may not be used yet.
 *
 * Data
 *   instructions   each block has its own stream, in the order of the operations (program.h).
 *   tiles          a tile is a number of rows of a matrix, in a piece of shared memory between
 *                  malloc and free (tiles.h).  Each operation has its own number of rows; a row has
 *                  32 bytes to 16 KiB.  Attention's tiles are keys and values of as many tokens as
 *                  there are.
 *   results        in global memory, one word for each number that another operation needs.  The
 *                  lowest bit of a word says in which step it was written, so a block that reads it
 *                  sees whether it is there (vector.h).  No fence delays a result.
 *   counters       in global memory, one for each operation of each layer: posted results.  They
 *                  only say when it is worth while to look at the results: when half of them are
 *                  posted.  They are never reset to 0; step n begins at n times the rows.
 *
 * Warps of a block
 *   readers   READERS warps.  All of them process each tile: they wait for its bytes and multiply.
 *             When all rows of an instruction are summed, a thread for each row finishes it and
 *             posts the result.
 *   loader    one warp gets memory for the tiles, starts the copies, and frees tiles that have been
 *             read, in any order.  It waits only for memory, and for its share of the machine's
 *             bandwidth, because weights do not depend on the step.
 *   watcher   one thread waits for the counters, so that one thread of a block reads them instead
 *             of 500, and tells the readers through an mbarrier.
 *
 * No deadlock
 *   One warp allocates, in the order of the instructions, so the first operation that is not
 *   finished always gets its tiles: doc/PERSISTENT.md has the proof.  All blocks must run at the
 *   same time; a cooperative launch ensures that.
 *
 * Memory order
 *   results each word is its own message, so no order between words is needed: relaxed stores and
 *           loads, in L2.  The end of a launch orders a step before the next one.
 *   tiles   read by threads -> __syncwarp -> arrival at `read` -> the loader's lane of the slot ->
 *           __syncwarp -> fence.proxy.async by the lane that starts the next copy into this memory
 *           -> copy
 *   keys    and values of the newest token are results, too; copies read older ones, which an
 *           earlier launch has written
 */
#ifndef SHPOOL_EXAMPLES_DECODE_DECODE_H
#define SHPOOL_EXAMPLES_DECODE_DECODE_H

#include "load.h"
#include "read.h"

template <class Memory>
struct decode_step {
    static constexpr uint32_t THREADS = (READERS + 2u) * SIMT_WARP;
    static constexpr uint32_t BLOCKS  = 1; /* of a multiprocessor */

    model    m;
    program  p;
    Memory   memory;
    uint32_t number;   /* of the step: 0, 1, ... since the counters were 0 */
    uint32_t position; /* tokens in the cache */
    uint32_t share;    /* of them, in a part of attention */
    uint32_t each;     /* and in a tile of it */

    MACHINE_METHOD void operator()() const
    {
        const control     shared = { simt_dynamic_base() };
        const uint32_t    warp   = simt_warp();
        const shpool_heap heap   = open(shared);
        const moment      now    = { number, position, share, each, token_of(m, number) };

        if (warp < READERS) {
            reader<Memory>{ m, p, memory, shared, now, {}, 0, 0 }.run();
        } else if (warp == READERS) {
            loader<Memory>{ m, p, memory, heap, shared, now, {}, 0, {}, seam_once(),
                            seam_ns() }.run();
        } else if (simt_lane() == 0) {
            watch(shared);
        }
        memory.end(heap);
    }

    MACHINE_METHOD shpool_heap open(control shared) const
    {
        if (simt_warp() == 0) {
            shared.init();
        }
        return memory.open(shared.pool()); /* has a barrier */
    }

    /* The watcher: one thread. */
    MACHINE_METHOD void watch(control shared) const
    {
        const uint32_t end  = p.begin[simt_block_rank() + 1u];
        uint32_t       i    = p.begin[simt_block_rank()];
        simt_u128      next = p.get(i, end);

        SIMT_ROLLED
        for (uint32_t k = 0; i < end; i++, k++) {
            const instruction in      = unpack(next);
            const uint32_t    counter = counter_of(in.op, in.layer);

            next = p.get(i + 1u, end);
            if ((counter != 0) && (in.op != OP_ATTEND)) {
                const uint32_t all = finished(m, op_before(in.op));

                await(p.done + counter - 1u, all * number + all / 2u); /* of the one before */
            }
            if (k != 0) { /* the readers have seen the phase before */
                simt_mbar_wait(shared.summed(), (k - 1u) & 1u);
            }
            simt_mbar_arrive(shared.ready());
        }
    }
    MACHINE_METHOD void await(const uint32_t *counter, uint32_t least) const
    {
        SIMT_ROLLED
        while ((int)(seam_peek4(counter) - least) < 0) {
            seam_spin();
        }
    }
};

#endif /* SHPOOL_EXAMPLES_DECODE_DECODE_H */
