/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device/allocator.h
 * Device memory from a named allocator, in the order of CUDA streams.
 *
 * Words used here
 *   allocator  an opened stack of layers over a base, for one device
 *   stream     what memory is allocated and freed "in the order of": the memory that malloc returns
 *              may be used by work submitted to its stream afterwards; free means that work
 *              submitted to its stream afterwards may get the memory
 *   live       allocated and not freed
 *   idle       freed and kept, ready for some stream
 *   pending    freed, but a stream that used it has not reached that point yet
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

/** A CUDA stream: the very type that cudaStream_t and CUstream are. */
typedef struct CUstream_st *shpool_stream;

/** A CUDA event: the very type that cudaEvent_t and CUevent are. */
typedef struct CUevent_st *shpool_event;

/** The legacy default stream, and the calling thread's own default stream, by their handles. */
#define SHPOOL_STREAM_LEGACY     ((shpool_stream)(uintptr_t)0x1)
#define SHPOOL_STREAM_PER_THREAD ((shpool_stream)(uintptr_t)0x2)

/**
 * What "no stream" means to the file that is being compiled.
 *
 * NULL is the legacy stream to the library.  A file built with --default-stream per-thread passes
 * SHPOOL_STREAM_DEFAULT, never NULL.
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
 * A spec that names layers only stands on the default base, bins.  doc/DEVICE-MEMORY.md lists the
 * built-in names and their keys, `shpool-info device` those of this process.
 * @param [in]  spec         NULL: $SHPOOL_DEVICE_ALLOCATOR, else "bins"
 * @param [in]  device       ordinal; -1: the calling thread's current device
 * @param [out] allocator_p  one reference, the caller's
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      allocator_p is NULL
 *   - SHPOOL_ERR_SPEC         the spec does not parse, a key is unknown, a value is impossible, or
 *                             a base stands where a layer belongs
 *   - SHPOOL_ERR_NOT_FOUND    unknown allocator (the detail lists the known ones) or device
 *   - SHPOOL_ERR_UNSUPPORTED  this machine has no CUDA driver, or one that is too old for the base
 *   - SHPOOL_ERR_NO_MEMORY, SHPOOL_ERR_CUDA
 */
SHPOOL_API shpool_status shpool_device_allocator_open(const char *spec, int device,
                                                      shpool_device_allocator **allocator_p);

/**
 * The allocator that all contexts, buffers and hooks of a device share by default.
 *
 * Opened by the first call as $SHPOOL_DEVICE_ALLOCATOR says; lives until the process ends.
 * @param [in]  device       ordinal; -1: the calling thread's current device
 * @param [out] allocator_p  borrowed
 * @return as shpool_device_allocator_open()
 */
SHPOOL_API shpool_status shpool_device_allocator_default(int device,
                                                         shpool_device_allocator **allocator_p);

/** One more reference; returns its argument, NULL included. */
SHPOOL_API shpool_device_allocator *shpool_device_allocator_ref(shpool_device_allocator *allocator);

/**
 * Give a reference back; NULL: no effect.
 *
 * The last one gives all of the allocator's memory back to the driver, live memory too: what uses
 * it must have finished.
 */
SHPOOL_API void shpool_device_allocator_unref(shpool_device_allocator *allocator);

/** Ordinal of its device; -1 for NULL. */
SHPOOL_API int shpool_device_allocator_device(const shpool_device_allocator *allocator);

/** The spec it was opened with, as given; "" for NULL.  Valid as long as the allocator. */
SHPOOL_API const char *shpool_device_allocator_spec(const shpool_device_allocator *allocator);

/* ---- memory ---- */

/**
 * Allocate device memory, aligned to SHPOOL_DEVICE_ALIGNMENT.
 *
 * Work submitted to `stream` from now on may use it; any other stream has to be ordered after that
 * by the caller, and to be named to shpool_device_record_stream() before the memory is freed unless
 * the stream it is freed on is ordered after it.  The host never waits for the device here, except
 * in the last resort before an out-of-memory error.
 *
 * @param [in]  stream  NULL: the legacy default stream
 * @param [out] ptr_p   0 bytes: NULL, and success
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID    a NULL argument
 *   - SHPOOL_ERR_NO_MEMORY  also after everything idle was given back; the detail says who holds
 *                           what.  Nothing is lost, and the next call starts afresh
 *   - SHPOOL_ERR_LIMIT      the layer `limit` refused
 *   - SHPOOL_ERR_TOO_LARGE  more bytes than addresses
 *   - SHPOOL_ERR_CAPTURE    the stream captures a graph, and the driver refused what was needed
 *   - SHPOOL_ERR_CUDA       the driver failed, or this process was forked after CUDA was in use
 */
SHPOOL_API shpool_status shpool_device_malloc(shpool_device_allocator *allocator, size_t bytes,
                                              shpool_stream stream, void **ptr_p);

/**
 * Free what shpool_device_malloc() returned, in the order of a stream.
 *
 * The memory may be reused by work that is submitted to `stream` from now on, and by other streams
 * once they are ordered after this point: the allocator sees to that.  The caller has ordered all
 * uses before this point of `stream`, or named the streams to shpool_device_record_stream().
 *
 * @param [in] ptr  NULL: no effect
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      no allocation of this allocator begins there; nothing was freed
 *   - SHPOOL_ERR_DOUBLE_FREE  it did, and was freed already; nothing was changed
 *   - SHPOOL_ERR_CORRUPT      the layer `guard` found that somebody wrote outside of it
 */
SHPOOL_API shpool_status shpool_device_free(shpool_device_allocator *allocator, void *ptr,
                                            shpool_stream stream);

/**
 * Say that work on another stream uses an allocation: it is not reused before that stream has
 * reached the point where it was when the allocation was freed.
 *
 * The stream must exist until then, or be retired.
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: not a live allocation; SHPOOL_ERR_NO_MEMORY
 */
SHPOOL_API shpool_status shpool_device_record_stream(shpool_device_allocator *allocator, void *ptr,
                                                     shpool_stream user);

/**
 * The memory from the driver that an allocation lies in: for inter-process handles, registration.
 * @param [in]  ptr      inside of a live allocation
 * @param [out] base_p   what the driver returned
 * @param [out] bytes_p  its size
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: not a live allocation; SHPOOL_ERR_UNSUPPORTED
 */
SHPOOL_API shpool_status shpool_device_base(shpool_device_allocator *allocator, const void *ptr,
                                            void **base_p, size_t *bytes_p);

/* ---- streams ---- */

/**
 * Say that a stream is about to be destroyed.  Memory freed on it becomes usable by other streams
 * when it has finished.  A stream that is destroyed without this call costs a wait for the whole
 * device before its memory is reused.
 */
SHPOOL_API shpool_status shpool_device_stream_retire(shpool_device_allocator *allocator,
                                                     shpool_stream stream);

/**
 * Say that a stream is not destroyed before it was retired.
 *
 * The allocator then makes no driver call when memory is freed or reused on it: events are recorded
 * only when another stream wants the memory.  The default streams, and the streams of contexts of
 * this library, are known to be stable.
 */
SHPOOL_API shpool_status shpool_device_stream_stable(shpool_device_allocator *allocator,
                                                     shpool_stream stream);

/* ---- graph capture ---- */

/**
 * From now on, what a capturing stream allocates comes from a pool of its own.
 *
 * A captured graph uses fixed addresses each time it is launched, so that its memory must not serve
 * others.  Between begin and end, allocations in the order of a stream that captures are served
 * from the pool `id`; others are not affected.  Capturing and allocating without having called this
 * is not supported: events that the allocator records would become part of the graph.  A stream
 * that captured exists until the end, or is retired.
 *
 * @param [in] id_high, id_low  any number but 0, 0; graphs that are never in flight together may
 *                              share one
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: id 0, or it is open already; SHPOOL_ERR_NO_MEMORY;
 *         SHPOOL_ERR_UNSUPPORTED: the base keeps no pools for graphs
 */
SHPOOL_API shpool_status shpool_device_capture_begin(shpool_device_allocator *allocator,
                                                     uint64_t id_high, uint64_t id_low);

/** The pool serves no more; its memory stays reserved.  SHPOOL_ERR_NOT_FOUND: it is not open. */
SHPOOL_API shpool_status shpool_device_capture_end(shpool_device_allocator *allocator,
                                                   uint64_t id_high, uint64_t id_low);

/**
 * Undo one shpool_device_capture_begin(): the graph was destroyed.  With the last one the pool's
 * memory goes back to the driver, what is still live of it when it is freed.
 * @return SHPOOL_OK; SHPOOL_ERR_NOT_FOUND
 */
SHPOOL_API shpool_status shpool_device_capture_release(shpool_device_allocator *allocator,
                                                       uint64_t id_high, uint64_t id_low);

/* ---- control ---- */

/**
 * Give idle memory back to the driver until at most keep_bytes of it are left.
 *
 * Whole pieces, as they came from the driver, go; those that were large or not used for longest go
 * first.  The driver waits for the device when it takes memory back.
 */
SHPOOL_API shpool_status shpool_device_trim(shpool_device_allocator *allocator, size_t keep_bytes);

/**
 * Change an option of the outermost layer (or base) that has the key, as in a spec.
 * @return SHPOOL_OK; SHPOOL_ERR_SPEC: the value is impossible; SHPOOL_ERR_NOT_FOUND: nobody has the
 *         key, or it cannot be changed any more
 */
SHPOOL_API shpool_status shpool_device_set(shpool_device_allocator *allocator, const char *key,
                                           const char *value);

/**
 * Called when memory ran out; nonzero: try again, something was freed.
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

/** Counters of an allocator, bytes and numbers; 0: not counted by this stack (see `stats`). */
typedef struct shpool_device_stats {
    uint64_t live_bytes;        /**< allocated, after rounding */
    uint64_t live_bytes_peak;   /**< layer stats */
    uint64_t live_count;
    uint64_t live_count_peak;   /**< layer stats */
    uint64_t requested_bytes;   /**< live, before rounding: layer stats */
    uint64_t idle_bytes;        /**< held from the driver and not live; pending bytes included */
    uint64_t pending_bytes;     /**< freed, and not known to be finished */
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
    uint64_t retries;           /**< times the driver refused, and idle memory was given back */
    uint64_t failures;          /**< mallocs that failed for lack of memory */
    uint64_t reserved[11];      /**< 0 */
} shpool_device_stats;

/** Read the counters; those of other threads may be a few operations old. */
SHPOOL_API shpool_status shpool_device_get_stats(shpool_device_allocator *allocator,
                                                 shpool_device_stats *stats_p);

/** Let the peaks begin anew at what is live and held now. */
SHPOOL_API shpool_status shpool_device_reset_peak(shpool_device_allocator *allocator);

/**
 * Walk all of the allocator's own data and compare what is said twice.
 * @return SHPOOL_OK; SHPOOL_ERR_CORRUPT: the detail says what does not fit
 */
SHPOOL_API shpool_status shpool_device_check(shpool_device_allocator *allocator);

/** What a piece of memory is: shpool_device_block.state. */
typedef enum shpool_device_state {
    SHPOOL_DEVICE_IDLE    = 0,
    SHPOOL_DEVICE_LIVE    = 1,
    SHPOOL_DEVICE_PENDING = 2
} shpool_device_state;

/** One piece of memory, as shpool_device_walk() shows it. */
typedef struct shpool_device_block {
    void *ptr;
    size_t bytes;
    void *base;             /**< of the memory from the driver that it lies in */
    shpool_stream stream;   /**< that it was allocated or freed on last; NULL: any */
    uint32_t state;         /**< shpool_device_state */
    uint32_t reserved[5];
} shpool_device_block;

/** Receives one piece; nonzero: stop.  Must not call the allocator. */
typedef int (*shpool_device_walk_fn)(const shpool_device_block *block, void *user);

/** Show every piece of memory, in the order of addresses within what came from the driver. */
SHPOOL_API shpool_status shpool_device_walk(shpool_device_allocator *allocator,
                                            shpool_device_walk_fn function, void *user);

/**
 * Write who holds what, for people, a few lines.
 * @param [out] text    cut to `bytes` with its NUL; may be NULL when bytes is 0
 * @param [out] need_p  length of all of it, without NUL; may be NULL
 */
SHPOOL_API shpool_status shpool_device_report(shpool_device_allocator *allocator, char *text,
                                              size_t bytes, size_t *need_p);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_DEVICE_ALLOCATOR_H */
