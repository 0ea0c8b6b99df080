#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Doxygen does not warn about the headers, and every public function is in its output.  In the
# build folder.  Exit: 0; 1; 77: doxygen is missing.
set -u
if ! command -v doxygen >/dev/null; then
    echo "SKIP doxygen is not installed"
    exit 77
fi
here=$(cd "$(dirname "$0")" && pwd)
src=${top_srcdir:-$here/../..}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-reference.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT

if ! { cat doc/Doxyfile &&
    echo "OUTPUT_DIRECTORY = $tmp" && echo "GENERATE_TAGFILE = $tmp/tags"; } |
    doxygen - >"$tmp/log" 2>&1; then
    sed 's/^/FAIL /' "$tmp/log"
    exit 1
fi

(cd "$src" && awk -f tests/build/prototypes.awk include/shpool/*.h include/shpool/*.cuh \
    include/shpool/device/*.h include/shpool/loadstore/*.cuh) |
    sed 's/template <.*> \([a-z]\)/\1/; s/(.*//; s/.*[ *]//' | sort -u >"$tmp/public"
sed -n '/kind="function"/,/<\/member>/s,.*<name>\(.*\)</name>.*,\1,p' "$tmp/tags" | sort -u |
    comm -23 "$tmp/public" - >"$tmp/missing"
count=$(wc -l <"$tmp/public")
if [ -s "$tmp/missing" ] || [ "$count" -lt 200 ]; then
    sed 's/^/FAIL the reference lacks /' "$tmp/missing"
    echo "FAIL of $count public functions"
    exit 1
fi
echo "PASS no warning, $count functions"
