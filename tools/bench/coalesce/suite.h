/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels that the coalescing rewrite is measured with: tools/bench/coalesce/kernels.cu defines
 * them, tools/bench/coalesce/coalesce.cu runs them.  All have the parameters (void *d, const void
 * *s, size_t n): n records (rows, pixels), one for each thread of 256-thread blocks unless the
 * shape says otherwise.
 *
 *   SUITE(name, bytes read per record, bytes written per record, shape, GB/s to reach on an H200)
 */
#ifndef SHPOOL_COALESCE_SUITE_H
#define SHPOOL_COALESCE_SUITE_H

typedef enum suite_shape {
    SUITE_THREADS,    /* one record a thread */
    SUITE_FULL,       /* the same, and n is a multiple of 256: the kernel has no bound */
    SUITE_GRID_STRIDE, /* 8 blocks per multiprocessor */
    SUITE_HALF,       /* every other thread copies its record */
    SUITE_SQUARE      /* n x n words, blocks of 32 x 8 */
} suite_shape;

#define COALESCE_SUITE(SUITE)                                                                      \
    SUITE(copy3, 12, 12, SUITE_THREADS, 4000)                                                      \
    SUITE(copy4, 16, 16, SUITE_THREADS, 0)                                                         \
    SUITE(copy9, 36, 36, SUITE_THREADS, 4000)                                                      \
    SUITE(copy12, 48, 48, SUITE_THREADS, 0)                                                        \
    SUITE(copy32, 128, 128, SUITE_THREADS, 4000)                                                   \
    SUITE(copy3_restrict, 12, 12, SUITE_THREADS, 0)                                                \
    SUITE(copy9_restrict, 36, 36, SUITE_THREADS, 0)                                                \
    SUITE(copy32_restrict, 128, 128, SUITE_THREADS, 0)                                             \
    SUITE(copy6_restrict, 24, 24, SUITE_THREADS, 0)                                                \
    SUITE(mix2, 8, 8, SUITE_THREADS, 0)                                                            \
    SUITE(mix3, 12, 12, SUITE_THREADS, 0)                                                          \
    SUITE(mix4, 16, 16, SUITE_THREADS, 0)                                                          \
    SUITE(mix5, 20, 20, SUITE_THREADS, 0)                                                          \
    SUITE(mix6, 24, 24, SUITE_THREADS, 0)                                                          \
    SUITE(mix7, 28, 28, SUITE_THREADS, 0)                                                          \
    SUITE(mix8, 32, 32, SUITE_THREADS, 0)                                                          \
    SUITE(mix9, 36, 36, SUITE_THREADS, 4100)                                                       \
    SUITE(mix12, 48, 48, SUITE_THREADS, 4100)                                                      \
    SUITE(mix16, 64, 64, SUITE_THREADS, 0)                                                         \
    SUITE(mix18, 72, 72, SUITE_THREADS, 0)                                                         \
    SUITE(mix24, 96, 96, SUITE_THREADS, 0)                                                         \
    SUITE(mix32, 128, 128, SUITE_THREADS, 0)                                                       \
    SUITE(gather3, 12, 4, SUITE_THREADS, 0)                                                        \
    SUITE(gather6, 24, 4, SUITE_THREADS, 0)                                                        \
    SUITE(gather9, 36, 4, SUITE_THREADS, 0)                                                        \
    SUITE(gather12, 48, 4, SUITE_THREADS, 0)                                                       \
    SUITE(gather32, 128, 4, SUITE_THREADS, 0)                                                      \
    SUITE(expand3, 4, 12, SUITE_THREADS, 0)                                                        \
    SUITE(expand4, 4, 16, SUITE_THREADS, 0)                                                        \
    SUITE(expand6, 4, 24, SUITE_THREADS, 0)                                                        \
    SUITE(expand9, 4, 36, SUITE_THREADS, 3900)                                                     \
    SUITE(expand12, 4, 48, SUITE_THREADS, 3900)                                                    \
    SUITE(expand32, 4, 128, SUITE_THREADS, 3700)                                                   \
    SUITE(gcs3, 12, 12, SUITE_FULL, 0)                                                             \
    SUITE(gcs9, 36, 36, SUITE_FULL, 0)                                                             \
    SUITE(pixels, 3, 3, SUITE_THREADS, 3500)                                                       \
    SUITE(pixels_copy, 3, 3, SUITE_THREADS, 0)                                                     \
    SUITE(doubles9, 72, 72, SUITE_THREADS, 0)                                                      \
    SUITE(bodies, 16, 16, SUITE_THREADS, 0)                                                        \
    SUITE(stride9, 36, 36, SUITE_GRID_STRIDE, 0)                                                   \
    SUITE(half9, 36, 36, SUITE_HALF, 0)                                                            \
    SUITE(rows64, 256, 4, SUITE_THREADS, 0)                                                        \
    SUITE(rows256, 1024, 4, SUITE_THREADS, 0)                                                      \
    SUITE(transposed, 4, 4, SUITE_SQUARE, 0)

#endif /* SHPOOL_COALESCE_SUITE_H */
