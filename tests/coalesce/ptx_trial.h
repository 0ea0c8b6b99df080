/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain against rewritten PTX on the machine of ptx_machine.h. */
#ifndef SHPOOL_TESTS_PTX_TRIAL_H
#define SHPOOL_TESTS_PTX_TRIAL_H

#include "ptx_machine.h"

/* A kernel (d, s, n), as tests/coalesce/defects.h describes it. */
typedef struct trial_kernel {
    const char *name;
    uint32_t    read;    /* bytes of s for each of n */
    uint32_t    written; /* of d */
    uint32_t    extra;   /* more bytes of both */
    unsigned    flags;   /* DEFECT_* */
} trial_kernel;

/* Those of defects.h and of tools/bench/coalesce/suite.h. */
extern const trial_kernel trial_kernels[];
extern const size_t       trial_kernel_count;

/* One way to run a kernel. */
typedef struct trial_setup {
    uint32_t threads; /* of a block */
    uint32_t n;
    uint32_t offset_d; /* bytes by which the arrays are off a multiple of 256 */
    uint32_t offset_s;
    int64_t  overlap;  /* TRIAL_APART: arrays of their own; else d is at s + this */
    uint64_t seed;     /* of the machine */
} trial_setup;

#define TRIAL_APART INT64_MAX

/* A text and the result of parsing it. */
typedef struct trial_text {
    char      *text;
    ptx_module module;
} trial_text;

/* Read a file; exits the process if it cannot be read. */
trial_text trial_read(const char *file);

/* Whether the text has a kernel of that name. */
int trial_has(const trial_text *text, const char *name);

/* Parse a text, which is taken; exits if it has errors. */
trial_text trial_parse(char *text);

/* The text rewritten; *rewritten_p: groups.  The caller frees the text inside by trial_free(). */
trial_text trial_rewrite(const trial_text *plain, const ptx_request *request, size_t *rewritten_p);

void trial_free(trial_text *text);

typedef struct trial_outcome {
    int      same;  /* bytes of all memory, and whether both ran to their ends */
    int      plain_ran;
    char     what[300];
    uint64_t plain_sectors;
    uint64_t plain_requests;
    uint64_t requests;
    uint64_t sectors;
} trial_outcome;

trial_outcome trial_compare(const trial_text *plain, const trial_text *rewritten,
                            const trial_kernel *kernel, const trial_setup *setup);

/* `number` of a kernel's setups, the more the more unlike; `number` from 0. */
trial_setup trial_setup_of(const trial_kernel *kernel, uint32_t number);

#endif /* SHPOOL_TESTS_PTX_TRIAL_H */
