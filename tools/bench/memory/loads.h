/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocations of made-up programs whose sizes vary: training loops, and caches of sequences.
 * The same calls each time, no model, no GPU. */
#ifndef SHPOOL_BENCH_LOADS_H
#define SHPOOL_BENCH_LOADS_H

#include <stddef.h>

/* The allocator under test.  0 from `take`: refused; the program then ends. */
typedef struct loads_memory {
    int (*take)(void *user, void **ptr_p, size_t bytes);
    void (*give)(void *user, void *ptr);
    void *user;
} loads_memory;

typedef struct loads_load {
    const char *name;
    const struct loads_program *program;
    int varied;
    unsigned steps; /* enough to show the reserved bytes in the long run */
} loads_load;

#define LOADS_COUNT 7u
extern const loads_load loads[LOADS_COUNT];

/* Run that many steps, and free what is left; 0: all requests were served. */
int loads_run(const loads_load *load, const loads_memory *memory, unsigned steps);

#endif /* SHPOOL_BENCH_LOADS_H */
