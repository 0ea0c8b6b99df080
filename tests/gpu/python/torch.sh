#!/bin/sh
# PyTorch and CuPy over the staged Python package: pytorch.py in this folder, where there are
# Python, PyTorch and a GPU.
set -u
stage=$(pwd)/python/stage
if [ ! -e "$stage/shpool/native/lib/libshpool.so.0" ]; then
    echo "no shared library in this build"
    exit 77
fi
if ! command -v python3 >/dev/null 2>&1; then
    echo "no Python"
    exit 77
fi
PYTHONPATH=$stage
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
python3 "$top_srcdir/tests/gpu/python/pytorch.py"
