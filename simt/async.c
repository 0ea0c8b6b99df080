/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of the asynchronous copies: the engine's own data, and the copy engine's view.
 *
 * The copy engine has its own path to shared memory (PTX: the async proxy), and may not see
 * threads' writes before they call simt_fence_async().  The view is what it certainly sees: the
 * arena as of the last fence of any thread, and its own writes.  A copy from or to bytes that
 * differ from the view is an error that hardware rarely shows. */
#include <sys/mman.h>

#include "async.h"

/* ---- memory that the sanitizers do not take for a thread's ---- */

void *simt_async_map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return (at == MAP_FAILED) ? NULL : at;
}

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

/* ---- the view ---- */

/* Bytes of the mapping; the last thread has the last arena. */
static size_t view_bytes(const simt_block *block)
{
    return block->thread[block->threads - 1u].self.arena_end;
}

static void view_reset(simt_block *block)
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

static void view_destroy(simt_block *block)
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
        view_reset(block);
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

/* ---- the block's ---- */

/* Made at the first call; NULL, and the block has failed: no memory. */
static simt_async *make(simt_block *block)
{
    if (block->async == NULL) {
        block->async = simt_async_map(sizeof(simt_async));
        if (block->async == NULL) {
            simt_fail(block, SHPOOL_ERR_NO_MEMORY, "simt: no memory for mbarriers and copies");
        }
    }
    return block->async;
}

simt_async *simt_async_enter(simt_block *block, simt_thread *thread)
{
    if (--thread->self.countdown == 0) {
        block->ops->access(block, thread);
    }
    simt_lock(block);
    return make(block);
}

void simt_async_reset(simt_block *block)
{
    simt_async *async = block->async;

    if (async == NULL) {
        return;
    }
    for (uint32_t i = 0; i < async->copies; i++) {
        if (async->copy[i].held != NULL) {
            munmap(async->copy[i].held, async->copy[i].bytes);
        }
    }
    simt_async_count(block, 0);
    view_reset(block);
    async->mbars = 0;
    for (uint32_t i = 0; i < block->threads; i++) {
        async->thread[i] = (simt_async_thread){ 0 };
    }
}

void simt_async_destroy(simt_block *block)
{
    if (block->async != NULL) {
        simt_async_reset(block);
        view_destroy(block);
        munmap(block->async, sizeof(simt_async));
        block->async = NULL;
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
