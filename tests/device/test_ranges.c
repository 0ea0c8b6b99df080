/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins` with memory=vmm: granules move to where a request needs them, if they are unused,
 * and no failing call loses one. */
#include "scene.h"

/* ---- whether ---- */

UNIT_TEST(test_a_driver_that_cannot_is_told)
{
    shpool_device_allocator *none = NULL;

    fake_start(1, 64 * MIB);
    fake_set_current(0);
    fake_without_attribute(CU_ATTRIBUTE_VIRTUAL_MEMORY);
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED,
                     shpool_device_allocator_open("bins:memory=vmm", 0, &none));
    assert_null(none);
    assert_detail("memory=vmm is not possible on device 0: the device has no virtual memory "
                  "management; memory=auto or memory=driver works");
    fake_without_attribute(0);
    fake.granularity = 3 * MIB;
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED,
                     shpool_device_allocator_open("bins:memory=vmm", 0, &none));
    assert_detail("a power of two");
    fake_without_granules();
    assert_int_equal(SHPOOL_ERR_UNSUPPORTED,
                     shpool_device_allocator_open("bins:memory=vmm", 0, &none));
    assert_detail("older than CUDA 10.2");
    open_allocator("bins", 0, &allocator); /* auto */
    play("pair:3M@0 memory_alloc=1 set:memory=vmm!NOT_FOUND");
    end();
}

static const scene auto_takes_virtual_memory[] = {
    { "auto", "bins", "pair:3M@0 pair:3000@0 memory_alloc=0 granule_create=3" },
    { "driver", "bins:memory=driver", "pair:3M@0 memory_alloc=1 granule_create=0" },
};
SCENES(auto_takes_virtual_memory)

UNIT_TEST(test_pages_of_other_sizes)
{
    static const size_t sizes[] = { 65536, 2 * MIB, 8 * MIB };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(sizes); i++) {
        fake_start(1, 512 * MIB);
        fake_set_current(0);
        fake.granularity = sizes[i];
        open_allocator("bins:memory=vmm", 0, &allocator);
        for (size_t bytes = 100; bytes < 60 * MIB; bytes *= 3) {
            play("a=%zu@0 use:a@0 free:a@0", bytes);
        }
        end();
    }
}

static const scene granules_have_the_requested_size[] = {
    { "default", "bins", "a=60M@0 granule_create=30" },
    { "as requested", "bins:granule=8M", "a=60M@0 granule_create=8" },
    { "rounded down", "bins:granule=7M", "a=60M@0 granule_create=15" },
    { "shared memory", "bins:granule=8M,share=1", "a=3M@0 granule_create=1" },
};
SCENES(granules_have_the_requested_size)

/* Ten blocks of 20 MiB, of which every second is freed, and what frees the others. */
#define HOLES "a0-9=20M@1 use:a0-9@1 free:a0-8/2@1 "
#define REST  "free:a1-9/2@1 "

/* ---- granules of twice the size ---- */

static const scene granules_double[] = {
    { "not by default in small programs", "bins", "a=96M@0 b=24M@0 granule_create=60" },
    { "from 64 on", "bins", "a=100M@0 b=28M@0 c=4M@0 granule_create=65 check" },
    { "not for many blocks", "bins", "a0-59=2M@0 b0-9=2M@0 granule_create=70" },
    { "with one half more while pieces are free", "bins", "a=104M@1 b0-7=2M@1 free:b0-6/3@1 "
      "trim:all c=10M@1 d=4M@1 driver_bytes=136M" },
    { "not for more pieces than may be idle", "bins", "a=100M@1 b0-9=2M@1 free:b0-8/2@1 "
      "trim:all c=10M@1 d=4M@1 driver_bytes=134M" },
    { "not for one that fails", "bins", "limit:900M s=2M@0 a=960M@0!NO_MEMORY trim:0 b=2M@0 "
      "c=2M@0 driver_bytes=6M" },
    { "a half that is free", "bins:granules=3", "a=4M@0 b=2M@0 granule_create=3 c=2M@0 "
      "granule_create=4 driver_bytes=8M use:a@0 use:b@0 use:c@0 check free:a@0 free:b@0 free:c@0 "
      "c=8M@0 use:c@0 granule_create=4 check" },
    { "halves of both heaps", "bins:granules=4", "s=1K@0 a=6M@0 b=9M@0 use:a@0 use:b@0 use:s@0 "
      "check driver_bytes<=24M" },
    { "not while a place is in use", "bins:granules=107,wait=0", HOLES "b=100M@1 use:b@1 free:b@1 "
      "a0-8/2=20M@1 c=16M@1 d=4M@1 use:a0-8/2@1 use:c@1 use:d@1 check" },
    { "with moves", "bins:granules=30,wait=0", "a0-8=6M@1 use:a0-8@1 free:a0-8/2@1 b=20M@1 use:b@1 "
      "check done free:b@1 c=26M@1 use:c@1 check free:c@1 d=100M@1 use:d@1 check" },
    { "within the limit", "bins:granules=3,hard=8M", "a=4M@0 b=2M@0 c=2M@0 d=2M@0!NO_MEMORY "
      "use:a@0 use:b@0 check" },
    { "not where the rest of the limit is too small", "bins:hard=130M", "a=64M@0 b=64M@0 c=2M@0 "
      "driver_bytes=130M" },
    { "nor where the device's is", "bins", "limit:130M a=64M@0 b=64M@0 c=2M@0 driver_bytes=130M" },
    { "not where halves use the limit up", "bins:granules=33,hard=74M", "a=64M@0 b=2M@0 c=2M@0 "
      "d=2M@0 e=4M@0 driver_bytes=74M" },
    { "not for blocks that are smaller afterwards", "bins:hard=912M", "a0-59=15M@0 free:a0-58/2@0 "
      "done b=32M@0 free:b@0 b=96M@0" },
};
SCENES(granules_double)

/* A granule is at most a 1,024th of the device. */
static const scene granules_double_again[] = {
    { "twice for large blocks", "bins", "a0-9=64M@0 granule_create=120" },
    { "once below a limit", "bins:hard=4G", "a0-9=64M@0 granule_create=176" },
    { "with several ranges of small blocks", "bins", "a0-399=512K@0 b=512M@0 granule_create<=140" },
    { "at once for a large request", "bins", "a=960M@0 granule_create=60 check" },
    { "all in pairs", "bins:granules=4", "a0-1=4M@0 granule_create=3 driver_bytes=8M check "
      "use:a0-1@0 d=40M@0 driver_bytes=48M granule_create=6 use:d@0 use:a0-1@0 check "
      "free:a0-1@0 free:d@0 trim:0 driver_bytes=0 granule_release=6 "
      "forget e=2M@0 granule_create=1 driver_bytes=2M" },
    { "halves get memory", "bins:granules=3", "a=4M@0 b=2M@0 c=12M@0 granule_create=6 check" },
    { "an odd spare one", "bins:granules=101,wait=0", HOLES "done b=100M@1 use:b@1 free:b@1 done "
      "trim:114M a0-8/2=20M@1 x=4M@1 driver_bytes=214M y=4M@1 driver_bytes=212M use:y@1 check" },
    { "again for smaller ones in a row", "bins", "a0-44=14M@0 granule_create<=150" },
    { "once for those above free pieces", "bins", "a0-9=3M@0 free:a1-3/2@0 b0-44=14M@0 "
      "granule_create>=190" },
    { "once where most are small", "bins", "a0-1399=512K@0 b=32M@0 "
      "granule_create>=150" },
};
SCENES_ON_LARGE(granules_double_again)

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 2;
}

/* Random sizes up to 400 MiB on a device of 4 GiB: a request that is refused would have filled it.
 * With granules of 16 MiB, the pieces between the blocks kept 4 % of the device. */
UNIT_TEST(test_random_sizes_fill_the_device)
{
    void *ptr[40] = { NULL };
    size_t bytes[40];
    size_t live = 0;
    size_t refused = SIZE_MAX;
    uint32_t seed = 99;

    begin_on(4096 * MIB, "bins:memory=vmm");
    for (unsigned i = 0; i < 6000u; i++) {
        unsigned k = next_random(&seed) % 40u;

        if (ptr[k] != NULL) {
            assert_ok(shpool_device_free(allocator, ptr[k], stream_of('1')));
            ptr[k] = NULL;
            live -= bytes[k];
            continue;
        }
        bytes[k] = 1 + next_random(&seed) % (400 * MIB);
        if (shpool_device_malloc(allocator, bytes[k], stream_of('1'), &ptr[k]) != SHPOOL_OK) {
            refused = (live + bytes[k] < refused) ? live + bytes[k] : refused;
            continue;
        }
        live += bytes[k];
    }
    for (unsigned k = 0; k < 40u; k++) {
        assert_ok(shpool_device_free(allocator, ptr[k], stream_of('1')));
    }
    fake_finish_all();
    end();
    if (refused / (4096 * MIB / 1000) < 980) {
        fail_msg("%zu of %zu bytes were refused", refused, 4096 * MIB);
    }
}

/* ---- granules that move ---- */

static const scene granules_move[] = {
    { "neighbours of all sizes merge", "bins:memory=vmm,granules=0",
      "a0=1M@0 a1=2M@0 a2=3M@0 a3=4M@0 a4=5M@0 a5=6M@0 a6=7M@0 a7=8M@0 a8=9M@0 a9=10M@0 "
      "b0=11M@0 b1=12M@0 b2=13M@0 b3=14M@0 b4=15M@0 b5=16M@0 b6=17M@0 b7=18M@0 b8=19M@0 "
      "b9=20M@0 free:a0-9@0 free:b0-9@0 forget pair:210M@0 calls=0 driver_bytes=210M" },
    /* no more granules than the peak of live bytes needs, hardly */
    { "idle memory moves without a wait", "bins:memory=vmm",
      HOLES "done forget b=100M@1 use:b@1 granule_create=4 granule_unmap=0 granule_release=0 "
      "memory_free=0 stream_sync=0 event_sync=0 driver_bytes=216M free:b@1 " REST },
    /* The stream that uses memory may have it elsewhere at once, another one may not;
     * unmapping it would be a violation. */
    { "memory in use moves for its stream", "bins:memory=vmm,wait=0,reuse=done",
      HOLES "forget b=100M@1 use:b@1 granule_unmap=0 memory_free=0 driver_bytes=216M check "
      "free:b@1 " REST },
    { "and for no other", "bins:memory=vmm,wait=0,reuse=done",
      HOLES "forget b=100M@2 use:b@2 granule_unmap=0 memory_free=0 driver_bytes=300M check "
      "free:b@2 " REST },
    { "the host does not wait during a capture", "bins:memory=vmm",
      "lag:1000 " HOLES "pool:1 b=100M@1 use:b@1 granule_unmap=0 unpool:1 release:1 free:b@1 "
      REST },
    /* trim:all merges, and gives nothing back; the host never waits */
    { "a block grows apart from memory that another stream uses", "bins:memory=vmm",
      "a=20M@1 use:a@1 free:a@1 trim:all b=30M@2 use:b@2 stream_wait=0 driver_bytes=50M "
      "c=20M@1 c==a free:c@1 free:b@2" },
    { "small and large memory change places", "bins:memory=vmm,hard=32M",
      "3*{ a0-63=512K@0 free:a0-63@0 pair:32M@0 } granule_create=16 granule_release=0" },
    /* new granules cost no more than moves: the freed block, and more memory at its end */
    { "little idle memory stays", "bins:memory=vmm",
      "a=400M@0 b=10M@0 free:b@0 b=15M@0 granule_unmap=0 driver_bytes=416M free:b@0 "
      "free:a@0" },
    { "trim waits for memory in use", "bins:memory=vmm",
      "a=20M@1 use:a@1 free:a@1 trim:0 memory_free=1 driver_bytes=0 held=0" },
    /* Pieces of granules next to live blocks cannot be returned; the host waits for the one
     * granule that lies in it. */
    { "trim does not wait in vain", "bins:memory=vmm",
      "a0-3=3M@1 free:a1@1 use:a0@1 trim:0 memory_free=1 use:a0@1 trim:0 memory_free=1 "
      "driver_bytes=10M free:a0@1 free:a2-3@1" },
    /* whatever moves outside, also while it is captured */
    { "a graph's memory does not move", "bins:memory=vmm",
      HOLES "done pool:1 capture:2 m=30M@2 use:m@2 free:m@2 b=100M@1 use:b@1 captured:2 "
      "unpool:1 free:b@1 " REST "done b=900M@1 launch:2 free:b@1 done trim:0 launch:2 done "
      "release:1 driver_bytes=0" },
    { "peers reach memory that is mapped, and that will be", "bins:memory=vmm",
      "a=3M@0 access:a=1 set:peer=1 set:peer=1 set:peer=0 b=5M@0 access:a=3 access:b=3 "
      "free:a@0 free:b@0" },
    { "all peers", "bins:memory=vmm,peer=all", "a=100@0 access:a=3 free:a@0" },
};
SCENES(granules_move)

/* More addresses are reserved when live blocks fill the reserved ones. */
UNIT_TEST(test_addresses_never_run_out)
{
    begin_on(64 * MIB, "bins:memory=vmm");
    play("a0-15=4M@0 free:a0-14/2@0 b=32M@0 use:b@0 ranges=2 driver_bytes=64M free:b@0 "
         "free:a1-15/2@0");
    end();
}

/* A device need not have a whole number of large pages; the range has. */
UNIT_TEST(test_ranges_end_with_a_page)
{
    begin_on(1088 * MIB, "bins:memory=vmm,granule=128M");
    play("a0-6=128M@0 free:a0@0 done b=192M@0 use:b@0 check free:b@0 free:a1-6@0 done trim:0");
    end();
}

UNIT_TEST(test_a_device_that_is_no_peer_is_refused)
{
    begin("bins:memory=vmm");
    play("pair:3M@0 set:peer=7!NOT_FOUND set:peer=x!SPEC");
    fake.hermit = 1;
    play("set:peer=1!UNSUPPORTED 'device 1 cannot reach memory of device 0' set:peer=all");
    fake.hermit = -1;
    for (unsigned long n = 1;; n++) {
        fake_fail(n, CU_ERROR_INVALID_VALUE);
        if (shpool_device_set(allocator, "peer", "1") == SHPOOL_OK) {
            break;
        }
        play("pair:3M@0");
    }
    fake_fail(0, CU_SUCCESS);
    end();
}

/* A process may have little address space: then a range is no larger than necessary. */
UNIT_TEST(test_few_addresses_serve_too)
{
    begin("bins:memory=vmm");
    fake.most_addresses = 100 * MIB;
    play("a=20M@0 use:a@0 ranges=1 free:a@0");
    end();
}

/* A granule that failing calls left mapped goes back, too. */
UNIT_TEST(test_trim_gives_back_what_was_left)
{
    int failed = 1;

    for (unsigned long n = 1; failed; n++) {
        void *ptr = NULL;

        begin("bins:memory=vmm");
        fake_fail_from(n, CU_ERROR_INVALID_VALUE);
        (void)shpool_device_malloc(allocator, 3 * MIB, NULL, &ptr);
        failed = fake_failed();
        fake_fail_from(0, CU_SUCCESS);
        assert_ok(shpool_device_check(allocator));
        put(allocator, ptr, NULL);
        assert_ok(shpool_device_trim(allocator, 0));
        assert_int_equal(0, fake_holds().bytes);
        end();
    }
}
