/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CUDA driver for tests: devices with a fixed amount of memory, streams, events, captures.
 *
 * It keeps the happens-before relation of all work as vector clocks: each stream counts the work
 * submitted to it, and knows of each other stream up to where it is ordered after it (by events,
 * by the legacy stream's rules, or because the host saw it finished before it submitted).  Work
 * that touches memory without being ordered after the work that touched it last is a violation:
 * a missing edge fails a test on a machine without a GPU.
 *
 * Nothing finishes by itself: events are "not ready" until fake_finish() or a wait of the host.
 * Device addresses are memory of this process, so that copies work.
 */
#ifndef SHPOOL_TESTS_FAKE_DRIVER_H
#define SHPOOL_TESTS_FAKE_DRIVER_H

#include "lib/driver.h"

#define FAKE_DEVICES 4u
#define FAKE_STREAMS 256u /* in a test's life, destroyed ones included */

/* Every call by its member's name in shpool_driver: FAKE_CALL_memory_alloc, ... */
enum {
#define FAKE_NUMBER(_member, _name, _symbol, _version, _optional, _arguments) FAKE_CALL_##_member,
    SHPOOL_DRIVER_CALLS(FAKE_NUMBER)
#undef FAKE_NUMBER
    FAKE_CALL_COUNT
};

/* Reset, with devices of `bytes` each, and make the library use this driver. */
void fake_start(unsigned devices, uint64_t bytes);

/* Make the library use this table, and forget the devices of another one; NULL: the real driver. */
void fake_install(const shpool_driver *table);

/* Objects that the library holds; all must be 0 at the end of a test, after the library's own
 * defaults are dropped. */
typedef struct fake_held {
    uint64_t bytes;
    unsigned allocations;
    unsigned events;
    unsigned streams;
    unsigned pools;
    unsigned host_allocations;
    unsigned ranges;
    unsigned imports;
} fake_held;
fake_held fake_stop(void);
fake_held fake_holds(void);

/* Work on a stream that touches memory; checked against earlier accesses. */
void fake_work(shpool_stream stream, const void *ptr, size_t bytes);

/* Let all work of a stream, and the work that it waits for, finish; the same for all streams. */
void fake_finish(shpool_stream stream);
void fake_finish_all(void);

/* From now on the GPU lags: when work is submitted, all of that stream but the latest `pieces` has
 * finished, and each query of an event finishes one piece more.  0: work finishes as above. */
void fake_lag(unsigned pieces);

/* Violations since fake_start(), and the text of the first one. */
unsigned fake_violations(void);
const char *fake_first_violation(void);

/* How often an entry point was called since fake_start() or fake_forget_calls(); all of them. */
unsigned long fake_calls(unsigned call);
unsigned long fake_all_calls(void);
void fake_forget_calls(void);

/* Let the nth call from now on (1: the next) fail with `result`; 0: none.  Calls that cannot fail
 * for a reason of their own (error texts, pop, the capture mode) do not count. */
void fake_fail(unsigned long nth, cu_result result);

/* After that one, the nth call fails, too. */
void fake_fail_again(unsigned long nth);
int fake_failed(void); /* 1: it happened */

/* The nth call from now on and all after it fail, as at the end of the process; 0: none. */
void fake_fail_from(unsigned long nth, cu_result result);

/* Asked at each such call, if it is not NULL: what the call is to return, CU_SUCCESS if it is to do
 * its work. */
extern cu_result (*fake_refusal)(void);

/* Limit the driver to `bytes` of a device. */
void fake_limit(int device, uint64_t bytes);

/* The driver knows an attribute of devices no more. */
void fake_without_attribute(int attribute);

/* cuStreamGetId is missing, as in drivers before CUDA 12. */
void fake_without_ids(void);

/* The driver lacks cuMemCreate and related functions, as before CUDA 10.2.  fake_granularity() sets
 * the size of its granules (default: 2 MiB). */
void fake_without_granules(void);
void fake_granularity(size_t bytes);

/* No more addresses than this are reserved at a time; 0: no limit. */
void fake_limit_range(size_t bytes);

/* No other device can reach this one's memory, nor it theirs. */
void fake_without_peers(int device);

/* The devices that may access the memory at an address, as bits. */
unsigned fake_access(const void *ptr);

/* The driver lacks the calls that export and import memory. */
void fake_without_sharing(void);

/* This process does not see the first `count` devices, as with CUDA_VISIBLE_DEVICES. */
void fake_hide_devices(unsigned count);

/* Called at the end of each cuCtxSynchronize, without a lock; NULL: nothing is. */
void fake_on_sync(void (*function)(void));

/* Allocations of 2 MiB and more begin 512 bytes after a page. */
void fake_misalign(int on);

/* Streams of the test's own, on a device. */
shpool_stream fake_stream(int device, unsigned flags);
void fake_stream_destroy(shpool_stream stream);

/* Capture: work is noted instead of submitted, and done at each launch.  A stream that is joined
 * waits for another one's captured work so far, and takes part in its capture until the end. */
void fake_capture_begin(shpool_stream stream);
void fake_capture_join(shpool_stream stream, shpool_stream after);
unsigned fake_capture_end(shpool_stream stream);
void fake_launch(unsigned graph, shpool_stream stream);

/* The device that is current to the calling thread; -1: none. */
int fake_current(void);
void fake_set_current(int device);

/* Every device's primary context handle. */
cu_context fake_context(int device);

#endif /* SHPOOL_TESTS_FAKE_DRIVER_H */
