#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ./autogen.sh names the packages that a machine lacks, with the line that installs them, and stops
# before it writes a file.  It runs in a copy, on a PATH that holds only stubs of the tools.
#
#   top_srcdir   source folder [the one above this script's]
#
# Prints a PASS or FAIL line for each tool.  Exit: 0; 1.
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd)
# shellcheck source=tests/build/checks.sh
. "$src/tests/build/checks.sh"

mkdir "$work/tree" "$work/tree/build-aux"
cp "$src/autogen.sh" "$work/tree" || exit 99
stub() { # FILE LINE...
    file=$1
    shift
    { echo "#!$(command -v sh)"; printf '%s\n' "$@"; } >"$file"
    chmod +x "$file"
}
stub "$work/tree/build-aux/modules.sh" "echo modules >>'$work/ran'"

tools() { # NAME...: a PATH with these stubs
    rm -rf "${work:?}/bin" "$work/ran"
    mkdir "$work/bin"
    for name in sh dirname; do
        ln -s "$(command -v $name)" "$work/bin/$name"
    done
    for name; do
        stub "$work/bin/$name" "echo $name \"\$@\" >>'$work/ran'"
    done
}

expect() { # WHAT STATUS TEXT: TEXT is in what it says
    (cd "$work" && PATH=$work/bin sh tree/autogen.sh --extra) >"$work/out" 2>&1
    status=$?
    if [ $status != "$2" ] || ! grep -qxF -- "$3" "$work/out"; then
        echo "FAIL $1: exit $status: $(cat "$work/out")"
        failed=1
    elif [ "$2" != 0 ] && [ -e "$work/ran" ]; then
        echo "FAIL $1: it ran $(tr '\n' ' ' <"$work/ran")"
        failed=1
    else
        echo "PASS $1"
    fi
}

tools automake autoreconf libtoolize pkg-config
expect "no autoconf" 1 "    apt-get install autoconf"
tools autoconf autoreconf libtoolize pkg-config
expect "no automake" 1 "    apt-get install automake"
tools autoconf automake autoreconf pkg-config
expect "no libtoolize" 1 "    apt-get install libtool"
tools autoconf automake autoreconf libtoolize
expect "no pkg-config" 1 "    apt-get install pkg-config"
tools
expect "none of them" 1 "    apt-get install autoconf automake libtool pkg-config"

tools autoconf automake autoreconf libtoolize pkg-config
stub "$work/bin/autoreconf" "echo it ran" "echo autoreconf \"\$@\" >>'$work/ran'"
expect "all of them" 0 "it ran"
want="modules autoreconf --install --force --warnings=all --extra "
if [ "$(tr '\n' ' ' <"$work/ran")" != "$want" ]; then
    echo "FAIL all of them: it ran $(cat "$work/ran")"
    failed=1
fi

# ---- pkg-config is there, but not where aclocal looks ----
system=$(aclocal --print-ac-dir 2>/dev/null) || system=
if [ ! -f "$system/pkg.m4" ]; then
    echo "no aclocal with a pkg.m4: configure.ac was not read without it"
    exit $failed
fi
mkdir "$work/m4"
for file in "$system"/*.m4; do
    [ "${file##*/}" = pkg.m4 ] || ln -s "$file" "$work/m4/"
done
cp -R "$src/configure.ac" "$src/m4" "$work/tree"
chmod -R u+w "$work/tree" # make distcheck's source is read-only
for list in allocators/list device/list; do
    mkdir "$work/tree/${list%/*}" && cp "$src/$list" "$work/tree/$list"
done
cd "$work/tree" || exit 99
if ACLOCAL_PATH='' aclocal --system-acdir="$work/m4" -I m4 --output=/dev/null >"$work/out" 2>&1 ||
    ! grep -q 'does not find pkg.m4: install pkg-config' "$work/out"; then
    echo "FAIL no pkg.m4: $(cat "$work/out")"
    failed=1
else
    echo "PASS no pkg.m4"
fi
exit $failed
