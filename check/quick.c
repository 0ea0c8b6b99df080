/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain accesses of compiled code: __tsan_read4() and the like.
 *
 * Nearly all of them are aligned, inside a live record, and ordered after what is remembered of
 * their words.  These only change the cell, here and without a call.  shpool_check_access() does
 * everything else, and every report. */
#include "check.h"

#define HERE   __builtin_return_address(0)
#define ALWAYS static inline __attribute__((always_inline))

extern unsigned char __executable_start[];

/* Nonzero: the accesses do not race.  0: they may; a block before this one is such a case. */
ALWAYS int is_past(const check_access *before, uint32_t bytes,
                          const check_thread_order *self)
{
    if (before->block == check_now.block) {
        const uint32_t thread = (before->who >> CHECK_THREAD_BIT) & 0x3ffu;

        return ((before->who & bytes) == 0) || (thread == simt_self->rank) ||
               (self->seen->tick[thread] >= before->who >> CHECK_TICK_BIT);
    }
    return (before->block < check_now.first) || ((before->who & bytes) == 0);
}

/* One word; 0: not done. */
ALWAYS int quick_word(const check_record *record, check_cell *cell, int writes,
                             const check_access *now, const check_thread_order *self)
{
    const uint32_t bytes = now->who & CHECK_BYTES_MASK;

    if ((record->shared && (cell->block != check_now.block)) ||
        ((cell->pooled & bytes & ~(uint32_t)cell->live) != 0) ||
        (!writes && ((bytes & ~((uint32_t)cell->valid | record->known)) != 0)) ||
        !is_past(&cell->write, bytes, self)) {
        return 0;
    }
    if (!writes) {
        cell->read[is_past(&cell->read[0], CHECK_BYTES_MASK, self) ? 0 : 1] = *now;
        return 1;
    }
    if (!is_past(&cell->read[0], bytes, self) || !is_past(&cell->read[1], bytes, self)) {
        return 0;
    }
    cell->valid  |= (uint8_t)bytes;
    cell->write   = *now;
    cell->read[0] = cell->read[1] = (check_access){ .block = 0 };
    return 1;
}

ALWAYS check_record *record_of(const unsigned char *ptr)
{
    size_t   at    = (size_t)ptr - (size_t)check_map.global.start;
    uint32_t owner = 0;

    if (at < check_map.global.bytes) {
        owner = check_map.global.owner[at / CHECK_UNIT];
    } else if ((at = (size_t)ptr - (size_t)check_map.shared.start) < check_map.shared.bytes) {
        owner = check_map.shared.owner[at / CHECK_FINE];
    } else if ((at = (size_t)ptr - (size_t)check_map.device.start) < check_map.device.bytes) {
        owner = check_map.device.owner[at / CHECK_FINE];
    }
    return (owner != 0) ? &check_map.record[owner - 1u] : NULL;
}

/* An aligned access of 1 to 16 bytes, a power of two; 0: not done. */
ALWAYS int quick(const unsigned char *ptr, size_t bytes, int writes, const void *pc)
{
    const check_thread_order *self;
    const check_record       *record;
    check_access              now;
    check_cell               *cell;
    size_t                    at;

    if (simt_self == NULL) { /* the host */
        return (size_t)ptr - (size_t)check_map.global.start >= check_map.global.bytes;
    }
    if ((((size_t)ptr & (bytes - 1u)) != 0) || (check_now.slow != 0) ||
        (check_now.spins + 1u >= CHECK_SPINS)) {
        return 0;
    }
    record = record_of(ptr);
    if (record == NULL) {
        return (size_t)ptr - (size_t)__builtin_frame_address(0) + CHECK_NEAR <= 2u * CHECK_NEAR;
    }
    if ((record->freed != NULL) || (record->cells == NULL)) {
        return 0;
    }
    at   = (size_t)(ptr - record->base);
    self = &check_thread_orders[simt_self->rank];
    if ((at >= record->bytes) || (bytes > record->bytes - at) || (self->now >= CHECK_TICK_MOST)) {
        return 0;
    }
    now.pc    = (uint32_t)((const unsigned char *)pc - __executable_start);
    now.block = check_now.block;
    now.who   = (self->now << CHECK_TICK_BIT) | (simt_self->rank << CHECK_THREAD_BIT) |
                ((bytes < 4u) ? ((1u << bytes) - 1u) << at % 4u : CHECK_BYTES_MASK);
    cell      = &record->cells[at / 4u];
    for (size_t i = 0; i < (bytes + 3u) / 4u; i++) {
        if (!quick_word(record, &cell[i], writes, &now, self)) {
            return 0;
        }
    }
    check_now.spins++;
    return 1;
}

#define ENTRY(_name, _bytes, _how) \
    void __tsan_##_name(void *ptr); \
    void __tsan_##_name(void *ptr) \
    { \
        if (!quick(ptr, _bytes, _how, HERE)) { \
            shpool_check_access(ptr, _bytes, _how, HERE); \
        } \
    }
#define ENTRIES(_bytes) \
    ENTRY(read##_bytes, _bytes, 0) \
    ENTRY(write##_bytes, _bytes, SHPOOL_CHECK_WRITE)
ENTRIES(1)
ENTRIES(2)
ENTRIES(4)
ENTRIES(8)
ENTRIES(16)
