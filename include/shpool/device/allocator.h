/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device/allocator.h
 * Stream-ordered device memory from a named allocator.
 *
 * Terms
 *   allocator  an opened stack of layers on a base, for one device
 *   stream     allocation and free are ordered by a stream: memory that malloc returns may be used
 *              by work submitted to the stream afterwards; after a free, work submitted to the
 *              stream afterwards may get the memory
 *   live       allocated and not freed
 *   idle       freed and retained, available to some stream
 *   pending    freed, but a stream that used it has not yet reached that point
 *
 * Thread safety: every function may be called from any thread, for any allocator.
 */
#ifndef SHPOOL_DEVICE_ALLOCATOR_H
#define SHPOOL_DEVICE_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>

#include <shpool/shpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A CUDA stream: the same type as cudaStream_t and CUstream. */
typedef struct CUstream_st *shpool_stream;

/** A CUDA event: the same type as cudaEvent_t and CUevent. */
typedef struct CUevent_st *shpool_event;

/** Handles of the legacy default stream and of the calling thread's own default stream. */
#define SHPOOL_STREAM_LEGACY     ((shpool_stream)(uintptr_t)0x1)
#define SHPOOL_STREAM_PER_THREAD ((shpool_stream)(uintptr_t)0x2)

/**
 * The stream that "no stream" means in the file being compiled.
 *
 * For the library NULL is the legacy stream.  A file compiled with --default-stream per-thread must
 * pass SHPOOL_STREAM_DEFAULT, never NULL.
 */
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define SHPOOL_STREAM_DEFAULT SHPOOL_STREAM_PER_THREAD
#else
#define SHPOOL_STREAM_DEFAULT SHPOOL_STREAM_LEGACY
#endif

#define SHPOOL_DEVICE_ALIGNMENT 256u /**< every allocation is aligned to this */

/** An opened allocator; reference-counted, bound to one device. */
typedef struct shpool_device_allocator shpool_device_allocator;

/* ---- open ---- */

/**
 * Open an allocator from a spec, layers outermost first: `stats|limit:bytes=8G|buckets`.
 *
 * A spec that names only layers uses the default base, bins.  doc/DEVICE-MEMORY.md lists the
 * built-in names and their keys, `shpool-info device` those of this process.
 * @param [in]  spec         NULL: $SHPOOL_DEVICE_ALLOCATOR, else "bins"
 * @param [in]  device       ordinal; -1: the calling thread's current device
 * @param [out] allocator_p  one reference, owned by the caller
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      allocator_p is NULL
 *   - SHPOOL_ERR_SPEC         the spec does not parse, a key is unknown, a value is invalid, or a
 *                             base is in the place of a layer
 *   - SHPOOL_ERR_NOT_FOUND    unknown allocator (the detail lists the known ones) or device
 *   - SHPOOL_ERR_UNSUPPORTED  this machine has no CUDA driver, or its driver is too old for the
 *                             base
 *   - SHPOOL_ERR_NO_MEMORY, SHPOOL_ERR_CUDA
 */
SHPOOL_API shpool_status shpool_device_allocator_open(const char *spec, int device,
                                                      shpool_device_allocator **allocator_p);

/**
 * Get the allocator that all contexts, buffers and hooks of a device share by default.
 *
 * The first call opens it as specified by $SHPOOL_DEVICE_ALLOCATOR; it lives until the process
 * ends.
 * @param [in]  device       ordinal; -1: the calling thread's current device
 * @param [out] allocator_p  borrowed; NULL: only check the variable's syntax and names, without a
 *                           device or driver
 * @return as shpool_device_allocator_open()
 */
SHPOOL_API shpool_status shpool_device_allocator_default(int device,
                                                         shpool_device_allocator **allocator_p);

/** Add a reference; returns its argument, even if that is NULL. */
SHPOOL_API shpool_device_allocator *shpool_device_allocator_ref(shpool_device_allocator *allocator);

/**
 * Drop a reference; NULL has no effect.
 *
 * Dropping the last one returns all memory of the allocator to the driver, even live memory: all
 * uses of it must have finished.
 */
SHPOOL_API void shpool_device_allocator_unref(shpool_device_allocator *allocator);

/** Ordinal of its device; -1 for NULL. */
SHPOOL_API int shpool_device_allocator_device(const shpool_device_allocator *allocator);

/** The spec it was opened with; "" for NULL.  Valid as long as the allocator. */
SHPOOL_API const char *shpool_device_allocator_spec(const shpool_device_allocator *allocator);

/* ---- memory ---- */

/**
 * Allocate device memory, aligned to SHPOOL_DEVICE_ALIGNMENT.
 *
 * Work submitted to `stream` from now on may use it.  The caller must order any other stream after
 * this point, and must pass it to shpool_device_record_stream() before the memory is freed, unless
 * the stream on which it is freed is ordered after it.  The host does not wait for the device here,
 * except as the last resort before an out-of-memory error.
 *
 * @param [in]  stream  NULL: the legacy default stream
 * @param [out] ptr_p   0 bytes: NULL, and success
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID    a NULL argument
 *   - SHPOOL_ERR_NO_MEMORY  even after all idle memory was returned; the detail says where the
 *                           memory is.  Nothing is lost, and the next call starts afresh
 *   - SHPOOL_ERR_LIMIT      the layer `limit` refused
 *   - SHPOOL_ERR_TOO_LARGE  more bytes than the address space
 *   - SHPOOL_ERR_CAPTURE    the stream captures a graph, new memory is needed, and no pool is open
 *                           or the base has none; or it is the legacy stream, and the capture of a
 *                           stream that is ordered with it would end
 *   - SHPOOL_ERR_CUDA       the driver failed, or this process was forked after CUDA was in use
 */
SHPOOL_API shpool_status shpool_device_malloc(shpool_device_allocator *allocator, size_t bytes,
                                              shpool_stream stream, void **ptr_p);

/**
 * Free memory from shpool_device_malloc(), stream-ordered.
 *
 * Work submitted to `stream` from now on may reuse the memory, and so may other streams once they
 * are ordered after this point, which the allocator ensures.  The caller must have ordered all uses
 * before this point of `stream`, or have passed the streams to shpool_device_record_stream().
 *
 * @param [in] ptr  NULL has no effect
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      no allocation of this allocator begins there; nothing was freed
 *   - SHPOOL_ERR_DOUBLE_FREE  the allocation is already free; nothing was changed
 *   - SHPOOL_ERR_CORRUPT      the layer `guard` detected writes outside of it
 */
SHPOOL_API shpool_status shpool_device_free(shpool_device_allocator *allocator, void *ptr,
                                            shpool_stream stream);

/**
 * Declare that work on another stream uses an allocation.  The memory is then not reused before
 * that stream has completed the work submitted to it until the free.
 *
 * Until then the stream must exist, or be retired.  Memory of a capture's pool that another stream
 * of the capture uses is not reused within the capture, because only the graph knows whether the
 * streams have joined.
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: not a live allocation; SHPOOL_ERR_NO_MEMORY
 */
SHPOOL_API shpool_status shpool_device_record_stream(shpool_device_allocator *allocator, void *ptr,
                                                     shpool_stream user);

/**
 * Get the mapped memory that contains an allocation, to register it (RDMA, NCCL) or to make a
 * handle of it.
 *
 * Every byte of it is mapped, and stays mapped at these addresses while the allocation is live.
 * Other allocations may be in it, too.  It is the driver's allocation; in a range of `bins`, where
 * memory is mapped in granules, the granules of this allocation; of `async`, the allocation itself.
 * @param [in]  ptr      inside a live allocation
 * @param [out] base_p   its first address
 * @param [out] bytes_p  its size
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: not a live allocation; SHPOOL_ERR_UNSUPPORTED
 */
SHPOOL_API shpool_status shpool_device_base(shpool_device_allocator *allocator, const void *ptr,
                                            void **base_p, size_t *bytes_p);

/* ---- streams ---- */

/**
 * Announce that a stream is about to be destroyed.  Other streams can use the memory freed on it
 * when it has finished.  If a stream is destroyed without this call, the allocator must wait for
 * the whole device before it reuses the memory.
 */
SHPOOL_API shpool_status shpool_device_stream_retire(shpool_device_allocator *allocator,
                                                     shpool_stream stream);

/**
 * Promise that a stream is retired before it is destroyed.
 *
 * The allocator then makes no driver call when memory is freed or reused on it: events are recorded
 * only when another stream wants the memory.  The default streams, and the streams of contexts of
 * this library, are known to be stable.
 */
SHPOOL_API shpool_status shpool_device_stream_stable(shpool_device_allocator *allocator,
                                                     shpool_stream stream);

/* ---- graph capture ---- */

/**
 * From now on, serve allocations of a capturing stream from a separate pool.
 *
 * A captured graph uses the same addresses at each launch, so its memory must not serve other
 * requests.  Between begin and end, allocations on a capturing stream are served from the pool
 * `id`; others are not affected.  Without this call, an allocation during a capture is refused if
 * it needs new memory, and otherwise gets memory that serves others after its free.  A stream that
 * captured must exist until the end, or be retired.
 *
 * Within a capture, memory is reused by the stream that freed it only.  Memory that was freed on a
 * stream outside of the capture, or that another stream was recorded for, is reused by the next
 * capture of the pool, once the streams outside have finished with it.
 *
 * @param [in] id_high, id_low  any number except 0, 0; graphs that are never in flight together may
 *                              share one
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: id 0, or the pool is already open; SHPOOL_ERR_NO_MEMORY;
 *         SHPOOL_ERR_UNSUPPORTED: the base has no pools for graphs
 */
SHPOOL_API shpool_status shpool_device_capture_begin(shpool_device_allocator *allocator,
                                                     uint64_t id_high, uint64_t id_low);

/** Close the pool; its memory stays reserved.  SHPOOL_ERR_NOT_FOUND: it is not open. */
SHPOOL_API shpool_status shpool_device_capture_end(shpool_device_allocator *allocator,
                                                   uint64_t id_high, uint64_t id_low);

/**
 * Undo one shpool_device_capture_begin() after the graph was destroyed.  The last such call returns
 * the pool's memory to the driver; memory that is still live, or in use by a stream, follows.
 * @return SHPOOL_OK; SHPOOL_ERR_NOT_FOUND
 */
SHPOOL_API shpool_status shpool_device_capture_release(shpool_device_allocator *allocator,
                                                       uint64_t id_high, uint64_t id_low);

/* ---- control ---- */

/**
 * Return idle memory to the driver until at most keep_bytes of it are left.
 *
 * Only whole driver allocations are returned, starting with large ones and those unused for
 * longest.  The driver waits for the device when it frees memory.
 */
SHPOOL_API shpool_status shpool_device_trim(shpool_device_allocator *allocator, size_t keep_bytes);

/**
 * Change an option of the outermost layer (or base) that has the key, as in a spec.
 * @return SHPOOL_OK; SHPOOL_ERR_SPEC: the value is invalid; SHPOOL_ERR_NOT_FOUND: no layer has the
 *         key, or it can no longer be changed
 */
SHPOOL_API shpool_status shpool_device_set(shpool_device_allocator *allocator, const char *key,
                                           const char *value);

/**
 * Called when memory has run out.  A nonzero result means that memory was freed: try again.
 *
 * No lock is held: the function may free, trim and allocate.
 * @param [in] attempt  0 in the first call for one allocation
 */
typedef int (*shpool_device_oom_fn)(shpool_device_allocator *allocator, size_t bytes,
                                    unsigned attempt, void *user);

/** Install the function that is called when memory runs out; NULL: none. */
SHPOOL_API shpool_status shpool_device_on_oom(shpool_device_allocator *allocator,
                                              shpool_device_oom_fn function, void *user);

/* ---- observation ---- */

/** Counters of an allocator, in bytes and numbers; 0: not counted by this stack (see `stats`). */
typedef struct shpool_device_stats {
    uint64_t live_bytes;        /**< allocated, after rounding */
    uint64_t live_bytes_peak;   /**< layer stats */
    uint64_t live_count;
    uint64_t live_count_peak;   /**< layer stats */
    uint64_t requested_bytes;   /**< live, before rounding: layer stats */
    uint64_t idle_bytes;        /**< reserved but not live; includes pending bytes */
    uint64_t pending_bytes;     /**< freed, but not known to be finished */
    uint64_t driver_bytes;      /**< held from the driver */
    uint64_t driver_bytes_peak;
    uint64_t largest_idle;      /**< largest piece of idle memory */
    uint64_t mallocs;
    uint64_t frees;
    uint64_t hits;              /**< served by memory that the same stream had freed */
    uint64_t hits_done;         /**< by memory that another, finished stream had freed */
    uint64_t hits_wait;         /**< by memory that made the stream wait for another */
    uint64_t misses;            /**< by new memory from the driver */
    uint64_t driver_mallocs;
    uint64_t driver_frees;
    uint64_t events_recorded;
    uint64_t retries;           /**< times the driver refused and idle memory was returned */
    uint64_t failures;          /**< allocations that failed for lack of memory */
    uint64_t reserved[11];      /**< 0 */
} shpool_device_stats;

/** Read the counters; those of other threads may be a few operations old. */
SHPOOL_API shpool_status shpool_device_get_stats(shpool_device_allocator *allocator,
                                                 shpool_device_stats *stats_p);

/** Reset the peaks to the current live and reserved bytes. */
SHPOOL_API shpool_status shpool_device_reset_peak(shpool_device_allocator *allocator);

/**
 * Check the allocator's own data for consistency.
 * @return SHPOOL_OK; SHPOOL_ERR_CORRUPT: the detail describes the inconsistency
 */
SHPOOL_API shpool_status shpool_device_check(shpool_device_allocator *allocator);

/** State of a piece of memory: shpool_device_block.state. */
typedef enum shpool_device_state {
    SHPOOL_DEVICE_IDLE    = 0,
    SHPOOL_DEVICE_LIVE    = 1,
    SHPOOL_DEVICE_PENDING = 2
} shpool_device_state;

/** One piece of memory, as reported by shpool_device_walk(). */
typedef struct shpool_device_block {
    void *ptr;
    size_t bytes;
    void *base;             /**< of the driver's allocation, or range of addresses, around it */
    shpool_stream stream;   /**< on which it was last allocated or freed; NULL: any */
    uint32_t state;         /**< shpool_device_state */
    uint32_t reserved[5];
} shpool_device_block;

/** Receives one piece; nonzero: stop.  Must not call the allocator. */
typedef int (*shpool_device_walk_fn)(const shpool_device_block *block, void *user);

/** Report every piece of memory, in address order within each allocation of the driver. */
SHPOOL_API shpool_status shpool_device_walk(shpool_device_allocator *allocator,
                                            shpool_device_walk_fn function, void *user);

/**
 * Write a short readable summary of where the memory is.
 * @param [out] text    truncated to `bytes` including NUL; may be NULL if bytes is 0
 * @param [out] need_p  full length, without NUL; may be NULL
 */
SHPOOL_API shpool_status shpool_device_report(shpool_device_allocator *allocator, char *text,
                                              size_t bytes, size_t *need_p);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_DEVICE_ALLOCATOR_H */
