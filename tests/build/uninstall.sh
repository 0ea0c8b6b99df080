#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# make install, then make uninstall: in an empty root no file and no folder is left; in a root that
# had folders and a file of others before, these stay, and nothing else.  In the build folder.
# Exit: 0; 1.
#
#   MAKE   [make]
set -u
root=$(mktemp -d "${TMPDIR:-/tmp}/shpool-uninstall.XXXXXX") || exit 99
trap 'rm -rf "$root" "$root.log" "$root.before"' EXIT

fail() {
    echo "FAIL: uninstall: $1"
    exit 1
}
install() { # TARGET: into the root
    ${MAKE:-make} "$1" DESTDIR="$root" >"$root.log" 2>&1 && return 0
    tail -20 "$root.log"
    fail "make $1"
}
there() { (cd "$root" && find . -mindepth 1 | LC_ALL=C sort); }
folder() { # NAME: where it was installed
    found=$(cd "$root" && find . -type d -name "$1" | head -n 1)
    [ -n "$found" ] || fail "no folder $1 was installed"
    echo "$found"
}

install install
count=$(find "$root" -type f | wc -l)
[ "$count" -ge 50 ] || fail "only $count files were installed"
pkgconfig=$(folder pkgconfig) || exit 1
man=$(folder man1) || exit 1
install uninstall
there >"$root.log"
if [ -s "$root.log" ]; then
    cat "$root.log"
    fail "it leaves these in an empty root"
fi
echo "PASS: uninstall: $count files, none is left, and no folder"

mkdir -p "$root/$pkgconfig" "$root/$man"
echo other >"$root/$man/other.1"
there >"$root.before"
install install
install install # the second one makes no folder, and forgets none
install uninstall
there | diff "$root.before" - || fail "what others had (-) is not what is left (+)"
echo "PASS: uninstall: the folders and files of others stay, and nothing else"
