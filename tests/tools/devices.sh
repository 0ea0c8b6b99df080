#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What the programs say about devices, with a stand-in for the CUDA driver: text and JSON, and for
# each call that fails a message that names it, exit status 1, and no output.
#
#   CC top_srcdir top_builddir
#
# Prints one PASS or FAIL line for each check.  Exit: 0; 1; 77: no shared library can be made.
# shellcheck disable=SC2154 # work and failed are those of checks.sh
set -u
: "${CC:=cc}" "${top_builddir:=.}" "${top_srcdir:=.}"
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
info=$(cd "$top_builddir" && pwd)/shpool-info
if ! $CC -O1 -w -shared -fPIC "$top_srcdir/tests/tools/stand_in_driver.c" \
    -o "$work/libcuda.so.1" 2>"$work/log"; then
    echo "SKIP no shared library can be made: $(head -1 "$work/log")"
    exit 77
fi
LD_LIBRARY_PATH=$work:$LD_LIBRARY_PATH
export LD_LIBRARY_PATH
unset CUDA_STAND_IN_FAILS

for pattern in '^driver for CUDA 12.8$' '^0: Stand-in 0$' '^1: Stand-in 1$' \
    'compute capability  9.0$' 'multiprocessors     132$' \
    '49152 bytes per block, 232448 opted in; 233472 per multiprocessor, 1024 of each' \
    'device memory       2147483648 bytes$'; do
    expect 0 "$pattern" "$info" devices
done
for pattern in '"driver_version": 12080' '"name": "Stand-in 1"' '"shared_block_optin": 232448' \
    '"memory": 1073741824'; do
    expect 0 "$pattern" "$info" --json devices
done
for call in cuInit cuDriverGetVersion cuDeviceGetCount cuDeviceGet cuDeviceGetName \
    cuDeviceTotalMem cuDeviceGetAttribute; do
    for option in '' --json; do
        # shellcheck disable=SC2086 # a word or none
        CUDA_STAND_IN_FAILS=$call "$info" $option devices >"$work/said" 2>"$work/log"
        check "$call fails${option:+ with $option}: exit status" test $? = 1
        check "$call fails${option:+ with $option}: no output" test ! -s "$work/said"
        check "$call fails${option:+ with $option}: a message" \
            grep -q "$call of the CUDA driver failed with result 999: a stand-in" "$work/log"
    done
done
exit $failed
