/* SPDX-License-Identifier: BSD-3-Clause */
/* simt_engine_*: called by the inline accesses and the macros of impl/simt/cpu.h.
 *
 * Each finds the running thread through simt_self, lets sync.c record the object that the thread
 * waits for, and lets the engine wait. */
#include <stdlib.h>

#include "engine.h"

void simt_engine_switch(void)
{
    simt_thread *thread = simt_current();

    thread->block->ops->access(thread->block, thread);
}

void simt_engine_fault(const char *what, simt_addr addr, uint32_t bytes)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;

    simt_lock(block);
    simt_fail_access(thread, what, addr, bytes);
    block->ops->settle(block, thread);
}

/* An access that is not one of the own block's memory, or not aligned. */
void simt_engine_remote(const char *what, simt_addr addr, uint32_t bytes)
{
    simt_thread        *thread = simt_current();
    simt_block         *block  = thread->block;
    uint32_t            rank   = simt_addr_rank(addr);
    uint32_t            at     = simt_addr_offset(addr);
    const simt_meeting *owner  = &block->meeting[rank % SIMT_MAX_CLUSTER];
    uint32_t            begun;

    if ((rank >= block->cluster) || (at < block->arena_begin) || (at > block->arena_end - bytes)) {
        simt_engine_fault(what, addr, bytes);
    }
    simt_lock(block);
    begun = owner->begun;
    if ((at & (bytes - 1u)) != 0) {
        simt_fail_misaligned(thread, what, addr, bytes);
        block->ops->settle(block, thread);
    }
    if (!begun || (owner->exited == owner->threads)) {
        simt_fail(block, SHPOOL_ERR_INVALID,
                  "fault: %s of %u bytes at 0x%x in the memory of block %u of the cluster, which "
                  "has %s, thread %u of block %u", what, bytes, addr, rank,
                  begun ? "exited" : "not begun", thread->self.rank, thread->self.block);
        block->ops->settle(block, thread);
    }
    simt_unlock(block);
}

void simt_engine_barrier(const char *file, int line)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;

    simt_lock(block);
    simt_sync_barrier(block, thread, (simt_place){ file, line });
    block->ops->settle(block, thread);
    simt_join_depart(thread->join);
    thread->join = NULL;
}

void simt_engine_cluster_barrier(const char *file, int line)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;

    simt_lock(block);
    simt_sync_cluster(block, thread, (simt_place){ file, line });
    block->ops->settle(block, thread);
    simt_join_depart(thread->join);
    thread->join = NULL;
}

unsigned long long simt_engine_broadcast(unsigned long long value, const char *file, int line)
{
    simt_thread  *thread  = simt_current();
    simt_meeting *meeting = &thread->block->meeting[thread->self.cluster_rank];

    if (thread->self.rank == 0) {
        meeting->broadcast = value;
    }
    simt_engine_barrier(file, line);
    value = meeting->broadcast;
    simt_engine_barrier(file, line); /* read by all: the next one may come */
    return value;
}

uint32_t simt_engine_collective(simt_collective op, uint32_t mask, uint32_t value, uint32_t arg,
                                const char *file, int line)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;

    simt_lock(block);
    thread->op    = op;
    thread->mask  = mask;
    thread->value = value;
    thread->arg   = arg;
    simt_sync_collective(block, thread, (simt_place){ file, line });
    block->ops->settle(block, thread);
    simt_join_depart(thread->join);
    thread->join = NULL;
    return thread->result;
}

void simt_engine_wait(simt_addr addr, uint32_t seen, const char *file, int line)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;

    if ((addr < thread->self.arena_begin) || (addr > thread->self.arena_end - 4u) ||
        ((addr & 3u) != 0)) {
        simt_engine_remote("wait", addr, 4);
    }
    simt_lock(block);
    thread->wait_addr = addr;
    thread->wait_seen = seen;
    if (simt_word_changed(block, thread)) {
        simt_unlock(block);
        block->ops->passed(block, thread);
        return;
    }
    thread->place = (simt_place){ file, line };
    thread->state = SIMT_STATE_WAIT;
    block->ops->settle(block, thread);
}

uint32_t simt_engine_wait_briefly(simt_addr addr, uint32_t seen, const char *file, int line)
{
    simt_thread *thread = simt_current();
    uint32_t     in_vain;

    thread->brief = 1;
    simt_engine_wait(addr, seen, file, line);
    in_vain        = thread->paused;
    thread->brief  = 0;
    thread->paused = 0;
    return in_vain;
}

void simt_engine_pause(uint32_t ns, const char *file, int line)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;

    (void)ns;
    simt_lock(block);
    thread->wait_addr = block->arena_begin;
    thread->paused    = 1; /* still runnable, like other threads: the engine chooses */
    simt_async_pause(block);
    thread->place     = (simt_place){ file, line };
    thread->state     = SIMT_STATE_WAIT;
    /* polling threads are always runnable: a thread parked until no other can run must not wait for
     * them, because they may wait for it */
    if (block->ops->unparks && (++block->pauses % block->threads == 0)) {
        (void)simt_sync_release(block);
    }
    block->ops->settle(block, thread);
    thread->paused = 0;
}

void *simt_native_malloc(size_t bytes)
{
    void *ptr = NULL;

    /* 16 bytes, like CUDA's heap; malloc() guarantees less on some machines */
    return (posix_memalign(&ptr, 16, bytes) == 0) ? ptr : NULL;
}

void simt_native_free(void *ptr)
{
    free(ptr);
}
