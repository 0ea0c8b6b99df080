#!/bin/sh
# Pools in kernels of Numba, CuPy and PyTorch, from the staged Python package:
# tests/gpu/python/pools.py, where there are Python and a GPU.
set -u
stage=$(pwd)/python/stage
if [ ! -e "$stage/shpool/native/lib/libshpool_open.so" ]; then
    echo "skipped: no Python package for kernels in this build"
    exit 77
fi
if ! command -v python3 >/dev/null 2>&1; then
    echo "skipped: no Python"
    exit 77
fi
PYTHONPATH=$stage PYTHONDONTWRITEBYTECODE=1 python3 "$top_srcdir/tests/gpu/python/pools.py"
