#!/bin/sh
# PyTorch and CuPy over the shared library: tests/gpu/pytorch.py, where there are Python, PyTorch
# and a GPU.
set -u
library=$top_builddir/.libs/libshpool.so
if [ ! -f "$library" ]; then
    echo "no shared library in this build"
    exit 77
fi
if ! command -v python3 >/dev/null 2>&1; then
    echo "no Python"
    exit 77
fi
PYTHONDONTWRITEBYTECODE=1 python3 "$top_srcdir/tests/gpu/pytorch.py" "$library"
