#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# No line of a source file has more than 100 columns, and no source file more than 700 lines: a file
# holds one concept, and 700 lines are more than any concept here needs.  Python files parse: tests
# that need a GPU run seldom.
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
    LC_ALL=C awk -v most=$most_columns '
        # the table of bugs: one line each, and a sed script has no place to break it
        (FILENAME == "tests/pools/planted.sh") && /^[a-z_]*\|[a-z]*\/test_[a-z_]*\|/ { next }
        (FILENAME == "tests/coalesce/faults.sh") && /^[a-z_]*\|[a-z]*\/[a-z_]*\.c\|/ { next }
        length($0) > most {
            gsub(/[\200-\277]/, "")
            if (length($0) > most) { print FILENAME ":" FNR ": " length($0) " columns" }
        }' "$@"
}

# A makefile needs tabs, and a here-document may.
blanks() {
    awk '/[ \t]$/ { print FILENAME ":" FNR ": blanks at the end" }
        FILENAME !~ /\.(mk|am|ac|sh)$/ && /\t/ { print FILENAME ":" FNR ": a tab" }' "$@"
    [ -z "$(tail -qc 1 "$@")" ] || for file; do # newlines alone are nothing
        [ -z "$(tail -c 1 "$file")" ] || echo "$file: the last line has no end"
    done
}

long_files() {
    awk -v most=$most_lines 'FNR == most + 1 { print FILENAME ": more lines than " most }' "$@"
}

syntax() {
    for file; do
        case $file in *.py) echo "$file" ;; esac
    done | python3 -c 'import ast, sys
for path in sys.stdin.read().split():
    try:
        ast.parse(open(path, encoding="utf-8").read(), path)
    except SyntaxError as error:
        print(f"{path}:{error.lineno}: {error.msg}")'
}

failed=0
rule() { # TEXT COMMAND: prints something of each file that breaks the rule
    # shellcheck disable=SC2046 # no name has a blank
    broken=$($2 $(sources))
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
if command -v python3 >/dev/null; then
    rule "Python files parse" syntax
else
    echo "SKIP Python files parse: no python3"
fi
exit $failed
