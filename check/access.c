/* SPDX-License-Identifier: BSD-3-Clause */
/* What compiled code calls: -fsanitize=thread makes clang call __tsan_read4() and the like before
 * each access, and shpool-check turns calls of memcpy(), malloc() and some others into calls of
 * shpool_check_c_memcpy() and so on. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

#define NEAR  (1u << 20) /* of the running frame: the thread's own stack */
#define SPINS (1u << 16) /* accesses of a thread that does not let others run */
#define HERE  __builtin_return_address(0)

/* ---- accesses that miss every record ---- */

static int is_mapped(const void *ptr)
{
    return msync((void *)((size_t)ptr & ~(size_t)4095), 1, MS_ASYNC) == 0;
}

static void report_stray(const void *ptr, size_t bytes, unsigned how, const void *pc)
{
    const char    *verb    = ((how & SHPOOL_CHECK_WRITE) != 0) ? "write" : "read";
    const int      mapped  = is_mapped(ptr);
    check_finding *finding = check_begin(
        CHECK_ERROR, mapped ? "host-memory" : "bounds", mapped
            ? "a kernel accesses %p, which is host memory" : "a kernel accesses %p, which is not "
            "memory", ptr);

    check_at(finding, pc, "%s of %zu bytes by thread %u of block %u", verb, bytes, simt_self->rank,
             simt_self->block);
    check_end(finding);
    if (!mapped) {
        simt_engine_fault(verb, 0, (uint32_t)bytes); /* does not return */
    }
}

static void report_bounds(const check_record *record, const void *ptr, size_t bytes, unsigned how,
                          const void *pc)
{
    char           where[400];
    check_finding *finding;

    check_describe(record, ptr, where, sizeof(where));
    finding = check_begin(CHECK_ERROR, (record->freed != NULL) ? "use-after-free" : "bounds",
                          "out of bounds: %s%s", (record->freed != NULL) ? "freed memory, " : "",
                          where);
    check_at(finding, pc, "%s of %zu bytes by thread %u of block %u",
             ((how & SHPOOL_CHECK_WRITE) != 0) ? "write" : "read", bytes, simt_self->rank,
             simt_self->block);
    if (record->pc != NULL) {
        check_at(finding, record->pc, "allocated");
    }
    if (record->freed != NULL) {
        check_at(finding, record->freed, "freed");
    }
    check_end(finding);
}

static void report_host(const check_record *record, const void *ptr, const void *pc)
{
    char           where[400];
    check_finding *finding;

    check_describe(record, ptr, where, sizeof(where));
    finding = check_begin(CHECK_ERROR, "host-access", "the host accesses device memory, %s", where);
    check_at(finding, pc, "access");
    check_at(finding, record->pc, "allocated");
    check_end(finding);
}

static int is_closure(const void *ptr)
{
    return (size_t)ptr - (size_t)check_now.call->closure < check_now.call->closure_bytes;
}

/* ---- an access ---- */

/* Where others may run: at atomics and volatile accesses.  Without a race a switch at another
 * access changes nothing; SPINS is for a loop that waits for a plain variable. */
static void take_turns(unsigned how)
{
    if ((how & (SHPOOL_CHECK_ATOMIC | SHPOOL_CHECK_VOLATILE)) != 0) {
        if (--simt_self->countdown == 0) {
            simt_engine_switch();
        }
    } else if (++check_now.spins >= SPINS) {
        check_now.spins = 0;
        simt_engine_switch();
    }
}

void shpool_check_access(const void *ptr, size_t bytes, unsigned how, const void *pc)
{
    const check_record *record = check_find(ptr);

    if (simt_self == NULL) {
        if ((record != NULL) && (record->name == NULL) && (record->kind == SHPOOL_CHECK_DEVICE)) {
            report_host(record, ptr, pc);
        }
        return;
    }
    take_turns(how);
    if (record == NULL) {
        if (((size_t)ptr - (size_t)__builtin_frame_address(0) + NEAR > 2u * NEAR) &&
            !check_is_static(ptr) && !is_closure(ptr) && !(check_now.spills && is_mapped(ptr))) {
            report_stray(ptr, bytes, how, pc);
        }
        return;
    }
    if ((record->freed != NULL) || ((const unsigned char *)ptr < record->base) ||
        ((const unsigned char *)ptr + bytes > record->base + record->bytes)) {
        report_bounds(record, ptr, bytes, how, pc);
        return;
    }
    if (((how & (SHPOOL_CHECK_PACKED | SHPOOL_CHECK_LOOSE)) == 0) && (bytes <= 16) &&
        (((size_t)ptr & (bytes - 1u)) != 0) && ((bytes & (bytes - 1u)) == 0)) {
        check_finding *finding = check_begin(CHECK_ERROR, "misaligned", "%p is not aligned to %zu "
                                             "bytes", ptr, bytes);

        check_at(finding, pc, "access by thread %u of block %u", simt_self->rank,
                 simt_self->block);
        check_end(finding);
    }
    if ((how & (SHPOOL_CHECK_ATOMIC | SHPOOL_CHECK_VOLATILE)) != 0) {
        check_sync(ptr, how);
    }
    check_shadow(ptr, bytes, how, pc);
}

/* ---- the compiler's calls ---- */

#define ENTRY(_name, _bytes, _how) \
    void __tsan_##_name(void *ptr); \
    void __tsan_##_name(void *ptr) { shpool_check_access(ptr, _bytes, _how, HERE); }
#define ENTRIES(_bytes) \
    ENTRY(read##_bytes, _bytes, 0) \
    ENTRY(write##_bytes, _bytes, SHPOOL_CHECK_WRITE) \
    ENTRY(unaligned_read##_bytes, _bytes, SHPOOL_CHECK_PACKED) \
    ENTRY(unaligned_write##_bytes, _bytes, SHPOOL_CHECK_WRITE | SHPOOL_CHECK_PACKED) \
    ENTRY(volatile_read##_bytes, _bytes, SHPOOL_CHECK_VOLATILE | SHPOOL_CHECK_ACQUIRE) \
    ENTRY(volatile_write##_bytes, _bytes, SHPOOL_CHECK_VOLATILE | SHPOOL_CHECK_WRITE) \
    ENTRY(unaligned_volatile_read##_bytes, _bytes, \
          SHPOOL_CHECK_VOLATILE | SHPOOL_CHECK_ACQUIRE | SHPOOL_CHECK_PACKED) \
    ENTRY(unaligned_volatile_write##_bytes, _bytes, \
          SHPOOL_CHECK_VOLATILE | SHPOOL_CHECK_WRITE | SHPOOL_CHECK_PACKED)
ENTRIES(1)
ENTRIES(2)
ENTRIES(4)
ENTRIES(8)
ENTRIES(16)

void __tsan_init(void);
void __tsan_init(void) {}
void __tsan_vptr_update(void *at, void *value);
void __tsan_vptr_update(void *at, void *value) { (void)at; (void)value; }
void __tsan_vptr_read(void *at);
void __tsan_vptr_read(void *at) { (void)at; }

/* ---- the C library's functions, as kernels and hosts call them ---- */

static void copy_access(void *to, const void *from, size_t bytes, const void *pc)
{
    if ((bytes != 0) && (from != NULL)) {
        shpool_check_access(from, bytes, SHPOOL_CHECK_LOOSE, pc);
    }
    if (bytes != 0) {
        shpool_check_access(to, bytes, SHPOOL_CHECK_WRITE | SHPOOL_CHECK_LOOSE, pc);
    }
}

void *shpool_check_c_memcpy(void *to, const void *from, size_t bytes);
void *shpool_check_c_memmove(void *to, const void *from, size_t bytes);
void *shpool_check_c_memset(void *to, int value, size_t bytes);
void *shpool_check_c_malloc(size_t bytes);
void shpool_check_c_free(void *ptr);
void shpool_check_c_assert(const char *what, const char *file, unsigned line, const char *function);

void *shpool_check_c_memcpy(void *to, const void *from, size_t bytes)
{
    copy_access(to, from, bytes, HERE);
    return memmove(to, from, bytes);
}

void *shpool_check_c_memmove(void *to, const void *from, size_t bytes)
{
    copy_access(to, from, bytes, HERE);
    return memmove(to, from, bytes);
}

void *shpool_check_c_memset(void *to, int value, size_t bytes)
{
    copy_access(to, NULL, bytes, HERE);
    return memset(to, value, bytes);
}

void *shpool_check_c_malloc(size_t bytes)
{
    return (simt_self == NULL) ? malloc(bytes)
                               : shpool_check_malloc(bytes, SHPOOL_CHECK_HEAP, HERE);
}

void shpool_check_c_free(void *ptr)
{
    const check_record *record = check_find(ptr);

    if ((simt_self != NULL) || ((record != NULL) && (record->name == NULL))) {
        (void)shpool_check_free(ptr, HERE);
    } else {
        free(ptr);
    }
}

void shpool_check_c_assert(const char *what, const char *file, unsigned line, const char *function)
{
    if (simt_self == NULL) {
        __assert_fail(what, file, line, function);
    }
    shpool_check_trap(what, file, (int)line);
}

/* ---- the host's copies ---- */

static int is_outside(const void *ptr, size_t bytes, const void *pc)
{
    const unsigned char *at     = ptr;
    const check_record  *record = check_find(ptr);
    check_finding       *finding;
    char                 where[400];

    if ((record == NULL) || ((record->freed == NULL) && (at >= record->base) &&
                             (at + bytes <= record->base + record->bytes))) {
        return 0;
    }
    check_describe(record, ptr, where, sizeof(where));
    finding = check_begin(CHECK_ERROR, (record->freed != NULL) ? "use-after-free" : "bounds",
                          "a copy of %zu bytes from or to %s", bytes, where);
    check_at(finding, pc, "copy");
    if (record->pc != NULL) {
        check_at(finding, record->pc, "allocated");
    }
    if (record->freed != NULL) {
        check_at(finding, record->freed, "freed");
    }
    check_end(finding);
    return 1;
}

int shpool_check_copy(void *to, const void *from, int value, size_t bytes, const void *pc)
{
    if ((bytes == 0) || (to == from)) {
        return 0;
    }
    if ((to == NULL) || is_outside(to, bytes, pc) ||
        ((from != NULL) && is_outside(from, bytes, pc))) {
        return 1;
    }
    if (from != NULL) {
        memmove(to, from, bytes);
    } else {
        memset(to, value, bytes);
    }
    if (check_find(to) != NULL) {
        check_wipe(to, bytes, 1);
    }
    return 0;
}
