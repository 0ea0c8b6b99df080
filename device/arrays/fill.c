/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fills of buffers.
 *
 * One value: by memset where its bytes repeat, else by copies on the device that double what is
 * there, so that nothing but the first piece crosses the bus.  Ascending and random elements: by
 * kernels (kernels.c) where there are any, else made on the host, a piece at a time.
 */
#include "buffer.h"
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 1048576u /* generated on the host at a time: stays in a core's cache */
#define SEED_BYTES  65536u   /* of a pattern that copies then double */

static cu_ptr device_address(const shpool_buffer *buffer)
{
    return (cu_ptr)(uintptr_t)buffer->ptr;
}

static shpool_status check_arithmetic(const shpool_buffer *buffer, const void *a, const void *b)
{
    if ((buffer == NULL) || (a == NULL) || (b == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "an argument of a fill is NULL");
    }
    return shpool_type_check(buffer->type);
}

/* ---- made on the host, a piece at a time ---- */

/* Writes elements begin to begin + count - 1; the calls come in order. */
typedef void (*produce_fn)(void *source, size_t begin, size_t count, void *data);

static shpool_status upload(shpool_buffer *buffer, produce_fn produce, void *source)
{
    const size_t bytes = SHPOOL_TYPE_BYTES(buffer->type);
    size_t piece = (bytes < PIECE_BYTES) ? PIECE_BYTES / bytes : 1;
    shpool_status status = SHPOOL_OK;
    void *data;

    if (buffer->count == 0) {
        return SHPOOL_OK;
    }
    piece = (piece < buffer->count) ? piece : buffer->count;
    data = malloc(piece * bytes);
    if (data == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no %zu bytes of host memory for a fill",
                            piece * bytes);
    }
    for (size_t begin = 0; (status == SHPOOL_OK) && (begin < buffer->count); begin += piece) {
        size_t count = (piece < buffer->count - begin) ? piece : buffer->count - begin;

        produce(source, begin, count, data);
        /* waits: the next piece overwrites it, and some systems copy directly from it */
        status = shpool_buffer_from_host(buffer, begin, count, data);
    }
    free(data);
    return status;
}

/* ---- one value ---- */

/* The smallest period of the element, 1, 2 or 4 bytes, of which its address is a multiple; 0:
 * none. */
static size_t period(const unsigned char *element, size_t bytes, const void *ptr)
{
    for (size_t n = 1; n <= 4; n *= 2) {
        if ((bytes % n == 0) && ((uintptr_t)ptr % n == 0) &&
            (memcmp(element, element + n, bytes - n) == 0)) {
            return n;
        }
    }
    return 0;
}

/* The device is entered. */
static shpool_status set_units(shpool_buffer *buffer, const void *element, size_t unit)
{
    const shpool_driver *cu = buffer->device->cu;
    const shpool_stream stream = shpool_context_stream(buffer->context);
    const uint64_t value = shpool_get_bits(element, unit, 0);
    const size_t count = buffer->count * SHPOOL_TYPE_BYTES(buffer->type) / unit;
    cu_result result;

    switch (unit) {
    case 1:
        result = cu->set_8(device_address(buffer), (unsigned char)value, count, stream);
        break;
    case 2:
        result = cu->set_16(device_address(buffer), (unsigned short)value, count, stream);
        break;
    default:
        result = cu->set_32(device_address(buffer), (unsigned)value, count, stream);
        break;
    }
    return (result == CU_SUCCESS) ? SHPOOL_OK
                                  : shpool_driver_failed(cu, "cuMemsetAsync", result);
}

/* The device is entered; `done` bytes are there. */
static shpool_status double_up(shpool_buffer *buffer, size_t done)
{
    const shpool_driver *cu = buffer->device->cu;
    const size_t all = buffer->count * SHPOOL_TYPE_BYTES(buffer->type);

    while (done < all) {
        size_t bytes = (done < all - done) ? done : all - done;
        cu_result result = cu->copy_device(device_address(buffer) + done, device_address(buffer),
                                           bytes, shpool_context_stream(buffer->context));

        if (result != CU_SUCCESS) {
            return shpool_driver_failed(cu, "cuMemcpyDtoDAsync", result);
        }
        done += bytes;
    }
    return SHPOOL_OK;
}

static void repeat(void *data, const void *element, size_t bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memcpy((unsigned char *)data + i * bytes, element, bytes);
    }
}

/* Put enough copies at the front that doubling starts with large pieces. */
static shpool_status plant(shpool_buffer *buffer, const void *element, size_t *done_p)
{
    const size_t bytes = SHPOOL_TYPE_BYTES(buffer->type);
    size_t count = (bytes < SEED_BYTES) ? SEED_BYTES / bytes : 1;
    shpool_status status;
    void *data;

    count = (count < buffer->count) ? count : buffer->count;
    data = malloc(count * bytes);
    if (data == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no %zu bytes of host memory for a fill",
                            count * bytes);
    }
    repeat(data, element, bytes, count);
    status = shpool_buffer_from_host(buffer, 0, count, data);
    free(data);
    *done_p = count * bytes;
    return status;
}

shpool_status shpool_buffer_fill(shpool_buffer *buffer, const void *element)
{
    size_t done = 0;
    size_t unit;
    int left;
    shpool_status status = SHPOOL_OK;

    if ((buffer == NULL) || (element == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "buffer or element is NULL");
    }
    if (buffer->count == 0) {
        return SHPOOL_OK;
    }
    unit = period(element, SHPOOL_TYPE_BYTES(buffer->type), buffer->ptr);
    if (unit == 0) {
        status = plant(buffer, element, &done);
    }
    if (status == SHPOOL_OK) {
        status = shpool_device_enter_stream(buffer->device,
                                            shpool_context_stream(buffer->context), 0, &left);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    status = (unit != 0) ? set_units(buffer, element, unit) : double_up(buffer, done);
    shpool_device_leave(buffer->device, left);
    return status;
}

/* ---- ascending ---- */

static void produce_ascending(void *source, size_t begin, size_t count, void *data)
{
    shpool_ascent_write(source, begin, count, data);
}

shpool_status shpool_buffer_fill_ascending(shpool_buffer *buffer, const void *first,
                                           const void *step)
{
    shpool_ascent ascent;
    shpool_status status = check_arithmetic(buffer, first, step);

    if (status != SHPOOL_OK) {
        return status;
    }
    ascent = shpool_ascent_make(buffer->type, first, step);
    if (shpool_kernels_have(buffer, SHPOOL_KERNEL_ASCENDING)) {
        return shpool_kernels_ascending(buffer, &ascent);
    }
    return upload(buffer, produce_ascending, &ascent);
}

/* ---- random ---- */

typedef struct random_source {
    const shpool_uniform *uniform;
    shpool_random *random;
} random_source;

static void produce_random(void *source, size_t begin, size_t count, void *data)
{
    random_source *s = source;

    (void)begin;
    shpool_uniform_draw(s->uniform, s->random, count, data);
}

shpool_status shpool_buffer_fill_random(shpool_buffer *buffer, const void *min, const void *max,
                                        shpool_random *random)
{
    shpool_uniform uniform;
    shpool_random own;
    shpool_status status = check_arithmetic(buffer, min, max);

    if (status == SHPOOL_OK) {
        status = shpool_uniform_set(&uniform, buffer->type, min, max);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    if (random == NULL) {
        shpool_random_init(&own, SHPOOL_RANDOM_SEED);
        random = &own;
    }
    /* the kernel draws once for an element */
    if ((uniform.last <= UINT32_MAX) && shpool_kernels_have(buffer, SHPOOL_KERNEL_RANDOM)) {
        return shpool_kernels_random(buffer, &uniform, random);
    }
    return upload(buffer, produce_random, &(random_source){ &uniform, random });
}

shpool_status shpool_buffer_fill_sorted(shpool_buffer *buffer, const void *min, const void *max,
                                        shpool_random *random)
{
    void *data = NULL;
    shpool_status status = check_arithmetic(buffer, min, max);

    if (status != SHPOOL_OK) {
        return status;
    }
    if (buffer->count > 0) {
        data = malloc(buffer->count * SHPOOL_TYPE_BYTES(buffer->type));
        if (data == NULL) {
            return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory to sort %zu elements",
                                buffer->count);
        }
    }
    status = shpool_random_fill_sorted(buffer->type, min, max, random, buffer->count, data);
    if (status == SHPOOL_OK) {
        status = shpool_buffer_from_host(buffer, 0, buffer->count, data);
    }
    free(data);
    return status;
}

/* ---- generated ---- */

typedef struct generator {
    shpool_generate_fn function;
    void *user;
    size_t bytes; /* of an element */
} generator;

static void produce_generated(void *source, size_t begin, size_t count, void *data)
{
    const generator *g = source;

    memset(data, 0, count * g->bytes);
    for (size_t i = 0; i < count; i++) {
        g->function(begin + i, (unsigned char *)data + i * g->bytes, g->user);
    }
}

shpool_status shpool_buffer_generate(shpool_buffer *buffer, shpool_generate_fn function, void *user)
{
    if ((buffer == NULL) || (function == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "buffer or function is NULL");
    }
    return upload(buffer, produce_generated,
                  &(generator){ function, user, SHPOOL_TYPE_BYTES(buffer->type) });
}

/* ---- printing ---- */

/* The first elements, in host memory that is to be freed; NULL if there are none. */
static shpool_status fetch(const shpool_buffer *buffer, size_t *count_p, void **data_p)
{
    shpool_status status;

    *data_p = NULL;
    if (buffer == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "buffer is NULL");
    }
    *count_p = (*count_p == SIZE_MAX) ? buffer->count : *count_p;
    if (*count_p > buffer->count) {
        return shpool_error(SHPOOL_ERR_INVALID, "%zu elements cannot be printed, the buffer has "
                            "%zu",
                            *count_p, buffer->count);
    }
    if (*count_p == 0) {
        return SHPOOL_OK;
    }
    *data_p = malloc(*count_p * SHPOOL_TYPE_BYTES(buffer->type));
    if (*data_p == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory to print %zu elements", *count_p);
    }
    status = shpool_buffer_to_host(buffer, 0, *count_p, *data_p);
    if (status != SHPOOL_OK) {
        free(*data_p);
        *data_p = NULL;
    }
    return status;
}

shpool_status shpool_buffer_print(FILE *file, const shpool_buffer *buffer, size_t count,
                                  const char *format, size_t columns)
{
    void *data;
    shpool_status status = fetch(buffer, &count, &data);

    if (status == SHPOOL_OK) {
        status = shpool_array_print(file, buffer->type, data, count, format, columns);
    }
    free(data);
    return status;
}

shpool_status shpool_buffer_print_with(FILE *file, const shpool_buffer *buffer, size_t count,
                                       shpool_format_fn format, void *user, size_t columns)
{
    void *data;
    shpool_status status = fetch(buffer, &count, &data);

    if (status == SHPOOL_OK) {
        status = shpool_array_print_with(file, buffer->type, data, count, format, user, columns);
    }
    free(data);
    return status;
}
