/* SPDX-License-Identifier: BSD-3-Clause */
/* Host memory runs out: device memory without a record is not handed out, and none is lost. */
#include "scene.h"

static int no_records; /* the memory that records of blocks and streams come from is used up */

/* In the place of the C library's, for the library, too: tests are linked with it. */
void *aligned_alloc(size_t alignment, size_t bytes)
{
    void *ptr = NULL;

    if (no_records || (posix_memalign(&ptr, alignment, bytes) != 0)) {
        return NULL;
    }
    return ptr;
}

/* Each round takes one record more for good: one round finds none left, one just one, ... */
#define ROUNDS 600

TEST_ON_BOTH(test_a_capture_is_told)
{
    shpool_stream stream;
    unsigned refused = 0;

    begin("bins");
    stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    put(allocator, get(allocator, 1, stream), stream); /* the stream is known */
    for (unsigned i = 0; i < ROUNDS; i++) {
        void *ptr = &ptr;
        shpool_status status;

        (void)get(allocator, 1, NULL);
        assert_ok(shpool_device_capture_begin(allocator, 1, 2));
        fake_capture_begin(stream);
        no_records = 1;
        status = shpool_device_malloc(allocator, 3 * MIB, stream, &ptr);
        if (status == SHPOOL_OK) {
            fake_work(stream, ptr, 3 * MIB);
            assert_non_null(ptr);
            put(allocator, ptr, stream);
        } else {
            assert_int_equal(SHPOOL_ERR_NO_MEMORY, status);
            assert_detail("host memory");
            assert_null(ptr);
            refused++;
        }
        no_records = 0;
        (void)fake_capture_end(stream);
        assert_ok(shpool_device_capture_end(allocator, 1, 2));
        assert_ok(shpool_device_capture_release(allocator, 1, 2));
        assert_ok(shpool_device_check(allocator));
    }
    assert_true(refused > 0);
    end();
}

/* Memory that another stream uses is waited for on the device, and then cannot be cut. */
TEST_ON_DRIVER(test_a_pending_block_stays_whole)
{
    shpool_stream stream[2];
    unsigned refused = 0;

    begin("bins:soft=0");
    stream[0] = stream_of('1');
    stream[1] = stream_of('2');
    for (unsigned i = 0; i < ROUNDS; i++) {
        void *ptr;
        shpool_status status;

        (void)get(allocator, 1, NULL);
        ptr = get(allocator, 20 * MIB, stream[0]);
        assert_ok(shpool_device_record_stream(allocator, ptr, stream[1]));
        fake_work(stream[1], ptr, 20 * MIB);
        put(allocator, ptr, stream[0]);
        no_records = 1;
        status = shpool_device_malloc(allocator, 3 * MIB, NULL, &ptr);
        no_records = 0;
        if (status == SHPOOL_OK) {
            fake_work(NULL, ptr, 3 * MIB);
            put(allocator, ptr, NULL);
        } else {
            assert_int_equal(SHPOOL_ERR_NO_MEMORY, status);
            refused++;
        }
        assert_ok(shpool_device_check(allocator));
        fake_finish_all();
        assert_ok(shpool_device_trim(allocator, 0));
    }
    assert_true(refused > 0);
    end();
}
