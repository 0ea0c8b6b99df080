/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake driver: memory, copies, stream-ordered pools. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)2 << 20)

/* What was found at a page, until some memory is gone: without it most of the time goes into the
 * list of granules. */
static unsigned long gone_count;
static struct { fake_memory *memory; unsigned long gone_count; } found[8192];

static int contains(const fake_memory *m, const char *ptr)
{
    return (m->ptr != NULL) && (ptr >= m->ptr) && (ptr < m->ptr + m->bytes);
}

fake_memory *fake_find(const void *ptr)
{
    size_t i = (uintptr_t)ptr / PAGE % SHPOOL_ARRAY_COUNT(found);
    fake_memory *m = (found[i].gone_count == gone_count) ? found[i].memory : NULL;

    if ((m != NULL) && contains(m, ptr)) {
        return m;
    }
    for (m = fake.memory; (m != NULL) && !contains(m, ptr);) {
        m = m->next;
    }
    found[i].memory = m;
    found[i].gone_count = gone_count;
    return m;
}

static cu_result take(cu_ptr *ptr_p, size_t bytes, int device, int pooled)
{
    size_t shift = (fake.misalign && (bytes >= PAGE)) ? 512 : 0;

    if ((bytes == 0) || (device < 0)) {
        return (bytes == 0) ? CU_ERROR_INVALID_VALUE : CU_ERROR_INVALID_CONTEXT;
    }
    if ((fake.used[device] > fake.limit[device]) ||
        (bytes > fake.limit[device] - fake.used[device])) {
        return CU_ERROR_OUT_OF_MEMORY;
    }
    fake_memory *m = calloc(1, sizeof(*m));
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
    m->file = -1;
    m->next = fake.memory;
    fake.memory = m;
    fake.used[device] += bytes;
    fake.held.bytes += bytes;
    fake.held.allocations++;
    *ptr_p = (cu_ptr)(uintptr_t)m->ptr;
    return CU_SUCCESS;
}

void fake_give(fake_memory *gone)
{
    fake_memory **at = &fake.memory;

    gone_count++;
    while (*at != gone) {
        at = &(*at)->next;
    }
    *at = gone->next;
    if (gone->of != NULL) {
        gone->of->others--;
    } else if (gone->imported) {
        fake.held.imports--;
    } else {
        fake.used[gone->device] -= gone->bytes;
        fake.held.bytes -= gone->bytes;
        fake.held.allocations--;
    }
    if ((gone->file >= 0) && (gone->of == NULL)) {
        close(gone->file);
    }
    if (gone->start != NULL) {
        munmap(gone->start, gone->mapped);
    }
    free(gone->last);
    free(gone->uses);
    free(gone);
}

cu_result f_memory_info(size_t *left, size_t *total)
{
    int device = fake_current();

    FAKE_ENTER(memory_info)
    if (device < 0) {
        return CU_ERROR_INVALID_CONTEXT;
    }
    *total = (size_t)fake.limit[device];
    *left = (fake.limit[device] > fake.used[device])
                ? (size_t)(fake.limit[device] - fake.used[device]) : 0;
    return CU_SUCCESS;
}

cu_result f_memory_alloc(cu_ptr *ptr, size_t bytes)
{
    FAKE_ENTER(memory_alloc)
    FAKE_UNSAFE("cuMemAlloc")
    return take(ptr, bytes, fake_current(), 0);
}

/* The host waits for the device, as real drivers do when memory is freed. */
static void wait_for(int device)
{
    void (*on_sync)(void) = fake.on_sync;

    fake_finish_device(device);
    if (on_sync != NULL) { /* without the lock */
        pthread_mutex_unlock(&fake_lock);
        on_sync();
        pthread_mutex_lock(&fake_lock);
    }
}

cu_result f_memory_free(cu_ptr ptr)
{
    FAKE_ENTER(memory_free)
    FAKE_UNSAFE("cuMemFree")
    fake_memory *m = fake_find((void *)(uintptr_t)ptr);
    if ((m == NULL) || (m->ptr != (char *)(uintptr_t)ptr) || m->pooled || (m->start == NULL)) {
        fake_violate("cuMemFree of a pointer that cuMemAlloc did not return");
        return CU_ERROR_INVALID_VALUE;
    }
    int device = m->device;
    if (fake_current() != device) {
        fake_violate("cuMemFree while another device is current");
    }
    fake_give(m);
    wait_for(device);
    return CU_SUCCESS;
}

cu_result f_host_alloc(void **ptr, size_t bytes, unsigned flags)
{
    FAKE_ENTER(host_alloc)
    FAKE_UNSAFE("cuMemHostAlloc")
    (void)flags;
    if (fake_current() < 0) {
        return CU_ERROR_INVALID_CONTEXT;
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(fake.pinned); i++) {
        if (fake.pinned[i] == NULL) {
            fake.pinned[i] = malloc(bytes);
            *ptr = fake.pinned[i];
            fake.held.host_allocations++;
            return CU_SUCCESS;
        }
    }
    return CU_ERROR_OUT_OF_MEMORY;
}

cu_result f_host_free(void *ptr)
{
    FAKE_ENTER(host_free)
    FAKE_UNSAFE("cuMemFreeHost")
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(fake.pinned); i++) {
        if (fake.pinned[i] == ptr) {
            fake.pinned[i] = NULL;
            free(ptr);
            fake.held.host_allocations--;
            wait_for(fake_current());
            return CU_SUCCESS;
        }
    }
    fake_violate("cuMemFreeHost of what cuMemHostAlloc did not return");
    return CU_ERROR_INVALID_VALUE;
}

/* ---- copies: performed immediately, and checked like other work ---- */

static cu_result work(shpool_stream stream, const void *a, const void *b, size_t bytes)
{
    int line = fake_line_of(stream);

    if ((line < 0) || fake_is_off_limits(line)) {
        return (line < 0) ? CU_ERROR_INVALID_HANDLE : CU_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (fake_is_captured(stream)) {
        fake_note(stream, stream->branch, (a != NULL) ? a : b, bytes);
        return CU_SUCCESS;
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

cu_result f_copy_to_host(void *to, cu_ptr from, size_t bytes, shpool_stream stream)
{
    FAKE_ENTER(copy_to_host)
    result = work(stream, (void *)(uintptr_t)from, NULL, bytes);
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return result;
}

cu_result f_copy_from_host(cu_ptr to, const void *from, size_t bytes, shpool_stream stream)
{
    FAKE_ENTER(copy_from_host)
    result = work(stream, (void *)(uintptr_t)to, NULL, bytes);
    memcpy((void *)(uintptr_t)to, from, bytes);
    return result;
}

cu_result f_copy_device(cu_ptr to, cu_ptr from, size_t bytes, shpool_stream stream)
{
    FAKE_ENTER(copy_device)
    result = work(stream, (void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return result;
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

cu_result f_set_8(cu_ptr to, unsigned char value, size_t count, shpool_stream stream)
{
    FAKE_ENTER(set_8)
    return fill(to, &value, sizeof(value), count, stream);
}

cu_result f_set_16(cu_ptr to, unsigned short value, size_t count, shpool_stream stream)
{
    FAKE_ENTER(set_16)
    return fill(to, &value, sizeof(value), count, stream);
}

cu_result f_set_32(cu_ptr to, unsigned value, size_t count, shpool_stream stream)
{
    FAKE_ENTER(set_32)
    return fill(to, &value, sizeof(value), count, stream);
}

/* ---- stream-ordered pools: memory is never handed out twice ---- */

cu_result f_pool_create(cu_pool *pool, const cu_pool_props *props)
{
    FAKE_ENTER(pool_create)
    FAKE_UNSAFE("cuMemPoolCreate")
    *pool = (cu_pool)(uintptr_t)(1 + props->location.id);
    fake.held.pools++;
    return CU_SUCCESS;
}

cu_result f_pool_destroy(cu_pool pool)
{
    FAKE_ENTER(pool_destroy)
    FAKE_UNSAFE("cuMemPoolDestroy")
    (void)pool;
    fake.held.pools--;
    return CU_SUCCESS;
}

cu_result f_pool_set(cu_pool pool, int attribute, void *value)
{
    FAKE_ENTER(pool_set)
    FAKE_UNSAFE("cuMemPoolSetAttribute")
    (void)pool;
    (void)value;
    return (attribute > 0) ? CU_SUCCESS : CU_ERROR_INVALID_VALUE;
}

cu_result f_pool_get(cu_pool pool, int attribute, void *value)
{
    uint64_t used = 0;

    FAKE_ENTER(pool_get)
    FAKE_UNSAFE("cuMemPoolGetAttribute")
    for (const fake_memory *m = fake.memory; m != NULL; m = m->next) {
        used += (m->pooled && (m->device == (int)(uintptr_t)pool - 1)) ? m->bytes : 0;
    }
    memcpy(value, &used, sizeof(used));
    return (attribute > 0) ? CU_SUCCESS : CU_ERROR_INVALID_VALUE;
}

cu_result f_pool_trim(cu_pool pool, size_t keep)
{
    FAKE_ENTER(pool_trim)
    FAKE_UNSAFE("cuMemPoolTrimTo")
    (void)pool;
    (void)keep;
    return CU_SUCCESS;
}

cu_result f_pool_alloc(cu_ptr *ptr, size_t bytes, cu_pool pool, shpool_stream stream)
{
    FAKE_ENTER(pool_alloc)
    if (!fake_is_captured(stream)) {
        FAKE_UNSAFE("cuMemAllocFromPoolAsync")
    }
    if ((fake_line_of(stream) < 0) || fake_is_off_limits(fake_line_of(stream))) {
        return CU_ERROR_INVALID_HANDLE;
    }
    result = take(ptr, bytes, (int)(uintptr_t)pool - 1, 1);
    if ((result == CU_SUCCESS) && fake_is_captured(stream)) {
        fake.memory->graph = stream->graph;
    }
    return result;
}

/* The free is work on its stream that touches all of the memory.  A graph's memory stays. */
cu_result f_pool_free(cu_ptr ptr, shpool_stream stream)
{
    FAKE_ENTER(pool_free)
    if (!fake_is_captured(stream)) {
        FAKE_UNSAFE("cuMemFreeAsync")
    }
    fake_memory *m = fake_find((void *)(uintptr_t)ptr);
    if ((m == NULL) || !m->pooled || (m->ptr != (char *)(uintptr_t)ptr)) {
        fake_violate("cuMemFreeAsync of a pointer that is not the pool's");
        return CU_ERROR_INVALID_VALUE;
    }
    if (fake_is_captured(stream) && (stream->graph != m->graph)) {
        return CU_ERROR_INVALID_VALUE; /* the memory is not the graph's */
    }
    result = work(stream, m->ptr, NULL, m->bytes);
    if ((result == CU_SUCCESS) && !fake_is_captured(stream)) {
        fake_give(m);
    }
    return result;
}
