#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# No line of a source file has more than 100 columns, and no source file more than 700 lines: a file
# holds one concept, and 700 lines are more than any concept here needs.
#
#   top_srcdir   source folder [the one above this script's]
#
# Prints a FAIL line for each place, and one PASS or FAIL line for each rule.  Exit: 0; 1.
set -u
most_columns=100
most_lines=700
here=$(cd "$(dirname "$0")" && pwd)
cd "${top_srcdir:-$here/../..}" || exit 1

# Files written by hand, without generated files of a build in the source folder.
sources() {
    for file in configure.ac Makefile.am autogen.sh quickstart .ci/run build-aux/embed.sh \
        build-aux/modules.sh; do
        [ ! -f $file ] || echo $file # a tarball has no .ci
    done
    find allocators check coalesce device examples include lib m4 python simt tests tools -type f \
        \( -name '*.c' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' -o -name '*.h' -o \
        -name '*.mk' -o -name '*.py' -o -name '*.sh' -o -name '*.m4' \) \
        ! -name '*_lto.c' ! -path 'm4/libtool.m4' ! -path 'm4/lt*.m4' ! -path 'tests/corpus/*'
}

# Columns are characters: bytes of UTF-8 that continue one do not count.
long_lines() {
    LC_ALL=C tr -d '\200-\277' <"$1" | LC_ALL=C awk -v file="$1" -v most=$most_columns '
        # the table of bugs: one line each, and a sed script has no place to break it
        (file == "tests/pools/planted.sh") && /^[a-z_]*\|[a-z]*\/test_[a-z_]*\|/ { next }
        (file == "tests/coalesce/faults.sh") && /^[a-z_]*\|[a-z]*\/[a-z_]*\.c\|/ { next }
        length($0) > most { print file ":" NR ": " length($0) " columns" }'
}

# A makefile needs tabs, and a here-document may.
blanks() {
    case $1 in *.mk | *.am | *.ac | *.sh) tabs=0 ;; *) tabs=1 ;; esac
    awk -v file="$1" -v tabs=$tabs '
        /[ \t]$/ { print file ":" NR ": blanks at the end" }
        tabs && /\t/ { print file ":" NR ": a tab" }' "$1"
    [ -z "$(tail -c 1 "$1")" ] || echo "$1: the last line has no end"
}

long_files() {
    awk -v file="$1" -v most=$most_lines 'END { if (NR > most) print file ": " NR " lines" }' "$1"
}

failed=0
rule() { # TEXT COMMAND: prints something of each file that breaks the rule
    broken=$(sources | while IFS= read -r file; do $2 "$file"; done)
    if [ -z "$broken" ]; then
        echo "PASS $1"
    else
        echo "$broken" | sed 's/^/FAIL /'
        echo "FAIL $1"
        failed=1
    fi
}

count=$(sources | wc -l)
if [ "$count" -lt 100 ]; then
    echo "FAIL only $count source files were found"
    failed=1
fi
rule "lines of $most_columns columns at most ($count files)" long_lines
rule "no tabs in code, no blanks at the end of a line" blanks
rule "files of $most_lines lines at most" long_files
exit $failed
