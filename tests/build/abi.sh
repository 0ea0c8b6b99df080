#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs that were linked with an earlier libshpool.so run with this one: functions, and the
# structures that they take, are those of lib/libshpool.abi, and more (doc/ABI.md).
#
#   abi.sh         compares; exit: 0; 1; 77: no abidiff, nothing to compare, other machine
#   abi.sh same    fails for functions that the reference does not have, too, as for a release
#   abi.sh store   rewrites the reference, from a build with debug information
#
#   top_srcdir, top_builddir   [the folder above this script's, .]
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd)
library=${top_builddir:-.}/.libs/libshpool.so
reference=$src/lib/libshpool.abi

skip() {
    echo "skipped: $1"
    exit 77
}
command -v abidiff >/dev/null 2>&1 || skip "no abidiff (Debian: abigail-tools)"
[ -f "$library" ] || skip "no shared library in this build"
[ "$(uname -m)" = x86_64 ] || skip "the reference is for x86_64"
readelf -S "$library" | grep -q '\.debug_info' || skip "$library has no debug information"

if [ "${1-}" = store ]; then
    # types that are not in a header are only declared, so that they may change
    abidw --exported-interfaces-only --drop-private-types --headers-dir "$src/include" \
        --no-show-locs --no-corpus-path --no-comp-dir-path --no-elf-needed --no-parameter-names \
        "$library" | sed "s|path='[^']*/\([^/']*/[^/']*\)'|path='\1'|" >"$reference.new" &&
        mv "$reference.new" "$reference"
elif [ "${1-}" = same ]; then
    abidiff --exported-interfaces-only "$reference" "$library" && exit 0
    echo "FAIL: lib/libshpool.abi is not of this tree: make store-abi, and commit it (doc/ABI.md)"
    exit 1
else
    abidiff --exported-interfaces-only --no-added-syms "$reference" "$library" && exit 0
    echo "FAIL: the ABI changed.  If programs that exist go on working: make store-abi (doc/ABI.md)"
    exit 1
fi
