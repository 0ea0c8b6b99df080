/* SPDX-License-Identifier: BSD-3-Clause */
/* Which nvJitLink made a cubin, as a folder of linked kernels remembers it. */
#ifndef SHPOOL_LINKER_H
#define SHPOOL_LINKER_H

#include "jit.h"
#include "lib/sha256.h"

#pragma GCC visibility push(hidden)

#define SHPOOL_LINKER_PATH_BYTES 256u

/* Part of a file's header: no padding. */
typedef struct shpool_linker {
    uint32_t version;                    /* 12080 for 12.8; 0: none */
    shpool_digest state;                 /* of that file, and of the files and variables that say
                                            where to look */
    char path[SHPOOL_LINKER_PATH_BYTES]; /* of its file; "": not known */
} shpool_linker;

shpool_linker shpool_linker_of(const shpool_jit *jit);

/*
 * 1: the file and the search places have not changed since it made the cubin, so this machine still
 * has the same nvJitLink.  Costs two calls of stat(); loading nvJitLink to query its version takes
 * milliseconds.
 */
int shpool_linker_is_unchanged(const shpool_linker *linker);

#pragma GCC visibility pop

#endif /* SHPOOL_LINKER_H */
