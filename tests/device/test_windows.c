/* SPDX-License-Identifier: BSD-3-Clause */
/* The base `bins` with memory=vmm: granules that stay mapped where they were, and windows, large
 * blocks that borrow them: no call of the driver the second time, and all is as before
 * afterwards. */
#include "scene.h"

#include "device/bins/bins.h"
#include "device/stack.h"

/* Ten blocks of 20 MiB, of which every second is freed: 100 MiB are idle, in five pieces.  GATHER
 * has them again where they were, FINISH frees the others. */
#define SCATTER "a0-9=20M@1 use:a0-9@1 free:a0-8/2@1 "
#define GATHER                                                                                     \
    "b0-8/2=20M@1 use:b0-8/2@1 b0==a0 b2==a2 b4==a4 b6==a6 b8==a8 free:b0-8/2@1 "
#define FINISH "free:a1-9/2@1 trim:0 driver_bytes=0 held=0"

/* A large block that lives for a while. */
#define LARGE(_name, _bytes) #_name "=" #_bytes "@1 use:" #_name "@1 free:" #_name "@1 "
#define SAME(_name, _first, _bytes) LARGE(_name, _bytes) #_name "==" #_first " "

/* wait=0: the GPU never reaches the work, and neither moves nor calls depend on it. */
static const scene windows_are_kept[] = {
    { "the second time calls nothing", "bins:memory=vmm,wait=0",
      SCATTER LARGE(w, 80M) GATHER "forget 3*{ " SAME(x, w, 80M) GATHER "check } calls=0 "
      "driver_bytes_peak>=200M driver_bytes_peak<=216M " FINISH },
    { "two sizes in turns keep a window each", "bins:memory=vmm,wait=0",
      SCATTER LARGE(w, 80M) GATHER LARGE(v, 62M) GATHER "forget 3*{ " SAME(x, w, 80M) GATHER
      SAME(y, v, 62M) GATHER "} calls=0 " FINISH },
    /* what it has not finished with moves for this stream only, whatever its address is */
    { "other streams do not get memory in use", "bins:memory=vmm,wait=0,reuse=done",
      SCATTER LARGE(w, 80M) "x=80M@2 use:x@2 driver_bytes>=280M check free:x@2 done x=80M@2 "
      "use:x@2 free:x@2 " FINISH },
    /* A part of a block that grew out of memory in use is in use, too, when the rest is free:
     * 12 MiB are moved together for b.  c comes after a wait, which the driver can do. */
    { "the rest of a grown block is in use", "bins:memory=vmm,wait=0,reuse=done,hard=32M",
      "a0-7=4M@1 use:a0-7@1 free:a0-6/2@1 b=11M@1 use:b@1 c=1M@2 use:c@2 free:c@2 free:b@1 "
      "free:a1-7/2@1" },
    { "a window of idle granules alone is found again", "bins:memory=vmm,wait=0,hard=200M",
      SCATTER "forget " LARGE(w, 80M) "granule_create=0 " GATHER "driver_bytes=200M forget "
      SAME(x, w, 80M) GATHER "calls=0 " FINISH },
    /* peers that come later reach all places, and so do those of later windows */
    { "peers reach windows", "bins:memory=vmm,wait=0",
      SCATTER LARGE(w, 80M) GATHER "set:peer=1 x=80M@1 x==w access:x=3 free:x@1 " FINISH },
    /* granules that are mapped at several places go back only if no place is in use */
    { "trim waits for all places", "bins:memory=vmm,wait=0",
      SCATTER LARGE(w, 80M) GATHER "forget trim:0 memory_free=1 driver_bytes=100M forget "
      "trim:0 memory_free=0 " FINISH },
    /* new granules are allowed for 32; at last the blocks are whole again */
    { "small requests use large free blocks", "bins:memory=vmm,wait=0",
      SCATTER "s0-31=512K@1 use:s0-31@1 forget s32-43=512K@1 use:s32-43@1 granule_create=0 "
      "granule_map=0 check free:s0-43@1 a0-8/2=20M@1 use:a0-8/2@1 granule_create=0 "
      "granule_map=0 free:a0-8/2@1 " FINISH },
    /* Small blocks that were freed long ago, and wait in their lane, give their memory to large
     * ones; those that were freed a moment ago stay.  t is there for the tiny requests, which
     * flush nothing. */
    { "small blocks that were just freed stay", "bins:memory=vmm,wait=0",
      "t=256@1 s0-127=512K@1 use:s0-127@1 free:t@1 free:s0-127@1 l0-5=8M@1 use:l0-5@1 "
      "driver_bytes>=112M driver_bytes<=116M free:l0-5@1" },
    { "old small blocks serve large ones", "bins:memory=vmm,wait=0",
      "t=256@1 s0-127=512K@1 use:s0-127@1 free:t@1 free:s0-127@1 1024*{ pair:256@1 } "
      "l0-5=8M@1 use:l0-5@1 driver_bytes>=64M driver_bytes<=84M free:l0-5@1" },
    /* A few old ones stay in their lane, because a program that repeats its requests wants
     * them again.  t is used without an end: nothing is for the other stream.  l0 to l3 are
     * idle, but in use: granules run short.  s2 is not the lowest one. */
    { "a few old small blocks stay", "bins:memory=vmm,wait=0,reuse=done",
      "t=256@1 s0-2=512K@1 use:t@1 free:s0-2@1 free:t@1 1024*{ pair:256@1 } l0-23=8M@2 "
      "use:l0-23@2 free:l0-3@2 l0-3=8M@1 driver_bytes>=224M driver_bytes<=230M s3=512K@1 "
      "s3==s2 free:s3@1 free:l0-3@1 free:l4-23@2" },
};
SCENES(windows_are_kept)

/* Whichever call of the driver is refused while a window is made, the request is served, the next
 * one, too, and no granule is lost.  Some are at places of the window already. */
UNIT_TEST(test_a_refusal_loses_no_window)
{
    int failed = 1;

    for (unsigned long nth = 1; failed; nth++) {
        begin("bins:memory=vmm,wait=0");
        play(SCATTER LARGE(w, 70M) GATHER);
        fake_fail(nth, CU_ERROR_OUT_OF_MEMORY);
        play(LARGE(w, 80M));
        failed = fake_failed();
        fake_fail(0, CU_SUCCESS);
        play("check " LARGE(w, 80M) "check driver_bytes_peak>=200M driver_bytes_peak<=216M");
        play(FINISH);
        end();
    }
}

/* The check counts guests by class: two wrong counts whose sum is right are found. */
UNIT_TEST(test_guests_are_counted_by_class)
{
    bins_self *bins;
    unsigned *count;

    begin("bins:memory=vmm,wait=0");
    play(SCATTER "s0-43=512K@1");
    bins = allocator->self;
    count = &bins->guests[bins_guest_class(bins_class(MIB / 2))];
    assert_true(*count > 0);
    play("check");
    --*count;
    bins->guests[0]++;
    play("check!CORRUPT 'guests of the large heap are not counted'");
    ++*count;
    bins->guests[0]--;
    play("free:s0-43@1 " FINISH);
    end();
}

static int flush_old(bins_self *bins)
{
    shpool_timeline *t;
    int moved;

    assert_ok(shpool_timeline_lock(&bins->lanes, stream_of('1'), &t));
    shpool_spin_unlock(&t->lock);
    shpool_mutex_lock(&bins->lock);
    moved = bins_flush_old(bins, (bins_lane *)t);
    shpool_mutex_unlock(&bins->lock);
    return moved;
}

/* Old guests stay, too: they could be merged with a block in which a place was just found.  A large
 * request moves them before it looks for one, so only other threads' frees can be there then. */
UNIT_TEST(test_old_guests_stay)
{
    const unsigned smalls = 60;
    int is_guest[60];
    unsigned guests = 0;
    bins_self *bins;

    begin("bins:memory=vmm,wait=0");
    bins = allocator->self;
    play(SCATTER "t=256@1 s0-59=512K@1 use:s0-59@1 free:t@1");
    for (unsigned i = 0; i < smalls; i++) {
        char name[8];

        snprintf(name, sizeof(name), "s%u", i);
        is_guest[i] = bins_is_guest(bins_find(bins, block(name)));
        if (is_guest[i]) {
            play("free:s%u@1", i);
            guests++;
        }
    }
    assert_true(guests * MIB / 2 >= stats_of(allocator).driver_bytes / 32);
    play("1024*{ pair:256@1 }");
    assert_int_equal(0, flush_old(bins));
    assert_int_equal(guests, bins->guests[bins_guest_class(bins_class(MIB / 2))]);
    play(LARGE(w, 80M) GATHER "check");
    for (unsigned i = 0; i < smalls; i++) {
        if (!is_guest[i]) {
            play("free:s%u@1", i);
        }
    }
    play(FINISH);
    end();
}
