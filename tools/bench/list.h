/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: lists and ranges of an option's values. */
#ifndef SHPOOL_BENCH_LIST_H
#define SHPOOL_BENCH_LIST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_LIST 64 /* as many as there can be allocators */

/** Numbers, each once, in the order given. */
typedef struct bench_list {
    size_t   count;
    uint32_t value[BENCH_LIST];
} bench_list;

/** Names, each once, in the given order; not owned. */
typedef struct bench_names {
    size_t      count;
    const char *name[BENCH_LIST];
} bench_names;

int bench_list_has(const bench_list *list, uint32_t value);

/** A value that the list already has keeps its place.  -1: the list is full. */
int bench_list_add(bench_list *list, uint32_t value);

/** A number from low to high, optionally followed by K, M or G; -1: invalid, reported to stderr. */
int bench_number(const char *text, const char *option, uint32_t low, uint32_t high,
                 uint32_t *value);

/** The same of bytes: the message says that K, M and G are allowed. */
int bench_bytes(const char *text, const char *option, uint32_t low, uint32_t high,
                uint32_t *value);

/** A number from low to high, with a point or without; -1 as above. */
int bench_decimal(const char *text, const char *option, double low, double high, double *value);

/**
 * Numbers from low to high: `32,64,128-1024` (a range doubles) or `100-400:100` (it adds 100).
 * They are appended to the list; existing ones keep their places.  -1: stderr says what is wrong
 * and what is valid.
 */
int bench_numbers(const char *text, const char *option, uint32_t low, uint32_t high,
                  bench_list *list);

/** Indices of names among the known ones, which NULL ends; `all` selects all.  -1 as above. */
int bench_choices(const char *text, const char *option, const char *const *known,
                  bench_list *list);

/** Index of one of the known names; -1 as above. */
int bench_choice(const char *name, const char *option, const char *const *known);

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
