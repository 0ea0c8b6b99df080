#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The Python package as it is staged in the build folder: tests/python/test_*.py.  Tests that need
# NumPy, numba-cuda or a compiler say so and are skipped.
#
#   STAGE   the folder that has the package [python/stage]
#
# Exit: 0; 1; 77: no Python, or no shared library in this build.
set -u
here=$(cd "$(dirname "$0")" && pwd)
: "${STAGE:=$(pwd)/python/stage}"
: "${PYTHON:=python3}"
if ! command -v "$PYTHON" >/dev/null 2>&1; then
    echo "skipped: no Python"
    exit 77
fi
library=$STAGE/shpool/native/lib/libshpool.so.0
if [ ! -e "$library" ] && [ -e "$STAGE/../../../include/shpool" ]; then
    library= # a distribution's package: the system's library
elif [ ! -e "$library" ]; then
    echo "skipped: no shared library in this build"
    exit 77
fi
# the library of a sanitized build needs its runtime in front, which Python has not
if [ -n "$library" ] && readelf -d "$library" | grep -q 'lib[at]san'; then
    echo "skipped: a build with a sanitizer"
    exit 77
fi
PYTHONPATH=$STAGE PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -m unittest discover -v -s "$here" \
    -p 'test_*.py'
