/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device/buffer.h
 * Typed arrays in device memory: copies, fills, random numbers, printing.
 *
 * After MGPU's CudaDeviceMem.  A buffer keeps its context and the allocator that its memory came
 * from alive: both may be dropped by the program before it.  Positions and counts are elements, and
 * checked.
 *
 * Order: everything happens in the order of the context's stream.  A function that returns when
 * something "is done" has waited for that stream, and for no other.
 *
 * Thread safety: ref and unref from any thread; else as the context that the buffer belongs to.
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
 * @param [in]  type      any of device/array.h, opaque ones, too
 * @param [in]  count     0: an empty buffer, whose pointer is NULL
 * @param [out] buffer_p  one reference, the caller's
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID    a NULL argument, or no type
 *   - SHPOOL_ERR_TOO_LARGE  the bytes are no size_t
 *   - SHPOOL_ERR_NO_MEMORY, SHPOOL_ERR_LIMIT, SHPOOL_ERR_CAPTURE, SHPOOL_ERR_CUDA: as
 *     shpool_device_malloc()
 */
SHPOOL_API shpool_status shpool_buffer_create(shpool_context *context, shpool_type type,
                                              size_t count, shpool_buffer **buffer_p);

/** shpool_buffer_create() and shpool_buffer_from_host() of all elements. */
SHPOOL_API shpool_status shpool_buffer_create_from(shpool_context *context, shpool_type type,
                                                   size_t count, const void *host,
                                                   shpool_buffer **buffer_p);

/** Gives memory back that a buffer was wrapped around. */
typedef void (*shpool_release_fn)(void *ptr, void *user);

/**
 * Make a buffer of memory that is there already: PyTorch's, another library's, part of a buffer.
 *
 * @param [in]  ptr       device memory of the context's device, aligned to the element
 * @param [in]  release   called once, by the last unref, when the stream may still be using it;
 *                        NULL: the memory is borrowed
 * @param [out] buffer_p  one reference, the caller's; on failure release is not called
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument (ptr may be NULL with count 0), or no
 *         type; SHPOOL_ERR_TOO_LARGE; SHPOOL_ERR_NO_MEMORY
 */
SHPOOL_API shpool_status shpool_buffer_wrap(shpool_context *context, void *ptr, shpool_type type,
                                            size_t count, shpool_release_fn release, void *user,
                                            shpool_buffer **buffer_p);

/** One more reference; returns its argument, NULL included. */
SHPOOL_API shpool_buffer *shpool_buffer_ref(shpool_buffer *buffer);

/** Give a reference back; the last one frees the memory in the order of the context's stream.
 *  NULL: no effect. */
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
 * does not lie in the buffer (the detail names both; nothing is copied); SHPOOL_ERR_CUDA. */

/** Copy `count` elements from position `first` on to host memory; returns when they are there. */
SHPOOL_API shpool_status shpool_buffer_to_host(const shpool_buffer *buffer, size_t first,
                                               size_t count, void *host);

/** Copy from host memory; returns when that is done. */
SHPOOL_API shpool_status shpool_buffer_from_host(shpool_buffer *buffer, size_t first, size_t count,
                                                 const void *host);

/**
 * Start to copy to host memory, which is filled when the stream gets there.
 *
 * With page-locked memory (shpool_context_pinned()) the call does not wait; with other memory the
 * driver may.
 */
SHPOOL_API shpool_status shpool_buffer_to_host_async(const shpool_buffer *buffer, size_t first,
                                                     size_t count, void *host);

/** Start to copy from host memory, which must not change before the stream got there. */
SHPOOL_API shpool_status shpool_buffer_from_host_async(shpool_buffer *buffer, size_t first,
                                                       size_t count, const void *host);

/**
 * Start to copy between buffers with elements of the same size, or within one, where the ranges
 * must not overlap.
 *
 * In the order of the target's stream, after what the source's stream was given so far; `from` may
 * be dropped at once.  Devices may differ.
 * @return SHPOOL_ERR_INVALID also for different sizes or overlapping ranges
 */
SHPOOL_API shpool_status shpool_buffer_copy(shpool_buffer *to, size_t to_first,
                                            const shpool_buffer *from, size_t from_first,
                                            size_t count);

/* ---- fills: all elements, in the order of the stream ---- */

/** Set every element to *element, of the buffer's type.  Works on the device. */
SHPOOL_API shpool_status shpool_buffer_fill(shpool_buffer *buffer, const void *element);

/**
 * Set element i to first + i * step.
 *
 * Integers modulo 2^bits; floats by one fma in double, rounded to the type.  Works on the device
 * where this build has CUDA code, else on the host, with the same result.
 * @param [in] first  one element of the buffer's type; step, too
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument, or an opaque type; SHPOOL_ERR_NO_MEMORY;
 *         SHPOOL_ERR_CUDA
 */
SHPOOL_API shpool_status shpool_buffer_fill_ascending(shpool_buffer *buffer, const void *first,
                                                      const void *step);

/**
 * Uniform random elements from min to max: exactly those of shpool_random_fill().
 *
 * Large arrays are drawn on the device where this build has CUDA code, else on the host, with the
 * same result.  The generator is advanced when the call returns.
 * @return as shpool_random_fill(); SHPOOL_ERR_NO_MEMORY, SHPOOL_ERR_CUDA: the elements, and how far
 *         the generator is, are then undefined
 */
SHPOOL_API shpool_status shpool_buffer_fill_random(shpool_buffer *buffer, const void *min,
                                                   const void *max, shpool_random *random);

/** The same numbers in ascending order.  Sorted on the host, in memory of the array's size. */
SHPOOL_API shpool_status shpool_buffer_fill_sorted(shpool_buffer *buffer, const void *min,
                                                   const void *max, shpool_random *random);

/** Writes element `index`, which is in host memory and 0 before. */
typedef void (*shpool_generate_fn)(size_t index, void *element, void *user);

/** Fill with what a function of the host writes: called for 0, 1, ... by this thread. */
SHPOOL_API shpool_status shpool_buffer_generate(shpool_buffer *buffer, shpool_generate_fn function,
                                                void *user);

/* ---- printing ---- */

/**
 * Print the first elements as shpool_array_print() does.
 * @param [in] count  SIZE_MAX: all
 * @return as shpool_array_print(), and as shpool_buffer_to_host()
 */
SHPOOL_API shpool_status shpool_buffer_print(FILE *file, const shpool_buffer *buffer, size_t count,
                                             const char *format, size_t columns);

/** The same with a function in place of the format. */
SHPOOL_API shpool_status shpool_buffer_print_with(FILE *file, const shpool_buffer *buffer,
                                                  size_t count, shpool_format_fn format, void *user,
                                                  size_t columns);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_DEVICE_BUFFER_H */
