#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The Debian packages, as a user of Debian makes them, in a copy of this tree:
#
#     sudo apt-get install build-essential devscripts debhelper lintian libcmocka-dev libjansson-dev
#     packaging/check.sh [FOLDER]
#
# Builds them, asks lintian for errors, unpacks them side by side, and compiles and runs a program
# on what came out.  The packages are copied to FOLDER, if it is given.  Without CUDA and LLVM, as on
# Debian's own machines; DEB_BUILD_OPTIONS=parallel=2 builds what debian/rules finds compilers for.
# Exit: 0; 1; 77: a tool is missing.
set -eu
: "${DEB_BUILD_OPTIONS:=nocuda nollvm parallel=$(nproc)}"
export DEB_BUILD_OPTIONS
src=$(cd "$(dirname "$0")/.." && pwd)
to=
[ $# = 0 ] || to=$(cd "$1" && pwd)
for tool in dpkg-buildpackage dh lintian autoreconf; do
    command -v $tool >/dev/null 2>&1 || { echo "skipped: no $tool"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/shpool-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT

mkdir "$work/libshpool"
if [ -e "$src/.git" ]; then
    (cd "$src" && git ls-files -z | xargs -0 tar cf - --) | tar xf - -C "$work/libshpool"
else
    cp -R "$src/." "$work/libshpool"
fi
cd "$work/libshpool"
dpkg-buildpackage -us -uc -b >"$work/log" 2>&1 || { tail -40 "$work/log"; exit 1; }
cd "$work"
ls -l ./*.deb
[ -z "$to" ] || cp ./*.deb "$to"
lintian --fail-on error --allow-root ./*.changes

for package in ./*.deb; do
    dpkg-deb -x "$package" "$work/root"
done
libdir=$work/root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
export PKG_CONFIG_PATH="$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$work/root"
export LD_LIBRARY_PATH="$libdir"
# several words
# shellcheck disable=SC2046
${CC:-cc} -o "$work/consumer" "$src/tests/build/consumer.c" $(pkg-config --cflags --libs shpool)
"$work/consumer"
"$work/root/usr/bin/shpool-info" list >/dev/null
echo "PASS the packages build, and a program with them"
