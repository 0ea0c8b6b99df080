/* SPDX-License-Identifier: BSD-3-Clause */
/* The workload fuzz; part of bench/block/workload.h. */
#ifndef SHPOOL_BENCH_FUZZ_H
#define SHPOOL_BENCH_FUZZ_H

/* Byte i of a fuzz slot's contents.  No two of the 4 slots of 1,024 threads agree in 2 bytes. */
SIMT_FN unsigned char bench_pattern(uint32_t tag, uint32_t i)
{
    return (unsigned char)(((tag * 2654435761u) >> ((i & 1u) ? 16 : 24)) + i * 7u);
}

SIMT_FN void bench_fill(unsigned char *p, uint32_t bytes, uint32_t tag)
{
    uint32_t i;

    for (i = 0; i < bytes; i++) {
        p[i] = bench_pattern(tag, i);
    }
}

SIMT_FN uint32_t bench_wrong(const unsigned char *p, uint32_t bytes, uint32_t tag)
{
    uint32_t i;

    for (i = 0; i < bytes; i++) {
        if (p[i] != bench_pattern(tag, i)) {
            return 1;
        }
    }
    return 0;
}

#define BENCH_FUZZ_SLOTS 4u

SIMT_FN void bench_run_fuzz(shpool_heap heap, const bench_args *args, int verify,
                            bench_tally *tally)
{
    unsigned char *slots[BENCH_FUZZ_SLOTS] = {NULL, NULL, NULL, NULL};
    uint32_t       sizes[BENCH_FUZZ_SLOTS] = {0, 0, 0, 0};
    uint32_t       r = bench_first(args);
    uint32_t       it;

    (void)verify; /* it always does */
    for (it = 0; it < args->iterations + BENCH_FUZZ_SLOTS; it++) {
        uint32_t       s    = (it < args->iterations) ? (r >> 28) % BENCH_FUZZ_SLOTS
                                                      : it - args->iterations;
        uint32_t       what = (it < args->iterations) ? (r >> 24) & 3u : 0u;
        uint32_t       bytes = 1u + ((r >> 10) & 127u);
        unsigned char *p    = slots[s];

        r = bench_next(r);
        if ((p != NULL) && (what == 3u)) { /* realloc: the old contents must be preserved */
            unsigned char *q    = (unsigned char *)shpool_realloc(heap, p, bytes);
            uint32_t       same = (bytes < sizes[s]) ? bytes : sizes[s];

            bench_did(tally, BENCH_OP_REALLOC + bytes);
            tally->ops++;
            if (q == NULL) {
                tally->failures++;
                continue;
            }
            tally->errors += bench_wrong(q, same, s + BENCH_FUZZ_SLOTS * simt_thread_rank());
            p = q;
        } else if (p != NULL) {
            tally->errors += bench_wrong(p, sizes[s], s + BENCH_FUZZ_SLOTS * simt_thread_rank());
            shpool_free(heap, p);
            bench_did(tally, BENCH_OP_FREE);
            tally->ops++;
            slots[s] = NULL;
            continue;
        } else if (it < args->iterations) {
            uint32_t alignment = 16u << ((r >> 20) % args->alignments);

            if (what == 2u) {
                p = (unsigned char *)shpool_aligned_malloc(heap, alignment, bytes);
                bench_did(tally, BENCH_OP_ALIGNED + alignment + bytes);
            } else {
                alignment = 16;
                p = (unsigned char *)shpool_malloc(heap, bytes);
                bench_did(tally, bytes);
            }
            tally->ops++;
            if (p == NULL) {
                tally->failures++;
                continue;
            }
            tally->errors += (((size_t)p & (alignment - 1u)) != 0) ? 1u : 0u;
        } else {
            continue;
        }
        bench_fill(p, bytes, s + BENCH_FUZZ_SLOTS * simt_thread_rank());
        slots[s] = p;
        sizes[s] = bytes;
    }
}

#endif /* SHPOOL_BENCH_FUZZ_H */
