/* SPDX-License-Identifier: BSD-3-Clause */
/* What one thread does of a script; the same text for nvcc and for the executor. */
#ifndef SHPOOL_TOOLS_REPLAY_KERNEL_H
#define SHPOOL_TOOLS_REPLAY_KERNEL_H

#include <shpool/heap.h>

#include "replay.h"

/** Arguments of the kernel; all in global memory. */
typedef struct replay_args {
    const replay_block *block;
    const replay_op    *ops;
    const uint32_t     *first;
    void              **got;     /* by each operation: what is free's and resize's to take */
    uint32_t           *pending; /* of each: 1 until got is there */
    replay_tally       *tally;
    uint32_t           *failed;  /* 1 once something has failed */
    uint32_t            box;     /* recorded order: a word for each thread, in shared memory */
    uint32_t            ordered;
    uint32_t            stop;    /* once something failed, nothing more is done */
} replay_args;

/* An operation's pointer is there, for one other one to take.  Release: pairs with the acquire in
 * replay_take. */
SIMT_FN void replay_give(const replay_args *args, uint32_t op, void *ptr)
{
    args->got[op] = ptr;
    (void)simt_global_and32(&args->pending[op], 0);
}

SIMT_FN void *replay_take(const replay_args *args, uint32_t op)
{
    void *ptr;

    while (simt_global_or32(&args->pending[op], 0) != 0) {
        simt_pause(100);
    }
    ptr = args->got[op];
    args->got[op] = NULL;
    return ptr;
}

/* Operation number i of all blocks. */
SIMT_FN void replay_do(shpool_heap heap, const replay_args *args, const replay_block *block,
                       uint32_t i, replay_tally *tally)
{
    const replay_op *op   = &args->ops[i];
    const uint32_t   kind = op->what & 0xffu;
    const int        asks = (kind == (uint32_t)REPLAY_MALLOC) || (kind == (uint32_t)REPLAY_TRY);
    void            *ptr  = NULL;
    uint32_t         start;

    if (!asks) {
        ptr = replay_take(args, block->begin + op->from);
        if (ptr == NULL) { /* that failed, and was counted */
            replay_give(args, i, NULL);
            return;
        }
    }
    start = simt_clock();
    if (asks) {
        ptr = shpool_aligned_malloc(heap, (size_t)1 << ((op->what >> 8) & 0xffu), op->bytes);
        tally->cycles += simt_clock() - start;
        tally->mallocs++;
        tally->bytes += op->bytes;
        tally->failures += (ptr == NULL);
        if (ptr != NULL) {
            *(volatile char *)ptr = 1;
        }
        if (kind == (uint32_t)REPLAY_TRY) {
            shpool_free(heap, ptr);
            ptr = NULL;
        }
    } else if (kind == (uint32_t)REPLAY_FREE) {
        uint32_t reason = shpool_free_at(heap, ptr, 0);

        tally->cycles += simt_clock() - start;
        tally->frees++;
        tally->refused += (reason != SHPOOL_FREE_OK);
        ptr = NULL;
    } else {
        void *moved = shpool_realloc(heap, ptr, op->bytes);

        tally->cycles += simt_clock() - start;
        tally->resizes++;
        tally->failures += (moved == NULL);
        ptr = (moved != NULL) ? moved : ptr;
    }
    tally->ops++;
    replay_give(args, i, ptr);
}

/* Wait for the turn of operation i of the block; the thread's word has its number then. */
SIMT_FN void replay_wait_turn(simt_addr word, uint32_t i)
{
    uint32_t seen;

    /* acquire: pairs with the release in replay_pass_turn */
    while ((seen = simt_atomic_load(word, SIMT_ACQUIRE)) != i) {
        simt_wait(word, seen);
    }
}

SIMT_FN void replay_pass_turn(const replay_args *args, const replay_block *block, simt_addr box,
                              uint32_t next)
{
    if (next < block->count) {
        uint32_t thread = args->ops[block->begin + next].what >> 16;

        simt_atomic_store(box + 4u * thread, next, SIMT_RELEASE);
    }
}

/* What nobody took: the trace has no free of it, or something failed before; whole block. */
SIMT_FN void replay_free_rest(shpool_heap heap, const replay_args *args, const replay_block *block)
{
    uint32_t i = args->first[simt_block_rank() * simt_block_threads() + simt_thread_rank()];

    simt_barrier();
    for (; i != REPLAY_NONE; i = args->ops[block->begin + i].next) {
        shpool_free(heap, args->got[block->begin + i]);
    }
}

/* All threads of the block, behind shpool_init() and in front of shpool_fini(). */
SIMT_FN void replay_run(shpool_heap heap, const replay_args *args)
{
    const replay_block *block = &args->block[simt_block_rank()];
    const uint32_t      rank  = simt_thread_rank();
    const simt_addr     box   = simt_dynamic_base() + args->box;
    uint32_t     i     = args->first[simt_block_rank() * simt_block_threads() + rank];
    replay_tally tally = {0, 0, 0, 0, 0, 0, 0, 0};

    if (args->ordered != 0) {
        simt_atomic_store(box + 4u * rank, (i == 0) ? 0u : REPLAY_NONE, SIMT_RELAXED);
        simt_barrier();
    }
    while (i != REPLAY_NONE) {
        if (args->ordered != 0) {
            replay_wait_turn(box + 4u * rank, i);
        }
        if ((args->stop == 0) || (simt_global_or32(args->failed, 0) == 0)) {
            replay_do(heap, args, block, block->begin + i, &tally);
        }
        if ((args->stop != 0) && (tally.failures != 0)) {
            (void)simt_global_or32(args->failed, 1);
        }
        if (args->ordered != 0) {
            replay_pass_turn(args, block, box, i + 1u);
        }
        i = args->ops[block->begin + i].next;
    }
    if ((heap.view.flags & SHPOOL_FLAG_SPILL) != 0) { /* CUDA's heap outlives the block */
        replay_free_rest(heap, args, block);
    }
    simt_global_add64(&args->tally->ops, tally.ops);
    simt_global_add64(&args->tally->mallocs, tally.mallocs);
    simt_global_add64(&args->tally->frees, tally.frees);
    simt_global_add64(&args->tally->resizes, tally.resizes);
    simt_global_add64(&args->tally->failures, tally.failures);
    simt_global_add64(&args->tally->refused, tally.refused);
    simt_global_add64(&args->tally->bytes, tally.bytes);
    simt_global_add64(&args->tally->cycles, tally.cycles);
}

#endif /* SHPOOL_TOOLS_REPLAY_KERNEL_H */
