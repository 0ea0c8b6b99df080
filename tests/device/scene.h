/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scenes of an allocator over the fake driver, in words between blanks.  A block is a letter, and
 * perhaps a number; a0-8/2 is every second one of a0 to a8.  Bytes may end in K, M or G; 4M-1 is
 * one less.  Streams are one digit: 0: the legacy one, 1 to 5: stable ones, 6 and 7: non-blocking
 * ones that may be destroyed, 8: a blocking one, 9: the thread's own.
 *
 *   a=20M@1            malloc                    a==b  a!=b         the same memory, or not
 *   use:a@1            work on the whole block   free:a@1           also free:a+256@1
 *   name:a@2           record_stream             export:a           and the handle is closed
 *   pair:4K@1          malloc and free           done  done:1       all work is finished, or 1's
 *   trim:4M  trim:all  set:KEY=VALUE  check      reset_peak  retire:6  destroy:6  stable:6
 *   pool:7  unpool:7   a pool for captures begins and ends on this thread;  release:7
 *   capture:6  join:7@6  captured:6  launch:6    7 waits for 6; the latest graph
 *   limit:40M  lag:9  fail:3                     fake_limit(0, ), fake_lag(), fake_fail()
 *   hits_done=1        also <=, >=: a member of shpool_device_stats or fake_held, calls of a driver
 *                      function since `forget`; calls: of all; access:a=3: the devices, as bits
 *   WORD!INVALID 'detail'   the call fails so; the detail may be left out
 *   9*{ ... }          repeated;  v?WORD d?WORD  only with virtual memory, only with the driver's
 */
#ifndef SHPOOL_TESTS_DEVICE_SCENE_H
#define SHPOOL_TESTS_DEVICE_SCENE_H

#include "trial.h"

#include <stdio.h>

#define MIB ((size_t)1 << 20)

typedef struct scene {
    const char *name;
    const char *spec;
    const char *words;
} scene;

extern shpool_device_allocator *allocator;

/* Two devices of 1 GiB, or of `bytes` each, and this allocator on the first of them.  The base bins
 * gets memory_kind as its option; NULL: as it chooses. */
void begin(const char *spec);
void begin_on(size_t bytes, const char *spec);
void open_scene(const char *spec); /* on a driver that was started */
void open_kind(const char *spec, int device, shpool_device_allocator **allocator_p);
extern const char *memory_kind;

/* Nothing is left, no descriptor of this process either, and no work was out of order. */
void end(void);

/* Words of a scene that began; a printf format. */
unsigned count_descriptors(void);
void play(const char *format, ...) SHPOOL_PRINTF(1, 2);
void play_scene(void **state); /* a test: *state is the scene */
void *block(const char *name);
shpool_stream stream_of(char digit);

/* Setups: a test runs with memory from cuMemAlloc, or with memory that is mapped, or with both. */
int driver_memory(void **state);
int large_device(void **state);
int virtual_memory(void **state);

static inline int is_virtual(void)
{
    return (memory_kind != NULL) && (strcmp(memory_kind, "vmm") == 0);
}

#define TEST_ON_DRIVER(_test)                                                                      \
    static void _test(void **state);                                                               \
    UNIT_ADD(_test, _driver, #_test " (driver)", driver_memory, NULL)                              \
    static void _test(void **state)
#define TEST_ON_VIRTUAL(_test)                                                                     \
    static void _test(void **state);                                                               \
    UNIT_ADD(_test, _vmm, #_test " (vmm)", virtual_memory, NULL)                                   \
    static void _test(void **state)
#define TEST_ON_BOTH(_test)                                                                        \
    static void _test(void **state);                                                               \
    UNIT_ADD(_test, _driver, #_test " (driver)", driver_memory, NULL)                              \
    TEST_ON_VIRTUAL(_test)

/* Each scene of a table is a test, which has its name. */
#define SCENES_WITH(_table, _set_up)                                                               \
    __attribute__((constructor)) static void unit_add_##_table##_set_up(void)                      \
    {                                                                                              \
        for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(_table); i++) {                                  \
            unit_add_row(_table[i].name, play_scene, _set_up, &_table[i]);                         \
        }                                                                                          \
    }
#define SCENES(_table) SCENES_WITH(_table, clear_environment)
#define SCENES_ON_LARGE(_table) SCENES_WITH(_table, large_device) /* of 64 GiB, not of 1 */
#define SCENES_ON_BOTH(_table)                                                                     \
    SCENES_WITH(_table, driver_memory)                                                             \
    SCENES_WITH(_table, virtual_memory)

#endif /* SHPOOL_TESTS_DEVICE_SCENE_H */
