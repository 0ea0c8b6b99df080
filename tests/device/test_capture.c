/* SPDX-License-Identifier: BSD-3-Clause */
/* No call ends a capture: each is tried as the first of its kind while a stream captures, for that
 * stream and for others.  The fake driver says what would have ended it. */
#include "scene.h"

/* With the first allocator more than the library writes in one piece. */
static unsigned elements;
#define CAPTURE_COUNT elements
#include "capture_calls.h"

#include <stdlib.h>

/* The stream that the calls are for. */
enum { CAPTURING, BLOCKING_CAPTURING, OUTSIDE, LEGACY, LEGACY_BESIDE_BLOCKING, PLACES };

static void try_call(const capture_call *call, const char *spec, int place, int declared)
{
    int blocks = (place == BLOCKING_CAPTURING) || (place == LEGACY_BESIDE_BLOCKING);
    shpool_stream captured;
    capture_subject s = { .spec = spec, .host = calloc(CAPTURE_COUNT, sizeof(unsigned)) };
    shpool_device_allocator *pooled;
    shpool_status status;

    fake_start(1, 1024 * MIB);
    fake_set_current(0);
    captured = fake_stream(0, blocks ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
    s.stream = (place <= BLOCKING_CAPTURING) ? captured
             : (place == OUTSIDE) ? fake_stream(0, CU_STREAM_NON_BLOCKING) : NULL;
    if (!call->bare) {
        assert_ok(capture_prepare(&s, fake_stream(0, CU_STREAM_NON_BLOCKING)));
    }
    pooled = (declared && (s.allocator != NULL) &&
              (shpool_device_capture_begin(s.allocator, 1, 1) == SHPOOL_OK)) ? s.allocator : NULL;
    fake_capture_begin(captured);
    status = call->call(&s);
    if ((fake_violations() > 0) || (status == SHPOOL_ERR_CUDA)) {
        fail_msg("%s, %s, place %d%s: status %d, %s, %s", call->name, spec, place,
                 declared ? ", declared" : "", status, fake_first_violation(),
                 shpool_last_error());
    }
    (void)fake_capture_end(captured);
    if ((pooled != NULL) && (s.allocator != NULL)) {
        assert_ok(shpool_device_capture_end(pooled, 1, 1));
        assert_ok(shpool_device_capture_release(pooled, 1, 1));
    }
    capture_forget(&s);
    free(s.host);
    (void)fake_stop();
}

UNIT_TEST(test_no_call_ends_a_capture)
{
    static const char *const specs[] = {
        "bins:memory=vmm", "bins:memory=driver", "bins:stable=1", "bins:share=1",
        "stats|limit:bytes=900M|lock|bins", "guard|bins", "buckets", "simple", "async",
        "guard|async",
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(specs) * PLACES * 2; i++) {
        elements = (i < 2 * PLACES) ? 300000 : 3000;
        for (size_t k = 0; k < CAPTURE_CALLS; k++) {
            try_call(&capture_calls[k], specs[i / 2 / PLACES], (int)(i / 2 % PLACES), (int)(i % 2));
        }
    }
}
