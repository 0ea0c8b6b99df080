/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake driver: devices, contexts, memory, copies, and what tests ask it. */
#include "fake_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../device/context.h"
#include "../device/stack.h"

#define PAGE ((size_t)2 << 20)

fake_state fake;
_Thread_local fake_thread fake_thread_state = { .mode = CU_CAPTURE_MODE_GLOBAL };

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static shpool_driver table;

void fake_violate(const char *format, ...)
{
    va_list args;

    if (fake.violations++ == 0) {
        va_start(args, format);
        vsnprintf(fake.first_violation, sizeof(fake.first_violation), format, args);
        va_end(args);
    }
}

cu_result fake_begin(unsigned call)
{
    fake.calls[call]++;
    if ((fake.fail_in > 0) && (call != FAKE_CALL_error_string) && (call != FAKE_CALL_context_pop) &&
        (--fake.fail_in == 0)) {
        fake.failed = 1;
        return fake.fail_with;
    }
    return CU_SUCCESS;
}

int fake_current_device(void)
{
    fake_thread *t = &fake_thread_state;

    return ((t->depth > 0) && (t->stack[t->depth - 1] != NULL))
               ? t->stack[t->depth - 1]->device : -1;
}

int fake_is_capturing_here(void)
{
    return (fake.capturing > 0) && (fake_thread_state.mode != CU_CAPTURE_MODE_RELAXED);
}

/* ---- init and devices ---- */

static cu_result f_init(unsigned flags)
{
    FAKE_ENTER(init)
    FAKE_LEAVE((flags == 0) ? CU_SUCCESS : CU_ERROR_INVALID_VALUE);
}

static cu_result f_version(int *version)
{
    FAKE_ENTER(version)
    *version = 13000;
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_error_string(cu_result code, const char **text)
{
    *text = (code == CU_ERROR_OUT_OF_MEMORY) ? "out of memory" : "fake error";
    return CU_SUCCESS;
}

static cu_result f_device_count(int *count)
{
    FAKE_ENTER(device_count)
    *count = (int)fake.devices;
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_device_get(cu_device *device, int ordinal)
{
    FAKE_ENTER(device_get)
    *device = ordinal;
    FAKE_LEAVE((ordinal >= 0) && (ordinal < (int)fake.devices) ? CU_SUCCESS : CU_ERROR_INVALID_DEVICE);
}

static cu_result f_device_name(char *name, int bytes, cu_device device)
{
    FAKE_ENTER(device_name)
    snprintf(name, (size_t)bytes, "Fake %d", device);
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_device_attribute(int *value, int attribute, cu_device device)
{
    static const struct { int attribute; int value; } known[] = {
        { CU_ATTRIBUTE_WARP_SIZE, 32 },         { CU_ATTRIBUTE_CLOCK_RATE, 1401000 },
        { CU_ATTRIBUTE_MULTIPROCESSORS, 15 },   { CU_ATTRIBUTE_ECC_ENABLED, 0 },
        { CU_ATTRIBUTE_MEMORY_CLOCK_RATE, 1848000 }, { CU_ATTRIBUTE_MEMORY_BUS_WIDTH, 384 },
        { CU_ATTRIBUTE_L2_BYTES, 786432 },      { CU_ATTRIBUTE_SM_THREADS, 1536 },
        { CU_ATTRIBUTE_CAPABILITY_MAJOR, 8 },   { CU_ATTRIBUTE_CAPABILITY_MINOR, 6 },
        { CU_ATTRIBUTE_SHARED_OPTIN, 101376 },  { CU_ATTRIBUTE_MEMORY_POOLS, 1 },
    };

    FAKE_ENTER(device_attribute)
    (void)device;
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(known); i++) {
        if (known[i].attribute == attribute) {
            *value = known[i].value;
            FAKE_LEAVE(CU_SUCCESS);
        }
    }
    FAKE_LEAVE(CU_ERROR_INVALID_VALUE);
}

static cu_result f_device_memory(size_t *bytes, cu_device device)
{
    FAKE_ENTER(device_memory)
    *bytes = (size_t)fake.limit[device];
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_primary_retain(cu_context *context, cu_device device)
{
    FAKE_ENTER(primary_retain)
    *context = &fake.context[device];
    FAKE_LEAVE(CU_SUCCESS);
}

/* ---- contexts ---- */

static cu_result f_context_get(cu_context *context)
{
    fake_thread *t = &fake_thread_state;

    FAKE_ENTER(context_get)
    *context = (t->depth > 0) ? t->stack[t->depth - 1] : NULL;
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_context_set(cu_context context)
{
    fake_thread *t = &fake_thread_state;

    FAKE_ENTER(context_set)
    t->depth = (t->depth == 0) ? 1 : t->depth;
    t->stack[t->depth - 1] = context;
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_context_push(cu_context context)
{
    fake_thread *t = &fake_thread_state;

    FAKE_ENTER(context_push)
    if (t->depth == SHPOOL_ARRAY_COUNT(t->stack)) {
        fake_violate("contexts are pushed and never popped");
        FAKE_LEAVE(CU_ERROR_INVALID_VALUE);
    }
    t->stack[t->depth++] = context;
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_context_pop(cu_context *context)
{
    fake_thread *t = &fake_thread_state;

    FAKE_ENTER(context_pop)
    if (t->depth == 0) {
        fake_violate("a context is popped that was not pushed");
        FAKE_LEAVE(CU_ERROR_INVALID_CONTEXT);
    }
    *context = t->stack[--t->depth];
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_context_device(cu_device *device)
{
    FAKE_ENTER(context_device)
    *device = fake_current_device();
    FAKE_LEAVE((*device >= 0) ? CU_SUCCESS : CU_ERROR_INVALID_CONTEXT);
}

static cu_result f_context_sync(void)
{
    FAKE_ENTER(context_sync)
    if (fake_current_device() < 0) {
        FAKE_LEAVE(CU_ERROR_INVALID_CONTEXT);
    }
    if (fake.capturing > 0) {
        FAKE_LEAVE(CU_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    fake_finish_device(fake_current_device());
    FAKE_LEAVE(CU_SUCCESS);
}

/* ---- memory ---- */

fake_memory *fake_find(const void *ptr)
{
    fake_memory *m = fake.memory;

    while ((m != NULL) && (((const char *)ptr < m->ptr) || ((const char *)ptr >= m->ptr + m->bytes))) {
        m = m->next;
    }
    return m;
}

static cu_result take(cu_ptr *ptr_p, size_t bytes, int device, int pooled)
{
    fake_memory *m;
    size_t shift = (fake.misalign && (bytes >= PAGE)) ? 512 : 0;

    if ((bytes == 0) || (device < 0)) {
        return (bytes == 0) ? CU_ERROR_INVALID_VALUE : CU_ERROR_INVALID_CONTEXT;
    }
    if ((fake.used[device] > fake.limit[device]) ||
        (bytes > fake.limit[device] - fake.used[device])) {
        return CU_ERROR_OUT_OF_MEMORY;
    }
    m = calloc(1, sizeof(*m));
    m->mapped = bytes + 2 * PAGE;
    m->start = mmap(NULL, m->mapped, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m->start == MAP_FAILED) {
        abort(); /* the machine's memory, not the device's */
    }
    m->ptr = (char *)(((uintptr_t)m->start + PAGE - 1) / PAGE * PAGE) + shift;
    m->bytes = bytes;
    m->device = device;
    m->pooled = pooled;
    m->last = calloc(bytes / 256 + 1, sizeof(*m->last));
    m->next = fake.memory;
    fake.memory = m;
    fake.used[device] += bytes;
    fake.held.bytes += bytes;
    fake.held.allocations++;
    *ptr_p = (cu_ptr)(uintptr_t)m->ptr;
    return CU_SUCCESS;
}

static void give(fake_memory *gone)
{
    fake_memory **at = &fake.memory;

    while (*at != gone) {
        at = &(*at)->next;
    }
    *at = gone->next;
    fake.used[gone->device] -= gone->bytes;
    fake.held.bytes -= gone->bytes;
    fake.held.allocations--;
    munmap(gone->start, gone->mapped);
    free(gone->last);
    free(gone);
}

static cu_result f_memory_info(size_t *left, size_t *total)
{
    int device = fake_current_device();

    FAKE_ENTER(memory_info)
    if (device < 0) {
        FAKE_LEAVE(CU_ERROR_INVALID_CONTEXT);
    }
    *total = (size_t)fake.limit[device];
    *left = (fake.limit[device] > fake.used[device])
                ? (size_t)(fake.limit[device] - fake.used[device]) : 0;
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_memory_alloc(cu_ptr *ptr, size_t bytes)
{
    FAKE_ENTER(memory_alloc)
    if (fake_is_capturing_here()) {
        fake_violate("cuMemAlloc during a capture");
        FAKE_LEAVE(CU_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    FAKE_LEAVE(take(ptr, bytes, fake_current_device(), 0));
}

static cu_result f_memory_free(cu_ptr ptr)
{
    fake_memory *m;

    FAKE_ENTER(memory_free)
    m = fake_find((void *)(uintptr_t)ptr);
    if ((m == NULL) || (m->ptr != (char *)(uintptr_t)ptr) || m->pooled) {
        fake_violate("cuMemFree of a pointer that cuMemAlloc did not return");
        FAKE_LEAVE(CU_ERROR_INVALID_VALUE);
    }
    if (fake_current_device() != m->device) {
        fake_violate("cuMemFree while another device is current");
    }
    if (fake_is_capturing_here()) {
        fake_violate("cuMemFree during a capture");
    }
    fake_finish_device(m->device); /* as real drivers do */
    give(m);
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_host_alloc(void **ptr, size_t bytes, unsigned flags)
{
    FAKE_ENTER(host_alloc)
    (void)flags;
    if (fake_current_device() < 0) {
        FAKE_LEAVE(CU_ERROR_INVALID_CONTEXT);
    }
    *ptr = malloc(bytes);
    fake.held.host_allocations++;
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_host_free(void *ptr)
{
    FAKE_ENTER(host_free)
    free(ptr);
    fake.held.host_allocations--;
    FAKE_LEAVE(CU_SUCCESS);
}

/* ---- copies: done at once, and checked like other work ---- */

static cu_result work(shpool_stream stream, const void *a, const void *b, size_t bytes)
{
    int line = fake_line_of(stream);

    if (line < 0) {
        return CU_ERROR_INVALID_HANDLE;
    }
    fake_submit((unsigned)line);
    if (a != NULL) {
        fake_touch((unsigned)line, a, bytes);
    }
    if (b != NULL) {
        fake_touch((unsigned)line, b, bytes);
    }
    return CU_SUCCESS;
}

static cu_result f_copy_to_host(void *to, cu_ptr from, size_t bytes, shpool_stream stream)
{
    FAKE_ENTER(copy_to_host)
    result = work(stream, (void *)(uintptr_t)from, NULL, bytes);
    memcpy(to, (void *)(uintptr_t)from, bytes);
    FAKE_LEAVE(result);
}

static cu_result f_copy_from_host(cu_ptr to, const void *from, size_t bytes, shpool_stream stream)
{
    FAKE_ENTER(copy_from_host)
    result = work(stream, (void *)(uintptr_t)to, NULL, bytes);
    memcpy((void *)(uintptr_t)to, from, bytes);
    FAKE_LEAVE(result);
}

static cu_result f_copy_device(cu_ptr to, cu_ptr from, size_t bytes, shpool_stream stream)
{
    FAKE_ENTER(copy_device)
    result = work(stream, (void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    FAKE_LEAVE(result);
}

static cu_result fill(cu_ptr to, const void *value, size_t width, size_t count,
                      shpool_stream stream)
{
    cu_result result = work(stream, (void *)(uintptr_t)to, NULL, width * count);

    if (width == 1) {
        memset((void *)(uintptr_t)to, *(const unsigned char *)value, count);
        return result;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy((char *)(uintptr_t)to + i * width, value, width);
    }
    return result;
}

static cu_result f_set_8(cu_ptr to, unsigned char value, size_t count, shpool_stream stream)
{
    FAKE_ENTER(set_8)
    FAKE_LEAVE(fill(to, &value, sizeof(value), count, stream));
}

static cu_result f_set_16(cu_ptr to, unsigned short value, size_t count, shpool_stream stream)
{
    FAKE_ENTER(set_16)
    FAKE_LEAVE(fill(to, &value, sizeof(value), count, stream));
}

static cu_result f_set_32(cu_ptr to, unsigned value, size_t count, shpool_stream stream)
{
    FAKE_ENTER(set_32)
    FAKE_LEAVE(fill(to, &value, sizeof(value), count, stream));
}

/* ---- stream-ordered pools: memory is never handed out twice ---- */

static cu_result f_pool_create(cu_pool *pool, const cu_pool_props *props)
{
    FAKE_ENTER(pool_create)
    *pool = (cu_pool)(uintptr_t)(1 + props->location.id);
    fake.held.pools++;
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_pool_destroy(cu_pool pool)
{
    FAKE_ENTER(pool_destroy)
    (void)pool;
    fake.held.pools--;
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_pool_set(cu_pool pool, int attribute, void *value)
{
    FAKE_ENTER(pool_set)
    (void)pool;
    (void)value;
    FAKE_LEAVE((attribute > 0) ? CU_SUCCESS : CU_ERROR_INVALID_VALUE);
}

static cu_result f_pool_get(cu_pool pool, int attribute, void *value)
{
    uint64_t used = 0;

    FAKE_ENTER(pool_get)
    for (const fake_memory *m = fake.memory; m != NULL; m = m->next) {
        used += (m->pooled && (m->device == (int)(uintptr_t)pool - 1)) ? m->bytes : 0;
    }
    memcpy(value, &used, sizeof(used));
    FAKE_LEAVE((attribute > 0) ? CU_SUCCESS : CU_ERROR_INVALID_VALUE);
}

static cu_result f_pool_trim(cu_pool pool, size_t keep)
{
    FAKE_ENTER(pool_trim)
    (void)pool;
    (void)keep;
    FAKE_LEAVE(CU_SUCCESS);
}

static cu_result f_pool_alloc(cu_ptr *ptr, size_t bytes, cu_pool pool, shpool_stream stream)
{
    FAKE_ENTER(pool_alloc)
    if (fake_line_of(stream) < 0) {
        FAKE_LEAVE(CU_ERROR_INVALID_HANDLE);
    }
    FAKE_LEAVE(take(ptr, bytes, (int)(uintptr_t)pool - 1, 1));
}

/* The free is work on its stream that touches all of the memory. */
static cu_result f_pool_free(cu_ptr ptr, shpool_stream stream)
{
    fake_memory *m;

    FAKE_ENTER(pool_free)
    m = fake_find((void *)(uintptr_t)ptr);
    if ((m == NULL) || !m->pooled || (m->ptr != (char *)(uintptr_t)ptr)) {
        fake_violate("cuMemFreeAsync of a pointer that is not the pool's");
        FAKE_LEAVE(CU_ERROR_INVALID_VALUE);
    }
    result = work(stream, m->ptr, NULL, m->bytes);
    if (result == CU_SUCCESS) {
        give(m);
    }
    FAKE_LEAVE(result);
}

/* ---- what tests ask ---- */

void fake_start(unsigned devices, uint64_t bytes)
{
    memset(&table, 0, sizeof(table));
#define BIND(_member) table._member = f_##_member;
    BIND(init) BIND(version) BIND(error_string) BIND(device_count) BIND(device_get)
    BIND(device_name) BIND(device_attribute) BIND(device_memory) BIND(primary_retain)
    BIND(context_get) BIND(context_set) BIND(context_push) BIND(context_pop) BIND(context_device)
    BIND(context_sync) BIND(memory_info) BIND(memory_alloc) BIND(memory_free) BIND(host_alloc)
    BIND(host_free) BIND(copy_to_host) BIND(copy_from_host) BIND(copy_device) BIND(set_8)
    BIND(set_16) BIND(set_32) BIND(pool_create) BIND(pool_destroy) BIND(pool_set) BIND(pool_get)
    BIND(pool_trim) BIND(pool_alloc) BIND(pool_free)
#undef BIND
    fake_bind_streams(&table);
    memset(&fake, 0, sizeof(fake));
    memset(&fake_thread_state, 0, sizeof(fake_thread_state));
    fake.devices = devices;
    for (unsigned i = 0; i < devices; i++) {
        fake.limit[i] = bytes;
        fake.context[i].device = (int)i;
        fake.legacy[i] = fake_new_line((int)i, 1);
    }
    shpool_driver_replace(&table);
}

fake_held fake_holds(void)
{
    return fake.held;
}

fake_held fake_stop(void)
{
    fake_held held;

    fake_fail(0, CU_SUCCESS);
    shpool_contexts_reset();
    shpool_device_defaults_reset();
    shpool_device_providers_reset();
    held = fake.held;
    while (fake.memory != NULL) {
        give(fake.memory);
    }
    shpool_driver_replace(NULL);
    return held;
}

unsigned fake_violations(void)
{
    return fake.violations;
}

const char *fake_first_violation(void)
{
    return fake.first_violation;
}

unsigned long fake_calls(unsigned call)
{
    return fake.calls[call];
}

unsigned long fake_all_calls(void)
{
    unsigned long sum = 0;

    for (unsigned i = 0; i < FAKE_CALL_COUNT; i++) {
        sum += fake.calls[i];
    }
    return sum;
}

void fake_forget_calls(void)
{
    memset(fake.calls, 0, sizeof(fake.calls));
}

void fake_fail(unsigned long nth, cu_result result)
{
    fake.fail_in = nth;
    fake.fail_with = result;
    fake.failed = 0;
}

int fake_failed(void)
{
    return fake.failed;
}

void fake_limit(int device, uint64_t bytes)
{
    fake.limit[device] = bytes;
}

void fake_without_ids(void)
{
    table.stream_id = NULL;
}

void fake_misalign(int on)
{
    fake.misalign = on;
}

int fake_current(void)
{
    return fake_current_device();
}

cu_context fake_context(int device)
{
    return &fake.context[device];
}

void fake_set_current(int device)
{
    fake_thread_state.depth = 1;
    fake_thread_state.stack[0] = (device >= 0) ? &fake.context[device] : NULL;
}
