/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of run-time linking share. */
#ifndef SHPOOL_LINK_H
#define SHPOOL_LINK_H

#include "internal.h"

#pragma GCC visibility push(hidden)

/* What a cubin is made of. */
typedef struct shpool_link_input {
    const void *kernel;
    size_t kernel_bytes;
    const char *name;          /* of the allocator */
    const shpool_blob *lto_ir; /* the allocator's, for `arch` */
    const shpool_blob *spill;  /* what it calls to spill, or not to; NULL: not built */
    uint32_t arch;
} shpool_link_input;

/* Where a cubin came from. */
typedef enum shpool_link_origin {
    SHPOOL_FROM_LINKER, SHPOOL_FROM_MEMORY, SHPOOL_FROM_DISK
} shpool_link_origin;

/* ---- link.c ---- */

/* shpool_link(), also telling where the cubin came from. */
shpool_status shpool_link_from(const void *kernel, size_t kernel_bytes, const char *allocator,
                               uint32_t arch, void **cubin_p, size_t *bytes_p,
                               shpool_link_origin *origin_p);

/* ---- join.c ---- */

#define SHPOOL_JOIN_OPTIONS "-lto" /* beside the architecture; a cached cubin's key has them */

/*
 * Have nvJitLink make a cubin of it; free() that.  Outputs are written on SHPOOL_OK only.
 * SHPOOL_ERR_UNSUPPORTED: no nvJitLink, or one of another version than the LTO-IR needs;
 * SHPOOL_ERR_LINK; SHPOOL_ERR_NO_MEMORY.
 */
shpool_status shpool_join(const shpool_link_input *input, void **cubin_p, size_t *bytes_p);

#pragma GCC visibility pop

#endif /* SHPOOL_LINK_H */
