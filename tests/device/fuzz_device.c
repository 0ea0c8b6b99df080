/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: specs of device allocators, over a fake driver that may fail.
 *
 * The first line of the input is the spec; a log that it names is not written.  The others are
 * words between blanks, one character and up to three numbers between commas; words without meaning
 * are ignored.  Slots are 0..7, streams 0..3: the legacy one, the thread's own, two others.
 *
 *   m0,40,2  malloc 40 bytes into slot 0 on stream 2; the slot is freed first
 *   f0,1     free slot 0 on stream 1, which waits for the stream of the malloc
 *   d0       free slot 0 twice          r0,3    name stream 3 to record_stream
 *   t40      trim to 40 bytes           w       everything that was submitted finishes
 *   s3       stream 3 is retired        b2      stream 2 is stable
 *   F7,2     the 7th call of the driver from now on fails, and then the 2nd
 *   sKEY=V   shpool_device_set
 */
#include "tests/fuzz.h"

#include "device/base/device.h"
#include "tests/device/fake/driver.h"

#include <shpool/device.h>

const char fuzz_name[] = "device";

#define SLOTS   8u
#define STREAMS 4u
#define TRIES   3u      /* a word lets two calls fail */
#define MOST    (1u << 24) /* bytes of a malloc */

typedef struct slot {
    void *ptr;
    size_t bytes;
    shpool_stream stream;
} slot;

static struct {
    shpool_device_allocator *allocator;
    shpool_stream stream[STREAMS];
    slot slot[SLOTS];
} t;

static void check_status(shpool_status status)
{
    if (status != SHPOOL_OK) {
        fuzz_check_failure(status, "");
    }
}

static void drop(slot *s, shpool_stream stream)
{
    shpool_status status = SHPOOL_ERR_CUDA;

    for (unsigned i = 0; (s->ptr != NULL) && (status == SHPOOL_ERR_CUDA); i++) {
        FUZZ_EXPECT(i < 2 * TRIES);
        fuzz_expect_failure();
        status = shpool_device_free(t.allocator, s->ptr, stream);
        check_status(status);
    }
    s->ptr = NULL;
}

/* The host waits for the device, by a call that does not fail. */
static void wait_for_all(void)
{
    unsigned long fail_in = fake.fail_in;
    const shpool_device *device;

    fake.fail_in = 0;
    FUZZ_EXPECT((shpool_device_get(0, &device) == SHPOOL_OK) &&
                (shpool_device_wait(device) == CU_SUCCESS));
    fake.fail_in = fail_in;
}

static void do_malloc(slot *s, size_t bytes, shpool_stream stream)
{
    shpool_status status;

    drop(s, s->stream);
    fuzz_expect_failure();
    status = shpool_device_malloc(t.allocator, bytes % MOST, stream, &s->ptr);
    check_status(status);
    FUZZ_EXPECT((s->ptr == NULL) == ((status != SHPOOL_OK) || (bytes % MOST == 0)));
    FUZZ_EXPECT((uintptr_t)s->ptr % SHPOOL_DEVICE_ALIGNMENT == 0);
    s->bytes = bytes % MOST;
    s->stream = stream;
    if (s->ptr != NULL) {
        fake_work(stream, s->ptr, s->bytes);
    }
}

static void do_double(slot *s)
{
    void *ptr = s->ptr;

    drop(s, s->stream);
    if (ptr != NULL) {
        fuzz_expect_failure();
        FUZZ_EXPECT(shpool_device_free(t.allocator, ptr, s->stream) != SHPOOL_OK);
        fuzz_check_failure(SHPOOL_ERR_DOUBLE_FREE, "");
    }
}

static void do_set(char *word)
{
    char *value = strchr(word, '=');

    if ((value != NULL) && (strncmp(word, "file", 4) != 0)) {
        *value = '\0';
        fuzz_expect_failure();
        check_status(shpool_device_set(t.allocator, word, value + 1));
    }
}

static void do_word(char *word)
{
    const char what = word[0];
    char *at = word;
    size_t arg[3] = { 0 };
    slot *s;

    for (unsigned i = 0; (i < 3) && (*at != '\0'); i++) {
        for (at++; (*at >= '0') && (*at <= '9'); at++) {
            arg[i] = arg[i] * 10u + (size_t)(*at - '0');
        }
    }
    s = &t.slot[arg[0] % SLOTS];
    switch (what) {
    case 'm': do_malloc(s, arg[1], t.stream[arg[2] % STREAMS]); break;
    case 'f':
        wait_for_all();
        drop(s, t.stream[arg[1] % STREAMS]);
        break;
    case 'd': do_double(s); break;
    case 'r':
        fuzz_expect_failure();
        check_status(shpool_device_record_stream(t.allocator, s->ptr, t.stream[arg[1] % STREAMS]));
        break;
    case 't': (void)shpool_device_trim(t.allocator, arg[0]); break;
    case 'w': fake_finish_all(); break;
    case 'b': (void)shpool_device_stream_stable(t.allocator, t.stream[arg[0] % STREAMS]); break;
    case 'F':
        fake_fail(arg[0] % 64u, CU_ERROR_INVALID_VALUE);
        fake.fail_again = arg[1] % 64u;
        break;
    case 's':
        if ((word[1] >= '0') && (word[1] <= '9')) {
            (void)shpool_device_stream_retire(t.allocator, t.stream[arg[0] % STREAMS]);
        } else {
            do_set(word + 1);
        }
        break;
    default: break;
    }
}

static void run(char *words)
{
    shpool_device_stats stats;
    char *rest;

    t.stream[0] = SHPOOL_STREAM_LEGACY;
    t.stream[1] = SHPOOL_STREAM_PER_THREAD;
    t.stream[2] = fake_stream(0, CU_STREAM_NON_BLOCKING);
    t.stream[3] = fake_stream(0, CU_STREAM_DEFAULT);
    for (char *word = strtok_r(words, " \n", &rest); word != NULL;
         word = strtok_r(NULL, " \n", &rest)) {
        do_word(word);
    }
    fake_fail(0, CU_SUCCESS);
    for (unsigned i = 0; i < SLOTS; i++) {
        drop(&t.slot[i], t.slot[i].stream);
    }
    FUZZ_EXPECT(shpool_device_check(t.allocator) == SHPOOL_OK);
    FUZZ_EXPECT(shpool_device_get_stats(t.allocator, &stats) == SHPOOL_OK);
    FUZZ_EXPECT(stats.live_bytes == 0);
    shpool_device_allocator_unref(t.allocator);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char *words = text + strcspn(text, "\n");
    fake_held held;
    shpool_status status;

    memset(&t, 0, sizeof(t));
    words += (*words != '\0');
    if (words > text) {
        words[-1] = (words[-1] == '\n') ? '\0' : words[-1];
    }
    if (strstr(text, "file=") == NULL) {
        fake_start(1, 64u << 20);
        fake_set_current(0);
        fuzz_expect_failure();
        status = shpool_device_allocator_open(text, 0, &t.allocator);
        check_status(status);
        FUZZ_EXPECT((status == SHPOOL_OK) == (t.allocator != NULL));
        if (status == SHPOOL_OK) {
            run(words);
        }
        held = fake_stop();
        FUZZ_EXPECT((held.bytes == 0) && (held.events == 0) && (held.pools == 0));
        if (fake_violations() > 0) {
            fuzz_fail("%s: %s", text, fake_first_violation());
        }
    }
    free(text);
    return 0;
}
