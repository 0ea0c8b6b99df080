#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The examples in the comments of loadstore.cuh are those that tests/loadstore/test_snippets.cc and
# loadstore/examples.h compile and run: from `@code NAME` to `@endcode` in a header, from
# `snippet NAME` to `end` there, the lines are the same except for the indentation.  The examples of
# doc/*.md and the manual pages are lines of tests/build/test_doc_snippets.c, of
# tests/build/doc_snippets.cu, which includes those of README.md, or of examples/.
#
#   top_srcdir       source folder [the one above this script's]
#   NVCC, cuda_low   compile tests/build/doc_snippets.cu, in the build folder [not done]
#
# Prints a FAIL line for each difference.  Exit: 0; 1.
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd) || exit 99
build=$PWD
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
    "$src/tests/loadstore/examples.h" "$src/tests/loadstore/test_snippets.cc" |
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

# ---- documents ----
cd "$src" || exit 1
sed -n '/^```cuda$/,/^```$/{/^```/d;p}' README.md >"$tmp/readme.cu"
awk -f tests/build/doc_blocks.awk tests/build/test_doc_snippets.c \
    tests/build/doc_snippets.cu "$tmp/readme.cu" examples/*.c* \
    examples/*/*.[ch]* README.md doc/*.md man/*.1 man/*.in >"$tmp/documents"
count=$(tail -1 "$tmp/documents")
if grep '^FAIL' -A 20 "$tmp/documents"; then
    echo "FAIL blocks of documents are not lines of a file that is compiled"
    exit 1
fi
if [ "$count" -lt 15 ]; then
    echo "FAIL only $count blocks were found in documents"
    exit 1
fi
echo "PASS $count blocks of documents"

if [ -n "${NVCC:-}" ]; then
    # $NVCC may hold options
    # shellcheck disable=SC2086
    if ! (cd "$build" && $NVCC -std=c++17 "-arch=sm_$cuda_low" "-I$src/include" -Iinclude "-I$tmp" \
        -rdc=true -c "$src/tests/build/doc_snippets.cu" -o "$tmp/doc_snippets.o") \
        >"$tmp/log" 2>&1; then
        cat "$tmp/log"
        echo "FAIL tests/build/doc_snippets.cu does not compile"
        exit 1
    fi
    echo "PASS tests/build/doc_snippets.cu"
fi
