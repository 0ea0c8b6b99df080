#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# examples/repeats on the executor, with words that it must tell apart or take for equal.  (make
# check also runs it without a file.)
#
#   top_builddir   build folder, with examples/repeats/repeats_cpu [.]
#
# Prints one PASS or FAIL line for each step.  Exit: 0; 1.
set -u
unset SHPOOL_ALLOCATOR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
repeats=${top_builddir:-.}/examples/repeats/repeats_cpu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

counts() # WHAT LINE COUNTS: of runs of 1, 2, ... words; the program compares them with the host's
{
    printf '%s\n' "$2" >"$scratch/text"
    if "$repeats" "$scratch/text" >"$scratch/output" 2>&1 &&
        [ "$(grep -c ' 0 wrong counts, 0 without memory' "$scratch/output")" -eq 4 ] &&
        grep -q "^repeated on average: $3" "$scratch/output"; then
        echo "PASS $1"
    else
        echo "FAIL $1"
        cat "$scratch/output"
        failed=1
    fi
}

counts "words whose hashes are equal count as one" 'yqwhwtyt iybmlcor foo bar baz' '1.0 0.0'
counts "capitals count as small letters" 'Foo bar, foo BAR! foo9' '2.0 1.0 0.0'
exit $failed
