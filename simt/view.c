/* SPDX-License-Identifier: BSD-3-Clause */
/* What the copy engine sees of shared memory.
 *
 * It has a path to memory of its own (PTX: the async proxy), and need not see what threads wrote
 * before they call simt_fence_async().  The view is what it sees for certain: the arena as it was
 * at the last fence of any thread, and what it wrote itself.  A copy of, or to, bytes that differ
 * from it is an error that hardware seldom shows. */
#include <sys/mman.h>

#include "async.h"

/* volatile: libc's memcpy() is instrumented, and this is not the calling thread's doing */
void simt_async_move(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
    uint32_t i = 0;

    for (; i + 8u <= bytes; i += 8u) {
        const void *word = from + i;

        *(volatile uint64_t *)(void *)(to + i) = *(const volatile uint64_t *)word;
    }
    for (; i < bytes; i++) {
        ((volatile unsigned char *)to)[i] = ((const volatile unsigned char *)from)[i];
    }
}

/* Bytes of the mapping; the last thread has the last arena. */
static size_t view_bytes(const simt_block *block)
{
    return block->thread[block->threads - 1u].self.arena_end;
}

void simt_view_reset(simt_block *block)
{
    unsigned char *view = block->async->view;
    uint32_t       done = 0; /* arenas below are */

    for (uint32_t t = 0; (view != NULL) && (t < block->threads); t++) {
        const simt_self_state *self = &block->thread[t].self;

        for (uint32_t i = self->arena_begin; (i < self->arena_end) && (done < i); i++) {
            ((volatile unsigned char *)view)[i] = (unsigned char)block->launch.fill;
        }
        done = self->arena_end;
    }
}

void simt_view_destroy(simt_block *block)
{
    if (block->async->view != NULL) {
        munmap(block->async->view, view_bytes(block));
        block->async->view = NULL;
    }
}

/* Made when it is first needed; NULL, and the block has failed: no memory. */
static unsigned char *view_of(simt_block *block)
{
    simt_async *async = block->async;

    if (async->view == NULL) {
        async->view = simt_async_map(view_bytes(block));
        if (async->view == NULL) {
            simt_fail(block, SHPOOL_ERR_NO_MEMORY, "simt: no memory for a view of %zu bytes",
                      view_bytes(block));
        }
        simt_view_reset(block);
    }
    return async->view;
}

int simt_view_is_stale(simt_block *block, simt_addr at, uint32_t bytes)
{
    const unsigned char *view = view_of(block);

    for (uint32_t i = at; (view != NULL) && (i < at + bytes); i++) {
        if (((const volatile unsigned char *)view)[i] !=
            ((const volatile unsigned char *)block->arena)[i]) {
            return 1;
        }
    }
    return 0;
}

void simt_view_update(simt_block *block, simt_addr at, uint32_t bytes)
{
    unsigned char *view = view_of(block);

    if (view != NULL) {
        simt_async_move(view + at, block->arena + at, bytes);
    }
}

void simt_engine_fence_async(void)
{
    simt_thread *thread = simt_current();
    simt_block  *block  = thread->block;

    if (simt_async_enter(block, thread) != NULL) {
        simt_view_update(block, thread->self.arena_begin,
                         thread->self.arena_end - thread->self.arena_begin);
    }
    block->ops->settle(block, thread);
}
