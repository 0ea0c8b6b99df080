/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace written by hand, and how tests read one. */
#ifndef SHPOOL_TESTS_TRACE_TEXT_H
#define SHPOOL_TESTS_TRACE_TEXT_H

#include "tests/pools/trace_trial.h"

#include "tools/bench/trace/file.h"

#define HEAD(_threads, _share, _pools, _bytes) HEAD_OF("1", _threads, _share, _pools, _bytes)
#define HEAD_OF(_version, _threads, _share, _pools, _bytes)                                        \
    "shpool-trace " _version "\n# a comment\nallocator bitmap\nblock_threads " _threads            \
    "\nthreads_per_pool " _share "\npools " _pools "\npool_bytes " _bytes                          \
    "\nlargest 900\nalignment 16\ncheck 0\nspill 0\n"

/* Two threads; an allocation that the other one frees; one failure; one that is never freed. */
static const char *const handed_text = HEAD("2", "2", "1", "1024")
    "block 0 launch 1 records 8 dropped 0\n"
    "m 0 0x0 200 208 16 0\n"
    "m 1 0x100 100 112 16 5\n"
    "m 0 - 800 0 16 0\n"
    "r 0 0x0 100 112\n"
    "f 1 0x0 0 0\n"
    "f 1 0x0 3 0\n"
    "m 0 0x200 64 64 64 0\n"
    "f 0 0x100 0 0\n"
    "end 1\n";

/* 72 threads: a warp, a tile, a warp of 8 threads, a thread and the block; each frees the memory of
 * another one; the block's request fails. */
static const char *const groups_text = HEAD_OF("2", "72", "72", "1", "4096")
    "block 0 launch 1 records 12 dropped 0\n"
    "m 5 0x0 64 64 16 0\n"
    "m 0+31 0x40 256 256 16 0\n"
    "m 8+7 0x140 128 128 64 0\n"
    "m 64+7 0x1c0 64 64 16 0\n"
    "w 32+31 - 512 0 16 0\n"
    "m 0+71 - 4000 0 16 0\n"
    "m 32+31 0x200 512 512 16 0\n"
    "m 0+71 0x400 1024 1024 16 0\n"
    "r 64+7 0x140 64 64\n"
    "f 69+7 0x40 0 0\n"
    "f 0+71 0x0 0 0\n"
    "f 5 0x200 0 0\n"
    "end 1\n";

static inline void put_text(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static inline void read_text(const char *path, const char *text, trace_file *trace)
{
    char why[512];

    put_text(path, text, strlen(text));
    if (trace_file_read(path, trace, why, sizeof(why)) != 0) {
        fail_msg("%s", why);
    }
}

#endif /* SHPOOL_TESTS_TRACE_TEXT_H */
