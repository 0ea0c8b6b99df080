/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device/share.h
 * Device memory shared between processes of one machine.
 *
 * The exporter creates a handle for an allocation and sends it over a Unix socket.  The importer
 * opens the handle and gets the same memory at its own address.
 *
 *     exporter                                    importer
 *     shpool_device_allocator_open("bins:share=1")
 *     shpool_device_malloc()
 *     shpool_device_export()
 *     shpool_device_handle_send()          ->     shpool_device_handle_receive()
 *     shpool_device_handle_close()                shpool_device_import_open()
 *                                                 shpool_device_handle_close()
 *     shpool_device_free()                        shpool_device_import_close()
 *
 * What can be exported Allocations of bins:share=1.  Each has its own mapped memory, in whole
 *   granules (2 MiB), so that an importer can access nothing else.  share=1 needs a device and a
 *   driver with virtual memory management (memory=vmm) and POSIX descriptors.  Other allocators
 *   pack several allocations into one of the driver's, so export refuses them.
 *
 * Lifetime of the memory The driver keeps it until the exporter has freed it, all imports are
 *   closed, and all descriptors are closed, in any order.  A process that exits or crashes closes
 *   its own.
 *   - The exporter frees: its address becomes invalid.  The allocator does not reuse exported
 *     memory, and unmaps it when the streams have finished with it.  Importers keep it.
 *   - The exporter exits or crashes: importers keep the memory, with its contents.  The exporter's
 *     submitted work may have stopped at any point.
 *   - An importer closes, exits or crashes: other processes are not affected.
 *   - shpool_device_stats counts exported memory until the exporter's allocator has unmapped it;
 *     memory that importers keep after that is not counted in the exporter.
 *
 * Streams do not order the work of two processes.  The exporter must wait for its work on the
 * memory before it sends the handle, and the processes must synchronise their writes by other
 * means.
 *
 * Security: a process that has a handle can read and write all its `bytes`, without a time limit.
 * A received handle is not trusted: its fields are checked, and the driver refuses a descriptor
 * that is not memory or is smaller than `bytes`.  Imported memory may change at any time.
 *
 * Thread safety: every function may be called from any thread; an import must be closed once.
 */
#ifndef SHPOOL_DEVICE_SHARE_H
#define SHPOOL_DEVICE_SHARE_H

#include <shpool/device/allocator.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The first two words of a handle: magic number and version. */
#define SHPOOL_DEVICE_HANDLE_MAGIC   0x65726873u
#define SHPOOL_DEVICE_HANDLE_VERSION 1u

/** An exported allocation: plain data and one descriptor.  An empty one has magic 0 and fd -1. */
typedef struct shpool_device_handle {
    uint32_t magic;       /**< SHPOOL_DEVICE_HANDLE_MAGIC */
    uint32_t version;     /**< SHPOOL_DEVICE_HANDLE_VERSION */
    int32_t  fd;          /**< owned by the handle's owner; closed by exec() */
    uint32_t reserved32;  /**< 0 */
    uint64_t bytes;       /**< size of the allocation, in whole granules */
    uint8_t  uuid[16];    /**< UUID of the memory's device */
    uint64_t reserved[3]; /**< 0 */
} shpool_device_handle;

/** Memory of another process, mapped for one device. */
typedef struct shpool_device_import shpool_device_import;

/* ---- export ---- */

/**
 * Create a handle for a live allocation.
 *
 * It may be called again for the same allocation; each handle has its own descriptor.  It does not
 * wait, and may be called while streams capture graphs.  In a child of fork() it fails.
 * @param [in]  ptr       from shpool_device_malloc(); an address inside an allocation cannot be
 *                        exported: export the allocation, and send the offset along with the handle
 * @param [out] handle_p  owned by the caller, who closes it with shpool_device_handle_close();
 *                        empty after a failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      a NULL argument, or not the start of a live allocation of this
 *                             allocator
 *   - SHPOOL_ERR_UNSUPPORTED  this allocator does not export, or the memory belongs to a graph
 *   - SHPOOL_ERR_SYSTEM       the descriptor could not be marked for exec()
 *   - SHPOOL_ERR_CUDA         the driver refused
 */
SHPOOL_API shpool_status shpool_device_export(shpool_device_allocator *allocator, const void *ptr,
                                              shpool_device_handle *handle_p);

/* ---- handles: without a driver, also in a child of fork() ---- */

/**
 * Close a handle's descriptor and clear the handle; NULL or an empty one has no effect.
 *
 * Imports that were opened with it stay open.
 */
SHPOOL_API void shpool_device_handle_close(shpool_device_handle *handle);

/**
 * Send a handle with its descriptor over a connected Unix socket.  The handle stays the caller's.
 * @param [in] socket  blocking; SOCK_STREAM or SOCK_SEQPACKET
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID, SHPOOL_ERR_ABI  not a handle of this version
 *   - SHPOOL_ERR_SYSTEM                   the socket refused, or the other end is closed; no signal
 *                                         is raised
 */
SHPOOL_API shpool_status shpool_device_handle_send(int socket, const shpool_device_handle *handle);

/**
 * Receive a handle from shpool_device_handle_send(), waiting for it, and check it.
 *
 * It reads exactly one handle.  Descriptors that arrive with any other data are closed.
 * @param [in]  socket    as for shpool_device_handle_send()
 * @param [out] handle_p  owned by the caller, who closes it with shpool_device_handle_close();
 *                        empty after a failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID  handle_p is NULL, or the data is not a handle with one descriptor
 *   - SHPOOL_ERR_ABI      it has another SHPOOL_DEVICE_HANDLE_VERSION
 *   - SHPOOL_ERR_SYSTEM   the socket refused, or was closed before the whole handle arrived; or the
 *                         process may not open more descriptors
 */
SHPOOL_API shpool_status shpool_device_handle_receive(int socket, shpool_device_handle *handle_p);

/* ---- import ---- */

/**
 * Map the memory of a handle for reading and writing.
 *
 * Only `device` can use it; another device of this process needs its own import.  It uses address
 * space, not device memory.  The caller keeps the handle, and may close it immediately.  The
 * exporting process may also import.
 * @param [in]  device    ordinal in this process; -1: the memory's device, whatever its ordinal was
 *                        in the exporting process
 * @param [out] import_p  owned by the caller, who closes it with shpool_device_import_close(); NULL
 *                        after a failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      a NULL argument, a handle whose fields are wrong, or a closed
 *                             descriptor
 *   - SHPOOL_ERR_ABI          a handle of another version
 *   - SHPOOL_ERR_NOT_FOUND    no such device, or this process does not see the memory's
 *   - SHPOOL_ERR_UNSUPPORTED  the device cannot access the memory's device, or the driver is too
 *                             old
 *   - SHPOOL_ERR_NO_MEMORY    no host memory
 *   - SHPOOL_ERR_CUDA         the driver refused: the descriptor is not memory (the detail says
 *                             what it is), or the memory is smaller than the handle claims
 */
SHPOOL_API shpool_status shpool_device_import_open(const shpool_device_handle *handle, int device,
                                                   shpool_device_import **import_p);

/** Address in this process of the first byte; NULL for NULL. */
SHPOOL_API void *shpool_device_import_ptr(const shpool_device_import *import);

/** Size of the memory: at least the bytes that the exporter requested; 0 for NULL. */
SHPOOL_API size_t shpool_device_import_bytes(const shpool_device_import *import);

/** Ordinal of the device that can use it; -1 for NULL. */
SHPOOL_API int shpool_device_import_device(const shpool_device_import *import);

/**
 * Wait for the device, and unmap the memory; NULL has no effect.
 *
 * Has no effect in a child of fork().
 * @return SHPOOL_OK; SHPOOL_ERR_CUDA: the driver refused; the import must no longer be used, but
 *         can be closed again
 */
SHPOOL_API shpool_status shpool_device_import_close(shpool_device_import *import);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_DEVICE_SHARE_H */
