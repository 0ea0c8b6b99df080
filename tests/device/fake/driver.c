/* SPDX-License-Identifier: BSD-3-Clause */
/* The fake driver: devices, contexts, and queries of tests. */
#include "driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/base/device.h"
#include "device/context.h"
#include "device/stack.h"

fake_state fake;
cu_result (*fake_refusal)(void);
_Thread_local fake_thread fake_thread_state = { .mode = CU_CAPTURE_MODE_GLOBAL };

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
shpool_driver fake_table;

void fake_violate(const char *format, ...)
{
    va_list args;

    if (fake.violations++ == 0) {
        va_start(args, format);
        vsnprintf(fake.first_violation, sizeof(fake.first_violation), format, args);
        va_end(args);
    }
}

cu_result fake_begin(unsigned call)
{
    fake.calls[call]++;
    if ((call == FAKE_CALL_error_string) || (call == FAKE_CALL_context_pop) ||
        (call == FAKE_CALL_capture_mode)) {
        return CU_SUCCESS; /* cannot fail for a reason of their own */
    }
    if (fake.fail_from > 0) {
        fake.fail_from -= (fake.fail_from > 1);
        fake.failed = (fake.fail_from == 1);
        if (fake.failed) {
            return fake.fail_with;
        }
    }
    if ((fake.fail_in > 0) && (--fake.fail_in == 0)) {
        fake.failed = 1;
        fake.fail_in = fake.fail_again;
        fake.fail_again = 0;
        return fake.fail_with;
    }
    return (fake_refusal != NULL) ? fake_refusal() : CU_SUCCESS;
}

int fake_current(void)
{
    fake_thread *t = &fake_thread_state;

    return ((t->depth > 0) && (t->stack[t->depth - 1] != NULL))
               ? t->stack[t->depth - 1]->device : -1;
}

int fake_is_capturing_here(void)
{
    return (fake.capturing > 0) && (fake_thread_state.mode != CU_CAPTURE_MODE_RELAXED);
}

/* ---- init and devices ---- */

cu_result f_init(unsigned flags)
{
    FAKE_ENTER(init)
    return (flags == 0) ? CU_SUCCESS : CU_ERROR_INVALID_VALUE;
}

cu_result f_version(int *version)
{
    FAKE_ENTER(version)
    *version = 13000;
    return CU_SUCCESS;
}

cu_result f_error_string(cu_result code, const char **text)
{
    *text = (code == CU_ERROR_OUT_OF_MEMORY) ? "out of memory" : "fake error";
    return CU_SUCCESS;
}

cu_result f_device_count(int *count)
{
    FAKE_ENTER(device_count)
    *count = (int)fake.devices;
    return CU_SUCCESS;
}

cu_result f_device_get(cu_device *device, int ordinal)
{
    FAKE_ENTER(device_get)
    *device = ordinal;
    return (ordinal >= 0) && (ordinal < (int)fake.devices) ? CU_SUCCESS
                                                               : CU_ERROR_INVALID_DEVICE;
}

cu_result f_device_name(char *name, int bytes, cu_device device)
{
    FAKE_ENTER(device_name)
    snprintf(name, (size_t)bytes, "Fake %d", device);
    return CU_SUCCESS;
}

cu_result f_device_attribute(int *value, int attribute, cu_device device)
{
    static const struct { int attribute; int value; } known[] = {
        { CU_ATTRIBUTE_SHARED_BLOCK, 49152 },   { CU_ATTRIBUTE_SHARED_SM, 102400 },
        { CU_ATTRIBUTE_SHARED_RESERVED, 1024 },
        { CU_ATTRIBUTE_WARP_SIZE, 32 },         { CU_ATTRIBUTE_CLOCK_RATE, 1401000 },
        { CU_ATTRIBUTE_MULTIPROCESSORS, 15 },   { CU_ATTRIBUTE_ECC_ENABLED, 0 },
        { CU_ATTRIBUTE_MEMORY_CLOCK_RATE, 1848000 }, { CU_ATTRIBUTE_MEMORY_BUS_WIDTH, 384 },
        { CU_ATTRIBUTE_L2_BYTES, 786432 },      { CU_ATTRIBUTE_SM_THREADS, 1536 },
        { CU_ATTRIBUTE_CAPABILITY_MAJOR, 8 },   { CU_ATTRIBUTE_CAPABILITY_MINOR, 6 },
        { CU_ATTRIBUTE_SHARED_OPTIN, 101376 },  { CU_ATTRIBUTE_MEMORY_POOLS, 1 },
        { CU_ATTRIBUTE_VIRTUAL_MEMORY, 1 },     { CU_ATTRIBUTE_VIRTUAL_RDMA, 1 },
        { CU_ATTRIBUTE_VIRTUAL_DESCRIPTORS, 1 },
    };

    FAKE_ENTER(device_attribute)
    (void)device;
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(known); i++) {
        if ((known[i].attribute == attribute) && (attribute != fake.unknown_attribute)) {
            *value = known[i].value;
            return CU_SUCCESS;
        }
    }
    return CU_ERROR_INVALID_VALUE;
}

cu_result f_device_memory(size_t *bytes, cu_device device)
{
    FAKE_ENTER(device_memory)
    *bytes = (size_t)fake.limit[device];
    return CU_SUCCESS;
}

cu_result f_device_can_reach(int *can, cu_device device, cu_device owner)
{
    FAKE_ENTER(device_can_reach)
    *can = (device != owner) && (device != fake.hermit) && (owner != fake.hermit);
    return CU_SUCCESS;
}

cu_result f_primary_retain(cu_context *context, cu_device device)
{
    FAKE_ENTER(primary_retain)
    *context = &fake.context[device];
    return CU_SUCCESS;
}

/* ---- contexts ---- */

cu_result f_context_get(cu_context *context)
{
    fake_thread *t = &fake_thread_state;

    FAKE_ENTER(context_get)
    *context = (t->depth > 0) ? t->stack[t->depth - 1] : NULL;
    return CU_SUCCESS;
}

cu_result f_context_set(cu_context context)
{
    fake_thread *t = &fake_thread_state;

    FAKE_ENTER(context_set)
    t->depth = (t->depth == 0) ? 1 : t->depth;
    t->stack[t->depth - 1] = context;
    return CU_SUCCESS;
}

cu_result f_context_push(cu_context context)
{
    fake_thread *t = &fake_thread_state;

    FAKE_ENTER(context_push)
    if (t->depth == SHPOOL_ARRAY_COUNT(t->stack)) {
        fake_violate("contexts are pushed and never popped");
        return CU_ERROR_INVALID_VALUE;
    }
    t->stack[t->depth++] = context;
    return CU_SUCCESS;
}

cu_result f_context_pop(cu_context *context)
{
    fake_thread *t = &fake_thread_state;

    FAKE_ENTER(context_pop)
    if (t->depth == 0) {
        fake_violate("a context is popped that was not pushed");
        return CU_ERROR_INVALID_CONTEXT;
    }
    *context = t->stack[--t->depth];
    return CU_SUCCESS;
}

cu_result f_context_device(cu_device *device)
{
    FAKE_ENTER(context_device)
    *device = fake_current();
    return (*device >= 0) ? CU_SUCCESS : CU_ERROR_INVALID_CONTEXT;
}

/* ---- queries of tests ---- */

void fake_install(const shpool_driver *driver)
{
    shpool_devices_reset();
    shpool_driver_replace(driver);
}

void fake_start(unsigned devices, uint64_t bytes)
{
#define BIND(_member, _name, _symbol, _version, _optional, _arguments) ._member = f_##_member,
    fake_table = (shpool_driver){ SHPOOL_DRIVER_CALLS(BIND) };
#undef BIND
    memset(&fake, 0, sizeof(fake));
    memset(&fake_thread_state, 0, sizeof(fake_thread_state));
    fake.devices = devices;
    fake.granularity = (size_t)2 << 20;
    fake.hermit = -1;
    for (unsigned i = 0; i < devices; i++) {
        fake.limit[i] = bytes;
        fake.context[i].device = (int)i;
        fake.legacy[i] = fake_new_line((int)i, 1);
    }
    fake_install(&fake_table);
}

fake_held fake_stop(void)
{
    fake_fail(0, CU_SUCCESS);
    fake_fail_from(0, CU_SUCCESS);
    shpool_contexts_reset();
    shpool_device_defaults_reset();
    shpool_device_providers_reset();
    fake_held held = fake.held;
    while (fake.memory != NULL) {
        fake_give(fake.memory);
    }
    fake_drop_ranges();
    /* events that a failing call left, so that leaks of this program are the library's */
    while (fake.events != NULL) {
        struct CUevent_st *event = fake.events;

        fake.events = event->next;
        free(event);
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(fake.pinned); i++) {
        free(fake.pinned[i]);
        fake.pinned[i] = NULL;
    }
    fake_install(NULL);
    return held;
}

unsigned long fake_all_calls(void)
{
    unsigned long sum = 0;

    for (unsigned i = 0; i < FAKE_CALL_COUNT; i++) {
        sum += fake.calls[i];
    }
    return sum;
}

void fake_fail(unsigned long nth, cu_result result)
{
    fake.fail_in = nth;
    fake.fail_again = 0;
    fake.fail_with = result;
    fake.failed = 0;
}

void fake_fail_from(unsigned long nth, cu_result result)
{
    fake.fail_from = (nth > 0) ? nth + 1 : 0;
    fake.fail_with = result;
    fake.failed = 0;
}

void fake_set_current(int device)
{
    fake_thread_state.depth = 1;
    fake_thread_state.stack[0] = (device >= 0) ? &fake.context[device] : NULL;
}

/* ---- captures ---- */

void fake_note(const struct CUstream_st *stream, unsigned after, const void *ptr, size_t bytes)
{
    if (fake.noted_count == SHPOOL_ARRAY_COUNT(fake.noted)) {
        abort(); /* the test captures too much */
    }
    fake.noted[fake.noted_count++] = (struct fake_noted){ stream->graph, stream->branch, after, ptr,
                                                          bytes };
}

/* A test that captures very often gets the branches of a stream's earlier graphs. */
static void begin_branch(shpool_stream stream, unsigned graph)
{
    stream->capturing = 1;
    stream->graph = graph;
    if ((stream->branch == 0) || (fake.lines < FAKE_STREAMS / 2)) {
        stream->branch = fake_new_line(fake.line[stream->line].device, 0);
    }
}

void fake_capture_begin(shpool_stream stream)
{
    FAKE_LOCKED
    begin_branch(stream, ++fake.graphs);
    fake.capturing++;
}

void fake_capture_join(shpool_stream stream, shpool_stream after)
{
    FAKE_LOCKED
    if (!stream->capturing) {
        begin_branch(stream, after->graph);
    }
    fake_note(stream, after->branch, NULL, 0);
}

unsigned fake_capture_end(shpool_stream stream)
{
    FAKE_LOCKED
    unsigned graph = stream->graph;
    for (unsigned i = 0; i < FAKE_STREAMS; i++) {
        fake.handle[i].capturing &= (fake.handle[i].graph != graph);
    }
    fake.capturing--;
    return graph;
}

/* Every branch begins after the work of the stream, which goes on after all of them. */
void fake_launch(unsigned graph, shpool_stream stream)
{
    FAKE_LOCKED
    unsigned line = (unsigned)fake_line_of(stream);
    fake_submit(line);
    for (unsigned i = 0; i < fake.noted_count; i++) {
        if (fake.noted[i].graph == graph) {
            fake_join(fake.line[fake.noted[i].branch].knows, fake.line[line].knows);
        }
    }
    for (unsigned i = 0; i < fake.noted_count; i++) {
        const struct fake_noted *note = &fake.noted[i];

        if (note->graph != graph) {
            continue;
        }
        fake_join(fake.line[note->branch].knows, fake.line[note->after].knows);
        if (note->ptr != NULL) {
            fake_submit(note->branch);
            fake_touch(note->branch, note->ptr, note->bytes);
        }
    }
    for (unsigned i = 0; i < fake.noted_count; i++) {
        if (fake.noted[i].graph == graph) {
            fake_join(fake.line[line].knows, fake.line[fake.noted[i].branch].knows);
        }
    }
}
