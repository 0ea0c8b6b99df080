/* SPDX-License-Identifier: BSD-3-Clause */
/* Typed arrays in host memory: functions that fill, sort and print buffers, without CUDA. */
#ifndef SHPOOL_DEVICE_ELEMENTS_H
#define SHPOOL_DEVICE_ELEMENTS_H

#include "lib/internal.h"

#include <string.h>

#include <shpool/device/array.h>

#pragma GCC visibility push(hidden)

/* Element i as the unsigned number of its 1, 2, 4 or 8 bytes, whatever its type is. */
static inline uint64_t shpool_get_bits(const void *data, size_t bytes, size_t i)
{
    const unsigned char *at = (const unsigned char *)data + i * bytes;
    uint16_t bits16;
    uint32_t bits32;
    uint64_t bits64;

    switch (bytes) {
    case 1:  return *at;
    case 2:  memcpy(&bits16, at, sizeof(bits16)); return bits16;
    case 4:  memcpy(&bits32, at, sizeof(bits32)); return bits32;
    default: memcpy(&bits64, at, sizeof(bits64)); return bits64;
    }
}

/* The opposite; `value` is cut to the element. */
static inline void shpool_put_bits(void *data, size_t bytes, size_t i, uint64_t value)
{
    unsigned char *at = (unsigned char *)data + i * bytes;
    uint16_t bits16 = (uint16_t)value;
    uint32_t bits32 = (uint32_t)value;

    switch (bytes) {
    case 1:  *at = (unsigned char)value; break;
    case 2:  memcpy(at, &bits16, sizeof(bits16)); break;
    case 4:  memcpy(at, &bits32, sizeof(bits32)); break;
    default: memcpy(at, &value, sizeof(value)); break;
    }
}

/* ---- elements.c ---- */

/* Whether it is a type with arithmetic; the detail names those that there are. */
shpool_status shpool_type_check(shpool_type type);

/* Whether it is a type at all, opaque ones included. */
shpool_status shpool_type_check_any(shpool_type type);

int shpool_type_is_float(shpool_type type);
int shpool_type_is_signed(shpool_type type); /* integers only */

/* One integer element, sign-extended to 64 bits if its type has a sign. */
uint64_t shpool_type_load(shpool_type type, const void *element);

/* One float element. */
double shpool_type_load_float(shpool_type type, const void *element);

/* first + i * step for begin <= i < begin + count; integers modulo 2^bits, floats by one fma. */
typedef struct shpool_ascent {
    shpool_type type;
    uint64_t first; /* integers */
    uint64_t step;
    double first_float; /* floats */
    double step_float;
} shpool_ascent;

/* From one element each; the type is a checked one. */
shpool_ascent shpool_ascent_make(shpool_type type, const void *first, const void *step);
void shpool_ascent_write(const shpool_ascent *ascent, size_t begin, size_t count, void *data);

/* ---- random.c ---- */

/* A uniform distribution, its bounds checked: the rules are in shpool/device/array.h. */
typedef struct shpool_uniform {
    shpool_type type;
    uint64_t base; /* integers: the least value, and the number of values less one */
    uint64_t last;
    double min;    /* floats: the least value, and how far the greatest is from it */
    double width;
} shpool_uniform;

shpool_status shpool_uniform_set(shpool_uniform *uniform, shpool_type type, const void *min,
                                 const void *max);

/* The next `count` elements; the same ones, however they are divided into calls. */
void shpool_uniform_draw(const shpool_uniform *uniform, shpool_random *random, size_t count,
                         void *data);

/* ---- sort.c ---- */

/* Scratch memory for shpool_sort(); the caller releases it with shpool_sort_scratch_free(). */
shpool_status shpool_sort_scratch(shpool_type type, size_t count, void **scratch_p);
void shpool_sort_scratch_free(void *scratch);

/* Ascending by value; -0.0 before 0.0.  No NaN: this library never draws one. */
void shpool_sort(shpool_type type, size_t count, void *data, void *scratch);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_ELEMENTS_H */
