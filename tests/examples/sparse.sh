#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# examples/sparse on the executor with its options.  (make check also runs it without any.)
#
#   top_builddir   build folder, with examples/sparse/sparse_cpu, and sparse if nvcc is there [.]
#
# Prints one PASS or FAIL line for each step.  Exit: 0; 1.
set -u
unset SHPOOL_ALLOCATOR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
sparse=${top_builddir:-.}/examples/sparse/sparse_cpu
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# Four versions, with right and sorted rows; the program compares them with the host's.
if "$sparse" --rows 120 --sort 1 >"$output" &&
    [ "$(grep -c '0 wrong rows, sorted' "$output")" -eq 4 ]; then
    echo "PASS all versions sort their rows"
else
    echo "FAIL not all versions sort their rows"
    cat "$output"
    exit 1
fi

# CUDA's device runtime has variables in device memory.  A kernel beside them cannot be joined with
# an allocator at run time: a copy of the program's image would have copies of them.
gpu=${top_builddir:-.}/examples/sparse/sparse
if [ ! -f "$gpu" ]; then
    echo "skipped: no $gpu, whose image would be looked at"
elif grep -q cudartErrorTable "$gpu"; then
    echo "FAIL the GPU's program contains the device runtime: examples/machine.h, CUB_DISABLE_CDP"
    exit 1
else
    echo "PASS the GPU's program does not contain the device runtime"
fi
