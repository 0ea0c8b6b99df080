/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device/array.h
 * Typed arrays in host memory: element types, random numbers that are identical on all machines,
 * and printing.  device/buffer.h does the same with arrays in device memory.
 *
 * C11 and C++17, no CUDA.  Functions may be called from any thread; a generator must be used by one
 * thread at a time.
 */
#ifndef SHPOOL_DEVICE_ARRAY_H
#define SHPOOL_DEVICE_ARRAY_H

#include <stdio.h>

#include <shpool/shpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- element types ---- */

/**
 * Type of an array's elements: the kind in the highest byte, the size of an element in the rest.
 * One of the constants below, or SHPOOL_TYPE_OPAQUE(bytes).
 */
typedef uint32_t shpool_type;

#define SHPOOL_TYPE_I8  0x01000001u /**< int8_t */
#define SHPOOL_TYPE_U8  0x02000001u /**< uint8_t */
#define SHPOOL_TYPE_I16 0x01000002u /**< int16_t */
#define SHPOOL_TYPE_U16 0x02000002u /**< uint16_t */
#define SHPOOL_TYPE_I32 0x01000004u /**< int32_t */
#define SHPOOL_TYPE_U32 0x02000004u /**< uint32_t */
#define SHPOOL_TYPE_I64 0x01000008u /**< int64_t */
#define SHPOOL_TYPE_U64 0x02000008u /**< uint64_t */
#define SHPOOL_TYPE_F32 0x03000004u /**< float */
#define SHPOOL_TYPE_F64 0x03000008u /**< double */

/** Elements without arithmetic, of 1 to 16,777,215 bytes: structs, half precision, ... */
#define SHPOOL_TYPE_OPAQUE(_bytes) ((shpool_type)(_bytes))

/** Bytes of one element. */
#define SHPOOL_TYPE_BYTES(_type) ((size_t)((_type) & 0x00ffffffu))

/** "int32", "float64", "opaque", ...; "unknown" for a number that is not a type.  Never NULL. */
SHPOOL_API const char *shpool_type_name(shpool_type type);

/* ---- the generator ---- */

/** The initial seed of C++'s std::mt19937 and of MGPU. */
#define SHPOOL_RANDOM_SEED 5489u

/**
 * MT19937 (Matsumoto and Nishimura, Mersenne Twister, 1998); draws the same numbers as
 * std::mt19937.  Plain data: a copy continues the same sequence.
 */
typedef struct shpool_random {
    uint32_t state[624];
    uint32_t next; /**< words of `state` already drawn; 624: all */
} shpool_random;

/** Start a sequence.  NULL has no effect. */
SHPOOL_API void shpool_random_init(shpool_random *random, uint32_t seed);

/** The next 32 bits; 0 for NULL, and for a zeroed generator that was never started. */
SHPOOL_API uint32_t shpool_random_draw(shpool_random *random);

/* ---- random arrays ---- */

/**
 * Fill host memory with uniform random elements.
 *
 * float32, float64: min + (max - min) * u / 2^32 for ONE draw u, computed in double and rounded
 * once to the type; max itself can appear only through that rounding.
 * Integers: min to max, both included, each equally likely.  Up to 2^32 values: the upper half of
 * (64 bits of) u * values, where u is drawn again while the lower half is below 2^32 mod values
 * (Lemire, Fast Random Integer Generation in an Interval, 2019); 2^32 values: u.  More values: two
 * draws form a number, the higher half first.  They are repeated until it is below the largest
 * multiple of `values`, and reduced modulo `values`.
 *
 * @param [in]     type    not opaque
 * @param [in]     min     one element of the type; it and max - min are finite
 * @param [in]     max     one element, not less than min
 * @param [in,out] random  advanced by the draws; NULL: a new generator for this call, seeded with
 *                         SHPOOL_RANDOM_SEED
 * @param [out]    data    count elements; untouched on failure
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument (data may be NULL with count 0), an opaque
 *         type, min above max, not finite
 */
SHPOOL_API shpool_status shpool_random_fill(shpool_type type, const void *min, const void *max,
                                            shpool_random *random, size_t count, void *data);

/**
 * shpool_random_fill(), then sort in ascending order.  Draws the same numbers.
 *
 * Uses a radix sort, which temporarily needs the same amount of memory again.
 * @return as shpool_random_fill(); SHPOOL_ERR_NO_MEMORY: host memory (the draws are not made)
 */
SHPOOL_API shpool_status shpool_random_fill_sorted(shpool_type type, const void *min,
                                                   const void *max, shpool_random *random,
                                                   size_t count, void *data);

/* ---- printing ---- */

/**
 * Print an array in rows: the number of the row's first element as "%5zu:  ", then each element
 * formatted by `format` and one blank, then a newline.
 *
 * The format is that of printf, and is checked before anything is printed: exactly one conversion,
 * d i u o x X or c for integers, f F e E g G a or A for floats; flags, width and precision as
 * numbers, any length modifier (the type decides, so "%d" and "%lld" are the same), text and %%
 * around it.
 * d and i also print the value of unsigned types; the others wrap a negative one at the type's
 * width.
 *
 * @param [in] file     destination; only this function prints
 * @param [in] type     not opaque
 * @param [in] columns  elements per row, at least 1
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument (data may be NULL with count 0), an opaque
 *         type, 0 columns, a format that does not match the type (the detail says what would);
 *         SHPOOL_ERR_SYSTEM: the file could not be written
 */
SHPOOL_API shpool_status shpool_array_print(FILE *file, shpool_type type, const void *data,
                                            size_t count, const char *format, size_t columns);

/**
 * Format one element as text, with a format as in shpool_array_print().
 * @param [out] text    truncated to `bytes` including NUL; may be NULL if bytes is 0
 * @param [out] need_p  full length, without NUL; may be NULL
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: as shpool_array_print()
 */
SHPOOL_API shpool_status shpool_element_format(shpool_type type, const void *element,
                                               const char *format, char *text, size_t bytes,
                                               size_t *need_p);

/**
 * Writes element `index` as text, like snprintf(): at most `bytes` including NUL; returns the
 * length of the whole text without NUL.  A negative result aborts.
 */
typedef int (*shpool_format_fn)(char *text, size_t bytes, size_t index, const void *element,
                                void *user);

/**
 * shpool_array_print() with a caller's function instead of the format; for any type.
 * @return the same; also SHPOOL_ERR_INVALID if `format` aborts; SHPOOL_ERR_NO_MEMORY: for an
 *         element's text
 */
SHPOOL_API shpool_status shpool_array_print_with(FILE *file, shpool_type type, const void *data,
                                                 size_t count, shpool_format_fn format, void *user,
                                                 size_t columns);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_DEVICE_ARRAY_H */
