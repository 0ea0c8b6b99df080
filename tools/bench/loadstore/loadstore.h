/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench loadstore: what its files share. */
#ifndef BENCH_LOADSTORE_H
#define BENCH_LOADSTORE_H

#include <stddef.h>
#include <stdint.h>

#include "tools/bench/facts.h"
#include "tools/bench/list.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The user's options. */
typedef struct bench_ls_options {
    bench_list type_bytes; /* empty: all that were compiled in */
    bench_list threads;
    bench_list values;
    const char *function; /* part of a name, or NULL: all */
    unsigned long long bytes; /* of each of the two arrays */
    uint32_t repeats;     /* launches whose median counts */
    uint32_t waves;       /* grid: multiple of the blocks that the GPU can hold; 0: one a tile */
} bench_ls_options;

/** Shapes compiled in, in all combinations.  Empty: this build has no CUDA. */
typedef struct bench_ls_shapes {
    bench_list type_bytes;
    bench_list threads;
    bench_list values;
} bench_ls_shapes;

/** How a row's result is checked, and which bytes its rate counts. */
typedef enum bench_ls_check {
    BENCH_LS_EQUAL,  /* the output is the input; bytes read and bytes written */
    BENCH_LS_GATHER, /* element e of a tile is the input's bench_ls_permuted(e); as above */
    BENCH_LS_SCATTER, /* the other way round; as above */
    BENCH_LS_PACK,   /* records to blocked layout; as above */
    BENCH_LS_UNPACK, /* and back */
    BENCH_LS_SUM     /* the sum of all words was formed; bytes read */
} bench_ls_check;

/** Where registers lie in the tile: only such functions are compared. */
typedef enum bench_ls_order {
    BENCH_LS_ANY,    /* a copy in any order */
    BENCH_LS_THREAD, /* neighbours in one thread */
    BENCH_LS_OTHER   /* not what CUB's BlockLoad and BlockStore do */
} bench_ls_order;

/** One kernel: (const T *in, T *out, unsigned long long count, uint32_t *sum or NULL). */
typedef struct bench_ls_entry {
    const char *function;
    const char *path;
    bench_ls_check check;
    bench_ls_order order;
    int      is_cub;
    uint32_t type_bytes;
    uint32_t threads;
    uint32_t values;
    uint32_t shared_bytes; /* dynamic */
    const void *kernel;    /* NULL: launch() does it all */
    int (*launch)(const void *in, void *out, unsigned long long count, uint32_t threads,
                  uint32_t values); /* nonzero: failed */
} bench_ls_entry;

/** One measurement. */
typedef struct bench_ls_row {
    bench_ls_entry entry;
    double   gbs;        /* 10^9 bytes a second; negative: not measured */
    double   copy_gbs;   /* of cudaMemcpyAsync from device to device, read and written */
    double   cub_gbs;    /* of CUB's best mode of this shape; negative: there is none */
    const char *cub_mode;
    int64_t  registers;
    int      blocks;     /* on a multiprocessor at a time */
    unsigned long long errors; /* elements that were wrong */
    char     note[160];  /* why a figure is missing */
    /* what follows from the others */
    const char *counts;  /* "read" or "read+written": what the rate counts */
    double   copy_percent;
    double   ratio;      /* to CUB's best mode */
} bench_ls_row;

/** Receives each row as soon as CUB's of its shape are known. */
typedef void (*bench_ls_sink)(const bench_ls_row *row, void *user);

#ifdef __CUDACC__
/* A permutation of 0..tile-1: the factor is a prime, and no factor of a tile is so large. */
static __host__ __device__ __forceinline__ uint32_t bench_ls_permuted(uint32_t e, uint32_t tile)
{
    return (e * 7919u + 12345u) % tile;
}
#endif

void bench_loadstore_shapes(bench_ls_shapes *shapes);

/** All rows; 0, or -1 with the reason in error (256 bytes). */
int bench_loadstore_run(const bench_ls_options *options, bench_ls_sink sink, void *user,
                        char *error);

/** Whether one of the options' lists has the value; an empty one is all. */
int bench_ls_wants(const bench_list *list, uint32_t value);

#ifdef __cplusplus
}
#endif
#endif /* BENCH_LOADSTORE_H */
