#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Wheels of the checkout, one for each set of architectures, tried in fresh virtual environments:
#
#     packaging/wheels.sh FOLDER [SET...]         [75,80,86,89 90 100,120; `none`: without CUDA]
#
# A SET is what --with-cuda-arch takes; it becomes part of the version: 0.1.0+sm90 is for Hopper.
# Each wheel also holds PTX for later GPUs, and needs the C library that its name says (manylinux).
# Exit: 0; 1: the last line says what failed.
set -eu
[ $# != 0 ] || { echo "usage: packaging/wheels.sh FOLDER [SET...]" >&2; exit 1; }
mkdir -p "$1"
to=$(cd "$1" && pwd)
shift
[ $# != 0 ] || set -- 75,80,86,89 90 100,120
src=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/shpool-wheels.XXXXXX")
trap 'rm -rf "$work"' EXIT
run() {
    "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; echo "FAIL $*"; exit 1; }
}
mkdir "$work/tree"
(cd "$src" && git ls-files -z | xargs -0 tar cf - --) | tar xf - -C "$work/tree"
cd "$work/tree"
run ./autogen.sh
for archs; do
    option=--with-cuda-arch=$archs
    label=sm$(echo "$archs" | tr , .)
    [ "$archs" != none ] || { option=--without-cuda label=cpu; }
    run python3 -m venv "$work/$label"
    python=$work/$label/bin/python
    run "$python" -m pip wheel --no-index --no-deps -w "$work/$label" \
        "--config-settings=configure=$option" "--config-settings=label=$label" ./python
    run "$python" -m pip install --no-index "$work/$label"/shpool-*.whl
    PYTHON=$python
    STAGE=$(cd / && "$python" -c 'import os, shpool; print(os.path.dirname(shpool.__path__[0]))')
    PATH=$work/$label/bin:$PATH
    export PYTHON STAGE PATH
    run sh tests/python/python.sh
    run shpool-info list
    ! command -v clang >/dev/null || run shpool-check examples/scratch.cu
    cp "$work/$label"/shpool-*.whl "$to"
    echo "PASS $(cd "$work/$label" && ls shpool-*.whl)"
done
