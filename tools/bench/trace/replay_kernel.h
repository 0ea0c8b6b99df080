/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread's part of a script; the same source for nvcc and for the executor. */
#ifndef SHPOOL_TOOLS_REPLAY_KERNEL_H
#define SHPOOL_TOOLS_REPLAY_KERNEL_H

#include <shpool/heap.h>

#include "replay.h"

/** Arguments of the kernel; all in global memory. */
typedef struct replay_args {
    const replay_block *block;
    const replay_op    *ops;
    const uint32_t     *steps;
    const uint32_t     *begin;
    void              **got;     /* of each operation: the pointer, for its free or resize */
    uint32_t           *pending; /* of each: 1 until its pointer is there */
    replay_tally       *tally;
    uint32_t           *failed;  /* 1 once something has failed */
    uint32_t           *spent;   /* of each operation: replay_clock()'s difference; may be NULL */
    uint32_t            box;     /* recorded order: a word for each thread, in shared memory */
    uint32_t            ordered;
    uint32_t            stop;    /* once something failed, nothing more is done */
} replay_args;

/* Publish an operation's pointer for the one operation that takes it.  Release: pairs with the
 * acquire in replay_take. */
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

/* Cycles; on the executor, which has none, accesses to shared memory by the thread. */
SIMT_FN uint32_t replay_clock(void)
{
#if defined(__CUDACC__)
    return simt_clock();
#else
    return 0u - simt_self->countdown; /* without a switch period it only counts down */
#endif
}

/* Whether a call is a group's. */
SIMT_FN int replay_is_group(const replay_op *op)
{
    return (op->lanes & (op->lanes - 1u)) != 0;
}

/* The thread that takes, gives and counts for a call. */
SIMT_FN uint32_t replay_leads(const replay_op *op)
{
    return simt_thread_rank() == op->what >> 16;
}

/* ---- the calls: by a thread, or by all lanes of a group together ---- */

SIMT_FN void *replay_malloc(shpool_heap heap, const replay_op *op)
{
    const size_t alignment = (size_t)1 << ((op->what >> 8) & 0xffu);

    return replay_is_group(op) ? shpool_aligned_malloc_lanes(heap, op->lanes, alignment, op->bytes)
                               : shpool_aligned_malloc(heap, alignment, op->bytes);
}

SIMT_FN uint32_t replay_free(shpool_heap heap, const replay_op *op, void *ptr)
{
    return replay_is_group(op) ? shpool_free_lanes_at(heap, op->lanes, ptr, 0)
                               : shpool_free_at(heap, ptr, 0);
}

SIMT_FN void *replay_realloc(shpool_heap heap, const replay_op *op, void *ptr)
{
    return replay_is_group(op) ? shpool_realloc_lanes(heap, op->lanes, ptr, op->bytes)
                               : shpool_realloc(heap, ptr, op->bytes);
}

/* The pointer that a free or a resize is about, in all lanes; NULL: there is none. */
SIMT_FN void *replay_ptr(const replay_args *args, const replay_block *block, const replay_op *op)
{
    void *ptr = NULL;

    if (replay_leads(op)) {
        ptr = replay_take(args, block->begin + op->from);
    }
    return replay_is_group(op)
               ? (void *)(size_t)shpool_shfl64(op->lanes, (unsigned long long)(size_t)ptr,
                                               shpool_first_lane(op->lanes))
               : ptr;
}

/* One call, and what it counts; *ptr_p: the pointer before and after it. */
SIMT_FN void replay_call(shpool_heap heap, const replay_op *op, uint32_t kind, void **ptr_p,
                         replay_tally *tally)
{
    const uint32_t one   = replay_leads(op); /* the leader counts */
    void          *ptr   = *ptr_p;
    uint32_t       start = replay_clock();

    if (kind == (uint32_t)REPLAY_FREE) {
        uint32_t reason = replay_free(heap, op, ptr);

        tally->cycles += one * (replay_clock() - start);
        tally->frees += one;
        tally->refused += one & (reason != SHPOOL_FREE_OK);
        ptr = NULL;
    } else if (kind == (uint32_t)REPLAY_RESIZE) {
        void *moved = replay_realloc(heap, op, ptr);

        tally->cycles += one * (replay_clock() - start);
        tally->resizes += one;
        tally->failures += one & (moved == NULL);
        ptr = (moved != NULL) ? moved : ptr;
    } else {
        ptr = replay_malloc(heap, op);
        tally->cycles += one * (replay_clock() - start);
        tally->mallocs += one;
        tally->bytes += one * op->bytes;
        tally->failures += one & (ptr == NULL);
        if ((ptr != NULL) && (one != 0)) {
            *(volatile char *)ptr = 1;
        }
        if (kind == (uint32_t)REPLAY_TRY) {
            (void)replay_free(heap, op, ptr);
            ptr = NULL;
        }
    }
    tally->ops += one;
    *ptr_p = ptr;
}

/* Operation number i of all blocks, by all lanes of it. */
SIMT_FN void replay_do(shpool_heap heap, const replay_args *args, const replay_block *block,
                       uint32_t i, replay_tally *tally)
{
    const replay_op *op   = &args->ops[i];
    const uint32_t   kind = op->what & 0xffu;
    const int        asks = (kind == (uint32_t)REPLAY_MALLOC) || (kind == (uint32_t)REPLAY_TRY);
    void            *ptr  = asks ? NULL : replay_ptr(args, block, op);
    const unsigned long long spent = tally->cycles;

    if (replay_is_group(op)) {
        simt_warp_sync(op->lanes); /* cycles are those of the call, not of waiting for lanes */
    }
    if (asks || (ptr != NULL)) { /* else that failed, and was counted */
        replay_call(heap, op, kind, &ptr, tally);
    }
    if (replay_leads(op)) {
        if (args->spent != NULL) {
            args->spent[i] = (uint32_t)(tally->cycles - spent);
        }
        replay_give(args, i, ptr);
    }
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

/* To all lanes of the next operation. */
SIMT_FN void replay_pass_turn(const replay_args *args, const replay_block *block, simt_addr box,
                              uint32_t next)
{
    if (next < block->count) {
        const replay_op *op   = &args->ops[block->begin + next];
        uint32_t         warp = (op->what >> 16) / SIMT_WARP * SIMT_WARP;

        for (uint32_t lanes = op->lanes; lanes != 0; lanes &= lanes - 1u) {
            simt_atomic_store(box + 4u * (warp + simt_ffs(lanes) - 1u), next, SIMT_RELEASE);
        }
    }
}

/* Free the rest: allocations without a free in the trace, or after a failure.  Called by the whole
 * block. */
SIMT_FN void replay_free_rest(shpool_heap heap, const replay_args *args, const replay_block *block)
{
    const uint32_t *list = &args->begin[simt_block_rank() * simt_block_threads() +
                                        simt_thread_rank()];

    simt_barrier();
    for (uint32_t step = list[0]; step < list[1]; step++) {
        const uint32_t i = block->begin + args->steps[step];

        if (replay_leads(&args->ops[i])) {
            shpool_free(heap, args->got[i]);
        }
    }
}

/* Operation i of the block, in which the thread takes part. */
SIMT_FN void replay_step(shpool_heap heap, const replay_args *args, const replay_block *block,
                         uint32_t i, replay_tally *tally)
{
    const replay_op *op  = &args->ops[block->begin + i];
    const simt_addr  box = simt_dynamic_base() + args->box;

    if (args->ordered != 0) {
        replay_wait_turn(box + 4u * simt_thread_rank(), i);
    }
    if ((args->stop == 0) || (simt_global_or32(args->failed, 0) == 0)) {
        replay_do(heap, args, block, block->begin + i, tally);
    }
    if ((args->stop != 0) && (tally->failures != 0)) {
        (void)simt_global_or32(args->failed, 1);
    }
    if (args->ordered != 0) {
        if (replay_is_group(op)) { /* all lanes have passed: none waits for this turn any more */
            simt_warp_sync(op->lanes);
        }
        if (replay_leads(op)) {
            replay_pass_turn(args, block, box, i + 1u);
        }
    }
}

/* Called by all threads of the block, between shpool_init() and shpool_fini(). */
SIMT_FN void replay_run(shpool_heap heap, const replay_args *args)
{
    const replay_block *block = &args->block[simt_block_rank()];
    const uint32_t      rank  = simt_thread_rank();
    const uint32_t     *list  = &args->begin[simt_block_rank() * simt_block_threads() + rank];
    replay_tally tally = {0, 0, 0, 0, 0, 0, 0, 0};

    if (args->ordered != 0) {
        const int opens = (list[0] < list[1]) && (args->steps[list[0]] == 0);

        simt_atomic_store(simt_dynamic_base() + args->box + 4u * rank, opens ? 0u : REPLAY_NONE,
                          SIMT_RELAXED);
        simt_barrier();
    }
    for (uint32_t step = list[0]; step < list[1]; step++) {
        replay_step(heap, args, block, args->steps[step], &tally);
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
