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

# What an image contains is linked again when its kernels are joined with an allocator at run time.
# CUB's sort, which brings the device runtime, takes more than 10 seconds.  (libshpool, too, has the
# names of the device runtime's other variables.)
gpu=${top_builddir:-.}/examples/sparse/sparse
if [ ! -f "$gpu" ]; then
    echo "skipped: no $gpu, whose image would be looked at"
elif grep -q -e cudartErrorCnpMapArr -e SegmentedSort "$gpu"; then
    echo "FAIL the GPU's program contains the device runtime, or CUB's sort"
    exit 1
else
    echo "PASS the GPU's program contains neither the device runtime nor CUB's sort"
fi
