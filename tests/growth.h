/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that grows as its input does.  Two sizes are compared, so that a slow machine does not make
 * a test fail.  Under a sanitizer only the smaller one is worked on, and no time is looked at: its
 * strstr() and sscanf() measure the rest of a text at each call, which is quadratic. */
#ifndef SHPOOL_TESTS_GROWTH_H
#define SHPOOL_TESTS_GROWTH_H

#include "tests/unit.h"

#include <time.h>

#define GROWTH_SIZES 8u  /* quadratic work takes 64 times as long */
#define GROWTH_MOST  24u /* what work may take that is linear, or has a logarithm in it */
#define GROWTH_RUNS  5u

typedef void growth_work(void *of, unsigned count);

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
/* The processor time of work(of, count), if it is less than that of the runs before. */
static inline double growth_least(growth_work *work, void *of, unsigned count, double before)
{
    const clock_t start = clock();
    double ticks;

    work(of, count);
    ticks = (double)(clock() - start) + 1.0;
    return (ticks < before) ? ticks : before;
}
#endif

/* The least of several runs counts: other processes can only make a run longer. */
static inline void assert_linear(growth_work *work, void *of, unsigned count)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    work(of, count / GROWTH_SIZES);
#else
    double few = 1e300, many = 1e300;

    for (unsigned run = 0; run < GROWTH_RUNS; run++) {
        few = growth_least(work, of, count / GROWTH_SIZES, few);
        many = growth_least(work, of, count, many);
        if (many <= GROWTH_MOST * few) {
            return;
        }
    }
    fail_msg("%u take %.3f s, %u take %.3f s", count / GROWTH_SIZES, few / CLOCKS_PER_SEC, count,
             many / CLOCKS_PER_SEC);
#endif
}

#endif /* SHPOOL_TESTS_GROWTH_H */
