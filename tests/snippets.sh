#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The examples in the comments of loadstore.cuh are those that tests/test_loadstore_snippets.cc and
# loadstore_examples.h compile and run: from `@code NAME` to `@endcode` in a header, from
# `snippet NAME` to `end` there, the same lines but for the indentation.
#
#   top_srcdir   source folder [the one above this script's]
#
# Prints a FAIL line for each difference.  Exit: 0; 1.
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=${top_srcdir:-$here/..}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-snippets.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT

# "NAME: LINE" for each line of an example, trailing blanks dropped
cat "$src"/include/shpool/loadstore.cuh "$src"/include/shpool/loadstore/*.cuh | awk '
    / \* @endcode/ { name = "" }
    name != "" { sub(/^ \* ?/, ""); sub(/ +$/, ""); print name ": " $0 }
    / \* @code / { name = $3 }' | sort -s -k 1,1 >"$tmp/headers"
awk '
    /^ *\/\* end \*\/$/ { name = "" }
    name != "" { sub(/^    /, ""); sub(/ +$/, ""); print name ": " $0 }
    /^ *\/\* snippet / { name = $3 }' \
    "$src/tests/loadstore_examples.h" "$src/tests/test_loadstore_snippets.cc" |
    sort -s -k 1,1 >"$tmp/compiled"

count=$(cut -d: -f1 "$tmp/headers" | sort -u | wc -l)
if [ "$count" -lt 30 ]; then
    echo "FAIL only $count examples were found in the headers"
    exit 1
fi
if ! diff "$tmp/headers" "$tmp/compiled" >"$tmp/diff"; then
    sed 's/^/FAIL /' "$tmp/diff"
    echo "FAIL the headers' examples (<) are not those that are compiled (>)"
    exit 1
fi
echo "PASS $count examples"
