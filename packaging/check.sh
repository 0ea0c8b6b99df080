#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Checks the Debian packages, built in a copy of this tree as a user would, and Python's wheel:
#
#     sudo apt-get install build-essential devscripts debhelper lintian libcmocka-dev \
#         python3-venv
#     packaging/check.sh [FOLDER]
#
# Builds the packages, runs lintian on them, unpacks them into one folder, and compiles and runs a
# program and the tests of the Python package with them.  Then the wheel is built and installed into
# a fresh virtual environment, and the same tests run from there; nothing is downloaded.
# Packages and wheel are copied to FOLDER, if it is given.  Without CUDA and LLVM, as on
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

for copy in libshpool wheel; do
    mkdir "$work/$copy"
    if [ -e "$src/.git" ]; then
        (cd "$src" && git ls-files -z | xargs -0 tar cf - --) | tar xf - -C "$work/$copy"
    else
        cp -R "$src/." "$work/$copy"
    fi
done
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

# ---- Python: first Debian's package, over the library and the headers of the others ----
python_tests() { # WHAT: tests/python with $PYTHON, from $STAGE
    if sh "$src/tests/python/python.sh" >"$work/log" 2>&1; then
        grep -E "skipped|^Ran" "$work/log" || :
        echo "PASS $1"
    else
        cat "$work/log"
        echo "FAIL $1"
        exit 1
    fi
}
export STAGE PYTHON
PYTHON=python3
STAGE=$work/root/usr/lib/python3/dist-packages
if ! python3 -c 'import ensurepip' 2>/dev/null; then
    echo "skipped: no python3-venv"
    exit 77
fi
python_tests "python3-shpool: the tests of the Python package"

# ---- the wheel, from the other copy of the tree ----
unset LD_LIBRARY_PATH
case " $DEB_BUILD_OPTIONS " in
*" nocuda "*) set -- --config-settings=configure=--without-cuda ;;
*) set -- ;;
esac
python3 -m venv "$work/venv"
pip() { "$work/venv/bin/python" -m pip "$@" >"$work/log" 2>&1 || { tail -40 "$work/log"; exit 1; }; }
pip wheel --no-index --no-deps -w "$work" "$@" "$work/wheel/python"
pip install --no-index "$work"/shpool-*.whl
PYTHON=$work/venv/bin/python
STAGE=$(cd / && "$PYTHON" -c 'import os, shpool; print(os.path.dirname(shpool.__path__[0]))')
case $STAGE in
"$work"/venv/*) ;;
*)
    echo "FAIL the package is that of $STAGE"
    exit 1
    ;;
esac
python_tests "the wheel in a fresh virtual environment: the tests of the Python package"
[ -z "$to" ] || cp "$work"/shpool-*.whl "$to"
