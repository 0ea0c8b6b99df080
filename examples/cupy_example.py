# SPDX-License-Identifier: BSD-3-Clause
"""CuPy over libshpool: python3 cupy_example.py [libshpool.so]

CuPy passes no stream to a function allocator: everything is in the order of the default stream.
Arrays that are used on another stream have to be alive until that one is done with them.
Exit: 0; 1: a wrong result; 77: no CuPy or no GPU.
"""
import ctypes
import sys


def main():
    try:
        import cupy
        import numpy
        cupy.cuda.runtime.getDeviceCount()
    except Exception as reason:  # CuPy's own errors differ between versions
        print(f"skipped: {reason}")
        sys.exit(77)

    lib = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libshpool.so")
    allocator = cupy.cuda.CFunctionAllocator(
        0, ctypes.cast(lib.shpool_cupy_malloc, ctypes.c_void_p).value,
        ctypes.cast(lib.shpool_cupy_free, ctypes.c_void_p).value, lib)
    cupy.cuda.set_allocator(allocator.malloc)

    x = cupy.arange(1_000_000, dtype=cupy.float64)
    for _ in range(100):
        y = cupy.sqrt(x) * 2 + 1  # three temporaries a turn, from the cache
    want = numpy.sqrt(numpy.arange(1_000_000, dtype=numpy.float64)) * 2 + 1
    if not numpy.allclose(cupy.asnumpy(y), want):
        print("wrong result")
        sys.exit(1)
    print("sum %.6e, as NumPy's" % float(y.sum()))


if __name__ == "__main__":
    main()
