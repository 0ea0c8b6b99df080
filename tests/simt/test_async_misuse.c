/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor's reports about uses of mbarriers and copies that the hardware leaves undefined. */
#include "trial.h"

#define BYTES 256u
#define WORDS (BYTES / 4u)

/* Global memory of the kernels. */
static uint32_t from[2][WORDS] __attribute__((aligned(16)));
static uint32_t to[WORDS] __attribute__((aligned(16)));

static simt_addr mbar(uint32_t i)
{
    return simt_dynamic_base() + 8u * i;
}

static simt_addr buffer(uint32_t i)
{
    return simt_dynamic_base() + 256u + BYTES * i;
}

typedef struct misuse {
    const char   *text;
    shpool_status status;
    void        (*body)(void); /* of thread 0; mbarrier 0 is open, with a count of 1 */
} misuse;

static const misuse *wrong_use;

static void misuse_kernel(void *arg)
{
    if (simt_thread_rank() == 0) {
        simt_mbar_init(mbar(0), 1);
        wrong_use->body();
    }
}

static void without_init(void) { simt_mbar_arrive(mbar(1)); }
static void init_twice(void) { simt_mbar_init(mbar(0), 2); }
static void init_none(void) { simt_mbar_init(mbar(1), 0); }
static void init_skew(void) { simt_mbar_init(mbar(0) + 12u, 1); }
static void init_outside(void) { simt_mbar_init(simt_dynamic_base() + 4096u, 1); }
static void use_after(void)
{
    simt_mbar_inval(mbar(0));
    (void)simt_mbar_test(mbar(0), 0);
}
static void written_over(void)
{
    simt_store32(mbar(0) + 4u, 0);
    simt_mbar_wait(mbar(0), 0);
}
static void too_many(void)
{
    simt_mbar_arrive_expect(mbar(0), BYTES);
    simt_mbar_arrive(mbar(0));
}
static void too_much(void) { simt_mbar_arrive_expect(mbar(0), 1u << 20); }
static void odd_parity(void) { (void)simt_mbar_test(mbar(0), 2); }
static void nobody_arrives(void) { simt_mbar_wait(mbar(0), 0); }
static void too_few_copied(void)
{
    simt_mbar_arrive_expect(mbar(0), BYTES);
    simt_copy_async(buffer(0), from[0], BYTES - 16u, mbar(0));
    simt_mbar_wait(mbar(0), 0);
}
static void too_few_expected(void)
{
    simt_copy_async(buffer(0), from[0], BYTES, mbar(0));
    simt_copy_async(buffer(1), from[0], BYTES, mbar(0));
    simt_mbar_arrive(mbar(0));
}
static void to_no_mbar(void) { simt_copy_async(buffer(0), from[0], BYTES, mbar(1)); }
static void skew_shared(void) { simt_copy_async(buffer(0) + 8u, from[0], BYTES, mbar(0)); }
static void skew_global(void) { simt_copy_async(buffer(0), &from[0][2], BYTES, mbar(0)); }
static void skew_bytes(void) { simt_copy_async(buffer(0), from[0], BYTES + 4u, mbar(0)); }
static void beyond(void) { simt_copy_async_out(to, simt_dynamic_base() + 4096u - 16u, 32); }
static void overlap(void)
{
    simt_mbar_arrive_expect(mbar(0), 2u * BYTES);
    simt_copy_async(buffer(0), from[0], BYTES, mbar(0));
    simt_copy_async(buffer(0) + BYTES - 16u, from[1], BYTES, mbar(0));
}
static void no_fence_out(void)
{
    simt_store32(buffer(0) + 32u, 1);
    simt_fence_async();
    simt_store32(buffer(0) + 64u, 1);
    simt_copy_async_out(to, buffer(0), BYTES);
}
static void no_fence_in(void)
{
    simt_store32(buffer(0) + 32u, 1);
    simt_mbar_arrive_expect(mbar(0), BYTES);
    simt_copy_async(buffer(0), from[0], BYTES, mbar(0));
}
static void no_group(void) { simt_copy_async_out(to, buffer(0), BYTES); }
static void no_small_wait(void)
{
    simt_copy16_async(buffer(0), from[0]);
    simt_copy16_commit();
    simt_copy16_async(buffer(1), from[0]);
    simt_copy16_commit();
    simt_copy16_wait(1);
}
static void inval_too_early(void)
{
    simt_mbar_arrive_expect(mbar(0), BYTES);
    simt_copy_async(buffer(0), from[0], BYTES, mbar(0));
    simt_mbar_inval(mbar(0));
}

UNIT_TEST_WITH(test_what_hardware_leaves_undefined_is_reported, setup, NULL)
{
    static const misuse all[] = {
        { "no mbarrier was initialised at 0x408", SHPOOL_ERR_INVALID, without_init },
        { "the mbarrier at 0x400 is in use", SHPOOL_ERR_INVALID, init_twice },
        { "the count is 0, it must be from 1 to 1048575", SHPOOL_ERR_INVALID, init_none },
        { "fault: mbarrier of 8 bytes at 0x40c is not aligned", SHPOOL_ERR_INVALID, init_skew },
        { "fault: mbarrier of 8 bytes at 0x1400 outside", SHPOOL_ERR_INVALID, init_outside },
        { "no mbarrier was initialised at 0x400", SHPOOL_ERR_INVALID, use_after },
        { "the mbarrier at 0x400 was written over", SHPOOL_ERR_INVALID, written_over },
        { "all 1 arrivals of phase 0 of", SHPOOL_ERR_INVALID, too_many },
        { "1048576 bytes; a phase has at most 1048575", SHPOOL_ERR_INVALID, too_much },
        { "parity 2 of the mbarrier at 0x400", SHPOOL_ERR_INVALID, odd_parity },
        { "thread 0: wait on mbarrier 0x400 (phase 0 needs 1 arrivals of 1 and 0 bytes) at",
          SHPOOL_ERR_DEADLOCK, nobody_arrives },
        { "wait on mbarrier 0x400 (phase 0 needs 0 arrivals of 1 and 16 bytes)",
          SHPOOL_ERR_DEADLOCK, too_few_copied },
        { "fewer bytes were expected than are copied", SHPOOL_ERR_INVALID, too_few_expected },
        { "simt_copy_async at", SHPOOL_ERR_INVALID, to_no_mbar },
        { "fault: async copy of 256 bytes at 0x508 is not aligned", SHPOOL_ERR_INVALID,
          skew_shared },
        { "both must be multiples of 16", SHPOOL_ERR_INVALID, skew_global },
        { "of 260 bytes, global", SHPOOL_ERR_INVALID, skew_bytes },
        { "fault: async copy of 32 bytes at 0x13f0 outside", SHPOOL_ERR_INVALID, beyond },
        { "overlap those of a copy in flight, 256 bytes at 0x500, started at", SHPOOL_ERR_INVALID,
          overlap },
        { "256 bytes at 0x500 were written to after the last simt_fence_async",
          SHPOOL_ERR_INVALID, no_fence_out },
        { "256 bytes at 0x500 were written to after the last simt_fence_async",
          SHPOOL_ERR_INVALID, no_fence_in },
        { "thread 0 exits and has not waited for its copy", SHPOOL_ERR_INVALID, no_group },
        { "thread 0 exits and has not waited for its copy", SHPOOL_ERR_INVALID, no_small_wait },
        { "no thread has waited for copies to the mbarrier at 0x400", SHPOOL_ERR_INVALID,
          inval_too_early },
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        wrong_use = &all[i];
        assert_int_equal(run(2, SIMT_FIBERS, 1, 0, misuse_kernel), all[i].status);
        assert_text(all[i].text);
        assert_int_equal(run(2, SIMT_THREADS, 1, 0, misuse_kernel), all[i].status);
        assert_text(all[i].text);
    }
}
