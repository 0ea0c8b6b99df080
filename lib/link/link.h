/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of run-time linking. */
#ifndef SHPOOL_LINK_H
#define SHPOOL_LINK_H

#include "linker.h"

#pragma GCC visibility push(hidden)

/* One of the inputs that nvJitLink joins: LTO-IR, a fat binary, a cubin or an object. */
typedef struct shpool_link_part {
    const void *data;
    size_t bytes;
    const char *name; /* in the linker's messages; static storage */
} shpool_link_part;

/* Inputs of a cubin. */
typedef struct shpool_link_input {
    const shpool_link_part *part;
    size_t parts;
    const char *name; /* of the allocator */
    uint32_t arch;    /* with its letter */
    uint32_t cuda;    /* version that made the allocator's device code; 0: not known */
    int lto;          /* some of it is used as LTO-IR */
    int table;        /* no kernel is compiled, only an allocator for function tables may be */
} shpool_link_input;

/* Origin of a cubin. */
typedef enum shpool_link_origin {
    SHPOOL_FROM_LINKER, SHPOOL_FROM_MEMORY, SHPOOL_FROM_DISK
} shpool_link_origin;

/* ---- link.c ---- */

/*
 * The device code for the newest architecture that is not newer than `arch`; code for a letter
 * serves architectures with a letter, and before other code.  NULL: there is none.
 */
const shpool_blob *shpool_blob_choose(const shpool_blob *first, uint32_t arch);

/* The same for an allocator; SHPOOL_ERR_UNSUPPORTED: it has none. */
shpool_status shpool_link_choose(const shpool_allocator *allocator, uint32_t arch,
                                 const shpool_blob **blob_p);

/* From memory, else from the folder, else from shpool_join(). */
shpool_status shpool_link_parts(const shpool_link_input *input, void **cubin_p, size_t *bytes_p,
                                shpool_link_origin *origin_p);

/* shpool_link() that also returns the origin of the cubin. */
shpool_status shpool_link_from(const void *kernel, size_t kernel_bytes, const char *allocator,
                               uint32_t arch, void **cubin_p, size_t *bytes_p,
                               shpool_link_origin *origin_p);

/* ---- relink.c ---- */

/* Forms of device code, in bits. */
enum { SHPOOL_CODE_LTO = 1, SHPOOL_CODE_OTHER = 2 /* PTX, machine code */ };

/* SHPOOL_CODE_*: forms in an allocator's device code, bare or in a fat binary. */
int shpool_blob_code(const shpool_blob *blob);

/* ---- join.c ---- */

/* The nvJitLink that shpool_join() would use; this function loads it.  Version 0: no installed one
 * accepts the device code.  Sends no message. */
shpool_linker shpool_join_linker(const shpool_link_input *input);

/*
 * Have nvJitLink make a cubin of it; free() that.  Outputs are written on SHPOOL_OK only.
 * SHPOOL_ERR_UNSUPPORTED: no nvJitLink, or one of another version than the LTO-IR needs;
 * SHPOOL_ERR_LINK; SHPOOL_ERR_NO_MEMORY.
 */
shpool_status shpool_join(const shpool_link_input *input, void **cubin_p, size_t *bytes_p);

#pragma GCC visibility pop

#endif /* SHPOOL_LINK_H */
