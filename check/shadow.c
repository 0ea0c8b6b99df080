/* SPDX-License-Identifier: BSD-3-Clause */
/* The last accesses to each word of global and shared memory, and the rules.
 *
 * A race: two accesses to the same byte, by different threads of one launch, at least one of them a
 * write, not both strong, and neither happens before the other.  Atomics are strong.  A volatile
 * access is strong, except to shared memory towards threads of its own warp: code that has
 * volatile there in place of __syncwarp() assumes lock step.  The order is the one of order.c;
 * a kernel happens before the next one, and the blocks of a kernel are not ordered.
 *
 * One race is none: a plain read and an atomic, if the read is a guess.  `old = *at; while (old !=
 * (seen = atomicCAS(at, old, f(old)))) old = seen;` works with any first value.  A read is a guess
 * if, at its place in the source, a thread has read a word that its next access to it changes by an
 * atomic.  That may be known only at the end of the kernel.
 *
 * A race of two plain writes of the same value is a note.
 *
 * Of a word the last write is kept and two reads: a race with another one can be missed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define BYTES_MASK  CHECK_BYTES_MASK
#define STRONG      0x10u      /* of check_access.who */
#define FRAGILE     0x20u      /* strong, because it is volatile */
#define THREAD_BIT  CHECK_THREAD_BIT
#define TICK_BIT    CHECK_TICK_BIT
#define TICK_MOST   CHECK_TICK_MOST

extern unsigned char __executable_start[];

static uint32_t thread_of(const check_access *a)
{
    return (a->who >> THREAD_BIT) & 0x3ffu;
}

static const void *pc_of(const check_access *a)
{
    return __executable_start + a->pc;
}

/* Did the earlier access happen before the running thread's next one? */
static int is_before(const check_record *record, const check_access *a)
{
    if (a->block == check_now.block) {
        uint32_t tick = a->who >> TICK_BIT;

        /* a tick that does not fit is taken as known: a race may be missed, none is invented */
        return (tick == TICK_MOST) || check_known(thread_of(a), tick);
    }
    return record->shared || check_block_known(a->block);
}

static int is_strong_pair(const check_record *record, const check_access *a, const check_access *b)
{
    if ((a->who & b->who & STRONG) == 0) {
        return 0;
    }
    return !record->shared || (thread_of(a) / 32u != thread_of(b) / 32u) ||
           ((a->who & b->who & FRAGILE) == 0);
}

static void add_access(check_finding *finding, const check_access *a, const char *kind,
                       uint32_t bytes)
{
    check_at(finding, pc_of(a), "%s%s of %u byte%s by thread %u of block %u",
             ((a->who & FRAGILE) != 0) ? "volatile " : ((a->who & STRONG) != 0) ? "atomic " : "",
             kind, bytes, (bytes == 1) ? "" : "s", thread_of(a), a->block - check_now.first);
}

static void report_race(check_level level, const check_record *record, const void *ptr,
                        const check_access *now, int writes, const check_access *before, int wrote)
{
    const int      same = now->block == before->block;
    const int      warp = same && (thread_of(now) / 32u == thread_of(before) / 32u);
    char           where[400];
    check_finding *finding;

    check_describe(record, ptr, where, sizeof(where));
    finding = check_begin(level, "race", "race in %s memory, %s: nothing orders the two accesses%s"
                          "; %s is missing between them",
                          record->shared ? "shared" : "global", where,
                          (level == CHECK_NOTE) ? ", which write the same value" : "",
                          warp ? "__syncwarp() or a barrier"
                               : same ? "__syncthreads()"
                                      : "a second kernel, or __threadfence() and an atomic,");
    add_access(finding, now, writes ? "write" : "read",
               (uint32_t)__builtin_popcount(now->who & BYTES_MASK));
    add_access(finding, before, wrote ? "write" : "read",
               (uint32_t)__builtin_popcount(before->who & BYTES_MASK));
    check_end(finding);
}

/* Two plain writes: the second one's value is in memory at the thread's next access. */
static struct {
    const check_record *record; /* NULL: nothing waits */
    const void         *ptr;
    check_access        now, before;
    uint32_t            bytes;
    unsigned char       old[4];
} written;

void check_shadow_settle(void)
{
    const check_record *record = written.record;

    if (record != NULL) {
        written.record  = NULL;
        check_now.slow &= ~CHECK_SLOW_WRITE;
        report_race((memcmp(written.ptr, written.old, written.bytes) == 0) ? CHECK_NOTE
                                                                           : CHECK_ERROR,
                    record, written.ptr, &written.now, 1, &written.before, 1);
    }
}

/* Of an access to several words one is enough. */
static void note_writes(const check_record *record, const void *ptr, const check_access *now,
                        const check_access *before)
{
    if (written.record == NULL) {
        check_now.slow |= CHECK_SLOW_WRITE;
        written.record = record;
        written.ptr    = ptr;
        written.now    = *now;
        written.before = *before;
        written.bytes  = (uint32_t)__builtin_popcount(now->who & BYTES_MASK);
        memcpy(written.old, ptr, written.bytes);
    }
}

#define LATER_MOST 64u

static struct {
    uint32_t guess[LATER_MOST]; /* places */
    uint32_t guesses;
    struct {
        const check_record *record;
        const void         *ptr;
        check_access        now, before;
        int                 writes;
    } race[LATER_MOST];
    uint32_t races;
} later;

static int is_guess(uint32_t pc)
{
    uint32_t i = 0;

    while ((i < later.guesses) && (later.guess[i] != pc)) {
        i++;
    }
    return i < later.guesses;
}

/* The thread is about to change a word by an atomic that compares. */
static void note_guesses(const check_cell *cell, const check_access *now)
{
    for (uint32_t i = 0; i < 2; i++) {
        const check_access *read = &cell->read[i];

        if ((read->block == now->block) && (thread_of(read) == thread_of(now)) &&
            ((read->who & STRONG) == 0) && (later.guesses < LATER_MOST) && !is_guess(read->pc)) {
            later.guess[later.guesses++] = read->pc;
        }
    }
}

/* Nonzero: a plain read and an atomic, which can wait for the end of the kernel. */
static int is_kept(const check_record *record, const void *ptr, const check_access *now, int writes,
                   const check_access *before, int wrote)
{
    const check_access *read   = wrote ? now : before;
    const check_access *atomic = wrote ? before : now;

    if ((writes && wrote) || ((read->who & STRONG) != 0) ||
        ((atomic->who & (STRONG | FRAGILE)) != STRONG) || (later.races == LATER_MOST)) {
        return 0;
    }
    for (uint32_t i = 0; i < later.races; i++) {
        if ((later.race[i].now.pc == now->pc) && (later.race[i].before.pc == before->pc)) {
            return 1;
        }
    }
    later.race[later.races].record   = record;
    later.race[later.races].ptr      = ptr;
    later.race[later.races].now      = *now;
    later.race[later.races].before   = *before;
    later.race[later.races++].writes = writes;
    return 1;
}

static void note_pool_leaks(void);

void check_shadow_end_launch(void)
{
    note_pool_leaks();
    for (uint32_t i = 0; i < later.races; i++) {
        const int writes = later.race[i].writes;

        if (!is_guess(writes ? later.race[i].before.pc : later.race[i].now.pc)) {
            report_race(CHECK_ERROR, later.race[i].record, later.race[i].ptr,
                        &later.race[i].now, writes, &later.race[i].before, !writes);
        }
    }
    later.races = later.guesses = 0;
    check_shadow_settle();
}

static int is_race(const check_record *record, const check_access *before, const check_access *now)
{
    return (before->block >= check_now.first) && ((before->who & now->who & BYTES_MASK) != 0) &&
           !is_before(record, before) && !is_strong_pair(record, before, now);
}

static uint32_t written_of(const check_record *record, const check_cell *cell)
{
    return cell->valid | (uint32_t)record->known;
}

static void report_invalid(const check_record *record, const check_cell *cell, const void *ptr,
                           size_t bytes, const check_access *now)
{
    const uint32_t missing = now->who & BYTES_MASK & ~written_of(record, cell);
    const int      flies   = (cell->write.block == now->block) &&
                             ((cell->write.who & missing) != 0);
    char           where[400];
    check_finding *finding;

    check_describe(record, ptr, where, sizeof(where));
    finding = check_begin(CHECK_ERROR, "uninitialised", "read of %s memory that %s: %s",
                          record->shared ? "shared" : "global",
                          flies ? "an asynchronous copy may not have reached, because nothing has "
                                  "waited for it"
                                : "nothing has written", where);
    add_access(finding, now, "read", (uint32_t)bytes);
    if (record->pc != NULL) {
        check_at(finding, record->pc, "allocated");
    }
    check_end(finding);
}

/* ---- pools: only the bytes of live allocations may be accessed ---- */

typedef struct pool_allocation {
    unsigned char *base;
    size_t         bytes;
    const void    *pc;
    const void    *freed; /* NULL: it is live */
} pool_allocation;

static struct {
    pool_allocation *of;
    uint32_t         count;
    uint32_t         room;
    uint32_t         block; /* they belong to it */
    int              forgets; /* 1: marks have freed some, and which is not known */
} pools;

/* Set or clear the bits of bytes in a pool; live: those of allocations. */
static void mark_pool(void *ptr, size_t bytes, int live)
{
    check_record *record = check_find(ptr);
    check_cell   *cells;
    size_t        at;

    if ((record == NULL) || !record->shared) {
        return; /* the allocation has spilled to global memory */
    }
    cells = check_cells(record);
    at    = (size_t)((unsigned char *)ptr - record->base);
    for (size_t i = at; i < at + bytes; i++) {
        check_cell *cell = &cells[i / 4u];
        uint8_t     bit  = (uint8_t)(1u << (i % 4u));

        if (cell->block != check_now.block) {
            *cell = (check_cell){ .block = check_now.block };
        }
        cell->pooled |= bit;
        cell->live    = (uint8_t)((cell->live & ~bit) | (live ? bit : 0u));
        cell->valid   = (uint8_t)(cell->valid & ~bit);
        cell->write   = cell->read[0] = cell->read[1] = (check_access){ .block = 0 };
    }
}

/* A block has ended: what it has not freed. */
static void note_pool_leaks(void)
{
    for (uint32_t i = 0; !pools.forgets && (i < pools.count); i++) {
        if (pools.of[i].freed == NULL) {
            check_finding *finding = check_begin(CHECK_NOTE, "pool-leak", "a pool's allocation of "
                                                 "%zu bytes is not freed", pools.of[i].bytes);

            check_at(finding, pools.of[i].pc, "allocated");
            check_end(finding);
        }
    }
    pools.count = 0;
    pools.forgets = 0;
}

void shpool_check_pool(void *start, size_t bytes)
{
    if (pools.block != check_now.block) {
        note_pool_leaks();
        pools.block = check_now.block;
    }
    mark_pool(start, bytes, 0);
}

static pool_allocation *pool_find(const void *ptr)
{
    for (uint32_t i = pools.count; i > 0; i--) {
        if ((pools.of[i - 1u].base == ptr) && (pools.of[i - 1u].freed == NULL)) {
            return &pools.of[i - 1u];
        }
    }
    return NULL;
}

void shpool_check_pool_malloc(void *ptr, size_t bytes, const void *pc)
{
    if (pool_find(ptr) != NULL) {
        return; /* all lanes of a group get the same one */
    }
    if (pools.count == pools.room) {
        pools.room = (pools.room == 0) ? 256u : 2u * pools.room;
        pools.of   = check_memory(realloc(pools.of, pools.room * sizeof(*pools.of)));
    }
    pools.of[pools.count++] = (pool_allocation){ ptr, bytes, pc, NULL };
    mark_pool(ptr, bytes, 1);
}

/* The allocation that an access means: the one that it is in or follows closely, a live one first;
 * memory beyond its end is often some that was freed. */
#define CLOSELY 64u

static const pool_allocation *pool_near(const void *ptr)
{
    const unsigned char   *at    = ptr;
    const pool_allocation *found = NULL;

    for (uint32_t i = 0; i < pools.count; i++) {
        const pool_allocation *one = &pools.of[i];

        if (one->base > at) {
            continue;
        }
        if ((one->freed == NULL) && (at < one->base + one->bytes + CLOSELY)) {
            return one;
        }
        if ((found == NULL) || (one->base >= found->base)) {
            found = one;
        }
    }
    return found;
}

void shpool_check_pool_free(void *ptr, const void *pc)
{
    pool_allocation *found = pool_find(ptr);

    if (found != NULL) {
        found->freed = pc;
        mark_pool(ptr, found->bytes, 0);
        return;
    }
    for (uint32_t i = pools.count; i > 0; i--) {
        if (pools.of[i - 1u].base == ptr) {
            check_finding *finding = check_begin(CHECK_ERROR, "pool-double-free", "free of a "
                                                 "pool's allocation of %zu bytes, which was freed",
                                                 pools.of[i - 1u].bytes);

            check_at(finding, pc, "free by thread %u of block %u", simt_self->rank,
                     simt_self->block);
            check_at(finding, pools.of[i - 1u].freed, "freed before");
            check_end(finding);
            return;
        }
    }
    if (!pools.forgets) {
        const pool_allocation *near    = pool_near(ptr);
        check_finding         *finding = check_begin(CHECK_ERROR, "pool-invalid-free", "free of an "
                                                     "address that a pool has not returned");

        check_at(finding, pc, "free by thread %u of block %u", simt_self->rank, simt_self->block);
        if ((near != NULL) && ((unsigned char *)ptr < near->base + near->bytes)) {
            check_at(finding, near->pc, "byte %zu of the %zu bytes that were allocated",
                     (size_t)((unsigned char *)ptr - near->base), near->bytes);
        }
        check_end(finding);
    }
}

void shpool_check_pool_resize(void *ptr, size_t bytes)
{
    pool_allocation *found = pool_find(ptr);

    if ((found != NULL) && (bytes < found->bytes)) {
        mark_pool(found->base + bytes, found->bytes - bytes, 0);
    } else if (found != NULL) {
        mark_pool(found->base + found->bytes, bytes - found->bytes, 1);
    }
    if (found != NULL) {
        found->bytes = bytes;
    }
}

void shpool_check_pool_spills(void) { check_now.spills = 1; }

void shpool_check_pool_forget(void *start, size_t bytes)
{
    check_record *record = check_find(start);
    check_cell   *cells  = check_cells(record);
    size_t        at     = (size_t)((unsigned char *)start - record->base);

    pools.forgets = 1;
    for (size_t i = at / 4u; i < (at + bytes) / 4u; i++) {
        cells[i].pooled = 0;
    }
}

/* ---- the rules of a word ---- */

static void report_pool(const void *ptr, const check_access *now, int writes)
{
    const pool_allocation *near  = pool_near(ptr);
    check_finding         *finding;

    if (near == NULL) {
        finding = check_begin(CHECK_ERROR, "pool-bounds", "access to a pool outside its "
                              "allocations");
    } else {
        const size_t off = (size_t)((const unsigned char *)ptr - near->base);

        finding = check_begin(CHECK_ERROR, ((near->freed != NULL) && (off < near->bytes))
                                               ? "pool-use-after-free" : "pool-bounds",
                              "access to byte %zu of a pool's allocation of %zu bytes%s", off,
                              near->bytes, (near->freed != NULL) ? ", which was freed" : "");
    }
    add_access(finding, now, writes ? "write" : "read",
               (uint32_t)__builtin_popcount(now->who & BYTES_MASK));
    if (near != NULL) {
        check_at(finding, near->pc, "allocated");
        if (near->freed != NULL) {
            check_at(finding, near->freed, "freed");
        }
    }
    check_end(finding);
}

/* Reads: keep the first that later ones do not follow, and the last. */
static void note_read(const check_record *record, check_cell *cell, const check_access *now)
{
    if ((cell->read[0].block == 0) || is_before(record, &cell->read[0])) {
        cell->read[0] = *now;
    } else {
        cell->read[1] = *now;
    }
}

/* A copy of a structure, which may have padding, is wrong if nothing has written any byte of it. */
static int is_unwritten(const check_record *record, const check_cell *cells, size_t at, size_t end)
{
    int valid = !check_is_tracked(record) || (end - at < 4u);

    for (size_t i = at / 4u; !valid && (4u * i < end); i++) {
        valid = (written_of(record, &cells[i]) != 0) &&
                (!record->shared || (cells[i].block == check_now.block));
    }
    return !valid;
}

static void one_word(const check_record *record, check_cell *cell, const void *ptr, unsigned how,
                     const check_access *now)
{
    const int      writes = (how & SHPOOL_CHECK_WRITE) != 0;
    const unsigned bytes  = now->who & BYTES_MASK;

    if (record->shared && (cell->block != check_now.block)) {
        *cell = (check_cell){ .block = check_now.block };
    }
    if ((cell->pooled & bytes & ~(unsigned)cell->live) != 0) {
        report_pool(ptr, now, writes);
        return;
    }
    if ((!writes || ((how & SHPOOL_CHECK_ACQUIRE) != 0)) && ((how & SHPOOL_CHECK_LOOSE) == 0) &&
        ((bytes & ~written_of(record, cell)) != 0)) {
        report_invalid(record, cell, ptr, (size_t)__builtin_popcount(bytes), now);
        cell->valid |= (uint8_t)bytes; /* once for each word */
    }
    if (writes && ((how & SHPOOL_CHECK_COMPARE) != 0)) {
        note_guesses(cell, now);
    }
    if ((cell->write.block == 0) || !is_race(record, &cell->write, now)) {
        /* nothing */
    } else if (writes && (((cell->write.who | now->who) & STRONG) == 0)) {
        note_writes(record, ptr, now, &cell->write);
    } else if (!is_kept(record, ptr, now, writes, &cell->write, 1)) {
        report_race(CHECK_ERROR, record, ptr, now, writes, &cell->write, 1);
    }
    for (uint32_t i = 0; writes && (i < 2); i++) {
        if ((cell->read[i].block != 0) && is_race(record, &cell->read[i], now) &&
            !is_kept(record, ptr, now, 1, &cell->read[i], 0)) {
            report_race(CHECK_ERROR, record, ptr, now, 1, &cell->read[i], 0);
        }
    }
    if (writes) {
        cell->valid  |= (uint8_t)bytes;
        cell->write   = *now;
        cell->read[0] = cell->read[1] = (check_access){ .block = 0 };
    } else {
        note_read(record, cell, now);
    }
}

void check_shadow(const void *ptr, size_t bytes, unsigned how, const void *pc)
{
    check_record *record = check_find(ptr);
    check_cell   *cells  = check_cells(record);
    size_t        at     = (size_t)((const unsigned char *)ptr - record->base);
    size_t        end    = at + bytes;
    uint32_t      tick   = check_tick();
    check_access  now    = {
        .pc    = (uint32_t)((const unsigned char *)pc - __executable_start),
        .block = check_now.block,
    };

    now.who = (((tick < TICK_MOST) ? tick : TICK_MOST) << TICK_BIT) |
              (simt_self->rank << THREAD_BIT);
    if ((how & (SHPOOL_CHECK_ATOMIC | SHPOOL_CHECK_VOLATILE)) != 0) {
        now.who |= STRONG | (((how & SHPOOL_CHECK_VOLATILE) != 0) ? FRAGILE : 0u);
    }
    if (((how & (SHPOOL_CHECK_LOOSE | SHPOOL_CHECK_WRITE)) == SHPOOL_CHECK_LOOSE) &&
        is_unwritten(record, cells, at, end)) {
        report_invalid(record, &cells[at / 4u], ptr, bytes, &now);
    }
    for (size_t word = at / 4u; 4u * word < end; word++) {
        size_t   from = (at > 4u * word) ? at - 4u * word : 0u;
        size_t   to   = (end < 4u * word + 4u) ? end - 4u * word : 4u;
        check_access one = now;

        one.who |= ((1u << to) - 1u) & ~((1u << from) - 1u);
        one_word(record, &cells[word], record->base + 4u * word + from, how, &one);
    }
}

/* ---- what the host, pools and copies do to memory ---- */

void check_unwrite(void *ptr, size_t bytes)
{
    check_record *record = check_find(ptr);
    size_t        at     = (record != NULL) ? (size_t)((unsigned char *)ptr - record->base) : 0u;

    for (size_t i = at; (record != NULL) && (i < at + bytes) && (i < record->bytes); i++) {
        check_cells(record)[i / 4u].valid &= (uint8_t)~(1u << i % 4u);
    }
}

/* No launch runs: the accesses that are remembered are past in any case. */
void check_wipe(void *ptr, size_t bytes)
{
    check_record *record = check_find(ptr);
    const size_t  at     = (size_t)((unsigned char *)ptr - record->base);

    if (bytes == record->bytes) {
        record->known = 0xfu;
    }
    for (size_t i = at; (record->known == 0) && (i < at + bytes);) {
        const int all = (i % 4u == 0) && (i + 4u <= at + bytes);

        check_cells(record)[i / 4u].valid |= (uint8_t)(all ? 0xfu : 1u << i % 4u);
        i += all ? 4u : 1u;
    }
}
