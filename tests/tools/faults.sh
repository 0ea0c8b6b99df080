#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Memory that runs out in the programs themselves: for every n, the nth allocation of a command
# fails, alone or with all later ones.  The command then prints what it always prints, or it says
# why not, has another exit status, and leaves no file.  (tests/tools/test_tool_faults.c has the
# commands of shpool-bench that read files, in one process; faults_more.sh has commands that
# measure, link, or run others.)
#
#   CC top_srcdir top_builddir
#
# Prints one PASS or FAIL line for each command.  Exit: 0; 1; 77: not the GNU C library.
# shellcheck disable=SC2154 # work and failed are those of checks.sh, src that of fault_sweep.sh
set -u
: "${CC:=cc}" "${top_builddir:=.}" "${top_srcdir:=.}"
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
# shellcheck source=tests/tools/fault_sweep.sh
. "$top_srcdir/tests/tools/fault_sweep.sh"

for command in list archs device config 'show bitmap' 'overhead --threads 64 --bytes 4K'; do
    for option in '' --json; do
        # shellcheck disable=SC2086 # words
        sweep '' shpool-info $option $command
    done
done
input=$src/tests/coalesce/hand.ptx
sweep '' shpool-coalesce costs
sweep '' shpool-coalesce lint "$input"
sweep rewritten.ptx shpool-coalesce rewrite "$input" -o rewritten.ptx
exit $failed
