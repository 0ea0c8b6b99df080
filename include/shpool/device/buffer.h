/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device/buffer.h
 * Typed arrays in device memory: copy, fill, random numbers, print.
 *
 * After MGPU's CudaDeviceMem.  A buffer keeps its allocator alive, not its context: it may outlive
 * it.  Positions and counts are elements and are checked; what works on the device does so in the
 * order of the context's stream.
 *
 * Thread safety: ref and unref from any thread; else as the context that the buffer belongs to.
 */
#ifndef SHPOOL_DEVICE_BUFFER_H
#define SHPOOL_DEVICE_BUFFER_H

#include <stdio.h>

#include <shpool/device/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Reference-counted. */
typedef struct shpool_buffer shpool_buffer;

/** Element types that fills and prints know. */
typedef enum shpool_type {
    SHPOOL_INT8    = 1,
    SHPOOL_UINT8   = 2,
    SHPOOL_INT16   = 3,
    SHPOOL_UINT16  = 4,
    SHPOOL_INT32   = 5,
    SHPOOL_UINT32  = 6,
    SHPOOL_INT64   = 7,
    SHPOOL_UINT64  = 8,
    SHPOOL_FLOAT32 = 9,
    SHPOOL_FLOAT64 = 10
} shpool_type;

/**
 * Allocate an array; its elements are undefined.
 * @param [in]  element_bytes  at least 1
 * @param [in]  count          0: an empty buffer, whose pointer is NULL
 * @param [out] buffer_p       one reference, the caller's
 * @return as shpool_device_malloc(); SHPOOL_ERR_TOO_LARGE: the product is no size_t
 */
SHPOOL_API shpool_status shpool_buffer_create(shpool_context *context, size_t element_bytes,
                                              size_t count, shpool_buffer **buffer_p);

/** Allocate an array and copy host memory into it; returns when that is done. */
SHPOOL_API shpool_status shpool_buffer_create_from(shpool_context *context, const void *host,
                                                   size_t element_bytes, size_t count,
                                                   shpool_buffer **buffer_p);

/** One more reference; returns its argument, NULL included. */
SHPOOL_API shpool_buffer *shpool_buffer_ref(shpool_buffer *buffer);

/** Give a reference back; the last one frees the memory in the order of the context's stream. */
SHPOOL_API void shpool_buffer_unref(shpool_buffer *buffer);

SHPOOL_API void  *shpool_buffer_ptr(const shpool_buffer *buffer);
SHPOOL_API size_t shpool_buffer_count(const shpool_buffer *buffer);
SHPOOL_API size_t shpool_buffer_element_bytes(const shpool_buffer *buffer);

/** shpool_device_record_stream() for the buffer's memory. */
SHPOOL_API shpool_status shpool_buffer_record_stream(shpool_buffer *buffer, shpool_stream user);

/* ---- copies: SHPOOL_ERR_INVALID names the range and the buffer's count if it does not fit ---- */

/** Copy `count` elements from position `first` on to host memory; returns when they are there. */
SHPOOL_API shpool_status shpool_buffer_to_host(const shpool_buffer *buffer, size_t first,
                                               size_t count, void *host);

/** Copy from host memory; returns when the host memory may be changed. */
SHPOOL_API shpool_status shpool_buffer_from_host(shpool_buffer *buffer, size_t first, size_t count,
                                                 const void *host);

/** Copy between buffers of the same element size, in the order of the target's stream. */
SHPOOL_API shpool_status shpool_buffer_copy(shpool_buffer *to, size_t to_first,
                                            const shpool_buffer *from, size_t from_first,
                                            size_t count);

/** As shpool_buffer_to_host(), without waiting: `host` is filled when the stream gets there. */
SHPOOL_API shpool_status shpool_buffer_to_host_async(const shpool_buffer *buffer, size_t first,
                                                     size_t count, void *host);

/** As shpool_buffer_from_host(), without waiting. */
SHPOOL_API shpool_status shpool_buffer_from_host_async(shpool_buffer *buffer, size_t first,
                                                       size_t count, const void *host);

/* ---- filled buffers: an array each, one reference, the caller's ---- */

/** MT19937 of Matsumoto and Nishimura, 1998. */
typedef struct shpool_rng {
    uint32_t state[624];
    uint32_t at;
} shpool_rng;

/** Seed it; 5489 is what MGPU, and the C++ library, begin with. */
SHPOOL_API void shpool_rng_init(shpool_rng *rng, uint32_t seed);

/** The next 32 bits. */
SHPOOL_API uint32_t shpool_rng_next(shpool_rng *rng);

/** `count` copies of one element. */
SHPOOL_API shpool_status shpool_buffer_fill(shpool_context *context, const void *element,
                                            size_t element_bytes, size_t count,
                                            shpool_buffer **buffer_p);

/** first + i * step; both point at one element of `type`. */
SHPOOL_API shpool_status shpool_buffer_fill_ascending(shpool_context *context, shpool_type type,
                                                      size_t count, const void *first,
                                                      const void *step, shpool_buffer **buffer_p);

/**
 * Uniform random numbers, as MGPU's GenRandom draws them: integers from min to max inclusive,
 * floating point min + (max - min) * u / 2^32 with one 32-bit draw each.
 * @param [in,out] rng  NULL: one seeded with 5489 for this call alone
 */
SHPOOL_API shpool_status shpool_buffer_fill_random(shpool_context *context, shpool_type type,
                                                   size_t count, const void *min, const void *max,
                                                   shpool_rng *rng, shpool_buffer **buffer_p);

/** The same numbers, ascending. */
SHPOOL_API shpool_status shpool_buffer_fill_random_sorted(shpool_context *context, shpool_type type,
                                                          size_t count, const void *min,
                                                          const void *max, shpool_rng *rng,
                                                          shpool_buffer **buffer_p);

/** Writes element `index`. */
typedef void (*shpool_generate_fn)(size_t index, void *element, void *user);

/** function(0), function(1), ..., on the calling thread. */
SHPOOL_API shpool_status shpool_buffer_generate(shpool_context *context, size_t element_bytes,
                                                size_t count, shpool_generate_fn function,
                                                void *user, shpool_buffer **buffer_p);

/* ---- print ---- */

/**
 * Print rows of "%5zu:  ", then each value and a blank.
 * @param [in] count    of the elements to print; SIZE_MAX: all
 * @param [in] format   one printf conversion that fits the type, with flags, width and precision
 * @param [in] columns  values of a row, at least 1
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: NULL, columns 0, count too large; SHPOOL_ERR_SPEC: the
 *         format does not fit the type; SHPOOL_ERR_SYSTEM: writing failed
 */
SHPOOL_API shpool_status shpool_buffer_print(FILE *to, const shpool_buffer *buffer,
                                             shpool_type type, size_t count, const char *format,
                                             size_t columns);

/** Writes one element as text, as snprintf does. */
typedef int (*shpool_format_fn)(char *text, size_t bytes, size_t index, const void *element,
                                void *user);

/** The same rows, each value by a function. */
SHPOOL_API shpool_status shpool_buffer_print_with(FILE *to, const shpool_buffer *buffer,
                                                  size_t count, shpool_format_fn function,
                                                  void *user, size_t columns);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_DEVICE_BUFFER_H */
