/* SPDX-License-Identifier: BSD-3-Clause */
/* Message passing through shared memory, with a bug on request: planted_race BUG [fibers|threads]
 *
 *   none             correct
 *   relaxed_release  the flag is stored relaxed, so that it does not publish the message
 *   plain_load       the flag is read by a plain load
 *   dropped_barrier  the barrier between writing and reading is missing
 *   dropped_phase    the reader does not wait for the phase of the mbarrier
 *
 * Built with -fsanitize=thread (not the executor: it hides its own synchronisation from the
 * sanitizer), each bug must be reported, whatever the schedule does, and "none" must not be.
 * Exit: 0; 1 if the run failed; 2 for bad arguments; the sanitizer's own (66) after a report. */
#include <string.h>

#include <shpool/executor.h>

typedef enum bug { NONE, RELAXED_RELEASE, PLAIN_LOAD, DROPPED_BARRIER, DROPPED_PHASE } bug;

#define ROUNDS 3u

static void pass_message(bug planted, simt_addr flag, simt_addr message, uint32_t round)
{
    if (simt_thread_rank() == 0) {
        simt_store32(message, round);
        /* release: pairs with the acquire below, publishes the message */
        simt_atomic_store(flag, round, (planted == RELAXED_RELEASE) ? SIMT_RELAXED : SIMT_RELEASE);
    } else if (simt_thread_rank() == 1) {
        uint32_t seen = (planted == PLAIN_LOAD) ? simt_load32(flag)
                                                : simt_atomic_load(flag, SIMT_ACQUIRE);

        while (seen != round) {
            simt_wait(flag, seen);
            seen = (planted == PLAIN_LOAD) ? simt_load32(flag)
                                           : simt_atomic_load(flag, SIMT_ACQUIRE);
        }
        simt_store32(message + 4, simt_load32(message));
    }
}

/* The same through a phase of an mbarrier. */
static void pass_by_phase(bug planted, simt_addr mbar, simt_addr message, uint32_t round)
{
    if (simt_thread_rank() == 2) {
        simt_store32(message, round);
        simt_mbar_arrive(mbar);
    } else if (simt_thread_rank() == 3) {
        if (planted != DROPPED_PHASE) {
            simt_mbar_wait(mbar, (round & 1u) ^ 1u);
        }
        simt_store32(message + 4, simt_load32(message));
    }
}

static void kernel(void *arg)
{
    bug       planted = *(const bug *)arg;
    uint32_t  lane    = simt_lane();
    uint32_t  next    = (lane + 1u) % simt_block_threads();
    uint32_t  all     = 0xffffffffu >> (SIMT_WARP - simt_block_threads());
    simt_addr flag    = simt_dynamic_base();
    simt_addr cells   = flag + 64;

    if (simt_thread_rank() == 0) {
        simt_atomic_store(flag, 0, SIMT_RELAXED);
        simt_mbar_init(flag + 8, 1);
    }
    simt_barrier();
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        pass_message(planted, flag, flag + 16, round);
        pass_by_phase(planted, flag + 8, flag + 32, round);
        simt_barrier();
        simt_store32(cells + 4u * lane, round);
        if (planted == DROPPED_BARRIER) {
            simt_ballot(all, 1); /* meets the others too, but orders no memory */
        } else {
            simt_barrier();
        }
        simt_store32(flag + 1024 + 4u * lane, simt_load32(cells + 4u * next));
        simt_warp_sync(all);
        simt_store32(cells + 4u * next, round);
        simt_barrier();
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "none", "relaxed_release", "plain_load",
                                         "dropped_barrier", "dropped_phase" };
    int found = -1;

    for (int i = 0; i < 5; i++) {
        if ((argc > 1) && (strcmp(argv[1], names[i]) == 0)) {
            found = i;
        }
    }
    if (found < 0) {
        return 2;
    }
    for (unsigned long long seed = 0; seed < 8; seed++) {
        bug         planted = (bug)found;
        simt_launch launch  = { .block = { 8 }, .dynamic_bytes = 4096, .seed = seed,
                                .switch_period = (uint32_t)(seed % 4) };

        if ((argc > 2) && (strcmp(argv[2], "threads") == 0)) {
            launch.engine = SIMT_THREADS;
        }
        if (simt_run(&launch, kernel, &planted, NULL) != SHPOOL_OK) {
            return 1;
        }
    }
    return 0;
}
