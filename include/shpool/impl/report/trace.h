/* SPDX-License-Identifier: BSD-3-Clause */
/* What trace=FILE adds to the counted functions: a record in global memory for each malloc and
 * free.  Not for direct inclusion.
 *
 *   head | a cursor for each block that is traced | records of block 0 | records of block 1 | ...
 *
 * The first blocks of the grid are traced, each in a part of its own; what no longer fits is
 * counted by the cursor and dropped, so that a part always holds the beginning of its block.  A
 * free takes its record before the memory is given back, a malloc when it has got it: who is given
 * what another thread freed comes behind that free.  The host writes the file (lib/trace.c). */
#ifndef SHPOOL_IMPL_TRACE_H
#define SHPOOL_IMPL_TRACE_H

#include <shpool/impl/report/area.h>

/* In front of the buffer, from the host. */
typedef struct shpool_trace_head {
    uint32_t blocks;   /* that are traced: those of rank 0..blocks-1 */
    uint32_t records;  /* room for each */
    uint32_t reserved[2];
} shpool_trace_head;

/* shpool_trace_record.what, low byte. */
enum {
    SHPOOL_TRACE_NOTHING = 0, /* taken, and then there was nothing to say */
    SHPOOL_TRACE_MALLOC  = 1, /* address 0: it failed */
    SHPOOL_TRACE_WAIT    = 2, /* an attempt of what waits that got nothing */
    SHPOOL_TRACE_FREE    = 3,
    SHPOOL_TRACE_RESIZE  = 4, /* in place */
    SHPOOL_TRACE_MARK    = 5, /* address: what shpool_mark() answered */
    SHPOOL_TRACE_RELEASE = 6, /* address: what shpool_release() was given */
    SHPOOL_TRACE_FINI    = 7, /* the block's pools ended */

    SHPOOL_TRACE_REASON_SHIFT = 8,  /* bits 8..15: shpool_free_result */
    SHPOOL_TRACE_ALIGN_SHIFT  = 16, /* bits 16..23: log2 of the alignment asked for */
    SHPOOL_TRACE_GLOBAL       = 1 << 24 /* spilled: the address is one of global memory */
};

/* shpool_trace_record.thread */
#define SHPOOL_TRACE_RANK          0xffffu /* rank in the block of the thread; of a group the first
                                              one that has the memory in its pool */
#define SHPOOL_TRACE_MEMBERS_SHIFT 16      /* bits 16..25: members of the group, less 1 */

typedef struct shpool_trace_record {
    uint32_t what;
    uint32_t thread; /* who asked: SHPOOL_TRACE_RANK, and above it the group's other members */
    uint32_t bytes;  /* asked for; more than 32 bits can say: the most */
    uint32_t usable;
    unsigned long long address; /* from the region's first byte on, so never 0 */
    uint32_t site;
    uint32_t launch; /* tells the kernel's launches from each other */
} shpool_trace_record;

/* Offset of the first record. */
SIMT_HD size_t shpool_trace_offset(uint32_t blocks)
{
    return sizeof(shpool_trace_head) + (((size_t)blocks * 4u + 31u) & ~(size_t)31);
}

/* How many records a block has asked for. */
SIMT_FN char *shpool_trace_cursor(char *buffer, uint32_t block)
{
    return buffer + sizeof(shpool_trace_head) + (size_t)block * 4u;
}

/* Who asks, for shpool_trace_record.thread. */
SIMT_FN uint32_t shpool_trace_thread(shpool_view view)
{
    uint32_t others = (view.flags & (uint32_t)SHPOOL_FLAG_MEMBERS_MASK) >>
                      SHPOOL_FLAG_MEMBERS_SHIFT;

    return view.rank | (others << SHPOOL_TRACE_MEMBERS_SHIFT);
}

/* A record for the calling thread; NULL if it is not to be traced, or there is no room. */
SIMT_FN_NOINLINE shpool_trace_record *shpool_trace_take(simt_addr area, uint32_t thread)
{
    char              *buffer = (char *)(size_t)shpool_area_report(area)->trace;
    shpool_trace_head *head   = (shpool_trace_head *)(void *)buffer;
    uint32_t           block  = simt_block_rank();
    uint32_t           slot;
    shpool_trace_record *record;

    if (block >= head->blocks) {
        return NULL;
    }
    slot = simt_global_add32(shpool_trace_cursor(buffer, block), 1);
    if (slot >= head->records) {
        if (slot >= 0x80000000u) { /* the count of those dropped ends there; the rest stays */
            (void)simt_global_add32(shpool_trace_cursor(buffer, block), ~0u);
        }
        return NULL;
    }
    record = (shpool_trace_record *)(void *)(buffer + shpool_trace_offset(head->blocks)) +
             ((size_t)block * head->records + slot);
    record->thread = thread;
    record->launch = (uint32_t)simt_launch_number();
    return record;
}

/* Where an allocation lies: in the region, or in global memory. */
SIMT_FN void shpool_trace_fill(shpool_trace_record *record, uint32_t what, uint32_t bytes,
                               uint32_t usable, unsigned long long address, uint32_t site)
{
    if (record != NULL) {
        record->what    = what;
        record->bytes   = bytes;
        record->usable  = usable;
        record->address = address;
        record->site    = site;
    }
}

/* A constant 0 where nothing is ever counted leaves nothing of all this in what spills. */
SIMT_FN uint32_t shpool_is_traced(shpool_view view)
{
#if defined(SHPOOL_INLINE) && !defined(SHPOOL_CHECK)
    (void)view;
    return 0;
#else
    return view.flags & (uint32_t)SHPOOL_FLAG_TRACE;
#endif
}

/* Where an address of the pools lies, from the first byte of the shared memory that is shpool's. */
SIMT_FN uint32_t shpool_trace_place(shpool_view view, uint32_t user)
{
    return user - (view.area - SHPOOL_AREA_FRONT);
}

/* One whole record. */
SIMT_FN_NOINLINE void shpool_trace_put(simt_addr area, uint32_t thread, uint32_t what,
                                       uint32_t bytes, uint32_t usable,
                                       unsigned long long address, uint32_t site)
{
    shpool_trace_fill(shpool_trace_take(area, thread), what, bytes, usable, address, site);
}

/* A request of the pool; user 0: it failed, and where something is spilled that has the record. */
SIMT_FN void shpool_trace_malloc(shpool_view view, uint32_t bytes, uint32_t alignment,
                                 uint32_t usable, simt_addr user, uint32_t site)
{
    uint32_t what = (uint32_t)SHPOOL_TRACE_MALLOC;

    if ((shpool_is_traced(view) == 0) ||
        ((user == 0) && ((view.flags & (uint32_t)SHPOOL_FLAG_SPILL) != 0))) {
        return;
    }
    if (site == SHPOOL_SITE_WAIT) {
        what = (user == 0) ? (uint32_t)SHPOOL_TRACE_WAIT : what;
        site = 0;
    }
    what |= (31u - simt_clz(alignment)) << SHPOOL_TRACE_ALIGN_SHIFT;
    shpool_trace_put(view.area, shpool_trace_thread(view), what, bytes, usable,
                     (user != 0) ? shpool_trace_place(view, user) : 0u, site);
}

/* A request that no pool could serve; ptr NULL: nobody could. */
SIMT_FN void shpool_trace_spill(shpool_view view, unsigned long long bytes, uint32_t alignment,
                                const void *ptr, uint32_t usable)
{
    if (shpool_is_traced(view) != 0) {
        shpool_trace_put(view.area, shpool_trace_thread(view),
                         (uint32_t)SHPOOL_TRACE_MALLOC | (uint32_t)SHPOOL_TRACE_GLOBAL |
                             ((31u - simt_clz(alignment)) << SHPOOL_TRACE_ALIGN_SHIFT),
                         (bytes < ~0u) ? (uint32_t)bytes : ~0u, usable,
                         (unsigned long long)(size_t)ptr, 0);
    }
}

/* A free that begins: its record, for shpool_trace_refused(). */
SIMT_FN shpool_trace_record *shpool_trace_free(shpool_view view, unsigned long long address,
                                               uint32_t global, uint32_t site)
{
    shpool_trace_record *record = NULL;

    if (shpool_is_traced(view) != 0) {
        record = shpool_trace_take(view.area, shpool_trace_thread(view));
        shpool_trace_fill(record, (uint32_t)SHPOOL_TRACE_FREE | global, 0, 0, address, site);
    }
    return record;
}

/* It ended, and changed nothing if there is a reason. */
SIMT_FN void shpool_trace_refused(shpool_trace_record *record, uint32_t reason)
{
    if ((record != NULL) && (reason != SHPOOL_FREE_OK)) {
        record->what |= reason << SHPOOL_TRACE_REASON_SHIFT;
    }
}

/* What shpool_mark() answered. */
SIMT_FN void shpool_trace_mark(shpool_view view, uint32_t mark)
{
    if (shpool_is_traced(view) != 0) {
        shpool_trace_put(view.area, shpool_trace_thread(view), (uint32_t)SHPOOL_TRACE_MARK, 0, 0,
                         mark, 0);
    }
}

/* The end of the block's pools, if there is room to say so; one thread, behind a barrier. */
SIMT_FN void shpool_trace_fini(shpool_view view)
{
    char              *buffer;
    shpool_trace_head *head;
    uint32_t           block = simt_block_rank();

    if (shpool_is_traced(view) != 0) {
        buffer = (char *)(size_t)shpool_area_report(view.area)->trace;
        head   = (shpool_trace_head *)(void *)buffer;
        if ((block < head->blocks) &&
            (simt_global_add32(shpool_trace_cursor(buffer, block), 0) < head->records)) {
            shpool_trace_put(view.area, shpool_trace_thread(view), (uint32_t)SHPOOL_TRACE_FINI, 0,
                             0, 0, 0);
        }
    }
}

#endif /* SHPOOL_IMPL_TRACE_H */
