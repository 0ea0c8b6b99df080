/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake driver: streams, captures, and the order of work. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* ---- order ---- */

void fake_join(fake_clock to, const fake_clock from)
{
    for (unsigned i = 0; i < fake.lines; i++) {
        to[i] = (to[i] > from[i]) ? to[i] : from[i];
    }
}

unsigned fake_new_line(int device, int blocking)
{
    unsigned number = fake.lines;
    fake_line *line = &fake.line[number];

    if (number + 1 >= FAKE_STREAMS) {
        abort(); /* the test makes too many streams */
    }
    fake.lines++;
    memset(line, 0, sizeof(*line));
    line->device = device;
    line->alive = 1;
    line->blocking = blocking;
    return number;
}

/* The legacy stream waits for all blocking streams of its device, and they for it. */
static void join_legacy(unsigned number)
{
    fake_line *line = &fake.line[number];
    unsigned legacy = fake.legacy[line->device];

    if (number != legacy) {
        if (line->blocking) {
            fake_join(line->knows, fake.line[legacy].knows);
        }
        return;
    }
    for (unsigned i = 0; i < fake.lines; i++) {
        if ((i != legacy) && fake.line[i].blocking && (fake.line[i].device == line->device)) {
            fake_join(line->knows, fake.line[i].knows);
        }
    }
}

void fake_submit(unsigned number)
{
    fake_line *line = &fake.line[number];

    fake_join(line->knows, fake.host);
    join_legacy(number);
    line->knows[number] = ++line->submitted;
    if ((fake.lag > 0) && (line->submitted > fake.lag) &&
        (fake.done[number] < line->submitted - fake.lag)) {
        fake.done[number] = line->submitted - fake.lag;
    }
}

static void finish_line(unsigned number)
{
    fake_join(fake.done, fake.line[number].knows);
}

void fake_finish_device(int device)
{
    for (unsigned i = 0; i < fake.lines; i++) {
        if (fake.line[i].device == device) {
            finish_line(i);
            fake_join(fake.host, fake.line[i].knows);
        }
    }
}

/* Work on one piece of memory, from an offset on. */
static void touch_piece(unsigned number, fake_memory *place, size_t offset, size_t bytes)
{
    fake_memory *m = (place->of != NULL) ? place->of : place;
    const uint32_t *knows = fake.line[number].knows;
    const fake_last now = { .line = number, .at = knows[number] };
    fake_last was = { 0 };
    size_t end = (offset + bytes + 255) / 256;
    fake_last *last;

    if (place->uses == NULL) {
        place->uses = calloc(FAKE_STREAMS, sizeof(*place->uses));
    }
    place->uses[number] = now.at;
    if (m->last == NULL) {
        m->last = calloc(m->bytes / 256 + 1, sizeof(*m->last));
    }
    last = m->last;
    for (size_t i = offset / 256; i < end; i++) { /* most are like the one before */
        if ((last[i].at != was.at) || (last[i].line != was.line)) {
            was = last[i];
            if ((was.at > 0) && (knows[was.line] < was.at)) {
                fake_violate("line %u touches %p, line %u used it last at %u, only %u is known",
                             number, (void *)(place->ptr + offset), was.line, was.at,
                             knows[was.line]);
            }
        }
        last[i] = now;
    }
}

/* Adjacent granules are one piece to the caller. */
void fake_touch(unsigned number, const void *ptr, size_t bytes)
{
    const char *at = ptr;

    do {
        fake_memory *m = fake_find(at);
        size_t offset = (m != NULL) ? (size_t)(at - m->ptr) : 0;
        size_t here = (m == NULL) ? 0 : (m->bytes - offset < bytes) ? m->bytes - offset : bytes;

        if ((here == 0) || ((here < bytes) && (m->start != NULL))) {
            fake_violate("work on memory that the driver does not hold");
            return;
        }
        if ((m->start == NULL) && (m->access == 0)) {
            fake_violate("work on memory that is mapped without access");
        }
        touch_piece(number, m, offset, here);
        at += here;
        bytes -= here;
    } while (bytes > 0);
}

/* ---- handles ---- */

static int line_of_thread(void)
{
    int device = fake_current();

    for (unsigned i = 0; i < fake.per_thread_count; i++) {
        if (pthread_equal(fake.per_thread[i].thread, pthread_self()) &&
            (fake.per_thread[i].device == device)) {
            return (int)fake.per_thread[i].line;
        }
    }
    if ((device < 0) || (fake.per_thread_count == SHPOOL_ARRAY_COUNT(fake.per_thread))) {
        return -1;
    }
    fake.per_thread[fake.per_thread_count].thread = pthread_self();
    fake.per_thread[fake.per_thread_count].device = device;
    fake.per_thread[fake.per_thread_count].line = fake_new_line(device, 1);
    return (int)fake.per_thread[fake.per_thread_count++].line;
}

int fake_line_of(shpool_stream stream)
{
    int device = fake_current();

    if ((stream == NULL) || (stream == SHPOOL_STREAM_LEGACY)) {
        return (device >= 0) ? (int)fake.legacy[device] : -1;
    }
    if (stream == SHPOOL_STREAM_PER_THREAD) {
        return line_of_thread();
    }
    if (!stream->used) {
        fake_violate("a destroyed stream is used");
        return -1;
    }
    return (int)stream->line;
}

static shpool_stream new_stream(int device, unsigned flags)
{
    for (unsigned i = 0; i < FAKE_STREAMS; i++) {
        struct CUstream_st *s = &fake.handle[i];

        if (!s->used) { /* the lowest: handles come back soon, as the driver's do */
            memset(s, 0, sizeof(*s));
            s->used = 1;
            s->line = fake_new_line(device, flags != CU_STREAM_NON_BLOCKING);
            return s;
        }
    }
    abort();
}

cu_result f_stream_create(shpool_stream *stream, unsigned flags)
{
    FAKE_ENTER(stream_create)
    if (fake_current() < 0) {
        return CU_ERROR_INVALID_CONTEXT;
    }
    *stream = new_stream(fake_current(), flags);
    fake.held.streams++;
    return CU_SUCCESS;
}

/* Submitted work continues. */
cu_result f_stream_destroy(shpool_stream stream)
{
    FAKE_ENTER(stream_destroy)
    if (fake_line_of(stream) < 0) {
        return CU_ERROR_INVALID_HANDLE;
    }
    fake.line[stream->line].alive = 0;
    stream->used = 0;
    fake.held.streams--;
    return CU_SUCCESS;
}

int fake_is_captured(shpool_stream stream)
{
    return ((uintptr_t)stream > 2) && stream->capturing;
}

/* A question or a wait for a stream that captures, or for the legacy one, ends captures. */
static cu_result look_at(shpool_stream stream, int line)
{
    if (fake_is_captured(stream)) {
        fake_violate("a stream that captures is waited for, or asked about its work");
        return CU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return fake_is_off_limits(line) ? CU_ERROR_STREAM_CAPTURE_IMPLICIT : CU_SUCCESS;
}

cu_result f_stream_sync(shpool_stream stream)
{
    FAKE_ENTER(stream_sync)
    FAKE_UNSAFE("cuStreamSynchronize")
    int line = fake_line_of(stream);
    if (line < 0) {
        return CU_ERROR_INVALID_HANDLE;
    }
    result = look_at(stream, line);
    if (result == CU_SUCCESS) {
        join_legacy((unsigned)line);
        finish_line((unsigned)line);
        fake_join(fake.host, fake.line[line].knows);
    }
    return result;
}

int fake_is_done(const fake_clock clock)
{
    for (unsigned i = 0; i < fake.lines; i++) {
        if (fake.done[i] < clock[i]) {
            return 0;
        }
    }
    return 1;
}

/* A stream that is ordered with the legacy one captures. */
int fake_is_captured_on(int device)
{
    for (unsigned i = 0; i < FAKE_STREAMS; i++) {
        const struct CUstream_st *s = &fake.handle[i];

        if (s->used && s->capturing && (fake.line[s->line].device == device) &&
            fake.line[s->line].blocking) {
            return 1;
        }
    }
    return 0;
}

/* The legacy stream is ordered with blocking streams: to touch it ends their captures. */
int fake_is_off_limits(int line)
{
    int device = fake.line[line].device;

    if (((unsigned)line != fake.legacy[device]) || !fake_is_captured_on(device)) {
        return 0;
    }
    fake_violate("the legacy stream is used while a stream captures that waits for it");
    return 1;
}

cu_result f_stream_query(shpool_stream stream)
{
    FAKE_ENTER(stream_query)
    FAKE_UNSAFE("cuStreamQuery")
    int line = fake_line_of(stream);
    if (line < 0) {
        return CU_ERROR_INVALID_HANDLE;
    }
    result = look_at(stream, line);
    if (result != CU_SUCCESS) {
        return result;
    }
    if (!fake_is_done(fake.line[line].knows)) {
        return CU_ERROR_NOT_READY;
    }
    fake_join(fake.host, fake.line[line].knows);
    return CU_SUCCESS;
}

cu_result f_stream_wait(shpool_stream stream, shpool_event event, unsigned flags)
{
    FAKE_ENTER(stream_wait)
    (void)flags;
    int line = fake_line_of(stream);
    if ((line < 0) || (event == NULL)) {
        return CU_ERROR_INVALID_HANDLE;
    }
    if ((event->captured != NULL) && (line == (int)fake.legacy[fake.line[line].device])) {
        fake_violate("the legacy stream waits for an event of a graph");
        return CU_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if ((event->captured != NULL) && fake_is_captured(stream) && (stream->graph == event->graph)) {
        fake_note(stream, event->branch, NULL, 0);
        return CU_SUCCESS;
    }
    if ((event->captured != NULL) || (fake_is_captured(stream) && event->recorded)) {
        fake_violate("an event leads into a capture, or out of one"); /* or a stream joins it */
        return CU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (fake_is_off_limits(line)) {
        return CU_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    fake_join(fake.line[line].knows, event->covers);
    return CU_SUCCESS;
}

cu_result f_stream_id(shpool_stream stream, unsigned long long *id)
{
    FAKE_ENTER(stream_id)
    if (((uintptr_t)stream > 2) && stream->capturing) {
        fake_violate("cuStreamGetId of a stream that captures"); /* the driver ends the capture */
    }
    int line = fake_line_of(stream);
    *id = (unsigned long long)(line + 1);
    if ((line >= 0) && fake_is_off_limits(line)) {
        return CU_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return (line >= 0) ? CU_SUCCESS : CU_ERROR_INVALID_HANDLE;
}

cu_result f_stream_capturing(shpool_stream stream, int *status)
{
    FAKE_ENTER(stream_capturing)
    *status = CU_CAPTURE_STATUS_NONE;
    if (((uintptr_t)stream > 2) && !stream->used) {
        fake_violate("a destroyed stream is asked whether it captures");
        return CU_ERROR_INVALID_HANDLE;
    }
    if ((uintptr_t)stream > 2) {
        *status = stream->capturing ? CU_CAPTURE_STATUS_ACTIVE : CU_CAPTURE_STATUS_NONE;
    } else if ((stream != SHPOOL_STREAM_PER_THREAD) &&
               fake_is_captured_on(fake_current())) {
        return CU_ERROR_STREAM_CAPTURE_IMPLICIT; /* says so, and harms nothing */
    }
    return CU_SUCCESS;
}

cu_result f_stream_capture(shpool_stream stream, int *status, unsigned long long *id)
{
    FAKE_ENTER(stream_capture)
    *status = fake_is_captured(stream) ? CU_CAPTURE_STATUS_ACTIVE : CU_CAPTURE_STATUS_NONE;
    *id = fake_is_captured(stream) ? stream->graph : 0;
    return CU_SUCCESS;
}

cu_result f_capture_mode(int *mode)
{
    int old = fake_thread_state.mode;

    FAKE_ENTER(capture_mode)
    fake_thread_state.mode = *mode;
    *mode = old;
    return CU_SUCCESS;
}

/* ---- for tests ---- */

void fake_work(shpool_stream stream, const void *ptr, size_t bytes)
{
    FAKE_LOCKED
    int line = fake_line_of(stream);
    if (line < 0) {
        fake_violate("work on no stream");
    } else if (((uintptr_t)stream > 2) && stream->capturing) {
        fake_note(stream, stream->branch, ptr, bytes);
    } else {
        fake_submit((unsigned)line);
        fake_touch((unsigned)line, ptr, bytes);
    }
}

void fake_finish(shpool_stream stream)
{
    FAKE_LOCKED
    int line = fake_line_of(stream);
    if (line >= 0) {
        finish_line((unsigned)line);
    }
}

void fake_finish_all(void)
{
    FAKE_LOCKED
    for (unsigned i = 0; i < fake.lines; i++) {
        finish_line(i);
    }
}

shpool_stream fake_stream(int device, unsigned flags)
{
    FAKE_LOCKED
    shpool_stream stream = new_stream(device, flags);
    return stream;
}

void fake_stream_destroy(shpool_stream stream)
{
    FAKE_LOCKED
    fake.line[stream->line].alive = 0;
    stream->used = 0;
}
