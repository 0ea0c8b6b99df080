/* SPDX-License-Identifier: BSD-3-Clause */
/* Stubs for the functions that the commands of shpool-bench call after reading their options.
 * fuzz_options.c must not get that far.  This file does not include the headers, so that one line
 * declares each function. */
#include <stdlib.h>

#define CALLED_LATER(X) \
    X(bench_cell) X(bench_choose_device) X(bench_csv_facts) X(bench_csv_heading) \
    X(bench_csv_row) X(bench_cuda_present) X(bench_json_members) X(bench_loadstore_run) \
    X(bench_loadstore_shapes) X(bench_ls_derive) X(bench_ls_option_columns) \
    X(bench_ls_row_columns) X(bench_ls_wants) X(bench_memory_add_cub) X(bench_origin_columns) \
    X(bench_origin_gpu) X(bench_origin_print) X(bench_picture_check) X(bench_picture_draw) \
    X(bench_picture_name) X(bench_python_input) X(bench_results_run) X(bench_table_heading) \
    X(bench_table_row) X(memory_cold) X(memory_columns) X(memory_cross) X(memory_oom) \
    X(memory_pair) X(memory_random) X(memory_replay) X(memory_share) X(memory_streams) \
    X(memory_threads) X(memory_train) X(replay_bisect) X(replay_cpu) X(replay_cuda) \
    X(replay_fits) X(replay_script_free) X(replay_script_make) X(replay_spec) \
    X(replay_table_print) X(tool_json_close) X(tool_json_open) X(tool_output_begin) \
    X(tool_output_end) X(tool_output_error) X(trace_file_free) X(trace_file_read) \
    X(trace_file_sums) X(trace_threads_of) X(trace_who)

#define NEVER_CALLED(_name) \
    void _name(void); \
    void _name(void) \
    { \
        abort(); \
    }
CALLED_LATER(NEVER_CALLED)
