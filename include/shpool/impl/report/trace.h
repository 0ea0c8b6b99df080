/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracing for trace=FILE: the counted functions write a record to global memory for each malloc and
 * free.  Not for direct inclusion.
 *
 *   head | a cursor for each block that is traced | records of block 0 | records of block 1 | ...
 *
 * The first blocks of the grid are traced, each in its own part.  Records that do not fit are
 * dropped and counted by the cursor, so that a part always has the beginning of its block.  A free
 * reserves its record before it returns the memory, a malloc after it has got the memory: a malloc
 * that reuses memory therefore follows the free in the trace.  The host writes the file
 * (lib/trace.c). */
#ifndef SHPOOL_IMPL_TRACE_H
#define SHPOOL_IMPL_TRACE_H

#include <shpool/impl/report/area.h>

/* At the start of the buffer; written by the host. */
typedef struct shpool_trace_head {
    uint32_t blocks;   /* number of traced blocks, those of rank 0..blocks-1 */
    uint32_t records;  /* records that each has room for */
    uint32_t reserved[2];
} shpool_trace_head;

/* shpool_trace_record.what, low byte. */
enum {
    SHPOOL_TRACE_NOTHING = 0, /* reserved but not used */
    SHPOOL_TRACE_MALLOC  = 1, /* address 0: it failed */
    SHPOOL_TRACE_WAIT    = 2, /* an attempt of a waiting request; address 0: it failed */
    SHPOOL_TRACE_FREE    = 3,
    SHPOOL_TRACE_RESIZE  = 4, /* in place */
    SHPOOL_TRACE_MARK    = 5, /* address: the result of shpool_mark() */
    SHPOOL_TRACE_RELEASE = 6, /* address: the argument of shpool_release() */
    SHPOOL_TRACE_FINI    = 7, /* the block's pools ended; bytes: shared memory of the block, usable:
                                 blocks of the grid */

    SHPOOL_TRACE_REASON_SHIFT = 8,  /* bits 8..15: shpool_free_result */
    SHPOOL_TRACE_ALIGN_SHIFT  = 16, /* bits 16..23: log2 of the requested alignment */
    SHPOOL_TRACE_GLOBAL       = 1 << 24 /* spilled: the address is in global memory */
};

/* shpool_trace_record.thread */
#define SHPOOL_TRACE_RANK          0xffffu /* rank of the thread in the block; of a group the first
                                              thread that has the memory in its pool */
#define SHPOOL_TRACE_MEMBERS_SHIFT 16      /* bits 16..25: members of the group, less 1 */

typedef struct shpool_trace_record {
    uint32_t what;
    uint32_t thread; /* calling thread: SHPOOL_TRACE_RANK, and above it the group's other members */
    uint32_t bytes;  /* requested bytes, clamped to 32 bits */
    uint32_t usable;
    unsigned long long address; /* from the region's first byte on, so never 0; unless it is global,
                                   bits 32..63 are simt_clock() */
    uint32_t site;
    uint32_t launch; /* distinguishes the kernel's launches */
} shpool_trace_record;

/* Offset of the first record. */
SIMT_HD size_t shpool_trace_offset(uint32_t blocks)
{
    return sizeof(shpool_trace_head) + (((size_t)blocks * 4u + 31u) & ~(size_t)31);
}

/* Address of the cursor: number of records that a block has requested. */
SIMT_FN char *shpool_trace_cursor(char *buffer, uint32_t block)
{
    return buffer + sizeof(shpool_trace_head) + (size_t)block * 4u;
}

/* The caller, for shpool_trace_record.thread, and whether the area has a second copy: one argument
 * of the functions that write a record. */
#define SHPOOL_TRACE_CHECKED 0x80000000u
SIMT_FN uint32_t shpool_trace_thread(shpool_view view)
{
    uint32_t others = (view.flags & (uint32_t)SHPOOL_FLAG_MEMBERS_MASK) >>
                      SHPOOL_FLAG_MEMBERS_SHIFT;

    return view.rank | (others << SHPOOL_TRACE_MEMBERS_SHIFT) |
           ((shpool_is_checked(view) != 0) ? SHPOOL_TRACE_CHECKED : 0u);
}

/* Reserve a record for the calling thread; NULL if it is not traced, or if there is no room. */
SIMT_FN_NOINLINE shpool_trace_record *shpool_trace_take_at(simt_addr area, uint32_t thread)
{
    shpool_view        view   = {0, 0, 0, ((thread & SHPOOL_TRACE_CHECKED) != 0)
                                              ? (uint32_t)SHPOOL_FLAG_CHECK : 0u, {0, 0}, area};
    char              *buffer = (char *)(size_t)shpool_area_report(view)->trace;
    shpool_trace_head *head   = (shpool_trace_head *)(void *)buffer;
    uint32_t           block  = simt_block_rank();
    uint32_t           slot;
    shpool_trace_record *record;

    if (block >= head->blocks) {
        return NULL;
    }
    slot = simt_global_add32(shpool_trace_cursor(buffer, block), 1);
    if (slot >= head->records) {
        if (slot >= 0x80000000u) { /* the count of dropped records stops there */
            (void)simt_global_add32(shpool_trace_cursor(buffer, block), ~0u);
        }
        return NULL;
    }
    record = (shpool_trace_record *)(void *)(buffer + shpool_trace_offset(head->blocks)) +
             ((size_t)block * head->records + slot);
    record->thread = thread & ~SHPOOL_TRACE_CHECKED;
    record->launch = (uint32_t)simt_launch_number();
    return record;
}

SIMT_FN shpool_trace_record *shpool_trace_take(shpool_view view)
{
    return shpool_trace_take_at(view.area, shpool_trace_thread(view));
}

/* Fill in a record; the address is in the region or in global memory. */
SIMT_FN void shpool_trace_fill(shpool_trace_record *record, uint32_t what, uint32_t bytes,
                               uint32_t usable, unsigned long long address, uint32_t site)
{
    if (record != NULL) {
        record->what    = what;
        record->bytes   = bytes;
        record->usable  = usable;
        record->address = ((what & (uint32_t)SHPOOL_TRACE_GLOBAL) != 0)
                              ? address : address | (unsigned long long)simt_clock() << 32;
        record->site    = site;
    }
}

/* If nothing is ever counted, a constant 0 removes tracing from the spill code. */
SIMT_FN uint32_t shpool_is_traced(shpool_view view)
{
#if defined(SHPOOL_INLINE) && !defined(SHPOOL_CHECK)
    (void)view;
    return 0;
#else
    return view.flags & (uint32_t)SHPOOL_FLAG_TRACE;
#endif
}

/* Offset of an address in the pools from the first aligned byte of the library's shared memory. */
SIMT_FN uint32_t shpool_trace_place(shpool_view view, uint32_t user)
{
    uint32_t below = (1u << ((view.flags & (uint32_t)SHPOOL_FLAG_ALIGN_MASK) >>
                             SHPOOL_FLAG_ALIGN_SHIFT)) - 1u;

    return user - ((view.area - SHPOOL_AREA_FRONT + below) & ~below);
}

/* Write one whole record. */
SIMT_FN_NOINLINE void shpool_trace_put_at(simt_addr area, uint32_t thread, uint32_t what,
                                          uint32_t bytes, uint32_t usable,
                                          unsigned long long address, uint32_t site)
{
    shpool_trace_fill(shpool_trace_take_at(area, thread), what, bytes, usable, address, site);
}

SIMT_FN void shpool_trace_put(shpool_view view, uint32_t what, uint32_t bytes, uint32_t usable,
                              unsigned long long address, uint32_t site)
{
    shpool_trace_put_at(view.area, shpool_trace_thread(view), what, bytes, usable, address, site);
}

/* Record a request to the pool; user 0: it failed.  If it is spilled, the spill writes the
 * record. */
SIMT_FN void shpool_trace_malloc(shpool_view view, uint32_t bytes, uint32_t alignment,
                                 uint32_t usable, simt_addr user, uint32_t site)
{
    uint32_t what = (uint32_t)SHPOOL_TRACE_MALLOC;

    if ((shpool_is_traced(view) == 0) ||
        ((user == 0) && ((view.flags & (uint32_t)SHPOOL_FLAG_SPILL) != 0))) {
        return;
    }
    if (site >= SHPOOL_SITE_TRY) { /* it waits */
        what = (uint32_t)SHPOOL_TRACE_WAIT;
        site = 0;
    }
    what |= (31u - simt_clz(alignment)) << SHPOOL_TRACE_ALIGN_SHIFT;
    shpool_trace_put(view, what, bytes, usable, (user != 0) ? shpool_trace_place(view, user) : 0u,
                     site);
}

/* Record a request that no pool could serve; ptr NULL: it failed. */
SIMT_FN void shpool_trace_spill(shpool_view view, unsigned long long bytes, uint32_t alignment,
                                const void *ptr, uint32_t usable, uint32_t site)
{
    const uint32_t what = ((site >= SHPOOL_SITE_TRY) && (ptr == NULL))
                              ? (uint32_t)SHPOOL_TRACE_WAIT
                              : (uint32_t)SHPOOL_TRACE_MALLOC | (uint32_t)SHPOOL_TRACE_GLOBAL;

    if (shpool_is_traced(view) != 0) {
        alignment = (alignment < SHPOOL_MAX_ALIGNMENT) ? alignment | 1u : SHPOOL_MAX_ALIGNMENT;
        shpool_trace_put(view, what | ((31u - simt_clz(alignment)) << SHPOOL_TRACE_ALIGN_SHIFT),
                         (bytes < ~0u) ? (uint32_t)bytes : ~0u, usable,
                         (unsigned long long)(size_t)ptr, (site < SHPOOL_SITE_TRY) ? site : 0u);
    }
}

/* Record the start of a free; returns the record for shpool_trace_refused(). */
SIMT_FN shpool_trace_record *shpool_trace_free(shpool_view view, unsigned long long address,
                                               uint32_t global, uint32_t site)
{
    shpool_trace_record *record = NULL;

    if (shpool_is_traced(view) != 0) {
        record = shpool_trace_take(view);
        shpool_trace_fill(record, (uint32_t)SHPOOL_TRACE_FREE | global, 0, 0, address, site);
    }
    return record;
}

/* Record that the free has ended, and was refused if there is a reason. */
SIMT_FN void shpool_trace_refused(shpool_trace_record *record, uint32_t reason)
{
    if ((record != NULL) && (reason != SHPOOL_FREE_OK)) {
        record->what |= reason << SHPOOL_TRACE_REASON_SHIFT;
    }
}

/* Record the result of shpool_mark(). */
SIMT_FN void shpool_trace_mark(shpool_view view, uint32_t mark)
{
    if (shpool_is_traced(view) != 0) {
        shpool_trace_put(view, (uint32_t)SHPOOL_TRACE_MARK, 0, 0, mark, 0);
    }
}

/* Record the end of the block's pools, if there is room.  Called by one thread, after a barrier. */
SIMT_FN void shpool_trace_fini(shpool_view view)
{
    char              *buffer;
    shpool_trace_head *head;
    uint32_t           block = simt_block_rank();

    if (shpool_is_traced(view) != 0) {
        buffer = (char *)(size_t)shpool_area_report(view)->trace;
        head   = (shpool_trace_head *)(void *)buffer;
        if ((block < head->blocks) &&
            (simt_global_add32(shpool_trace_cursor(buffer, block), 0) < head->records)) {
            shpool_trace_put(view, (uint32_t)SHPOOL_TRACE_FINI, simt_shared_bytes(),
                             simt_grid_blocks(), 0, 0);
        }
    }
}

#endif /* SHPOOL_IMPL_TRACE_H */
