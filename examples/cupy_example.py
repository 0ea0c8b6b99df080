# SPDX-License-Identifier: BSD-3-Clause
"""CuPy's arrays in memory of libshpool: python3 cupy_example.py

Exit: 0; 1: a wrong result; 77: no CuPy or no GPU.
"""
import sys


def main():
    try:
        import cupy
        import numpy
        cupy.cuda.runtime.getDeviceCount()
    except Exception as reason:  # CuPy's own errors differ between versions
        print(f"skipped: {reason}")
        sys.exit(77)
    import shpool.cupy

    shpool.cupy.enable()
    x = cupy.arange(1_000_000, dtype=cupy.float64)
    for _ in range(100):
        y = cupy.sqrt(x) * 2 + 1  # three temporaries a round, from the cache
    want = numpy.sqrt(numpy.arange(1_000_000, dtype=numpy.float64)) * 2 + 1
    if not numpy.allclose(cupy.asnumpy(y), want):
        print("wrong result")
        sys.exit(1)
    print("sum %.6e, as NumPy's" % float(y.sum()))


if __name__ == "__main__":
    main()
