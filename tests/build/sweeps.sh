#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Each function that the library exports is in a test in which allocations, calls of the driver or
# writes fail in turn, or tests/build/sweeps.txt says that it has none of them.
#
#   top_srcdir
#
# Prints a FAIL line for each that is in neither.  Exit: 0; 1.
set -u
src=${top_srcdir:-$(dirname "$0")/../..}
known=$src/tests/build/sweeps.txt
tests="$src/tests/coalesce/test_memory.c $src/tests/device/share_trial.h
    $src/tests/device/test_faults.c $src/tests/device/test_plugin.c $src/tests/device/test_print.c
    $src/tests/device/trial.h $src/tests/lib/test_memory.c $src/tests/lib/test_relink.c
    $src/tests/simt/test_memory.c $src/tests/simt/trial.h"
failed=0
count=0
for name in $(sed -n "s/.*elf-symbol name='\([a-z][a-z0-9_]*\)'.*type='func-type'.*/\1/p" \
    "$src/lib/libshpool.abi" | sort -u); do
    count=$((count + 1))
    # shellcheck disable=SC2086 # words
    swept=$(cat $tests | grep -cw "$name")
    listed=$(grep -cw "^$name" "$known")
    if [ "$swept" = 0 ] && [ "$listed" = 0 ]; then
        echo "FAIL $name: no test lets it fail, and tests/build/sweeps.txt does not have it"
        failed=1
    fi
done
[ "$count" -ge 140 ] || {
    echo "FAIL only $count functions were found in lib/libshpool.abi"
    failed=1
}
echo "$count functions"
exit $failed
