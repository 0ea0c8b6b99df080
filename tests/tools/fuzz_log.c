/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: the reader of memory logs, shpool-bench memory --replay.
 *
 * The input is the log.  It is replayed over a device of 64 MiB that is not there; all memory,
 * streams and events go back. */
#include "tests/fuzz.h"

#include "tests/device/fake/driver.h"
#include "tools/bench/memory/memory.h"

const char fuzz_name[] = "log";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const specs[] = { "bins", "stats|buckets", "guard:poison=0|async" };
    char path[FUZZ_PATH_BYTES];
    memory_options options = { .replay = path, .limit = (size % 2 == 0) ? 32u << 20 : 0 };
    fuzz_silence before = fuzz_silence_begin();
    int fd = fuzz_file(data, size, path);
    fake_held held;
    int failed;

    fake_start(1, 64u << 20);
    failed = memory_replay(&options, specs[size % SHPOOL_ARRAY_COUNT(specs)]);
    held = fake_stop();
    (void)close(fd);
    fuzz_silence_end(before);
    FUZZ_EXPECT(failed == 0);
    FUZZ_EXPECT((held.bytes == 0) && (held.events == 0) && (held.streams == 0));
    FUZZ_EXPECT((held.pools == 0) && (held.host_allocations == 0));
    return 0;
}
