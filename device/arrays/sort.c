/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Radix sort of typed arrays in host memory, least significant byte first.  Keys are made such that
 * their order as unsigned numbers is that of the values; a byte that all keys share costs no pass.
 */
#include "elements.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS 256u

/* How values become keys: the sign bit is turned; a negative float is turned whole. */
typedef struct key_rule {
    uint64_t sign; /* 0 for unsigned integers */
    int is_float;
} key_rule;

shpool_status shpool_sort_scratch(shpool_type type, size_t count, void **scratch_p)
{
    shpool_status status = shpool_type_check(type);

    *scratch_p = NULL;
    if ((status != SHPOOL_OK) || (count == 0)) {
        return status;
    }
    *scratch_p = (count <= SIZE_MAX / SHPOOL_TYPE_BYTES(type))
        ? malloc(count * SHPOOL_TYPE_BYTES(type)) : NULL;
    if (*scratch_p == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory to sort %zu elements of %zu "
                            "bytes", count, SHPOOL_TYPE_BYTES(type));
    }
    return SHPOOL_OK;
}

void shpool_sort_scratch_free(void *scratch)
{
    free(scratch);
}

static inline uint64_t key_of(uint64_t value, key_rule rule)
{
    return (rule.is_float && (value & rule.sign)) ? ~value : value ^ rule.sign;
}

static inline uint64_t value_of(uint64_t key, key_rule rule)
{
    return (rule.is_float && !(key & rule.sign)) ? ~key : key ^ rule.sign;
}

static inline unsigned digit(const void *keys, size_t bytes, size_t i, size_t place)
{
    return (unsigned)(shpool_get_bits(keys, bytes, i) >> (8 * place)) & (DIGITS - 1);
}

/* Sort all keys by one of their bytes; keys with equal bytes keep their order. */
static inline void scatter(size_t bytes, size_t count, const void *from, void *to, size_t place,
                           const size_t counts[DIGITS])
{
    size_t at[DIGITS];

    at[0] = 0;
    for (unsigned d = 1; d < DIGITS; d++) {
        at[d] = at[d - 1] + counts[d - 1];
    }
    for (size_t i = 0; i < count; i++) {
        shpool_put_bits(to, bytes, at[digit(from, bytes, i, place)]++,
                        shpool_get_bits(from, bytes, i));
    }
}

/* Inline, so that each call with a constant `bytes` becomes code for that width. */
static inline void sort_width(size_t bytes, size_t count, void *data, void *scratch, key_rule rule)
{
    size_t counts[sizeof(uint64_t)][DIGITS];
    void *from = data;
    void *to = scratch;

    memset(counts, 0, sizeof(counts));
    for (size_t i = 0; i < count; i++) {
        shpool_put_bits(data, bytes, i, key_of(shpool_get_bits(data, bytes, i), rule));
        for (size_t place = 0; place < bytes; place++) {
            counts[place][digit(data, bytes, i, place)]++;
        }
    }

    for (size_t place = 0; place < bytes; place++) {
        void *other = from;

        if (counts[place][digit(from, bytes, 0, place)] == count) {
            continue;
        }
        scatter(bytes, count, from, to, place, counts[place]);
        from = to;
        to = other;
    }

    for (size_t i = 0; i < count; i++) {
        shpool_put_bits(data, bytes, i, value_of(shpool_get_bits(from, bytes, i), rule));
    }
}

void shpool_sort(shpool_type type, size_t count, void *data, void *scratch)
{
    const size_t bytes = SHPOOL_TYPE_BYTES(type);
    const int is_float = shpool_type_is_float(type);
    const key_rule rule = {
        .sign = (is_float || shpool_type_is_signed(type)) ? UINT64_C(1) << (8 * bytes - 1) : 0,
        .is_float = is_float,
    };

    if (count == 0) {
        return;
    }
    switch (bytes) {
    case 1:  sort_width(1, count, data, scratch, rule); break;
    case 2:  sort_width(2, count, data, scratch, rule); break;
    case 4:  sort_width(4, count, data, scratch, rule); break;
    default: sort_width(8, count, data, scratch, rule); break;
    }
}
