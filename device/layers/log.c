/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layer `log`: a line of CSV for each call, with the columns of RMM's log and the status:
 *
 *   Thread,Time,Action,Pointer,Size,Stream
 *   1,0.000123,allocate,0x7f0000000000,1024,0x1
 *
 * `shpool-bench memory --replay` reads it.  Lines of one thread are in order; those of several are
 * in the order in which the calls began to be written.
 */
#include "layer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/base/sync.h"
#include "device/base/timeline.h"
#include "lib/options.h"

typedef struct log_layer {
    shpool_device_allocator *upstream;
    FILE *file;
    struct timespec start;
    char path[SHPOOL_SPEC_VALUE_BYTES];
    shpool_ptr_map map;
    atomic_int error; /* errno of the first write that failed; relaxed: it orders nothing */
} log_layer;

#define OPTIONS(_)                                                                                 \
    _("file", "PATH", TEXT, log_layer, path,                                                       \
      "File to write; an old one is overwritten. If a line cannot be written, a regular file is "  \
      "emptied when the allocator is closed, and a message gives the reason.", .low = 0)

static const shpool_option options[] = SHPOOL_OPTION_ROWS(OPTIONS);

static void keep_error(log_layer *l)
{
    int none = 0;

    (void)atomic_compare_exchange_strong_explicit(&l->error, &none, (errno != 0) ? errno : EIO,
                                                  memory_order_relaxed, memory_order_relaxed);
}

/* Close the file.  A log that lacks lines is emptied, as a trace is: it must not be read. */
static void end_file(log_layer *l)
{
    int error;

    errno = 0;
    if ((fflush(l->file) != 0) || ferror(l->file)) {
        keep_error(l);
        (void)!ftruncate(fileno(l->file), 0);
    }
    errno = 0;
    if (fclose(l->file) != 0) {
        keep_error(l);
    }
    error = atomic_load_explicit(&l->error, memory_order_relaxed);
    if (error != 0) {
        shpool_message(SHPOOL_LEVEL_WARN, "log:file=%s: calls are missing, so a regular file was "
                       "emptied: %s", l->path, shpool_file_error(error));
    }
}

static void log_destroy(void *self)
{
    log_layer *l = self;

    if (l->file != NULL) {
        end_file(l);
    }
    shpool_ptr_map_fini(&l->map);
    free(l);
}

static FILE *open_empty(const char *path)
{
    int at = shpool_file_open_output(path);
    FILE *file = NULL;

    if (at < 0) {
        return NULL;
    }
    if ((ftruncate(at, 0) == 0) || (errno == EINVAL)) { /* a terminal or a pipe has no length */
        file = fdopen(at, "w");
    }
    if (file == NULL) {
        const int error = errno;

        (void)close(at);
        errno = error;
    }
    return file;
}

static shpool_status open_file(log_layer *l)
{
    if (l->path[0] == '\0') {
        return shpool_error(SHPOOL_ERR_SPEC, "it needs file=PATH, the file to write");
    }
    if (shpool_config_is_privileged()) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "a program with more privileges than its "
                            "caller writes no log");
    }
    l->file = open_empty(l->path);
    if (l->file == NULL) {
        return shpool_error(SHPOOL_ERR_SYSTEM, "%s cannot be written: %s", l->path,
                            shpool_file_error(errno));
    }
    /* write each line immediately: buffered text is lost in a crash, and written twice after
     * fork() */
    (void)setvbuf(l->file, NULL, _IOLBF, BUFSIZ);
    errno = 0;
    if (fputs("Thread,Time,Action,Pointer,Size,Stream\n", l->file) < 0) {
        keep_error(l);
    }
    return SHPOOL_OK;
}

static shpool_status log_create(const shpool_device_setup *setup, void **self_p)
{
    log_layer *l = calloc(1, sizeof(*l));
    shpool_status status;

    if (l == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a layer");
    }
    l->upstream = setup->upstream;
    (void)clock_gettime(CLOCK_MONOTONIC, &l->start);
    status = shpool_options_set(options, l, "", setup->options, setup->option_count);
    if (status == SHPOOL_OK) {
        status = open_file(l);
    }
    if (status != SHPOOL_OK) {
        log_destroy(l);
        return status;
    }
    *self_p = l;
    return SHPOOL_OK;
}

/* One call of fprintf is one line: stdio locks the file for it. */
static void write_line(log_layer *l, const char *action, const void *ptr, size_t bytes,
                       shpool_stream stream)
{
    struct timespec now;
    double seconds;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    seconds = (double)(now.tv_sec - l->start.tv_sec) +
              (double)(now.tv_nsec - l->start.tv_nsec) * 1e-9;
    errno = 0;
    if (fprintf(l->file, "%llu,%.6f,%s,0x%llx,%zu,0x%llx\n",
                (unsigned long long)shpool_thread_number(), seconds, action,
                (unsigned long long)(uintptr_t)ptr, bytes,
                (unsigned long long)(uintptr_t)stream) < 0) {
        keep_error(l);
    }
}

static shpool_status log_malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
{
    log_layer *l = self;
    shpool_status status = shpool_device_malloc(l->upstream, bytes, stream, ptr_p);

    if (status == SHPOOL_OK) {
        status = shpool_layer_note(l->upstream, &l->map, *ptr_p, bytes, stream);
        if (status != SHPOOL_OK) {
            return status;
        }
    }
    write_line(l, (status == SHPOOL_OK) ? "allocate" : "allocate failure", *ptr_p, bytes, stream);
    return status;
}

/* The line is written first: another thread may get the memory, and log it, right after. */
static shpool_status log_free(void *self, void *ptr, shpool_stream stream)
{
    log_layer *l = self;
    shpool_ptr_entry entry;
    shpool_status status = shpool_ptr_take(&l->map, ptr, &entry);

    if (status != SHPOOL_OK) {
        write_line(l, "free failure", ptr, 0, stream);
        return status;
    }
    write_line(l, "free", ptr, entry.bytes, stream);
    status = shpool_device_free(l->upstream, ptr, stream);
    if (status != SHPOOL_OK) {
        shpool_ptr_put_back(&l->map, &entry);
        write_line(l, "free failure", ptr, entry.bytes, stream);
    }
    return status;
}

static shpool_status log_record_stream(void *self, void *ptr, shpool_stream user)
{
    log_layer *l = self;

    write_line(l, "record", ptr, 0, user);
    return shpool_device_record_stream(l->upstream, ptr, user);
}

static shpool_status log_check(void *self)
{
    log_layer *l = self;

    errno = 0;
    if ((fflush(l->file) != 0) || ferror(l->file)) {
        keep_error(l);
        return shpool_error(SHPOOL_ERR_SYSTEM, "writing to %s failed: %s", l->path,
                            shpool_file_error(atomic_load_explicit(&l->error,
                                                                   memory_order_relaxed)));
    }
    return SHPOOL_OK;
}

const shpool_device_provider shpool_device_provider_log = {
    .abi = SHPOOL_DEVICE_ABI,
    .bytes = sizeof(shpool_device_provider),
    .flags = SHPOOL_DEVICE_LAYER | SHPOOL_DEVICE_THREAD_SAFE,
    .name = "log",
    .summary = "writes a line of CSV for each call",
    .keys = SHPOOL_OPTION_LINES(OPTIONS),
    .create = log_create,
    .destroy = log_destroy,
    .malloc = log_malloc,
    .free = log_free,
    .record_stream = log_record_stream,
    .check = log_check,
};
