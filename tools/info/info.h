/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of shpool-info.  The facts are printed as text or as JSON. */
#ifndef SHPOOL_TOOLS_SHPOOL_INFO_H
#define SHPOOL_TOOLS_SHPOOL_INFO_H

#include <shpool/shpool.h>

#include "lib/internal.h"
#include "tools/options.h"

#define EXIT_OK      0
#define EXIT_FAILED  1 /* the command failed; stderr says why */
#define EXIT_USAGE   2

#define INFO_DEVICES 64u /* more are counted, but not described */

/* The output for one geometry in `show`; a failure of the plan is also a fact. */
typedef struct info_example {
    shpool_config want;
    shpool_status status;
    shpool_pool pool;
} info_example;

#define INFO_EXAMPLES 4u

/* The allocator for programs that name none; status says whether there is one. */
typedef struct info_selected {
    shpool_status status;
    shpool_selection selection;
} info_selected;

info_selected info_select(void);
const char *info_scope(uint32_t scope);

/* Word and sentence for capability bit `index`; NULL past the last. */
const char *info_cap_word(unsigned index);
const char *info_cap_text(unsigned index);

void info_plan_examples(const shpool_allocator *allocator, info_example examples[INFO_EXAMPLES]);

/* Why the value of a variable (SHPOOL_VARIABLE_*) is refused where it is used; NULL: it is not, or
 * there is none.  Valid until the next call of the library. */
const char *info_invalid(size_t index);

/* Print shpool_last_error() to stderr; returns EXIT_FAILED. */
int info_failed(void);

/* The value of --arch, "native" included; nonzero: stderr says why it is bad. */
int info_read_arch(const tool_given *given, shpool_arch *arch);

#define INFO_REQUESTS 16u /* kinds of requests that --requests takes */

/* One question of `overhead`; arch.arch is 0 if none was named. */
typedef struct info_geometry {
    shpool_config want;
    shpool_request request[INFO_REQUESTS];
    uint32_t requests; /* 0: want has the size */
    shpool_arch arch;
    int json;
} info_geometry;

/* Results of the rows of `overhead`. */
typedef struct info_tally {
    /* pools that hand out memory; native and null fit anywhere and do not count */
    unsigned served;
    unsigned failed;
} info_tally;

static inline void info_tally_count(info_tally *tally, shpool_status status,
                                    const shpool_pool *pool)
{
    tally->served += (status == SHPOOL_OK) && (pool->largest > 0);
    tally->failed += (status != SHPOOL_OK);
}

/* Nonzero if the request fits no pool. */
static inline int info_tally_failed(const info_tally *tally)
{
    return (tally->failed > 0) && (tally->served == 0);
}

/* The plan of its row for an allocator. */
shpool_status info_plan(const info_geometry *geometry, const shpool_allocator *allocator,
                        shpool_pool *pool_p);

/* The command `overhead` with its own options; argv[0] is the command.  Returns the exit status. */
int info_overhead(int argc, char **argv, int json);

#define INFO_LINK_WAYS 3u /* shpool_link_origin */

/* The result of `link`. */
typedef struct info_link {
    const char *allocator;
    void *cubin;
    size_t bytes;
    double ms[INFO_LINK_WAYS]; /* 0: this way was not used */
} info_link;

/* The command `link`, as info_overhead(). */
int info_link_kernel(int argc, char **argv, int json);

/* Each prints to stdout and returns the exit status. */
int json_list(const info_selected *selected);
int json_show(const shpool_allocator *allocator);
int json_devices(const shpool_driver_device *devices, size_t count, uint32_t version);
int json_device(void);
int json_config(void);
int json_archs(void);
int json_overhead(const info_geometry *geometry, const shpool_allocator *only);
int json_link(const info_link *result, uint32_t arch);

#endif /* SHPOOL_TOOLS_SHPOOL_INFO_H */
