/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptions of failures: what each thread does, where, and for whom it waits. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "async.h"

static void text_add_list(simt_text *text, const char *format, va_list arguments)
{
    static const char cut[] = "...";
    int               bytes;

    if (text->used + 1u >= text->room) {
        return;
    }
    bytes = vsnprintf(text->start + text->used, text->room - text->used, format, arguments);
    if (bytes < 0) {
        return;
    }
    if ((size_t)bytes < text->room - text->used) {
        text->used += (size_t)bytes;
    } else {
        text->used = text->room - 1u; /* no more text is added */
        memcpy(text->start + text->room - sizeof(cut), cut, sizeof(cut));
    }
}

void simt_text_add(simt_text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text_add_list(text, format, arguments);
    va_end(arguments);
}

/* ---- lists of threads ---- */

typedef int (*member_fn)(const simt_thread *thread, const simt_thread *of);

/* "thread 3" or "threads 0-30,32": those that are members; the number of them.  In a cluster the
 * block's rank precedes the thread's: "threads 6:0-30,7:0". */
static uint32_t add_members(simt_text *text, const simt_block *block, member_fn member,
                            const simt_thread *of)
{
    uint32_t    count  = 0;
    uint32_t    ranges = 0;
    const char *gap    = " ";

    for (uint32_t i = 0; i < block->threads; i++) {
        count += member(&block->thread[i], of) != 0;
    }
    if (count == 0) {
        return 0;
    }
    simt_text_add(text, (count == 1) ? "thread" : "threads");
    for (uint32_t i = 0; i < block->threads; i++) {
        const simt_self_state *first = &block->thread[i].self;

        if (!member(&block->thread[i], of)) {
            continue;
        }
        while ((i + 1u < block->threads) && member(&block->thread[i + 1u], of) &&
               (block->thread[i + 1u].self.block == first->block)) {
            i++;
        }
        if (ranges == 24) { /* every other thread of 1,024: enough to see the pattern */
            simt_text_add(text, ",... (%u in all)", count);
            break;
        }
        simt_text_add(text, "%s", gap);
        if (block->cluster > 1) {
            simt_text_add(text, "%u:", first->block);
        }
        simt_text_add(text, "%u", first->rank);
        if (first != &block->thread[i].self) {
            simt_text_add(text, "-%u", block->thread[i].self.rank);
        }
        gap = ",";
        ranges++;
    }
    return count;
}

static int same_warp(const simt_thread *a, const simt_thread *b)
{
    return (a->self.block == b->self.block) &&
           (a->self.rank / SIMT_WARP == b->self.rank / SIMT_WARP);
}

/* Do both threads do the same, so that one line serves them? */
static int same_doing(const simt_thread *thread, const simt_thread *of)
{
    if (thread->state != of->state) {
        return 0;
    }
    switch (of->state) {
    case SIMT_STATE_BARRIER:
        return (thread->self.block == of->self.block) &&
               simt_same_place(thread->place, of->place);
    case SIMT_STATE_CLUSTER:
        return simt_same_place(thread->place, of->place);
    case SIMT_STATE_COLLECTIVE:
        return same_warp(thread, of) && (thread->mask == of->mask) && (thread->op == of->op) &&
               simt_same_place(thread->place, of->place);
    case SIMT_STATE_CONVERGED:
        return same_warp(thread, of) && simt_same_place(thread->place, of->place);
    case SIMT_STATE_WAIT:
        return (thread->wait_addr == of->wait_addr) && (thread->wait_seen == of->wait_seen) &&
               simt_same_place(thread->place, of->place);
    default:
        return 1;
    }
}

/* Is `thread` one that the group of `of` waits for? */
static int is_awaited(const simt_thread *thread, const simt_thread *of)
{
    if (same_doing(thread, of)) {
        return 0;
    }
    if (of->state == SIMT_STATE_CLUSTER) {
        return 1;
    }
    if (of->state == SIMT_STATE_BARRIER) {
        return thread->self.block == of->self.block;
    }
    return (of->state == SIMT_STATE_COLLECTIVE) && same_warp(thread, of) &&
           (((of->mask >> (thread->self.rank % SIMT_WARP)) & 1u) != 0);
}

/* A wait at an mbarrier; 0: the thread waits for a word. */
static int add_mbar(simt_text *text, const simt_block *block, const simt_thread *thread)
{
    simt_async      *async = block->async;
    simt_addr        addr  = (async != NULL) ? simt_async_own(async, thread)->waits : 0;
    const simt_mbar *mbar  = (addr != 0) ? simt_mbar_lookup(async, addr) : NULL;

    if (mbar == NULL) {
        return 0;
    }
    simt_text_add(text, ": wait on mbarrier 0x%x (phase %u needs %u arrivals of %u and %d bytes) "
                  "at %s:%d", addr, mbar->phase, mbar->pending, mbar->expected, (int)mbar->bytes,
                  thread->place.file, thread->place.line);
    return 1;
}

static void add_doing(simt_text *text, const simt_block *block, const simt_thread *thread)
{
    const char *file = thread->place.file;
    int         line = thread->place.line;
    size_t      used;

    switch (thread->state) {
    case SIMT_STATE_BARRIER:
        simt_text_add(text, ": barrier at %s:%d", file, line);
        break;
    case SIMT_STATE_CLUSTER:
        simt_text_add(text, ": cluster barrier at %s:%d", file, line);
        break;
    case SIMT_STATE_COLLECTIVE:
        simt_text_add(text, ": %s(0x%x) at %s:%d", simt_collective_name(thread->op), thread->mask,
                      file, line);
        break;
    case SIMT_STATE_CONVERGED:
        simt_text_add(text, ": simt_converged at %s:%d", file, line);
        return;
    case SIMT_STATE_WAIT:
        if (add_mbar(text, block, thread)) {
            return;
        }
        simt_text_add(text, ": wait on word 0x%x (holds %u, seen %u) at %s:%d", thread->wait_addr,
                      *(const uint32_t *)(const void *)(block->arena + thread->wait_addr),
                      thread->wait_seen, file, line);
        return;
    case SIMT_STATE_EXITED:
        simt_text_add(text, ": exited");
        return;
    default:
        simt_text_add(text, ": running");
        return;
    }
    used = text->used;
    simt_text_add(text, ", waiting for ");
    if (add_members(text, block, is_awaited, thread) == 0) {
        text->used = used;
        text->start[used] = '\0';
    }
}

static void add_threads(simt_text *text, const simt_block *block)
{
    const char *gap = ": ";

    for (uint32_t i = 0; (i < block->threads) && (text->used + 1u < text->room); i++) {
        const simt_thread *thread = &block->thread[i];
        int                is_new = 1;

        for (uint32_t j = 0; is_new && (j < i); j++) {
            is_new = !same_doing(&block->thread[j], thread);
        }
        if (is_new) {
            simt_text_add(text, "%s", gap);
            add_members(text, block, same_doing, thread);
            add_doing(text, block, thread);
            gap = "; ";
        }
    }
}

/* ---- stopping a block ---- */

static int begin(simt_block *block, shpool_status status)
{
    if (block->status != SHPOOL_OK) {
        return 0;
    }
    block->status = status;
    /* release: pairs with the acquire loads of the threads engine */
    __atomic_store_n(&block->failed, 1, __ATOMIC_RELEASE);
    simt_fiber_pose(&block->main);
    return 1;
}

static void end(simt_block *block)
{
    if ((block->main.tsan != NULL) && (simt_self != NULL)) {
        simt_fiber_pose(&simt_current()->fiber);
    }
}

void simt_fail(simt_block *block, shpool_status status, const char *format, ...)
{
    if (begin(block, status)) {
        va_list arguments;

        va_start(arguments, format);
        text_add_list(&block->text, format, arguments);
        va_end(arguments);
        end(block);
    }
}

void simt_fail_listed(simt_block *block, shpool_status status, const char *format, ...)
{
    if (begin(block, status)) {
        va_list arguments;

        va_start(arguments, format);
        text_add_list(&block->text, format, arguments);
        va_end(arguments);
        if (block->cluster > 1) {
            simt_text_add(&block->text, " (cluster of block %u, threads as block:thread)",
                          block->rank);
        } else {
            simt_text_add(&block->text, " (block %u)", block->rank);
        }
        add_threads(&block->text, block);
        end(block);
    }
}

/* ---- accesses that are wrong ---- */

void simt_fail_misaligned(const simt_thread *thread, const char *what, simt_addr addr,
                          uint32_t bytes)
{
    simt_fail(thread->block, SHPOOL_ERR_INVALID,
              "fault: %s of %u bytes at 0x%x is not aligned, thread %u of block %u", what, bytes,
              addr, thread->self.rank, thread->self.block);
}

void simt_fail_access(const simt_thread *thread, const char *what, simt_addr addr, uint32_t bytes)
{
    uint32_t begin = thread->self.arena_begin;
    uint32_t end   = thread->self.arena_end;

    if ((addr >= begin) && (addr <= end) && (bytes <= end - addr)) {
        simt_fail_misaligned(thread, what, addr, bytes);
        return;
    }
    simt_fail(thread->block, SHPOOL_ERR_INVALID,
              "fault: %s of %u bytes at 0x%x outside 0x%x..0x%x, thread %u of block %u", what,
              bytes, addr, begin, end, thread->self.rank, thread->self.block);
}
