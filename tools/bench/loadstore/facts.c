/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench loadstore: the options as facts of a result, and what they select. */
#include "config.h"

#include "loadstore.h"

#define AT(_member) offsetof(bench_ls_options, _member), sizeof(((bench_ls_options *)NULL)->_member)
const bench_column bench_ls_option_columns[] = {
    {"bytes", BENCH_U64, AT(bytes), NULL, 0, NULL},
    {"repeats", BENCH_U32, AT(repeats), NULL, 0, NULL},
    {"waves", BENCH_U32, AT(waves), NULL, 0, NULL},
    {NULL, BENCH_TEXT, 0, 0, NULL, 0, NULL}};
#undef AT

const char *bench_ls_counts(bench_ls_check check)
{
    return (check == BENCH_LS_SUM) ? "read" : "read+written";
}

int bench_ls_wants(const bench_list *list, uint32_t value)
{
    return (list->count == 0) || bench_list_has(list, value);
}
