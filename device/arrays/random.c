/* SPDX-License-Identifier: BSD-3-Clause */
/* MT19937, and uniform elements of every type from its draws: the rules of
 * shpool/device/array.h. */
#include "elements.h"

#include <math.h>
#include <string.h>

#define STATE_WORDS 624u
#define SHIFT_WORDS 397u

void shpool_random_init(shpool_random *random, uint32_t seed)
{
    if (random == NULL) {
        return;
    }
    random->state[0] = seed;
    for (uint32_t i = 1; i < STATE_WORDS; i++) {
        uint32_t before = random->state[i - 1];

        random->state[i] = 1812433253u * (before ^ (before >> 30)) + i;
    }
    random->next = STATE_WORDS;
}

static uint32_t twisted(uint32_t upper, uint32_t lower)
{
    uint32_t word = (upper & 0x80000000u) | (lower & 0x7fffffffu);

    return (word >> 1) ^ ((0u - (word & 1u)) & 0x9908b0dfu);
}

/* The next 624 words of the sequence, in three loops without a remainder in any index. */
static void renew(uint32_t state[STATE_WORDS])
{
    const uint32_t wrap = STATE_WORDS - SHIFT_WORDS;
    uint32_t i;

    for (i = 0; i < wrap; i++) {
        state[i] = state[i + SHIFT_WORDS] ^ twisted(state[i], state[i + 1]);
    }
    for (; i < STATE_WORDS - 1; i++) {
        state[i] = state[i - wrap] ^ twisted(state[i], state[i + 1]);
    }
    state[i] = state[i - wrap] ^ twisted(state[i], state[0]);
}

static uint32_t draw(shpool_random *random)
{
    uint32_t word;

    if (random->next >= STATE_WORDS) {
        renew(random->state);
        random->next = 0;
    }
    word = random->state[random->next++];
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680u;
    word ^= (word << 15) & 0xefc60000u;
    return word ^ (word >> 18);
}

uint32_t shpool_random_draw(shpool_random *random)
{
    return (random != NULL) ? draw(random) : 0;
}

/* 0 to values - 1; values 0 stands for 2^32. */
static uint32_t draw_below(shpool_random *random, uint32_t values)
{
    uint64_t product;

    if (values == 0) {
        return draw(random);
    }
    product = (uint64_t)draw(random) * values;
    if ((uint32_t)product < values) { /* the remainder is needed in this rare case only */
        uint32_t reject = (0u - values) % values;

        while ((uint32_t)product < reject) {
            product = (uint64_t)draw(random) * values;
        }
    }
    return (uint32_t)(product >> 32);
}

/* The same for values above 2^32; 0 stands for 2^64. */
static uint64_t draw_below_wide(shpool_random *random, uint64_t values)
{
    uint64_t reject = (values != 0) ? (0u - values) % values : 0; /* number of rejected values at
                                                                     the upper end */
    uint64_t word;

    do {
        word = (uint64_t)draw(random) << 32;
        word |= draw(random);
    } while (word > UINT64_MAX - reject);
    return (values != 0) ? word % values : word;
}

static void draw_integers(const shpool_uniform *uniform, shpool_random *random, size_t count,
                          void *data)
{
    const size_t bytes = SHPOOL_TYPE_BYTES(uniform->type);

    if (uniform->last > UINT32_MAX) {
        for (size_t i = 0; i < count; i++) {
            shpool_put_bits(data, bytes, i,
                            uniform->base + draw_below_wide(random, uniform->last + 1));
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        shpool_put_bits(data, bytes, i,
                        uniform->base + draw_below(random, (uint32_t)uniform->last + 1));
    }
}

static void draw_floats(const shpool_uniform *uniform, shpool_random *random, size_t count,
                        void *data)
{
    const double unit = 1.0 / 4294967296.0;

    if (uniform->type == SHPOOL_TYPE_F32) {
        for (size_t i = 0; i < count; i++) {
            ((float *)data)[i] = (float)fma(draw(random) * unit, uniform->width, uniform->min);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        ((double *)data)[i] = fma(draw(random) * unit, uniform->width, uniform->min);
    }
}

void shpool_uniform_draw(const shpool_uniform *uniform, shpool_random *random, size_t count,
                         void *data)
{
    if (shpool_type_is_float(uniform->type)) {
        draw_floats(uniform, random, count, data);
    } else {
        draw_integers(uniform, random, count, data);
    }
}

static shpool_status set_float_range(shpool_uniform *uniform, const void *min, const void *max)
{
    double high;

    if (uniform->type == SHPOOL_TYPE_F32) {
        uniform->min = *(const float *)min;
        high = *(const float *)max;
    } else {
        uniform->min = *(const double *)min;
        high = *(const double *)max;
    }
    uniform->width = high - uniform->min;
    if (!isfinite(uniform->min) || !isfinite(high) || !isfinite(uniform->width) ||
        (uniform->width < 0)) {
        return shpool_error(SHPOOL_ERR_INVALID, "random %s from %g to %g: min and max must be "
                            "finite, their distance too, and min not above max",
                            shpool_type_name(uniform->type), uniform->min, high);
    }
    return SHPOOL_OK;
}

static shpool_status set_integer_range(shpool_uniform *uniform, const void *min, const void *max)
{
    uint64_t low = shpool_type_load(uniform->type, min);
    uint64_t high = shpool_type_load(uniform->type, max);
    int is_signed = shpool_type_is_signed(uniform->type);

    if (is_signed ? ((int64_t)low > (int64_t)high) : (low > high)) {
        return is_signed
            ? shpool_error(SHPOOL_ERR_INVALID, "random %s: min %lld is above max %lld",
                           shpool_type_name(uniform->type), (long long)low, (long long)high)
            : shpool_error(SHPOOL_ERR_INVALID, "random %s: min %llu is above max %llu",
                           shpool_type_name(uniform->type), (unsigned long long)low,
                           (unsigned long long)high);
    }
    uniform->base = low;
    uniform->last = high - low;
    return SHPOOL_OK;
}

shpool_status shpool_uniform_set(shpool_uniform *uniform, shpool_type type, const void *min,
                                 const void *max)
{
    shpool_status status = shpool_type_check(type);

    if (status != SHPOOL_OK) {
        return status;
    }
    if ((min == NULL) || (max == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "random %s: min or max is NULL",
                            shpool_type_name(type));
    }
    memset(uniform, 0, sizeof(*uniform));
    uniform->type = type;
    return shpool_type_is_float(type) ? set_float_range(uniform, min, max)
                                      : set_integer_range(uniform, min, max);
}

shpool_status shpool_random_fill(shpool_type type, const void *min, const void *max,
                                 shpool_random *random, size_t count, void *data)
{
    shpool_uniform uniform;
    shpool_random own;
    shpool_status status = shpool_uniform_set(&uniform, type, min, max);

    if (status != SHPOOL_OK) {
        return status;
    }
    if ((data == NULL) && (count > 0)) {
        return shpool_error(SHPOOL_ERR_INVALID, "data is NULL, count is %zu", count);
    }
    if (random == NULL) {
        shpool_random_init(&own, SHPOOL_RANDOM_SEED);
        random = &own;
    }
    shpool_uniform_draw(&uniform, random, count, data);
    return SHPOOL_OK;
}

shpool_status shpool_random_fill_sorted(shpool_type type, const void *min, const void *max,
                                        shpool_random *random, size_t count, void *data)
{
    void *scratch = NULL;
    shpool_status status = shpool_sort_scratch(type, count, &scratch);

    if (status == SHPOOL_OK) {
        status = shpool_random_fill(type, min, max, random, count, data);
    }
    if (status == SHPOOL_OK) {
        shpool_sort(type, count, data, scratch);
    }
    shpool_sort_scratch_free(scratch);
    return status;
}
