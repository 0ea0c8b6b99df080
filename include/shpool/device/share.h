/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device/share.h
 * Device memory that several processes of one machine use.
 *
 * The exporter makes a handle of an allocation and sends it over a Unix socket.  The importer opens
 * the handle and has the same memory at an address of its own.
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
 * What can be exported
 *   Allocations of bins:share=1.  Each has mapped memory of its own, in whole granules (2 MiB), so
 *   that an importer sees nothing else.  share=1 needs a device and a driver with virtual memory
 *   management (memory=vmm) and POSIX descriptors.  Other allocators pack several allocations into
 *   one of the driver's, and are refused.
 *
 * How long the memory lives
 *   The driver keeps it until the exporter has freed it, all imports are closed, and all
 *   descriptors are closed, in any order.  A process that exits or crashes closes what it has.
 *   - The exporter frees: its address is invalid from then on.  The allocator does not use exported
 *     memory again; it unmaps it when the streams have finished with it.  Importers keep it.
 *   - The exporter exits or crashes: importers keep the memory, with its contents.  The work that
 *     the exporter had submitted may have ended anywhere.
 *   - An importer closes, exits or crashes: nobody else notices.
 *   - shpool_device_stats counts exported memory until the exporter's allocator has unmapped it;
 *     what importers keep after that counts nowhere in the exporter.
 *
 * Streams do not order the work of two processes.  The exporter waits for its work on the memory
 * before it sends the handle, and the processes tell each other by their own means who writes when.
 *
 * Security: a process that has a handle may read and write all `bytes` of it for as long as it
 * likes.  A received handle is not trusted: its fields are checked, and the driver refuses what is
 * not memory or is smaller than `bytes`.  Imported memory may change at any time.
 *
 * Thread safety: every function may be called from any thread; an import is closed once.
 */
#ifndef SHPOOL_DEVICE_SHARE_H
#define SHPOOL_DEVICE_SHARE_H

#include <shpool/device/allocator.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The first two words of a handle: what it is, and of which version. */
#define SHPOOL_DEVICE_HANDLE_MAGIC   0x65726873u
#define SHPOOL_DEVICE_HANDLE_VERSION 1u

/** An exported allocation: plain data and one descriptor.  An empty one has magic 0 and fd -1. */
typedef struct shpool_device_handle {
    uint32_t magic;       /**< SHPOOL_DEVICE_HANDLE_MAGIC */
    uint32_t version;     /**< SHPOOL_DEVICE_HANDLE_VERSION */
    int32_t  fd;          /**< belongs to the owner of the handle; closed by exec() */
    uint32_t reserved32;  /**< 0 */
    uint64_t bytes;       /**< of the memory: those of the allocation, in whole granules */
    uint8_t  uuid[16];    /**< of the device that the memory lies on */
    uint64_t reserved[3]; /**< 0 */
} shpool_device_handle;

/** Memory of another process, mapped for one device. */
typedef struct shpool_device_import shpool_device_import;

/* ---- export ---- */

/**
 * Make a handle of a live allocation.
 *
 * It may be called again for the same allocation; each handle has a descriptor of its own.  It does
 * not wait, and may be called while streams capture graphs.  In a child of fork() it fails.
 * @param [in]  ptr       from shpool_device_malloc(); memory inside of an allocation has no handle
 *                        of its own: export the allocation, and send the offset beside the handle
 * @param [out] handle_p  the caller's, for shpool_device_handle_close(); empty after a failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      a NULL argument, no live allocation of this allocator, or not the
 *                             beginning of one
 *   - SHPOOL_ERR_UNSUPPORTED  this allocator does not export, or the memory belongs to a graph
 *   - SHPOOL_ERR_SYSTEM       the descriptor could not be marked for exec()
 *   - SHPOOL_ERR_CUDA         the driver refused
 */
SHPOOL_API shpool_status shpool_device_export(shpool_device_allocator *allocator, const void *ptr,
                                              shpool_device_handle *handle_p);

/* ---- handles: without a driver, also in a child of fork() ---- */

/**
 * Close a handle's descriptor and empty the handle; NULL, or an empty one: no effect.
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
 * Wait for what shpool_device_handle_send() sent, and check it.
 *
 * It reads exactly one handle.  Every descriptor that came with anything else is closed.
 * @param [in]  socket    as for shpool_device_handle_send()
 * @param [out] handle_p  the caller's, for shpool_device_handle_close(); empty after a failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID  handle_p is NULL, or what came is not a handle with one descriptor
 *   - SHPOOL_ERR_ABI      it has another SHPOOL_DEVICE_HANDLE_VERSION
 *   - SHPOOL_ERR_SYSTEM   the socket refused, or was closed before all of the handle came; or the
 *                         process may not have more descriptors
 */
SHPOOL_API shpool_status shpool_device_handle_receive(int socket, shpool_device_handle *handle_p);

/* ---- import ---- */

/**
 * Map the memory of a handle, to read and write.
 *
 * Only `device` can use it; another device of this process needs an import of its own.  It costs
 * addresses, not device memory.  The handle stays the caller's, and may be closed at once.  The
 * exporting process may import, too.  Not to be called while a stream of this thread captures.
 * @param [in]  device    ordinal in this process; -1: the device that the memory lies on, whatever
 *                        its ordinal was in the exporting process
 * @param [out] import_p  the caller's, for shpool_device_import_close(); NULL after a failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      a NULL argument, a handle whose fields are wrong, or a closed
 *                             descriptor
 *   - SHPOOL_ERR_ABI          a handle of another version
 *   - SHPOOL_ERR_NOT_FOUND    no such device, or this process does not see the memory's
 *   - SHPOOL_ERR_UNSUPPORTED  the device cannot reach the one that the memory lies on, or the
 *                             driver is too old
 *   - SHPOOL_ERR_NO_MEMORY    no host memory
 *   - SHPOOL_ERR_CUDA         the driver refused: the descriptor is something else (the detail says
 *                             what), or the memory is smaller than the handle says
 */
SHPOOL_API shpool_status shpool_device_import_open(const shpool_device_handle *handle, int device,
                                                   shpool_device_import **import_p);

/** Address in this process of the first byte; NULL for NULL. */
SHPOOL_API void *shpool_device_import_ptr(const shpool_device_import *import);

/** Bytes of the memory: at least those that the exporter asked for; 0 for NULL. */
SHPOOL_API size_t shpool_device_import_bytes(const shpool_device_import *import);

/** Ordinal of the device that can use it; -1 for NULL. */
SHPOOL_API int shpool_device_import_device(const shpool_device_import *import);

/**
 * Wait for the device, and unmap the memory; NULL: no effect.
 *
 * Not to be called while a stream of the device captures a graph.  In a child of fork() nothing is
 * done.
 * @return SHPOOL_OK; SHPOOL_ERR_CUDA: the driver refused; the import must not be used any more, and
 *         can be closed again
 */
SHPOOL_API shpool_status shpool_device_import_close(shpool_device_import *import);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_DEVICE_SHARE_H */
