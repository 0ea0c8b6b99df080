/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake driver: memory that processes share.
 *
 * Memory that can be exported is a memfd, and the exported descriptor is another one of it.  Each
 * process has a fake driver of its own: the streams of two processes are not compared.
 */
#include "config.h" /* _GNU_SOURCE, for memfd_create() */
#include "driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

cu_result f_device_uuid(cu_uuid *uuid, cu_device device)
{
    FAKE_ENTER(device_uuid)
    memset(uuid, 0x5a, sizeof(*uuid));
    uuid->bytes[15] = (unsigned char)(fake.hidden + (unsigned)device);
    return (device >= 0) && (device < (int)fake.devices) ? CU_SUCCESS
                                                             : CU_ERROR_INVALID_DEVICE;
}

/* ---- files ---- */

int fake_file(size_t bytes)
{
    int file = memfd_create("fake device memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if ((file < 0) || (ftruncate(file, (off_t)bytes) != 0)) {
        abort(); /* the machine's, not the device's */
    }
    return file;
}

void fake_map_file(const fake_memory *m)
{
    if (mmap(m->ptr, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, m->file, 0) ==
        MAP_FAILED) {
        abort();
    }
}

void fake_unmap_pages(const fake_memory *m)
{
    if (mmap(m->ptr, m->bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
        abort();
    }
}

/* The size of a file that another process made with fake_file(); 0: it is something else. */
static size_t bytes_of(int file)
{
    struct stat info;

    return ((fcntl(file, F_GET_SEALS) >= 0) && (fstat(file, &info) == 0)) ? (size_t)info.st_size
                                                                          : 0;
}

static fake_memory *add_import(int file, size_t bytes)
{
    fake_memory *m = calloc(1, sizeof(*m));

    m->bytes = bytes;
    m->file = file;
    m->imported = 1;
    m->next = fake.memory;
    fake.memory = m;
    fake.held.imports++;
    return m;
}

/* ---- descriptors ---- */

cu_result f_granule_export(void *handle, cu_granule granule, int type,
                                  unsigned long long flags)
{
    int file;

    FAKE_ENTER(granule_export)
    fake_memory *m = fake.memory;
    while ((m != NULL) && (m != (fake_memory *)(uintptr_t)granule)) {
        m = m->next;
    }
    if ((m == NULL) || (m->file < 0) || m->imported || (type != CU_HANDLE_DESCRIPTOR) ||
        (flags != 0)) {
        fake_violate("cuMemExportToShareableHandle of %s",
                     (m == NULL) ? "no granule" : "memory that was not created for that");
        return CU_ERROR_INVALID_VALUE;
    }
    file = dup(m->file);
    if (file < 0) {
        return CU_ERROR_OUT_OF_MEMORY;
    }
    m->exported = 1;
    memcpy(handle, &file, sizeof(file));
    return CU_SUCCESS;
}

cu_result f_granule_import(cu_granule *granule, void *handle, int type)
{
    int file = (int)(intptr_t)handle;

    FAKE_ENTER(granule_import)
    size_t bytes = (type == CU_HANDLE_DESCRIPTOR) ? bytes_of(file) : 0;
    file = (bytes > 0) ? fcntl(file, F_DUPFD_CLOEXEC, 0) : -1;
    if (file < 0) {
        return CU_ERROR_INVALID_VALUE;
    }
    *granule = (cu_granule)(uintptr_t)add_import(file, bytes);
    return CU_SUCCESS;
}
