/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices and their primary contexts, which this library shares with the CUDA runtime.
 *
 * Every call that needs a current context is between shpool_device_enter() and
 * shpool_device_leave(), which restores the caller's context.
 *
 * Some calls of the driver end the captures of graphs, and there is no way to ask whether any
 * stream of the process captures:
 *   - cuMemAlloc, cuMemFree, cuEventQuery, waits and others, also of other streams and threads,
 *     unless the thread's capture mode is "relaxed": it is between enter and leave;
 *   - cuCtxSynchronize, always: shpool_device_wait() is used instead;
 *   - every use of the legacy stream while a stream captures that is ordered with it, and waits,
 *     questions and cuStreamGetId for a stream that captures: these streams are asked first.
 */
#ifndef SHPOOL_DEVICE_DEVICE_H
#define SHPOOL_DEVICE_DEVICE_H

#include "lib/driver.h"

#pragma GCC visibility push(hidden)

/* One device's primary context, retained for the rest of the process. */
typedef struct shpool_device {
    const shpool_driver *cu;
    int ordinal;
    cu_device handle;
    cu_context context;
} shpool_device;

/* A device by its ordinal; -1: the thread's current one, or 0 if there is none.  Never freed.
 * SHPOOL_ERR_NOT_FOUND: no such device. */
shpool_status shpool_device_get(int ordinal, const shpool_device **device_p);

/*
 * Make the device's context current for a few calls, and the thread's capture mode "relaxed".
 * *left_p says for shpool_device_leave() what there is to undo.
 */
shpool_status shpool_device_enter(const shpool_device *device, int *left_p);
void shpool_device_leave(const shpool_device *device, int left);

/* The same for work on a stream.  SHPOOL_ERR_CAPTURE, and nothing is entered: it would end a
 * capture.  wait: the host waits for the stream, or the work reads memory of the host that does not
 * last, so that it must not become part of a graph. */
shpool_status shpool_device_enter_stream(const shpool_device *device, shpool_stream stream,
                                         int wait, int *left_p);

/* The capture mode alone, until shpool_device_restore().  Only the outermost of these, and of enter
 * and leave, calls the driver. */
void shpool_device_relax(const shpool_device *device);
void shpool_device_restore(const shpool_device *device);

/* Begins a call that may need the mode several times: the first one that does changes it, and the
 * shpool_device_restore() at the end of the call changes it back. */
void shpool_device_hold(void);

/* Whether a stream captures.  Of the legacy stream, which cannot: the driver's refusal, if it must
 * be left alone because a stream captures that is ordered with it. */
cu_result shpool_device_captures(const shpool_device *device, shpool_stream stream,
                                 int *captures_p);

/* The driver's number of the capture that a stream takes part in; 0: none.  No event may lead from
 * a stream to one of another number. */
unsigned long long shpool_device_capture_of(const shpool_device *device, shpool_stream stream);

/* SHPOOL_ERR_CAPTURE, with the detail: the stream captures, and `what` cannot serve it. */
shpool_status shpool_device_no_capture(const shpool_device *device, shpool_stream stream,
                                       const char *what);

/* Wait for all work of the device, which must be entered; the other one enters it, and leaves. */
cu_result shpool_device_wait(const shpool_device *device);
shpool_status shpool_device_sync(const shpool_device *device);

/* The same without a message, for callers with a lock: the driver's result, or 1: it is current. */
cu_result shpool_device_enter_result(const shpool_device *device, int *left_p);
int shpool_device_enter_quietly(const shpool_device *device, int *left_p);

/* Memory of cuMemAlloc, with the context current.  They send no message. */
cu_result shpool_device_take(const shpool_device *device, size_t bytes, cu_ptr *ptr_p);
cu_result shpool_device_give(const shpool_device *device, cu_ptr ptr);

/* Memory that an allocator had at its end and that the driver refused to free; zeroed: none. */
typedef struct shpool_device_loss {
    cu_result result; /* the driver's latest refusal */
    unsigned count;
    uint64_t bytes;
} shpool_device_loss;

/* Adds a refusal in `result` to a loss. */
void shpool_device_loss_add(shpool_device_loss *loss, cu_result result, uint64_t bytes);

/* Says by a message what is lost, unless the process ends and the driver with it.  The detail of
 * the thread's latest failure stays. */
void shpool_device_loss_tell(const shpool_device *device, const shpool_device_loss *loss,
                             const char *what);

/* For tests: forget all devices, because the driver will be replaced.  No other thread may be in
 * the library. */
void shpool_devices_reset(void);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_DEVICE_H */
