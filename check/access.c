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

#define SPINS_EXPLORED 8u
#define REGISTERED_MOST 256u
#define HERE  __builtin_return_address(0)

/* cudaError_t */
#define INVALID_VALUE     1
#define INVALID_DIRECTION 21

static void at_thread(check_finding *finding, const void *pc, unsigned how, size_t bytes)
{
    check_at(finding, pc, "%s of %zu byte%s by thread %u of block %u",
             ((how & SHPOOL_CHECK_WRITE) != 0) ? "write" : "read", bytes, (bytes == 1) ? "" : "s",
             simt_self->rank, simt_self->block);
}

/* ---- accesses that miss every record ---- */

static int is_mapped(const void *ptr)
{
    return msync((void *)((size_t)ptr & ~(size_t)4095), 1, MS_ASYNC) == 0;
}

static void report_stray(const void *ptr, size_t bytes, unsigned how, const void *pc)
{
    const int      mapped  = is_mapped(ptr);
    check_finding *finding = check_begin(
        CHECK_ERROR, mapped ? "host-memory" : "bounds", mapped
            ? "a kernel accesses %p, which is host memory" : "a kernel accesses %p, which is not "
            "memory", ptr);

    at_thread(finding, pc, how, bytes);
    check_end(finding);
    if (!mapped) {
        simt_engine_fault("access", 0, (uint32_t)bytes); /* does not return */
    }
}

/* An access, or a copy by the host, that a record does not contain. */
static void report_bounds(const check_record *record, const void *ptr, size_t bytes, unsigned how,
                          const void *pc)
{
    char           where[400];
    check_finding *finding;

    check_describe(record, ptr, where, sizeof(where));
    finding = check_begin(CHECK_ERROR, (record->freed != NULL) ? "use-after-free" : "bounds",
                          "out of bounds: %s%s", (record->freed != NULL) ? "freed memory, " : "",
                          where);
    if (simt_self != NULL) {
        at_thread(finding, pc, how, bytes);
    } else {
        check_at(finding, pc, "copy of %zu bytes by the host", bytes);
    }
    if (record->pc != NULL) {
        check_at(finding, record->pc, "allocated");
    }
    if (record->freed != NULL) {
        check_at(finding, record->freed, "freed");
    }
    check_end(finding);
}

static int contains(const check_record *record, const void *ptr, size_t bytes)
{
    size_t at = (size_t)ptr - (size_t)record->base;

    return (record->freed == NULL) && (at <= record->bytes) && (bytes <= record->bytes - at);
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

/* Memory of the host that kernels may access. */
static struct {
    struct {
        const char *start;
        size_t      bytes;
    } of[REGISTERED_MOST];
    uint32_t count;
} registered;

int shpool_check_register(const void *ptr, size_t bytes)
{
    uint32_t i     = 0;
    int      error = INVALID_VALUE;

    check_lock();
    while ((i < registered.count) && (registered.of[i].start != ptr)) {
        i++;
    }
    if ((bytes == 0) && (i < registered.count)) {
        registered.of[i] = registered.of[--registered.count];
        error            = 0;
    } else if ((bytes != 0) && (i == registered.count) && (i < REGISTERED_MOST)) {
        registered.of[i].start = ptr;
        registered.of[i].bytes = bytes;
        registered.count++;
        error = 0;
    }
    check_unlock();
    return error;
}

static int is_registered(const void *ptr)
{
    uint32_t i = 0;

    while ((i < registered.count) &&
           ((size_t)ptr - (size_t)registered.of[i].start >= registered.of[i].bytes)) {
        i++;
    }
    return i < registered.count;
}

static int is_closure(const void *ptr)
{
    return (size_t)ptr - (size_t)check_now.call->closure < check_now.call->closure_bytes;
}

/* ---- an access ---- */

static void stop_livelock(size_t bytes, unsigned how, const void *pc)
{
    check_finding *finding = check_begin(
        CHECK_ERROR, "livelock", "%u thousand atomic and volatile accesses in a row, and no thread "
        "of the block does anything else: a loop that never ends, or --budget is too small",
        check_asked()->budget);

    at_thread(finding, pc, how, bytes);
    check_end(finding);
    simt_engine_fault("a loop", 0, 4); /* does not return */
}

/* In an exploration a loop that waits would be tried with every number of rounds.  A thread whose
 * atomic and volatile accesses see no change waits for one, without a preemption: the executor
 * watches a word in the gap before the first shared array. */
static struct {
    const void   *ptr; /* of the last access, if it may change memory */
    size_t        bytes;
    unsigned char old[16];
    struct {
        uint32_t seen, times;
    } thread[SHPOOL_MAX_THREADS];
} spin;

static uint32_t *changes(void)
{
    size_t bytes;

    return (uint32_t *)(void *)check_window(&bytes);
}

void check_spin_begin(void)
{
    memset(&spin, 0, sizeof(spin));
    *changes() = 0;
}

static void wait_for_change(unsigned how)
{
    uint32_t *const count = changes();

    *count += (spin.ptr != NULL) && (memcmp(spin.ptr, spin.old, spin.bytes) != 0);
    spin.ptr = NULL;
    if ((how & (SHPOOL_CHECK_ATOMIC | SHPOOL_CHECK_VOLATILE)) == 0) {
        *count += (how & SHPOOL_CHECK_WRITE) != 0;
    } else if (spin.thread[simt_self->rank].seen != *count) {
        spin.thread[simt_self->rank].seen  = *count;
        spin.thread[simt_self->rank].times = 0;
    } else if (++spin.thread[simt_self->rank].times >= SPINS_EXPLORED) {
        spin.thread[simt_self->rank].times = 0;
        (void)simt_engine_wait_briefly(simt_self->arena_begin, *count, "a loop", 0);
    }
}

/* The next access sees whether this one has changed memory. */
static void note_value(const void *ptr, size_t bytes)
{
    if (bytes <= sizeof(spin.old)) {
        spin.ptr   = ptr;
        spin.bytes = bytes;
        memcpy(spin.old, ptr, bytes);
    }
}

/* Where others may run: at atomics and volatile accesses.  Without a race a switch at another
 * access changes nothing; CHECK_SPINS is for a loop that waits for a plain variable. */
static void take_turns(size_t bytes, unsigned how, const void *pc)
{
    if (check_asked()->explore != 0) {
        wait_for_change(how);
    }
    if ((how & (SHPOOL_CHECK_ATOMIC | SHPOOL_CHECK_VOLATILE)) != 0) {
        check_now.idle = (check_now.spins == check_now.last) ? check_now.idle + 1u : 0u;
        check_now.last = check_now.spins;
        if (check_now.idle > 1000ull * check_asked()->budget) {
            stop_livelock(bytes, how, pc);
        }
        if (--simt_self->countdown == 0) {
            simt_engine_switch();
        }
    } else if (++check_now.spins >= CHECK_SPINS) {
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
    check_shadow_settle();
    take_turns(bytes, how, pc);
    if (record == NULL) {
        if (((size_t)ptr - (size_t)__builtin_frame_address(0) + CHECK_NEAR > 2u * CHECK_NEAR) &&
            !check_is_static(ptr) && !is_closure(ptr) && !is_registered(ptr) &&
            !(check_now.spills && is_mapped(ptr))) {
            report_stray(ptr, bytes, how, pc);
        }
        return;
    }
    if (!contains(record, ptr, bytes)) {
        report_bounds(record, ptr, bytes, how, pc);
        return;
    }
    if (((how & (SHPOOL_CHECK_PACKED | SHPOOL_CHECK_LOOSE)) == 0) && (bytes <= 16) &&
        (((size_t)ptr & (bytes - 1u)) != 0) && ((bytes & (bytes - 1u)) == 0)) {
        check_finding *finding = check_begin(CHECK_ERROR, "misaligned", "%p is not aligned to %zu "
                                             "bytes", ptr, bytes);

        at_thread(finding, pc, how, bytes);
        check_end(finding);
    }
    if ((how & (SHPOOL_CHECK_ATOMIC | SHPOOL_CHECK_VOLATILE)) != 0) {
        note_value(ptr, bytes);
        check_sync(ptr, how);
    }
    if (check_asked()->counts != 0) {
        check_count(record, ptr, bytes, how, pc);
    }
    check_shadow(ptr, bytes, how, pc);
}

void shpool_check_wrote(void *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4) {
        shpool_check_access((char *)to + i, 4, SHPOOL_CHECK_WRITE, HERE);
    }
}

/* ---- the compiler's calls ---- */

#define ENTRY(_name, _bytes, _how) \
    void __tsan_##_name(void *ptr); \
    void __tsan_##_name(void *ptr) { shpool_check_access(ptr, _bytes, _how, HERE); }
#define ENTRIES(_bytes) \
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

/* -fsanitize=array-bounds calls this for a constant-size array: one in a thread's own memory has no
 * record, and an index may jump over the gap of a shared one. */
typedef struct bounds_site {
    const char     *file;
    uint32_t        line, column;
    const struct {
        uint16_t kind, bits; /* bit 0: signed; log2 of its width above it */
        char     name[];
    } *array, *index;
} bounds_site;

/* by another name: the compiler declares this one when it compiles with -fsanitize=bounds */
void check_out_of_bounds(const bounds_site *site, size_t index)
    __asm__("__ubsan_handle_out_of_bounds");
void check_out_of_bounds(const bounds_site *site, size_t index)
{
    const unsigned spare = 64u - (1u << (site->index->bits >> 1));
    check_finding *finding;

    if (simt_self == NULL) {
        return;
    }
    finding = check_begin(CHECK_ERROR, "bounds", "index %lld is outside of an array of type %s",
                          (long long)(index << spare) >> spare, site->array->name);
    check_at(finding, HERE, "access by thread %u of block %u", simt_self->rank, simt_self->block);
    check_end(finding);
}

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

/* check_assembly() of the tool puts these in place of the functions without the prefix. */
#define INSTEAD(_type, _name, ...) \
    _type shpool_check_c_##_name(__VA_ARGS__); \
    _type shpool_check_c_##_name(__VA_ARGS__)

INSTEAD(void *, memcpy, void *to, const void *from, size_t bytes)
{
    copy_access(to, from, bytes, HERE);
    return memmove(to, from, bytes);
}

INSTEAD(void *, memmove, void *to, const void *from, size_t bytes)
{
    copy_access(to, from, bytes, HERE);
    return memmove(to, from, bytes);
}

INSTEAD(void *, memset, void *to, int value, size_t bytes)
{
    copy_access(to, NULL, bytes, HERE);
    return memset(to, value, bytes);
}

/* malloc(), free(), operator new and delete: plain ones, and those with an alignment or with
 * std::nothrow.  All three arguments are passed on, whether the function has them or not. */
#define ALLOCATES(_name) \
    extern void *real_##_name(size_t bytes, size_t b, size_t c) __asm__(#_name); \
    INSTEAD(void *, _name, size_t bytes, size_t b, size_t c) \
    { \
        return (simt_self == NULL) ? real_##_name(bytes, b, c) \
                                   : shpool_check_malloc(bytes, SHPOOL_CHECK_HEAP, HERE); \
    }
#define FREES(_name) \
    extern void real_##_name(void *ptr, size_t b, size_t c) __asm__(#_name); \
    INSTEAD(void, _name, void *ptr, size_t b, size_t c) \
    { \
        if (is_allocated(ptr)) { \
            (void)shpool_check_free(ptr, 1u << SHPOOL_CHECK_HEAP, HERE); \
        } else { \
            real_##_name(ptr, b, c); \
        } \
    }
static int is_allocated(const void *ptr)
{
    const check_record *record = check_find(ptr);

    return (simt_self != NULL) || ((record != NULL) && (record->name == NULL));
}
ALLOCATES(malloc)
ALLOCATES(_Znwm)
ALLOCATES(_Znam)
ALLOCATES(_ZnwmSt11align_val_t)
ALLOCATES(_ZnamSt11align_val_t)
ALLOCATES(_ZnwmRKSt9nothrow_t)
ALLOCATES(_ZnamRKSt9nothrow_t)
FREES(free)
FREES(_ZdlPv)
FREES(_ZdaPv)
FREES(_ZdlPvm)
FREES(_ZdaPvm)
FREES(_ZdlPvSt11align_val_t)
FREES(_ZdaPvSt11align_val_t)
FREES(_ZdlPvmSt11align_val_t)
FREES(_ZdaPvmSt11align_val_t)

INSTEAD(void, __assert_fail, const char *what, const char *file, unsigned line,
        const char *function)
{
    if (simt_self == NULL) {
        __assert_fail(what, file, line, function);
    }
    shpool_check_trap(what, file, (int)line);
}

/* ---- the host's copies ---- */

static void report_copy(const char *role, const void *ptr, const char *why, const char *rule,
                        const void *pc)
{
    check_finding *finding = check_begin(CHECK_ERROR, rule, "the %s of a copy, %p, %s", role, ptr,
                                         why);

    check_at(finding, pc, "copy");
    check_end(finding);
}

/* One side of a copy; `on_device`: which side its kind names, or -1.  Nonzero: it is wrong. */
static int is_wrong(const char *role, const void *ptr, size_t bytes, int on_device, const void *pc)
{
    const check_record *record = check_find(ptr);
    const char         *why    = NULL;

    if (record == NULL) {
        if (!is_mapped(ptr) || !is_mapped((const char *)ptr + bytes - 1)) {
            report_copy(role, ptr, "is not memory", "bounds", pc);
            return 1;
        }
        why = (on_device == 1) ? "is host memory, where device memory is due" : NULL;
    } else if (!contains(record, ptr, bytes)) {
        report_bounds(record, ptr, bytes, 0, pc);
        return 1;
    } else if (record->name == NULL) {
        why = (record->kind == SHPOOL_CHECK_HEAP)
                  ? "is memory of a kernel's malloc() or new: the host cannot copy that"
              : ((record->kind == SHPOOL_CHECK_DEVICE) && (on_device == 0))
                  ? "is device memory, but its kind of copy says host" : NULL;
    }
    if (why != NULL) {
        report_copy(role, ptr, why, "copy", pc);
    }
    return why != NULL;
}

/* Of each cudaMemcpyKind, whether destination and source are the device's. */
static const struct {
    int to, from;
} kinds[] = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 1, 1 }, { -1, -1 } };

int shpool_check_copy(void *to, const void *from, size_t bytes, unsigned kind, const void *pc)
{
    int status = 0;

    if (kind >= sizeof(kinds) / sizeof(kinds[0])) {
        report_copy("kind", NULL, "does not exist", "copy", pc);
        return INVALID_DIRECTION;
    }
    if (bytes == 0) {
        return 0;
    }
    check_lock();
    if (is_wrong("destination", to, bytes, kinds[kind].to, pc) ||
        is_wrong("source", from, bytes, kinds[kind].from, pc)) {
        status = INVALID_VALUE;
    } else {
        memmove(to, from, bytes);
        if (check_find(to) != NULL) {
            check_wipe(to, bytes);
        }
    }
    check_unlock();
    return status;
}

int shpool_check_fill(void *to, int value, size_t bytes, const void *pc)
{
    int status = 0;

    if (bytes == 0) {
        return 0;
    }
    check_lock();
    if (is_wrong("destination", to, bytes, 1, pc)) {
        status = INVALID_VALUE;
    } else {
        memset(to, value, bytes);
        check_wipe(to, bytes);
    }
    check_unlock();
    return status;
}
