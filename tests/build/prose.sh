#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The prose of the pages, of NEWS, of the manual, of the comments in include/ and of the tools'
# texts has no words of tests/build/prose.words, and none that codespell corrects.
#
#   top_srcdir   source folder [the one above this script's]
#
# Prints a FAIL line for each, and a PASS line for each rule.  Exit: 0; 1; 77: codespell is missing,
# all else is right.
set -u
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
cd "${top_srcdir:-$here/../..}" || exit 1
words=tests/build/prose.words
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-prose.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0

# prose FILE...: "FILE:LINE: TEXT" for each line, without code.  TEXT begins with the line before
# if its sentence goes on: a habit may begin there.
prose() {
    awk '
        FNR == 1 { literal = 0; last = "" }
        FILENAME ~ /\.(h|hpp|cuh)$/ { # comments
            if (!sub(/^.*\/[*\/]/, "") && !sub(/^ *\*( |$)/, "")) { last = ""; next }
            sub(/\*\/.*$/, "")
        }
        FILENAME ~ /\.c$/ { if (!sub(/^[^"]*"/, "")) next; gsub(/(\\n)?"/, "") }
        FILENAME ~ /\.[1-9](\.in)?$/ {
            if (/^\.(Bd .*-literal|Ed)/) literal = !/^\.Ed/
            if (literal || /^\.(\\"|Dl|Dd|Dt|Os|Ed|Bd|Ft|Fn|Fa|In|Ss)/) { last = ""; next }
            sub(/^\.[A-Z][a-z]+ */, "")
        }
        FILENAME ~ /(\.md|NEWS)$/ {
            if (/^```/) { literal = !literal; next }
            if (literal || (/^    / && FILENAME ~ /md$/)) { last = ""; next }
            gsub(/`[^`]*`/, "~"); gsub(/\]\([^)]*\)/, "]")
        }
        { gsub(/^[ *|]+|[ |]+$/, ""); print FILENAME ":" FNR ": " last $0
          last = /[^.:;|]$/ ? $0 " " : "" }' "$@"
}

# habits: those in the text that prose() printed
habits() {
    sed -E 's/^([^ ]*) /\1\t/' >"$tmp/text"
    grep -v '^#' $words | while IFS= read -r row; do
        right=${row##* => }
        rest=${row#* => }
        [ "$rest" != "$right" ] || right='no use is right'
        option=-i
        case $row in [A-Z]*) option= ;; esac
        sed -E "s/(^|[^A-Za-z])($right)/~/gI" "$tmp/text" |
            grep -E $option "	(.*[^A-Za-z0-9_~-])?(${row%% => *})([^A-Za-z0-9_~]|\$)" |
            sed "s/\$/: write ${rest%% => *}/"
    done
}

{
    ls README.md NEWS doc/*.md man/*.1 man/*.in allocators/*/README.md python/README.md
    find include -name '*.h' -o -name '*.hpp' -o -name '*.cuh'
    grep -rl '"usage: ' tools --include='*.c'
} >"$tmp/files"
count=$(wc -l <"$tmp/files")
# shellcheck disable=SC2046 # no name has a blank
prose $(cat "$tmp/files") >"$tmp/prose"
habits <"$tmp/prose" >"$tmp/found"
if [ -s "$tmp/found" ] || [ "$count" -lt 150 ]; then
    sed 's/^/FAIL /' "$tmp/found"
    echo "FAIL prose has habits of $words ($count files)"
    failed=1
else
    echo "PASS no habits of $words ($count files)"
fi

# ---- prose of each kind, with a habit that goes over the end of a line, and code with one ----
# shellcheck disable=SC2016 # Markdown's quotes
printf 'It has some\nhundred rows.\n\n```\nsome hundred\n```\n`some hundred`\n' >"$tmp/page.md"
printf 'It has some\nhundred rows.\n.Bd -literal\nsome hundred\n.Ed\n' >"$tmp/page.7"
printf 'int some; /* It has some\n * hundred rows. */\nchar *t = "some hundred";\n' >"$tmp/page.h"
printf 'int some;\n"It has some\\n"\n"hundred rows.\\n"\n' >"$tmp/page.c"
prose "$tmp"/page.* | habits | sed 's/.*\(page\.[^:]*:.\):.*: write/\1/' | sort >"$tmp/seen"
if printf 'page.7:2 about\npage.c:3 about\npage.h:2 about\npage.md:2 about\n' |
    cmp -s - "$tmp/seen"; then
    echo "PASS planted habits are found, but not in code"
else
    sed 's/^/FAIL planted: /' "$tmp/seen"
    failed=1
fi

# ---- spelling ----
if ! command -v codespell >/dev/null; then
    echo "codespell is not installed: the spelling was not checked"
    [ $failed = 0 ] || exit 1
    exit 77
fi
codespell - <"$tmp/prose" >"$tmp/found" 2>/dev/null
if [ -s "$tmp/found" ] || echo 'bytes that were recieved' | codespell - >/dev/null 2>&1; then
    sed 's/^/FAIL /' "$tmp/found"
    echo "FAIL codespell"
    failed=1
else
    echo "PASS codespell"
fi
exit $failed
