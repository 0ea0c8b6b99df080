/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways of a block through captures, and who may have its memory next: the fake driver's tests
 * and those on a GPU run them all. */
#ifndef SHPOOL_TESTS_DEVICE_GRAPH_WAYS_H
#define SHPOOL_TESTS_DEVICE_GRAPH_WAYS_H

/* A capture's first stream, one that joins it, and one outside. */
enum { GRAPH_HOME, GRAPH_FORKED, GRAPH_OUTSIDE, GRAPH_STREAMS };

/* Before a stream's number, with the block: m: malloc, u: use, r: record, f: free.  Others: (: a
 * capture begins, [: one with another pool, ): it ends, and its graph is launched and waited for,
 * +: the forked stream waits for the first one, -: the first one for the forked one, !: the work
 * that was submitted to the stream outside has finished, o: a request finds no memory, although the
 * host has waited for the device. */
typedef struct graph_way {
    const char *steps;
    const char *asks; /* streams that then ask for as much, each in a run of its own */
    const char *get;  /* for each: y: it gets the block's memory, n: other memory */
} graph_way;

static const graph_way graph_ways[] = {
    { "(m0u0f0", "02", "yn" },        /* freed by its stream */
    { "(m0+u0f0", "1", "n" },         /* a stream that forked before */
    { "(m0u0f0+", "1", "n" },         /* or after: only the graph knows */
    { "(m0u0+u1f1", "01", "ny" },     /* freed by the fork, which was ordered */
    { "(m0r1+u1f0", "01", "nn" },     /* recorded before the fork */
    { "(m0+r1u1f0", "01", "nn" },     /* and after */
    { "(m0r1+u1f0o", "01", "nn" },    /* work of a graph has not run when the host has waited */
    { "(m0+r1u1f0o", "01", "nn" },
    { "(+m0u0f2o", "01", "nn" },
    { "(m0+r1u1-f0", "01", "nn" },    /* and joined: not known to be */
    { "(+m0u0r0f1", "01", "nn" },     /* its own stream was recorded, and another one frees */
    { "(m0r0u0f0", "0", "y" },        /* its own stream was recorded */
    { "(+m0u0f2", "01", "nn" },       /* freed outside of the capture */
    { "(m0r2u2f0", "02", "nn" },      /* a stream outside of it uses the memory, */
    { "(m0r2u2f0!", "0", "y" },       /* and has finished */
    { "(+m0r1r2u1u2f0!", "01", "nn" },
    { "(m0+r1u1-f0)(", "0", "y" },    /* the next capture of the pool */
    { "(m0+r1u1-)(f0", "0", "y" },
    { "(m0+r1u1-)f2!(", "0", "y" },
    { "(m0+r1u1-)(+r1u1f0", "01", "nn" },
    { "(+m0u0f2!)(", "0", "y" },
    { "(m0u0)u2r2f0(", "0", "n" },    /* used outside after the capture */
    { "(m0u0)u2r2f0!(", "0", "y" },
    { "(m0u0)u2f2(", "0", "n" },      /* or only freed there */
    { "(m0u0)u2f2!(", "0", "y" },
    { "(m0u0f0)", "02", "nn" },       /* the memory is for graphs */
    { "(m0u0f0)[", "0", "n" },        /* of this pool */
    { "(m0u0)[f0", "0", "n" },
    { "m0u0(f0", "02", "nn" },        /* memory of no graph */
    { "m0u0(f0)", "0", "y" },
    { "m2u2(f2", "02", "ny" },
    { "m2(+r1f2", "02", "nn" },
    { "m2u2(r2f0)", "02", "nn" },
};

#define GRAPH_WAYS (sizeof(graph_ways) / sizeof(graph_ways[0]))

#endif /* SHPOOL_TESTS_DEVICE_GRAPH_WAYS_H */
