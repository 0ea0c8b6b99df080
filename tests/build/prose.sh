#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The prose of the pages, of NEWS, of the manual, of the comments in include/ and of the tools'
# texts does not have the habits that tests/build/prose.words lists, nor words that codespell
# corrects.
#
#   top_srcdir   source folder [the one above this script's]
#
# The script also plants each habit's sentence in a file of each kind, and expects to find it; and
# each allowed use, and code, and expects to find nothing.
# Prints a FAIL line for each habit, and a PASS line for each rule.  Exit: 0; 1; 77: codespell is
# missing, all else is right.
set -u
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
cd "${top_srcdir:-$here/../..}" || exit 1
words=tests/build/prose.words
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-prose.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0
fail() {
    echo "FAIL $*"
    failed=1
}
prose() { # OPTION FILES...
    option=$1
    shift
    awk -v "$option" -f tests/build/prose.awk $words "$@"
}

# ---- what is searched ----
{
    ls README.md NEWS doc/*.md man/*.1 man/*.in allocators/*/README.md python/README.md
    find include -name '*.h' -o -name '*.hpp' -o -name '*.cuh'
    grep -rl '"usage: ' tools --include='*.c'
} >"$tmp/files"
count=$(wc -l <"$tmp/files")
[ "$count" -ge 150 ] || fail "only $count files with prose were found"

# shellcheck disable=SC2046 # no name has a blank
prose names=0 $(cat "$tmp/files") >"$tmp/found"
if [ -s "$tmp/found" ]; then
    sed 's/^/FAIL /' "$tmp/found"
    fail "prose has habits of $words"
else
    echo "PASS no habits of $words ($count files)"
fi

# ---- the planted sentences ----
lines_of() { sed -n "s/^$1  *//p" $words; }
# as_files FOLDER: the sentences of stdin, a paragraph each, as prose of each kind
as_files() {
    mkdir -p "$1"
    cat >"$tmp/sentences"
    sed 'a\
' "$tmp/sentences" >"$1/page.md"
    sed 's/.*/| & | 1 |/' "$tmp/sentences" >"$1/table.md"
    while IFS= read -r sentence; do
        echo "$sentence" | fold -s -w 32
        echo
    done <"$tmp/sentences" >"$1/folded.md"
    sed 's/^/  * /' "$tmp/sentences" >"$1/NEWS"
    sed 's/^/    /' "$1/folded.md" >"$1/folded.NEWS"
    sed 'i\
.Pp' "$tmp/sentences" >"$1/page.7"
    sed 's/.*/int x; \/* & *\//' "$tmp/sentences" >"$1/comment.h"
    { echo '/*'; sed 's/^/ * /' "$tmp/sentences"; echo ' */'; } >"$1/comment.cuh"
    sed 's/.*/    "  --all  &\\n"/' "$tmp/sentences" >"$1/usage.c"
}

lines_of plant | as_files "$tmp/planted"
lines_of '[Hh]abit' | sort >"$tmp/expected"
habits=$(wc -l <"$tmp/expected")
[ "$habits" -ge 20 ] || fail "$words: only $habits habits were found"
[ "$(lines_of write | wc -l)" = "$habits" ] || fail "$words: not each habit says what to write"
[ "$(lines_of plant | wc -l)" = "$habits" ] || fail "$words: not each habit has a sentence"
missed=0
kinds=0
for file in "$tmp"/planted/*; do
    kinds=$((kinds + 1))
    prose names=1 "$file" | sort -u >"$tmp/seen"
    comm -23 "$tmp/expected" "$tmp/seen" >"$tmp/missing"
    [ -s "$tmp/missing" ] || continue
    missed=1
    sed "s/^/FAIL planted in ${file##*/}, not found: /" "$tmp/missing"
done
if [ $missed = 1 ]; then
    fail "planted habits are found"
else
    echo "PASS planted habits are found ($habits, in $kinds kinds of text)"
fi

# Without the "allow" lines each of these sentences is found.
lines_of keep | as_files "$tmp/kept"
sed '/^allow/d' $words >"$tmp/prose.words"
awk -f tests/build/prose.awk "$tmp/prose.words" "$tmp/kept/table.md" |
    sed 's/^.*table.md:\([0-9]*\):.*/\1/' | sort -u >"$tmp/seen"
[ "$(wc -l <"$tmp/seen")" = "$(lines_of keep | wc -l)" ] ||
    fail "$words: a sentence is allowed that has no habit"
{
    lines_of plant | sed 's/^/    /'
    echo
    # shellcheck disable=SC2016 # Markdown's quotes
    lines_of plant | sed 's/.*/See `&` there./'
    echo '```'
    lines_of plant
    echo '```'
} >"$tmp/kept/code.md"
lines_of plant | sed 's/.*/const char *text = "&";/' >"$tmp/kept/code.h"
{ echo '.Bd -literal'; lines_of plant; echo '.Ed'; } >"$tmp/kept/code.7"
prose names=0 "$tmp"/kept/* >"$tmp/found"
if [ -s "$tmp/found" ]; then
    sed "s,^$tmp/kept/,FAIL ," "$tmp/found"
    fail "allowed uses and code are not found"
else
    echo "PASS allowed uses and code are not found"
fi

# ---- spelling ----
if ! command -v codespell >/dev/null; then
    echo "codespell is not installed: the spelling was not checked"
    [ $failed = 0 ] || exit 1
    exit 77
fi
spelling() { # FILE: codespell's corrections, each after the place that its line names
    codespell --ignore-words-list "$known" "$1" 2>/dev/null | sed 's/^.*:\([0-9]*\): /\1 /' |
        while read -r line correction; do
            echo "$(sed -n "${line}s/: .*//p" "$1"): $correction"
        done
}
known=$(lines_of spell | sed 's/ .*//' | paste -s -d , -)
# shellcheck disable=SC2046
prose text=1 $(cat "$tmp/files") >"$tmp/prose"
spelling "$tmp/prose" >"$tmp/found"
echo 'README.md:1: The bytes that were recieved.' >"$tmp/planted.txt"
if [ -s "$tmp/found" ]; then
    sed 's/^/FAIL /' "$tmp/found"
    fail "codespell"
elif ! spelling "$tmp/planted.txt" | grep -q '^README.md:1: recieved'; then
    fail "codespell does not see a planted word"
else
    echo "PASS codespell ($(wc -l <"$tmp/prose") lines)"
fi
exit $failed
