/* SPDX-License-Identifier: BSD-3-Clause */
/* The host calls of shpool/device.h that reach the driver, each to be tried as the first of its
 * kind while a stream captures: over the fake driver, and on a GPU. */
#ifndef SHPOOL_TESTS_DEVICE_CAPTURE_CALLS_H
#define SHPOOL_TESTS_DEVICE_CAPTURE_CALLS_H

#include <shpool/device.h>

#include <stdio.h>
#include <string.h>

#ifndef CAPTURE_COUNT
#define CAPTURE_COUNT 300000u /* elements of the buffers, which the GPU fills by a kernel */
#endif

typedef struct capture_subject {
    const char *spec;
    shpool_device_allocator *allocator;
    shpool_stream stream;     /* that the calls are for */
    shpool_context *context;  /* on it */
    shpool_context *other;    /* on another stream */
    shpool_buffer *buffer;
    shpool_buffer *second;
    shpool_buffer *elsewhere; /* of the other context */
    void *ptr;                /* live */
    unsigned *host;           /* CAPTURE_COUNT elements */
} capture_subject;

typedef struct capture_call {
    const char *name;
    shpool_status (*call)(capture_subject *s);
    int bare; /* nothing may be there yet */
} capture_call;

static inline shpool_status capture_open(const char *spec, shpool_stream stream,
                                         shpool_context **context_p)
{
    shpool_context_options options;

    memset(&options, 0, sizeof(options));
    options.bytes = sizeof(options);
    options.flags = SHPOOL_CONTEXT_ATTACH;
    options.stream = stream;
    options.allocator = spec;
    return shpool_context_create(&options, context_p);
}

/* What calls need that are not bare. */
static inline shpool_status capture_prepare(capture_subject *s, shpool_stream other)
{
    shpool_status status = capture_open(s->spec, s->stream, &s->context);

    if (status == SHPOOL_OK) {
        s->allocator = shpool_context_allocator(s->context);
        status = capture_open(s->spec, other, &s->other);
    }
    if (status == SHPOOL_OK) {
        status = shpool_buffer_create(s->context, SHPOOL_TYPE_U32, CAPTURE_COUNT, &s->buffer);
    }
    if (status == SHPOOL_OK) {
        status = shpool_buffer_create(s->context, SHPOOL_TYPE_U32, CAPTURE_COUNT, &s->second);
    }
    if (status == SHPOOL_OK) {
        status = shpool_buffer_create(s->other, SHPOOL_TYPE_U32, CAPTURE_COUNT, &s->elsewhere);
    }
    return (status == SHPOOL_OK) ? shpool_device_malloc(s->allocator, 5000, s->stream, &s->ptr)
                                 : status;
}

static inline void capture_forget(capture_subject *s)
{
    (void)shpool_device_free(s->allocator, s->ptr, s->stream);
    shpool_buffer_unref(s->elsewhere);
    shpool_buffer_unref(s->second);
    shpool_buffer_unref(s->buffer);
    shpool_context_unref(s->other);
    shpool_context_unref(s->context);
}

static inline int capture_show(const shpool_device_block *block, void *user)
{
    (void)block;
    (void)user;
    return 0;
}

#define CAPTURE_CALL(_name, _body)                                                                 \
    static inline shpool_status capture_##_name(capture_subject *s) { (void)s; _body }

CAPTURE_CALL(allocator, shpool_device_allocator *a;
             shpool_status status = shpool_device_allocator_open(s->spec, -1, &a);
             shpool_device_allocator_unref(a); return status;)
CAPTURE_CALL(default_allocator, shpool_device_allocator *a;
             return shpool_device_allocator_default(-1, &a);)
CAPTURE_CALL(first_malloc, shpool_device_allocator *a; void *ptr;
             shpool_status status = shpool_device_allocator_open(s->spec, -1, &a);
             status = (status != SHPOOL_OK) ? status
                                            : shpool_device_malloc(a, 3u << 20, s->stream, &ptr);
             status = (status != SHPOOL_OK) ? status : shpool_device_free(a, ptr, s->stream);
             shpool_device_allocator_unref(a); return status;)
CAPTURE_CALL(context, shpool_context_options options; shpool_context *context;
             memset(&options, 0, sizeof(options)); options.bytes = sizeof(options);
             options.flags = SHPOOL_CONTEXT_NEW_STREAM; options.device = -1;
             options.allocator = s->spec;
             shpool_status status = shpool_context_create(&options, &context);
             shpool_context_unref(context); return status;)
CAPTURE_CALL(standard, shpool_context *context; return shpool_context_standard(-1, &context);)
CAPTURE_CALL(properties, shpool_device_properties p; return shpool_device_get_properties(0, &p);)
CAPTURE_CALL(memory, uint64_t a; uint64_t b; return shpool_device_memory(0, &a, &b);)
CAPTURE_CALL(malloc, void *ptr;
             shpool_status status = shpool_device_malloc(s->allocator, 100, s->stream, &ptr);
             return (status == SHPOOL_OK) ? shpool_device_free(s->allocator, ptr, s->stream)
                                          : status;)
CAPTURE_CALL(large, void *ptr;
             shpool_status status = shpool_device_malloc(s->allocator, 40u << 20, s->stream, &ptr);
             return (status == SHPOOL_OK) ? shpool_device_free(s->allocator, ptr, s->stream)
                                          : status;)
CAPTURE_CALL(too_large, void *ptr;
             return shpool_device_malloc(s->allocator, (size_t)1 << 45, s->stream, &ptr);)
CAPTURE_CALL(free, shpool_status status = shpool_device_free(s->allocator, s->ptr, s->stream);
             s->ptr = (status == SHPOOL_OK) ? NULL : s->ptr; return status;)
CAPTURE_CALL(record, return shpool_device_record_stream(s->allocator, s->ptr, s->stream);)
CAPTURE_CALL(record_free, shpool_stream other = shpool_context_stream(s->other);
             shpool_status status = shpool_device_record_stream(s->allocator, s->ptr, other);
             return (status == SHPOOL_OK) ? capture_free(s) : status;)
CAPTURE_CALL(base, void *at; size_t bytes;
             return shpool_device_base(s->allocator, s->ptr, &at, &bytes);)
CAPTURE_CALL(stable, return shpool_device_stream_stable(s->allocator, s->stream);)
CAPTURE_CALL(trim, shpool_status status = capture_free(s);
             return (status == SHPOOL_OK) ? shpool_device_trim(s->allocator, 0) : status;)
CAPTURE_CALL(set, return shpool_device_set(s->allocator, "capacity", "1M");)
CAPTURE_CALL(threshold, return shpool_device_set(s->allocator, "threshold", "1M");)
CAPTURE_CALL(stats, shpool_device_stats stats;
             return shpool_device_get_stats(s->allocator, &stats);)
CAPTURE_CALL(reset_peak, return shpool_device_reset_peak(s->allocator);)
CAPTURE_CALL(check, return shpool_device_check(s->allocator);)
CAPTURE_CALL(walk, return shpool_device_walk(s->allocator, capture_show, NULL);)
CAPTURE_CALL(report, char text[4000]; size_t need;
             return shpool_device_report(s->allocator, text, sizeof(text), &need);)
CAPTURE_CALL(pool, shpool_status status = shpool_device_capture_begin(s->allocator, 7, 7);
             status = (status == SHPOOL_OK) ? shpool_device_capture_end(s->allocator, 7, 7)
                                            : status;
             return (status == SHPOOL_OK) ? shpool_device_capture_release(s->allocator, 7, 7)
                                          : status;)
CAPTURE_CALL(export, shpool_device_handle handle;
             shpool_status status = shpool_device_export(s->allocator, s->ptr, &handle);
             shpool_device_import *import;
             status = (status == SHPOOL_OK) ? shpool_device_import_open(&handle, -1, &import)
                                            : status;
             (void)shpool_device_handle_close(&handle);
             return (status == SHPOOL_OK) ? shpool_device_import_close(import) : status;)
CAPTURE_CALL(aux_stream, shpool_stream aux; return shpool_context_aux_stream(s->other, &aux);)
CAPTURE_CALL(activate, return shpool_context_activate(s->context);)
CAPTURE_CALL(sync, return shpool_context_sync(s->context);)
CAPTURE_CALL(set_allocator, shpool_device_allocator *a;
             shpool_status status = shpool_device_allocator_default(-1, &a);
             return (status == SHPOOL_OK) ? shpool_context_set_allocator(s->other, a) : status;)
CAPTURE_CALL(describe, char text[1024];
             return shpool_context_describe(s->context, text, sizeof(text), NULL);)
CAPTURE_CALL(timer, double seconds; shpool_status status = shpool_timer_start(s->context);
             return (status == SHPOOL_OK) ? shpool_timer_split(s->context, &seconds) : status;)
CAPTURE_CALL(buffer, shpool_buffer *b;
             shpool_status status = shpool_buffer_create(s->context, SHPOOL_TYPE_U32, 10, &b);
             shpool_buffer_unref(b); return status;)
CAPTURE_CALL(buffer_from, shpool_buffer *b;
             shpool_status status = shpool_buffer_create_from(s->context, SHPOOL_TYPE_U32, 10,
                                                              s->host, &b);
             shpool_buffer_unref(b); return status;)
CAPTURE_CALL(buffer_record, return shpool_buffer_record_stream(s->elsewhere, s->stream);)
CAPTURE_CALL(to_host, return shpool_buffer_to_host(s->buffer, 0, CAPTURE_COUNT, s->host);)
CAPTURE_CALL(from_host, return shpool_buffer_from_host(s->buffer, 0, CAPTURE_COUNT, s->host);)
CAPTURE_CALL(to_host_async,
             return shpool_buffer_to_host_async(s->buffer, 0, CAPTURE_COUNT, s->host);)
CAPTURE_CALL(from_host_async,
             return shpool_buffer_from_host_async(s->buffer, 0, CAPTURE_COUNT, s->host);)
CAPTURE_CALL(copy, return shpool_buffer_copy(s->buffer, 0, s->second, 0, CAPTURE_COUNT);)
CAPTURE_CALL(copy_in, return shpool_buffer_copy(s->buffer, 0, s->elsewhere, 0, CAPTURE_COUNT);)
CAPTURE_CALL(copy_out, return shpool_buffer_copy(s->elsewhere, 0, s->buffer, 0, CAPTURE_COUNT);)
CAPTURE_CALL(fill, unsigned value = 0x01010101; return shpool_buffer_fill(s->buffer, &value);)
CAPTURE_CALL(fill_wide, shpool_buffer *b; double value = 1.25;
             shpool_status status = shpool_buffer_wrap(s->context, shpool_buffer_ptr(s->buffer),
                                                       SHPOOL_TYPE_F64, 1000, NULL, NULL, &b);
             status = (status == SHPOOL_OK) ? shpool_buffer_fill(b, &value) : status;
             shpool_buffer_unref(b); return status;)
CAPTURE_CALL(fill_ascending, unsigned first = 1; unsigned by = 2;
             return shpool_buffer_fill_ascending(s->buffer, &first, &by);)
CAPTURE_CALL(fill_random, unsigned low = 1; unsigned high = 9; shpool_random random;
             shpool_random_init(&random, 1);
             return shpool_buffer_fill_random(s->buffer, &low, &high, &random);)
CAPTURE_CALL(fill_sorted, unsigned low = 1; unsigned high = 9; shpool_random random;
             shpool_random_init(&random, 1);
             return shpool_buffer_fill_sorted(s->buffer, &low, &high, &random);)
CAPTURE_CALL(print, FILE *file = fopen("/dev/null", "w"); shpool_status status = SHPOOL_ERR_SYSTEM;
             if (file != NULL) { status = shpool_buffer_print(file, s->buffer, 10, NULL, 0);
                                 (void)fclose(file); } return status;)
CAPTURE_CALL(torch, void *ptr = shpool_torch_malloc(1000, 0, s->stream);
             shpool_torch_record_stream(ptr, s->stream);
             shpool_torch_free(ptr, 1000, 0, s->stream); shpool_torch_reset(); return SHPOOL_OK;)
CAPTURE_CALL(cupy, void *ptr = shpool_cupy_malloc(NULL, 1000, 0);
             shpool_cupy_free(NULL, ptr, 0); return SHPOOL_OK;)
CAPTURE_CALL(end, capture_forget(s); s->ptr = NULL; s->context = s->other = NULL;
             s->buffer = s->second = s->elsewhere = NULL; s->allocator = NULL; return SHPOOL_OK;)

#define CAPTURE_BARE(_name)  { #_name, capture_##_name, 1 }
#define CAPTURE_READY(_name) { #_name, capture_##_name, 0 }

static const capture_call capture_calls[] = {
    CAPTURE_BARE(allocator), CAPTURE_BARE(default_allocator), CAPTURE_BARE(first_malloc),
    CAPTURE_BARE(context), CAPTURE_BARE(standard), CAPTURE_BARE(properties), CAPTURE_BARE(memory),
    CAPTURE_BARE(torch), CAPTURE_BARE(cupy),
    CAPTURE_READY(malloc), CAPTURE_READY(large), CAPTURE_READY(too_large), CAPTURE_READY(free),
    CAPTURE_READY(record), CAPTURE_READY(record_free), CAPTURE_READY(base), CAPTURE_READY(stable),
    CAPTURE_READY(trim), CAPTURE_READY(set), CAPTURE_READY(threshold), CAPTURE_READY(stats),
    CAPTURE_READY(reset_peak), CAPTURE_READY(check), CAPTURE_READY(walk), CAPTURE_READY(report),
    CAPTURE_READY(pool), CAPTURE_READY(export), CAPTURE_READY(aux_stream), CAPTURE_READY(activate),
    CAPTURE_READY(sync), CAPTURE_READY(set_allocator), CAPTURE_READY(describe),
    CAPTURE_READY(timer), CAPTURE_READY(buffer), CAPTURE_READY(buffer_from),
    CAPTURE_READY(buffer_record), CAPTURE_READY(to_host), CAPTURE_READY(from_host),
    CAPTURE_READY(to_host_async), CAPTURE_READY(from_host_async), CAPTURE_READY(copy),
    CAPTURE_READY(copy_in), CAPTURE_READY(copy_out), CAPTURE_READY(fill), CAPTURE_READY(fill_wide),
    CAPTURE_READY(fill_ascending), CAPTURE_READY(fill_random), CAPTURE_READY(fill_sorted),
    CAPTURE_READY(print), CAPTURE_READY(end),
};

#define CAPTURE_CALLS (sizeof(capture_calls) / sizeof(capture_calls[0]))

#endif /* SHPOOL_TESTS_DEVICE_CAPTURE_CALLS_H */
