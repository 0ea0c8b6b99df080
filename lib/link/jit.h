/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of libnvJitLink that lib/link/join.c needs.  A test replaces them by defining
 * shpool_jit_find() and shpool_jit_load(). */
#ifndef SHPOOL_JIT_H
#define SHPOOL_JIT_H

#include "lib/internal.h"

#pragma GCC visibility push(hidden)

/* From nvJitLink.h; the values have not changed since 12.0. */
typedef struct nvJitLink *shpool_jit_handle;
#define SHPOOL_JIT_SUCCESS   0
#define SHPOOL_JIT_INPUT_ANY 10 /* the linker looks at the data; since 12.3 */

typedef struct shpool_jit {
    const char *name; /* static storage; argument of dlopen() */
    const char *path; /* of its file; it stays loaded */
    const void *base; /* where that file's first byte was loaded */
    uint32_t cuda;    /* the linker's version, 12080 for 12.8 */
    int (*create)(shpool_jit_handle *handle, uint32_t count, const char *const *options);
    int (*destroy)(shpool_jit_handle *handle);
    int (*add_data)(shpool_jit_handle handle, int type, const void *data, size_t bytes,
                    const char *name);
    int (*complete)(shpool_jit_handle handle);
    int (*cubin_size)(shpool_jit_handle handle, size_t *bytes);
    int (*cubin)(shpool_jit_handle handle, void *cubin);
    int (*log_size)(shpool_jit_handle handle, size_t *bytes);
    int (*log)(shpool_jit_handle handle, char *log);
} shpool_jit;

/*
 * Load libnvJitLink, that of CUDA `major` first (0: the newest).  It stays loaded, so nothing has
 * to be released.  0: there is none, or it is older than 12.3; `tried` then lists the candidates,
 * and *jit_p is zeroed.  Sends no message.
 */
int shpool_jit_find(uint32_t major, shpool_jit *jit_p, shpool_text *tried);

/* The same; SHPOOL_ERR_UNSUPPORTED: not found, the detail lists what was tried. */
shpool_status shpool_jit_load(uint32_t major, shpool_jit *jit_p);

#pragma GCC visibility pop

#endif /* SHPOOL_JIT_H */
