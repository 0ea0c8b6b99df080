#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# make install, then make uninstall, in an empty root: no file is left, and no folder of libshpool's
# own.  In the build folder.  Exit: 0; 1.
#
#   MAKE   [make]
set -u
root=$(mktemp -d "${TMPDIR:-/tmp}/shpool-uninstall.XXXXXX") || exit 99
trap 'rm -rf "$root"' EXIT

install() { # TARGET: into the root
    ${MAKE:-make} "$1" DESTDIR="$root" >"$root.log" 2>&1 && rm -f "$root.log" && return 0
    tail -20 "$root.log"
    rm -f "$root.log"
    echo "FAIL: uninstall: make $1"
    exit 1
}
install install
count=$(find "$root" -type f | wc -l)
if [ "$count" -lt 50 ]; then
    echo "FAIL: uninstall: only $count files were installed"
    exit 1
fi
install uninstall
left=$(find "$root" ! -type d; find "$root" -type d -name '*shpool' ! -path "$root")
if [ -n "$left" ]; then
    echo "$left"
    echo "FAIL: uninstall: it leaves these"
    exit 1
fi
echo "PASS: uninstall: $count files, none is left"
