/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake driver: reserved addresses, and physical memory that is mapped into them.
 *
 * A granule may be mapped at several addresses at once.  Accesses are recorded with the granule, so
 * that work at one address is checked against work at the others.  Unmapping does not wait, as with
 * real drivers: unmapping addresses that a stream still uses is a violation.
 */
#include "driver.h"

#include <stdlib.h>
#include <sys/mman.h>

static char *to_ptr(cu_ptr ptr)
{
    return (char *)(uintptr_t)ptr;
}

/* ---- addresses ---- */

cu_result f_granularity(size_t *bytes, const cu_granule_props *props, int which)
{
    FAKE_ENTER(granularity)
    (void)which;
    *bytes = fake.granularity;
    return (props->alloc_type == 1) && (props->location.type == 1) ? CU_SUCCESS
                                                                       : CU_ERROR_INVALID_VALUE;
}

cu_result f_range_reserve(cu_ptr *ptr, size_t bytes, size_t alignment, cu_ptr wanted,
                                 unsigned long long flags)
{
    FAKE_ENTER(range_reserve)
    if ((bytes == 0) || (bytes % fake.granularity != 0) || (wanted != 0) || (flags != 0) ||
        ((alignment & (alignment - 1)) != 0)) {
        fake_violate("cuMemAddressReserve of %zu bytes, aligned to %zu", bytes, alignment);
        return CU_ERROR_INVALID_VALUE;
    }
    if ((fake.most_addresses > 0) && (bytes > fake.most_addresses)) {
        return CU_ERROR_OUT_OF_MEMORY;
    }
    alignment = (alignment > fake.granularity) ? alignment : fake.granularity;
    fake_range *r = calloc(1, sizeof(*r));
    r->mapped = bytes + alignment;
    r->start = mmap(NULL, r->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->start == MAP_FAILED) {
        abort(); /* the machine's addresses, not the device's */
    }
    r->ptr = (char *)(((uintptr_t)r->start + alignment - 1) / alignment * alignment);
    r->bytes = bytes;
    r->next = fake.ranges;
    fake.ranges = r;
    fake.held.ranges++;
    *ptr = (cu_ptr)(uintptr_t)r->ptr;
    return CU_SUCCESS;
}

static void drop_range(fake_range **at)
{
    fake_range *gone = *at;

    *at = gone->next;
    munmap(gone->start, gone->mapped);
    free(gone);
    fake.held.ranges--;
}

void fake_drop_ranges(void)
{
    while (fake.ranges != NULL) {
        drop_range(&fake.ranges);
    }
}

/* 1: something is mapped there. */
static int is_mapped(const char *ptr, size_t bytes)
{
    for (const fake_memory *m = fake.memory; m != NULL; m = m->next) {
        if ((m->start == NULL) && (m->ptr != NULL) && (m->ptr < ptr + bytes) &&
            (ptr < m->ptr + m->bytes)) {
            return 1;
        }
    }
    return 0;
}

cu_result f_range_free(cu_ptr ptr, size_t bytes)
{
    fake_range **at = &fake.ranges;

    FAKE_ENTER(range_free)
    while ((*at != NULL) && (((*at)->ptr != to_ptr(ptr)) || ((*at)->bytes != bytes))) {
        at = &(*at)->next;
    }
    if ((*at == NULL) || is_mapped(to_ptr(ptr), bytes)) {
        fake_violate("cuMemAddressFree of addresses that %s",
                     (*at == NULL) ? "were not reserved" : "memory is mapped at");
        return CU_ERROR_INVALID_VALUE;
    }
    drop_range(at);
    return CU_SUCCESS;
}

/* ---- granules ---- */

static fake_memory *granule_of(cu_granule granule)
{
    fake_memory *m = fake.memory;

    while ((m != NULL) && ((m != (fake_memory *)(uintptr_t)granule) || (m->start != NULL) ||
                           (m->of != NULL) || m->released)) {
        m = m->next;
    }
    return m;
}

cu_result f_granule_create(cu_granule *granule, size_t bytes, const cu_granule_props *props,
                                  unsigned long long flags)
{
    int device = props->location.id;

    FAKE_ENTER(granule_create)
    if ((bytes == 0) || (bytes % fake.granularity != 0) || (flags != 0) || (device < 0) ||
        (device >= (int)fake.devices) || (props->location.type != 1) || (props->alloc_type != 1) ||
        ((props->handle_types != 0) && (props->handle_types != CU_HANDLE_DESCRIPTOR))) {
        fake_violate("cuMemCreate of %zu bytes on device %d", bytes, device);
        return CU_ERROR_INVALID_VALUE;
    }
    FAKE_UNSAFE("cuMemCreate")
    if ((fake.used[device] > fake.limit[device]) ||
        (bytes > fake.limit[device] - fake.used[device])) {
        return CU_ERROR_OUT_OF_MEMORY;
    }
    fake_memory *m = calloc(1, sizeof(*m));
    m->bytes = bytes;
    m->device = device;
    m->file = (props->handle_types == CU_HANDLE_DESCRIPTOR) ? fake_file(bytes) : -1;
    m->next = fake.memory;
    fake.memory = m;
    fake.used[device] += bytes;
    fake.held.bytes += bytes;
    fake.held.allocations++;
    *granule = (cu_granule)(uintptr_t)m;
    return CU_SUCCESS;
}

/* A granule whose handle is gone goes when it is mapped nowhere. */
static void give_unmapped(fake_memory *m)
{
    if (m->released && (m->ptr == NULL) && (m->others == 0)) {
        fake_give(m);
    }
}

cu_result f_granule_release(cu_granule granule)
{
    FAKE_ENTER(granule_release)
    fake_memory *m = granule_of(granule);
    if (m == NULL) {
        fake_violate("cuMemRelease of what cuMemCreate did not return");
        return CU_ERROR_INVALID_VALUE;
    }
    m->released = 1;
    give_unmapped(m);
    return CU_SUCCESS;
}

static int is_reserved(const char *ptr, size_t bytes)
{
    const fake_range *r = fake.ranges;

    while ((r != NULL) && ((ptr < r->ptr) || (ptr + bytes > r->ptr + r->bytes))) {
        r = r->next;
    }
    return r != NULL;
}

/* One more place of a granule that is mapped already. */
static fake_memory *add_place(fake_memory *granule)
{
    fake_memory *m = calloc(1, sizeof(*m));

    m->of = granule;
    m->bytes = granule->bytes;
    m->device = granule->device;
    m->file = granule->file;
    m->next = fake.memory;
    fake.memory = m;
    granule->others++;
    return m;
}

cu_result f_granule_map(cu_ptr ptr, size_t bytes, size_t offset, cu_granule granule,
                               unsigned long long flags)
{
    FAKE_ENTER(granule_map)
    fake_memory *m = granule_of(granule);
    if ((m != NULL) && m->imported && (m->bytes != bytes)) {
        return CU_ERROR_INVALID_VALUE; /* a size that another process said */
    }
    if ((m == NULL) || (m->bytes != bytes) || (offset != 0) || (flags != 0) ||
        (ptr % fake.granularity != 0) || !is_reserved(to_ptr(ptr), bytes) ||
        is_mapped(to_ptr(ptr), bytes)) {
        fake_violate("cuMemMap at %p of %zu bytes: %s", (void *)to_ptr(ptr), bytes,
                     (m == NULL) ? "no such granule"
                     : is_mapped(to_ptr(ptr), bytes) ? "something is mapped there"
                     : "wrong addresses");
        return CU_ERROR_INVALID_VALUE;
    }
    FAKE_UNSAFE("cuMemMap")
    if (m->exported) {
        fake_violate("cuMemMap of exported memory, which moved");
    }
    m = (m->ptr != NULL) ? add_place(m) : m;
    m->ptr = to_ptr(ptr);
    m->access = 0;
    return CU_SUCCESS;
}

/* 1: a stream may still use the granule at this address. */
static int is_in_use(const fake_memory *m)
{
    for (unsigned i = 0; (m->uses != NULL) && (i < fake.lines); i++) {
        if (m->uses[i] > fake.done[i]) {
            return 1;
        }
    }
    return 0;
}

static fake_memory *mapped_at(const char *ptr, size_t bytes)
{
    fake_memory *m = fake_find(ptr);

    return ((m != NULL) && (m->start == NULL) && (m->ptr == ptr) && (m->bytes <= bytes)) ? m : NULL;
}

static void unmap(fake_memory *m)
{
    if (is_in_use(m)) {
        fake_violate("cuMemUnmap at %p of what a stream has not finished with", (void *)m->ptr);
    }
    fake_unmap_pages(m);
    if (m->of != NULL) {
        fake_memory *granule = m->of;

        fake_give(m);
        give_unmapped(granule);
        return;
    }
    m->ptr = NULL;
    free(m->uses);
    m->uses = NULL;
    give_unmapped(m);
}

/* Whole granules, without a gap between them. */
cu_result f_granule_unmap(cu_ptr ptr, size_t bytes)
{
    fake_memory *m;

    FAKE_ENTER(granule_unmap)
    for (size_t done = 0; done < bytes; done += m->bytes) {
        m = mapped_at(to_ptr(ptr) + done, bytes - done);
        if (m == NULL) {
            fake_violate("cuMemUnmap of %zu bytes at %p, where no granules of that size are mapped",
                         bytes, (void *)to_ptr(ptr));
            return CU_ERROR_INVALID_VALUE;
        }
    }
    for (size_t done = 0, step; done < bytes; done += step) {
        m = mapped_at(to_ptr(ptr) + done, bytes - done);
        step = m->bytes; /* the record may go */
        unmap(m);
    }
    return CU_SUCCESS;
}

/* Each byte of the range must be mapped; the descriptions hold for the devices that they name. */
cu_result f_granule_access(cu_ptr ptr, size_t bytes, const cu_access *access, size_t count)
{
    FAKE_ENTER(granule_access)
    for (size_t done = 0; done < bytes;) {
        fake_memory *m = fake_find(to_ptr(ptr) + done);

        if ((m == NULL) || (m->start != NULL) || (m->ptr != to_ptr(ptr) + done) ||
            (m->bytes > bytes - done)) {
            fake_violate("cuMemSetAccess at %p, where no granule begins",
                         (void *)(to_ptr(ptr) + done));
            return CU_ERROR_INVALID_VALUE;
        }
        for (size_t i = 0; i < count; i++) {
            if ((access[i].location.type != 1) || (access[i].location.id < 0) ||
                (access[i].location.id >= (int)fake.devices) || (access[i].flags != 3)) {
                return CU_ERROR_INVALID_VALUE;
            }
            m->access |= 1u << access[i].location.id;
        }
        if (m->file >= 0) {
            fake_map_file(m);
        }
        done += m->bytes;
    }
    if (mprotect(to_ptr(ptr), bytes, PROT_READ | PROT_WRITE) != 0) {
        abort();
    }
    return CU_SUCCESS;
}

unsigned fake_access(const void *ptr)
{
    FAKE_LOCKED
    const fake_memory *m = fake_find(ptr);
    unsigned access = (m == NULL) ? 0 : (m->start != NULL) ? 1u << m->device : m->access;
    return access;
}
