/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: lists and ranges of an option's values. */
#ifndef SHPOOL_BENCH_LIST_H
#define SHPOOL_BENCH_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "tools/options.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_LIST 64 /* as many as there can be allocators */

/** Numbers, each once, in the order given. */
typedef struct bench_list {
    size_t   count;
    uint32_t value[BENCH_LIST];
} bench_list;

/** Names, each once, in the given order; not owned, or in text, which bench_specs() fills. */
typedef struct bench_names {
    size_t      count;
    const char *name[BENCH_LIST];
    size_t      text_bytes;
    char        text[4096];
} bench_names;

int bench_list_has(const bench_list *list, uint32_t value);

/** A value that the list already has keeps its place.  -1: the list is full. */
int bench_list_add(bench_list *list, uint32_t value);

/* ---- values of options ---- */

tool_taker bench_output;  /* const char *: a file; "-" if there is no value */
tool_taker bench_bytes;   /* tool_number; the message says that K, M and G are allowed */
tool_taker bench_arch;    /* const char *: a name for which shpool_arch_find() succeeds */
tool_taker bench_decimal; /* double, with a point or without */
tool_taker bench_choice;  /* int: the index of one of the names */
tool_taker bench_choices; /* bench_list of such; `all` selects all */
/** bench_names: one spec or several, with commas between them: `a,b:stats=1,check=1` has two,
 *  because a key is followed by = and a name is not. */
tool_taker bench_specs;

/**
 * bench_list: `32,64,128-1024` (a range doubles) or `100-400:100` (it adds 100).  They are appended
 * to the list; existing ones keep their places.
 */
tool_taker bench_numbers;

/** Suffix of a noun after `count`. */
static inline const char *bench_s(unsigned long long count)
{
    return (count == 1) ? "" : "s";
}

/** One more name; -1: the list is full, and stderr says so. */
int bench_name_add(bench_names *names, const char *option, const char *name);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_BENCH_LIST_H */
