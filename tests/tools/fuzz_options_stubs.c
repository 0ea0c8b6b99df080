/* SPDX-License-Identifier: BSD-3-Clause */
/* Stubs for the functions that the commands of shpool-bench call after reading their options.
 * fuzz_options.c must not get that far.  This file does not include the headers, so that one line
 * declares each function. */
#include <stdlib.h>

#define NEVER_CALLED(_name)                                                                        \
    void _name(void);                                                                              \
    void _name(void)                                                                               \
    {                                                                                              \
        abort();                                                                                   \
    }

NEVER_CALLED(bench_cell)
NEVER_CALLED(bench_command_same)
NEVER_CALLED(bench_csv_facts)
NEVER_CALLED(bench_csv_heading)
NEVER_CALLED(bench_csv_row)
NEVER_CALLED(bench_cuda_present)
NEVER_CALLED(bench_fact_columns)
NEVER_CALLED(bench_json_document)
NEVER_CALLED(bench_json_read)
NEVER_CALLED(bench_json_write)
NEVER_CALLED(bench_loadstore_run)
NEVER_CALLED(bench_loadstore_shapes)
NEVER_CALLED(bench_ls_derive)
NEVER_CALLED(bench_ls_option_columns)
NEVER_CALLED(bench_ls_row_columns)
NEVER_CALLED(bench_ls_wants)
NEVER_CALLED(bench_memory_add_cub)
NEVER_CALLED(bench_origin_columns)
NEVER_CALLED(bench_origin_gpu)
NEVER_CALLED(bench_origin_print)
NEVER_CALLED(bench_picture_check)
NEVER_CALLED(bench_picture_draw)
NEVER_CALLED(bench_picture_name)
NEVER_CALLED(bench_results_clear)
NEVER_CALLED(bench_row_columns)
NEVER_CALLED(bench_row_workload)
NEVER_CALLED(bench_table_heading)
NEVER_CALLED(bench_table_row)
NEVER_CALLED(memory_cold)
NEVER_CALLED(memory_columns)
NEVER_CALLED(memory_cross)
NEVER_CALLED(memory_oom)
NEVER_CALLED(memory_pair)
NEVER_CALLED(memory_random)
NEVER_CALLED(memory_replay)
NEVER_CALLED(memory_share)
NEVER_CALLED(memory_streams)
NEVER_CALLED(memory_threads)
NEVER_CALLED(memory_train)
NEVER_CALLED(replay_bisect)
NEVER_CALLED(replay_cpu)
NEVER_CALLED(replay_cuda)
NEVER_CALLED(replay_fits)
NEVER_CALLED(replay_script_free)
NEVER_CALLED(replay_script_make)
NEVER_CALLED(replay_spec)
NEVER_CALLED(replay_table_print)
NEVER_CALLED(tool_output_begin)
NEVER_CALLED(tool_output_end)
NEVER_CALLED(tool_output_error)
NEVER_CALLED(trace_file_free)
NEVER_CALLED(trace_file_read)
NEVER_CALLED(trace_file_sums)
NEVER_CALLED(trace_threads_of)
NEVER_CALLED(trace_who)
