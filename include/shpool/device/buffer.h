/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device/buffer.h
 * Typed arrays in device memory: copies, fills, random numbers, printing.
 *
 * Modelled on MGPU's CudaDeviceMem.  A buffer keeps its context and the allocator of its memory
 * alive: the program may drop its references to them first.  Positions and counts are in elements,
 * and are checked.
 *
 * Order: everything is ordered by the context's stream.  A function that returns when something "is
 * done" has waited for that stream, and for no other.
 *
 * Thread safety: ref and unref may be called from any thread; for the rest see the buffer's
 * context.
 */
#ifndef SHPOOL_DEVICE_BUFFER_H
#define SHPOOL_DEVICE_BUFFER_H

#include <shpool/device/array.h>
#include <shpool/device/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Reference-counted. */
typedef struct shpool_buffer shpool_buffer;

/* ---- memory ---- */

/**
 * Allocate an array from the context's allocator; its elements are undefined.
 * @param [in]  context   the buffer keeps a reference
 * @param [in]  type      any of device/array.h, including opaque ones
 * @param [in]  count     0: an empty buffer, whose pointer is NULL
 * @param [out] buffer_p  one reference, owned by the caller
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID    a NULL argument, or no type
 *   - SHPOOL_ERR_TOO_LARGE  the bytes do not fit in size_t
 *   - SHPOOL_ERR_NO_MEMORY, SHPOOL_ERR_LIMIT, SHPOOL_ERR_CAPTURE, SHPOOL_ERR_CUDA: as
 *     shpool_device_malloc()
 */
SHPOOL_API shpool_status shpool_buffer_create(shpool_context *context, shpool_type type,
                                              size_t count, shpool_buffer **buffer_p);

/** shpool_buffer_create(), then shpool_buffer_from_host() for all elements. */
SHPOOL_API shpool_status shpool_buffer_create_from(shpool_context *context, shpool_type type,
                                                   size_t count, const void *host,
                                                   shpool_buffer **buffer_p);

/** Frees memory that a buffer was wrapped around. */
typedef void (*shpool_release_fn)(void *ptr, void *user);

/**
 * Create a buffer from existing memory: PyTorch's, another library's, part of another buffer.
 *
 * @param [in]  ptr       device memory of the context's device, aligned to the element
 * @param [in]  release   called once, by the last unref, when the stream may still be using the
 *                        memory; NULL: the memory is borrowed
 * @param [out] buffer_p  one reference, owned by the caller; on failure release is not called
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument (ptr may be NULL with count 0), or no
 *         type; SHPOOL_ERR_TOO_LARGE; SHPOOL_ERR_NO_MEMORY
 */
SHPOOL_API shpool_status shpool_buffer_wrap(shpool_context *context, void *ptr, shpool_type type,
                                            size_t count, shpool_release_fn release, void *user,
                                            shpool_buffer **buffer_p);

/** Add a reference; returns its argument, even if that is NULL. */
SHPOOL_API shpool_buffer *shpool_buffer_ref(shpool_buffer *buffer);

/** Drop a reference; the last one frees the memory, ordered by the context's stream.  NULL has no
 *  effect. */
SHPOOL_API void shpool_buffer_unref(shpool_buffer *buffer);

/** Device address; NULL if the buffer is empty or NULL. */
SHPOOL_API void *shpool_buffer_ptr(const shpool_buffer *buffer);

/** Number of elements; 0 for NULL. */
SHPOOL_API size_t shpool_buffer_count(const shpool_buffer *buffer);

/** Type of the elements; 0 for NULL. */
SHPOOL_API shpool_type shpool_buffer_type(const shpool_buffer *buffer);

/** Its context, borrowed; NULL for NULL. */
SHPOOL_API shpool_context *shpool_buffer_context(const shpool_buffer *buffer);

/** shpool_device_record_stream() for its memory; SHPOOL_ERR_UNSUPPORTED: it is wrapped. */
SHPOOL_API shpool_status shpool_buffer_record_stream(shpool_buffer *buffer, shpool_stream user);

/* ---- copies ----
 *
 * All return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument (but with count 0), or a range that
 * does not lie in the buffer (the detail names both; nothing is copied); SHPOOL_ERR_CUDA.
 * SHPOOL_ERR_CAPTURE, and nothing is copied: the copy would end the capture of a graph.  A stream
 * that captures cannot be waited for, and its copies without a wait become part of the graph; the
 * streams of two buffers must take part in one capture. */

/** Copy `count` elements from position `first` on to host memory; returns when that is done. */
SHPOOL_API shpool_status shpool_buffer_to_host(const shpool_buffer *buffer, size_t first,
                                               size_t count, void *host);

/** Copy from host memory; returns when that is done. */
SHPOOL_API shpool_status shpool_buffer_from_host(shpool_buffer *buffer, size_t first, size_t count,
                                                 const void *host);

/**
 * Start a copy to host memory, which is complete when the stream has reached it.
 *
 * With page-locked memory (shpool_context_pinned()) the call does not wait; with other memory the
 * driver may.
 */
SHPOOL_API shpool_status shpool_buffer_to_host_async(const shpool_buffer *buffer, size_t first,
                                                     size_t count, void *host);

/** Start a copy from host memory, which must not change before the stream has completed it. */
SHPOOL_API shpool_status shpool_buffer_from_host_async(shpool_buffer *buffer, size_t first,
                                                       size_t count, const void *host);

/**
 * Start a copy between buffers with elements of the same size, or within one buffer between ranges
 * that do not overlap.
 *
 * Ordered by the target's stream, after all work submitted to the source's stream so far; `from`
 * may be dropped immediately.  Devices may differ.
 * @return SHPOOL_ERR_INVALID also for different sizes or overlapping ranges
 */
SHPOOL_API shpool_status shpool_buffer_copy(shpool_buffer *to, size_t to_first,
                                            const shpool_buffer *from, size_t from_first,
                                            size_t count);

/* ---- fills: all elements, in stream order ---- */

/** Set every element to *element, of the buffer's type.  Works on the device. */
SHPOOL_API shpool_status shpool_buffer_fill(shpool_buffer *buffer, const void *element);

/**
 * Set element i to first + i * step.
 *
 * Integers modulo 2^bits; floats by one fma in double, rounded to the type.  Runs on the device if
 * this build has CUDA code, else on the host, with the same result.
 * @param [in] first  one element of the buffer's type; so is step
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument, or an opaque type; SHPOOL_ERR_NO_MEMORY;
 *         SHPOOL_ERR_CUDA; SHPOOL_ERR_CAPTURE, as the copies
 */
SHPOOL_API shpool_status shpool_buffer_fill_ascending(shpool_buffer *buffer, const void *first,
                                                      const void *step);

/**
 * Uniform random elements from min to max: exactly those of shpool_random_fill().
 *
 * Large arrays are filled on the device if this build has CUDA code, else on the host, with the
 * same result.  The generator has advanced when the call returns.
 * @return as shpool_random_fill(); SHPOOL_ERR_NO_MEMORY, SHPOOL_ERR_CUDA: the elements and the
 *         generator's state are then undefined
 */
SHPOOL_API shpool_status shpool_buffer_fill_random(shpool_buffer *buffer, const void *min,
                                                   const void *max, shpool_random *random);

/** The same numbers in ascending order.  Sorts on the host, in memory of the array's size. */
SHPOOL_API shpool_status shpool_buffer_fill_sorted(shpool_buffer *buffer, const void *min,
                                                   const void *max, shpool_random *random);

/** Writes element `index`, which is in host memory and was zeroed before. */
typedef void (*shpool_generate_fn)(size_t index, void *element, void *user);

/** Fill with values from a host function, which this thread calls for 0, 1, ... */
SHPOOL_API shpool_status shpool_buffer_generate(shpool_buffer *buffer, shpool_generate_fn function,
                                                void *user);

/* ---- printing ---- */

/**
 * Print the first elements like shpool_array_print().
 * @param [in] count  SIZE_MAX: all
 * @return as shpool_array_print(), and as shpool_buffer_to_host()
 */
SHPOOL_API shpool_status shpool_buffer_print(FILE *file, const shpool_buffer *buffer, size_t count,
                                             const char *format, size_t columns);

/** The same with a function instead of the format. */
SHPOOL_API shpool_status shpool_buffer_print_with(FILE *file, const shpool_buffer *buffer,
                                                  size_t count, shpool_format_fn format, void *user,
                                                  size_t columns);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_DEVICE_BUFFER_H */
