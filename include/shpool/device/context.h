/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device/context.h
 * A context: one device, a stream, and the other objects that a CUDA program usually creates first.
 *
 * Modelled on MGPU's CudaContext: an event, a timer, page-locked memory, an allocator.  It uses the
 * device's primary context, like the CUDA runtime.
 *
 * Thread safety: only one thread may use a context at a time, except for ref and unref.
 */
#ifndef SHPOOL_DEVICE_CONTEXT_H
#define SHPOOL_DEVICE_CONTEXT_H

#include <shpool/device/allocator.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Reference-counted. */
typedef struct shpool_context shpool_context;

/** shpool_context_options.flags */
enum {
    SHPOOL_CONTEXT_NEW_STREAM = 1u << 0, /**< a stream of its own, destroyed with it */
    SHPOOL_CONTEXT_ATTACH     = 1u << 1, /**< the caller's stream, borrowed */
    SHPOOL_CONTEXT_PRINT      = 1u << 2, /**< print its description to stdout */
    SHPOOL_CONTEXT_ACTIVATE   = 1u << 3  /**< make the device current, like MGPU's argv form */
};

/** Zero the fields that you do not set.  Device 0 is a device; -1 is the calling thread's current
 *  one. */
typedef struct shpool_context_options {
    uint32_t bytes;        /**< sizeof(shpool_context_options) */
    uint32_t flags;        /**< SHPOOL_CONTEXT_*; neither stream flag: the default stream */
    int32_t device;        /**< ordinal; -1: current */
    uint32_t reserved32;   /**< 0 */
    shpool_stream stream;  /**< with SHPOOL_CONTEXT_ATTACH */
    const char *allocator; /**< spec of its own allocator; NULL: the device's shared one */
    size_t pinned_bytes;   /**< size of the page-locked memory; 0: 4,096 */
    void *reserved[4];     /**< NULL */
} shpool_context_options;

/**
 * Create a context.  NULL options: device 0, default stream, shared allocator.
 * @param [out] context_p  one reference, owned by the caller
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID    context_p is NULL, `bytes` is wrong, or flags are unknown or
 *                           contradictory
 *   - SHPOOL_ERR_NOT_FOUND  no such device; the detail says how many there are
 *   - as shpool_device_allocator_open()
 */
SHPOOL_API shpool_status shpool_context_create(const shpool_context_options *options,
                                               shpool_context **context_p);

/**
 * Create a context on the device that the command line names: argv[1], or 0 without one.
 * @param [in] flags  SHPOOL_CONTEXT_* except ATTACH
 * @return as shpool_context_create(); SHPOOL_ERR_SPEC: argv[1] is not entirely a decimal number
 */
SHPOOL_API shpool_status shpool_context_create_args(int argc, char *const argv[], uint32_t flags,
                                                    shpool_context **context_p);

/**
 * Get the device's shared context: default stream, allocator `simple`, created by the first call.
 * @param [in]  device     ordinal; -1: current
 * @param [out] context_p  borrowed; lives until the process ends
 */
SHPOOL_API shpool_status shpool_context_standard(int device, shpool_context **context_p);

/** Add a reference; returns its argument, even if that is NULL. */
SHPOOL_API shpool_context *shpool_context_ref(shpool_context *context);

/** Drop a reference; the last one destroys it, after retiring its streams.  NULL has no effect. */
SHPOOL_API void shpool_context_unref(shpool_context *context);

/** Ordinal of its device; -1 for NULL. */
SHPOOL_API int shpool_context_device(const shpool_context *context);

/** Multiprocessors of its device; 0 for NULL. */
SHPOOL_API int shpool_context_sm_count(const shpool_context *context);

/** 100 * major + 10 * minor of the compute capability: 900 for sm_90. */
SHPOOL_API int shpool_context_arch(const shpool_context *context);

/** The newest PTX that the device compiles, in the units of shpool_context_arch(). */
SHPOOL_API int shpool_context_ptx_version(const shpool_context *context);

/** Its stream, never NULL: the default stream is SHPOOL_STREAM_LEGACY.  Borrowed. */
SHPOOL_API shpool_stream shpool_context_stream(const shpool_context *context);

/** A second stream, created by the first call and destroyed with the context.  Borrowed. */
SHPOOL_API shpool_status shpool_context_aux_stream(shpool_context *context,
                                                   shpool_stream *stream_p);

/** An event without timing, for the caller's use.  Borrowed. */
SHPOOL_API shpool_event shpool_context_event(const shpool_context *context);

/** Page-locked host memory for the caller's use; bytes_p may be NULL.  Borrowed. */
SHPOOL_API void *shpool_context_pinned(const shpool_context *context, size_t *bytes_p);

/** Make its device's primary context current in the calling thread, like cudaSetDevice. */
SHPOOL_API shpool_status shpool_context_activate(shpool_context *context);

/** Wait until its stream has finished; does not wait for any other stream.  SHPOOL_ERR_CAPTURE: the
 *  stream captures a graph; or it is the legacy stream, and a stream that is ordered with it
 *  does. */
SHPOOL_API shpool_status shpool_context_sync(shpool_context *context);

/**
 * Replace the allocator; the context keeps a reference.
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: NULL, or the allocator is for another device
 */
SHPOOL_API shpool_status shpool_context_set_allocator(shpool_context *context,
                                                      shpool_device_allocator *allocator);

/** Borrowed. */
SHPOOL_API shpool_device_allocator *shpool_context_allocator(const shpool_context *context);

/* ---- properties ---- */

/** Properties of a device, as reported by its driver. */
typedef struct shpool_device_properties {
    char name[256];
    int32_t ordinal;
    int32_t major;               /**< of the compute capability */
    int32_t minor;
    int32_t sm_count;
    int32_t clock_khz;
    int32_t memory_clock_khz;
    int32_t memory_bus_bits;
    int32_t ecc;                 /**< 1: enabled */
    int32_t warp_threads;
    int32_t sm_threads;          /**< resident threads of an SM */
    int32_t l2_bytes;
    int32_t shared_block_bytes;  /**< shared memory of a block with opt-in */
    uint64_t total_bytes;        /**< device memory */
    uint64_t reserved[6];        /**< 0 */
} shpool_device_properties;

/** Number of devices; SHPOOL_ERR_UNSUPPORTED: no driver or no device. */
SHPOOL_API shpool_status shpool_device_count(int *count_p);

/** @return SHPOOL_OK; SHPOOL_ERR_NOT_FOUND: no such ordinal; SHPOOL_ERR_CUDA */
SHPOOL_API shpool_status shpool_device_get_properties(int device,
                                                      shpool_device_properties *properties_p);

/** Free and total memory of a device, which need not be current. */
SHPOOL_API shpool_status shpool_device_memory(int device, uint64_t *free_p, uint64_t *total_p);

/**
 * Write the same five lines as MGPU for a device: clock, SMs, memory, bandwidth, ECC.
 * @param [out] text    truncated to `bytes` including NUL; may be NULL if bytes is 0
 * @param [out] need_p  full length, without NUL; may be NULL
 */
SHPOOL_API shpool_status shpool_context_describe(const shpool_context *context, char *text,
                                                 size_t bytes, size_t *need_p);

/* ---- timer, on the context's stream; other streams are neither measured nor waited for.
 * SHPOOL_ERR_CAPTURE as shpool_context_sync() ---- */

/** Start measuring. */
SHPOOL_API shpool_status shpool_timer_start(shpool_context *context);

/** Seconds since start or the latest split (a lap).  Waits for the stream. */
SHPOOL_API shpool_status shpool_timer_split(shpool_context *context, double *seconds_p);

/** count * iterations / split, per second. */
SHPOOL_API shpool_status shpool_timer_throughput(shpool_context *context, uint64_t count,
                                                 uint64_t iterations, double *per_second_p);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_DEVICE_CONTEXT_H */
